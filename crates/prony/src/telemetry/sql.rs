//! A server as it counts itself: `SHOW GLOBAL STATUS`, InnoDB's metrics, what its connections are doing. Over
//! a connection of its own that is opened before the load, so that neither full connections nor a stuck
//! thread pool stop it.
//!
//! What a server does not have is absent; a statement that it refuses is not sent again.

use super::counts::{Counts, Source};
use load::{
    client::{Connection, Error},
    spec::{Address, Target},
};
use std::time::{Duration, Instant};

/// How long an answer may take; a server that takes longer is asked again over a new connection.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long opening the connection may take.
const LOGIN_MAX: Duration = Duration::from_secs(10);
/// Counters and levels of one server that are kept at most.
const NAMES_MAX: usize = 2000;
/// Different states of connections that are told at most; the rest is told as one.
const STATES_MAX: usize = 12;
/// Share of the time that listing all connections may take: thousands of them are listed more seldom.
const LIST_SHARE: f64 = 0.02;

/// Status counters that are kept without being asked for, of all products and versions. Beside these, all
/// whose names begin with one of [`FAMILIES`].
const CHOSEN: &[&str] = &[
    "Aborted_clients",
    "Aborted_connects",
    "Binlog_bytes_written",
    "Binlog_cache_disk_use",
    "Binlog_commits",
    "Binlog_group_commits",
    "Bytes_received",
    "Bytes_sent",
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_insert",
    "Com_replace",
    "Com_rollback",
    "Com_select",
    "Com_stmt_execute",
    "Com_stmt_prepare",
    "Com_update",
    "Connections",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_read_key",
    "Handler_read_next",
    "Handler_read_rnd_next",
    "Innodb_buffer_pool_bytes_dirty",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_data_fsyncs",
    "Innodb_data_read",
    "Innodb_data_reads",
    "Innodb_data_writes",
    "Innodb_data_written",
    "Innodb_deadlocks",
    "Innodb_history_list_length",
    "Innodb_log_waits",
    "Innodb_log_writes",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Open_tables",
    "Opened_tables",
    "Qcache_hits",
    "Qcache_inserts",
    "Qcache_lowmem_prunes",
    "Queries",
    "Questions",
    "Select_scan",
    "Slow_queries",
    "Sort_merge_passes",
    "Syncs",
    "Table_locks_immediate",
    "Table_locks_waited",
    "Table_open_cache_misses",
    "Threads_connected",
    "Threads_created",
    "Threads_running",
    "wsrep_cert_deps_distance",
    "wsrep_cluster_size",
    "wsrep_flow_control_paused_ns",
    "wsrep_local_bf_aborts",
    "wsrep_local_cert_failures",
    "wsrep_local_recv_queue",
    "wsrep_local_send_queue",
];

/// Thread pools, semi-synchronous replication.
const FAMILIES: &[&str] = &["Threadpool_", "Rpl_semi_sync_"];

/// InnoDB's metrics that are kept without being asked for, where the status does not have them.
const METRICS: &[&str] = &[
    "buffer_pool_wait_free",
    "lock_deadlocks",
    "lock_timeouts",
    "log_lsn_checkpoint_age",
    "log_max_modified_age_async",
    "trx_rseg_history_len",
];

/// Status values that go up and down, as ends or beginnings of their names; all others count.
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
    "Innodb_history_list_length",
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
    "Threadpool_threads",
    "Threads_cached",
    "wsrep_cluster_*",
];

/// Where connections are listed: the first holds no lock of the server while it is read; old servers have the
/// second only.
const LISTS: [&str; 2] = ["performance_schema.processlist", "information_schema.PROCESSLIST"];

/// A server's own counters.
pub(super) struct Sql {
    prefix: String,
    /// Ways to the server, the best first.
    targets: Vec<Target>,
    all: bool,
    connection: Option<Connection>,
    /// A server that was started anew lives another life.
    life: u64,
    uptime: f64,
    has_metrics: bool,
    /// Index in [`LISTS`] of the one to try.
    list: usize,
    list_next: Option<Instant>,
}

