//! Doubts in four words at most, for a line of progress; the whole of it is in the report.

use super::doubt::{Doubt, Level, What, verdict};

/// The level of a trial with these doubts and the first reason for it: `doubtful: other programs busy`.
/// `None`: nothing speaks against it.
#[must_use]
pub fn brief(doubts: &[Doubt]) -> Option<String> {
    let level = verdict(doubts);
    let word = match level {
        Level::Fine => return None,
        Level::Suspicious => "doubtful",
        Level::Invalid => "invalid",
    };
    let mut reasons = doubts.iter().filter(|doubt| doubt.level == level).map(|doubt| words(&doubt.what));
    let reason = reasons.next().unwrap_or_default();
    Some(match reasons.count() {
        0 => format!("{word}: {reason}"),
        more => format!("{word}: {reason}, {more} more"),
    })
}

fn words(what: &What) -> &'static str {
    match what {
        What::NothingFinished => "no transaction ended",
        What::Errors { .. } => "transactions failed",
        What::Outage { .. } => "server was away",
        What::RowsMissing { .. } => "rows are missing",
        What::NothingChanged { .. } => "updates changed nothing",
        What::Starved { .. } => "some connections starved",
        What::Unfair { .. } => "connections served unequally",
        What::Overdue { .. } => "a transaction hung",
        What::LittlesLaw { .. } => "time unaccounted for",
        What::Overloaded { .. } => "overloaded",
        What::WaitedForConnection { .. } => "too few connections",
        What::LimitMissed => "limit not reached",
        What::Drift { .. } => "throughput drifted",
        What::NotSettled { .. } => "writing back went on",
        What::SettingMoved { .. } => "a setting was changed",
        What::NotWarm { .. } => "never warm",
        What::WorkerBusy { .. } => "Prony at its limit",
        What::Queueing { .. } => "replies waited in Prony",
        What::SendDelay { .. } => "Prony sent late",
        What::Clock { .. } => "slow clock",
        What::Steal { .. } => "neighbours took processors",
        What::Telemetry { .. } => "sampling took too much",
        What::Network { .. } => "relay fell behind",
        What::FellBack { .. } => "replication became asynchronous",
        What::MemberLost { .. } => "a member was lost",
        What::NotDrained { .. } => "a member lagged behind",
        What::OtherLoad { .. } => "other programs busy",
        What::NothingBreaks { .. } => "highest rate unknown",
        What::RateUnsteady { .. } => "no rate confirmed",
        What::RateOfState { .. } => "rate depends on state",
        What::RateOfNeighbours { .. } => "neighbours limited the rate",
        What::RateOfClient => "Prony limited the rate",
        What::RateOfConnections => "connections limited the rate",
        What::ObjectiveBroken { .. } => "objective not kept",
        What::Told(_) => "see the report",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_is_told_in_four_words() {
        assert_eq!(brief(&[]), None);
        let other = Doubt::new(Level::Suspicious, What::OtherLoad { processors: 1.0 });
        let steal = Doubt::new(Level::Suspicious, What::Steal { processors: 1.0 });
        let nothing = Doubt::new(Level::Invalid, What::NothingFinished);
        assert_eq!(brief(std::slice::from_ref(&other)).as_deref(), Some("doubtful: other programs busy"));
        assert_eq!(
            brief(&[other.clone(), steal.clone()]).as_deref(),
            Some("doubtful: other programs busy, 1 more")
        );
        assert_eq!(brief(&[other, nothing, steal]).as_deref(), Some("invalid: no transaction ended"));
    }
}
