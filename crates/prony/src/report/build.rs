//! Builds the [`Document`] from a stored run and its findings.

use super::{
    answer, around,
    claims::claims,
    conditions,
    conduct::conduct,
    course,
    document::{
        Advised, Axis, Difference, Document, Evenness, FORMAT, Factor, Finding, FindingKind, Group, Machine,
        NoLaw, Outage, Point, Run, Scaling, Schedule, Server, Unscaled,
    },
    fact::{Told, together},
    group::groups,
    heat, next, plans, rates, resources,
    trials::trials,
    words::{self, Sentence, Words, capitalised},
};
use crate::{
    analyse::{self, Findings, Unfit},
    run::{Level, Note, TrialOutcome, verdict},
    store::RunRecord,
};
use load::Histogram;
use std::collections::BTreeSet;

/// The shares of transactions at which the distribution is recorded.
const CURVE: &[f64] = &[
    0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985,
    0.99, 0.9925, 0.995, 0.9965, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995, 0.9999_9,
];

/// Everything that a report of this run says.
#[must_use]
pub fn build(record: &RunRecord, findings: &Findings, words: Words) -> Document {
    let conditions = conditions::conditions(record, words);
    let mut told = sentences(record, findings, words);
    let plans = analyse::plans(record);
    told.extend(plans::finding(&plans, words));
    told.extend(conditions::finding(&conditions, words));
    let points: Vec<Point> =
        findings.points.iter().map(|one| point(record, one, &findings.axis, words)).collect();
    let (resources, waits_that_grew) = resources::build(record, &findings.axis, words);
    let groups = groups(record, findings, words);
    let judged = claims(&findings.claims, words);
    let advice = advice(findings, record.plan.relevant, groups.len(), words);
    Document {
        format: FORMAT,
        prony_version: record.prony_version.clone(),
        language: words.code().to_owned(),
        run: run(record, words),
        answer: answer::answer(findings, &advice, &told, words),
        trust: answer::trust(findings, &conditions, words),
        machine: machine(record),
        servers: servers(record, &findings.axis, words),
        servers_by: findings.axis.servers.heads(),
        conditions,
        settings_that_differ: differences(record),
        claims: judged,
        conduct: conduct(record, findings, words),
        findings: told,
        advice,
        next: findings.next.as_ref().map(|one| next::next(one, &record.plan, words)),
        axis: axis(&findings.axis, words),
        scalings: scalings(findings, &groups),
        unscaled: findings.unscaled.iter().map(unscaled).collect(),
        groups,
        comparisons: findings.comparisons.clone(),
        effects: findings.effects.clone(),
        rates: rates::rates(record, findings),
        buying: findings.buying.clone(),
        crashes: findings.crashes.clone(),
        neighbours: findings.neighbours.clone(),
        published: findings.published.clone(),
        plans,
        files: analyse::files(record),
        trials: trials(record, words),
        courses: course::courses(record, &findings.axis),
        heats: heat::heats(record),
        points,
        resources,
        waits_that_grew,
        profiles: resources::profiles(record, words),
    }
}

fn advice(findings: &Findings, relevant: f64, loads: usize, words: Words) -> Vec<Advised> {
    let advised = |alike: &Vec<&analyse::Advice>| {
        let Sentence { about, text } = words.advices(alike, &findings.axis, relevant, loads);
        Advised { about, text, grounds: alike.iter().map(|&one| one.clone()).collect() }
    };
    let all: Vec<&analyse::Advice> = findings.advice.iter().collect();
    analyse::alike(&all, analyse::Advice::is_alike).iter().map(advised).collect()
}

fn run(record: &RunRecord, words: Words) -> Run {
    let plan = &record.plan;
    let measured =
        record.trials.iter().filter(|trial| matches!(trial.outcome, TrialOutcome::Measured { .. })).count();
    let added = record.trials.iter().filter(|trial| !plan.trials.contains(&trial.trial)).count();
    Run {
        id: record.id,
        name: plan.name.clone(),
        title: words.either(&plan.title, &plan.title_zh).to_owned(),
        scale: plan.scale.clone(),
        seed: plan.seed,
        repeat_options: plan.repeat_options(),
        started: second_of(record.started),
        finished: record.finished.map(second_of),
        complete: record.complete,
        warm_up_s: plan.warm_up.as_secs_f64(),
        warm_up_auto: plan.warm_up_auto,
        alone_s: plan.alone.as_secs_f64(),
        relevant: plan.relevant,
        interval_s: plan.interval.as_secs_f64(),
        repeats: plan.repeats,
        trials_planned: (plan.trials.len() + added) as u32,
        trials_measured: measured as u32,
        trials_failed: (record.trials.len() - measured) as u32,
        labels: record.labels.clone(),
        note: record.note.clone(),
        factors: plan
            .factors
            .iter()
            .map(|factor| Factor { name: factor.name.clone(), levels: factor.levels.clone() })
            .collect(),
        study_text: plan.study_text.clone(),
    }
}

