//! Compares two sides along a ladder of loads: first the whole ladder, then its rungs.
//!
//! A single rung says little: it has only as many pairs as there are repeats, and must be significant beside
//! a dozen others. The ladder says more. Its *main effects* are the geometric mean of the ratios over the
//! rungs from the knee on, the one over all rungs, and whether the ratio changes along the ladder. Their
//! errors come from the blocks' own means (and slopes), which include whatever the rungs of one block have in
//! common: the block is the unit. Only blocks that have all of the rungs count.
//!
//! The family of all ladders keeps the risk of any false call at 1 minus the level. Each ladder has an equal
//! share, and hands it on when all of the ladder is called. Within a ladder, half of the share (with two
//! blocks, a tenth) belongs to the mean from the knee on, which hands it on to the mean of all rungs, and
//! that to the rungs. The rest belongs to the rungs, among which it is Holm's (a graph as in
//! [`crate::graph`]). So once the means are called, rungs must pass no more than Holm's test; before, twice
//! as much. Ladders of one rung are Holm's alone.
//!
//! Whether the ratio changes is asked once anything of the ladder is called, at the ladder's full share. That
//! costs nothing. If the ratio does not change, it is either 1 at all rungs, and then calling anything was
//! already the one error that is counted, or 1 at none, and then there is no other error to make (logical
//! constraints in the sense of J. P. Shaffer, *Modified sequentially rejective multiple test procedures*,
//! Journal of the American Statistical Association 81, 1986).

use crate::{Difference, Estimate, Judged, Rule, Spread, graph::Graph, paired, ratio::judge_one};
use std::collections::BTreeMap;

/// The part of a ladder's share that its means have before anything is called, and what they have where two
/// blocks say next to nothing of how blocks differ.
const SHARE_OF_MEANS: f64 = 0.5;
const SHARE_OF_MEANS_OF_TWO: f64 = 0.1;
/// What the last rung that is called hands on to the means: there is nobody else.
const TO_MEANS: f64 = 1e-6;

/// Share of the highest throughput from which on the load counts as high.
const HIGH: f64 = 0.9;

/// The knee of a ladder: its first rung with nine tenths of the highest throughput. `throughput` is of each
/// rung the mean of the logarithms of *both* sides, which says nothing of how they differ (with equal
/// variances the sum and the difference of two normal variables are independent), so that choosing the rungs
/// by it does not favour any ratio. `None`: there is no throughput.
#[must_use]
pub fn knee(throughput: &[f64]) -> Option<usize> {
    let highest = throughput.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    throughput.iter().position(|log| *log >= highest + HIGH.ln())
}

/// One side by another along a ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// Of each rung, lowest first: logarithm of the ratio by block.
    pub rungs: Vec<BTreeMap<u32, f64>>,
    /// Where each rung stands: the base-2 logarithm of its number of connections, so that changes are for a
    /// doubling; `None`: rungs have an order at most.
    pub places: Option<Vec<f64>>,
    /// The first rung from which on the load is high. It must not be chosen by the ratios. `None`: there is
    /// no such rung.
    pub knee: Option<usize>,
}

/// A ladder, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedLadder {
    /// Each rung.
    pub rungs: Vec<Judged>,
    /// The geometric mean of all rungs; `None`: there is one rung only, or no block has all.
    pub whole: Option<Judged>,
    /// That of the rungs from the knee on, with its number; `None`: there is no knee, or it is the first rung
    /// or the last.
    pub beyond: Option<(usize, Judged)>,
    /// How the ratio changes along the ladder; `None`: no places, or too few blocks.
    pub change: Option<Change>,
}

/// How a ratio changes along a ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The ratio is multiplied by this for each unit of the places.
    pub factor: Estimate,
    /// Probability of as great a change if there were none, corrected for all that is asked.
    pub p_value: f64,
    /// Whether it is called a change.
    pub is_called: bool,
}

/// What is asked of a ladder.
#[derive(Debug, Clone)]
struct Asked {
    rungs: Vec<Difference>,
    whole: Option<Difference>,
    beyond: Option<Difference>,
    /// The logarithm of [`Change::factor`].
    slope: Option<Difference>,
    /// From the first place to the last.
    span: f64,
}

