//! The servers that are loaded: the null server in a process of its own, and a MariaDB that Prony fetches and
//! starts.

use load::{client::Connection, spec::Address};
use prony::{
    calibrate::NullProcess,
    dataset,
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner, Server},
    workload::{self, Options},
};
use std::{net::SocketAddr, path::Path, sync::atomic::AtomicBool, time::Duration};

/// Threads that fill the tables.
const LOADERS: u32 = 2;

/// Where a server is and how to log in.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) user: String,
    pub(crate) password: String,
}

/// A null server in a process of its own; ends when dropped, or with the bench.
pub(crate) struct Null {
    /// Held for its end.
    _process: NullProcess,
    pub(crate) site: Site,
}

impl Null {
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start() -> std::io::Result<Self> {
        let process = NullProcess::start(Path::new(env!("CARGO_BIN_EXE_prony")))?;
        let site = Site { address: process.address(), user: "bench".to_owned(), password: String::new() };
        Ok(Self { _process: process, site })
    }
}

/// A MariaDB with sysbench's table; ends when dropped.
pub(crate) struct MariaDb {
    server: Server,
    _state: tempfile::TempDir,
    pub(crate) site: Site,
    /// Product and version.
    pub(crate) name: String,
    /// What was set, in the option file's words.
    pub(crate) settings: String,
}

impl MariaDb {
    /// Starts one that takes `connections` connections, and fills a table of `rows` rows.
    ///
    /// # Errors
    /// What is in the way, in words.
    pub(crate) fn start(version: &str, connections: u32, rows: u64) -> Result<Self, String> {
        let state = tempfile::tempdir().map_err(|error| error.to_string())?;
        let places = Places::of_user().map_err(|error| error.to_string())?;
        let places = Places { state: state.path().to_owned(), ..places };
        let room = u64::from(connections) + 100;
        let settings = [
            ("max_connections", room.to_string()),
            // one open table for each connection, some to spare; the default would close and open them all
            // the time
            ("table_open_cache", (room + 400).to_string()),
            // read-write prepares 11 statements on each connection
            ("max_prepared_stmt_count", "1000000".to_owned()),
            ("innodb_buffer_pool_size", "1G".to_owned()),
        ];
        let plan = ServerPlan {
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            ..ServerPlan::new(
                "bench",
                ServerSource::Product { product: "mariadb".to_owned(), version: Some(version.to_owned()) },
            )
        };
        let provisioner = Provisioner::with(places, env!("CARGO_BIN_EXE_prony").into());
        let server = provisioner.bring_up(&plan, 0, &mut |_| ()).map_err(|error| error.to_string())?;
        let target = server.target();
        let options = Options { table_size: rows, ..Options::default() };
        let data = workload::data("oltp_read_write", &options).map_err(|error| error.to_string())?;
        dataset::prepare(target, &data, LOADERS, &mut |_| (), &AtomicBool::new(false))
            .map_err(|error| error.to_string())?;
        let Address::Tcp { host, port } = &target.address else {
            return Err("it does not listen on TCP".to_owned());
        };
        let address = SocketAddr::new(host.parse().map_err(|_| format!("{host} is no address"))?, *port);
        let site = Site { address, user: target.user.clone(), password: target.password.reveal().to_owned() };
        let name = match &server {
            Server::Own(own) => {
                let version = &own.software().version;
                format!("MariaDB {}", version.split('-').next().unwrap_or(version))
            }
            Server::Running(_) => "MariaDB".to_owned(),
        };
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Self { server, _state: state, site, name, settings: settings.join(", ") })
    }

    /// Makes a database for another program's tables.
    ///
    /// # Errors
    /// The server's words.
    pub(crate) fn create_database(&self, name: &str) -> Result<(), String> {
        const WAIT: Duration = Duration::from_secs(20);
        let words = |error: load::client::Error| error.to_string();
        let mut connection = Connection::open(self.server.target(), WAIT).map_err(words)?;
        connection.query(&format!("CREATE DATABASE IF NOT EXISTS {name}")).map(|_| ()).map_err(words)
    }
}
