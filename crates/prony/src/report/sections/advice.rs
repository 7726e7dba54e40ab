//! What to do, judging by what the run showed.

use crate::report::{
    block::{Item, List, Marks, Reach, Section},
    document::{Advised, Document},
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.advice.is_empty() {
        return Vec::new();
    }
    let mut section = Section::answer("advice", words.get("advice", "title"));
    let item = |advised: &Advised| Item::about(&advised.about, &advised.text);
    let others =
        document.advice.iter().filter(|advised| !document.answer.sentences.contains(&advised.line()));
    let items: Vec<Item> = others.map(item).collect();
    if items.is_empty() {
        return Vec::new();
    }
    section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    vec![section]
}
