//! The workload that a stream names: a built-in one, or one that the study itself writes under
//! `[workload.NAME]`.

use super::{
    DataSet,
    mistake::{Collector, Place},
    tree::{Node, Table, Value},
};
use crate::workload::{self, Entry, Options, Surroundings, Written};
use load::spec::Workload;

/// The workload `name` with the data set that it needs. `place` is where the name stands, in the stream
/// `stream`.
pub(super) fn workload(
    name: &str,
    place: &Place,
    stream: &Node,
    written: Option<&Node>,
    options: &Options,
    mistakes: &mut Collector,
) -> Option<(Workload, DataSet)> {
    let empty = Table::default();
    let written = written.and_then(Node::table).unwrap_or(&empty);
    if let Some(entry) = written.entry(name) {
        // Its tables are those that the built-in workloads work on.
        let data = workload::data("oltp_read_write", options);
        return Some((
            read(entry, options, mistakes)?,
            data.map_err(|error| wrong(stream, &error, mistakes)).ok()?,
        ));
    }
    match workload::builtin(name, options).and_then(|made| Ok((made, workload::data(name, options)?))) {
        Ok(made) => Some(made),
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
pub(super) fn check(node: &Node, options: &Options, mistakes: &mut Collector) {
    let Some(table) = node.table() else {
        let title = format!("`workload` is {}", node.value.kind());
        mistakes.at(&node.place, title, "workloads are written as `[workload.NAME]`");
        return;
    };
    for entry in &table.0 {
        if workload::find(&entry.key).is_ok() {
            let title = format!("`{}` is a built-in workload", entry.key);
            mistakes.at(&entry.key_place, title, "choose another name");
        }
        read(entry, options, mistakes);
    }
}

fn read(entry: &super::tree::Entry, options: &Options, mistakes: &mut Collector) -> Option<Workload> {
    let Some(table) = entry.node.table() else {
        let title = format!("workload `{}` is {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "a table belongs here");
        return None;
    };
    let surroundings = Surroundings {
        tables: options.tables,
        rows: options.table_size,
        distribution: options.distribution(),
    };
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
