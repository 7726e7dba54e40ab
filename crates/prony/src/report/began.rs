//! The state in which trials began, in sentences: their data, how long settling took and whether it was cut
//! short, and which trials followed a server start. A comparison depends on this state as much as on the
//! load.

use super::{number, words::Words};
use crate::run::{Began, Origin};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// `began` by trial number, as in a record; `foreign`: the tables that trials write to and nobody restores.
/// Empty: nothing is known, or there is nothing to say.
pub(super) fn began(began: &BTreeMap<u32, Began>, foreign: &BTreeSet<String>, words: Words) -> Vec<String> {
    let all: Vec<&Began> = began.values().collect();
    let sentences = [data(&all, foreign, words), settling(&all, words), starts(&all, words)];
    sentences.into_iter().flatten().collect()
}

fn data(all: &[&Began], foreign: &BTreeSet<String>, words: Words) -> Option<String> {
    let origins = [
        (Origin::Loaded, "data_loaded"),
        (Origin::Found, "data_found"),
        (Origin::Kept, "data_kept"),
        (Origin::Snapshot, "data_snapshot"),
        (Origin::Left, "data_left"),
    ];
    let parts = origins.into_iter().filter_map(|(origin, key)| {
        let count = all.iter().filter(|began| began.data == origin).count();
        (count > 0).then(|| words.fill("conduct", key, &[("count", &number::count(count as u64))]))
    });
    let parts: Vec<String> = parts.collect();
    let comma = words.get("sentence", "comma");
    let mut sentences = Vec::new();
    if !parts.is_empty() {
        let key = if foreign.is_empty() { "data" } else { "data_own" };
        sentences.push(words.fill("conduct", key, &[("parts", &parts.join(comma))]));
    }
    if !all.is_empty() && !foreign.is_empty() {
        let tables = foreign.iter().map(String::as_str).collect::<Vec<_>>().join(comma);
        sentences.push(words.fill("conduct", "data_foreign", &[("tables", &tables)]));
    }
    for (origin, key) in [(Origin::Snapshot, "put_back"), (Origin::Loaded, "reloaded")] {
        let alike = all.iter().filter(|began| began.data == origin);
        sentences.extend(lasted(key, alike.filter_map(|began| began.put_back), words));
    }
    (!sentences.is_empty()).then(|| sentences.join(words.get("conduct", "then")))
}

fn settling(all: &[&Began], words: Words) -> Option<String> {
    let settled = || all.iter().filter_map(|began| began.settled);
    let mut sentences = vec![lasted("settled", settled().map(|settled| settled.took), words)?];
    let cut_short = settled().filter(|settled| settled.limit_reached).count() as u64;
    if cut_short > 0 {
        let places = [("count", &*number::count(cut_short)), ("trials", &number::count(all.len() as u64))];
        sentences.push(words.fill("conduct", "not_settled", &places));
    }
    Some(sentences.join(words.get("conduct", "then")))
}

fn starts(all: &[&Began], words: Words) -> Option<String> {
    let count = all.iter().filter(|began| began.restarted).count() as u64;
    let places = [("count", &*number::count(count)), ("trials", &number::count(all.len() as u64))];
    let started = (count > 0).then(|| words.fill("conduct", "started", &places));
    let warmed = lasted("warmed", all.iter().filter_map(|began| began.warmed), words);
    let sentences: Vec<String> = started.into_iter().chain(warmed).collect();
    (!sentences.is_empty()).then(|| sentences.join(words.get("conduct", "then")))
}

