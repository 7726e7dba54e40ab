//! Starts a server's program on a data directory that is ready, and waits until it answers.

pub(in crate::provision) mod account;
pub(in crate::provision) mod administration;
pub(in crate::provision) mod certificate;
pub(in crate::provision) mod log;
pub(in crate::provision) mod option_file;
pub(in crate::provision) mod process;

use crate::provision::{
    Error, Site, Work,
    disk::files::write_private,
    limits::Cgroup,
    login::{describe, log_in},
    process::trampoline::{self, Bond},
    settings::{self, read_back::not_taken, translate::Translated},
    software::Software,
};
use load::spec::{Address, Secret, Target, Tls, Trust};
use option_file::OptionFile;
use process::{Process, Start};
use std::{
    fs::File,
    io::{self, Read},
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A server on an empty data directory answers within seconds; a large buffer pool may take longer to be
/// allocated.
const START_LIMIT: Duration = Duration::from_secs(120);
/// The same on a copy of somebody's data, where it may have to recover and to upgrade.
const COPIED_START_LIMIT: Duration = Duration::from_secs(3600);
/// How often a server that starts is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Two servers may choose the same free port at the same moment; each then tries another.
const PORT_ATTEMPTS: u32 = 3;

/// The account that Prony makes in its own servers.
pub(in crate::provision) const ACCOUNT: &str = "prony";
/// The schema that Prony makes in its own servers.
pub const SCHEMA: &str = "prony";

/// A server that is about to be started.
pub(in crate::provision) struct Launch<'a> {
    /// The program.
    pub(in crate::provision) software: &'a Software,
    /// Settings as the server's option file takes them, and what it must run with.
    pub(in crate::provision) settings: &'a Translated,
    /// Its directory, in which `data` is its data directory.
    pub(in crate::provision) directory: &'a Path,
    /// Its port; `None`: any that is free.
    pub(in crate::provision) port: Option<u16>,
    /// Password of [`ACCOUNT`].
    pub(in crate::provision) password: &'a str,
    /// Whether the account is there already, with that password.
    pub(in crate::provision) account: Account,
    /// The schema that clients enter.
    pub(in crate::provision) schema: &'a str,
    /// A directory in which the server finds programs before all others.
    pub(in crate::provision) programs: Option<&'a Path>,
    /// Where it listens.
    pub(in crate::provision) site: &'a Site,
    /// What it may use of the machine.
    pub(in crate::provision) cgroup: &'a Cgroup,
    /// Whether it ends with this process.
    pub(in crate::provision) bond: Bond,
}

/// Whether Prony's account is in the data that a server starts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provision) enum Account {
    /// With the password that is known.
    There,
    /// Not yet: nothing but system tables is.
    Missing,
    /// Not yet: the data are a copy of somebody's, with accounts of their own.
    Foreign,
}

/// A server that answers.
pub(in crate::provision) struct Launched {
    /// Its process.
    pub(in crate::provision) process: Process,
    /// Its port.
    pub(in crate::provision) port: u16,
    /// Its Unix socket.
    pub(in crate::provision) socket: PathBuf,
    /// Its error log.
    pub(in crate::provision) log: PathBuf,
}

