//! What each treatment used of the machine and the servers, and what limited it.

use super::{
    document::Document,
    fact::{Fact, Told, together},
    words::Words,
};
use crate::{
    analyse::{self, Axis, Limiting, Sampled},
    plan::Treatment,
    run::Note,
    store::RunRecord,
    telemetry::Cost,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most treatments that are named where several have the same evidence; beyond that their number is
/// given.
const NAMED_MAX: usize = 4;

/// What a treatment used, all its streams and valid trials together, within the measurement intervals.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Resources {
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// The server.
    pub server: String,
    /// Trials used.
    pub trials: u32,
    /// Transactions per second, all streams together.
    pub transactions_per_second: f64,
    /// What one transaction costs.
    pub cost: Cost,
    /// Processors of the servers' machine by what they did: `user`, `system`, `iowait`, `steal`, `idle`;
    /// empty: unknown.
    pub processors: BTreeMap<String, f64>,
    /// What machine and servers did during that time.
    pub sampled: Sampled,
    /// The same for the time in which the background ran alone; null: the study has no such time.
    pub alone: Option<Sampled>,
    /// What limited it; empty: nothing that was sampled.
    pub limited_by: Vec<LimitedBy>,
    /// Means of everything that was sampled, by path; rates per second.
    pub means: BTreeMap<String, f64>,
}

/// Something that limited a treatment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// `throttled`, `processors`, `steal` (other virtual machines on the host), `client`, `connections`,
    /// `log_syncs`, `disk`, `row_locks`, `table_locks`, `state`.
    pub kind: String,
    /// The same in a word or two.
    pub name: String,
    /// The evidence, in words.
    pub text: Told,
}

/// A wait that a transaction meets more often at the end of a ladder than at its beginning.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Grown {
    /// Index in `resources` of the first rung.
    pub first: usize,
    /// Index in `resources` of the last rung.
    pub last: usize,
    /// The counter: `status/lock_waits`.
    pub counter: String,
    /// Waits per thousand transactions at the first rung.
    pub at_first: f64,
    /// Waits per thousand transactions at the last rung.
    pub at_last: f64,
}

/// Where a server spent its processor time at its highest throughput, under a load outside the trials.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Profiled {
    /// The server.
    pub server: String,
    /// Level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Why there is no profile; null: there is one.
    pub failure: Option<String>,
    /// How often each stack was sampled; frames are joined by semicolons, from the root on.
    pub stacks: BTreeMap<String, u64>,
}

/// The recorded profiles.
pub(super) fn profiles(record: &RunRecord, words: Words) -> Vec<Profiled> {
    let name = |server: usize| record.plan.servers[server].name.clone();
    let profiled = |note: &Note| match note {
        Note::Profiled { treatment, profile } => {
            let treatment = &record.plan.treatments[*treatment];
            let (server, levels) = (name(treatment.server), treatment.levels.clone());
            Some(Profiled { server, levels, failure: None, stacks: profile.stacks.clone() })
        }
        Note::NotProfiled { server, reason } => Some(Profiled {
            server: name(*server),
            levels: BTreeMap::new(),
            failure: Some(words.no_profile(reason)),
            stacks: BTreeMap::new(),
        }),
        _ => None,
    };
    record.notes.iter().filter_map(profiled).collect()
}

/// Both parts of the document.
pub(super) fn build(record: &RunRecord, axis: &Axis, words: Words) -> (Vec<Resources>, Vec<Grown>) {
    let all = analyse::resources(record);
    let place = |treatment: usize| all.iter().position(|one| one.treatment == treatment);
    let grown = analyse::grown(record, axis, &all)
        .into_iter()
        .filter_map(|grown| {
            Some(Grown {
                first: place(grown.rungs.0)?,
                last: place(grown.rungs.1)?,
                counter: grown.counter,
                at_first: grown.first,
                at_last: grown.last,
            })
        })
        .collect();
    (all.iter().map(|one| resources(record, one, words)).collect(), grown)
}

