//! What a crash cost: acknowledged commits that are gone.

use crate::{
    analyse::Crashes,
    report::{
        block::{Block, Cell, List, Marks, Reach, Section, Table, Tone},
        document::Document,
        number,
        words::Words,
    },
};
use stats::Estimate;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    if document.crashes.is_empty() {
        return Vec::new();
    }
    let shown = |crashes: &Crashes| document.servers[crashes.server].shown.as_str();
    let mut section = Section::new("crashes", words.get("text", "crashes"));
    let heads = [
        "server",
        "how",
        "crashes",
        "acknowledged",
        "lost",
        "share_lost",
        "losing_crashes",
        "unacknowledged_rows",
        "recovery",
    ];
    let heads = heads.map(|key| words.get("head", key).to_owned()).into();
    let row = |crashes: &Crashes| {
        let tone = if crashes.lost > 0 { Tone::Bad } else { Tone::Plain };
        vec![
            Cell::name(shown(crashes)),
            Cell::name(words.named("crash", crashes.kind)),
            Cell::number(number::count(u64::from(crashes.count))),
            Cell::number(number::count(crashes.acknowledged)),
            Cell::toned(number::count(crashes.lost), tone),
            Cell::number(share(&crashes.share, words)),
            Cell::number(number::count(u64::from(crashes.losing))),
            Cell::number(number::count(crashes.unacknowledged)),
            Cell::number(number::estimate(&crashes.recovery)),
        ]
    };
    let killed = document.crashes.iter().filter(|crashes| crashes.count > 0);
    section.add(Reach::Everywhere, Table::new("", heads, killed.map(row).collect()));
    let stopped = document.crashes.iter().filter_map(|crashes| {
        let how = words.named("crash", crashes.kind);
        let reason = words.no_crash(crashes.stopped.as_ref()?);
        let places = [("server", shown(crashes)), ("how", how), ("reason", &*reason)];
        Some(words.fill("text", "not_killed", &places))
    });
    let stopped: Vec<String> = stopped.collect();
    if !stopped.is_empty() {
        section.add(Reach::Everywhere, List::of(Marks::Points, stopped));
    }
    section.add(Reach::Everywhere, Block::Text(words.get("text", "crashes_note").to_owned()));
    vec![section]
}

/// `0 (at most 0.003 %)`, `1.3 % (0.2 to 2.4)`.
fn share(share: &Estimate, words: Words) -> String {
    let percent = |share: f64| number::rate(share * 100.0);
    let value = percent(share.value);
    let Some((low, high)) = share.interval() else { return format!("{value} %") };
    let (low, high) = (percent(low), percent(high));
    let key = if share.value > 0.0 { "share_between" } else { "share_at_most" };
    words.fill("text", key, &[("value", &value), ("low", &low), ("high", &high)])
}
