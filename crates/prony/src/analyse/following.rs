//! How members kept up with their primary, over all trials of a point.

use crate::run::{Following, Member, Waits};
use load::Histogram;
use std::time::Duration;

/// All of them together: histograms are merged; of the times to drain, the longest is kept, or none where one
/// is missing.
pub(super) fn together<'a>(of_trials: impl Iterator<Item = &'a Following>) -> Option<Following> {
    let mut sum: Option<(Following, u32, u64)> = None;
    for one in of_trials {
        let waited_us = |waits: Option<Waits>| {
            waits.map_or(0, |waits| waits.acknowledged * waits.wait_mean_us.unwrap_or(0))
        };
        let Some((all, trials, wait_us)) = &mut sum else {
            sum = Some((one.clone(), 1, waited_us(one.semi_sync)));
            continue;
        };
        *trials += 1;
        *wait_us += waited_us(one.semi_sync);
        all.commit.merge(&one.commit);
        for (member, other) in all.members.iter_mut().zip(&one.members) {
            member.lag.merge(&other.lag);
            member.drain = member.drain.zip(other.drain).map(|(one, other)| one.max(other));
        }
        all.semi_sync = all.semi_sync.zip(one.semi_sync).map(|(one, other)| Waits {
            acknowledged: one.acknowledged + other.acknowledged,
            unacknowledged: one.unacknowledged + other.unacknowledged,
            given_up: one.given_up + other.given_up,
            wait_mean_us: None,
        });
        all.paused = all.paused.zip(one.paused).map(|(sum, other)| sum + other);
    }
    sum.map(|(mut all, trials, wait_us)| {
        if let Some(waits) = &mut all.semi_sync {
            waits.wait_mean_us = wait_us.checked_div(waits.acknowledged);
        }
        all.paused = all.paused.map(|sum| sum / f64::from(trials));
        all
    })
}

/// All members as if they were one: the lags of all, and the longest time to drain.
#[must_use]
pub fn as_one(following: &Following) -> Member {
    let mut lag = Histogram::new();
    let mut drain = Some(Duration::ZERO);
    for member in &following.members {
        lag.merge(&member.lag);
        drain = drain.zip(member.drain).map(|(one, other)| one.max(other));
    }
    Member { lag, drain, ..Member::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_merged_and_the_longest_drain_counts() {
        let one = |lag_ms: u64, drain_s, acknowledged, wait_mean_us| {
            let mut lag = Histogram::new();
            lag.record_ns(lag_ms * 1_000_000);
            let member = Member { lag, drain: Some(Duration::from_secs(drain_s)), ..Member::default() };
            let wait_mean_us = Some(wait_mean_us);
            let waits = Waits { acknowledged, wait_mean_us, ..Waits::default() };
            let commit = Histogram::new();
            Following { members: vec![member], commit, semi_sync: Some(waits), paused: None }
        };
        let (first, mut second) = (one(1, 2, 100, 300), one(50, 7, 300, 700));
        let all = together([&first, &second].into_iter()).expect("two trials");
        assert_eq!(all.members[0].lag.count(), 2);
        assert_eq!(all.members[0].drain, Some(Duration::from_secs(7)));
        assert_eq!(all.semi_sync.and_then(|waits| waits.wait_mean_us), Some(600));
        second.members[0].drain = None;
        let all = together([&first, &second].into_iter()).expect("two trials");
        assert_eq!(as_one(&all).drain, None);
        assert_eq!(together(std::iter::empty()), None);
    }
}
