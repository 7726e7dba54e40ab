//! How arrivals, think times and connection modes are written, the same on the command line and in a study.
//! It turns text into the engine's values and back, and knows neither who asks nor what is done with them.
//!
//! | a rate | starts per second |
//! |---|---|
//! | `1000` | always 1000 |
//! | `1000:10s, 2000:10s, 500` | 1000 for 10 s, 2000 for 10 s, then 500 |
//! | `100..5000 over 60s` | evenly from 100 to 5000, then 5000 |
//! | `1000 +- 500 every 60s` | a sine around 1000, at most 500 more and less |
//! | `100 burst 5000 for 2s every 10s` | 100, and 5000 in the first 2 s of each 10 s |

use crate::quantity::{self, duration, rate as number, show_duration as time};
use load::spec::{Arrival, ConnectionMode, Gaps, Rate, RateStep, Think};
use std::time::Duration;

/// A text that says nothing, or parts that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a rate.
    #[error("`{text}` is not a rate: {reason}")]
    Rate {
        /// What was written.
        text: String,
        /// What is wrong, or what would be right.
        reason: &'static str,
    },
    /// Not the quantity that belongs in it.
    #[error(transparent)]
    Quantity(#[from] quantity::Error),
    /// Not a kind of gaps.
    #[error("`{0}` is not a spacing of starts: write poisson or constant")]
    Gaps(String),
    /// Not a think time.
    #[error("`{0}` is not a think time: write 5ms (always) or exp:5ms (exponential with this mean)")]
    Think(String),
    /// Not a connection mode.
    #[error(
        "`{0}` does not say when to reconnect: write never, transaction, statement, or a number of \
         transactions"
    )]
    ConnectionMode(String),
    /// Two parts that exclude each other.
    #[error("`{0}` and `{1}` cannot be combined: a load has one kind of arrival")]
    Conflict(&'static str, &'static str),
    /// A part that says something about another one, which is missing.
    #[error("`{0}` needs `{1}`")]
    Missing(&'static str, &'static str),
    /// A pace of 0.
    #[error("`pace` must be above 0; without `pace`, transactions follow each other at once")]
    NoPace,
}

/// The parts of an arrival, each by itself; [`Parts::arrival`] puts them together. The names of the fields
/// are those of the flags and of the study's keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// Open loop at this rate.
    pub rate: Option<Rate>,
    /// How the starts of an open loop lie in time.
    pub gaps: Option<Gaps>,
    /// Each connection one transaction every so often.
    pub pace: Option<Duration>,
    /// A pause after each transaction.
    pub think: Option<Think>,
    /// A start that is later than this is skipped.
    pub lateness_max: Option<Duration>,
}

impl Parts {
    /// The arrival that the parts make together.
    ///
    /// # Errors
    /// Where two parts exclude each other, or one refers to another that is missing.
    pub fn arrival(self) -> Result<Arrival, Error> {
        let Self { rate, gaps, pace, think, lateness_max } = self;
        let kinds = [("rate", rate.is_some()), ("pace", pace.is_some()), ("think", think.is_some())];
        let mut given = kinds.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            return Err(Error::Conflict(first, second));
        }
        if gaps.is_some() && rate.is_none() {
            return Err(Error::Missing("gaps", "rate"));
        }
        if lateness_max.is_some() && rate.is_none() && pace.is_none() {
            return Err(Error::Missing("lateness_max", "rate` or `pace"));
        }
        Ok(match (rate, pace, think) {
            (Some(rate), ..) => Arrival::Open { rate, gaps: gaps.unwrap_or_default(), lateness_max },
            (_, Some(every), _) if every.is_zero() => return Err(Error::NoPace),
            (_, Some(every), _) => Arrival::Paced { every, lateness_max },
            (.., Some(think)) => Arrival::Think(think),
            (None, None, None) => Arrival::Closed,
        })
    }
}

