//! Turns a run and its findings into words, tables and charts: for the terminal, or as an HTML page,
//! Markdown, JSON, CSV, JUnit XML or OpenMetrics.
//!
//! Everything is first collected in one value, the [`Document`]. Programs get it as it is; for people,
//! `sections` turns it into blocks, and each format is one file that walks them. This module knows the
//! store's records and the analysis; it starts nothing and prints nothing.

mod answer;
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
mod heat;
pub mod history;
mod html;
mod json;
mod junit;
mod markdown;
mod next;
pub(crate) mod number;
mod openmetrics;
mod packed;
mod plans;
mod rates;
mod resources;
mod runs;
mod sections;
mod svg;
mod terminal;
mod trials;
mod words;

pub use crate::language::Language;
pub use build::build;
pub use chart::VIEWER;
pub use document::{Connects, Document, Doubt, Evenness, Outage, Schedule, schema};
pub use html::STYLE;
pub use json::schema_of;
pub(crate) use json::written;
pub use runs::{ComparedRun, RunsDocument, RunsFormat, RunsReport, page_of_runs, render_runs, runs_schema};
pub use svg::Picture;
pub use words::{Examined, Sentence, Words};

use crate::{analyse::Findings, escape, store::RunRecord};
use block::{Reach, Report};
use std::str::FromStr;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with tables, as wide as requested.
    Terminal,
    /// One self-contained page with charts.
    Html,
    /// For a ticket or a wiki.
    Markdown,
    /// Short Markdown for the summary of a pipeline step (`$GITHUB_STEP_SUMMARY`).
    Github,
    /// Everything, for programs; see `schemas/report.json`.
    Json,
    /// One line for each point.
    Csv,
    /// The claims as test cases, for CI systems.
    Junit,
    /// Every figure of every point, for Prometheus and other readers of its text format.
    OpenMetrics,
}

impl Format {
    /// Every format, by name.
    pub const ALL: [(&str, Self); 8] = [
        ("terminal", Self::Terminal),
        ("html", Self::Html),
        ("markdown", Self::Markdown),
        ("github", Self::Github),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("junit", Self::Junit),
        ("openmetrics", Self::OpenMetrics),
    ];
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| Error::unknown(name, &Self::ALL.map(|(name, _)| name)))
    }
}

/// How a report should look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Language of the text. A page contains all languages and opens in this one.
    pub language: Language,
    /// Whether a page opens in that language whatever the reader's browser prefers.
    pub is_language_asked: bool,
    /// Columns of the terminal.
    pub width: u16,
    /// Whether the terminal shows colours.
    pub colour: bool,
    /// The prefix of the picture files that Markdown refers to; none: the Markdown has no pictures.
    pub pictures: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            language: Language::English,
            is_language_asked: false,
            width: 100,
            colour: false,
            pictures: None,
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such format.
    #[error("there is no report format '{name}'; the formats are {known}")]
    UnknownFormat {
        /// The name that was asked for.
        name: String,
        /// The formats that exist.
        known: String,
    },
    /// A chart could not be drawn.
    #[error("the chart {chart} could not be drawn: {reason}; this is a mistake in Prony, please report it")]
    Drawing {
        /// Id of the chart.
        chart: String,
        /// What the viewer said.
        reason: String,
    },
}

impl Error {
    fn unknown(name: &str, known: &[&str]) -> Self {
        Self::UnknownFormat { name: name.to_owned(), known: known.join(", ") }
    }
}

/// A report as text, with its pictures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The whole text.
    pub text: String,
    /// The picture files that it shows.
    pub pictures: Vec<Picture>,
}

impl From<String> for Rendered {
    fn from(text: String) -> Self {
        Self { text, pictures: Vec::new() }
    }
}

/// The report of a run as text.
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
    let document = |words| build(record, findings, words);
    let said = |form| said(&|words| sections::report(&document(words), words), form, options);
    match format {
        Format::Terminal => said(Form::Terminal),
        Format::Html => said(Form::Html),
        Format::Markdown => said(Form::Markdown),
        Format::Github => {
            let words = Words::of(options.language);
            let report = sections::report(&document(words), words);
            Ok(markdown::summary(&report, words.get("html", "figures")).into())
        }
        Format::Json => Ok(escape::plain(&written(&document(Words::of(options.language)))).into()),
        Format::Csv => Ok(csv::render(&document(Words::of(options.language))).into()),
        Format::Junit => Ok(junit::render(&document(Words::of(options.language)), record).into()),
        Format::OpenMetrics => Ok(openmetrics::render(&document(Words::of(options.language))).into()),
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

/// Writes a report in one of the forms.
fn said(report: &dyn Fn(Words) -> Report, form: Form, options: &Options) -> Result<Rendered, Error> {
    let words = Words::of(options.language);
    match form {
        Form::Terminal => Ok(terminal::render(&report(words), options).into()),
        Form::Html => {
            let others = Language::ALL.into_iter().filter(|other| *other != options.language);
            let all = [options.language].into_iter().chain(others).map(Words::of);
            let reports: Vec<(Report, Words)> = all.map(|words| (report(words), words)).collect();
            Ok(html::render(&reports, options.is_language_asked).into())
        }
        Form::Markdown => {
            let report = report(words);
            let Some(prefix) = &options.pictures else { return Ok(markdown::render(&report, &[]).into()) };
            let pictures = svg::draw(&report.charts(Reach::Paper), prefix)?;
            Ok(Rendered { text: markdown::render(&report, &pictures), pictures })
        }
    }
}
