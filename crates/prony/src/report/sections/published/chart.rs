//! Published ratios and those of a run as curves in one chart, and, in words, where their directions agree.

use super::super::curves::look;
use crate::{
    analyse::{Pair, Published, Shape},
    plan::Metric,
    report::{
        block::Item,
        chart::{Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Stroke, Tick},
        document::Document,
        words::Words,
    },
};
use std::collections::BTreeMap;

/// The axis that ratios are drawn along.
enum Along<'a> {
    /// A factor with numeric levels: one curve for each level that is compared with the base.
    Factor(&'a str),
    /// The compared factor itself, with numeric levels: one curve.
    Compared,
    /// The levels of a factor, side by side.
    Names,
}

/// Ratios of one metric that differ only in their place.
struct Group<'a> {
    metric: Metric,
    levels: BTreeMap<String, String>,
    pairs: Vec<&'a Pair>,
}

/// The chart; `None`: there is no ratio to draw.
pub(super) fn chart(published: &Published, document: &Document, words: Words) -> Option<Chart> {
    let along = along(published);
    let groups = groups(published, &along);
    let mut places: Vec<Vec<f64>> = Vec::new();
    let mut ticks: Vec<Tick> = Vec::new();
    for pair in groups.iter().flat_map(|group| &group.pairs) {
        let label = label(pair, &along);
        if !ticks.iter().any(|tick| tick.label == label) {
            let at = if let Along::Names = along { ticks.len() as f64 } else { place(pair, &along, &[]) };
            ticks.push(Tick { at, label: label.to_owned() });
        }
    }
    ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut panels: Vec<Panel> = Vec::new();
    for (option, group) in groups.iter().enumerate() {
        let mut lines = Vec::new();
        for curve in curves(group, &along) {
            let at: Vec<f64> = curve.iter().map(|pair| place(pair, &along, &ticks)).collect();
            lines.extend(drawn(&curve, &along, (published, document), places.len(), words));
            places.push(at);
        }
        if !matches!(along, Along::Names) {
            lines.push(base(published, places.len(), ticks.len()));
            places.push(ticks.iter().map(|tick| tick.at).collect());
        }
        let title = words.fill("text", "ratio_to", &[("base", &published.compared.1)]);
        let y = Axis {
            title: format!("{} – {title}", words.metric(group.metric)),
            scale: Scale::Logarithmic,
            ..Axis::default()
        };
        panels.push(Panel { y, lines, when: vec![(0, option)], ..Panel::default() });
    }
    let options: Vec<String> = groups.iter().map(|group| about(group, words)).collect();
    let title = words.get("text", "published_of").to_owned();
    let x = Axis {
        title: title_of(published, &along, words),
        scale: scale(&along, &ticks),
        ticks,
        ..Axis::default()
    };
    (!panels.is_empty()).then(|| Chart {
        id: "published".to_owned(),
        title: words.get("text", "published").to_owned(),
        about: String::new(),
        drawing: Drawing::Lines(Lines {
            choices: vec![Choice { title, options, first: 0 }],
            x,
            places,
            panels,
            ..Lines::default()
        }),
        numbers: Numbers::In(words.get("text", "published").to_owned()),
    })
}

/// For each curve, where its direction matches the published one, where it is the opposite, and where that is
/// open.
pub(super) fn sentences(published: &Published, words: Words) -> Vec<Item> {
    let along = along(published);
    let of_curve = |group: &Group<'_>, curve: &[&Pair]| {
        let at = |shape: Shape| -> Option<String> {
            let of_shape = curve.iter().filter(|pair| pair.shape == shape);
            let names: Vec<String> = of_shape.map(|pair| label(pair, &along).to_owned()).collect();
            let key = match shape {
                Shape::Agrees => "direction_agrees",
                Shape::Contradicts => "direction_contradicts",
                Shape::Open => "direction_open",
            };
            (!names.is_empty()).then(|| words.fill("shape", key, &[("places", &words.listed(&names))]))
        };
        let parts = [Shape::Agrees, Shape::Contradicts, Shape::Open].into_iter().filter_map(at);
        let text = parts.collect::<Vec<_>>().join(words.get("sentence", "semicolon"));
        let lead = match (&along, about(group, words)) {
            (Along::Factor(_), about) => format!("{}, {about}", curve[0].one),
            (_, about) => about,
        };
        Item::about(&lead, text)
    };
    let groups = groups(published, &along);
    let of_group = |group: &Group<'_>| -> Vec<Item> {
        curves(group, &along).iter().map(|curve| of_curve(group, curve)).collect()
    };
    groups.iter().flat_map(of_group).collect()
}

fn along(published: &Published) -> Along<'_> {
    let is_number = |text: &String| text.parse::<f64>().is_ok_and(|number| number > 0.0);
    let mut levels: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for (factor, level) in published.pairs.iter().flat_map(|pair| &pair.levels) {
        let known = levels.entry(factor).or_default();
        if !known.contains(&level) {
            known.push(level);
        }
    }
    let numeric =
        levels.iter().filter(|(_, levels)| levels.len() > 1 && levels.iter().all(|one| is_number(one)));
    match numeric.max_by_key(|(_, levels)| levels.len()) {
        Some((factor, _)) => Along::Factor(factor),
        None if published.pairs.iter().all(|pair| is_number(&pair.one)) => Along::Compared,
        None => Along::Names,
    }
}

