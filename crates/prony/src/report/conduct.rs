//! How a run was carried out, as far as a reader must know it: what of the machine disturbed it, in which state trials
//! began, which were repeated or left out and why, why repeating ended. Nothing vanishes in silence.

use super::{began::began, number, words::Words};
use crate::{
    analyse::Findings,
    run::{Note, Stop, Why},
    store::RunRecord,
};
use std::collections::BTreeSet;

/// One sentence each; empty: there is nothing to say.
pub(super) fn conduct(record: &RunRecord, findings: &Findings, words: Words) -> Vec<String> {
    let mut sentences = Vec::new();
    for note in &record.notes {
        if let Note::Machine { read, effect, remedy, .. } = note {
            let places = [("read", &**read), ("effect", &**effect), ("remedy", &**remedy)];
            sentences.push(words.fill("conduct", "machine", &places));
        }
    }
    sentences.extend(began(&record.began, words));
    for trial in record.trials.iter().filter(|trial| trial.trial.again_of.is_some()) {
        let first = trial.trial.again_of.unwrap_or_default() + 1;
        let places = [("first", &*first.to_string()), ("again", &*(trial.trial.number + 1).to_string())];
        sentences.push(words.fill("conduct", "repeated", &places));
    }
    // a trial has as many points as streams
    let left_out: BTreeSet<&String> = findings.points.iter().flat_map(|point| &point.left_out).collect();
    for reason in left_out {
        sentences.push(words.fill("conduct", "left_out", &[("reason", reason)]));
    }
    sentences.extend(stops(record, words));
    sentences
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
        let repeats = || alike.iter().map(|stop| stop.repeats);
        let (fewest, most) = (repeats().min()?, repeats().max()?);
        let width =
            alike.iter().map(|stop| stop.half_width).try_fold(0.0_f64, |most, width| Some(most.max(width?)));
        let wanted = record.plan.repetition.precision.unwrap_or_default();
        let places = [
            ("count", alike.len().to_string()),
            ("fewest", fewest.to_string()),
            ("most", most.to_string()),
            ("width", width.map_or_else(|| "?".to_owned(), |width| number::percent(width * 100.0))),
            ("wanted", number::percent(wanted * 100.0)),
        ];
        let places: Vec<(&str, &str)> =
            places.iter().map(|(place, value)| (*place, value.as_str())).collect();
        Some(words.fill("conduct", key, &places))
    };
    reasons.into_iter().filter_map(sentence).collect()
}
