//! What servers count, under the names that every family uses. `docs/counters.md` shows the table to users; a
//! test writes it.

use std::collections::BTreeMap;

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Its name: `lock_waits`.
    pub name: &'static str,
    /// How it moves.
    pub kind: Kind,
    /// What it is, for the documentation.
    pub what: &'static str,
}

/// How a figure moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, and is told as a rate per second.
    Count,
    /// It goes up and down, and is told as it is.
    Level,
}

/// The figure of this name.
#[must_use]
pub fn counter(name: &str) -> Option<&'static Counter> {
    let place = COUNTERS.binary_search_by_key(&name, |counter| counter.name).ok()?;
    COUNTERS.get(place)
}

/// What the servers of a family call counters: for each name that every family has, their own paths below the
/// server's, best first. Ordered by the former.
pub type OwnNames = &'static [(&'static str, &'static [&'static str])];

/// Renames the entries of `values` from a family's own paths to those of every family: `status/Com_commit`
/// becomes `status/commits`. Everything else stays as it is.
pub fn rename<T: Clone>(own_names: OwnNames, values: &mut BTreeMap<String, T>) {
    let best = |own: &[&str]| own.iter().find_map(|own| values.get(*own)).cloned();
    let found: Vec<(String, T)> =
        own_names.iter().filter_map(|(name, own)| Some((format!("status/{name}"), best(own)?))).collect();
    for (_, own) in own_names {
        own.iter().for_each(|own| drop(values.remove(*own)));
    }
    values.extend(found);
}

const fn count(name: &'static str, what: &'static str) -> Counter {
    Counter { name, kind: Kind::Count, what }
}

const fn level(name: &'static str, what: &'static str) -> Counter {
    Counter { name, kind: Kind::Level, what }
}

