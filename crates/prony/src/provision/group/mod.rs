//! Servers that work together as one of the plan's: a primary with its replicas, the nodes of a cluster.
//!
//! [`Group`] is what a run holds for each server of its plan, even where that is a single one. All nodes are
//! started alike, each with its own data directory, port and account, from the same empty template; then they
//! are connected. The caller says how a node reaches another one ([`Between`]), so that a network with a
//! latency can stand in between.

mod crash;
mod galera;
mod health;
mod replication;
mod words;

pub use health::{Cluster, Fault, Health, SemiSync, Watch};

use crate::{
    plan::{Act, ServerPlan, Topology},
    provision::{
        Error, Site, Step,
        instance::{Part, STOP_LIMIT},
        launch,
        login::log_in,
        provisioner::Provisioner,
        server::Server,
        software::{Software, search},
    },
};
use load::{
    Stop,
    client::Connection,
    spec::{Address, Target},
};
use std::{
    io,
    time::{Duration, Instant},
};

/// How long a control connection to a node may take to open.
const LOGIN_LIMIT: Duration = Duration::from_secs(20);
/// How long nodes may take to be connected and equal at the start, where they have next to nothing to copy.
const JOIN_LIMIT: Duration = Duration::from_secs(60);
/// How often nodes are asked whether they have caught up.
const POLL: Duration = Duration::from_millis(20);

/// Says at which address node `from` reaches node `to`, given where `to` really listens; nodes are numbered
/// as in [`Group::servers`]. Whatever stands in between is there when this returns.
pub type Between<'a> = dyn FnMut(usize, usize, &Address) -> io::Result<Address> + 'a;

/// Nodes reach each other directly.
///
/// # Errors
/// Never.
pub fn directly(_from: usize, _to: usize, address: &Address) -> io::Result<Address> {
    Ok(address.clone())
}

/// Servers that answer and work together as one of the plan's; one at least.
#[derive(Debug)]
pub struct Group {
    topology: Topology,
    primary: Server,
    members: Vec<Server>,
}

impl Group {
    /// The only server, or the one that is written to: data is loaded here.
    #[must_use]
    pub fn primary(&self) -> &Server {
        &self.primary
    }

    /// The same, to be stopped and started.
    pub fn primary_mut(&mut self) -> &mut Server {
        &mut self.primary
    }

    /// The others: replicas, or further nodes of a cluster.
    #[must_use]
    pub fn members(&self) -> &[Server] {
        &self.members
    }

    /// All, the primary first.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        [&self.primary].into_iter().chain(&self.members)
    }

    /// Whether all of them still run, as far as that can be known.
    ///
    /// # Errors
    /// Those of [`Server::check`] of the first one that does not.
    pub fn check(&mut self) -> Result<(), Error> {
        [&mut self.primary].into_iter().chain(&mut self.members).try_for_each(Server::check)
    }

    /// How they work together.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// Waits until every member has what the primary has committed by now.
    ///
    /// # Errors
    /// [`Error::NotCaughtUp`] after `limit`, [`Error::ReplicationStopped`], [`Error::Interrupted`] where
    /// `stop` is pulled.
    pub fn wait_until_equal(&self, limit: Duration, stop: &Stop) -> Result<(), Error> {
        let began = Instant::now();
        match self.topology {
            Topology::Single => Ok(()),
            Topology::Replicas { replication, .. } => {
                replication::wait_until_equal(self, replication, began + limit, stop)
            }
            Topology::Galera { nodes } => galera::wait_until_equal(self, nodes, began + limit, stop),
        }
    }

    /// Asks the servers how they work together, without holding them.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch::of(self)
    }

    /// Stops all, members first, so that none misses its primary. Dropping does the same but cannot report an
    /// error.
    ///
    /// # Errors
    /// [`Error::File`] if something of one cannot be removed; the others are stopped in any case.
    pub fn stop(self) -> Result<(), Error> {
        let mut result = Ok(());
        for server in self.members.into_iter().rev().chain([self.primary]) {
            result = result.and(server.stop());
        }
        result
    }
}

impl From<Server> for Group {
    fn from(primary: Server) -> Self {
        Self { topology: Topology::Single, primary, members: Vec::new() }
    }
}

/// Servers that are to be brought up as one.
struct Wanted<'a> {
    provisioner: &'a Provisioner,
    plan: &'a ServerPlan,
    /// Of the data that each must have room for.
    data_bytes: u64,
}

impl Wanted<'_> {
    /// The program of all of them.
    fn software(&self, progress: &mut dyn FnMut(Step)) -> Result<Software, Error> {
        search::of_source(&self.plan.source, &mut self.provisioner.work(progress))
    }

    /// One of them.
    fn node(&self, part: &Part, progress: &mut dyn FnMut(Step)) -> Result<Server, Error> {
        self.provisioner.bring_up_node(self.plan, part, self.data_bytes, progress)
    }

    /// All of them.
    fn group(&self, primary: Server, members: Vec<Server>) -> Group {
        Group { topology: self.plan.topology, primary, members }
    }
}

