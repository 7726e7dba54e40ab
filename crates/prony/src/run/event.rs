//! What a run tells. Store, progress bar and log are readers of this stream.

use super::{
    Began, Cause, Doubt, Following, NoCrash, NoProfile, Origin, Probed, Sought, StatementPlan, TrialFailure,
};
use crate::{
    dataset, doctor,
    fairness::Condition,
    network::Surroundings,
    plan::{CrashKind, Plan, Trial},
    provision::{self, ServerDescription, Step},
    telemetry::{LoadHostNow, Profile, Reading},
};
use load::{Outcome, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One thing that happened, in the order of happening.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run begins.
    RunStarted {
        /// What will be done.
        plan: Box<Plan>,
        /// What it runs on.
        machine: Box<crate::telemetry::Machine>,
    },
    /// A server is being fetched, initialised or started.
    ServerStarting {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What is being done.
        step: Step,
    },
    /// A server answers.
    ServerReady {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What it really is.
        description: Box<ServerDescription>,
    },
    /// What is around a server, as far as it is known: when a network is put before it, and at the end.
    Surroundings {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What.
        surroundings: Box<Surroundings>,
    },
    /// Something that does not stop the run but may disturb it.
    Remark {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What.
        what: Remark,
    },
    /// Data is being loaded into a server.
    DataLoading(DataProgress),
    /// The data set is complete and verified.
    DataReady {
        /// Index in [`Plan::servers`].
        server: usize,
        /// Index in [`Plan::data_sets`].
        data: usize,
        /// How long loading took.
        took: Duration,
        /// Whether it was loaded now or by an earlier run.
        #[serde(default)]
        origin: Origin,
        /// How large the server says that it is, where it says so.
        #[serde(default)]
        size: Option<dataset::Size>,
    },
    /// A server is in the state in which a trial is to begin.
    TrialPrepared {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// How the trial finds it.
        began: Box<Began>,
    },
    /// Conditions under which the servers run are not the same, and the study does not ask for it.
    Unfair {
        /// Each such condition, on every server of the plan.
        conditions: Vec<Condition>,
    },
    /// The plan did not hold this trial: it is told before it begins.
    TrialAdded {
        /// The trial.
        trial: Trial,
        /// Why it is needed.
        because: Because,
    },
    /// A trial begins.
    TrialStarted {
        /// [`crate::plan::Trial::number`].
        trial: u32,
    },
    /// Before a trial whose rate is searched, one load of the search begins.
    TrialSearching {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// Starts in a second; `None`: the closed loop that the search begins from.
        rate: Option<f64>,
        /// How long the search will last from here, probably; zero: not known yet.
        left: Duration,
    },
    /// One load of that search is over.
    TrialProbed {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// What came of it.
        load: Box<Probed>,
    },
    /// One second of one stream of the running trial.
    TrialSample {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// The second.
        sample: Box<Sample>,
    },
    /// What the load hosts of the running trial do just now, once a second. Readings keep what is kept of it.
    LoadHosts {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// Each of them.
        hosts: Vec<LoadHostNow>,
    },
    /// What machine and server did in one second of the running trial.
    TrialReading {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// The reading.
        reading: Box<Reading>,
    },
    /// A trial ended, well or not: both are data.
    TrialFinished {
        /// [`crate::plan::Trial::number`].
        trial: u32,
        /// What came of it.
        outcome: Box<TrialOutcome>,
    },
    /// A server was stopped and what was made for it removed.
    ServerStopped {
        /// Index in [`Plan::servers`].
        server: usize,
        /// Counters at the end: `SHOW GLOBAL STATUS`.
        status_after: std::collections::BTreeMap<String, String>,
    },
    /// Something worth keeping that is about no single trial.
    Noted(Note),
    /// The run is over.
    RunFinished {
        /// False when it was interrupted or given up.
        complete: bool,
    },
}

/// Something that does not stop a run but may disturb it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// About a server as it is.
    Server(provision::Remark),
    /// Other runs do not know any more that the server is in use.
    PlaceLost {
        /// Why.
        cause: String,
    },
    /// The server did not settle in time.
    NotSettled {
        /// How long it was waited for, s.
        seconds: u64,
        /// Pages that are still to be written.
        dirty_pages: u64,
        /// Transactions whose old versions of rows are still to be purged.
        transactions: u64,
    },
}