impl Sql {
    /// Opens the connection, by the first of `targets` that lets it in; if none does now, it is tried at each
    /// reading.
    pub(super) fn open(prefix: String, targets: Vec<Target>, all: bool) -> Self {
        let mut sql = Self {
            prefix,
            targets,
            all,
            connection: None,
            life: 0,
            uptime: 0.0,
            has_metrics: true,
            list: 0,
            list_next: None,
        };
        sql.connect();
        sql
    }

    fn connect(&mut self) {
        let opened = self.targets.iter().find_map(|target| Connection::open(target, LOGIN_MAX).ok());
        self.connection = opened.map(|mut connection| {
            connection.set_timeout(Some(ANSWER_MAX));
            connection
        });
        (self.has_metrics, self.list) = (true, 0);
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let connection = self.connection.as_mut().ok_or(Error::Closed)?;
        let result = connection.query(sql);
        if result.as_ref().is_err_and(|error| error.code().is_none()) {
            self.connection = None;
        }
        Ok(result?.results.into_iter().next().unwrap_or_default().rows)
    }

    fn status(&mut self) -> Option<Counts> {
        let rows = self.rows("SHOW GLOBAL STATUS").ok()?;
        let pairs: Vec<(&str, f64)> = rows.iter().filter_map(|row| pair(row)).collect();
        let uptime = pairs.iter().find(|(name, _)| *name == "Uptime").map_or(0.0, |(_, seconds)| *seconds);
        if uptime < self.uptime {
            self.life += 1;
        }
        self.uptime = uptime;
        let mut counts = Counts::new(self.life);
        let wanted = pairs.iter().filter(|(name, _)| {
            self.all || CHOSEN.contains(name) || FAMILIES.iter().any(|family| name.starts_with(family))
        });
        for (name, value) in wanted.take(NAMES_MAX) {
            let path = format!("{}/status/{name}", self.prefix);
            if is_level(name) { counts.level(path, *value) } else { counts.count(path, *value) }
        }
        let of = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        // MariaDB 10.8 and later count syncs of the log among all others
        if let Some(syncs) = of("Innodb_os_log_fsyncs").or_else(|| of("Innodb_data_fsyncs")) {
            counts.count(format!("{}/log_syncs", self.prefix), syncs);
        }
        Some(counts)
    }

    fn metrics(&mut self, counts: &mut Counts) {
        let names: Vec<String> = METRICS.iter().map(|name| format!("'{name}'")).collect();
        let wanted = if self.all { String::new() } else { format!(" WHERE NAME IN ({})", names.join(", ")) };
        let sql = format!("SELECT NAME, `COUNT`, TYPE FROM information_schema.INNODB_METRICS{wanted}");
        let Ok(rows) = self.rows(&sql) else {
            self.has_metrics = false;
            return;
        };
        for row in rows.iter().take(NAMES_MAX) {
            let (Some((name, value)), Some(Some(kind))) = (pair(row), row.get(2)) else { continue };
            let path = format!("{}/metric/{name}", self.prefix);
            // MariaDB has counters of the type "value", as lock_deadlocks: those that are kept by default are
            // known
            let is_level = kind == "value" && !["lock_deadlocks", "lock_timeouts"].contains(&name);
            if is_level { counts.level(path, value) } else { counts.count(path, value) }
        }
    }

    /// What the connections are doing.
    fn states(&mut self, counts: &mut Counts) {
        let began = Instant::now();
        if self.list_next.is_some_and(|next| began < next) {
            return;
        }
        let Some(list) = LISTS.get(self.list) else { return };
        let sql = format!(
            "SELECT IF(COMMAND IN ('Query', 'Execute'), IF(STATE IS NULL OR STATE = '', 'executing', \
             STATE), COMMAND), COUNT(*) FROM {list} WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' \
             GROUP BY 1 ORDER BY 2 DESC"
        );
        let Ok(rows) = self.rows(&sql) else {
            self.list += 1;
            return;
        };
        self.list_next = Some(began + began.elapsed().div_f64(LIST_SHARE).min(Duration::from_secs(60)));
        let mut rest = 0.0;
        for (place, (state, count)) in rows.iter().filter_map(|row| pair(row)).enumerate() {
            if place < STATES_MAX {
                counts.level(format!("{}/state/{}", self.prefix, state.replace('/', " ")), count);
            } else {
                rest += count;
            }
        }
        if rest > 0.0 {
            counts.level(format!("{}/state/(others)", self.prefix), rest);
        }
    }
}

