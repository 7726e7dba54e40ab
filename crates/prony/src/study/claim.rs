//! Claims: what a study says will come out, before it is measured. Read here, judged when the run is over.

use super::{
    Factor, Topology, Treatment,
    bound::{Bound, Unit, bound},
    forms,
    keys::{Elsewhere, Key, Put, Seen, key, read},
    kinds::Text,
    mistake::{Collector, Place, nearest},
    select::{self, Selection},
    shapes,
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

/// The keys of one.
#[derive(Default)]
pub(super) struct Written {
    says: Option<String>,
    conclusion: Option<String>,
    metric: String,
    ratio: Option<Bound>,
    within: Option<f64>,
    by: String,
    slope: Option<Bound>,
    along: String,
}

/// `[[claim]]`
pub(super) const CLAIM: &[Key<Written>] = &[
    key(
        "says",
        &Put(Text, |claim: &mut Written, value| claim.says = Some(value)),
        None,
        r#""The pool doubles throughput at most connections.""#,
        "The claim in words, for the report.",
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
        "What it is about: \"throughput\", \"statements\" (both per second), \"mean\", \"p95\", \"p99.9\" \
         (response time), \"active\" (what a limit takes), \"errors\" (share); \"rate\" (the highest that \
         was found); \"lag\" and \"lag_p99\" (of replicas); what a transaction of all streams costs: \
         \"cpu\" (time of the servers' processors) and \"client_cpu\", \"switches\", \"reads\", \"written\" \
         (to disks), \"log_syncs\"; what the servers did meanwhile: \"rows_scanned\" (in full table scans) \
         and \"rows_read\", both per second, \"cpu_idle\", \"table_locks_waited\", \"buffer_pool_hit\" \
         (shares); \"connect\" and \"connect_p99\" (time to open a connection).",
    ),
    key(
        "of",
        &Elsewhere(shapes::selection),
        None,
        r#"{ server = "a", connections = "highest" }"#,
        "Levels of the combinations that it is about, as in [[exclude]]; of several it must hold for each. \
         Of several streams it is about the first, unless `stream` names one.",
    ),
    key(
        "over",
        &Elsewhere(shapes::selection),
        None,
        r#"{ server = "b" }"#,
        "What each is held against: the combination that differs from it in these levels alone.",
    ),
    key(
        "ratio",
        &Put(forms::BOUND, |claim: &mut Written, value| claim.ratio = Some(value)),
        None,
        r#"">= 2""#,
        "The one divided by the other.",
    ),
    key(
        "within",
        &Put(forms::SHARE, |claim: &mut Written, value| claim.within = Some(value)),
        None,
        r#""3%""#,
        "The two differ by no more than this.",
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
        "Growth of the metric along a factor, on logarithms of both: 1 is in proportion to it, 0 is none.",
    ),
    key(
        "along",
        &Put(Text, |claim: &mut Written, value| claim.along = value),
        Some(r#""connections""#),
        "",
        "The factor that it grows along.",
    ),
];

/// Metrics by name, with what they are measured in; percentiles beside them.
const METRICS: [(&str, Unit); 25] = [
    ("active", Unit::Seconds),
    ("buffer_pool_hit", Unit::Share),
    ("client_cpu", Unit::Milliseconds),
    ("connect", Unit::Milliseconds),
    ("connect_p99", Unit::Milliseconds),
    ("cpu", Unit::Milliseconds),
    ("cpu_idle", Unit::Share),
    ("errors", Unit::Share),
    ("lag", Unit::Milliseconds),
    ("lag_p99", Unit::Milliseconds),
    ("log_syncs", Unit::One),
    ("lost", Unit::Share),
    ("mean", Unit::Milliseconds),
    ("p50", Unit::Milliseconds),
    ("p95", Unit::Milliseconds),
    ("p99", Unit::Milliseconds),
    ("rate", Unit::PerSecond),
    ("reads", Unit::One),
    ("rows_read", Unit::PerSecond),
    ("rows_scanned", Unit::PerSecond),
    ("statements", Unit::PerSecond),
    ("switches", Unit::One),
    ("table_locks_waited", Unit::Share),
    ("throughput", Unit::PerSecond),
    ("written", Unit::Kilobytes),
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
    /// Whether servers are killed after the trials.
    pub(super) has_audit: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        factors: &[Factor],
        known: &[Factor],
        streams: Vec<&'a str>,
        treatments: &[Treatment],
        has_audit: bool,
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
        mistakes.at(&node.place, "a claim does not say what it claims", "`says = \"...\"` belongs here");
    }
    let unit = metric(&written.metric, seen, scope, mistakes);
    let empty = Node { value: Value::Table(Table::default()), place: node.place.clone() };
    let mut of = scope.select(seen.get("of").unwrap_or(&empty), mistakes).unwrap_or_default();
    if let (2.., Some(first)) = (scope.streams.len(), scope.streams.first()) {
        of.entry("stream".to_owned()).or_insert_with(|| vec![(*first).to_owned()]);
    }
    let statement = statement(node, &written, seen, unit, scope, mistakes);
    unit?;
    let Written { says, conclusion, metric, .. } = written;
    Some(Claim { says: says?, conclusion, metric, of, statement: statement? })
}

impl Claim {
    /// What its metric is measured in.
    #[must_use]
    pub fn unit(&self) -> Unit {
        unit_of(&self.metric).unwrap_or(Unit::One)
    }
}

/// What a metric is measured in; `None`: there is none of that name.
fn unit_of(name: &str) -> Option<Unit> {
    let percent = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
    let percentile = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
    let known = METRICS.iter().find(|(metric, _)| *metric == name).map(|(_, unit)| *unit);
    known.or(percentile.map(|_| Unit::Milliseconds))
}

/// What a metric is measured in.
fn metric(name: &str, seen: Seen<'_>, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<Unit> {
    let Some(unit) = unit_of(name) else {
        let names = METRICS.iter().map(|(name, _)| *name).chain(["p99.9"]);
        mistakes.unknown(seen.place("metric")?, "metric", name, names);
        return None;
    };
    let missing = match name {
        "rate" if !scope.has_goal => {
            Some("no rate is searched: `rate = \"find\"` and an `objective` in a stream search one")
        }
        "lost" if !scope.has_audit => {
            Some("no server is killed: a section [audit] does that after the trials")
        }
        "lag" | "lag_p99" if !scope.has_members => Some(
            "no server has replicas or further nodes that could be behind: `replicas` in [topology] gives \
             it some",
        ),
        _ => None,
    };
    match missing {
        None => Some(unit),
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
    unit: Option<Unit>,
    scope: &Scope<'_>,
    mistakes: &mut Collector,
) -> Option<Statement> {
    let said: Vec<&str> = STATEMENTS.into_iter().filter(|key| seen.place(key).is_some()).collect();
    let [key] = said.as_slice() else {
        let label = "one of `ratio`, `within`, `value`, `order` and `slope` belongs here";
        let title = match said.as_slice() {
            [] => "a claim says nothing that could be measured".to_owned(),
            _ => format!("a claim says {} things at once: `{}`", said.len(), said.join("`, `")),
        };
        mistakes.at(&node.place, title, label);
        return None;
    };
    for beside in ["over", "by", "along"].into_iter().filter(|beside| {
        let belongs =
            matches!((*key, *beside), ("ratio" | "within", "over") | ("order", "by") | ("slope", "along"));
        !belongs && seen.place(beside).is_some()
    }) {
        let place = seen.place(beside)?;
        mistakes.at(place, format!("`{beside}` says nothing beside `{key}`"), "leave it out");
    }
    if ["ratio", "within"].contains(key) && seen.place("over").is_none() {
        let title = format!("a claim has `{key}` without `over`");
        mistakes.at(seen.place(key)?, title, "`over = { FACTOR = LEVEL }` says what it is held against");
        return None;
    }
    let mut over = || scope.select(seen.get("over")?, mistakes);
    Some(match *key {
        "ratio" => Statement::Ratio { over: over()?, bound: written.ratio? },
        "within" => Statement::Within { over: over()?, share: written.within? },
        // what is wrong with the metric has been told
        "value" => Statement::Value(value(&written.metric, unit?, seen.get("value")?, mistakes)?),
        "slope" => {
            let along = written.along.clone();
            let place = seen.place("along").or_else(|| seen.place("slope"))?;
            if !scope.factor(&along, place, mistakes)?.numeric {
                mistakes.at(
                    place,
                    format!("`{along}` has no numbers to grow along"),
                    "a factor of numbers belongs here",
                );
                return None;
            }
            Statement::Slope { along, bound: written.slope? }
        }
        _ => order(&written.by, seen, scope, mistakes)?,
    })
}

fn value(metric: &str, unit: Unit, node: &Node, mistakes: &mut Collector) -> Option<Bound> {
    let told = bound(node, unit);
    told.map_err(|label| mistakes.at(&node.place, format!("`value` is not a limit to `{metric}`"), label))
        .ok()
}

fn order(by: &str, seen: Seen<'_>, scope: &Scope<'_>, mistakes: &mut Collector) -> Option<Statement> {
    let node = seen.get("order")?;
    let factor = scope.factor(by, seen.place("by").unwrap_or(&node.place), mistakes)?;
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
    Some(Statement::Order { by: by.to_owned(), levels })
}
