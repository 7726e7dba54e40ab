//! The figures of each group of points: their table, further details, and their charts.

use super::{
    curves,
    detail::{closer, details},
    ladder::{Remarks, table},
};
use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let remarks = Remarks::of(document, words);
    let mut sections: Vec<Section> = Vec::new();
    for group in &document.groups {
        let results = words.get("html", "results");
        let title = if group.title.is_empty() { results } else { &group.title };
        let parts = ["results", &group.slug].into_iter().filter(|part| !part.is_empty());
        let mut slug = parts.collect::<Vec<_>>().join("-");
        if sections.iter().any(|known| known.id == slug) {
            slug = format!("{slug}-{}", sections.len() + 1);
        }
        let mut section = Section::new(&slug, title);
        section.add(Reach::Everywhere, table(document, group, &remarks, words));
        section.extend(Reach::Everywhere, details(document, group, words));
        section.add(Reach::Paper, Block::Charts(curves::charts(document, group, &slug, words)));
        let closer: Vec<Block> = closer(document, group, words).into_iter().map(Block::Table).collect();
        if !closer.is_empty() {
            section.add(Reach::Page, Block::Folded(words.get("html", "table_of").to_owned(), closer));
        }
        sections.push(section);
    }
    sections
}
