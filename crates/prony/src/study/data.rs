//! What `[data]` and `[[table]]` say: the tables that all streams work on.

use super::{
    forms,
    keys::{self, Elsewhere, Key, Put, key, section},
    kinds::{Count, Flag, Number, Text, Words},
    mistake::Collector,
    server::Server,
    tables,
    topology::Topology,
    tree::{Entry, Node, Table, Value},
};
use crate::{
    layout::{
        DataSet, GENERATORS, Generator, copies, custom,
        files::{self, Disguise, Rules, Use},
        tpcc::WAREHOUSES_MAX,
        tpch::{SCALE_FACTOR_MAX, SCALE_FACTOR_MIN},
    },
    workload::{self, Options},
};
use serde_json::json;
use std::path::PathBuf;

/// Highest number of rows: ids are INTEGER.
const ROWS_MAX: u64 = i32::MAX as u64;

/// `[data]`
pub(super) const DATA: &[Key<Data>] = &[
    key(
        "generator",
        &Put(Words(GENERATORS), |data: &mut Data, value| data.generator = Some(value)),
        None,
        r#""sysbench""#,
        "Layout and contents of the tables [default: what the first stream's workload needs].",
    ),
    key(
        "sql",
        &Put(forms::SQL_FILES, |data: &mut Data, value| data.sql = value),
        None,
        r#""schema.sql""#,
        "Create the tables with this SQL file, such as a dump by mysqldump (.sql, .sql.gz, .sql.zst), or \
         with a list of files, on every server that Prony starts; paths are relative to the study. \
         `{orders.id}` draws between the lowest and the highest number that the files insert.",
    ),
    key(
        "dump",
        &Put(Text, |data: &mut Data, value| data.dump = Some(value)),
        None,
        r#""shop.dump""#,
        "The same with the directory of a dump by mydumper or mysqlsh (`util.dumpSchemas`).",
    ),
    key(
        "copy",
        &Put(Text, |data: &mut Data, value| data.copy = Some(value)),
        None,
        r#""/backup/shop""#,
        "Start each server on a copy of this directory: a backup by mariadb-backup or xtrabackup, or the \
         data directory of a stopped server of the same product and no newer version. It is only read.",
    ),
    key(
        "database",
        &Put(Text, |data: &mut Data, value| data.database = Some(value)),
        None,
        r#""shop""#,
        "The database of `copy` that statements work in [default: its only one].",
    ),
    key(
        "files",
        &Elsewhere(files_schema),
        None,
        r#"{ customer = "customer.csv", orders = ["1.parquet", "2.parquet"] }"#,
        "Rows of tables that `sql` creates: for each table a file (.csv, .csv.gz, .csv.zst, .parquet), or a \
         list. The first line of CSV names columns; `\\N`, and nothing where the column holds no text, is \
         NULL.",
    ),
    key(
        "anonymise",
        &Elsewhere(anonymise_schema),
        None,
        r#"{ customer = { email = "hash", phone = "mask", name = "shuffle" } }"#,
        "What replaces values of `sql`, `dump` and `files` before a server gets them: `hash` (equal values \
         stay equal), `shuffle` (within the column) or `mask` (letters become x, digits 9).",
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
        "warehouses",
        &Put(Count(1, WAREHOUSES_MAX), |data: &mut Data, value| data.options.warehouses = value),
        Some("1"),
        "",
        "Warehouses of the TPC-C-like workloads `tpcc` and `tpcc-nowait`, about 100 MB each.",
    ),
    key(
        "scale_factor",
        &Put(Number(SCALE_FACTOR_MIN, SCALE_FACTOR_MAX), |data: &mut Data, value| {
            data.options.scale_factor = value;
        }),
        Some("0.01"),
        "",
        "Scale factor of the TPC-H-like workload `tpch`: 1 has 8.66 million rows, about 1.8 GB with indexes.",
    ),
    key(
        "procedures",
        &Put(Flag, |data: &mut Data, value| data.options.procedures = value),
        Some("false"),
        "",
        "Make the transactions of `tpcc` and `tpcc-nowait` stored procedures, and call them, instead of \
         sending single statements.",
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
        "Make `id` an ordinary index instead of the primary key.",
    ),
    key(
        "create_secondary",
        &Put(Flag, |data: &mut Data, value| data.options.create_secondary = value),
        Some("true"),
        "",
        "Create the secondary index.",
    ),
    key(
        "auto_inc",
        &Put(Flag, |data: &mut Data, value| data.options.auto_inc = value),
        Some("true"),
        "",
        "Make `id` AUTO_INCREMENT.",
    ),
];

