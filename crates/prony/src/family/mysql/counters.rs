//! What MySQL and MariaDB call the counters that have a name in every family, and which of the others go up
//! and down.

use crate::family::{Kind, OwnNames, counter};

/// What a counter is called here, the best first: `status/` in SHOW GLOBAL STATUS, `metric/` in
/// INNODB_METRICS. A name without either is one that older versions of Prony stored.
pub(super) const OWN: OwnNames = &[
    ("begins", &["status/Com_begin"]),
    ("binlog_bytes", &["status/Binlog_bytes_written"]),
    ("binlog_cache_spills", &["status/Binlog_cache_disk_use"]),
    ("binlog_commits", &["status/Binlog_commits"]),
    ("binlog_group_commits", &["status/Binlog_group_commits"]),
    ("buffer_pool_dirty_bytes", &["status/Innodb_buffer_pool_bytes_dirty"]),
    ("buffer_pool_misses", &["status/Innodb_buffer_pool_reads"]),
    ("buffer_pool_pages", &["status/Innodb_buffer_pool_pages_total"]),
    ("buffer_pool_pages_dirty", &["status/Innodb_buffer_pool_pages_dirty"]),
    ("buffer_pool_pages_flushed", &["status/Innodb_buffer_pool_pages_flushed"]),
    ("buffer_pool_pages_free", &["status/Innodb_buffer_pool_pages_free"]),
    ("buffer_pool_pages_used", &["status/Innodb_buffer_pool_pages_data"]),
    ("buffer_pool_requests", &["status/Innodb_buffer_pool_read_requests"]),
    ("buffer_pool_waits", &["status/Innodb_buffer_pool_wait_free", "metric/buffer_pool_wait_free"]),
    ("bytes_received", &["status/Bytes_received"]),
    ("bytes_sent", &["status/Bytes_sent"]),
    ("checkpoint_age_bytes", &["status/Innodb_checkpoint_age", "metric/log_lsn_checkpoint_age"]),
    ("checkpoint_age_flush_bytes", &["metric/log_max_modified_age_async"]),
    ("checkpoint_age_max_bytes", &["status/Innodb_checkpoint_max_age"]),
    ("cluster_aborts", &["status/wsrep_local_bf_aborts"]),
    ("cluster_conflicts", &["status/wsrep_local_cert_failures"]),
    ("cluster_distance", &["status/wsrep_cert_deps_distance"]),
    ("cluster_receive_queue", &["status/wsrep_local_recv_queue"]),
    ("cluster_send_queue", &["status/wsrep_local_send_queue"]),
    ("cluster_size", &["status/wsrep_cluster_size"]),
    ("commits", &["status/Com_commit"]),
    ("connections_aborted", &["status/Aborted_clients"]),
    ("connections_open", &["status/Threads_connected"]),
    ("connections_opened", &["status/Connections"]),
    ("data_read_bytes", &["status/Innodb_data_read"]),
    ("data_reads", &["status/Innodb_data_reads"]),
    ("data_syncs", &["status/Innodb_data_fsyncs"]),
    ("data_writes", &["status/Innodb_data_writes"]),
    ("data_written_bytes", &["status/Innodb_data_written"]),
    ("deadlocks", &["status/Innodb_deadlocks", "metric/lock_deadlocks"]),
    ("deletes", &["status/Com_delete"]),
    ("file_syncs", &["status/Syncs"]),
    ("flow_control_ns", &["status/wsrep_flow_control_paused_ns"]),
    ("full_scans", &["status/Select_scan"]),
    ("history_length", &["status/Innodb_history_list_length", "metric/trx_rseg_history_len"]),
    ("index_steps", &["status/Handler_read_next"]),
    ("index_steps_back", &["status/Handler_read_prev"]),
    ("inserts", &["status/Com_insert"]),
    ("key_cache_misses", &["status/Key_reads"]),
    ("key_cache_requests", &["status/Key_read_requests"]),
    ("key_cache_write_requests", &["status/Key_write_requests"]),
    ("key_cache_writes", &["status/Key_writes"]),
    ("key_reads", &["status/Handler_read_key"]),
    ("lock_timeouts", &["metric/lock_timeouts"]),
    ("lock_wait_ms", &["status/Innodb_row_lock_time"]),
    ("lock_waits", &["status/Innodb_row_lock_waits"]),
    ("lock_waits_now", &["status/Innodb_row_lock_current_waits"]),
    // MariaDB 10.8 and later count syncs of the log among all others.
    ("log_syncs", &["log_syncs", "status/Innodb_os_log_fsyncs", "status/Innodb_data_fsyncs"]),
    ("log_waits", &["status/Innodb_log_waits"]),
    ("log_writes", &["status/Innodb_log_writes"]),
    ("log_written_bytes", &["status/Innodb_os_log_written"]),
    ("logins_failed", &["status/Aborted_connects"]),
    ("pages_read", &["status/Innodb_pages_read"]),
    ("pages_written", &["status/Innodb_pages_written"]),
    ("pool_threads", &["status/Threadpool_threads"]),
    ("pool_threads_idle", &["status/Threadpool_idle_threads"]),
    ("prepared_executions", &["status/Com_stmt_execute"]),
    ("prepares", &["status/Com_stmt_prepare"]),
    ("query_cache_hits", &["status/Qcache_hits"]),
    ("query_cache_inserts", &["status/Qcache_inserts"]),
    ("query_cache_prunes", &["status/Qcache_lowmem_prunes"]),
    ("replaces", &["status/Com_replace"]),
    ("rollbacks", &["status/Com_rollback"]),
    ("rows_by_position", &["status/Handler_read_rnd"]),
    ("rows_deleted", &["status/Innodb_rows_deleted", "status/Handler_delete"]),
    ("rows_inserted", &["status/Innodb_rows_inserted"]),
    ("rows_read", &["status/Innodb_rows_read"]),
    ("rows_scanned", &["status/Handler_read_rnd_next"]),
    ("rows_sorted", &["status/Sort_rows"]),
    ("rows_updated", &["status/Innodb_rows_updated"]),
    ("selects", &["status/Com_select"]),
    ("semi_sync_acknowledged", &["status/Rpl_semi_sync_master_yes_tx", "status/Rpl_semi_sync_source_yes_tx"]),
    ("semi_sync_given_up", &["status/Rpl_semi_sync_master_no_times", "status/Rpl_semi_sync_source_no_times"]),
    ("semi_sync_on", &["status/Rpl_semi_sync_master_status", "status/Rpl_semi_sync_source_status"]),
    ("semi_sync_replicas", &["status/Rpl_semi_sync_master_clients", "status/Rpl_semi_sync_source_clients"]),
    ("semi_sync_unacknowledged", &["status/Rpl_semi_sync_master_no_tx", "status/Rpl_semi_sync_source_no_tx"]),
    (
        "semi_sync_wait_us",
        &["status/Rpl_semi_sync_master_tx_wait_time", "status/Rpl_semi_sync_source_tx_wait_time"],
    ),
    (
        "semi_sync_waiting",
        &["status/Rpl_semi_sync_master_wait_sessions", "status/Rpl_semi_sync_source_wait_sessions"],
    ),
    ("semi_sync_waits", &["status/Rpl_semi_sync_master_tx_waits", "status/Rpl_semi_sync_source_tx_waits"]),
    ("slow_statements", &["status/Slow_queries"]),
    ("sort_merge_passes", &["status/Sort_merge_passes"]),
    ("sorts_of_ranges", &["status/Sort_range"]),
    ("sorts_of_scans", &["status/Sort_scan"]),
    ("statements", &["status/Questions"]),
    ("statements_nested", &["status/Queries"]),
    ("table_cache_misses", &["status/Table_open_cache_misses"]),
    ("table_locks_immediate", &["status/Table_locks_immediate"]),
    ("table_locks_waited", &["status/Table_locks_waited"]),
    ("tables_open", &["status/Open_tables"]),
    ("tables_opened", &["status/Opened_tables"]),
    ("temporary_tables", &["status/Created_tmp_tables"]),
    ("temporary_tables_on_disk", &["status/Created_tmp_disk_tables"]),
    ("threads_created", &["status/Threads_created"]),
    ("threads_running", &["status/Threads_running"]),
    ("updates", &["status/Com_update"]),
];

