//! Servers that die during a run. A dead one is restarted on its data. Where that fails, or a server
//! repeatedly fails to become ready, its trials are lost, each with the reason, and the run continues with
//! the others.

use super::{Cause, Error, Event, Note, Run, TrialFailure, TrialOutcome};
use crate::{
    dataset,
    plan::{Act, Fresh, Trial},
    provision,
};
use load::client::{self, Connection};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

/// How often in a row a server may fail to come back, or to be made ready for a trial, before it is given up:
/// each attempt may take minutes.
const ATTEMPTS_MAX: u32 = 2;

/// How long a server that runs elsewhere may be away before a trial on it fails, and how often it is asked.
const RETURN_LIMIT: Duration = Duration::from_secs(30);
const RETURN_PAUSE: Duration = Duration::from_millis(500);

/// What is known about servers that fail. Each counts separately with each of its data sets: one that cannot
/// be loaded says nothing about the others.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// By server and data set, how often in a row it was not ready.
    failures: BTreeMap<(usize, usize), u32>,
    /// Those that are given up, and why.
    given_up: BTreeMap<(usize, usize), TrialFailure>,
}

impl Lives {
    /// Why trials of a server on a data set are not attempted any more.
    fn reason(&self, place: (usize, usize)) -> Option<TrialFailure> {
        self.given_up.get(&place).cloned()
    }

    /// It was not ready. Whether it is given up now.
    fn failed(&mut self, place: (usize, usize), failure: &TrialFailure) -> bool {
        let failures = self.failures.entry(place).or_default();
        *failures += 1;
        let is_last = *failures >= ATTEMPTS_MAX;
        if is_last {
            self.given_up.insert(place, failure.clone());
        }
        is_last
    }

    fn was_ready(&mut self, place: (usize, usize)) {
        self.failures.remove(&place);
    }
}

/// Whether an error is about one server in its present state, so that trials of the others can continue.
pub(super) fn is_of_one_server(error: &Error) -> bool {
    match error {
        Error::Provision { source, .. } => !matches!(source, provision::Error::Interrupted),
        Error::Data { source, .. } => !matches!(source, dataset::Error::Interrupted),
        Error::Account { .. } | Error::Control { .. } | Error::Network { .. } | Error::Script { .. } => true,
        Error::Statement { .. }
        | Error::Space(_)
        | Error::Limit { .. }
        | Error::NoNetem { .. }
        | Error::SharedSettings { .. }
        | Error::Pin { .. }
        | Error::Agents(_)
        | Error::Unfair { .. }
        | Error::Reader(_)
        | Error::Interrupted => false,
    }
}

impl Run<'_, '_> {
    /// Why the server of a trial is given up; `None`: it is not.
    pub(super) fn is_given_up(&self, trial: &Trial) -> Option<TrialFailure> {
        self.lives.reason(self.place(trial))
    }

    /// A trial whose server was not ready for it, which is an outcome like any other.
    pub(super) fn not_ready(&mut self, trial: &Trial, error: Error) -> Result<TrialOutcome, Error> {
        if !is_of_one_server(&error) {
            return Err(error);
        }
        let place = self.place(trial);
        // the death of a server says more than the connection that it broke
        let death = self.death(place.0);
        let up = self.up(place.0);
        up.state.is_unknown = true;
        up.death_told = death.is_some();
        let cause: Cause = match (&death, &error) {
            (Some(death), _) => death.into(),
            (None, error) => error.into(),
        };
        let failure = TrialFailure::NotReady { cause: cause.clone() };
        let is_last = self.lives.failed(place, &failure);
        let last = TrialFailure::GivenUp { attempts: ATTEMPTS_MAX, cause };
        self.lost(trial, if is_last { last } else { failure })
    }

    /// The trial had a server that was ready for it.
    pub(super) fn was_ready(&mut self, trial: &Trial) {
        let place = self.place(trial);
        self.lives.was_ready(place);
    }

    /// Tells of a trial that could not be run.
    pub(super) fn lost(&mut self, trial: &Trial, failure: TrialFailure) -> Result<TrialOutcome, Error> {
        let outcome = TrialOutcome::Failed(failure);
        self.tell(&Event::TrialStarted { trial: trial.number })?;
        self.tell(&Event::TrialFinished { trial: trial.number, outcome: Box::new(outcome.clone()) })?;
        Ok(outcome)
    }

