//! An objective: `p99 < 20ms, errors < 0.1%`.

use super::Verdict;
use crate::quantity;
use load::{Histogram, sample::StreamOutcome};
use serde::Serialize;
use std::fmt;

/// A text that is no objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an objective: {reason}; write 'p99 < 20ms' (p50 p90 p95 p99 p99.9 mean max, also \
     'service p99 < 5ms') or 'errors < 0.1%', separated by commas"
)]
pub struct Error {
    text: String,
    reason: Reason,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("there is no <")]
    NoSign,
    #[error("the name before < is unknown")]
    NoMetric,
    #[error(transparent)]
    Limit(#[from] quantity::Error),
    #[error("nothing is below 0")]
    NotAboveZero,
}

/// Limits that must all be kept; not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Objectives(Vec<Objective>);

/// One limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    metric: Metric,
    /// Seconds, or a share of 1; above 0.
    limit: f64,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    /// Share of transactions that failed.
    Errors,
    /// A latency of transactions; `service`: from the actual send instead of the intended start.
    Latency { of: Latency, service: bool },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Latency {
    Mean,
    Max,
    Quantile(f64),
}

impl Objectives {
    /// Reads objectives with commas between them.
    ///
    /// # Errors
    /// The first that is not one.
    pub fn parse(text: &str) -> Result<Self, Error> {
        text.split(',').map(Objective::parse).collect::<Result<_, _>>().map(Self)
    }

    /// All of these together.
    #[must_use]
    pub fn join(lists: &[Self]) -> Self {
        Self(lists.iter().flat_map(|list| list.0.iter().cloned()).collect())
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Objective> {
        self.0.iter()
    }

    /// Transactions that a load must hold so that it can say that these are kept: `TAIL` beyond a quantile
    /// (2000 for the 99th percentile), and for a share of errors so many that none among them shows it (rule
    /// of three).
    #[must_use]
    pub fn transactions_needed(&self) -> f64 {
        self.0.iter().map(Objective::transactions_needed).fold(0.0, f64::max)
    }

    /// What a load says of all of them.
    #[must_use]
    pub fn judge(&self, told: &StreamOutcome) -> Verdict {
        let mut verdicts = self.0.iter().map(|objective| objective.judge(told));
        let first = verdicts.clone().find(|verdict| *verdict == Verdict::Broken);
        first.or_else(|| verdicts.find(|verdict| *verdict == Verdict::CannotTell)).unwrap_or(Verdict::Kept)
    }
}

/// Transactions beyond a quantile below which it is a matter of luck.
const TAIL: f64 = 20.0;
/// None among so many times 1 / limit shows with 95 % that a share is below the limit (rule of three: J. A.
/// Hanley, A. Lippman-Hand, *If nothing goes wrong, is everything all right?*, JAMA 249, 1983).
const NONE_OF: f64 = 3.0;
/// Chance by which so few transactions may look as if they broke an objective that is kept.
const CHANCE: f64 = 1e-3;

impl fmt::Display for Objectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.0.iter().map(|objective| objective.text.as_str()).collect();
        f.write_str(&texts.join(", "))
    }
}

