//! The claims of a study with what the run says of them, in words and as values.

use super::{document::Claim, number, words::Words};
use crate::{
    analyse::{ClaimVerdict, Judgement, Open},
    plan::{Bound, Statement, Unit},
};

/// Every claim, judged.
pub(super) fn claims(judgements: &[Judgement], words: Words) -> Vec<Claim> {
    judgements.iter().map(|judgement| claim(judgement, words)).collect()
}

fn claim(judgement: &Judgement, words: Words) -> Claim {
    Claim {
        says: judgement.claim.says.clone(),
        verdict: judgement.verdict,
        verdict_words: words.named("claim", judgement.verdict).to_owned(),
        text: text(judgement, words),
        metric: judgement.claim.metric.clone(),
        claimed: claimed(judgement, words),
        parts: judgement.parts.clone(),
    }
}

/// What decides, with its numbers, and where it is open, why.
fn text(judgement: &Judgement, words: Words) -> String {
    let mut sentences: Vec<String> = Vec::new();
    if let Some(part) = judgement.decisive.map(|each| &judgement.parts[each]) {
        let metric = words.get("metric", &judgement.claim.metric);
        let metric = if metric.is_empty() { judgement.claim.metric.as_str() } else { metric };
        let places: Vec<String> = part
            .levels
            .iter()
            .map(|(factor, level)| format!("{} {level}", super::words::spoken(factor)))
            .collect();
        let about = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
        let figure = |value: f64| figure(value, judgement);
        // an error share may be 0, and what grows may shrink
        let is_positive = !matches!(judgement.claim.statement, Statement::Slope { .. })
            && judgement.claim.metric != "errors"
            && part.estimate.value > 0.0;
        let interval = match part.estimate.interval() {
            Some((low, high)) if is_positive && number::tells_nothing(low, high) => {
                words.too_few(&part.estimate)
            }
            Some((low, high)) => {
                words.fill("sentence", "interval", &[("low", &figure(low)), ("high", &figure(high))])
            }
            None => words.get("sentence", "no_interval").to_owned(),
        };
        let key = match (&part.one, &judgement.claim.statement) {
            (Some(_), _) => "pair",
            (None, Statement::Slope { .. }) => "slope",
            (None, _) => "value",
        };
        let places = [
            ("metric", metric),
            ("one", part.one.as_deref().unwrap_or_default()),
            ("other", part.other.as_deref().unwrap_or_default()),
            ("about", &about),
            ("value", &figure(part.estimate.value)),
            ("interval", &interval),
            ("claimed", &claimed(judgement, words)),
        ];
        sentences.push(words.fill("claim", key, &places));
        if judgement.parts.len() > 1 {
            let of =
                |verdict| judgement.parts.iter().filter(|part| part.verdict == verdict).count().to_string();
            let places = [
                ("count", &*judgement.parts.len().to_string()),
                ("supported", &of(ClaimVerdict::Supported)),
                ("refuted", &of(ClaimVerdict::Refuted)),
                ("open", &of(ClaimVerdict::Open)),
            ];
            sentences.push(words.fill("claim", "of_several", &places));
        }
    }
    sentences.extend(judgement.open.map(|open| words.get("claim", reason(open)).to_owned()));
    sentences.join(words.get("claim", "between"))
}

fn reason(open: Open) -> &'static str {
    match open {
        Open::NotMeasured => "open_not_measured",
        Open::OtherScale => "open_other_scale",
        Open::NoInterval => "open_no_interval",
        Open::Wide => "open_wide",
        Open::Invalid => "open_invalid",
    }
}

/// A number of a claim with its unit.
fn figure(value: f64, judgement: &Judgement) -> String {
    let Statement::Value(_) = &judgement.claim.statement else { return number::ratio(value) };
    match judgement.claim.unit() {
        Unit::PerSecond => format!("{}/s", number::rate(value)),
        Unit::Share => format!("{} %", number::round_to(value * 100.0, 3)),
        Unit::One => number::rate(value),
        Unit::Kilobytes => format!("{} kB", number::rate(value)),
        Unit::Seconds => format!("{} s", number::ratio(value)),
        Unit::Milliseconds => format!("{} ms", number::milliseconds(value)),
    }
}

/// What was claimed: `>= 2`, `< 20 ms`, within 3 %.
fn claimed(judgement: &Judgement, words: Words) -> String {
    let limit = |bound: &Bound| format!("{} {}", bound.relation.sign(), figure(bound.value, judgement));
    match &judgement.claim.statement {
        Statement::Ratio { bound, .. } | Statement::Value(bound) | Statement::Slope { bound, .. } => {
            limit(bound)
        }
        Statement::Within { share, .. } => {
            words.fill("claim", "within", &[("percent", &number::round(share * 100.0).to_string())])
        }
        Statement::Order { levels, .. } => levels.join(" > "),
    }
}
