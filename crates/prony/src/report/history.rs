//! A history of runs as text: for the terminal, as Markdown, and as one HTML page.

use super::{Error, Form, Options, Rendered, said, sections};
use crate::analyse::History;

/// The whole text in one of the forms.
///
/// # Errors
/// [`Error::Drawing`] when a chart could not be drawn: a mistake in Prony's own viewer.
pub fn render(history: &History, form: Form, options: &Options) -> Result<Rendered, Error> {
    said(&|words| sections::history(history, words), form, options)
}

#[cfg(test)]
mod tests;
