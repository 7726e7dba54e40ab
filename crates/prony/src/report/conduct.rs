//! How a run was carried out, as far as a reader must know it: what of the machine disturbed it, whether it
//! was gone on with, in which state trials began, which were repeated or left out and why, why repeating
//! ended. Nothing vanishes in silence.

use super::{
    began::began,
    build::second_of,
    fact::{Fact, together},
    number,
    words::{self, Words, capitalised, subject},
};
use crate::{
    analyse::{Findings, LeftOut, Uncounted, Unfit, Unscaled},
    run::{Note, Stop, TrialOutcome, Why},
    store::{Resumed, RunRecord},
};
use std::collections::{BTreeMap, BTreeSet};

/// One sentence each; empty: there is nothing to say.
pub(super) fn conduct(record: &RunRecord, findings: &Findings, words: Words) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(machine(record, words));
    sentences.extend(record.resumed.iter().map(|resumed| self::resumed(resumed, words)));
    let foreign = record.plan.treatments.iter().flat_map(|one| record.plan.foreign_written(one)).collect();
    sentences.extend(began(&record.began, &foreign, words));
    sentences.extend(processes(record, words));
    sentences.extend(threads(record, words));
    // a trial has as many points as streams
    let left_out: BTreeMap<u32, &LeftOut> =
        findings.points.iter().flat_map(|point| &point.left_out).map(|one| (one.trial, one)).collect();
    // a trial that was left out says itself that it was repeated
    let is_told = |first: u32| {
        left_out
            .get(&first)
            .is_some_and(|one| matches!(one.why, Uncounted::Invalid { repeated_as: Some(_), .. }))
    };
    for trial in &record.trials {
        let Some(first) = trial.trial.again_of.filter(|&first| !is_told(first)) else { continue };
        let places =
            [("first", &*(first + 1).to_string()), ("again", &*(trial.trial.number + 1).to_string())];
        sentences.push(words.fill("conduct", "repeated", &places));
    }
    let facts = left_out.into_values().map(|one| ((), words::left_out(one)));
    for left_out in together(facts) {
        let fact = Fact::around("conduct", "left_out", "reason", left_out.fact);
        sentences.push(words.say(&fact));
    }
    for ladder in &findings.unscaled {
        let about = subject(&ladder.levels);
        let about = if about.is_empty() { about } else { format!("{about}, ") };
        sentences.push(unscaled(&about, ladder, words));
    }
    sentences.extend(stops(record, words));
    sentences
}

/// Why a ladder has no law of growth with connections.
fn unscaled(about: &str, ladder: &Unscaled, words: Words) -> String {
    let count = |connections: f64| number::count(connections.round() as u64);
    let (key, more) = match ladder.why {
        Unfit::TooFew => {
            ("unscaled", [("rungs", ladder.rungs.to_string()), ("left", ladder.left_out.to_string())])
        }
        Unfit::Residual { connections, residual } => {
            let percent = number::percent(residual.abs() * 100.0);
            ("unscaled_residual", [("connections", count(f64::from(connections))), ("percent", percent)])
        }
        Unfit::Peak { low: Some(low), high: Some(high) } => {
            ("unscaled_peak", [("low", count(low.max(1.0))), ("high", count(high))])
        }
        Unfit::Peak { .. } => ("unscaled_open", [("low", String::new()), ("high", String::new())]),
    };
    let mut places = vec![("about", about), ("side", ladder.side.as_str())];
    places.extend(more.iter().map(|(place, value)| (*place, value.as_str())));
    words.fill("conduct", key, &places)
}

/// In how many processes the load was carried out, where there were several, and how exactly they began
/// together.
fn processes(record: &RunRecord, words: Words) -> Option<String> {
    let clients = record.trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured { outcome, .. } => Some(&outcome.client),
        TrialOutcome::Failed(_) => None,
    });
    let several: Vec<_> = clients.filter(|client| !client.parts.is_empty()).collect();
    let counts: BTreeSet<usize> = several.iter().map(|client| client.parts.len()).collect();
    let skew = several.iter().map(|client| client.start_skew()).max()?;
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let skew_ms = format!("{:.2}", skew.as_secs_f64() * 1e3);
    Some(words.fill("conduct", "processes", &[("counts", &counts.join(", ")), ("skew", &skew_ms)]))
}

