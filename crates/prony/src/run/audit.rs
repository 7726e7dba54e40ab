//! After the trials: servers are killed under writers as often as the study asks, and what was lost is told.
//! Each crash has servers of its own, made like those of the trials, so that none of these is in the way and
//! nothing is put back.

use super::{Error, Event, Note, Run};
use crate::{
    audit,
    plan::{Act, Audit},
    provision::Provisioner,
};
use load::spec::Address;

impl Run<'_, '_> {
    /// Carries out the crashes that are not among the `earlier` notes, in rounds over all servers.
    pub(super) fn audits(&mut self, wish: &Audit, earlier: &[Note]) -> Result<(), Error> {
        let plan = self.plan;
        // memory and processors are the audit's alone
        self.stop_servers()?;
        let mut is_given_up: Vec<bool> =
            plan.servers.iter().map(|server| !server.may(Act::Restart)).collect();
        for round in 0..wish.crashes {
            for (server, is_given_up) in is_given_up.iter_mut().enumerate() {
                if *is_given_up || done(earlier, server) > round {
                    continue;
                }
                self.heed_stop()?;
                let note = match self.crash(server, wish, round)? {
                    Ok(crash) => Note::Crashed { server, crash },
                    // it would go as wrong again
                    Err(error) => {
                        *is_given_up = true;
                        Note::NotCrashed { server, reason: error.to_string() }
                    }
                };
                self.tell(&Event::Noted(note))?;
            }
        }
        Ok(())
    }

    fn crash(
        &mut self,
        server: usize,
        wish: &Audit,
        round: u32,
    ) -> Result<Result<audit::Crash, audit::Error>, Error> {
        let plan = &self.plan.servers[server];
        let namespaces = self.links.namespaces(server, plan)?;
        let provisioner: Provisioner = self.provisioner.clone().within(namespaces);
        let mut told = Ok(());
        let (links, reader) = (&mut self.links, &mut self.reader);
        let mut between = |from: usize, to: usize, address: &Address| {
            links.between(server, (from, to), address, plan.latency_between)
        };
        let mut tell = |step: &str| {
            let step = format!("crash {} of {}: {step}", round + 1, wish.crashes);
            if told.is_ok() {
                told = reader(&Event::ServerStarting { server, step });
            }
        };
        let crash = audit::crash(&provisioner, plan, wish, &mut between, self.stop, &mut tell);
        self.links.end(server);
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        Ok(crash)
    }
}

/// How often a server was killed by an earlier part of the run; one that could not be is not tried again.
fn done(earlier: &[Note], server: usize) -> u32 {
    let mut count = 0;
    for note in earlier {
        match note {
            Note::Crashed { server: of, .. } if *of == server => count += 1,
            Note::NotCrashed { server: of, .. } if *of == server => return u32::MAX,
            _ => {}
        }
    }
    count
}

/// Whether no crash is missing of a run that has these notes.
pub(super) fn is_complete(plan: &crate::plan::Plan, earlier: &[Note]) -> bool {
    let Some(wish) = &plan.audit else { return true };
    plan.servers
        .iter()
        .enumerate()
        .all(|(index, server)| !server.may(Act::Restart) || done(earlier, index) >= wish.crashes)
}
