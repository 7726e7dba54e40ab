//! A chart as values: what is drawn, never how. The viewer (`viewer/src`) draws it in a page and, when `svg`
//! runs it, for files. The schema of this format is `schemas/charts.json`.

use super::{block::Table, number::round, packed::packed};
use crate::escape;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::LazyLock};

/// Version of this format. A viewer refuses any other one.
const FORMAT: u32 = 2;

/// The script that draws charts, in a page or in an engine.
pub static VIEWER: LazyLock<String> = packed!("viewer.js");

/// Charts in the form that the viewer gets: texts are ready to be shown, because it shows them unchanged, and
/// figures have as many digits as in files.
pub(super) fn value(charts: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(charts).expect("plain values become JSON");
    show(&mut value);
    value
}

/// The same charts in several languages as one value: what differs becomes `{"in": {LANGUAGE: ...}}`.
pub(super) fn in_languages(codes: &[&str], mut values: Vec<Value>) -> Value {
    let first = values.first().cloned().unwrap_or_default();
    if values.iter().all(|value| *value == first) {
        return first;
    }
    let lists: Option<Vec<&Vec<Value>>> = values.iter().map(Value::as_array).collect();
    if let Some(lists) = lists.filter(|lists| lists.iter().all(|list| list.len() == lists[0].len())) {
        let at = |place: usize| in_languages(codes, lists.iter().map(|list| list[place].clone()).collect());
        return (0..lists[0].len()).map(at).collect();
    }
    let objects: Option<Vec<&Map<String, Value>>> = values.iter().map(Value::as_object).collect();
    if let Some(objects) = objects.filter(|all| all.iter().all(|one| one.keys().eq(all[0].keys()))) {
        let at = |name: &String| {
            let value = in_languages(codes, objects.iter().map(|one| one[name].clone()).collect());
            (name.clone(), value)
        };
        return Value::Object(objects[0].keys().map(at).collect());
    }
    let in_each: Map<String, Value> =
        codes.iter().map(|code| (*code).to_owned()).zip(values.drain(..)).collect();
    serde_json::json!({ "in": in_each })
}

fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape::plain(text),
        Value::Number(number) => {
            if let Some(value) = number.as_f64().filter(|_| number.is_f64()) {
                *number = serde_json::Number::from_f64(round(value)).unwrap_or(number.clone());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show),
        Value::Object(fields) => fields.values_mut().for_each(show),
        _ => {}
    }
}

/// All charts of a page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Charts of a page")]
pub(super) struct Charts<'a> {
    /// Version of this format: 2.
    format: u32,
    /// The charts, in the order of the page.
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
    /// Its name in links and file names: `throughput-oltp-read-only`.
    pub(super) id: String,
    /// What is drawn.
    pub(super) title: String,
    /// What it is about, in words; empty: the whole run.
    pub(super) about: String,
    /// What is drawn, as values.
    pub(super) drawing: Drawing,
    /// The same as numbers, for those who cannot see it.
    #[serde(skip)]
    pub(super) numbers: Numbers,
}

/// Where a chart's numbers are found.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    /// In the chart's own table.
    Table(Table),
    /// In a table of the section, which these words name.
    In(String),
}

/// What a chart draws.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Drawing {
    /// Values along an axis.
    Lines(Lines),
    /// Stack frames, each on top of its caller and as wide as its share of the samples (after B. Gregg, *The
    /// Flame Graph*, ACM Queue 14, 2016).
    Flame(Flame),
}

/// Values along an axis, in one panel or in several, one below the other.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Lines {
    /// What the reader can choose from; empty: everything is shown.
    pub(super) choices: Vec<Choice>,
    /// The axis along which values are drawn, the same for all panels.
    pub(super) x: Axis,
    /// Places along that axis: each line uses one of these lists.
    pub(super) places: Vec<Vec<f64>>,
    /// The panels, one below the other.
    pub(super) panels: Vec<Panel>,
    /// Stretches of the axis that are marked.
    pub(super) shades: Vec<Shade>,
    /// Places where something changed.
    pub(super) marks: Vec<Mark>,
}

/// A choice that the reader has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Choice {
    /// What is chosen.
    pub(super) title: String,
    /// The options.
    pub(super) options: Vec<String>,
    /// Index of the option that is chosen at first, and in a picture.
    pub(super) first: usize,
}

