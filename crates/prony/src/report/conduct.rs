//! How a run was carried out, as far as a reader must know: what disturbed it on the machine, whether it was
//! resumed, the state in which trials began, which trials were repeated or left out and why, and why
//! repeating ended. Nothing is dropped silently.

use super::{
    began::began,
    build::second_of,
    fact::{Fact, together},
    number,
    words::{self, Examined, Words},
};
use crate::{
    analyse::{Findings, LeftOut, Uncounted, Unfit, Unscaled},
    doctor::Level,
    run::{Note, Stop, TrialOutcome, Why},
    store::{Resumed, RunRecord},
};
use load::sample::PartUsage;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

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
    // a trial that was left out mentions its repeat itself
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
        let about = words.subject(&ladder.levels);
        let about = if about.is_empty() { about } else { format!("{about}, ") };
        sentences.push(unscaled(&about, ladder, words));
    }
    sentences.extend(stops(record, words));
    sentences
}

/// Why a ladder gets no law of growth with connections.
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

/// How many processes shared the load, if there were several, and how closely together they began.
fn processes(record: &RunRecord, words: Words) -> Option<String> {
    let clients = record.trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured { outcome, .. } => Some(&outcome.client),
        TrialOutcome::Failed(_) => None,
    });
    let several: Vec<_> = clients.filter(|client| !client.parts.is_empty()).collect();
    let counts: BTreeSet<usize> = several.iter().map(|client| client.parts.len()).collect();
    let skew = several.iter().map(|client| client.start_skew()).max()?;
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    let (counts, skew) = (counts.join(", "), ms(skew));
    let clocks = || several.iter().filter_map(|client| client.clocks());
    let within = clocks().map(|(within, _)| within).max();
    let Some((within, drift)) = within.zip(clocks().map(|(_, drift)| drift).max()) else {
        return Some(words.fill("conduct", "processes", &[("counts", &counts), ("skew", &skew)]));
    };
    let parts = several.iter().flat_map(|client| &client.parts);
    let hosts: BTreeSet<String> = parts.filter_map(|part| load_host(part, words)).collect();
    let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
    let places = [
        ("counts", &*counts),
        ("hosts", &hosts),
        ("skew", &skew),
        ("within", &ms(within)),
        ("drift", &ms(drift)),
    ];
    Some(words.fill("conduct", "agents", &places))
}

/// A load host, as it described itself.
fn load_host(part: &PartUsage, words: Words) -> Option<String> {
    let host = part.host.as_ref()?;
    let address = part.name.strip_prefix("agent ").unwrap_or(&part.name);
    let processors = host.processors.to_string();
    let places = [
        ("address", address),
        ("processors", &*processors),
        ("kernel", &host.kernel),
        ("clock", &host.clock_source),
    ];
    Some(words.fill("conduct", "load_host", &places))
}

/// How many threads the load engine had; `None` where the records do not say, or the study does.
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

/// What distorts results on the machine: each check once, with all readings of a resumed run.
fn machine(record: &RunRecord, words: Words) -> Vec<String> {
    let mut remarks: Vec<(&str, Vec<String>, Examined)> = Vec::new();
    for note in &record.notes {
        let Note::Machine(reading) = note else { continue };
        let examined = words.examined(Level::Warning, reading);
        match remarks.iter_mut().find(|(known, ..)| *known == reading.id()) {
            Some((_, readings, _)) if readings.contains(&examined.read) => {}
            Some((_, readings, _)) => readings.push(examined.read),
            None => remarks.push((reading.id(), vec![examined.read.clone()], examined)),
        }
    }
    let sentence = |(_, readings, Examined { effect, remedy, .. }): (&str, Vec<String>, Examined)| {
        let read = readings.join(words.get("sentence", "semicolon"));
        let places = [("read", &*read), ("effect", &*effect), ("remedy", &*remedy)];
        words.fill("conduct", "machine", &places)
    };
    remarks.into_iter().map(sentence).collect()
}

/// Says that a run was resumed, and what had changed.
fn resumed(resumed: &Resumed, words: Words) -> String {
    let version = match resumed.prony_version.as_str() {
        "" => String::new(),
        version => words.fill("conduct", "resumed_version", &[("version", version)]),
    };
    let at = second_of(resumed.at);
    let differences: Vec<String> = resumed.differences.iter().map(|one| words.difference(one)).collect();
    let differences = differences.join(words.get("sentence", "semicolon"));
    let key = if differences.is_empty() { "resumed" } else { "resumed_differs" };
    let mut places = vec![("at", &*at), ("version", &version)];
    places.extend((!differences.is_empty()).then_some(("differences", &*differences)));
    words.fill("conduct", key, &places)
}

fn stops(record: &RunRecord, words: Words) -> Vec<String> {
    // a resumed run has reported it more than once: the last report counts
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