fn groups<'a>(published: &'a Published, along: &Along<'_>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for pair in &published.pairs {
        let mut levels = pair.levels.clone();
        if let Along::Factor(factor) = along {
            levels.remove(*factor);
        }
        match groups.iter_mut().find(|group| group.metric == pair.metric && group.levels == levels) {
            Some(group) => group.pairs.push(pair),
            None => groups.push(Group { metric: pair.metric, levels, pairs: vec![pair] }),
        }
    }
    groups
}

/// The curves of a group, lowest place first.
fn curves<'a>(group: &Group<'a>, along: &Along<'_>) -> Vec<Vec<&'a Pair>> {
    let mut curves: Vec<Vec<&'a Pair>> = Vec::new();
    for &pair in &group.pairs {
        let is_own = |curve: &&mut Vec<&Pair>| match along {
            Along::Factor(_) => curve[0].one == pair.one,
            Along::Compared | Along::Names => true,
        };
        match curves.iter_mut().find(is_own) {
            Some(curve) => curve.push(pair),
            None => curves.push(vec![pair]),
        }
    }
    if !matches!(along, Along::Names) {
        for curve in &mut curves {
            curve.sort_by(|a, b| place(a, along, &[]).total_cmp(&place(b, along, &[])));
        }
    }
    curves
}

/// A curve as published and as measured, with its intervals.
fn drawn(
    curve: &[&Pair],
    along: &Along<'_>,
    (published, document): (&Published, &Document),
    at: usize,
    words: Words,
) -> [Line; 2] {
    let (is_named, first) = (matches!(along, Along::Names), curve[0]);
    let is_of_one = matches!(along, Along::Factor(_));
    let name = if is_of_one { document.shown(&first.one) } else { &*published.compared.0 };
    let ones: Vec<&String> = published.pairs.iter().map(|pair| &pair.one).collect();
    let place = ones.iter().position(|one| **one == first.one).unwrap_or(0);
    let colour = if published.compared.0 == "server" { look(document, name) } else { place };
    // where there is only one curve, the legend names its two versions
    let line = |note: &str, stroke: Stroke, value: fn(&Pair) -> f64| Line {
        name: if is_of_one { words.factor(name) } else { words.get("head", note).to_owned() },
        note: if is_of_one { words.get("head", note).to_lowercase() } else { String::new() },
        look: Some(if is_of_one { colour } else { 0 }),
        stroke: if is_named { Stroke::None } else { stroke },
        has_points: true,
        at,
        values: curve.iter().map(|pair| Some(value(pair))).collect(),
        ..Line::default()
    };
    let then = line("published", Stroke::Dashed, |pair| pair.published);
    let now = line("measured", Stroke::Solid, |pair| pair.measured.value);
    let low = curve.iter().map(|pair| pair.measured.low.filter(|low| *low > 0.0)).collect();
    let high = curve.iter().map(|pair| pair.measured.high).collect();
    let then = if is_named { Line { look: None, ..then } } else { then };
    [then, Line { low, high, ..now }]
}

/// The base, which is 1 everywhere.
fn base(published: &Published, at: usize, places: usize) -> Line {
    let name = published.compared.1.clone();
    Line { name, stroke: Stroke::Dotted, at, values: vec![Some(1.0); places], ..Line::default() }
}

fn label<'a>(pair: &'a Pair, along: &Along<'_>) -> &'a str {
    match along {
        Along::Factor(factor) => pair.levels.get(*factor).map_or("", String::as_str),
        Along::Compared | Along::Names => &pair.one,
    }
}

fn place(pair: &Pair, along: &Along<'_>, ticks: &[Tick]) -> f64 {
    let label = label(pair, along);
    let known = ticks.iter().find(|tick| tick.label == label).map(|tick| tick.at);
    known.or_else(|| label.parse().ok()).unwrap_or(0.0)
}

fn scale(along: &Along<'_>, ticks: &[Tick]) -> Scale {
    match (along, ticks) {
        (Along::Names, _) => Scale::Names,
        (_, [first, .., last]) if last.at / first.at > 2.0 => Scale::Doubling,
        _ => Scale::Around,
    }
}

fn title_of(published: &Published, along: &Along<'_>, words: Words) -> String {
    match along {
        Along::Factor(factor) => words.factor(factor),
        Along::Compared | Along::Names => words.factor(&published.compared.0),
    }
}

/// `95th percentile, oltp_read_only`.
fn about(group: &Group<'_>, words: Words) -> String {
    let metric = words.metric(group.metric);
    match words.subject(&group.levels) {
        levels if levels.is_empty() => metric,
        levels => format!("{metric}, {levels}"),
    }
}
