//! The search before a trial whose rate is to be found: the trial is then an ordinary one at that rate. A
//! load of the search is reported as one event and kept as one line of the trial's outcome; only the trial
//! has seconds and readings.

use super::{
    Cause, Doubt, Error, Event, Level, Reader, TrialFailure, What, clock_cost,
    links::Reached,
    not_offered,
    rate::{self, Search, Sought, Step},
    trial::spec,
};
use crate::{
    plan::{Goal, Plan, Trial},
    search::{Ending, Objectives, Verdict},
};
use load::{
    Loader, Outcome, Spec, Stop,
    sample::{End, StreamOutcome},
    spec::{Arrival, Rate},
};

/// Searches the rate of a trial that wants it; `None`: it has one. The error of the inner result says why
/// there is no rate.
pub(super) fn seek(
    (plan, trial): (&Plan, &Trial),
    reached: &Reached,
    loader: &dyn Loader,
    stop: &Stop,
    reader: &mut Reader<'_>,
) -> Result<Option<Result<Sought, TrialFailure>>, Error> {
    let treatment = &plan.treatments[trial.treatment];
    let Some((goal, stream)) = treatment.goal.as_ref().zip(treatment.searched()) else { return Ok(None) };
    let objectives = match Objectives::parse(&goal.objective) {
        Ok(objectives) => objectives,
        Err(error) => return Ok(Some(Err(TrialFailure::Objective { cause: Cause::told(error) }))),
    };
    let spec = spec(plan, trial, reached.clone());
    let search = Search { spec: &spec, stream, objectives: &objectives, clock: clock_cost(), deadline: None };
    let reader = std::cell::RefCell::new(reader);
    let mut offer = |spec: &Spec, step: Step| {
        let (rate, left) = (step.probe.map(|(probe, _)| probe.rate), step.left);
        tell(&reader, Event::TrialSearching { trial: trial.number, rate, left })?;
        offer(loader, spec, stop).map(Some)
    };
    let mut told = |probed: &rate::Probed, _| {
        let load = Box::new(probed.clone());
        tell(&reader, Event::TrialProbed { trial: trial.number, load })
    };
    match rate::seek(search, &mut offer, &mut told) {
        Ok(Some(sought)) => Ok(Some(found(sought, &objectives))),
        Ok(None) => Ok(Some(Err(TrialFailure::NothingToSearch))),
        Err(Broke::Load(cause)) => Ok(Some(Err(TrialFailure::SearchLoad { cause }))),
        Err(Broke::Run(error)) => Err(*error),
    }
}

/// Why a search did not come to its end.
enum Broke {
    /// A load failed, which is data.
    Load(Cause),
    /// The run cannot go on.
    Run(Box<Error>),
}

fn tell(reader: &std::cell::RefCell<&mut Reader<'_>>, event: Event) -> Result<(), Broke> {
    (reader.borrow_mut())(&event).map_err(|error| Broke::Run(Box::new(Error::Reader(error))))
}

fn offer(loader: &dyn Loader, spec: &Spec, stop: &Stop) -> Result<Outcome, Broke> {
    match loader.run(spec, stop, &mut |_| ()) {
        Err(error @ (load::Error::Interrupted | load::Error::Pin { .. })) => {
            Err(Broke::Run(Box::new(not_offered(error))))
        }
        Err(error) => Err(Broke::Load(error.into())),
        Ok(Outcome { end: End::Interrupted, .. }) => Err(Broke::Run(Box::new(Error::Interrupted))),
        Ok(Outcome { end: End::Failed(broken), .. }) => Err(Broke::Load(broken.into())),
        Ok(outcome) => Ok(outcome),
    }
}

