//! Puts a run and its findings into words, tables and charts: for the terminal, as one HTML page, Markdown,
//! JSON, CSV.
//!
//! Everything is first put into one value, the [`Document`], which programs get as it is; for people
//! `sections` make blocks of it, and each format is one file that walks them. Knows the store's records and
//! the analysis; starts nothing and prints nothing.

mod around;
mod began;
mod block;
mod build;
mod called;
mod chart;
mod claims;
mod conditions;
mod conduct;
mod course;
mod csv;
mod document;
mod fact;
mod following;
mod group;
pub mod history;
mod html;
mod json;
mod markdown;
pub(crate) mod number;
mod rates;
mod resources;
mod runs;
mod sections;
mod svg;
mod terminal;
mod trials;
mod words;

pub use build::build;
pub use document::{Connects, Document, Doubt, Fairness, Outage, Schedule, schema};
pub use json::schema_of;
pub(crate) use json::written;
pub use runs::{ComparedPoint, ComparedRun, RunsDocument, RunsFormat, RunsReport, render_runs, runs_schema};
pub use svg::Picture;
pub use words::{Language, Sentence, Words};

use crate::{analyse::Findings, escape, store::RunRecord};
use block::{Reach, Report};
use std::str::FromStr;

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with tables, as wide as asked.
    Terminal,
    /// One self-contained page with charts.
    Html,
    /// For a ticket or a wiki.
    Markdown,
    /// Everything, for programs; see `schemas/report.json`.
    Json,
    /// One line for each point.
    Csv,
}

impl Format {
    /// Every format by its name.
    pub const ALL: [(&str, Self); 5] = [
        ("terminal", Self::Terminal),
        ("html", Self::Html),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("csv", Self::Csv),
    ];
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| Error::UnknownFormat(name.to_owned()))
    }
}

/// How a report is to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Language of its text.
    pub language: Language,
    /// Columns of the terminal.
    pub width: u16,
    /// Whether the terminal shows colours.
    pub colour: bool,
    /// What names of pictures begin with, beside which Markdown is written; none: it has no pictures.
    pub pictures: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { language: Language::English, width: 100, colour: false, pictures: None }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such format.
    #[error("there is no report format '{0}'; there are terminal, html, markdown, json and csv")]
    UnknownFormat(String),
    /// A chart could not be drawn.
    #[error("the chart {chart} could not be drawn: {reason}; this is a mistake in Prony, please report it")]
    Drawing {
        /// Its id.
        chart: String,
        /// What the viewer said.
        reason: String,
    },
    /// There is no such language.
    #[error("there are no reports in '{0}'; there are en and zh")]
    UnknownLanguage(String),
}

/// A text that people read, walked block by block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// For a terminal.
    Terminal,
    /// One self-contained page.
    Html,
    /// For a ticket or a wiki.
    Markdown,
}

/// A text that people read, with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The whole text.
    pub text: String,
    /// Files that it shows.
    pub pictures: Vec<Picture>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self { text, pictures: Vec::new() }
    }
}

/// The text of the report of a run.
///
/// # Errors
/// As [`rendered`].
pub fn render(
    record: &RunRecord,
    findings: &Findings,
    format: Format,
    options: &Options,
) -> Result<String, Error> {
    Ok(rendered(record, findings, format, options)?.text)
}

/// The report of a run, with its pictures.
///
/// # Errors
/// [`Error::Drawing`] when a chart could not be drawn: a mistake in Prony's own viewer.
pub fn rendered(
    record: &RunRecord,
    findings: &Findings,
    format: Format,
    options: &Options,
) -> Result<Rendered, Error> {
    let words = Words::of(options.language);
    let document = build(record, findings, words);
    let said = |form| said(&sections::report(&document, words), form, words, options);
    match format {
        Format::Terminal => said(Form::Terminal),
        Format::Html => said(Form::Html),
        Format::Markdown => said(Form::Markdown),
        Format::Json => Ok(escape::plain(&written(&document)).into()),
        Format::Csv => Ok(csv::render(&document).into()),
    }
}

/// How blocks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For a terminal.
    Terminal,
    /// One self-contained page.
    Html,
    /// For a ticket or a wiki.
    Markdown,
}

/// The same blocks in each form.
fn said(report: &Report, form: Form, words: Words, options: &Options) -> Result<Rendered, Error> {
    match form {
        Form::Terminal => Ok(terminal::render(report, options).into()),
        Form::Html => Ok(html::render(report, words).into()),
        Form::Markdown => {
            let Some(prefix) = &options.pictures else { return Ok(markdown::render(report, &[]).into()) };
            let pictures = svg::draw(&report.charts(Reach::Paper), prefix)?;
            Ok(Rendered { text: markdown::render(report, &pictures), pictures })
        }
    }
}
