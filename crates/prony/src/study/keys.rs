//! Every key of a study is written once, as a [`Key`]: its name, what it takes, its default, its meaning, and
//! where its value goes. Reading and checking, the nearest right name, the JSON schema, the commented
//! reference study and the plan's words are all made from the tables of keys. Each table is beside the type
//! that it fills; this file knows none of them.

use super::{
    mistake::{Collector, Place},
    phrase::Phrase,
    tree::{self, Node, Table, Value},
    wrong::Wrong,
};
use crate::language::Language;
use serde_json::json;

/// One key of a table that is read into a `T`.
pub(super) struct Key<T: 'static> {
    name: &'static str,
    takes: &'static dyn Takes<T>,
    default: Option<&'static str>,
    example: &'static str,
    about: &'static str,
    words: Option<fn(&T, Language) -> Phrase>,
}

/// A key: its name; what it takes, and where that goes; what holds without it, and a value to show where
/// nothing does, both as TOML; what it is for, one sentence.
pub(super) const fn key<T>(
    name: &'static str,
    takes: &'static dyn Takes<T>,
    default: Option<&'static str>,
    example: &'static str,
    about: &'static str,
) -> Key<T> {
    Key { name, takes, default, example, about, words: None }
}

impl<T> Key<T> {
    /// What a plan says of it.
    pub(super) const fn says(self, words: fn(&T, Language) -> Phrase) -> Self {
        Self { words: Some(words), ..self }
    }
}

/// What values a key takes: how one is read, and how a schema says so.
pub(super) trait Kind {
    /// What a value is read as.
    type Value;

    /// Reads a value.
    fn read(&self, node: &Node) -> Result<Self::Value, Misfit>;

    /// As a JSON schema.
    fn schema(&self) -> serde_json::Value;

    /// Whether what `--set` gives is text, even where it looks like a number: `10.11`.
    fn is_text(&self) -> bool {
        false
    }
}

/// Why a value is none of its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Misfit {
    /// It is of another type; what belongs there.
    Type(&'static str),
    /// It is wrong.
    Value(Wrong),
    /// It is none of these words.
    Word(Vec<&'static str>),
    /// Something in a list is wrong.
    List(Wrong),
    /// It is a text without a letter.
    Empty,
}

/// What all keys have, whatever they are read into.
pub(super) trait Shape {
    /// See [`Kind::schema`].
    fn schema(&self) -> serde_json::Value;

    /// See [`Kind::is_text`].
    fn is_text(&self) -> bool {
        false
    }

    /// The keys of the table that it is.
    fn keys(&self) -> Vec<Described> {
        Vec::new()
    }
}

/// What reads the value of a key, and knows where it goes.
pub(super) trait Takes<T>: Shape {
    /// Reads it, if it is read here.
    fn put(&self, node: &Node, into: &mut T) -> Result<(), Misfit>;
}

/// A value of a kind, and where it goes.
pub(super) struct Put<K: Kind, T>(pub(super) K, pub(super) fn(&mut T, K::Value));

impl<K: Kind, T> Shape for Put<K, T> {
    fn schema(&self) -> serde_json::Value {
        self.0.schema()
    }

    fn is_text(&self) -> bool {
        self.0.is_text()
    }
}

impl<K: Kind, T> Takes<T> for Put<K, T> {
    fn put(&self, node: &Node, into: &mut T) -> Result<(), Misfit> {
        self.0.read(node).map(|value| self.1(into, value))
    }
}

/// A table with keys of its own, which whoever knows its place reads.
pub(super) struct Section<U: 'static>(pub(super) &'static [Key<U>]);

impl<U> Shape for Section<U> {
    fn schema(&self) -> serde_json::Value {
        object(&self.keys())
    }

    fn keys(&self) -> Vec<Described> {
        described(self.0)
    }
}

impl<T, U> Takes<T> for Section<U> {
    fn put(&self, _: &Node, _: &mut T) -> Result<(), Misfit> {
        Ok(())
    }
}

/// What is read elsewhere, with its schema.
pub(super) struct Elsewhere(pub(super) fn() -> serde_json::Value);

impl Shape for Elsewhere {
    fn schema(&self) -> serde_json::Value {
        self.0()
    }
}

impl<T> Takes<T> for Elsewhere {
    fn put(&self, _: &Node, _: &mut T) -> Result<(), Misfit> {
        Ok(())
    }
}

/// A key as the schema and the reference show it.
#[derive(Clone, Copy)]
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) default: Option<&'static str>,
    pub(super) example: &'static str,
    pub(super) about: &'static str,
    pub(super) shape: &'static dyn Shape,
}

/// The keys of a table, whatever they are read into.
pub(super) fn described<T>(keys: &'static [Key<T>]) -> Vec<Described> {
    let described = |key: &'static Key<T>| {
        let Key { name, takes, default, example, about, .. } = *key;
        Described { name, default, example, about, shape: takes }
    };
    keys.iter().map(described).collect()
}

/// Whether a table has a key.
pub(super) fn has<T>(keys: &[Key<T>], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}

/// The names of its keys.
pub(super) fn names<T>(keys: &[Key<T>]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| key.name)
}

