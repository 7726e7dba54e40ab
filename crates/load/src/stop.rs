//! How a load, and anything else that waits, is told to end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Stops a load from another thread. Clones are the same stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the load to end; it does within about two seconds.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for work that is no load but must end with it.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether it was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
