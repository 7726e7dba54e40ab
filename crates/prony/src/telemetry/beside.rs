//! Sampling beside one load: prepared before it, begun with it, ended with it.

use super::{Node, Options, Reading, Running, Sampler};
use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::Instant,
};

/// Sampling beside one load.
#[derive(Debug)]
pub struct Beside {
    prepared: Option<Sampler>,
    running: Option<Running>,
    sender: Sender<Reading>,
    readings: Receiver<Reading>,
}

impl Beside {
    /// Opens what sampling these servers needs.
    #[must_use]
    pub fn prepare(nodes: &[Node], options: Options) -> Self {
        let (sender, readings) = mpsc::channel();
        Self { prepared: Some(Sampler::prepare(nodes, options)), running: None, sender, readings }
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
        self.running = prepared.and_then(|sampler| sampler.start(Instant::now(), on_reading).ok());
    }

    /// The load is over.
    #[must_use]
    pub fn end(self) -> Vec<Reading> {
        drop((self.running, self.sender));
        self.readings.iter().collect()
    }
}
