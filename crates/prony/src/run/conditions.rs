//! Whether the data of a trial keep what is always true of them, before and after it: figures of a server
//! that lost or doubled something are worth nothing.

use super::{Doubt, Error, Level, Run, What, site::Up};
use crate::{dataset, layout::DataSet};
use load::Stop;

impl Run<'_, '_> {
    /// What the data break before a trial begins.
    pub(super) fn see_conditions(&mut self, server: usize, data: usize) -> Result<Vec<Doubt>, Error> {
        let (plan, stop) = (self.plan, self.stop);
        let found = broken(self.up(server), &plan.data_sets[data], stop);
        let name = || plan.servers[server].name.clone();
        found.map(|found| doubts_of(&found, true)).map_err(|source| Error::Data { name: name(), source })
    }
}

/// What they break after it. A server that cannot be asked is one whose data are not known to be right.
pub(super) fn doubts(up: &Up, data: &DataSet, stop: &Stop) -> Vec<Doubt> {
    match broken(up, data, stop) {
        Ok(found) => doubts_of(&found, false),
        Err(_) if stop.is_stopped() => Vec::new(),
        Err(error) => {
            let cause = error.to_string();
            vec![Doubt::new(Level::Invalid, What::NotChecked { cause })]
        }
    }
}

fn broken(up: &Up, data: &DataSet, stop: &Stop) -> Result<Vec<dataset::Broken>, dataset::Error> {
    dataset::broken(up.group.primary().target(), data, stop.flag())
}

fn doubts_of(broken: &[dataset::Broken], before: bool) -> Vec<Doubt> {
    let doubt = |dataset::Broken { condition, violations }: &dataset::Broken| {
        let (condition, violations) = (condition.clone(), *violations);
        let what = match before {
            true => What::InconsistentBefore { condition, violations },
            false => What::Inconsistent { condition, violations },
        };
        Doubt::new(Level::Invalid, what)
    };
    broken.iter().map(doubt).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every doubt that is produced here.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let broken = [dataset::Broken { condition: "consistency condition 1".to_owned(), violations: 2 }];
        let unknown = Doubt::new(Level::Invalid, What::NotChecked { cause: "gone".to_owned() });
        [doubts_of(&broken, true), doubts_of(&broken, false), vec![unknown]].concat()
    }
}
