//! One server that Prony has started for itself: own data directory, own port and socket, own account. It
//! ends with its owner.

pub(in crate::provision) mod image;
mod new;
pub(in crate::provision) mod orphans;
pub(in crate::provision) mod standing;
pub(in crate::provision) mod state;

use crate::{
    plan::Limits,
    provision::{
        Error, Site, Step, Work,
        data::cache::Found,
        launch::{self, Account, Launch, SCHEMA, log, process::Process},
        limits::{Cgroup, LimitsInForce, Usage},
        process::{death, trampoline::Bond},
        settings::{self, translate::Translated},
        software::Software,
    },
};
use load::spec::{Address, Secret, Target};
use new::{Limited, New};
use orphans::InstanceDirectory;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

/// A clean shutdown writes all dirty pages; after this it is killed.
pub(in crate::provision) const STOP_LIMIT: Duration = Duration::from_secs(60);
/// How often a server that stops is looked at.
const POLL: Duration = Duration::from_millis(20);

/// How clients of containers end when the server was killed.
const CODE_KILLED: i32 = 137;

/// How long a server that is started again waits for its port to be free.
const PORT_LIMIT: Duration = Duration::from_secs(20);
/// Between two attempts.
const PORT_PAUSE: Duration = Duration::from_millis(500);

/// A running server; stopped, and its data removed, when dropped.
#[derive(Debug)]
pub struct Instance {
    software: Software,
    settings: Translated,
    /// Those of them that the study gives.
    given: BTreeMap<String, String>,
    programs: Option<PathBuf>,
    site: Site,
    cgroup: Cgroup,
    limits: Option<LimitsInForce>,
    directory: InstanceDirectory,
    process: Process,
    target: Target,
    port: u16,
    keep_pages: bool,
    socket: PathBuf,
    log: PathBuf,
    stopped: bool,
    /// When it answered.
    began: Instant,
    /// Processes that the kernel had killed by then because memory was short.
    kills_before: Option<u64>,
}

/// What a server needs for its part among others; nothing for a single one.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Settings over those of the study.
    pub settings: BTreeMap<String, String>,
    /// Password of the account that comes with another server's files; `None`: it gets an account of its
    /// own.
    pub password: Option<Secret>,
    /// A directory in which it finds programs before all others.
    pub programs: Option<PathBuf>,
    /// Its number among them, the primary's being 0.
    pub number: usize,
    /// Where it listens.
    pub site: Site,
}

/// What a new instance is to be.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// The program.
    pub software: &'a Software,
    /// Settings: words, which are translated, and names of the server's own.
    pub settings: &'a BTreeMap<String, String>,
    /// What it may use of the machine.
    pub limits: &'a Limits,
    /// Bytes that will be loaded into it; checked against the free space of the disk.
    pub data_bytes: u64,
    /// What it needs to work together with others.
    pub part: &'a Part,
}

impl Instance {
    /// Makes a data directory in the places' [`Places::instances`](crate::provision::Places::instances), with
    /// system tables alone or with a copy of what `cached` has, starts the server on it, and waits until it
    /// answers.
    ///
    /// # Errors
    /// A setting that is not allowed ([`Error::ReservedSetting`], [`Error::UnknownSetting`]), no space
    /// ([`Error::NoSpace`]), or a server that does not come up, with the end of its log. Nothing is left
    /// behind.
    pub(in crate::provision) fn start(
        wish: &Wish<'_>,
        cached: Option<&mut Found>,
        work: &mut Work<'_>,
    ) -> Result<Self, Error> {
        let settings = settings::translated(wish.software, wish.settings)?;
        let known = cached.as_ref().map(|cached| cached.password.clone());
        let known = known.or_else(|| wish.part.password.as_ref().map(|known| known.reveal().to_owned()));
        let has_account = known.is_some();
        let password = known.map_or_else(launch::password, Ok)?;
        let mut directory = InstanceDirectory::create(&work.places().instances())?;
        let new = New { wish, settings: &settings, password: &password, has_account };
        match new.start(&mut directory, cached, work) {
            Ok(Limited { launched, cgroup, limits }) => Ok(Self {
                software: wish.software.clone(),
                programs: wish.part.programs.clone(),
                site: wish.part.site.clone(),
                cgroup,
                limits,
                directory,
                process: launched.process,
                target: launch::target(&wish.part.site, launched.port, &password, SCHEMA),
                given: settings.options.clone(),
                settings,
                port: launched.port,
                keep_pages: false,
                socket: launched.socket,
                log: launched.log,
                stopped: false,
                began: Instant::now(),
                kills_before: death::memory_kills(),
            }),
            Err(error) => {
                // The first error is the one to show.
                let _ = directory.remove();
                Err(error)
            }
        }
    }

