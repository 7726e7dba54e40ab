//! Claims about the shape of a curve along a factor: how it grows, whether it is a straight line, how smooth
//! it is. Each is one number per block, because each block has the whole curve; its interval comes from how
//! the blocks differ.

use super::{Known, Number, is_selected, side, telling};
use crate::plan::{Beside, Bound, Levels, number_of};
use stats::{Difference, Estimate};
use std::collections::BTreeMap;

/// For each unit, points with the logarithms of their values.
type Blocks = BTreeMap<u32, Vec<(usize, f64)>>;

/// A set of points that differ only in some factors.
struct Curve {
    levels: BTreeMap<String, String>,
    points: Vec<usize>,
    blocks: Blocks,
}

/// What is fitted to a curve along a factor whose levels are numbers, or have numbers assigned: places with
/// logarithms of values.
pub(super) fn fits(
    of: &Levels,
    known: &Known<'_>,
    (along, numbers): (&str, &BTreeMap<String, f64>),
    fit: fn(&[(f64, f64)]) -> Option<f64>,
    bounds: &[Bound],
) -> Vec<Number> {
    let place = |point: usize| number_of(known.points[point].levels.get(along)?, numbers);
    let of_block = |block: &[(usize, f64)]| {
        let placed = block.iter().filter_map(|&(point, log)| Some((place(point)?, log)));
        fit(&placed.collect::<Vec<_>>())
    };
    of_curves(known, curves(known, of, &[along]), of_block, bounds)
}

/// Growth: a least-squares fit on the logarithms of both.
pub(super) fn slope(curve: &[(f64, f64)]) -> Option<f64> {
    let positive = curve.iter().filter(|(at, _)| *at > 0.0).map(|&(at, log)| (at.ln(), log));
    stats::slope(&positive.collect::<Vec<_>>())
}

/// How far the curve is from a straight line.
pub(super) fn bend(curve: &[(f64, f64)]) -> Option<f64> {
    stats::bend(&curve.iter().map(|&(at, log)| (at, log.exp())).collect::<Vec<_>>())
}

/// How much a curve varies, by itself or relative to another one.
pub(super) fn variations(
    of: &Levels,
    known: &Known<'_>,
    along: &str,
    by: Option<&Beside>,
    bounds: &[Bound],
) -> Vec<Number> {
    match by {
        None => of_curves(known, curves(known, of, &[along]), variation, bounds),
        Some(Beside::Over(over)) => beside(of, known, along, over, bounds),
        Some(Beside::Than(than)) => {
            let both = curves(known, of, &[along, than]);
            let ratio = |block: &[(usize, f64)]| {
                let (one, other) = (mean(known, block, than)?, mean(known, block, along)?);
                Some((one / other).ln()).filter(|log| log.is_finite())
            };
            let with_logs = |curve: Curve| {
                let logs = by_block(&curve, ratio);
                (curve, (along.to_owned(), than.clone()), logs)
            };
            ratios(known, both.into_iter().map(with_logs).collect(), bounds)
        }
    }
}

/// The curve of some levels divided by that of others.
fn beside(of: &Levels, known: &Known<'_>, along: &str, over: &Levels, bounds: &[Bound]) -> Vec<Number> {
    let mut of_other = of.clone();
    of_other.extend(over.clone());
    let without = |curve: &Curve| {
        let mut levels = curve.levels.clone();
        levels.retain(|factor, _| !over.contains_key(factor));
        levels
    };
    let others = curves(known, &of_other, &[along]);
    let ones = curves(known, of, &[along]).into_iter();
    let pairs = ones.filter_map(|one| {
        let other = others.iter().find(|other| without(&one) == without(other))?;
        (one.points != other.points).then_some((one, other))
    });
    let logs = |one: &Curve, other: &Curve| -> Vec<f64> {
        let shared = one.blocks.iter().filter_map(|(unit, block)| Some((block, other.blocks.get(unit)?)));
        let logs = shared.filter_map(|(one, other)| Some((variation(one)? / variation(other)?).ln()));
        logs.filter(|log| log.is_finite()).collect()
    };
    let with_logs = |(mut one, other): (Curve, &Curve)| {
        let logs = logs(&one, other);
        let [name, of_other] = [&one, other].map(|curve| side(known.points[curve.points[0]], over));
        one.levels = without(&one);
        one.points.extend(&other.points);
        (one, (name, of_other), logs)
    };
    ratios(known, pairs.map(with_logs).collect(), bounds)
}

