//! Causes from the errors of provisioning, of data sets, of connections and of loads.

use super::Cause;
use crate::{
    dataset,
    provision::{self, Lag, NotTaken},
    run::Error,
};
use load::{Forbidden, PartFailure, client, sample::Broken, secrets, tls};

impl Cause {
    fn statement(server: &str, source: &client::Error) -> Self {
        Self::Statement { server: server.to_owned(), cause: Box::new(source.into()) }
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
            provision::Error::NotCaughtUp { lag, after } => {
                Self::NotInSync { seconds: after.as_secs(), cause: Box::new(lag.into()) }
            }
            provision::Error::NotTaken { server, differences, .. } => {
                let one = |one: &NotTaken| format!("{}: {} = {}", one.asked, one.variable, one.found);
                let differences = differences.iter().map(one).collect::<Vec<_>>().join("; ");
                Self::SettingsNotTaken { server: server.clone(), differences }
            }
            provision::Error::Initialise { server, reason, log } => {
                Self::NotInitialised { server: server.clone(), reason: reason.clone(), log: log.clone() }
            }
            provision::Error::Elsewhere { path } => Self::OutsideData { path: path.display().to_string() },
            provision::Error::NoSpace { directory, needed_mb, available_mb }
            | provision::Error::NoSpaceForSnapshots { directory, needed_mb, available_mb, .. } => {
                Self::NoSpace {
                    directory: directory.display().to_string(),
                    needed_mb: *needed_mb,
                    available_mb: *available_mb,
                }
            }
            provision::Error::File { path, source, .. }
            | provision::Error::Spawn { program: path, source } => {
                Self::File { path: path.display().to_string(), reason: source.to_string() }
            }
            provision::Error::NoPort { source, .. } | provision::Error::Between { source } => {
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
            dataset::Error::File { server, file, line, text, source } => Self::DataStatement {
                server: server.clone(),
                file: file.display().to_string(),
                line: *line,
                text: text.clone(),
                cause: Box::new((&**source).into()),
            },
            dataset::Error::Incomplete { server, table, found, last, expected } => Self::DataIncomplete {
                server: server.clone(),
                table: table.clone(),
                found: *found,
                last: *last,
                expected: *expected,
            },
            dataset::Error::Different { other, differences } => {
                Self::DataDiffer { other: other.clone(), differences: differences.clone() }
            }
            dataset::Error::Busy { server, database } => {
                Self::DataBusy { server: server.clone(), database: database.clone() }
            }
            dataset::Error::Foreign { server, database, table } => {
                Self::DataForeign { server: server.clone(), database: database.clone(), table: table.clone() }
            }
            dataset::Error::Interrupted => Self::Interrupted,
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
            Error::Space(source) => source.into(),
            Error::Interrupted => Self::Interrupted,
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
            client::Error::Protocol(error) => error.into(),
            client::Error::Tls(error) => Self::Tls { cause: Box::new(error.into()) },
            client::Error::File(error) => error.into(),
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
            load::Error::Tls { address, source } => {
                let cause = Self::Tls { cause: Box::new((&source).into()) };
                Self::Login { server: address, cause: Box::new(cause) }
            }
            load::Error::File { address, source } => {
                Self::Login { server: address, cause: Box::new((&source).into()) }
            }
            load::Error::Pin { processors, source } => {
                Self::NotPinned { processors, reason: source.to_string() }
            }
            load::Error::Part { part, failure } => Self::Part { part, cause: Box::new(failure.into()) },
            load::Error::System(source) => Self::System { reason: source.to_string() },
            load::Error::Interrupted => Self::Interrupted,
            // the workload is of no use, which a plan has found out before
            error => Self::told(error),
        }
    }
}

