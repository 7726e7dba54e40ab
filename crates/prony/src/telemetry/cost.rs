//! What a transaction costs: rates over a time divided by the transactions of that time.

use super::{Column, Reading, Series, WITHIN};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// What one transaction costs, all servers of a trial together; null: unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Processor time of the servers' processes, us.
    pub server_cpu_us: Option<f64>,
    /// Of that, in the kernel.
    pub server_cpu_system_us: Option<f64>,
    /// Processor time of Prony, us.
    pub client_cpu_us: Option<f64>,
    /// Processor time of the relays that make Prony's networks, us; null also where there are none.
    pub relay_cpu_us: Option<f64>,
    /// Context switches of the servers' threads: they waited, or were preempted.
    pub context_switches: Option<f64>,
    /// Whether these are the machine's minus Prony's, and so an upper limit: counting them thread by thread
    /// would have taken too long.
    pub context_switches_at_most: bool,
    /// Whether these are extrapolated from some threads: there were too many to read each.
    pub context_switches_sampled: bool,
    /// Of these, those where a thread had to give way.
    pub context_switches_involuntary: Option<f64>,
    /// Reads from disks, as the servers count them.
    pub reads: Option<f64>,
    /// Written to disks: by the servers' processes as the kernel counts it, or else as they do themselves, kB
    /// of 1000 bytes.
    pub written_kb: Option<f64>,
    /// Syncs of the log; MariaDB 10.8 and later do not count these apart from those of data files.
    pub log_syncs: Option<f64>,
    /// Rows that the servers read to find those that they returned or changed: by keys, along indexes, by
    /// position and in scans, those of temporary tables included; null also where sampling itself, once a
    /// second, may have read more than a twentieth of them.
    pub rows_examined: Option<f64>,
    /// Temporary tables that the servers created for statements; null as before.
    pub temporary_tables: Option<f64>,
    /// Of these, those on disk.
    pub temporary_tables_on_disk: Option<f64>,
    /// Sorts.
    pub sorts: Option<f64>,
}

/// What counts the rows that servers read.
const EXAMINED: [&str; 5] = [
    "status/index_steps",
    "status/index_steps_back",
    "status/key_reads",
    "status/rows_by_position",
    "status/rows_scanned",
];

/// What asking servers for their counters adds to these in a second at most: they list their counters in a
/// temporary table, which they count for nobody's connection. Seen: one table, and 300 to 730 rows.
const OWN_ROWS: f64 = 1_500.0;
const OWN_TABLES: f64 = 2.0;
/// Share of a figure that this may be.
const OWN_SHARE: f64 = 0.05;

impl Cost {
    /// From readings of the time `from` to `until` since the load began, in which `transactions` ended per
    /// second.
    #[must_use]
    pub fn of(readings: &Series, (from, until): (Duration, Duration), transactions: f64) -> Self {
        let rows = readings.within((from, until), WITHIN);
        let each = |column: Option<Column>| {
            let mean = readings.mean(&rows, &column?)?;
            Some(mean / transactions).filter(|each| each.is_finite())
        };
        let all = |what: &str| each(readings.of_servers(what));
        let (voluntary, involuntary) =
            (all("process/switches_voluntary"), all("process/switches_involuntary"));
        let counted = voluntary.zip(involuntary).map(|(voluntary, involuntary)| voluntary + involuntary);
        let at_most = || {
            all("process/cpu_user")?;
            let others = each(readings.client_switches())? + each(readings.relay_switches()).unwrap_or(0.0);
            Some((each(readings.of("machine/context_switches"))? - others).max(0.0))
        };
        let switches = counted.or_else(at_most);
        let every = |names: &[&str]| names.iter().map(|name| all(name)).sum::<Option<f64>>();
        let certain = |figure: Option<f64>, own: f64, least: f64| {
            figure.filter(|figure| own / transactions <= (figure * OWN_SHARE).max(least))
        };
        let cpu = |mode: &str| all(mode).map(|seconds| seconds * 1e6);
        let (user, system) = (cpu("process/cpu_user"), cpu("process/cpu_system"));
        Self {
            server_cpu_us: user.zip(system).map(|(user, system)| user + system),
            server_cpu_system_us: system,
            client_cpu_us: each(readings.client_cpu()).map(|seconds| seconds * 1e6),
            relay_cpu_us: each(readings.relay_cpu()).map(|seconds| seconds * 1e6),
            context_switches: switches,
            context_switches_at_most: switches.is_some() && counted.is_none(),
            context_switches_sampled: counted.is_some() && all("process/threads_looked_at").is_some(),
            context_switches_involuntary: involuntary,
            reads: all("status/data_reads"),
            written_kb: all("process/written_bytes")
                .or_else(|| all("status/data_written_bytes"))
                .map(|bytes| bytes / 1e3),
            log_syncs: all("status/log_syncs"),
            rows_examined: certain(every(&EXAMINED), OWN_ROWS, 1.0),
            temporary_tables: certain(all("status/temporary_tables"), OWN_TABLES, 0.01),
            temporary_tables_on_disk: all("status/temporary_tables_on_disk"),
            sorts: every(&["status/sorts_of_ranges", "status/sorts_of_scans"]),
        }
    }
}

