//! `prony run --resume`: which run is gone on with, and what is not as it was when it began. Trials of one
//! run are held against each other, so what changed between them must be known, and wanted.

use super::failure::{Failure, chain};
use crate::{
    plan::{Plan, Trial},
    provision::ServerDescription,
    run::{self, Event, TrialOutcome},
    store::{self, RunRecord, ServerRecord, Store},
    telemetry::Machine,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Memory that may come and go with a kernel's version or a virtual machine's balloon, as a share.
const MEMORY_WITHIN: f64 = 0.01;
/// Differences that a message shows; the run keeps all.
const SHOWN_MAX: usize = 12;

/// A run that is gone on with.
pub(super) struct Earlier {
    pub(super) id: i64,
    /// Trials that it has.
    pub(super) done: Vec<(Trial, TrialOutcome)>,
    /// What it noted.
    pub(super) notes: Vec<run::Note>,
    /// What its servers were.
    servers: BTreeMap<usize, ServerRecord>,
    /// Whether differences are accepted.
    anyway: bool,
}

/// The last run of this study, if its plan and its machine are the same.
pub(super) fn earlier(
    store: &mut Store,
    plan: &Plan,
    machine: &Machine,
    anyway: bool,
) -> Result<Earlier, Failure> {
    let runs = store.list()?;
    let last = runs.iter().find(|run| run.name == plan.name);
    let Some(last) = last else {
        return Err(Failure::cannot_begin(format!("there is no run of {} to go on with", plan.name)));
    };
    if let Some(alive) = last.alive() {
        return Err(Failure::cannot_begin(chain(&alive)));
    }
    let record = store.run(last.id)?;
    let of = format!("run {} of {}", last.id, plan.name);
    let plan = store::as_kept(plan);
    let mut differences = plan_differences(&record.plan, &plan);
    if !same_trials(&record.plan, &plan) {
        let shown = shown(&differences);
        return Err(Failure::cannot_begin(format!(
            "{of} had other trials than the study has now, so that none of them can be gone on \
             with:\n{shown}\nrun it without --resume"
        )));
    }
    let RunRecord { id, trials, servers, plan: planned, machine: before, notes, .. } = record;
    let done: Vec<_> = trials.into_iter().map(|trial| (trial.trial, trial.outcome)).collect();
    if run::is_complete(&planned, run::Done { trials: &done, notes: &notes }) {
        return Err(Failure::cannot_begin(format!("{of} is complete: nothing is missing")));
    }
    differences.extend(machine_differences(&before, machine));
    if !(differences.is_empty() || anyway) {
        return Err(Failure::cannot_begin(refusal(&of, &differences)));
    }
    store.resume(last.id, differences)?;
    Ok(Earlier { id, done, notes, servers, anyway })
}

impl Earlier {
    /// Looks whether a server that is up is the one that it was.
    pub(super) fn check(
        &self,
        store: &mut Store,
        event: &Event,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Event::ServerReady { server, description } = event else { return Ok(()) };
        let Some(before) = self.servers.get(server) else { return Ok(()) };
        let differences = server_differences(&before.description, &store::as_kept(&**description));
        if differences.is_empty() {
            return Ok(());
        }
        if !self.anyway {
            return Err(refusal(&format!("run {}", self.id), &differences).into());
        }
        Ok(store.differs(self.id, differences)?)
    }
}

fn refusal(of: &str, differences: &[String]) -> String {
    format!(
        "{of} cannot be gone on with as if nothing had changed:\n{}\nrun it without --resume, or add \
         --anyway: the run then keeps what was different",
        shown(differences)
    )
}

fn shown(differences: &[String]) -> String {
    let mut lines: Vec<String> = differences.iter().take(SHOWN_MAX).map(|line| format!("  {line}")).collect();
    if differences.len() > SHOWN_MAX {
        lines.push(format!("  and {} more", differences.len() - SHOWN_MAX));
    }
    lines.join("\n")
}

/// Whether trials with the same number are of the same treatment.
fn same_trials(one: &Plan, other: &Plan) -> bool {
    let levels = |plan: &Plan| plan.treatments.iter().map(|each| each.levels.clone()).collect::<Vec<_>>();
    one.trials == other.trials && levels(one) == levels(other)
}

/// What differs between two plans: by the study's keys where its text says it, else (overrides, another
/// scale) by the plan's.
fn plan_differences(was: &Plan, is: &Plan) -> Vec<String> {
    let without_text = |plan: &Plan| Plan { study_text: String::new(), ..plan.clone() };
    if without_text(was) == without_text(is) {
        return Vec::new();
    }
    let of_text = |plan: &Plan| {
        let table: Option<toml::Table> = plan.study_text.parse().ok();
        table.and_then(|table| serde_json::to_value(table).ok()).unwrap_or_default()
    };
    let in_text = differences("study", &of_text(was), &of_text(is));
    let of_plan = |plan: &Plan| {
        let mut value = serde_json::to_value(plan).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("study_text");
        }
        value
    };
    let in_plan = || differences("study", &of_plan(was), &of_plan(is));
    if in_text.is_empty() { in_plan() } else { in_text }
}

