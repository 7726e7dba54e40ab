//! Finds the reasons to doubt a trial in its own figures. Pure: from what was asked and what came of it to a
//! list of [`Doubt`]s. Every threshold is a constant with its reason.

use super::doubt::{Doubt, Level, What};
use crate::{
    family::{self, Class},
    layout::neighbours::{self, Neighbour},
    telemetry::{self, Reading},
};
use load::{
    Histogram, Outcome, Spec,
    agent::Host,
    sample::{LATE, PartUsage, StreamOutcome, Tally},
    spec::{Arrival, Begin, Expect, Step, Stream, Think, Work},
};
use std::{collections::BTreeSet, time::Duration};

/// Shares of one processor above which a worker of the engine is near its limit, and at it: an event loop
/// that uses 85 % has queues of its own (1 / (1 - 0.85) = 7 times its own service time), and one at 97 % sets
/// the throughput itself.
const WORKER_BUSY: [f64; 2] = [0.85, 0.97];
/// Shares of the latency that may be the engine's own: a tenth is as large as the differences that are
/// sought, and with half of it the figure says more about the client than about the server.
const OWN_SHARE: [f64; 2] = [0.1, 0.5];
/// The same for 99th percentiles, which one badly timed wake-up of the kernel moves.
const OWN_SHARE_P99: f64 = 0.25;
/// Own delays below this are what a wake-up costs on any machine, whatever share they are.
const OWN_DELAY: Duration = Duration::from_micros(20);
/// The same for 99th percentiles: one turn of the scheduler.
const OWN_DELAY_P99: Duration = Duration::from_micros(100);
/// Shares of transactions that may fail before it is mentioned, and before the rest says little: what fails
/// is often what would have been slow.
const ERROR_SHARE: [f64; 2] = [0.001, 0.1];
/// Share of the time without any success above which averages over the whole mean nothing.
const OUTAGE: f64 = 0.1;
/// Share of replies without a row or change that is more than a deleted row here and there.
const ROWS_MISSING: f64 = 0.01;
/// Gaps in Little's law beyond its standard error: connections = throughput x time. A larger one means time
/// that nobody accounts for.
const LITTLE_GAP: [f64; 2] = [0.05, 0.25];
/// Standard errors that chance alone does not exceed (3: once in 370 trials).
const CHANCE: f64 = 3.0;
/// Transactions of each connection below which Little's law and fairness say nothing.
const TRANSACTIONS_EACH: f64 = 20.0;
/// How much later than agreed a load host may begin: more would be seen in the first second.
const HOST_LATE: Duration = Duration::from_millis(100);
/// Shares of the time that a load host may be held back at its limit of CPU time: 1 ms of each 100 ms and
/// more is in the latencies.
const THROTTLED: [f64; 2] = [0.001, 0.01];
/// Shares of a load host's processors above which its threads wait for one another, and are the limit: as
/// those of one thread.
const PROCESSORS_BUSY: [f64; 2] = WORKER_BUSY;
/// Share of a load host's processors that must be busy for other programs to matter: while half are at rest
/// nobody waits for one.
const SCARCE: f64 = 0.5;
/// Share of TCP segments that may be sent again: each waits for 200 ms at least, so that one in a hundred is
/// the 99th percentile.
const RETRANSMITS: f64 = 0.01;
/// Variation between connections that is worth a word: with 30 % the fast ones do twice as much as the slow
/// ones.
const UNFAIR: f64 = 0.3;
/// A time without replies is a standstill if it lasts longer than so many usual responses, and seconds.
const STANDSTILL_RESPONSES: f64 = 20.0;
/// See [`STANDSTILL_RESPONSES`].
const STANDSTILL_S: f64 = 0.1;
/// Standstills are told where one is longer than this, in seconds, or all together take more than
/// [`STANDSTILL_SHARE`] of the interval.
const STANDSTILL_LONG_S: f64 = 1.0;
/// See [`STANDSTILL_LONG_S`].
const STANDSTILL_SHARE: f64 = 0.1;
/// A transaction under way is overdue when it is this many times as old as the longest that ended, and at
/// least this old.
const OVERDUE: (f64, Duration) = (2.0, Duration::from_secs(1));
/// Share of the offered starts that may be missing before a point counts as overloaded.
const OVERLOADED: f64 = 0.01;
/// Share of starts that may be late before the wait for a connection is worth a word.
const WAITED: f64 = 0.1;
/// Processors taken by the hypervisor, on average, above which other virtual machines disturb.
pub(super) const STEAL: f64 = 0.1;
/// Processors that other programs may take, on average: if they take more in some trials than in others by
/// chance, that differs as much as servers do.
const OTHER_LOAD: f64 = 0.1;
/// Processors that sampling may take: what is measured must not feel it.
const TELEMETRY: f64 = 0.01;
/// Share of the median latency that two readings of the clock may take.
const CLOCK_SHARE: f64 = 0.01;

/// What makes the figures of a trial doubtful; empty: nothing. `clock` is the cost of one reading of the
/// clock ([`super::clock_cost`]).
#[must_use]
pub fn doubts(spec: &Spec, outcome: &Outcome, readings: &[Reading], clock: Duration) -> Vec<Doubt> {
    if outcome.interval.is_zero() {
        // interrupted before the first second was over: there are no figures to doubt
        return vec![Doubt::new(Level::Invalid, What::NothingFinished)];
    }
    let several = outcome.streams.len() > 1;
    let mut doubts = Vec::new();
    for (stream, told) in spec.streams.iter().zip(&outcome.streams) {
        let of_stream = OfStream::new(spec, stream, told, outcome);
        let found = match neighbours::find(&stream.workload.name) {
            Some(neighbour) => of_stream.idle_neighbour(neighbour),
            None => of_stream.doubts(),
        };
        doubts
            .extend(found.into_iter().map(|doubt| if several { doubt.of_stream(&told.name) } else { doubt }));
    }
    doubts.extend(of_client(spec, outcome, clock));
    // what was in the warm-up is in no figure; an interval shorter than a reading has none of its own
    let from = outcome.warm_up.unwrap_or(spec.warm_up);
    let interval = (from, from + outcome.interval);
    let has_own = readings.iter().any(|reading| reading.is_within(interval.0, interval.1));
    let time = if has_own { interval } else { (Duration::ZERO, Duration::MAX) };
    let mean = |path: &str| telemetry::mean(readings, time, |reading| reading.value(path)).unwrap_or(0.0);
    let steal = mean("machine/cpu_steal");
    if steal > STEAL {
        doubts.push(Doubt::new(Level::Suspicious, What::Steal { processors: steal }));
    }
    let hosts: Vec<&PartUsage> = outcome.client.parts.iter().filter(|part| part.host.is_some()).collect();
    doubts
        .extend(of_machines(&hosts, &|path| telemetry::mean(readings, time, |reading| reading.value(path))));
    let others = telemetry::mean(readings, time, |reading| other_load(reading, &hosts)).unwrap_or(0.0);
    if others > OTHER_LOAD {
        doubts.push(Doubt::new(Level::Suspicious, What::OtherLoad { processors: others }));
    }
    let processors = mean("client/telemetry_cpu");
    if processors > TELEMETRY {
        doubts.push(Doubt::new(Level::Suspicious, What::Telemetry { processors }));
    }
    doubts
}

/// The level of a figure that should be small.
fn level(value: f64, [suspicious, invalid]: [f64; 2]) -> Option<Level> {
    if value > invalid { Some(Level::Invalid) } else { (value > suspicious).then_some(Level::Suspicious) }
}

