//! One trial: the load runs, the machine is sampled beside it, both on one clock.

use super::{
    Doubt, Error, Event, Reader, Sought, TrialFailure, TrialOutcome, clock_cost, doubts, lag::Follower,
    links::Reached, not_offered, seek, steady::Watch,
};
use crate::{
    plan::{Plan, Treatment, Trial},
    provision::Wants,
    telemetry::{Beside, Node, Options, Reading},
};
use load::{
    Loader, Outcome, Progress, Spec, Stop, WarmUp,
    sample::End,
    spec::{Address, Stream, Target},
    statements_prepared,
};

/// What is seen when the load is over: reasons to doubt it, and how the server died, if it did.
pub(super) type Look<'a> = dyn FnMut() -> (Vec<Doubt>, Option<TrialFailure>) + 'a;

/// The servers of a trial.
pub(super) struct Scene<'a> {
    /// What carries the load out.
    pub(super) loader: &'a dyn Loader,
    /// How the load reaches them.
    pub(super) reached: Reached,
    /// As telemetry takes them.
    pub(super) nodes: &'a [Node],
    /// Processes that make the networks between.
    pub(super) relays: Vec<u32>,
    /// What watches how members follow, or why they do not.
    pub(super) follower: Result<Option<Follower>, TrialFailure>,
    /// The rate that was searched for it, or why there is none; `None`: it has one.
    pub(super) sought: Option<Result<Sought, TrialFailure>>,
}

/// Runs one trial and tells of it.
pub(super) fn carry_out(
    plan: &Plan,
    trial: &Trial,
    scene: Scene<'_>,
    look: &mut Look<'_>,
    stop: &Stop,
    reader: &mut Reader<'_>,
) -> Result<TrialOutcome, Error> {
    let number = trial.number;
    reader(&Event::TrialStarted { trial: number }).map_err(Error::Reader)?;
    let Scene { loader, reached, nodes, relays, follower, sought } = scene;
    let sought = match sought.transpose() {
        Ok(sought) => sought,
        Err(failure) => return failed(number, failure, look, reader),
    };
    let mut follower = match follower {
        Ok(follower) => follower,
        Err(_) if stop.is_stopped() => return Err(Error::Interrupted),
        Err(failure) => return failed(number, failure, look, reader),
    };
    let treatment = &plan.treatments[trial.treatment];
    let mut spec = spec(plan, trial, reached);
    if let (Some(sought), Some(stream)) = (&sought, treatment.searched()) {
        seek::at_rate(&mut spec, stream, sought);
    }
    let options =
        Options { every: plan.telemetry.every, meet: plan.before_interval(), all: plan.telemetry.all };
    let mut beside = Beside::prepare(nodes, options).with_relays(&relays);
    let mut told = Ok(());
    let mut watch = Watch::new(&spec, plan.warm_up_auto);
    let mut processes = Vec::new();
    let result = loader.run_until_warm(&spec, stop, &mut |progress| {
        let event = match progress {
            Progress::Processes(told) => {
                processes = told;
                return WarmUp::Goes;
            }
            Progress::Opening { .. } => return WarmUp::Goes,
            Progress::Seen(now) => {
                let Some(hosts) = beside.hear(now) else { return WarmUp::Goes };
                Event::LoadHosts { trial: number, hosts }
            }
            Progress::Started => {
                beside.begin_in(&processes);
                if let Some(follower) = &mut follower {
                    follower.load_began();
                }
                return WarmUp::Goes;
            }
            Progress::Sample(sample) => {
                watch.add(&sample);
                Event::TrialSample { trial: number, sample }
            }
        };
        if told.is_ok() {
            told = reader(&event);
        }
        watch.warm_up()
    });
    let readings = beside.end();
    told.map_err(Error::Reader)?;
    let (seen, died) = look();
    let outcome = match result {
        Err(error @ (load::Error::Interrupted | load::Error::Pin { .. })) => return Err(not_offered(error)),
        Ok(outcome) if matches!(outcome.end, End::Interrupted) => return Err(Error::Interrupted),
        result => measured(&spec, result, &readings, [watch.doubts(), seen].concat(), died),
    };
    let outcome = followed(found(outcome, sought, treatment), follower, plan, stop)?;
    for reading in readings {
        let reading = Box::new(reading);
        reader(&Event::TrialReading { trial: number, reading }).map_err(Error::Reader)?;
    }
    finished(number, outcome, reader)
}

