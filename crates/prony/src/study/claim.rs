//! Claims: what a study says will come out, before it is measured. Read here, judged when the run is over.

use super::{
    Factor, Topology, Treatment,
    keys::CLAIM,
    mistake::{Collector, Place, nearest},
    read::{Values, check},
    select::{self, Selection},
    tree::{Node, Table, Value},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// For each factor that is named, the levels that are meant.
pub type Levels = BTreeMap<String, Vec<String>>;

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// In words.
    pub says: String,
    /// The conclusion of a published evaluation that it tests (`T2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// What it is about: `throughput`, `p99`, `errors` ...
    pub metric: String,
    /// The points that it is about; where a study has several streams, one of them is among the levels
    /// (`stream`).
    pub of: Levels,
    /// What is claimed of each of them.
    pub statement: Statement,
}

/// What a claim says of each of its points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statement {
    /// It stands in this ratio to the point that differs in the levels of `over` alone.
    Ratio {
        /// The other point.
        over: Levels,
        /// The ratio.
        bound: Bound,
    },
    /// The same two differ by no more than a share (0.03: 3 %).
    Within {
        /// The other point.
        over: Levels,
        /// The share.
        share: f64,
    },
    /// The metric itself: transactions per second, ms, a share of errors.
    Value(Bound),
    /// Levels of a factor, the best first.
    Order {
        /// The factor.
        by: String,
        /// Its levels.
        levels: Vec<String>,
    },
    /// Growth along a factor: the slope of the metric over it, both as logarithms. 1: in proportion; 0: not
    /// at all.
    Slope {
        /// The factor.
        along: String,
        /// The slope.
        bound: Bound,
    },
}

/// A limit to a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// On which side of it the number must be.
    pub relation: Relation,
    /// The limit.
    pub value: f64,
}

impl Bound {
    /// Whether a number, taken as exact, is on the right side.
    #[must_use]
    pub fn holds(self, number: f64) -> bool {
        match self.relation {
            Relation::Above => number > self.value,
            Relation::AtLeast => number >= self.value,
            Relation::Below => number < self.value,
            Relation::AtMost => number <= self.value,
        }
    }
}

/// Sides of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Above it.
    #[serde(rename = ">")]
    Above,
    /// Above it or equal.
    #[serde(rename = ">=")]
    AtLeast,
    /// Below it.
    #[serde(rename = "<")]
    Below,
    /// Below it or equal.
    #[serde(rename = "<=")]
    AtMost,
}

impl Relation {
    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// Whether the number must be great.
    #[must_use]
    pub fn is_lower_limit(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }
}

/// Metrics by name; percentiles beside them.
const METRICS: [&str; 17] = [
    "active",
    "client_cpu",
    "cpu",
    "errors",
    "lag",
    "lag_p99",
    "log_syncs",
    "mean",
    "p50",
    "p95",
    "p99",
    "rate",
    "reads",
    "statements",
    "switches",
    "throughput",
    "written",
];
/// Keys that say what is claimed.
const STATEMENTS: [&str; 5] = ["ratio", "within", "value", "order", "slope"];

/// What claims can be about.
pub(super) struct Scope<'a> {
    /// The factors, and the streams as one of them where there are several.
    pub(super) factors: Vec<Factor>,
    /// The same with the levels of all scales.
    pub(super) known: Vec<Factor>,
    /// Names of the streams.
    pub(super) streams: Vec<&'a str>,
    /// Whether a rate is searched somewhere.
    pub(super) has_goal: bool,
    /// Whether servers work together somewhere.
    pub(super) has_members: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        factors: &[Factor],
        known: &[Factor],
        streams: Vec<&'a str>,
        treatments: &[Treatment],
    ) -> Self {
        let (mut factors, mut known) = (factors.to_vec(), known.to_vec());
        if streams.len() > 1 {
            let levels = streams.iter().map(|&name| name.to_owned()).collect();
            let stream = Factor { name: "stream".to_owned(), levels, numeric: false };
            factors.push(stream.clone());
            known.push(stream);
        }
        let any = |has: &dyn Fn(&Treatment) -> bool| treatments.is_empty() || treatments.iter().any(has);
        Self {
            factors,
            known,
            streams,
            has_goal: any(&|treatment| treatment.goal.is_some()),
            has_members: any(&|treatment| treatment.server.topology != Topology::Single),
        }
    }

    fn select(&self, node: &Node, mistakes: &mut Collector) -> Option<Levels> {
        select::read(node, &self.factors, &self.known, mistakes).map(|Selection(levels)| levels)
    }

    fn factor(&self, name: &str, place: &Place, mistakes: &mut Collector) -> Option<&Factor> {
        let found = self.known.iter().find(|factor| factor.name == name);
        if found.is_none() {
            mistakes.unknown(place, "factor", name, self.known.iter().map(|factor| factor.name.as_str()));
        }
        found
    }
}

