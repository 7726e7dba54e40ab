//! Carries a plan out, one trial after another, and tells it by one stream of events. It never prints and never stores.
//!
//! Whoever carries a run out gives a reader of the events; an error of the reader (a full disk, say) ends the run. A trial
//! that fails is data; an error is something that makes going on impossible.

mod check;
mod clock;
mod doubt;
mod event;
mod trial;

pub use check::{Fairness, doubts};
pub use clock::clock_cost;
pub use doubt::{Doubt, Level, What, verdict};
pub use event::{DataProgress, Event, TrialOutcome};
pub use trial::wants;

use crate::{
    dataset,
    plan::{Client, Plan, Transport, Treatment},
    provision::{self, Provisioner, Server, Wants},
    telemetry::Machine,
    workload::{self, Effect},
};
use load::{Stop, client};
use std::{collections::BTreeSet, time::Duration};

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

/// Connections that load data at the same time; more do not help where client and server share a machine.
fn loaders() -> u32 {
    std::thread::available_parallelism().map_or(2, |cores| cores.get() as u32).clamp(2, 8)
}

/// How long control connections wait for an answer.
const CONTROL_WAIT: Duration = Duration::from_secs(60);

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

/// A server that is up.
struct Up {
    server: Server,
    /// The data set that it holds, as it was loaded.
    data: Option<usize>,
    /// Rows of its data were added or removed since.
    spoilt: bool,
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

    /// Starts one server, checks that it can bear what is planned, and loads its data.
    fn bring_up(&mut self, index: usize, treatments: &[usize]) -> Result<(), Error> {
        self.heed_stop()?;
        let plan = self.plan;
        let server_plan = &plan.servers[index];
        let name = || server_plan.name.clone();
        let first = plan.treatments[treatments[0]].data;
        let largest = treatments.iter().map(|&each| plan.treatments[each].data);
        let bytes = largest.map(|data| dataset::size_bytes(&plan.data_sets[data])).max().unwrap_or(0);
        let mut told = Ok(());
        let server = self.provisioner.bring_up(server_plan, bytes, &mut |step| {
            let event = Event::ServerStarting { server: index, step: step.to_owned() };
            if told.is_ok() {
                told = (self.reader)(&event);
            }
        });
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        let server = server.map_err(|source| Error::Provision { name: name(), source })?;
        let target = server.target().clone();
        let control = |source| Error::Control { name: name(), source };
        let mut connection = client::Connection::open(&target, CONTROL_WAIT).map_err(control)?;
        let description = server.describe(&server_plan.name, &mut connection).map_err(control)?;
        self.servers[index] = Some(Up { server, data: None, spoilt: false });
        self.tell(&Event::ServerReady { server: index, description: Box::new(description) })?;
        let mut remarks = BTreeSet::new();
        for &each in treatments {
            let treatment = &plan.treatments[each];
            let server = &self.up(index).server;
            let sources = u32::try_from(treatment.client.sources.len()).unwrap_or(u32::MAX).max(1);
            let target = target_of(server, &treatment.client);
            let wants = Wants { sources, ..wants(&treatment.streams, &target) };
            let limits = provision::preflight(&mut connection, &wants);
            remarks.extend(limits.map_err(|source| Error::Limit { name: name(), source })?);
        }
        for text in remarks {
            self.tell(&Event::Remark { server: index, text })?;
        }
        self.have_data(index, first)
    }

    fn up(&mut self, server: usize) -> &mut Up {
        self.servers[server].as_mut().expect("every server that is needed is up")
    }

    /// Sees to it that a server holds a data set as it was loaded.
    fn have_data(&mut self, server: usize, data: usize) -> Result<(), Error> {
        if self.up(server).data == Some(data) || self.plan.data_sets[data].tables == 0 {
            return Ok(());
        }
        let up = self.up(server);
        let target = up.server.target().clone();
        if std::mem::take(&mut up.spoilt) {
            let name = || self.plan.servers[server].name.clone();
            dataset::cleanup(&target, None).map_err(|source| Error::Data { name: name(), source })?;
        }
        self.load_data(server, data, &target)?;
        self.up(server).data = Some(data);
        Ok(())
    }

    fn load_data(&mut self, server: usize, data: usize, target: &load::spec::Target) -> Result<(), Error> {
        let plan = self.plan;
        let begun = std::time::Instant::now();
        let mut told = Ok(());
        let result = dataset::prepare(
            target,
            &plan.data_sets[data],
            loaders(),
            &mut |progress: dataset::Progress| {
                let event = Event::DataLoading(DataProgress {
                    server,
                    rows: progress.rows,
                    rows_total: progress.rows_total,
                    elapsed: begun.elapsed(),
                });
                if told.is_ok() {
                    told = (self.reader)(&event);
                }
            },
            self.stop.flag(),
        );
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        result.map_err(|source| Error::Data { name: plan.servers[server].name.clone(), source })?;
        self.tell(&Event::DataReady { server, data, took: begun.elapsed() })
    }

    fn stop_servers(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for index in 0..self.servers.len() {
            let Some(Up { server, .. }) = self.servers[index].take() else { continue };
            // its last figures are worth having, but a server that died must not keep the others from being stopped
            let status_after = client::Connection::open(server.target(), CONTROL_WAIT)
                .and_then(|mut connection| provision::status(&mut connection))
                .unwrap_or_default();
            let stopped = server.stop();
            let told = self.tell(&Event::ServerStopped { server: index, status_after });
            let name = self.plan.servers[index].name.clone();
            result = result.and(stopped.map_err(|source| Error::Provision { name, source })).and(told);
        }
        result
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
