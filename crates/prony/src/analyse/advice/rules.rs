//! The rules one by one: which pairs of lines each compares, and what it advises for each outcome.

use super::{Advice, Answer, Known, Line, Lost, Pair, Rule, Verdict};
use crate::{analyse::Crashes, plan::Treatment};
use load::spec::Destination;
use stats::Judged;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// All pairs that rules ask about.
pub(super) fn asked(known: &Known<'_>) -> BTreeSet<Pair> {
    let best = contests(known).into_iter().flat_map(|contest| {
        [contest.over_all, contest.at_the_top].into_iter().flat_map(move |best| {
            contest.lines.clone().into_iter().filter(move |&line| line != best).map(move |line| (best, line))
        })
    });
    let pairs = [pools(known), upgrades(known), networks(known), safeties(known)];
    best.chain(pairs.into_iter().flatten()).collect()
}

/// What follows from the answers.
pub(super) fn advice(known: &Known<'_>, answers: &BTreeMap<Pair, Answer>) -> Vec<Advice> {
    let answered = |pairs: Vec<Pair>| -> Vec<(Pair, &Answer)> {
        pairs.into_iter().filter_map(|pair| Some((pair, answers.get(&pair)?))).collect()
    };
    let mut all: Vec<Advice> =
        contests(known).iter().flat_map(|contest| choose(known, contest, answers)).collect();
    for (pair, answer) in answered(pools(known)) {
        let advice = pool(known, pair, answer);
        // the choice among more servers may have named this pair with these figures already
        let is_told = |advice: &Advice| all.iter().any(|told| says_the_same(told, advice));
        let advice: Vec<Advice> = advice.into_iter().filter(|advice| !is_told(advice)).collect();
        all.extend(advice);
    }
    for (pair, answer) in answered(upgrades(known)) {
        let also = known.traits.differences(known.lines[pair.0].server, known.lines[pair.1].server);
        let rule = Rule::Upgrade { also: also.into_iter().collect() };
        all.extend(together(known, rule, pair, answer));
    }
    for (pair, answer) in answered(networks(known)) {
        let latency_ms = latency(known, &known.lines[pair.0]).as_secs_f64() * 1e3;
        let advice = together(known, Rule::Local { latency_ms }, pair, answer);
        all.extend(advice.filter(|advice| advice.verdict == Verdict::Worse));
    }
    for (pair, answer) in answered(safeties(known)) {
        all.extend(together(known, Rule::Safety { lost: lost(known, pair) }, pair, answer));
    }
    all
}

/// A pair about which something can be said.
fn told(known: &Known<'_>, rule: Rule, pair: Pair, judged: &Judged, stretch: (f64, f64)) -> Option<Advice> {
    let (one, other) = (&known.lines[pair.0], &known.lines[pair.1]);
    let verdict = Verdict::of(judged.call, one.metric);
    (verdict != Verdict::Undecided).then(|| Advice {
        rule,
        levels: one.levels.clone(),
        one: one.side.clone(),
        other: other.side.clone(),
        metric: one.metric,
        stretch,
        together: true,
        ratio: judged.ratio,
        at: None,
        verdict,
    })
}

/// Whether both say the same about the same servers under the same load, whatever rule says it.
fn says_the_same(one: &Advice, other: &Advice) -> bool {
    (&one.levels, &one.one, &one.other, one.metric, one.stretch, one.verdict)
        == (&other.levels, &other.one, &other.other, other.metric, other.stretch, other.verdict)
}

/// What follows from all places together.
fn together(known: &Known<'_>, rule: Rule, pair: Pair, answer: &Answer) -> Option<Advice> {
    told(known, rule, pair, answer.whole()?, answer.stretch()?)
}

/// Servers of one load, and which of them seems to be the best.
struct Contest {
    lines: Vec<usize>,
    /// The best by the mean over all places that all of them have.
    over_all: usize,
    /// The best at the highest of these places.
    at_the_top: usize,
}