/// Reads every `[[claim]]`.
pub(super) fn claims(root: &Table, scope: &Scope<'_>, mistakes: &mut Collector) -> Vec<Claim> {
    let nodes = select::tables(root, "claim", mistakes);
    nodes.into_iter().filter_map(|node| claim(node, scope, mistakes)).collect()
}

fn claim(node: &Node, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<Claim> {
    let table = node.table()?;
    let values = check(table, CLAIM, &[], mistakes);
    let says = values.text("says");
    if says.is_none() {
        mistakes.at(&node.place, "a claim does not say what it claims", "`says = \"...\"` belongs here");
    }
    let metric = metric(&values, scope, mistakes);
    let empty = Node { value: Value::Table(Table::default()), place: node.place.clone() };
    let mut of = scope.select(table.get("of").unwrap_or(&empty), mistakes).unwrap_or_default();
    if let (2.., Some(first)) = (scope.streams.len(), scope.streams.first()) {
        of.entry("stream".to_owned()).or_insert_with(|| vec![(*first).to_owned()]);
    }
    let statement = statement(node, &values, table, metric.as_deref().unwrap_or_default(), scope, mistakes);
    let conclusion = values.text("conclusion");
    Some(Claim { says: says?, conclusion, metric: metric?, of, statement: statement? })
}

fn metric(values: &Values<'_>, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<String> {
    let name = values.text("metric")?;
    let percent = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
    if !METRICS.contains(&&*name) && !percent.is_some_and(|percent| percent > 0.0 && percent < 100.0) {
        mistakes.unknown(values.place("metric")?, "metric", &name, METRICS.into_iter().chain(["p99.9"]));
        return None;
    }
    let missing = match &*name {
        "rate" if !scope.has_goal => {
            Some("no rate is searched: `rate = \"find\"` and an `objective` in a stream search one")
        }
        "lag" | "lag_p99" if !scope.has_members => Some(
            "no server has replicas or further nodes that could be behind: `replicas` in [topology] gives \
             it some",
        ),
        _ => None,
    };
    match missing {
        None => Some(name),
        Some(reason) => {
            mistakes.at(values.place("metric")?, format!("this study has no `{name}`"), reason);
            None
        }
    }
}

fn statement(
    node: &Node,
    values: &Values<'_>,
    table: &Table,
    metric: &str,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<Statement> {
    let said: Vec<&str> = STATEMENTS.into_iter().filter(|key| values.place(key).is_some()).collect();
    let [key] = said.as_slice() else {
        let label = "one of `ratio`, `within`, `value`, `order` and `slope` belongs here";
        let title = match said.as_slice() {
            [] => "a claim says nothing that could be measured".to_owned(),
            _ => format!("a claim says {} things at once: `{}`", said.len(), said.join("`, `")),
        };
        mistakes.at(&node.place, title, label);
        return None;
    };
    let needed = match *key {
        "ratio" | "within" => Some("over"),
        _ => None,
    };
    for beside in ["over", "by", "along"].into_iter().filter(|beside| {
        let belongs =
            matches!((*key, *beside), ("ratio" | "within", "over") | ("order", "by") | ("slope", "along"));
        !belongs && values.place(beside).is_some()
    }) {
        let place = values.place(beside)?;
        mistakes.at(place, format!("`{beside}` says nothing beside `{key}`"), "leave it out");
    }
    if let Some(needed) = needed.filter(|needed| values.place(needed).is_none()) {
        let title = format!("a claim has `{key}` without `{needed}`");
        mistakes.at(values.place(key)?, title, "`over = { FACTOR = LEVEL }` says what it is held against");
        return None;
    }
    let over = || table.get("over");
    let bound = |unit| values.read(key, |node| bound(node, unit));
    Some(match *key {
        "ratio" => Statement::Ratio { over: scope.select(over()?, mistakes)?, bound: bound("")? },
        "within" => Statement::Within {
            over: scope.select(over()?, mistakes)?,
            share: values.read("within", super::forms::share)?,
        },
        // what is wrong with the metric has been told
        "value" if metric.is_empty() => return None,
        "value" => Statement::Value(match values.read("value", |node| self::bound(node, metric)) {
            Some(bound) => bound,
            None => {
                let title = format!("`value` is not a limit to `{metric}`");
                let label = format!("a limit belongs here, such as \"{}\"", example(metric));
                mistakes.at(values.place("value")?, title, label);
                return None;
            }
        }),
        "slope" => {
            let along = values.text("along")?;
            let place = values.place("along").or_else(|| values.place("slope"))?;
            if !scope.factor(&along, place, mistakes)?.numeric {
                mistakes.at(
                    place,
                    format!("`{along}` has no numbers to grow along"),
                    "a factor of numbers belongs here",
                );
                return None;
            }
            Statement::Slope { along, bound: bound("")? }
        }
        _ => order(values, table, scope, mistakes)?,
    })
}

fn order(
    values: &Values<'_>,
    table: &Table,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<Statement> {
    let node = table.get("order")?;
    let by = values.text("by")?;
    let factor = scope.factor(&by, values.place("by").unwrap_or(&node.place), mistakes)?;
    let Value::Array(nodes) = &node.value else {
        let title = format!("`order` is {}", node.value.kind());
        mistakes.at(&node.place, title, "a list of levels belongs here, the best first");
        return None;
    };
    let mut levels = Vec::new();
    for node in nodes {
        let label = node.label();
        if !factor.levels.contains(&label) {
            let known = factor.levels.iter().map(String::as_str);
            match nearest(&label, known.clone()) {
                Some(near) => mistakes.at(
                    &node.place,
                    format!("`{by}` has no level `{label}`"),
                    format!("did you mean `{near}`?"),
                ),
                None => mistakes.unknown(&node.place, &format!("level of `{by}`"), &label, known),
            }
        }
        levels.push(label);
    }
    if levels.len() < 2 {
        mistakes.at(
            &node.place,
            "an order of less than two says nothing",
            "two levels or more belong here, the best first",
        );
        return None;
    }
    Some(Statement::Order { by, levels })
}

fn example(metric: &str) -> &'static str {
    match metric {
        "" => ">= 2",
        "throughput" | "statements" | "rate" => ">= 1000",
        "switches" | "reads" | "log_syncs" => "< 2",
        "written" => "< 4 kB",
        "cpu" | "client_cpu" => "< 0.5 ms",
        "errors" => "< 0.1%",
        "active" => "< 60 s",
        _ => "< 20 ms",
    }
}

/// Reads `">= 2"`; a number of a metric may have a unit, and is given in the one that the metric has: per
/// second, ms, for `active` s, for `written` kB, for `errors` a share.
pub(super) fn bound(node: &Node, metric: &str) -> Result<Bound, String> {
    let wanted = || format!("a limit belongs here, such as \"{}\"", example(metric));
    let text = node.text().ok_or_else(wanted)?.trim();
    let signs = [Relation::AtLeast, Relation::AtMost, Relation::Above, Relation::Below];
    let relation = signs.into_iter().find(|relation| text.starts_with(relation.sign())).ok_or_else(wanted)?;
    let rest = text[relation.sign().len()..].trim();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".-_".contains(c))).unwrap_or(rest.len());
    let number: f64 = rest[..end].replace('_', "").parse().map_err(|_| wanted())?;
    let factor = match (metric, rest[end..].trim()) {
        ("throughput" | "statements" | "rate" | "switches" | "reads" | "log_syncs" | "", "") => 1.0,
        // a time, an amount or a share without its unit could be any
        (_, "") => return Err(format!("`{rest}` has no unit: write \"{}\"", example(metric))),
        ("throughput" | "statements" | "rate", "/s") => 1.0,
        ("errors", "%") => 0.01,
        ("written", unit) => match unit {
            "B" => 1e-3,
            "kB" => 1.0,
            "MB" => 1e3,
            _ => return Err(wanted()),
        },
        ("throughput" | "statements" | "rate" | "errors" | "switches" | "reads" | "log_syncs" | "", _) => {
            return Err(wanted());
        }
        (metric, unit) => {
            let ms = match unit {
                "us" => 1e-3,
                "ms" => 1.0,
                "s" => 1e3,
                "min" => 60e3,
                _ => return Err(wanted()),
            };
            if metric == "active" { ms / 1e3 } else { ms }
        }
    };
    Ok(Bound { relation, value: number * factor })
}
