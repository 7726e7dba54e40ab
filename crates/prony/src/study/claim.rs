//! Claims: what a study predicts before it is measured. They are read here, and judged when the run is over.

use super::{
    Factor, Topology, Treatment,
    bound::{Bound, Relation, bound},
    forms,
    keys::{Elsewhere, Key, Put, Seen, key, read},
    kinds::{Form, Pattern, Text},
    metric::Metric,
    mistake::{Collector, Place, nearest},
    select::{self, Selection},
    shapes,
    tree::{Entry, Node, Table, Value},
    wrong::Wrong,
};
use crate::quantity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The selected levels of each named factor.
pub type Levels = BTreeMap<String, Vec<String>>;

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// In words.
    pub says: String,
    /// The same in Chinese; empty: as in `says`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says_zh: String,
    /// The conclusion of a published evaluation that it tests (`T2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// What it is about.
    pub metric: Metric,
    /// The points that it covers; if a study has several streams, the levels name one (`stream`).
    pub of: Levels,
    /// What is claimed of each of them.
    pub statement: Statement,
}

/// What a claim says of each of its points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statement {
    /// The ratio to the point that differs only in the levels of `over`.
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
        /// Numbers for levels that are not numbers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        numbers: BTreeMap<String, f64>,
    },
    /// A straight line along a factor: how far the metric is from it at most, as a share of its highest
    /// value.
    Linear {
        /// The factor.
        along: String,
        /// The share.
        share: f64,
        /// The numbers of its levels that are none themselves.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        numbers: BTreeMap<String, f64>,
    },
    /// How much the metric differs along a factor: its coefficient of variation there.
    Variation {
        /// The factor.
        along: String,
        /// What it is divided by; `None`: nothing.
        by: Option<Beside>,
        /// The coefficient, or the ratio of the two.
        bound: Bound,
    },
}

/// What a coefficient of variation is divided by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// That of other levels, along the same factor.
    Over(Levels),
    /// That of the same levels, along another factor.
    Than(String),
}

/// The position of a level along a line; `numbers` gives positions of levels that are not numbers.
#[must_use]
pub fn number_of(level: &str, numbers: &BTreeMap<String, f64>) -> Option<f64> {
    numbers.get(level).copied().or_else(|| level.parse().ok())
}

impl Statement {
    /// The limits on its numbers (values, ratios, slopes, ...), if it uses `metric`.
    #[must_use]
    pub fn bounds(&self, metric: Metric) -> Vec<Bound> {
        match self {
            Self::Ratio { bound, .. }
            | Self::Value(bound)
            | Self::Slope { bound, .. }
            | Self::Variation { bound, .. } => vec![*bound],
            Self::Linear { share, .. } => vec![Bound { relation: Relation::AtMost, value: *share }],
            Self::Within { share, .. } => vec![
                Bound { relation: Relation::AtLeast, value: 1.0 / (1.0 + share) },
                Bound { relation: Relation::AtMost, value: 1.0 + share },
            ],
            // each level by the next one
            Self::Order { .. } => {
                let relation = if metric.more_is_better() { Relation::Above } else { Relation::Below };
                vec![Bound { relation, value: 1.0 }]
            }
        }
    }
}

/// The keys of one.
#[derive(Default)]
pub(super) struct Written {
    says: Option<String>,
    says_zh: String,
    conclusion: Option<String>,
    metric: String,
    ratio: Option<Bound>,
    within: Option<f64>,
    by: String,
    slope: Option<Bound>,
    linear: Option<f64>,
    variation: Option<Bound>,
    along: String,
    than: String,
    numbers: BTreeMap<String, f64>,
}

