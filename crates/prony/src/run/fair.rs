//! Whether the servers that are up run under the same conditions, looked at once before the first trial.

use super::{Error, Event, Run};
use crate::{
    fairness::{self, Known},
    plan::Fairness,
};

impl Run<'_, '_> {
    /// Compares what the servers really run with, and tells what differs without a purpose.
    pub(super) fn compare_servers(&mut self) -> Result<(), Error> {
        let plan = self.plan;
        if plan.fairness == Fairness::Off {
            return Ok(());
        }
        let known: Vec<_> = self
            .servers
            .iter()
            .map(|up| {
                let (description, sizes) = up.as_ref().map(|up| (&up.description, &up.sizes)).unzip();
                Known { description, sizes, build: None }
            })
            .collect();
        let conditions = fairness::conditions(&plan.servers, &known);
        let different: Vec<_> = fairness::differences(&conditions).into_iter().cloned().collect();
        if different.is_empty() {
            return Ok(());
        }
        if plan.fairness == Fairness::Strict {
            let names: Vec<_> = plan.servers.iter().map(|server| server.name.as_str()).collect();
            return Err(Error::Unfair(different.iter().map(|one| one.sentence(&names)).collect()));
        }
        self.tell(&Event::Unfair { conditions: different })
    }
}