impl Asked {
    /// The means' part of the ladder's share; it depends on how many blocks there are, not on what they say.
    fn share_of_means(&self) -> f64 {
        match self.beyond.or(self.whole) {
            None => 0.0,
            Some(first) if first.count > 2 => SHARE_OF_MEANS,
            Some(_) => SHARE_OF_MEANS_OF_TWO,
        }
    }
}

/// The p-values of all that is asked of a ladder; 1 where it is not asked.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    rungs: Vec<f64>,
    whole: f64,
    beyond: f64,
    slope: f64,
}

/// Judges ladders that belong together: the more there are, the more is asked of each.
#[must_use]
pub fn judge_ladders(ladders: &[Ladder], rule: Rule) -> Vec<JudgedLadder> {
    let asked = ask(ladders);
    let answers = among(asked.iter().map(|one| within(one, p_values(one))).collect::<Vec<_>>(), &asked);
    let risk = 1.0 - rule.level;
    let share = risk / ladders.len().max(1) as f64;
    let judged = |((asked, answers), ladder): ((&Asked, &Answers), &Ladder)| {
        let of_means = share * asked.share_of_means();
        let judge = |one: &Difference, p_value: f64, share: f64| judge_one(one, p_value, 1.0 - share, rule);
        // the last mean hands on to the rungs
        let are_called = match (asked.whole, asked.beyond) {
            (Some(_), _) => answers.whole < risk,
            (None, Some(_)) => answers.beyond < risk,
            (None, None) => true,
        };
        let of_rungs = if are_called { share } else { share - of_means };
        let of_rung = of_rungs / asked.rungs.len().max(1) as f64;
        let rungs = asked.rungs.iter().zip(&answers.rungs);
        JudgedLadder {
            rungs: rungs.map(|(one, p_value)| judge(one, *p_value, of_rung)).collect(),
            whole: asked.whole.map(|one| judge(&one, answers.whole, of_means)),
            beyond: ladder.knee.zip(asked.beyond.map(|one| judge(&one, answers.beyond, of_means))),
            change: asked.slope.map(|one| change(&one, answers.slope, asked.span, rule)),
        }
    };
    asked.iter().zip(&answers).zip(ladders).map(judged).collect()
}

/// Means and slopes of all ladders, with spreads that are moderated by those of the same kind.
fn ask(ladders: &[Ladder]) -> Vec<Asked> {
    let rungs: Vec<Vec<f64>> =
        ladders.iter().flat_map(|one| &one.rungs).map(|rung| rung.values().copied().collect()).collect();
    let mut rungs = paired(&rungs).into_iter();
    let whole = contrasts(ladders, |one| (one.rungs.len() > 1).then(|| mean(one.rungs.len(), 0)));
    let beyond = contrasts(ladders, |one| {
        let knee = one.knee.filter(|&knee| knee > 0 && knee + 1 < one.rungs.len())?;
        Some(mean(one.rungs.len(), knee))
    });
    let slopes = contrasts(ladders, |one| slope(one.places.as_ref()?));
    let asked = |(((ladder, whole), beyond), slope): (((&Ladder, _), _), _)| Asked {
        rungs: rungs.by_ref().take(ladder.rungs.len()).collect(),
        whole,
        beyond,
        slope,
        span: ladder.places.as_ref().map_or(0.0, |places| span(places)),
    };
    ladders.iter().zip(whole).zip(beyond).zip(slopes).map(asked).collect()
}

/// Weights of the mean of the rungs from `first` on.
fn mean(rungs: usize, first: usize) -> Vec<f64> {
    let weight = 1.0 / (rungs - first) as f64;
    (0..rungs).map(|rung| if rung < first { 0.0 } else { weight }).collect()
}

/// Weights of the slope by least squares; `None` where there are not two places.
fn slope(places: &[f64]) -> Option<Vec<f64>> {
    let centre = places.iter().sum::<f64>() / places.len().max(1) as f64;
    let squares: f64 = places.iter().map(|place| (place - centre).powi(2)).sum();
    (squares > 0.0).then(|| places.iter().map(|place| (place - centre) / squares).collect())
}