/// Median and maximum of how long something took; `None`: it was not done.
fn lasted(key: &str, times: impl Iterator<Item = Duration>, words: Words) -> Option<String> {
    let mut seconds: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    let most = *seconds.last()?;
    let median = f64::midpoint(seconds[(seconds.len() - 1) / 2], seconds[seconds.len() / 2]);
    let places = [("median", &*number::rate(median)), ("most", &number::rate(most))];
    Some(words.fill("conduct", key, &places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::Language, run::Settled};

    /// A trial whose data is `data`, restored in `put_back` s, and whose server settled in `settled` s.
    fn trial(data: Origin, put_back: Option<f64>, settled: f64, limit_reached: bool) -> Began {
        let took = Duration::from_secs_f64(settled);
        Began {
            data,
            put_back: put_back.map(Duration::from_secs_f64),
            restarted: put_back.is_some() && data == Origin::Snapshot,
            settled: Some(Settled { took, dirty_pages: 0, history: 0, limit_reached }),
            warmed: None,
            seed: None,
        }
    }

    fn told(trials: &[Began], language: Language) -> String {
        told_with(trials, &[], language)
    }

    fn told_with(trials: &[Began], foreign: &[&str], language: Language) -> String {
        let foreign = foreign.iter().map(|name| (*name).to_owned()).collect();
        began(&(0..).zip(trials.iter().copied()).collect(), &foreign, Words::of(language)).join("\n")
    }

    #[test]
    fn what_is_not_put_back_is_named_and_never_said_to_be_as_it_was_loaded() {
        let own = ["orders", "shop.items"];
        let mixed = [trial(Origin::Loaded, None, 0.0, false), trial(Origin::Snapshot, None, 0.0, false)];
        let text = told_with(&mixed, &own, Language::English);
        let expected = "Prony's own tables when trials began: as loaded by this run (1), restored from a \
                        snapshot (1). Not restored: orders, shop.items. These tables are not Prony's; each \
                        trial found them as earlier ones had left them.";
        assert!(text.starts_with(expected), "{text}");
        let none = [trial(Origin::None, None, 0.0, false)];
        let text = told_with(&none, &own, Language::English);
        assert!(text.starts_with("Not restored: orders") && !text.contains("loaded"), "{text}");
        assert!(told_with(&none, &own, Language::Chinese).contains("orders、shop.items"));
        let found = [trial(Origin::Found, None, 0.0, false)];
        let text = told(&found, Language::English);
        assert!(text.contains("already there, as left by earlier loads (1)"), "{text}");
        assert_eq!(told_with(&[], &own, Language::English), "");
    }

    #[test]
    fn a_report_says_in_which_state_trials_found_their_servers() {
        let trials = [
            trial(Origin::Loaded, None, 0.5, false),
            trial(Origin::Snapshot, Some(2.0), 1.5, false),
            trial(Origin::Snapshot, Some(4.0), 30.0, true),
            trial(Origin::Snapshot, None, 2.5, false),
        ];
        let english = "Data when trials began: as loaded by this run (1), restored from a snapshot (3). \
                       Restoring the data took 3.00 s, at most 4.00 s.\nBefore each trial, servers took 2.00 \
                       s to settle (write dirty pages, purge old row versions), at most 30.0 s. In 1 of 4 \
                       trials they had not settled when the time limit ended the wait; the trial paid for \
                       the rest.\nIn 2 of 4 trials, the servers had just been started.";
        assert_eq!(told(&trials, Language::English), english);
        let chinese = told(&trials, Language::Chinese);
        for words in ["快照还原（3）", "30.0 秒", "4 次试验中有 1 次"] {
            assert!(chinese.contains(words), "{chinese}");
        }
    }

    #[test]
    fn data_loaded_anew_kept_and_left_are_told_apart() {
        let trials = [
            trial(Origin::Kept, None, 0.0, false),
            trial(Origin::Loaded, Some(12.0), 0.0, false),
            trial(Origin::Left, None, 0.0, false),
        ];
        let text = told(&trials, Language::English);
        for words in [
            "as loaded by an earlier run (1)",
            "Reloading the data took 12.0 s",
            "as left by earlier trials (1)",
        ] {
            assert!(text.contains(words), "{text}");
        }
        assert!(!text.contains("limit") && !text.contains("started"), "{text}");
    }

    #[test]
    fn of_what_was_not_done_nothing_is_said() {
        assert_eq!(told(&[], Language::English), "");
        let imported = Began { settled: None, ..trial(Origin::None, None, 0.0, false) };
        assert_eq!(told(&[imported], Language::English), "");
    }
}
