//! Whether the servers that are up run under the same conditions, checked once before the first trial.

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
            let servers = plan.servers.iter().map(|server| server.name.clone()).collect();
            return Err(Error::Unfair { servers, conditions: different });
        }
        self.tell(&Event::Unfair { conditions: different })
    }
}