/// Is the client the limit? Where load hosts are the client, is one of them?
fn of_client(spec: &Spec, outcome: &Outcome, clock: Duration) -> Vec<Doubt> {
    let interval = outcome.interval.as_secs_f64();
    let mut service = Histogram::new();
    let mut response = Histogram::new();
    let streams = spec.streams.iter().zip(&outcome.streams);
    for (stream, told) in streams.filter(|(stream, _)| !neighbours::is_one(stream)) {
        told.statements.iter().for_each(|tally| service.merge(&tally.service));
        // after a think time it is the pause that gets longer, not the latency
        if stream.arrival.is_scheduled() {
            response.merge(told.transactions.response());
        }
    }
    let hosts: Vec<&PartUsage> = outcome.client.parts.iter().filter(|part| part.host.is_some()).collect();
    let mut doubts = of_hosts(&hosts, interval, &service, &response);
    if hosts.is_empty() {
        let workers = outcome.client.workers.iter();
        let busy = workers.map(|time| time.as_secs_f64() / interval).fold(0.0, f64::max);
        doubts.extend(level(busy, WORKER_BUSY).map(|level| Doubt::new(level, What::WorkerBusy { busy })));
        let queueing = own_part(&outcome.client.queueing, &service);
        doubts.extend(queueing.map(|(level, share, mean_ms, p99_ms)| {
            Doubt::new(level, What::Queueing { share, mean_ms, p99_ms })
        }));
        let send_delay = own_part(&outcome.client.send_delay, &response);
        doubts.extend(send_delay.map(|(level, share, mean_ms, p99_ms)| {
            Doubt::new(level, What::SendDelay { share, mean_ms, p99_ms })
        }));
    }
    let median = service.quantile_ns(0.5) as f64;
    let cost = 2.0 * clock.as_nanos() as f64;
    if median > 0.0 && cost > CLOCK_SHARE * median {
        let what = What::Clock { cost_us: cost / 2e3, service_us: median / 1e3 };
        doubts.push(Doubt::new(Level::Suspicious, what));
    }
    doubts
}

/// What makes load hosts doubtful: each is judged by what it did itself, since others may have been idle.
fn of_hosts(hosts: &[&PartUsage], interval: f64, service: &Histogram, response: &Histogram) -> Vec<Doubt> {
    let name = |host: &PartUsage| address(host).to_owned();
    let busy = |host: &PartUsage| host.worker_max.as_secs_f64() / interval;
    let worst = |host: &PartUsage| {
        let own = [own_part(&host.queueing, service), own_part(&host.send_delay, response)];
        let (levels, shares): (Vec<Level>, Vec<f64>) =
            own.into_iter().flatten().map(|(level, share, ..)| (level, share)).unzip();
        let level = level(busy(host), WORKER_BUSY).into_iter().chain(levels).max()?;
        Some((level, shares.into_iter().fold(busy(host), f64::max)))
    };
    let affected: Vec<_> = hosts.iter().filter_map(|host| Some((worst(host)?, *host))).collect();
    let nearest = affected.iter().max_by(|((one, a), _), ((two, b), _)| one.cmp(two).then(a.total_cmp(b)));
    let mean_ms = |own: &Histogram| if own.is_empty() { 0.0 } else { own.mean_ns() / 1e6 };
    let is_busy = nearest.map(|&((level, _), host)| {
        let what = What::LoadHostBusy {
            affected: affected.len() as u64,
            hosts: hosts.len() as u64,
            host: name(host),
            busy: busy(host),
            queueing_ms: mean_ms(&host.queueing),
            send_delay_ms: mean_ms(&host.send_delay),
        };
        Doubt::new(level, what)
    });
    let latest = hosts.iter().max_by_key(|host| host.start_delay).filter(|host| host.start_delay > HOST_LATE);
    let is_late = latest.map(|host| {
        let late_ms = host.start_delay.as_secs_f64() * 1e3;
        Doubt::new(Level::Invalid, What::LoadHostLate { host: name(host), late_ms })
    });
    let held_back = |host: &PartUsage| host.throttled.as_secs_f64() / interval;
    let most = hosts.iter().max_by_key(|host| host.throttled);
    let is_throttled = most.and_then(|host| {
        let share = held_back(host);
        level(share, THROTTLED)
            .map(|level| Doubt::new(level, What::LoadHostThrottled { host: name(host), share }))
    });
    is_busy.into_iter().chain(is_late).chain(is_throttled).collect()
}

/// The address of a load host.
fn address(host: &PartUsage) -> &str {
    host.name.strip_prefix("agent ").unwrap_or(&host.name)
}

/// What the machines of load hosts saw of themselves, by the means of their readings. Those on this machine
/// are judged with it.
fn of_machines(hosts: &[&PartUsage], mean: &dyn Fn(&str) -> Option<f64>) -> Vec<Doubt> {
    let of = |host: &PartUsage, what: &str| mean(&telemetry::of_load_host(address(host), what));
    let elsewhere = hosts.iter().filter_map(|part| {
        let host = part.host.as_ref().filter(|host| !host.is_here)?;
        Some((*part, host))
    });
    let (mut busy, mut disturbed) = (Vec::new(), None::<(f64, f64, &str)>);
    for (part, host) in elsewhere {
        let user = of(part, "machine/cpu_user").unwrap_or(0.0);
        let Some(share) = busy_share(|what| of(part, what)) else { continue };
        busy.extend(level(share, PROCESSORS_BUSY).map(|level| (level, share, address(part))));
        let neighbours = hosts.iter().filter(|other| is_beside(other, host, part));
        let own: f64 = neighbours.map(|other| of(other, "client/cpu_user").unwrap_or(0.0)).sum();
        let (others, steal) = ((user - own).max(0.0), of(part, "machine/cpu_steal").unwrap_or(0.0));
        let is_worst = disturbed.is_none_or(|(other, stolen, _)| others + steal > other + stolen);
        let is_felt = others > OTHER_LOAD && share > SCARCE || steal > STEAL;
        if is_felt && is_worst {
            disturbed = Some((others, steal, address(part)));
        }
    }
    let affected = busy.len() as u64;
    let busiest = busy.into_iter().max_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
    let busiest = busiest.map(|(level, share, host)| {
        let (hosts, host) = (hosts.len() as u64, host.to_owned());
        Doubt::new(level, What::LoadHostProcessors { affected, hosts, host, share })
    });
    let disturbed = disturbed.map(|(processors, steal, host)| {
        let host = host.to_owned();
        Doubt::new(Level::Suspicious, What::LoadHostDisturbed { host, processors, steal })
    });
    let again = hosts.iter().filter_map(|part| {
        let share = of(part, "network/retransmits")? / of(part, "network/segments")?.max(1.0);
        (share > RETRANSMITS).then(|| (share, address(part).to_owned()))
    });
    let again = again
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(share, host)| Doubt::new(Level::Suspicious, What::LoadHostRetransmits { host, share }));
    [busiest, disturbed, again].into_iter().flatten().collect()
}

/// Share of a machine's processors that was busy; `None`: it did not say. In a container the machine has more
/// than the container may use.
fn busy_share(of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let busy = of("machine/cpu_user")? + of("machine/cpu_system")?;
    let others = ["machine/cpu_idle", "machine/cpu_iowait", "machine/cpu_steal"];
    let rest = others.into_iter().map(of).sum::<Option<f64>>()?;
    Some(busy / (busy + rest).max(f64::MIN_POSITIVE))
}

