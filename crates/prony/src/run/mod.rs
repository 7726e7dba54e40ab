//! Carries a plan out, one trial after another, and reports it as one stream of events. It never prints and
//! never stores.
//!
//! The caller of a run passes a reader of the events; an error of the reader (a full disk, say) ends the run.
//! A trial that fails is data; an error means that the run cannot continue.

mod audit;
mod cause;
mod check;
mod clock;
mod conditions;
pub mod counting;
mod doubt;
mod event;
mod failure;
mod fair;
mod hosts;
mod lag;
mod life;
mod links;
mod nodes;
mod profile;
mod queue;
mod rate;
mod seek;
mod settle;
mod site;
mod state;
mod statements;
mod steady;
mod threads;
mod trial;
mod variables;

pub use audit::{Audited, no_power};
pub use cause::Cause;
pub use check::{Evenness, doubts};
pub use clock::clock_cost;
pub use doubt::{Doubt, Level, Steady, What, verdict};
pub use event::{Because, DataProgress, Event, FileNote, Note, Remark, Stop, TrialOutcome, Why};
pub use failure::{NoCrash, NoProfile, TrialFailure};
pub use lag::{Following, Member, Waits};
pub use links::namespaces;
pub use nodes::node;
pub use queue::Earlier;
pub use rate::{Probed, Search, Sought, Step, seek};
pub use settle::{Settled, settle};
pub use state::{Began, Origin};
pub use statements::StatementPlan;
pub use trial::wants;

pub use crate::family::Access;
use crate::{
    dataset,
    fairness::Condition,
    loader,
    network::WhyRelay,
    plan::{Client, Plan, Transport, Treatment, Trial, seed},
    provision::{self, Provisioner, Server},
    telemetry::Machine,
};
use hosts::Hosts;
use lag::Follower;
use life::Lives;
use links::{Links, Reached};
use load::{Loader, Pinned, client};
use queue::TrialQueue;
use site::{Up, refuse_shared_settings};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use trial::Scene;

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
    /// A script could not make its data.
    #[error("data of server {name}: `prepare` of {file} failed: {reason}")]
    Script {
        /// The server's name in the plan.
        name: String,
        /// The script.
        file: String,
        /// What it says, with its line.
        reason: String,
    },
    /// A server does not make the account that the study wants.
    #[error("server {name}: an account with {plugin} cannot be created: {source}")]
    Account {
        /// Its name in the plan.
        name: String,
        /// Of the account.
        plugin: &'static str,
        /// Why.
        source: client::Error,
    },
    /// A server stopped answering on the control connection.
    #[error("server {name}: {source}")]
    Control {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: client::Error,
    },
    /// A server refuses a statement of a load.
    #[error(
        "server {name} refuses the statement `{statement}` of workload `{workload}`{}: {source}; in: {text}",
        line.map_or_else(String::new, |line| format!(", line {line} of the study"))
    )]
    Statement {
        /// Its name in the plan.
        name: String,
        /// The workload.
        workload: String,
        /// The statement's name in results.
        statement: String,
        /// Where the study writes it.
        line: Option<usize>,
        /// What was asked.
        text: String,
        /// Why.
        source: Box<client::Error>,
    },
    /// The disk is too small.
    #[error("{0}")]
    Space(provision::Error),
    /// A limit of server or machine is too low for the plan.
    #[error("server {name}: {source}")]
    Limit {
        /// Its name in the plan.
        name: String,
        /// Which, its value, what is needed, how to raise it.
        source: provision::PreflightError,
    },
    /// A network could not be put before a server.
    #[error("server {name}: its network could not be set up: {source}")]
    Network {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// One running server is to have the settings of two.
    #[error(
        "servers `{one}` and `{other}` of the study are the same running server, which cannot have the \
         settings of both: let Prony start a server for each (`product`, `path` or `image` instead of \
         `url`), or write a study for each and compare the runs with `prony compare`"
    )]
    SharedSettings {
        /// Name in the study.
        one: String,
        /// Name in the study.
        other: String,
    },
    /// The study wants netem, which is not available.
    #[error(
        "the study says network = \"netem\", but {why}; to use the relay instead, set `network = \"auto\"` \
         or leave it out"
    )]
    NoNetem {
        /// What keeps it from being had.
        why: WhyRelay,
    },
    /// The load cannot run on the processors that the study gives it.
    #[error("cannot pin the load to the processors {processors}: {source}; correct `pin` in [client]")]
    Pin {
        /// Their numbers.
        processors: String,
        /// Why.
        source: std::io::Error,
    },
    /// The servers do not run under the same conditions, and the study wants them to.
    #[error(
        "the study says fairness = \"strict\", but the servers differ in what it does not vary:{}",
        listed(servers, conditions)
    )]
    Unfair {
        /// Names of the servers in the study.
        servers: Vec<String>,
        /// Conditions in which they differ.
        conditions: Vec<Condition>,
    },
    /// Load hosts cannot be had.
    #[error("{0}")]
    Agents(loader::AgentsError),
    /// A reader of the events failed.
    #[error("{0}")]
    Reader(Box<dyn std::error::Error + Send + Sync>),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Conditions, a line each.
