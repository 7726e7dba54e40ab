//! The workload that a stream names: a built-in one, or one that the study itself writes under
//! `[workload.NAME]`, in SQL or as a Lua script.

use super::{
    DataSet,
    data::Data,
    keys::Kind as _,
    kinds::{DAY_US, Time},
    mistake::{Collector, Place},
    tree::{Node, Table, Value},
};
use crate::{
    layout::{neighbours, scripted},
    sysbench::{self, Refused},
    workload::{self, Context, Entry, Options, Written},
};
use load::spec::{Waits, Workload};
use std::time::Duration;

/// The workload `name` with the data set that it needs. `place` is where the name stands, in the stream
/// `stream`.
pub(super) fn workload(
    (name, place): (&str, &Place),
    stream: &Node,
    written: Option<&Node>,
    (data, options): (&Data, &Options),
    mistakes: &mut Collector,
) -> Option<(Workload, DataSet)> {
    let empty = Table::default();
    let written = written.and_then(Node::table).unwrap_or(&empty);
    if let Some(entry) = written.entry(name) {
        let set = data.set(options).map_err(|error| wrong(stream, &error, mistakes)).ok()?;
        let made = read(entry, data, &set, options, mistakes)?;
        let set = scripted(entry, &made).unwrap_or(set);
        return Some((made, set));
    }
    let has_others = neighbours::find(name).is_none() && workload::find(name).is_ok();
    if has_others && (data.custom.is_some() || data.files.is_some() || data.copied.is_some()) {
        let title = format!("`{name}` uses the built-in workloads' tables");
        let label = match &data.files {
            _ if data.copied.is_some() => {
                "this study's tables are those of `copy`: use one of its `[workload.NAME]`"
            }
            None => "this study defines its own tables, `[[table]]`: use one of its `[workload.NAME]`",
            Some(_) => "the files of `sql` create this study's tables: use one of its `[workload.NAME]`",
        };
        mistakes.at(place, title, label);
        return None;
    }
    match workload::builtin(name, options).and_then(|made| Ok((made, workload::data_set(name, options)?))) {
        Ok((made, set)) => Some((made, data.as_said(set))),
        Err(workload::Error::UnknownWorkload { .. }) => {
            let of_file = written.0.iter().map(|entry| entry.key.as_str());
            let known = workload::list().iter().map(|builtin| builtin.name).chain(of_file);
            mistakes.unknown(place, "workload", name, known);
            None
        }
        Err(error) => {
            wrong(stream, &error, mistakes);
            None
        }
    }
}

/// How long connections wait around each transaction of a workload that the study writes, where it says so.
pub(super) fn waits(written: Option<&Node>, name: &str, mistakes: &mut Collector) -> Option<Vec<Waits>> {
    let written = written?.table()?.get(name)?.table()?;
    let Value::Array(transactions) = &written.get("transaction")?.value else { return None };
    let mut time = |transaction: &Node, key: &str| {
        let node = transaction.table()?.get(key)?;
        let read = Time(0, DAY_US).read(node);
        if read.is_err() {
            let title = format!("`{key}` is {}", node.value.kind());
            mistakes.at(&node.place, title, "expected a time such as \"2s\"");
        }
        read.ok()
    };
    let all: Vec<(Option<Duration>, Option<Duration>)> =
        transactions.iter().map(|one| (time(one, "keying"), time(one, "think"))).collect();
    let is_said = all.iter().any(|(keying, think)| keying.or(*think).is_some());
    let waits = all.into_iter().map(|(keying, think)| Waits {
        keying: keying.unwrap_or_default(),
        think: think.unwrap_or_default(),
    });
    is_said.then(|| waits.collect())
}

/// Checks every `[workload.NAME]`, also those that no stream names.
pub(super) fn check(node: &Node, data: &Data, mistakes: &mut Collector) {
    let Some(table) = node.table() else {
        let title = format!("`workload` is {}", node.value.kind());
        mistakes.at(&node.place, title, "workloads are written as `[workload.NAME]`");
        return;
    };
    let options = &data.options;
    // what is wrong with the data set is told where it is read
    let Ok(set) = data.set(options) else { return };
    for entry in &table.0 {
        if workload::find(&entry.key).is_ok() {
            let title = format!("`{}` is a built-in workload", entry.key);
            mistakes.at(&entry.key_place, title, "choose another name");
        }
        read(entry, data, &set, options, mistakes);
        waits(Some(node), &entry.key, mistakes);
    }
}

