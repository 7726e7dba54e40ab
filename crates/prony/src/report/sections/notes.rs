//! Remarks on single points, and what the signs and words in the tables mean.

use super::ladder::Remarks;
use crate::{
    analyse::Verdict,
    plan::Metric,
    report::{
        block::{Block, List, Marks, Reach, Section},
        document::Document,
        words::Words,
    },
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("notes", words.get("head", "remarks"));
    section.titled = Reach::Paper;
    let remarks = Remarks::of(document, words);
    if remarks.texts().next().is_some() {
        section.add(Reach::Everywhere, List::of(Marks::Numbers, remarks.texts()));
    }
    section.extend(Reach::Everywhere, notes(document, words).into_iter().map(Block::Text));
    vec![section]
}

/// Notes below the tables: whether there are intervals at all, and what unclear and overloaded mean.
fn notes(document: &Document, words: Words) -> Vec<String> {
    let measured = || document.points.iter().filter(|point| point.trials > 0);
    let is_known = measured().any(|point| point.throughput.low.is_some());
    // intervals come from within a trial only where no point has two trials
    let key = match (is_known, measured().any(|point| point.trials > 1)) {
        (true, true) => Some("plus_minus"),
        (true, false) => Some("plus_minus_within"),
        (false, _) => measured().next().map(|_| "plus_minus_none"),
    };
    let mut notes: Vec<String> = key.map(|key| words.get("text", key).to_owned()).into_iter().collect();
    let repeats: Vec<u32> = document
        .comparisons
        .iter()
        .filter(|one| one.metric == Metric::Throughput && one.verdict == Verdict::Undecided)
        .filter_map(|one| one.repeats_needed)
        .collect();
    if let (Some(fewest), Some(most)) = (repeats.iter().min(), repeats.iter().max()) {
        let both = [("fewest", &*fewest.to_string()), ("most", &most.to_string())];
        let key = if fewest == most { "undecided_note_one" } else { "undecided_note" };
        notes.push(words.fill("text", key, &both));
    }
    if document.points.iter().any(|point| point.overloaded > 0) {
        notes.push(words.get("text", "overloaded_note").to_owned());
    }
    notes
}