/// Whether a load host is this one, or on the same machine.
fn is_beside(other: &PartUsage, host: &Host, part: &PartUsage) -> bool {
    let is_same = |other: &Host| !host.machine.is_empty() && other.machine == host.machine;
    other.name == part.name || other.host.as_ref().is_some_and(is_same)
}

/// Level, share of the mean, mean and 99th percentile (ms) of a delay of the engine's own within a latency,
/// if that delay matters.
fn own_part(own: &Histogram, whole: &Histogram) -> Option<(Level, f64, f64, f64)> {
    if own.is_empty() || whole.is_empty() {
        return None;
    }
    let (mean, p99) = (own.mean_ns(), own.quantile_ns(0.99) as f64);
    let share = mean / whole.mean_ns().max(1.0);
    let share_p99 = p99 / (whole.quantile_ns(0.99) as f64).max(1.0);
    let by_mean = level(share, OWN_SHARE).filter(|_| mean > OWN_DELAY.as_nanos() as f64);
    let in_tail = share_p99 > OWN_SHARE_P99 && p99 > OWN_DELAY_P99.as_nanos() as f64;
    let level = by_mean.or_else(|| in_tail.then_some(Level::Suspicious))?;
    Some((level, share.min(1.0), mean / 1e6, p99 / 1e6))
}

/// One stream: what was asked of it and what came of it.
struct OfStream<'a> {
    asked: &'a Stream,
    told: &'a StreamOutcome,
    /// How long it was active, seconds.
    seconds: f64,
    /// Nothing was under way when its time began.
    began_empty: bool,
    /// Mean of the engine's own delay after a think time, seconds.
    send_delay: f64,
    /// Share of starts that this delay alone made late, 0 to 1.
    own_late: f64,
    /// Whether a neighbour does harm beside it: that is what is measured.
    is_disturbed: bool,
}

impl<'a> OfStream<'a> {
    fn new(spec: &Spec, asked: &'a Stream, told: &'a StreamOutcome, outcome: &Outcome) -> Self {
        let seconds = told.active_time(outcome.interval).as_secs_f64().max(f64::MIN_POSITIVE);
        let together = asked.begin == Begin::Together && asked.limit.is_none();
        let own = &outcome.client.send_delay;
        let late_ns = LATE.as_nanos() as u64;
        let late: u64 = own.buckets().filter(|(ns, _)| *ns > late_ns).map(|(_, count)| count).sum();
        Self {
            asked,
            told,
            seconds,
            began_empty: spec.warm_up.is_zero() || !together,
            send_delay: own.mean_ns() / 1e9,
            own_late: late as f64 / own.count().max(1) as f64,
            is_disturbed: spec.streams.iter().any(neighbours::is_one),
        }
    }

    fn tally(&self) -> &Tally {
        &self.told.transactions
    }

    /// A neighbour fails and waits as it is to, but it must have done something.
    fn idle_neighbour(&self, neighbour: &Neighbour) -> Vec<Doubt> {
        if neighbour.count(self.told) > 0 || (self.told.in_flight_at_end > 0 && self.tally().errors == 0) {
            return Vec::new();
        }
        let nothing = Doubt::new(Level::Suspicious, What::NothingFinished);
        let errors = self.errors().map(|doubt| Doubt::new(Level::Suspicious, doubt.what));
        [nothing].into_iter().chain(errors).collect()
    }

    fn doubts(&self) -> Vec<Doubt> {
        let overload = self.overload();
        let waited = overload.is_none().then(|| self.waited()).flatten();
        let around = [self.outage(), self.standstill(), self.limit(), overload, waited];
        if self.tally().count == 0 {
            let nothing = [Some(Doubt::new(Level::Invalid, What::NothingFinished)), self.errors()];
            return nothing.into_iter().chain(around).flatten().collect();
        }
        let own = [
            self.errors(),
            self.rows_missing(),
            self.nothing_changed(),
            self.starved(),
            self.unfair(),
            self.overdue(),
            self.littles_law(),
        ];
        own.into_iter().chain(around).flatten().collect()
    }

    fn error_share(&self) -> f64 {
        let tally = self.tally();
        tally.errors as f64 / (tally.count + tally.errors).max(1) as f64
    }

    fn errors(&self) -> Option<Doubt> {
        let share = self.error_share();
        let level = level(share, ERROR_SHARE)?;
        let level = if self.gives_up() { Level::Suspicious } else { level };
        let examples = self.told.errors.iter().take(3);
        let examples: Vec<String> =
            examples.map(|error| format!("{} x {}", error.count, error.message)).collect();
        Some(Doubt::new(level, What::Errors { share, examples: examples.join("; ") }))
    }

    /// Whether all that failed are queries of a series that took longer than their limit: that is a result,
    /// and a repetition would have it, too.
    fn gives_up(&self) -> bool {
        let is_given_up = |code: u16| family::spoken().class(code) == Some(Class::GivenUp);
        matches!(self.asked.workload.work, Work::Series(_))
            && !self.told.errors.is_empty()
            && self.told.errors.iter().all(|error| is_given_up(error.code))
    }

    fn outage(&self) -> Option<Doubt> {
        let outages = &self.told.outages;
        let last = outages.last().filter(|_| !self.gives_up())?;
        let seconds: f64 =
            outages.iter().map(|outage| outage.until.saturating_sub(outage.from).as_secs_f64()).sum();
        let what = What::Outage { seconds, count: outages.len() as u64, recovered: last.recovered };
        let much = seconds > OUTAGE * self.seconds && !self.is_disturbed;
        Some(Doubt::new(if much { Level::Invalid } else { Level::Suspicious }, what))
    }

    /// A server that answers nothing, and no connection that is told so: stalls are part of its figures, but
    /// few long ones make them a matter of chance.
    fn standstill(&self) -> Option<Doubt> {
        if !matches!(self.asked.arrival, Arrival::Closed) || self.asked.limit.is_some() {
            return None;
        }
        let (from, until) = self.told.active;
        let usual_s = self.tally().response().quantile_ns(0.5) as f64 / 1e9;
        let within = self
            .told
            .standstills
            .iter()
            .map(|still| still.until.min(until).saturating_sub(still.from.max(from)).as_secs_f64());
        let long = within.filter(|seconds| *seconds > (STANDSTILL_RESPONSES * usual_s).max(STANDSTILL_S));
        let (count, seconds, longest_s) = long
            .fold((0, 0.0, 0.0_f64), |(count, all, longest), one| (count + 1, all + one, longest.max(one)));
        (longest_s > STANDSTILL_LONG_S || seconds > STANDSTILL_SHARE * self.seconds)
            .then(|| Doubt::new(Level::Suspicious, What::Standstill { seconds, longest_s, count }))
    }

    /// Seconds of standstills that the limits of the interval cut: what of the first lay before it, and what
    /// of the last lies within it.
    fn standstills_at_limits(&self) -> (f64, f64) {
        let (from, until) = self.told.active;
        let met =
            |at: Duration| self.told.standstills.iter().find(|still| still.from < at && at <= still.until);
        let before = met(from).map_or(Duration::ZERO, |still| from - still.from);
        let at_end = met(until).map_or(Duration::ZERO, |still| until - still.from.max(from));
        (before.as_secs_f64(), at_end.as_secs_f64())
    }

    fn rows_missing(&self) -> Option<Doubt> {
        let statements = &self.told.statements;
        let missing: u64 = statements.iter().map(|tally| tally.not_found).sum();
        let replies: u64 = statements.iter().map(|tally| tally.count).sum();
        let share = missing as f64 / replies.max(1) as f64;
        (share > ROWS_MISSING).then(|| Doubt::new(Level::Suspicious, What::RowsMissing { share }))
    }

