//! Checks a table against the keys that it may have, and gives their values out as plain types.

use super::{
    forms::Form,
    keys::{Key, Kind},
    mistake::{Collector, Place},
    tree::{Node, Table, Value},
};
use crate::quantity;
use std::time::Duration;

/// The values of a table that were found right; defaults stand in for the rest.
pub(super) struct Values<'a> {
    table: &'a Table,
    keys: &'static [Key],
}

/// Checks every entry of `table`; unknown keys are mistakes unless `extra` takes them.
pub(super) fn check<'a>(
    table: &'a Table,
    keys: &'static [Key],
    extra: &[&str],
    mistakes: &mut Collector,
) -> Values<'a> {
    for entry in &table.0 {
        match keys.iter().find(|key| key.name == entry.key) {
            Some(key) => check_value(key.name, key.kind, &entry.node, mistakes),
            None if extra.contains(&entry.key.as_str()) => {}
            None => {
                let known = keys.iter().map(|key| key.name).chain(extra.iter().copied());
                mistakes.unknown(&entry.key_place, "key", &entry.key, known);
            }
        }
    }
    Values { table, keys }
}

impl<'a> Values<'a> {
    /// Where a value stands.
    pub(super) fn place(&self, name: &str) -> Option<&'a Place> {
        self.table.get(name).map(|node| &node.place)
    }

    /// A text or a word; its default if it has one.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.node(name).value {
            Value::Text(text) => Some(text),
            _ => self.default(name).text().map(str::to_owned),
        }
    }

    /// A whole number; where it is missing or wrong, its default or 0.
    pub(super) fn count(&self, name: &str) -> u64 {
        let number = |node: &Node| match &node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number(&self.node(name)).or_else(|| number(&self.default(name))).unwrap_or(0)
    }

    /// True or false.
    pub(super) fn flag(&self, name: &str) -> bool {
        match (self.node(name).value, self.default(name).value) {
            (Value::Flag(flag), _) | (_, Value::Flag(flag)) => flag,
            _ => false,
        }
    }

    /// A length of time, if one is written.
    pub(super) fn duration_written(&self, name: &str) -> Option<Duration> {
        self.place(name).map(|_| self.duration(name))
    }

    /// A length of time; where it is missing or wrong, its default or zero.
    pub(super) fn duration(&self, name: &str) -> Duration {
        let read = |node: &Node| node.text().and_then(|text| quantity::duration(text).ok());
        read(&self.node(name)).or_else(|| read(&self.default(name))).unwrap_or_default()
    }

    /// What is written, if it has been found right.
    pub(super) fn read<T>(&self, name: &str, form: impl Fn(&Node) -> Result<T, String>) -> Option<T> {
        self.table.get(name).and_then(|node| form(node).ok())
    }

    /// A number, if one is written.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let node = self.table.get(name)?;
        matches!(node.value, Value::Integer(_) | Value::Real(_)).then(|| node.label().parse().ok())?
    }

    fn node(&self, name: &str) -> Node {
        self.table.get(name).cloned().unwrap_or_else(|| self.default(name))
    }

    fn default(&self, name: &str) -> Node {
        let key = self.keys.iter().find(|key| key.name == name);
        let text = key.and_then(|key| key.default).unwrap_or("[]");
        super::tree::parse_value(text, 0, 0)
    }
}

fn check_value(name: &str, kind: Kind, node: &Node, mistakes: &mut Collector) {
    let wrong_type = |mistakes: &mut Collector, wanted: &str| {
        let title = format!("`{name}` takes {wanted}, not {}", node.value.kind());
        mistakes.at(&node.place, title, format!("{wanted} belongs here"));
    };
    match (kind, &node.value) {
        (Kind::Text, Value::Text(text)) if text.trim().is_empty() => {
            mistakes.at(&node.place, format!("`{name}` is empty"), "some text belongs here");
        }
        (Kind::Text, Value::Text(_)) | (Kind::Flag, Value::Flag(_)) | (Kind::Section, _) => {}
        (Kind::Count(min, max), Value::Integer(number)) => {
            if !u64::try_from(*number).is_ok_and(|number| (min..=max).contains(&number)) {
                let title = format!("`{name}` is {number}");
                mistakes.at(&node.place, title, format!("a number from {min} to {max} belongs here"));
            }
        }
        (Kind::Number(min, max), Value::Integer(_) | Value::Real(_)) => {
            let number = node.label();
            if !number.parse().is_ok_and(|number: f64| (min..=max).contains(&number)) {
                let title = format!("`{name}` is {number}");
                mistakes.at(&node.place, title, format!("a number from {min} to {max} belongs here"));
            }
        }
        (Kind::Duration(min, max), Value::Text(text)) => {
            check_duration(name, (min, max), text, node, mistakes)
        }
        (Kind::Form(form), _) => {
            if let Err(wrong) = form.check(name, node) {
                let list = matches!(node.value, Value::Array(_)) && !matches!(form, Form::Addresses);
                let label = if list {
                    "one value belongs here; a list of levels belongs into [vary]"
                } else {
                    &wrong.label
                };
                mistakes.at(&node.place, wrong.title, label);
            }
        }
        (Kind::Word(words), Value::Text(text)) => {
            if !words.contains(&text.as_str()) {
                mistakes.unknown(&node.place, name, text, words.iter().copied());
            }
        }
        (
            Kind::Text | Kind::Word(_) | Kind::Flag | Kind::Count(..) | Kind::Number(..) | Kind::Duration(..),
            Value::Array(_),
        ) => {
            let title = format!("`{name}` has one value, and this is a list");
            mistakes.at(&node.place, title, "one value belongs here; a list of levels belongs into [vary]");
        }
        (Kind::Text | Kind::Word(_), _) => wrong_type(mistakes, "text in quotes"),
        (Kind::Flag, _) => wrong_type(mistakes, "true or false"),
        (Kind::Count(..), _) => wrong_type(mistakes, "a whole number"),
        (Kind::Number(..), _) => wrong_type(mistakes, "a number"),
        (Kind::Duration(..), _) => wrong_type(mistakes, "a length of time with its unit, such as \"3s\""),
    }
}

fn check_duration(name: &str, (min, max): (u64, u64), text: &str, node: &Node, mistakes: &mut Collector) {
    let duration = match quantity::duration(text) {
        Ok(duration) => duration,
        Err(error) => {
            return mistakes.at(&node.place, format!("`{name}` is \"{text}\""), error.to_string());
        }
    };
    if !(u128::from(min)..=u128::from(max)).contains(&duration.as_micros()) {
        let label = format!(
            "from {} to {} belongs here",
            quantity::show_duration(Duration::from_micros(min)),
            quantity::show_duration(Duration::from_micros(max))
        );
        mistakes.at(&node.place, format!("`{name}` is \"{text}\""), label);
    }
}
