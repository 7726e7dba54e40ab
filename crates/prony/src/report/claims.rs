//! The claims of a study and what the run says about them, in words and as values.

use super::{
    document::Claim,
    number,
    words::{Words, titled},
};
use crate::{
    analyse::{Axis, ClaimVerdict, Judgement, Open, Part},
    plan::{Bound, Metric, Statement, Unit},
};
use std::collections::BTreeMap;

/// The share of the processors taken by other programs from which on a verdict mentions it.
const TOLD: f64 = 0.01;

/// All claims, each with its verdict.
pub(super) fn claims(judgements: &[Judgement], words: Words) -> Vec<Claim> {
    judgements.iter().map(|judgement| claim(judgement, words)).collect()
}

fn claim(judgement: &Judgement, words: Words) -> Claim {
    Claim {
        says: words.either(&judgement.claim.says, &judgement.claim.says_zh).to_owned(),
        verdict: judgement.verdict,
        verdict_words: words.named("claim", judgement.verdict).to_owned(),
        text: text(judgement, words),
        metric: judgement.claim.metric,
        claimed: claimed(judgement, words),
        parts: judgement.parts.clone(),
    }
}

/// What decides the claim, with its numbers; where it is open, why.
fn text(judgement: &Judgement, words: Words) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let decisive = judgement.decisive.map(|each| &judgement.parts[each]);
    if let Some(part) = decisive {
        let places = part.levels.iter().map(|(factor, level)| words.level(factor, level));
        let joined = places.collect::<Vec<_>>().join(words.get("sentence", "comma"));
        let about = match joined.as_str() {
            "" => String::new(),
            places => words.fill("claim", "about", &[("places", places)]),
        };
        let side = |side: &Option<String>| {
            side.as_ref().map_or_else(String::new, |side| named(side, judgement, words))
        };
        let (one, other) = (side(&part.one), side(&part.other));
        let figure = |value: f64| figure(value, judgement);
        let interval = interval(part, judgement, words, "interval");
        let key = match (&part.one, &judgement.claim.statement) {
            (Some(_), Statement::Variation { .. }) => "variation_pair",
            (Some(_), _) => "pair",
            (None, Statement::Slope { .. }) => "slope",
            (None, Statement::Linear { .. }) => "linear",
            (None, Statement::Variation { .. }) => "variation",
            (None, _) => "value",
        };
        let places = [
            ("metric", &*words.metric(judgement.claim.metric)),
            ("one", &one),
            ("other", &other),
            ("about", &about),
            ("value", &figure(part.estimate.value)),
            ("interval", &interval),
            ("claimed", &claimed(judgement, words)),
        ];
        sentences.push(titled(&words.fill("claim", key, &places)));
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
    if let Some(part) = decisive.filter(|part| part.taken >= TOLD) {
        let percent = number::percent(part.taken * 100.0);
        sentences.push(words.fill("claim", "taken", &[("percent", &percent)]));
    }
    sentences.extend(judgement.open.map(|open| words.get("claim", reason(open)).to_owned()));
    sentences.join(words.get("claim", "between"))
}

/// The interval of a part in words, or why there is none; `key` names the template.
fn interval(part: &Part, judgement: &Judgement, words: Words, key: &str) -> String {
    // an error share may be 0, and growth may be negative
    let is_curve = matches!(judgement.claim.statement, Statement::Slope { .. } | Statement::Linear { .. });
    let is_positive = !is_curve && judgement.claim.metric != Metric::Errors && part.estimate.value > 0.0;
    let figure = |value: f64| figure(value, judgement);
    match part.estimate.interval() {
        Some((low, high)) if is_positive && number::tells_nothing(low, high) => words.too_few(&part.estimate),
        Some((low, high)) => words.fill("sentence", key, &[("low", &figure(low)), ("high", &figure(high))]),
        None => words.get("sentence", "no_interval").to_owned(),
    }
}

/// What is compared, with its factor where it is a bare number.
fn named(side: &str, judgement: &Judgement, words: Words) -> String {
    let (Statement::Ratio { over, .. } | Statement::Within { over, .. }) = &judgement.claim.statement else {
        return side.to_owned();
    };
    let factors: Vec<&String> = over.keys().collect();
    match factors[..] {
        [factor] if side.parse::<f64>().is_ok() => words.level(factor, side),
        _ => side.to_owned(),
    }
}

/// A claim with its verdict in one sentence, for an answer; `None`: it is open.
pub(super) fn brief(judgement: &Judgement, words: Words) -> Option<String> {
    let part = &judgement.parts[judgement.decisive.filter(|_| judgement.verdict != ClaimVerdict::Open)?];
    let says = words.either(&judgement.claim.says, &judgement.claim.says_zh);
    let places = [
        ("says", says.trim_end().trim_end_matches(['.', '。'])),
        ("verdict", words.named("claim", judgement.verdict)),
        ("metric", &words.metric(judgement.claim.metric)),
        ("value", &figure(part.estimate.value, judgement)),
        ("interval", &interval(part, judgement, words, "ci")),
        ("claimed", &claimed(judgement, words)),
    ];
    let key = match judgement.claim.statement {
        Statement::Slope { .. } => "brief_slope",
        Statement::Linear { .. } => "brief_linear",
        Statement::Variation { .. } => "brief_variation",
        Statement::Value(_) => "brief",
        _ => "brief_ratio",
    };
    Some(words.fill("claim", key, &places))
}

/// The load that decides a claim: its levels, without those that the axis shows or that are compared.
pub(super) fn load(judgement: &Judgement, axis: &Axis) -> Option<BTreeMap<String, String>> {
    let mut levels = judgement.parts[judgement.decisive?].levels.clone();
    levels.retain(|factor, _| {
        !(axis.has(factor) || axis.compares(factor) || axis.servers.factors.contains(factor))
    });
    Some(levels)
}

fn reason(open: Open) -> &'static str {
    match open {
        Open::NotMeasured => "open_not_measured",
        Open::OtherScale => "open_other_scale",
        Open::NoInterval => "open_no_interval",
        Open::Wide => "open_wide",
        Open::Invalid => "open_invalid",
        Open::Disturbed => "open_disturbed",
    }
}

/// A number of a claim with its unit.
fn figure(value: f64, judgement: &Judgement) -> String {
    match &judgement.claim.statement {
        Statement::Value(_) => {}
        Statement::Linear { .. } => return format!("{} %", number::percent(value * 100.0)),
        _ => return number::ratio(value),
    }
    match judgement.claim.metric.unit() {
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
    let sign = |bound: &Bound| bound.relation.sign().replace(">=", "≥").replace("<=", "≤");
    let limit = |bound: &Bound| format!("{} {}", sign(bound), figure(bound.value, judgement));
    match &judgement.claim.statement {
        Statement::Ratio { bound, .. }
        | Statement::Value(bound)
        | Statement::Slope { bound, .. }
        | Statement::Variation { bound, .. } => limit(bound),
        Statement::Linear { share, .. } | Statement::Within { share, .. } => {
            words.fill("claim", "within", &[("percent", &number::round(share * 100.0).to_string())])
        }
        Statement::Order { levels, .. } => levels.join(" > "),
    }
}
