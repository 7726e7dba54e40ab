//! Facts with their figures, before they become words. Facts of one kind that were found for several trials,
//! streams or combinations are merged here, as values: each figure spans from its lowest to its highest
//! value. [`super::words`] makes the sentence.

use super::{number::round, words::Words};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// A fact in the form that a template takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Section and key of its template.
    pub(super) section: &'static str,
    pub(super) key: String,
    /// Its figures, by the names of the template's placeholders.
    pub(super) figures: BTreeMap<String, Figure>,
}

/// One figure of a fact.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Figure {
    /// From the lowest to the highest value; for a single fact both are equal.
    Range(f64, f64),
    /// Trials by number, from 0.
    Trials(BTreeSet<u32>),
    /// A name, or text from elsewhere.
    Text(String),
    /// Other facts that it rests on.
    Facts(Vec<Fact>),
}

impl Fact {
    /// The fact for an enum value: the variant's name is the key, its fields are the figures.
    pub(super) fn of(section: &'static str, value: &impl Serialize) -> Self {
        let (key, fields) = variant(serde_json::to_value(value).unwrap_or_default());
        let figure = |(name, value): (String, Value)| {
            let figure = match value {
                Value::Number(number) => number.as_f64().map(|value| Figure::Range(value, value))?,
                Value::String(text) => Figure::Text(text),
                Value::Bool(flag) => Figure::Text(flag.to_string()),
                // the cause is a separate fact
                value @ Value::Object(_) if name == "cause" => Figure::Facts(vec![Self::of("cause", &value)]),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((name, figure))
        };
        Self { section, key, figures: fields.into_iter().filter_map(figure).collect() }
    }

    /// A fact without figures yet.
    pub(super) fn new(section: &'static str, key: &str) -> Self {
        Self { section, key: key.to_owned(), figures: BTreeMap::new() }
    }

    /// Adds a figure.
    pub(super) fn with(mut self, name: &str, figure: Figure) -> Self {
        self.figures.insert(name.to_owned(), figure);
        self
    }

    /// A fact that wraps another one: `invalid: {reason}`.
    pub(super) fn around(section: &'static str, key: &str, name: &str, inner: Self) -> Self {
        Self::new(section, key).with(name, Figure::Facts(vec![inner]))
    }

    /// Whether the figure `name` stands for exactly one thing.
    pub(super) fn is_one(&self, name: &str) -> bool {
        match self.figures.get(name) {
            Some(Figure::Range(low, high)) => (*low, *high) == (1.0, 1.0),
            Some(Figure::Trials(trials)) => trials.len() == 1,
            _ => false,
        }
    }

    /// Whether two facts differ only in their numbers.
    fn is_alike(&self, other: &Self) -> bool {
        (self.section, &self.key) == (other.section, &other.key)
            && self.figures.keys().eq(other.figures.keys())
            && self.figures.values().zip(other.figures.values()).all(|(one, other)| one.is_alike(other))
    }

    /// Widens the figures to cover those of a similar fact.
    fn widen(&mut self, other: &Self) {
        for (one, other) in self.figures.values_mut().zip(other.figures.values()) {
            one.widen(other);
        }
    }
}

impl Figure {
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(..), Self::Range(..)) | (Self::Trials(_), Self::Trials(_)) => true,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Facts(ours), Self::Facts(theirs)) => {
                ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.is_alike(other))
            }
            _ => false,
        }
    }

    fn widen(&mut self, other: &Self) {
        match (self, other) {
            (Self::Range(low, high), Self::Range(lower, higher)) => {
                (*low, *high) = (low.min(*lower), high.max(*higher));
            }
            (Self::Trials(ours), Self::Trials(theirs)) => ours.extend(theirs),
            (Self::Facts(ours), Self::Facts(theirs)) => {
                ours.iter_mut().zip(theirs).for_each(|(one, other)| one.widen(other));
            }
            _ => {}
        }
    }
}

/// Name and fields of a variant, however serde has tagged it.
fn variant(value: Value) -> (String, Map<String, Value>) {
    match value {
        Value::String(name) => (name, Map::new()),
        Value::Object(mut fields) => match fields.remove("kind") {
            Some(Value::String(name)) => (name, fields),
            _ => match fields.into_iter().next() {
                Some((name, Value::Object(fields))) => (name, fields),
                Some((name, only)) => (name, [("text".to_owned(), only)].into_iter().collect()),
                None => (String::new(), Map::new()),
            },
        },
        _ => (String::new(), Map::new()),
    }
}

