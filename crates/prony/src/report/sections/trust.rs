//! How far the figures can be trusted: what speaks against them and, as far as a reader must know, how the
//! run was carried out.

use super::findings::item;
use crate::report::{
    block::{Block, List, Marks, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("trust", words.get("head", "trust"));
    section.add(Reach::Page, Block::Text(document.trust.text.clone()));
    let against = document.findings.iter().filter(|finding| finding.kind.is_about_trust());
    let items: Vec<_> = against.map(item).collect();
    if !items.is_empty() {
        section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    }
    if !document.conduct.is_empty() {
        section.add(Reach::Paper, Block::Heading(words.get("head", "conduct").to_owned()));
        section.add(Reach::Everywhere, List::of(Marks::Points, &document.conduct));
    }
    vec![section]
}
