//! A primary that is killed under load, and who has its data then.

use super::{
    Group, connect,
    replication::{State, words_of},
    wait_until,
};
use crate::{
    plan::Topology,
    provision::{Error, provisioner::Provisioner, server::Server},
};
use load::spec::Target;
use std::time::{Duration, Instant};

/// How long a replica may take to carry out what it has received.
const APPLY_LIMIT: Duration = Duration::from_secs(120);

impl Group {
    /// Kills the primary as `kill -9` does: what it had not handed to the operating system is gone. False: it
    /// is not Prony's own, and was not touched.
    pub fn crash(&mut self) -> bool {
        let Server::Own(instance) = &mut self.primary else { return false };
        instance.kill();
        true
    }
}

impl Provisioner {
    /// After a crash, the server at which applications would go on: the primary itself, started again on its
    /// files, where it is alone; the first replica, once it has carried out all that it received; a node of
    /// the cluster that is left, which is told that it may go on alone.
    ///
    /// # Errors
    /// A server that does not come up, or a replica that does not catch up.
    pub fn survivor(&self, group: &mut Group, progress: &mut dyn FnMut(&str)) -> Result<Target, Error> {
        match group.topology {
            Topology::Single => {
                progress("starting the killed server again");
                if let Server::Own(instance) = &mut group.primary {
                    instance.start_again(&self.work(progress))?;
                }
                Ok(group.primary.target().clone())
            }
            Topology::Replicas { .. } => {
                progress("waiting until the replica has carried out what it received");
                let replica = &group.members[0];
                let (target, words) = (replica.target(), words_of(replica));
                let mut connection = connect(target)?;
                super::replication::query(&mut connection, target, words.stop_receiving())?;
                wait_until(Instant::now() + APPLY_LIMIT, self.stop(), &mut || {
                    let state = State::of(&mut connection, target, words)?;
                    Ok((!state.has_carried_out_all()).then(|| "it has not carried out all yet".to_owned()))
                })?;
                Ok(target.clone())
            }
            Topology::Galera { .. } => {
                let target = group.members[0].target();
                let mut connection = connect(target)?;
                // the rest of two nodes is no majority, and of more only after a while
                let go_on = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'";
                super::replication::query(&mut connection, target, go_on)?;
                Ok(target.clone())
            }
        }
    }
}