impl Source for Sql {
    fn read(&mut self) -> Option<Counts> {
        if self.connection.is_none() {
            self.connect();
        }
        let mut counts = self.status()?;
        if self.has_metrics {
            self.metrics(&mut counts);
        }
        self.states(&mut counts);
        Some(counts)
    }
}

/// Name and value of a row; a switch is 1 or 0. `None` where it is no number.
fn pair(row: &[Option<String>]) -> Option<(&str, f64)> {
    let [Some(name), Some(value), ..] = row else { return None };
    let value = match value.as_str() {
        "ON" | "YES" => 1.0,
        "OFF" | "NO" => 0.0,
        text => text.parse().ok().filter(|value: &f64| value.is_finite())?,
    };
    Some((name, value))
}

fn is_level(name: &str) -> bool {
    LEVELS.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(beginning)) => name.starts_with(beginning),
        _ => name == *pattern,
    })
}

/// The ways to a server for its telemetry, the best first: the port that is kept free for administrators
/// where the server's variables tell of one (`extra_port` of MariaDB, `admin_port` of MySQL), then `target`
/// itself.
#[must_use]
pub fn ways<'a>(target: &Target, variable: impl Fn(&str) -> Option<&'a str>) -> Vec<Target> {
    let number = |name: &str| variable(name)?.parse::<u16>().ok().filter(|port| *port > 0);
    let admin = variable("admin_address").filter(|address| !address.is_empty());
    let extra = number("extra_port").map(|port| (None, port));
    let extra =
        extra.or_else(|| Some((admin, number("admin_port")?)).filter(|(address, _)| address.is_some()));
    let by_port = extra.map(|(address, port)| {
        let host = match (&target.address, address) {
            (_, Some(address)) if address != "*" => address.to_owned(),
            (Address::Tcp { host, .. }, _) => host.clone(),
            (Address::Unix(_), _) => "127.0.0.1".to_owned(),
        };
        Target { address: Address::Tcp { host, port }, ..target.clone() }
    });
    // nothing of what is measured: neither its database nor its compression
    let own = |target: Target| Target { database: None, compress: false, ..target };
    by_port.into_iter().chain([target.clone()]).map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::{Secret, Tls};

    #[test]
    fn what_goes_up_and_down_is_told_from_what_counts() {
        for level in
            ["Threads_running", "Innodb_buffer_pool_pages_dirty", "Open_tables", "Innodb_checkpoint_age"]
        {
            assert!(is_level(level), "{level}");
        }
        for counter in [
            "Com_select",
            "Innodb_buffer_pool_pages_flushed",
            "Opened_tables",
            "Threads_created",
            "Innodb_row_lock_time",
            "Table_locks_waited",
            "Innodb_data_fsyncs",
            "Rpl_semi_sync_master_yes_tx",
        ] {
            assert!(!is_level(counter), "{counter}");
        }
    }

    #[test]
    fn a_port_of_its_own_is_taken_where_the_server_has_one() {
        let target = Target {
            address: Address::Tcp { host: "db".to_owned(), port: 3306 },
            user: "u".to_owned(),
            password: Secret::new(String::new()),
            database: Some("d".to_owned()),
            tls: Tls::default(),
            trust: Default::default(),
            compress: true,
        };
        let addresses = |variables: &[(&str, &'static str)]| -> Vec<String> {
            let find =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            ways(&target, find).into_iter().map(|target| target.address.to_string()).collect()
        };
        assert_eq!(addresses(&[("extra_port", "0")]), ["db:3306"]);
        assert_eq!(addresses(&[("extra_port", "3307")]), ["db:3307", "db:3306"]);
        assert_eq!(addresses(&[("admin_port", "33062"), ("admin_address", "")]), ["db:3306"]);
        let admin = [("admin_port", "33062"), ("admin_address", "10.0.0.1")];
        assert_eq!(addresses(&admin), ["10.0.0.1:33062", "db:3306"]);
        assert!(ways(&target, |_| None).iter().all(|way| way.database.is_none() && !way.compress));
    }
}
