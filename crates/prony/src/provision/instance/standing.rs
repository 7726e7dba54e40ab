//! Servers that are started to stay: to look around by hand, or for loads from elsewhere. They are
//! deliberately not tied to the life of a Prony. Each is recorded in a file from the moment it is started
//! until it is stopped, so that a later Prony knows it.
//!
//! A process is identified by its number and its start time together: nothing is ever ended by name, or by a
//! number that now belongs to something else.

mod in_use;

use super::STOP_LIMIT;
use crate::provision::{
    Error, Places, Site, Step, Work,
    data::templates,
    disk::{
        files::{make_private, remove_if_there, write_private},
        lock::Lock,
        space,
    },
    launch::{self, ACCOUNT, Account, Launch, SCHEMA},
    limits::Cgroup,
    login::{log_in, target},
    process::{identity::ProcessIdentity, trampoline::Bond},
    settings,
    software::Software,
};
use rustix::process::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Version of the files that are written here.
const FORMAT: u32 = 1;
/// How often a server that stops is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How long a server may take to vanish once it was killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A server that was started to stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    format: u32,
    /// The name that it goes by.
    pub name: String,
    /// `mariadb` or `mysql`.
    pub product: String,
    /// As its program says.
    pub version: String,
    /// Where it is from, in words.
    pub origin: String,
    /// Path of its program.
    pub program: PathBuf,
    process: Option<ProcessIdentity>,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// The directory with its data directory `data`, its option file and its log.
    pub directory: PathBuf,
    /// Whether the directory stays when it is stopped.
    pub keeps_data: bool,
    /// When it was started, UTC.
    pub started: String,
}

/// A server that is to be started.
#[derive(Debug)]
pub struct StandingWish<'a> {
    /// The name that it will go by.
    pub name: &'a str,
    /// The program.
    pub software: &'a Software,
    /// Settings: words, which are translated, and names of the server's own.
    pub settings: &'a BTreeMap<String, String>,
    /// Its port on 127.0.0.1; `None`: any that is free.
    pub port: Option<u16>,
    /// A directory for its data that stays when it is stopped and is used again if it is there; `None`: its
    /// data goes with it.
    pub directory: Option<&'a Path>,
}

/// What a directory that stays says about itself, so that it can be used again.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: u32,
    product: String,
    version: String,
    password: String,
}

impl Standing {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// Those of [`crate::provision::Instance::start`]; [`Error::StandsAlready`], [`Error::ForeignDirectory`],
    /// [`Error::OtherData`]. Then nothing is left but what was there before.
    pub(in crate::provision) fn start(wish: &StandingWish<'_>, work: &mut Work<'_>) -> Result<Self, Error> {
        check_name(wish.name)?;
        let places = work.places();
        let all = places.standing();
        fs::create_dir_all(&all).map_err(Error::file("make the directory", &all))?;
        let lock = Lock::open(&all.join(format!(".{}.lock", wish.name)))?;
        lock.take(work)?;
        let record = record_of(places, wish.name);
        if let Some(known) = read::<Self>(&record)? {
            return Err(Error::StandsAlready { name: known.name.clone(), state: known.state() });
        }
        let directory = match wish.directory {
            Some(directory) => pointed_to(directory)?,
            None => {
                // Without a record nothing runs there any more.
                remove_if_there(&all.join(wish.name))?;
                all.join(wish.name)
            }
        };
        let _alone = in_use::begin(&directory, places)?;
        let kept = kept_in(&directory, wish.software)?;
        let was_there = directory.exists();
        let started = Self::start_in(wish, &directory, kept.as_ref(), &record, work);
        if started.is_err() {
            // The first error is the one to show.
            let _ = fs::remove_file(&record);
            if kept.is_none() {
                let _ = if was_there { empty(&directory) } else { remove_if_there(&directory) };
            }
        }
        started
    }

