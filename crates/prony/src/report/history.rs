//! A history of runs as text: for the terminal, as Markdown, and as one HTML page with a chart of every series, drawn here: it needs
//! neither a script nor a network.

use super::{Error, Language, number};
use crate::analyse::{Change, History, Series};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("html/history.html");
const STYLE: &str = include_str!("html/report.css");

/// Width and height of a chart, pixels.
const CHART: (f64, f64) = (720.0, 200.0);
/// Room around what is drawn, pixels.
const MARGIN: f64 = 14.0;
/// Runs that a sketch on the terminal shows, the last ones.
const SKETCHED_MAX: usize = 40;

/// Words of one language.
#[derive(Debug, Serialize)]
struct Words {
    language: &'static str,
    title: &'static str,
    runs: &'static str,
    run: &'static str,
    begun: &'static str,
    labels: &'static str,
    versions: &'static str,
    note: &'static str,
    changes: &'static str,
    none: &'static str,
    few: &'static str,
    how: &'static str,
    throughput: &'static str,
    latency: &'static str,
    latest: &'static str,
}

const ENGLISH: Words = Words {
    language: "en",
    title: "History of",
    runs: "Runs",
    run: "Run",
    begun: "Begun",
    labels: "Labels",
    versions: "Servers",
    note: "Note",
    changes: "What changed",
    none: "No series changed.",
    few: "With fewer than ten runs no change can be told from chance.",
    how: "Each series is judged by itself (E-divisive); where nothing changed, one in a hundred is called changed by chance.",
    throughput: "transactions per second",
    latency: "response time, ms",
    latest: "latest",
};

const CHINESE: Words = Words {
    language: "zh",
    title: "历史：",
    runs: "各次运行",
    run: "运行",
    begun: "开始时间",
    labels: "标签",
    versions: "服务器",
    note: "备注",
    changes: "发生的变化",
    none: "没有任何序列发生变化。",
    few: "少于十次运行时，无法区分变化与偶然波动。",
    how: "每个序列单独判断（E-divisive 方法）；没有变化时，约百分之一的序列会被偶然误判为有变化。",
    throughput: "每秒事务数",
    latency: "响应时间（毫秒）",
    latest: "最近一次",
};

/// Runs below which nothing can be told at the level that is asked for.
const RUNS_MIN: usize = 10;

fn words(language: Language) -> &'static Words {
    match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
    }
}

/// For the terminal: one line for each series, then what changed.
#[must_use]
pub fn terminal(history: &History, language: Language) -> String {
    let words = words(language);
    let mut text = format!("{} {} · {}: {}\n\n", words.title, history.study, words.runs, history.runs.len());
    let names: Vec<String> = history.series.iter().map(|series| name(series, words)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (series, name) in history.series.iter().zip(&names) {
        let pad = " ".repeat(width - name.chars().count());
        let last = series.values.last().map(|value| number::estimate(&value.estimate)).unwrap_or_default();
        text.push_str(&format!("{name}{pad}  {}  {}: {last}\n", sketch(series), words.latest));
    }
    text.push_str(&format!("\n{}\n", words.changes));
    for line in changes(history, words) {
        text.push_str(&format!("• {line}\n"));
    }
    text
}

/// For a ticket or a wiki.
#[must_use]
pub fn markdown(history: &History, language: Language) -> String {
    let words = words(language);
    let mut text = format!("# {} {}\n\n## {}\n\n", words.title, history.study, words.changes);
    for line in changes(history, words) {
        text.push_str(&format!("* {line}\n"));
    }
    let heads = [words.run, words.begun, words.labels, words.versions, words.note];
    text.push_str(&format!(
        "\n## {}\n\n| {} |\n|{}\n",
        words.runs,
        heads.join(" | "),
        "---|".repeat(heads.len())
    ));
    for cells in rows(history) {
        text.push_str(&format!("| {} |\n", cells.join(" | ").replace('\n', " ")));
    }
    for series in &history.series {
        text.push_str(&format!("\n### {}\n\n| {} | |\n|---|---|\n", name(series, words), words.run));
        for value in &series.values {
            let run = history.runs[value.place].run;
            text.push_str(&format!("| {run} | {} |\n", number::estimate(&value.estimate)));
        }
    }
    text
}

/// One self-contained page.
///
/// # Errors
/// [`Error::Template`] when the template is wrong.
pub fn html(history: &History, language: Language) -> Result<String, Error> {
    /// A chart with its heading.
    #[derive(Serialize)]
    struct Drawn {
        name: String,
        unit: &'static str,
        svg: String,
    }
    let words = words(language);
    let drawn: Vec<Drawn> = history
        .series
        .iter()
        .map(|series| Drawn {
            name: name(series, words),
            unit: unit(series, words),
            svg: chart(history, series),
        })
        .collect();
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("history", TEMPLATE)?;
    Ok(environment.get_template("history")?.render(context! {
        words => words,
        study => history.study,
        changes => changes(history, words),
        rows => rows(history),
        drawn => drawn,
        style => minijinja::Value::from_safe_string(STYLE.to_owned()),
    })?)
}

fn unit(series: &Series, words: &Words) -> &'static str {
    if series.metric == "throughput" { words.throughput } else { words.latency }
}

