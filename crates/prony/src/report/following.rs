//! How replicas and nodes kept up with their primary, for the document.

use super::{
    build::milliseconds,
    document::{Following, Member, SemiSync, latencies},
};
use crate::{analyse, run};

/// The record in the form that a report shows.
pub(super) fn of(following: &run::Following) -> Following {
    Following {
        members: following.members.iter().map(member).collect(),
        all: member(&analyse::as_one(following)),
        semi_sync: following.semi_sync.map(|waits| SemiSync {
            acknowledged: waits.acknowledged,
            unacknowledged: waits.unacknowledged,
            given_up: waits.given_up,
            wait_mean_ms: waits.wait_mean_us.map(|us| us as f64 / 1e3),
        }),
        paused_share: following.paused,
    }
}

fn member(member: &run::Member) -> Member {
    Member {
        lag_ms: latencies(&member.lag),
        lag_max_ms: milliseconds(member.lag.max_ns()),
        drain_s: member.drain.map(|drain| drain.as_secs_f64()),
    }
}
