//! The table of a group of points, the remarks on them, and the names of its rows and columns.

use crate::report::{
    block::{Cell, NOTHING, Table, Tone},
    document::{Comparison, Document, Doubt, Estimate, Group, Point},
    fact::{Fact, Together, Told, together},
    number,
    words::Words,
};
use crate::{
    analyse::{AxisKind, Verdict},
    escape::wrap::columns,
    plan::Metric,
    run::Level,
};

/// The longest name of a base that a head has room for, in terminal columns.
const BASE_MAX: usize = 12;

/// Remarks on the points of all tables, numbered from 1; those that differ only in their figures become one.
#[derive(Debug)]
pub(super) struct Remarks(Vec<(Together<usize>, String)>);

impl Remarks {
    /// The remarks on all points, in the order in which tables show the points.
    pub(super) fn of(document: &Document, words: Words) -> Self {
        let of_point = |place: usize| {
            let point = &document.points[place];
            let left_out = |told: &Told| Fact::around("text", "left_out", "reason", told.fact.clone());
            let doubts = point.doubts.iter().map(remark);
            doubts
                .chain(point.left_out.iter().map(left_out))
                .map(move |fact| (place, fact))
                .collect::<Vec<_>>()
        };
        let in_order = document.groups.iter().flat_map(|group| {
            let rungs = 0..group.rungs.len();
            rungs.flat_map(|rung| group.series.iter().filter_map(move |series| series.points[rung]))
        });
        let remarks = together(in_order.flat_map(of_point)).into_iter();
        Self(
            remarks
                .map(|remark| {
                    let text = words.say(&remark.fact);
                    (remark, text)
                })
                .collect(),
        )
    }

    /// The texts of the remarks.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }

    /// The marks beside a point's figures: ` [1,3]`.
    fn marks(&self, point: usize) -> String {
        let about = (1..).zip(&self.0).filter(|(_, (remark, _))| remark.about.contains(&point));
        let numbers: Vec<String> = about.map(|(number, _): (usize, _)| number.to_string()).collect();
        if numbers.is_empty() { String::new() } else { format!(" [{}]", numbers.join(",")) }
    }
}

/// A doubt, preceded by its level where that is worse than doubtful.
fn remark(doubt: &Doubt) -> Fact {
    match doubt.level {
        Level::Invalid => Fact::around("level", "invalid_because", "reason", doubt.figures.clone()),
        Level::Suspicious | Level::Fine => doubt.figures.clone(),
    }
}

/// How the servers of one rung are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One row for each rung, with the servers side by side.
    Beside,
    /// One row for each rung and server.
    Stacked,
}

/// The table of one group.
pub(super) fn table(document: &Document, group: &Group, remarks: &Remarks, words: Words) -> Table {
    let columns = Columns::of(document, group, words);
    let heads = columns.heads(Layout::Stacked);
    // what a narrow terminal has no room for is on the page
    let spare = ["p99_ms", "p95_ms"].map(|key| words.get("head", key));
    let spare = spare.iter().filter_map(|head| heads.iter().position(|own| own == head)).collect();
    let stacked = Table { spare, ..Table::new("", heads, columns.stacked(remarks)) };
    let beside = || Table::new("", columns.heads(Layout::Beside), columns.beside(remarks));
    Table { wide: has_series(group).then(|| Box::new(beside())), ..stacked }
}

/// An estimate with its half-width: `1,234 ± 21`.
pub(in crate::report) fn estimate(estimate: &Estimate) -> String {
    number::estimate(estimate)
}

/// What a group's table shows.
struct Columns<'a> {
    document: &'a Document,
    group: &'a Group,
    words: Words,
    has_errors: bool,
    /// Whether the offered load is shown in addition to the axis.
    has_offered: bool,
    has_limit: bool,
    /// The server that others are compared with, if anything is compared.
    base: Option<String>,
}