impl Objective {
    fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |reason: Reason| Error { text: text.trim().to_owned(), reason };
        let (name, limit) = text.split_once('<').ok_or_else(|| wrong(Reason::NoSign))?;
        let limit = limit.trim_start_matches('=').trim();
        let metric = Metric::parse(name.trim()).ok_or_else(|| wrong(Reason::NoMetric))?;
        let value = match metric {
            Metric::Errors => quantity::share(limit),
            Metric::Latency { .. } => quantity::duration(limit).map(|time| time.as_secs_f64()),
        };
        let value = value.map_err(|error| wrong(error.into()))?;
        if value <= 0.0 {
            return Err(wrong(Reason::NotAboveZero));
        }
        let words: Vec<&str> = name.split_whitespace().collect();
        Ok(Self { metric, limit: value, text: format!("{} < {limit}", words.join(" ")) })
    }

    /// What it compares, in seconds or as a share of 1; infinite where no transaction ended well.
    #[must_use]
    pub fn measure(&self, told: &StreamOutcome) -> f64 {
        let tally = &told.transactions;
        if tally.count == 0 {
            return f64::INFINITY;
        }
        match self.metric {
            Metric::Errors => tally.errors as f64 / (tally.count + tally.errors) as f64,
            Metric::Latency { of, service } => {
                of.read(if service { &tally.service } else { tally.response() }) / 1e9
            }
        }
    }

    fn transactions_needed(&self) -> f64 {
        match self.metric {
            Metric::Latency { of: Latency::Quantile(quantile), .. } => TAIL / (1.0 - quantile),
            Metric::Latency { .. } => TAIL / 0.1,
            Metric::Errors => NONE_OF / self.limit,
        }
    }

    /// What a load says about it. With too few transactions it can only say that the objective is broken, and
    /// only where chance does not explain it.
    #[must_use]
    pub fn judge(&self, told: &StreamOutcome) -> Verdict {
        let tally = &told.transactions;
        let ended = tally.count + tally.errors;
        if tally.count == 0 {
            return if tally.errors > 0 { Verdict::Broken } else { Verdict::CannotTell };
        }
        let breaks = self.measure(told) >= self.limit;
        let of = if matches!(self.metric, Metric::Errors) { ended } else { tally.count };
        if of as f64 >= self.transactions_needed() {
            return if breaks { Verdict::Broken } else { Verdict::Kept };
        }
        let Metric::Latency { of, service } = self.metric else {
            let beyond = is_beyond_chance(tally.errors, ended, self.limit);
            return if beyond { Verdict::Broken } else { Verdict::CannotTell };
        };
        let histogram = if service { &tally.service } else { tally.response() };
        let is_sure = breaks
            && match of {
                Latency::Max => true,
                Latency::Mean => {
                    let error = histogram.deviation_ns() / (tally.count as f64).sqrt() / 1e9;
                    histogram.mean_ns() / 1e9 - 3.0 * error > self.limit
                }
                Latency::Quantile(quantile) => {
                    let limit_ns = (self.limit * 1e9) as u64;
                    let over = histogram.buckets().filter(|(ns, _)| *ns > limit_ns);
                    is_beyond_chance(over.map(|(_, count)| count).sum(), tally.count, 1.0 - quantile)
                }
            };
        if is_sure { Verdict::Broken } else { Verdict::CannotTell }
    }

    /// The limit, in seconds or as a share of 1.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same of the service time; `None` where it is that already, or no latency.
    #[must_use]
    pub fn of_service(&self) -> Option<Self> {
        match self.metric {
            Metric::Latency { of, service: false } => {
                Some(Self { metric: Metric::Latency { of, service: true }, ..self.clone() })
            }
            _ => None,
        }
    }

    /// A measured value as people read it: `12.3 ms`, `0.02 %`.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        match self.metric {
            _ if value.is_infinite() => "nothing ended".to_owned(),
            Metric::Errors => format!("{:.2} %", value * 100.0),
            Metric::Latency { .. } => format!("{:.3} ms", value * 1e3),
        }
    }

    /// Whether it compares times, not shares.
    #[must_use]
    pub fn is_time(&self) -> bool {
        matches!(self.metric, Metric::Latency { .. })
    }

    /// The name before `<`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.split(" <").next().unwrap_or_default()
    }
}