/// The points that a claim is about, as curves: the points of one curve differ only in these factors.
fn curves(known: &Known<'_>, of: &Levels, along: &[&str]) -> Vec<Curve> {
    let along: Vec<String> = along.iter().map(|&factor| factor.to_owned()).collect();
    let mut curves: Vec<Curve> = Vec::new();
    for each in (0..known.points.len()).filter(|&each| is_selected(known.points[each], of)) {
        let levels = telling(known.points[each], known.plan, &along);
        match curves.iter_mut().find(|other| other.levels == levels) {
            Some(curve) => curve.points.push(each),
            None => curves.push(Curve { levels, points: vec![each], blocks: Blocks::new() }),
        }
    }
    for curve in &mut curves {
        for &each in &curve.points {
            let Some((_, logs)) = known.read(each) else { continue };
            for (unit, log) in logs {
                curve.blocks.entry(unit).or_default().push((each, log));
            }
        }
        // a block that lacks a part of the curve has a different curve
        let most = curve.blocks.values().map(Vec::len).max().unwrap_or(0);
        curve.blocks.retain(|_, block| block.len() == most);
    }
    curves
}

fn by_block(curve: &Curve, of_block: impl Fn(&[(usize, f64)]) -> Option<f64>) -> Vec<f64> {
    curve.blocks.values().filter_map(|block| of_block(block)).collect()
}

/// One number for each curve.
fn of_curves(
    known: &Known<'_>,
    curves: Vec<Curve>,
    of_block: impl Fn(&[(usize, f64)]) -> Option<f64>,
    bounds: &[Bound],
) -> Vec<Number> {
    let numbers: Vec<Vec<f64>> = curves.iter().map(|curve| by_block(curve, &of_block)).collect();
    curves
        .into_iter()
        .zip(numbers.iter().zip(stats::moderate(&numbers)))
        .filter(|(_, (numbers, _))| !numbers.is_empty())
        .map(|(curve, (numbers, spread))| {
            let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let centre = numbers.iter().sum::<f64>() / f64::from(count);
            let interval = move |level: f64| Estimate::around(centre, spread, count, level);
            let rest = known.rest(&curve.points);
            let (levels, interval) = (curve.levels, Box::new(interval));
            Number { levels, sides: None, interval, bounds: bounds.to_vec(), rest }
        })
        .collect()
}

/// The ratio of each pair of curves, from its logarithm in each block: the points of both, the names of the
/// two, and these logarithms.
fn ratios(
    known: &Known<'_>,
    pairs: Vec<(Curve, (String, String), Vec<f64>)>,
    bounds: &[Bound],
) -> Vec<Number> {
    let logs: Vec<Vec<f64>> = pairs.iter().map(|(.., logs)| logs.clone()).collect();
    let all = pairs.into_iter().zip(stats::paired(&logs)).filter(|((.., logs), _)| !logs.is_empty());
    let number = |((curve, sides, _), difference): ((Curve, _, _), Difference)| Number {
        levels: curve.levels,
        sides: Some(sides),
        interval: super::interval_of(difference),
        bounds: bounds.to_vec(),
        rest: known.rest(&curve.points),
    };
    all.map(number).collect()
}

fn variation(block: &[(usize, f64)]) -> Option<f64> {
    stats::variation(&block.iter().map(|(_, log)| log.exp()).collect::<Vec<_>>())
}

/// The mean coefficient of variation of the curves into which the levels of a factor split a block.
fn mean(known: &Known<'_>, block: &[(usize, f64)], by: &str) -> Option<f64> {
    let mut parts: BTreeMap<&String, Vec<(usize, f64)>> = BTreeMap::new();
    for &(point, log) in block {
        parts.entry(known.points[point].levels.get(by)?).or_default().push((point, log));
    }
    let each: Vec<f64> = parts.values().filter_map(|part| variation(part)).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}