    fn start_in(
        wish: &StandingWish<'_>,
        directory: &Path,
        kept: Option<&Kept>,
        record: &Path,
        work: &mut Work<'_>,
    ) -> Result<Self, Error> {
        let software = wish.software;
        let told = settings::translated(software, wish.settings)?;
        let password = kept.map_or_else(launch::password, |kept| Ok(kept.password.clone()))?;
        if kept.is_none() {
            if directory.exists() {
                // the user's, and empty; it may be where a disk is mounted
                let private = fs::Permissions::from_mode(0o700);
                fs::set_permissions(directory, private).map_err(Error::file("make private", directory))?;
            } else {
                make_private(directory)?;
            }
            space::check(directory, 0)?;
            templates::fill(software, &told.options, &directory.join("data"), work)?;
        }
        work.say(Step::Starting { of: format!("{} {}", software.product, software.version) });
        let launch = Launch {
            software,
            settings: &told,
            directory,
            port: wish.port,
            password: &password,
            account: if kept.is_some() { Account::There } else { Account::Missing },
            schema: SCHEMA,
            programs: None,
            site: &Site::default(),
            cgroup: &Cgroup::default(),
            bond: Bond::None,
        };
        let standing = |pid: u32, port: u16, socket: &Path| Self {
            format: FORMAT,
            name: wish.name.to_owned(),
            product: software.product.clone(),
            version: software.version.clone(),
            origin: software.origin.clone(),
            program: software.program.clone(),
            process: i32::try_from(pid).ok().and_then(ProcessIdentity::of),
            port,
            socket: socket.to_owned(),
            directory: directory.to_owned(),
            keeps_data: wish.directory.is_some(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        let launched = launch
            .start(&|process, port, socket| write(record, &standing(process.pid(), port, socket)), work)?;
        let standing = standing(launched.process.pid(), launched.port, &launched.socket);
        let known = finish(directory, software, &launched, &password).and_then(|()| write(record, &standing));
        if let Err(error) = known {
            standing.end();
            return Err(error);
        }
        Ok(standing)
    }

    /// Those that were started and not stopped, by name.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Record`].
    pub fn all(places: &Places) -> Result<Vec<Self>, Error> {
        let directory = places.standing();
        let entries = match directory.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::file("read", &directory))?,
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths.sort();
        paths.iter().filter_map(|path| read(path).transpose()).collect()
    }

    /// Shuts the server `name` down cleanly, kills it if that takes too long, and removes its data unless
    /// that is kept.
    ///
    /// # Errors
    /// [`Error::StandsNot`]; [`Error::File`] if something cannot be removed.
    pub(in crate::provision) fn stop(name: &str, work: &mut Work<'_>) -> Result<Self, Error> {
        check_name(name)?;
        let places = work.places();
        let record = record_of(places, name);
        let stands_not = || Error::StandsNot { name: name.to_owned() };
        if !record.exists() {
            return Err(stands_not());
        }
        let lock = Lock::open(&places.standing().join(format!(".{name}.lock")))?;
        lock.take(work)?;
        let standing = read::<Self>(&record)?.ok_or_else(stands_not)?;
        work.say(Step::Stopping { name: name.to_owned() });
        standing.end();
        if !standing.socket.starts_with(&standing.directory) {
            // The server has removed it if it had the time.
            let _ = fs::remove_file(&standing.socket);
        }
        if !standing.keeps_data {
            remove_if_there(&standing.directory)?;
        }
        fs::remove_file(&record).map_err(Error::file("remove", &record))?;
        Ok(standing)
    }

    /// Process number; `None`: it has ended by itself.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let process = self.process.filter(|process| process.runs())?;
        u32::try_from(process.pid).ok()
    }

    /// `running` or `ended`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.pid().is_some() { "running" } else { "ended" }
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// The error log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.directory.join("error.log")
    }

    /// The option file with which clients, and Prony, log in: `mysql --defaults-file=...`.
    #[must_use]
    pub fn client_file(&self) -> PathBuf {
        client_file(&self.directory)
    }

    /// How to log in, without the password.
    #[must_use]
    pub fn url(&self) -> String {
        target::shown(&launch::target(&Site::default(), self.port, "", SCHEMA))
    }

    fn end(&self) {
        let Some(process) = self.process else { return };
        for (signal, limit) in [(Signal::TERM, STOP_LIMIT), (Signal::KILL, KILL_LIMIT)] {
            process.signal(signal);
            let began = Instant::now();
            while process.runs() && began.elapsed() < limit {
                thread::sleep(POLL);
            }
        }
    }
}

