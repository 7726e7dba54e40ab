//! The crash of a primary under load, and which server has its data afterwards.

use super::{
    Group, Lag, connect, galera,
    replication::{State, words_of},
    wait_until,
};
use crate::{
    plan::Topology,
    provision::{Error, Step, login::target::shown, provisioner::Provisioner, server::Server},
};
use load::spec::Target;
use std::time::{Duration, Instant};

/// How long a replica may take to carry out what it has received.
const APPLY_LIMIT: Duration = Duration::from_secs(120);

impl Group {
    /// Kills the primary as `kill -9` does: what it had not handed to the operating system is lost. False:
    /// Prony did not start it, and did not touch it.
    pub fn crash(&mut self) -> bool {
        let Server::Own(instance) = &mut self.primary else { return false };
        instance.kill();
        true
    }
}

impl Group {
    /// Takes the primary out of its cluster without telling the other nodes, as when its network is cut. For
    /// other groups, cutting what lies between is enough.
    ///
    /// # Errors
    /// What the node says.
    pub fn isolate(&self) -> Result<(), Error> {
        if !matches!(self.topology, Topology::Galera { .. }) {
            return Ok(());
        }
        let target = self.primary.target();
        let isolate = "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'";
        super::replication::query(&mut connect(target)?, target, isolate).map(drop)
    }
}

impl Provisioner {
    /// After a crash, the server at which applications would continue: the primary itself, restarted on its
    /// files, where it is alone; the first replica, once it has applied all that it received; or a node of
    /// the remaining cluster, which is told that it may continue alone.
    ///
    /// # Errors
    /// A server that does not come up, or a replica that does not catch up.
    pub fn survivor(&self, group: &mut Group, progress: &mut dyn FnMut(Step)) -> Result<Target, Error> {
        match group.topology {
            Topology::Single => {
                progress(Step::RestartingKilled);
                if let Server::Own(instance) = &mut group.primary {
                    instance.start_again(&self.work(progress))?;
                }
                Ok(group.primary.target().clone())
            }
            Topology::Replicas { .. } => {
                progress(Step::Applying);
                let replica = &group.members[0];
                let (target, words) = (replica.target(), words_of(replica));
                let mut connection = connect(target)?;
                super::replication::query(&mut connection, target, words.stop_receiving())?;
                wait_until(Instant::now() + APPLY_LIMIT, self.stop(), &mut || {
                    let state = State::of(&mut connection, target, words)?;
                    Ok((!state.has_carried_out_all()).then_some(Lag::Behind { replica: 1 }))
                })?;
                Ok(target.clone())
            }
            Topology::Galera { .. } => {
                let target = group.members[0].target();
                let others = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
                progress(Step::Regrouping);
                // a node that finds itself without a majority closes connections, new ones as well
                wait_until(Instant::now() + APPLY_LIMIT, self.stop(), &mut || {
                    Ok(go_on_without(target, others)
                        .unwrap_or_else(|error| Some(Lag::Silent(Box::new(error)))))
                })?;
                let mut connection = connect(target)?;
                // a statement that waits until all that it received is there
                super::replication::query(&mut connection, target, "SET SESSION wsrep_sync_wait = 1")?;
                let wait = "SELECT COUNT(*) FROM information_schema.SCHEMATA";
                super::replication::query(&mut connection, target, wait)?;
                Ok(target.clone())
            }
        }
    }
}

/// Tells a node that it may go on with `others` nodes, itself included. `None` where it does.
fn go_on_without(target: &Target, others: u32) -> Result<Option<Lag>, Error> {
    let mut connection = connect(target)?;
    let status = galera::status(&mut connection);
    let state =
        status.map_err(|source| Error::Statement { server: shown(target), source: Box::new(source) })?;
    if state.nodes == others && state.is_synced {
        return Ok(None);
    }
    // the rest of two nodes is no majority, and of more only after a while; of a majority it is no news
    if !state.is_synced {
        let go_on = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'";
        super::replication::query(&mut connection, target, go_on)?;
    }
    Ok(Some(Lag::Left { seen: state.nodes }))
}
