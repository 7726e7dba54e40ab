//! How a connection is being opened: which attempt it is, when each step was reached, and whom that concerns.

use crate::{clock::Moment, sample::Connects};

/// A connection's latest opening.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opening {
    /// Number of the attempt, as a line knows it.
    pub(crate) attempt: u32,
    /// Failed attempts since the last login.
    pub(crate) failures: u32,
    /// Whether the first reply after the login is still to come.
    pub(crate) is_fresh: bool,
    /// Whether it counts among those that the worker opens at the same time.
    pub(crate) has_place: bool,
    /// Whether it was told, before the load began, that it is open.
    pub(crate) is_told: bool,
    pub(crate) began: Moment,
    pub(crate) connected: Moment,
    tls_began: Option<Moment>,
    tls_ended: Option<Moment>,
}

impl Opening {
    /// A further attempt begins.
    pub(crate) fn begin(&mut self, now: Moment) {
        let Self { attempt, failures, has_place, is_told, .. } = *self;
        let attempt = attempt.wrapping_add(1);
        *self = Self { attempt, failures, has_place, is_told, began: now, ..Self::default() };
    }

    /// TLS begins.
    pub(crate) fn tls_begins(&mut self, now: Moment) {
        self.tls_began = Some(now);
    }

    /// The TLS handshake, if there was one, has ended by now.
    pub(crate) fn tls_is_over(&mut self, now: Moment) {
        if self.tls_began.is_some() {
            self.tls_ended.get_or_insert(now);
        }
    }

    /// Counts the login that ended at `now`.
    pub(crate) fn record(&self, now: Moment, connects: &mut Connects) {
        let total = now.since(self.began);
        let tcp = self.connected.since(self.began);
        let tls = match (self.tls_began, self.tls_ended) {
            (Some(began), Some(ended)) => Some(ended.since(began)),
            _ => None,
        };
        connects.opened += 1;
        connects.total.record_ns(total);
        connects.tcp.record_ns(tcp);
        if let Some(tls) = tls {
            connects.tls.record_ns(tls);
        }
        connects.login.record_ns(total.saturating_sub(tcp.saturating_add(tls.unwrap_or(0))));
    }
}
