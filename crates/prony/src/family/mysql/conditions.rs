//! The conditions that decide what a comparison is worth, each read from a server's variables by meaning.

use crate::{
    family::{Aspect, Defaults, Variables},
    quantity::{show_size_rounded, size_or_bytes},
};
use std::{collections::BTreeMap, sync::OnceLock};

const fn aspect(
    key: &'static str,
    title: &'static str,
    word: Option<&'static str>,
    names: &'static [&'static str],
    read: fn(&Variables) -> Option<String>,
) -> Aspect {
    Aspect { key, title, word, names, read }
}

pub(super) const ASPECTS: &[Aspect] = &[
    aspect("buffer_pool", "buffer pool", Some("buffer_pool"), &["innodb_buffer_pool_size"], |all| {
        bytes(all, "innodb_buffer_pool_size").map(show_size_rounded)
    }),
    aspect(
        "redo_capacity",
        "redo capacity",
        Some("redo_capacity"),
        &["innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group"],
        redo_capacity,
    ),
    aspect(
        "flush_at_commit",
        "flush at commit",
        Some("flush_at_commit"),
        &["innodb_flush_log_at_trx_commit"],
        |all| text(all, "innodb_flush_log_at_trx_commit"),
    ),
    aspect("doublewrite", "doublewrite", Some("doublewrite"), &["innodb_doublewrite"], |all| {
        text(all, "innodb_doublewrite")
    }),
    aspect("flush_method", "flush method", Some("flush_method"), &["innodb_flush_method"], |all| {
        // Empty is what old versions say of their default.
        Some(text(all, "innodb_flush_method")?)
            .map(|way| if way.is_empty() { "fsync".to_owned() } else { way })
    }),
    aspect("binlog", "binary log", Some("binlog"), &["log_bin", "skip_log_bin", "disable_log_bin"], |all| {
        text(all, "log_bin").map(|value| if value == "off" { value } else { "on".to_owned() })
    }),
    aspect("sync_binlog", "sync_binlog", Some("sync_binlog"), &[], |all| {
        has_binlog(all).then(|| text(all, "sync_binlog"))?
    }),
    aspect("binlog_format", "format of the binary log", Some("binlog_format"), &[], |all| {
        has_binlog(all).then(|| text(all, "binlog_format"))?
    }),
    aspect("isolation", "isolation", Some("isolation"), &["transaction_isolation", "tx_isolation"], |all| {
        text(all, "transaction_isolation").or_else(|| text(all, "tx_isolation"))
    }),
    aspect("character_set", "character set", Some("character_set"), &["character_set_server"], |all| {
        text(all, "character_set_server")
    }),
    aspect("collation", "collation", Some("collation"), &["collation_server"], |all| {
        text(all, "collation_server")
    }),
    aspect("performance_schema", "performance_schema", Some("performance_schema"), &[], |all| {
        text(all, "performance_schema").or_else(|| Some("off".to_owned()))
    }),
    aspect(
        "query_cache",
        "query cache",
        Some("query_cache"),
        &["query_cache_type", "query_cache_size"],
        query_cache,
    ),
    aspect("thread_pool", "thread pool", Some("thread_pool"), &["thread_handling"], |all| {
        let handling = text(all, "thread_handling")?;
        Some(if handling == "one-thread-per-connection" { "off" } else { "on" }.to_owned())
    }),
    aspect(
        "adaptive_hash_index",
        "adaptive hash index",
        Some("adaptive_hash_index"),
        &["innodb_adaptive_hash_index"],
        |all| text(all, "innodb_adaptive_hash_index"),
    ),
    aspect(
        "file_per_table",
        "a file for each table",
        Some("file_per_table"),
        &["innodb_file_per_table"],
        |all| text(all, "innodb_file_per_table"),
    ),
    aspect("page_size", "page size", None, &["innodb_page_size"], |all| {
        // Servers that do not say it have no other.
        Some(show_size_rounded(bytes(all, "innodb_page_size").unwrap_or(16 << 10)))
    }),
    aspect("compression", "page compression", None, &["innodb_compression_default"], |all| {
        text(all, "innodb_compression_default").or_else(|| Some("off".to_owned()))
    }),
    aspect("engine", "default engine", None, &["default_storage_engine", "storage_engine"], |all| {
        text(all, "default_storage_engine").or_else(|| text(all, "storage_engine"))
    }),
];

fn redo_capacity(all: &Variables) -> Option<String> {
    let capacity = bytes(all, "innodb_redo_log_capacity").or_else(|| {
        let files = bytes(all, "innodb_log_files_in_group").unwrap_or(1);
        Some(bytes(all, "innodb_log_file_size")? * files)
    });
    capacity.map(show_size_rounded)
}

fn query_cache(all: &Variables) -> Option<String> {
    let is_off = text(all, "query_cache_type").is_none_or(|kind| kind == "off");
    match bytes(all, "query_cache_size") {
        Some(size) if size > 0 && !is_off => Some(show_size_rounded(size)),
        _ => Some("off".to_owned()),
    }
}

fn has_binlog(all: &Variables) -> bool {
    text(all, "log_bin").is_some_and(|value| value != "off")
}

/// A value in one spelling.
fn text(all: &Variables, name: &str) -> Option<String> {
    let value = all.get(name)?.trim().to_ascii_lowercase();
    Some(match value.as_str() {
        "utf8" => "utf8mb3".to_owned(),
        // Switches as some versions say them; numbers are numbers there.
        "true" | "yes" => "on".to_owned(),
        "false" | "no" => "off".to_owned(),
        "1" if SWITCHES.contains(&name) => "on".to_owned(),
        "0" if SWITCHES.contains(&name) => "off".to_owned(),
        other => other.replace("utf8_", "utf8mb3_"),
    })
}

/// Variables for which 1 means on.
const SWITCHES: &[&str] = &[
    "innodb_doublewrite",
    "log_bin",
    "performance_schema",
    "query_cache_type",
    "innodb_adaptive_hash_index",
    "innodb_file_per_table",
    "innodb_compression_default",
];

fn bytes(all: &Variables, name: &str) -> Option<u64> {
    size_or_bytes(all.get(name)?).ok()
}

/// See [`crate::family::Family::defaults`].
pub(super) fn defaults() -> &'static Defaults {
    static TABLE: OnceLock<Defaults> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("defaults.toml")).expect("the table is part of the program and tested")
    })
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
