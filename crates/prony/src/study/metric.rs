//! What is estimated from a run, and what claims can be about: every metric with its name, its unit, and
//! whether more of it is better, in one table.

use super::{CrashKind, bound::Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "String", inline)]
#[serde(into = "String", try_from = "String")]
pub enum Metric {
    /// Transactions per second.
    Throughput,
    /// Statements per second.
    Statements,
    /// Mean response time.
    Mean,
    /// A quantile of response time, in hundred-thousandths: 99 900 is p99.9.
    Quantile(u32),
    /// How long a stream was active: what a limit took, extrapolated where it was not reached.
    Active,
    /// Share of transactions that failed.
    Errors,
    /// Share of acknowledged commits that a crash of this kind loses.
    Lost(CrashKind),
    /// The highest rate that kept the objective.
    Rate,
    /// Mean lag of all members.
    Lag,
    /// Its 99th percentile.
    LagP99,
    /// Processor time of the servers for a transaction.
    ServerCpu,
    /// Processor time of Prony for a transaction.
    ClientCpu,
    /// Context switches of the servers for a transaction.
    Switches,
    /// Reads from disks for a transaction.
    Reads,
    /// What is written to disks for a transaction.
    Written,
    /// Syncs of the log for a transaction.
    LogSyncs,
    /// Share of the processors of the servers' machine that had nothing to do.
    CpuIdle,
    /// The same while the background was alone.
    CpuIdleAlone,
    /// Rows read in full table scans.
    RowsScanned,
    /// Rows read.
    RowsRead,
    /// Share of table locks that had to be waited for.
    TableLocksWaited,
    /// Share of pages that were found in the buffer pool.
    BufferPoolHit,
    /// Mean time to connect and log in.
    Connect,
    /// Its 99th percentile.
    ConnectP99,
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

/// Metrics by name, with what they are measured in; percentiles beside them.
const METRICS: [(&str, Metric, Unit, Better); 25] = {
    use Better::{Less, More};
    [
        ("active", Metric::Active, Unit::Seconds, Less),
        ("buffer_pool_hit", Metric::BufferPoolHit, Unit::Share, More),
        ("client_cpu", Metric::ClientCpu, Unit::Milliseconds, Less),
        ("connect", Metric::Connect, Unit::Milliseconds, Less),
        ("connect_p99", Metric::ConnectP99, Unit::Milliseconds, Less),
        ("cpu", Metric::ServerCpu, Unit::Milliseconds, Less),
        ("cpu_idle", Metric::CpuIdle, Unit::Share, More),
        ("cpu_idle_alone", Metric::CpuIdleAlone, Unit::Share, More),
        ("errors", Metric::Errors, Unit::Share, Less),
        ("lag", Metric::Lag, Unit::Milliseconds, Less),
        ("lag_p99", Metric::LagP99, Unit::Milliseconds, Less),
        ("log_syncs", Metric::LogSyncs, Unit::One, Less),
        ("lost", Metric::Lost(CrashKind::Kill), Unit::Share, Less),
        ("lost_network", Metric::Lost(CrashKind::Network), Unit::Share, Less),
        ("lost_power", Metric::Lost(CrashKind::Power), Unit::Share, Less),
        ("mean", Metric::Mean, Unit::Milliseconds, Less),
        ("rate", Metric::Rate, Unit::PerSecond, More),
        ("reads", Metric::Reads, Unit::One, Less),
        ("rows_read", Metric::RowsRead, Unit::PerSecond, More),
        ("rows_scanned", Metric::RowsScanned, Unit::PerSecond, More),
        ("statements", Metric::Statements, Unit::PerSecond, More),
        ("switches", Metric::Switches, Unit::One, Less),
        ("table_locks_waited", Metric::TableLocksWaited, Unit::Share, Less),
        ("throughput", Metric::Throughput, Unit::PerSecond, More),
        ("written", Metric::Written, Unit::Kilobytes, Less),
    ]
};

impl Metric {
    /// Names to suggest; percentiles are represented by a few.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        METRICS.iter().map(|(name, ..)| *name).chain(["p50", "p95", "p99", "p99.9"])
    }

    fn entry(self) -> Option<&'static (&'static str, Self, Unit, Better)> {
        METRICS.iter().find(|(_, metric, ..)| *metric == self)
    }

    /// What it is measured in.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.entry().map_or(Unit::Milliseconds, |(.., unit, _)| *unit)
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self.entry().is_some_and(|(.., better)| *better == Better::More)
    }
}

/// Its name in claims, findings and JSON.
impl fmt::Display for Metric {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile(parts) => write!(to, "p{}", f64::from(*parts) / 1000.0),
            named => to.write_str(named.entry().map_or("", |(name, ..)| name)),
        }
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    /// A name of the table, or a percentile: `p95`, `p99.99`.
    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        if let Some((_, metric, ..)) = METRICS.iter().find(|(known, ..)| *known == name) {
            return Ok(*metric);
        }
        let unknown = || UnknownMetric { name: name.to_owned() };
        let percent = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
        let parts = (percent.ok_or_else(unknown)? * 1000.0).round();
        let is_percentile = (1.0..100_000.0).contains(&parts);
        if is_percentile { Ok(Self::Quantile(parts as u32)) } else { Err(unknown()) }
    }
}

impl TryFrom<String> for Metric {
    type Error = UnknownMetric;

    fn try_from(name: String) -> Result<Self, UnknownMetric> {
        name.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

/// There is no metric of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric '{name}'; there are {} and other percentiles",
    Metric::names().collect::<Vec<_>>().join(", ")
)]
pub struct UnknownMetric {
    /// The name.
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_metric_has_a_name_that_is_read_again() {
        for name in Metric::names().chain(["p99.99", "p0.5"]) {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
        }
        for name in ["", "p", "p100", "p0", "p-1", "pnan", "qps"] {
            let error = name.parse::<Metric>().unwrap_err();
            assert!(error.to_string().contains("p99.9"), "{error}");
        }
        let (p95, throughput) = (Metric::Quantile(95_000), Metric::Throughput);
        assert_eq!((p95.unit(), throughput.unit()), (Unit::Milliseconds, Unit::PerSecond));
        assert!(throughput.more_is_better() && !p95.more_is_better());
        assert_eq!(serde_json::to_string(&p95).unwrap(), "\"p95\"");
        assert_eq!(serde_json::from_str::<Metric>("\"lost\"").unwrap(), Metric::Lost(CrashKind::Kill));
    }
}
