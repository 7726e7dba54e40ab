//! Which tables a workload uses: those of its data set, and the user's own, of which only the name is known.

use super::{
    tokens::{Token, tokens},
    writes::{called, texts, writes},
};
use crate::layout::{DataSet, Layout as _};
use load::spec::Workload;
use std::collections::BTreeSet;

/// Whether any statement names, or may name, a table of the data set.
#[must_use]
pub fn needs_data(workload: &Workload, data: &DataSet) -> bool {
    let is_table = |token: &Token| match token {
        Token::Word(name) | Token::Quoted(name) => data.has_table(name),
        Token::Value | Token::Sign(_) => false,
    };
    // a script, or a text that has no end, may name anything
    workload.script().is_some()
        || texts(workload).any(|text| called(&text).is_some())
        || texts(workload).any(|text| tokens(&text, true).map_or(true, |tokens| tokens.iter().any(is_table)))
}

/// What a workload writes to that is not in the data set: names of tables, or a statement of which that
/// cannot be told (`CALL pay(1)`).
#[must_use]
pub fn foreign_written(workload: &Workload, data: &DataSet) -> BTreeSet<String> {
    let writes = writes(workload);
    let is_own = |name: &super::Name| name.database.is_none() && data.has_table(&name.name);
    let named = writes.tables.iter().filter(|name| !is_own(name)).map(|name| {
        let parts = [name.database.as_deref(), Some(&name.name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    });
    named.chain(writes.untold.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Options, builtin, data_set};

    #[test]
    fn built_in_workloads_write_to_tables_of_prony_only() {
        for each in crate::workload::list() {
            let workload = builtin(each.name, &Options::default()).expect("a workload");
            let data = data_set(each.name, &Options::default()).expect("its data");
            let needs_none = ["idle_transactions", "failed_logins"].contains(&each.name);
            assert_eq!(needs_data(&workload, &data), !needs_none, "{}", each.name);
            assert_eq!(foreign_written(&workload, &data), BTreeSet::new(), "{}", each.name);
        }
        let options = Options { procedures: true, ..Options::default() };
        let workload = builtin("tpcc", &options).expect("a workload");
        let data = data_set("tpcc", &options).expect("its data");
        assert!(needs_data(&workload, &data) && foreign_written(&workload, &data).is_empty());
    }
}
