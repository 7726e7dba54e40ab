//! What a server counts: `SHOW GLOBAL STATUS`, InnoDB's metrics, what its connections are doing.

use super::{
    ask,
    counters::{OWN, is_level},
};
use crate::family::{Status, Told, counter, rename};
use load::client::{Connection, Error};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
    time::{Duration, Instant},
};

/// Counters and levels of one server that are kept at most.
const NAMES_MAX: usize = 2000;
/// Most states of connections that are reported separately; the rest is reported as one.
const STATES_MAX: usize = 12;
/// Share of the time that listing all connections may take: thousands of them are listed less often.
const LIST_SHARE: f64 = 0.02;
/// What asking for counters itself counts: some servers fill and read tables for it, a thousand rows per
/// second.
const OWN_WORK: [&str; 11] = [
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_read_key",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
    "Select_scan",
    "Sort_range",
    "Sort_rows",
    "Sort_scan",
];
/// Asks what a connection's own statements have counted of it.
static OWN_STATUS: LazyLock<String> = LazyLock::new(|| {
    let names = OWN_WORK.map(|name| format!("'{name}'")).join(", ");
    format!("SHOW SESSION STATUS WHERE Variable_name IN ({names})")
});
/// Where connections are listed: the first holds no lock of the server while it is read; old servers have the
/// second only.
const LISTS: [&str; 2] = ["performance_schema.processlist", "information_schema.PROCESSLIST"];

/// Metrics that are counted: MySQL 5.7 has one of deadlocks, enabled, and leaves it at 0.
const COUNTED: &str = "NOT (NAME = 'lock_deadlocks' AND VERSION() LIKE '5.7.%')";

/// See [`crate::family::Family::status`].
pub(super) struct Asking {
    all: bool,
    /// Asks for InnoDB's metrics; `None`: the server has none.
    metrics: Option<String>,
    /// Index in [`LISTS`] of the one to try.
    list: usize,
    list_next: Option<Instant>,
}

impl Asking {
    pub(super) fn new(all: bool) -> Self {
        let names = OWN.iter().flat_map(|(_, own)| *own).filter_map(|own| own.strip_prefix("metric/"));
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        let wanted = if all { String::new() } else { format!(" AND NAME IN ({})", names.join(", ")) };
        let metrics = format!(
            "SELECT NAME, `COUNT`, TYPE FROM information_schema.INNODB_METRICS WHERE {COUNTED}{wanted}"
        );
        Self { all, metrics: Some(metrics), list: 0, list_next: None }
    }

    /// Adds InnoDB's metrics to `values`; returns those that go up and down, by their type.
    fn metrics(
        &mut self,
        connection: &mut Connection,
        values: &mut BTreeMap<String, f64>,
    ) -> BTreeSet<String> {
        let mut levels = BTreeSet::new();
        let Some(sql) = &self.metrics else { return levels };
        let Ok(Some(rows)) = ask(connection, sql) else {
            self.metrics = None;
            return levels;
        };
        for row in rows.iter().take(NAMES_MAX) {
            let (Some((name, value)), Some(Some(kind))) = (pair(row), row.get(2)) else { continue };
            let path = format!("metric/{name}");
            if kind == "value" {
                levels.insert(path.clone());
            }
            values.insert(path, value);
        }
        levels
    }

    /// Takes off what reading all this has counted: the connection's own part.
    fn without_own(connection: &mut Connection, values: &mut BTreeMap<String, f64>) {
        let Ok(Some(rows)) = ask(connection, &OWN_STATUS) else { return };
        for (name, own) in rows.iter().filter_map(|row| pair(row)) {
            if let Some(all) = values.get_mut(&format!("status/{name}")) {
                *all = (*all - own).max(0.0);
            }
        }
    }

    /// What the connections are doing.
    fn states(&mut self, connection: &mut Connection) -> Vec<(String, f64)> {
        let began = Instant::now();
        if self.list_next.is_some_and(|next| began < next) {
            return Vec::new();
        }
        let Some(list) = LISTS.get(self.list) else { return Vec::new() };
        let sql = format!(
            "SELECT IF(COMMAND IN ('Query', 'Execute'), IF(STATE IS NULL OR STATE = '', 'executing', \
             STATE), COMMAND), COUNT(*) FROM {list} WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' \
             GROUP BY 1 ORDER BY 2 DESC"
        );
        let Ok(Some(rows)) = ask(connection, &sql) else {
            self.list += 1;
            return Vec::new();
        };
        self.list_next = Some(began + began.elapsed().div_f64(LIST_SHARE).min(Duration::from_secs(60)));
        let all: Vec<(&str, f64)> = rows.iter().filter_map(|row| pair(row)).collect();
        let (told, others) = all.split_at(all.len().min(STATES_MAX));
        let rest: f64 = others.iter().map(|(_, count)| count).sum();
        let path = |state: &str| format!("state/{}", state.replace('/', " "));
        let told = told.iter().map(|(state, count)| (path(state), *count));
        told.chain((rest > 0.0).then(|| (path("(others)"), rest))).collect()
    }
}

impl Status for Asking {
    fn read(&mut self, connection: &mut Connection) -> Result<Told, Error> {
        let answer = connection.query("SHOW GLOBAL STATUS")?;
        let pairs = answer.rows().iter().filter_map(|row| pair(row));
        let mut values: BTreeMap<String, f64> =
            pairs.map(|(name, value)| (format!("status/{name}"), value)).collect();
        Self::without_own(connection, &mut values);
        let uptime = values.get("status/Uptime").copied().unwrap_or(0.0);
        let levels = self.metrics(connection, &mut values);
        rename(OWN, &mut values);
        let is_known = |path: &str| path.strip_prefix("status/").is_some_and(|name| counter(name).is_some());
        values.retain(|path, _| self.all || is_known(path));
        let goes_up_and_down = |(path, _): &(String, f64)| levels.contains(path) || is_level(path);
        let (mut levels, counts): (Vec<_>, Vec<_>) =
            values.into_iter().take(NAMES_MAX).partition(goes_up_and_down);
        levels.extend(self.states(connection));
        Ok(Told { uptime, counts, levels })
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
