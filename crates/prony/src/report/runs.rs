//! Two runs compared with each other, in words and tables: `prony compare`. What differs between the runs
//! apart from their figures stands below the tables, because a difference is only news where its cause is not
//! already known.

use super::{Error, Form, Options, Rendered, build::second_of, json, said, sections};
use crate::{
    analyse::{self, Repeated, RunComparison, RunDifference, Verdict},
    run::TrialOutcome,
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::str::FromStr;

/// Version of this format. A reader refuses a higher one.
const FORMAT: u32 = 1;

/// The format of a comparison of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsFormat {
    /// Text with tables, as wide as requested.
    Terminal,
    /// One self-contained page.
    Html,
    /// For a ticket or a wiki.
    Markdown,
    /// Everything, for programs; see `schemas/compare.json`.
    Json,
}

impl RunsFormat {
    /// Every format, by name.
    pub const ALL: [(&str, Self); 4] = [
        ("terminal", Self::Terminal),
        ("html", Self::Html),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
    ];
}

impl FromStr for RunsFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| Error::unknown(name, &Self::ALL.map(|(name, _)| name)))
    }
}

/// Two runs compared with each other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "Prony comparison of two runs")]
pub struct RunsDocument {
    /// Version of this format: 1.
    pub format: u32,
    /// The run to compare with.
    pub base: ComparedRun,
    /// The run that is compared with it.
    pub run: ComparedRun,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub relevant: f64,
    /// One for each metric of each treatment that both have.
    pub comparisons: Vec<RunComparison>,
    /// The findings of the base, by what the run says about them.
    pub repeated: Repeated,
    /// Treatments that only the base has.
    pub only_base: Vec<String>,
    /// Treatments that only the run has.
    pub only_run: Vec<String>,
    /// What differs between the runs apart from their figures.
    pub differences: Vec<RunDifference>,
}

/// One of the two runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparedRun {
    /// Number in the store.
    pub id: i64,
    /// Short name of the study.
    pub name: String,
    /// Title of the study.
    pub title: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Trials that ran.
    pub trials_measured: u32,
    /// Whether machine and servers are known; for results of other tools they are not.
    pub is_known: bool,
}

/// Two runs compared with each other, with what can set the exit code.
#[derive(Debug)]
pub struct RunsReport {
    /// The whole text.
    pub rendered: Rendered,
    /// Comparisons in which the run is worse.
    pub worse: usize,
    /// The subjects of those findings of the base that the run contradicts.
    pub contradicted: Vec<String>,
    /// Treatments that both have.
    pub compared: usize,
}

/// Compares `run` with `base` and writes the result.
///
/// # Errors
/// [`Error::Drawing`] when a chart could not be drawn: a mistake in Prony's own viewer.
pub fn render_runs(
    base: &RunRecord,
    run: &RunRecord,
    format: RunsFormat,
    options: &Options,
) -> Result<RunsReport, Error> {
    let runs = analyse::compare_runs(base, run);
    let document = document(base, run, &runs);
    let said = |form| said(&|words| sections::runs(&document, words), form, options);
    Ok(RunsReport {
        rendered: match format {
            RunsFormat::Terminal => said(Form::Terminal)?,
            RunsFormat::Html => said(Form::Html)?,
            RunsFormat::Markdown => said(Form::Markdown)?,
            RunsFormat::Json => json::written(&document).into(),
        },
        worse: runs.comparisons.iter().filter(|one| one.verdict == Verdict::Worse).count(),
        contradicted: [document.repeated.differences.contradicted, document.repeated.claims.contradicted]
            .concat(),
        compared: runs.comparisons.len(),
    })
}

/// One page that compares each of `runs` with `base`; `None`: no run shares a measured combination with it.
///
/// # Errors
/// As [`render_runs`].
pub fn page_of_runs(
    base: &RunRecord,
    runs: &[RunRecord],
    options: &Options,
) -> Result<Option<String>, Error> {
    let compared: Vec<RunsDocument> =
        runs.iter().map(|run| document(base, run, &analyse::compare_runs(base, run))).collect();
    if compared.iter().all(|document| document.comparisons.is_empty()) {
        return Ok(None);
    }
    Ok(Some(said(&|words| sections::several_runs(&compared, words), Form::Html, options)?.text))
}

/// The schema of the document, as committed in `schemas/compare.json`.
#[must_use]
pub fn runs_schema() -> String {
    json::schema_of::<RunsDocument>()
}

fn document(base: &RunRecord, run: &RunRecord, runs: &analyse::Runs) -> RunsDocument {
    RunsDocument {
        format: FORMAT,
        base: compared_run(base),
        run: compared_run(run),
        relevant: base.plan.relevant.max(run.plan.relevant),
        comparisons: runs.comparisons.clone(),
        repeated: analyse::repeated(base, run),
        only_base: runs.only_base.clone(),
        only_run: runs.only_second.clone(),
        differences: analyse::differences(base, run),
    }
}

fn compared_run(record: &RunRecord) -> ComparedRun {
    let measured =
        |trial: &&crate::store::TrialRecord| matches!(trial.outcome, TrialOutcome::Measured { .. });
    ComparedRun {
        id: record.id,
        name: record.plan.name.clone(),
        title: record.plan.title.clone(),
        started: second_of(record.started),
        trials_measured: record.trials.iter().filter(measured).count() as u32,
        is_known: analyse::is_known(record),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_of_comparisons_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/compare.json");
        let schema = super::runs_schema();
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == schema, "schemas/compare.json is out of date: run `make schemas`");
    }
}
