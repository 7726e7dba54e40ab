//! Whether what is asked of the engine makes sense as a whole, before anything is opened.

use crate::{
    error::Error,
    spec::{Arrival, Begin, ConnectionMode, Rate, Spec, Stream},
};
use std::time::Duration;

/// What is asked for must make sense as a whole.
pub(crate) fn check(spec: &Spec) -> Result<(), Error> {
    let refuse = |text: String| Err(Error::Spec(text));
    if spec.streams.is_empty() || spec.streams.iter().any(|stream| stream.connections == 0) {
        return refuse(
            "a load needs at least one stream, and each stream at least one connection".to_owned(),
        );
    }
    if spec.part.number >= spec.part.of {
        return refuse(format!("a load of {} parts has no part {}", spec.part.of, spec.part.number + 1));
    }
    if spec.interval.is_zero() {
        return refuse("the measurement interval must be longer than nothing".to_owned());
    }
    if spec.open_rate.is_some_and(|rate| rate.is_nan() || rate <= 0.0) {
        return refuse("connections opened in a second must be more than 0".to_owned());
    }
    for (index, stream) in spec.streams.iter().enumerate() {
        let name = &stream.name;
        if spec.streams[..index].iter().any(|other| other.name == *name) {
            return refuse(format!("two streams are named `{name}`"));
        }
        check_arrival(stream)?;
        if stream.connect == ConnectionMode::Transactions(0) {
            return refuse(format!("stream `{name}`: a connection must last for at least 1 transaction"));
        }
        if let Begin::WhenDone(first) = &stream.begin {
            let before = spec.streams.iter().find(|other| other.name == *first);
            if before.is_none_or(|before| before.limit.is_none()) || stream.limit.is_none() {
                return refuse(format!(
                    "stream `{name}` begins when `{first}` is done: both must be there and have a limit"
                ));
            }
        }
    }
    match circle(&spec.streams) {
        Some(name) => refuse(format!("stream `{name}` waits for its own end")),
        None => Ok(()),
    }
}

fn check_arrival(stream: &Stream) -> Result<(), Error> {
    let good = |rate: f64| rate.is_finite() && rate >= 0.0;
    let lasts = |time: Duration| !time.is_zero();
    let is_good = match &stream.arrival {
        Arrival::Closed | Arrival::Think(_) => true,
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
    if is_good {
        return Ok(());
    }
    Err(Error::Spec(format!(
        "stream `{}`: rates must be 0 or more (a constant one more), times longer than nothing, an \
         amplitude not above the mean, a burst not longer than its period",
        stream.name
    )))
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
