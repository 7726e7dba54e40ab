//! Whether a trial has become steady: ends a warm-up `"auto"`, and doubts an interval that still drifts.
//!
//! A stream is judged by its throughput or, where it follows a schedule and its throughput is simply what was
//! offered, by its mean response time. Streams with a limit have no steady state.

use super::{Doubt, Level, Steady, What};
use crate::layout::neighbours;
use load::{
    Sample, Spec, WarmUp,
    sample::Phase,
    spec::{Arrival, Begin},
};

/// A change over the warm-up's steady part, or over the interval, that is let pass, as a share. Seconds
/// scatter by as much.
const TOLERANCE: f64 = 0.05;
/// Risk of calling a steady interval drifting.
const RISK: f64 = 0.01;

/// Follows the seconds of one trial.
#[derive(Debug)]
pub(super) struct Watch {
    streams: Vec<Stream>,
    is_auto: bool,
    /// The warm-up was declared over because it was steady; seconds of it that come after do not count.
    is_warm: bool,
    /// Seconds of the warm-up that all streams have told.
    warm_up_s: f64,
}

#[derive(Debug)]
struct Stream {
    name: String,
    is_watched: bool,
    is_scheduled: bool,
    warm_up: Vec<f64>,
    interval: Vec<f64>,
    /// What was done in each of its seconds.
    did: Vec<Steady>,
}

impl Watch {
    pub(super) fn new(spec: &Spec, is_auto: bool) -> Self {
        let streams = spec.streams.iter().map(|stream| Stream {
            name: stream.name.clone(),
            is_watched: !neighbours::is_one(stream)
                && stream.limit.is_none()
                && stream.begin == Begin::Together
                && is_level(&stream.arrival),
            is_scheduled: matches!(stream.arrival, Arrival::Open { .. } | Arrival::Paced { .. }),
            warm_up: Vec::new(),
            interval: Vec::new(),
            did: Vec::new(),
        });
        Self { streams: streams.collect(), is_auto, is_warm: false, warm_up_s: 0.0 }
    }

    /// Takes a second in.
    pub(super) fn add(&mut self, sample: &Sample) {
        let Some(stream) = self.streams.get_mut(usize::from(sample.stream)) else { return };
        let seconds = sample.length.as_secs_f64();
        if sample.phase == Phase::WarmUp && sample.stream == 0 {
            self.warm_up_s += seconds;
        }
        let value = if stream.is_scheduled {
            sample.transactions.response().mean_ns()
        } else {
            sample.transactions.count as f64 / seconds
        };
        match sample.phase {
            Phase::WarmUp => stream.warm_up.push(value),
            Phase::Measure => {
                stream.interval.push(value);
                let mut did = Steady::default();
                did.add(&sample.transactions, sample.length);
                stream.did.push(did);
            }
        }
    }

    /// Whether the warm-up may end. Once it may, it may: the load ends it a little later.
    pub(super) fn warm_up(&mut self) -> WarmUp {
        let mut watched = self.streams.iter().filter(|stream| stream.is_watched);
        let begun = self.streams.iter().all(|stream| stream.interval.is_empty());
        self.is_warm |= self.is_auto && begun && watched.all(|stream| is_steady(&stream.warm_up));
        if self.is_warm { WarmUp::Done } else { WarmUp::Goes }
    }

    /// What is to be doubted when the trial is over.
    pub(super) fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for stream in self.streams.iter().filter(|stream| stream.is_watched) {
            let about = |what| {
                let doubt = Doubt::new(Level::Suspicious, what);
                if self.streams.len() > 1 { doubt.of_stream(&stream.name) } else { doubt }
            };
            if self.is_auto && !self.is_warm && !is_steady(&stream.warm_up) {
                doubts.push(about(What::NotWarm { seconds: self.warm_up_s }));
            }
            doubts.extend(drift(&stream.interval).map(|what| told(what, &stream.did)).map(about));
        }
        doubts
    }
}

/// The doubt with what was done in the seconds that count.
fn told(mut what: What, did: &[Steady]) -> What {
    if let What::Drift { left_out_s, steady, .. } = &mut what {
        let rest = did.iter().skip(*left_out_s as usize);
        let sum = rest.fold(Steady::default(), |sum, one| Steady {
            transactions: sum.transactions + one.transactions,
            seconds: sum.seconds + one.seconds,
            response_ns: sum.response_ns + one.response_ns,
        });
        *steady = (*left_out_s > 0).then_some(sum);
    }
    what
}

/// Whether the arrival is the same at all times, so that there is something to be steady.
fn is_level(arrival: &Arrival) -> bool {
    match arrival {
        Arrival::Open { rate, .. } => matches!(rate, load::spec::Rate::Constant(_)),
        _ => true,
    }
}

