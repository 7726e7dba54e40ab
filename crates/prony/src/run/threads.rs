//! How many threads of the load engine a run has: as many as the most demanding of its loads needs. That is
//! found out before the first trial and is the same in all of them, so that no side of a comparison has more
//! than another. Each server gets the same short load for it, with the most connections that the study gives
//! it. A number in the study (`workers` in `[client]`) takes precedence for its treatments.

use super::{Earlier, Error, Run, TrialOutcome, not_offered, trial};
use crate::plan::{Trial, seed};
use load::workers_needed;

impl Run<'_, '_> {
    /// Chooses the number, or takes that of the trials that have ended.
    pub(super) fn choose_threads(&mut self, earlier: &Earlier) -> Result<(), Error> {
        let begun = earlier.iter().any(|(_, outcome)| matches!(outcome, TrialOutcome::Measured { .. }));
        self.threads = chosen(earlier);
        // earlier trials of a Prony that did not choose had one for each processor, as is the case without
        if begun || self.plan.warm_up.is_zero() {
            return Ok(());
        }
        for server in 0..self.plan.servers.len() {
            if let Some(treatment) = self.most_demanding(server) {
                self.heed_stop()?;
                let needed = self.needed(server, treatment)?;
                self.threads = self.threads.max(needed);
            }
        }
        Ok(())
    }

    /// The treatment of a server with the most connections, of those whose threads are not given, where there
    /// is a choice at all.
    fn most_demanding(&self, server: usize) -> Option<usize> {
        let treatments = self.plan.treatments.iter().enumerate();
        let connections = |treatment: &crate::plan::Treatment| -> u32 {
            treatment.streams.iter().map(|stream| stream.connections).sum()
        };
        let open = treatments.filter(|(_, each)| each.server == server && each.client.workers.is_none());
        let is_up = self.servers[server].is_some();
        open.filter(|(_, each)| is_up && connections(each) > 1)
            .max_by_key(|(index, each)| (connections(each), std::cmp::Reverse(*index)))
            .map(|(index, _)| index)
    }

    /// How many one load needs; `None`: it cannot be told, and the trials will say why.
    fn needed(&mut self, server: usize, treatment: usize) -> Result<Option<u32>, Error> {
        let plan = self.plan;
        let described = &plan.treatments[treatment];
        self.have_data(server, described.data)?;
        let reached = self.reach(server, described)?;
        let any = Trial { number: 0, treatment, block: 0, seed: seed::drawn(), again_of: None };
        let spec = trial::spec(plan, &any, reached);
        let needed = workers_needed(&*self.loader(described), &spec, self.stop);
        self.note_used(server);
        match needed {
            Ok(count) => Ok(Some(count)),
            Err(error @ (load::Error::Interrupted | load::Error::Pin { .. })) => Err(not_offered(error)),
            Err(_) => Ok(None),
        }
    }
}

/// The number that trials have had.
fn chosen(earlier: &Earlier) -> Option<u32> {
    let asked = |outcome: &TrialOutcome| match outcome {
        TrialOutcome::Measured { outcome, .. } => Some(outcome.client.workers_asked),
        TrialOutcome::Failed(_) => None,
    };
    earlier.iter().filter_map(|(_, outcome)| asked(outcome)).max().filter(|&most| most > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{
        Outcome,
        sample::{ClientUsage, End},
    };

    fn ended(number: u32, workers_asked: u32) -> (Trial, TrialOutcome) {
        let outcome = Outcome {
            streams: Vec::new(),
            client: ClientUsage { workers_asked, ..ClientUsage::default() },
            warm_up: None,
            interval: std::time::Duration::from_secs(1),
            end: End::Completed,
            server_version: String::new(),
        };
        let trial = Trial { number, treatment: 0, block: 0, seed: 1, again_of: None };
        let measured = TrialOutcome::Measured {
            outcome: Box::new(outcome),
            doubts: Vec::new(),
            following: None,
            sought: None,
        };
        (trial, measured)
    }

    #[test]
    fn a_run_that_is_resumed_goes_on_with_the_threads_that_its_trials_had() {
        let failed = (ended(2, 0).0, TrialOutcome::Failed(crate::run::TrialFailure::told("gone")));
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[failed.clone(), ended(0, 2)]), Some(2));
        // one for each processor, as Prony once did without telling
        assert_eq!(chosen(&[ended(0, 0), failed]), None);
    }
}