fn span(places: &[f64]) -> f64 {
    let (low, high) = places
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| (low.min(*place), high.max(*place)));
    (high - low).max(0.0)
}

/// A weighted sum of rungs in each ladder, block by block. Each is scaled to as much variance as one rung has
/// while spreads are moderated, for ladders differ in length.
fn contrasts(ladders: &[Ladder], weights: impl Fn(&Ladder) -> Option<Vec<f64>>) -> Vec<Option<Difference>> {
    let scaled = |ladder: &Ladder| {
        let weights = weights(ladder)?;
        let scale = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        let blocks = ladder.rungs.first()?.keys();
        let of_block = |block: &u32| {
            let terms = ladder.rungs.iter().zip(&weights).filter(|(_, weight)| **weight != 0.0);
            terms.map(|(rung, weight)| Some(weight * rung.get(block)?)).sum::<Option<f64>>()
        };
        let sums: Vec<f64> = blocks.filter_map(of_block).map(|sum| sum / scale).collect();
        (!sums.is_empty()).then_some((scale, sums))
    };
    let scaled: Vec<Option<(f64, Vec<f64>)>> = ladders.iter().map(scaled).collect();
    let groups: Vec<Vec<f64>> = scaled.iter().flatten().map(|(_, sums)| sums.clone()).collect();
    let mut differences = paired(&groups).into_iter();
    let back = |one: &Option<(f64, Vec<f64>)>| {
        let (scale, _) = one.as_ref()?;
        let Difference { log, spread, count } = differences.next()?;
        let spread = spread.map(|spread| Spread { variance: spread.variance * scale * scale, ..spread });
        Some(Difference { log: log * scale, spread, count })
    };
    scaled.iter().map(back).collect()
}

fn p_value(one: &Difference) -> f64 {
    one.spread.map_or(1.0, |spread| spread.p_value(one.log, one.count))
}

fn p_values(asked: &Asked) -> Answers {
    let of = |one: &Option<Difference>| one.as_ref().map_or(1.0, p_value);
    Answers {
        rungs: asked.rungs.iter().map(p_value).collect(),
        whole: of(&asked.whole),
        beyond: of(&asked.beyond),
        slope: of(&asked.slope),
    }
}

/// Corrected for what is asked of the same ladder: the smallest risk of the ladder at which each is called.
fn within(asked: &Asked, bare: Answers) -> Answers {
    let count = bare.rungs.len();
    let means: Vec<(usize, f64)> = [(asked.beyond, bare.beyond), (asked.whole, bare.whole)]
        .into_iter()
        .filter(|(mean, _)| mean.is_some())
        .enumerate()
        .map(|(place, (_, p_value))| (count + place, p_value))
        .collect();
    let mut graph = Graph::new(count + means.len());
    let of_means = asked.share_of_means();
    for rung in 0..count {
        graph.share(rung, (1.0 - of_means) / count as f64);
        let to_means = if means.is_empty() { 0.0 } else { TO_MEANS };
        graph.hands_on(rung, (0..count).filter(|&other| other != rung).collect(), 1.0 - to_means);
        graph.hands_on(rung, means.iter().take(1).map(|(node, _)| *node).collect(), to_means);
    }
    if let Some((first, _)) = means.first() {
        graph.share(*first, of_means);
    }
    for (place, (node, _)) in means.iter().enumerate() {
        let next = means.get(place + 1).map_or_else(|| (0..count).collect(), |(next, _)| vec![*next]);
        graph.hands_on(*node, next, 1.0);
    }
    let mut p_values = bare.rungs;
    p_values.extend(means.iter().map(|(_, p_value)| *p_value));
    let mut adjusted = graph.adjusted(&p_values);
    let mut of_means = adjusted.split_off(count).into_iter();
    let beyond = asked.beyond.and_then(|_| of_means.next()).unwrap_or(1.0);
    let whole = asked.whole.and_then(|_| of_means.next()).unwrap_or(1.0);
    let any = adjusted.iter().copied().chain([beyond, whole]).fold(1.0, f64::min);
    Answers { slope: bare.slope.max(any), rungs: adjusted, whole, beyond }
}

