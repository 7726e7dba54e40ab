//! A reason to doubt a trial: what was found, in figures, and how bad it is. Values only: a report puts them
//! into words, with what to do. [`super::check`] and others find them.

use load::sample::Tally;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far a trial's figures can be trusted.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing speaks against them.
    #[default]
    Fine,
    /// They may be off; read them with the doubt beside them.
    Suspicious,
    /// They do not say what they seem to say.
    Invalid,
}

impl Level {
    /// As it is written in results: `fine`, `suspicious`, `invalid`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Suspicious => "suspicious",
            Self::Invalid => "invalid",
        }
    }
}

/// One reason not to trust a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Doubt {
    /// How bad it is.
    pub level: Level,
    /// The stream that it is about; `None`: the trial as a whole.
    pub stream: Option<String>,
    /// What was found.
    pub what: What,
}

/// What a stream did in the seconds of a trial that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// Transactions that ended well.
    pub transactions: u64,
    /// How long these seconds were, s.
    pub seconds: f64,
    /// Sum of the response times, ns.
    pub response_ns: f64,
}

impl Steady {
    /// Takes a second in.
    pub fn add(&mut self, transactions: &Tally, length: Duration) {
        self.transactions += transactions.count;
        self.seconds += length.as_secs_f64();
        let response = transactions.response();
        self.response_ns += response.mean_ns() * response.count() as f64;
    }
}

