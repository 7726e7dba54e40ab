//! Whether a claim holds on published figures. They have no intervals: a limit is held or it is not.

use super::{Figure, Published};
use crate::plan::{Bound, Claim, Levels, Relation, Statement};
use std::collections::BTreeMap;

/// What the published figures say of one thing that a claim is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The levels of what it is about.
    pub levels: BTreeMap<String, String>,
    /// The number: a value, a ratio, a slope.
    pub number: f64,
    /// Whether it keeps the claim's limits.
    pub holds: bool,
}

/// What the figures say of a claim; empty: they are about something else.
#[must_use]
pub fn judge(claim: &Claim, published: &Published) -> Vec<Held> {
    let figures: Vec<&Figure> =
        published.figures.iter().filter(|figure| figure.metric == claim.metric).collect();
    match &claim.statement {
        Statement::Value(bound) => {
            let held = |figure: &&Figure| held(figure, figure.value, &[*bound]);
            figures.iter().filter(|figure| is_selected(figure, &claim.of)).map(held).collect()
        }
        Statement::Ratio { over, bound } => ratios(&figures, &claim.of, over, &[*bound]),
        Statement::Within { over, share } => {
            let least = Bound { relation: Relation::AtLeast, value: 1.0 / (1.0 + share) };
            let most = Bound { relation: Relation::AtMost, value: 1.0 + share };
            ratios(&figures, &claim.of, over, &[least, most])
        }
        Statement::Order { by, levels } => {
            let more_is_better = matches!(claim.metric.as_str(), "throughput" | "statements" | "rate");
            let relation = if more_is_better { Relation::Above } else { Relation::Below };
            let pair = |pair: &[String]| {
                let mut of = claim.of.clone();
                of.insert(by.clone(), vec![pair[0].clone()]);
                let over = Levels::from([(by.clone(), vec![pair[1].clone()])]);
                ratios(&figures, &of, &over, &[Bound { relation, value: 1.0 }])
            };
            levels.windows(2).flat_map(pair).collect()
        }
        Statement::Slope { along, bound } => slopes(&figures, &claim.of, along, *bound),
    }
}

fn held(figure: &Figure, number: f64, bounds: &[Bound]) -> Held {
    let holds = bounds.iter().all(|bound| bound.holds(number));
    Held { levels: figure.levels.clone(), number, holds }
}

/// Whether a figure has the levels; what the evaluation does not tell apart is any.
fn is_selected(figure: &Figure, of: &Levels) -> bool {
    of.iter().all(|(factor, wanted)| figure.levels.get(factor).is_none_or(|level| wanted.contains(level)))
}

fn ratios(figures: &[&Figure], of: &Levels, over: &Levels, bounds: &[Bound]) -> Vec<Held> {
    let is_other = |one: &Figure, other: &Figure| {
        let same = |(factor, level): (&String, &String)| {
            over.contains_key(factor) || other.levels.get(factor) == Some(level)
        };
        is_selected(other, over) && one.levels != other.levels && one.levels.iter().all(same)
    };
    let of_one = |one: &&Figure| {
        let others = figures.iter().filter(|other| is_other(one, other));
        others.map(|other| held(one, one.value / other.value, bounds)).collect::<Vec<_>>()
    };
    // what the evaluation does not tell apart cannot be held against itself
    let known = |figure: &Figure| over.keys().all(|factor| figure.levels.contains_key(factor));
    figures.iter().filter(|figure| is_selected(figure, of) && known(figure)).flat_map(of_one).collect()
}

/// One slope for each set of figures that differ in the factor alone.
fn slopes(figures: &[&Figure], of: &Levels, along: &str, bound: Bound) -> Vec<Held> {
    let mut lines = BTreeMap::<BTreeMap<String, String>, Vec<(f64, f64)>>::new();
    for figure in figures.iter().filter(|figure| is_selected(figure, of)) {
        let mut levels = figure.levels.clone();
        let at = levels.remove(along).and_then(|level| level.parse::<f64>().ok());
        if let Some(at) = at.filter(|at| *at > 0.0) {
            lines.entry(levels).or_default().push((at.ln(), figure.value.ln()));
        }
    }
    let slope = |(levels, points): (BTreeMap<String, String>, Vec<(f64, f64)>)| {
        let number = stats::slope(&points)?;
        Some(Held { levels, number, holds: bound.holds(number) })
    };
    lines.into_iter().filter_map(slope).collect()
}