/// A rate in one of the forms above.
///
/// # Errors
/// Where the text has none of these forms, a rate is negative or never above 0, a time is 0, an amplitude is
/// larger than the mean or a burst longer than its period.
pub fn rate(text: &str) -> Result<Rate, Error> {
    let wrong = |reason| Error::Rate { text: text.to_owned(), reason };
    let rate = parse_rate(text)?.ok_or_else(|| wrong(FORMS))?;
    let zero = Duration::ZERO;
    match &rate {
        Rate::Sine { mean, amplitude, .. } if amplitude > mean => {
            return Err(wrong(
                "a rate cannot fall below 0, so the number after +- must not exceed the one before it",
            ));
        }
        Rate::Burst { length, every, .. } if length > every => {
            return Err(wrong("a burst cannot be longer than its period"));
        }
        Rate::Steps(steps) if steps.iter().any(|step| step.lasts == zero) => {
            return Err(wrong("each step must be longer than 0 s"));
        }
        Rate::Ramp { over: time, .. } | Rate::Sine { period: time, .. } | Rate::Burst { every: time, .. }
            if *time == zero =>
        {
            return Err(wrong("the time must be above 0"));
        }
        _ => {}
    }
    if rate.peak() > 0.0 { Ok(rate) } else { Err(wrong("nothing would ever start; use a rate above 0")) }
}

/// What is said where a rate has no known form.
const FORMS: &str = "write 1000, or 1000:10s,2000:10s (steps), 100..5000 over 60s (ramp), 1000 +- 500 every \
                     60s (sine), 100 burst 5000 for 2s every 10s";

/// `None`: it has none of the forms.
fn parse_rate(text: &str) -> Result<Option<Rate>, quantity::Error> {
    if let Some((from, rest)) = text.split_once("..") {
        let Some((to, over)) = rest.split_once(" over ") else { return Ok(None) };
        let over = duration(over)?;
        return Ok(number(from).zip(number(to)).map(|(from, to)| Rate::Ramp { from, to, over }));
    }
    if let Some((base, rest)) = text.split_once(" burst ") {
        let parts =
            rest.split_once(" for ").and_then(|(peak, rest)| Some((peak, rest.split_once(" every ")?)));
        let Some((peak, (length, every))) = parts else { return Ok(None) };
        let (length, every) = (duration(length)?, duration(every)?);
        return Ok(number(base).zip(number(peak)).map(|(base, peak)| Rate::Burst {
            base,
            peak,
            length,
            every,
        }));
    }
    if let Some((mean, rest)) = text.split_once("+-").or_else(|| text.split_once('±')) {
        let Some((amplitude, period)) = rest.split_once(" every ") else { return Ok(None) };
        let period = duration(period)?;
        return Ok(number(mean).zip(number(amplitude)).map(|(mean, amplitude)| Rate::Sine {
            mean,
            amplitude,
            period,
        }));
    }
    if text.contains([':', ',']) {
        return parse_steps(text);
    }
    Ok(number(text).map(Rate::Constant))
}

/// Only the last step may go without a time: it lasts in any case.
fn parse_steps(text: &str) -> Result<Option<Rate>, quantity::Error> {
    let written: Vec<&str> = text.split(',').collect();
    let mut steps = Vec::new();
    for (index, written_step) in written.iter().enumerate() {
        let (rate, lasts) = match written_step.split_once(':') {
            Some((rate, lasts)) => (rate, duration(lasts)?),
            None if index + 1 == written.len() => (*written_step, LAST),
            None => return Ok(None),
        };
        let Some(rate) = number(rate) else { return Ok(None) };
        steps.push(RateStep { rate, lasts });
    }
    Ok(Some(Rate::Steps(steps)))
}

/// Written for a last step without a time; it lasts to the end whatever stands here.
const LAST: Duration = Duration::from_secs(1);

/// `poisson` or `constant`.
///
/// # Errors
/// For any other word.
pub fn gaps(text: &str) -> Result<Gaps, Error> {
    match text.trim() {
        "poisson" => Ok(Gaps::Poisson),
        "constant" => Ok(Gaps::Constant),
        _ => Err(Error::Gaps(text.to_owned())),
    }
}

/// `5ms`, or `exp:5ms` for an exponential distribution with this mean.
///
/// # Errors
/// Where the text is something else.
pub fn think(text: &str) -> Result<Think, Error> {
    let (kind, time): (fn(Duration) -> Think, _) = match text.trim().split_once(':') {
        None => (Think::Fixed, text),
        Some(("exp" | "exponential", time)) => (Think::Exponential, time),
        Some(_) => return Err(Error::Think(text.to_owned())),
    };
    Ok(kind(duration(time)?))
}

