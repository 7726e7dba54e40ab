//! How members follow their primary in a trial: how far they are behind, how long they take after the load,
//! and whether commits really waited for them where they should.
//!
//! A server that stops waiting for its replicas says so in a counter and nowhere else: without a check, that
//! trial would look like a fast one.

mod heartbeat;

use super::{Cause, Doubt, Level, TrialFailure, doubt::What};
use crate::provision::{Group, Health, Watch};
use heartbeat::Heartbeat;
use load::{Histogram, Outcome, Stop, client};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long members may take to be equal before a trial, and to have all of its load after it.
pub(super) const CATCH_UP_LIMIT: Duration = Duration::from_secs(600);
/// Share of commits that went on without a replica above which the trial says little about waiting for one.
const UNACKNOWLEDGED: f64 = 0.01;

/// How members followed their primary in the measurement interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Following {
    /// In the order of the group: the first replica or second node first.
    pub members: Vec<Member>,
    /// How long the heartbeats' own commits took at the primary.
    pub commit: Histogram,
    /// Commits of the trial that waited for replicas, where they are to.
    pub semi_sync: Option<Waits>,
    /// Share of the time for which a cluster held writes back because a node could not follow, 0 to 1.
    pub paused: Option<f64>,
}

/// How one member followed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// From when a row was to be written at the primary until it was seen at the member; one for each tenth
    /// of a second.
    pub lag: Histogram,
    /// The longest of each second of the load, warm-up included, ms; `None`: no row of that second was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lag_by_second_ms: Vec<Option<f64>>,
    /// From the end of the load until it had all of it; `None`: it never had within ten minutes.
    pub drain: Option<Duration>,
}

/// Commits that waited for replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Replicas acknowledged them.
    pub acknowledged: u64,
    /// They went on without.
    pub unacknowledged: u64,
    /// Times that waiting was given up.
    pub given_up: u64,
    /// Mean wait of one, us, as the primary counts it.
    pub wait_mean_us: Option<u64>,
}

/// Follows the members of a group for one trial.
pub(super) struct Follower {
    watch: Watch,
    heartbeat: Heartbeat,
    before: Health,
    began: Instant,
}

impl Follower {
    /// Waits until all are equal, then begins to write and read heartbeats; `None` for a single server.
    ///
    /// # Errors
    /// A member that does not follow, a server that does not answer.
    pub(super) fn begin(group: &Group, stop: &Stop) -> Result<Option<Self>, TrialFailure> {
        if group.members().is_empty() {
            return Ok(None);
        }
        let not_followed = |cause| TrialFailure::NotFollowed { cause };
        let refused = |error: client::Error| not_followed(Cause::from(&error));
        heartbeat::make_table(group.primary().target()).map_err(refused)?;
        group.wait_until_equal(CATCH_UP_LIMIT, stop).map_err(|error| not_followed(Cause::from(&error)))?;
        let watch = group.watch();
        let Some(before) = watch.health().map_err(refused)? else { return Ok(None) };
        let targets: Vec<_> = group.servers().map(|server| server.target().clone()).collect();
        let heartbeat = Heartbeat::begin(&targets).map_err(refused)?;
        Ok(Some(Self { watch, heartbeat, before, began: Instant::now() }))
    }

    /// The load began now.
    pub(super) fn load_began(&mut self) {
        self.began = Instant::now();
    }

