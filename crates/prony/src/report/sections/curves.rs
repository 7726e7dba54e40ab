//! The charts of a group of points: throughput and response time along the axis, one against the other, the
//! distribution of response times, and trials second by second.

use crate::{
    analyse::{AxisKind, STREAM},
    report::{
        chart::{
            self, Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Shade, Stroke, Tick,
        },
        document::{Document, Estimate, Group, Point, Trial},
        group::{Rung, Series},
        heat::Heat,
        words::Words,
    },
};
use std::collections::BTreeMap;

/// The percentiles that the reader can choose from, and the one that is shown first.
const PERCENTILES: [&str; 4] = ["p50", "p95", "p99", "p99.9"];
const SHOWN: usize = 1;

/// Strokes of repeats.
const STROKES: [Stroke; 3] = [Stroke::Solid, Stroke::Dashed, Stroke::Dotted];

/// Axes that span more than this factor are spaced by how often values double.
const EVEN_MAX: f64 = 8.0;

/// All charts of a group.
pub(super) fn charts(document: &Document, group: &Group, slug: &str, words: Words) -> Vec<Chart> {
    let of = Of { document, group, words };
    let tradeoff = of.tradeoff().map(|lines| ("tradeoff", lines));
    let drawn = [("throughput", of.throughput()), ("latency", of.latency())];
    let heat = of.heat().map(|lines| ("heat", lines));
    let others = [("distribution", of.distribution()), ("timeline", of.timeline())];
    let name = slug.trim_start_matches("results").trim_start_matches('-');
    let all = drawn.into_iter().chain(tradeoff).chain(others).chain(heat);
    all.map(|(kind, lines)| of.chart(format!("{kind}-{name}"), kind, lines)).collect()
}

/// The one chart that shows the answer: from the table that the first finding is about, the chart of what
/// tells servers apart.
pub(super) fn picture(document: &Document, words: Words) -> Option<Chart> {
    let about = document.answer.about.as_str();
    let is_meant = |group: &&Group| !about.is_empty() && group.title.starts_with(about);
    let group = document.groups.iter().find(is_meant).or_else(|| document.groups.first())?;
    let of = Of { document, group, words };
    let mut points = (0..group.rungs.len()).flat_map(|place| of.points_at(place));
    // with a schedule, throughput is what was offered, so the response time tells servers apart
    let is_scheduled = points.any(|(_, point)| point.schedule.is_some());
    let metric = document.answer.metric.filter(|_| !is_scheduled).map(|metric| metric.to_string());
    let percentile = PERCENTILES.iter().position(|name| metric.as_deref() == Some(name));
    let (kind, lines) = match percentile.or(is_scheduled.then_some(SHOWN)) {
        Some(first) => {
            let mut lines = of.latency();
            lines.choices.iter_mut().for_each(|choice| choice.first = first);
            ("latency", lines)
        }
        None => ("throughput", of.throughput()),
    };
    let chart = of.chart("picture".to_owned(), kind, lines);
    let several = document.groups.len() > 1 && !group.title.is_empty();
    let title = |title: &str| format!("{title}{}{}", words.get("sentence", "comma"), group.title);
    Some(if several { Chart { title: title(&chart.title), ..chart } } else { chart })
}

/// Number of a series within the whole report: the same server has the same colour everywhere.
pub(super) fn look(document: &Document, name: &str) -> usize {
    let mut known: Vec<&str> = Vec::new();
    for series in document.groups.iter().flat_map(|group| &group.series) {
        if !known.contains(&series.name.as_str()) {
            known.push(&series.name);
        }
    }
    known.iter().position(|known| *known == name).unwrap_or(0)
}

struct Of<'a> {
    document: &'a Document,
    group: &'a Group,
    words: Words,
}

impl<'a> Of<'a> {
    fn chart(&self, id: String, kind: &str, lines: Lines) -> Chart {
        let numbers = if ["timeline", "heat"].contains(&kind) { "order" } else { "table_of" };
        Chart {
            id,
            title: self.words.get("html", &format!("chart_{kind}")).to_owned(),
            about: self.group.title.clone(),
            drawing: Drawing::Lines(lines),
            numbers: Numbers::In(self.words.get("html", numbers).to_owned()),
        }
    }

    fn throughput(&self) -> Lines {
        let mut lines = self.ladder(|point| Some(&point.throughput));
        let mut places = vec![self.places()];
        let index = self.document.groups.iter().position(|group| std::ptr::eq(group, self.group));
        for law in self.document.scalings.iter().filter(|law| Some(law.group) == index) {
            lines.push(Line {
                name: law.series.clone(),
                note: self.words.get("html", "law").to_owned(),
                look: Some(look(self.document, &law.series)),
                stroke: Stroke::Dotted,
                at: places.len(),
                values: law.points.iter().map(|point| Some(point.expected)).collect(),
                ..Line::default()
            });
            places.push(law.points.iter().map(|point| f64::from(point.connections)).collect());
        }
        lines.extend(self.offered());
        let y = self.axis("text", "unit_throughput", "/s", Scale::FromZero);
        let panels = vec![Panel { y, lines, ..Panel::default() }];
        Lines { x: self.along(), places, panels, ..Lines::default() }
    }