fn listed(servers: &[String], conditions: &[Condition]) -> String {
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    conditions.iter().map(|one| format!("\n  {}", one.sentence(&names))).collect()
}

/// What an earlier part of a run has done, for one that resumes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done<'a> {
    /// Its trials.
    pub trials: &'a Earlier,
    /// What it noted.
    pub notes: &'a [Note],
}

/// Whether nothing is missing of a run that has done this.
#[must_use]
pub fn is_complete(plan: &Plan, done: Done<'_>) -> bool {
    TrialQueue::new(plan, done.trials).next(spent_on(plan, done.trials)).is_none()
        && audit::is_complete(plan, done.notes)
}

/// How repeating ended in a run whose trials are these.
#[cfg(test)]
pub(crate) fn stops(plan: &Plan, earlier: &Earlier) -> Vec<Stop> {
    let mut queue = TrialQueue::new(plan, earlier);
    assert_eq!(queue.next(Duration::ZERO), None, "all trials have ended");
    queue.stops()
}

/// Time that trials took, roughly.
fn spent_on(plan: &Plan, earlier: &Earlier) -> Duration {
    earlier.iter().map(|(trial, _)| plan.trial_time(trial.treatment)).sum()
}

/// Carries out what is not `done` yet: the trials of `plan`, those that repeat invalid ones or are needed for
/// its precision, and its audit. `stop` ends it soon, cleanly.
///
/// # Errors
/// Where it cannot go on. Servers are stopped and removed in any case.
pub fn carry_out(
    plan: &Plan,
    machine: &Machine,
    done: Done<'_>,
    provisioner: &Provisioner,
    stop: &load::Stop,
    reader: &mut Reader<'_>,
) -> Result<(), Error> {
    let servers = plan.servers.iter().map(|_| None).collect();
    let starts = vec![None; plan.servers.len()];
    let links = Links::new(plan, provisioner.launcher())?;
    let (lives, salt) = (Lives::default(), seed::drawn());
    let hosts = Hosts::hold(plan, provisioner.places(), stop).map_err(Error::Agents)?;
    let (threads, contents) = (None, BTreeMap::new());
    let mut run = Run {
        plan,
        provisioner,
        stop,
        reader,
        servers,
        starts,
        lives,
        links,
        salt,
        contents,
        statements_seen: BTreeSet::new(),
        forms: BTreeMap::new(),
        threads,
        hosts,
    };
    let started = Event::RunStarted { plan: Box::new(plan.clone()), machine: Box::new(machine.clone()) };
    run.tell(&started)?;
    let result = run.all(done).map_err(interruption);
    let stopped = run.stop_servers();
    run.tell(&Event::RunFinished { complete: result.is_ok() })?;
    result.and(stopped)
}

/// Why a load was not carried out at all, where that ends the run.
fn not_offered(error: load::Error) -> Error {
    match error {
        load::Error::Pin { processors, source } => Error::Pin { processors, source },
        _ => Error::Interrupted,
    }
}

