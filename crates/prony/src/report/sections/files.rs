//! What servers changed when they loaded their data files, and what they warned of.

use crate::{
    analyse::FromFile,
    report::{
        block::{Block, Cell, Reach, Section, Table},
        document::Document,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.files.is_empty() {
        return Vec::new();
    }
    let none = |text: &str| {
        if text.is_empty() { words.get("text", "files_none").to_owned() } else { text.to_owned() }
    };
    let row = |one: &FromFile| {
        let other = match (&one.other, one.aspect.as_str()) {
            (_, "warning") => String::new(),
            (Some(server), _) => format!("{}: {}", document.shown(server), none(&one.there)),
            (None, _) => format!("{}: {}", words.get("text", "files_wanted"), none(&one.there)),
        };
        vec![
            Cell::code(&one.place),
            Cell::name(document.shown(&one.server)),
            Cell::name(&one.subject),
            Cell::name(words.get("aspect", &one.aspect)),
            Cell::name(&none(&one.here)),
            Cell::name(&other),
        ]
    };
    let heads = ["place", "server", "subject", "aspect", "here", "elsewhere"];
    let heads = heads.map(|head| words.get("head", head).to_owned()).into();
    let mut section = Section::new("files", words.get("text", "files"));
    section.titled = Reach::Everywhere;
    section.add(Reach::Everywhere, Block::Text(words.get("text", "files_note").to_owned()));
    section.add(Reach::Everywhere, Table::new("", heads, document.files.iter().map(row).collect()));
    vec![section]
}
