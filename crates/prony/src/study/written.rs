//! The workload that a stream names: a built-in one, or one that the study itself writes under
//! `[workload.NAME]`.

use super::{
    DataSet,
    data::Data,
    mistake::{Collector, Place},
    tree::{Node, Table, Value},
};
use crate::workload::{self, Entry, Options, Surroundings, Written};
use load::spec::Workload;

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
        return Some((read(entry, data, &set, options, mistakes)?, set));
    }
    if data.custom.is_some() && workload::find(name).is_ok() {
        let title = format!("`{name}` works on the built-in workloads' tables");
        let label = "this study has tables of its own, `[[table]]`: name one of its `[workload.NAME]`";
        mistakes.at(place, title, label);
        return None;
    }
    match workload::builtin(name, options).and_then(|made| Ok((made, workload::data(name, options)?))) {
        Ok((made, set)) => Some((made, data.as_said(set).into())),
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
        mistakes.at(&entry.node.place, title, "a table belongs here");
        return None;
    };
    let surroundings = Surroundings { data: set, distribution: options.distribution(), others: data.others };
    let made = workload::written(&entry.key, &entry.key_place, &entries(table), &surroundings);
    made.map_err(|found| {
        for mistake in found {
            mistakes.within(&mistake.place, mistake.within, mistake.title, mistake.label);
        }
    })
    .ok()
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
