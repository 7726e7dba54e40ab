//! Which tables a workload works on: those that Prony makes, called `sbtest1`, `sbtest2` and so on, and those
//! of the user's own, of which nothing is known but the name.

use super::writes::{texts, writes};
use load::spec::Workload;
use std::collections::BTreeSet;

/// How Prony's tables begin; a number follows.
const OWN: &str = "sbtest";

/// Whether any statement names a table that Prony makes.
#[must_use]
pub fn needs_data(workload: &Workload) -> bool {
    texts(workload).any(|text| text.to_ascii_lowercase().contains(OWN))
}

/// What a workload writes to that Prony did not make: names of tables, or a statement of which that cannot be
/// told (`CALL pay(1)`).
#[must_use]
pub fn foreign_written(workload: &Workload) -> BTreeSet<String> {
    let writes = writes(workload);
    let foreign = writes.tables.iter().filter(|name| name.database.is_some() || !is_own(&name.name));
    let named = foreign.map(|name| {
        let parts = [name.database.as_deref(), Some(&name.name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    });
    named.chain(writes.untold.iter().cloned()).collect()
}

fn is_own(name: &str) -> bool {
    let Some((start, number)) = name.split_at_checked(OWN.len()) else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    start.eq_ignore_ascii_case(OWN) && is_number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Options, builtin};

    #[test]
    fn built_in_workloads_write_to_tables_of_prony_only() {
        for each in crate::workload::list() {
            let workload = builtin(each.name, &Options::default()).expect("a workload");
            assert!(needs_data(&workload), "{}", each.name);
            assert_eq!(foreign_written(&workload), BTreeSet::new(), "{}", each.name);
        }
        assert!(is_own("sbtest12") && !is_own("sbtest_mine") && !is_own("shop.sbtest1"));
    }
}
