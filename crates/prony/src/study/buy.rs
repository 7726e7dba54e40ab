//! `[buy]`, a buyer's question: which server is enough for a load, and at what price.

use super::{
    Study, Treatment,
    forms::OBJECTIVE,
    keys::{Key, Kind, Misfit, Put, key, read_into, section},
    mistake::Collector,
    tree::{Node, Table, Value},
    wrong::Wrong,
};
use crate::search::Objectives;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What a server must do to suffice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Buy {
    /// The transactions per second that are needed, ascending; empty: only the highest rate of each server is
    /// searched for.
    #[serde(default)]
    pub rates_per_second: Vec<f64>,
    /// The objective to keep at that rate: `p99 < 20ms`.
    pub objective: String,
}

impl Buy {
    /// The objective, ready to judge by; `None`: the plan is from another version, and this one cannot read
    /// it.
    #[must_use]
    pub fn objectives(&self) -> Option<Objectives> {
        Objectives::parse(&self.objective).ok()
    }
}

/// One number above 0 or several: `500`, `[500, 2000]`.
struct Rates;

impl Kind for Rates {
    type Value = Vec<f64>;

    /// Sorted in ascending order.
    fn read(&self, node: &Node) -> Result<Vec<f64>, Misfit> {
        let wanted = || Wrong::Expected("a number of transactions per second, or a list of them");
        let number = |node: &Node| match &node.value {
            Value::Integer(_) | Value::Real(_) => node.label().parse().ok().filter(|rate: &f64| *rate > 0.0),
            _ => None,
        };
        let mut rates: Vec<f64> = match &node.value {
            Value::Array(nodes) if !nodes.is_empty() => {
                nodes.iter().map(number).collect::<Option<_>>().ok_or_else(|| Misfit::List(wanted()))?
            }
            _ => vec![number(node).ok_or_else(|| Misfit::Value(wanted()))?],
        };
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        Ok(rates)
    }

    fn schema(&self) -> Json {
        let rate = json!({ "type": "number", "exclusiveMinimum": 0 });
        json!({ "anyOf": [rate, { "type": "array", "items": rate, "minItems": 1 }] })
    }
}

/// `[buy]`
pub(super) const BUY: &[Key<Buy>] = &[
    key(
        "rate",
        &Put(Rates, |buy: &mut Buy, rates| buy.rates_per_second = rates),
        None,
        "[500, 2000]",
        "Transactions per second that are wanted, one number or several: for each the report names the \
         first server, in the study's order, that sustains it, and the cheapest.",
    ),
    key(
        "objective",
        &Put(OBJECTIVE, |buy: &mut Buy, objective| buy.objective = objective.to_string()),
        None,
        r#""p99 < 50ms""#,
        "What is to be kept meanwhile; where a stream searches its rate, the objective of that search.",
    ),
];

/// Reads the section; `None`: the study has none.
pub(super) fn read(root: &Table, study: &mut Study, mistakes: &mut Collector) {
    let Some(table) = section(root.get("buy"), "buy", mistakes) else { return };
    let mut buy = Buy::default();
    let seen = read_into(table, BUY, &[], &mut buy, mistakes);
    let searched = |treatment: &Treatment| Some(treatment.goal.as_ref()?.objective.clone());
    let mut searched: Vec<String> = study.treatments.iter().filter_map(searched).collect();
    searched.dedup();
    match (seen.get("objective"), searched.first()) {
        (None, Some(of_search)) => buy.objective.clone_from(of_search),
        (None, None) if !study.treatments.is_empty() => {
            if let Some(entry) = root.entry("buy") {
                let title = "[buy] does not say what is to be kept";
                mistakes.at(&entry.key_place, title, "expected `objective = \"p99 < 50ms\"`");
            }
        }
        _ => {}
    }
    // a rate that could not be read has been reported already
    let place = seen.place("objective").or(root.entry("buy").map(|entry| &entry.key_place));
    let other = searched.iter().find(|of_search| **of_search != buy.objective);
    if let (Some(other), Some(place), Ok(_)) = (other, place, Objectives::parse(&buy.objective)) {
        let title = format!("[buy] is about `{}`, but a rate is searched for `{other}`", buy.objective);
        mistakes.at(place, title, "one objective belongs in both places");
    }
    study.buy = Some(buy);
}
