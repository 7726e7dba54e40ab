//! How servers execute the statements of the loads, and which of them they execute in different ways.

use crate::{
    run::{Access, Note, StatementPlan},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One statement on one data set, with the ways in which servers execute it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatementPlans {
    /// Name of the workload.
    pub workload: String,
    /// Name of the transaction.
    pub transaction: String,
    /// Name of the statement in results.
    pub statement: String,
    /// The statement as servers were asked about it, with values.
    pub sql: String,
    /// Rows of the data set.
    pub rows: u64,
    /// Every different plan, in the order of the servers.
    pub plans: Vec<ServersPlan>,
}

/// A plan, with the servers that have it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServersPlan {
    /// Names of the servers.
    pub servers: Vec<String>,
    /// The tables in the order in which they are read; estimates are those of the first server.
    pub accesses: Vec<Access>,
    /// Everything that the first server says about it, in that server's format.
    pub text: String,
}

/// The plans of every statement that has one, in the order of the plan's data sets and of the statements.
#[must_use]
pub fn plans(record: &RunRecord) -> Vec<StatementPlans> {
    // a resumed run asks again
    let mut latest: BTreeMap<(usize, usize), &[StatementPlan]> = BTreeMap::new();
    for note in &record.notes {
        if let Note::Explained { server, data, plans } = note {
            latest.insert((*data, *server), plans);
        }
    }
    let mut all: Vec<(usize, StatementPlans)> = Vec::new();
    for ((data, server), plans) in latest {
        for one in plans {
            let server = record.plan.servers[server].name.clone();
            let is_same = |known: &(usize, StatementPlans)| {
                let (of, known) = known;
                *of == data
                    && (&known.workload, &known.transaction, &known.statement)
                        == (&one.workload, &one.transaction, &one.statement)
            };
            match all.iter_mut().find(|known| is_same(known)) {
                Some((_, known)) => known.add(server, one),
                None => {
                    let mut new = StatementPlans {
                        workload: one.workload.clone(),
                        transaction: one.transaction.clone(),
                        statement: one.statement.clone(),
                        sql: one.sql.clone(),
                        rows: record.plan.rows(data),
                        plans: Vec::new(),
                    };
                    new.add(server, one);
                    all.push((data, new));
                }
            }
        }
    }
    all.into_iter().map(|(_, plans)| plans).collect()
}

impl StatementPlans {
    /// Whether servers execute it in different ways.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.plans.len() > 1
    }

    fn add(&mut self, server: String, one: &StatementPlan) {
        match self.plans.iter_mut().find(|known| one.plan.reads_like(&known.accesses)) {
            Some(known) => known.servers.push(server),
            None => self.plans.push(ServersPlan {
                servers: vec![server],
                accesses: one.plan.accesses.clone(),
                text: one.plan.text.clone(),
            }),
        }
    }
}
