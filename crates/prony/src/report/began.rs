//! In which state trials found their servers, in sentences: what their data were, how long settling took and
//! whether it was cut short, which followed a start. A comparison rests on it as it does on the load.

use super::{number, words::Words};
use crate::run::{Began, Origin};
use std::{collections::BTreeMap, time::Duration};

/// By number of trial, as in a record; empty: nothing is known, or there is nothing to say.
pub(super) fn began(began: &BTreeMap<u32, Began>, words: Words) -> Vec<String> {
    let all: Vec<&Began> = began.values().collect();
    [data(&all, words), settling(&all, words), starts(&all, words)].into_iter().flatten().collect()
}

fn data(all: &[&Began], words: Words) -> Option<String> {
    let origins = [
        (Origin::Loaded, "data_loaded"),
        (Origin::Kept, "data_kept"),
        (Origin::Snapshot, "data_snapshot"),
        (Origin::Left, "data_left"),
    ];
    let parts = origins.into_iter().filter_map(|(origin, key)| {
        let count = all.iter().filter(|began| began.data == origin).count();
        (count > 0).then(|| words.fill("conduct", key, &[("count", &number::count(count as u64))]))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return None;
    }
    let parts = parts.join(words.get("sentence", "comma"));
    let mut sentences = vec![words.fill("conduct", "data", &[("parts", &parts)])];
    for (origin, key) in [(Origin::Snapshot, "put_back"), (Origin::Loaded, "reloaded")] {
        let alike = all.iter().filter(|began| began.data == origin);
        sentences.extend(lasted(key, alike.filter_map(|began| began.put_back), words));
    }
    Some(sentences.join(words.get("conduct", "then")))
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

/// How long something took: in the middle, and at most. `None`: it was not done.
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

    /// A trial whose data are of `data`, put back in `put_back` s, and whose server settled in `settled` s.
    fn trial(data: Origin, put_back: Option<f64>, settled: f64, limit_reached: bool) -> Began {
        let took = Duration::from_secs_f64(settled);
        Began {
            data,
            put_back: put_back.map(Duration::from_secs_f64),
            restarted: put_back.is_some() && data == Origin::Snapshot,
            settled: Some(Settled { took, dirty_pages: 0, history: 0, limit_reached }),
            warmed: None,
        }
    }

    fn told(trials: &[Began], language: Language) -> String {
        began(&(0..).zip(trials.iter().copied()).collect(), Words::of(language)).join("\n")
    }

    #[test]
    fn a_report_says_in_which_state_trials_found_their_servers() {
        let trials = [
            trial(Origin::Loaded, None, 0.5, false),
            trial(Origin::Snapshot, Some(2.0), 1.5, false),
            trial(Origin::Snapshot, Some(4.0), 30.0, true),
            trial(Origin::Snapshot, None, 2.5, false),
        ];
        let english = "Data when trials began: as this run loaded them (1), put back from a snapshot (3). \
                       Putting back took 3.00 s, at most 4.00 s.\nBefore a trial servers settled (wrote \
                       dirty pages, purged old versions of rows) for 2.00 s, at most 30.0 s. In 1 of 4 \
                       trials the limit ended it, and the trial paid for what was left.\nServers had just \
                       been started for 2 of 4 trials.";
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
        for words in
            ["an earlier run loaded them (1)", "Loading anew took 12.0 s", "earlier trials left them (1)"]
        {
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