fn name(series: &Series, words: &Words) -> String {
    let levels = series.levels.iter().filter(|(factor, _)| *factor != "server");
    let levels: Vec<String> = levels.map(|(factor, level)| format!("{factor} {level}")).collect();
    let metric = if series.metric == "throughput" { words.throughput } else { &series.metric };
    [vec![series.server.clone()], levels, vec![metric.to_owned()]].concat().join(", ")
}

fn rows(history: &History) -> Vec<Vec<String>> {
    let row = |place: &crate::analyse::Place| {
        let versions: Vec<String> =
            place.versions.iter().map(|(server, version)| format!("{server} {version}")).collect();
        vec![
            place.run.to_string(),
            place.started.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            place.labels.join(", "),
            versions.join(", "),
            place.note.clone(),
        ]
    };
    history.runs.iter().map(row).collect()
}

/// The greatest changes first; or why there are none.
fn changes(history: &History, words: &Words) -> Vec<String> {
    let mut found: Vec<(&Series, &Change)> = history
        .series
        .iter()
        .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
        .collect();
    found.sort_by(|one, other| other.1.share().abs().total_cmp(&one.1.share().abs()));
    let mut lines: Vec<String> =
        found.into_iter().map(|(series, change)| sentence(history, series, change, words)).collect();
    if lines.is_empty() {
        lines.push(if history.runs.len() < RUNS_MIN { words.few } else { words.none }.to_owned());
    } else {
        lines.push(words.how.to_owned());
    }
    lines
}

fn sentence(history: &History, series: &Series, change: &Change, words: &Words) -> String {
    let (from, to) = (&history.runs[change.after], &history.runs[change.place]);
    let version =
        |place: &crate::analyse::Place| place.versions.get(&series.server).cloned().unwrap_or_default();
    let (was, is) = (version(from), version(to));
    let percent = format!("{:+.1} %", 100.0 * change.share());
    let (before, after) = (number::rate(change.before_value), number::rate(change.after_value));
    let name = name(series, words);
    let date = to.started.strftime("%Y-%m-%d");
    match words.language {
        "zh" => {
            let versions = if was == is { String::new() } else { format!("，版本由 {was} 变为 {is}") };
            format!(
                "{name}：{percent}（由 {before} 变为 {after}），从运行 {}（{date}）开始{versions}。",
                to.run
            )
        }
        _ => {
            let versions =
                if was == is { String::new() } else { format!("; the version went from {was} to {is}") };
            format!(
                "{name}: {percent} (from {before} to {after}) from run {} of {date} on{versions}.",
                to.run
            )
        }
    }
}

/// The series in eight heights.
fn sketch(series: &Series) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let values: Vec<f64> = series.values.iter().map(|value| value.estimate.value).collect();
    let values = &values[values.len().saturating_sub(SKETCHED_MAX)..];
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: &f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        HEIGHTS[((share * 7.0).round() as usize).min(7)]
    };
    values.iter().map(height).collect()
}

/// Values with their intervals over runs, levels between changes as lines.
fn chart(history: &History, series: &Series) -> String {
    let ends = series.values.iter().flat_map(|value| {
        let estimate = &value.estimate;
        [estimate.value, estimate.low.unwrap_or(estimate.value), estimate.high.unwrap_or(estimate.value)]
    });
    let high = ends.fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.05;
    let last = history.runs.len().saturating_sub(1).max(1) as f64;
    let x = |place: usize| MARGIN + place as f64 / last * (CHART.0 - 2.0 * MARGIN);
    let y = |value: f64| CHART.1 - MARGIN - value / high * (CHART.1 - 2.0 * MARGIN);
    let mut svg = format!(r#"<svg viewBox="0 0 {} {}" role="img" class="history">"#, CHART.0, CHART.1);
    let axis = y(0.0);
    svg.push_str(&format!(r#"<path class="axis" d="M{MARGIN} {axis:.1}H{:.1}"/>"#, CHART.0 - MARGIN));
    for (from, to, level) in levels(series) {
        let height = y(level);
        svg.push_str(&format!(
            r#"<path class="level" d="M{:.1} {height:.1}H{:.1}"/>"#,
            x(from) - 4.0,
            x(to) + 4.0
        ));
    }
    for change in &series.changes {
        let middle = (x(change.place) + x(change.after)) / 2.0;
        svg.push_str(&format!(r#"<path class="change" d="M{middle:.1} {MARGIN}V{axis:.1}"/>"#));
    }
    for value in &series.values {
        let (estimate, x) = (&value.estimate, x(value.place));
        if let Some((low, high)) = estimate.interval() {
            svg.push_str(&format!(r#"<path class="interval" d="M{x:.1} {:.1}V{:.1}"/>"#, y(low), y(high)));
        }
        let run = history.runs[value.place].run;
        let text = number::estimate(estimate);
        svg.push_str(&format!(
            r#"<circle cx="{x:.1}" cy="{:.1}" r="3.5"><title>{run}: {text}</title></circle>"#,
            y(estimate.value)
        ));
    }
    svg + "</svg>"
}

/// First and last place of each level, and its height.
fn levels(series: &Series) -> Vec<(usize, usize, f64)> {
    let (Some(first), Some(last)) = (series.values.first(), series.values.last()) else { return Vec::new() };
    let mut from = first.place;
    let mut levels = Vec::new();
    for change in &series.changes {
        levels.push((from, change.after, change.before_value));
        from = change.place;
    }
    if let Some(change) = series.changes.last() {
        levels.push((from, last.place, change.after_value));
    }
    levels
}
