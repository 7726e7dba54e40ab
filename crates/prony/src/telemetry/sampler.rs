//! Takes a [`Reading`] of machine, client and servers at fixed times, on its own threads and on the run's
//! clock.
//!
//! One thread reads what this machine's kernel tells. Each server and each exporter is asked by its own
//! thread, so that one that hangs delays only its own readings. They hand over counts, never rates, so that
//! an answer that comes late, or not at all, loses nothing of the next one.

use super::{
    Node, Options, Reading,
    counts::{Counts, Rates, Source},
    exporter::Exporter,
    host::Host,
    process::{Client, Process, own_time},
    sql::Sql,
};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a reading waits for the answers of servers: what comes later is part of the next one.
const PATIENCE_MAX: Duration = Duration::from_millis(250);
/// Answers that may wait to be taken; each holds all that the ones before it held.
const ANSWERS_MAX: usize = 2;
/// Share of the time between readings below which what is left at the end is too short to tell anything.
const REST_MIN: f64 = 0.5;

/// What is to be sampled, with its connections open, before the load begins.
pub struct Sampler {
    options: Options,
    local: Vec<Box<dyn Source>>,
    remote: Vec<Box<dyn Source>>,
    /// Processes that carry the load out with this one.
    processes: Vec<u32>,
}

impl Sampler {
    /// Opens what is needed to sample these servers; one that does not answer now is tried again at each
    /// reading.
    #[must_use]
    pub fn prepare(nodes: &[Node], options: Options) -> Self {
        let directories: Vec<_> = nodes.iter().filter_map(|node| node.data_directory.clone()).collect();
        let mut local: Vec<Box<dyn Source>> = vec![Box::new(Host::new(&directories))];
        let mut remote: Vec<Box<dyn Source>> = Vec::new();
        for node in nodes {
            let prefix = format!("node/{}", node.name);
            if let Some(pid) = node.pid {
                let group = format!("{prefix}/group");
                local.push(Box::new(Process::new(pid, &format!("{prefix}/process"), Some(&group))));
            }
            if !node.ways.is_empty() {
                remote.push(Box::new(Sql::open(prefix.clone(), node.ways.clone(), options.all)));
            }
            if let Some(url) = &node.exporter {
                remote.push(Box::new(Exporter::new(&format!("{prefix}/machine"), url.clone())));
            }
        }
        Self { options, local, remote, processes: Vec::new() }
    }

    /// Samples processes that carry the load out as one with this one.
    #[must_use]
    pub fn with_client(self, processes: &[u32]) -> Self {
        Self { processes: processes.to_vec(), ..self }
    }

    /// Samples the processes that make Prony's own networks as well.
    #[must_use]
    pub fn with_relays(mut self, pids: &[u32]) -> Self {
        for (place, pid) in pids.iter().enumerate() {
            let prefix = format!("relay/{}", place + 1);
            self.local.push(Box::new(Process::new(*pid, &prefix, None)));
        }
        self
    }

    /// Begins. Readings are taken at `zero` plus multiples of [`Options::every`], moved so that one falls on
    /// [`Options::meet`], and handed to `on_reading` on the sampler's
    /// thread; their [`Reading::at`] counts from `zero`, the instant zero of the load.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(
        mut self,
        zero: Instant,
        on_reading: impl FnMut(Reading) + Send + 'static,
    ) -> io::Result<Running> {
        let times = Times::new(zero, self.options);
        self.local.push(Box::new(Client::of(&self.processes)));
        let own = Arc::new(AtomicU64::new(0));
        let (remotes, mut threads) = (self.remote.into_iter())
            .map(|source| ask(source, times, Arc::clone(&own)))
            .collect::<io::Result<(Vec<_>, Vec<_>)>>()?;
        let (stop, stopped) = mpsc::sync_channel(0);
        let told = Told { times, local: self.local, remotes, own, on_reading };
        let thread = thread::Builder::new().name("telemetry".to_owned());
        threads.push(thread.spawn(move || told.run(&stopped))?);
        Ok(Running { stop: Some(stop), threads })
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sampler {{ local: {}, remote: {} }}", self.local.len(), self.remote.len())
    }
}

/// A running sampler; ends when dropped, with a last reading of the time since the one before.
#[derive(Debug)]
pub struct Running {
    stop: Option<SyncSender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Ends at once.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.threads.pop() {
            // It panics only if `on_reading` does, which that one's owner sees on its own side. The other
            // threads end by themselves: one that waits for a server that hangs must not be
            // waited for.
            let _ = thread.join();
        }
    }
}

