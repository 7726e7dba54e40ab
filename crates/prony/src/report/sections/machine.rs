//! The machine that the run was made on.

use super::compared;
use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::{Words, capitalised},
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("machine", words.get("html", "machine"));
    let mut text = compared::machine(document, words);
    if !document.machine.virtualisation.is_empty() {
        text = format!("{text}{}{}", words.get("sentence", "comma"), document.machine.virtualisation);
    }
    section.add(Reach::Page, Block::Text(capitalised(&text)));
    vec![section]
}
