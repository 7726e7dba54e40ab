//! How a command fails: one message, one exit code.

use crate::{provision, report};
use std::fmt;

/// It started and failed.
pub(super) const FAILED: u8 = 1;
/// It could not start: arguments, mistakes in a study, a server that is unreachable or refuses, limits.
pub(super) const CANNOT_BEGIN: u8 = 2;
/// With --check: a claim is refuted.
pub(super) const REFUTED: u8 = 3;
/// With --check: a claim is open, and none is refuted.
pub(super) const OPEN: u8 = 4;
/// The user interrupted it (128 + SIGINT, as shells have it).
pub(super) const INTERRUPTED: u8 = 130;

/// A message and an exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// It began and failed.
    pub(super) fn failed(message: impl ToString) -> Self {
        Self { code: FAILED, message: message.to_string() }
    }

    /// It could not start.
    pub(super) fn cannot_begin(message: impl ToString) -> Self {
        Self { code: CANNOT_BEGIN, message: message.to_string() }
    }

    /// With --check: not all claims are supported.
    pub(super) fn of_claims(code: u8, message: impl ToString) -> Self {
        Self { code, message: message.to_string() }
    }

    /// The user interrupted it; `message` says what was stored.
    pub(super) fn interrupted(message: impl ToString) -> Self {
        Self { code: INTERRUPTED, message: message.to_string() }
    }

    /// The same with more words.
    pub(super) fn with(mut self, words: &str) -> Self {
        self.message.push_str(words);
        self
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// As it is printed. Mistakes of a study have their own headings.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_heading = self.message.starts_with("error") || self.code == INTERRUPTED;
        write!(f, "{}{}", if has_heading { "" } else { "error: " }, self.message)
    }
}

impl From<report::Error> for Failure {
    fn from(error: report::Error) -> Self {
        Self::failed(chain(&error))
    }
}

impl From<provision::Error> for Failure {
    fn from(error: provision::Error) -> Self {
        match error {
            provision::Error::Interrupted => Self::interrupted("interrupted; nothing was left half-finished"),
            error if load::client::is_stop(&error) => Self::interrupted(chain(&error)),
            error => Self::cannot_begin(chain(&error)),
        }
    }
}

/// The error with all its causes, `: ` between them; a cause that the text already contains is not repeated.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}