fn read(
    entry: &super::tree::Entry,
    data: &Data,
    set: &DataSet,
    options: &Options,
    mistakes: &mut Collector,
) -> Option<Workload> {
    let Some(table) = entry.node.table() else {
        let title = format!("workload `{}` is {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "expected a table");
        return None;
    };
    if let Some(node) = table.get("lua") {
        return script(entry, (table, node), mistakes);
    }
    let context = Context { data: set, distribution: options.distribution(), others: data.others };
    let made = workload::written(&entry.key, &entry.key_place, &entries(table), &context);
    made.map_err(|found| {
        for mistake in found {
            mistakes.within(&mistake.place, mistake.within, mistake.title, mistake.label);
        }
    })
    .ok()
}

/// A workload that is a Lua script: every other key is one of its options, but for `prepare`.
fn script(
    entry: &super::tree::Entry,
    (table, node): (&Table, &Node),
    mistakes: &mut Collector,
) -> Option<Workload> {
    let Some(file) = node.text() else {
        mistakes.at(&node.place, format!("`lua` is {}", node.value.kind()), "expected the path of a script");
        return None;
    };
    if let Some(prepare) = table.get("prepare").filter(|node| !matches!(node.value, Value::Flag(_))) {
        let label = "expected true, if the script's `prepare` command creates the data, or false";
        mistakes.at(&prepare.place, format!("`prepare` is {}", prepare.value.kind()), label);
    }
    let others = table.0.iter().filter(|other| !["lua", "prepare"].contains(&other.key.as_str()));
    let options: Vec<(String, String)> =
        others.map(|option| (option.key.clone(), option.node.label())).collect();
    let made = sysbench::workload(&mistakes.path_of(file), file, &options, prepares(table));
    made.map(|script| Workload::of_script(&entry.key, script))
        .map_err(|refused| {
            let place = match &refused {
                Refused::Option { name, .. } => {
                    table.entry(name).map_or(&node.place, |option| &option.key_place)
                }
                _ => &node.place,
            };
            mistakes.at(place, refused.to_string(), "in this script's workload");
        })
        .ok()
}

/// Whether the script's own `prepare` command makes the tables that it works on.
fn prepares(table: &Table) -> bool {
    table.get("prepare").is_some_and(|node| node.value == Value::Flag(true))
}

/// The data set that a script makes itself.
fn scripted(entry: &super::tree::Entry, workload: &Workload) -> Option<DataSet> {
    let script = workload.script().filter(|_| entry.node.table().is_some_and(prepares))?;
    Some(DataSet::Scripted(Box::new(scripted::Data { script: script.clone(), seed: 0 })))
}

/// Where a statement of a workload stands, by its place among all of them.
pub(super) fn statement<'a>(file: &'a Table, workload: &str, place: usize) -> Option<&'a Place> {
    fn gather<'a>(node: &'a Node, all: &mut Vec<&'a Place>) {
        match &node.value {
            Value::Text(_) => all.push(&node.place),
            Value::Array(nodes) => nodes.iter().for_each(|node| gather(node, all)),
            Value::Table(table) => match table.get("sql") {
                Some(sql) => all.push(&sql.place),
                None => {
                    let lists = ["statements", "else"].into_iter().filter_map(|key| table.get(key));
                    lists.for_each(|list| gather(list, all));
                }
            },
            _ => {}
        }
    }
    let written = file.get("workload")?.table()?.get(workload)?.table()?;
    let mut all = Vec::new();
    let lists = ["transaction", "statements"].into_iter().filter_map(|key| written.get(key));
    lists.for_each(|list| gather(list, &mut all));
    all.get(place).copied()
}

fn wrong(stream: &Node, error: &workload::Error, mistakes: &mut Collector) {
    mistakes.at(&stream.place, error.to_string(), "in this stream, or in [data]");
}

fn entries(table: &Table) -> Vec<Entry<Place>> {
    let convert = |entry: &super::tree::Entry| Entry {
        key: entry.key.clone(),
        place: entry.key_place.clone(),
        value: convert(&entry.node),
    };
    table.0.iter().map(convert).collect()
}

fn convert(node: &Node) -> Written<Place> {
    let value = match &node.value {
        Value::Text(text) => workload::Value::Text(text.clone()),
        Value::Integer(number) => workload::Value::Integer(*number),
        Value::Real(number) => workload::Value::Real(*number),
        Value::Flag(flag) => workload::Value::Flag(*flag),
        Value::Array(nodes) => workload::Value::List(nodes.iter().map(convert).collect()),
        Value::Table(table) => workload::Value::Table(entries(table)),
        Value::Date => workload::Value::Other,
    };
    Written { place: node.place.clone(), value }
}