impl<'a> Columns<'a> {
    fn of(document: &'a Document, group: &'a Group, words: Words) -> Self {
        let members: Vec<usize> = members(group).collect();
        let points = || members.iter().map(|&member| &document.points[member]);
        let compared = document.comparisons.iter().find(|comparison| members.contains(&comparison.point));
        Self {
            document,
            group,
            words,
            has_errors: points().any(|point| !point.errors.is_empty()),
            has_offered: !is_offered(document, group) && points().any(|point| point.schedule.is_some()),
            has_limit: points().any(|point| point.limit.is_some()),
            base: compared.map(|comparison| document.points[comparison.base].side.clone()),
        }
    }

    fn values(&self) -> Vec<&'static str> {
        let mut heads = Vec::new();
        if self.has_limit {
            heads.push("seconds");
        }
        if self.has_offered {
            heads.push("offered_per_second");
        }
        heads.extend(["transactions_per_second", "p95_ms", "p99_ms"]);
        if self.has_errors {
            heads.push("errors");
        }
        heads.into_iter().map(|head| self.words.get("head", head)).collect()
    }

    fn against(&self) -> Option<String> {
        let base = self.base.as_ref()?;
        // a row's name as the name of the base would sometimes take too much room
        let is_short = has_series(self.group) || columns(base) <= BASE_MAX;
        let base = if is_short { base } else { self.words.get("text", "base") };
        Some(self.words.fill("head", "against", &[("base", base)]))
    }

    fn heads(&self, layout: Layout) -> Vec<String> {
        let mut heads = vec![self.document.axis.title.clone()];
        match layout {
            Layout::Stacked => {
                heads.extend(
                    has_series(self.group).then(|| series_head(self.document, self.group, self.words)),
                );
                heads.extend(self.values().iter().map(|&head| head.to_owned()));
                heads.extend(self.against());
            }
            Layout::Beside => {
                for series in &self.group.series {
                    heads.extend(self.values().iter().map(|head| format!("{}\n{head}", series.name)));
                    if self.base.as_ref().is_some_and(|base| *base != series.name) {
                        heads.extend(self.against().map(|against| format!("{}\n{against}", series.name)));
                    }
                }
            }
        }
        heads
    }

    fn stacked(&self, remarks: &Remarks) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for place in 0..self.group.rungs.len() {
            // a combination that the study leaves out has no row, unless the whole place is empty
            let has_any = self.group.series.iter().any(|series| series.points[place].is_some());
            let shown = self.group.series.iter().filter(|one| !has_any || one.points[place].is_some());
            for (number, series) in shown.enumerate() {
                let mut row = vec![rung_cell(self.group, place, number == 0)];
                row.extend(has_series(self.group).then(|| Cell::name(&series.name)));
                row.extend(self.cells(series.points[place], remarks));
                if self.base.is_some() {
                    row.push(self.against_cell(series.points[place]));
                }
                rows.push(row);
            }
        }
        rows
    }

    fn beside(&self, remarks: &Remarks) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for place in 0..self.group.rungs.len() {
            let mut row = vec![rung_cell(self.group, place, true)];
            for series in &self.group.series {
                row.extend(self.cells(series.points[place], remarks));
                if self.base.as_ref().is_some_and(|base| *base != series.name) {
                    row.push(self.against_cell(series.points[place]));
                }
            }
            rows.push(row);
        }
        rows
    }

    fn cells(&self, point: Option<usize>, remarks: &Remarks) -> Vec<Cell> {
        let Some(place) = point else { return vec![Cell::empty(); self.values().len()] };
        let point = &self.document.points[place];
        let latency = |name: &str| match point.latency_ms.get(name) {
            Some(latency) if point.overloaded > 0 => Cell::toned(estimate(latency), Tone::Faint),
            Some(latency) => Cell::number(estimate(latency)),
            None => Cell::empty(),
        };
        let mut cells = Vec::new();
        if self.has_limit {
            cells.push(self.limit_cell(point));
        }
        if self.has_offered {
            let offered = point.schedule.as_ref().map(|schedule| number::rate(schedule.offered_per_second));
            cells.push(offered.map_or_else(Cell::empty, Cell::number));
        }
        let marks = remarks.marks(place);
        let overloaded = overloaded(point, self.words).map_or_else(String::new, |text| format!(" {text}"));
        let tone = if point.overloaded > 0 { Tone::Bad } else { Tone::Plain };
        let throughput = if point.trials > 0 { estimate(&point.throughput) } else { NOTHING.to_owned() };
        cells.push(Cell::toned(format!("{throughput}{overloaded}{marks}"), tone));
        cells.extend([latency("p95"), latency("p99")]);
        if self.has_errors {
            let errors = point.errors.values().sum();
            let tone = if errors > 0 { Tone::Bad } else { Tone::Faint };
            cells.push(Cell::toned(number::count(errors), tone));
        }
        cells
    }

    /// How long the limit took, or would have taken.
    fn limit_cell(&self, point: &Point) -> Cell {
        let Some(limit) = &point.limit else { return Cell::empty() };
        match &limit.seconds {
            None => Cell::toned(self.words.get("text", "never").to_owned(), Tone::Bad),
            Some(seconds) if limit.extrapolated > 0 => {
                let seconds = estimate(seconds);
                Cell::toned(self.words.fill("text", "extrapolated", &[("seconds", &seconds)]), Tone::Bad)
            }
            Some(seconds) => Cell::number(estimate(seconds)),
        }
    }

    fn against_cell(&self, point: Option<usize>) -> Cell {
        let side = point.map(|point| self.document.points[point].side.as_str());
        let compared =
            self.document.comparisons.iter().find(|comparison| {
                Some(comparison.point) == point && comparison.metric == Metric::Throughput
            });
        match compared {
            Some(comparison) => verdict(comparison, self.words),
            None if side.is_some() && self.base.as_deref() == side => {
                Cell::toned(self.words.get("text", "base").to_owned(), Tone::Faint)
            }
            None => Cell::empty(),
        }
    }
}