    fn nothing_changed(&self) -> Option<Doubt> {
        let steps = self.asked.workload.steps();
        let changing: BTreeSet<&str> = steps
            .filter_map(|step| match step {
                Step::Statement(statement) if statement.expect == Expect::Change => Some(&*statement.kind),
                _ => None,
            })
            .collect();
        let told = self.told.statements.iter().filter(|tally| changing.contains(&*tally.name));
        let (unchanged, replies) =
            told.fold((0, 0), |(unchanged, all), tally| (unchanged + tally.unchanged, all + tally.count));
        let share = unchanged as f64 / replies.max(1) as f64;
        (share > ROWS_MISSING).then(|| Doubt::new(Level::Suspicious, What::NothingChanged { share }))
    }

    /// Whether each connection has work of its own; in an open loop whoever is free takes the next start.
    fn each_has_its_own(&self) -> bool {
        match self.asked.arrival {
            Arrival::Closed | Arrival::Think(_) | Arrival::Waits(_) => true,
            Arrival::Paced { every, .. } => self.seconds > 2.0 * every.as_secs_f64(),
            Arrival::Open { .. } => false,
        }
    }

    fn starved_connections(&self) -> u64 {
        self.told.transactions_by_connection.iter().filter(|&&count| count == 0).count() as u64
    }

    fn starved(&self) -> Option<Doubt> {
        let connections = self.starved_connections();
        let of = u64::from(self.told.connections);
        // with few transactions for each, as after long pauses, some have none by chance: as many as a
        // Poisson count with that mean is 0
        let by_chance = of as f64 * (-(self.tally().count as f64) / of.max(1) as f64).exp();
        let beyond = connections as f64 > by_chance + CHANCE * by_chance.sqrt();
        let what = What::Starved { connections, of };
        (beyond && self.each_has_its_own()).then(|| Doubt::new(Level::Suspicious, what))
    }

    fn unfair(&self) -> Option<Doubt> {
        let fairness = Evenness::of(&self.told.transactions_by_connection)?;
        let latency = &self.tally().service;
        // counts of a renewal process vary by the latency's own variation over the root of their number
        let by_chance = latency.deviation_ns() / latency.mean_ns().max(1.0) / fairness.mean.sqrt();
        let Evenness { min, median, max, variation, mean } = fairness;
        let unequal = variation > UNFAIR && variation > CHANCE * by_chance;
        (unequal && mean > TRANSACTIONS_EACH && self.each_has_its_own())
            .then(|| Doubt::new(Level::Suspicious, What::Unfair { variation, by_chance, min, median, max }))
    }

    fn overdue(&self) -> Option<Doubt> {
        let age_s = self.told.in_flight_age_max.as_secs_f64();
        let longest_s = self.tally().response().max_ns() as f64 / 1e9;
        (age_s > OVERDUE.0 * longest_s && age_s > OVERDUE.1.as_secs_f64())
            .then(|| Doubt::new(Level::Suspicious, What::Overdue { age_s, longest_s }))
    }

    /// The time of all connections against what their transactions (new connections included) and pauses took
    /// together.
    fn littles_law(&self) -> Option<Doubt> {
        let pause = match self.asked.arrival {
            Arrival::Closed => 0.0,
            Arrival::Think(_) | Arrival::Waits(_) => {
                self.asked.arrival.wait_mean(&self.asked.workload).as_secs_f64() + self.send_delay
            }
            _ => return None,
        };
        let count = self.tally().count as f64;
        // one that finished nothing was under way all the time
        let connections = u64::from(self.told.connections).saturating_sub(self.starved_connections());
        let enough = count > TRANSACTIONS_EACH * connections as f64;
        let ended_early = self.told.limit_reached == Some(true);
        // time without success is in no transaction that ended well
        let broken = self.error_share() > ERROR_SHARE[0] || !self.told.outages.is_empty();
        if connections == 0 || !enough || ended_early || broken {
            return None;
        }
        let moments = Moments::of(self.tally().response());
        let accounted = count * (moments.mean + pause);
        let all = connections as f64;
        // what had begun before the time is counted in full, what had not ended is not: equal but for chance,
        // unless nothing had begun
        let cut = if self.began_empty { all * (moments.age + pause) } else { 0.0 };
        // connections that all stood still at a limit of the interval are no chance: the same for each one
        let (before, at_end) = self.standstills_at_limits();
        let available = all * (self.seconds + before - at_end) - cut;
        let gap = accounted / available - 1.0;
        let edges = 2.0 * (moments.age_variance + pause * pause) / all;
        let pauses = match self.asked.arrival {
            Arrival::Think(Think::Exponential(_)) | Arrival::Waits(_) => count * (pause / all).powi(2),
            _ => 0.0,
        };
        let error = (edges + pauses).sqrt() / self.seconds;
        let level = level(gap.abs() - CHANCE * error, LITTLE_GAP)?;
        let in_flight = (gap + 1.0) * all;
        Some(Doubt::new(level, What::LittlesLaw { gap, error, in_flight, connections }))
    }

    fn limit(&self) -> Option<Doubt> {
        (self.told.limit_reached == Some(false)).then(|| Doubt::new(Level::Suspicious, What::LimitMissed))
    }

    /// A queue that grew by more than chance: a Poisson stream of n starts varies by the root of n.
    fn overload(&self) -> Option<Doubt> {
        let schedule = self.told.schedule.as_ref()?;
        let offered = schedule.offered as f64;
        let lost = schedule.never_sent.saturating_sub(schedule.backlog) + schedule.skipped;
        let chance = (CHANCE * offered.sqrt()).max(f64::from(self.told.connections));
        let allowed = (OVERLOADED * offered).max(chance);
        let skipped_much = schedule.skipped as f64 > OVERLOADED * offered && schedule.skipped > 10;
        (lost as f64 > allowed || skipped_much).then(|| {
            let what = What::Overloaded {
                offered_per_second: offered / self.seconds,
                started_per_second: schedule.started as f64 / self.seconds,
                backlog: schedule.never_sent,
                skipped: schedule.skipped,
            };
            Doubt::new(Level::Invalid, what)
        })
    }

    fn waited(&self) -> Option<Doubt> {
        let schedule = self.told.schedule.as_ref()?;
        // starts that were late by the engine's own delay have a doubt of their own
        let share = schedule.late as f64 / schedule.started.max(1) as f64 - self.own_late;
        (share > WAITED).then(|| {
            let delay_p50_ms = schedule.delay.quantile_ns(0.5) as f64 / 1e6;
            Doubt::new(Level::Suspicious, What::WaitedForConnection { share, delay_p50_ms })
        })
    }
}

/// How equally connections are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Evenness {
    /// Fewest transactions of a connection.
    pub min: u64,
    /// In the middle.
    pub median: u64,
    /// Most.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation as a share of the mean.
    pub variation: f64,
}

impl Evenness {
    /// Of these numbers of transactions, one for each connection; `None` where there is no connection or no
    /// transaction.
    #[must_use]
    pub fn of(transactions: &[u64]) -> Option<Self> {
        let mut sorted = transactions.to_vec();
        sorted.sort_unstable();
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<u64>() as f64 / count.max(1.0);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        if mean == 0.0 {
            return None;
        }
        let squares: f64 = sorted.iter().map(|&each| (each as f64 - mean).powi(2)).sum();
        Some(Self {
            min,
            median: sorted[sorted.len() / 2],
            max,
            mean,
            variation: (squares / count).sqrt() / mean,
        })
    }
}

