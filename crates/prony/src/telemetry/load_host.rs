//! What load hosts see of themselves while they carry out a load: there, what the kernel counts for the
//! machine, its network and the load process; here, the rates that become part of the readings.
//!
//! A load host looks once a second by its own clock. A reading covers a time of its own, so that counters are
//! taken at its ends in proportion between two looks.
//!
//! The files are those of proc(5); `schedstat` is described in the kernel's
//! `Documentation/scheduler/sched-stats.rst`, the counters of `snmp` and `netstat` in
//! `Documentation/networking/snmp_counter.rst`.

use super::{Reading, counts::Counts, host::Host, process::Stat};
use load::{PartNow, Seen};
use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// What a reading's paths of load hosts begin with, before the name.
pub(super) const PREFIX: &str = "load_host/";
/// Most load hosts whose seconds are kept; the verdict on their threads covers all of them.
const HOSTS_MAX: usize = 64;
/// Most looks that wait for a reading: a minute of them, which is longer than any reading is late.
const LOOKS_MAX: usize = 64;
/// Share of a reading that looks must cover.
const COVERED_MIN: f64 = 0.5;
/// A load host lags if its last second of results is older: it sends one every second.
const LAGS_FROM: Duration = Duration::from_secs(3);

/// What a load host counts, in the order in which it says so.
const COUNTERS: [&str; 12] = [
    "machine/cpu_user",
    "machine/cpu_system",
    "machine/cpu_idle",
    "machine/cpu_iowait",
    "machine/cpu_steal",
    "client/cpu_user",
    "client/cpu_system",
    "client/waiting",
    "network/received_bytes",
    "network/sent_bytes",
    "network/segments",
    "network/retransmits",
];
/// What follows: values that go up and down.
const LEVELS: [&str; 2] = ["machine/memory_available_bytes", "client/memory_bytes"];

/// What this machine, its network and this process, which carries out a part of a load, have counted by now.
#[must_use]
pub fn look() -> Seen {
    look_below(Path::new("/"))
}

fn look_below(root: &Path) -> Seen {
    let mut counts = Counts::new(0);
    let host = Host::below(root);
    host.processors(&mut counts);
    host.memory(&mut counts);
    client(&root.join("proc/self"), &mut counts);
    network(&root.join("proc/net"), &mut counts);
    let all: BTreeMap<String, f64> = counts.counters.into_iter().chain(counts.levels).collect();
    Seen(COUNTERS.iter().chain(&LEVELS).map(|path| all.get(*path).copied()).collect())
}