/// A stop that was heeded while a server was brought up, asked or loaded is one of the run.
fn interruption(error: Error) -> Error {
    match error {
        error if client::is_stop(&error) => Error::Interrupted,
        Error::Provision { source: provision::Error::Interrupted, .. }
        | Error::Agents(loader::AgentsError::Interrupted)
        | Error::Data { source: dataset::Error::Interrupted, .. } => Error::Interrupted,
        other => other,
    }
}

struct Run<'a, 'r> {
    plan: &'a Plan,
    provisioner: &'a Provisioner,
    stop: &'a load::Stop,
    reader: &'a mut Reader<'r>,
    /// Those that are up, by index of [`Plan::servers`].
    servers: Vec<Option<Up>>,
    /// Which of its starts each is in, by [`Plan::start_of`].
    starts: Vec<Option<u32>>,
    lives: Lives,
    links: Links,
    /// What makes seeds of this run differ from those of other runs, where data are not put back.
    salt: u64,
    /// What files of SQL made, by data set and server.
    contents: BTreeMap<(usize, usize), Vec<dataset::Contents>>,
    /// Servers and data sets whose loads' statements were seen.
    statements_seen: BTreeSet<(usize, usize)>,
    /// What the first server that loaded a data set made of its tables.
    forms: BTreeMap<usize, (usize, dataset::Form)>,
    /// Threads of the load engine, where the study does not say how many; `None`: as the engine does.
    threads: Option<u32>,
    hosts: Hosts,
}