/// What a plan can say by the keys of a table, in their order.
pub(super) fn words<T>(keys: &[Key<T>]) -> impl Iterator<Item = fn(&T, Language) -> Phrase> {
    keys.iter().filter_map(|key| key.words)
}

/// A table with these keys and no others, as a JSON schema.
pub(super) fn object(keys: &[Described]) -> serde_json::Value {
    let properties: serde_json::Map<_, _> =
        keys.iter().map(|key| (key.name.to_owned(), key.schema())).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

impl Described {
    /// The schema of its value.
    fn schema(&self) -> serde_json::Value {
        let mut schema = self.shape.schema();
        schema["description"] = json!(self.about);
        if let Some(default) = self.default {
            schema["default"] = toml_value(default);
        }
        schema
    }
}

/// A default in TOML, as JSON.
pub(super) fn toml_value(text: &str) -> serde_json::Value {
    let value = text.parse::<toml::Value>().expect("defaults are TOML; a test reads them all");
    serde_json::to_value(value).expect("numbers, text and flags are JSON")
}

/// The contents of a table that has been read.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a>(&'a Table);

impl<'a> Seen<'a> {
    /// The value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        self.0.get(name)
    }

    /// Where the value of a key stands.
    pub(super) fn place(&self, name: &str) -> Option<&'a Place> {
        self.get(name).map(|node| &node.place)
    }
}

/// Reads a table: what is written, and defaults for the rest.
pub(super) fn read<'a, T: Default>(
    table: &'a Table,
    keys: &[Key<T>],
    mistakes: &mut Collector,
) -> (T, Seen<'a>) {
    let mut read = T::default();
    let seen = read_into(table, keys, &[], &mut read, mistakes);
    (read, seen)
}

/// Reads a table as [`read`] does. Keys that are not known are mistakes, unless `beside` has them.
pub(super) fn read_into<'a, T>(
    table: &'a Table,
    keys: &[Key<T>],
    beside: &[&str],
    into: &mut T,
    mistakes: &mut Collector,
) -> Seen<'a> {
    put(table, keys, beside, into, true, mistakes)
}

/// Applies a table to values from elsewhere: keys that it does not have keep their values.
pub(super) fn lay_upon<'a, T>(
    table: &'a Table,
    keys: &[Key<T>],
    into: &mut T,
    mistakes: &mut Collector,
) -> Seen<'a> {
    put(table, keys, &[], into, false, mistakes)
}

/// In the order of the keys, so that one may complete an earlier one.
fn put<'a, T>(
    table: &'a Table,
    keys: &[Key<T>],
    beside: &[&str],
    into: &mut T,
    with_defaults: bool,
    mistakes: &mut Collector,
) -> Seen<'a> {
    for key in keys {
        let written = table.get(key.name).map(|node| (node, key.takes.put(node, into)));
        match (written, key.default) {
            (Some((_, Ok(()))), _) | (None, None) => continue,
            (Some((node, Err(misfit))), _) => tell(key.name, node, misfit, mistakes),
            (None, Some(_)) => {}
        }
        if let Some(default) = key.default.filter(|_| with_defaults) {
            let put = key.takes.put(&tree::parse_value(default, 0, 0), into);
            debug_assert_eq!(put, Ok(()), "the default of `{}`", key.name);
        }
    }
    let is_known = |name: &str| has(keys, name) || beside.contains(&name);
    for entry in table.0.iter().filter(|entry| !is_known(&entry.key)) {
        let known = keys.iter().map(|key| key.name).chain(beside.iter().copied());
        mistakes.unknown(&entry.key_place, "key", &entry.key, known);
    }
    Seen(table)
}

/// The table of a section; `None` where there is none, or something else stands there.
pub(super) fn section<'a>(node: Option<&'a Node>, name: &str, mistakes: &mut Collector) -> Option<&'a Table> {
    let node = node?;
    if node.table().is_none() {
        mistakes.at(&node.place, format!("`{name}` is {}", node.value.kind()), "expected a table");
    }
    node.table()
}

fn tell(name: &str, node: &Node, misfit: Misfit, mistakes: &mut Collector) {
    let (title, label) = match (misfit, &node.value) {
        (Misfit::Word(words), Value::Text(text)) => {
            return mistakes.unknown(&node.place, name, text, words);
        }
        (Misfit::Empty, _) => (format!("`{name}` is empty"), "expected text that is not empty".to_owned()),
        (Misfit::List(wrong), _) => (format!("`{name}` is [{}]", node.label()), wrong.to_string()),
        (_, Value::Array(_)) => (
            format!("`{name}` takes one value, not a list"),
            "expected one value; put lists of levels into [vary]".to_owned(),
        ),
        (Misfit::Type(wanted), other) => {
            (format!("`{name}` takes {wanted}, not {}", other.kind()), format!("expected {wanted}"))
        }
        (Misfit::Value(wrong), Value::Text(text)) => (format!("`{name}` is \"{text}\""), wrong.to_string()),
        (Misfit::Value(wrong), Value::Integer(_) | Value::Real(_)) => {
            (format!("`{name}` is {}", node.label()), wrong.to_string())
        }
        (Misfit::Value(wrong), other) => (format!("`{name}` is {}", other.kind()), wrong.to_string()),
        (Misfit::Word(_), _) => unreachable!("only a text is none of some words"),
    };
    mistakes.at(&node.place, title, label);
}
