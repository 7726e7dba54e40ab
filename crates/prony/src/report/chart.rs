//! A chart as values: what is drawn, never how. The viewer makes the drawing of it (`viewer/src`), in a page
//! and, run by `svg`, for files; the schema of this form is `schemas/charts.json`.

use super::{block::Table, number::round};
use crate::escape;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this form. A viewer refuses another one.
const FORMAT: u32 = 1;

/// What draws charts: a script that a page and an engine run.
pub(super) static VIEWER: &str = include_str!("../../../../viewer/dist/viewer.js");

/// Charts as the viewer gets them. It shows texts as they are, so they come to it as they are to be shown,
/// and figures with the digits that files have.
pub(super) fn json(charts: &impl Serialize) -> String {
    let mut value = serde_json::to_value(charts).expect("plain values become JSON");
    show(&mut value);
    value.to_string()
}

fn show(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = escape::plain(text),
        serde_json::Value::Number(number) => {
            if let Some(value) = number.as_f64().filter(|_| number.is_f64()) {
                *number = serde_json::Number::from_f64(round(value)).unwrap_or(number.clone());
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(show),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(show),
        _ => {}
    }
}

/// All charts of a page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Charts of a page")]
pub(super) struct Charts<'a> {
    /// Version of this form: 1.
    format: u32,
    /// In the order of the page.
    charts: Vec<&'a Chart>,
}

impl<'a> Charts<'a> {
    pub(super) fn of(charts: Vec<&'a Chart>) -> Self {
        Self { format: FORMAT, charts }
    }
}

/// A chart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Chart {
    /// What a link or a file names it: `throughput-oltp-read-only`.
    pub(super) id: String,
    /// What is drawn.
    pub(super) title: String,
    /// Of what, in words; empty: of the whole run.
    pub(super) about: String,
    /// What is drawn, as values.
    pub(super) drawing: Drawing,
    /// The same as numbers, for those who do not see it.
    #[serde(skip)]
    pub(super) numbers: Numbers,
}

/// Where a chart's numbers stand.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    /// In a table that is the chart's own.
    Table(Table),
    /// In one of the section, which these words name.
    In(String),
}

/// What a chart draws.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Drawing {
    /// Values along an axis.
    Lines(Lines),
    /// Frames, each on its caller, as wide as it was met often (after B. Gregg, *The Flame Graph*, ACM Queue
    /// 14, 2016).
    Flame(Flame),
}

/// Values along an axis, in one panel or several below each other.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Lines {
    /// What the reader chooses of; empty: all is shown.
    pub(super) choices: Vec<Choice>,
    /// Along what values are drawn, the same for all panels.
    pub(super) x: Axis,
    /// Places along it: each line has one of these lists.
    pub(super) places: Vec<Vec<f64>>,
    /// What is drawn, one below the other.
    pub(super) panels: Vec<Panel>,
    /// Stretches of the axis that are marked.
    pub(super) shades: Vec<Shade>,
    /// Places where something changed.
    pub(super) marks: Vec<Mark>,
}

/// Something that a reader chooses.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Choice {
    /// What is chosen.
    pub(super) title: String,
    /// From what.
    pub(super) options: Vec<String>,
    /// What is chosen at first, and in a picture.
    pub(super) first: usize,
}

/// What must be chosen for something to be shown: index of the choice, index of its option.
pub(super) type When = Vec<(usize, usize)>;

/// An axis.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Axis {
    /// What it shows; empty: the panel's title says it.
    pub(super) title: String,
    /// Unit of its values: `ms`, `/s`.
    pub(super) unit: String,
    /// How values lie along it.
    pub(super) scale: Scale,
    /// Values that are written beside it, with how they are written; empty: round ones.
    pub(super) ticks: Vec<Tick>,
}

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scale {
    /// Evenly, from 0.
    #[default]
    FromZero,
    /// Evenly, around the values.
    Around,
    /// By their logarithm.
    Logarithmic,
    /// By how often they double.
    Doubling,
    /// Shares below 1, so that the last ones have room: by the logarithm of 1 / (1 - share).
    Tail,
    /// Names beside each other: values are their numbers, from 0.
    Names,
    /// One after another, as runs in time: values are their numbers, from 0.
    Order,
}

/// A value on an axis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Tick {
    /// The value.
    pub(super) at: f64,
    /// As it is written.
    pub(super) label: String,
}

/// Lines over one vertical axis.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Panel {
    /// What it shows; empty: the chart's title says it, and one legend serves all panels.
    pub(super) title: String,
    /// The vertical axis.
    pub(super) y: Axis,
    /// Whether lines are areas upon each other.
    pub(super) stacked: bool,
    /// Its lines.
    pub(super) lines: Vec<Line>,
    /// What must be chosen for it to be shown.
    pub(super) when: When,
}

/// How the points of a line are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stroke {
    /// Not at all: they belong to names.
    None,
    /// By a line.
    #[default]
    Solid,
    /// By a dashed line.
    Dashed,
    /// By a dotted line.
    Dotted,
}

/// Values of one thing.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Line {
    /// What it is of: lines of one name are hidden and shown together.
    pub(super) name: String,
    /// What tells it from others of the name; empty: nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
    /// Number of its colour, the same for the same server everywhere; null: it is beside the others.
    pub(super) look: Option<usize>,
    /// How its points are joined.
    pub(super) stroke: Stroke,
    /// Whether each value has a sign of its own.
    pub(super) has_points: bool,
    /// Whether lines go on over values that are missing.
    pub(super) over_gaps: bool,
    /// Index in `places`.
    pub(super) at: usize,
    /// Its values; null: none is known.
    pub(super) values: Vec<Option<f64>>,
    /// Lower ends of their intervals; empty: it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) low: Vec<Option<f64>>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) high: Vec<Option<f64>>,
    /// Values that are drawn hollow, by their place in the list, with the reason in words.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) hollow: BTreeMap<usize, String>,
}

/// A stretch of the axis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Shade {
    /// Its beginning.
    pub(super) from: f64,
    /// Its end; null: that of the axis.
    pub(super) until: Option<f64>,
    /// What it is.
    pub(super) name: String,
    /// What must be chosen for it to be shown.
    pub(super) when: When,
}

/// A place where something changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Mark {
    /// On the axis.
    pub(super) at: f64,
    /// How much.
    pub(super) text: String,
    /// Whether for the better.
    pub(super) is_good: bool,
}

/// Frames of a profile.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Flame {
    /// Samples of all.
    pub(super) samples: u64,
    /// Callers before what they called.
    pub(super) frames: Vec<Frame>,
}

/// A function that was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Frame {
    /// Its name.
    pub(super) name: String,
    /// Frames below it.
    pub(super) depth: u32,
    /// Where it begins, in samples from the left.
    pub(super) from: u64,
    /// Samples in which it was met.
    pub(super) samples: u64,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_of_charts_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/charts.json");
        let schema = crate::report::schema_of::<super::Charts<'_>>();
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == schema, "schemas/charts.json is out of date: run `make schemas`");
    }
}
