//! What the study claims, and what the run says about it.

use crate::{
    analyse::ClaimVerdict,
    report::{
        block::{Block, Item, List, Marks, Reach, Section, Tone},
        document::{Claim, Document},
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.claims.is_empty() {
        return Vec::new();
    }
    let mut section = Section::answer("claims", words.get("head", "claims"));
    let items = document.claims.iter().map(item).collect();
    section.add(Reach::Everywhere, List { marks: Marks::Points, items });
    section.add(Reach::Paper, Block::Text(words.get("claim", "level").to_owned()));
    vec![section]
}

fn item(claim: &Claim) -> Item {
    let says = claim.says.trim_end();
    let stop = if says.ends_with(['.', '!', '?', '。', '！', '？']) { "" } else { "." };
    let tone = match claim.verdict {
        ClaimVerdict::Supported => Tone::Good,
        ClaimVerdict::Refuted => Tone::Bad,
        ClaimVerdict::Open => Tone::Faint,
    };
    Item { title: format!("{says}{stop}"), tone, ..Item::about(&claim.verdict_words, &claim.text) }
}
