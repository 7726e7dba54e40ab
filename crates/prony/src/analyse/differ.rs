//! What differs between two runs besides their figures: the study, the machine, Prony, the servers and their
//! settings. The stored values themselves are compared, name by name, so that nothing that is stored is
//! missed.

use crate::{plan::Act, store::RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One thing that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunDifference {
    /// `study`, `machine`, `prony`, or the name of a server.
    pub of: String,
    /// What it is: `kernel`, `version`, `max_connections`, `interval`.
    pub what: String,
    /// The value in the base; null: it has none.
    pub base: Option<String>,
    /// The value in the run; null: it has none.
    pub run: Option<String>,
}

/// Settings of a study that say nothing about what was measured, or are reported elsewhere.
const NOT_TOLD: [&str; 7] = ["name", "title", "study_text", "set", "format", "trials", "treatments"];
/// The most differences that are reported for one thing; more mean that everything changed.
const TOLD_MAX: usize = 200;

/// Everything that differs, the study first.
#[must_use]
pub fn differences(base: &RunRecord, run: &RunRecord) -> Vec<RunDifference> {
    let mut all = Vec::new();
    let told = |record: &RunRecord| {
        let mut plan = flat(&record.plan);
        // only treatments that both runs have are compared; servers are compared by name further below
        plan.retain(|key, _| {
            let first = key.split('.').next().unwrap_or_default();
            !NOT_TOLD.contains(&first) && !["servers", "factors"].contains(&first)
        });
        plan
    };
    let (of_base, of_run) = (is_known(base), is_known(run));
    // the result of another tool has no plan
    if of_base == of_run {
        put(&mut all, "study", &told(base), &told(run));
    }
    if !(of_base && of_run) {
        return all;
    }
    put(&mut all, "machine", &flat(&base.machine), &flat(&run.machine));
    if base.prony_version != run.prony_version {
        all.push(RunDifference {
            of: "prony".to_owned(),
            what: "version".to_owned(),
            base: Some(base.prony_version.clone()),
            run: Some(run.prony_version.clone()),
        });
    }
    let (ours, theirs) = (servers(base), servers(run));
    for (name, facts) in &ours {
        // the only server of each run is compared with the other's, whatever they are called
        let only = (ours.len() == 1 && theirs.len() == 1).then(|| theirs.values().next()).flatten();
        if let Some(others) = theirs.get(name).or(only) {
            put(&mut all, name, facts, others);
        }
    }
    all
}

/// Whether it is known on what a run ran; for results of other tools it is not.
#[must_use]
pub fn is_known(record: &RunRecord) -> bool {
    record.machine.cpus > 0 || !record.servers.is_empty()
}

/// What is known about each server, by its name.
fn servers(record: &RunRecord) -> BTreeMap<String, BTreeMap<String, String>> {
    let facts = |number: usize| {
        let known = record.servers.get(&number).map(|server| &server.description);
        let mut facts = BTreeMap::new();
        if let Some(known) = known {
            let named = [("product", &known.product), ("version", &known.version), ("build", &known.build)];
            facts.extend(named.map(|(name, value)| (name.to_owned(), value.clone())));
            facts.insert("origin".to_owned(), known.origin.clone());
            let settings = known.variables.iter().filter(|(name, _)| crate::provision::is_setting(name));
            let own = own_directory(record, number, &known.variables);
            // each start has a separate directory, which makes no difference
            let told =
                |value: &String| own.as_ref().map_or_else(|| value.clone(), |own| value.replace(own, "..."));
            facts.extend(settings.map(|(name, value)| (name.clone(), told(value))));
        }
        facts
    };
    let servers = record.plan.servers.iter().enumerate();
    servers.map(|(number, server)| (server.name.clone(), facts(number))).collect()
}

/// The directory that a server started by Prony had for this run alone; `None`: the server is not Prony's, or
/// does not report it.
fn own_directory(record: &RunRecord, server: usize, variables: &BTreeMap<String, String>) -> Option<String> {
    if !record.plan.servers[server].may(Act::Start) {
        return None;
    }
    let data = variables.get("datadir")?.trim_end_matches('/');
    data.rsplit_once('/').map(|(own, _)| own.to_owned()).filter(|own| !own.is_empty())
}

fn put(
    all: &mut Vec<RunDifference>,
    of: &str,
    base: &BTreeMap<String, String>,
    run: &BTreeMap<String, String>,
) {
    let names: BTreeSet<&String> = base.keys().chain(run.keys()).collect();
    let differing = names.into_iter().filter(|name| base.get(*name) != run.get(*name)).take(TOLD_MAX);
    all.extend(differing.map(|name| RunDifference {
        of: of.to_owned(),
        what: name.clone(),
        base: base.get(name).cloned(),
        run: run.get(name).cloned(),
    }));
}

/// A value flattened to names and texts: `data_sets.0.rows` and `10000`.
fn flat(value: &impl serde::Serialize) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    flatten("", &serde_json::to_value(value).unwrap_or_default(), &mut facts);
    facts
}

fn flatten(name: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Null => {}
        // a length of time
        Value::Object(fields) if fields.len() == 2 && fields.contains_key("nanos") => {
            let of = |key: &str| fields.get(key).and_then(Value::as_f64).unwrap_or(0.0);
            facts.insert(name.to_owned(), format!("{} s", of("secs") + of("nanos") / 1e9));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, facts)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(place, value)| flatten(&below(&(place + 1).to_string()), value, facts)),
        Value::String(text) => drop(facts.insert(name.to_owned(), text.clone())),
        other => drop(facts.insert(name.to_owned(), other.to_string())),
    }
}
