//! `prony run --resume`: which run is resumed, and what has changed since it began. Trials of one run are
//! compared with each other, so changes between them must be known and accepted.

use super::failure::{Failure, chain};
use crate::{
    plan::{Plan, Trial},
    provision::ServerDescription,
    report::Words,
    run::{self, Event, TrialOutcome},
    store::{self, Difference, Of, RunRecord, ServerRecord, Store},
    telemetry::Machine,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Share of memory that may come and go with a kernel's version or a virtual machine's balloon.
const MEMORY_WITHIN: f64 = 0.01;
/// Most differences that a message shows; the run stores all.
const SHOWN_MAX: usize = 12;

/// A run that is resumed.
pub(super) struct Earlier {
    pub(super) id: i64,
    /// Its finished trials.
    pub(super) done: Vec<(Trial, TrialOutcome)>,
    /// Its notes.
    pub(super) notes: Vec<run::Note>,
    /// Its servers.
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
        return Err(Failure::cannot_begin(format!("there is no run of {} to resume", plan.name)));
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
            "{of} had other trials than the study has now, so it cannot be resumed:\n{shown}\nrun the study \
             without --resume"
        )));
    }
    let RunRecord { id, trials, servers, plan: planned, machine: before, notes, .. } = record;
    let done: Vec<_> = trials.into_iter().map(|trial| (trial.trial, trial.outcome)).collect();
    if run::is_complete(&planned, run::Done { trials: &done, notes: &notes }) {
        return Err(Failure::cannot_begin(format!("{of} is complete: there is nothing to resume")));
    }
    differences.extend(machine_differences(&before, machine));
    if !(differences.is_empty() || anyway) {
        return Err(Failure::cannot_begin(refusal(&of, &differences)));
    }
    store.resume(last.id, differences)?;
    Ok(Earlier { id, done, notes, servers, anyway })
}

impl Earlier {
    /// Compares a server that is up with what it was when the run began.
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

fn refusal(of: &str, differences: &[Difference]) -> String {
    format!(
        "{of} cannot be resumed, because something has changed:\n{}\nrun the study without --resume, or add \
         --anyway, which records the differences in the run",
        shown(differences)
    )
}

fn shown(differences: &[Difference]) -> String {
    let line = |one: &Difference| format!("  {}", Words::default().difference(one));
    let mut lines: Vec<String> = differences.iter().take(SHOWN_MAX).map(line).collect();
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

/// What differs between two plans: by the study's keys if its text shows the difference, otherwise
/// (overrides, another scale) by the plan's.
fn plan_differences(was: &Plan, is: &Plan) -> Vec<Difference> {
    let without_text = |plan: &Plan| Plan { study_text: String::new(), set: Vec::new(), ..plan.clone() };
    if without_text(was) == without_text(is) {
        return Vec::new();
    }
    let of_text = |plan: &Plan| {
        let table: Option<toml::Table> = plan.study_text.parse().ok();
        table.and_then(|table| serde_json::to_value(table).ok()).unwrap_or_default()
    };
    let in_text = differences(&of_text(was), &of_text(is));
    let of_plan = |plan: &Plan| {
        let mut value = serde_json::to_value(plan).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !["study_text", "set"].contains(&name.as_str()));
        }
        value
    };
    let in_plan = || differences(&of_plan(was), &of_plan(is));
    if in_text.is_empty() { in_plan() } else { in_text }
}

fn machine_differences(was: &Machine, is: &Machine) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |what: &str, was: Option<String>, is: Option<String>| {
        if was != is {
            found.push(Difference { of: Of::Machine, what: what.to_owned(), was, is });
        }
    };
    compare("cpu_model", Some(was.cpu_model.clone()), Some(is.cpu_model.clone()));
    compare("cpus", Some(was.cpus.to_string()), Some(is.cpus.to_string()));
    compare("kernel", Some(was.kernel.clone()), Some(is.kernel.clone()));
    let limit = |limit: Option<f64>| limit.map(|cpus| cpus.to_string());
    compare("cpu_limit", limit(was.cpu_limit), limit(is.cpu_limit));
    let (before, now) = (was.memory_bytes as f64, is.memory_bytes as f64);
    if (now - before).abs() > MEMORY_WITHIN * before {
        let gigabytes = |bytes: f64| Some(format!("{:.2} GB", bytes / f64::from(1 << 30)));
        compare("memory", gigabytes(before), gigabytes(now));
    }
    found
}

fn server_differences(was: &ServerDescription, is: &ServerDescription) -> Vec<Difference> {
    let name = &is.name;
    let differs = |what: &str, was: Option<&String>, is: Option<&String>| {
        let (of, what) = (Of::Server(name.clone()), what.to_owned());
        Difference { of, what, was: was.cloned(), is: is.cloned() }
    };
    let mut found = Vec::new();
    for (what, was, is) in [("product", &was.product, &is.product), ("version", &was.version, &is.version)] {
        found.extend((was != is).then(|| differs(what, Some(was), Some(is))));
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
        found.extend((was != is && !is_of_this_start).then(|| differs(variable, was, is)));
    }
    found
}

/// What differs between two values of a study, by key.
fn differences(was: &Value, is: &Value) -> Vec<Difference> {
    let (mut before, mut now) = (BTreeMap::new(), BTreeMap::new());
    flatten("", was, &mut before);
    flatten("", is, &mut now);
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differing = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    differing
        .map(|key| {
            let (was, is) = (before.get(key).cloned(), now.get(key).cloned());
            Difference { of: Of::Study, what: key.clone(), was, is }
        })
        .collect()
}

/// Every leaf by its path; an element of a list is named by its name, if it has one.
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

    fn said(differences: &[Difference]) -> Vec<String> {
        differences.iter().map(|one| Words::default().difference(one)).collect()
    }

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
            said(&differences(&was, &is)),
            [
                "study: interval was 3 s, is 5.5 s",
                "study: new was not there, is [1,2]",
                "study: seed was 1, is not there",
                r#"study: server.a.settings.x was "1", is "2""#,
            ]
        );
        assert!(differences(&was, &was).is_empty());
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
        assert_eq!(said(&server_differences(&was, &other)), ["server a: thread_pool_size was 2, is 4"]);
    }

    #[test]
    fn a_machine_is_the_same_with_a_little_less_memory() {
        let was =
            Machine { cpus: 2, memory_bytes: 4 << 30, kernel: "Linux 6.1".to_owned(), ..Machine::default() };
        let same = Machine { memory_bytes: (4 << 30) - (8 << 20), ..was.clone() };
        assert!(machine_differences(&was, &same).is_empty());
        let other = Machine { cpus: 4, memory_bytes: 8 << 30, kernel: "Linux 6.2".to_owned(), ..was.clone() };
        assert_eq!(
            said(&machine_differences(&was, &other)),
            [
                "machine: number of CPUs was 2, is 4",
                "machine: kernel was Linux 6.1, is Linux 6.2",
                "machine: memory was 4.00 GB, is 8.00 GB"
            ]
        );
    }
}
