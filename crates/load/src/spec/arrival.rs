//! When the transactions of a stream start.

use super::Workload;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a connection starts its next transaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// As soon as the last one has ended.
    #[default]
    Closed,
    /// A pause after the last one has ended.
    Think(Think),
    /// As people at terminals do: before a transaction its input is keyed in, and after it the result is
    /// thought about. One entry for each transaction of the workload, in its order.
    Waits(Vec<Waits>),
    /// Each connection one transaction every so often, at times fixed beforehand; the connections' times are
    /// spread evenly. A connection that is late goes on at once until it has caught up.
    Paced {
        /// From one intended start to the next, on each connection.
        every: Duration,
        /// A start that is later than this is skipped; `None`: none is.
        #[serde(default)]
        lateness_max: Option<Duration>,
    },
    /// At a rate, at times fixed beforehand, whoever is free: what finds no free connection waits for one.
    Open {
        /// Starts in a second, all connections together.
        rate: Rate,
        /// How the starts lie in time.
        #[serde(default)]
        gaps: Gaps,
        /// A start that is later than this is skipped; `None`: none is.
        #[serde(default)]
        lateness_max: Option<Duration>,
    },
}

impl Rate {
    /// The highest that it ever is, starts per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Steps(steps) => steps.iter().map(|step| step.rate).fold(0.0, f64::max),
            Self::Ramp { from, to, .. } => from.max(*to),
            Self::Sine { mean, amplitude, .. } => mean + amplitude,
            Self::Burst { base, peak, .. } => base.max(*peak),
        }
    }
}

impl Arrival {
    /// Whether starts have times that are fixed beforehand.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        matches!(self, Self::Paced { .. } | Self::Open { .. })
    }

    /// How long a connection waits between two transactions of a workload, on average.
    #[must_use]
    pub fn wait_mean(&self, workload: &Workload) -> Duration {
        match self {
            Self::Think(Think::Fixed(pause) | Think::Exponential(pause)) => *pause,
            Self::Waits(waits) => {
                let weights = workload.transactions().iter().map(|transaction| transaction.weight);
                let all: f64 = weights.clone().sum();
                let each = waits.iter().map(|each| (each.keying + each.think).as_secs_f64());
                let sum: f64 = weights.zip(each).map(|(weight, wait)| weight * wait).sum();
                Duration::from_secs_f64(sum / all.max(f64::MIN_POSITIVE))
            }
            Self::Closed | Self::Paced { .. } | Self::Open { .. } => Duration::ZERO,
        }
    }
}

/// How long a connection pauses between two transactions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// Always the same.
    Fixed(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// How long a connection waits around a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    /// Before it, always.
    pub keying: Duration,
    /// After it: exponentially distributed with this mean, and cut at ten times the mean.
    pub think: Duration,
}

/// How the starts of an open loop lie in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// Evenly.
    Constant,
    /// As independent customers come: a Poisson process.
    #[default]
    Poisson,
}

/// A rate of starts in a second that may change with time; time counts from the stream's begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rate {
    /// Always this.
    Constant(f64),
    /// One after the other; the last one lasts.
    Steps(Vec<RateStep>),
    /// Changes evenly, then stays.
    Ramp {
        /// At the begin.
        from: f64,
        /// At the end.
        to: f64,
        /// How long it takes.
        over: Duration,
    },
    /// Up and down: `mean + amplitude * sin(2 pi t / period)`.
    Sine {
        /// In the middle.
        mean: f64,
        /// At most this much more and less; not above `mean`.
        amplitude: f64,
        /// From one top to the next.
        period: Duration,
    },
    /// `peak` for the first `length` of each `every`, otherwise `base`.
    Burst {
        /// Between bursts.
        base: f64,
        /// In a burst.
        peak: f64,
        /// How long a burst lasts.
        length: Duration,
        /// From the begin of one burst to that of the next.
        every: Duration,
    },
}

/// A rate and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Starts in a second.
    pub rate: f64,
    /// How long.
    pub lasts: Duration,
}
