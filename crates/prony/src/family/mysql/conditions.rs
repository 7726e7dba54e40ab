//! The conditions that affect a comparison, each read from a server's variables by its meaning.

use crate::{
    family::{Reader, Series, Variables},
    quantity::{show_size_rounded, size_or_bytes},
};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::OnceLock};

/// The page size of servers that do not say theirs.
const PAGE_BYTES: u64 = 16 << 10;

/// See [`crate::family::Family::condition`].
pub(super) fn value(reader: Reader, names: &[String], all: &Variables) -> Option<String> {
    let name = names.iter().find(|name| all.contains_key(*name)).map_or("", String::as_str);
    match reader {
        Reader::Text => text(all, name),
        Reader::Switch => switch(all, name),
        Reader::SwitchOrOff => switch(all, name).or_else(|| Some("off".to_owned())),
        Reader::Size => bytes(all, name).map(show_size_rounded),
        Reader::PageSize => Some(show_size_rounded(bytes(all, name).unwrap_or(PAGE_BYTES))),
        Reader::WithBinlog => has_binlog(all).then(|| text(all, name))?,
        Reader::Binlog => {
            switch(all, "log_bin").map(|value| if value == "off" { value } else { "on".to_owned() })
        }
        Reader::RedoCapacity => redo_capacity(all),
        Reader::FlushMethod => {
            // Empty is what old versions say of their default.
            text(all, name).map(|way| if way.is_empty() { "fsync".to_owned() } else { way })
        }
        Reader::QueryCache => query_cache(all),
        Reader::ThreadPool => {
            let is_off = text(all, "thread_handling")? == "one-thread-per-connection";
            Some(if is_off { "off" } else { "on" }.to_owned())
        }
    }
}

fn redo_capacity(all: &Variables) -> Option<String> {
    let capacity = bytes(all, "innodb_redo_log_capacity").or_else(|| {
        let files = bytes(all, "innodb_log_files_in_group").unwrap_or(1);
        Some(bytes(all, "innodb_log_file_size")? * files)
    });
    capacity.map(show_size_rounded)
}

fn query_cache(all: &Variables) -> Option<String> {
    let is_off = switch(all, "query_cache_type").is_none_or(|kind| kind == "off");
    match bytes(all, "query_cache_size") {
        Some(size) if size > 0 && !is_off => Some(show_size_rounded(size)),
        _ => Some("off".to_owned()),
    }
}

fn has_binlog(all: &Variables) -> bool {
    switch(all, "log_bin").is_some_and(|value| value != "off")
}

/// A value in one spelling.
fn text(all: &Variables, name: &str) -> Option<String> {
    let value = all.get(name)?.trim().to_ascii_lowercase();
    Some(match value.as_str() {
        "utf8" => "utf8mb3".to_owned(),
        "true" | "yes" => "on".to_owned(),
        "false" | "no" => "off".to_owned(),
        other => other.replace("utf8_", "utf8mb3_"),
    })
}

/// The same for one that is on or off, which some versions express in numbers.
fn switch(all: &Variables, name: &str) -> Option<String> {
    text(all, name).map(|value| match value.as_str() {
        "1" => "on".to_owned(),
        "0" => "off".to_owned(),
        _ => value,
    })
}

fn bytes(all: &Variables, name: &str) -> Option<u64> {
    size_or_bytes(all.get(name)?).ok()
}

/// See [`crate::family::Family::series`].
pub(super) fn series() -> &'static [Series] {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Years {
        series: Vec<Series>,
    }
    static TABLE: OnceLock<Years> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        toml::from_str(include_str!("years.toml")).expect("the table is part of the program and tested")
    });
    &table.series
}

/// See [`crate::family::Family::now`].
pub(super) fn now(variables: &Variables, status: &BTreeMap<String, String>) -> Variables {
    let mut variables = variables.clone();
    if let Some(capacity) = status.get("Innodb_redo_log_capacity_resized") {
        variables.insert("innodb_redo_log_capacity".to_owned(), capacity.clone());
    }
    variables
}

/// See [`crate::family::Family::builder`].
pub(super) fn builder(variables: &Variables) -> Option<String> {
    const VENDORS: [&str; 6] = [
        "mariadb.org",
        "mariadb enterprise",
        "mysql community",
        "mysql enterprise",
        "mysql cluster",
        "percona",
    ];
    let comment = variables.get("version_comment")?;
    let plain = comment.to_lowercase();
    Some(if VENDORS.iter().any(|vendor| plain.contains(vendor)) {
        "the vendor's own".to_owned()
    } else if plain.contains("source distribution") || plain.is_empty() {
        "from source".to_owned()
    } else {
        // `Debian 12`, `Ubuntu 24.04`
        comment.clone()
    })
}