/// A trial that could not begin; that a server died says more than what came of it.
fn failed(
    number: u32,
    failure: TrialFailure,
    look: &mut Look<'_>,
    reader: &mut Reader<'_>,
) -> Result<TrialOutcome, Error> {
    let (_, died) = look();
    finished(number, TrialOutcome::Failed(died.unwrap_or(failure)), reader)
}

fn finished(number: u32, outcome: TrialOutcome, reader: &mut Reader<'_>) -> Result<TrialOutcome, Error> {
    reader(&Event::TrialFinished { trial: number, outcome: Box::new(outcome.clone()) })
        .map_err(Error::Reader)?;
    Ok(outcome)
}

/// Adds how the rate was found.
fn found(mut told: TrialOutcome, rate: Option<Sought>, treatment: &Treatment) -> TrialOutcome {
    if let (TrialOutcome::Measured { outcome, doubts, sought, .. }, Some(rate)) = (&mut told, rate) {
        if let Some((goal, stream)) = treatment.goal.as_ref().zip(treatment.searched()) {
            doubts.extend(seek::doubts(goal, &rate, &outcome.streams[stream]));
        }
        *sought = Some(Box::new(rate));
    }
    told
}

/// Waits until members have all of the load, and adds how they followed.
fn followed(
    mut told: TrialOutcome,
    follower: Option<Follower>,
    plan: &Plan,
    stop: &Stop,
) -> Result<TrialOutcome, Error> {
    if let (TrialOutcome::Measured { outcome, doubts, following, .. }, Some(follower)) = (&mut told, follower)
    {
        let (how, found) = follower.end(outcome.warm_up.unwrap_or(plan.before_interval()), outcome, stop);
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        doubts.extend(found);
        *following = Some(Box::new(how));
    }
    Ok(told)
}

/// What came of a load that was not interrupted.
fn measured(
    spec: &Spec,
    result: Result<Outcome, load::Error>,
    readings: &[Reading],
    seen: Vec<Doubt>,
    died: Option<TrialFailure>,
) -> TrialOutcome {
    if let Some(death) = died {
        return TrialOutcome::Failed(death);
    }
    match result {
        Err(error) => TrialOutcome::Failed(TrialFailure::of_load(error)),
        Ok(Outcome { end: End::Failed(how), .. }) => {
            TrialOutcome::Failed(TrialFailure::Load { cause: how.into() })
        }
        Ok(outcome) => {
            let mut doubts = doubts(spec, &outcome, readings, clock_cost());
            doubts.extend(seen);
            TrialOutcome::Measured { outcome: Box::new(outcome), doubts, following: None, sought: None }
        }
    }
}

pub(super) fn spec(plan: &Plan, trial: &Trial, reached: Reached) -> Spec {
    let mut targets = reached.targets.into_iter();
    let primary = targets.next().expect("a server of the plan is one at least");
    let Treatment { streams, client, .. } = &plan.treatments[trial.treatment];
    Spec {
        seed: trial.seed,
        workers: client.workers.or(reached.threads),
        sources: client.sources.clone(),
        open_rate: client.open_rate,
        connect_timeout: client.connect_timeout,
        reply_timeout: client.reply_timeout,
        members: targets.collect(),
        local: reached.local,
        ..Spec::new(primary, streams.clone(), plan.before_interval(), plan.interval)
    }
}

/// What these streams together need of server and machine.
#[must_use]
pub fn wants(streams: &[Stream], target: &Target) -> Wants {
    // a workload that cannot be run needs nothing: the load itself says why
    let of_connection = |stream: &Stream| statements_prepared(&stream.workload, stream.protocol).unwrap_or(0);
    Wants {
        connections: streams.iter().map(|stream| stream.connections + stream.idle).sum(),
        prepared_statements: streams
            .iter()
            .map(|stream| u64::from(stream.connections) * of_connection(stream))
            .sum(),
        tcp: matches!(target.address, Address::Tcp { .. }),
        sources: 1,
        relayed: false,
        elsewhere: false,
    }
}
