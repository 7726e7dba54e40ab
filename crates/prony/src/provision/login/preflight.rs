//! Whether server and machine can sustain a load at all, asked before it starts: one clear refusal instead of
//! one error per connection.

use super::describe::pairs;
use crate::provision::{Remark, process::trampoline};
use load::client::{Connection, Error as ClientError};
use rustix::process::{Resource, Rlimit};
use std::fs;

/// What a load will need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// Connections at the same time, all streams together.
    pub connections: u32,
    /// Prepared statements at the same time, all connections together.
    pub prepared_statements: u64,
    /// Whether the connections are TCP (not a Unix socket).
    pub tcp: bool,
    /// Addresses of this machine that they come from; 0 counts as 1.
    pub sources: u32,
    /// Whether a relay of Prony's passes them on: a process that holds two files for each.
    pub relayed: bool,
    /// Whether load hosts open them, and not this machine: then its own limits do not matter.
    pub elsewhere: bool,
}

impl Wants {
    /// Files that one process must hold open: the relay is a process of its own, with the same limit.
    fn files(&self) -> u64 {
        let of_connection = if self.relayed { 2 } else { 1 };
        of_connection * u64::from(self.connections) + OTHER_FILES
    }
}

/// A limit that the load would hit: which, its value, what is needed, how to raise it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's limit of connections.
    #[error(
        "the server allows {value} connections (max_connections) and {used} are in use; the load needs \
         {wanted} more. Raise max_connections to at least {needed}: in the study's settings for a server \
         that Prony starts, otherwise with SET GLOBAL max_connections = {needed}{}",
        lowered(*.value, *.needed, .open_files)
    )]
    MaxConnections {
        /// Its value.
        value: u64,
        /// Connections that are there now.
        used: u64,
        /// Connections of the load.
        wanted: u64,
        /// Both together.
        needed: u64,
        /// The server's own limit of open files, if it says so.
        open_files: Option<u64>,
    },
    /// The server's limit of prepared statements.
    #[error(
        "the server allows {value} prepared statements (max_prepared_stmt_count) and has {used}; the load \
         prepares {wanted}. Raise max_prepared_stmt_count to at least {needed}: in the study's settings for \
         a server that Prony starts, otherwise with SET GLOBAL max_prepared_stmt_count = {needed}; or use \
         the protocol \"text\""
    )]
    MaxPreparedStatements {
        /// Its value.
        value: u64,
        /// Statements that are there now.
        used: u64,
        /// Statements of the load.
        wanted: u64,
        /// Both together.
        needed: u64,
    },
    /// This process's limit of open files.
    #[error(
        "this process may open {value} files (hard limit) and the load needs {needed}: one per connection, \
         or two where a network with a latency is put before the server. Raise the limit with ulimit -Hn \
         {needed} as root before the start, or in /etc/security/limits.conf"
    )]
    OpenFiles {
        /// The hard limit.
        value: u64,
        /// What the load needs.
        needed: u64,
    },
    /// The system's port numbers for outgoing TCP connections.
    #[error(
        "this machine has {value} ports for outgoing connections (net.ipv4.ip_local_port_range) and the load \
         needs {needed}. Widen the range with sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" as root, \
         connect from several addresses (--source), or connect by Unix socket"
    )]
    Ports {
        /// Ports in the range.
        value: u64,
        /// Connections of the load.
        needed: u64,
    },
    /// The server went away while it was asked.
    #[error(transparent)]
    Connection(#[from] ClientError),
}

/// Files of this process beside the connections: standard streams, store, epoll instances, `/proc`.
const OTHER_FILES: u64 = 64;
/// First column of the answer of a server that really evaluates statements.
const MARK: &str = "prony preflight";

/// Checks that `wants` fits into the limits of the server at the other end of `connection` and of this
/// machine; raises this process's own limit of open files where possible. A limit that the server does not
/// report counts as high enough.
///
/// # Errors
/// The first limit that does not suffice.
pub fn preflight(connection: &mut Connection, wants: &Wants) -> Result<Vec<Remark>, Error> {
    if !wants.elsewhere {
        check_open_files(wants.files())?;
    }
    if wants.tcp && !wants.elsewhere {
        let ports = port_range().map(|ports| ports * u64::from(wants.sources.max(1)));
        check_ports(u64::from(wants.connections), ports)?;
    }
    let limits = Limits::ask(connection)?;
    limits.check(wants)?;
    Ok(limits.remarks(wants))
}

/// What the server says; `None`: it does not.
#[derive(Debug, Default)]
struct Limits {
    connections: Option<u64>,
    connections_used: u64,
    prepared: Option<u64>,
    prepared_used: u64,
    open_files: Option<u64>,
    thread_pool_threads: Option<u64>,
}