/// When a new connection takes the place of the old one: `never`, after each `transaction` or `statement`, or
/// after a number of transactions (0: never).
///
/// # Errors
/// Where the text is something else.
pub fn connection_mode(text: &str) -> Result<ConnectionMode, Error> {
    match text.trim() {
        "never" | "0" => Ok(ConnectionMode::Long),
        "transaction" => Ok(ConnectionMode::Transactions(1)),
        "statement" => Ok(ConnectionMode::Statement),
        number => quantity::count(number)
            .ok()
            .and_then(|number| u32::try_from(number).ok())
            .map(ConnectionMode::Transactions)
            .ok_or_else(|| Error::ConnectionMode(text.to_owned())),
    }
}

/// An arrival in words, for results and reports: `open loop at 1000/s, poisson gaps`.
#[must_use]
pub fn describe(arrival: &Arrival) -> String {
    let skipping = |lateness_max: &Option<Duration>| {
        lateness_max.map_or_else(String::new, |limit| format!(", skipped when {} late", time(limit)))
    };
    match arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Think(Think::Fixed(pause)) => format!("closed loop, {} think time", time(*pause)),
        Arrival::Think(Think::Exponential(mean)) => {
            format!("closed loop, exponential think time of {}", time(*mean))
        }
        Arrival::Waits(_) => "closed loop, keying and think times of each transaction".to_owned(),
        Arrival::Paced { every, lateness_max } => {
            format!("each connection one every {}{}", time(*every), skipping(lateness_max))
        }
        Arrival::Open { rate, gaps, lateness_max } => {
            let gaps = if *gaps == Gaps::Poisson { "poisson" } else { "constant" };
            format!("open loop at {}, {gaps} gaps{}", write_rate(rate), skipping(lateness_max))
        }
    }
}

/// A connection mode as [`connection_mode`] reads it.
#[must_use]
pub fn write_connection_mode(mode: ConnectionMode) -> String {
    match mode {
        ConnectionMode::Long => "never".to_owned(),
        ConnectionMode::Transactions(1) => "transaction".to_owned(),
        ConnectionMode::Transactions(count) => count.to_string(),
        ConnectionMode::Statement => "statement".to_owned(),
    }
}

