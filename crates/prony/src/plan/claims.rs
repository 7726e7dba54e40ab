//! The claims of a plan in words: exactly what the figures will be asked, beside the study's own wording.

use super::{Beside, Bound, Claim, CrashKind, Levels, Metric, Plan, Relation, Statement, Unit, load::listed};

/// Whether a claim is about anything that this plan measures: its levels may be those of another scale.
#[must_use]
pub fn is_measured(plan: &Plan, claim: &Claim) -> bool {
    let over = match &claim.statement {
        Statement::Ratio { over, .. }
        | Statement::Within { over, .. }
        | Statement::Variation { by: Some(Beside::Over(over)), .. } => Some(over),
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
        return "not tested at this scale, which has no such combination".to_owned();
    }
    let metric = match claim.metric {
        Metric::Active => "the time taken".to_owned(),
        Metric::Mean => "the mean response time".to_owned(),
        Metric::Errors => "the share of errors".to_owned(),
        Metric::Rate => "the highest rate".to_owned(),
        Metric::ServerCpu => "the servers' processor time per transaction".to_owned(),
        Metric::ClientCpu => "the client's processor time per transaction".to_owned(),
        Metric::Lag => "the mean lag".to_owned(),
        Metric::LagP99 => "the p99 of the lag".to_owned(),
        Metric::Lost(CrashKind::Kill) => "the share of acknowledged commits lost in a crash".to_owned(),
        Metric::Lost(CrashKind::Network) => {
            "the share of acknowledged commits lost when the network is cut".to_owned()
        }
        Metric::Lost(CrashKind::Power) => "the share of acknowledged commits lost in a power loss".to_owned(),
        other => other.to_string().replace('_', " "),
    };
    let of = place(plan, &claim.of);
    match &claim.statement {
        Statement::Ratio { over, bound } => {
            format!(
                "{metric}{of}, divided by the same{}: {}",
                place(plan, over),
                limit(bound, &figure(Unit::One, bound.value))
            )
        }
        Statement::Within { over, share } => {
            format!(
                "{metric}{of} and the same{} differ by no more than {} %",
                place(plan, over),
                rounded(share * 100.0)
            )
        }
        Statement::Value(bound) => {
            format!("{metric}{of}: {}", limit(bound, &figure(claim.metric.unit(), bound.value)))
        }
        Statement::Order { by, levels } => {
            format!("ranked by {metric}{of}, the best {by} is {}", levels.join(", then "))
        }
        Statement::Slope { along, bound, .. } => format!(
            "{metric}{of} grows along {along} with an exponent of {} (1: in proportion)",
            limit(bound, &figure(Unit::One, bound.value))
        ),
        Statement::Linear { along, share, .. } => format!(
            "{metric}{of} lies on a straight line along {along}, at no level further from it than {} % of \
             the highest value",
            rounded(share * 100.0)
        ),
        Statement::Variation { along, by, bound } => {
            let by = match by {
                None => String::new(),
                Some(Beside::Over(over)) => format!(", divided by that{}", place(plan, over)),
                Some(Beside::Than(than)) => format!(", divided by that along {than}"),
            };
            let bound = limit(bound, &figure(Unit::One, bound.value));
            format!("the coefficient of variation of {metric}{of} along {along}{by}: {bound}")
        }
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
        Unit::PerSecond => format!("{} per second", rounded(value)),
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