fn machine_differences(was: &Machine, is: &Machine) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, was: String, is: String| {
        if was != is {
            found.push(format!("machine: {what} was {was}, is {is}"));
        }
    };
    compare("processor", was.cpu_model.clone(), is.cpu_model.clone());
    compare("number of CPUs", was.cpus.to_string(), is.cpus.to_string());
    compare("kernel", was.kernel.clone(), is.kernel.clone());
    let limit = |limit: Option<f64>| limit.map_or_else(|| "none".to_owned(), |cpus| cpus.to_string());
    compare("limit of CPUs", limit(was.cpu_limit), limit(is.cpu_limit));
    let (before, now) = (was.memory_bytes as f64, is.memory_bytes as f64);
    if (now - before).abs() > MEMORY_WITHIN * before {
        let gigabytes = |bytes: f64| format!("{:.2} GB", bytes / f64::from(1 << 30));
        compare("memory", gigabytes(before), gigabytes(now));
    }
    found
}

fn server_differences(was: &ServerDescription, is: &ServerDescription) -> Vec<String> {
    let name = &is.name;
    let mut found = Vec::new();
    for (what, was, is) in [("product", &was.product, &is.product), ("version", &was.version, &is.version)] {
        if was != is {
            found.push(format!("server {name}: {what} was {was}, is {is}"));
        }
    }
    // what a variable is called is no difference where the version is one
    if !found.is_empty() {
        return found;
    }
    let names: BTreeSet<&String> = was.variables.keys().chain(is.variables.keys()).collect();
    for variable in names {
        let (was, is) = (was.variables.get(variable), is.variables.get(variable));
        let is_of_this_start = !crate::provision::is_setting(variable)
            || ["gtid", "uid"].iter().any(|part| variable.contains(part))
            // directories and sockets of this start
            || [was, is].into_iter().flatten().any(|value| value.contains('/'));
        if was != is && !is_of_this_start {
            let text = |value: Option<&String>| {
                value.map_or_else(|| "not there".to_owned(), |value| format!("`{value}`"))
            };
            found.push(format!("server {name}: {variable} was {}, is {}", text(was), text(is)));
        }
    }
    found
}

/// What differs between two values, one line for each key.
fn differences(what: &str, was: &Value, is: &Value) -> Vec<String> {
    let (mut before, mut now) = (BTreeMap::new(), BTreeMap::new());
    flatten("", was, &mut before);
    flatten("", is, &mut now);
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "not there".to_owned());
    let differing = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    differing
        .map(|key| format!("{what}: {key} was {}, is {}", text(before.get(key)), text(now.get(key))))
        .collect()
}

/// Every leaf by its path; an element of a list goes by its name, if it has one.
fn flatten(path: &str, value: &Value, leaves: &mut BTreeMap<String, String>) {
    let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => match (fields.len(), fields.get("secs"), fields.get("nanos")) {
            (2, Some(secs), Some(nanos)) => {
                let seconds = secs.as_f64().unwrap_or(0.0) + nanos.as_f64().unwrap_or(0.0) / 1e9;
                leaves.insert(path.to_owned(), format!("{seconds} s"));
            }
            _ => fields.iter().for_each(|(key, field)| flatten(&inner(key), field, leaves)),
        },
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (place, item) in items.iter().enumerate() {
                let name =
                    item.get("name").and_then(Value::as_str).map_or_else(|| place.to_string(), str::to_owned);
                flatten(&inner(&name), item, leaves);
            }
        }
        Value::Null => drop(leaves.insert(path.to_owned(), "none".to_owned())),
        leaf => drop(leaves.insert(path.to_owned(), leaf.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_said_by_key() {
        let was = json!({
            "interval": {"secs": 3, "nanos": 0},
            "server": [{"name": "a", "settings": {"x": "1"}}],
            "seed": 1,
        });
        let is = json!({
            "interval": {"secs": 5, "nanos": 500_000_000},
            "server": [{"name": "a", "settings": {"x": "2"}}],
            "new": [1, 2],
        });
        assert_eq!(
            differences("study", &was, &is),
            [
                "study: interval was 3 s, is 5.5 s",
                "study: new was not there, is [1,2]",
                "study: seed was 1, is not there",
                r#"study: server.a.settings.x was "1", is "2""#,
            ]
        );
        assert!(differences("study", &was, &was).is_empty());
    }

    #[test]
    fn a_server_is_the_same_with_another_port_but_not_with_another_pool() {
        let server = |variables: &[(&str, &str)]| ServerDescription {
            name: "a".to_owned(),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..ServerDescription::default()
        };
        let was = server(&[
            ("port", "3307"),
            ("extra_port", "4307"),
            ("socket", "/tmp/a"),
            ("thread_pool_size", "2"),
        ]);
        let same = server(&[("port", "3308"), ("socket", "/tmp/b"), ("thread_pool_size", "2")]);
        assert!(server_differences(&was, &same).is_empty());
        let other = server(&[("thread_pool_size", "4")]);
        assert_eq!(server_differences(&was, &other), ["server a: thread_pool_size was `2`, is `4`"]);
    }

    #[test]
    fn a_machine_is_the_same_with_a_little_less_memory() {
        let was =
            Machine { cpus: 2, memory_bytes: 4 << 30, kernel: "Linux 6.1".to_owned(), ..Machine::default() };
        let same = Machine { memory_bytes: (4 << 30) - (8 << 20), ..was.clone() };
        assert!(machine_differences(&was, &same).is_empty());
        let other = Machine { cpus: 4, memory_bytes: 8 << 30, kernel: "Linux 6.2".to_owned(), ..was.clone() };
        assert_eq!(
            machine_differences(&was, &other),
            [
                "machine: number of CPUs was 2, is 4",
                "machine: kernel was Linux 6.1, is Linux 6.2",
                "machine: memory was 4.00 GB, is 8.00 GB"
            ]
        );
    }
}
