//! The first screen: the answer in a few sentences, how far it can be trusted, and one picture of it.

use super::curves;
use crate::report::{
    block::{Block, Item, List, Marks, Reach, Section, Tone},
    document::{Advised, Document},
    words::Words,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::answer("answer", words.get("head", "answer"));
    let answer = &document.answer;
    let advice = &document.advice[..answer.advised];
    if !advice.is_empty() {
        let items = advice.iter().map(advised).collect();
        section.add(Reach::Everywhere, List { marks: Marks::Lines, items });
    }
    let others = &answer.sentences[answer.advised..];
    section.extend(Reach::Everywhere, others.iter().map(|text| Block::Text(text.clone())));
    if !answer.claims_text.is_empty() {
        section.add(Reach::Everywhere, Block::Text(answer.claims_text.clone()));
    }
    let trust = Item { tone: Tone::Plain, ..Item::about(words.get("trust", "head"), &document.trust.text) };
    section.add(Reach::Everywhere, List { marks: Marks::Lines, items: vec![trust] });
    if let Some(picture) = curves::picture(document, words) {
        section.add(Reach::Page, Block::Charts(vec![picture]));
    }
    vec![section]
}

/// What to do and, after the colon, why.
fn advised(advised: &Advised) -> Item {
    let text = &advised.text;
    let end = [": ", "："].into_iter().filter_map(|colon| Some(text.find(colon)? + colon.trim_end().len()));
    let (title, rest) = text.split_at(end.min().unwrap_or(0));
    Item { title: title.to_owned(), ..Item::about(&advised.about, rest.trim_start()) }
}