/// When readings are due.
#[derive(Debug, Clone, Copy)]
struct Times {
    zero: Instant,
    /// The last time before `zero`, or `zero` itself.
    origin: Instant,
    every: Duration,
}

impl Times {
    fn new(zero: Instant, Options { every, meet, .. }: Options) -> Self {
        let late = Duration::from_nanos((meet.as_nanos() % every.as_nanos().max(1)) as u64);
        let before = if late.is_zero() { late } else { every - late };
        Self { zero, origin: zero.checked_sub(before).unwrap_or(zero), every }
    }

    /// Waits for the next time; `false`: it is to end. After a pause of the whole machine what was missed is
    /// one long reading.
    fn wait(self, number: &mut u32, stopped: &Receiver<()>) -> bool {
        let passed = self.origin.elapsed().as_nanos() / self.every.as_nanos().max(1);
        *number = u32::try_from(passed).unwrap_or(u32::MAX).max(*number).saturating_add(1);
        let wait = (self.origin + self.every * *number).saturating_duration_since(Instant::now());
        stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
    }
}

/// A source on a thread of its own.
struct Remote {
    counts: Receiver<Counts>,
    rates: Rates,
    /// Dropped, it makes the thread take its last counts.
    stop: Option<SyncSender<()>>,
}

fn ask(
    mut source: Box<dyn Source>,
    times: Times,
    own: Arc<AtomicU64>,
) -> io::Result<(Remote, JoinHandle<()>)> {
    let (sender, counts) = mpsc::sync_channel(ANSWERS_MAX);
    let (stop, stopped) = mpsc::sync_channel(0);
    let run = move || {
        let (mut number, mut goes_on, mut used) = (0, true, Duration::ZERO);
        loop {
            if let Some(counts) = source.read()
                && matches!(sender.try_send(counts), Err(mpsc::TrySendError::Disconnected(_)))
            {
                return;
            }
            let now = own_time();
            own.fetch_add((now - used).as_nanos() as u64, Ordering::Relaxed);
            used = now;
            if !goes_on {
                return;
            }
            goes_on = times.wait(&mut number, &stopped);
        }
    };
    let thread = thread::Builder::new().name("telemetry-server".to_owned()).spawn(run)?;
    Ok((Remote { counts, rates: Rates::default(), stop: Some(stop) }, thread))
}

/// The thread that tells.
struct Told<F> {
    times: Times,
    local: Vec<Box<dyn Source>>,
    remotes: Vec<Remote>,
    /// Processor time of the threads that ask servers, ns.
    own: Arc<AtomicU64>,
    on_reading: F,
}

impl<F: FnMut(Reading)> Told<F> {
    fn run(mut self, stopped: &Receiver<()>) {
        let mut rates: Vec<Rates> = self.local.iter().map(|_| Rates::default()).collect();
        let mut own = Rates::default();
        let mut last = Instant::now();
        // the beginning gives levels but no rates, so it is no reading
        self.read(&mut rates, &mut own, Duration::ZERO);
        let mut number = 0;
        loop {
            let goes_on = self.times.wait(&mut number, stopped);
            let rest = last.elapsed();
            if !goes_on {
                self.remotes.iter_mut().for_each(|remote| drop(remote.stop.take()));
                if rest < self.times.every.mul_f64(REST_MIN) {
                    return;
                }
            }
            let patience = (self.times.every / 4).min(PATIENCE_MAX);
            let now = Instant::now();
            let values = self.read(&mut rates, &mut own, patience);
            let (at, length) = (now.saturating_duration_since(self.times.zero), now - last);
            last = now;
            (self.on_reading)(Reading { at, length, values });
            if !goes_on {
                return;
            }
        }
    }