impl From<PartFailure> for Cause {
    fn from(failure: PartFailure) -> Self {
        match failure {
            PartFailure::Mute { end } if end.is_empty() => Self::PartHungUp,
            PartFailure::Mute { end } => Self::PartMute { end },
            PartFailure::Unanswered { seconds } => Self::PartUnanswered { seconds },
            PartFailure::Version { theirs, ours } => Self::PartVersion { theirs, ours },
            PartFailure::Unreachable { cause } => Self::PartUnreachable { reason: cause },
            PartFailure::Untrusted { cause } => Self::PartUntrusted { reason: cause },
            PartFailure::Busy { run } => Self::PartBusy { run },
            PartFailure::Forbidden(what) => Self::PartForbids { cause: Box::new(what.into()) },
            PartFailure::Strange { cause } => Self::PartStrange { detail: cause },
            PartFailure::Cut { end, cause } if end.is_empty() => Self::PartGone { end: cause },
            PartFailure::Cut { end, cause } => Self::PartGone { end: format!("{end}; {cause}") },
            PartFailure::Gone { end } if end.is_empty() => Self::PartLost,
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

impl From<Forbidden> for Cause {
    fn from(what: Forbidden) -> Self {
        match what {
            Forbidden::Target { target, allowed } => Self::ForbiddenTarget { target, allowed },
            Forbidden::Connections { asked, most } => Self::ForbiddenConnections { asked, most },
            Forbidden::Rate { asked, most } => Self::ForbiddenRate { asked, most },
            Forbidden::Unlimited { most } => Self::ForbiddenUnlimited { most },
            Forbidden::Time { asked, most } => Self::ForbiddenTime { asked, most },
            Forbidden::Script => Self::ForbiddenScript,
        }
    }
}

impl From<&Lag> for Cause {
    fn from(lag: &Lag) -> Self {
        match lag {
            Lag::Behind { replica } => Self::ReplicaBehind { replica: *replica },
            Lag::Stuck { replica, reason } => {
                Self::ReplicaStuck { replica: *replica, reason: reason.clone() }
            }
            Lag::NotStarted { replica } => Self::ReplicaNotStarted { replica: *replica },
            Lag::Acknowledging { replicas, wanted } => {
                Self::TooFewAcknowledge { replicas: *replicas, wanted: *wanted }
            }
            Lag::Left { seen } => Self::NodesLeft { seen: *seen },
            Lag::Silent(error) => Self::NodeSilent { cause: Box::new((&**error).into()) },
            Lag::Incomplete { node, seen, nodes } => {
                Self::NodesUnseen { node: *node, seen: *seen, nodes: *nodes }
            }
        }
    }
}

impl From<&wire::Error> for Cause {
    fn from(error: &wire::Error) -> Self {
        use wire::Error;
        let packet = |cause| Self::Protocol { cause: Box::new(cause) };
        let plugin = |name: &&str| (*name).to_owned();
        match error {
            Error::Sequence { expected, seen } => {
                packet(Self::PacketOutOfOrder { expected: *expected, seen: *seen })
            }
            Error::Malformed { what } => packet(Self::PacketMalformed { what: (*what).to_owned() }),
            Error::Unexpected { first, expected } => packet(Self::PacketUnexpected {
                first: format!("{first:#04x}"),
                expected: (*expected).to_owned(),
            }),
            Error::TooLarge { what, seen, limit } => {
                packet(Self::PacketTooLarge { what: (*what).to_owned(), seen: *seen, limit: *limit })
            }
            Error::ProtocolVersion(version) => Self::ProtocolVersion { version: *version },
            Error::TlsNotOffered => Self::TlsNotOffered,
            Error::Plugin(plugin) => Self::PluginUnknown { plugin: plugin.clone() },
            Error::InsecurePassword(name) => Self::PasswordInClear { plugin: plugin(name) },
            Error::UnverifiedServer(name) => Self::PasswordUnverified { plugin: plugin(name) },
            Error::UnknownKey(name) => Self::PasswordKeyUnknown { plugin: plugin(name) },
            Error::RsaKey(what) => Self::PasswordKeyUnusable { what: (*what).to_owned() },
            Error::Server { error, message } => {
                Self::Refused { code: error.code, state: error.state_text(), message: message.clone() }
            }
            Error::LocalFileRefused { asked } => Self::LocalFile { asked: asked.clone() },
            Error::OutOfTurn(what) => Self::OutOfTurn { what: (*what).to_owned() },
            error => Self::told(error),
        }
    }
}

impl From<&tls::Error> for Cause {
    fn from(error: &tls::Error) -> Self {
        match error {
            tls::Error::File { path, source, .. } => {
                Self::TlsFile { path: path.display().to_string(), reason: source.to_string() }
            }
            tls::Error::NoAuthority => Self::TlsNoAuthority,
            tls::Error::HalfCertificate => Self::TlsHalfCertificate,
            tls::Error::Name(name) => Self::TlsName { name: name.clone() },
            tls::Error::Setup(source) => Self::TlsOther { reason: source.to_string() },
            tls::Error::Handshake(unagreed) => unagreed.into(),
            tls::Error::BrokenOff => Self::TlsBrokenOff,
        }
    }
}

impl From<&tls::Unagreed> for Cause {
    fn from(unagreed: &tls::Unagreed) -> Self {
        use tls::Unagreed;
        match unagreed {
            Unagreed::TooOld { reason } => Self::TlsTooOld { reason: reason.clone() },
            Unagreed::Expired { days } => Self::TlsExpired { days: *days },
            Unagreed::NotYetValid { days } => Self::TlsNotYetValid { days: *days },
            Unagreed::UnknownIssuer => Self::TlsUnknownIssuer,
            Unagreed::OtherName { reason } => Self::TlsOtherName { reason: reason.clone() },
            Unagreed::IsAuthority => Self::TlsIsAuthority,
            Unagreed::Unverified { reason } => Self::TlsUnverified { reason: reason.clone() },
            Unagreed::Other { reason } => Self::TlsOther { reason: reason.clone() },
        }
    }
}

impl From<&secrets::Error> for Cause {
    fn from(error: &secrets::Error) -> Self {
        Self::File { path: error.path.display().to_string(), reason: error.source.to_string() }
    }
}
