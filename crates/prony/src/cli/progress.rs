//! Progress on the terminal: a bar with the time left, one line for each finished trial. Nothing is drawn
//! where stderr is not a terminal; lines about finished trials are printed there too, for logs.

use super::terminal::aside;
use crate::{
    escape::{plain, wrap::padded},
    live::{Figures, Pace},
    network::{LinkRecord, Means, Surroundings},
    plan::{Plan, ServerNames, Trial},
    provision::{ServerDescription, Step},
    quantity::say_bits,
    report::{Words, number},
    run::{Because, Event, Note, TrialOutcome},
    telemetry::LoadHostNow,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Progress of one loading of data.
pub(super) struct DataProgress {
    bar: ProgressBar,
    begun: Instant,
}

impl DataProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        bar.set_style(style("{bar:30} {msg}"));
        Self { bar, begun: Instant::now() }
    }

    /// `rows_loaded` are those of this call: what the rate comes from.
    pub(super) fn show(&self, rows: u64, rows_total: u64, rows_loaded: u64) {
        self.bar.set_length(rows_total.max(1));
        self.bar.set_position(rows);
        self.bar.set_message(loading(
            Words::of_environment(),
            rows,
            rows_total,
            rows_loaded,
            self.begun.elapsed(),
        ));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Steps of work of unknown length: a terminal shows the current one, a log each new one.
pub(super) struct StepProgress {
    bar: ProgressBar,
    /// The beginning of the last line, up to its figures.
    told: RefCell<String>,
}

impl StepProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {msg}"));
        Self { bar, told: RefCell::default() }
    }

    pub(super) fn show(&self, step: &Step) {
        let step = Words::of_environment().step(step);
        self.bar.set_message(plain(&step));
        self.bar.tick();
        let beginning = step.split([':', '(', '：', '（']).next().unwrap_or_default().trim();
        if self.bar.is_hidden() && *self.told.borrow() != beginning {
            aside(format_args!("{step}"));
            beginning.clone_into(&mut self.told.borrow_mut());
        }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The load host that lags most, or else the one that uses most of its processors, as words that follow
/// others; empty: there is none.
pub(super) fn busiest(words: Words, hosts: &[LoadHostNow]) -> String {
    let late = hosts.iter().filter_map(|now| now.lag.map(|lag| (now, lag)));
    if let Some((now, lag)) = late.max_by(|(_, one), (_, other)| one.total_cmp(other)) {
        return words.progress("host_lags", &[("host", &*now.host), ("seconds", &format!("{lag:.0}"))]);
    }
    let busiest = hosts.iter().max_by(|one, other| one.machine_cpu.total_cmp(&other.machine_cpu));
    busiest.map_or_else(String::new, |now| {
        let places = [
            ("host", &*now.host),
            ("cpus", &format!("{:.2}", now.machine_cpu)),
            ("own", &format!("{:.2}", now.client_cpu)),
            ("rate", &format!("{:.1}", (now.received_bytes + now.sent_bytes) / 1e6)),
        ];
        words.progress("busiest_host", &places)
    })
}

/// Rows, rows per second and time left, in words.
fn loading(words: Words, rows: u64, rows_total: u64, rows_loaded: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { rows_loaded as f64 / seconds } else { 0.0 };
    let left = if rate > 0.0 { rows_total.saturating_sub(rows) as f64 / rate } else { 0.0 };
    let (rows, all) = (number::count(rows), number::count(rows_total));
    let places =
        [("rows", &*rows), ("all", &all), ("rate", &format!("{rate:.0}")), ("left", &format!("{left:.0}"))];
    words.progress("loading", &places)
}

/// Progress of a run: reads its events.
pub(super) struct RunProgress {
    words: Words,
    bar: ProgressBar,
    plan: Option<Plan>,
    /// Names of its servers.
    names: ServerNames,
    /// Trials that were not in the plan.
    added: Vec<Trial>,
    /// Numbers of those that failed.
    failed: BTreeSet<u32>,
    pace: Pace,
    data_begun: Instant,
}

impl RunProgress {
    pub(super) fn new(trials_total: u32, words: Words) -> Self {
        let bar = ProgressBar::with_draw_target(Some(u64::from(trials_total)), ProgressDrawTarget::stderr());
        bar.set_style(style("{bar:30} {pos}/{len} {msg}"));
        bar.enable_steady_tick(Duration::from_millis(500));
        Self {
            words,
            bar,
            plan: None,
            names: ServerNames::default(),
            added: Vec::new(),
            failed: BTreeSet::new(),
            pace: Pace::new(trials_total),
            data_begun: Instant::now(),
        }
    }

    pub(super) fn show(&mut self, event: &Event) {
        self.pace.heed(event);
        match event {
            Event::RunStarted { plan, .. } => self.planned(plan),
            Event::ServerStarting { server, step } => {
                self.data_begun = Instant::now();
                self.message(*server, &self.words.step(step));
            }
            Event::ServerReady { server, description } => self.ready(*server, description),
            Event::Surroundings { server, surroundings } => self.networks(*server, surroundings),
            Event::Remark { server, what } => {
                self.of_server("remark", *server, &[("text", &self.words.remark(what))]);
            }
            Event::DataLoading(progress) => {
                let (rows, all) = (progress.rows, progress.rows_total);
                let text = loading(self.words, rows, all, rows, self.data_begun.elapsed());
                self.message(progress.server, &text);
            }
            Event::Unfair { conditions } => {
                let names = self.server_names();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                self.line(&self.words.progress("unfair", &[]));
                conditions.iter().for_each(|one| self.line(&format!("  {}", self.words.unfair(one, &names))));
            }
            Event::DataReady { server, took, origin, .. } => {
                self.line(&self.words.data_ready(&self.server(*server), *took, *origin));
            }
            Event::TrialAdded { trial, because } => self.added(trial, *because),
            Event::Noted(note) => self.noted(note),
            Event::TrialStarted { trial } => self.bar.set_message(plain(&self.running(*trial))),
            Event::TrialSearching { trial, rate, left } => self.searching(*trial, *rate, *left),
            Event::TrialProbed { .. } => {}
            Event::LoadHosts { trial, hosts } => {
                self.bar.set_message(plain(&format!(
                    "{}{}",
                    self.running(*trial),
                    busiest(self.words, hosts)
                )));
            }
            Event::TrialSample { .. } | Event::TrialReading { .. } | Event::TrialPrepared { .. } => {}
            Event::TrialFinished { trial, outcome } => self.finished(*trial, outcome),
            Event::ServerStopped { server, .. } => {
                let text = self.words.progress("stopped", &[("server", &self.server(*server))]);
                self.bar.set_message(plain(&text));
            }
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
    }

    fn ready(&mut self, server: usize, description: &ServerDescription) {
        let ServerDescription { product, version, origin, limits, .. } = description;
        // the catalogue's remark after the colon is for the report
        let origin = origin.split(": ").next().unwrap_or_default();
        self.of_server("ready", server, &[("version", &format!("{product} {version}")), ("origin", origin)]);
        if let Some(in_force) = limits {
            self.of_server("limited", server, &[("limits", &in_force.limits.to_string())]);
        }
        self.data_begun = Instant::now();
    }

    fn added(&mut self, trial: &Trial, because: Because) {
        self.bar.inc_length(1);
        if let (Some(plan), Because::Invalid) = (&self.plan, because) {
            let repeated = trial.again_of.unwrap_or(trial.number) + 1;
            let levels = self.names.levels(plan, trial.treatment);
            let outcome = if self.failed.contains(&(repeated - 1)) { "failed" } else { "invalid" };
            let key = format!("{outcome}_again{}", if levels.is_empty() { "" } else { "_of" });
            let places = [("number", &*repeated.to_string()), ("levels", &levels)];
            self.line(&self.words.progress(&key, &places));
        }
        self.added.push(*trial);
    }

    /// A trial that runs, and the time left.
    fn running(&self, trial: u32) -> String {
        let left = self.pace.left().map(|left| self.words.time_left(left)).unwrap_or_default();
        self.words.progress("running", &[("levels", &*self.label(trial)), ("left", &left)])
    }

    fn noted(&mut self, note: &Note) {
        match note {
            Note::Died { server, reason } => {
                self.of_server("step", *server, &[("text", &self.words.cause(reason))]);
                self.of_server("restarting", *server, &[]);
            }
            Note::NotProfiled { server, reason } => {
                self.of_server("no_profile", *server, &[("reason", &self.words.no_profile(reason))]);
            }
            Note::Profiled { profile, .. } => {
                let places = [("count", &*profile.samples().to_string())];
                self.line(&self.words.progress("profiled", &places));
            }
            Note::Crashed { server, crash } => {
                let (kind, acknowledged, lost) = (crash.kind, crash.acknowledged, crash.lost);
                self.line(&self.words.crashed(&self.server(*server), kind, acknowledged, lost));
            }
            Note::NotCrashed { server, reason, .. } => {
                self.of_server("not_crashed", *server, &[("reason", &self.words.no_crash(reason))]);
            }
            Note::Files { server, what } => {
                self.of_server("remark", *server, &[("text", &self.words.file_note(what))]);
            }
            Note::Explained { .. } | Note::Machine(_) | Note::Stopped(_) => {}
        }
    }

    fn planned(&mut self, plan: &Plan) {
        self.names = ServerNames::of(plan);
        self.plan = Some(plan.clone());
        let (by, names) = (&self.names.factors, self.server_names());
        if !by.is_empty() {
            let places = [("factors", &*by.join(", ")), ("names", &names.join(" / "))];
            self.line(&self.words.progress("servers_by", &places));
        }
    }

    /// One load of the search for a trial's rate.
    fn searching(&self, trial: u32, rate: Option<f64>, left: Duration) {
        let rates = rate.map(number::per_second);
        let key = if rates.is_some() { "searching" } else { "searching_first" };
        let (rate, left) = (rates.unwrap_or_default(), left.as_secs().to_string());
        let places = [("trial", &*self.label(trial)), ("rate", &rate), ("left", &left)];
        let text = self.words.progress(key, &places);
        // a search takes minutes: a log must show progress
        if self.bar.is_hidden() {
            aside(format_args!("{text}"));
        }
        self.bar.set_message(plain(&text));
    }

    /// The network that was set up last; the report describes all of them.
    fn networks(&mut self, server: usize, surroundings: &Surroundings) {
        let Some(LinkRecord {
            stated,
            bandwidth,
            between,
            means,
            measured_before: Some(measured),
            measured_after: None,
            ..
        }) = surroundings.links.last()
        else {
            return;
        };
        let between = if between.is_some() { "_between" } else { "" };
        let narrow = if bandwidth.is_some() { "_narrow" } else { "" };
        let means = match means {
            Means::Netem(discipline) => self.words.progress("netem", &[("discipline", discipline)]),
            Means::Relay => self.words.progress("relay", &[]),
        };
        let places = [
            ("stated", &*format!("{stated:?}")),
            ("bandwidth", &bandwidth.map(say_bits).unwrap_or_default()),
            ("means", &means),
            ("measured", &format!("{:.3}", measured.as_secs_f64() * 1e3)),
        ];
        self.of_server(&format!("network{between}{narrow}"), server, &places);
    }

    fn finished(&mut self, trial: u32, outcome: &TrialOutcome) {
        self.bar.inc(1);
        let words = self.words;
        let figures = match outcome {
            TrialOutcome::Failed(failure) => {
                self.failed.insert(trial);
                words.progress("failed", &[("reason", &words.failure(failure))])
            }
            TrialOutcome::Measured { outcome, doubts, .. } => {
                let Figures { rate, p95 } = Figures::of(outcome);
                let (rate, p95) = (
                    format!("{:>9}", number::per_second(rate)),
                    format!("{:>8}", p95.map_or_else(|| "-".to_owned(), |p95| format!("{p95:.2}"))),
                );
                let doubted = |why: String| words.progress("doubted", &[("reason", &why)]);
                let judged = words.brief(doubts).map(doubted).unwrap_or_default();
                words.progress("measured", &[("rate", &rate), ("p95", &p95)]) + &judged
            }
        };
        let width = self.pace.total().to_string().len();
        self.line(&format!(
            "{:>width$}/{}  {} {figures}",
            self.pace.done(),
            self.pace.total(),
            padded(&self.label(trial), 52, false)
        ));
    }

    /// A line about a server.
    fn of_server(&self, key: &str, server: usize, places: &[(&str, &str)]) {
        let server = self.server(server);
        self.line(&self.words.progress(key, &[&[("server", &*server)], places].concat()));
    }

    /// What the bar says of a server.
    fn message(&self, server: usize, text: &str) {
        let places = [("server", &*self.server(server)), ("text", text)];
        self.bar.set_message(plain(&self.words.progress("step", &places)));
    }

    /// Prints a line above the bar, or just a line where there is none.
    fn line(&self, text: &str) {
        if self.bar.is_hidden() { aside(format_args!("{text}")) } else { self.bar.println(plain(text)) }
    }

    fn server(&self, index: usize) -> String {
        self.server_names().swap_remove(index)
    }

    /// Names of the servers, in the plan's order.
    fn server_names(&self) -> Vec<String> {
        let servers = self.plan.iter().flat_map(|plan| &plan.servers);
        servers.map(|server| self.names.shown(&server.name).to_owned()).collect()
    }

    /// The trial's levels in the order of the factors.
    fn label(&self, trial: u32) -> String {
        let Some(plan) = &self.plan else { return String::new() };
        let known = plan.trials.iter().chain(&self.added).find(|each| each.number == trial);
        known.map_or_else(String::new, |trial| self.names.levels(plan, trial.treatment))
    }
}

/// A bar's template with the characters that all bars have.
pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("constant templates are valid").progress_chars("=> ")
}