/// Values that go up and down and have no name in every family, as ends or beginnings of their names; all
/// others count.
const LEVELS: &[&str] = &[
    "*_age",
    "*_avg",
    "*_clients",
    "*_connected",
    "*_current_waits",
    "*_dirty",
    "*_distance",
    "*_free",
    "*_idle_threads",
    "*_max",
    "*_max_age",
    "*_misc",
    "*_old",
    "*_pages_data",
    "*_bytes_data",
    "*_pending_fsyncs",
    "*_pending_reads",
    "*_pending_writes",
    "*_queue",
    "*_running",
    "*_size",
    "*_status",
    "*_total",
    "*_used",
    "*_unused",
    "*_max_write_lsn",
    "Innodb_ibuf_free_list",
    "Innodb_ibuf_segment_size",
    "Innodb_mem_*",
    "Innodb_num_open_files",
    "Innodb_undo_tablespaces_*",
    "Key_blocks_*",
    "Last_query_cost",
    "Max_used_connections",
    "Memory_used*",
    "Open_*",
    "Prepared_stmt_count",
    "Qcache_free_*",
    "Qcache_queries_in_cache",
    "Qcache_total_blocks",
    "Slave_open_temp_tables",
    "Threads_cached",
    "wsrep_cluster_*",
];

/// Whether a value goes up and down: `status/threads_running`, `status/Key_blocks_used`.
pub(super) fn is_level(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let by_pattern = || {
        LEVELS.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (_, Some(beginning)) => name.starts_with(beginning),
            _ => name == *pattern,
        })
    };
    counter(name).map_or_else(by_pattern, |counter| counter.kind == Kind::Level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{COUNTERS, rename};
    use std::collections::BTreeMap;

    #[test]
    fn every_counter_has_a_name_here_and_no_other_has() {
        assert!(OWN.iter().map(|(name, _)| *name).eq(COUNTERS.iter().map(|counter| counter.name)));
    }

    #[test]
    fn the_best_of_several_own_names_counts_and_what_has_no_other_name_stays() {
        let renamed = |own: &[(&str, f64)]| {
            let mut values: BTreeMap<String, f64> =
                own.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            rename(OWN, &mut values);
            let once = values.clone();
            rename(OWN, &mut values);
            assert_eq!(values, once, "new names are left alone");
            values
        };
        let values = renamed(&[
            ("metric/lock_deadlocks", 7.0),
            ("process/cpu_user", 1.0),
            ("status/Innodb_data_fsyncs", 90.0),
            ("status/Innodb_deadlocks", 8.0),
            ("status/Innodb_os_log_fsyncs", 30.0),
            ("status/Uptime_since_flush_status", 5.0),
        ]);
        assert_eq!(values["status/deadlocks"], 8.0);
        assert_eq!((values["status/log_syncs"], values["status/data_syncs"]), (30.0, 90.0));
        assert_eq!((values["process/cpu_user"], values["status/Uptime_since_flush_status"]), (1.0, 5.0));
        assert_eq!(values.len(), 5, "{values:?}");
        let mariadb = renamed(&[("status/Innodb_data_fsyncs", 90.0)]);
        assert_eq!((mariadb["status/log_syncs"], mariadb["status/data_syncs"]), (90.0, 90.0));
        let stored = renamed(&[("log_syncs", 3.0), ("status/Innodb_os_log_fsyncs", 4.0)]);
        assert_eq!(stored, BTreeMap::from([("status/log_syncs".to_owned(), 3.0)]));
    }

    #[test]
    fn what_goes_up_and_down_is_told_from_what_counts() {
        let levels = [
            "status/Open_files",
            "status/Innodb_buffer_pool_bytes_data",
            "status/buffer_pool_pages_dirty",
            "status/checkpoint_age_bytes",
            "status/threads_running",
        ];
        levels.iter().for_each(|level| assert!(is_level(level), "{level}"));
        let counts = [
            "status/Com_set_option",
            "status/Innodb_dblwr_writes",
            "status/Rpl_semi_sync_master_net_waits",
            "status/buffer_pool_pages_flushed",
            "status/lock_wait_ms",
            "status/semi_sync_acknowledged",
            "status/tables_opened",
        ];
        counts.iter().for_each(|counter| assert!(!is_level(counter), "{counter}"));
    }
}
