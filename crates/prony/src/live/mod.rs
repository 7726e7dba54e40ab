//! What a run reports while it runs, for viewers in other processes: small lines of JSON in the file that it
//! keeps locked beside the store (its lease). The run's process writes them, any number of others read them,
//! and they disappear with the run. What is kept of a run is in the store alone.

mod pace;

pub use pace::Pace;

use crate::{
    escape,
    plan::{Plan, ServerNames, Trial},
    provision::Step,
    run::{Because, Doubt, Event, Note, Origin, Remark, TrialFailure, TrialOutcome},
};
use load::{Outcome, Sample, sample::Phase};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    time::{Duration, Instant},
};

/// How often loading tells how far it is.
const LOADING_EVERY: Duration = Duration::from_secs(1);
/// Load hosts that are told each second: a run of hours would be large with all of them.
const HOSTS_MAX: usize = 8;

/// A line: what was told, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// Seconds since the process that carries the run out began with it.
    pub after: f64,
    /// What.
    #[serde(flatten)]
    pub told: Told,
}

/// What a run reports. Texts are names, or words of a server or of the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum Told {
    /// The run begins, or goes on.
    Began {
        /// Servers as people call them.
        servers: Vec<String>,
        /// Trials that it will do.
        total: u32,
        /// Time left by the plan, s.
        left: f64,
    },
    /// A server is being fetched, initialised, started or stopped.
    Server {
        /// Which.
        server: String,
        /// What is being done.
        what: Step,
    },
    /// A server answers.
    Ready {
        /// Which.
        server: String,
        /// What it is: `mariadb 10.11.6`.
        version: String,
    },
    /// Data are being loaded.
    Loading {
        /// Into which server.
        server: String,
        /// Rows that are in.
        rows: u64,
        /// Rows that there will be.
        rows_total: u64,
    },
    /// Data are complete.
    Loaded {
        /// In which server.
        server: String,
        /// How long it took, s.
        seconds: f64,
        /// Where they came from.
        origin: Origin,
    },
    /// Something that may disturb the run.
    Remark {
        /// About which server; empty: about all.
        server: String,
        /// What.
        what: Remark,
    },
    /// The plan did not hold this trial.
    Added {
        /// Its levels.
        levels: String,
        /// Why.
        because: Because,
    },
    /// A rate is searched before a trial.
    Searching {
        /// Levels of the trial.
        levels: String,
        /// Starts in a second; `None`: a closed loop first.
        rate: Option<f64>,
    },
    /// A trial begins.
    Trial {
        /// Its levels.
        levels: String,
        /// Its streams.
        streams: Vec<String>,
        /// Its place among all, from 1.
        place: u32,
        /// Trials that there will be.
        total: u32,
        /// How long it takes, s.
        takes: f64,
        /// Time left for the run, s.
        left: f64,
    },
    /// A second of a stream.
    Second(Second),
    /// What load hosts do just now: those that lag, then those whose processors are busiest.
    LoadHosts {
        /// The first of them.
        hosts: Vec<LoadHost>,
        /// How many there are.
        total: u32,
    },
    /// A trial ended.
    Finished {
        /// Its levels.
        levels: String,
        /// What came of it; `None`: it failed.
        figures: Option<Figures>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<TrialFailure>,
        /// What speaks against it.
        doubts: Vec<Doubt>,
        /// Trials that have ended.
        done: u32,
        /// Trials that there will be.
        total: u32,
        /// Time left for the run, s.
        left: f64,
    },
    /// The run is over.
    Over {
        /// False when it was interrupted or given up.
        complete: bool,
    },
}

/// What one stream did in one second of the running trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Index of the stream.
    pub stream: u16,
    /// Number of the second since the load began, from 0.
    pub second: u32,
    /// Whether it is before the measurement interval.
    pub warm_up: bool,
    /// Transactions in a second.
    pub rate: f64,
    /// Response times, ms: median, 95th and 99th percentile; `None`: no transaction ended.
    pub times: Option<[f64; 3]>,
    /// Errors.
    pub errors: u64,
}

/// What one of several load hosts does just now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadHost {
    /// Its address.
    pub host: String,
    /// Connections of its part of the load.
    pub connections: u32,
    /// CPUs that are busy on it.
    pub busy: f64,
    /// CPUs that its load process uses.
    pub own: f64,
    /// CPUs that its load process was ready to use and did not get.
    pub waiting: f64,
    /// Bytes that it receives and sends per second.
    pub bytes: f64,
    /// How long its results have been missing, s; `None`: they come in time.
    pub lag: Option<f64>,
}

