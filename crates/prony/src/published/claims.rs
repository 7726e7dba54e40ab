//! Whether a claim holds on published figures. They have no intervals: a limit is held or it is not.

use super::{Figure, Published};
use crate::plan::{Bound, Claim, Levels, Statement, number_of};
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
    let bounds = claim.statement.bounds(claim.metric);
    match &claim.statement {
        Statement::Value(_) => {
            let held = |figure: &&Figure| held(figure, figure.value, &bounds);
            figures.iter().filter(|figure| is_selected(figure, &claim.of)).map(held).collect()
        }
        Statement::Ratio { over, .. } | Statement::Within { over, .. } => {
            ratios(&figures, &claim.of, over, &bounds)
        }
        Statement::Order { by, levels } => {
            let pair = |pair: &[String]| {
                let mut of = claim.of.clone();
                of.insert(by.clone(), vec![pair[0].clone()]);
                let over = Levels::from([(by.clone(), vec![pair[1].clone()])]);
                ratios(&figures, &of, &over, &bounds)
            };
            levels.windows(2).flat_map(pair).collect()
        }
        Statement::Slope { along, numbers, .. } => {
            let slope = |curve: &Curve<'_>| {
                let number = stats::slope(&curve.places(along, numbers, f64::ln))?;
                Some(curve.held(number, &bounds))
            };
            curves(&figures, &claim.of, along).iter().filter_map(slope).collect()
        }
        Statement::Linear { along, numbers, .. } => {
            let bend = |curve: &Curve<'_>| {
                let number = stats::bend(&curve.places(along, numbers, |value| value))?;
                Some(curve.held(number, &bounds))
            };
            curves(&figures, &claim.of, along).iter().filter_map(bend).collect()
        }
        // no document has figures of a curve that one claims to be smooth
        Statement::Variation { .. } => Vec::new(),
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
    // what the evaluation does not tell apart cannot be compared with itself
    let known = |figure: &Figure| over.keys().all(|factor| figure.levels.contains_key(factor));
    figures.iter().filter(|figure| is_selected(figure, of) && known(figure)).flat_map(of_one).collect()
}

/// Figures that differ in a factor alone.
struct Curve<'a> {
    levels: BTreeMap<String, String>,
    figures: Vec<&'a Figure>,
}

impl Curve<'_> {
    /// Where each stands along the factor, and its value; both as `scale` gives them.
    fn places(
        &self,
        along: &str,
        numbers: &BTreeMap<String, f64>,
        scale: impl Fn(f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let point = |figure: &&Figure| {
            let at = number_of(figure.levels.get(along)?, numbers)?;
            let point = (scale(at), scale(figure.value));
            (point.0.is_finite() && point.1.is_finite()).then_some(point)
        };
        self.figures.iter().filter_map(point).collect()
    }

    fn held(&self, number: f64, bounds: &[Bound]) -> Held {
        let holds = bounds.iter().all(|bound| bound.holds(number));
        Held { levels: self.levels.clone(), number, holds }
    }
}

fn curves<'a>(figures: &[&'a Figure], of: &Levels, along: &str) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for &figure in figures.iter().filter(|figure| is_selected(figure, of)) {
        let mut levels = figure.levels.clone();
        levels.remove(along);
        match curves.iter_mut().find(|curve| curve.levels == levels) {
            Some(curve) => curve.figures.push(figure),
            None => curves.push(Curve { levels, figures: vec![figure] }),
        }
    }
    curves
}