impl Serialize for Objective {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl Metric {
    fn parse(name: &str) -> Option<Self> {
        let (service, name) = match name.split_once(' ') {
            Some(("service", name)) => (true, name.trim()),
            Some(("response", name)) => (false, name.trim()),
            Some(_) => return None,
            None => (false, name),
        };
        let of = match name {
            "errors" if !service => return Some(Self::Errors),
            "mean" => Latency::Mean,
            "max" => Latency::Max,
            "median" => Latency::Quantile(0.5),
            quantile => {
                let percent: f64 = quantile.strip_prefix('p')?.parse().ok()?;
                Latency::Quantile(Some(percent / 100.0).filter(|share| *share > 0.0 && *share < 1.0)?)
            }
        };
        Some(Self::Latency { of, service })
    }
}

impl Latency {
    fn read(self, histogram: &Histogram) -> f64 {
        match self {
            Self::Mean => histogram.mean_ns(),
            Self::Max => histogram.max_ns() as f64,
            Self::Quantile(quantile) => histogram.quantile_ns(quantile) as f64,
        }
    }
}

/// Whether `some` of `all` are more than chance makes of a share: Chernoff's bound of the binomial
/// distribution's tail, `exp(-n KL(k/n || p))`.
fn is_beyond_chance(some: u64, all: u64, share: f64) -> bool {
    let (count, seen) = (all as f64, some as f64 / all.max(1) as f64);
    if seen <= share {
        return false;
    }
    let term = |seen: f64, share: f64| if seen > 0.0 { seen * (seen / share).ln() } else { 0.0 };
    (-count * (term(seen, share) + term(1.0 - seen, 1.0 - share))).exp() < CHANCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::sample::Tally;

    fn outcome() -> StreamOutcome {
        let mut transactions = Tally { count: 1000, errors: 10, ..Tally::new("transactions") };
        let mut response = Histogram::new();
        for number in 1..=1000 {
            transactions.service.record_ns(number * 1_000);
            response.record_ns(number * 1_000_000);
        }
        transactions.response = Some(response);
        StreamOutcome { transactions, ..StreamOutcome::default() }
    }

    #[test]
    fn objectives_are_read_and_measured() {
        for (text, expected) in [
            ("p99 < 20ms", 0.990),
            ("p50<1s", 0.5),
            ("p99.9 <= 20 ms", 0.999),
            ("mean < 20ms", 0.5005),
            ("max < 20ms", 1.0),
            ("response p95 < 20ms", 0.95),
            ("service p99 < 20ms", 0.000_99),
            ("errors < 0.1%", 10.0 / 1010.0),
        ] {
            let read = Objectives::parse(text).expect(text);
            let value = read.0[0].measure(&outcome());
            assert!((value / expected - 1.0).abs() < 0.002, "{text}: {value}");
        }
        let both = Objectives::parse("p99 < 20ms, errors<0.1%").expect("two");
        assert_eq!(both.to_string(), "p99 < 20ms, errors < 0.1%");
        assert_eq!(both.iter().map(Objective::limit).collect::<Vec<_>>(), [0.02, 0.001]);
        assert!(both.iter().all(|each| each.measure(&StreamOutcome::default()).is_infinite()));
    }

    #[test]
    fn what_is_no_objective_is_refused() {
        for (text, word) in [
            ("p99", "no <"),
            ("p99 < 20", "`20` has no unit"),
            ("p99 < 0ms", "below 0"),
            ("p100 < 1ms", "unknown"),
            ("speed < 1ms", "unknown"),
            ("errors < 5ms", "0.1%"),
            ("errors < 0.001", "`0.001` has no unit"),
            ("service errors < 1%", "unknown"),
            ("p99 < 1ms, ", "no <"),
        ] {
            let message = Objectives::parse(text).expect_err(text).to_string();
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    #[test]
    fn rare_quantiles_need_more_transactions() {
        let needed = |text: &str| Objectives::parse(text).expect(text).transactions_needed().round();
        assert_eq!(needed("p95 < 1ms"), 400.0);
        assert_eq!(needed("p99.9 < 1ms, mean < 1ms"), 20_000.0);
        assert_eq!(needed("p99 < 1ms, errors < 0.1%"), 3000.0);
    }

    /// So many transactions that ended well in 5 ms, so many in 50 ms, and so many that failed.
    fn mixed(fast: u64, slow: u64, errors: u64) -> StreamOutcome {
        let mut transactions = Tally { count: fast + slow, errors, ..Tally::new("transactions") };
        (0..fast).for_each(|_| transactions.service.record_ns(5_000_000));
        (0..slow).for_each(|_| transactions.service.record_ns(50_000_000));
        StreamOutcome { transactions, ..StreamOutcome::default() }
    }

    #[test]
    fn too_few_transactions_say_nothing_unless_chance_does_not_explain_them() {
        use Verdict::{Broken, CannotTell, Kept};
        for (text, (fast, slow, errors), verdict) in [
            // the tail of three is the slowest of three
            ("p99 < 20ms", (2, 1, 0), CannotTell),
            ("p99 < 20ms", (3, 0, 0), CannotTell),
            ("p99 < 20ms", (1990, 5, 0), CannotTell),
            ("p99 < 20ms", (1990, 10, 0), Kept),
            ("p99 < 20ms", (1970, 30, 0), Broken),
            // half of twenty are over: no matter how few
            ("p99 < 20ms", (10, 10, 0), Broken),
            ("p99 < 20ms", (0, 0, 0), CannotTell),
            ("p99 < 20ms", (0, 0, 5), Broken),
            ("errors < 0.1%", (2999, 0, 0), CannotTell),
            ("errors < 0.1%", (3000, 0, 0), Kept),
            ("errors < 0.1%", (100, 0, 1), CannotTell),
            ("errors < 0.1%", (100, 0, 10), Broken),
            ("mean < 20ms", (50, 100, 0), Broken),
            ("mean < 20ms", (100, 50, 0), CannotTell),
            ("mean < 20ms", (190, 10, 0), Kept),
            ("max < 20ms", (10, 1, 0), Broken),
            ("max < 20ms", (10, 0, 0), CannotTell),
            ("p99 < 20ms, errors < 0.1%", (1990, 10, 0), CannotTell),
            ("p99 < 20ms, errors < 0.1%", (1500, 500, 0), Broken),
        ] {
            let objectives = Objectives::parse(text).expect(text);
            assert_eq!(
                objectives.judge(&mixed(fast, slow, errors)),
                verdict,
                "{text}: {fast} {slow} {errors}"
            );
        }
    }

    /// scipy 1.17.1: `binom.sf(k - 1, n, p)` is 0.00014 for 5 of 50, 0.0016 for 4, 0.014 for 3; what is
    /// called beyond chance must be below 0.001.
    #[test]
    fn what_is_beyond_chance_lies_in_the_binomial_tail() {
        assert!(is_beyond_chance(5, 50, 0.01) && is_beyond_chance(8, 50, 0.01));
        assert!(!is_beyond_chance(4, 50, 0.01) && !is_beyond_chance(3, 50, 0.01));
        assert!(!is_beyond_chance(0, 50, 0.01) && is_beyond_chance(50, 50, 0.01));
    }
}
