//! How to read a report, for those who see one for the first time.

use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("reading", words.get("html", "reading"));
    for key in ["reading_interval", "reading_verdict", "reading_latency"] {
        section.add(Reach::Page, Block::Text(words.get("html", key).to_owned()));
    }
    if !document.advice.is_empty() {
        section.add(Reach::Page, Block::Text(words.get("advice", "note").to_owned()));
    }
    let charts = ["reading_gap", "legend_hint"].map(|key| words.get("html", key));
    section.add(Reach::Page, Block::Text(charts.join(words.get("conduct", "then"))));
    vec![section]
}