impl Limits {
    fn ask(connection: &mut Connection) -> Result<Self, Error> {
        let sql = format!(
            "SELECT '{MARK}', @@global.max_connections, @@global.max_prepared_stmt_count, \
             @@global.open_files_limit"
        );
        let answer = match connection.query(&sql) {
            // A proxy, or another product of the family, that does not know one of them.
            Err(ClientError::Server { .. }) => return Ok(Self::default()),
            answer => answer?,
        };
        let [Some(mark), values @ ..] = answer.rows().first().map(Vec::as_slice).unwrap_or_default() else {
            return Ok(Self::default());
        };
        if mark != MARK {
            // A null server answers everything alike: its numbers mean nothing.
            return Ok(Self::default());
        }
        let number =
            |index: usize| values.get(index)?.as_ref()?.parse::<u64>().ok().filter(|value| *value > 0);
        let [connections, prepared, open_files] = [0, 1, 2].map(number);
        let status = pairs(
            connection,
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Prepared_stmt_count')",
        )?;
        let used = |name: &str| status.get(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let pool = pairs(connection, "SHOW GLOBAL VARIABLES LIKE 'thread_%'")?;
        let pooled = pool.get("thread_handling").is_some_and(|handling| handling == "pool-of-threads");
        let threads = pool.get("thread_pool_max_threads").and_then(|text| text.parse().ok());
        Ok(Self {
            connections,
            connections_used: used("Threads_connected"),
            prepared,
            prepared_used: used("Prepared_stmt_count"),
            open_files,
            thread_pool_threads: threads.filter(|_| pooled),
        })
    }

    fn check(&self, wants: &Wants) -> Result<(), Error> {
        let (used, wanted) = (self.connections_used, u64::from(wants.connections));
        let needed = used + wanted;
        if let Some(value) = self.connections.filter(|value| *value < needed) {
            return Err(Error::MaxConnections { value, used, wanted, needed, open_files: self.open_files });
        }
        let (used, wanted) = (self.prepared_used, wants.prepared_statements);
        let needed = used + wanted;
        if let Some(value) = self.prepared.filter(|value| *value < needed) {
            return Err(Error::MaxPreparedStatements { value, used, wanted, needed });
        }
        Ok(())
    }

    fn remarks(&self, wants: &Wants) -> Vec<Remark> {
        let connections = wants.connections;
        let threads = self.thread_pool_threads.filter(|threads| *threads < u64::from(connections));
        threads.map(|threads| Remark::ThreadPool { threads, connections }).into_iter().collect()
    }
}

/// A server with a low limit of open files lowers `max_connections` by itself.
fn lowered(value: u64, needed: u64, open_files: &Option<u64>) -> String {
    match open_files {
        Some(files) if *files < needed + OTHER_FILES && value < needed => format!(
            "; first raise its limit of open files, {files} (ulimit -Hn {} as root before it starts)",
            needed.saturating_mul(2)
        ),
        _ => String::new(),
    }
}

fn check_open_files(needed: u64) -> Result<(), Error> {
    let value = trampoline::raise_open_files();
    if value >= needed {
        return Ok(());
    }
    // Root may raise the hard limit, too.
    let wanted = Rlimit { current: Some(needed), maximum: Some(needed) };
    rustix::process::setrlimit(Resource::Nofile, wanted).map_err(|_| Error::OpenFiles { value, needed })
}

fn port_range() -> Option<u64> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (low, high) = (numbers.next()??, numbers.next()??);
    high.checked_sub(low).map(|distance| distance + 1)
}

fn check_ports(needed: u64, range: Option<u64>) -> Result<(), Error> {
    match range {
        Some(value) if value < needed => Err(Error::Ports { value, needed }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let (connections, prepared) = (Some(151), Some(16382));
        Limits { connections, connections_used: 3, prepared, prepared_used: 10, ..Limits::default() }
    }

    #[test]
    fn a_limit_that_is_too_low_is_named_with_value_need_and_remedy() {
        let fits =
            Wants { connections: 148, prepared_statements: 16372, tcp: true, sources: 1, ..Wants::default() };
        assert!(limits().check(&fits).is_ok());
        let error = limits().check(&Wants { connections: 149, ..fits }).unwrap_err().to_string();
        for part in ["max_connections", "151", "needs 149 more", "at least 152", "SET GLOBAL"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = limits().check(&Wants { prepared_statements: 16373, ..fits }).unwrap_err().to_string();
        assert!(error.contains("max_prepared_stmt_count") && error.contains("16383"), "{error}");
        let low = Limits { open_files: Some(1024), ..limits() };
        let error = low.check(&Wants { connections: 2000, ..fits }).unwrap_err().to_string();
        assert!(error.contains("open files, 1024"), "{error}");
    }

    #[test]
    fn what_is_unknown_counts_as_enough() {
        let much = Wants {
            connections: 100_000,
            prepared_statements: 1 << 40,
            tcp: true,
            sources: 1,
            ..Wants::default()
        };
        assert!(Limits::default().check(&much).is_ok());
        assert!(check_ports(100_000, None).is_ok());
    }

    #[test]
    fn the_machines_own_limits_are_checked() {
        assert!(check_ports(30_000, Some(28_232)).unwrap_err().to_string().contains("28232 ports"));
        let wants = Wants { connections: 1_000, ..Wants::default() };
        assert_eq!(wants.files(), 1_000 + OTHER_FILES);
        assert_eq!(Wants { relayed: true, ..wants }.files(), 2_000 + OTHER_FILES, "the relay's two sockets");
        assert!(check_open_files(100).is_ok());
        let error = check_open_files(u64::MAX - 1).unwrap_err().to_string();
        assert!(error.contains("ulimit -Hn"), "{error}");
    }
}