impl From<&Sample> for Second {
    fn from(sample: &Sample) -> Self {
        let tally = &sample.transactions;
        let seconds = sample.length.as_secs_f64();
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            stream: sample.stream,
            second: sample.second,
            warm_up: sample.phase == Phase::WarmUp,
            rate: if seconds > 0.0 { tally.count as f64 / seconds } else { 0.0 },
            times: (tally.count > 0).then(|| tally.response().quantiles_ns([0.5, 0.95, 0.99]).map(ms)),
            errors: sample.errors,
        }
    }
}

/// What came of a trial, of its first stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Transactions in a second.
    pub rate: f64,
    /// 95th percentile of response times, ms; `None`: no transaction ended.
    pub p95: Option<f64>,
}

impl Figures {
    /// Those of the engine's result.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let seconds = outcome.interval.as_secs_f64();
        let tally = &outcome.streams[0].transactions;
        let p95 = (tally.count > 0).then(|| tally.response().quantile_ns(0.95) as f64 / 1e6);
        Self { rate: if seconds > 0.0 { tally.count as f64 / seconds } else { 0.0 }, p95 }
    }
}

/// Writes the lines of a run. Nothing depends on them: if they cannot be written, nobody can watch.
#[derive(Debug)]
pub struct Teller {
    file: Option<File>,
    begun: Instant,
    pace: Pace,
    plan: Option<Box<Plan>>,
    names: ServerNames,
    /// Trials that the plan did not hold.
    added: Vec<Trial>,
    /// When loading last said how far it is.
    loading: Option<Instant>,
}

impl Teller {
    /// Of a run that will do so many trials, into this file, which is emptied.
    #[must_use]
    pub fn new(file: Option<File>, total: u32) -> Self {
        let emptied = |mut file: File| {
            file.set_len(0)?;
            file.rewind()?;
            Ok::<_, io::Error>(file)
        };
        Self {
            file: file.and_then(|file| emptied(file).ok()),
            begun: Instant::now(),
            pace: Pace::new(total),
            plan: None,
            names: ServerNames::default(),
            added: Vec::new(),
            loading: None,
        }
    }

    /// Tells what an event says.
    pub fn tell(&mut self, event: &Event) {
        self.pace.heed(event);
        let Some(told) = self.told(event) else { return };
        let line = Line { after: self.begun.elapsed().as_secs_f64(), told };
        let written = self.file.as_mut().map(|file| {
            let mut text = serde_json::to_string(&line).expect("plain values are JSON");
            text.push('\n');
            file.write_all(text.as_bytes())
        });
        if let Some(Err(_)) = written {
            self.file = None;
        }
    }

    fn told(&mut self, event: &Event) -> Option<Told> {
        Some(match event {
            Event::RunStarted { plan, .. } => {
                self.names = ServerNames::of(plan);
                self.plan = Some(plan.clone());
                let servers = (0..plan.servers.len()).map(|server| self.server(server)).collect();
                Told::Began { servers, total: self.pace.total(), left: self.left() }
            }
            Event::ServerStarting { server, step } => {
                Told::Server { server: self.server(*server), what: step.clone() }
            }
            Event::ServerReady { server, description } => {
                let version = shown(&format!("{} {}", description.product, description.version));
                Told::Ready { server: self.server(*server), version }
            }
            Event::Remark { server, what } => {
                Told::Remark { server: self.server(*server), what: what.clone() }
            }
            Event::DataLoading(progress) => {
                if self.loading.is_some_and(|last| last.elapsed() < LOADING_EVERY) {
                    return None;
                }
                self.loading = Some(Instant::now());
                let (rows, rows_total) = (progress.rows, progress.rows_total);
                Told::Loading { server: self.server(progress.server), rows, rows_total }
            }
            Event::DataReady { server, took, origin, .. } => {
                Told::Loaded { server: self.server(*server), seconds: took.as_secs_f64(), origin: *origin }
            }
            Event::TrialAdded { trial, because } => {
                self.added.push(*trial);
                Told::Added { levels: self.levels(trial.number), because: *because }
            }
            Event::TrialSearching { trial, rate, .. } => {
                Told::Searching { levels: self.levels(*trial), rate: *rate }
            }
            Event::TrialStarted { trial } => self.trial(*trial)?,
            Event::TrialSample { sample, .. } => Told::Second(Second::from(&**sample)),
            Event::LoadHosts { hosts, .. } => {
                let hosts = hosts.iter().map(|now| LoadHost {
                    host: shown(&now.host),
                    connections: now.connections,
                    busy: hundredths(now.machine_cpu),
                    own: hundredths(now.client_cpu),
                    waiting: hundredths(now.waiting),
                    bytes: (now.received_bytes + now.sent_bytes).round(),
                    lag: now.lag.map(hundredths),
                });
                foremost(hosts.collect())
            }
            Event::TrialFinished { trial, outcome } => self.finished(*trial, outcome),
            Event::Noted(Note::Died { server, .. }) => {
                Told::Server { server: self.server(*server), what: Step::Reviving }
            }
            Event::RunFinished { complete } => Told::Over { complete: *complete },
            Event::Surroundings { .. }
            | Event::Unfair { .. }
            | Event::TrialPrepared { .. }
            | Event::TrialProbed { .. }
            | Event::TrialReading { .. }
            | Event::ServerStopped { .. }
            | Event::Noted(_) => return None,
        })
    }