/// Logs in once, and writes down how.
fn finish(
    directory: &Path,
    software: &Software,
    launched: &launch::Launched,
    password: &str,
) -> Result<(), Error> {
    log_in(&launch::target(&Site::default(), launched.port, password, SCHEMA))?;
    // the account is Prony's, and the server listens on this machine only; `loose`, since not every client
    // knows the option
    let key = if software.is_mariadb() { "" } else { "loose-get-server-public-key = 1\n" };
    let text = format!(
        "# How to log in; made by Prony.\n[client]\nuser = {ACCOUNT}\npassword = {password}\nhost = \
         127.0.0.1\nport = {}\nsocket = {}\n{key}\n[mysql]\ndatabase = {SCHEMA}\n",
        launched.port,
        launched.socket.display()
    );
    write_private(&client_file(directory), &text)?;
    let kept = Kept {
        format: FORMAT,
        product: software.product.clone(),
        version: software.version.clone(),
        password: password.to_owned(),
    };
    write(&kept_file(directory), &kept)
}

/// What a directory that is to be used again says about itself; `None`: it is new or empty.
fn kept_in(directory: &Path, software: &Software) -> Result<Option<Kept>, Error> {
    let Some(kept) = read::<Kept>(&kept_file(directory))? else {
        let has_something = directory.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        if has_something || directory.is_file() {
            return Err(Error::ForeignDirectory { directory: directory.to_owned() });
        }
        return Ok(None);
    };
    let series = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    if kept.product == software.product && series(&kept.version) == series(&software.version) {
        return Ok(Some(kept));
    }
    let wanted = format!("{} {}", software.product, software.version).into();
    let holds = format!("{} {}", kept.product, kept.version).into();
    Err(Error::OtherData { directory: directory.to_owned(), holds, wanted })
}

/// A directory by its whole path, behind every link: a link is the user's and stays, also one whose directory
/// is still to be made.
fn pointed_to(directory: &Path) -> Result<PathBuf, Error> {
    const LINKS_MAX: u32 = 40;
    let named = || Error::file("find the directory", directory);
    let mut path = std::path::absolute(directory).map_err(named())?;
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) if path.exists() => return path.canonicalize().map_err(named()),
            Err(_) => {
                let above = path.parent().and_then(|above| above.canonicalize().ok());
                return Ok(above
                    .zip(path.file_name())
                    .map_or(path.clone(), |(above, name)| above.join(name)));
            }
        }
    }
    Err(named()(io::Error::other("too many links")))
}

/// Removes all that is in a directory.
fn empty(directory: &Path) -> Result<(), Error> {
    for entry in directory.read_dir().map_err(Error::file("read", directory))?.flatten() {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::file("remove", &path))?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Error> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Error::ServerName { name: name.to_owned() });
    }
    Ok(())
}

fn record_of(places: &Places, name: &str) -> PathBuf {
    places.standing().join(format!("{name}.json"))
}

fn kept_file(directory: &Path) -> PathBuf {
    directory.join("server.json")
}

fn client_file(directory: &Path) -> PathBuf {
    directory.join("client.cnf")
}

fn write(file: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).expect("a plain value");
    // Whole or not at all: what was started must never be forgotten.
    let beside = file.with_extension("new");
    write_private(&beside, &text)?;
    fs::rename(&beside, file).map_err(Error::file("write", file))
}

/// What `file` holds; `None`: it is not there.
fn read<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, Error> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let text = match fs::read_to_string(file) {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(None);
        }
        text => text.map_err(Error::file("read", file))?,
    };
    let wrong = |reason: String| Error::Record { file: file.to_owned(), reason };
    let version: Version = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if version.format != FORMAT {
        return Err(wrong(format!("format {}, known is {FORMAT}", version.format)));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        assert!(check_name("mysql-5.7.22_b").is_ok());
        for name in ["", "..", "../up", "a/b", ".hidden", "two words"] {
            assert!(matches!(check_name(name), Err(Error::ServerName { .. })), "{name}");
        }
    }

    #[test]
    fn a_file_of_another_format_is_refused_and_a_missing_one_is_none() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("server.json");
        assert!(read::<Kept>(&file).unwrap().is_none());
        fs::write(&file, "{\"format\": 2}").unwrap();
        let error = read::<Kept>(&file).unwrap_err().to_string();
        assert!(error.contains("format 2, known is 1") && error.contains("server.json"), "{error}");
    }
}