/// Corrected for all ladders: each has an equal share, which goes to the others when all of it is called.
fn among(answers: Vec<Answers>, asked: &[Asked]) -> Vec<Answers> {
    let completed: Vec<f64> = answers.iter().zip(asked).map(|(own, asked)| own.all(asked)).collect();
    let corrected = |(number, own): (usize, &Answers)| {
        let mut others: Vec<f64> = completed.clone();
        others.swap_remove(number);
        others.sort_by(f64::total_cmp);
        own.map(|p_value| corrected(p_value, &others))
    };
    answers.iter().enumerate().map(corrected).collect()
}

/// One p-value of a ladder beside others, given at which risk of its own each of those is called as a whole,
/// ascending.
fn corrected(p_value: f64, others: &[f64]) -> f64 {
    let all = others.len() + 1;
    let mut before = 0.0_f64;
    let mut best = f64::INFINITY;
    for done in 0..all {
        best = best.min(before.max((all - done) as f64 * p_value));
        if let Some(next) = others.get(done) {
            before = before.max((all - done) as f64 * next);
        }
    }
    best.min(1.0)
}

impl Answers {
    fn map(&self, with: impl Fn(f64) -> f64) -> Self {
        Self {
            rungs: self.rungs.iter().map(|p_value| with(*p_value)).collect(),
            whole: with(self.whole),
            beyond: with(self.beyond),
            slope: with(self.slope),
        }
    }

    /// The risk at which everything that is asked is called.
    fn all(&self, asked: &Asked) -> f64 {
        let means = [(asked.whole, self.whole), (asked.beyond, self.beyond), (asked.slope, self.slope)];
        let means = means.into_iter().filter(|(is_asked, _)| is_asked.is_some()).map(|(_, p_value)| p_value);
        self.rungs.iter().copied().chain(means).fold(0.0, f64::max)
    }
}

