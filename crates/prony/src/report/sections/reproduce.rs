//! How the run is repeated: the command, and the study as it was read.

use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let run = &document.run;
    let mut section = Section::new("reproduce", words.get("html", "reproduce"));
    section.add(Reach::Page, Block::Text(words.get("html", "reproduce_note").to_owned()));
    let scale = run.scale.as_ref().map_or_else(String::new, |scale| format!(" --scale {scale}"));
    section.add(Reach::Page, Block::Code(format!("prony run {}{scale} --set seed={}", run.name, run.seed)));
    let study = vec![Block::Code(run.study_text.clone())];
    section.add(Reach::Page, Block::Folded(words.get("html", "study_text").to_owned(), study));
    vec![section]
}
