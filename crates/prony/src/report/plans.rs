//! Execution plans in words.

use super::{
    document::{Finding, FindingKind},
    words::Words,
};
use crate::{analyse::StatementPlans, run::Access};

/// The most statements that a sentence names; beyond that it gives their number.
const NAMED_MAX: usize = 4;

/// `shop.by_customer`
pub(super) fn name(one: &StatementPlans) -> String {
    format!("{}.{}", one.workload, one.statement)
}

/// `orders: ref customer_id, filesort; customer: eq_ref PRIMARY`
pub(super) fn way(accesses: &[Access], words: Words) -> String {
    let one = |access: &Access| {
        let own = words.get("plan", &access.kind);
        let mut text = match (access.table.as_str(), own) {
            ("", "") => access.kind.clone(),
            ("", own) => own.to_owned(),
            (table, _) => format!("{table}: {}", access.kind),
        };
        if let Some(key) = &access.key {
            text = format!("{text} {key}");
        }
        let marks = [(access.sorts, "sorts"), (access.temporary, "temporary")];
        for (_, mark) in marks.into_iter().filter(|(is_so, _)| *is_so) {
            text = format!("{text}, {}", words.get("plan", mark));
        }
        text
    };
    accesses.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// How many statements servers execute in different ways, and which.
pub(super) fn sentence(all: &[StatementPlans], words: Words) -> String {
    let mut names: Vec<String> = all.iter().filter(|one| one.differ()).map(name).collect();
    names.dedup();
    let (count, of) = (all.iter().filter(|one| one.differ()).count(), all.len().to_string());
    if let Some(more @ 1..) = names.len().checked_sub(NAMED_MAX) {
        names.truncate(NAMED_MAX);
        names.push(words.fill("sentence", "more", &[("count", &more.to_string())]));
    }
    let key = if count == 0 { "plans_same" } else { "plans_differ" };
    let places = [("count", &*count.to_string()), ("all", &of), ("names", &words.listed(&names))];
    words.fill("sentence", key, &places)
}

/// The same as a finding, where there are such statements.
pub(super) fn finding(all: &[StatementPlans], words: Words) -> Option<Finding> {
    let text = || sentence(all, words);
    all.iter().any(StatementPlans::differ).then(|| Finding {
        kind: FindingKind::Plans,
        about: String::new(),
        text: text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;

    #[test]
    fn a_way_names_tables_keys_and_what_is_done_beside() {
        let access = |table: &str, kind: &str, key: Option<&str>, sorts| Access {
            table: table.to_owned(),
            kind: kind.to_owned(),
            key: key.map(str::to_owned),
            sorts,
            temporary: sorts,
            rows: Some(5),
        };
        let accesses = [access("o", "ALL", None, true), access("c", "eq_ref", Some("PRIMARY"), false)];
        let words = Words::of(Language::English);
        assert_eq!(way(&accesses, words), "o: ALL, filesort, temporary table; c: eq_ref PRIMARY");
        assert_eq!(way(&[access("", "none", None, false)], words), "no row can match");
    }
}
