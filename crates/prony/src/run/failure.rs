//! Why a trial has no result, a server no profile or no crash. Values only; a report puts them into words.

use super::Cause;
use crate::audit;
use load::PartFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Why a trial could not be run, or stopped early. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialFailure {
    /// Its server died during the trial.
    ServerDied {
        /// How.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// Its server could not be made ready for it.
    NotReady {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// Its server failed to become ready so many times in a row that it was given up.
    GivenUp {
        /// How often.
        attempts: u32,
        /// Why, the last time.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// Its server died and could not be restarted.
    NotRevived {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// Replicas or further nodes did not follow before it began.
    NotFollowed {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// The load could not begin, or stopped early.
    Load {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// The same of a load of the search for its rate.
    SearchLoad {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// A load host is not available, or refuses the load.
    AgentRefused {
        /// Which.
        agent: String,
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// A load host was lost while it ran its part.
    AgentLost {
        /// Which.
        agent: String,
        /// How.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// A load host did not report any more.
    AgentSilent {
        /// Which.
        agent: String,
        /// For how long, s.
        seconds: u64,
    },
    /// A load host did not keep up.
    AgentSlow {
        /// Which.
        agent: String,
        /// How late it was, s.
        seconds: u64,
    },
    /// The objective of the search cannot be read.
    Objective {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// The closed loop that the search begins from completed nothing.
    NothingToSearch,
    /// No rate keeps the objective.
    NothingKeeps {
        /// The objective.
        objective: String,
        /// The lowest rate that can be judged, starts per second.
        lowest_per_second: f64,
        /// What was measured at it: `p99 21.3 ms`.
        value: String,
    },
    /// A load had too few transactions to tell whether it keeps the objective.
    CannotTell {
        /// The objective.
        objective: String,
        /// The rate, starts per second.
        rate_per_second: f64,
    },
    /// Known in words only: by an older version of Prony.
    Told {
        /// The words.
        cause: String,
    },
}

impl TrialFailure {
    /// Of a load that has no outcome.
    pub(super) fn of_load(error: load::Error) -> Self {
        match error {
            load::Error::Part { part, failure } => match part.strip_prefix("agent ") {
                Some(agent) => Self::of_agent(agent.to_owned(), failure),
                None => Self::Load { cause: load::Error::Part { part, failure }.into() },
            },
            error => Self::Load { cause: error.into() },
        }
    }

    fn of_agent(agent: String, failure: PartFailure) -> Self {
        match failure {
            PartFailure::Silent { seconds } => Self::AgentSilent { agent, seconds },
            PartFailure::Slow { seconds } => Self::AgentSlow { agent, seconds },
            PartFailure::Cut { .. }
            | PartFailure::Gone { .. }
            | PartFailure::NoReport
            | PartFailure::Endless
            | PartFailure::Strange { .. } => Self::AgentLost { agent, cause: failure.into() },
            PartFailure::Mute { .. }
            | PartFailure::Unanswered { .. }
            | PartFailure::Version { .. }
            | PartFailure::Unreachable { .. }
            | PartFailure::Untrusted { .. }
            | PartFailure::Busy { .. }
            | PartFailure::Forbidden(_)
            | PartFailure::Refused { .. } => Self::AgentRefused { agent, cause: failure.into() },
        }
    }

    /// One that is known in words only.
    #[must_use]
    pub fn told(cause: impl Into<String>) -> Self {
        Self::Told { cause: cause.into() }
    }

    /// As a store has it.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        from_store(stored, |cause| Self::Told { cause })
    }
}

/// Why there is no profile of a server. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoProfile {
    /// Its process is not on this machine, or not known.
    NoProcess,
    /// The load under which it was to be profiled failed.
    Load {
        /// Why.
        #[serde(deserialize_with = "Cause::from_store")]
        cause: Cause,
    },
    /// The load was over before anything was recorded.
    NothingRecorded,
    /// `perf` recorded no samples: the server was idle.
    NoSamples,
    /// There is no `perf`.
    NotInstalled,
    /// `perf` does not start.
    NotStarted {
        /// Why, in the operating system's words.
        cause: String,
    },
    /// `perf` may not profile the server.
    Forbidden,
    /// `perf` failed.
    Failed {
        /// The last line that it printed.
        cause: String,
    },
    /// Known in words only: by an older version of Prony.
    Told {
        /// The words.
        cause: String,
    },
}

impl NoProfile {
    /// As a store has it.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        from_store(stored, |cause| Self::Told { cause })
    }
}

/// Why a server suffered no crash, or no further one. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoCrash {
    /// Its servers did not come up, before the crash or after it.
    NotUp {
        /// Why.
        cause: Cause,
    },
    /// A statement of the audit failed, before the crash or while commits were counted.
    NotAsked {
        /// Why.
        cause: Cause,
    },
    /// A writer ended before the crash.
    WriterGone {
        /// Why.
        cause: Cause,
    },
    /// Writers did not notice the crash.
    Unnoticed {
        /// How many still waited.
        writers: usize,
        /// For how long, s.
        seconds: u64,
    },
    /// Prony did not start the server.
    NotOurs {
        /// Its name in the plan.
        name: String,
    },
    /// There is no network that can be cut.
    NoNetwork {
        /// Why, in the operating system's words.
        cause: String,
    },
    /// There is no file system that can lose its power.
    NoPower {
        /// Why, in the operating system's words.
        cause: String,
    },
    /// Known in words only: by an older version of Prony.
    Told {
        /// The words.
        cause: String,
    },
}

impl NoCrash {
    /// As a store has it.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        from_store(stored, |cause| Self::Told { cause })
    }
}

impl From<audit::Error> for NoCrash {
    fn from(error: audit::Error) -> Self {
        match error {
            audit::Error::Provision(error) => Self::NotUp { cause: (&error).into() },
            audit::Error::Client { source, .. } => Self::NotAsked { cause: (&*source).into() },
            audit::Error::Writer(source) => Self::WriterGone { cause: (&*source).into() },
            audit::Error::Waiting { writers } => {
                Self::Unnoticed { writers, seconds: audit::NOTICE_LIMIT.as_secs() }
            }
            audit::Error::NotOurs(name) => Self::NotOurs { name },
            audit::Error::Network(source) => Self::NoNetwork { cause: source.to_string() },
            audit::Error::Power(source) => Self::NoPower { cause: source.to_string() },
            audit::Error::Interrupted => Self::NotUp { cause: Cause::Interrupted },
        }
    }
}

/// A reason as a store has it: records of older versions have words only.
pub(super) fn from_store<'de, D, T>(stored: D, told: fn(String) -> T) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored<T> {
        Words(String),
        Whole(T),
    }
    Ok(match Stored::deserialize(stored)? {
        Stored::Words(cause) => told(cause),
        Stored::Whole(reason) => reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        provision::Error,
        run::{Note, TrialOutcome},
    };
    use load::{
        client,
        sample::{Broken, End},
    };

    #[test]
    fn what_was_told_within_a_cause_is_read_where_it_is_a_value_now() {
        let told = || Box::new(Cause::told("no"));
        for (old, expected) in [
            (
                r#"{"kind":"not_in_sync","seconds":5,"state":"no"}"#,
                Cause::NotInSync { seconds: 5, cause: told() },
            ),
            (r#"{"kind":"part_forbids","what":"no"}"#, Cause::PartForbids { cause: told() }),
            (r#"{"kind":"protocol","detail":"no"}"#, Cause::Protocol { cause: told() }),
            (r#"{"kind":"tls","reason":"no"}"#, Cause::Tls { cause: told() }),
        ] {
            assert_eq!(serde_json::from_str::<Cause>(old).expect(old), expected);
            let now = serde_json::to_string(&expected).expect("JSON");
            assert_eq!(serde_json::from_str::<Cause>(&now).expect("a cause"), expected, "{now}");
        }
    }

    /// Whether nothing in it is known in words only.
    fn is_value(cause: &Cause) -> bool {
        let text = serde_json::to_string(cause).expect("JSON");
        !text.contains(r#""kind":"told""#)
    }

    #[test]
    fn of_a_load_host_that_is_gone_only_what_it_said_itself_is_quoted() {
        use load::PartFailure;
        let (none, reset) = (String::new, || "connection reset".to_owned());
        for (failure, expected, told) in [
            (PartFailure::Gone { end: none() }, Cause::PartLost, "it is gone"),
            (
                PartFailure::Mute { end: none() },
                Cause::PartHungUp,
                "it closed the connection before it reported anything",
            ),
            (
                PartFailure::Cut { end: none(), cause: reset() },
                Cause::PartGone { end: reset() },
                "it is gone (connection reset)",
            ),
            (
                PartFailure::Cut { end: "signal: 9".to_owned(), cause: reset() },
                Cause::PartGone { end: "signal: 9; connection reset".to_owned() },
                "it is gone (signal: 9; connection reset)",
            ),
        ] {
            assert_eq!(failure.to_string(), told);
            assert_eq!(Cause::from(failure), expected);
        }
    }

    #[test]
    fn what_servers_load_hosts_and_tls_refuse_are_values() {
        let agent = |what| Cause::from(load::PartFailure::Forbidden(what));
        let lag = Error::NotCaughtUp {
            lag: crate::provision::Lag::Incomplete { node: 2, seen: 1, nodes: 3 },
            after: std::time::Duration::from_secs(60),
        };
        let tls = |what| Cause::from(&client::Error::Tls(load::tls::Error::Handshake(what)));
        let packet = |what| Cause::from(&client::Error::Protocol(what));
        for cause in [
            agent(load::Forbidden::Script),
            agent(load::Forbidden::Connections { asked: 8, most: 4 }),
            (&lag).into(),
            tls(load::tls::Unagreed::Expired { days: 3 }),
            packet(wire::Error::TlsNotOffered),
            load::PartFailure::Unanswered { seconds: 10 }.into(),
            packet(wire::Error::Sequence { expected: 1, seen: 2 }),
        ] {
            assert!(is_value(&cause), "{cause:?}");
        }
    }

    fn read(text: &str) -> TrialFailure {
        match serde_json::from_str(text).expect("an outcome") {
            TrialOutcome::Failed(failure) => failure,
            TrialOutcome::Measured { .. } => panic!("it failed"),
        }
    }

    #[test]
    fn the_end_of_a_load_comes_back_from_the_store_and_so_do_the_words_of_older_versions() {
        let (code, state, message) = (1146, "42S02".to_owned(), "no such table".to_owned());
        for broken in [Broken::Statement { code, state, message }, Broken::WorkerGone] {
            let end = End::Failed(broken);
            let text = serde_json::to_string(&end).expect("JSON");
            assert_eq!(serde_json::from_str::<End>(&text).expect("an end"), end, "{text}");
        }
        let old: End = serde_json::from_str(r#"{"failed":"it broke"}"#).expect("an end");
        assert_eq!(old, End::Failed(Broken::Told("it broke".to_owned())));
    }

    #[test]
    fn a_failure_comes_back_from_the_store_and_so_do_the_words_of_older_versions() {
        let lost = Error::Statement { server: "h:1".to_owned(), source: Box::new(client::Error::Closed) };
        for failure in [
            TrialFailure::NothingToSearch,
            TrialFailure::GivenUp { attempts: 2, cause: Cause::told("no room") },
            TrialFailure::Load { cause: Cause::from(Broken::WorkerGone) },
            TrialFailure::NotReady { cause: (&lost).into() },
        ] {
            let text = serde_json::to_string(&TrialOutcome::Failed(failure.clone())).expect("JSON");
            assert_eq!(read(&text), failure, "{text}");
        }
        assert_eq!(read(r#"{"failed":"the server went away"}"#), TrialFailure::told("the server went away"));
        let lost = read(r#"{"failed":{"kind":"agent_lost","agent":"b","cause":"it is gone (killed)"}}"#);
        let cause = Cause::told("it is gone (killed)");
        assert_eq!(lost, TrialFailure::AgentLost { agent: "b".to_owned(), cause });
        let older = read(r#"{"failed":{"kind":"load","cause":"gone (error 2013)"}}"#);
        assert_eq!(older, TrialFailure::Load { cause: Cause::told("gone (error 2013)") });
        let old: Note =
            serde_json::from_str(r#"{"note":"not_profiled","server":1,"reason":"no perf"}"#).expect("a note");
        let reason = NoProfile::Told { cause: "no perf".to_owned() };
        assert_eq!(old, Note::NotProfiled { server: 1, reason });
        let death = Cause::OutOfMemory { server: "MariaDB".to_owned(), mebibytes: 512 };
        let not_crashed =
            |reason| Note::NotCrashed { server: 1, kind: crate::plan::CrashKind::Power, reason };
        for note in [
            Note::NotProfiled { server: 1, reason: NoProfile::Forbidden },
            Note::Died { server: 1, reason: death.clone() },
            not_crashed(NoCrash::NotUp { cause: death }),
        ] {
            let text = serde_json::to_string(&note).expect("JSON");
            assert_eq!(serde_json::from_str::<Note>(&text).expect("a note"), note, "{text}");
        }
        let old = serde_json::from_str(r#"{"note":"died","server":0,"reason":"killed"}"#);
        assert_eq!(old.ok(), Some(Note::Died { server: 0, reason: Cause::told("killed") }));
        let old = serde_json::from_str(r#"{"note":"not_crashed","server":1,"kind":"power","reason":"no"}"#);
        assert_eq!(old.ok(), Some(not_crashed(NoCrash::Told { cause: "no".to_owned() })));
    }
}
