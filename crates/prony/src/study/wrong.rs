//! What is wrong with a value, as a value of its own. Shown, it is the label beside the text of a study: it
//! says what belongs there.

use super::mistake::nearest;
use crate::{
    arrival,
    quantity::{self, Wanted},
    search::ObjectiveError,
};

/// Why a value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    /// It is something else.
    #[error("expected {0}")]
    Expected(&'static str),
    /// It is neither text nor a number, so no quantity.
    #[error("expected {}, such as {}", .0.name(), .0.examples())]
    NoQuantity(Wanted),
    /// It is a text that is no quantity.
    #[error(transparent)]
    Quantity(#[from] quantity::Error),
    /// It is too small or too large.
    #[error("expected a {what} from {min} to {max}")]
    OutOfRange {
        /// What it is.
        what: &'static str,
        /// The smallest that is allowed.
        min: String,
        /// The largest.
        max: String,
    },
    /// It is no limit of a claim; what one looks like.
    #[error("expected a limit, such as \"{0}\"")]
    NoLimit(&'static str),
    /// It is no arrival.
    #[error(transparent)]
    Arrival(#[from] arrival::Error),
    /// It is no objective.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// It is wrong, and a word could stand there, too.
    #[error("{wrong}, or \"{word}\"")]
    NorWord {
        /// What is wrong with it otherwise.
        wrong: Box<Self>,
        /// The word.
        word: &'static str,
    },
    /// It is no rate; what would be one.
    #[error("{0}")]
    Rate(&'static str),
    /// It is nearly a word that belongs there.
    #[error("did you mean `{0}`?")]
    Nearly(String),
    /// Something stands in a list twice.
    #[error("`{0}` is listed twice")]
    Twice(String),
    /// It names an exporter that only answers over TLS.
    #[error("exporters are read over plain http")]
    NotPlain,
}

impl Wrong {
    /// Of a word that is none of these; what belongs there if it is like none of them either.
    pub(super) fn word(word: &str, known: &[&str], expected: &'static str) -> Self {
        let near = nearest(word, known.iter().copied());
        near.map_or(Self::Expected(expected), |near| Self::Nearly(near.to_owned()))
    }

    /// The same where a word could stand, too.
    pub(super) fn nor(self, word: &'static str) -> Self {
        Self::NorWord { wrong: Box::new(self), word }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_what_belongs_there() {
        let words = ["never", "statement"];
        for (wrong, label) in [
            (Wrong::Expected("a table"), "expected a table"),
            (Wrong::word("statment", &words, "one of two words"), "did you mean `statement`?"),
            (Wrong::word("seldom", &words, "one of two words"), "expected one of two words"),
            (Wrong::Rate("write 1000").nor("find"), "write 1000, or \"find\""),
        ] {
            assert_eq!(wrong.to_string(), label);
        }
        let no_unit = quantity::duration("5").expect_err("it has no unit");
        assert_eq!(Wrong::from(no_unit.clone()).to_string(), no_unit.to_string());
    }
}
