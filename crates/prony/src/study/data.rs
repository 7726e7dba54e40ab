//! What `[data]` and `[[table]]` say: the tables that all streams work on.

use super::{
    keys::{self, Key, Put, key, section},
    kinds::{Count, Flag, Text, Words},
    mistake::Collector,
    tables,
    tree::{Node, Table},
};
use crate::{
    layout::{
        DataSet, custom,
        sysbench::{self, Generator},
    },
    workload::{self, Options},
};

/// Highest number of rows: ids are INTEGER.
const ROWS_MAX: u64 = i32::MAX as u64;

/// `[data]`
pub(super) const DATA: &[Key<Data>] = &[
    key(
        "generator",
        &Put(
            Words(&[("sysbench", Generator::Sysbench), ("bulk_insert", Generator::BulkInsert)]),
            |data: &mut Data, value| data.generator = Some(value),
        ),
        None,
        r#""sysbench""#,
        "Layout and contents of the tables; without it, what the first stream's workload needs.",
    ),
    key(
        "tables",
        &Put(Count(1, 10_000), |data: &mut Data, value| data.options.tables = value),
        Some("1"),
        "",
        "Number of tables.",
    ),
    key(
        "rows",
        &Put(Count(1, ROWS_MAX), |data: &mut Data, value| data.options.table_size = value),
        Some("10_000"),
        "",
        "Rows in each table.",
    ),
    key(
        "engine",
        &Put(Text, |data: &mut Data, value| data.options.engine = value),
        Some(r#""InnoDB""#),
        "",
        "Storage engine of the tables.",
    ),
    key(
        "secondary",
        &Put(Flag, |data: &mut Data, value| data.options.secondary = value),
        Some("false"),
        "",
        "Make `id` a plain index in place of the primary key.",
    ),
    key(
        "create_secondary",
        &Put(Flag, |data: &mut Data, value| data.options.create_secondary = value),
        Some("true"),
        "",
        "Make the secondary index.",
    ),
    key(
        "auto_inc",
        &Put(Flag, |data: &mut Data, value| data.options.auto_inc = value),
        Some("true"),
        "",
        "Let `id` count by itself.",
    ),
];

/// The options that it sets for every workload, and the tables.
#[derive(Default)]
pub(super) struct Data {
    pub(super) options: Options,
    /// Which of sysbench's layouts, where one is named.
    generator: Option<Generator>,
    /// The tables that the study writes.
    pub(super) custom: Option<custom::Data>,
    /// Whether there may be tables that Prony does not make: a server is running already.
    pub(super) others: bool,
}

impl Data {
    /// The data set of a workload that is written for these options.
    pub(super) fn set(&self, options: &Options) -> Result<DataSet, workload::Error> {
        match &self.custom {
            Some(custom) => Ok(custom.clone().into()),
            // Its tables are those that the built-in workloads work on.
            None => Ok(self.as_said(workload::data("oltp_read_write", options)?).into()),
        }
    }

    /// The data set of sysbench's in the layout that the study names.
    pub(super) fn as_said(&self, data: sysbench::Data) -> sysbench::Data {
        sysbench::Data { generator: self.generator.unwrap_or(data.generator), ..data }
    }
}

/// Reads `[data]` and `[[table]]`; what is missing has its default.
pub(super) fn data(root: &Table, mistakes: &mut Collector) -> Data {
    let empty = Table::default();
    let table = section(root.get("data"), "data", mistakes).unwrap_or(&empty);
    let (mut data, _) = keys::read(table, DATA, mistakes);
    data.custom = tables::tables(root, Some(data.options.engine.clone()), mistakes);
    for entry in table.0.iter().filter(|entry| data.custom.is_some() && entry.key != "engine") {
        let title = format!("`{}` is about the built-in workloads' tables", entry.key);
        mistakes.at(&entry.key_place, title, "the study has tables of its own: `[[table]]` says it for each");
    }
    let servers = root.get("server").and_then(Node::table).map_or(&[][..], |servers| &servers.0);
    data.others =
        servers.iter().any(|server| server.node.table().is_some_and(|table| table.get("url").is_some()));
    data
}
