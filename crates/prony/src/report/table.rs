//! The table of a group of points, as cells of text: the same for terminal, Markdown and HTML.

use super::{
    document::{Comparison, Document, Estimate, Group, Point},
    number,
    words::Words,
};
use serde::Serialize;

/// What a cell means for the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
    /// Nothing special.
    Plain,
    /// Better than the base.
    Good,
    /// Worse than the base, or errors.
    Bad,
    /// Of no consequence.
    Faint,
}

/// A piece of text in a table.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
    /// Whether it is a number or belongs to one.
    pub(super) numeric: bool,
}

impl Cell {
    fn number(text: String) -> Self {
        Self { text, tone: Tone::Plain, numeric: true }
    }

    fn name(text: &str) -> Self {
        Self { text: text.to_owned(), tone: Tone::Plain, numeric: false }
    }

    fn toned(text: String, tone: Tone) -> Self {
        Self { text, tone, numeric: true }
    }

    fn empty() -> Self {
        Self::toned("–".to_owned(), Tone::Faint)
    }
}

/// A table; the first `left` columns name the row.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Table {
    pub(super) title: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// Remarks on points of all tables, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Remarks(pub(super) Vec<String>);

impl Remarks {
    fn mark(&mut self, remark: &str) -> String {
        let number = self.0.iter().position(|known| known == remark).unwrap_or_else(|| {
            self.0.push(remark.to_owned());
            self.0.len() - 1
        });
        format!("[{}]", number + 1)
    }

    fn marks(&mut self, point: &Point, words: Words) -> String {
        let left_out =
            point.left_out.iter().map(|reason| words.fill("text", "left_out", &[("reason", reason)]));
        let remarks: Vec<String> = point.doubts.iter().cloned().chain(left_out).collect();
        remarks.iter().map(|remark| format!(" {}", self.mark(remark))).collect()
    }
}

/// How the servers of one rung are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One row for each rung, servers side by side.
    Beside,
    /// One row for each rung and server.
    Stacked,
}

/// The table of one group.
pub(super) fn table(
    document: &Document,
    group: &Group,
    layout: Layout,
    remarks: &mut Remarks,
    words: Words,
) -> Table {
    let columns = Columns::of(document, group, words);
    let rows = match layout {
        Layout::Beside => columns.beside(remarks),
        Layout::Stacked => columns.stacked(remarks),
    };
    Table { title: group.title.clone(), heads: columns.heads(layout), rows }
}

/// Estimate with its half-width: `1,234 ± 21`.
pub(super) fn estimate(estimate: &Estimate) -> String {
    number::estimate(&stats::Estimate {
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        level: 0.95,
        observations: 0,
    })
}

/// What a group's table shows.
struct Columns<'a> {
    document: &'a Document,
    group: &'a Group,
    words: Words,
    has_errors: bool,
    /// The server that others are held against, where anything is compared.
    base: Option<String>,
}

impl<'a> Columns<'a> {
    fn of(document: &'a Document, group: &'a Group, words: Words) -> Self {
        let members: Vec<usize> =
            group.series.iter().flat_map(|series| series.points.iter().flatten().copied()).collect();
        let compared = document.comparisons.iter().find(|comparison| members.contains(&comparison.point));
        Self {
            document,
            group,
            words,
            has_errors: members.iter().any(|&member| !document.points[member].errors.is_empty()),
            base: compared.map(|comparison| document.points[comparison.base].server.clone()),
        }
    }

    fn values(&self) -> Vec<&'static str> {
        let mut heads = vec![
            self.words.get("head", "transactions_per_second"),
            self.words.get("head", "p95_ms"),
            self.words.get("head", "p99_ms"),
        ];
        if self.has_errors {
            heads.push(self.words.get("head", "errors"));
        }
        heads
    }

    fn against(&self) -> Option<String> {
        let base = self.base.as_ref()?;
        Some(self.words.fill("head", "against", &[("base", base)]))
    }

    fn heads(&self, layout: Layout) -> Vec<String> {
        let mut heads = vec![self.words.get("head", "connections").to_owned()];
        match layout {
            Layout::Stacked => {
                heads.push(self.words.get("head", "server").to_owned());
                heads.extend(self.values().iter().map(|&head| head.to_owned()));
                heads.extend(self.against());
            }
            Layout::Beside => {
                for series in &self.group.series {
                    heads.extend(self.values().iter().map(|head| format!("{}\n{head}", series.server)));
                    if self.base.as_ref().is_some_and(|base| *base != series.server) {
                        heads.extend(self.against().map(|against| format!("{}\n{against}", series.server)));
                    }
                }
            }
        }
        heads
    }

    fn stacked(&self, remarks: &mut Remarks) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (place, rung) in self.group.connections.iter().enumerate() {
            for (number, series) in self.group.series.iter().enumerate() {
                let rung = if number == 0 { number::count(u64::from(*rung)) } else { String::new() };
                let mut row = vec![Cell::number(rung), Cell::name(&series.server)];
                row.extend(self.cells(series.points[place], remarks));
                if self.base.is_some() {
                    row.push(self.against_cell(&series.server, series.points[place]));
                }
                rows.push(row);
            }
        }
        rows
    }

    fn beside(&self, remarks: &mut Remarks) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (place, rung) in self.group.connections.iter().enumerate() {
            let mut row = vec![Cell::number(number::count(u64::from(*rung)))];
            for series in &self.group.series {
                row.extend(self.cells(series.points[place], remarks));
                if self.base.as_ref().is_some_and(|base| *base != series.server) {
                    row.push(self.against_cell(&series.server, series.points[place]));
                }
            }
            rows.push(row);
        }
        rows
    }

    fn cells(&self, point: Option<usize>, remarks: &mut Remarks) -> Vec<Cell> {
        let Some(point) = point.map(|point| &self.document.points[point]) else {
            return vec![Cell::empty(); self.values().len()];
        };
        let latency = |name: &str| {
            point.latency_ms.get(name).map_or_else(Cell::empty, |latency| Cell::number(estimate(latency)))
        };
        let throughput = format!("{}{}", estimate(&point.throughput), remarks.marks(point, self.words));
        let mut cells = vec![Cell::number(throughput), latency("p95"), latency("p99")];
        if self.has_errors {
            let errors = point.errors.values().sum();
            let tone = if errors > 0 { Tone::Bad } else { Tone::Faint };
            cells.push(Cell::toned(number::count(errors), tone));
        }
        cells
    }

    fn against_cell(&self, server: &str, point: Option<usize>) -> Cell {
        let compared = self
            .document
            .comparisons
            .iter()
            .find(|comparison| Some(comparison.point) == point && comparison.metric == "throughput");
        match compared {
            Some(comparison) => verdict(comparison, self.words),
            None if self.base.as_deref() == Some(server) => {
                Cell::toned(self.words.get("text", "base").to_owned(), Tone::Faint)
            }
            None => Cell::empty(),
        }
    }
}

/// `+32 % better`.
fn verdict(comparison: &Comparison, words: Words) -> Cell {
    let change = (comparison.ratio.value - 1.0) * 100.0;
    let tone = match comparison.verdict.as_str() {
        "better" => Tone::Good,
        "worse" => Tone::Bad,
        _ => Tone::Faint,
    };
    let sign = if change >= 0.0 { "+" } else { "" };
    let verdict = words.get("verdict", &comparison.verdict);
    Cell::toned(format!("{sign}{} % {verdict}", number::percent(change)), tone)
}
