//! `prony history`: the runs of one study over time, and where something changed.

use super::{failure::Failure, flags::StoreOptions, stored::open_store, terminal};
use crate::{
    analyse::{Followed, History},
    plan::Metric,
    report::{self, Form, Language},
    store::Store,
};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prony history pool\n  prony history pool --label nightly --format html \
                        --write history.html\n\nEach series is searched for changes with E-divisive; it \
                        takes at least ten runs to find one. Runs at other scales are left out."
)]
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
    /// The metric to show; may be repeated
    #[arg(long = "metric", value_name = "NAME", default_values = ["throughput", "p99"],
          value_parser = PossibleValuesParser::new(["throughput", "mean", "p50", "p95", "p99", "p99.9"])
              .try_map(|name| name.parse::<Metric>()))]
    metrics: Vec<Metric>,
    /// Output format
    #[arg(long, value_enum, default_value_t = HistoryFormat::Terminal)]
    format: HistoryFormat,
    /// Language of the report: en or zh [default: the environment's; of a page, the browser's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// Write to this file instead of stdout; the charts of a Markdown report are written next to it as SVG
    /// files
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    store: StoreOptions,
}

/// The formats of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HistoryFormat {
    Terminal,
    Html,
    Markdown,
    Json,
}

pub(super) fn history(options: &HistoryOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let scale = options.scale.as_deref().map(|name| Some(name).filter(|name| *name != "none"));
    let history = History::of(
        &store,
        Followed {
            study: &options.study,
            label: options.label.as_deref(),
            scale,
            last: options.last,
            metrics: &options.metrics,
        },
    )?;
    if history.runs.is_empty() {
        return Err(nothing_followed(&store, options));
    }
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

fn nothing_followed(store: &Store, options: &HistoryOptions) -> Failure {
    let chosen = [
        options.label.as_ref().map(|label| format!(" with the label {label}")),
        options.scale.as_ref().map(|scale| format!(" at scale {scale}")),
    ];
    let chosen: String = chosen.into_iter().flatten().collect();
    let with = if chosen.is_empty() { "with" } else { "and" };
    Failure::cannot_begin(format!(
        "there is no run of {}{chosen} {with} a result in {}; `prony list runs` lists the runs",
        options.study,
        store.path().display()
    ))
}