fn is_steady(series: &[f64]) -> bool {
    stats::steady_from(series, TOLERANCE).is_some()
}

/// How an interval drifts, if it does: from end to end, or with a beginning that spoils what is steady
/// otherwise.
fn drift(series: &[f64]) -> Option<What> {
    if let Some((from, change)) = stats::transient(series, TOLERANCE) {
        return Some(What::Drift { change, left_out_s: u32::try_from(from).unwrap_or(0), steady: None });
    }
    let trend = stats::trend(series)?;
    let change = trend.change.value;
    let drifts = trend.p_value < RISK && change.abs() > TOLERANCE;
    drifts.then_some(What::Drift { change, left_out_s: 0, steady: None })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use load::{
        sample::Tally,
        spec::{Address, Target, Tls, Workload},
    };
    use std::time::Duration;

    fn noisy(level: impl Fn(f64) -> f64, length: u32) -> Vec<f64> {
        (0..length).map(|at| level(f64::from(at)) * (1.0 + 0.005 * (f64::from(at * 7 % 11) - 5.0))).collect()
    }

    /// A closed loop with so long a warm-up.
    fn spec(warm_up: Duration) -> Spec {
        let address = Address::Unix("/tmp/none".into());
        let (user, password, tls) = ("user".to_owned(), Default::default(), Tls::default());
        let trust = Default::default();
        let target = Target { address, user, password, database: None, tls, trust, compress: false };
        let workload = Workload::new("none", 1, Vec::new());
        let stream = load::spec::Stream::new("main", workload, 4);
        Spec::new(target, vec![stream], warm_up, Duration::from_secs(30))
    }

    /// Seconds that never become steady, in a warm-up and in the interval after it.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let spec = spec(Duration::from_secs(20));
        let mut watch = Watch::new(&spec, true);
        for second in 0..50_u32 {
            let phase = if second < 20 { Phase::WarmUp } else { Phase::Measure };
            let count = 2000 - 30 * second + second * 7 % 11;
            watch.add(&self::second(second, phase, f64::from(count)));
        }
        watch.doubts()
    }

    #[test]
    fn what_drifts_is_told_with_what_can_be_saved() {
        assert_eq!(drift(&noisy(|_| 1000.0, 30)), None);
        let Some(What::Drift { change, left_out_s, .. }) = drift(&noisy(|at| 1000.0 - 15.0 * at, 30)) else {
            panic!("a fall by a third is one");
        };
        assert!((-0.7..-0.4).contains(&change) && left_out_s == 0, "{change} {left_out_s}");
        let rises = |at: f64| 1000.0 * (1.0 - 0.7 * (-at / 4.0).exp());
        let Some(What::Drift { change, left_out_s, .. }) = drift(&noisy(rises, 60)) else {
            panic!("a cold start is one");
        };
        assert!(change > 0.05 && (5..=29).contains(&left_out_s), "{change} {left_out_s}");
        assert_eq!(drift(&noisy(|at| at, 5)), None, "too short to tell");
    }

    /// A second of a closed loop.
    fn second(number: u32, phase: Phase, count: f64) -> Sample {
        Sample {
            stream: 0,
            second: number,
            phase,
            length: Duration::from_secs(1),
            transactions: Tally { count: count as u64, ..Tally::new("transactions") },
            statements: Vec::new(),
            errors: 0,
            schedule: None,
        }
    }

    /// Whether a warm-up of these seconds is declared over, and the doubts of its load.
    fn after(warm_up: &[f64]) -> (bool, Vec<&'static str>) {
        let spec = spec(Duration::from_secs(60));
        let mut watch = Watch::new(&spec, true);
        let mut is_over = false;
        for (number, count) in (0..).zip(warm_up) {
            watch.add(&second(number, Phase::WarmUp, *count));
            is_over |= watch.warm_up() == WarmUp::Done;
        }
        for number in 0..20 {
            watch.add(&second(number + 100, Phase::Measure, 1000.0));
            watch.warm_up();
        }
        (is_over, watch.doubts().iter().map(Doubt::id).collect())
    }

    #[test]
    fn a_warm_up_that_was_declared_over_is_not_judged_anew() {
        let steady = noisy(|_| 1000.0, 20);
        assert_eq!(after(&steady), (true, vec![]));
        // the load ends it a little later, and what comes until then is not like the rest
        let then_slow = [steady, vec![200.0; 5]].concat();
        assert!(!is_steady(&then_slow));
        assert_eq!(after(&then_slow), (true, vec![]));
        assert_eq!(after(&noisy(|at| 100.0 + 30.0 * at, 20)), (false, vec!["not_warm"]));
    }
}
