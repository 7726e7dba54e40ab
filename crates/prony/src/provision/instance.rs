//! One server that Prony has started for itself: own data directory, own port and socket, own account. It ends with its owner.

use super::{
    Error, Places, account,
    files::write_private,
    initialise, log, remains,
    settings::{self, OptionFile},
    software::Software,
    space, trampoline,
};
use load::spec::{Address, Secret, Target, Tls};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, Instant},
};

/// A server on an empty data directory answers within seconds; a large buffer pool may take longer to be allocated.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A clean shutdown writes all dirty pages; after this it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// How often a server that starts or stops is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Two instances may choose the same free port at the same moment; each then tries another.
const PORT_ATTEMPTS: u32 = 3;

/// The account that Prony makes in its own servers.
const ACCOUNT: &str = "prony";
/// The schema that Prony makes in its own servers.
pub const SCHEMA: &str = "prony";

/// A running server; stopped, and its data removed, when dropped.
#[derive(Debug)]
pub struct Instance {
    software: Software,
    directory: remains::InstanceDirectory,
    child: Child,
    target: Target,
    socket: PathBuf,
    log: PathBuf,
    stopped: bool,
}

/// What a new instance is to be.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// The program.
    pub software: &'a Software,
    /// Settings as the server's option file takes them.
    pub settings: &'a BTreeMap<String, String>,
    /// Bytes that will be loaded into it; checked against the free space of the disk.
    pub data_bytes: u64,
}

impl Instance {
    /// Makes a data directory in the places' [`Places::instances`], starts the server on it and waits until it answers.
    /// `launcher` is the `prony` program; see [`trampoline`].
    ///
    /// # Errors
    /// A setting that cannot be ([`Error::ReservedSetting`], [`Error::UnknownSetting`]), no space ([`Error::NoSpace`]), or a
    /// server that does not come up, with its own last words. Nothing is left behind.
    pub fn start(
        wish: &Wish<'_>,
        places: &Places,
        launcher: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        let directory = remains::InstanceDirectory::create(&places.instances())?;
        let started = Self::start_in(wish, &directory, places, launcher, progress);
        match started {
            Ok(parts) => Ok(Self {
                software: wish.software.clone(),
                child: parts.child,
                target: parts.target,
                socket: parts.socket,
                log: parts.log,
                directory,
                stopped: false,
            }),
            Err(error) => {
                // The first error is the one to show.
                let _ = directory.remove();
                Err(error)
            }
        }
    }