fn change(slope: &Difference, p_value: f64, span: f64, rule: Rule) -> Change {
    let Some(spread) = slope.spread else {
        let factor = Estimate::bare(slope.log.exp(), rule.level, slope.count);
        return Change { factor, p_value: 1.0, is_called: false };
    };
    let factor = spread.interval_of_exp(slope.log, slope.count, rule.level);
    let matters = slope.log.abs() * span > rule.margin();
    let excludes = factor.interval().is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    Change { factor, p_value, is_called: matters && excludes && p_value < 1.0 - rule.level }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, holm, judge};

    const RULE: Rule = Rule { level: 0.95, power: 0.9, relevant: 0.03 };

    fn ladder(rungs: &[[f64; 3]], knee: Option<usize>) -> Ladder {
        Ladder {
            rungs: rungs.iter().map(|rung| (0..).zip(rung.iter().copied()).collect()).collect(),
            places: Some((0..rungs.len()).map(|rung| 3.0 + 2.0 * rung as f64).collect()),
            knee,
        }
    }

    /// Nine pairs: 1.35, 1.24 and 1.30 times at three rungs, nothing at the lowest, and a ladder without any
    /// difference beside it, as noisy.
    fn nine_pairs() -> [Ladder; 2] {
        let around = |ratio: f64, noise: [f64; 3]| noise.map(|noise| f64::ln(ratio) + noise);
        let noise = [[0.14, -0.18, 0.04], [0.21, -0.19, -0.02], [-0.16, 0.0, 0.16], [0.13, -0.05, -0.08]];
        let one = [1.0, 1.35, 1.24, 1.30].into_iter().zip(noise).map(|(ratio, noise)| around(ratio, noise));
        let other = noise.map(|[a, b, c]| [b, c, a]);
        [ladder(&one.collect::<Vec<_>>(), Some(1)), ladder(&other, Some(1))]
    }

    #[test]
    fn pairs_that_leave_no_doubt_together_are_called_together() {
        let ladders = nine_pairs();
        let alone: Vec<Vec<f64>> = ladders
            .iter()
            .flat_map(|one| one.rungs.iter().map(|rung| rung.values().copied().collect()))
            .collect();
        let by_holm = judge(&paired(&alone), RULE);
        assert!(by_holm.iter().all(|one| one.call == Call::Undecided), "{by_holm:?}");
        let [one, other] = &judge_ladders(&ladders, RULE)[..] else { panic!("two ladders") };
        let (_, beyond) = one.beyond.expect("three rungs from the knee on");
        assert_eq!(beyond.call, Call::Higher, "{beyond:?}");
        let (low, high) = beyond.ratio.interval().expect("three blocks");
        assert!((beyond.ratio.value - 1.296).abs() < 0.01 && low > 1.1 && high < 1.55, "{beyond:?}");
        for nothing in [other.beyond.map(|(_, one)| one), other.whole] {
            assert_eq!(nothing.map(|one| one.call), Some(Call::Undecided), "{other:?}");
        }
        assert!(other.rungs.iter().all(|one| one.call == Call::Undecided));
    }

    #[test]
    fn ladders_of_one_rung_are_holms() {
        let noise = [0.01, -0.012, 0.002];
        let ladders: Vec<Ladder> =
            [0.2, 0.0, 0.05, -0.03, 0.021].map(|log| ladder(&[noise.map(|noise| log + noise)], None)).into();
        let groups: Vec<Vec<f64>> =
            ladders.iter().map(|one| one.rungs[0].values().copied().collect()).collect();
        let expected = judge(&paired(&groups), RULE);
        for (ours, theirs) in judge_ladders(&ladders, RULE).iter().zip(&expected) {
            assert_eq!((ours.whole, ours.beyond, ours.change), (None, None, None));
            assert!((ours.rungs[0].p_value - theirs.p_value).abs() < 1e-12);
            assert_eq!(ours.rungs[0].call, theirs.call);
        }
    }

    #[test]
    fn the_risk_that_a_whole_ladder_leaves_goes_to_the_others() {
        assert!((corrected(0.02, &[0.01, 0.5]) - 0.04).abs() < 1e-12);
        assert!((corrected(0.02, &[0.001, 0.002]) - 0.02).abs() < 1e-12);
        assert!((corrected(0.02, &[]) - 0.02).abs() < 1e-12);
        let p_values = [0.01, 0.04, 0.03, 0.005, 0.5];
        for (number, theirs) in holm(&p_values).into_iter().enumerate() {
            let mut others = p_values.to_vec();
            others.remove(number);
            others.sort_by(f64::total_cmp);
            assert!((corrected(p_values[number], &others) - theirs).abs() < 1e-12);
        }
    }

    #[test]
    fn a_ratio_that_changes_along_the_ladder_is_said_to() {
        let noise = [0.004, -0.003, -0.001];
        let rising = |step: f64| {
            let rungs =
                [0.0, 1.0, 2.0, 3.0].map(|rung| noise.map(|noise| step * rung + noise * (rung - 1.2)));
            judge_ladders(&[ladder(&rungs, None)], RULE)[0].change.expect("three blocks")
        };
        let change = rising(0.1);
        assert!(change.is_called, "{change:?}");
        // a rung is four times the one before: two doublings
        assert!((change.factor.value - 0.05_f64.exp()).abs() < 0.002, "{change:?}");
        let constant = noise.map(|noise| 0.3 + noise);
        let judged = &judge_ladders(&[ladder(&[constant; 4], None)], RULE)[0];
        assert_eq!(judged.whole.map(|one| one.call), Some(Call::Higher));
        assert_eq!(judged.change.map(|one| one.is_called), Some(false));
    }

    #[test]
    fn means_come_from_blocks_that_have_all_rungs() {
        let mut whole = ladder(&[[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]], None);
        whole.rungs[1].remove(&1);
        let judged = &judge_ladders(&[whole.clone()], RULE)[0];
        let mean = judged.whole.expect("two blocks");
        assert!((mean.ratio.value.ln() - 0.25).abs() < 1e-12, "{mean:?}");
        assert_eq!(mean.ratio.observations, 2);
        whole.rungs[1] = [(7, 0.2)].into();
        assert_eq!(judge_ladders(&[whole], RULE)[0].whole, None);
    }
}