    /// How to log in, over TCP.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How to log in, over the Unix socket.
    #[must_use]
    pub fn target_by_socket(&self) -> Target {
        Target { address: Address::Unix(self.socket.clone()), ..self.target.clone() }
    }

    /// Process number of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it is.
    #[must_use]
    pub fn software(&self) -> &Software {
        &self.software
    }

    /// Its data directory.
    #[must_use]
    pub fn data_directory(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The limits that hold for it, as the kernel says; `None`: there are none.
    #[must_use]
    pub fn limits(&self) -> Option<&LimitsInForce> {
        self.limits.as_ref()
    }

    /// What it used of them so far; `None`: there are none, or the processors alone.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.cgroup.usage()
    }

    /// Whether it is still running.
    ///
    /// # Errors
    /// [`Error::Died`] with its last words if it is not.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.process.try_wait() {
            Ok(Some(status)) => Err(self.memory_death(status).map_or_else(
                || Error::Ended {
                    server: self.software.to_string(),
                    after: self.began.elapsed(),
                    status: death::how(status, self.process.pid(), self.kills_before),
                    log: log::last_lines(&self.log),
                },
                |limit_bytes| Error::OutOfMemory { server: self.software.to_string(), limit_bytes },
            )),
            _ => Ok(()),
        }
    }

    /// The limit of memory, where that was what ended the server.
    fn memory_death(&self, status: ExitStatus) -> Option<u64> {
        // the group of a container is gone with it
        let was_killed = self.software.image.is_some() && status.code() == Some(CODE_KILLED);
        let limit = self.cgroup.memory_limit().filter(|_| was_killed);
        limit.or_else(|| self.cgroup.memory_death())
    }

    /// Shuts it down cleanly, by a signal to this one process, or kills it if that takes too long, and
    /// removes its data.
    ///
    /// # Errors
    /// [`Error::File`] if something of its data cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.stop_and_remove()
    }

    /// Stops it cleanly and starts it again on the same data, port and socket; blocks until it answers. Its
    /// process number changes.
    ///
    /// # Errors
    /// A server that does not come up again, with the end of its log. It is down then.
    pub(in crate::provision) fn restart(&mut self, work: &mut Work<'_>) -> Result<(), Error> {
        work.say(Step::Restarting);
        self.end_process(STOP_LIMIT);
        self.start_again(work)
    }

    /// Starts it on the data that are there now, at its port.
    pub(in crate::provision) fn start_again(&mut self, work: &Work<'_>) -> Result<(), Error> {
        self.start_with(Account::There, work)
    }

    /// The same where the account may be missing.
    pub(in crate::provision) fn start_with(
        &mut self,
        account: Account,
        work: &Work<'_>,
    ) -> Result<(), Error> {
        let began = Instant::now();
        self.cgroup.forget_kills();
        let says_itself = |name: &String| name.replace('-', "_").contains("innodb_buffer_pool_load");
        if !self.keep_pages && !self.settings.options.keys().any(says_itself) {
            self.forget_buffer_pool()?;
        }
        // Of the old process; with its number in use again, a server would take it for its neighbour's.
        for left in [self.socket.clone(), lock_of(&self.socket)] {
            let _ = std::fs::remove_file(left);
        }
        loop {
            let launch = Launch {
                software: &self.software,
                settings: &self.settings,
                directory: self.directory.path(),
                port: Some(self.port),
                password: self.target.password.reveal(),
                account,
                schema: self.target.database.as_deref().unwrap_or(SCHEMA),
                cgroup: &self.cgroup,
                bond: Bond::Owner,
                programs: self.programs.as_deref(),
                site: &self.site,
            };
            match launch.start(&|process, _, socket| self.directory.record(process, socket), work) {
                // Somebody's outgoing connection may have the port for a moment.
                Err(Error::Died { log, .. }) if log::port_was_taken(&log) && began.elapsed() < PORT_LIMIT => {
                    thread::sleep(PORT_PAUSE);
                }
                started => {
                    self.process = started?.process;
                    (self.began, self.kills_before) = (Instant::now(), death::memory_kills());
                    if self.software.image.is_some() {
                        self.cgroup.adopt(self.process.pid(), self.directory.path());
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Shuts it down in order.
    pub(in crate::provision) fn shut_down(&mut self, limit: Duration, work: &Work<'_>) -> Result<(), Error> {
        work.heed()?;
        if self.end_process(limit) {
            return Ok(());
        }
        let (server, log) = (self.software.to_string(), log::last_lines(&self.log));
        Err(Error::NotStopped { server, after: limit, log })
    }

    /// Ends it at once.
    pub(in crate::provision) fn kill(&mut self) {
        self.process.kill();
    }

    /// Whether it starts with the buffer pool pages that it noted last, if it notes any; otherwise with none.
    pub(in crate::provision) fn keep_pages(&mut self, keep: bool) {
        self.keep_pages = keep;
    }

    /// Its settings as its option file has them.
    pub(in crate::provision) fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings.options
    }

    /// Its settings become those that the study gives and these; it enters another schema.
    pub(in crate::provision) fn adapt(&mut self, more: BTreeMap<String, String>, schema: &str) {
        self.settings.options = self.given.clone();
        self.settings.options.extend(more);
        self.target.database = Some(schema.to_owned());
    }

    /// The settings that the study gives, as its option file has them.
    pub(in crate::provision) fn given(&self) -> &BTreeMap<String, String> {
        &self.given
    }

    /// Its Unix socket.
    pub(in crate::provision) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its error log since it was started last.
    pub(in crate::provision) fn log(&self) -> &Path {
        &self.log
    }

    /// A path beside its data directory that is not taken yet, removed with it.
    pub(in crate::provision) fn new_directory(&self, name: &str) -> PathBuf {
        let numbered = (1_u32..).map(|number| self.directory.path().join(format!("{name}-{number}")));
        numbered.into_iter().find(|path| !path.exists()).expect("there are more numbers than directories")
    }

    fn stop_and_remove(&mut self) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        self.end_process(STOP_LIMIT);
        if !self.socket.starts_with(self.directory.path()) {
            // The server has removed it if it had the time.
            let _ = std::fs::remove_file(&self.socket);
        }
        self.cgroup = Cgroup::default();
        self.directory.remove()
    }

    /// Asks it to shut down, and kills it if it does not within `limit`. Returns whether it ended cleanly.
    pub(in crate::provision) fn end_process(&mut self, limit: Duration) -> bool {
        let asked = self.process.terminate();
        let began = Instant::now();
        while asked && began.elapsed() < limit {
            match self.process.try_wait() {
                Ok(None) => thread::sleep(POLL),
                ended => return ended.is_ok_and(|status| status.is_some_and(|status| status.success())),
            }
        }
        self.kill();
        false
    }
}

/// The file in which MySQL writes down whose a socket is.
fn lock_of(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nobody is there to hear of it; the next run's sweep tries again.
        let _ = self.stop_and_remove();
    }
}
