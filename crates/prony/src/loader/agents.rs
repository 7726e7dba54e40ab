//! Load hosts elsewhere, as a run uses them: all are called before it begins, and belong to the run until it
//! ends. They are there already, or are started for the run as pods.

use super::{
    certificates, host,
    pods::{self, BEGIN_MAX, Pods, REACH_MAX},
    ports::is_loopback,
};
use crate::plan::Kubernetes;
use load::{
    Error as LoadError, Link, Loader, Outcome, PartFailure, Parts, Progress, Spec, Stop, WarmUp,
    agent::{self, Hold, Host, Wants},
    spec::Address,
    tls::Identity,
};
use std::{
    hash::{BuildHasher as _, RandomState},
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How often agents that were lost are called again.
const RETURN_PAUSE: Duration = Duration::from_millis(500);

/// Why there are no load hosts.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The certificates.
    #[error(transparent)]
    Certificates(#[from] certificates::Error),
    /// Some cannot be had.
    #[error("{}", lines(.0))]
    Refused(Vec<(String, PartFailure)>),
    /// There are no pods for them.
    #[error(transparent)]
    Pods(#[from] pods::Error),
    /// Some cannot reach a server.
    #[error(
        "the load hosts {} are not on this machine and cannot reach {server}: {why}; give the server a `url` \
         that they can reach, or start these agents on this machine",
        agents.join(", ")
    )]
    OutOfReach {
        /// Which.
        agents: Vec<String>,
        /// What they cannot reach: `server a`.
        server: String,
        /// Why.
        why: &'static str,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A line for each agent.
fn lines(failures: &[(String, PartFailure)]) -> String {
    let lines: Vec<String> =
        failures.iter().map(|(agent, failure)| format!("agent {agent}: {failure}")).collect();
    lines.join("\n")
}

/// A link whose load host is known to be on this machine or not.
fn found(mut link: Link) -> Link {
    let (machine, _) = host::place();
    if let Some(host) = &mut link.host {
        host.is_here = !machine.is_empty() && host.machine == machine;
    }
    link
}

/// The agents of a run.
pub struct Agents {
    identity: Arc<Identity>,
    run: Arc<(String, u64)>,
    wants: Wants,
    places: Vec<Place>,
    /// Where they were started for the run.
    pods: Option<Arc<Pods>>,
}

/// Where an agent is, and whether it is the run's.
struct Place {
    /// How it is called in messages.
    name: String,
    /// `HOST:PORT`
    address: String,
    hold: Result<Hold, PartFailure>,
}

impl Agents {
    /// Calls the agents at these addresses (`HOST:PORT`); they are the run's until this is dropped, and will
    /// be asked for no more than `wants`. `directory` is the one that `prony agent init` made.
    ///
    /// # Errors
    /// What is wrong with each.
    pub fn hold(addresses: &[String], directory: &Path, run: String, wants: Wants) -> Result<Self, Error> {
        let identity = certificates::coordinator(directory)?;
        let mut agents = Self::new(identity, addresses, run, wants);
        agents.call_lost();
        match agents.refused() {
            failures if failures.is_empty() => Ok(agents),
            failures => Err(Error::Refused(failures)),
        }
    }

    /// Starts pods with agents that offer load to the targets of `wants`; they are removed when this is
    /// dropped.
    ///
    /// # Errors
    /// What keeps them from beginning.
    pub fn in_pods(wish: &Kubernetes, run: String, wants: Wants, stop: &Stop) -> Result<Self, Error> {
        let (pods, identity) = Pods::create(wish, &wants.targets)?;
        let mut agents = Self::new(identity, &pods.names(), run, wants);
        agents.pods = Some(Arc::new(pods));
        agents.await_pods(stop)?;
        Ok(agents)
    }

    fn new(identity: Identity, names: &[String], run: String, wants: Wants) -> Self {
        let place = |name: &String| Place {
            name: name.clone(),
            address: name.clone(),
            hold: Err(PartFailure::Unreachable { cause: String::new() }),
        };
        // tells runs of one name apart, and nothing else
        let run = Arc::new((run, RandomState::new().hash_one(std::process::id())));
        let places = names.iter().map(place).collect();
        Self { identity: Arc::new(identity), run, wants, places, pods: None }
    }

    /// Waits until all pods have begun and their agents answer.
    fn await_pods(&mut self, stop: &Stop) -> Result<(), Error> {
        let Some(pods) = self.pods.clone() else { return Ok(()) };
        let (begun, mut all_run_since) = (Instant::now(), None);
        loop {
            let all_run = self.find()?;
            self.call_lost();
            let failures = self.refused();
            let Some((pod, failure)) = failures.first() else { break };
            if stop.is_stopped() {
                return Err(Error::Interrupted);
            }
            all_run_since = all_run.then(|| all_run_since.unwrap_or_else(Instant::now));
            match failure {
                PartFailure::Unreachable { cause }
                    if all_run_since.is_some_and(|since| since.elapsed() > REACH_MAX) =>
                {
                    let (pod, cause) = (pod.clone(), cause.clone());
                    return Err(pods::Error::NoRoute { pod, cause }.into());
                }
                PartFailure::Unreachable { .. } | PartFailure::Refused { .. } => {}
                // waiting changes nothing
                _ => return Err(Error::Refused(failures)),
            }
            if begun.elapsed() > BEGIN_MAX {
                return Err(pods.late(failures.len(), format!("{pod}: {failure}")).into());
            }
            thread::sleep(RETURN_PAUSE);
        }
        Ok(pods.have_begun()?)
    }

    /// Finds out where the pods are now. Whether all run.
    fn find(&mut self) -> Result<bool, pods::Error> {
        let Some(pods) = &self.pods else { return Ok(true) };
        let found = pods.look()?;
        let all_run = found.iter().all(|found| found.address.is_some());
        for (place, found) in self.places.iter_mut().zip(found) {
            match found.address {
                Some(address) if address == place.address => {}
                Some(address) => {
                    place.address = address;
                    place.hold = Err(PartFailure::Unreachable { cause: "it was not called yet".to_owned() });
                }
                None => {
                    place.address.clear();
                    place.hold = Err(PartFailure::Refused { cause: found.why });
                }
            }
        }
        Ok(all_run)
    }

    /// Calls those that are not held, all at the same time.
    fn call_lost(&mut self) {
        let Self { identity, run, wants, places, .. } = self;
        let lost = places.iter_mut().filter(|place| place.is_lost());
        thread::scope(|scope| {
            for place in lost {
                let (identity, run, wants) = (&**identity, (&*run.0, run.1), wants.clone());
                scope.spawn(move || place.hold = agent::hold(&place.address, identity, run, wants));
            }
        });
    }

    fn refused(&self) -> Vec<(String, PartFailure)> {
        let failure = |place: &Place| Some((place.name.clone(), place.hold.as_ref().err()?.clone()));
        self.places.iter().filter_map(failure).collect()
    }

    /// What they are.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &Host)> {
        self.places.iter().filter_map(|place| Some((&*place.name, &place.hold.as_ref().ok()?.host)))
    }

    /// How they are called, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| &*place.name)
    }

    /// Whether the server that this address leads to is on this machine alone, so that none of these agents
    /// that is elsewhere can reach it.
    ///
    /// # Errors
    /// Which cannot.
    pub fn check_reach(&self, agents: &[String], server: &str, address: &Address) -> Result<(), Error> {
        match address {
            Address::Unix(_) => self.check_near(agents, server, "a Unix socket leads to it"),
            Address::Tcp { host, .. } if is_loopback(host) => {
                self.check_near(agents, server, "its address is one of this machine alone")
            }
            Address::Tcp { .. } => Ok(()),
        }
    }

    /// Fails where one of these agents is on another machine, or in another network of this one, and so
    /// cannot reach a server, because `why`.
    ///
    /// # Errors
    /// Which.
    pub fn check_near(&self, agents: &[String], server: &str, why: &'static str) -> Result<(), Error> {
        let (machine, network) = host::place();
        let is_near = |host: &Host| !machine.is_empty() && host.machine == machine && host.network == network;
        let is_far = |agent: &&str| self.hosts().any(|(address, host)| address == *agent && !is_near(host));
        let far: Vec<String> =
            agents.iter().map(|agent| &**agent).filter(is_far).map(str::to_owned).collect();
        match far.is_empty() {
            true => Ok(()),
            false => Err(Error::OutOfReach { agents: far, server: server.to_owned(), why }),
        }
    }

    /// Waits until all are there, for so long at most.
    ///
    /// # Errors
    /// What is wrong with each that is not.
    pub fn await_all(&mut self, limit: Duration, stop: &Stop) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let found = if self.places.iter().any(Place::is_lost) { self.find() } else { Ok(true) };
            self.call_lost();
            let failures = self.refused();
            if found.is_ok() && failures.is_empty() {
                return Ok(());
            }
            if stop.is_stopped() {
                return Err(Error::Interrupted);
            }
            if begun.elapsed() > limit {
                found?;
                return Err(Error::Refused(failures));
            }
            thread::sleep(RETURN_PAUSE);
        }
    }

    /// The loader that uses the agents with these names.
    #[must_use]
    pub fn loader(&self, names: &[impl AsRef<str>]) -> Box<dyn Loader> {
        let processors = self.hosts().map(|(_, host)| host.processors).min().unwrap_or(1);
        let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let place = |name: &str| self.places.iter().find(|place| place.name == name);
        let called = names.iter().filter_map(|name| place(name.as_ref()));
        let called: Vec<_> = called.map(|place| (place.name.clone(), place.address.clone())).collect();
        let (identity, run) = (Arc::clone(&self.identity), Arc::clone(&self.run));
        let start = move |of: u32| {
            let called: Vec<_> = thread::scope(|scope| {
                let call = |(name, address): &(String, String)| {
                    let (identity, run) = (&*identity, (&*run.0, run.1));
                    let (name, address) = (format!("agent {name}"), address.clone());
                    scope.spawn(move || match agent::call(&address, identity, run) {
                        Ok(link) => Ok(Link { name, ..found(link) }),
                        Err(failure) => Err(LoadError::Part { part: name, failure }),
                    })
                };
                let calls: Vec<_> = called.iter().take(of as usize).map(call).collect();
                let gone = || std::io::Error::other("a thread that called an agent panicked").into();
                calls.into_iter().map(|call| call.join().unwrap_or_else(|_| Err(gone()))).collect()
            });
            called.into_iter().collect()
        };
        let parts = Parts::new(count, start).on_machines_of(processors);
        match &self.pods {
            None => Box::new(parts),
            Some(pods) => Box::new(InPods { parts, pods: Arc::clone(pods) }),
        }
    }
}

impl Place {
    fn is_lost(&self) -> bool {
        self.hold.as_ref().map_or(true, Hold::is_lost)
    }
}

/// Parts in pods: the cluster knows best why one is lost.
struct InPods {
    parts: Parts,
    pods: Arc<Pods>,
}

impl Loader for InPods {
    fn run_until_warm(
        &self,
        spec: &Spec,
        stop: &Stop,
        tell: &mut dyn FnMut(Progress) -> WarmUp,
    ) -> Result<Outcome, LoadError> {
        self.parts.run_until_warm(spec, stop, tell).map_err(|error| match error {
            LoadError::Part { part, failure } => {
                let failure = self.pods.explained(&part, failure);
                LoadError::Part { part, failure }
            }
            error => error,
        })
    }

    fn workers_max(&self, spec: &Spec) -> u32 {
        self.parts.workers_max(spec)
    }
}
