//! The statements of the loads, before any load: a server must be able to prepare each of them, and says how
//! it would execute it.

use super::{Error, Event, Note, Run, site::CONTROL_WAIT};
use crate::{
    family::{self, Class, Explained},
    plan::{Treatment, makes_tables, only_reads},
};
use load::{
    Example,
    client::{self, Connection},
    spec::{Protocol, Workload},
};
use serde::{Deserialize, Serialize};

/// Statements whose plans are kept of one server and data set: more than a reader would compare.
const KEPT_MAX: usize = 200;

/// How a server executes a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementPlan {
    /// Name of the workload.
    pub workload: String,
    /// Name of the transaction.
    pub transaction: String,
    /// Name of the statement in results.
    pub statement: String,
    /// As the server was asked, with values.
    pub sql: String,
    /// What it says.
    pub plan: Explained,
}

/// A statement that a server refuses.
struct Refused {
    example: Example,
    source: client::Error,
}

impl Run<'_, '_> {
    /// Has a server prepare each statement of the loads on a data set that it holds, and notes how it would
    /// execute them; once for each server and data set.
    pub(super) fn see_statements(&mut self, server: usize, data: usize) -> Result<(), Error> {
        if !self.statements_seen.insert((server, data)) {
            return Ok(());
        }
        let plan = self.plan;
        let of_both = |one: &&Treatment| (one.server, one.data) == (server, data);
        let mut workloads: Vec<(&Workload, Protocol)> = Vec::new();
        // statements of neighbours are ours, and some of them do harm
        let streams = plan.treatments.iter().filter(of_both).flat_map(|treatment| treatment.measured());
        for (_, stream) in streams {
            let one = (&stream.workload, stream.protocol);
            if one.0.script().is_none() && !workloads.contains(&one) {
                workloads.push(one);
            }
        }
        if workloads.is_empty() {
            return Ok(());
        }
        let control = |source| Error::Control { name: plan.servers[server].name.clone(), source };
        let target = self.up(server).group.primary().target().clone();
        let mut connection = Connection::open(&target, CONTROL_WAIT).map_err(control)?;
        let mut plans = Vec::new();
        for workload in workloads {
            let refused = see(workload, plan.seed, &mut connection, &mut plans).map_err(control)?;
            if let Some(Refused { example, source }) = refused {
                let (workload, name) = (workload.0.name.clone(), plan.servers[server].name.clone());
                let line = plan.line_of_statement(&workload, example.place);
                let Example { kind: statement, text, .. } = example;
                let source = Box::new(source);
                return Err(Error::Statement { name, workload, statement, line, text, source });
            }
        }
        if plans.is_empty() {
            return Ok(());
        }
        self.tell(&Event::Noted(Note::Explained { server, data, plans }))
    }
}

/// Adds the plans of a workload's statements; returns the first one that the server refuses.
fn see(
    (workload, protocol): (&Workload, Protocol),
    seed: u64,
    connection: &mut Connection,
    plans: &mut Vec<StatementPlan>,
) -> Result<Option<Refused>, client::Error> {
    // what tables there are when a statement is sent is known only by then
    let is_certain = !makes_tables(workload);
    let mut refused = None;
    load::examples((workload, protocol), seed, connection, &mut |connection, example| {
        if refused.is_some() {
            return Ok(false);
        }
        let text = example.prepared.as_ref().unwrap_or(&example.text);
        match connection.run(|session, out| session.prepare(text.as_bytes(), out), &mut ()) {
            Ok(_) => {}
            Err(source @ client::Error::Server { code, .. }) => {
                if is_certain && family::spoken().class(code) != Some(Class::NotPrepared) {
                    refused = Some(Refused { example: example.clone(), source });
                }
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        let is_known = |known: &StatementPlan| {
            known.workload == workload.name
                && known.transaction == example.transaction
                && known.statement == example.kind
        };
        if plans.len() < KEPT_MAX
            && !plans.iter().any(is_known)
            && let Some(plan) = family::spoken().explain(connection, &example.text)?
        {
            let Example { transaction, kind: statement, text: sql, .. } = example.clone();
            plans.push(StatementPlan { workload: workload.name.clone(), transaction, statement, sql, plan });
        }
        Ok(only_reads(&example.text))
    })?;
    Ok(refused)
}
