//! A history of runs as text: for the terminal, as Markdown, and as one HTML page.

use super::{Error, Form, Options, Rendered, said, sections, words::Words};
use crate::analyse::History;

/// The whole text in one of its forms.
///
/// # Errors
/// [`Error::Drawing`] when a chart could not be drawn: a mistake in Prony's own viewer.
pub fn render(history: &History, form: Form, options: &Options) -> Result<Rendered, Error> {
    let words = Words::of(options.language);
    said(&sections::history(history, words), form, words, options)
}

#[cfg(test)]
mod tests;