/// A time to the second: nobody reads the nanoseconds of a date.
pub(super) fn second_of(time: jiff::Timestamp) -> String {
    jiff::Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn machine(record: &RunRecord) -> Machine {
    let machine = record.machine.clone();
    Machine {
        cpu_model: machine.cpu_model,
        cpus: machine.cpus,
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        distribution: machine.distribution,
        virtualisation: machine.virtualisation,
    }
}

fn servers(record: &RunRecord, axis: &analyse::Axis, words: Words) -> Vec<Server> {
    let server = |(number, planned): (usize, &crate::plan::ServerPlan)| {
        let known = record.servers.get(&number).cloned().unwrap_or_default();
        Server {
            topology: around::topology(planned.topology, words),
            limits: around::limits(&known, words),
            reached: around::reached(record, number, words),
            networks: around::networks(&known, words),
            shown: axis.servers.shown(&planned.name).to_owned(),
            name: planned.name.clone(),
            product: known.description.product,
            version: known.description.version,
            build: known.description.build,
            origin: known.description.origin,
            settings: planned.settings.clone(),
            data_loaded_s: known.data_took.values().map(std::time::Duration::as_secs_f64).sum(),
            variables: known.description.variables,
        }
    };
    record.plan.servers.iter().enumerate().map(server).collect()
}

fn differences(record: &RunRecord) -> Vec<Difference> {
    let known: Vec<_> = (0..record.plan.servers.len())
        .map(|number| record.servers.get(&number).map(|server| &server.description.variables))
        .collect();
    // A server that never answered has no settings to compare.
    if known.iter().flatten().count() < 2 {
        return Vec::new();
    }
    let names: BTreeSet<&String> = known.iter().flatten().flat_map(|variables| variables.keys()).collect();
    let value = |name: &String| -> Vec<Option<String>> {
        known.iter().map(|variables| variables.and_then(|variables| variables.get(name)).cloned()).collect()
    };
    let is_setting = |name: &&String| crate::provision::is_setting(name);
    let differs = |values: &[Option<String>]| values.iter().any(|value| *value != values[0]);
    names
        .into_iter()
        .filter(is_setting)
        .map(|name| Difference { variable: name.clone(), values: value(name) })
        .filter(|difference| differs(&difference.values))
        .collect()
}

fn sentences(record: &RunRecord, findings: &Findings, words: Words) -> Vec<Finding> {
    // a doubt that leaves a point usable is shown beside its figures
    let is_remark = |finding: &&analyse::Finding| match finding {
        analyse::Finding::Doubtful { doubts, .. } => verdict(doubts) != Level::Invalid,
        _ => false,
    };
    let told = named_together(findings.findings.iter().filter(|finding| !is_remark(finding)), words);
    let mut found: Vec<Finding> = Vec::new();
    for alike in analyse::alike(&told.iter().collect::<Vec<_>>(), analyse::Finding::is_alike) {
        let finding = alike[0];
        let Sentence { about, text } = words.findings(&alike, findings);
        match found.iter_mut().find(|known| known.text == text && !known.about.is_empty()) {
            Some(known) => {
                known.about = format!("{}{}{about}", known.about, words.get("sentence", "semicolon"))
            }
            None => found.push(Finding { kind: kind(finding), about, text }),
        }
    }
    let run = run(record, words);
    let is_nothing = run.trials_failed > 0 && run.trials_measured == 0;
    if is_nothing {
        let text = words.fill("sentence", "nothing_measured", &[("reasons", &failures(record, words))]);
        found = vec![Finding { kind: FindingKind::Failed, about: String::new(), text }];
    } else if found.is_empty() && !findings.points.is_empty() {
        let text = words.get("sentence", "nothing").to_owned();
        found.push(Finding { kind: FindingKind::Nothing, about: String::new(), text });
    }
    found.extend(in_doubt(findings, words));
    found.extend(deaths(record, &findings.axis, words));
    let planned = run.trials_planned.to_string();
    let (unmeasured, all) = record.unmeasured();
    if unmeasured > 0 && !is_nothing {
        let key = if unmeasured == 1 { "failed_one" } else { "failed_many" };
        let places = [("failed", &*unmeasured.to_string()), ("planned", &*all.to_string())];
        let text = words.fill("sentence", key, &places);
        found.push(Finding { kind: FindingKind::Failed, about: String::new(), text });
    }
    if !record.complete {
        let places = [("done", &*record.trials.len().to_string()), ("planned", &*planned)];
        let text = words.fill("sentence", "incomplete", &places);
        found.push(Finding { kind: FindingKind::Incomplete, about: String::new(), text });
    }
    found
}

fn kind(finding: &analyse::Finding) -> FindingKind {
    match finding {
        analyse::Finding::Effect { .. } => FindingKind::Effect,
        analyse::Finding::Advantage { .. } => FindingKind::Advantage,
        analyse::Finding::NoDifference { .. } => FindingKind::NoDifference,
        analyse::Finding::NotCompared { .. } => FindingKind::NotCompared,
        analyse::Finding::Peak { .. } => FindingKind::Peak,
        analyse::Finding::Overloaded { .. } => FindingKind::Overloaded,
        analyse::Finding::Doubtful { .. } => FindingKind::Doubtful,
    }
}

/// Servers that died between trials, unless a trial reports it.
fn deaths<'a>(
    record: &'a RunRecord,
    axis: &'a analyse::Axis,
    words: Words,
) -> impl Iterator<Item = Finding> + 'a {
    record.notes.iter().filter_map(move |note| {
        let Note::Died { server, reason } = note else { return None };
        let server = axis.servers.shown(&record.plan.servers[*server].name);
        let text = words.fill("sentence", "died", &[("server", server), ("reason", &*words.cause(reason))]);
        Some(Finding { kind: FindingKind::Died, about: server.to_owned(), text })
    })
}