impl Provisioner {
    /// Makes the program of the server of `plan` available, fetched if necessary, so that nothing has started
    /// yet if one is not available or cannot work together with others as asked; `progress` as in
    /// [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Each says what to do next.
    pub fn have_program(&self, plan: &ServerPlan, progress: &mut dyn FnMut(Step)) -> Result<(), Error> {
        if !plan.may(Act::Start) {
            return Ok(());
        }
        if let Some(address) = plan.listen {
            launch::free_port(&Site::At(address))?;
        }
        let software = search::of_source(&plan.source, &mut self.work(progress))?;
        match plan.topology {
            Topology::Replicas { replication, .. } => {
                replication::check(&software, words::Words::of(&software), replication)
            }
            Topology::Single | Topology::Galera { .. } => Ok(()),
        }
    }

    /// Brings up all servers that work together as the one of `plan`, each with room for `data_bytes` of
    /// data, and connects them; `progress` as in [`Provisioner::bring_up`].
    ///
    /// # Errors
    /// Each says what to do next; nothing is left behind but the cache.
    pub fn bring_up_group(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        between: &mut Between<'_>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Group, Error> {
        let wanted = Wanted { provisioner: self, plan, data_bytes };
        let group = match plan.topology {
            Topology::Single => return self.bring_up(plan, data_bytes, progress).map(Group::from),
            Topology::Replicas { count, replication } => {
                replication::bring_up(&wanted, count, replication, between, progress)?
            }
            Topology::Galera { nodes } => galera::bring_up(&wanted, nodes, between, progress)?,
        };
        group.wait_until_equal(JOIN_LIMIT, self.stop())?;
        Ok(group)
    }
}

impl Provisioner {
    /// Restarts all servers on their data, at the same addresses, and waits until they are equal again.
    /// Returns whether it did: a server that Prony did not start is left alone.
    ///
    /// # Errors
    /// Those of [`Provisioner::restart`] and [`Group::wait_until_equal`].
    pub fn restart_group(&self, group: &mut Group, progress: &mut dyn FnMut(Step)) -> Result<bool, Error> {
        if group.members.is_empty() {
            return self.restart(&mut group.primary, progress);
        }
        progress(Step::RestartingAll);
        for server in group.members.iter_mut().rev().chain([&mut group.primary]) {
            if let Server::Own(instance) = server {
                instance.end_process(STOP_LIMIT);
            }
        }
        // the first one of a cluster was the last to end, and knows all
        for server in [&mut group.primary].into_iter().chain(&mut group.members) {
            if let Server::Own(instance) = server {
                instance.start_again(&self.work(progress))?;
            }
        }
        group.wait_until_equal(JOIN_LIMIT, self.stop())?;
        Ok(true)
    }
}

/// A control connection to a node.
fn connect(target: &Target) -> Result<Connection, Error> {
    log_in(target)
}

/// What is missing until servers that work together are equal.
#[derive(Debug, thiserror::Error)]
pub enum Lag {
    /// A replica has not applied everything yet.
    #[error("replica {replica} has not applied everything yet")]
    Behind {
        /// Its number, from 1.
        replica: u32,
    },
    /// The same, and it does not get on.
    #[error("replica {replica} has not applied everything yet ({reason})")]
    Stuck {
        /// Its number, from 1.
        replica: u32,
        /// Why, in the server's words.
        reason: String,
    },
    /// A replica does not replicate yet.
    #[error("replica {replica} has not started")]
    NotStarted {
        /// Its number, from 1.
        replica: u32,
    },
    /// Too few replicas acknowledge commits.
    #[error("{replicas} replicas would acknowledge a commit, {wanted} must")]
    Acknowledging {
        /// How many do.
        replicas: u32,
        /// How many must.
        wanted: u32,
    },
    /// The node that was left after a crash does not know yet how many are left.
    #[error("the node that is left sees {seen} nodes")]
    Left {
        /// How many it sees, itself included.
        seen: u32,
    },
    /// It does not answer yet.
    #[error("the node that is left does not answer: {0}")]
    Silent(Box<Error>),
    /// A node of a cluster does not see all others, or has not all that they have.
    #[error("node {node} sees {seen} of {nodes} nodes")]
    Incomplete {
        /// Its number, from 1.
        node: u32,
        /// How many it sees, itself included.
        seen: u32,
        /// How many there are.
        nodes: u32,
    },
}

/// Asks `is_equal` until it says yes. If it never does, its last answer is in the error.
fn wait_until(
    deadline: Instant,
    stop: &Stop,
    is_equal: &mut dyn FnMut() -> Result<Option<Lag>, Error>,
) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let Some(lag) = is_equal()? else { return Ok(()) };
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
        if Instant::now() >= deadline {
            return Err(Error::NotCaughtUp { lag, after: began.elapsed() });
        }
        std::thread::sleep(POLL);
    }
}
