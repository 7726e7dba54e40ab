//! The state of a server of Prony's own between two trials: taking a snapshot of it, restoring that, and
//! starting it on data that an earlier run has loaded.

use super::{Instance, Wish};
use crate::{
    family::{Copied, CopyKind},
    plan::DataPlan,
    provision::{
        Error, Remark, Step, Work,
        data::{
            cache::{self as data_cache, Found, Key},
            copies::{self, Login},
            snapshot::{self, BUFFER_POOL, PutBack, Snapshot},
        },
        launch::{ACCOUNT, Account},
        settings,
    },
};
use load::client::Connection;
use std::{fs, path::PathBuf, time::Duration};

/// A shutdown that merges and purges everything may take minutes.
const STOP_LIMIT: Duration = Duration::from_secs(1200);
/// How long a server may take to log Prony in before it is shut down.
const LOGIN_LIMIT: Duration = Duration::from_secs(20);

impl Instance {
    /// Shuts it down so that nothing remains to be done (no dirty page, no old row version, no change that
    /// waits for its page), copies its data directory, and starts it again at its port. With `cache`, the
    /// copy goes into the data cache if possible, for later runs with the same data set; otherwise, where one
    /// is `needed`, into the instance's directory.
    ///
    /// # Errors
    /// [`Error::Elsewhere`] where the data directory does not hold all data; [`Error::NotStopped`];
    /// [`Error::File`]. The server is down then, but for the first.
    pub(in crate::provision) fn snapshot(
        &mut self,
        cache: Option<&DataPlan>,
        needed: bool,
        work: &mut Work<'_>,
    ) -> Result<Option<Snapshot>, Error> {
        if let Some(setting) = snapshot::keeps_elsewhere(self.settings().iter()) {
            return Err(Error::Elsewhere { path: PathBuf::from(&self.settings()[setting]) });
        }
        work.say(Step::ShuttingDown);
        // A server without InnoDB has nothing to do here, and refuses.
        let _ = Connection::open(self.target(), LOGIN_LIMIT)
            .and_then(|mut connection| connection.query("SET GLOBAL innodb_fast_shutdown = 0"));
        self.shut_down(STOP_LIMIT, work)?;
        let data = self.data_directory();
        let cached = match cache {
            Some(plan) => {
                let key = Key::of(self.software(), self.settings(), plan)?;
                data_cache::keep(&key, &data, self.target().password.reveal(), work)
            }
            None => Ok(None),
        };
        let taken = match cached {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // A cache that cannot be written to is no reason not to measure.
            Err(_) | Ok(None) if needed => {
                Some(Snapshot::take(&data, &self.new_directory("snapshot"), work)?)
            }
            Err(_) => None,
            Ok(cached) => cached,
        };
        work.say(Step::Restarting);
        self.start_again(work)?;
        Ok(taken)
    }

    /// Restores the data of `snapshot`, and starts it again at its port. Its process is killed before: what
    /// it would still write is replaced anyway.
    ///
    /// # Errors
    /// [`Error::File`], or a server that does not come up. It is down then.
    pub(in crate::provision) fn put_back(
        &mut self,
        snapshot: &mut Snapshot,
        work: &mut Work<'_>,
    ) -> Result<PutBack, Error> {
        self.kill();
        let put_back = snapshot.put_back(&self.data_directory(), work)?;
        work.say(Step::Restarting);
        self.start_again(work)?;
        Ok(put_back)
    }

    /// Stops it, replaces its data by a copy of somebody's, and starts it again at its port, with Prony's
    /// account added. Returns what was done to the copy.
    ///
    /// # Errors
    /// [`Error::Copy`], [`Error::NotPrepared`], [`Error::CopyProgram`], [`Error::File`], or a server that
    /// does not come up. It is down then.
    pub(in crate::provision) fn load_copy(
        &mut self,
        copy: &Copied,
        work: &mut Work<'_>,
    ) -> Result<Vec<Remark>, Error> {
        let more = copies::settings(copy, self.software(), self.given());
        self.kill();
        copies::fill(copy, self.software(), &self.data_directory(), work)?;
        self.adapt(more, &copy.database);
        work.say(Step::Restarting);
        self.start_with(Account::Foreign, work)?;
        let mut remarks = Vec::new();
        if copy.kind == CopyKind::Stopped && copies::recovered(self.log()) {
            remarks.push(Remark::Recovered);
        }
        let password = self.target().password.reveal().to_owned();
        let login = Login { socket: self.socket(), account: ACCOUNT, password: &password };
        remarks.extend(copies::upgrade(copy, self.software(), &login, work)?);
        Ok(remarks)
    }

    /// Removes the list of pages that a start reads into the buffer pool.
    pub(in crate::provision) fn forget_buffer_pool(&self) -> Result<(), Error> {
        let file = self.data_directory().join(BUFFER_POOL);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file("remove", file)(error))
            }
            _ => Ok(()),
        }
    }
}

/// The data directory that an earlier run has cached for such a server, and the password in it.
pub(in crate::provision) fn cached_for(
    wish: &Wish<'_>,
    data: &DataPlan,
    work: &mut Work<'_>,
) -> Result<Option<Found>, Error> {
    let told = settings::translated(wish.software, wish.settings)?;
    let key = Key::of(wish.software, &told.options, data)?;
    data_cache::find(&key, work)
}
