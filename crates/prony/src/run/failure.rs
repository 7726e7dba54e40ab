//! Why a trial has no result, or a server no profile. Values only; a report puts them into words.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Why a trial could not be run, or broke off. A `cause` is in the words of whoever told it: a server's last
/// words, a message of the operating system. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialFailure {
    /// Its server died meanwhile.
    ServerDied {
        /// How.
        cause: String,
    },
    /// Its server could not be made ready for it.
    NotReady {
        /// Why.
        cause: String,
    },
    /// Its server could not be made ready so often in a row that it was given up.
    GivenUp {
        /// How often.
        attempts: u32,
        /// Why, the last time.
        cause: String,
    },
    /// Its server died and could not be started again.
    NotRevived {
        /// Why.
        cause: String,
    },
    /// Replicas or further nodes did not follow before it began.
    NotFollowed {
        /// Why.
        cause: String,
    },
    /// The load could not begin, or broke off.
    Load {
        /// Why.
        cause: String,
    },
    /// The same of a load of the search for its rate.
    SearchLoad {
        /// Why.
        cause: String,
    },
    /// What the search is to keep cannot be read.
    Objective {
        /// Why.
        cause: String,
    },
    /// The closed loop that the search begins from completed nothing.
    NothingToSearch,
    /// No rate keeps the objective.
    NothingKeeps {
        /// What was to be kept.
        objective: String,
        /// The lowest rate whose loads say something, starts in a second.
        lowest_per_second: f64,
        /// What was measured at it: `p99 21.3 ms`.
        value: String,
    },
    /// A load held too few transactions to say whether the objective is kept.
    CannotTell {
        /// What was to be kept.
        objective: String,
        /// The rate that was offered, starts in a second.
        rate_per_second: f64,
    },
    /// In words only: by an older version of Prony.
    Told {
        /// The words.
        cause: String,
    },
}

impl TrialFailure {
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

/// Why there is no profile of a server. A `cause` is in the words of whoever told it. The name of a variant
/// in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoProfile {
    /// Its process is not on this machine, or not known.
    NoProcess,
    /// The load under which it was to be looked at failed.
    Load {
        /// Why.
        cause: String,
    },
    /// The load was over before anything was recorded.
    NothingRecorded,
    /// The server was met at work not once.
    NoSamples,
    /// There is no `perf`.
    NotInstalled,
    /// `perf` does not start.
    NotStarted {
        /// Why.
        cause: String,
    },
    /// `perf` may not look at the server.
    Forbidden,
    /// `perf` failed.
    Failed {
        /// Its last words.
        cause: String,
    },
    /// In words only: by an older version of Prony.
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

/// A reason as a store has it: records of older versions have words only.
fn from_store<'de, D, T>(stored: D, told: fn(String) -> T) -> Result<T, D::Error>
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
    use crate::run::{Note, TrialOutcome};

    fn read(text: &str) -> TrialFailure {
        match serde_json::from_str(text).expect("an outcome") {
            TrialOutcome::Failed(failure) => failure,
            TrialOutcome::Measured { .. } => panic!("it failed"),
        }
    }

    #[test]
    fn a_failure_comes_back_from_the_store_and_so_do_the_words_of_older_versions() {
        for failure in [
            TrialFailure::NothingToSearch,
            TrialFailure::GivenUp { attempts: 2, cause: "no room".to_owned() },
        ] {
            let text = serde_json::to_string(&TrialOutcome::Failed(failure.clone())).expect("JSON");
            assert_eq!(read(&text), failure, "{text}");
        }
        assert_eq!(read(r#"{"failed":"the server went away"}"#), TrialFailure::told("the server went away"));
        let old: Note =
            serde_json::from_str(r#"{"note":"not_profiled","server":1,"reason":"no perf"}"#).expect("a note");
        let reason = NoProfile::Told { cause: "no perf".to_owned() };
        assert_eq!(old, Note::NotProfiled { server: 1, reason });
        let note = Note::NotProfiled { server: 1, reason: NoProfile::Forbidden };
        let text = serde_json::to_string(&note).expect("JSON");
        assert_eq!(serde_json::from_str::<Note>(&text).expect("a note"), note);
    }
}
