//! A history of runs: what changed, run by run, with what else has differed since then, because one cause
//! often moves many series at once; and a chart of every series.

use crate::{
    analyse::{Between, Change, History, Place, Series},
    plan::{Metric, without_levels},
    report::{
        block::{Block, Cell, Item, List, Marks, Reach, Report, Section, Table, Tone},
        chart::{Axis, Chart, Drawing, Line, Lines, Mark, Numbers, Panel, Scale, Stroke, Tick},
        number,
        words::Words,
    },
};
use std::collections::BTreeMap;

/// The fewest runs that allow a conclusion at the required level.
const RUNS_MIN: usize = 10;
/// The most other differences that are listed for a change; `prony compare` lists them all.
const DIFFERENCES_MAX: usize = 8;

/// The series of one point, one for each metric.
struct Group<'a> {
    name: String,
    series: Vec<&'a Series>,
}

/// The full content of a history.
pub(in crate::report) fn history(history: &History, words: Words) -> Report {
    let mut followed = Section::new("followed", "");
    followed.add(Reach::Everywhere, List::of(Marks::Lines, heads(history, words)));
    let mut changed = Section::answer("changed", words.get("history", "changed"));
    let items = steps(history, words);
    if !items.is_empty() {
        changed.add(Reach::Everywhere, List { marks: Marks::Points, items });
    }
    changed.add(Reach::Everywhere, Block::Text(conclusion(history, words).to_owned()));
    let mut sections = vec![followed, changed];
    for (number, group) in groups(history, words).iter().enumerate() {
        let mut section = Section::new(&format!("series-{}", number + 1), &group.name);
        section.add(Reach::Everywhere, Block::Charts(charts(history, group, number, words)));
        sections.push(section);
    }
    let mut axes = Section::new("notes", "");
    axes.add(Reach::Page, Block::Text(words.get("history", "axes").to_owned()));
    if history.series.iter().flat_map(|series| &series.values).any(|value| value.doubtful) {
        axes.add(Reach::Page, Block::Text(words.get("history", "hollow").to_owned()));
    }
    let mut listed = Section::new("runs", words.get("history", "runs"));
    listed.add(Reach::Paper, runs(history, words));
    sections.extend([axes, listed]);
    Report {
        language: words.code(),
        title: words.fill("history", "title", &[("study", &history.study)]),
        titled: Reach::Everywhere,
        kind: "Prony".to_owned(),
        meta: Vec::new(),
        sections,
        foot: String::new(),
    }
}

/// A chart of each series of a point.
fn charts(history: &History, group: &Group<'_>, number: usize, words: Words) -> Vec<Chart> {
    let chart = |(place, series): (usize, &&Series)| {
        let numbers = match place {
            0 => Numbers::Table(table(history, group, words)),
            _ => Numbers::In(words.get("html", "table_of").to_owned()),
        };
        Chart {
            id: format!("series-{}-{}", number + 1, series.metric),
            title: metric(series, words),
            about: group.name.clone(),
            drawing: Drawing::Lines(lines(history, series, words)),
            numbers,
        }
    };
    group.series.iter().enumerate().map(chart).collect()
}

/// The values of a point, run by run.
fn table(history: &History, group: &Group<'_>, words: Words) -> Table {
    let metrics = group.series.iter().map(|series| metric(series, words));
    let heads = [words.get("history", "run").to_owned()].into_iter().chain(metrics).collect();
    let row = |(place, run): (usize, &Place)| {
        let values = group.series.iter().map(|series| {
            let value = series.values.iter().find(|value| value.place == place);
            Cell::number(value.map(|value| number::estimate(&value.estimate)).unwrap_or_default())
        });
        [Cell::name(&run.run.to_string())].into_iter().chain(values).collect()
    };
    Table::new("", heads, history.runs.iter().enumerate().map(row).collect())
}

/// Values with their intervals, the levels between changes, and how much the level changed.
fn lines(history: &History, series: &Series, words: Words) -> Lines {
    let mut values = Line {
        name: metric(series, words),
        look: Some(0),
        stroke: Stroke::None,
        has_points: true,
        values: vec![None; history.runs.len()],
        low: vec![None; history.runs.len()],
        high: vec![None; history.runs.len()],
        ..Line::default()
    };
    for value in &series.values {
        values.values[value.place] = Some(value.estimate.value);
        if let Some((low, high)) = value.estimate.interval() {
            (values.low[value.place], values.high[value.place]) = (Some(low), Some(high));
        }
        if value.doubtful {
            values.hollow.insert(value.place, words.get("level", "suspicious").to_owned());
        }
    }
    let mut places = vec![(0..history.runs.len()).map(|place| place as f64).collect()];
    let mut drawn = vec![values];
    for (from, to, level) in levels(series) {
        let level = Line { at: places.len(), values: vec![Some(level); 2], ..Line::default() };
        drawn.push(level);
        // extended to both sides, so that a level of only one run is visible
        places.push(vec![from as f64 - 0.3, to as f64 + 0.3]);
    }
    let tick = |(place, run): (usize, &Place)| {
        let labels: String = run.labels.iter().map(|label| format!(", {label}")).collect();
        Tick { at: place as f64, label: format!("{}\n({}{labels})", run.run, date(run)) }
    };
    let ticks = history.runs.iter().enumerate().map(tick).collect();
    let title = words.get("history", "run").to_owned();
    let mark = |change: &Change| Mark {
        at: f64::midpoint(change.place as f64, change.after as f64),
        text: format!("{:+.1} %", 100.0 * change.share()),
        is_good: is_better(series, change),
    };
    let y = Axis { title: metric(series, words), scale: Scale::Around, ..Axis::default() };
    Lines {
        x: Axis { title, unit: String::new(), scale: Scale::Order, ticks },
        places,
        panels: vec![Panel { y, lines: drawn, ..Panel::default() }],
        marks: series.changes.iter().map(mark).collect(),
        ..Lines::default()
    }
}

