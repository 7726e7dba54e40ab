//! Two runs held against each other, in words and tables: `prony compare`. What differs between the runs
//! beside their figures stands below the tables, for a difference is only news where its cause is not known
//! already.

use super::{
    Error, Form, Options, Rendered, build::second_of, document::Estimate, json, said, sections, words::Words,
};
use crate::{
    analyse::{self, RunDifference, Verdict},
    run::TrialOutcome,
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, str::FromStr};

/// Version of this form. A reader refuses a higher one.
const FORMAT: u32 = 1;

/// What a comparison of two runs is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsFormat {
    /// Text with tables, as wide as asked.
    Terminal,
    /// One self-contained page.
    Html,
    /// For a ticket or a wiki.
    Markdown,
    /// Everything, for programs; see `schemas/compare.json`.
    Json,
}

impl RunsFormat {
    /// Every format by its name.
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
        found.map(|(_, format)| *format).ok_or_else(|| Error::UnknownFormat(name.to_owned()))
    }
}

/// Two runs held against each other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "Prony comparison of two runs")]
pub struct RunsDocument {
    /// Version of this form: 1.
    pub format: u32,
    /// The run that is held against.
    pub base: ComparedRun,
    /// The run that is judged.
    pub run: ComparedRun,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub relevant: f64,
    /// One for each metric of each treatment that both have.
    pub comparisons: Vec<ComparedPoint>,
    /// Treatments that only the base has.
    pub only_base: Vec<String>,
    /// Treatments that only the run has.
    pub only_run: Vec<String>,
    /// What differs between the runs beside their figures.
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
    /// Whether machine and servers are known; of other tools' results they are not.
    pub is_known: bool,
}

/// One metric of one treatment in both runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparedPoint {
    /// Level of each factor, without the server; the `stream` where several run together.
    pub levels: BTreeMap<String, String>,
    /// The server in the base.
    pub base_server: String,
    /// The server in the run.
    pub server: String,
    /// The stream.
    pub stream: String,
    /// `throughput` (transactions per second), `p95`, `p99` (ms), and any other percentile that another tool
    /// stated.
    pub metric: String,
    /// Whether a side is what another tool stated, without a distribution: of several trials the geometric
    /// mean, with an interval that allows for the tool's rounding.
    pub is_stated: bool,
    /// In the base.
    pub base: Estimate,
    /// In the run.
    pub value: Estimate,
    /// The run by the base; without ends where either has one trial of each combination.
    pub ratio: Estimate,
    /// What it means for the run.
    pub verdict: Verdict,
    /// Probability of a difference as great if there were none, corrected for the number of comparisons of
    /// the metric.
    pub p_value: f64,
    /// The smallest difference, as a share, that would have been called one in nine of ten such pairs; null:
    /// unknown.
    pub detectable: Option<f64>,
    /// Where it is undecided: repeats in each run after which it probably would not be; null: no number that
    /// is reasonable.
    pub repeats_needed: Option<u32>,
}

/// Two runs held against each other, with what the exit code may follow.
#[derive(Debug)]
pub struct RunsReport {
    /// The whole text.
    pub rendered: Rendered,
    /// Comparisons in which the run is worse.
    pub worse: usize,
    /// Treatments that both have.
    pub compared: usize,
}

/// Holds `run` against `base` and writes it down.
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
    let words = Words::of(options.language);
    let said = |form| said(&sections::runs(&document, words), form, words, options);
    Ok(RunsReport {
        rendered: match format {
            RunsFormat::Terminal => said(Form::Terminal)?,
            RunsFormat::Html => said(Form::Html)?,
            RunsFormat::Markdown => said(Form::Markdown)?,
            RunsFormat::Json => json::written(&document).into(),
        },
        worse: runs.comparisons.iter().filter(|one| one.verdict == Verdict::Worse).count(),
        compared: runs.comparisons.len(),
    })
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
        comparisons: runs.comparisons.iter().map(compared_point).collect(),
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

fn compared_point(one: &analyse::RunComparison) -> ComparedPoint {
    ComparedPoint {
        levels: one.levels.clone(),
        base_server: one.servers.0.clone(),
        server: one.servers.1.clone(),
        stream: one.stream.clone(),
        metric: one.metric.clone(),
        is_stated: one.is_stated,
        base: one.base,
        value: one.value,
        ratio: one.ratio,
        verdict: one.verdict,
        p_value: one.p_value,
        detectable: one.detectable,
        repeats_needed: one.repeats_needed,
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