    fn read(&mut self, rates: &mut [Rates], own: &mut Rates, patience: Duration) -> BTreeMap<String, f64> {
        let mut values = BTreeMap::new();
        for (source, rates) in self.local.iter_mut().zip(rates) {
            if let Some(counts) = source.read() {
                rates.advance(counts, &mut values);
            }
        }
        let until = Instant::now() + patience;
        for remote in &mut self.remotes {
            let wait = until.saturating_duration_since(Instant::now());
            let mut newest = remote.counts.recv_timeout(wait).ok();
            newest = remote.counts.try_iter().last().or(newest);
            if let Some(counts) = newest {
                remote.rates.advance(counts, &mut values);
            }
        }
        let mut counts = Counts::new(0);
        let of_others = Duration::from_nanos(self.own.load(Ordering::Relaxed));
        counts.count("client/telemetry_cpu", (own_time() + of_others).as_secs_f64());
        own.advance(counts, &mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn this_process() -> Node {
        Node { name: "server".to_owned(), pid: Some(std::process::id()), ..Node::default() }
    }

    #[test]
    fn readings_come_at_their_times_on_the_given_clock_and_see_work() {
        let (sender, readings) = mpsc::channel();
        let zero = Instant::now();
        let every = Duration::from_millis(500);
        let sampler = Sampler::prepare(&[this_process()], Options { every, ..Options::default() });
        let sampler = sampler
            .start(zero, move |reading| {
                let _ = sender.send(reading);
            })
            .unwrap();
        let mut sum = 0_u64;
        while zero.elapsed() < Duration::from_millis(1600) {
            sum = black_box(sum + 1);
        }
        sampler.stop();
        let readings: Vec<Reading> = readings.iter().collect();
        assert!((2..=4).contains(&readings.len()), "{}", readings.len());
        let mut end = Duration::ZERO;
        for reading in &readings {
            assert!(reading.at >= end + reading.length - Duration::from_millis(50), "{reading:?}");
            end = reading.at;
            assert!(reading.value("client/cpu_user").is_some_and(|cpu| cpu > 0.05), "{reading:?}");
            assert!(reading.server_cpu().is_some_and(|cpu| cpu > 0.05), "{reading:?}");
            assert!(reading.value("machine/cpu_user").is_some_and(|cpu| cpu > 0.05), "{reading:?}");
            assert!(reading.value("node/server/process/threads").is_some_and(|threads| threads >= 2.0));
        }
    }

    #[test]
    fn its_own_cost_is_told_and_small() {
        let (sender, readings) = mpsc::channel();
        let zero = Instant::now();
        let options = Options { every: Duration::from_millis(100), ..Options::default() };
        let sampler = Sampler::prepare(&[this_process()], options);
        let sampler = sampler.start(zero, move |reading| drop(sender.send(reading))).unwrap();
        thread::sleep(Duration::from_millis(1150));
        sampler.stop();
        let costs: Vec<f64> =
            readings.iter().filter_map(|reading| reading.value("client/telemetry_cpu")).collect();
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        assert!(mean > 0.0, "it is measured: {costs:?}");
        // ten times as often as usual, so a tenth of it counts; and this is no optimised build
        assert!(mean / 10.0 < 0.01, "{mean} of a processor at 10 readings a second");
    }

    #[test]
    fn a_relay_is_told_by_itself() {
        let (sender, readings) = mpsc::channel();
        let options = Options { every: Duration::from_millis(100), ..Options::default() };
        let sampler = Sampler::prepare(&[], options).with_relays(&[std::process::id()]);
        let sampler = sampler.start(Instant::now(), move |reading| drop(sender.send(reading))).unwrap();
        let reading = readings.recv_timeout(Duration::from_secs(10)).unwrap();
        sampler.stop();
        let relay = super::super::of_relays(&reading.values, "cpu_user");
        assert!(relay.is_some() && relay == reading.value("relay/1/cpu_user"), "{reading:?}");
        assert_eq!(reading.server_cpu(), None, "a relay is no server");
    }

    /// A source that answers never.
    struct Stuck;

    impl Source for Stuck {
        fn read(&mut self) -> Option<Counts> {
            thread::sleep(Duration::from_secs(20));
            None
        }
    }

    #[test]
    fn a_server_that_hangs_stops_nothing_but_its_own_figures() {
        let (sender, readings) = mpsc::channel();
        let options = Options { every: Duration::from_millis(100), ..Options::default() };
        let mut sampler = Sampler::prepare(&[this_process()], options);
        sampler.remote.push(Box::new(Stuck));
        let sampler = sampler.start(Instant::now(), move |reading| drop(sender.send(reading))).unwrap();
        let first = readings.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(first.server_cpu().is_some());
        let began = Instant::now();
        sampler.stop();
        assert!(began.elapsed() < Duration::from_secs(5), "it does not wait for what hangs");
    }
}