    fn start_in(
        wish: &Wish<'_>,
        directory: &remains::InstanceDirectory,
        places: &Places,
        launcher: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Parts, Error> {
        space::check(directory.path(), wish.data_bytes)?;
        let data = directory.path().join("data");
        initialise::fill(wish.software, wish.settings, &data, places, launcher, progress)?;
        progress(&format!("starting {} {}", wish.software.product, wish.software.version));
        let mut attempt = 1;
        loop {
            match Self::start_on_free_port(wish, directory, launcher) {
                Err(Error::Died { log, .. }) if attempt < PORT_ATTEMPTS && log::port_was_taken(&log) => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    fn start_on_free_port(
        wish: &Wish<'_>,
        directory: &remains::InstanceDirectory,
        launcher: &Path,
    ) -> Result<Parts, Error> {
        let path = directory.path();
        let (data, log, init) = (path.join("data"), path.join("error.log"), path.join("init.sql"));
        let port = free_port()?;
        let socket = socket_path(path);
        let password = password()?;
        let options = OptionFile {
            directory: path,
            data: &data,
            log: &log,
            socket: &socket,
            port: Some(port),
            init_file: Some(&init),
        };
        let file = path.join("my.cnf");
        write_private(&file, &options.text(wish.software, wish.settings)?)?;
        write_private(&init, &account::statements(wish.software, ACCOUNT, SCHEMA, &password))?;
        write_private(&log, "")?;
        let output = || File::options().append(true).open(&log).map_err(Error::file("open", &log));
        let mut command = wish.software.command(launcher, &file);
        command.current_dir(path).stdout(output()?).stderr(output()?);
        let mut child = trampoline::spawn(command)
            .map_err(|source| Error::Spawn { program: wish.software.program.clone(), source })?;
        let ready = directory
            .record(child.id(), &socket)
            .and_then(|()| wait_ready(wish.software, &mut child, port, &log));
        let cleaned = std::fs::remove_file(&init).map_err(Error::file("remove", &init));
        if let Err(error) = ready.and(cleaned) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        let target = Target {
            address: Address::Tcp { host: Ipv4Addr::LOCALHOST.to_string(), port },
            user: ACCOUNT.to_owned(),
            password: Secret::new(password),
            database: Some(SCHEMA.to_owned()),
            tls: Tls::default(),
            compress: false,
        };
        Ok(Parts { child, target, socket, log })
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
        self.child.id()
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

    /// Whether it is still running.
    ///
    /// # Errors
    /// [`Error::Died`] with its last words if it is not.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(died(&self.software, status.to_string(), &self.log)),
            _ => Ok(()),
        }
    }

    /// Shuts it down in order, by a signal to this one process, or kills it if that takes too long, and removes its data.
    ///
    /// # Errors
    /// [`Error::File`] if something of its data cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.stop_and_remove()
    }

    fn stop_and_remove(&mut self) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        self.end_process();
        if !self.socket.starts_with(self.directory.path()) {
            // The server has removed it if it had the time.
            let _ = std::fs::remove_file(&self.socket);
        }
        self.directory.remove()
    }

    fn end_process(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // As long as it has not been waited for, the number is its own.
        let asked = matches!(self.child.try_wait(), Ok(None))
            && pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        let began = Instant::now();
        while asked && began.elapsed() < STOP_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nobody is there to hear of it; the next run's sweep tries again.
        let _ = self.stop_and_remove();
    }
}

/// What starting yields.
struct Parts {
    child: Child,
    target: Target,
    socket: PathBuf,
    log: PathBuf,
}

/// Waits for the greeting of the protocol: the server sends it once it has read the file with the account.
fn wait_ready(software: &Software, child: &mut Child, port: u16, log: &Path) -> Result<(), Error> {
    let began = Instant::now();
    while began.elapsed() < START_LIMIT {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(died(software, status.to_string(), log));
        }
        if greets(port).unwrap_or(false) {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    Err(Error::NoAnswer { server: software.to_string(), after: START_LIMIT, log: log::last_lines(log) })
}

/// Whether somebody on `port` begins as a server of this protocol does: four bytes of header, then the version, 10.
fn greets(port: u16) -> io::Result<bool> {
    const LIMIT: Duration = Duration::from_secs(2);
    const PROTOCOL_VERSION: u8 = 10;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let mut beginning = [0; 5];
    stream.read_exact(&mut beginning)?;
    Ok(beginning[4] == PROTOCOL_VERSION)
}

fn died(software: &Software, status: String, log: &Path) -> Error {
    let (server, text) = (software.to_string(), log::last_lines(log));
    match log::unknown_setting(log) {
        Some(setting) => {
            let nearest = settings::nearest(&software.settings(), &setting);
            let suggestion =
                nearest.map_or_else(String::new, |name| format!("; did you mean {name}?")).into_boxed_str();
            Error::UnknownSetting { server, setting, suggestion, log: text }
        }
        None => Error::Died { server, status, log: text },
    }
}

fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|source| Error::NoPort { source })?;
    Ok(listener.local_addr().map_err(|source| Error::NoPort { source })?.port())
}

/// In the instance's directory, unless that path is longer than the kernel takes.
fn socket_path(directory: &Path) -> PathBuf {
    const PATH_BYTES_MAX: usize = 107;
    let usual = directory.join("sock");
    if usual.as_os_str().len() <= PATH_BYTES_MAX {
        return usual;
    }
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    std::env::temp_dir().join(format!("prony-{name}.sock"))
}

/// A random one, with all kinds of characters that a server's policy may ask for.
fn password() -> Result<String, Error> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::file("read", source))?;
    Ok(bytes.iter().fold("Pr-1".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}
