//! Sampling during one load: prepared before it, begun with it, ended with it.

use super::{LoadHostNow, Node, Options, Reading, Running, Sampler, load_host::LoadHosts};
use load::Seen;
use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::{Duration, Instant},
};

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

    /// The load host that carries out this part of the load saw this of itself, so long ago.
    pub fn hear(&mut self, part: &str, ago: Duration, seen: Seen) {
        let at = Instant::now().checked_sub(ago).unwrap_or_else(Instant::now);
        self.load_hosts.hear(part.strip_prefix("agent ").unwrap_or(part), at, seen);
        if self.running.is_some() {
            self.come.extend(self.readings.try_iter());
            self.load_hosts.fill(self.zero, &mut self.come, false);
        }
    }

    /// What load hosts do just now.
    #[must_use]
    pub fn load_hosts_now(&self) -> Vec<LoadHostNow> {
        self.load_hosts.now()
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
