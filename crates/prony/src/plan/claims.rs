//! The claims of a plan in words: what exactly will be asked of the figures, beside how the study says it.

use super::{Bound, Claim, Levels, Plan, Relation, Statement, Unit, load::listed};

/// Whether a claim is about anything that this plan measures: its levels may be those of another scale.
#[must_use]
pub fn is_measured(plan: &Plan, claim: &Claim) -> bool {
    let over = match &claim.statement {
        Statement::Ratio { over, .. } | Statement::Within { over, .. } => Some(over),
        _ => None,
    };
    let is_there = |(factor, wanted): (&String, &Vec<String>)| {
        let known = plan.factors.iter().find(|known| known.name == *factor);
        known.is_none_or(|known| wanted.iter().any(|level| known.levels.contains(level)))
    };
    claim.of.iter().chain(over.into_iter().flatten()).all(is_there)
}

/// What is asked: `throughput where server is pool and connections is 128, divided by that where server is
/// threads: at least 1`.
pub(super) fn asked(plan: &Plan, claim: &Claim) -> String {
    if !is_measured(plan, claim) {
        return "not asked at this scale, which has no such combination".to_owned();
    }
    let metric = match claim.metric.as_str() {
        "active" => "the time that it takes",
        "mean" => "the mean of response time",
        "errors" => "the share of errors",
        "rate" => "the highest rate",
        "cpu" => "processor time of the servers for a transaction",
        "client_cpu" => "processor time of the client for a transaction",
        "lag" => "the mean lag",
        "lag_p99" => "the p99 of the lag",
        "lost" => "the share of acknowledged commits that a crash loses",
        other => other,
    };
    let metric = metric.replace('_', " ");
    let of = place(plan, &claim.of);
    match &claim.statement {
        Statement::Ratio { over, bound } => {
            format!(
                "{metric}{of}, divided by that{}: {}",
                place(plan, over),
                limit(bound, &figure(Unit::One, bound.value))
            )
        }
        Statement::Within { over, share } => {
            format!(
                "{metric}{of} and that{} differ by no more than {} %",
                place(plan, over),
                rounded(share * 100.0)
            )
        }
        Statement::Value(bound) => {
            format!("{metric}{of}: {}", limit(bound, &figure(claim.unit(), bound.value)))
        }
        Statement::Order { by, levels } => {
            format!("by {metric}{of} the best {by} is {}", levels.join(", then "))
        }
        Statement::Slope { along, bound } => format!(
            "{metric}{of} grows along {along} with an exponent of {} (1: in proportion)",
            limit(bound, &figure(Unit::One, bound.value))
        ),
    }
}

/// ` where server is pool and connections is 4 or 8`; empty where every level is meant.
fn place(plan: &Plan, levels: &Levels) -> String {
    let said = levels.iter().filter_map(|(factor, wanted)| {
        let known = plan.factors.iter().find(|known| known.name == *factor);
        let is_all = known.is_some_and(|known| known.levels.iter().all(|level| wanted.contains(level)));
        let here = |level: &&String| known.is_none_or(|known| known.levels.contains(level));
        let wanted: Vec<String> = wanted.iter().filter(here).cloned().collect();
        (!is_all).then(|| format!("{factor} is {}", listed(wanted)))
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!(" where {}", said.join(" and ")) }
}

fn limit(bound: &Bound, figure: &str) -> String {
    let words = match bound.relation {
        Relation::Above => "above",
        Relation::AtLeast => "at least",
        Relation::Below => "below",
        Relation::AtMost => "at most",
    };
    format!("{words} {figure}")
}

/// A number in the unit of its metric.
fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::One => rounded(value),
        Unit::PerSecond => format!("{} a second", rounded(value)),
        Unit::Share => format!("{} %", rounded(value * 100.0)),
        Unit::Kilobytes => format!("{} kB", rounded(value)),
        Unit::Seconds => format!("{} s", rounded(value)),
        Unit::Milliseconds => format!("{} ms", rounded(value)),
    }
}

/// Without the digits that binary fractions leave behind.
fn rounded(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}
