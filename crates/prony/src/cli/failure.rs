//! How a command ends when it does not end well: one message, one exit code.

use crate::report;
use std::fmt;

/// It began and failed.
pub(super) const FAILED: u8 = 1;
/// It could not begin: arguments, a study's mistakes, a server that cannot be reached or refuses, limits.
pub(super) const CANNOT_BEGIN: u8 = 2;
/// A claim is refuted, where claims were to be checked.
pub(super) const REFUTED: u8 = 3;
/// A claim is open and none is refuted, where claims were to be checked.
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

    /// It could not begin.
    pub(super) fn cannot_begin(message: impl ToString) -> Self {
        Self { code: CANNOT_BEGIN, message: message.to_string() }
    }

    /// Claims were to be checked, and are not all supported.
    pub(super) fn of_claims(code: u8, message: impl ToString) -> Self {
        Self { code, message: message.to_string() }
    }

    /// The user interrupted it; `message` says what is kept.
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

/// As it is told. Mistakes of a study come with their own headings.
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

/// The error with all its causes, `: ` between them; a cause that the text already holds is not said twice.
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