/// What was found, with the figures that it rests on. The name of a variant in snake_case is its stable id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// No transaction ended in the interval.
    NothingFinished,
    /// Transactions failed.
    Errors {
        /// Share of transactions that failed, 0 to 1.
        share: f64,
        /// The most frequent errors, `COUNT x MESSAGE`.
        examples: String,
    },
    /// There was a time without any success.
    Outage {
        /// Seconds without success, all outages together.
        seconds: f64,
        /// Number of outages.
        count: u64,
        /// Whether the last of them was over at the end.
        recovered: bool,
    },
    /// Nothing ended for a while although every connection had something under way, and nothing failed.
    Standstill {
        /// Seconds in which nothing ended, all such times together.
        seconds: f64,
        /// The longest of them, seconds.
        longest_s: f64,
        /// How many there were.
        count: u64,
    },
    /// Replies had no row where one belongs.
    RowsMissing {
        /// Share of replies without a row, 0 to 1; in runs of Prony 0.1 of those without a change as well.
        share: f64,
    },
    /// Statements that belong to change rows changed none.
    NothingChanged {
        /// Share of those statements, 0 to 1.
        share: f64,
    },
    /// Connections finished nothing although others did.
    Starved {
        /// Connections that finished nothing.
        connections: u64,
        /// All that work.
        of: u64,
    },
    /// Connections differ more than chance explains.
    Unfair {
        /// Standard deviation of the transactions of a connection, as a share of their mean.
        variation: f64,
        /// The same if only chance were at work.
        by_chance: f64,
        /// Fewest transactions of a connection.
        min: u64,
        /// In the middle.
        median: u64,
        /// Most.
        max: u64,
    },
    /// A transaction was under way at the end for longer than any that ended took.
    Overdue {
        /// Age of the oldest, seconds.
        age_s: f64,
        /// The longest that ended, seconds.
        longest_s: f64,
    },
    /// The connections' time is not accounted for by Little's law.
    LittlesLaw {
        /// Share of the connections' time that is missing (below 0) or too much, 0.1: 10 %.
        gap: f64,
        /// Its standard error.
        error: f64,
        /// Connections that throughput and time give.
        in_flight: f64,
        /// Connections that there are.
        connections: u64,
    },
    /// More was offered than the server, or its connections, could take.
    Overloaded {
        /// Starts that were due in a second.
        offered_per_second: f64,
        /// Starts that happened in a second.
        started_per_second: f64,
        /// Starts that were due and had not happened when the interval ended.
        backlog: u64,
        /// Starts given up because they were too late.
        skipped: u64,
    },
    /// Starts waited until a connection, or the one that they belong to, was free.
    WaitedForConnection {
        /// Share of starts that were late, 0 to 1.
        share: f64,
        /// Median wait, ms.
        delay_p50_ms: f64,
    },
    /// The interval was over before the stream's limit was reached.
    LimitMissed,
    /// Throughput, or the response time of what follows a schedule, still changed in the interval.
    Drift {
        /// From beginning to end, as a share of the mean: -0.2 is a fall by 20 %.
        change: f64,
        /// Seconds at the beginning of the interval that are left out of estimates, since the rest is
        /// steady; 0: none, for it never was.
        left_out_s: u32,
        /// What was done in the rest; `None`: nothing is left out, or an older Prony did not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steady: Option<Steady>,
    },
    /// The server had not done what trials before left it to do.
    NotSettled {
        /// How long it was waited for.
        seconds: u64,
        /// Pages that were still to be written.
        dirty_pages: u64,
        /// Transactions whose old versions of rows were still to be purged.
        transactions: u64,
    },
    /// A setting of the server had another value than when its trials began.
    SettingMoved {
        /// The variable.
        variable: String,
        /// Its value when they began.
        before: String,
        /// Its value before this trial, or when it had ended.
        after: String,
    },
    /// The data broke a condition that they always keep when the trial began.
    InconsistentBefore {
        /// Its name.
        condition: String,
        /// How often.
        violations: u64,
    },
    /// They broke it when it had ended.
    Inconsistent {
        /// Its name.
        condition: String,
        /// How often.
        violations: u64,
    },
    /// Whether they still kept their conditions could not be found out.
    NotChecked {
        /// Why, in the server's words.
        cause: String,
    },
    /// The longest warm-up was over before it was steady.
    NotWarm {
        /// How long that was, s.
        seconds: f64,
    },
    /// A thread of the engine used nearly all of a processor.
    WorkerBusy {
        /// Share of a processor, 0 to 1.
        busy: f64,
    },
    /// Replies waited in the engine, so that latency is partly the engine's own.
    Queueing {
        /// Share of the mean latency, 0 to 1.
        share: f64,
        /// Mean wait, ms.
        mean_ms: f64,
        /// 99th percentile of the wait, ms.
        p99_ms: f64,
    },
    /// The engine sent later than it wanted, so that response time is partly the engine's own.
    SendDelay {
        /// Share of the mean response time, 0 to 1.
        share: f64,
        /// Mean delay, ms.
        mean_ms: f64,
        /// 99th percentile of the delay, ms.
        p99_ms: f64,
    },
    /// Load hosts are near their limit: what is otherwise said of Prony's own process is said of them here.
    LoadHostBusy {
        /// How many are.
        affected: u64,
        /// Of how many.
        hosts: u64,
        /// The one that is nearest to it.
        host: String,
        /// Share of a processor that its busiest thread used, 0 to 1.
        busy: f64,
        /// How long replies waited in it on average, ms.
        queueing_ms: f64,
        /// How late it sent on average, ms.
        send_delay_ms: f64,
    },
    /// A load host began later than the others.
    LoadHostLate {
        /// Which.
        host: String,
        /// By how much, ms.
        late_ms: f64,
    },
    /// A load host was held back at its limit of CPU time.
    LoadHostThrottled {
        /// Which.
        host: String,
        /// Share of the measurement interval, 0 to 1; more where several threads were.
        share: f64,
    },
    /// The processors of load hosts are busy: replies may wait there for one.
    LoadHostProcessors {
        /// Of how many.
        affected: u64,
        /// How many there are.
        hosts: u64,
        /// The busiest.
        host: String,
        /// Share of its processors, 0 to 1.
        share: f64,
    },
    /// Something else used the processors of a load host.
    LoadHostDisturbed {
        /// Which.
        host: String,
        /// Processors that other programs kept busy, on average.
        processors: f64,
        /// Processors that its hypervisor took away, on average.
        steal: f64,
    },
    /// A load host had to send too much again: its network loses packets.
    LoadHostRetransmits {
        /// Which.
        host: String,
        /// Share of its TCP segments, 0 to 1.
        share: f64,
    },
    /// Reading the clock takes so long that it shows in the latency.
    Clock {
        /// One reading, us.
        cost_us: f64,
        /// Median service time, us.
        service_us: f64,
    },
    /// A hypervisor took processors away.
    Steal {
        /// Processors, on average.
        processors: f64,
    },
    /// Sampling machine and servers took more of a processor than it should.
    Telemetry {
        /// Processors, on average.
        processors: f64,
    },
    /// The network that Prony puts before the server could not keep up.
    Network {
        /// Share of a processor that its busiest thread used, 0 to 1.
        busy: f64,
        /// How much later than due it handed on, mean, us.
        late_mean_us: f64,
        /// The same, 99th percentile, us.
        late_p99_us: f64,
    },
    /// Commits went on without the replicas that they were to wait for.
    FellBack {
        /// Commits that no replica had acknowledged.
        unacknowledged: u64,
        /// All commits.
        commits: u64,
        /// Times that waiting was given up.
        given_up: u64,
        /// Whether replication was asynchronous when the load ended.
        at_end: bool,
    },
    /// A replica, or another node, did not do its work.
    MemberLost {
        /// Which; 1 is the first.
        server: u32,
        /// Why, in its own words.
        reason: String,
    },
    /// A replica, or another node, did not have all of the load when it was waited for no longer.
    NotDrained {
        /// Which; 1 is the first.
        server: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Other programs kept processors busy.
    OtherLoad {
        /// Processors, on average.
        processors: f64,
    },
    /// The highest rate that the connections can offer keeps the objective still.
    NothingBreaks {
        /// That rate, starts in a second.
        rate_per_second: f64,
    },
    /// No rate was confirmed: the same load keeps the objective at one time and breaks it at another.
    RateUnsteady {
        /// The best guess, starts in a second.
        rate_per_second: f64,
    },
    /// Where the objective broke, the client was at its limit.
    RateOfClient,
    /// What broke the objective was the wait for a free connection.
    RateOfConnections,
    /// After a gentle load the server bears a clearly higher rate than after an overload.
    RateOfState {
        /// The rate that it bore then, starts in a second.
        rate_per_second: f64,
    },
    /// Where the objective broke, a hypervisor took processors away.
    RateOfNeighbours {
        /// Processors, in the worst load.
        processors: f64,
    },
    /// At the rate that was found, the trial itself did not keep the objective.
    ObjectiveBroken {
        /// Which: `p99 < 20ms`.
        objective: String,
        /// What was measured: `21.3 ms`.
        value: String,
    },
    /// In words only: by an older version of Prony.
    Told(String),
}

