//! Carries a plan out, one trial after another, and tells it by one stream of events. It never prints and never stores.
//!
//! Whoever carries a run out gives a reader of the events; an error of the reader (a full disk, say) ends the run. A trial
//! that fails is data; an error is something that makes going on impossible.

mod check;
mod clock;
mod doubt;
mod event;
mod site;
mod trial;

pub use check::{Fairness, doubts};
pub use clock::clock_cost;
pub use doubt::{Doubt, Level, What, verdict};
pub use event::{DataProgress, Event, TrialOutcome};
pub use trial::wants;

use crate::{
    dataset,
    plan::{Client, Plan, Transport, Treatment},
    provision::{self, Provisioner, Server},
    telemetry::Machine,
    workload::{self, Effect},
};
use load::{Stop, client};
use site::Up;
use std::collections::BTreeSet;

/// What reads the events: stores them, shows them.
pub type Reader<'a> = dyn FnMut(&Event) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server could not be brought up.
    #[error("server {name}: {source}")]
    Provision {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: provision::Error,
    },
    /// The data could not be loaded.
    #[error("data of server {name}: {source}")]
    Data {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: dataset::Error,
    },
    /// A server stopped answering on the control connection.
    #[error("server {name}: {source}")]
    Control {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: client::Error,
    },
    /// A limit of server or machine is too low for the plan.
    #[error("server {name}: {source}")]
    Limit {
        /// Its name in the plan.
        name: String,
        /// Which, its value, what is needed, how to raise it.
        source: provision::PreflightError,
    },
    /// A reader of the events failed.
    #[error("{0}")]
    Reader(Box<dyn std::error::Error + Send + Sync>),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Carries out the trials of `plan` that are not in `done`. `stop` ends it soon, cleanly.
///
/// # Errors
/// Where it cannot go on. Servers are stopped and removed in any case.
pub fn carry_out(
    plan: &Plan,
    machine: &Machine,
    done: &BTreeSet<u32>,
    provisioner: &Provisioner,
    stop: &Stop,
    reader: &mut Reader<'_>,
) -> Result<(), Error> {
    let servers = plan.servers.iter().map(|_| None).collect();
    let mut run = Run { plan, provisioner, stop, reader, servers };
    let started = Event::RunStarted { plan: Box::new(plan.clone()), machine: Box::new(machine.clone()) };
    run.tell(&started)?;
    let result = run.trials(done);
    let stopped = run.stop_servers();
    run.tell(&Event::RunFinished { complete: result.is_ok() })?;
    result.and(stopped)
}

struct Run<'a, 'r> {
    plan: &'a Plan,
    provisioner: &'a Provisioner,
    stop: &'a Stop,
    reader: &'a mut Reader<'r>,
    /// Those that are up, by index of [`Plan::servers`].
    servers: Vec<Option<Up>>,
}

impl Run<'_, '_> {
    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        (self.reader)(event).map_err(Error::Reader)
    }

    fn trials(&mut self, done: &BTreeSet<u32>) -> Result<(), Error> {
        let plan = self.plan;
        let todo: Vec<_> = plan.trials.iter().filter(|trial| !done.contains(&trial.number)).collect();
        let treatments: BTreeSet<usize> = todo.iter().map(|trial| trial.treatment).collect();
        for index in 0..plan.servers.len() {
            let of_server: Vec<_> =
                treatments.iter().copied().filter(|&each| plan.treatments[each].server == index).collect();
            if !of_server.is_empty() {
                self.bring_up(index, &of_server)?;
            }
        }
        for trial in todo {
            self.heed_stop()?;
            let treatment = &plan.treatments[trial.treatment];
            self.have_data(treatment.server, treatment.data)?;
            let up = self.up(treatment.server);
            let (target, pid) = (target_of(&up.server, &treatment.client), up.server.pid());
            if spoils(treatment) {
                (up.data, up.spoilt) = (None, true);
            }
            trial::carry_out(plan, trial, &target, pid, self.stop, self.reader)?;
        }
        Ok(())
    }

    fn heed_stop(&self) -> Result<(), Error> {
        if self.stop.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// How a load reaches a server.
fn target_of(server: &Server, client: &Client) -> load::spec::Target {
    let mut target = match client.transport {
        Some(Transport::Socket) => server.target_by_socket(),
        Some(Transport::Tcp) | None => server.target().clone(),
    };
    target.tls.mode = client.tls.unwrap_or(target.tls.mode);
    target.compress = client.compress.unwrap_or(target.compress);
    target
}

/// Whether a treatment adds or removes rows, so that what comes after it needs its data loaded anew.
fn spoils(treatment: &Treatment) -> bool {
    treatment.streams.iter().any(|stream| {
        let builtin = workload::find(&stream.workload.name);
        builtin.is_ok_and(|builtin| matches!(builtin.effect, Effect::Adds | Effect::Removes))
    })
}