/// Why trials failed, each reason once; if there are many, the first ones.
fn failures(record: &RunRecord, words: Words) -> String {
    const MOST: usize = 3;
    let facts = record.trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Failed(failure) => Some(((), words::failed(failure))),
        TrialOutcome::Measured { .. } => None,
    });
    let known = together(facts).into_iter().take(MOST);
    let texts: Vec<String> = known.map(|one| capitalised(&words.say(&one.fact))).collect();
    texts.join(words.get("conduct", "then"))
}

/// Names together the servers that do not differ from the same base.
fn named_together<'a>(
    findings: impl Iterator<Item = &'a analyse::Finding>,
    words: Words,
) -> Vec<analyse::Finding> {
    use analyse::Finding::NoDifference;
    let (mut told, mut names) = (Vec::<analyse::Finding>::new(), Vec::<Vec<String>>::new());
    for finding in findings {
        let alike = |known: &analyse::Finding| match (known, finding) {
            (
                NoDifference { levels, servers, metric, rungs, stretch, same, .. },
                NoDifference {
                    levels: other,
                    servers: pair,
                    metric: of,
                    rungs: places,
                    stretch: reach,
                    same: alike,
                    ..
                },
            ) => {
                (levels, &servers.1, metric) == (other, &pair.1, of)
                    && (rungs, stretch, same) == (places, reach, alike)
            }
            _ => false,
        };
        let place = told.iter().position(alike);
        let NoDifference { servers, resolution, .. } = finding else {
            told.push(finding.clone());
            names.push(Vec::new());
            continue;
        };
        let Some(place) = place else {
            told.push(finding.clone());
            names.push(vec![servers.0.clone()]);
            continue;
        };
        names[place].push(servers.0.clone());
        if let NoDifference { servers, resolution: widest, .. } = &mut told[place] {
            servers.0 = words.listed(&names[place]);
            *widest = widest.max(*resolution);
        }
    }
    told
}

/// How many points have remarks beside their figures.
fn in_doubt(findings: &Findings, words: Words) -> Option<Finding> {
    let is_doubted = |point: &&analyse::Point| verdict(&point.doubts) == Level::Suspicious;
    let count = findings.points.iter().filter(is_doubted).count();
    let places = [("count", &*count.to_string()), ("all", &findings.points.len().to_string())];
    let text = words.fill("sentence", "in_doubt", &places);
    (count > 0).then(|| Finding { kind: FindingKind::Doubtful, about: String::new(), text })
}