fn resources(record: &RunRecord, one: &analyse::Resources, words: Words) -> Resources {
    let treatment = &record.plan.treatments[one.treatment];
    Resources {
        levels: treatment.levels.clone(),
        server: record.plan.servers[treatment.server].name.clone(),
        trials: one.trials,
        transactions_per_second: one.transactions_per_second,
        cost: one.cost,
        processors: one.processors.clone(),
        sampled: one.sampled,
        alone: one.alone,
        limited_by: one.limits.iter().map(|limit| limited_by(limit, words)).collect(),
        means: one.means.clone(),
    }
}

fn limited_by(limit: &Limiting, words: Words) -> LimitedBy {
    let (kind, name) = match limit {
        Limiting::Throttled { .. } => ("throttled", ""),
        Limiting::Processors { .. } => ("processors", ""),
        Limiting::Stolen { .. } => ("steal", ""),
        Limiting::Client { .. } => ("client", ""),
        Limiting::Connections { .. } => ("connections", ""),
        Limiting::LogSyncs { .. } => ("log_syncs", ""),
        Limiting::Disk { name, .. } => ("disk", name.as_str()),
        Limiting::RowLocks { .. } => ("row_locks", ""),
        Limiting::TableLocks { .. } => ("table_locks", ""),
        Limiting::State { state, .. } => ("state", state.as_str()),
    };
    let key = match limit {
        Limiting::Processors { client: None, .. } => "processors_elsewhere",
        Limiting::Processors { relay: Some(_), .. } => "processors_relayed",
        _ => kind,
    };
    let word = words.get("limit", &format!("{kind}_name"));
    let fact = Fact { key: key.to_owned(), ..Fact::of("limit", limit) };
    LimitedBy { kind: kind.to_owned(), name: format!("{word}{name}"), text: Told::new(fact, words) }
}

/// What limited treatments, with the evidence: which treatments, and the sentence.
pub(super) fn evidence(document: &Document, words: Words) -> Vec<(String, String)> {
    let facts = |one: &Resources| {
        let label = label(one, document);
        one.limited_by.iter().map(move |limit| (label.clone(), limit.text.fact.clone())).collect::<Vec<_>>()
    };
    let found = together(document.resources.iter().flat_map(facts));
    let all = document.resources.len().to_string();
    let about = |labels: &[String]| {
        let count = labels.len().to_string();
        if labels.len() <= NAMED_MAX {
            return labels.join("; ");
        }
        words.fill("text", "combinations_of", &[("count", &count), ("all", &all)])
    };
    found.into_iter().map(|one| (about(&one.about), words.say(&one.fact))).collect()
}

/// The levels of a treatment, joined.
pub(super) fn label(one: &Resources, document: &Document) -> String {
    let factors = document.run.factors.iter().map(|factor| &factor.name);
    joined(document.beside_levels(&one.server, &one.levels), &one.server, factors, &one.levels)
}

/// The same for a treatment of the plan.
pub(super) fn label_of(record: &RunRecord, axis: &Axis, treatment: &Treatment) -> String {
    let servers = &record.plan.servers;
    let name = &servers[treatment.server].name;
    let told = axis.servers.beside_levels(name).filter(|_| servers.len() > 1);
    let factors = record.plan.factors.iter().map(|factor| &factor.name);
    joined(told, name, factors, &treatment.levels)
}

fn joined<'a>(
    told: Option<&'a str>,
    server: &'a str,
    factors: impl Iterator<Item = &'a String>,
    levels: &'a BTreeMap<String, String>,
) -> String {
    let mut parts: Vec<&str> = told.into_iter().collect();
    let others = factors.filter(|factor| *factor != "server");
    parts.extend(others.filter_map(|factor| levels.get(factor)).map(String::as_str));
    if parts.is_empty() { server.to_owned() } else { parts.join(", ") }
}