/// Indices of the points of a group.
pub(super) fn members(group: &Group) -> impl Iterator<Item = usize> + '_ {
    group.series.iter().flat_map(|series| series.points.iter().flatten().copied())
}

/// Whether the axis itself shows the offered load of this stream.
fn is_offered(document: &Document, group: &Group) -> bool {
    let axis = &document.axis;
    axis.kind == AxisKind::Rate && axis.stream.as_ref().is_none_or(|stream| *stream == group.stream)
}

/// Whether there is more than one series, so that each row must say which.
pub(super) fn has_series(group: &Group) -> bool {
    group.series.len() > 1
}

/// What the series are, as a column head.
pub(super) fn series_head(document: &Document, group: &Group, words: Words) -> String {
    if group.series_by == "server" {
        words.server_head(&document.servers_by)
    } else {
        words.factor_head(&group.series_by)
    }
}

/// The name of a rung, shown only in the first of its rows.
pub(super) fn rung_cell(group: &Group, place: usize, first: bool) -> Cell {
    let rung = &group.rungs[place];
    let text = if first { rung.label.clone() } else { String::new() };
    if rung.value.is_some() { Cell::number(text) } else { Cell::name(&text) }
}

/// Says that a point could not keep up with the offered load, and in how many of its trials.
fn overloaded(point: &Point, words: Words) -> Option<String> {
    let (count, trials) = (point.overloaded.to_string(), point.trials.to_string());
    match point.overloaded {
        0 => None,
        all if all >= point.trials => Some(words.get("text", "overloaded").to_owned()),
        _ => Some(words.fill("text", "overloaded_some", &[("count", &count), ("trials", &trials)])),
    }
}

/// `+32 % better`.
fn verdict(comparison: &Comparison, words: Words) -> Cell {
    if comparison.verdict == Verdict::Overloaded {
        return Cell::toned(words.get("verdict", "overloaded").to_owned(), Tone::Faint);
    }
    let change = (comparison.ratio.value - 1.0) * 100.0;
    let tone = match comparison.verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        _ => Tone::Faint,
    };
    let sign = if change >= 0.0 { "+" } else { "" };
    let verdict = words.named("verdict", comparison.verdict);
    Cell::toned(format!("{sign}{} % {verdict}", number::percent(change)), tone)
}
