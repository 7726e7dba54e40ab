//! What stood in the way of a trial, a profile or a crash, as a value: from the errors of provisioning, of
//! connections and of loads. What Prony itself says gets its words in `report::words`; what a server, the
//! operating system or a script said is quoted.

mod of;

use super::failure::from_store;
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
        #[serde(alias = "detail", deserialize_with = "Cause::boxed_from_store")]
        cause: Box<Self>,
    },
    /// A packet has the wrong number.
    PacketOutOfOrder {
        /// The number that was due.
        expected: u8,
        /// The number that came.
        seen: u8,
    },
    /// A packet ends early or makes no sense.
    PacketMalformed {
        /// What was being read, in the protocol's words.
        what: String,
    },
    /// A packet of another kind was due.
    PacketUnexpected {
        /// Its first byte: `0x04`.
        first: String,
        /// What was due, in the protocol's words.
        expected: String,
    },
    /// A packet or a count is larger than anything sensible.
    PacketTooLarge {
        /// What, in the protocol's words.
        what: String,
        /// Its size.
        seen: u64,
        /// The largest that is accepted.
        limit: u64,
    },
    /// The connection was used out of order: a defect of Prony's.
    OutOfTurn {
        /// How, in the protocol's words.
        what: String,
    },
    /// A server speaks an old protocol.
    ProtocolVersion {
        /// Its version.
        version: u8,
    },
    /// A server has no TLS.
    TlsNotOffered,
    /// An account needs a plug-in that Prony does not have.
    PluginUnknown {
        /// Its name.
        plugin: String,
    },
    /// A server wants the password in clear text over a connection without TLS.
    PasswordInClear {
        /// The plug-in that wants it.
        plugin: String,
    },
    /// The same through TLS that does not verify who the server is.
    PasswordUnverified {
        /// The plug-in that wants it.
        plugin: String,
    },
    /// The key that would encrypt the password could be anybody's.
    PasswordKeyUnknown {
        /// The plug-in that wants it.
        plugin: String,
    },
    /// The server's key for passwords cannot be used.
    PasswordKeyUnusable {
        /// What is wrong with it, in the protocol's words.
        what: String,
    },
    /// A server asked for a file that was not offered to it.
    LocalFile {
        /// Its name.
        asked: String,
    },
    /// TLS failed.
    Tls {
        /// Why.
        #[serde(alias = "reason", deserialize_with = "Cause::boxed_from_store")]
        cause: Box<Self>,
    },
    /// The server is too old for it.
    TlsTooOld {
        /// In the words of the TLS library.
        reason: String,
    },
    /// A certificate has expired.
    TlsExpired {
        /// How long ago, days.
        days: u64,
    },
    /// A certificate is not valid yet.
    TlsNotYetValid {
        /// For how long it is not, days.
        days: u64,
    },
    /// Nobody who is trusted has signed the server's certificate.
    TlsUnknownIssuer,
    /// The server's certificate is for other hosts.
    TlsOtherName {
        /// In the words of the TLS library.
        reason: String,
    },
    /// The server's certificate is one of an authority.
    TlsIsAuthority,
    /// The server's certificate is wrong otherwise.
    TlsUnverified {
        /// In the words of the TLS library.
        reason: String,
    },
    /// The handshake failed otherwise.
    TlsOther {
        /// In the words of the TLS library.
        reason: String,
    },
    /// The server went away during the handshake.
    TlsBrokenOff,
    /// Something is to be verified, but no authority is trusted.
    TlsNoAuthority,
    /// Only one of certificate and key is given.
    TlsHalfCertificate,
    /// No certificate can be verified for such a name.
    TlsName {
        /// The name.
        name: String,
    },
    /// A file with certificates or a key cannot be used.
    TlsFile {
        /// Which.
        path: String,
        /// In the words of the TLS library.
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
        #[serde(alias = "state", deserialize_with = "Cause::boxed_from_store")]
        cause: Box<Self>,
    },
    /// A replica has not applied everything.
    ReplicaBehind {
        /// Its number, from 1.
        replica: u32,
    },
    /// The same, and it does not get on.
    ReplicaStuck {
        /// Its number, from 1.
        replica: u32,
        /// In the server's words.
        reason: String,
    },
    /// A replica does not replicate yet.
    ReplicaNotStarted {
        /// Its number, from 1.
        replica: u32,
    },
    /// Too few replicas acknowledge commits.
    TooFewAcknowledge {
        /// How many do.
        replicas: u32,
        /// How many must.
        wanted: u32,
    },
    /// A node of a cluster does not see all others.
    NodesUnseen {
        /// Its number, from 1.
        node: u32,
        /// How many it sees, itself included.
        seen: u32,
        /// How many there are.
        nodes: u32,
    },
    /// After a crash, the node that is left does not know how many are.
    NodesLeft {
        /// How many it sees, itself included.
        seen: u32,
    },
    /// After a crash, the node that is left does not answer.
    NodeSilent {
        /// Why.
        cause: Box<Self>,
    },
    /// A server that was started does not run with its settings.
    SettingsNotTaken {
        /// Product and version.
        server: String,
        /// What was asked for, and what it runs with: `a = 1: a = 2`.
        differences: String,
    },
    /// A new server could not create its system tables.
    NotInitialised {
        /// Product and version.
        server: String,
        /// How its program ended.
        reason: String,
        /// The last lines of its log.
        log: String,
    },
    /// A data directory cannot be copied: a link leads out of it.
    OutsideData {
        /// The link.
        path: String,
    },
    /// The rows of a table are not those that were loaded.
    DataIncomplete {
        /// Address.
        server: String,
        /// The table.
        table: String,
        /// How many there are.
        found: u64,
        /// The highest number of one.
        last: u64,
        /// How many there should be.
        expected: u64,
    },
    /// The same files made other contents than on another server.
    DataDiffer {
        /// The other server.
        other: String,
        /// Tables with their rows here and there.
        differences: String,
    },
    /// Another process of Prony's makes or removes data there.
    DataBusy {
        /// Address.
        server: String,
        /// Schema.
        database: String,
    },
    /// A table of that name is not Prony's.
    DataForeign {
        /// Address.
        server: String,
        /// Schema.
        database: String,
        /// The table.
        table: String,
    },
    /// A server refused a statement of a file.
    DataStatement {
        /// Address.
        server: String,
        /// The file.
        file: String,
        /// The line where the statement begins.
        line: u64,
        /// The begin of the statement.
        text: String,
        /// Why.
        cause: Box<Self>,
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
        /// What it does not allow.
        #[serde(alias = "what", deserialize_with = "Cause::boxed_from_store")]
        cause: Box<Self>,
    },
    /// A load host is not allowed to load this server.
    ForbiddenTarget {
        /// The server.
        target: String,
        /// Those that it may.
        allowed: String,
    },
    /// So many connections.
    ForbiddenConnections {
        /// Its part of them.
        asked: u32,
        /// How many it allows.
        most: u32,
    },
    /// Such a rate.
    ForbiddenRate {
        /// Its part of it, starts per second.
        asked: u64,
        /// What it allows.
        most: u64,
    },
    /// A load without a rate.
    ForbiddenUnlimited {
        /// What it allows, starts per second.
        most: u64,
    },
    /// So long a load.
    ForbiddenTime {
        /// Warm-up and measurement, s.
        asked: u64,
        /// What it allows, s.
        most: u64,
    },
    /// Scripts.
    ForbiddenScript,
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
    /// It is gone, and how it ended is not known.
    PartLost,
    /// It closed the connection before it reported anything.
    PartHungUp,
    /// It accepted a connection and then said nothing.
    PartUnanswered {
        /// For how long it was waited, s.
        seconds: u64,
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
    /// Known in words only: what another process said, the message of an error that ends a run before its
    /// trials (in English), or by an older version of Prony.
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

    /// As a store has it.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        from_store(stored, |cause| Self::Told { cause })
    }

    /// The same within another.
    fn boxed_from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Box<Self>, D::Error> {
        Self::from_store(stored).map(Box::new)
    }
}
