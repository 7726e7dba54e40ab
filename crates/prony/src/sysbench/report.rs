//! What sysbench prints about a run, letter for letter: 1.0's form, and 0.5's for tests of that time. Exact
//! percentiles and JSON are Prony's addition.

use script::{Stat, Tally};
use serde::Serialize;

/// Which sysbench's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Of10,
    Of05,
}

/// What a report shows in addition to counts.
#[derive(Debug, Clone)]
pub(super) struct Style {
    pub(super) form: Form,
    /// 0: none.
    pub(super) percentile: u64,
    /// More of them, exact.
    pub(super) percentiles: Vec<f64>,
    pub(super) histogram: bool,
    /// Whether events start at a rate.
    pub(super) is_open: bool,
}

impl Style {
    /// The line of an interval.
    pub(super) fn interval(&self, stat: &Stat) -> String {
        let (seconds, tally) = (stat.length.as_secs_f64(), &stat.tally);
        let per = |count: u64| count as f64 / seconds;
        let (at, running, percent) = (stat.total.as_secs_f64(), stat.running, self.percentile);
        let latency = tally.bins.percentile(percent as f64);
        let mut text = match self.form {
            Form::Of10 => format!(
                "[ {at:.0}s ] thds: {running} tps: {:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) lat \
                 (ms,{percent}%): {latency:4.2} err/s: {:4.2} reconn/s: {:4.2}\n",
                per(tally.events()),
                per(tally.queries()),
                per(tally.reads()),
                per(tally.writes()),
                per(tally.other()),
                per(tally.errors()),
                per(tally.reconnects())
            ),
            Form::Of05 => format!(
                "[{at:4.0}s] threads: {running}, tps: {:4.2}, reads: {:4.2}, writes: {:4.2}, response time: \
                 {latency:4.2}ms ({percent}%), errors: {:4.2}, reconnects: {:5.2}\n",
                per(tally.events()),
                per(tally.reads()),
                per(tally.writes()),
                per(tally.errors()),
                per(tally.reconnects())
            ),
        };
        if self.is_open {
            text.push_str(&format!(
                "[ {at:.0}s ] queue length: {}, concurrency: {}\n",
                stat.queued, stat.busy
            ));
        }
        text
    }

    /// The report of a checkpoint or of the whole run; `unfinished`: events that were cut off.
    pub(super) fn full(&self, stat: &Stat, unfinished: Option<u32>) -> String {
        let tally = &stat.tally;
        let mut text = String::new();
        if self.histogram {
            text.push_str("Latency histogram (values are in milliseconds)\n");
            text.push_str(&script::histogram_text(&tally.bins));
            text.push_str(" \n");
        }
        text.push_str(&self.statements(stat));
        if let Some(unfinished) = unfinished {
            text.push_str(&format!("Number of unfinished transactions on forced shutdown: {unfinished}\n\n"));
        }
        text.push_str(&format!(
            "General statistics:\n    total time:                          {:.4}s\n    total number of \
             events:              {}\n",
            stat.total.as_secs_f64(),
            tally.events()
        ));
        text.push_str(&self.latency(tally));
        let events = spread(tally.threads.iter().map(|(events, _)| *events as f64));
        let times = spread(tally.threads.iter().map(|(_, time)| time.as_secs_f64()));
        text.push_str(&format!(
            "Threads fairness:\n    events (avg/stddev):           {:.4}/{:3.2}\n    execution time \
             (avg/stddev):   {:.4}/{:3.2}\n\n",
            events.0, events.1, times.0, times.1
        ));
        text
    }

    fn statements(&self, stat: &Stat) -> String {
        let (seconds, tally) = (stat.length.as_secs_f64(), &stat.tally);
        let counted = |name: &str, count: u64| {
            format!("    {:<37}{count:<6} ({:.2} per sec.)\n", format!("{name}:"), count as f64 / seconds)
        };
        let title = if self.form == Form::Of05 { "OLTP test statistics" } else { "SQL statistics" };
        let mut text = format!("{title}:\n    queries performed:\n");
        let kinds = [("read", tally.reads()), ("write", tally.writes()), ("other", tally.other())];
        for (name, count) in kinds.into_iter().chain([("total", tally.queries())]) {
            text.push_str(&format!("        {:<33}{count}\n", format!("{name}:")));
        }
        text.push_str(&counted("transactions", tally.events()));
        match self.form {
            Form::Of10 => text.push_str(&counted("queries", tally.queries())),
            Form::Of05 => {
                text.push_str(&counted("read/write requests", tally.reads() + tally.writes()));
                text.push_str(&counted("other operations", tally.other()));
            }
        }
        text.push_str(&counted("ignored errors", tally.errors()));
        text.push_str(&counted("reconnects", tally.reconnects()));
        text.push('\n');
        text
    }

