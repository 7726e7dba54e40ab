//! Sampling during one load: prepared before it, begun with it, ended with it.

use super::{LoadHostNow, Node, Options, Reading, Running, Sampler, load_host::LoadHosts};
use load::PartNow;
use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::{Duration, Instant},
};

/// How often it is told what load hosts do: they look once a second.
const HOSTS_EVERY: Duration = Duration::from_secs(1);

/// Sampling beside one load.
#[derive(Debug)]
pub struct Beside {
    prepared: Option<Sampler>,
    running: Option<Running>,
    sender: Sender<Reading>,
    readings: Receiver<Reading>,
    /// Those that have come.
    come: Vec<Reading>,
    load_hosts: LoadHosts,
    /// When it was told last what they do.
    hosts_told: Option<Instant>,
    /// When the load began.
    zero: Instant,
}

impl Beside {
    /// Opens what sampling these servers needs.
    #[must_use]
    pub fn prepare(nodes: &[Node], options: Options) -> Self {
        let (sender, readings) = mpsc::channel();
        Self {
            prepared: Some(Sampler::prepare(nodes, options)),
            running: None,
            sender,
            readings,
            come: Vec::new(),
            load_hosts: LoadHosts::default(),
            hosts_told: None,
            zero: Instant::now(),
        }
    }

    /// Samples the processes that make Prony's own networks as well.
    #[must_use]
    pub fn with_relays(self, pids: &[u32]) -> Self {
        Self { prepared: self.prepared.map(|sampler| sampler.with_relays(pids)), ..self }
    }

    /// The load begins now; these processes carry it out together with this one.
    pub fn begin_in(&mut self, processes: &[u32]) {
        let sender = self.sender.clone();
        let on_reading = move |reading| drop(sender.send(reading));
        // a machine that cannot start one more thread will say so in the load itself
        let prepared = self.prepared.take().map(|sampler| sampler.with_client(processes));
        self.zero = Instant::now();
        self.running = prepared.and_then(|sampler| sampler.start(self.zero, on_reading).ok());
    }

    /// A load host told what it sees of itself. What all of them do just now, once a second: also when the
    /// results of one do not come.
    pub fn hear(&mut self, told: PartNow) -> Option<Vec<LoadHostNow>> {
        let now = Instant::now();
        self.load_hosts.hear(now, told);
        if self.running.is_some() {
            self.come.extend(self.readings.try_iter());
            self.load_hosts.fill(self.zero, &mut self.come, false);
        }
        let is_due = self.hosts_told.is_none_or(|last| now.saturating_duration_since(last) >= HOSTS_EVERY);
        let hosts = if is_due { self.load_hosts.now(now) } else { Vec::new() };
        (!hosts.is_empty()).then(|| {
            self.hosts_told = Some(now);
            hosts
        })
    }

    /// The load is over.
    #[must_use]
    pub fn end(self) -> Vec<Reading> {
        let Self { running, sender, readings, mut come, mut load_hosts, zero, .. } = self;
        drop((running, sender));
        come.extend(readings.iter());
        load_hosts.fill(zero, &mut come, true);
        come
    }
}