/// How many threads the load engine had; `None` where the records do not tell, or the study says it.
fn threads(record: &RunRecord, words: Words) -> Option<String> {
    let told = record.trials.iter().filter_map(|trial| {
        let is_given = record.plan.treatments[trial.trial.treatment].client.workers.is_some();
        match &trial.outcome {
            TrialOutcome::Measured { outcome, .. } if !is_given => Some(outcome.client.workers_asked),
            _ => None,
        }
    });
    let counts: BTreeSet<u32> = told.collect();
    let count = *counts.first()?;
    match (counts.len(), count) {
        (1, 0) => None,
        (1, 1) => Some(words.fill("conduct", "thread", &[])),
        (1, _) => Some(words.fill("conduct", "threads", &[("count", &count.to_string())])),
        _ => {
            let counts: Vec<String> = counts.iter().filter(|&&count| count > 0).map(u32::to_string).collect();
            Some(words.fill("conduct", "threads_differ", &[("counts", &counts.join(", "))]))
        }
    }
}

/// What of the machine distorts results: each remark once, with all that was read in a run that was gone on
/// with.
fn machine(record: &RunRecord, words: Words) -> Vec<String> {
    let mut remarks: Vec<(&str, Vec<&str>, &str, &str)> = Vec::new();
    for note in &record.notes {
        let Note::Machine { id, read, effect, remedy } = note else { continue };
        match remarks.iter_mut().find(|(known, ..)| known == id) {
            Some((_, readings, ..)) if readings.contains(&&**read) => {}
            Some((_, readings, ..)) => readings.push(read),
            None => remarks.push((id, vec![read], effect, remedy)),
        }
    }
    let sentence = |(id, readings, effect, remedy): (&str, Vec<&str>, &str, &str)| {
        let read = readings.join("; ");
        // a language has a sentence for each remark, or says it in the remark's own words
        let own = words.fill("machine", id, &[("read", &read)]);
        if !own.is_empty() {
            return words.fill("conduct", "machine_own", &[("remark", &own)]);
        }
        words.fill(
            "conduct",
            "machine",
            &[("read", &read), ("effect", effect), ("remedy", &capitalised(remedy))],
        )
    };
    remarks.into_iter().map(sentence).collect()
}

/// That a run was gone on with, and what was not as before.
fn resumed(resumed: &Resumed, words: Words) -> String {
    let version = match resumed.prony_version.as_str() {
        "" => String::new(),
        version => words.fill("conduct", "resumed_version", &[("version", version)]),
    };
    let at = second_of(resumed.at);
    let differences = resumed.differences.join("; ");
    let key = if differences.is_empty() { "resumed" } else { "resumed_differs" };
    let mut places = vec![("at", &*at), ("version", &version)];
    places.extend((!differences.is_empty()).then_some(("differences", &*differences)));
    words.fill("conduct", key, &places)
}

fn stops(record: &RunRecord, words: Words) -> Vec<String> {
    // a run that was resumed has told it more than once: the last word holds
    let told: Vec<Stop> = record
        .notes
        .iter()
        .filter_map(|note| if let Note::Stopped(stop) = note { Some(*stop) } else { None })
        .collect();
    let last = |treatment: usize| told.iter().rev().find(|stop| stop.treatment == treatment);
    let stops: Vec<&Stop> = (0..record.plan.treatments.len()).filter_map(last).collect();
    let reasons = [(Why::Precise, "precise"), (Why::Budget, "budget"), (Why::RepeatsMax, "repeats_max")];
    let sentence = |(why, key): (Why, &str)| {
        let alike: Vec<&Stop> = stops.iter().copied().filter(|stop| stop.why == why).collect();
        let times = || alike.iter().map(|stop| stop.repeats);
        let (fewest, most) = (times().min()?, times().max()?);
        let width =
            alike.iter().map(|stop| stop.half_width).try_fold(0.0_f64, |most, width| Some(most.max(width?)));
        let wanted = record.plan.repetition.precision.unwrap_or_default();
        let repeats = if fewest == most {
            fewest.to_string()
        } else {
            format!("{fewest}{}{most}", words.get("sentence", "to"))
        };
        let combinations = match alike.len() {
            1 => words.get("conduct", "combination").to_owned(),
            count => words.fill("conduct", "combinations", &[("count", &count.to_string())]),
        };
        let places = [
            ("combinations", combinations),
            ("repeats", repeats),
            ("width", width.map_or_else(|| "?".to_owned(), |width| number::percent(width * 100.0))),
            ("wanted", number::percent(wanted * 100.0)),
        ];
        let places: Vec<(&str, &str)> =
            places.iter().map(|(place, value)| (*place, value.as_str())).collect();
        Some(words.fill("conduct", key, &places))
    };
    reasons.into_iter().filter_map(sentence).collect()
}