fn files_schema() -> serde_json::Value {
    json!({ "type": "object", "additionalProperties": { "type": ["string", "array"] } })
}

fn anonymise_schema() -> serde_json::Value {
    let rules = json!({ "enum": ["hash", "shuffle", "mask"] });
    let table = json!({ "type": "object", "additionalProperties": rules });
    json!({ "type": "object", "additionalProperties": table })
}

/// The options that it sets for every workload, and the tables.
#[derive(Default)]
pub(super) struct Data {
    pub(super) options: Options,
    /// What makes the tables of the built-in workloads, where it is named.
    generator: Option<Generator>,
    /// Files of SQL that make the tables.
    sql: Vec<String>,
    /// The directory of a dump.
    dump: Option<String>,
    /// What they make.
    pub(super) files: Option<files::Data>,
    /// The directory of a copy of a server's files, and its database.
    copy: Option<String>,
    database: Option<String>,
    /// What is in it.
    pub(super) copied: Option<copies::Data>,
    /// The tables that the study writes.
    pub(super) custom: Option<custom::Data>,
    /// Whether there may be tables that Prony does not make: a server is already running.
    pub(super) others: bool,
}

impl Data {
    /// The data set for a written workload with these options.
    pub(super) fn set(&self, options: &Options) -> Result<DataSet, workload::Error> {
        if let Some(files) = &self.files {
            return Ok(DataSet::Files(files.clone()));
        }
        if let Some(copied) = &self.copied {
            return Ok(DataSet::Copy(copied.clone()));
        }
        match &self.custom {
            Some(custom) => Ok(custom.clone().into()),
            // It works on the tables of the built-in workloads.
            None => Ok(self.as_said(workload::data_set("oltp_read_write", options)?)),
        }
    }

    /// The data set as the generator makes it that the study names, if it names one.
    pub(super) fn as_said(&self, set: DataSet) -> DataSet {
        match self.generator {
            Some(generator) => set.made_by(generator),
            None => set,
        }
    }
}

/// Reads `[data]` and `[[table]]`; what is missing has its default.
pub(super) fn data(root: &Table, mistakes: &mut Collector) -> Data {
    let empty = Table::default();
    let table = section(root.get("data"), "data", mistakes).unwrap_or(&empty);
    let (mut data, _) = keys::read(table, DATA, mistakes);
    data.custom = tables::tables(root, Some(data.options.engine.clone()), mistakes);
    for entry in table.0.iter().filter(|entry| data.custom.is_some() && entry.key != "engine") {
        let title = format!("`{}` applies to the built-in workloads' tables", entry.key);
        mistakes.at(&entry.key_place, title, "the study defines its own tables: set it in each `[[table]]`");
    }
    if let Some(node) = table.get(COPY) {
        read_copy(&mut data, (root, table, node), mistakes);
    } else if let Some(node) = table.get(DATABASE) {
        let label = "remove it: the tables are in a database that Prony makes";
        mistakes.at(&node.place, format!("`{DATABASE}` needs `{COPY}`"), label);
    } else if let Some(node) = FILES.iter().find_map(|key| table.get(key)) {
        read_files(&mut data, (root, table, node), mistakes);
    } else if let Some(node) = table.get(ANONYMISE) {
        let label = "remove it: nothing but files holds somebody's values";
        mistakes.at(&node.place, format!("`{ANONYMISE}` needs `sql`, `dump` or `files`"), label);
    }
    let servers = root.get("server").and_then(Node::table).map_or(&[][..], |servers| &servers.0);
    data.others =
        servers.iter().any(|server| server.node.table().is_some_and(|table| table.get("url").is_some()));
    data
}

