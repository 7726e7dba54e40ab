//! What the points of a study are drawn along: a rate, a number of connections, another number that varies,
//! or names; and what is compared there: servers or, where there is only one, levels of a factor that is not
//! numeric.

use super::Point;
use crate::plan::{Factor, Plan, ServerNames};
use schemars::JsonSchema;
use serde::Serialize;

/// What the points of a study are drawn along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// The kind of axis.
    pub kind: AxisKind,
    /// The factors whose levels it shows; empty: the number of connections, which does not vary.
    pub factors: Vec<String>,
    /// The factors whose levels are compared with the first ones; empty: servers are compared.
    pub compared: Vec<String>,
    /// How servers are named.
    pub servers: ServerNames,
}

/// Kinds of axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// Starts offered per second.
    Rate,
    /// Connections.
    Connections,
    /// Another number.
    Number,
    /// Levels that are not numbers, of one factor or several.
    Names,
}

impl Axis {
    /// The axis of a study: a rate if one varies, else connections, else any other number, else everything
    /// that is not a number, except the workload and what distinguishes servers.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut axis = Self { servers: ServerNames::of(plan), ..Self::along(plan) };
        if plan.servers.len() == 1 {
            let free = plan.factors.iter().filter(|factor| !factor.numeric && is_free(plan, factor));
            let mut free = free.filter(|factor| !axis.has(&factor.name) && factor.levels.len() > 1);
            axis.compared = match axis.kind {
                AxisKind::Names => axis.factors.clone(),
                _ => free
                    .find(|factor| !is_workload(factor))
                    .map(|factor| factor.name.clone())
                    .into_iter()
                    .collect(),
            };
        }
        axis
    }

    fn along(plan: &Plan) -> Self {
        let free: Vec<&Factor> = plan.factors.iter().filter(|factor| is_free(plan, factor)).collect();
        let numeric = || free.iter().copied().filter(|factor| factor.numeric && factor.levels.len() > 1);
        let one = |kind, factor: &Factor| Self::without_sides(kind, vec![factor.name.clone()]);
        let is_rate = |factor: &&Factor| factor.name == "rate" || factor.name.ends_with(".rate");
        if let Some(rate) = numeric().find(is_rate) {
            return one(AxisKind::Rate, rate);
        }
        if let Some(ladder) = free.iter().find(|factor| is_connections(plan, factor)) {
            return one(AxisKind::Connections, ladder);
        }
        if let Some(number) = numeric().next_back() {
            return one(AxisKind::Number, number);
        }
        let names = free.iter().filter(|factor| !is_workload(factor) && factor.levels.len() > 1);
        let factors: Vec<String> = names.map(|factor| factor.name.clone()).collect();
        let kind = if factors.is_empty() { AxisKind::Connections } else { AxisKind::Names };
        Self::without_sides(kind, factors)
    }

    fn without_sides(kind: AxisKind, factors: Vec<String>) -> Self {
        Self { kind, factors, compared: Vec::new(), servers: ServerNames::default() }
    }

    /// Whether a factor is on the axis.
    #[must_use]
    pub fn has(&self, factor: &str) -> bool {
        self.factors.iter().any(|own| own == factor)
    }

    /// The name of a point in comparisons: its server, or the levels that are compared.
    #[must_use]
    pub fn side(&self, point: &Point) -> String {
        if self.compared.is_empty() {
            return self.servers.shown(&point.server).to_owned();
        }
        let levels = self.compared.iter().filter_map(|factor| point.levels.get(factor).map(String::as_str));
        levels.collect::<Vec<_>>().join(", ")
    }

    /// Whether a factor distinguishes what is compared.
    #[must_use]
    pub fn compares(&self, factor: &str) -> bool {
        factor == "server" || self.compared.iter().any(|own| own == factor)
    }

    /// The stream that the axis is about, where the study has several.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        let [factor] = self.factors.as_slice() else { return None };
        factor.split_once('.').map(|(stream, _)| stream)
    }

    /// The place of a point, as it is written.
    #[must_use]
    pub fn label(&self, point: &Point) -> Option<String> {
        let levels = self.factors.iter().filter_map(|factor| point.levels.get(factor).map(String::as_str));
        (self.kind == AxisKind::Names).then(|| levels.collect::<Vec<_>>().join(", "))
    }

    /// The place of a point; on an axis of names, all points with the same number of connections share a
    /// place.
    #[must_use]
    pub fn value(&self, point: &Point) -> f64 {
        let connections = f64::from(point.connections);
        match (self.kind, self.factors.first()) {
            (AxisKind::Names, _) | (_, None) => connections,
            (_, Some(factor)) => {
                point.levels.get(factor).and_then(|level| level.parse().ok()).unwrap_or(f64::NAN)
            }
        }
    }
}

/// The workload is what a table is about, never what is compared in it.
fn is_workload(factor: &Factor) -> bool {
    factor.name == "workload" || factor.name.ends_with(".workload")
}

/// Whether a factor varies while the server stays the same.
fn is_free(plan: &Plan, factor: &Factor) -> bool {
    // a nested factor leaves no place for the others on an axis
    let is_everywhere = plan.treatments.iter().all(|treatment| treatment.levels.contains_key(&factor.name));
    if factor.name == "server" || !is_everywhere {
        return false;
    }
    let level = |treatment: usize| plan.treatments[treatment].levels.get(&factor.name);
    let first_of = |server: usize| plan.treatments.iter().position(|treatment| treatment.server == server);
    factor.levels.len() == 1
        || (0..plan.treatments.len()).any(|index| {
            first_of(plan.treatments[index].server).is_some_and(|first| level(first) != level(index))
        })
}

/// Whether a factor's level is the number of connections of the first stream in every treatment.
fn is_connections(plan: &Plan, factor: &Factor) -> bool {
    factor.numeric
        && plan.treatments.iter().all(|treatment| {
            let connections = treatment.streams.first().map(|stream| stream.connections.to_string());
            treatment.levels.get(&factor.name) == connections.as_ref()
        })
}
