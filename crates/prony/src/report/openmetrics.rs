//! The points as OpenMetrics text, for Prometheus' text-file collector, a push gateway, or any tool that
//! draws series of runs. Each figure is one gauge, with the study, the server, the stream, connections and
//! every factor as labels; the ends of its 95 % interval are separate gauges. Units are the base units that
//! OpenMetrics asks for: seconds and ratios. There are no time stamps, because the text-file collector
//! refuses them; `prony_run_finished_timestamp_seconds` says when the run ended.

use super::document::{Document, Estimate, Point};
use crate::{analyse::ClaimVerdict, escape};
use std::{collections::BTreeMap, fmt::Write as _};

type Labels = BTreeMap<String, String>;

/// The whole text, to `# EOF`.
pub(super) fn render(document: &Document) -> String {
    let mut text = String::new();
    let run = &document.run;
    let mut of_run = named([("study", run.name.as_str())]);
    if let Some(scale) = &run.scale {
        of_run.insert("scale".to_owned(), scale.clone());
    }
    let mut of_info = of_run.clone();
    of_info.extend(named([
        ("run", run.id.to_string().as_str()),
        ("title", &run.title),
        ("prony_version", &document.prony_version),
    ]));
    family(&mut text, ("prony_run", "info", "", "What was run"), [("_info", of_info, 1.0)]);
    let seconds = |time: &str| time.parse::<jiff::Timestamp>().map(|at| at.as_second() as f64).ok();
    let finished = run.finished.as_deref().and_then(seconds).map(|at| ("", of_run.clone(), at));
    family(
        &mut text,
        ("prony_run_finished_timestamp_seconds", "gauge", "seconds", "When the run ended"),
        finished,
    );
    for (name, value, help) in [
        ("prony_trials_planned", run.trials_planned, "Trials of the plan"),
        ("prony_trials_measured", run.trials_measured, "Trials that were measured"),
    ] {
        family(&mut text, (name, "gauge", "", help), [("", of_run.clone(), f64::from(value))]);
    }
    figures(&mut text, document, &of_run);
    claims(&mut text, document, &of_run);
    text.push_str("# EOF\n");
    text
}

/// The figures of every point.
fn figures(text: &mut String, document: &Document, of_run: &Labels) {
    let points: Vec<(Labels, &Point)> =
        document.points.iter().map(|point| (of_point(point, of_run), point)).collect();
    let measured = || points.iter().filter(|(_, point)| point.trials > 0);
    for (name, help, of) in [
        (
            "prony_transactions_per_second",
            "Throughput",
            (|point| &point.throughput) as fn(&Point) -> &Estimate,
        ),
        ("prony_statements_per_second", "Statements per second", |point| &point.statements_per_second),
    ] {
        let values = measured().map(|(labels, point)| (labels.clone(), of(point)));
        estimates(text, (name, "", help), &values.collect::<Vec<_>>(), 1.0);
    }
    let latencies = measured().flat_map(|(labels, point)| {
        point.latency_ms.iter().map(move |(name, estimate)| {
            let mut labels = labels.clone();
            labels.insert("statistic".to_owned(), name.clone());
            (labels, estimate)
        })
    });
    estimates(
        text,
        ("prony_response_time_seconds", "seconds", "Response time of a transaction"),
        &latencies.collect::<Vec<_>>(),
        1e-3,
    );
    let name = ("prony_error_ratio", "gauge", "ratio", "Errors per attempted transaction");
    family(text, name, measured().map(|(labels, point)| ("", labels.clone(), point.error_share)));
    let name = ("prony_doubts", "gauge", "", "Reasons to doubt the figures");
    family(text, name, points.iter().map(|(labels, point)| ("", labels.clone(), point.doubts.len() as f64)));
}

/// Each claim with its verdict.
fn claims(text: &mut String, document: &Document, of_run: &Labels) {
    let verdicts = [
        ("supported", ClaimVerdict::Supported),
        ("refuted", ClaimVerdict::Refuted),
        ("open", ClaimVerdict::Open),
    ];
    let states = document.claims.iter().flat_map(|claim| {
        verdicts.map(|(name, verdict)| {
            let mut labels = of_run.clone();
            labels.extend(named([("claim", &claim.says), ("prony_claim", name)]));
            ("", labels, f64::from(u8::from(claim.verdict == verdict)))
        })
    });
    family(text, ("prony_claim", "stateset", "", "What the run says of each claim"), states);
}

/// The labels of a point: its factors, server, stream and connections.
fn of_point(point: &Point, of_run: &Labels) -> Labels {
    let mut labels: Labels =
        point.levels.iter().map(|(factor, level)| (label_name(factor), level.clone())).collect();
    labels.extend(named([
        ("server", point.server.as_str()),
        ("stream", &point.stream),
        ("connections", &point.connections.to_string()),
    ]));
    labels.extend(of_run.clone());
    labels
}

fn named<const N: usize>(pairs: [(&str, &str); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// An estimate as up to three gauges: its value, and the ends of its interval if it has one. `scale` converts
/// to the base unit.
fn estimates(
    text: &mut String,
    (name, unit, help): (&str, &str, &str),
    values: &[(Labels, &Estimate)],
    scale: f64,
) {
    let end = |of: fn(&Estimate) -> Option<f64>| {
        let known = values.iter().filter_map(move |(labels, one)| Some((labels, of(one)?)));
        known.map(|(labels, value)| ("", labels.clone(), value * scale)).collect::<Vec<_>>()
    };
    family(text, (name, "gauge", unit, help), end(|estimate| Some(estimate.value)));
    // the unit comes last in a name
    let stem = name.strip_suffix("_seconds").unwrap_or(name);
    let unit_end = &name[stem.len()..];
    let low = format!("{help}, lower end of the 95 % interval");
    family(text, (&format!("{stem}_low{unit_end}"), "gauge", unit, &low), end(|estimate| estimate.low));
    let high = format!("{help}, upper end of the 95 % interval");
    family(text, (&format!("{stem}_high{unit_end}"), "gauge", unit, &high), end(|estimate| estimate.high));
}

/// A family of metrics with its samples: suffix of the name, labels, value. Without samples, nothing is
/// written.
fn family<'a>(
    text: &mut String,
    (name, kind, unit, help): (&str, &str, &str, &str),
    samples: impl IntoIterator<Item = (&'a str, Labels, f64)>,
) {
    let mut samples = samples.into_iter().filter(|(_, _, value)| value.is_finite()).peekable();
    if samples.peek().is_none() {
        return;
    }
    // writing to a string does not fail
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}.");
    for (suffix, labels, value) in samples {
        let pairs = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", label_value(value)));
        let pairs = pairs.collect::<Vec<_>>().join(",");
        let _ = writeln!(text, "{name}{suffix}{{{pairs}}} {value}");
    }
}

/// A factor's name as a label name: `stream.connections` becomes `stream_connections`.
fn label_name(factor: &str) -> String {
    let mut name: String =
        factor.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit() || first == '_') || name.is_empty() {
        name.insert_str(0, "factor_"); // two underscores at the beginning belong to Prometheus
    }
    name
}

/// A label value, as the grammar of OpenMetrics requires.
fn label_value(text: &str) -> String {
    escape::plain(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