    fn trial(&self, number: u32) -> Option<Told> {
        let plan = self.plan.as_ref()?;
        let treatment = self.known(number)?.treatment;
        let streams = &plan.treatments[treatment].streams;
        Some(Told::Trial {
            levels: self.levels(number),
            streams: streams.iter().map(|stream| shown(&stream.name)).collect(),
            place: self.pace.done() + 1,
            total: self.pace.total(),
            takes: (plan.before_interval() + plan.interval).as_secs_f64(),
            left: self.left(),
        })
    }

    fn finished(&self, trial: u32, outcome: &TrialOutcome) -> Told {
        let (figures, failure, doubts) = match outcome {
            TrialOutcome::Failed(failure) => (None, Some(failure.clone()), Vec::new()),
            TrialOutcome::Measured { outcome, doubts, .. } => {
                (Some(Figures::of(outcome)), None, doubts.clone())
            }
        };
        Told::Finished {
            levels: self.levels(trial),
            figures,
            failure,
            doubts,
            done: self.pace.done(),
            total: self.pace.total(),
            left: self.left(),
        }
    }

    fn left(&self) -> f64 {
        self.pace.left().unwrap_or_default().as_secs_f64()
    }

    fn server(&self, index: usize) -> String {
        let server = self.plan.as_ref().and_then(|plan| plan.servers.get(index));
        server.map_or_else(String::new, |server| shown(self.names.shown(&server.name)))
    }

    fn known(&self, number: u32) -> Option<&Trial> {
        let planned = self.plan.iter().flat_map(|plan| &plan.trials);
        planned.chain(&self.added).find(|each| each.number == number)
    }

    fn levels(&self, trial: u32) -> String {
        match (&self.plan, self.known(trial)) {
            (Some(plan), Some(trial)) => shown(&self.names.levels(plan, trial.treatment)),
            _ => String::new(),
        }
    }
}

/// A number without the digits that nobody reads.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Of load hosts those that matter most.
fn foremost(mut hosts: Vec<LoadHost>) -> Told {
    let order = |host: &LoadHost| (host.lag.unwrap_or(0.0), host.busy);
    hosts.sort_by(|one, other| {
        let ((late, busy), (other_late, other_busy)) = (order(one), order(other));
        other_late.total_cmp(&late).then(other_busy.total_cmp(&busy)).then_with(|| one.host.cmp(&other.host))
    });
    let total = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    hosts.truncate(HOSTS_MAX);
    Told::LoadHosts { hosts, total }
}

/// A text that viewers may show: no password, nothing that controls a terminal.
fn shown(text: &str) -> String {
    escape::plain(&escape::without_passwords(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_load_hosts_those_that_lag_are_told_and_then_the_busiest() {
        let host = |number: u32| LoadHost {
            host: format!("host-{number:02}"),
            connections: 10,
            busy: f64::from(number),
            own: 0.5,
            waiting: 0.0,
            bytes: 1e6,
            lag: (number == 3).then_some(4.0),
        };
        let Told::LoadHosts { hosts, total } = foremost((0..20).map(host).collect()) else { panic!() };
        let names: Vec<&str> = hosts.iter().map(|host| &*host.host).collect();
        let expected =
            ["03", "19", "18", "17", "16", "15", "14", "13"].map(|number| format!("host-{number}"));
        assert_eq!(names, expected);
        assert_eq!(total, 20);
    }
}
