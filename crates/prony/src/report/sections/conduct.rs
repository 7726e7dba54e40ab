//! How the run was carried out, as far as a reader must know it.

use crate::report::{
    block::{List, Marks, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.conduct.is_empty() {
        return Vec::new();
    }
    let mut section = Section::answer("conduct", words.get("head", "conduct"));
    section.add(Reach::Everywhere, List::of(Marks::Points, &document.conduct));
    vec![section]
}