impl Run<'_, '_> {
    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        (self.reader)(event).map_err(Error::Reader)
    }

    fn all(&mut self, done: Done<'_>) -> Result<(), Error> {
        let plan = self.plan;
        // where only crashes are missing no server is brought up for trials
        let spent = spent_on(plan, done.trials);
        if plan.audit.is_none() || TrialQueue::new(plan, done.trials).next(spent).is_some() {
            self.trials(done.trials)?;
        }
        match &plan.audit {
            Some(wish) => self.audits(wish, done.notes),
            None => Ok(()),
        }
    }

    fn trials(&mut self, earlier: &Earlier) -> Result<(), Error> {
        let plan = self.plan;
        let (begun, before) = (Instant::now(), spent_on(plan, earlier));
        let mut queue = TrialQueue::new(plan, earlier);
        let mut knees = profile::Knees::default();
        self.bring_up_all(earlier)?;
        self.choose_threads(earlier)?;
        while let Some((trial, because)) = queue.next(before + begun.elapsed()) {
            if let Some(because) = because {
                self.tell(&Event::TrialAdded { trial, because })?;
            }
            let outcome = self.trial(&trial)?;
            knees.saw(plan.treatments[trial.treatment].server, trial, &outcome);
            queue.ended(trial, &outcome);
            if self.is_given_up(&trial).is_some() {
                queue.gives_up(trial.treatment);
            }
        }
        if plan.telemetry.profile {
            self.profile(&knees)?;
        }
        for stop in queue.stops() {
            self.tell(&Event::Noted(Note::Stopped(stop)))?;
        }
        Ok(())
    }

    /// Brings up every server that has a trial left; all of them, where trials may be added.
    fn bring_up_all(&mut self, earlier: &Earlier) -> Result<(), Error> {
        let plan = self.plan;
        let is_done = |trial: &Trial| earlier.iter().any(|(done, _)| done.number == trial.number);
        let mut todo: Vec<&Trial> = plan.trials.iter().filter(|trial| !is_done(trial)).collect();
        if todo.is_empty() {
            todo = plan.trials.iter().collect();
        }
        let treatments: BTreeSet<usize> = todo.iter().map(|trial| trial.treatment).collect();
        self.check_space()?;
        refuse_shared_settings(&plan.servers)?;
        self.refuse_foreign_tables(&treatments)?;
        let of_server = |index: usize| -> Vec<usize> {
            treatments.iter().copied().filter(|&each| plan.treatments[each].server == index).collect()
        };
        let needed: Vec<usize> =
            (0..plan.servers.len()).filter(|&index| !of_server(index).is_empty()).collect();
        for &index in &needed {
            self.have_program(index)?;
        }
        for &index in &needed {
            self.check_copies(index, &of_server(index))?;
        }
        for &index in &needed {
            self.bring_up(index, &of_server(index))?;
        }
        self.compare_servers()
    }

    fn trial(&mut self, trial: &Trial) -> Result<TrialOutcome, Error> {
        self.heed_stop()?;
        if let Some(reason) = self.is_given_up(trial) {
            return self.lost(trial, reason);
        }
        match self.make_ready(trial) {
            Ok((trial, reached, known)) => {
                self.was_ready(&trial);
                self.offer(&trial, reached, &known)
            }
            Err(error) => self.not_ready(trial, error),
        }
    }

    /// Brings a trial's server into the state in which it is to begin, from the dead if need be. The
    /// trial with the seed that it gets, how the server is reached, and what speaks against the trial by now.
    fn make_ready(&mut self, trial: &Trial) -> Result<(Trial, Reached, Vec<Doubt>), Error> {
        let plan = self.plan;
        let treatment = &plan.treatments[trial.treatment];
        let start = plan.start_of(trial.block);
        self.hosts.await_all(treatment.client.agents_wait, self.stop).map_err(Error::Agents)?;
        self.await_elsewhere(treatment.server)?;
        if self.revive(treatment.server)? {
            self.starts[treatment.server] = Some(start);
        }
        self.start(treatment.server, start)?;
        let began = self.prepare(trial)?;
        self.see_statements(treatment.server, treatment.data)?;
        let mut known = self.see_conditions(treatment.server, treatment.data)?;
        known.extend(began.doubt());
        let trial = Trial { seed: began.seed.unwrap_or(trial.seed), ..*trial };
        Ok((trial, self.reach(treatment.server, treatment)?, known))
    }

    fn offer(&mut self, trial: &Trial, reached: Reached, known: &[Doubt]) -> Result<TrialOutcome, Error> {
        let plan = self.plan;
        let treatment = &plan.treatments[trial.treatment];
        let stop = self.stop;
        // what is sampled beside the load must not take the servers' processors either
        let _pinned = Pinned::to(&treatment.client.pin).map_err(not_offered)?;
        let loader = self.loader(treatment);
        let sought = seek::seek((plan, trial), &reached, &*loader, stop, self.reader)?;
        let up = self.up(treatment.server);
        let follower = Follower::begin(&up.group, stop);
        let nodes = nodes::nodes(&up.group, &plan.servers[treatment.server]);
        let Self { links, servers, stop, reader, .. } = self;
        links.begin();
        let relays = links.relays();
        let mut look = || {
            let died = servers[treatment.server].as_mut().and_then(|up| up.group.check().err());
            let up = servers[treatment.server].as_ref().filter(|_| died.is_none());
            let moved = up.map(variables::doubts).unwrap_or_default();
            let data = &plan.data_sets[treatment.data];
            let broken = up.map(|up| conditions::doubts(up, data, stop)).unwrap_or_default();
            (
                links.doubts().into_iter().chain(known.iter().cloned()).chain(moved).chain(broken).collect(),
                died.map(|error| TrialFailure::ServerDied { cause: (&error).into() }),
            )
        };
        let scene = Scene { loader: &*loader, reached, nodes: &nodes, relays, follower, sought };
        let outcome = trial::carry_out(plan, trial, scene, &mut look, stop, reader)?;
        // a trial that failed by it has said so
        let is_told = matches!(outcome, TrialOutcome::Failed(_)) && self.death(treatment.server).is_some();
        self.up(treatment.server).death_told = is_told;
        Ok(outcome)
    }

    /// What carries the loads of a treatment out.
    fn loader(&self, treatment: &Treatment) -> Box<dyn Loader> {
        let client = &treatment.client;
        let here = || loader::in_processes(client.processes, &client.pin, self.provisioner.launcher());
        self.hosts.loader(client).unwrap_or_else(here)
    }

    /// Restarts a server that is in another of its starts.
    fn start(&mut self, server: usize, start: u32) -> Result<(), Error> {
        match self.starts[server].replace(start) {
            Some(earlier) if earlier != start => self.restart(server),
            _ => Ok(()),
        }
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
