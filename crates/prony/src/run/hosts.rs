//! The load hosts of a run: called before anything of it begins, or started for it.

use crate::{
    loader::{Agents, AgentsError},
    plan::{Client, Kubernetes, Plan, ServerSource, Treatment},
    provision::{self, Places},
};
use load::{Loader, Stop, agent::Wants};
use std::{collections::BTreeSet, net::IpAddr, path::PathBuf, time::Duration};

/// Where certificates of agents are, if not in the user's configuration.
const DIRECTORY: &str = "PRONY_AGENTS_DIR";

/// Why load hosts must be on this machine, unless a server was told otherwise.
const WHY_NEAR: &str = "Prony starts it on this machine, at 127.0.0.1; `listen` gives it another address";

/// All load hosts of a plan.
pub(super) struct Hosts {
    /// Those that it names.
    listed: Option<Agents>,
    /// Those that were started, by what was asked for.
    started: Vec<(Kubernetes, Agents)>,
}

/// Whether a load comes from other machines.
pub(super) fn is_elsewhere(client: &Client) -> bool {
    !client.agents.is_empty() || client.kubernetes.is_some()
}

impl Hosts {
    /// Calls those that the plan names, and starts those that it wants.
    pub(super) fn hold(plan: &Plan, places: &Places, stop: &Stop) -> Result<Self, AgentsError> {
        let mut hosts = Self { listed: listed(plan, places)?, started: Vec::new() };
        for treatment in &plan.treatments {
            let Some(wish) = &treatment.client.kubernetes else { continue };
            if hosts.started.iter().any(|(other, _)| other.is_like(wish)) {
                continue;
            }
            let alike = |other: &&Treatment| {
                other.client.kubernetes.as_ref().is_some_and(|other| other.is_like(wish))
            };
            let alike: Vec<&Treatment> = plan.treatments.iter().filter(alike).collect();
            let replicas =
                alike.iter().filter_map(|one| Some(one.client.kubernetes.as_ref()?.replicas)).max();
            let wish = Kubernetes { replicas: replicas.unwrap_or(wish.replicas), ..wish.clone() };
            let wants = Wants { targets: targets(plan, &alike), ..wants(plan, &alike) };
            let agents = Agents::in_pods(&wish, name(plan), wants, stop)?;
            hosts.started.push((wish, agents));
        }
        Ok(hosts)
    }

    /// Waits until all are there, for so long at most.
    pub(super) fn await_all(&mut self, limit: Duration, stop: &Stop) -> Result<(), AgentsError> {
        let started = self.started.iter_mut().map(|(_, agents)| agents);
        self.listed.iter_mut().chain(started).try_for_each(|agents| agents.await_all(limit, stop))
    }

    /// What carries the loads of a treatment out; `None`: this machine.
    pub(super) fn loader(&self, client: &Client) -> Option<Box<dyn Loader>> {
        if let Some(wish) = &client.kubernetes {
            let (_, agents) = self.started.iter().find(|(other, _)| other.is_like(wish))?;
            let names: Vec<&str> = agents.names().take(wish.replicas as usize).collect();
            return Some(agents.loader(&names));
        }
        let listed = self.listed.as_ref().filter(|_| !client.agents.is_empty())?;
        Some(listed.loader(&client.agents))
    }
}

fn name(plan: &Plan) -> String {
    format!("the study {}", plan.name)
}

fn listed(plan: &Plan, places: &Places) -> Result<Option<Agents>, AgentsError> {
    let treatments: Vec<&Treatment> =
        plan.treatments.iter().filter(|treatment| !treatment.client.agents.is_empty()).collect();
    let all: BTreeSet<&String> = treatments.iter().flat_map(|treatment| &treatment.client.agents).collect();
    let addresses: Vec<String> = all.into_iter().cloned().collect();
    if addresses.is_empty() {
        return Ok(None);
    }
    let given = std::env::var_os(DIRECTORY).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = given.unwrap_or_else(|| places.config.join("agents"));
    let agents = Agents::hold(&addresses, &directory, name(plan), wants(plan, &treatments))?;
    treatments.iter().try_for_each(|treatment| check_reach(plan, treatment, &agents))?;
    Ok(Some(agents))
}

/// Refuses a treatment whose load hosts cannot reach its server, before anything is started.
fn check_reach(plan: &Plan, treatment: &Treatment, agents: &Agents) -> Result<(), AgentsError> {
    let (server, client) = (&plan.servers[treatment.server], &treatment.client);
    let name = format!("server `{}`", server.name);
    let round_trip = server.latency.or(client.latency).unwrap_or_default();
    if !round_trip.is_zero() || client.bandwidth.is_some() {
        let why = "the network with a latency or bandwidth that Prony puts before it is on this machine";
        return agents.check_near(&client.agents, &name, why);
    }
    match &server.source {
        ServerSource::Url(url) => match provision::target::resolve(Some(url), None) {
            Ok(target) => agents.check_reach(&client.agents, &name, &target.address),
            // a wrong one is told when the server is looked for
            Err(_) => Ok(()),
        },
        _ if server.is_open() => Ok(()),
        _ => agents.check_near(&client.agents, &name, WHY_NEAR),
    }
}

/// The most that these will ask of one load host. Where servers are is known once they are up; each load is
/// checked for that.
fn wants(plan: &Plan, treatments: &[&Treatment]) -> Wants {
    let of_treatment = |treatment: &&Treatment| {
        let client = &treatment.client;
        let pods = client.kubernetes.as_ref().map(|wish| wish.replicas);
        let parts = pods.unwrap_or_else(|| u32::try_from(client.agents.len()).unwrap_or(u32::MAX));
        Wants::of_streams(&treatment.streams, plan.before_interval() + plan.interval, parts)
    };
    treatments.iter().map(of_treatment).reduce(Wants::or).unwrap_or_default()
}

/// Where their servers are, or will be.
fn targets(plan: &Plan, treatments: &[&Treatment]) -> Vec<String> {
    let at = |treatment: &&Treatment| {
        let server = &plan.servers[treatment.server];
        match (&server.source, server.listen) {
            (ServerSource::Url(url), _) => {
                Some(provision::target::resolve(Some(url), None).ok()?.address.to_string())
            }
            (_, Some(IpAddr::V6(address))) => Some(format!("[{address}]:*")),
            (_, Some(IpAddr::V4(address))) => Some(format!("{address}:*")),
            (_, None) => None,
        }
    };
    let found: BTreeSet<String> = treatments.iter().filter_map(at).collect();
    found.into_iter().collect()
}