/// Servers that keep commits equally safe within the same limits, load by load: otherwise the winner would be
/// no surprise, and no basis for advice.
fn contests(known: &Known<'_>) -> Vec<Contest> {
    if !known.axis.compared.is_empty() {
        return Vec::new();
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for line in 0..known.lines.len() {
        match groups.iter_mut().find(|group| known.is_beside(group[0], line)) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    let told: Vec<Pair> = pools(known).into_iter().chain(upgrades(known)).collect();
    // about two servers that differ only in pool or version, those rules say more
    groups.retain(|lines| {
        !matches!(lines[..], [one, other] if told.contains(&(one, other)) || told.contains(&(other, one)))
    });
    groups.into_iter().filter_map(|lines| contest(known, lines)).collect()
}

fn contest(known: &Known<'_>, lines: Vec<usize>) -> Option<Contest> {
    let first = *lines.first().filter(|_| lines.len() > 1)?;
    let server = |line: usize| known.lines[line].server;
    let is_alike = |&line: &usize| {
        known.traits.is_as_safe(server(first), server(line))
            && known.traits.has_same_limits(server(first), server(line))
    };
    if !lines.iter().all(is_alike) {
        return None;
    }
    let metric = known.lines[first].metric;
    let at = |line: usize, place: f64| {
        let rung = known.lines[line].rungs.iter().find(|rung| rung.0.total_cmp(&place).is_eq())?;
        Some(known.measurement.read(rung.1, metric)?.0)
    };
    let places = known.lines[first].rungs.iter().map(|rung| rung.0);
    let places: Vec<f64> =
        places.filter(|&place| lines.iter().all(|&line| at(line, place).is_some())).collect();
    let best = |places: &[f64]| {
        let mean = |line: usize| places.iter().filter_map(|&place| at(line, place)).sum::<f64>();
        let goodness = |line: usize| if metric.more_is_better() { mean(line) } else { -mean(line) };
        lines.iter().copied().max_by(|&a, &b| goodness(a).total_cmp(&goodness(b)))
    };
    let at_the_top = best(&places[places.len().checked_sub(1)?..])?;
    Some(Contest { over_all: best(&places)?, at_the_top, lines })
}

/// What was judged, and the first and the last place that it covers.
type Said<'a> = (&'a Judged, (f64, f64));

/// The server that is better than every other one over all places, or else at the highest place.
fn choose(known: &Known<'_>, contest: &Contest, answers: &BTreeMap<Pair, Answer>) -> Vec<Advice> {
    let servers = contest.lines.len() - 1;
    let against_all = |best: usize, judged: fn(&Answer) -> Option<Said<'_>>| {
        let others = contest.lines.iter().filter(|&&line| line != best);
        let each = others.map(|&line| {
            let (judged, stretch) = judged(answers.get(&(best, line))?)?;
            told(known, Rule::Choose { servers }, (best, line), judged, stretch)
                .filter(|advice| advice.verdict == Verdict::Better)
        });
        let each: Option<Vec<Advice>> = each.collect();
        // the next best says the least
        let size = |advice: &Advice| advice.ratio.value.ln().abs();
        each?.into_iter().min_by(|a, b| size(a).total_cmp(&size(b)))
    };
    let over_all = against_all(contest.over_all, |answer| Some((answer.whole()?, answer.stretch()?)));
    let is_told = over_all.is_some() && contest.over_all == contest.at_the_top;
    let at_the_top = || {
        against_all(contest.at_the_top, |answer| {
            let top = *answer.places.last()?;
            Some((answer.judged.rungs.last()?, (top, top)))
        })
    };
    let at_the_top = if is_told { None } else { at_the_top() };
    over_all.into_iter().chain(at_the_top).collect()
}

/// Pairs of all lines of one load, in both orders, that satisfy `is_asked`.
fn pairs(known: &Known<'_>, is_asked: impl Fn(&Line, &Line) -> bool) -> Vec<Pair> {
    let all = 0..known.lines.len();
    let both = all.clone().flat_map(|one| all.clone().map(move |other| (one, other)));
    both.filter(|&(one, other)| one != other && known.is_beside(one, other))
        .filter(|&(one, other)| is_asked(&known.lines[one], &known.lines[other]))
        .collect()
}

/// Pairs with and without the pool.
fn pools(known: &Known<'_>) -> Vec<Pair> {
    pairs(known, |one, other| known.traits.differ_in_pool(one.server, other.server))
}

/// From which place on the pool is better, up to which it is worse, or whether it makes no difference.
fn pool(known: &Known<'_>, pair: Pair, answer: &Answer) -> Vec<Advice> {
    let metric = known.lines[pair.0].metric;
    let verdicts: Vec<Verdict> =
        answer.judged.rungs.iter().map(|rung| Verdict::of(rung.call, metric)).collect();
    let whole = || together(known, Rule::Pool, pair, answer);
    let on = verdicts.iter().rev().take_while(|verdict| **verdict == Verdict::Better).count();
    let off = verdicts.iter().take_while(|verdict| **verdict == Verdict::Worse).count();
    let last = verdicts.len();
    let stretches = [(0, off), (last - on, last)];
    // a single stretch over the whole ladder says more as one mean
    if stretches.iter().all(|(from, until)| from == until || until - from == last) {
        return whole().into_iter().collect();
    }
    let stretches = stretches.into_iter().filter(|(from, until)| from < until);
    stretches.filter_map(|(from, until)| stretch(known, pair, answer, from, until)).collect()
}