/// The key that names a copy of a server's files, and the one that names a database in it.
const COPY: &str = "copy";
const DATABASE: &str = "database";

/// Reads what is in a copy; only servers that Prony starts alone start on it.
fn read_copy(data: &mut Data, (root, table, node): (&Table, &Table, &Node), mistakes: &mut Collector) {
    refuse_running(COPY, root, node, mistakes);
    if data.custom.is_some() {
        let title = format!("the study has both `{COPY}` and `[[table]]`");
        mistakes.at(&node.place, title, "remove one of them");
    }
    let is_other = |entry: &&Entry| ![COPY, DATABASE].contains(&entry.key.as_str());
    for entry in table.0.iter().filter(is_other) {
        let title = format!("`{}` does not apply to a copy", entry.key);
        mistakes.at(&entry.key_place, title, format!("the tables come with `{COPY}`: remove one of them"));
    }
    let path = mistakes.path_of(data.copy.as_deref().unwrap_or_default());
    let path = std::path::absolute(&path).unwrap_or(path);
    match mistakes.copy(path, data.database.as_deref()) {
        Ok(copied) => data.copied = Some(copied),
        Err(error) => {
            let of_database = matches!(error, copies::Error::Database { wanted: Some(_), .. });
            let place = table.get(DATABASE).filter(|_| of_database).unwrap_or(node);
            mistakes.at(&place.place, error.to_string(), "this copy");
        }
    }
}

/// A server that is already running gets no files.
fn refuse_running(key: &str, root: &Table, node: &Node, mistakes: &mut Collector) {
    let empty = Table::default();
    let servers = root.get("server").and_then(Node::table).unwrap_or(&empty);
    let is_running = |server: &&Entry| server.node.table().is_some_and(|table| table.get("url").is_some());
    if let Some(server) = servers.0.iter().find(is_running) {
        let title = format!("`{key}` would write to `{}`, which Prony does not start", server.key);
        let label = format!(
            "Prony only reads a database that it did not create: load the files there yourself, and remove \
             `{key}`"
        );
        mistakes.at(&node.place, title, label);
    }
}

/// Refuses a copy for servers of which only one would start on it.
pub(super) fn check_members(root: &Table, server: &Server, set: &DataSet, mistakes: &mut Collector) {
    let copy = root.get("data").and_then(Node::table).and_then(|data| data.get(COPY));
    let Some(node) = copy.filter(|_| set.copy().is_some() && server.topology != Topology::Single) else {
        return;
    };
    let title = format!("`{}` has replicas or other nodes, which would not have the copy", server.name);
    mistakes.at(&node.place, title, "load a dump (`sql` or `dump`), or remove [topology]");
}

/// Keys that name files which make tables, or their rows.
const FILES: [&str; 3] = ["sql", "dump", "files"];
/// The key that says what becomes of their values.
const ANONYMISE: &str = "anonymise";