    fn latency(&self) -> Lines {
        let panel = |(place, name): (usize, &&'static str)| {
            let mut y = self.axis("text", "unit_latency", "ms", Scale::Logarithmic);
            y.title = format!("{name} – {}", y.title);
            let lines = self.ladder(|point| point.latency_ms.get(*name));
            Panel { y, lines, when: vec![(0, place)], ..Panel::default() }
        };
        Lines {
            choices: vec![self.percentiles()],
            x: self.along(),
            places: vec![self.places()],
            panels: PERCENTILES.iter().enumerate().map(panel).collect(),
            ..Lines::default()
        }
    }

    /// Response time against throughput, with a line along the rungs of each series; `None`: rungs have no
    /// order.
    fn tradeoff(&self) -> Option<Lines> {
        let mut places = Vec::new();
        let rungs = &self.group.rungs;
        let mut line = |series: &'a Series, percentile: &str| {
            let at = |(rung, point): (&Rung, &Option<usize>)| {
                let point = self.point(*point).filter(|point| point.trials > 0)?;
                Some((rung.label.clone(), point, point.latency_ms.get(percentile)?))
            };
            let points: Vec<(String, &Point, &Estimate)> =
                rungs.iter().zip(&series.points).filter_map(at).collect();
            let overloaded = self.words.get("html", "overloaded");
            let hollow = points.iter().enumerate().filter(|(_, (_, point, _))| point.overloaded > 0);
            places.push(points.iter().map(|(_, point, _)| point.throughput.value).collect());
            Line {
                name: series.name.clone(),
                look: Some(look(self.document, &series.name)),
                has_points: true,
                at: places.len() - 1,
                values: points.iter().map(|(.., time)| Some(time.value)).collect(),
                low: points.iter().map(|(.., time)| time.low).collect(),
                high: points.iter().map(|(.., time)| time.high).collect(),
                left: points.iter().map(|(_, point, _)| point.throughput.low).collect(),
                right: points.iter().map(|(_, point, _)| point.throughput.high).collect(),
                labels: points.iter().map(|(label, ..)| label.clone()).collect(),
                hollow: hollow.map(|(place, _)| (place, overloaded.to_owned())).collect(),
                ..Line::default()
            }
        };
        let mut panel = |(place, name): (usize, &&'static str)| {
            let mut y = self.axis("text", "unit_latency", "ms", Scale::Logarithmic);
            y.title = format!("{name} – {}", y.title);
            let lines = self.group.series.iter().map(|series| line(series, name)).collect();
            Panel { y, lines, when: vec![(0, place)], ..Panel::default() }
        };
        let panels = PERCENTILES.iter().enumerate().map(&mut panel).collect();
        let x = self.axis("text", "unit_throughput", "/s", Scale::FromZero);
        let lines = Lines { choices: vec![self.percentiles()], x, places, panels, ..Lines::default() };
        let is_ordered = self.document.axis.kind != AxisKind::Names && rungs.len() > 1;
        is_ordered.then_some(lines)
    }

    /// The choice between percentiles.
    fn percentiles(&self) -> Choice {
        let title = self.words.get("html", "percentile").to_owned();
        Choice { title, options: PERCENTILES.map(str::to_owned).to_vec(), first: SHOWN }
    }

    fn distribution(&self) -> Lines {
        let mut places = Vec::new();
        let mut panel = |place: usize| {
            let curve = |(name, point): (&'a str, &'a Point)| {
                let curve = point.latency_curve.iter().filter(|(share, _)| *share < 1.0);
                let (shares, times): (Vec<f64>, Vec<Option<f64>>) =
                    curve.map(|(share, ms)| (*share, Some(*ms))).unzip();
                places.push(shares);
                let look = Some(look(self.document, name));
                let (at, name) = (places.len() - 1, name.to_owned());
                Line { name, look, has_points: true, at, values: times, ..Line::default() }
            };
            let lines = self.points_at(place).map(curve).collect();
            let y = self.axis("text", "unit_latency", "ms", Scale::Logarithmic);
            Panel { y, lines, when: vec![(0, place)], ..Panel::default() }
        };
        let panels = (0..self.group.rungs.len()).map(&mut panel).collect();
        let x = self.axis("html", "share_below", "", Scale::Tail);
        Lines { choices: vec![self.rungs()], x, places, panels, ..Lines::default() }
    }

    /// Throughput and p99 of each second, a line for each trial.
    fn timeline(&self) -> Lines {
        let (mut places, mut panels, mut shades) = (Vec::new(), Vec::new(), Vec::new());
        for place in 0..self.group.rungs.len() {
            let when = vec![(0, place)];
            let y = self.axis("text", "unit_throughput", "/s", Scale::FromZero);
            let mut rates = Panel { y, when: when.clone(), ..Panel::default() };
            let y = self.axis("html", "p99_of_second", "ms", Scale::Logarithmic);
            let mut times = Panel { y, when: when.clone(), ..Panel::default() };
            let (mut warm_up, mut offered) = (0.0_f64, None);
            for (name, trial, stream) in self.trials_at(place) {
                let seconds = &trial.streams[stream].seconds;
                let repeat = (trial.block + 1).to_string();
                let line = |values: Vec<Option<f64>>| Line {
                    name: name.to_owned(),
                    note: self.words.fill("html", "repeat", &[("number", &repeat)]),
                    look: Some(look(self.document, name)),
                    stroke: STROKES[trial.block as usize % STROKES.len()],
                    at: places.len(),
                    values,
                    ..Line::default()
                };
                rates.lines.push(line(some(&seconds.throughput)));
                times.lines.push(line(seconds.p99_ms.clone()));
                if offered.is_none() && !seconds.offered.is_empty() {
                    offered = Some(self.due(places.len(), some(&seconds.offered)));
                }
                places.push(seconds.end_s.clone());
                let end = seconds.warm_up.checked_sub(1).and_then(|last| seconds.end_s.get(last));
                warm_up = warm_up.max(end.copied().unwrap_or(0.0));
            }
            rates.lines.extend(offered);
            panels.extend([rates, times]);
            if warm_up > 0.0 {
                let name = self.words.get("html", "warm_up").to_owned();
                shades.push(Shade { from: 0.0, until: Some(warm_up), name, when });
            }
        }
        let x = self.axis("html", "seconds", "s", Scale::FromZero);
        Lines { choices: vec![self.rungs()], x, places, panels, shades, ..Lines::default() }
    }

    /// How many transactions took how long, over time: at each rung, one map for each series, of one trial.
    fn heat(&self) -> Option<Lines> {
        let (mut panels, mut shades) = (Vec::new(), Vec::new());
        for place in 0..self.group.rungs.len() {
            let when = vec![(0, place)];
            let mut warm_up = 0.0_f64;
            let mut trials = self.trials_at(place);
            // in the order of the legend, not in that of execution
            trials.sort_by_key(|(name, ..)| self.group.series.iter().position(|series| series.name == *name));
            for (name, trial, stream) in trials {
                let stream = &trial.streams[stream];
                let is_own = |heat: &&Heat| {
                    self.document.trials[heat.trial].number == trial.number && heat.stream == stream.name
                };
                let Some(heat) = self.document.heats.iter().find(is_own) else { continue };
                let seconds = &stream.seconds;
                let end = seconds.warm_up.checked_sub(1).and_then(|last| seconds.end_s.get(last));
                warm_up = warm_up.max(end.copied().unwrap_or(0.0));
                let heat = chart::Heat {
                    title: self.words.get("text", "unit_throughput").to_owned(),
                    until: heat.until_s.clone(),
                    edges: heat.edges_ms.clone(),
                    first: heat.first_row.clone(),
                    values: heat.per_second.clone(),
                };
                let y = self.axis("text", "unit_latency", "ms", Scale::Logarithmic);
                let (title, heat, when) = (name.to_owned(), Some(heat), when.clone());
                panels.push(Panel { title, y, heat, when, ..Panel::default() });
            }
            if warm_up > 0.0 {
                let name = self.words.get("html", "warm_up").to_owned();
                shades.push(Shade { from: 0.0, until: Some(warm_up), name, when });
            }
        }
        let x = self.axis("html", "seconds", "s", Scale::FromZero);
        (!panels.is_empty()).then(|| Lines {
            choices: vec![self.rungs()],
            x,
            panels,
            shades,
            ..Lines::default()
        })
    }

    /// A line with intervals for each series. Names are not joined by lines.
    fn ladder(&self, pick: impl Fn(&'a Point) -> Option<&'a Estimate>) -> Vec<Line> {
        let is_joined = self.document.axis.kind != AxisKind::Names;
        let line = |series: &'a Series| {
            let points: Vec<Option<&Point>> = series.points.iter().map(|point| self.point(*point)).collect();
            let measured = |point: &Option<&'a Point>| point.filter(|point| point.trials > 0).and_then(&pick);
            let estimates: Vec<Option<&Estimate>> = points.iter().map(measured).collect();
            let is_hollow =
                |(_, point): &(usize, &Option<&Point>)| point.is_some_and(|point| point.overloaded > 0);
            let overloaded = self.words.get("html", "overloaded");
            let hollow = points.iter().enumerate().filter(is_hollow);
            Line {
                name: series.name.clone(),
                look: Some(look(self.document, &series.name)),
                stroke: if is_joined { Stroke::Solid } else { Stroke::None },
                has_points: true,
                values: estimates.iter().map(|one| one.map(|one| one.value)).collect(),
                low: estimates.iter().map(|one| one.and_then(|one| one.low)).collect(),
                high: estimates.iter().map(|one| one.and_then(|one| one.high)).collect(),
                hollow: hollow.map(|(place, _)| (place, overloaded.to_owned())).collect(),
                ..Line::default()
            }
        };
        self.group.series.iter().map(line).collect()
    }

    /// The offered load, where starts are scheduled in advance: it is the same for all series.
    fn offered(&self) -> Option<Line> {
        let rate = |place: usize| {
            let mut schedules = self.points_at(place).filter_map(|(_, point)| point.schedule.as_ref());
            schedules.next().map(|schedule| schedule.offered_per_second)
        };
        let rates: Vec<Option<f64>> = (0..self.group.rungs.len()).map(rate).collect();
        rates.iter().any(Option::is_some).then(|| self.due(0, rates))
    }

    fn due(&self, at: usize, values: Vec<Option<f64>>) -> Line {
        let name = self.words.get("html", "offered").to_owned();
        Line { name, stroke: Stroke::Dashed, at, values, ..Line::default() }
    }

    fn point(&self, point: Option<usize>) -> Option<&'a Point> {
        point.map(|point| &self.document.points[point])
    }

    fn points_at(&self, place: usize) -> impl Iterator<Item = (&'a str, &'a Point)> {
        let at = move |series: &'a Series| Some((series.name.as_str(), self.point(series.points[place])?));
        self.group.series.iter().filter_map(at)
    }

    /// Trials that were measured at a place, in the order of execution, with their series and the index of
    /// the stream in them.
    fn trials_at(&self, place: usize) -> Vec<(&'a str, &'a Trial, usize)> {
        let of_point = |(name, point): (&'a str, &'a Point)| {
            // the levels of a point include its stream; a trial has all streams
            let mut levels: BTreeMap<&String, &String> = point.levels.iter().collect();
            levels.retain(|factor, _| *factor != STREAM);
            let is_own = move |trial: &&Trial| {
                trial.failure.is_none()
                    && trial.server == point.server
                    && levels.iter().all(|(factor, level)| trial.levels.get(*factor) == Some(*level))
            };
            self.document.trials.iter().filter(is_own).filter_map(move |trial| {
                let stream = trial.streams.iter().position(|stream| stream.name == point.stream)?;
                Some((name, trial, stream))
            })
        };
        let mut trials: Vec<(&str, &Trial, usize)> = self.points_at(place).flat_map(of_point).collect();
        trials.sort_by_key(|(_, trial, _)| trial.number);
        trials
    }

    fn rungs(&self) -> Choice {
        let options: Vec<String> = self.group.rungs.iter().map(|rung| rung.label.clone()).collect();
        let first = options.len().saturating_sub(1);
        Choice { title: self.document.axis.title.clone(), options, first }
    }

    /// Positions of the rungs on the axis; names are spaced evenly.
    fn places(&self) -> Vec<f64> {
        let place = |(place, rung): (usize, &Rung)| rung.value.unwrap_or(place as f64);
        self.group.rungs.iter().enumerate().map(place).collect()
    }

    /// The axis that points are drawn along, with a tick at each rung.
    fn along(&self) -> Axis {
        let places = self.places();
        let axis = &self.document.axis;
        let first = places.first().copied().unwrap_or(1.0);
        let last = places.last().copied().unwrap_or(1.0);
        let scale = match axis.kind {
            AxisKind::Names => Scale::Names,
            AxisKind::Connections if first > 0.0 => Scale::Doubling,
            _ if first > 0.0 && last / first > EVEN_MAX => Scale::Doubling,
            _ => Scale::Around,
        };
        let tick = |(at, rung): (f64, &Rung)| Tick { at, label: rung.label.clone() };
        let ticks = places.into_iter().zip(&self.group.rungs).map(tick).collect();
        Axis { title: axis.title.clone(), unit: String::new(), scale, ticks }
    }

    fn axis(&self, section: &str, key: &str, unit: &str, scale: Scale) -> Axis {
        let title = self.words.get(section, key).to_owned();
        Axis { title, unit: unit.to_owned(), scale, ticks: Vec::new() }
    }
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}
