//! The conditions under which each server really ran, as far as they affect a comparison, and a sentence
//! about conditions that differ although the study does not vary them.

use super::{
    document::{Condition, Finding, FindingKind},
    words::Words,
};
use crate::{
    fairness::{self, Known, Verdict},
    plan::Fairness,
    store::RunRecord,
};

/// The conditions of every server of a run.
pub(super) fn conditions(record: &RunRecord, words: Words) -> Vec<Condition> {
    let known: Vec<_> = (0..record.plan.servers.len())
        .map(|number| {
            let server = record.servers.get(&number);
            Known {
                description: server.map(|server| &server.description),
                sizes: server.map(|server| &server.data_sizes),
                build: None,
            }
        })
        .collect();
    let looked_for = record.plan.fairness != Fairness::Off;
    let condition = |one: fairness::Condition| {
        let title = match (words.get("condition", &one.key), one.data_set) {
            ("", _) => one.title,
            (title, None) => title.to_owned(),
            (title, Some(number)) => {
                words.fill("condition", "of_data_set", &[("title", title), ("number", &number.to_string())])
            }
        };
        Condition {
            title,
            key: one.key,
            values: one.values,
            verdict: match one.verdict {
                Verdict::Different if !looked_for => Verdict::OnPurpose,
                verdict => verdict,
            },
            remedy: one.remedy,
        }
    };
    fairness::conditions(&record.plan.servers, &known).into_iter().map(condition).collect()
}

/// The sentence about differences that the study does not vary.
pub(super) fn finding(conditions: &[Condition], words: Words) -> Option<Finding> {
    let different: Vec<_> = conditions
        .iter()
        .filter(|one| one.verdict == Verdict::Different)
        .map(|one| one.title.as_str())
        .collect();
    if different.is_empty() {
        return None;
    }
    let text =
        words.fill("sentence", "unfair", &[("conditions", &different.join(words.get("condition", "comma")))]);
    Some(Finding { kind: FindingKind::Unfair, about: String::new(), text })
}
