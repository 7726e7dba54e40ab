//! How to repeat the run: the command, and the study as it was read.

use crate::report::{
    block::{Block, Reach, Section},
    document::Document,
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let run = &document.run;
    let mut section = Section::new("reproduce", words.get("html", "reproduce"));
    section.add(Reach::Page, Block::Text(words.get("html", "reproduce_note").to_owned()));
    let options = run.repeat_options.join(" ");
    section.add(Reach::Page, Block::Code(format!("prony run {} {options}", run.name)));
    section.add(Reach::Page, Block::Text(words.get("html", "reproduce_package").to_owned()));
    section.add(Reach::Page, Block::Code(format!("prony export {} --format package", run.id)));
    let study = vec![Block::Code(run.study_text.clone())];
    section.add(Reach::Page, Block::Folded(words.get("html", "study_text").to_owned(), study));
    vec![section]
}
