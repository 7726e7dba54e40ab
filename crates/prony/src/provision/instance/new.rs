//! How a new instance is brought up: its limits are set, its data directory is filled, its program is
//! started, its limits are confirmed.

use super::{Wish, orphans::InstanceDirectory};
use crate::provision::{
    Error, Step, Work,
    data::{cache::Found, templates},
    disk::space,
    launch::{Account, Launch, Launched, SCHEMA},
    limits::{Cgroup, LimitsInForce},
    process::trampoline::Bond,
    settings::translate::Translated,
};

/// An instance that is about to be.
pub(super) struct New<'a> {
    pub(super) wish: &'a Wish<'a>,
    /// What it is to be told.
    pub(super) settings: &'a Translated,
    /// Of Prony's account.
    pub(super) password: &'a str,
    /// Whether its data have that account already.
    pub(super) has_account: bool,
}

/// One that answers, within its limits.
pub(super) struct Limited {
    pub(super) launched: Launched,
    pub(super) cgroup: Cgroup,
    pub(super) limits: Option<LimitsInForce>,
}

impl New<'_> {
    /// Starts it in `directory`, which stays the caller's to remove.
    pub(super) fn start(
        &self,
        directory: &mut InstanceDirectory,
        cached: Option<&mut Found>,
        work: &mut Work<'_>,
    ) -> Result<Limited, Error> {
        let mut cgroup = self.cgroup(directory)?;
        self.fill(directory, cached, work)?;
        let mut launched = self.launch(directory, &cgroup, work)?;
        let pid = launched.process.pid();
        if self.wish.software.image.is_some() {
            cgroup.adopt(pid, directory.path());
        }
        match cgroup.confirm(pid) {
            Ok(limits) => Ok(Limited { launched, cgroup, limits }),
            Err(error) => {
                // it has not run with what was asked for, and holds nothing yet
                launched.process.kill();
                Err(error)
            }
        }
    }

    /// Creates the cgroups that its limits need, and records them before. A server in a container gets them
    /// from the container's client.
    fn cgroup(&self, directory: &mut InstanceDirectory) -> Result<Cgroup, Error> {
        let limits = self.wish.limits;
        if self.wish.software.image.is_some() {
            return Ok(Cgroup::of_others(limits));
        }
        let name = directory.path().file_name().unwrap_or_default().to_string_lossy();
        let mut cgroup = Cgroup::plan(limits, &format!("prony-{name}"))?;
        directory.record_groups(cgroup.directories())?;
        cgroup.make(directory.path())?;
        Ok(cgroup)
    }

    fn fill(
        &self,
        directory: &InstanceDirectory,
        cached: Option<&mut Found>,
        work: &mut Work<'_>,
    ) -> Result<(), Error> {
        space::check(directory.path(), self.wish.data_bytes)?;
        let data = directory.path().join("data");
        match cached {
            Some(cached) => cached.snapshot.put_back(&data, work).map(drop),
            None => templates::fill(self.wish.software, &self.settings.options, &data, work),
        }
    }

    fn launch(
        &self,
        directory: &InstanceDirectory,
        cgroup: &Cgroup,
        work: &mut Work<'_>,
    ) -> Result<Launched, Error> {
        let Wish { software, part, .. } = self.wish;
        work.say(Step::Starting { of: format!("{} {}", software.product, software.version) });
        let launch = Launch {
            software,
            settings: self.settings,
            directory: directory.path(),
            port: None,
            password: self.password,
            account: if self.has_account { Account::There } else { Account::Missing },
            schema: SCHEMA,
            programs: part.programs.as_deref(),
            site: &part.site,
            cgroup,
            bond: Bond::Owner,
        };
        launch.start(&|process, _, socket| directory.record(process, socket), work)
    }
}
