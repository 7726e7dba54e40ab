//! What a report says, section by section. A new section is one file here, its entry in [`SECTIONS`], and its
//! words; no format needs to know about it.

mod advice;
mod answer;
mod buy;
mod claims;
mod compared;
mod cost;
mod course;
mod crashes;
mod curves;
mod detail;
mod files;
mod findings;
mod flame;
mod forest;
mod history;
mod ladder;
mod machine;
mod neighbours;
mod next;
mod notes;
mod pareto;
mod plans;
mod published;
mod rates;
mod reading;
mod reproduce;
mod results;
mod runs;
mod servers;
mod size;
mod tpcc;
mod tpch;
mod trials;
mod trust;

pub(super) use history::history;
pub(super) use runs::{runs, several_runs};

use super::{
    block::{Reach, Report, Section},
    document::Document,
    words::Words,
};

/// The sections in the order of a page: the answer and what it rests on, then, for those who doubt it, the
/// figures, how they came about, and how to reproduce them.
const SECTIONS: [fn(&Document, Words) -> Vec<Section>; 27] = [
    answer::sections,
    advice::sections,
    buy::sections,
    claims::sections,
    findings::sections,
    next::sections,
    published::sections,
    compared::sections,
    results::sections,
    plans::sections,
    files::sections,
    size::sections,
    forest::sections,
    rates::sections,
    tpcc::sections,
    tpch::sections,
    neighbours::sections,
    crashes::sections,
    notes::sections,
    trust::sections,
    course::sections,
    cost::sections,
    servers::sections,
    machine::sections,
    trials::sections,
    reading::sections,
    reproduce::sections,
];

/// The full content of the report of a run.
pub(super) fn report(document: &Document, words: Words) -> Report {
    let run = &document.run;
    let kind = ["Prony", &run.name, run.scale.as_deref().unwrap_or_default()];
    let kind: Vec<&str> = kind.into_iter().filter(|part| !part.is_empty()).collect();
    let date = run.started.get(..16).unwrap_or(&run.started).replace('T', " ");
    let complete = if run.complete { "yes_complete" } else { "not_complete" };
    let done = (run.trials_measured + run.trials_failed).to_string();
    let trials = [("done", &*done), ("all", &run.trials_planned.to_string())];
    let made = [("version", document.prony_version.as_str()), ("id", &run.id.to_string())];
    Report {
        language: words.code(),
        title: run.title.clone(),
        titled: Reach::Everywhere,
        kind: kind.join(" · "),
        meta: vec![
            format!("{date} UTC"),
            words.fill("html", "trials_done", &trials),
            words.get("html", complete).to_owned(),
        ],
        sections: SECTIONS.iter().flat_map(|sections| sections(document, words)).collect(),
        foot: words.fill("html", "made_by", &made),
    }
}
