//! From counters to rates. A counter that is missing, has gone back (it wrapped around, or belongs to a
//! process that was restarted) or was not there before gives no rate: never a negative one, never an invented
//! one.

use std::{collections::BTreeMap, time::Instant};

/// What a source told at one instant.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// When.
    pub(super) at: Instant,
    /// Numbers the life of what counts: after a restart all counters begin again, also those that are already
    /// higher.
    pub(super) life: u64,
    /// Counters that only grow, by path.
    pub(super) counters: Vec<(String, f64)>,
    /// Values that go up and down, by path.
    pub(super) levels: Vec<(String, f64)>,
}

impl Counts {
    pub(super) fn new(life: u64) -> Self {
        Self { at: Instant::now(), life, counters: Vec::new(), levels: Vec::new() }
    }

    pub(super) fn count(&mut self, path: impl Into<String>, value: f64) {
        self.counters.push((path.into(), value));
    }

    pub(super) fn level(&mut self, path: impl Into<String>, value: f64) {
        self.levels.push((path.into(), value));
    }
}

/// Something that counts.
pub(super) trait Source: Send {
    /// What it says now; `None`: nothing.
    fn read(&mut self) -> Option<Counts>;
}

/// What a source said last.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: Option<(Instant, u64, BTreeMap<String, f64>)>,
}

impl Rates {
    /// Puts the rates since the last call, per second, and the levels into `values`.
    pub(super) fn advance(&mut self, counts: Counts, values: &mut BTreeMap<String, f64>) {
        values.extend(counts.levels);
        let counters: BTreeMap<String, f64> = counts.counters.into_iter().collect();
        if let Some((at, life, before)) = &self.last
            && *life == counts.life
        {
            let seconds = counts.at.saturating_duration_since(*at).as_secs_f64();
            let rate = |name: &String, now: f64| {
                let before = *before.get(name)?;
                (now >= before && seconds > 0.0).then(|| (now - before) / seconds)
            };
            for (name, &now) in &counters {
                if let Some(rate) = rate(name, now) {
                    values.insert(name.clone(), rate);
                }
            }
        }
        self.last = Some((counts.at, counts.life, counters));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn counts(begin: Instant, second: f64, life: u64, value: f64) -> Counts {
        Counts {
            at: begin + Duration::from_secs_f64(second),
            life,
            counters: vec![("reads".to_owned(), value)],
            levels: vec![("threads".to_owned(), 3.0)],
        }
    }

    #[test]
    fn rates_are_per_second_and_neither_wrap_around_nor_restart_gives_one() {
        let (begin, mut rates) = (Instant::now(), Rates::default());
        let mut take = |second, life, value| {
            let mut values = BTreeMap::new();
            rates.advance(counts(begin, second, life, value), &mut values);
            assert_eq!(values["threads"], 3.0);
            values.get("reads").copied()
        };
        assert_eq!(take(0.0, 1, 100.0), None);
        assert_eq!(take(2.0, 1, 300.0), Some(100.0));
        assert_eq!(take(3.0, 1, 7.0), None, "it wrapped around");
        assert_eq!(take(4.0, 1, 8.0), Some(1.0));
        assert_eq!(take(5.0, 2, 5000.0), None, "another life, though it counts higher");
        assert_eq!(take(5.0, 2, 5001.0), None, "no time has passed");
    }
}