impl Doubt {
    /// One about the trial as a whole.
    #[must_use]
    pub fn new(level: Level, what: What) -> Self {
        Self { level, stream: None, what }
    }

    /// One that is known in words only.
    #[must_use]
    pub fn told(text: impl Into<String>) -> Self {
        Self::new(Level::Suspicious, What::Told(text.into()))
    }

    /// Names the stream that it is about.
    #[must_use]
    pub fn of_stream(self, name: &str) -> Self {
        Self { stream: Some(name.to_owned()), ..self }
    }

    /// Whether it says that more was offered than could be done.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        matches!(self.what, What::Overloaded { .. })
    }

    /// Processors that others on the machine took, on average; 0: it is about something else.
    #[must_use]
    pub fn taken(&self) -> f64 {
        match self.what {
            What::Steal { processors } | What::OtherLoad { processors } => processors,
            _ => 0.0,
        }
    }

    /// Its stable id: `worker_busy`.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self.what {
            What::NothingFinished => "nothing_finished",
            What::Errors { .. } => "errors",
            What::Outage { .. } => "outage",
            What::Standstill { .. } => "standstill",
            What::RowsMissing { .. } => "rows_missing",
            What::NothingChanged { .. } => "nothing_changed",
            What::Starved { .. } => "starved",
            What::Unfair { .. } => "unfair",
            What::Overdue { .. } => "overdue",
            What::LittlesLaw { .. } => "littles_law",
            What::Overloaded { .. } => "overloaded",
            What::WaitedForConnection { .. } => "waited_for_connection",
            What::LimitMissed => "limit_missed",
            What::Drift { .. } => "drift",
            What::NotWarm { .. } => "not_warm",
            What::NotSettled { .. } => "not_settled",
            What::SettingMoved { .. } => "setting_moved",
            What::InconsistentBefore { .. } => "inconsistent_before",
            What::Inconsistent { .. } => "inconsistent",
            What::NotChecked { .. } => "not_checked",
            What::WorkerBusy { .. } => "worker_busy",
            What::Queueing { .. } => "queueing",
            What::SendDelay { .. } => "send_delay",
            What::LoadHostBusy { .. } => "load_host_busy",
            What::LoadHostLate { .. } => "load_host_late",
            What::LoadHostThrottled { .. } => "load_host_throttled",
            What::LoadHostProcessors { .. } => "load_host_processors",
            What::LoadHostDisturbed { .. } => "load_host_disturbed",
            What::LoadHostRetransmits { .. } => "load_host_retransmits",
            What::Clock { .. } => "clock",
            What::Steal { .. } => "steal",
            What::OtherLoad { .. } => "other_load",
            What::Telemetry { .. } => "telemetry",
            What::Network { .. } => "network",
            What::FellBack { .. } => "fell_back",
            What::MemberLost { .. } => "member_lost",
            What::NotDrained { .. } => "not_drained",
            What::NothingBreaks { .. } => "nothing_breaks",
            What::RateUnsteady { .. } => "rate_unsteady",
            What::RateOfClient => "rate_of_client",
            What::RateOfConnections => "rate_of_connections",
            What::RateOfState { .. } => "rate_of_state",
            What::RateOfNeighbours { .. } => "rate_of_neighbours",
            What::ObjectiveBroken { .. } => "objective_broken",
            What::Told(_) => "told",
        }
    }
}

