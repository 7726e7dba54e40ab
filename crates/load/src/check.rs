//! Checks, before anything is opened, that a spec makes sense as a whole.

use crate::spec::{Arrival, Begin, ConnectionMode, Part, Rate, Spec, Stream};
use std::time::Duration;

/// What makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// There is nobody to carry the load out.
    #[error("a load needs at least one stream, and each stream at least one connection")]
    NoConnections,
    /// There is no such part.
    #[error("a load of {} parts has no part {}", .0.of, .0.number + 1)]
    NoSuchPart(Part),
    /// Nothing would be measured.
    #[error("the measurement interval must be longer than 0")]
    NoInterval,
    /// No connection would be opened.
    #[error("connections opened per second must be more than 0")]
    OpenRate,
    /// Two streams have the same name.
    #[error("two streams are named `{0}`")]
    SameName(String),
    /// Connections of a stream would end before they begin.
    #[error("stream `{0}`: a connection must last for at least 1 transaction")]
    NoTransactions(String),
    /// A stream waits for the end of one that has none.
    #[error("stream `{stream}` begins when `{first}` has ended: `{first}` must exist and have a limit")]
    WaitsInVain {
        /// The stream.
        stream: String,
        /// What it waits for.
        first: String,
    },
    /// A stream has a time limit for nothing.
    #[error("stream `{0}` has a time limit but no limit of transactions or rows")]
    TimeLimit(String),
    /// A stream waits for itself, by way of others or directly.
    #[error("stream `{0}` waits for its own end")]
    Circle(String),
    /// This program has no interpreter.
    #[error("this program runs no scripts")]
    NoScripts,
    /// A stream asks something of its script that is the script's own affair.
    #[error("stream `{stream}` runs a script, which does not allow {what}: {why}")]
    Script {
        /// The stream.
        stream: String,
        /// What is asked.
        what: &'static str,
        /// Why it cannot be.
        why: &'static str,
    },
    /// An arrival has numbers that it cannot have.
    #[error(
        "stream `{0}`: rates must be 0 or more (a constant rate above 0), times above 0, the amplitude at \
         most the mean, a burst at most as long as its period, and waits one for each transaction"
    )]
    Arrival(String),
}

/// What is asked for must make sense as a whole.
pub(crate) fn check(spec: &Spec) -> Result<(), Mistake> {
    if spec.streams.is_empty() || spec.streams.iter().any(|stream| stream.connections == 0) {
        return Err(Mistake::NoConnections);
    }
    if spec.part.number >= spec.part.of {
        return Err(Mistake::NoSuchPart(spec.part));
    }
    if spec.interval.is_zero() {
        return Err(Mistake::NoInterval);
    }
    if spec.open_rate.is_some_and(|rate| rate.is_nan() || rate <= 0.0) {
        return Err(Mistake::OpenRate);
    }
    for (index, stream) in spec.streams.iter().enumerate() {
        let name = &stream.name;
        if spec.streams[..index].iter().any(|other| other.name == *name) {
            return Err(Mistake::SameName(name.clone()));
        }
        check_arrival(stream)?;
        if stream.time_limit.is_some() && stream.limit.is_none() {
            return Err(Mistake::TimeLimit(name.clone()));
        }
        if stream.connect == ConnectionMode::Transactions(0) {
            return Err(Mistake::NoTransactions(name.clone()));
        }
        if stream.workload.script().is_some() {
            check_script(spec, stream)?;
        }
        if let Begin::WhenDone(first) = &stream.begin {
            let before = spec.streams.iter().find(|other| other.name == *first);
            if before.is_none_or(|before| before.limit.is_none()) || stream.limit.is_none() {
                return Err(Mistake::WaitsInVain { stream: name.clone(), first: first.clone() });
            }
        }
    }
    match circle(&spec.streams) {
        Some(name) => Err(Mistake::Circle(name.to_owned())),
        None => Ok(()),
    }
}

/// A script opens its connections itself, and how long it waits is its own affair.
fn check_script(spec: &Spec, stream: &Stream) -> Result<(), Mistake> {
    let refused = [
        (
            stream.connect != ConnectionMode::Long,
            "`reconnect`",
            "the script itself opens and closes connections",
        ),
        (stream.idle > 0, "idle connections", "put them into a stream of a workload that is not a script"),
        (spec.reply_timeout.is_some(), "a reply timeout", "set one on the server, or leave it out"),
        (spec.open_rate.is_some(), "a connect rate", "the script itself opens its connections"),
    ];
    match refused.iter().find(|(is_asked, ..)| *is_asked) {
        None => Ok(()),
        Some(&(_, what, why)) => Err(Mistake::Script { stream: stream.name.clone(), what, why }),
    }
}

fn check_arrival(stream: &Stream) -> Result<(), Mistake> {
    let good = |rate: f64| rate.is_finite() && rate >= 0.0;
    let lasts = |time: Duration| !time.is_zero();
    let is_good = match &stream.arrival {
        Arrival::Closed | Arrival::Think(_) => true,
        Arrival::Waits(waits) => waits.len() == stream.workload.transactions().len(),
        Arrival::Paced { every, .. } => lasts(*every),
        Arrival::Open { rate, .. } => match rate {
            Rate::Constant(rate) => good(*rate) && *rate > 0.0,
            Rate::Steps(steps) => {
                !steps.is_empty() && steps.iter().all(|step| good(step.rate) && lasts(step.lasts))
            }
            Rate::Ramp { from, to, over } => good(*from) && good(*to) && lasts(*over),
            Rate::Sine { mean, amplitude, period } => {
                good(*mean) && good(*amplitude) && amplitude <= mean && lasts(*period)
            }
            Rate::Burst { base, peak, length, every } => {
                good(*base) && good(*peak) && lasts(*length) && length <= every
            }
        },
    };
    if is_good { Ok(()) } else { Err(Mistake::Arrival(stream.name.clone())) }
}

/// A stream that, by way of others or directly, begins when it has ended itself.
fn circle(streams: &[Stream]) -> Option<&str> {
    let before = |stream: &Stream| match &stream.begin {
        Begin::WhenDone(first) => streams.iter().find(|other| other.name == *first),
        _ => None,
    };
    streams.iter().map(|stream| (stream, stream)).find_map(|(first, mut at)| {
        for _ in 0..streams.len() {
            at = before(at)?;
            if at.name == first.name {
                return Some(first.name.as_str());
            }
        }
        None
    })
}
