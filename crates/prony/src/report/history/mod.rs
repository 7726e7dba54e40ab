//! A history of runs as text: for the terminal, as Markdown, and as one HTML page with a chart of every
//! series, drawn here: it needs neither a script nor a network. What changed is told run by run, with what
//! else is different since then: one cause moves many series at once.

mod chart;

use super::{
    Error, Options, html, number,
    table::Tone,
    terminal::{self, WIDTH_MIN},
    words::{Language, Words, subject},
};
use crate::{
    analyse::{Between, Change, History, Place, Series},
    escape,
    plan::without_levels,
};
use minijinja::context;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write as _};

const TEMPLATE: &str = include_str!("../html/history.html");
const STYLE: &str = include_str!("../html/report.css");

/// Runs that a sketch on the terminal shows, the last ones: where there is room for them.
const SKETCHED_MAX: usize = 40;
/// And the fewest.
const SKETCHED_MIN: usize = 8;
/// Runs below which nothing can be told at the level that is asked for.
const RUNS_MIN: usize = 10;
/// Other differences that are told of a change; `prony compare` has them all.
const DIFFERENCES_MAX: usize = 8;
/// A sketch or chart is as high as this share of a value at least: less is not worth a look, and chance alone
/// fills it.
const HEIGHT_MIN: f64 = 0.1;

/// Series of one point, one for each metric.
struct Group<'a> {
    name: String,
    series: Vec<&'a Series>,
}

/// What changed from one run on.
#[derive(Serialize)]
struct Step {
    /// Which run, after which one.
    head: String,
    /// The series that changed, the greatest change first.
    changes: Vec<Line>,
    /// What else is different since then.
    differences: String,
    /// What people wrote down about the run; empty: nothing.
    note: String,
}

/// One series that changed.
#[derive(Serialize)]
struct Line {
    text: String,
    tone: Tone,
}

/// For the terminal: one line for each series, then what changed.
#[must_use]
pub fn terminal(history: &History, options: &Options) -> String {
    let words = Words::of(options.language);
    let width = usize::from(options.width).max(WIDTH_MIN);
    let mut text = String::new();
    let title = words.fill("history", "title", &[("study", &history.study)]);
    let mut put = |line: &str, indent: &str| terminal::put_wrapped(&mut text, line, indent, width);
    put(&terminal::bold(&title, options), "");
    heads(history, words).iter().for_each(|line| put(line, "  "));
    let latest = |series: &Series| series.values.last().map(|value| number::estimate(&value.estimate));
    let names = history.series.iter().map(|series| terminal::width_of(&metric(series, words)));
    let name_width = names.max().unwrap_or(0);
    let values = history.series.iter().filter_map(latest).map(|value| terminal::width_of(&value));
    let room = width.saturating_sub(name_width + values.max().unwrap_or(0) + 6);
    let sketched = room.clamp(SKETCHED_MIN, SKETCHED_MAX).min(history.runs.len());
    for group in groups(history) {
        let _ = writeln!(text, "\n{}", group.name);
        for series in group.series {
            let name = metric(series, words);
            let pad = " ".repeat(name_width - terminal::width_of(&name));
            let (sketch, value) = (sketch(history, series, sketched), latest(series).unwrap_or_default());
            let _ = writeln!(text, "  {name}{pad}  {sketch}  {value}");
        }
    }
    let _ = writeln!(text, "\n{}", terminal::bold(words.get("history", "changed"), options));
    for step in steps(history, words) {
        let mut put = |line: &str, indent: &str| terminal::put_wrapped(&mut text, line, indent, width);
        put(&format!("• {}", step.head), "  ");
        for line in step.changes.iter().map(|line| &line.text).chain([&step.differences, &step.note]) {
            if !line.is_empty() {
                // a space that does not break keeps the indent
                put(&format!("\u{a0} {line}"), "    ");
            }
        }
    }
    terminal::put_wrapped(&mut text, conclusion(history, words), "", width);
    text
}

