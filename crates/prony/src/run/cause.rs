//! What stood in the way of a trial, a profile or a crash, as a value: from the errors of provisioning, of
//! connections and of loads. What Prony itself says gets its words in `report::words`; what a server, the
//! operating system or a script said is quoted.

use super::{Error, failure::from_store};
use crate::{dataset, provision};
use load::{PartFailure, client, sample::Broken};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What stood in the way. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// A server ended, by itself or by a signal.
    Ended {
        /// Product and version.
        server: String,
        /// For how long it had run, s.
        seconds: u64,
        /// How it ended, in the operating system's words.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// The kernel killed a server because it had used up its memory limit.
    OutOfMemory {
        /// Product and version.
        server: String,
        /// The limit, MiB.
        mebibytes: u64,
    },
    /// A server refused a login or a statement.
    Refused {
        /// The server's number of the error.
        code: u16,
        /// SQL state.
        state: String,
        /// The server's words.
        message: String,
    },
    /// Nothing answers at an address.
    Unreachable {
        /// Where.
        address: String,
        /// In the operating system's words.
        reason: String,
    },
    /// Not all connections of a load could be opened.
    NotOpened {
        /// Where to.
        address: String,
        /// How many were.
        opened: u32,
        /// How many were asked for.
        wanted: u32,
        /// The last failure, in the words of the server or the operating system.
        reason: String,
    },
    /// A server answered in time neither on this connection nor on a second one.
    Hangs {
        /// For how long it has been silent, s.
        seconds: u64,
    },
    /// A server closed a connection.
    Closed,
    /// A server did not reply in time.
    TimedOut,
    /// A reply was larger than any that is expected.
    TooLarge,
    /// A server's bytes do not follow the protocol.
    Protocol {
        /// What is wrong with them.
        detail: String,
    },
    /// TLS failed.
    Tls {
        /// Why, in the words of the TLS library or the operating system.
        reason: String,
    },
    /// A server refused a login, or the connection for it broke.
    Login {
        /// Address.
        server: String,
        /// Why.
        cause: Box<Self>,
    },
    /// A statement of Prony's own failed, or the connection broke in it.
    Statement {
        /// Address.
        server: String,
        /// Why.
        cause: Box<Self>,
    },
    /// A server ended while it was starting.
    NotStarted {
        /// Product and version.
        server: String,
        /// How it ended, in the operating system's words.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server that was started does not reply.
    NoAnswer {
        /// Product and version.
        server: String,
        /// For how long, s.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A server did not shut down.
    NotStopped {
        /// Product and version.
        server: String,
        /// For how long, s.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A replica has stopped replicating.
    ReplicationStopped {
        /// Its number, from 1.
        replica: u32,
        /// In the server's words.
        reason: String,
    },
    /// Servers that work together did not become equal.
    NotInSync {
        /// For how long, s.
        seconds: u64,
        /// Which one lacks what.
        state: String,
    },
    /// The disk is full, or nearly.
    NoSpace {
        /// Where.
        directory: String,
        /// How much is needed, MB.
        needed_mb: u64,
        /// How much is free, MB.
        available_mb: u64,
    },
    /// A file or a program cannot be used.
    File {
        /// Which.
        path: String,
        /// In the operating system's words.
        reason: String,
    },
    /// The network in front of a server could not be set up.
    Network {
        /// In the operating system's words.
        reason: String,
    },
    /// The load cannot run on the processors that it is pinned to.
    NotPinned {
        /// Their numbers.
        processors: String,
        /// In the operating system's words.
        reason: String,
    },
    /// The operating system refused something.
    System {
        /// In its words.
        reason: String,
    },
    /// A process that carries out a part of a load did not do its part.
    Part {
        /// Which.
        part: String,
        /// Why.
        cause: Box<Self>,
    },
    /// It ended before it reported anything.
    PartMute {
        /// How it ended.
        end: String,
    },
    /// It is another version of Prony.
    PartVersion {
        /// Its version.
        theirs: String,
        /// This one's.
        ours: String,
    },
    /// It cannot be reached.
    PartUnreachable {
        /// In the operating system's words.
        reason: String,
    },
    /// One of the two sides does not accept the other's certificate.
    PartUntrusted {
        /// In the words of the TLS library.
        reason: String,
    },
    /// It works for another run.
    PartBusy {
        /// Which.
        run: String,
    },
    /// It does not allow this load.
    PartForbids {
        /// What it does not allow, in its own words.
        what: String,
    },
    /// It sends what nobody can read.
    PartStrange {
        /// What is wrong with it.
        detail: String,
    },
    /// It is gone.
    PartGone {
        /// How it ended.
        end: String,
    },
    /// It is slow.
    PartSlow {
        /// How late its results are, s.
        seconds: u64,
    },
    /// It is silent.
    PartSilent {
        /// For how long, s.
        seconds: u64,
    },
    /// It continues although the load is over.
    PartEndless,
    /// It ended without a report.
    PartNoReport,
    /// A script cannot go on.
    Script {
        /// Where and why, in its interpreter's words.
        message: String,
    },
    /// A thread of the load engine ended early.
    WorkerGone,
    /// The user stopped it.
    Interrupted,
    /// Known in words only: what another program said, the message of an error that a plan should have found
    /// (in English), or by an older version of Prony.
    Told {
        /// The words.
        cause: String,
    },
}

impl Cause {
    /// One that is known in words only.
    #[must_use]
    pub fn told(cause: impl ToString) -> Self {
        Self::Told { cause: cause.to_string() }
    }

    fn statement(server: &str, source: &client::Error) -> Self {
        Self::Statement { server: server.to_owned(), cause: Box::new(source.into()) }
    }

    /// As a store has it.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        from_store(stored, |cause| Self::Told { cause })
    }
}

impl From<&provision::Error> for Cause {
    fn from(error: &provision::Error) -> Self {
        match error {
            provision::Error::Ended { server, after, status, log } => Self::Ended {
                server: server.clone(),
                seconds: after.as_secs(),
                status: status.clone(),
                log: log.clone(),
            },
            provision::Error::OutOfMemory { server, limit_bytes } => {
                Self::OutOfMemory { server: server.clone(), mebibytes: limit_bytes >> 20 }
            }
            provision::Error::Died { server, status, log } => {
                Self::NotStarted { server: server.clone(), status: status.clone(), log: log.clone() }
            }
            provision::Error::NoAnswer { server, after, log } => {
                Self::NoAnswer { server: server.clone(), seconds: after.as_secs(), log: log.clone() }
            }
            provision::Error::NotStopped { server, after, log } => {
                Self::NotStopped { server: server.clone(), seconds: after.as_secs(), log: log.clone() }
            }
            provision::Error::ReplicationStopped { replica, reason } => {
                Self::ReplicationStopped { replica: *replica, reason: reason.clone() }
            }
            provision::Error::NotCaughtUp { state, after } => {
                Self::NotInSync { seconds: after.as_secs(), state: state.clone() }
            }
            provision::Error::NoSpace { directory, needed_mb, available_mb } => Self::NoSpace {
                directory: directory.display().to_string(),
                needed_mb: *needed_mb,
                available_mb: *available_mb,
            },
            provision::Error::File { path, source, .. }
            | provision::Error::Spawn { program: path, source } => {
                Self::File { path: path.display().to_string(), reason: source.to_string() }
            }
            provision::Error::NoPort { source } | provision::Error::Between { source } => {
                Self::Network { reason: source.to_string() }
            }
            provision::Error::Login { server, source, .. } => {
                Self::Login { server: server.clone(), cause: Box::new((&**source).into()) }
            }
            provision::Error::Statement { server, source }
            | provision::Error::SetGlobal { server, source, .. } => Self::statement(server, source),
            provision::Error::Interrupted => Self::Interrupted,
            error => Self::told(error),
        }
    }
}

impl From<&dataset::Error> for Cause {
    fn from(error: &dataset::Error) -> Self {
        match error {
            dataset::Error::Connect { server, source } => {
                Self::Login { server: server.clone(), cause: Box::new((&**source).into()) }
            }
            dataset::Error::Statement { server, source, .. } => Self::statement(server, source),
            error => Self::told(error),
        }
    }
}

impl From<&Error> for Cause {
    fn from(error: &Error) -> Self {
        match error {
            Error::Provision { source, .. } => source.into(),
            Error::Data { source, .. } => source.into(),
            Error::Control { source, .. } | Error::Account { source, .. } => source.into(),
            Error::Network { source, .. } => Self::Network { reason: source.to_string() },
            Error::Script { reason, .. } => Self::Script { message: reason.clone() },
            error => Self::told(error),
        }
    }
}

impl From<&client::Error> for Cause {
    fn from(error: &client::Error) -> Self {
        match error {
            client::Error::Server { code, state, message } => {
                Self::Refused { code: *code, state: state.clone(), message: message.clone() }
            }
            client::Error::Hangs { after } => Self::Hangs { seconds: after.as_secs() },
            client::Error::Address { address, source } | client::Error::Connect { address, source } => {
                Self::Unreachable { address: address.clone(), reason: source.to_string() }
            }
            client::Error::Protocol(error) => Self::Protocol { detail: error.to_string() },
            client::Error::Tls(error) => Self::Tls { reason: error.to_string() },
            client::Error::File(error) => Self::told(error),
            client::Error::TimedOut => Self::TimedOut,
            client::Error::TooLarge => Self::TooLarge,
            client::Error::Stopped => Self::Interrupted,
            client::Error::Closed => Self::Closed,
        }
    }
}

impl From<load::Error> for Cause {
    fn from(error: load::Error) -> Self {
        match error {
            load::Error::Unreachable { address, reason } => Self::Unreachable { address, reason },
            load::Error::Opening { address, opened, wanted, reason, .. } => {
                Self::NotOpened { address, opened, wanted, reason }
            }
            load::Error::Script(message) => Self::Script { message },
            load::Error::Tls { address, reason } => Self::Tls { reason: format!("{address}: {reason}") },
            load::Error::Pin { processors, source } => {
                Self::NotPinned { processors, reason: source.to_string() }
            }
            load::Error::Part { part, failure } => Self::Part { part, cause: Box::new(failure.into()) },
            load::Error::System(source) => Self::System { reason: source.to_string() },
            load::Error::Interrupted => Self::Interrupted,
            // the workload or a file is of no use, which a plan has found out before
            error => Self::told(error),
        }
    }
}

impl From<PartFailure> for Cause {
    fn from(failure: PartFailure) -> Self {
        match failure {
            PartFailure::Mute { end } => Self::PartMute { end },
            PartFailure::Version { theirs, ours } => Self::PartVersion { theirs, ours },
            PartFailure::Unreachable { cause } => Self::PartUnreachable { reason: cause },
            PartFailure::Untrusted { cause } => Self::PartUntrusted { reason: cause },
            PartFailure::Busy { run } => Self::PartBusy { run },
            PartFailure::Forbidden(what) => Self::PartForbids { what: what.to_string() },
            PartFailure::Strange { cause } => Self::PartStrange { detail: cause },
            PartFailure::Cut { end, cause } => Self::PartGone { end: format!("{end}; {cause}") },
            PartFailure::Gone { end } => Self::PartGone { end },
            PartFailure::Refused { cause } => Self::Told { cause },
            PartFailure::Slow { seconds } => Self::PartSlow { seconds },
            PartFailure::Silent { seconds } => Self::PartSilent { seconds },
            PartFailure::Endless => Self::PartEndless,
            PartFailure::NoReport => Self::PartNoReport,
        }
    }
}

impl From<Broken> for Cause {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Statement { code, state, message } => Self::Refused { code, state, message },
            Broken::Script { message } => Self::Script { message },
            Broken::WorkerGone => Self::WorkerGone,
            Broken::Told(cause) => Self::Told { cause },
        }
    }
}
