//! A load while it runs: a bar with the last second and the time left on a terminal, and one line for each
//! interval if asked for.

use crate::{
    cli::{
        progress::{busiest, style},
        terminal::aside,
    },
    escape::plain,
    language::Language,
    report::{Words, number},
    telemetry::LoadHostNow,
};
use indicatif::{ProgressBar, ProgressDrawTarget};
use load::{
    Sample,
    sample::{Phase, Schedule, Tally},
};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Progress of one load.
pub(super) struct Live {
    bar: ProgressBar,
    begun: Option<Instant>,
    /// How long it will take; `None`: a limit ends it.
    total: Option<Duration>,
    /// Words in front of each line.
    title: String,
    reports: Option<Reports>,
    /// The last second of each stream.
    last: Vec<Option<Tick>>,
    /// What the busiest load host does, in words.
    load_hosts: String,
}

/// What one stream did in a period.
#[derive(Debug, Clone)]
struct Tick {
    length: Duration,
    transactions: Tally,
    errors: u64,
    schedule: Option<Schedule>,
    phase: Phase,
}

impl Tick {
    fn of(sample: &Sample) -> Self {
        Self {
            length: sample.length,
            transactions: sample.transactions.clone(),
            errors: sample.errors,
            schedule: sample.schedule.clone(),
            phase: sample.phase,
        }
    }

    /// Adds the next period.
    fn add(&mut self, next: &Self) {
        self.length += next.length;
        self.transactions.merge(&next.transactions);
        self.errors += next.errors;
        match (&mut self.schedule, &next.schedule) {
            (Some(schedule), Some(next)) => schedule.merge_after(next),
            (schedule, next) => *schedule = next.clone(),
        }
    }

    fn line(&self, stream: &str, at: f64) -> Line {
        let seconds = self.length.as_secs_f64().max(f64::MIN_POSITIVE);
        let response = self.transactions.response();
        let quantile = |share| response.quantile_ns(share) as f64 / 1e6;
        Line {
            at_s: at,
            stream: stream.to_owned(),
            phase: if self.phase == Phase::WarmUp { "warm_up" } else { "measure" },
            transactions_per_second: self.transactions.count as f64 / seconds,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: response.max_ns() as f64 / 1e6,
            errors_per_second: self.errors as f64 / seconds,
            offered_per_second: self.schedule.as_ref().map(|schedule| schedule.offered as f64 / seconds),
            backlog: self.schedule.as_ref().map(|schedule| schedule.never_sent),
        }
    }
}

/// One line about one stream.
#[derive(Debug, Serialize)]
struct Line {
    /// End of its period, since the load began.
    at_s: f64,
    stream: String,
    phase: &'static str,
    transactions_per_second: f64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    errors_per_second: f64,
    /// Only where there is a schedule.
    offered_per_second: Option<f64>,
    /// Starts that are due and not yet sent.
    backlog: Option<u64>,
}

impl Line {
    fn text(&self) -> String {
        let offered = match (self.offered_per_second, self.backlog) {
            (Some(offered), Some(backlog)) => format!("  offered {offered:.0}/s  backlog {backlog}"),
            _ => String::new(),
        };
        let warming = if self.phase == "warm_up" { "  (warm-up)" } else { "" };
        format!(
            "{:>9.1} tps  p50 {:.2}  p95 {:.2}  p99 {:.2}  max {:.2} ms  errors {:.1}/s{offered}{warming}",
            self.transactions_per_second,
            self.p50_ms,
            self.p95_ms,
            self.p99_ms,
            self.max_ms,
            self.errors_per_second
        )
    }
}

/// Lines at intervals.
struct Reports {
    every: Duration,
    as_json: bool,
    names: Vec<String>,
    /// What has come since the last line, by stream.
    gathered: Vec<Option<Tick>>,
    /// Time that the lines so far cover, by stream.
    told: Vec<Duration>,
}

impl Reports {
    /// The lines that a sample completes. Seconds are not divided: an interval ends with the first that fills
    /// it.
    fn add(&mut self, stream: usize, tick: &Tick) -> Option<String> {
        let gathered = match &mut self.gathered[stream] {
            Some(gathered) if gathered.phase == tick.phase => {
                gathered.add(tick);
                gathered
            }
            place => place.insert(tick.clone()),
        };
        self.told[stream] += tick.length;
        // a second is never exactly one
        if gathered.length + Duration::from_millis(10) < self.every {
            return None;
        }
        let line = gathered.line(&self.names[stream], self.told[stream].as_secs_f64());
        self.gathered[stream] = None;
        if self.as_json {
            return Some(serde_json::to_string(&line).expect("a line is JSON"));
        }
        let name = if self.names.len() > 1 { format!(" {}", line.stream) } else { String::new() };
        Some(format!("[{:>6.1} s]{name} {}", line.at_s, line.text()))
    }
}