/// All of them, by name.
pub const COUNTERS: &[Counter] = &[
    count("begins", "transactions started by a statement"),
    count("binlog_bytes", "bytes written to the binary log"),
    count("binlog_cache_spills", "transactions too large for the binary log's cache in memory"),
    count("binlog_commits", "transactions committed to the binary log"),
    count("binlog_group_commits", "groups in which these were committed together"),
    level("buffer_pool_dirty_bytes", "bytes of the buffer pool that are not yet written"),
    count("buffer_pool_misses", "pages that were not in the buffer pool and had to be read"),
    level("buffer_pool_pages", "pages of the buffer pool"),
    level("buffer_pool_pages_dirty", "pages of the buffer pool that are not yet written"),
    count("buffer_pool_pages_flushed", "pages of the buffer pool that were written"),
    level("buffer_pool_pages_free", "free pages of the buffer pool"),
    level("buffer_pool_pages_used", "pages of the buffer pool that hold data"),
    count("buffer_pool_requests", "page requests to the buffer pool"),
    count("buffer_pool_waits", "waits for a free page of the buffer pool"),
    count("bytes_received", "bytes received from clients"),
    count("bytes_sent", "bytes sent to clients"),
    level("checkpoint_age_bytes", "bytes of redo log that a crash would have to replay"),
    level("checkpoint_age_flush_bytes", "checkpoint age from which pages are flushed hard"),
    level("checkpoint_age_max_bytes", "largest checkpoint age that the log can hold"),
    count("cluster_aborts", "transactions of this node that were aborted by one from another node"),
    count("cluster_conflicts", "transactions of this node that failed certification"),
    level("cluster_distance", "mean distance between transactions that depend on each other"),
    level("cluster_receive_queue", "transactions from other nodes that wait to be applied"),
    level("cluster_send_queue", "transactions that wait to be sent to other nodes"),
    level("cluster_size", "nodes of the cluster"),
    count("commits", "COMMIT statements"),
    count("connections_aborted", "connections that ended without a proper close"),
    level("connections_open", "connections that are open"),
    count("connections_opened", "connections opened, refused ones included"),
    count("data_read_bytes", "bytes read from data files"),
    count("data_reads", "reads from data files"),
    count("data_syncs", "syncs of data files, on some servers those of the log as well"),
    count("data_writes", "writes to data files"),
    count("data_written_bytes", "bytes written to data files"),
    count("deadlocks", "deadlocks"),
    count("deletes", "DELETE statements"),
    count("file_syncs", "syncs of files outside the transactional engine"),
    count("flow_control_ns", "time for which flow control paused writes, ns"),
    count("full_scans", "joins that scan their first table"),
    level("history_length", "transactions whose old row versions are not yet purged"),
    count("index_steps", "rows read by moving to the next entry of an index"),
    count("index_steps_back", "rows read by moving to the previous entry of an index"),
    count("inserts", "INSERT statements"),
    count("key_cache_misses", "index blocks that were not in the key cache and had to be read"),
    count("key_cache_requests", "index block requests to the key cache"),
    count("key_cache_write_requests", "index blocks written to the key cache"),
    count("key_cache_writes", "index blocks written to disk"),
    count("key_reads", "rows read by a key"),
    count("lock_timeouts", "waits for row locks that timed out"),
    count("lock_wait_ms", "time spent waiting for row locks, ms"),
    count("lock_waits", "waits for row locks"),
    level("lock_waits_now", "row locks currently waited for"),
    count(
        "log_syncs",
        "syncs of the redo log, or of all the engine's files where the log is not counted \
                        separately",
    ),
    count("log_waits", "waits for room in the log buffer"),
    count("log_writes", "writes to the redo log"),
    count("log_written_bytes", "bytes written to the redo log"),
    count("logins_failed", "attempts to connect that failed"),
    count("pages_read", "pages read"),
    count("pages_written", "pages written"),
    level("pool_threads", "threads of the thread pool"),
    level("pool_threads_idle", "idle threads of the thread pool"),
    count("prepared_executions", "executions of prepared statements"),
    count("prepares", "statements prepared"),
    count("query_cache_hits", "queries answered from the query cache"),
    count("query_cache_inserts", "queries added to the query cache"),
    count("query_cache_prunes", "queries dropped from the query cache for lack of memory"),
    count("replaces", "REPLACE statements"),
    count("rollbacks", "ROLLBACK statements"),
    count("rows_by_position", "rows read by their position, mostly after a sort"),
    count("rows_deleted", "rows deleted"),
    count("rows_inserted", "rows inserted"),
    count("rows_read", "rows read"),
    count("rows_scanned", "rows read in full table scans"),
    count("rows_sorted", "rows sorted"),
    count("rows_updated", "rows updated"),
    count("selects", "SELECT statements"),
    count("semi_sync_acknowledged", "commits that a replica acknowledged in time"),
    count("semi_sync_given_up", "times that the server stopped waiting for replicas"),
    level("semi_sync_on", "whether commits wait for replicas: 1 or 0"),
    level("semi_sync_replicas", "replicas that acknowledge commits"),
    count("semi_sync_unacknowledged", "commits that no replica acknowledged in time"),
    count("semi_sync_wait_us", "time for which commits waited for replicas, us"),
    level("semi_sync_waiting", "connections whose commit waits for a replica"),
    count("semi_sync_waits", "commits that waited for replicas"),
    count("slow_statements", "statements that took longer than the server's limit"),
    count("sort_merge_passes", "merge passes of sorts that did not fit in memory"),
    count("sorts_of_ranges", "sorts of rows that a range of an index found"),
    count("sorts_of_scans", "sorts of rows that a table scan found"),
    count("statements", "statements from clients"),
    count("statements_nested", "statements, those inside stored programs included"),
    count("table_cache_misses", "tables that were not in the table cache"),
    count("table_locks_immediate", "table locks granted at once"),
    count("table_locks_waited", "table locks that had to be waited for"),
    level("tables_open", "open tables"),
    count("tables_opened", "tables opened"),
    count("temporary_tables", "temporary tables created by the server"),
    count("temporary_tables_on_disk", "temporary tables created on disk"),
    count("threads_created", "threads created for connections"),
    level("threads_running", "connections that execute something"),
    count("updates", "UPDATE statements"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        assert!(COUNTERS.is_sorted_by(|one, next| one.name < next.name));
        assert_eq!(counter("threads_running").map(|counter| counter.kind), Some(Kind::Level));
        assert_eq!(counter("Threads_running"), None);
    }
}