    /// The load has ended, after a warm-up of this length: waits until members have all of it, and says how
    /// they followed.
    pub(super) fn end(self, warm_up: Duration, outcome: &Outcome, stop: &Stop) -> (Following, Vec<Doubt>) {
        let after = self.watch.health().ok().flatten().unwrap_or_default();
        let measured = (self.began + warm_up, self.began + warm_up + outcome.interval);
        let (commit, members) = self.heartbeat.end(self.began, measured, CATCH_UP_LIMIT, stop);
        let semi_sync = self.before.semi_sync.zip(after.semi_sync).map(|(before, after)| {
            let waits = after.waits.saturating_sub(before.waits);
            Waits {
                acknowledged: after.acknowledged.saturating_sub(before.acknowledged),
                unacknowledged: after.unacknowledged.saturating_sub(before.unacknowledged),
                given_up: after.given_up.saturating_sub(before.given_up),
                wait_mean_us: after.wait_us.saturating_sub(before.wait_us).checked_div(waits),
            }
        });
        let paused = self.before.cluster.zip(after.cluster).map(|(before, after)| {
            let paused = Duration::from_nanos(after.paused_ns.saturating_sub(before.paused_ns));
            paused.as_secs_f64() / (warm_up + outcome.interval).as_secs_f64()
        });
        let following = Following { members, commit, semi_sync, paused };
        let doubts = doubts(&following, &after);
        (following, doubts)
    }
}

/// What speaks against a trial in how members followed.
fn doubts(following: &Following, after: &Health) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(waits) = following.semi_sync {
        let is_off = after.semi_sync.is_some_and(|now| !now.is_on);
        let all = waits.acknowledged + waits.unacknowledged;
        let share = waits.unacknowledged as f64 / all.max(1) as f64;
        if waits.unacknowledged > 0 || is_off {
            let level = if is_off || share > UNACKNOWLEDGED { Level::Invalid } else { Level::Suspicious };
            let Waits { unacknowledged, given_up, .. } = waits;
            let what = What::FellBack { unacknowledged, commits: all, given_up, at_end: is_off };
            doubts.push(Doubt::new(level, what));
        }
    }
    for fault in &after.faults {
        let what = What::MemberLost { server: fault.server, reason: fault.reason.clone() };
        doubts.push(Doubt::new(Level::Invalid, what));
    }
    for (server, _) in (1..).zip(&following.members).filter(|(_, member)| member.drain.is_none()) {
        let what = What::NotDrained { server, seconds: CATCH_UP_LIMIT.as_secs() };
        doubts.push(Doubt::new(Level::Suspicious, what));
    }
    doubts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::provision::{Fault, SemiSync};

    fn found(waits: Waits, is_on: bool, faults: Vec<Fault>) -> Vec<(Level, &'static str)> {
        let member = Member { drain: Some(Duration::ZERO), ..Member::default() };
        let following = Following {
            members: vec![member],
            commit: Histogram::new(),
            semi_sync: Some(waits),
            paused: None,
        };
        let after =
            Health { semi_sync: Some(SemiSync { is_on, ..SemiSync::default() }), cluster: None, faults };
        doubts(&following, &after).into_iter().map(|doubt| (doubt.level, doubt.id())).collect()
    }

    /// A replica that stands still and is waited for in vain.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        let semi_sync = Some(Waits { acknowledged: 9, unacknowledged: 1, ..Waits::default() });
        let (members, commit) = (vec![Member::default()], Histogram::new());
        let following = Following { members, commit, semi_sync, paused: None };
        let faults = vec![Fault { server: 1, reason: "Duplicate entry".to_owned() }];
        doubts(&following, &Health { semi_sync: None, cluster: None, faults })
    }

    #[test]
    fn a_fall_back_to_asynchronous_replication_never_goes_unsaid() {
        let waits = |acknowledged, unacknowledged| Waits { acknowledged, unacknowledged, ..Waits::default() };
        assert_eq!(found(waits(1000, 0), true, Vec::new()), []);
        assert_eq!(found(waits(1000, 1), true, Vec::new()), [(Level::Suspicious, "fell_back")]);
        assert_eq!(found(waits(1000, 100), true, Vec::new()), [(Level::Invalid, "fell_back")]);
        // a reader alone: nothing was committed, and yet replicas are gone
        assert_eq!(found(waits(0, 0), false, Vec::new()), [(Level::Invalid, "fell_back")]);
        let fault = Fault { server: 1, reason: "Duplicate entry '1' for key 'PRIMARY'".to_owned() };
        assert_eq!(found(waits(9, 0), true, vec![fault]), [(Level::Invalid, "member_lost")]);
    }
}