impl Launch<'_> {
    /// Starts it. `record` gets process, port and socket at once, before the server answers, so that it is
    /// never forgotten, and again when more is known.
    pub(in crate::provision) fn start(
        &self,
        record: &dyn Fn(&Process, u16, &Path) -> Result<(), Error>,
        work: &Work<'_>,
    ) -> Result<Launched, Error> {
        let mut attempt = 1;
        loop {
            let port = self.port.map_or_else(|| free_port(self.site), Ok)?;
            match self.start_on(port, record, work) {
                Err(Error::Died { log, .. })
                    if self.port.is_none() && attempt < PORT_ATTEMPTS && log::port_was_taken(&log) =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    fn account_statements(&self) -> String {
        let hosts = account::hosts(self.site.address());
        if self.account == Account::Foreign {
            return account::foreign(self.software, (ACCOUNT, hosts), self.password);
        }
        let statements = account::statements(self.software, (ACCOUNT, hosts), SCHEMA, self.password);
        if self.settings.options.contains_key("wsrep_on") {
            // each node of a cluster has its own; otherwise they would come twice
            return format!("SET SESSION wsrep_on=OFF;\n{statements}");
        }
        statements
    }

    fn start_on(
        &self,
        port: u16,
        record: &dyn Fn(&Process, u16, &Path) -> Result<(), Error>,
        work: &Work<'_>,
    ) -> Result<Launched, Error> {
        let path = self.directory;
        let (data, log, init) = (path.join("data"), path.join("error.log"), path.join("init.sql"));
        let socket = socket_path(path);
        let has_port = administration::has_port(self.software, &self.settings.options);
        let options = OptionFile {
            directory: path,
            data: &data,
            log: &log,
            socket: &socket,
            port: Some(port),
            administration: has_port.then(|| free_port(self.site)).transpose()?,
            site: self.site,
            init_file: (self.account != Account::There).then_some(init.as_path()),
        };
        let file = path.join("my.cnf");
        write_private(&file, &options.text(self.software, &self.settings.options)?)?;
        write_private(&init, &self.account_statements())?;
        write_private(&log, "")?;
        let output = || File::options().append(true).open(&log).map_err(Error::file("open", &log));
        let is_contained = self.software.image.is_some();
        let namespace = match self.site {
            Site::Within(namespace) => Some(namespace),
            Site::At(_) => None,
        };
        if namespace.is_some() && self.software.image.as_ref().is_some_and(|image| image.has_daemon()) {
            let reason = "docker's daemon starts it outside the network namespace; set network = \"relay\" \
                          in the study";
            return Err(Error::Topology { server: self.software.to_string(), reason: reason.to_owned() });
        }
        let flags = if is_contained { self.cgroup.flags(path)? } else { Vec::new() };
        let mut start = Start::of(self.software, work.launcher(), self.bond, &file, &flags);
        if let Some(programs) = self.programs {
            let usual = std::env::var_os("PATH").unwrap_or_default();
            let all = [programs.to_owned()].into_iter().chain(std::env::split_paths(&usual));
            // a directory with a colon in its name cannot be in it, and then the server says what it misses
            start.command.env("PATH", std::env::join_paths(all).unwrap_or(usual));
        }
        if !is_contained {
            trampoline::limit(&mut start.command, &self.cgroup.directories(), self.cgroup.pin());
        }
        if let Some(namespace) = namespace {
            trampoline::enter(&mut start.command, &namespace.file);
        }
        start.command.current_dir(path).stdout(output()?).stderr(output()?);
        let limit = if self.account == Account::Foreign { COPIED_START_LIMIT } else { START_LIMIT };
        let mut process = start
            .spawn()
            .map_err(|source| Error::Spawn { program: self.software.program.clone(), source })?;
        let ready = record(&process, port, &socket)
            .and_then(|()| wait_ready(self.software, &mut process, (&socket, &log), limit, work))
            .and_then(|()| {
                process.find();
                if is_contained { record(&process, port, &socket) } else { Ok(()) }
            })
            .and_then(|()| self.read_back(port, &log));
        let cleaned = std::fs::remove_file(&init).map_err(Error::file("remove", &init));
        if let Err(error) = ready.and(cleaned) {
            process.kill();
            return Err(self.cgroup.memory_death().map_or(error, |limit_bytes| Error::OutOfMemory {
                server: self.software.to_string(),
                limit_bytes,
            }));
        }
        Ok(Launched { process, port, socket, log })
    }
}

impl Launch<'_> {
    /// Checks that the server runs with what it was told: many accept a value that they cannot use, and run
    /// with another.
    fn read_back(&self, port: u16, log: &Path) -> Result<(), Error> {
        let target = target(self.site, port, self.password, self.schema);
        let mut connection = log_in(&target)?;
        let variables = describe::pairs(&mut connection, "SHOW GLOBAL VARIABLES").map_err(|source| {
            let (server, remedy) = (self.software.to_string(), String::new());
            Error::Login { server, remedy, source: Box::new(source) }
        })?;
        let differences = not_taken(&self.settings.expected, &variables);
        if differences.is_empty() {
            return Ok(());
        }
        let (server, log) = (self.software.to_string(), log::last_lines(log));
        Err(Error::NotTaken { server, differences, log })
    }
}

/// How to log in over TCP to a server of Prony's own.
pub(in crate::provision) fn target(site: &Site, port: u16, password: &str, schema: &str) -> Target {
    Target {
        address: Address::Tcp { host: site.address().to_string(), port },
        user: ACCOUNT.to_owned(),
        password: Secret::new(password.to_owned()),
        database: Some(schema.to_owned()),
        tls: Tls::default(),
        // its account was made over its own file, and it listens at an address of this machine
        trust: Trust { get_server_public_key: true, ..Trust::default() },
        compress: false,
    }
}

/// Waits for the greeting of the protocol, which the server sends once it has read the file with the account.
/// It is asked at its socket, which no other server has; at its port, another server may have been faster,
/// and then this one ends. Servers open the port first, so a server that answers at the socket has its port.
fn wait_ready(
    software: &Software,
    process: &mut Process,
    (socket, log): (&Path, &Path),
    limit: Duration,
    work: &Work<'_>,
) -> Result<(), Error> {
    let began = Instant::now();
    while began.elapsed() < limit {
        work.heed()?;
        if let Ok(Some(status)) = process.try_wait() {
            return Err(died(software, status.to_string(), log));
        }
        if greets(socket).unwrap_or(false) {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    Err(Error::NoAnswer { server: software.to_string(), after: limit, log: log::last_lines(log) })
}

/// Whether somebody at `socket` begins as a server of this protocol does: four bytes of header, then the
/// version, 10.
fn greets(socket: &Path) -> io::Result<bool> {
    const LIMIT: Duration = Duration::from_secs(2);
    const PROTOCOL_VERSION: u8 = 10;
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let mut beginning = [0; 5];
    stream.read_exact(&mut beginning)?;
    Ok(beginning[4] == PROTOCOL_VERSION)
}

pub(in crate::provision) fn died(software: &Software, status: String, log: &Path) -> Error {
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

pub(in crate::provision) fn free_port(site: &Site) -> Result<u16, Error> {
    let address = match site {
        Site::At(address) => *address,
        // the address is none of this machine's, and nothing else listens there
        Site::Within(_) => Ipv4Addr::LOCALHOST.into(),
    };
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrNotAvailable => Error::NoSuchAddress { address },
        _ => Error::NoPort { address, source },
    };
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
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

/// A random one, with all kinds of characters that a server's policy may ask for. A replica of MySQL takes no
/// more than 32.
pub(in crate::provision) fn password() -> Result<String, Error> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 14];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::file("read", source))?;
    Ok(bytes.iter().fold("Pr-1".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::null::NullServer;
    use std::process::Command;

    #[test]
    fn who_greets_at_the_port_is_not_taken_for_the_server_that_could_not_have_it() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("error.log");
        // another server has the port; ours notices that after a while, and ends
        let other = NullServer::start(0).unwrap();
        let mut command = Command::new("sh");
        let ends =
            "sleep 0.5; echo '[ERROR] Can'\"'\"'t start server: Address already in use' >> \"$0\"; exit 1";
        command.args(["-c", ends]).arg(&log);
        let mut process = Start { command, container: None, bond: Bond::Owner }.spawn().unwrap();
        let software = Software {
            product: "mariadb".to_owned(),
            version: "10.11".to_owned(),
            program: "/none".into(),
            base: "/".into(),
            libraries: Default::default(),
            origin: "made up".to_owned(),
            image: None,
        };
        let socket = directory.path().join("sock");
        let ready = Work::in_test(directory.path(), |work| {
            wait_ready(&software, &mut process, (&socket, &log), START_LIMIT, work)
        });
        let Err(Error::Died { log, .. }) = ready else { panic!("{ready:?}") };
        assert!(log::port_was_taken(&log), "so another port is tried: {log}");
        assert_eq!(other.connections(), 0, "nobody asked the other server");
    }
}