/// First and last place of each level, and its value.
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

/// What is followed over time.
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
    let common = words.subject(&common(history));
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

/// Levels that all series share, which distinguish nothing.
fn common(history: &History) -> BTreeMap<String, String> {
    let mut series = history.series.iter();
    let mut common = series.next().map(|series| series.levels.clone()).unwrap_or_default();
    for series in series {
        common.retain(|factor, level| series.levels.get(factor) == Some(level));
    }
    common
}

/// Series by their points, in the order of the history.
fn groups(history: &History, words: Words) -> Vec<Group<'_>> {
    let common = common(history);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for series in &history.series {
        let name = point(series, &common, words);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.series.push(series),
            None => groups.push(Group { name, series: vec![series] }),
        }
    }
    groups
}

/// `pool, connections 64`.
fn point(series: &Series, common: &BTreeMap<String, String>, words: Words) -> String {
    let mut levels = series.levels.clone();
    levels.retain(|factor, level| common.get(factor) != Some(level));
    let levels = words.subject(&levels);
    let server = without_levels(&series.server, &series.levels);
    if levels.is_empty() { server.to_owned() } else { format!("{server}, {levels}") }
}

/// The metric with its unit.
fn metric(series: &Series, words: Words) -> String {
    match series.metric {
        Metric::Throughput => words.get("history", "throughput").to_owned(),
        other => words.fill("history", "latency", &[("metric", &*other.to_string())]),
    }
}

fn date(place: &Place) -> String {
    place.started.strftime("%Y-%m-%d").to_string()
}

/// The runs that are followed.
fn runs(history: &History, words: Words) -> Table {
    let heads = ["run", "begun", "labels", "servers", "note"];
    let row = |place: &Place| {
        let versions = place.versions.iter().filter(|(_, version)| !version.is_empty());
        let versions: Vec<String> = versions.map(|(server, version)| format!("{server} {version}")).collect();
        let begun = place.started.strftime("%Y-%m-%d %H:%M UTC").to_string();
        [place.run.to_string(), begun, place.labels.join(", "), versions.join(", "), place.note.clone()]
            .map(|text| Cell::name(&text))
            .to_vec()
    };
    let heads = heads.map(|head| words.get("history", head).to_owned()).to_vec();
    Table::new("", heads, history.runs.iter().map(row).collect())
}

/// What changed, the newest run first.
fn steps(history: &History, words: Words) -> Vec<Item> {
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
        let changes = changes.iter().map(|(series, change)| line(series, change, &common, words));
        let rest = [differences(one, (before.run, run.run), words), note];
        let rest = rest.into_iter().filter(|text| !text.is_empty()).map(Item::text);
        let under = changes.chain(rest).collect();
        Item { under, ..Item::text(words.fill("history", "step", &places)) }
    };
    between.into_iter().map(step).collect()
}

/// Whether a change is for the better: more throughput, or less time.
fn is_better(series: &Series, change: &Change) -> bool {
    (change.share() > 0.0) == (series.metric.more_is_better())
}

fn line(series: &Series, change: &Change, common: &BTreeMap<String, String>, words: Words) -> Item {
    let places = [
        ("point", &*point(series, common, words)),
        ("metric", &metric(series, words)),
        ("percent", &format!("{:+.1}", 100.0 * change.share())),
        ("before", &number::rate(change.before_value)),
        ("after", &number::rate(change.after_value)),
    ];
    let tone = if is_better(series, change) { Tone::Good } else { Tone::Bad };
    Item { tone, ..Item::text(words.fill("history", "change", &places)) }
}

/// What else differs between the two runs.
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

/// How certain the conclusion is, or why there is none.
fn conclusion(history: &History, words: Words) -> &'static str {
    let is_changed = history.series.iter().any(|series| !series.changes.is_empty());
    let key = match (is_changed, history.runs.len() < RUNS_MIN) {
        (true, _) => "how",
        (false, true) => "few",
        (false, false) => "none",
    };
    words.get("history", key)
}