/// A rate as [`rate`] reads it.
#[must_use]
pub fn write_rate(rate: &Rate) -> String {
    match rate {
        Rate::Constant(rate) => format!("{rate}/s"),
        Rate::Steps(steps) => {
            let steps = steps.iter().map(|step| format!("{}:{}", step.rate, time(step.lasts)));
            steps.collect::<Vec<_>>().join(",")
        }
        Rate::Ramp { from, to, over } => format!("{from}..{to} over {}", time(*over)),
        Rate::Sine { mean, amplitude, period } => format!("{mean} +- {amplitude} every {}", time(*period)),
        Rate::Burst { base, peak, length, every } => {
            format!("{base} burst {peak} for {} every {}", time(*length), time(*every))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn every_form_of_a_rate_is_read_and_written_back() {
        let step = |rate, lasts| RateStep { rate, lasts: seconds(lasts) };
        let (mean, amplitude, period) = (1000.0, 500.0, seconds(60));
        for (text, expected) in [
            ("1000", Rate::Constant(1000.0)),
            (" 12.5/s ", Rate::Constant(12.5)),
            ("1_000", Rate::Constant(1000.0)),
            ("1000:10s,2000:1m", Rate::Steps(vec![step(1000.0, 10), step(2000.0, 60)])),
            ("0:10s, 500", Rate::Steps(vec![step(0.0, 10), step(500.0, 1)])),
            ("100..5000 over 60s", Rate::Ramp { from: 100.0, to: 5000.0, over: seconds(60) }),
            ("5000/s .. 100/s over 1m", Rate::Ramp { from: 5000.0, to: 100.0, over: seconds(60) }),
            ("1000 +- 500 every 60s", Rate::Sine { mean, amplitude, period }),
            ("1000±500 every 60s", Rate::Sine { mean, amplitude, period }),
            (
                "100 burst 5000 for 2s every 10s",
                Rate::Burst { base: 100.0, peak: 5000.0, length: seconds(2), every: seconds(10) },
            ),
        ] {
            let read = rate(text).expect(text);
            assert_eq!(read, expected, "{text}");
            assert_eq!(rate(&write_rate(&read)), Ok(read));
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_with_the_right_form() {
        for (text, word) in [
            ("fast", "1000:10s,2000:10s"),
            ("-5", "ramp"),
            ("0", "nothing would ever start; use a rate above 0"),
            ("0:10s,0", "nothing would ever start; use a rate above 0"),
            ("1000,2000:10s", "1000:10s"),
            ("100..200", "100..5000 over 60s"),
            ("100..200 over soon", "`soon` is not a length of time"),
            ("100..200 over 5", "`5` has no unit: write 10s"),
            ("1000:10,500", "`10` has no unit"),
            ("100..200 over 0s", "above 0"),
            ("500 +- 501 every 1s", "below 0"),
            ("1 burst 2 for 3s every 2s", "longer"),
            ("10:0s,20:1s", "longer than 0 s"),
            ("inf", "sine"),
        ] {
            let message = rate(text).expect_err(text).to_string();
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    #[test]
    fn parts_make_one_arrival_or_say_which_of_them_do_not_go_together() {
        let rate = Some(Rate::Constant(10.0));
        let pace = Some(Duration::from_millis(10));
        let think = Some(Think::Fixed(seconds(1)));
        let of = |parts: Parts| parts.arrival();
        let none = Parts::default();
        assert_eq!(of(none.clone()), Ok(Arrival::Closed));
        assert!(matches!(
            of(Parts { rate: rate.clone(), gaps: Some(Gaps::Constant), ..none.clone() }),
            Ok(Arrival::Open { gaps: Gaps::Constant, lateness_max: None, .. })
        ));
        assert!(matches!(
            of(Parts { pace, lateness_max: pace, ..none.clone() }),
            Ok(Arrival::Paced { lateness_max: Some(_), .. })
        ));
        assert_eq!(of(Parts { think, ..none.clone() }), Ok(Arrival::Think(Think::Fixed(seconds(1)))));
        assert_eq!(of(Parts { rate, pace, ..none.clone() }), Err(Error::Conflict("rate", "pace")));
        assert_eq!(of(Parts { pace, think, ..none.clone() }), Err(Error::Conflict("pace", "think")));
        let gaps = Some(Gaps::Poisson);
        assert_eq!(of(Parts { gaps, pace, ..none.clone() }), Err(Error::Missing("gaps", "rate")));
        let message = of(Parts { think, lateness_max: pace, ..none.clone() }).expect_err("no").to_string();
        assert_eq!(message, "`lateness_max` needs `rate` or `pace`");
        assert_eq!(of(Parts { pace: Some(Duration::ZERO), ..none }), Err(Error::NoPace));
    }

    #[test]
    fn think_times_and_connection_modes() {
        assert_eq!(think("5ms"), Ok(Think::Fixed(Duration::from_millis(5))));
        assert_eq!(think("exp:1.5s"), Ok(Think::Exponential(Duration::from_millis(1500))));
        assert!(think("5").is_err() && think("uniform:5ms").is_err() && think("exp:").is_err());
        for (text, mode) in [
            ("never", ConnectionMode::Long),
            ("transaction", ConnectionMode::Transactions(1)),
            ("25", ConnectionMode::Transactions(25)),
            ("statement", ConnectionMode::Statement),
        ] {
            assert_eq!(connection_mode(text), Ok(mode));
            assert_eq!(write_connection_mode(mode), text);
        }
        assert_eq!(connection_mode("0"), Ok(ConnectionMode::Long));
        assert!(connection_mode("often").is_err() && connection_mode("-1").is_err());
    }

    #[test]
    fn arrivals_are_described_in_words() {
        let open = Parts { rate: rate("100..200 over 1s").ok(), ..Parts::default() }.arrival().expect("open");
        assert_eq!(describe(&open), "open loop at 100..200 over 1s, poisson gaps");
        let every = Duration::from_millis(10);
        let paced = Arrival::Paced { every, lateness_max: Some(seconds(1)) };
        assert_eq!(describe(&paced), "each connection one every 10ms, skipped when 1s late");
    }
}