/// `[[claim]]`
pub(super) const CLAIM: &[Key<Written>] = &[
    key(
        "says",
        &Put(Text, |claim: &mut Written, value| claim.says = Some(value)),
        None,
        r#""At the highest connection count, the pool doubles throughput.""#,
        "The claim in words, for the report.",
    ),
    key(
        "says_zh",
        &Put(Text, |claim: &mut Written, value| claim.says_zh = value),
        None,
        r#""连接数最多时，线程池使吞吐量加倍。""#,
        "The same in Chinese, for reports in Chinese.",
    ),
    key(
        "conclusion",
        &Put(Text, |claim: &mut Written, value| claim.conclusion = Some(value)),
        None,
        r#""T2""#,
        "The published conclusion that it tests, by number.",
    ),
    key(
        "metric",
        &Put(Text, |claim: &mut Written, value| claim.metric = value),
        Some(r#""throughput""#),
        "",
        "The metric: \"throughput\", \"statements\" (both per second); \"mean\", \"p95\", \"p99.9\" \
         (response time); \"active\" (time until a limit is reached); \"errors\" (share); \"rate\" (the \
         highest rate found); \"lag\" and \"lag_p99\" (of replicas); the cost of a transaction over all \
         streams: \"cpu\" (server processor time), \"client_cpu\", \"switches\", \"reads\", \"written\" (to \
         disk), \"log_syncs\"; the work of the servers: \"rows_scanned\" (full table scans) and \
         \"rows_read\", both per second, \"cpu_idle\" and \"cpu_idle_alone\" (while the background is \
         `alone`), \"table_locks_waited\", \"buffer_pool_hit\" (shares); \"connect\" and \"connect_p99\" \
         (time to open a connection).",
    ),
    key(
        "of",
        &Elsewhere(shapes::selection),
        None,
        r#"{ server = "a", connections = "highest" }"#,
        "Levels of the combinations that it covers, as in [[exclude]]; it must hold for each of them. With \
         several streams it covers the first, unless `stream` names one.",
    ),
    key(
        "over",
        &Elsewhere(shapes::selection),
        None,
        r#"{ server = "b" }"#,
        "The combination to compare each with: the one that differs only in these levels.",
    ),
    key(
        "ratio",
        &Put(forms::BOUND, |claim: &mut Written, value| claim.ratio = Some(value)),
        None,
        r#"">= 2""#,
        "The ratio of `of` to `over`.",
    ),
    key(
        "within",
        &Put(forms::SHARE, |claim: &mut Written, value| claim.within = Some(value)),
        None,
        r#""3%""#,
        "`of` and `over` differ by no more than this.",
    ),
    key(
        "value",
        &Put(Text, |_: &mut Written, _| ()),
        None,
        r#""< 20 ms""#,
        "The metric itself: \">= 1000\", \"< 20 ms\".",
    ),
    key(
        "order",
        &Elsewhere(shapes::order),
        None,
        r#"["a", "b"]"#,
        "A ranking: levels of a factor, the best first.",
    ),
    key(
        "by",
        &Put(Text, |claim: &mut Written, value| claim.by = value),
        Some(r#""server""#),
        "",
        "The factor whose levels are ranked.",
    ),
    key(
        "slope",
        &Put(forms::BOUND, |claim: &mut Written, value| claim.slope = Some(value)),
        None,
        r#"">= 0.9""#,
        "Growth of the metric along a factor, as the slope between the logarithms of both: 1 means \
         proportional growth, 0 none.",
    ),
    key(
        "linear",
        &Put(forms::SHARE, |claim: &mut Written, value| claim.linear = Some(value)),
        None,
        r#""10%""#,
        "The metric follows a straight line along a factor of three or more levels: no level deviates from \
         it by more than this share of the highest value.",
    ),
    key(
        "variation",
        &Put(forms::BOUND, |claim: &mut Written, value| claim.variation = Some(value)),
        None,
        r#""< 1""#,
        "Coefficient of variation of the metric along a factor: how smooth its curve is. With `over` it is \
         divided by that of other levels, with `than` by that along another factor.",
    ),
    key(
        "along",
        &Put(Text, |claim: &mut Written, value| claim.along = value),
        Some(r#""connections""#),
        "",
        "The factor of `slope`, `linear` and `variation`.",
    ),
    key(
        "numbers",
        &Put(NUMBERS, |claim: &mut Written, value| claim.numbers = value),
        None,
        r#"{ none = 0, "5 + 5" = 10 }"#,
        "For `slope` and `linear`: the numbers that stand for levels that are not numbers. Sizes and times \
         are numbers.",
    ),
    key(
        "than",
        &Put(Text, |claim: &mut Written, value| claim.than = value),
        None,
        r#""rows""#,
        "For `variation`: the other factor.",
    ),
];

/// Numbers by the names of levels.
const NUMBERS: Form<BTreeMap<String, f64>> =
    Form(numbers, Pattern::Schema(r#"{ "type": "object", "additionalProperties": { "type": "number" } }"#));
/// Keys that say what is claimed.
const STATEMENTS: [&str; 7] = ["ratio", "within", "value", "order", "slope", "linear", "variation"];

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
    /// Whether servers crash after the trials.
    pub(super) has_audit: bool,
    /// Whether the background load first runs alone.
    pub(super) has_alone: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        factors: &[Factor],
        known: &[Factor],
        streams: Vec<&'a str>,
        treatments: &[Treatment],
        (has_audit, has_alone): (bool, bool),
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
            has_audit,
            has_alone,
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
    let (written, seen): (Written, _) = read(node.table()?, CLAIM, mistakes);
    if written.says.is_none() {
        mistakes.at(&node.place, "a claim has no `says`", "add `says = \"...\"`");
    }
    let metric = metric(&written.metric, seen, scope, mistakes);
    let empty = Node { value: Value::Table(Table::default()), place: node.place.clone() };
    let mut of = scope.select(seen.get("of").unwrap_or(&empty), mistakes).unwrap_or_default();
    if let (2.., Some(first)) = (scope.streams.len(), scope.streams.first()) {
        of.entry("stream".to_owned()).or_insert_with(|| vec![(*first).to_owned()]);
    }
    let statement = statement(node, &written, seen, metric, scope, mistakes);
    let Written { says, says_zh, conclusion, .. } = written;
    Some(Claim { says: says?, says_zh, conclusion, metric: metric?, of, statement: statement? })
}

/// The metric of a claim, where the study has it.
fn metric(name: &str, seen: Seen<'_>, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<Metric> {
    let Ok(metric) = name.parse() else {
        mistakes.unknown(seen.place("metric")?, "metric", name, Metric::names());
        return None;
    };
    let missing = match metric {
        Metric::Rate if !scope.has_goal => {
            Some("no stream searches for a rate: set `rate = \"find\"` and an `objective` in a stream")
        }
        Metric::Lost(_) if !scope.has_audit => {
            Some("no server is killed: add a section [audit], which kills servers after the trials")
        }
        Metric::CpuIdleAlone if !scope.has_alone => {
            Some("the background is never alone: `alone = \"5s\"` in [measure] gives it the time")
        }
        Metric::Lag | Metric::LagP99 if !scope.has_members => {
            Some("no server has replicas or other nodes that could lag: set `replicas` in [topology]")
        }
        _ => None,
    };
    match missing {
        None => Some(metric),
        Some(reason) => {
            mistakes.at(seen.place("metric")?, format!("this study has no `{name}`"), reason);
            None
        }
    }
}

fn statement(
    node: &Node,
    written: &Written,
    seen: Seen<'_>,
    metric: Option<Metric>,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<Statement> {
    let said: Vec<&str> = STATEMENTS.into_iter().filter(|key| seen.place(key).is_some()).collect();
    let [key] = said.as_slice() else {
        let label = "add one of `ratio`, `within`, `value`, `order`, `slope`, `linear` and `variation`";
        let title = match said.as_slice() {
            [] => "a claim has nothing to check".to_owned(),
            _ => format!("a claim has {} conditions at once: `{}`", said.len(), said.join("`, `")),
        };
        mistakes.at(&node.place, title, label);
        return None;
    };
    for beside in ["over", "by", "along", "numbers", "than"].into_iter().filter(|beside| {
        let belongs = matches!(
            (*key, *beside),
            ("ratio" | "within", "over")
                | ("order", "by")
                | ("slope" | "linear", "along" | "numbers")
                | ("variation", "along" | "over" | "than")
        );
        !belongs && seen.place(beside).is_some()
    }) {
        let place = seen.place(beside)?;
        mistakes.at(place, format!("`{beside}` has no effect with `{key}`"), "remove it");
    }
    if ["ratio", "within"].contains(key) && seen.place("over").is_none() {
        let title = format!("a claim has `{key}` without `over`");
        mistakes.at(
            seen.place(key)?,
            title,
            "add `over = { FACTOR = LEVEL }`, the combination to compare \
                                              with",
        );
        return None;
    }
    let mut over = || scope.select(seen.get("over")?, mistakes);
    Some(match *key {
        "ratio" => Statement::Ratio { over: over()?, bound: written.ratio? },
        "within" => Statement::Within { over: over()?, share: written.within? },
        // the mistake in the metric has been reported
        "value" => Statement::Value(value(metric?, seen.get("value")?, mistakes)?),
        "slope" | "linear" => {
            let numbers = along_numbers(key, written, seen, scope, mistakes)?;
            let along = written.along.clone();
            match *key {
                "slope" => Statement::Slope { along, bound: written.slope?, numbers },
                _ => Statement::Linear { along, share: written.linear?, numbers },
            }
        }
        "variation" => variation(written, seen, scope, mistakes)?,
        _ => order(&written.by, seen, scope, mistakes)?,
    })
}

/// The numbers for those levels of a factor that are not numbers.
fn along_numbers(
    key: &str,
    written: &Written,
    seen: Seen<'_>,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<BTreeMap<String, f64>> {
    let place = seen.place("along").or_else(|| seen.place(key))?;
    let factor = scope.factor(&written.along, place, mistakes)?;
    let mut numbers = written.numbers.clone();
    for name in numbers.keys().filter(|name| !factor.levels.contains(name)) {
        let place = seen.place("numbers").unwrap_or(place);
        let what = format!("level of `{}`", written.along);
        mistakes.unknown(place, &what, name, factor.levels.iter().map(String::as_str));
    }
    let quantity = |level: &str| {
        let time = quantity::duration(level).map(|time| time.as_secs_f64());
        time.or_else(|_| quantity::size(level).map(|bytes| bytes as f64)).ok()
    };
    for level in factor.levels.iter().filter(|level| number_of(level, &written.numbers).is_none()) {
        numbers.extend(quantity(level).map(|number| (level.clone(), number)));
    }
    // if `numbers` leaves some levels out on purpose, the others still make a line
    let known = factor.levels.iter().filter(|level| number_of(level, &numbers).is_some()).count();
    if known < factor.levels.len() && (known < 2 || written.numbers.is_empty()) {
        let title = format!("the levels of `{}` are not numbers", written.along);
        mistakes.at(place, title, "expected a factor of numbers, or add `numbers = { LEVEL = NUMBER }`");
        return None;
    }
    Some(numbers)
}

fn variation(
    written: &Written,
    seen: Seen<'_>,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<Statement> {
    let place = seen.place("along").or_else(|| seen.place("variation"))?;
    scope.factor(&written.along, place, mistakes)?;
    let by = match (seen.get("over"), seen.place("than")) {
        (Some(_), Some(than)) => {
            mistakes.at(than, "`than` has no effect with `over`", "remove one of them");
            return None;
        }
        (Some(over), None) => Some(Beside::Over(scope.select(over, mistakes)?)),
        (None, Some(than)) => {
            scope.factor(&written.than, than, mistakes)?;
            Some(Beside::Than(written.than.clone()))
        }
        (None, None) => None,
    };
    Some(Statement::Variation { along: written.along.clone(), by, bound: written.variation? })
}

/// Reads `numbers`.
fn numbers(node: &Node) -> Result<BTreeMap<String, f64>, Wrong> {
    let wanted = || Wrong::Expected("a number for each level: { none = 0, \"5 + 5\" = 10 }");
    let number = |entry: &Entry| {
        let is_number = matches!(entry.node.value, Value::Integer(_) | Value::Real(_));
        Some((entry.key.clone(), entry.node.label().parse().ok().filter(|_| is_number)?))
    };
    let table = node.table().ok_or_else(wanted)?;
    table.0.iter().map(number).collect::<Option<_>>().ok_or_else(wanted)
}

fn value(metric: Metric, node: &Node, mistakes: &mut Collector) -> Option<Bound> {
    let title = || format!("`value` is not a limit for `{metric}`");
    bound(node, metric.unit()).map_err(|wrong| mistakes.at(&node.place, title(), wrong.to_string())).ok()
}

fn order(by: &str, seen: Seen<'_>, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<Statement> {
    let node = seen.get("order")?;
    let factor = scope.factor(by, seen.place("by").unwrap_or(&node.place), mistakes)?;
    let Value::Array(nodes) = &node.value else {
        let title = format!("`order` is {}", node.value.kind());
        mistakes.at(&node.place, title, "expected a list of levels, the best first");
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
            "an order needs at least two levels",
            "expected two levels or more, the best first",
        );
        return None;
    }
    Some(Statement::Order { by: by.to_owned(), levels })
}
