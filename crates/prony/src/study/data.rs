//! What `[data]` says: the tables that all streams work on.

use super::{
    keys::{self, Key, Put, key, section},
    kinds::{Count, Flag, Text, Words},
    mistake::Collector,
    tree::{Node, Table},
};
use crate::workload::Options;

/// Highest number of rows: ids are INTEGER.
const ROWS_MAX: u64 = i32::MAX as u64;

/// `[data]`
pub(super) const DATA: &[Key<Data>] = &[
    key(
        "generator",
        &Put(Words(&[("sysbench", "sysbench"), ("bulk_insert", "bulk_insert")]), |data: &mut Data, value| {
            data.generator = Some(value.to_owned())
        }),
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
        "Make the index on column `k`.",
    ),
    key(
        "auto_inc",
        &Put(Flag, |data: &mut Data, value| data.options.auto_inc = value),
        Some("true"),
        "",
        "Let `id` count by itself.",
    ),
];

/// The options that it sets for every workload, and the layout where it names one.
#[derive(Default)]
pub(super) struct Data {
    pub(super) options: Options,
    pub(super) generator: Option<String>,
}

/// Reads `[data]`; what is missing has its default.
pub(super) fn data(node: Option<&Node>, mistakes: &mut Collector) -> Data {
    let empty = Table::default();
    keys::read(section(node, "data", mistakes).unwrap_or(&empty), DATA, mistakes).0
}