/// What was found; where no rate keeps the objective, or none can be told, what was measured in its place.
fn found(sought: Sought, objectives: &Objectives) -> Result<Sought, TrialFailure> {
    let value = sought.probes.last().map(|last| last.shown(objectives)).unwrap_or_default();
    match sought.ending {
        Ending::NothingKeeps { lowest } => {
            Err(TrialFailure::NothingKeeps { objective: sought.objective, lowest_per_second: lowest, value })
        }
        Ending::CannotTell { rate } => {
            Err(TrialFailure::CannotTell { objective: sought.objective, rate_per_second: rate })
        }
        _ => Ok(sought),
    }
}

/// Puts the rate that was found into a trial's load.
pub(super) fn at_rate(spec: &mut Spec, stream: usize, sought: &Sought) {
    if let (Arrival::Open { rate, .. }, Some(found)) = (&mut spec.streams[stream].arrival, sought.rate()) {
        *rate = Rate::Constant(found);
    }
}

/// What speaks against the rate that was found, when the trial at it is over.
pub(super) fn doubts(goal: &Goal, sought: &Sought, told: &StreamOutcome) -> Vec<Doubt> {
    let suspicious = |what| Doubt::new(Level::Suspicious, what).of_stream(&goal.stream);
    let mut doubts = Vec::new();
    match sought.ending {
        Ending::NothingBreaks { highest } => {
            doubts.push(suspicious(What::NothingBreaks { rate_per_second: highest }));
        }
        Ending::Unsteady { rate } => doubts.push(suspicious(What::RateUnsteady { rate_per_second: rate })),
        Ending::Found { .. }
        | Ending::NothingKeeps { .. }
        | Ending::CannotTell { .. }
        | Ending::Unfinished { .. } => {}
    }
    if let Some(rate_per_second) = sought.from_rest_per_second {
        doubts.push(suspicious(What::RateOfState { rate_per_second }));
    }
    if let Some(processors) = sought.steal_processors {
        doubts.push(suspicious(What::RateOfNeighbours { processors }));
    }
    if sought.client_limited {
        doubts.push(suspicious(What::RateOfClient));
    }
    if sought.connections_limited {
        doubts.push(suspicious(What::RateOfConnections));
    }
    let objectives = Objectives::parse(&goal.objective);
    for objective in objectives.iter().flat_map(Objectives::iter) {
        // a trial that holds too few transactions to say so says nothing against the rate
        if objective.judge(told) == Verdict::Broken {
            let (objective, value) = (objective.text().to_owned(), objective.show(objective.measure(told)));
            doubts.push(suspicious(What::ObjectiveBroken { objective, value }));
        }
    }
    doubts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A search that ended so, limited by client and connections, and a trial at its rate that broke the
    /// objective.
    fn ended(ending: Ending) -> Vec<Doubt> {
        let sought = serde_json::json!({
            "objective": "p99 < 20ms", "ending": ending, "closed_loop_per_second": 900.0,
            "client_limited": true, "connections_limited": true, "probes": [],
            "from_rest_per_second": 900.0, "steal_processors": 0.4,
        });
        let sought: Sought = serde_json::from_value(sought).expect("a search as it is stored");
        let goal = Goal { stream: "main".to_owned(), objective: "p99 < 20ms".to_owned() };
        let mut told = StreamOutcome::default();
        told.transactions.count = 100;
        (0..100).for_each(|_| told.transactions.service.record_ns(30_000_000));
        doubts(&goal, &sought, &told)
    }

    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let endings = [Ending::NothingBreaks { highest: 800.0 }, Ending::Unsteady { rate: 500.0 }];
        endings.into_iter().flat_map(ended).collect()
    }

    #[test]
    fn a_rate_that_was_found_is_doubted_for_what_limited_the_search_alone() {
        let ids = |ending| ended(ending).iter().map(Doubt::id).collect::<Vec<_>>();
        let beside = [
            "rate_of_state",
            "rate_of_neighbours",
            "rate_of_client",
            "rate_of_connections",
            "objective_broken",
        ];
        assert_eq!(ids(Ending::Found { rate: 500.0, above: 550.0 }), beside);
        assert_eq!(ids(Ending::Unsteady { rate: 500.0 }), [&["rate_unsteady"], &beside[..]].concat());
    }
}
