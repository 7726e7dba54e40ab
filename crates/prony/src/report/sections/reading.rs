//! How a report is to be read, for who has not seen one.

use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(_: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("reading", words.get("html", "reading"));
    for key in ["reading_interval", "reading_verdict", "reading_latency"] {
        section.add(Reach::Page, Block::Text(words.get("html", key).to_owned()));
    }
    let charts = ["reading_gap", "legend_hint"].map(|key| words.get("html", key));
    section.add(Reach::Page, Block::Text(charts.join(words.get("conduct", "then"))));
    vec![section]
}