/// For a ticket or a wiki.
#[must_use]
pub fn markdown(history: &History, language: Language) -> String {
    let words = Words::of(language);
    let mut text =
        format!("# {}\n\n", escape::markdown(&words.fill("history", "title", &[("study", &history.study)])));
    for line in heads(history, words) {
        let _ = writeln!(text, "{}\n", escape::markdown(&line));
    }
    let _ = writeln!(text, "## {}\n", words.get("history", "changed"));
    for step in steps(history, words) {
        let _ = writeln!(text, "* {}", escape::markdown(&step.head));
        for line in step.changes.iter().map(|line| &line.text).chain([&step.differences, &step.note]) {
            if !line.is_empty() {
                let _ = writeln!(text, "  * {}", escape::markdown(line));
            }
        }
    }
    let _ = writeln!(text, "\n{}", escape::markdown(conclusion(history, words)));
    let mut put_table = |title: &str, heads: &[String], rows: Vec<Vec<String>>| {
        let line = |cells: &[String]| {
            format!(
                "| {} |\n",
                cells.iter().map(|cell| escape::markdown(cell)).collect::<Vec<_>>().join(" | ")
            )
        };
        let _ = write!(
            text,
            "\n## {}\n\n{}|{}\n",
            escape::markdown(title),
            line(heads),
            "---|".repeat(heads.len())
        );
        rows.iter().for_each(|row| text.push_str(&line(row)));
    };
    put_table(words.get("history", "runs"), &run_heads(words), rows(history));
    for group in groups(history) {
        let metrics = group.series.iter().map(|series| metric(series, words));
        let heads: Vec<String> =
            [words.get("history", "run").to_owned()].into_iter().chain(metrics).collect();
        let row = |(place, run): (usize, &Place)| {
            let values = group.series.iter().map(|series| {
                let value = series.values.iter().find(|value| value.place == place);
                value.map(|value| number::estimate(&value.estimate)).unwrap_or_default()
            });
            [run.run.to_string()].into_iter().chain(values).collect::<Vec<_>>()
        };
        put_table(&group.name, &heads, history.runs.iter().enumerate().map(row).collect());
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
        unit: String,
        svg: String,
    }
    let words = Words::of(language);
    let drawn: Vec<Drawn> = groups(history)
        .iter()
        .flat_map(|group| {
            group.series.iter().map(|series| Drawn {
                name: group.name.clone(),
                unit: metric(series, words),
                svg: chart::draw(history, series),
            })
        })
        .collect();
    let is_doubtful = history.series.iter().flat_map(|series| &series.values).any(|value| value.doubtful);
    let mut environment = html::environment();
    environment.add_template("history", TEMPLATE)?;
    Ok(environment.get_template("history")?.render(context! {
        language => words.code(),
        words => words.table(),
        title => words.fill("history", "title", &[("study", &history.study)]),
        heads => heads(history, words),
        steps => steps(history, words),
        conclusion => conclusion(history, words),
        run_heads => run_heads(words),
        rows => rows(history),
        drawn => drawn,
        is_doubtful => is_doubtful,
        style => minijinja::Value::from_safe_string(STYLE.to_owned()),
    })?)
}

/// What is followed.
fn heads(history: &History, words: Words) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(first), Some(last)) = (history.runs.first(), history.runs.last()) {
        let key = if history.runs.len() == 1 { "one_run" } else { "span" };
        let places = [
            ("count", &*number::count(history.runs.len() as u64)),
            ("first", &first.run.to_string()),
            ("since", &date(first)),
            ("last", &last.run.to_string()),
            ("until", &date(last)),
        ];
        lines.push(words.fill("history", key, &places));
    }
    let common = subject(&common(history));
    if !common.is_empty() {
        lines.push(words.fill("history", "common", &[("levels", &common)]));
    }
    if !history.other_scales.is_empty() {
        let none = words.get("history", "no_scale");
        let name = |scale: &String| if scale.is_empty() { none.to_owned() } else { scale.clone() };
        let places = [
            ("count", &*number::count(history.other_scales.values().map(|&count| u64::from(count)).sum())),
            ("scales", &history.other_scales.keys().map(name).collect::<Vec<_>>().join(", ")),
        ];
        lines.push(words.fill("history", "other_scales", &places));
    }
    lines
}

/// Levels that all series share: they tell nothing apart.
fn common(history: &History) -> BTreeMap<String, String> {
    let mut series = history.series.iter();
    let mut common = series.next().map(|series| series.levels.clone()).unwrap_or_default();
    for series in series {
        common.retain(|factor, level| series.levels.get(factor) == Some(level));
    }
    common
}

/// Series by their points, in the order of the history.
fn groups(history: &History) -> Vec<Group<'_>> {
    let common = common(history);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for series in &history.series {
        let name = point(series, &common);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.series.push(series),
            None => groups.push(Group { name, series: vec![series] }),
        }
    }
    groups
}

/// `pool, connections 64`.
fn point(series: &Series, common: &BTreeMap<String, String>) -> String {
    let mut levels = series.levels.clone();
    levels.retain(|factor, level| common.get(factor) != Some(level));
    let levels = subject(&levels);
    let server = without_levels(&series.server, &series.levels);
    if levels.is_empty() { server.to_owned() } else { format!("{server}, {levels}") }
}

/// The metric with its unit.
fn metric(series: &Series, words: Words) -> String {
    match series.metric.as_str() {
        "throughput" => words.get("history", "throughput").to_owned(),
        name => words.fill("history", "latency", &[("metric", name)]),
    }
}

fn date(place: &Place) -> String {
    place.started.strftime("%Y-%m-%d").to_string()
}

fn run_heads(words: Words) -> Vec<String> {
    ["run", "begun", "labels", "servers", "note"].map(|head| words.get("history", head).to_owned()).to_vec()
}