fn axis(axis: &analyse::Axis, words: Words) -> Axis {
    Axis {
        kind: axis.kind,
        factors: axis.factors.clone(),
        compared: axis.compared.clone(),
        stream: axis.stream().map(str::to_owned),
        title: words.axis(axis),
    }
}

fn point(record: &RunRecord, point: &analyse::Point, axis: &analyse::Axis, words: Words) -> Point {
    let treatment = &record.plan.treatments[point.treatment];
    let server = record.servers.get(&treatment.server);
    let size = server.and_then(|server| server.data_sizes.get(&treatment.data));
    let histogram = serde_json::to_value(&point.histogram).ok();
    Point {
        levels: point.levels.clone(),
        server: point.server.clone(),
        side: axis.side(point),
        stream: point.stream.clone(),
        connections: point.connections,
        idle: point.idle,
        rows: record.plan.rows(treatment.data),
        data_bytes: size.map(|size| size.data_bytes + size.index_bytes),
        trials: point.trials,
        left_out: point.left_out.iter().map(|one| Told::new(words::left_out(one), words)).collect(),
        throughput: point.throughput,
        statements_per_second: point.statements_per_second,
        rows_per_second: point.rows_per_second,
        mix: point.mix.clone(),
        tpcc: point.tpcc.clone(),
        tpch: point.tpch.clone(),
        schedule: point.schedule.as_ref().map(|schedule| Schedule::of(schedule, point.active_s)),
        utilisation: point.utilisation,
        overloaded: point.overloaded,
        limit: point.limit.clone(),
        latency_ms: point.latency_ms.clone(),
        service_ms: point.service_ms.clone(),
        latency_max_ms: point.latency_max_ms,
        latency_curve: curve(&point.histogram),
        histogram: histogram.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default(),
        throughput_by_trial: point.throughput_by_trial.clone(),
        errors: point.errors.iter().map(|(code, count)| (code.to_string(), *count)).collect(),
        error_share: point.error_share,
        server_cpu: point.server_cpu,
        client_cpu: point.client_cpu,
        opening: (&point.opening).into(),
        reconnecting: (&point.reconnecting).into(),
        following: point.following.as_ref().map(super::following::of),
        outages: point.outages.iter().map(|(trial, outage)| Outage::of(Some(*trial), outage)).collect(),
        fairness: point.fairness.map(|fairness| Evenness::of(fairness, point.starved)),
        verdict: verdict(&point.doubts),
        doubts: words.doubts(&point.doubts),
    }
}

/// The distribution, without shares of less than one transaction.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count() as f64;
    let mut curve: Vec<(f64, f64)> = CURVE
        .iter()
        .filter(|&&share| (1.0 - share) * count >= 1.0)
        .map(|&share| (share, milliseconds(histogram.quantile_ns(share))))
        .collect();
    if !histogram.is_empty() {
        curve.push((1.0, milliseconds(histogram.max_ns())));
    }
    curve
}

pub(super) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn unscaled(ladder: &analyse::Unscaled) -> Unscaled {
    let empty = Unscaled {
        levels: ladder.levels.clone(),
        side: ladder.side.clone(),
        reason: NoLaw::TooFewPoints,
        connections: None,
        residual: None,
        peak_low: None,
        peak_high: None,
    };
    match ladder.why {
        Unfit::TooFew => empty,
        Unfit::Residual { connections, residual } => Unscaled {
            reason: NoLaw::Residual,
            connections: Some(connections),
            residual: Some(residual),
            ..empty
        },
        Unfit::Peak { low, high } => {
            Unscaled { reason: NoLaw::Peak, peak_low: low, peak_high: high, ..empty }
        }
    }
}

/// The fitted laws, each with the group and the series of its points.
fn scalings(findings: &Findings, groups: &[Group]) -> Vec<Scaling> {
    let scaling = |of: &analyse::Scaling| {
        let first = of.points.first()?.point;
        let (group, series) = groups.iter().enumerate().find_map(|(place, group)| {
            let series = group.series.iter().find(|series| series.points.contains(&Some(first)))?;
            Some((place, series.name.clone()))
        })?;
        Some(Scaling {
            group,
            series,
            single: of.single,
            contention: of.contention,
            coherency: of.coherency,
            peak: of.peak,
            enough: of.enough,
            points: of.points.clone(),
            left_out: of.left_out.clone(),
        })
    };
    findings.scalings.iter().filter_map(scaling).collect()
}
