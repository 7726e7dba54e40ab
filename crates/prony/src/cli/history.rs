//! `prony history`: the runs of one study over time, and where something changed.

use super::{failure::Failure, flags::StoreOptions, stored::open_store, terminal};
use crate::{
    analyse::History,
    report::{self, Form, Language},
    store::{RunSummary, Store},
};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony history pool\n  prony history pool --label nightly --format \
                        html --write history.html\n\nChanges are found by E-divisive, each series by \
                        itself; fewer than ten runs have none. Runs at other scales are not mixed in.")]
pub(super) struct HistoryOptions {
    /// Name of the study, as `prony list runs` shows it
    #[arg(value_name = "STUDY")]
    study: String,
    /// Only runs with this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Only runs at this scale; `none`: those without one [default: that of the latest run]
    #[arg(long, value_name = "NAME")]
    scale: Option<String>,
    /// Only the last N runs
    #[arg(long, value_name = "N", default_value_t = 200)]
    last: usize,
    /// What is followed; may be repeated
    #[arg(long = "metric", value_name = "NAME", default_values = ["throughput", "p99"],
          value_parser = ["throughput", "mean", "p50", "p95", "p99", "p99.9"])]
    metrics: Vec<String>,
    /// What to make
    #[arg(long, value_enum, default_value_t = HistoryFormat::Terminal)]
    format: HistoryFormat,
    /// Language: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    language: Language,
    /// Write to this file instead of stdout; charts of Markdown go beside it as SVG files
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    store: StoreOptions,
}

/// What a history is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HistoryFormat {
    Terminal,
    Html,
    Markdown,
    Json,
}

pub(super) fn history(options: &HistoryOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let mut history = followed(&store, options)?;
    history.find_changes();
    history.explain(|id| store.run(id))?;
    let look = terminal::look(options.language, options.write.as_deref());
    let said = |form| report::history::render(&history, form, &look);
    let rendered = match options.format {
        HistoryFormat::Terminal => said(Form::Terminal)?,
        HistoryFormat::Markdown => said(Form::Markdown)?,
        HistoryFormat::Html => said(Form::Html)?,
        HistoryFormat::Json => report::written(&history).into(),
    };
    terminal::put(options.write.as_deref(), &rendered)
}

/// The last runs of the study, all at one scale: what is measured at another one is not the same.
fn followed(store: &Store, options: &HistoryOptions) -> Result<History, Failure> {
    let mut runs = store.list()?;
    let is_labelled =
        |run: &RunSummary| options.label.as_ref().is_none_or(|label| run.labels.contains(label));
    runs.retain(|run| run.name == options.study && run.trials_measured > 0 && is_labelled(run));
    runs.sort_by_key(|run| run.started);
    let mut history = History::new(&options.study);
    let mut scale = options.scale.as_ref().map(|name| Some(name.clone()).filter(|name| name != "none"));
    let mut wanted = Vec::new();
    for run in runs.iter().rev() {
        let of_run = store.plan(run.id)?.scale;
        if *scale.get_or_insert_with(|| of_run.clone()) == of_run {
            wanted.push(run.id);
        } else {
            *history.other_scales.entry(of_run.unwrap_or_default()).or_default() += 1;
        }
    }
    if wanted.is_empty() {
        return Err(nothing_followed(store, options));
    }
    wanted.truncate(options.last.max(1));
    for id in wanted.into_iter().rev() {
        history.push(&store.run(id)?, &options.metrics);
    }
    Ok(history)
}

fn nothing_followed(store: &Store, options: &HistoryOptions) -> Failure {
    let chosen = [
        options.label.as_ref().map(|label| format!(" with the label {label}")),
        options.scale.as_ref().map(|scale| format!(" at scale {scale}")),
    ];
    let chosen: String = chosen.into_iter().flatten().collect();
    let with = if chosen.is_empty() { "with" } else { "and" };
    Failure::cannot_begin(format!(
        "there is no run of {}{chosen} {with} a result in {}; `prony list runs` shows those that are there",
        options.study,
        store.path().display()
    ))
}
