//! After the trials: servers crash under writers as often as the study asks, and what was lost is reported.
//! Each crash has its own servers, made like those of the trials, so none of the trials' servers is affected
//! and nothing has to be restored.

use super::{Error, Event, NoCrash, Note, Run};
use crate::{
    audit,
    plan::{Act, Audit, CrashKind, Plan},
    provision::{ImageDisk, Provisioner, Step},
};
use load::spec::Address;

impl Run<'_, '_> {
    /// Carries out the crashes that are not among the `earlier` notes, in rounds over all servers.
    pub(super) fn audits(&mut self, wish: &Audit, earlier: &[Note]) -> Result<(), Error> {
        let plan = self.plan;
        // memory and processors are the audit's alone
        self.stop_servers()?;
        let mut asked: Vec<(usize, CrashKind)> = asked(plan, wish).collect();
        for round in 0..wish.crashes {
            let mut given_up = Vec::new();
            let is_due =
                |&&(server, kind): &&(usize, CrashKind)| Audited::of(earlier, server, kind).done() <= round;
            for &(server, kind) in asked.iter().filter(is_due) {
                self.heed_stop()?;
                let note = match self.crash(server, (wish, kind), round)? {
                    Ok(crash) => Note::Crashed { server, crash },
                    // it would go as wrong again
                    Err(error) => {
                        given_up.push((server, kind));
                        Note::NotCrashed { server, kind, reason: error.into() }
                    }
                };
                self.tell(&Event::Noted(note))?;
            }
            asked.retain(|one| !given_up.contains(one));
        }
        Ok(())
    }

    fn crash(
        &mut self,
        server: usize,
        (wish, kind): (&Audit, CrashKind),
        round: u32,
    ) -> Result<Result<audit::Crash, audit::Error>, Error> {
        let plan = &self.plan.servers[server];
        // a network that is to be cut is the audit's own
        let namespaces = match kind {
            CrashKind::Network => Vec::new(),
            CrashKind::Kill | CrashKind::Power => self.links.namespaces(server, plan)?,
        };
        let provisioner: Provisioner = self.provisioner.clone().within(namespaces);
        let mut told = Ok(());
        let (links, reader) = (&mut self.links, &mut self.reader);
        let mut between = |from: usize, to: usize, address: &Address| {
            links.between(server, (from, to), address, plan.latency_between)
        };
        let mut tell = |step: Step| {
            let step = Step::Crash { number: round + 1, of: wish.crashes, then: Box::new(step) };
            if told.is_ok() {
                told = reader(&Event::ServerStarting { server, step });
            }
        };
        let crash = audit::crash(&provisioner, plan, (wish, kind), &mut between, self.stop, &mut tell);
        self.links.end(server);
        told.map_err(Error::Reader)?;
        self.heed_stop()?;
        Ok(crash)
    }
}

/// Which servers are to suffer what.
fn asked<'a>(plan: &'a Plan, wish: &'a Audit) -> impl Iterator<Item = (usize, CrashKind)> + 'a {
    let ours = plan.servers.iter().enumerate().filter(|(_, server)| server.may(Act::Restart));
    ours.flat_map(|(index, server)| {
        let kinds = wish.kinds.iter().filter(|kind| kind.is_of(server.topology));
        kinds.map(move |&kind| (index, kind))
    })
}

/// Why servers of a plan that are to lose their power cannot, found out by doing it; `None`: they can, or
/// none is to.
#[must_use]
pub fn no_power(plan: &Plan, provisioner: &Provisioner) -> Option<audit::Error> {
    let wish = plan.audit.as_ref()?;
    asked(plan, wish).find(|(_, kind)| *kind == CrashKind::Power)?;
    let instances = provisioner.places().instances();
    ImageDisk::possible(&instances, provisioner.launcher()).err().map(audit::Error::Power)
}

/// What the notes of a run say about a server that was to suffer one kind of crash.
#[derive(Debug, Default)]
pub struct Audited {
    /// What each crash left.
    pub crashes: Vec<audit::Crash>,
    /// Why it was not killed (again).
    pub stopped: Option<NoCrash>,
}

impl Audited {
    /// Reads the notes.
    #[must_use]
    pub fn of(notes: &[Note], server: usize, wanted: CrashKind) -> Self {
        let mut all = Self::default();
        for note in notes {
            match note {
                Note::Crashed { server: of, crash } if (*of, crash.kind) == (server, wanted) => {
                    all.crashes.push(crash.clone());
                }
                Note::NotCrashed { server: of, kind, reason } if (*of, *kind) == (server, wanted) => {
                    all.stopped = Some(reason.clone());
                }
                _ => {}
            }
        }
        all
    }

    /// Rounds that are over; a crash that was impossible is not tried again.
    fn done(&self) -> u32 {
        if self.stopped.is_some() { u32::MAX } else { u32::try_from(self.crashes.len()).unwrap_or(u32::MAX) }
    }
}

/// Whether no crash is missing of a run that has these notes.
pub(super) fn is_complete(plan: &Plan, earlier: &[Note]) -> bool {
    let Some(wish) = &plan.audit else { return true };
    asked(plan, wish).all(|(server, kind)| Audited::of(earlier, server, kind).done() >= wish.crashes)
}
