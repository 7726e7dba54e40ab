//! What to measure next.

use crate::report::{
    block::{Block, List, Marks, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(next) = &document.next else { return Vec::new() };
    let mut section = Section::new("next", words.get("next", "title"));
    section.add(Reach::Everywhere, List::of(Marks::Points, &next.reasons));
    if !next.takes.is_empty() {
        section.add(Reach::Everywhere, Block::Text(next.takes.clone()));
    }
    section.add(Reach::Everywhere, Block::Code(next.command.clone()));
    vec![section]
}
