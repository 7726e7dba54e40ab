//! What was found, most important first.

use crate::report::{
    block::{Item, List, Marks, Reach, Section, Tone},
    document::{Document, Finding, FindingKind},
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.findings.is_empty() {
        return Vec::new();
    }
    let mut section = Section::answer("found", &words.found_head(document));
    let items = document.findings.iter().map(item).collect();
    section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    vec![section]
}

fn item(finding: &Finding) -> Item {
    let tone = match finding.kind {
        FindingKind::Doubtful | FindingKind::Failed | FindingKind::Incomplete => Tone::Faint,
        _ => Tone::Plain,
    };
    Item { tone, ..Item::about(&finding.about, &finding.text) }
}