/// The process in this directory: its time, how long its threads were ready to run and waited for a
/// processor, and its memory.
fn client(directory: &Path, counts: &mut Counts) {
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    if let Some(stat) = Stat::parse(&text(&directory.join("stat"))) {
        let ticks = procfs::ticks_per_second() as f64;
        counts.count("client/cpu_user", stat.user_ticks / ticks);
        counts.count("client/cpu_system", stat.system_ticks / ticks);
        counts.level("client/memory_bytes", stat.resident_pages * procfs::page_size() as f64);
    }
    let tasks = fs::read_dir(directory.join("task")).into_iter().flatten().flatten();
    let waited_ns = |task: fs::DirEntry| {
        let text = text(&task.path().join("schedstat"));
        text.split_ascii_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let waited: Vec<f64> = tasks.filter_map(waited_ns).collect();
    if !waited.is_empty() {
        counts.count("client/waiting", waited.iter().sum::<f64>() / 1e9);
    }
}

/// What IP and TCP count in this process's network namespace, all interfaces together.
fn network(directory: &Path, counts: &mut Counts) {
    let text = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
    let (snmp, netstat, six) = (text("snmp"), text("netstat"), text("snmp6"));
    for (path, name, name_of_six) in [
        ("network/received_bytes", "InOctets", "Ip6InOctets"),
        ("network/sent_bytes", "OutOctets", "Ip6OutOctets"),
    ] {
        if let Some(value) = of_protocol(&netstat, "IpExt:", name) {
            let six = six.lines().find_map(|line| line.strip_prefix(name_of_six)?.trim().parse::<f64>().ok());
            counts.count(path, value + six.unwrap_or(0.0));
        }
    }
    for (path, name) in [("network/segments", "OutSegs"), ("network/retransmits", "RetransSegs")] {
        if let Some(value) = of_protocol(&snmp, "Tcp:", name) {
            counts.count(path, value);
        }
    }
}

/// A counter of a protocol, which has a line of names and below it one of values.
fn of_protocol(text: &str, protocol: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|known| known == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// What load hosts have told, as far as readings still need it.
#[derive(Debug, Default)]
pub(super) struct LoadHosts(BTreeMap<String, Looks>);

#[derive(Debug)]
struct Looks {
    /// Connections of its part of the load.
    connections: u32,
    /// When its last second of results came, or it was heard while there was none to come.
    delivered: Instant,
    /// In order, with their times on this machine's clock.
    looks: VecDeque<(Instant, Seen)>,
    /// Readings that have got their part.
    filled: usize,
}

/// What a load host does just now.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LoadHostNow {
    /// Its address.
    pub host: String,
    /// Connections of its part of the load.
    pub connections: u32,
    /// CPUs that are busy on it, whatever keeps them busy.
    pub machine_cpu: f64,
    /// CPUs that its load process uses.
    pub client_cpu: f64,
    /// CPUs that its load process was ready to use and did not get.
    pub waiting: f64,
    /// Bytes that it receives per second.
    pub received_bytes: f64,
    /// Bytes that it sends per second.
    pub sent_bytes: f64,
    /// How long its results have been missing, s; `None`: they come in time.
    pub lag: Option<f64>,
}

impl LoadHosts {
    /// A load host told what it saw of itself.
    pub(super) fn hear(&mut self, now: Instant, PartNow { part, connections, ago, behind, seen }: PartNow) {
        let host = part.strip_prefix("agent ").unwrap_or(&part);
        if self.0.len() == HOSTS_MAX && !self.0.contains_key(host) {
            return;
        }
        let before = |ago| now.checked_sub(ago).unwrap_or(now);
        let (at, delivered) = (before(ago), before(behind));
        let of = self.0.entry(host.to_owned()).or_insert_with(|| Looks::new(connections, delivered));
        of.delivered = delivered;
        let looks = &mut of.looks;
        if looks.len() == LOOKS_MAX {
            looks.pop_front();
        }
        // clocks that are compared again may seem to go back
        if looks.back().is_none_or(|(last, _)| *last < at) {
            looks.push_back((at, seen));
        }
    }

    /// What they do at this time, by what they told last.
    pub(super) fn now(&self, time: Instant) -> Vec<LoadHostNow> {
        let of = |(host, looks): (&String, &Looks)| {
            let mut last = looks.looks.iter().rev();
            let ((until, new), (from, old)) = (last.next()?, last.next()?);
            let seconds = until.saturating_duration_since(*from).as_secs_f64();
            let rate = |path: &str| {
                let place = COUNTERS.iter().position(|known| *known == path)?;
                Some((value(new, place)? - value(old, place)?) / seconds)
            };
            let missing = time.saturating_duration_since(looks.delivered);
            Some(LoadHostNow {
                host: host.clone(),
                connections: looks.connections,
                machine_cpu: rate("machine/cpu_user")? + rate("machine/cpu_system")?,
                client_cpu: rate("client/cpu_user")? + rate("client/cpu_system")?,
                waiting: rate("client/waiting").unwrap_or(0.0),
                received_bytes: rate("network/received_bytes").unwrap_or(0.0),
                sent_bytes: rate("network/sent_bytes").unwrap_or(0.0),
                lag: (missing > LAGS_FROM).then_some(missing.as_secs_f64()),
            })
        };
        self.0.iter().filter_map(of).collect()
    }

    /// Puts what is known by now into the readings, whose times count from `zero`. At the end of the load a
    /// part of a reading's time is enough.
    pub(super) fn fill(&mut self, zero: Instant, readings: &mut [Reading], is_end: bool) {
        for (host, looks) in &mut self.0 {
            while let Some(reading) = readings.get_mut(looks.filled) {
                let until = zero + reading.at;
                if !is_end && looks.looks.back().is_none_or(|(last, _)| *last < until) {
                    break;
                }
                looks.filled += 1;
                looks.put(host, zero, reading);
                // the last two say what it does just now
                while looks.looks.len() > 2 && looks.looks.get(1).is_some_and(|(next, _)| *next <= until) {
                    looks.looks.pop_front();
                }
            }
        }
    }
}

impl Looks {
    fn new(connections: u32, delivered: Instant) -> Self {
        Self { connections, delivered, looks: VecDeque::new(), filled: 0 }
    }

    fn put(&self, host: &str, zero: Instant, reading: &mut Reading) {
        let Some(((first, _), (last, _))) = self.looks.front().zip(self.looks.back()) else { return };
        let until = (zero + reading.at).min(*last);
        let begin = zero + reading.at.saturating_sub(reading.length);
        let from = begin.max(*first);
        let seconds = until.saturating_duration_since(from).as_secs_f64();
        if seconds < COVERED_MIN * reading.length.as_secs_f64() || seconds <= 0.0 {
            return;
        }
        for (place, path) in COUNTERS.iter().enumerate() {
            let rate =
                self.at(from, place).zip(self.at(until, place)).map(|(old, new)| (new - old) / seconds);
            // one that went back is another's
            if let Some(rate) = rate.filter(|rate| *rate >= 0.0) {
                reading.values.insert(format!("{PREFIX}{host}/{path}"), rate);
            }
        }
        let latest = self.looks.iter().take_while(|(at, _)| *at <= until).last();
        for (place, path) in LEVELS.iter().enumerate() {
            if let Some(level) = latest.and_then(|(_, seen)| value(seen, COUNTERS.len() + place)) {
                reading.values.insert(format!("{PREFIX}{host}/{path}"), level);
            }
        }
    }

    /// A counter at a time between the first look and the last.
    fn at(&self, time: Instant, place: usize) -> Option<f64> {
        let next = self.looks.iter().position(|(at, _)| *at >= time)?;
        let (after, new) = self.looks.get(next)?;
        let Some((before, old)) = next.checked_sub(1).and_then(|last| self.looks.get(last)) else {
            return value(new, place);
        };
        let share = time.saturating_duration_since(*before).as_secs_f64()
            / after.saturating_duration_since(*before).as_secs_f64();
        let (old, new) = (value(old, place)?, value(new, place)?);
        Some(old + share * (new - old))
    }
}

fn value(seen: &Seen, place: usize) -> Option<f64> {
    seen.0.get(place).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_as_they_are_documented() {
        let home = tempfile::tempdir().expect("a directory");
        let put = |file: &str, text: &str| {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        put("proc/stat", "cpu  1000 0 300 4000 60 0 0 200\n");
        put("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 2 kB\n");
        let stat = format!("7 (a b) S {} 100 50 {} 3 0 77 0 10 rest\n", "0 ".repeat(10), "0 ".repeat(4));
        put("proc/self/stat", &stat);
        put("proc/self/task/7/schedstat", "99 1500000000 3\n");
        put("proc/self/task/8/schedstat", "99 500000000 3\n");
        put("proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 1 2000 30\nUdp: OutSegs\nUdp: 5\n");
        put("proc/net/netstat", "TcpExt: InOctets\nTcpExt: 1\nIpExt: InOctets OutOctets\nIpExt: 700 900\n");
        put("proc/net/snmp6", "Ip6InReceives   \t1\nIp6InOctets     \t50\nIp6OutOctets    \t60\n");
        let ticks = procfs::ticks_per_second() as f64;
        let page = procfs::page_size() as f64;
        let machine = [1000.0, 300.0, 4000.0, 60.0, 200.0].map(|count| count / ticks);
        let client = [100.0 / ticks, 50.0 / ticks, 2.0];
        let network = [750.0, 960.0, 2000.0, 30.0];
        let expected: Vec<Option<f64>> = [&machine[..], &client, &network, &[2048.0, 10.0 * page]]
            .concat()
            .into_iter()
            .map(Some)
            .collect();
        assert_eq!(look_below(home.path()).0, expected);
        assert_eq!(look_below(&home.path().join("nothing")).0, vec![None; COUNTERS.len() + LEVELS.len()]);
    }

    #[test]
    fn this_machine_says_something_of_everything() {
        let (first, begun) = (look(), Instant::now());
        while begun.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(0);
        }
        let second = look();
        let grown = |path: &str| {
            let place = COUNTERS.iter().position(|known| *known == path)?;
            Some(value(&second, place)? - value(&first, place)?)
        };
        assert!(grown("client/cpu_user") > Some(0.0), "{first:?} {second:?}");
        assert!(grown("machine/cpu_user") > Some(0.0), "{first:?} {second:?}");
        assert!(grown("client/waiting") >= Some(0.0), "{first:?} {second:?}");
        assert!(value(&second, COUNTERS.len()) > Some(0.0), "memory: {second:?}");
    }

    /// What a load host sees that has counted so much of everything.
    fn seen(count: f64) -> Seen {
        Seen(vec![Some(count); COUNTERS.len() + LEVELS.len()])
    }

    /// A load host that looks just now, and delivered its results so long ago.
    fn heard(host: &str, behind: Duration, seen: Seen) -> PartNow {
        let part = format!("agent {host}");
        PartNow { part, connections: 5, ago: Duration::ZERO, behind, seen }
    }

    fn reading(at_ms: u64) -> Reading {
        let at = Duration::from_millis(at_ms);
        Reading { at, length: Duration::from_secs(1), ..Reading::default() }
    }

    #[test]
    fn looks_at_other_times_than_the_readings_give_the_rates_of_the_readings_times() {
        let zero = Instant::now() + Duration::from_secs(10);
        let before = Duration::from_millis(300);
        let mut hosts = LoadHosts::default();
        let mut readings = vec![reading(1000), reading(2000), reading(3000)];
        // busy with one processor in the first second, with two in the second, then with three
        for (at_ms, count) in [(0, 0.0), (1000, 0.7), (2000, 2.4), (3000, 5.1), (3200, 5.7)] {
            let at = zero - before + Duration::from_millis(at_ms);
            hosts.hear(at, heard("a:1", Duration::ZERO, seen(count)));
            hosts.fill(zero, &mut readings, false);
        }
        let rate = |reading: &Reading| reading.value("load_host/a:1/machine/cpu_user");
        // a look 300 ms before each end, and one 700 ms after it: in proportion
        let expected = [0.7 * 0.7 + 0.3 * 1.7, 0.7 * 1.7 + 0.3 * 2.7];
        for (reading, expected) in readings.iter().zip(expected) {
            assert!(rate(reading).is_some_and(|rate| (rate - expected).abs() < 1e-9), "{reading:?}");
        }
        assert_eq!(rate(&readings[2]), None, "its end is not known yet");
        hosts.fill(zero, &mut readings, true);
        assert!(rate(&readings[2]).is_some_and(|rate| (rate - (0.7 * 2.7 + 0.6) / 0.9).abs() < 1e-9));
        assert_eq!(readings[2].value("load_host/a:1/client/memory_bytes"), Some(5.7));
        let now = hosts.now(zero);
        assert!(now.len() == 1 && (now[0].machine_cpu - 6.0).abs() < 1e-9, "{now:?}");
        assert!((now[0].waiting - 3.0).abs() < 1e-9 && now[0].connections == 5, "{now:?}");
    }

    #[test]
    fn a_load_host_lags_when_its_results_or_all_of_it_is_missing() {
        let (begin, mut hosts) = (Instant::now(), LoadHosts::default());
        let second = |number| begin + Duration::from_secs(number);
        for number in 0..=10 {
            // one delivers, one tells only that it lives, and one has been silent since the fifth second
            let at = second(number);
            hosts.hear(at, heard("fine:1", Duration::from_millis(900), seen(0.0)));
            hosts.hear(at, heard("slow:1", Duration::from_secs(number), seen(0.0)));
            if number <= 5 {
                hosts.hear(at, heard("silent:1", Duration::ZERO, seen(0.0)));
            }
        }
        let lags = |at| hosts.now(at).into_iter().map(|now| (now.host, now.lag)).collect::<Vec<_>>();
        let named = |host: &str, lag| (host.to_owned(), lag);
        let expected = [named("fine:1", None), named("silent:1", Some(5.5)), named("slow:1", Some(10.5))];
        assert_eq!(lags(second(10) + Duration::from_millis(500)), expected);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (zero, mut hosts) = (Instant::now(), LoadHosts::default());
        for number in 0..2 * HOSTS_MAX {
            for second in 0..2 * LOOKS_MAX {
                let at = zero + Duration::from_secs(second as u64);
                hosts.hear(at, heard(&number.to_string(), Duration::ZERO, seen(0.0)));
            }
        }
        assert_eq!(hosts.0.len(), HOSTS_MAX);
        assert!(hosts.0.values().all(|looks| looks.looks.len() == LOOKS_MAX));
    }
}
