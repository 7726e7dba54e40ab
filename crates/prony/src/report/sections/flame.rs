//! Where servers spent their time: a flame graph of each profile, as frames with their positions.

use crate::report::{
    block::{Block, Cell, Table},
    chart::{Chart, Drawing, Flame, Frame, Numbers},
    document::Document,
    number,
    resources::Profiled,
    words::Words,
};
use std::collections::BTreeMap;

/// Frames with a smaller share of the samples are left out, because nobody could see them.
const NARROWEST: f64 = 0.000_34;
/// Rows of the table that replaces the drawing.
const ROWS_MAX: usize = 20;

/// A heading and a drawing for each profile, or the reason why there is none.
pub(super) fn blocks(document: &Document, words: Words) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (place, profile) in document.profiles.iter().enumerate() {
        let server = document.shown(&profile.server).to_owned();
        let levels = words.subject(&profile.levels);
        let about = if levels.is_empty() { server } else { format!("{server}, {levels}") };
        blocks.push(Block::Heading(format!("{}: {about}", words.get("html", "profile"))));
        blocks.push(match &profile.failure {
            Some(failure) => Block::Text(failure.clone()),
            None => Block::Charts(vec![chart(profile, place, about, words)]),
        });
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text(words.get("html", "profile_note").to_owned()));
    }
    blocks
}

fn chart(profile: &Profiled, place: usize, about: String, words: Words) -> Chart {
    let flame = flame(&profile.stacks);
    Chart {
        id: format!("profile-{}", place + 1),
        title: words.get("html", "profile").to_owned(),
        about,
        numbers: Numbers::Table(table(&flame, words)),
        drawing: Drawing::Flame(flame),
    }
}

/// The functions that were most often on top of a stack; what they called is not counted.
fn table(flame: &Flame, words: Words) -> Table {
    let (mut met, mut callers) = (BTreeMap::<&str, u64>::new(), Vec::<&str>::new());
    for frame in &flame.frames {
        callers.truncate(frame.depth as usize);
        *met.entry(&frame.name).or_default() += frame.samples;
        if let Some(caller) = callers.last() {
            *met.entry(caller).or_default() -= frame.samples;
        }
        callers.push(&frame.name);
    }
    let mut met: Vec<(&str, u64)> = met.into_iter().collect();
    met.sort_by_key(|(name, samples)| (std::cmp::Reverse(*samples), *name));
    let share = |samples: u64| number::percent(samples as f64 / flame.samples.max(1) as f64 * 100.0);
    let row = |(name, samples): &(&str, u64)| vec![Cell::code(name), Cell::number(share(*samples))];
    let heads = ["function", "own_share"].map(|head| words.get("head", head).to_owned()).to_vec();
    Table::new("", heads, met.iter().take(ROWS_MAX).map(row).collect())
}

/// A frame with everything that it called.
#[derive(Default)]
struct Called<'a> {
    samples: u64,
    called: BTreeMap<&'a str, Called<'a>>,
}

/// Stacks, with how often each was sampled, as frames on top of their callers.
fn flame(stacks: &BTreeMap<String, u64>) -> Flame {
    let mut root = Called::default();
    for (stack, &count) in stacks {
        root.samples += count;
        let mut frame = &mut root;
        for name in stack.split(';') {
            frame = frame.called.entry(name).or_default();
            frame.samples += count;
        }
    }
    let mut flame = Flame { samples: root.samples, frames: Vec::new() };
    put(&root, 0, 0, &mut flame);
    flame
}

fn put(caller: &Called<'_>, depth: u32, left: u64, flame: &mut Flame) {
    let mut from = left;
    for (name, frame) in &caller.called {
        if frame.samples as f64 >= NARROWEST * flame.samples as f64 {
            let name = (*name).to_owned();
            flame.frames.push(Frame { name, depth, from, samples: frame.samples });
            put(frame, depth + 1, from, flame);
        }
        from += frame.samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;

    #[test]
    fn frames_are_as_wide_as_they_were_met_often() {
        let stacks = [("m;a;b", 3), ("m;a", 1), ("m;<c>_[k]", 4), ("m;z", 5000)];
        let stacks = BTreeMap::from(stacks.map(|(stack, count)| (stack.to_owned(), count)));
        let drawn = flame(&stacks);
        let frame = |name: &str, depth, from, samples| Frame { name: name.to_owned(), depth, from, samples };
        assert_eq!(drawn.samples, 5008);
        let expected = [
            frame("m", 0, 0, 5008),
            frame("<c>_[k]", 1, 0, 4),
            frame("a", 1, 4, 4),
            frame("b", 2, 4, 3),
            frame("z", 1, 8, 5000),
        ];
        assert_eq!(drawn.frames, expected);
        let own = table(&drawn, Words::of(Language::English));
        let own: Vec<&str> = own.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(own, ["z", "<c>_[k]", "b", "a", "m"], "by samples of their own");
        let rare = BTreeMap::from([("m;a".to_owned(), 1), ("m;z".to_owned(), 5000)]);
        assert!(!flame(&rare).frames.iter().any(|frame| frame.name == "a"), "nobody could see it");
    }
}