impl Live {
    /// For a load of this length, or one that a limit ends.
    pub(super) fn new(total: Option<Duration>, streams: &[String]) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(total.unwrap_or_default().as_millis() as u64),
            ProgressDrawTarget::stderr(),
        );
        bar.set_style(style(if total.is_some() { "{bar:20} {msg}" } else { "{msg}" }));
        Self {
            bar,
            begun: None,
            total,
            title: String::new(),
            reports: None,
            last: vec![None; streams.len()],
            load_hosts: String::new(),
        }
    }

    /// With a line on stderr every `every`.
    pub(super) fn reporting(mut self, every: Option<Duration>, as_json: bool, streams: Vec<String>) -> Self {
        self.reports = every.map(|every| Reports {
            every,
            as_json,
            gathered: vec![None; streams.len()],
            told: vec![Duration::ZERO; streams.len()],
            names: streams,
        });
        self
    }

    /// With these words in front of each line.
    pub(super) fn titled(mut self, title: String) -> Self {
        self.title = title;
        self
    }

    /// What load hosts do just now.
    pub(super) fn with_load_hosts(&mut self, hosts: &[LoadHostNow]) {
        self.load_hosts = busiest(Words::of(Language::English), hosts);
        self.message();
    }

    pub(super) fn show(&mut self, event: &load::Progress) {
        match event {
            load::Progress::Opening { opened, wanted } => {
                self.bar.set_message(plain(&format!("{}{opened} of {wanted} connections open", self.title)));
            }
            load::Progress::Processes(_) | load::Progress::Seen(_) => {}
            load::Progress::Started => self.begun = Some(Instant::now()),
            load::Progress::Sample(sample) => {
                let tick = Tick::of(sample);
                let stream = usize::from(sample.stream);
                if let Some(line) = self.reports.as_mut().and_then(|reports| reports.add(stream, &tick)) {
                    self.line(&line);
                }
                self.last[stream] = Some(tick);
                self.message();
            }
        }
    }

    /// The last second of all streams together, and the time left.
    fn message(&self) {
        let elapsed = self.begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.bar.set_position(elapsed.as_millis() as u64);
        let mut ticks = self.last.iter().flatten();
        let Some(mut all) = ticks.next().cloned() else { return };
        for tick in ticks {
            all.transactions.merge(&tick.transactions);
            all.errors += tick.errors;
            match (&mut all.schedule, &tick.schedule) {
                (Some(schedule), Some(other)) => schedule.merge_beside(other),
                (schedule @ None, other) => *schedule = other.clone(),
                _ => {}
            }
        }
        let line = all.line("", elapsed.as_secs_f64());
        let left = match self.total {
            Some(total) => format!("{:.0} s left", total.saturating_sub(elapsed).as_secs_f64()),
            None => format!("{:.0} s so far", elapsed.as_secs_f64()),
        };
        let offered = match (line.offered_per_second, line.backlog) {
            (Some(offered), Some(backlog)) => {
                format!(" of {} offered, backlog {}", number::per_second(offered), number::count(backlog))
            }
            _ => String::new(),
        };
        let errors =
            if all.errors > 0 { format!(", {} errors", number::count(all.errors)) } else { String::new() };
        self.bar.set_message(plain(&format!(
            "{}{} transactions/s{offered}, p95 {:.2} ms{errors}, {left}{}",
            self.title,
            number::per_second(line.transactions_per_second),
            line.p95_ms,
            self.load_hosts
        )));
    }

    /// Prints a line above the bar, or just a line where there is none.
    pub(super) fn line(&self, text: &str) {
        if self.bar.is_hidden() { aside(format_args!("{text}")) } else { self.bar.println(plain(text)) }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(milliseconds: u64, count: u64, never_sent: u64) -> Tick {
        let mut transactions = Tally { count, ..Tally::new("transactions") };
        (0..count).for_each(|_| transactions.service.record_ns(1_000_000));
        let schedule = Some(Schedule { offered: 2 * count, never_sent, ..Schedule::default() });
        let length = Duration::from_millis(milliseconds);
        Tick { length, transactions, errors: 1, schedule, phase: Phase::Measure }
    }

    fn reports(every: u64, as_json: bool) -> Reports {
        let names = vec!["main".to_owned()];
        let every = Duration::from_secs(every);
        Reports { every, as_json, names, gathered: vec![None], told: vec![Duration::ZERO] }
    }

    #[test]
    fn seconds_are_gathered_into_lines() {
        let mut reports = reports(2, false);
        assert_eq!(reports.add(0, &tick(999, 100, 5)), None);
        let line = reports.add(0, &tick(1000, 300, 9)).expect("a line");
        assert!(line.contains("200.1 tps") && line.contains("backlog 9"), "{line}");
        assert!(line.contains("offered 400/s") && line.contains("errors 1.0/s"), "{line}");
        let warm = Tick { phase: Phase::WarmUp, ..tick(2000, 10, 0) };
        assert!(reports.add(0, &warm).expect("a line").contains("warm-up"));
    }

    #[test]
    fn warm_up_and_measurement_are_never_in_one_line() {
        let mut reports = reports(2, true);
        assert_eq!(reports.add(0, &Tick { phase: Phase::WarmUp, ..tick(1000, 50, 0) }), None);
        assert_eq!(reports.add(0, &tick(1000, 100, 0)), None);
        let line = reports.add(0, &tick(1000, 100, 0)).expect("a line");
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["transactions_per_second"], 100.0);
        assert_eq!((&line["at_s"], &line["phase"]), (&3.0.into(), &"measure".into()));
    }
}
