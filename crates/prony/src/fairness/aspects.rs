//! The conditions that decide what a comparison is worth, each read from a server's variables by meaning.

use crate::quantity::size_or_bytes;
use std::collections::BTreeMap;

type Variables = BTreeMap<String, String>;

/// One condition that servers of a comparison should share.
#[derive(Debug)]
pub struct Aspect {
    /// Its key.
    pub key: &'static str,
    /// In words.
    pub title: &'static str,
    /// The word of `[settings]` that sets it.
    pub word: Option<&'static str>,
    /// Names of the servers' own that set it.
    names: &'static [&'static str],
    read: fn(&Variables) -> Option<String>,
}

impl Aspect {
    /// What a server with these variables has; `None`: not known, or without a meaning there.
    #[must_use]
    pub fn value(&self, variables: &BTreeMap<String, String>) -> Option<String> {
        (self.read)(variables)
    }

    /// Whether a setting of this name changes it.
    pub(super) fn is_set_by(&self, name: &str) -> bool {
        self.word == Some(name) || self.names.contains(&name)
    }
}

/// All of them, the most important first.
#[must_use]
pub fn aspects() -> &'static [Aspect] {
    ASPECTS
}

const fn aspect(
    key: &'static str,
    title: &'static str,
    word: Option<&'static str>,
    names: &'static [&'static str],
    read: fn(&Variables) -> Option<String>,
) -> Aspect {
    Aspect { key, title, word, names, read }
}

const ASPECTS: &[Aspect] = &[
    aspect("buffer_pool", "buffer pool", Some("buffer_pool"), &["innodb_buffer_pool_size"], |all| {
        bytes(all, "innodb_buffer_pool_size").map(shown_size)
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
        Some(shown_size(bytes(all, "innodb_page_size").unwrap_or(16 << 10)))
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
    capacity.map(shown_size)
}

fn query_cache(all: &Variables) -> Option<String> {
    let is_off = text(all, "query_cache_type").is_none_or(|kind| kind == "off");
    match bytes(all, "query_cache_size") {
        Some(size) if size > 0 && !is_off => Some(shown_size(size)),
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

/// Bytes in the largest unit that leaves no or little behind: `96M`, `1G`.
pub(super) fn shown_size(bytes: u64) -> String {
    const UNITS: [(u32, char); 3] = [(30, 'G'), (20, 'M'), (10, 'K')];
    for (shift, letter) in UNITS {
        // From ten units on a rounded figure says enough.
        if bytes >= 10 << shift || (bytes >= 1 << shift && bytes.trailing_zeros() >= shift) {
            return format!("{}{letter}", (bytes + (1 << (shift - 1))) >> shift);
        }
    }
    bytes.to_string()
}
