//! Prints what commands print: to stdout, to stderr, to a file. No foreign text can control the terminal.

use super::failure::Failure;
use crate::{
    escape,
    report::{Language, Options, Rendered},
};
use serde::Serialize;
use std::{
    io::{self, Write as _},
    path::Path,
};

/// Columns where the width of the terminal is not known.
const WIDTH: u16 = 100;

/// To stdout; a reader that is gone (`head`) is no error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let text = shown(text, &io::stdout());
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&format!("{}\n", serde_json::to_string_pretty(value).expect("plain values")))
}

/// To a file, with its pictures beside it, or to stdout if none is named.
pub(super) fn put(file: Option<&Path>, rendered: &Rendered) -> Result<(), Failure> {
    let Some(path) = file else { return print(&rendered.text) };
    for picture in &rendered.pictures {
        write(&path.with_file_name(&picture.file), &picture.svg)?;
    }
    write(path, &rendered.text)
}

/// Writes a file, or says which one could not be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}

/// One line to stderr, beside the result. A reader that is gone (`2>&1 | head`) does not end the command.
pub(super) fn aside(text: impl std::fmt::Display) {
    let text = shown(&text.to_string(), &io::stderr());
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The text for a stream: with colours only if the stream shows them.
fn shown(text: &str, stream: &impl io::IsTerminal) -> String {
    if colour(stream) { escape::styled(text) } else { escape::plain(text) }
}

/// Whether a stream shows colours: only a terminal does, and not where `NO_COLOR` is set.
pub(super) fn colour(stream: &impl std::io::IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How text is to look: as this terminal shows it, or as a file keeps it.
pub(super) fn look(language: Option<Language>, file: Option<&Path>) -> Options {
    let is_language_asked = language.is_some();
    let language = language.unwrap_or_else(Language::of_environment);
    let look = Options { language, is_language_asked, ..Options::default() };
    if let Some(file) = file {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy());
        // a name that would need escaping in Markdown is left out
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let stem = stem.filter(|stem| stem.chars().all(plain)).map(|stem| format!("{stem}-"));
        return Options { pictures: Some(stem.unwrap_or_default()), ..look };
    }
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0);
    Options { width, colour: colour(&io::stdout()), ..look }
}