/// What must be chosen for something to be shown: index of the choice and index of its option.
pub(super) type When = Vec<(usize, usize)>;

/// An axis.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Axis {
    /// What it shows; empty: the panel's title says it.
    pub(super) title: String,
    /// Unit of its values: `ms`, `/s`.
    pub(super) unit: String,
    /// How values are spaced along it.
    pub(super) scale: Scale,
    /// Values that are written beside it, and how they are written; empty: round ones.
    pub(super) ticks: Vec<Tick>,
}

/// How values are spaced along an axis.
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
    /// Ratios, by their logarithm: 1 is where nothing differs.
    Ratio,
    /// Shares below 1, so that the last ones have room: by the logarithm of 1 / (1 - share).
    Tail,
    /// Names side by side: values are their numbers, from 0.
    Names,
    /// One after another, like runs over time: values are their numbers, from 0.
    Order,
}

/// A value on an axis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Tick {
    /// The value.
    pub(super) at: f64,
    /// The value as it is written.
    pub(super) label: String,
}

/// Lines over one vertical axis.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Panel {
    /// What it shows; empty: the chart's title says it, and one legend serves all panels.
    pub(super) title: String,
    /// The vertical axis.
    pub(super) y: Axis,
    /// Whether lines are drawn as stacked areas.
    pub(super) stacked: bool,
    /// Its lines.
    pub(super) lines: Vec<Line>,
    /// Amounts as colours, in place of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) heat: Option<Heat>,
    /// Choices for which the panel is shown.
    pub(super) when: When,
}

/// Values of cells, in columns along the axis from 0 on and in rows along the vertical axis.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Heat {
    /// What a value stands for.
    pub(super) title: String,
    /// Ends of the columns.
    pub(super) until: Vec<f64>,
    /// Edges of the rows, ascending: one more than there are rows.
    pub(super) edges: Vec<f64>,
    /// For each column, the first row with a value.
    pub(super) first: Vec<usize>,
    /// For each column, the values of its rows from that one on.
    pub(super) values: Vec<Vec<f64>>,
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
    /// What it stands for: lines with the same name are hidden and shown together.
    pub(super) name: String,
    /// What tells it apart from other lines of that name; empty: nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
    /// Number of its colour, the same for the same server everywhere; null: it is a secondary line.
    pub(super) look: Option<usize>,
    /// How its points are joined.
    pub(super) stroke: Stroke,
    /// Whether each value gets a mark.
    pub(super) has_points: bool,
    /// Whether the line continues across missing values.
    pub(super) over_gaps: bool,
    /// Index in `places`.
    pub(super) at: usize,
    /// Its values; null: unknown.
    pub(super) values: Vec<Option<f64>>,
    /// Lower ends of the intervals; empty: there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) low: Vec<Option<f64>>,
    /// Upper ends of the intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) high: Vec<Option<f64>>,
    /// Text beside each value; empty: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<String>,
    /// Lower ends of the intervals along the axis, where places are estimates too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left: Vec<Option<f64>>,
    /// Upper ends of these intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) right: Vec<Option<f64>>,
    /// Values that are drawn hollow, by their index, with the reason in words.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) hollow: BTreeMap<usize, String>,
}

/// A stretch of the axis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Shade {
    /// Its beginning.
    pub(super) from: f64,
    /// Its end; null: the end of the axis.
    pub(super) until: Option<f64>,
    /// Its name.
    pub(super) name: String,
    /// Choices for which it is shown.
    pub(super) when: When,
}

/// A place where something changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Mark {
    /// Its place on the axis.
    pub(super) at: f64,
    /// By how much it changed.
    pub(super) text: String,
    /// Whether it changed for the better.
    pub(super) is_good: bool,
}

/// Stack frames of a profile.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Flame {
    /// Number of samples in total.
    pub(super) samples: u64,
    /// The frames, each caller before those that it called.
    pub(super) frames: Vec<Frame>,
}

/// A function on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Frame {
    /// Its name.
    pub(super) name: String,
    /// Number of frames below it.
    pub(super) depth: u32,
    /// Where it begins, in samples from the left.
    pub(super) from: u64,
    /// Samples in which it appears.
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