/// A fact, and what it was found for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Together<T> {
    /// What it was found for, each once.
    pub(super) about: Vec<T>,
    pub(super) fact: Fact,
}

/// Merges facts that differ only in their numbers, in the order of first appearance.
pub(super) fn together<T: PartialEq>(found: impl IntoIterator<Item = (T, Fact)>) -> Vec<Together<T>> {
    let mut all: Vec<Together<T>> = Vec::new();
    for (about, fact) in found {
        match all.iter_mut().find(|known| known.fact.is_alike(&fact)) {
            Some(known) => {
                known.fact.widen(&fact);
                if !known.about.contains(&about) {
                    known.about.push(about);
                }
            }
            None => all.push(Together { about: vec![about], fact }),
        }
    }
    all
}

/// Writes the figures by name: a number, `[lowest, highest]`, or text.
impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |figure: &Figure| match figure {
            Figure::Range(low, high) if low.total_cmp(high).is_eq() => Value::from(round(*low)),
            Figure::Range(low, high) => Value::from(vec![round(*low), round(*high)]),
            Figure::Text(text) => Value::from(text.as_str()),
            Figure::Trials(trials) => Value::from_iter(trials.iter().copied()),
            Figure::Facts(_) => Value::Null,
        };
        serializer.collect_map(self.figures.iter().map(|(name, figure)| (name, value(figure))))
    }
}

impl JsonSchema for Fact {
    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let numbers = json_schema!({
            "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
        });
        json_schema!({
            "description": "Figures by name: a number, lowest and highest of several, or what others said.",
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "number"}, numbers, {"type": "string"}]},
        })
    }
}

/// A fact and its sentence; files contain only the sentence.
#[derive(Debug, Clone)]
pub struct Told {
    pub(super) fact: Fact,
    pub(super) text: String,
}

impl Told {
    /// Puts a fact into words.
    pub(super) fn new(fact: Fact, words: Words) -> Self {
        Self { text: words.say(&fact), fact }
    }
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl JsonSchema for Told {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Told".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::What;

    fn starved(connections: u64) -> Fact {
        Fact::of("doubt", &What::Starved { connections, of: 1024 })
    }

    #[test]
    fn numbers_become_ranges_and_what_differs_otherwise_stays_apart() {
        let told = |cause: &str| Fact::of("doubt", &What::Told(cause.to_owned()));
        let found = [(1, starved(16)), (2, told("16 were away")), (1, starved(18)), (3, starved(17))];
        let all = together(found.into_iter().chain([(4, told("18 were away")), (4, told("16 were away"))]));
        let about: Vec<&[i32]> = all.iter().map(|one| one.about.as_slice()).collect();
        assert_eq!(about, [&[1, 3][..], &[2, 4], &[4]]);
        assert_eq!(all[0].fact.figures["connections"], Figure::Range(16.0, 18.0));
        assert_eq!(
            serde_json::to_value(&all[0].fact).expect("JSON"),
            serde_json::json!({"connections": [16.0, 18.0], "of": 1024.0})
        );
        assert_eq!(all[1].fact.figures["text"], Figure::Text("16 were away".to_owned()));
    }

    #[test]
    fn facts_about_facts_are_put_together_with_them() {
        let left_out = |trial: u32, connections| {
            let trials = Figure::Trials(BTreeSet::from([trial]));
            let doubts = Figure::Facts(vec![starved(connections)]);
            ((), Fact::new("left_out", "invalid").with("trials", trials).with("doubts", doubts))
        };
        let all = together([left_out(3, 5), left_out(7, 9)]);
        let [one] = &all[..] else { panic!("{all:?}") };
        assert_eq!(one.fact.figures["trials"], Figure::Trials(BTreeSet::from([3, 7])));
        let Figure::Facts(inner) = &one.fact.figures["doubts"] else { panic!("{one:?}") };
        assert_eq!(inner[0].figures["connections"], Figure::Range(5.0, 9.0));
    }
}
