//! All comparisons side by side: a ratio with its interval for each (a forest plot, after S. Lewis and M.
//! Clarke, *Forest plots: trying to see the wood and the trees*, BMJ 322, 2001).

use super::curves::look;
use crate::{
    analyse::Verdict,
    plan::Metric,
    report::{
        block::{Block, Cell, Reach, Section, Table},
        chart::{Axis, Chart, Choice, Drawing, Line, Lines, Numbers, Panel, Scale, Stroke, Tick},
        document::{Comparison, Document, Group},
        group::Series,
        number,
        words::Words,
    },
};

/// Metrics that the reader can choose from.
const METRICS: [Metric; 3] = [Metric::Throughput, Metric::Quantile(95_000), Metric::Quantile(99_000)];

/// The fewest comparisons that get a chart; fewer are left to their tables.
const FEWEST: usize = 2;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let of = Of { document, words };
    if of.rows().flat_map(|row| row.compared(Metric::Throughput)).count() < FEWEST {
        return Vec::new();
    }
    let title = words.get("html", "forest");
    let mut section = Section::new("comparisons", title);
    section.add(Reach::Page, Block::Text(words.get("html", "forest_note").to_owned()));
    let chart = Chart {
        id: "comparisons".to_owned(),
        title: title.to_owned(),
        about: String::new(),
        drawing: Drawing::Lines(of.lines()),
        numbers: Numbers::Table(of.table()),
    };
    section.add(Reach::Page, Block::Charts(vec![chart]));
    vec![section]
}

struct Of<'a> {
    document: &'a Document,
    words: Words,
}

/// A rung of a group, or the group's name above its rungs.
#[derive(Clone, Copy)]
struct Row<'a> {
    document: &'a Document,
    group: &'a Group,
    rung: Option<usize>,
}

impl<'a> Row<'a> {
    /// The comparisons of the row, each with its series.
    fn compared(self, metric: Metric) -> impl Iterator<Item = (&'a Series, &'a Comparison)> {
        let of_series = move |series: &'a Series| {
            let point = series.points[self.rung?]?;
            let is_own = |one: &&Comparison| one.point == point && one.metric == metric;
            Some((series, self.document.comparisons.iter().find(is_own)?))
        };
        self.group.series.iter().filter_map(of_series)
    }
}

impl<'a> Of<'a> {
    /// Rows in which anything is compared; where there are several groups, below the names of the groups.
    fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let document = self.document;
        let is_named = document.groups.len() > 1;
        document.groups.iter().flat_map(move |group| {
            let row = move |rung| Row { document, group, rung };
            let rungs = (0..group.rungs.len()).map(move |rung| row(Some(rung)));
            let rungs: Vec<Row<'a>> =
                rungs.filter(|row| row.compared(Metric::Throughput).count() > 0).collect();
            let head = (is_named && !rungs.is_empty()).then(|| row(None));
            head.into_iter().chain(rungs)
        })
    }

    fn lines(&self) -> Lines {
        let rows: Vec<Row<'_>> = self.rows().collect();
        let label = |row: &Row<'_>| match row.rung {
            Some(rung) => row.group.rungs[rung].label.clone(),
            None => row.group.title.clone(),
        };
        let tick = |(place, row): (usize, &Row<'_>)| Tick { at: place as f64, label: label(row) };
        let panel = |(place, metric): (usize, &Metric)| Panel {
            y: Axis { title: self.ratio(*metric), scale: Scale::Ratio, ..Axis::default() },
            lines: self.lines_of(&rows, *metric),
            when: vec![(0, place)],
            ..Panel::default()
        };
        let options = METRICS.map(|metric| self.words.metric(metric)).to_vec();
        let is_scheduled = self.document.points.iter().any(|point| point.schedule.is_some());
        let title = self.words.get("head", "metric").to_owned();
        Lines {
            choices: vec![Choice { title, options, first: usize::from(is_scheduled) }],
            x: Axis {
                title: self.document.axis.title.clone(),
                scale: Scale::Names,
                ticks: rows.iter().enumerate().map(tick).collect(),
                ..Axis::default()
            },
            places: vec![(0..rows.len()).map(|place| place as f64).collect()],
            panels: METRICS.iter().enumerate().map(panel).collect(),
            ..Lines::default()
        }
    }

    /// What ratios are relative to.
    fn ratio(&self, metric: Metric) -> String {
        let mut bases: Vec<&str> = Vec::new();
        for one in &self.document.comparisons {
            let base = self.document.points[one.base].side.as_str();
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        let metric = self.words.metric(metric);
        self.words.fill("html", "ratio_to", &[("metric", &*metric), ("base", &bases.join(" / "))])
    }

    /// A line for each series that is compared with others; its ratios are not joined.
    fn lines_of(&self, rows: &[Row<'_>], metric: Metric) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            for (series, one) in row.compared(metric) {
                let known = lines.iter().position(|line| line.name == series.name);
                let index = known.unwrap_or_else(|| {
                    let none = vec![None; rows.len()];
                    let [values, low, high] = [none.clone(), none.clone(), none];
                    let (name, look) = (series.name.clone(), Some(look(self.document, &series.name)));
                    let (stroke, has_points) = (Stroke::None, true);
                    lines.push(Line { name, look, stroke, has_points, values, low, high, ..Line::default() });
                    lines.len() - 1
                });
                let line = &mut lines[index];
                let ratio = &one.ratio;
                (line.values[place], line.low[place], line.high[place]) =
                    (Some(ratio.value), ratio.low, ratio.high);
                if !matches!(one.verdict, Verdict::Better | Verdict::Worse) {
                    line.hollow.insert(place, self.words.named("verdict", one.verdict).to_owned());
                }
            }
        }
        lines
    }

    /// The same as numbers.
    fn table(&self) -> Table {
        let mut rows = Vec::new();
        for row in self.rows() {
            let Some(rung) = row.rung else { continue };
            for metric in METRICS {
                let cells = |(series, one): (&Series, &Comparison)| {
                    vec![
                        Cell::name(&row.group.title),
                        Cell::name(&row.group.rungs[rung].label),
                        Cell::name(&series.name),
                        Cell::name(&self.words.metric(metric)),
                        Cell::number(number::estimate(&one.ratio)),
                        Cell::name(self.words.named("verdict", one.verdict)),
                    ]
                };
                rows.extend(row.compared(metric).map(cells));
            }
        }
        let heads = ["workload", "", "server", "metric", "ratio", "verdict"];
        let head = |key: &str| match key {
            "" => self.document.axis.title.clone(),
            key => self.words.get("head", key).to_owned(),
        };
        Table::new("", heads.map(head).to_vec(), rows)
    }
}
