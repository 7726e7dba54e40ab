//! Why a trial has no result. Values only; a report puts them into words.

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

    /// As a store has it: records of older versions have words only.
    pub(super) fn from_store<'de, D: Deserializer<'de>>(stored: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Words(String),
            Whole(TrialFailure),
        }
        Ok(match Stored::deserialize(stored)? {
            Stored::Words(cause) => Self::Told { cause },
            Stored::Whole(failure) => failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TrialOutcome;

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
    }
}