fn rows(history: &History) -> Vec<Vec<String>> {
    let row = |place: &Place| {
        let versions = place.versions.iter().filter(|(_, version)| !version.is_empty());
        let versions: Vec<String> = versions.map(|(server, version)| format!("{server} {version}")).collect();
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

/// What changed, the newest run first.
fn steps(history: &History, words: Words) -> Vec<Step> {
    let common = common(history);
    let mut between: Vec<&Between> = history.between.iter().collect();
    between.sort_by_key(|one| std::cmp::Reverse((one.place, one.after)));
    let step = |one: &Between| {
        let (run, before) = (&history.runs[one.place], &history.runs[one.after]);
        let labels =
            if run.labels.is_empty() { String::new() } else { format!(" ({})", run.labels.join(", ")) };
        let places = [
            ("run", &*run.run.to_string()),
            ("date", &date(run)),
            ("labels", &labels),
            ("before", &before.run.to_string()),
        ];
        let mut changes: Vec<(&Series, &Change)> = history
            .series
            .iter()
            .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
            .filter(|(_, change)| (change.place, change.after) == (one.place, one.after))
            .collect();
        changes.sort_by(|one, other| other.1.share().abs().total_cmp(&one.1.share().abs()));
        let note = if run.note.is_empty() {
            String::new()
        } else {
            words.fill("history", "note_of", &[("run", &run.run.to_string()), ("note", &run.note)])
        };
        Step {
            head: words.fill("history", "step", &places),
            changes: changes.iter().map(|(series, change)| line(series, change, &common, words)).collect(),
            differences: differences(one, (before.run, run.run), words),
            note,
        }
    };
    between.into_iter().map(step).collect()
}

/// More throughput is better, and less time.
fn is_better(series: &Series, change: &Change) -> bool {
    (change.share() > 0.0) == (series.metric == "throughput")
}

fn line(series: &Series, change: &Change, common: &BTreeMap<String, String>, words: Words) -> Line {
    let places = [
        ("point", &*point(series, common)),
        ("metric", &metric(series, words)),
        ("percent", &format!("{:+.1}", 100.0 * change.share())),
        ("before", &number::rate(change.before_value)),
        ("after", &number::rate(change.after_value)),
    ];
    let tone = if is_better(series, change) { Tone::Good } else { Tone::Bad };
    Line { text: words.fill("history", "change", &places), tone }
}

/// What else is not the same in both runs.
fn differences(between: &Between, (before, run): (i64, i64), words: Words) -> String {
    let all = &between.differences;
    if all.is_empty() {
        let key = if between.is_known { "nothing_else" } else { "nothing_known" };
        return words.get("history", key).to_owned();
    }
    let none = words.get("history", "nothing").to_owned();
    let told = all.iter().take(DIFFERENCES_MAX).map(|one| {
        let places = [
            ("of", &*one.of),
            ("what", &one.what),
            ("base", one.base.as_ref().unwrap_or(&none)),
            ("run", one.run.as_ref().unwrap_or(&none)),
        ];
        words.fill("history", "difference", &places)
    });
    let mut told: Vec<String> = told.collect();
    if all.len() > DIFFERENCES_MAX {
        let places = [
            ("count", &*(all.len() - DIFFERENCES_MAX).to_string()),
            ("before", &before.to_string()),
            ("run", &run.to_string()),
        ];
        told.push(words.fill("history", "more_differences", &places));
    }
    words.fill("history", "differ", &[("differences", &told.join(words.get("sentence", "semicolon")))])
}

/// How sure what was said is, or why nothing was.
fn conclusion(history: &History, words: Words) -> &'static str {
    let is_changed = history.series.iter().any(|series| !series.changes.is_empty());
    let key = match (is_changed, history.runs.len() < RUNS_MIN) {
        (true, _) => "how",
        (false, true) => "few",
        (false, false) => "none",
    };
    words.get("history", key)
}

/// The lowest and the highest value, at least [`HEIGHT_MIN`] apart.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let middle = f64::midpoint(low, high);
    let half = ((high - low) / 2.0).max(HEIGHT_MIN / 2.0 * middle);
    (middle - half, middle + half)
}

/// The last runs of a series in eight heights; a run without a value is a gap.
fn sketch(history: &History, series: &Series, runs: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let from = history.runs.len().saturating_sub(runs);
    let shown = || series.values.iter().filter(|value| value.place >= from);
    let (low, high) = span(shown().map(|value| value.estimate.value));
    let mut sketch = vec![' '; history.runs.len() - from];
    for value in shown() {
        let share = (value.estimate.value - low) / (high - low);
        sketch[value.place - from] = HEIGHTS[((share * 7.0).round() as usize).min(7)];
    }
    sketch.into_iter().collect()
}

#[cfg(test)]
mod tests;