    fn latency(&self, tally: &Tally) -> String {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let events = tally.events();
        let mean = ms(tally.sum) / events.max(1) as f64;
        let (least, most) = if events == 0 { (0.0, 0.0) } else { (ms(tally.min), ms(tally.max)) };
        let at = tally.bins.percentile(self.percentile as f64);
        if self.form == Form::Of05 {
            let percentile = match self.percentile {
                0 => String::new(),
                percent => format!("         approx. {percent:3} percentile:         {at:10.2}ms\n"),
            };
            let sum = tally.sum.as_secs_f64();
            return format!(
                "    total time taken by event execution: {sum:.4}s\n    response time:\n\
                 \x20        min: {least:>38.2}ms\n         avg: {mean:>38.2}ms\n\
                 \x20        max: {most:>38.2}ms\n{percentile}\n"
            );
        }
        let mut text = format!(
            "\nLatency (ms):\n         min: {least:>39.2}\n         avg: {mean:>39.2}\n\
             \x20        max: {most:>39.2}\n"
        );
        match self.percentile {
            0 => text.push_str("         percentile stats:               disabled\n"),
            percent => text.push_str(&format!("        {percent:3}th percentile: {at:>27.2}\n")),
        }
        for percent in &self.percentiles {
            let name = format!("{percent}th percentile, exact:");
            let at = tally.exact.quantile_ns(percent / 100.0) as f64 / 1e6;
            text.push_str(&format!("         {name:<30}{at:>14.2}\n"));
        }
        text.push_str(&format!("         sum: {:>39.2}\n\n", ms(tally.sum)));
        text
    }
}

/// Mean and standard deviation.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Figures of some time, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    time_s: f64,
    length_s: f64,
    threads: u32,
    events: u64,
    events_per_second: f64,
    queries_per_second: f64,
    reads: u64,
    writes: u64,
    other: u64,
    ignored_errors: u64,
    reconnects: u64,
    latency_ms: Latency,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Latency {
    min: f64,
    mean: f64,
    max: f64,
    /// By per cent: exact.
    percentiles: Vec<(f64, f64)>,
    /// As sysbench has it, on its grid.
    sysbench_percentile: f64,
}

impl Style {
    /// The same as [`Style::interval`] and [`Style::full`], as values.
    pub(super) fn figures(&self, stat: &Stat) -> Figures {
        let (seconds, tally) = (stat.length.as_secs_f64(), &stat.tally);
        let shown =
            if self.percentiles.is_empty() { &[50.0, 95.0, 99.0, 99.9][..] } else { &self.percentiles };
        let exact = |percent: &f64| (*percent, tally.exact.quantile_ns(percent / 100.0) as f64 / 1e6);
        Figures {
            time_s: stat.total.as_secs_f64(),
            length_s: seconds,
            threads: stat.running,
            events: tally.events(),
            events_per_second: tally.events() as f64 / seconds,
            queries_per_second: tally.queries() as f64 / seconds,
            reads: tally.reads(),
            writes: tally.writes(),
            other: tally.other(),
            ignored_errors: tally.errors(),
            reconnects: tally.reconnects(),
            latency_ms: Latency {
                min: tally.min.as_secs_f64() * 1e3,
                mean: tally.sum.as_secs_f64() * 1e3 / tally.events().max(1) as f64,
                max: tally.max.as_secs_f64() * 1e3,
                percentiles: shown.iter().map(exact).collect(),
                sysbench_percentile: tally.bins.percentile(self.percentile as f64),
            },
            queue_length: self.is_open.then_some(stat.queued),
            dropped: self.is_open.then_some(stat.dropped),
        }
    }
}