/// What a server made of the files of its data in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileNote {
    /// It warned of a statement that it took.
    Warned(dataset::Warning),
    /// It made something else of a line than another server, or than the file says.
    Differs {
        /// What.
        difference: dataset::Difference,
        /// The other server; `None`: the file.
        other: Option<String>,
    },
}

/// Why a trial was added to the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// An interval is not narrow enough yet.
    Precision,
    /// The one that it repeats ([`Trial::again_of`]) failed or is invalid.
    Invalid,
}

/// Something worth keeping that is about no single trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// Something of the machine distorts results.
    Machine(#[serde(deserialize_with = "doctor::Reading::from_store")] doctor::Reading),
    /// Why a treatment was not repeated more often.
    Stopped(Stop),
    /// How a server executes the statements of the loads on a data set.
    Explained {
        /// Index in [`Plan::servers`].
        server: usize,
        /// Index in [`Plan::data_sets`].
        data: usize,
        /// Of each statement that has a plan.
        plans: Vec<StatementPlan>,
    },
    /// What a server made of the files of its data in its own way.
    Files {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What.
        what: FileNote,
    },
    /// Where the server of a treatment spent its processor time, under a load beside the trials.
    Profiled {
        /// Index in [`Plan::treatments`].
        treatment: usize,
        /// What was met.
        profile: Profile,
    },
    /// A server died while no trial ran on it, and is started again.
    Died {
        /// Index in [`Plan::servers`].
        server: usize,
        /// How.
        #[serde(deserialize_with = "Cause::from_store")]
        reason: Cause,
    },
    /// A server was killed under writers, and what it had acknowledged was looked for.
    Crashed {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What was found.
        crash: crate::audit::Crash,
    },
    /// Why a server was not killed (again).
    NotCrashed {
        /// Index in [`Plan::servers`].
        server: usize,
        /// What should have happened to it.
        #[serde(default)]
        kind: CrashKind,
        /// Why.
        #[serde(deserialize_with = "NoCrash::from_store")]
        reason: NoCrash,
    },
    /// Why there is no profile of a server although one was asked for.
    NotProfiled {
        /// Index in [`Plan::servers`].
        server: usize,
        /// Why.
        #[serde(deserialize_with = "NoProfile::from_store")]
        reason: NoProfile,
    },
}

/// Why a treatment was not repeated more often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Index in [`Plan::treatments`].
    pub treatment: usize,
    /// Why.
    pub why: Why,
    /// Half of the interval's width as a share of the value, of its widest stream; `None`: unknown.
    pub half_width: Option<f64>,
    /// Trials that count.
    pub repeats: u32,
}

/// Reasons to stop repeating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It was to be repeated so often.
    Asked,
    /// The interval is narrow enough.
    Precise,
    /// The time is used up.
    Budget,
    /// It was repeated as often as it may be.
    RepeatsMax,
}

/// How far loading is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataProgress {
    /// Index in [`Plan::servers`].
    pub server: usize,
    /// Rows that are in.
    pub rows: u64,
    /// Rows that there will be.
    pub rows_total: u64,
    /// Since loading began.
    pub elapsed: Duration,
}

/// What came of a trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// It ran.
    Measured {
        /// The engine's result.
        outcome: Box<Outcome>,
        /// Reasons to doubt it; empty: none.
        doubts: Vec<Doubt>,
        /// How members followed, where several servers work together.
        #[serde(default)]
        following: Option<Box<Following>>,
        /// How the rate that it ran at was found, where it was searched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sought: Option<Box<Sought>>,
    },
    /// It could not be run or broke off.
    Failed(#[serde(deserialize_with = "TrialFailure::from_store")] TrialFailure),
}

impl TrialOutcome {
    /// How the rate that it ran at was found, where it was searched.
    #[must_use]
    pub fn sought(&self) -> Option<&Sought> {
        match self {
            Self::Measured { sought, .. } => sought.as_deref(),
            Self::Failed(_) => None,
        }
    }
}
