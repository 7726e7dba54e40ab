//! Progress on the terminal: a bar with the time left, one line for each finished trial. Nothing is drawn
//! where stderr is not a terminal; lines about finished trials are printed there too, for logs.

use super::terminal::aside;
use crate::{
    escape::{plain, wrap::padded},
    network::{LinkRecord, Means, Surroundings},
    plan::{Plan, ServerNames, Trial},
    report::{Words, number},
    run::{Because, Event, Note, Origin, TrialOutcome},
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
        self.bar.set_message(loading(rows, rows_total, rows_loaded, self.begun.elapsed()));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Steps of work whose length nobody knows: on a terminal the last one, elsewhere each that is a new one.
pub(super) struct StepProgress {
    bar: ProgressBar,
    /// The beginning of what was told last, up to the figures.
    told: RefCell<String>,
}

impl StepProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {msg}"));
        Self { bar, told: RefCell::default() }
    }

    pub(super) fn show(&self, step: &str) {
        self.bar.set_message(plain(step));
        self.bar.tick();
        let beginning = step.split([':', '(']).next().unwrap_or_default().trim();
        if self.bar.is_hidden() && *self.told.borrow() != beginning {
            aside(format_args!("{step}"));
            beginning.clone_into(&mut self.told.borrow_mut());
        }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Rows, rows per second and time left, in words.
fn loading(rows: u64, rows_total: u64, rows_loaded: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { rows_loaded as f64 / seconds } else { 0.0 };
    let left = if rate > 0.0 { rows_total.saturating_sub(rows) as f64 / rate } else { 0.0 };
    format!(
        "{} of {} rows, {:.0} rows/s, {left:.0} s left",
        number::count(rows),
        number::count(rows_total),
        rate
    )
}

/// Progress of a run: reads its events.
pub(super) struct RunProgress {
    bar: ProgressBar,
    plan: Option<Plan>,
    /// What its servers are called.
    names: ServerNames,
    /// Trials that the plan did not hold.
    added: Vec<Trial>,
    /// Numbers of those that failed.
    failed: BTreeSet<u32>,
    trials_done: u32,
    /// Trials that this run will do.
    trials_total: u32,
    /// When the first of them began.
    trials_begun: Option<Instant>,
    trial_begun: Instant,
    data_begun: Instant,
}

impl RunProgress {
    pub(super) fn new(trials_total: u32) -> Self {
        let bar = ProgressBar::with_draw_target(Some(u64::from(trials_total)), ProgressDrawTarget::stderr());
        bar.set_style(style("{bar:30} {pos}/{len} {msg}"));
        bar.enable_steady_tick(Duration::from_millis(500));
        let now = Instant::now();
        Self {
            bar,
            plan: None,
            names: ServerNames::default(),
            added: Vec::new(),
            failed: BTreeSet::new(),
            trials_done: 0,
            trials_total,
            trials_begun: None,
            trial_begun: now,
            data_begun: now,
        }
    }

    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::RunStarted { plan, .. } => self.planned(plan),
            Event::ServerStarting { server, step } => {
                self.data_begun = Instant::now();
                self.bar.set_message(plain(&format!("{}: {step}", self.server(*server))));
            }
            Event::ServerReady { server, description } => {
                // what comes after the colon is the catalogue's remark: for the report
                let origin = description.origin.split(": ").next().unwrap_or_default();
                let name = self.server(*server);
                self.line(&format!("{name}: {} {}, {origin}", description.product, description.version));
                if let Some(in_force) = &description.limits {
                    self.line(&format!("{name}: limited to {}", in_force.limits));
                }
                self.data_begun = Instant::now();
            }
            Event::Surroundings { server, surroundings } => self.networks(*server, surroundings),
            Event::Remark { server, text } => self.line(&format!("{}: remark: {text}", self.server(*server))),
            Event::DataLoading(progress) => {
                let words =
                    loading(progress.rows, progress.rows_total, progress.rows, self.data_begun.elapsed());
                self.bar.set_message(plain(&format!("{}: {words}", self.server(progress.server))));
            }
            Event::Unfair { conditions } => {
                let names = self.server_names();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                self.line("not the same on all servers, and not varied by the study:");
                conditions.iter().for_each(|one| self.line(&format!("  {}", one.sentence(&names))));
            }
            Event::DataReady { server, took, origin, .. } => self.loaded(*server, *took, *origin),
            Event::TrialAdded { trial, because } => {
                self.trials_total += 1;
                self.bar.inc_length(1);
                if let (Some(plan), Because::Invalid) = (&self.plan, because) {
                    let repeated = trial.again_of.unwrap_or(trial.number) + 1;
                    let levels = label(plan, &self.names, trial.treatment);
                    let levels = if levels.is_empty() { levels } else { format!(" ({levels})") };
                    let outcome = if self.failed.contains(&(repeated - 1)) { "failed" } else { "is invalid" };
                    self.line(&format!("trial {repeated}{levels} {outcome} and is repeated"));
                }
                self.added.push(*trial);
            }
            Event::Noted(note) => self.noted(note),
            Event::TrialStarted { trial } => {
                self.trial_begun = Instant::now();
                self.trials_begun.get_or_insert(self.trial_begun);
                self.bar.set_message(plain(&format!("{}, {}", self.label(*trial), self.time_left())));
            }
            Event::TrialSearching { trial, rate, left } => self.searching(*trial, *rate, *left),
            Event::TrialProbed { .. } => {}
            Event::TrialSample { .. } | Event::TrialReading { .. } | Event::TrialPrepared { .. } => {}
            Event::TrialFinished { trial, outcome } => self.finished(*trial, outcome),
            Event::ServerStopped { server, .. } => {
                self.bar.set_message(plain(&format!("{}: stopped", self.server(*server))))
            }
            Event::RunFinished { .. } => self.bar.finish_and_clear(),
        }
    }

    fn noted(&mut self, note: &Note) {
        match note {
            Note::Died { server, reason } => {
                self.line(&format!("{}: {reason}", self.server(*server)));
                self.line(&format!("{}: starting it again", self.server(*server)));
            }
            Note::NotProfiled { server, reason } => {
                let reason = Words::default().no_profile(reason);
                self.line(&format!("{}: no profile: {reason}", self.server(*server)));
            }
            Note::Profiled { profile, .. } => {
                self.line(&format!("profiled: {} samples, drawn in the report", profile.samples()));
            }
            Note::Crashed { server, crash } => {
                let (acknowledged, lost) = (crash.acknowledged, crash.lost);
                let server = self.server(*server);
                self.line(&format!("{server}: killed; {lost} of {acknowledged} acknowledged commits lost"));
            }
            Note::NotCrashed { server, reason } => {
                self.line(&format!("{}: not killed: {reason}", self.server(*server)));
            }
            Note::Machine { .. } | Note::Stopped(_) => {}
        }
    }

    fn planned(&mut self, plan: &Plan) {
        self.names = ServerNames::of(plan);
        self.plan = Some(plan.clone());
        let (by, names) = (&self.names.factors, self.server_names());
        if !by.is_empty() {
            self.line(&format!("servers by {}: {}", by.join(", "), names.join(" / ")));
        }
    }

    fn loaded(&self, server: usize, took: Duration, origin: Origin) {
        let what = match origin {
            Origin::Kept => "data of an earlier run put in place",
            Origin::Found => "data were there already",
            _ => "data loaded",
        };
        let (name, seconds) = (self.server(server), took.as_secs_f64());
        self.line(&format!("{name}: {what} and verified in {seconds:.1} s"));
    }

    /// One load of the search for a trial's rate.
    fn searching(&self, trial: u32, rate: Option<f64>, left: Duration) {
        let rate = rate.map_or_else(
            || "a closed loop first".to_owned(),
            |rate| format!("now {}/s, about {} s more", number::count(rate as u64), left.as_secs()),
        );
        let text = format!("{}: searching its rate, {rate}", self.label(trial));
        // a search takes minutes: a log must show that it goes on
        if self.bar.is_hidden() {
            aside(format_args!("{text}"));
        }
        self.bar.set_message(plain(&text));
    }

    /// The network that was put before a server last; what they all were in the end is for the report.
    fn networks(&mut self, server: usize, surroundings: &Surroundings) {
        let Some(LinkRecord {
            stated,
            between,
            means,
            measured_before: Some(measured),
            measured_after: None,
            ..
        }) = surroundings.links.last()
        else {
            return;
        };
        let ms = |time: &Duration| time.as_secs_f64() * 1e3;
        let name = self.server(server);
        self.line(&format!(
            "{name}: network {}with a round trip of {stated:?} by {}, measured {:.3} ms",
            between.as_ref().map_or("", |_| "between its servers "),
            match means {
                Means::Netem(discipline) => format!("{discipline} in network namespaces"),
                Means::Relay => "a relay".to_owned(),
            },
            ms(measured)
        ));
    }

    fn finished(&mut self, trial: u32, outcome: &TrialOutcome) {
        self.trials_done += 1;
        self.bar.inc(1);
        let figures = match outcome {
            TrialOutcome::Failed(failure) => {
                self.failed.insert(trial);
                format!("FAILED: {}", Words::default().failure(failure))
            }
            TrialOutcome::Measured { outcome, doubts, .. } => {
                let seconds = outcome.interval.as_secs_f64();
                let tally = &outcome.streams[0].transactions;
                let rate = if seconds > 0.0 { tally.count as f64 / seconds } else { 0.0 };
                let p95 = match tally.count {
                    0 => "-".to_owned(),
                    _ => format!("{:.2}", tally.response().quantile_ns(0.95) as f64 / 1e6),
                };
                let judged =
                    Words::default().brief(doubts).map_or_else(String::new, |why| format!("   ({why})"));
                format!("{:>9} transactions/s   p95 {p95:>8} ms{judged}", number::count(rate as u64))
            }
        };
        let width = self.trials_total.to_string().len();
        self.line(&format!(
            "{:>width$}/{}  {} {figures}",
            self.trials_done,
            self.trials_total,
            padded(&self.label(trial), 52, false)
        ));
    }

    /// Prints a line above the bar, or just a line where there is none.
    fn line(&self, text: &str) {
        if self.bar.is_hidden() { aside(format_args!("{text}")) } else { self.bar.println(plain(text)) }
    }

    fn server(&self, index: usize) -> String {
        self.server_names().swap_remove(index)
    }

    /// What servers are called, in the plan's order.
    fn server_names(&self) -> Vec<String> {
        let servers = self.plan.iter().flat_map(|plan| &plan.servers);
        servers.map(|server| self.names.shown(&server.name).to_owned()).collect()
    }

    /// The trial's levels in the order of the factors.
    fn label(&self, trial: u32) -> String {
        let Some(plan) = &self.plan else { return String::new() };
        let known = plan.trials.iter().chain(&self.added).find(|each| each.number == trial);
        known.map_or_else(String::new, |trial| label(plan, &self.names, trial.treatment))
    }

    fn time_left(&self) -> String {
        let Some(plan) = &self.plan else { return String::new() };
        let count = u32::try_from(plan.treatments.len()).unwrap_or(u32::MAX).max(1);
        let planned = (0..plan.treatments.len()).map(|each| plan.trial_time(each)).sum::<Duration>() / count;
        // what loads data or restarts servers between trials is only in what those before took
        let each = match (self.trials_begun, self.trials_done) {
            (Some(begun), done @ 1..) => begun.elapsed() / done,
            _ => planned,
        };
        let left = each * self.trials_total.saturating_sub(self.trials_done);
        let seconds = left.as_secs();
        if seconds >= 120 {
            format!("about {} min left", seconds.div_ceil(60))
        } else {
            format!("about {seconds} s left")
        }
    }
}

/// The levels of a treatment in the order of the factors.
fn label(plan: &Plan, names: &ServerNames, treatment: usize) -> String {
    let levels = &plan.treatments[treatment].levels;
    let words = plan.factors.iter().filter_map(|factor| {
        let level = levels.get(&factor.name)?;
        let alone = !factor.numeric || names.factors.contains(&factor.name);
        Some(if !alone { format!("{} {level}", factor.name) } else { level.clone() })
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A bar's template with the characters that all bars have.
pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("constant templates are valid").progress_chars("=> ")
}
