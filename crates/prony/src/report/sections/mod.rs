//! What a report says, section by section. A new section is one file here, its line in [`SECTIONS`], and its
//! words; no format knows of it.

mod claims;
mod compared;
mod conduct;
mod cost;
mod course;
mod crashes;
mod curves;
mod detail;
mod findings;
mod flame;
mod history;
mod ladder;
mod machine;
mod notes;
mod published;
mod rates;
mod reading;
mod reproduce;
mod results;
mod runs;
mod servers;
mod trials;

pub(super) use history::history;
pub(super) use runs::runs;

use super::{
    block::{Reach, Report, Section},
    document::Document,
    words::Words,
};

/// The sections in the order of a page: what was found, then the figures, then what they rest on.
const SECTIONS: [fn(&Document, Words) -> Vec<Section>; 16] = [
    claims::sections,
    findings::sections,
    compared::sections,
    published::sections,
    results::sections,
    rates::sections,
    crashes::sections,
    course::sections,
    cost::sections,
    notes::sections,
    conduct::sections,
    servers::sections,
    machine::sections,
    trials::sections,
    reading::sections,
    reproduce::sections,
];

/// Everything that a report of a run says.
pub(super) fn report(document: &Document, words: Words) -> Report {
    let run = &document.run;
    let kind = ["Prony", &run.name, run.scale.as_deref().unwrap_or_default()];
    let kind: Vec<&str> = kind.into_iter().filter(|part| !part.is_empty()).collect();
    let date = run.started.get(..16).unwrap_or(&run.started).replace('T', " ");
    let trials = words.get("head", "trials").to_lowercase();
    let complete = if run.complete { "yes_complete" } else { "not_complete" };
    let done = run.trials_measured + run.trials_failed;
    let made = [("version", document.prony_version.as_str()), ("id", &run.id.to_string())];
    Report {
        language: words.code(),
        title: run.title.clone(),
        titled: Reach::Everywhere,
        kind: kind.join(" · "),
        meta: vec![
            format!("{date} UTC"),
            format!("{done}/{} {trials}", run.trials_planned),
            words.get("html", complete).to_owned(),
        ],
        sections: SECTIONS.iter().flat_map(|sections| sections(document, words)).collect(),
        foot: words.fill("html", "made_by", &made),
    }
}