/// Reads the files that create the tables; they are loaded only into servers that Prony starts.
fn read_files(data: &mut Data, (root, table, node): (&Table, &Table, &Node), mistakes: &mut Collector) {
    let key = FILES.into_iter().find(|key| table.get(key).is_some()).unwrap_or("sql");
    refuse_running(key, root, node, mistakes);
    if data.custom.is_some() {
        mistakes.at(&node.place, format!("the study has both `{key}` and `[[table]]`"), "remove one of them");
    }
    let is_other = |entry: &&Entry| !FILES.contains(&entry.key.as_str()) && entry.key != ANONYMISE;
    for entry in table.0.iter().filter(is_other) {
        let title = format!("`{}` applies to the built-in workloads' tables", entry.key);
        mistakes.at(&entry.key_place, title, format!("the files of `{key}` create the tables: remove it"));
    }
    let mut all: Vec<(PathBuf, Use)> =
        data.sql.iter().map(|name| (mistakes.path_of(name), Use::Script)).collect();
    if let (Some(dump), Some(node)) = (&data.dump, table.get("dump")) {
        match files::dump(&mistakes.path_of(dump)) {
            Ok(dump) => all.extend(dump),
            Err(error) => return mistakes.at(&node.place, error.to_string(), "this dump"),
        }
    }
    if let Some(node) = table.get("files") {
        if all.is_empty() {
            let label = "add `sql = \"schema.sql\"`, a file with their CREATE TABLE";
            return mistakes.at(&node.place, "nothing creates the tables of `files`", label);
        }
        all.extend(rows(node, mistakes));
    }
    let rules = table.get(ANONYMISE).map(|node| rules(node, mistakes)).unwrap_or_default();
    match mistakes.files(all).and_then(|files| files.disguised_by(rules)) {
        Ok(files) => data.files = Some(files),
        Err(error) => mistakes.at(&place_of(&error, table, node).place, error.to_string(), "in these files"),
    }
}

/// Files with the rows of tables, each table's in their order.
fn rows(node: &Node, mistakes: &mut Collector) -> Vec<(PathBuf, Use)> {
    let wanted = "expected a file for each table: { customer = \"customer.csv\" }";
    let Some(tables) = node.table() else {
        mistakes.at(&node.place, format!("`files` is {}", node.value.kind()), wanted);
        return Vec::new();
    };
    let mut all = Vec::new();
    for entry in &tables.0 {
        let nodes = match &entry.node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        for node in nodes {
            let path = mistakes.path_of(node.text().unwrap_or_default());
            let Some(form) = files::form(&path).filter(|form| *form != files::Form::Tab) else {
                mistakes.at(
                    &node.place,
                    "this is no file of rows",
                    "expected .csv, .csv.gz, .csv.zst or .parquet",
                );
                continue;
            };
            let table = entry.key.clone();
            let (columns, encoded) = (Vec::new(), Default::default());
            all.push((path, Use::Rows(files::OfRows { table, form, columns, encoded })));
        }
    }
    all
}

/// Where the study names the table, or the files, that a mistake is about.
fn place_of<'a>(error: &files::Error, table: &'a Table, node: &'a Node) -> &'a Node {
    let named = match error {
        files::Error::Table { table, .. } | files::Error::Column { table, .. } => table,
        _ => return node,
    };
    let of = |key| table.get(key).and_then(Node::table).and_then(|tables| tables.get(named));
    match (error, of(ANONYMISE), of("files")) {
        // a table's rules are in a table of their own, where the column has a place
        (files::Error::Column { column, .. }, Some(rules), _) => {
            rules.table().and_then(|rules| rules.get(column)).unwrap_or(rules)
        }
        (_, rules, files) => files.or(rules).unwrap_or(node),
    }
}

/// What replaces values.
fn rules(node: &Node, mistakes: &mut Collector) -> Rules {
    let mut rules = Rules::new();
    let wanted = "expected columns of tables: { customer = { email = \"hash\" } }";
    let Some(tables) = node.table() else {
        mistakes.at(&node.place, format!("`{ANONYMISE}` is {}", node.value.kind()), wanted);
        return rules;
    };
    for entry in &tables.0 {
        let Some(columns) = entry.node.table() else {
            mistakes.at(&entry.node.place, format!("`{}` is {}", entry.key, entry.node.value.kind()), wanted);
            continue;
        };
        for column in &columns.0 {
            let rule = match column.node.text() {
                Some("hash") => Disguise::Hash,
                Some("shuffle") => Disguise::Shuffle,
                Some("mask") => Disguise::Mask,
                _ => {
                    let title = format!("`{}` cannot be anonymised like this", column.key);
                    mistakes.at(&column.node.place, title, "expected \"hash\", \"shuffle\" or \"mask\"");
                    continue;
                }
            };
            rules.entry(entry.key.clone()).or_default().insert(column.key.clone(), rule);
        }
    }
    rules
}