/// Mean of a value over the readings that lie in a time since the load began, each weighing as long as it is;
/// those without it do not count. `None`: no reading has it.
#[must_use]
pub fn mean(
    readings: &[Reading],
    (from, until): (Duration, Duration),
    value: impl Fn(&Reading) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for reading in readings.iter().filter(|reading| reading.is_within(from, until)) {
        if let Some(value) = value(reading) {
            let seconds = reading.length.as_secs_f64();
            sum += value * seconds;
            weight += seconds;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn reading(at: u64, length: u64, values: &[(&str, f64)]) -> Reading {
        let values =
            values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect::<BTreeMap<_, _>>();
        Reading { at: Duration::from_millis(at), length: Duration::from_millis(length), values }
    }

    #[test]
    fn a_transaction_costs_what_all_servers_did_in_the_interval_alone() {
        let busy = |cpu: f64, syncs: f64| {
            [
                ("node/a/process/cpu_user", cpu),
                ("node/b/process/cpu_user", cpu),
                ("node/a/process/cpu_system", 0.1),
                ("node/a/status/log_syncs", syncs),
                ("client/cpu_user", 0.2),
                ("client/cpu_system", 0.3),
                ("relay/1/cpu_user", 0.01),
                ("relay/2/cpu_user", 0.02),
                ("relay/1/cpu_system", 0.03),
                ("relay/2/cpu_system", 0.04),
                ("node/a/status/sorts_of_ranges", syncs),
                ("node/a/status/sorts_of_scans", syncs / 2.0),
                ("node/a/status/key_reads", syncs),
            ]
        };
        let readings = Series::from(vec![
            reading(1000, 1000, &busy(9.0, 9e9)),
            reading(2000, 1000, &busy(0.4, 100.0)),
            reading(5000, 3000, &busy(0.8, 100.0)),
            reading(6000, 1000, &busy(9.0, 9e9)),
        ]);
        let cost = Cost::of(&readings, (Duration::from_secs(1), Duration::from_secs(5)), 100.0);
        assert!((cost.server_cpu_system_us.unwrap() - 1_000.0).abs() < 1e-6, "{cost:?}");
        assert!((cost.server_cpu_us.unwrap() - 15_000.0).abs() < 1e-6);
        assert!((cost.client_cpu_us.unwrap() - 5000.0).abs() < 1e-6);
        assert!((cost.relay_cpu_us.unwrap() - 1000.0).abs() < 1e-6);
        assert!((cost.log_syncs.unwrap() - 1.0).abs() < 1e-9);
        assert!((cost.sorts.unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(cost.rows_examined, None, "of some kinds of reads nothing is known");
        assert_eq!((cost.reads, cost.written_kb, cost.context_switches), (None, None, None));
        let nothing = Cost::of(&readings, (Duration::ZERO, Duration::from_secs(5)), 0.0);
        assert_eq!(nothing, Cost::default(), "no transaction has a cost");
    }

    #[test]
    fn rows_and_tables_that_may_be_samplings_own_are_not_told() {
        let work = |rows: f64, transactions: f64| {
            let mut values: Vec<(String, f64)> =
                EXAMINED.iter().map(|name| (format!("node/a/{name}"), rows / 5.0)).collect();
            values.push(("node/a/status/temporary_tables".to_owned(), 1.0));
            let values: Vec<(&str, f64)> = values.iter().map(|(name, value)| (&**name, *value)).collect();
            let readings = Series::from(vec![reading(1000, 1000, &values)]);
            let cost = Cost::of(&readings, (Duration::ZERO, Duration::from_secs(1)), transactions);
            (cost.rows_examined, cost.temporary_tables)
        };
        assert_eq!(work(700.0, 0.4), (None, None), "as good as nothing but sampling");
        assert_eq!(work(2e6, 10.0), (Some(2e5), None), "scans");
        assert_eq!(work(1e4, 2_000.0), (Some(5.0), Some(0.0005)), "of so many it is none");
    }

    #[test]
    fn switches_that_are_too_dear_to_count_are_at_most_those_of_the_machine_without_pronys_own() {
        let machine = [
            ("machine/context_switches", 10_000.0),
            ("client/switches_voluntary", 2000.0),
            ("client/switches_involuntary", 500.0),
            ("relay/1/switches_voluntary", 400.0),
            ("relay/1/switches_involuntary", 100.0),
        ];
        let of = |values: &[(&str, f64)]| {
            let values = [&machine[..], values].concat();
            let readings = Series::from(vec![reading(1000, 1000, &values)]);
            let cost = Cost::of(&readings, (Duration::ZERO, Duration::from_secs(1)), 100.0);
            (cost.context_switches, cost.context_switches_at_most)
        };
        let here = ("node/a/process/cpu_user", 0.5);
        assert_eq!(of(&[here]), (Some(70.0), true));
        let counted =
            [("node/a/process/switches_voluntary", 900.0), ("node/a/process/switches_involuntary", 100.0)];
        assert_eq!(of(&[&[here], &counted[..]].concat()), (Some(10.0), false));
        assert_eq!(of(&[]), (None, false), "a server elsewhere has nothing to do with this machine");
    }
}