/// What the edges of an interval need to know of a latency, seconds. The age of what is under way at a random
/// moment has the mean E(R^2) / 2 E(R) and the second moment E(R^3) / 3 E(R) (renewal theory: D. R. Cox,
/// *Renewal Theory*, 1962, section 5).
struct Moments {
    mean: f64,
    age: f64,
    age_variance: f64,
}

impl Moments {
    fn of(latency: &Histogram) -> Self {
        let (mut first, mut second, mut third) = (0.0, 0.0, 0.0);
        for (ns, count) in latency.buckets() {
            let (seconds, count) = (ns as f64 / 1e9, count as f64);
            first += count * seconds;
            second += count * seconds.powi(2);
            third += count * seconds.powi(3);
        }
        let age = second / (2.0 * first);
        Self { mean: latency.mean_ns() / 1e9, age, age_variance: third / (3.0 * first) - age * age }
    }
}

/// Processors that programs other than servers, Prony, its relays and load hosts on this machine kept busy.
/// Only time of programs counts: the kernel works for all.
fn other_load(reading: &Reading, hosts: &[&PartUsage]) -> Option<f64> {
    let own = reading.of_servers("process/cpu_user")? + reading.value("client/cpu_user")?;
    let relays = telemetry::of_relays(&reading.values, "cpu_user").unwrap_or(0.0);
    let here = hosts.iter().filter(|part| part.host.as_ref().is_some_and(|host| host.is_here));
    let of = |part: &&PartUsage| reading.value(&telemetry::of_load_host(address(part), "client/cpu_user"));
    let of_hosts = here.map(of).sum::<Option<f64>>()?;
    Some((reading.value("machine/cpu_user")? - own - relays - of_hosts).max(0.0))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use load::{
        sample::{ClientUsage, End, ErrorCount, Outage, Schedule, Standstill},
        spec::{Address, Rate, Target, Tls, Workload},
    };

    const SECONDS: u64 = 10;

    /// 10 s of so many connections with an arrival.
    fn spec(connections: u32, arrival: Arrival) -> Spec {
        let address = Address::Unix("/tmp/none".into());
        let (user, password, tls) = ("user".to_owned(), Default::default(), Tls::default());
        let trust = Default::default();
        let target = Target { address, user, password, database: None, tls, trust, compress: false };
        let workload = Workload::new("none", 1, Vec::new());
        let stream = Stream { arrival, ..Stream::new("main", workload, connections) };
        Spec::new(target, vec![stream], Duration::from_secs(1), Duration::from_secs(SECONDS))
    }

    /// So many transactions that all took the same, spread evenly over the connections.
    fn outcome(connections: u32, count: u64, each: Duration) -> Outcome {
        let mut transactions = Tally { count, ..Tally::new("transactions") };
        let one = {
            let mut one = Histogram::new();
            one.record_ns(each.as_nanos() as u64);
            one
        };
        for _ in 0..count {
            transactions.service.merge(&one);
        }
        let each_connection = count / u64::from(connections);
        let stream = StreamOutcome {
            name: "main".to_owned(),
            connections,
            active: (Duration::from_secs(1), Duration::from_secs(1 + SECONDS)),
            statements: vec![Tally { name: "select".to_owned(), ..transactions.clone() }],
            transactions,
            transactions_by_connection: vec![each_connection; connections as usize],
            ..StreamOutcome::default()
        };
        Outcome {
            streams: vec![stream],
            client: ClientUsage { workers: vec![Duration::from_secs(3)], ..ClientUsage::default() },
            warm_up: None,
            interval: Duration::from_secs(SECONDS),
            end: End::Completed,
            server_version: String::new(),
        }
    }

    /// 4 connections, 4000 transactions of 10 ms: nothing speaks against it.
    fn good() -> (Spec, Outcome) {
        (spec(4, Arrival::Closed), outcome(4, 4000, Duration::from_millis(10)))
    }

    fn found(spec: &Spec, outcome: &Outcome) -> Vec<(&'static str, Level)> {
        let doubts = doubts(spec, outcome, &[], Duration::from_nanos(30));
        doubts.iter().map(|doubt| (doubt.id(), doubt.level)).collect()
    }

    fn open(rate: f64) -> Arrival {
        Arrival::Open { rate: Rate::Constant(rate), gaps: Default::default(), lateness_max: None }
    }

    fn constant(milliseconds: u64, count: u64) -> Histogram {
        let mut histogram = Histogram::new();
        (0..count).for_each(|_| histogram.record_ns(milliseconds * 1_000_000));
        histogram
    }

    use Level::{Invalid, Suspicious};

    /// Doubts of a load host with busy processors and a network that loses packets.
    fn of_a_busy_host() -> Vec<Doubt> {
        seen(
            &[("a:1", "m", false)],
            &[
                (&telemetry::of_load_host("a:1", "machine/cpu_user"), 1.9),
                (&telemetry::of_load_host("a:1", "machine/cpu_system"), 0.05),
                (&telemetry::of_load_host("a:1", "machine/cpu_idle"), 0.05),
                (&telemetry::of_load_host("a:1", "machine/cpu_iowait"), 0.0),
                (&telemetry::of_load_host("a:1", "machine/cpu_steal"), 0.0),
                (&telemetry::of_load_host("a:1", "network/segments"), 1000.0),
                (&telemetry::of_load_host("a:1", "network/retransmits"), 20.0),
            ],
        )
    }

    /// Doubts of a load host that was busy, late and held back.
    fn of_a_late_host() -> Vec<Doubt> {
        let (asked, mut told) = good();
        let (worker_max, start_delay) = (Duration::from_millis(9900), Duration::from_secs(1));
        let throttled = start_delay;
        let (name, host) = ("agent a:7433".to_owned(), Some(Host::default()));
        told.client.parts =
            vec![PartUsage { name, host, worker_max, start_delay, throttled, ..PartUsage::default() }];
        doubts(&asked, &told, &[], Duration::from_nanos(30))
    }

    /// Doubts of trials that each have something against them, all kinds that are found here.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let changed = |change: fn(&mut Spec, &mut Outcome)| {
            let (mut asked, mut told) = good();
            change(&mut asked, &mut told);
            doubts(&asked, &told, &[], Duration::from_nanos(30))
        };
        let scheduled = |change: fn(&mut Schedule)| {
            let mut outcome = outcome(4, 4000, Duration::from_millis(5));
            let mut schedule = Schedule { offered: 4000, started: 3990, ..Schedule::default() };
            change(&mut schedule);
            outcome.streams[0].schedule = Some(schedule);
            doubts(&spec(4, open(400.0)), &outcome, &[], Duration::from_nanos(30))
        };
        let (asked, told) = good();
        let sampled = |values: &[(&str, f64)]| {
            let reading = Reading {
                at: Duration::from_secs(1),
                length: Duration::from_secs(1),
                values: values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect(),
            };
            doubts(&asked, &told, &[reading], Duration::from_nanos(30))
        };
        let trials = [
            changed(|_, told| *told = outcome(4, 0, Duration::ZERO)),
            changed(|_, told| *told = outcome(4, 2400, Duration::from_millis(10))),
            changed(|_, told| told.streams[0].transactions.errors = 4000),
            changed(|_, told| {
                let (from, until) = (Duration::from_secs(2), Duration::from_secs(4));
                told.streams[0].outages.push(Outage { from, until, recovered: true });
            }),
            changed(|_, told| {
                let (from, until) = (Duration::from_secs(2), Duration::from_secs(4));
                told.streams[0].standstills.push(Standstill { from, until });
            }),
            changed(|_, told| told.streams[0].statements[0].not_found = 100),
            changed(|asked, told| {
                asked.streams[0].workload =
                    crate::workload::builtin("oltp_update_non_index", &Default::default()).expect("one");
                told.streams[0].statements[0].name = "non_index_updates".to_owned();
                told.streams[0].statements[0].unchanged = 1600;
            }),
            changed(|_, told| told.streams[0].transactions_by_connection = vec![1334, 1333, 1333, 0]),
            changed(|_, told| told.streams[0].transactions_by_connection = vec![200, 400, 1200, 2200]),
            changed(|_, told| told.streams[0].in_flight_age_max = Duration::from_secs(3)),
            changed(|_, told| told.streams[0].limit_reached = Some(false)),
            changed(|_, told| told.client.workers.push(Duration::from_millis(9900))),
            changed(|_, told| told.client.queueing = constant(6, 100)),
            of_a_busy_host(),
            changed(|asked, told| {
                let every = Duration::from_millis(10);
                asked.streams[0].arrival = Arrival::Paced { every, lateness_max: None };
                told.client.send_delay = constant(6, 100);
            }),
            scheduled(|schedule| schedule.skipped = 100),
            scheduled(|schedule| (schedule.late, schedule.delay) = (1000, constant(3, 3990))),
            doubts(&asked, &told, &[], Duration::from_micros(100)),
            of_a_late_host(),
            sampled(&[("machine/cpu_steal", 0.3)]),
            sampled(&[("client/telemetry_cpu", 0.02)]),
            sampled(&[
                ("machine/cpu_user", 1.5),
                ("node/a/process/cpu_user", 0.75),
                ("client/cpu_user", 0.25),
            ]),
        ];
        trials.into_iter().flatten().collect()
    }

    #[test]
    fn a_good_trial_has_no_doubts() {
        let (spec, outcome) = good();
        assert_eq!(found(&spec, &outcome), []);
    }

    #[test]
    fn time_that_nobody_accounts_for_is_found_and_chance_is_not() {
        let (asked, _) = good();
        assert_eq!(
            found(&asked, &outcome(4, 3600, Duration::from_millis(10))),
            [("littles_law", Suspicious)]
        );
        assert_eq!(found(&asked, &outcome(4, 2400, Duration::from_millis(10))), [("littles_law", Invalid)]);
        assert_eq!(found(&asked, &outcome(4, 3900, Duration::from_millis(10))), []);
        let told = doubts(&asked, &outcome(4, 3600, Duration::from_millis(10)), &[], Duration::ZERO);
        assert!(matches!(told[0].what, What::LittlesLaw { gap, .. } if (gap + 0.1).abs() < 1e-3), "{told:?}");
        // few long transactions: what the ends cut off explains it
        assert_eq!(found(&asked, &outcome(4, 93, Duration::from_millis(400))), []);
    }

    #[test]
    fn think_time_and_new_connections_are_accounted_for() {
        let think = Arrival::Think(Think::Exponential(Duration::from_millis(30)));
        let thinking = spec(4, think);
        assert_eq!(found(&thinking, &outcome(4, 1000, Duration::from_millis(10))), []);
        assert_eq!(found(&thinking, &outcome(4, 500, Duration::from_millis(10))), [("littles_law", Invalid)]);
        // a new connection is part of the response time, and of that alone
        let (mut asked, _) = good();
        asked.streams[0].connect = load::spec::ConnectionMode::Transactions(1);
        let mut reconnecting = outcome(4, 2000, Duration::from_millis(10));
        assert_eq!(found(&asked, &reconnecting), [("littles_law", Invalid)]);
        reconnecting.streams[0].transactions.response = Some(constant(20, 2000));
        assert_eq!(found(&asked, &reconnecting), []);
    }

    #[test]
    fn a_stream_that_begins_with_nothing_under_way_is_not_blamed_for_its_end() {
        let mut asked = spec(4, Arrival::Closed);
        // each connection ends 24 of 400 ms within 10 s: what is cut off is 4 % and up to 400 ms
        let short = outcome(4, 92, Duration::from_millis(400));
        asked.warm_up = Duration::ZERO;
        assert_eq!(found(&asked, &short), []);
    }

    #[test]
    fn starved_and_unequal_connections_are_named() {
        let (asked, mut starving) = good();
        starving.streams[0].transactions_by_connection = vec![1334, 1333, 1333, 0];
        let starved = found(&asked, &starving);
        assert!(starved.contains(&("starved", Suspicious)), "{starved:?}");
        // 1.5 for each: about 22 of 100 have none by chance
        let (asked_few, mut few) = (spec(100, Arrival::Closed), outcome(100, 150, Duration::from_secs(6)));
        few.streams[0].transactions_by_connection[..25].fill(0);
        assert_eq!(found(&asked_few, &few), []);
        few.streams[0].transactions_by_connection[..60].fill(0);
        assert_eq!(found(&asked_few, &few), [("starved", Suspicious)]);
        let (_, mut unequal) = good();
        unequal.streams[0].transactions_by_connection = vec![200, 400, 1200, 2200];
        assert_eq!(found(&asked, &unequal), [("unfair", Suspicious)]);
        // in an open loop whoever is free goes on: nobody is starved
        let opened = spec(4, open(400.0));
        assert_eq!(found(&opened, &starving), []);
    }

    #[test]
    fn errors_missing_rows_and_outages_are_told() {
        let (asked, mut failing) = good();
        let stream = &mut failing.streams[0];
        stream.transactions.errors = 40;
        let (code, state, message) = (1213, "40001".to_owned(), "Deadlock".to_owned());
        let (first, last) = (Duration::ZERO, Duration::ZERO);
        stream.errors.push(ErrorCount { code, state, count: 40, message, first, last });
        assert_eq!(found(&asked, &failing), [("errors", Suspicious)]);
        failing.streams[0].transactions.errors = 4000;
        assert_eq!(found(&asked, &failing), [("errors", Invalid)]);
        let (_, mut missing) = good();
        missing.streams[0].statements[0].not_found = 100;
        let (from, until) = (Duration::from_secs(2), Duration::from_millis(2900));
        missing.streams[0].outages.push(Outage { from, until, recovered: true });
        assert_eq!(found(&asked, &missing), [("rows_missing", Suspicious), ("outage", Suspicious)]);
        assert_eq!(found(&asked, &outcome(4, 0, Duration::ZERO)), [("nothing_finished", Invalid)]);
    }

    #[test]
    fn queries_of_a_series_that_are_given_up_are_a_result() {
        let (mut asked, mut told) = good();
        let (code, state, message) = (3024, "HY000".to_owned(), "Query execution was interrupted".to_owned());
        let (first, last) = (Duration::ZERO, Duration::ZERO);
        let stream = &mut told.streams[0];
        stream.transactions.errors = 4000;
        stream.errors.push(ErrorCount { code, state, count: 4000, message, first, last });
        let (from, until) = (Duration::from_secs(2), Duration::from_secs(8));
        stream.outages.push(Outage { from, until, recovered: true });
        assert_eq!(found(&asked, &told), [("errors", Invalid), ("outage", Invalid)]);
        let workload = &mut asked.streams[0].workload;
        *workload = load::spec::Workload::in_order("series", 1, workload.transactions().to_vec());
        assert_eq!(found(&asked, &told), [("errors", Suspicious)]);
        // a server that is gone is none
        told.streams[0].errors[0].code = 2013;
        assert_eq!(found(&asked, &told), [("errors", Invalid), ("outage", Invalid)]);
    }

    #[test]
    fn statements_that_change_nothing_are_told_apart_from_rows_that_are_not_there() {
        let (mut asked, mut repeated) = good();
        asked.streams[0].workload =
            crate::workload::builtin("oltp_update_non_index", &Default::default()).expect("a workload");
        let stream = &mut repeated.streams[0];
        stream.statements[0].name = "non_index_updates".to_owned();
        stream.statements[0].unchanged = 30;
        assert_eq!(found(&asked, &repeated), []);
        // reads beside them make it no less
        repeated.streams[0].statements.push(Tally { count: 100_000, ..Tally::new("point_selects") });
        repeated.streams[0].statements[0].unchanged = 1600;
        assert_eq!(found(&asked, &repeated), [("nothing_changed", Suspicious)]);
        let doubts = doubts(&asked, &repeated, &[], Duration::from_nanos(30));
        assert_eq!(doubts[0].what, What::NothingChanged { share: 0.4 });
    }

    #[test]
    fn a_transaction_that_outlasts_all_others_is_overdue() {
        let (asked, mut outcome) = good();
        outcome.streams[0].in_flight_age_max = Duration::from_secs(3);
        assert_eq!(found(&asked, &outcome), [("overdue", Suspicious)]);
    }

    #[test]
    fn a_server_that_stands_still_is_told_and_not_taken_for_missing_time() {
        let still = |from: u64, until: u64| Standstill {
            from: Duration::from_millis(from),
            until: Duration::from_millis(until),
        };
        let (asked, _) = good();
        // the last 2.5 of 10 s: what was under way then is in no figure
        let mut at_end = outcome(4, 3000, Duration::from_millis(10));
        at_end.streams[0].in_flight_age_max = Duration::from_millis(2505);
        assert_eq!(found(&asked, &at_end), [("overdue", Suspicious), ("littles_law", Suspicious)]);
        at_end.streams[0].standstills = vec![still(8_500, 11_000)];
        assert_eq!(found(&asked, &at_end), [("overdue", Suspicious), ("standstill", Suspicious)]);
        let told = doubts(&asked, &at_end, &[], Duration::ZERO);
        let expected = What::Standstill { seconds: 2.5, longest_s: 2.5, count: 1 };
        assert!(told.iter().any(|doubt| doubt.what == expected), "{told:?}");
        // the second before the interval and 0.2 s of it: four responses hold that second, too
        let mut before = outcome(4, 3920, Duration::from_millis(10));
        let response = &mut before.streams[0].transactions.service;
        response.merge(&constant(1_200, 4));
        before.streams[0].transactions.count = 3924;
        before.streams[0].standstills = vec![still(0, 1_200)];
        assert_eq!(found(&asked, &before), [], "0.2 s are not worth a word");
        before.streams[0].standstills.clear();
        assert_eq!(found(&asked, &before), [("littles_law", Suspicious)]);
        // where few are offered nothing ends now and then
        let mut open = outcome(4, 3, Duration::from_millis(10));
        open.streams[0].standstills = vec![still(1_000, 9_000)];
        assert_eq!(found(&spec(4, self::open(0.3)), &open), []);
    }

    #[test]
    fn a_queue_that_grows_is_overload_and_one_that_chance_makes_is_not() {
        let asked = spec(4, open(400.0));
        let with = |schedule: Schedule| {
            let mut outcome = outcome(4, 4000, Duration::from_millis(5));
            outcome.streams[0].schedule = Some(schedule);
            found(&asked, &outcome)
        };
        let kept = Schedule { offered: 4000, started: 3990, never_sent: 10, ..Schedule::default() };
        assert_eq!(with(kept.clone()), []);
        let chance = Schedule { started: 3820, never_sent: 180, ..kept.clone() };
        assert_eq!(with(chance.clone()), []);
        let growing = Schedule { started: 3700, never_sent: 300, ..kept.clone() };
        assert_eq!(with(growing), [("overloaded", Invalid)]);
        // a queue that was there before is no growth
        assert_eq!(with(Schedule { backlog: 300, started: 4000, never_sent: 300, ..kept.clone() }), []);
        assert_eq!(with(Schedule { skipped: 100, started: 3900, ..kept.clone() }), [("overloaded", Invalid)]);
        let late = Schedule { late: 1000, delay: constant(3, 3990), ..kept };
        assert_eq!(with(late), [("waited_for_connection", Suspicious)]);
    }

    #[test]
    fn a_client_that_is_the_limit_says_so() {
        let (asked, mut busy) = good();
        busy.client.workers.push(Duration::from_millis(9000));
        assert_eq!(found(&asked, &busy), [("worker_busy", Suspicious)]);
        busy.client.workers.push(Duration::from_millis(9900));
        assert_eq!(found(&asked, &busy), [("worker_busy", Invalid)]);
        let (_, mut queueing) = good();
        queueing.client.queueing = constant(2, 100);
        assert_eq!(found(&asked, &queueing), [("queueing", Suspicious)]);
        queueing.client.queueing = constant(6, 100);
        assert_eq!(found(&asked, &queueing), [("queueing", Invalid)]);
        // a rare delay matters to the tail alone
        let mut rare = Histogram::new();
        (0..980).for_each(|_| rare.record_ns(2_000));
        (0..20).for_each(|_| rare.record_ns(4_000_000));
        queueing.client.queueing = rare.clone();
        assert_eq!(found(&asked, &queueing), [("queueing", Suspicious)]);
        let paced = spec(4, Arrival::Paced { every: Duration::from_millis(10), lateness_max: None });
        queueing.client = ClientUsage { send_delay: rare, ..ClientUsage::default() };
        assert_eq!(found(&paced, &queueing), [("send_delay", Suspicious)]);
    }

    /// Doubts of a trial at these load hosts (name, machine, whether it is this one), which saw such things.
    fn seen(hosts: &[(&str, &str, bool)], saw: &[(&str, f64)]) -> Vec<Doubt> {
        let (asked, mut told) = good();
        let part = |(name, machine, is_here): &(&str, &str, bool)| {
            let machine = (*machine).to_owned();
            let host = Some(Host { processors: 2, machine, is_here: *is_here, ..Host::default() });
            PartUsage { name: format!("agent {name}"), host, ..PartUsage::default() }
        };
        told.client.parts = hosts.iter().map(part).collect();
        let reading = Reading {
            at: Duration::from_secs(2),
            length: Duration::from_secs(1),
            values: saw.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect(),
        };
        doubts(&asked, &told, &[reading], Duration::from_nanos(30))
    }

    #[test]
    fn each_load_host_is_judged_by_what_its_machine_saw() {
        let whats =
            |doubts: Vec<Doubt>| doubts.into_iter().map(|one| (one.what, one.level)).collect::<Vec<_>>();
        let path = |host: &str, what: &str| telemetry::of_load_host(host, what);
        let (user, own) = (path("a:1", "machine/cpu_user"), path("a:1", "client/cpu_user"));
        let system = path("a:1", "machine/cpu_system");
        let rest = ["idle", "iowait", "steal"].map(|kind| path("a:1", &format!("machine/cpu_{kind}")));
        let idle = |idle: f64| [(&*rest[0], idle), (&*rest[1], 0.0), (&*rest[2], 0.05)];
        let calm = [&[(&*user, 0.6), (&*own, 0.55), (&*system, 0.5)][..], &idle(0.85)].concat();
        let alone = [("a:1", "m1", false), ("b:1", "m2", false)];
        assert_eq!(seen(&alone, &calm), []);
        let affected =
            |share| What::LoadHostProcessors { affected: 1, hosts: 2, host: "a:1".to_owned(), share };
        let busy = [&[(&*user, 1.0), (&*own, 0.95), (&*system, 0.8)][..], &idle(0.15)].concat();
        assert_eq!(whats(seen(&alone, &busy)), [(affected(0.9), Suspicious)]);
        let full = [&[(&*user, 1.0), (&*own, 0.95), (&*system, 0.96)][..], &idle(-0.01)].concat();
        assert_eq!(whats(seen(&alone, &full)), [(affected(0.98), Invalid)]);
        // a load host that shares its machine with others is not disturbed by those
        let of_other = path("b:1", "client/cpu_user");
        let shared = |at_rest: f64| {
            let saw = [(&*user, 1.0), (&*own, 0.5), (&*of_other, 0.45), (&*system, 0.2)];
            [&saw[..], &idle(at_rest)].concat()
        };
        let disturbed = What::LoadHostDisturbed { host: "a:1".to_owned(), processors: 0.5, steal: 0.05 };
        assert_eq!(whats(seen(&alone, &shared(0.75))), [(disturbed, Suspicious)]);
        assert_eq!(seen(&[("a:1", "m1", false), ("b:1", "m1", false)], &shared(0.75)), []);
        assert_eq!(seen(&alone, &shared(6.75)), [], "most of its processors are at rest");
        let (segments, again) = (path("a:1", "network/segments"), path("a:1", "network/retransmits"));
        let lost = What::LoadHostRetransmits { host: "a:1".to_owned(), share: 0.02 };
        let lossy = [(&*segments, 1000.0), (&*again, 20.0)];
        assert_eq!(whats(seen(&alone, &lossy)), [(lost, Suspicious)]);
        assert_eq!(seen(&alone, &[(&*segments, 1000.0), (&*again, 9.0)]), []);
    }

    #[test]
    fn load_hosts_on_this_machine_are_no_other_programs() {
        let own = telemetry::of_load_host("a:1", "client/cpu_user");
        let machine = telemetry::of_load_host("a:1", "machine/cpu_user");
        let rest = ["idle", "iowait", "steal", "system"]
            .map(|kind| telemetry::of_load_host("a:1", &format!("machine/cpu_{kind}")));
        let saw = [
            ("machine/cpu_user", 1.9),
            ("client/cpu_user", 0.1),
            ("node/server/process/cpu_user", 0.9),
            (&*own, 0.85),
            (&*machine, 1.9),
            (&*rest[0], 0.01),
            (&*rest[1], 0.0),
            (&*rest[2], 0.0),
            (&*rest[3], 0.05),
        ];
        // and what the server takes there is none of the load host's neighbours
        assert_eq!(seen(&[("a:1", "m1", true)], &saw), []);
        let elsewhere = seen(&[("a:1", "m2", false)], &saw);
        let ids: Vec<_> = elsewhere.iter().map(Doubt::id).collect();
        assert_eq!(ids, ["load_host_processors", "load_host_disturbed", "other_load"]);
    }

    #[test]
    fn each_load_host_is_judged_by_what_it_did_itself() {
        let (asked, mut told) = good();
        let idle = PartUsage { host: Some(Host::default()), ..PartUsage::default() };
        let host = |name: &str| PartUsage { name: format!("agent {name}"), ..idle.clone() };
        told.client.parts = vec![host("a:7433"), host("b:7433"), host("c:7433")];
        assert_eq!(found(&asked, &told), []);
        // in the whole, its waits would be lost among those of the others
        told.client.parts[1].queueing = constant(6, 100);
        told.client.parts[2].worker_max = Duration::from_millis(9000);
        told.client.parts[2].start_delay = Duration::from_millis(150);
        told.client.parts[0].throttled = Duration::from_millis(500);
        let doubts = doubts(&asked, &told, &[], Duration::ZERO);
        let said: Vec<_> = doubts.iter().map(|doubt| (doubt.id(), doubt.level)).collect();
        let expected = ["load_host_busy", "load_host_late", "load_host_throttled"];
        assert_eq!(said, expected.map(|id| (id, Invalid)));
        let What::LoadHostBusy { affected: 2, hosts: 3, host, queueing_ms, .. } = &doubts[0].what else {
            panic!("{doubts:?}")
        };
        assert!(host == "b:7433" && (*queueing_ms - 6.0).abs() < 0.1, "{doubts:?}");
        assert_eq!(doubts[1].what, What::LoadHostLate { host: "c:7433".to_owned(), late_ms: 150.0 });
    }

    #[test]
    fn a_slow_clock_and_neighbours_are_told() {
        let (asked, outcome) = good();
        let slow = doubts(&asked, &outcome, &[], Duration::from_micros(100));
        assert_eq!(slow.iter().map(Doubt::id).collect::<Vec<_>>(), ["clock"]);
        let reading = |path: &str, value: f64| Reading {
            at: Duration::from_secs(1),
            length: Duration::from_secs(1),
            values: [(path.to_owned(), value)].into(),
        };
        let stolen = doubts(&asked, &outcome, &[reading("machine/cpu_steal", 0.3)], Duration::ZERO);
        assert_eq!(stolen, [Doubt::new(Suspicious, What::Steal { processors: 0.3 })]);
        // in the warm-up they disturbed no figure
        let at = |seconds: u64, value: f64| Reading {
            at: Duration::from_secs(seconds),
            ..reading("machine/cpu_steal", value)
        };
        assert_eq!(doubts(&asked, &outcome, &[at(1, 0.9), at(2, 0.0)], Duration::ZERO), []);
        let sampled = doubts(&asked, &outcome, &[reading("client/telemetry_cpu", 0.02)], Duration::ZERO);
        assert_eq!(sampled, [Doubt::new(Suspicious, What::Telemetry { processors: 0.02 })]);
    }

    #[test]
    fn other_programs_are_told_where_all_of_the_servers_are_known() {
        let (asked, outcome) = good();
        let busy = |values: &[(&str, f64)]| Reading {
            at: Duration::from_secs(1),
            length: Duration::from_secs(1),
            values: values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect(),
        };
        let known = [("machine/cpu_user", 1.5), ("node/a/process/cpu_user", 0.75), ("client/cpu_user", 0.25)];
        let found = doubts(&asked, &outcome, &[busy(&known)], Duration::ZERO);
        assert_eq!(found, [Doubt::new(Suspicious, What::OtherLoad { processors: 0.5 })]);
        assert_eq!(doubts(&asked, &outcome, &[busy(&known[..1])], Duration::ZERO), []);
        // Prony's own relay is none of them
        let relayed = [&known[..], &[("relay/1/cpu_user", 0.3), ("relay/2/cpu_user", 0.15)]].concat();
        assert_eq!(doubts(&asked, &outcome, &[busy(&relayed)], Duration::ZERO), []);
    }

    #[test]
    fn several_streams_are_named() {
        let (mut asked, mut outcome) = good();
        let mut second = outcome.streams[0].clone();
        second.name = "probe".to_owned();
        second.transactions.errors = 100;
        outcome.streams.push(second);
        asked.streams.push(asked.streams[0].clone());
        let doubts = doubts(&asked, &outcome, &[], Duration::ZERO);
        assert_eq!(doubts[0].stream.as_deref(), Some("probe"));
        assert!(matches!(doubts[0].what, What::Errors { share, .. } if (share - 0.024).abs() < 1e-3));
    }
}