/// The level of a trial with these doubts: that of the worst.
#[must_use]
pub fn verdict(doubts: &[Doubt]) -> Level {
    doubts.iter().map(|doubt| doubt.level).max().unwrap_or_default()
}

/// What a stored doubt may be: records of the first version have words only.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Words(String),
    Whole { level: Level, stream: Option<String>, what: What },
}

impl From<Stored> for Doubt {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Words(text) => Self::told(text),
            Stored::Whole { level, stream, what } => Self { level, stream, what },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_doubt_comes_back_from_the_store_and_so_do_the_words_of_the_first_version() {
        let doubt = Doubt::new(Level::Invalid, What::WorkerBusy { busy: 0.97 }).of_stream("probe");
        let text = serde_json::to_string(&doubt).expect("JSON");
        assert!(text.contains(r#""what":{"worker_busy":{"busy":0.97}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Doubt>(&text).expect("the same"), doubt);
        let old: Vec<Doubt> = serde_json::from_str(r#"["the client was busy"]"#).expect("words");
        assert_eq!(old, [Doubt::told("the client was busy")]);
    }

    /// Every id there is: `id` names each variant, or it does not compile.
    fn ids() -> BTreeSet<&'static str> {
        let (_, after) = include_str!("doubt.rs").split_once("pub fn id(&self)").expect("the function");
        let (body, _) = after.split_once("\n    }\n").expect("its end");
        body.split('"').skip(1).step_by(2).collect()
    }

    /// Made by what decides on each doubt in a run, from figures that call for it. A new doubt fails this
    /// until such figures are added where it is decided.
    #[test]
    fn every_doubt_is_produced_and_its_id_is_the_name_that_is_stored() {
        use crate::run::{check, conditions, lag, links, seek, state, steady, variables};
        let produced = [
            check::tests::produced(),
            steady::tests::produced(),
            state::tests::produced(),
            links::tests::produced(),
            lag::tests::produced(),
            seek::tests::produced(),
            variables::tests::produced(),
            conditions::tests::produced(),
            serde_json::from_str(r#"["in words only"]"#).expect("a record of the first version"),
        ];
        let produced = produced.concat();
        assert_eq!(produced.iter().map(Doubt::id).collect::<BTreeSet<_>>(), ids());
        assert!(ids().len() > 30, "{:?}", ids());
        for doubt in produced {
            let stored = serde_json::to_value(&doubt.what).expect("JSON");
            let name = stored.as_str().map(str::to_owned);
            let name = name.or_else(|| stored.as_object()?.keys().next().cloned()).expect("a name");
            assert_eq!(name, doubt.id());
            assert!(doubt.level > Level::Fine, "{doubt:?}");
        }
    }

    #[test]
    fn the_worst_doubt_is_the_verdict() {
        assert_eq!(verdict(&[]), Level::Fine);
        let doubts = [Doubt::told("a"), Doubt::new(Level::Invalid, What::NothingFinished), Doubt::told("b")];
        assert_eq!(verdict(&doubts[..1]), Level::Suspicious);
        assert_eq!(verdict(&doubts), Level::Invalid);
    }
}
