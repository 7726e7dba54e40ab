//! What was found, most important first.

use crate::report::{
    block::{Item, List, Marks, Reach, Section, Tone},
    document::{Document, Finding},
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let is_new = |finding: &&Finding| !document.answer.sentences.contains(&finding.line());
    let found = document.findings.iter().filter(|finding| !finding.kind.is_about_trust()).filter(is_new);
    let items: Vec<Item> = found.map(item).collect();
    if items.is_empty() {
        return Vec::new();
    }
    let mut section = Section::answer("found", &words.found_head(document));
    section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    vec![section]
}

pub(super) fn item(finding: &Finding) -> Item {
    let tone = if finding.kind.is_about_trust() { Tone::Faint } else { Tone::Plain };
    Item { tone, ..Item::about(&finding.about, &finding.text) }
}