/// Advice for several places that all say the same, with the place that says it most clearly.
fn stretch(known: &Known<'_>, pair: Pair, answer: &Answer, from: usize, until: usize) -> Option<Advice> {
    let size = |rung: &usize| answer.judged.rungs[*rung].ratio.value.ln().abs();
    let loudest = (from..until).max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let stretch = (answer.places[from], answer.places[until - 1]);
    let told = told(known, Rule::Pool, pair, &answer.judged.rungs[loudest], stretch)?;
    Some(Advice { together: false, at: Some(answer.places[loudest]), ..told })
}

/// Successive versions of one product, the newer one first. Among several servers of a version, the one that
/// differs least.
fn upgrades(known: &Known<'_>) -> Vec<Pair> {
    let traits = known.traits;
    let is_newer = |one: &Line, other: &Line| {
        traits.is_same_product(one.server, other.server)
            && traits.version(one.server) > traits.version(other.server)
            && traits.has_same_pool(one.server, other.server)
            && traits.is_as_safe(one.server, other.server)
            && traits.has_same_limits(one.server, other.server)
    };
    let version = |line: usize| traits.version(known.lines[line].server);
    let all = pairs(known, is_newer);
    let mut found: Vec<Pair> = Vec::new();
    for &pair in &all {
        let between = |line: usize| version(line) < version(pair.0) && version(line) > version(pair.1);
        let is_next = !all.iter().any(|&(one, other)| one == pair.0 && between(other));
        let alike = |&(one, other): &Pair| {
            known.is_beside(one, pair.0)
                && version(one) == version(pair.0)
                && version(other) == version(pair.1)
        };
        let count =
            |(one, other): Pair| traits.differences(known.lines[one].server, known.lines[other].server).len();
        match found.iter_mut().find(|other| alike(other)) {
            _ if !is_next => {}
            Some(other) if count(pair) < count(*other) => *other = pair,
            Some(_) => {}
            None => found.push(pair),
        }
    }
    found
}

/// The network that a line's first point goes through; zero: none.
fn latency(known: &Known<'_>, line: &Line) -> Duration {
    let plan = &known.record.plan;
    let treatment = &plan.treatments[line.treatment];
    let is_local =
        treatment.streams.iter().any(|one| one.name == line.stream && one.to == Destination::Local);
    let stated = plan.servers[line.server].latency.or(treatment.client.latency);
    stated.filter(|_| !is_local).unwrap_or_default()
}

/// Two ways to the same server, with and without a network.
fn networks(known: &Known<'_>) -> Vec<Pair> {
    let alike = |treatment: &Treatment| {
        let mut treatment = treatment.clone();
        treatment.streams.iter_mut().for_each(|stream| stream.to = Destination::Primary);
        treatment.client.latency = None;
        (treatment.data, treatment.streams, treatment.client, treatment.goal)
    };
    pairs(known, |one, other| {
        let treatments = &known.record.plan.treatments;
        let is_same_server = one.server == other.server
            || (known.traits.is_same_version(one.server, other.server)
                && known.traits.differences(one.server, other.server).is_empty()
                && known.traits.has_same_limits(one.server, other.server));
        is_same_server
            && !latency(known, one).is_zero()
            && latency(known, other).is_zero()
            && alike(&treatments[one.treatment]) == alike(&treatments[other.treatment])
    })
}

/// Crashes of one kind that two servers suffered; of several kinds, the one in which the second lost most.
fn crashes_of<'a>(known: &'a Known<'_>, one: &Line, other: &Line) -> Option<(&'a Crashes, &'a Crashes)> {
    let of = |server: usize| {
        known.crashes.iter().filter(move |crashes| crashes.server == server && crashes.count > 0)
    };
    let both = of(one.server)
        .filter_map(|crashes| Some((crashes, of(other.server).find(|other| other.kind == crashes.kind)?)));
    both.max_by(|a, b| a.1.share.value.total_cmp(&b.1.share.value))
}

/// The safer server, by what it waits for or by what crashes showed, and one that loses more.
fn safeties(known: &Known<'_>) -> Vec<Pair> {
    pairs(known, |one, other| {
        let showed =
            crashes_of(known, one, other).is_some_and(|(one, other)| one.lost == 0 && other.lost > 0);
        known.traits.waits_for_more(one.server, other.server)
            || (showed && known.traits.can_crash_alike(one.server, other.server))
    })
}

fn lost(known: &Known<'_>, pair: Pair) -> Option<Lost> {
    let (one, other) = crashes_of(known, &known.lines[pair.0], &known.lines[pair.1])?;
    Some(Lost {
        kind: one.kind,
        one: one.share,
        other: other.share,
        acknowledged: one.acknowledged,
        crashes: one.count + other.count,
    })
}
