//! What people see servers called. Variants of one server have long names in plan and store (`db
//! sync_binlog=1`): these are identifiers and never change. People see only what differs: `1` and `2`, with
//! the factor's name once beside them.

use super::{Factor, Plan};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the servers of a plan are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNames {
    /// Factors whose levels are what servers are called, in the order of the study; empty: servers are called
    /// by their own names.
    pub factors: Vec<String>,
    /// Name in the plan and what it becomes, where that is another one.
    shown: BTreeMap<String, String>,
    /// The names without levels.
    own: BTreeMap<String, String>,
}

impl ServerNames {
    /// Those of a plan's servers.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let none = BTreeMap::new();
        let levels_of = |server: usize| {
            plan.treatments.iter().find(|one| one.server == server).map_or(&none, |one| &one.levels)
        };
        let names: Vec<&str> = plan.servers.iter().map(|server| server.name.as_str()).collect();
        let parts: Vec<(&str, BTreeMap<&str, &str>)> =
            names.iter().enumerate().map(|(server, name)| parts(name, levels_of(server))).collect();
        let differs = |factor: &&Factor| {
            let levels: BTreeSet<_> = parts.iter().map(|(_, levels)| levels.get(&*factor.name)).collect();
            levels.len() > 1
        };
        let factors: Vec<String> =
            plan.factors.iter().filter(differs).map(|factor| factor.name.clone()).collect();
        let own: BTreeSet<&str> = parts.iter().map(|(own, _)| *own).collect();
        let shown = |(name, levels): &(&str, BTreeMap<&str, &str>)| {
            let own = (own.len() > 1 || factors.is_empty()).then_some(*name).into_iter();
            let levels = factors.iter().filter_map(|factor| levels.get(&**factor)).copied();
            own.chain(levels).collect::<Vec<_>>().join(", ")
        };
        let shown: Vec<String> = parts.iter().map(shown).collect();
        // one that lacks a nested factor may have nothing left, or the same as another
        let different: BTreeSet<&String> = shown.iter().filter(|name| !name.is_empty()).collect();
        if different.len() < names.len() {
            return Self::default();
        }
        let named = |texts: Vec<String>| names.iter().map(|name| (*name).to_owned()).zip(texts).collect();
        let own = parts.iter().map(|(own, _)| (*own).to_owned()).collect();
        Self { factors, shown: named(shown), own: named(own) }
    }

    /// What a server is called, by its name in the plan.
    #[must_use]
    pub fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.shown.get(name).map_or(name, String::as_str)
    }

    /// What is left of it where the levels stand beside it; `None`: nothing that tells servers apart.
    #[must_use]
    pub fn beside_levels<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let is_told = !self.factors.is_empty() && !self.has_several();
        (!is_told).then(|| self.own.get(name).map_or(name, String::as_str))
    }

    /// What servers are told apart by: factors, and `server` before them where there are variants of several;
    /// empty: own names.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        let server = (!self.factors.is_empty() && self.has_several()).then(|| "server".to_owned());
        server.into_iter().chain(self.factors.iter().cloned()).collect()
    }

    /// The levels of a treatment of this plan in the order of the factors: `pool, connections 64`.
    #[must_use]
    pub fn levels(&self, plan: &Plan, treatment: usize) -> String {
        let levels = &plan.treatments[treatment].levels;
        let words = plan.factors.iter().filter_map(|factor| {
            let level = levels.get(&factor.name)?;
            let alone = !factor.numeric || self.factors.contains(&factor.name);
            Some(if !alone { format!("{} {level}", factor.name) } else { level.clone() })
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn has_several(&self) -> bool {
        self.own.values().collect::<BTreeSet<_>>().len() > 1
    }
}

/// A server's name without the levels at its end, for where these stand beside it.
#[must_use]
pub fn without_levels<'a>(name: &'a str, levels: &'a BTreeMap<String, String>) -> &'a str {
    parts(name, levels).0
}

/// A server's own name, and the levels that the plan put behind it.
fn parts<'a>(name: &'a str, levels: &'a BTreeMap<String, String>) -> (&'a str, BTreeMap<&'a str, &'a str>) {
    let (mut own, mut found) = (name, BTreeMap::new());
    let last = |own: &'a str, found: &BTreeMap<&str, &str>| {
        let others = levels.iter().filter(|(factor, _)| !found.contains_key(factor.as_str()));
        let mut cut = others.filter_map(|(factor, level)| {
            let rest = own.strip_suffix(level.as_str())?.strip_suffix('=')?.strip_suffix(factor.as_str())?;
            Some((factor, level, rest.strip_suffix(' ').filter(|rest| !rest.is_empty())?))
        });
        cut.next()
    };
    while let Some((factor, level, rest)) = last(own, &found) {
        found.insert(factor, level);
        own = rest;
    }
    (own, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{self, Adjustments};

    fn names(text: &str) -> (Vec<String>, ServerNames) {
        let study = study::parse("names", "names.toml", text, &Adjustments::default());
        let plan = Plan::from_study(&study.unwrap_or_else(|error| panic!("{error}")));
        let names = ServerNames::of(&plan);
        (plan.servers.iter().map(|server| names.shown(&server.name).to_owned()).collect(), names)
    }

    const LOAD: &str = "[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 1\n";
    const DB: &str = "[server.db]\nproduct = \"mariadb\"\n";
    const FLUSH: &str = "\"settings.innodb_flush_log_at_trx_commit\" = [1, 2]\n";

    #[test]
    fn variants_of_a_server_are_called_by_what_differs() {
        let (shown, names) = names(&format!("{DB}{LOAD}[vary]\n{FLUSH}"));
        assert_eq!(shown, ["1", "2"]);
        assert_eq!(names.heads(), ["innodb_flush_log_at_trx_commit"]);
        let stored = "db innodb_flush_log_at_trx_commit=1";
        assert_eq!((names.shown(stored), names.beside_levels(stored)), ("1", None));
        let levels = [("innodb_flush_log_at_trx_commit".to_owned(), "1".to_owned())].into();
        assert_eq!(without_levels(stored, &levels), "db");
    }

    #[test]
    fn where_servers_and_levels_vary_both_are_in_the_name() {
        let two = format!("{DB}[server.other]\nproduct = \"mariadb\"\nversion = \"10.6\"\n");
        let (shown, names) = names(&format!("{two}{LOAD}[vary]\nserver = [\"db\", \"other\"]\n{FLUSH}"));
        assert_eq!(shown, ["db, 1", "db, 2", "other, 1", "other, 2"]);
        assert_eq!(names.heads(), ["server", "innodb_flush_log_at_trx_commit"]);
        assert_eq!(names.beside_levels("db innodb_flush_log_at_trx_commit=2"), Some("db"));
    }

    #[test]
    fn what_does_not_differ_is_in_no_name_and_no_two_are_the_same() {
        let one = "\"settings.sync_binlog\" = [0]\n";
        let (shown, _) = names(&format!("{DB}{LOAD}[vary]\n{FLUSH}{one}"));
        assert_eq!(shown, ["1", "2"]);
        let (shown, alone) = names(&format!("{DB}{LOAD}[vary]\n{one}"));
        assert_eq!((shown, alone.heads().len()), (vec!["db".to_owned()], 0));
        // each level has a factor of its own: `5` would be two servers
        let nested = |factor: &str| format!("[[nested]]\nvary = {{ \"settings.{factor}\" = [5, 6] }}\n");
        let under = |size: u32, factor: &str| {
            nested(factor)
                .replace("vary =", &format!("under = {{ \"stream.connections\" = {size} }}\nvary ="))
        };
        let (shown, names) = names(&format!(
            "{DB}{LOAD}[vary]\n\"stream.connections\" = [1, 4]\n{}{}",
            under(1, "long_query_time"),
            under(4, "sync_binlog")
        ));
        assert!(names.heads().is_empty(), "{shown:?}");
        assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), 4, "{shown:?}");
        assert!(shown.contains(&"db sync_binlog=6".to_owned()), "{shown:?}");
    }
}