    /// How a server has died, if it has.
    pub(super) fn death(&mut self, server: usize) -> Option<provision::Error> {
        self.up(server).group.check().err()
    }

    /// Starts a server again that has died. Whether it had.
    pub(super) fn revive(&mut self, server: usize) -> Result<bool, Error> {
        let Some(death) = self.death(server) else { return Ok(false) };
        if !std::mem::take(&mut self.up(server).death_told) {
            self.tell(&Event::Noted(Note::Died { server, reason: (&death).into() }))?;
        }
        let mut attempt = 1;
        loop {
            let restarted = self
                .with_steps(server, |provisioner, up, tell| provisioner.restart_group(&mut up.group, tell));
            match restarted {
                Ok(_) => break,
                Err(error) if !is_of_one_server(&error) => return Err(error),
                Err(error) if attempt == ATTEMPTS_MAX => {
                    let failure = TrialFailure::NotRevived { cause: (&error).into() };
                    for data in 0..self.plan.data_sets.len() {
                        self.lives.given_up.insert((server, data), failure.clone());
                    }
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
        self.look_after_data(server)?;
        Ok(true)
    }

    /// After a crash: what the server recovered is there, what is only in memory is lost.
    fn look_after_data(&mut self, server: usize) -> Result<(), Error> {
        let data = self.up(server).state.data;
        let in_memory = data.is_some_and(|data| self.lives_in_memory(data));
        let is_crash_safe = data.is_none_or(|data| self.is_crash_safe(data));
        let fresh = self.plan.state.fresh;
        let state = &mut self.up(server).state;
        state.was_started();
        if in_memory {
            state.data = None;
        }
        // data that trials have changed are restored in any case, where the study wants that
        state.is_unknown |= !is_crash_safe && fresh != Fresh::Never;
        let is_loaded = state.is_as_loaded() && !state.is_unknown;
        match data.filter(|_| is_loaded && !in_memory) {
            // counts rows
            Some(data) => self.load_data(server, data).map(drop),
            None => Ok(()),
        }
    }

    /// A server that Prony did not start may be restarted by its owner: Prony waits for a while.
    pub(super) fn await_elsewhere(&mut self, server: usize) -> Result<(), Error> {
        if self.plan.servers[server].may(Act::Restart) {
            return Ok(());
        }
        let target = self.up(server).group.primary().target().clone();
        let begun = Instant::now();
        loop {
            self.heed_stop()?;
            match Connection::open(&target, RETURN_LIMIT) {
                Err(client::Error::Connect { .. } | client::Error::Closed)
                    if begun.elapsed() < RETURN_LIMIT =>
                {
                    thread::sleep(RETURN_PAUSE);
                }
                // what else is wrong is told by whoever needs the connection
                _ => return Ok(()),
            }
        }
    }

    fn place(&self, trial: &Trial) -> (usize, usize) {
        let treatment = &self.plan.treatments[trial.treatment];
        (treatment.server, treatment.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_up_when_it_fails_twice_in_a_row() {
        let mut lives = Lives::default();
        let [first, second, other, third] = ["first", "second", "other", "third"].map(TrialFailure::told);
        assert!(!lives.failed((0, 0), &first));
        lives.was_ready((0, 0));
        assert!(!lives.failed((0, 0), &second));
        // another data set of the server is another matter
        assert!(!lives.failed((0, 1), &other));
        assert!(lives.failed((0, 0), &third));
        assert_eq!((lives.reason((0, 0)), lives.reason((0, 1))), (Some(third), None));
    }

    #[test]
    fn what_is_wrong_for_all_ends_the_run() {
        let control = load::client::Error::Closed;
        assert!(is_of_one_server(&Error::Control { name: "a".to_owned(), source: control }));
        let died = provision::Error::NoAddress;
        assert!(is_of_one_server(&Error::Provision { name: "a".to_owned(), source: died }));
        assert!(!is_of_one_server(&Error::Interrupted));
        assert!(!is_of_one_server(&Error::Reader("the disk is full".into())));
        let stopped = provision::Error::Interrupted;
        assert!(!is_of_one_server(&Error::Provision { name: "a".to_owned(), source: stopped }));
    }
}
