//! What keys take: text, numbers, quantities with their units, words, and forms with a syntax of their own.

use super::{
    keys::{Kind, Misfit},
    tree::{Node, Value},
    wrong::Wrong,
};
use crate::quantity::{self, Wanted};
use serde_json::{Value as Json, json};
use std::{net::IpAddr, time::Duration};

/// Longest time that a study may ask for: a day, in us.
pub(super) const DAY_US: u64 = 24 * 3600 * 1_000_000;

/// Longest round trip of a network: there and back with [`load::relay::ONE_WAY_MAX`], in us.
pub(super) const LATENCY_MAX_US: u64 = 2 * load::relay::ONE_WAY_MAX.as_secs() * 1_000_000;

/// Any text that is not empty.
pub(super) struct Text;

impl Kind for Text {
    type Value = String;

    fn read(&self, node: &Node) -> Result<String, Misfit> {
        match node.text() {
            None => Err(Misfit::Type("text in quotes")),
            Some(text) if text.trim().is_empty() => Err(Misfit::Empty),
            Some(text) => Ok(text.to_owned()),
        }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// `true` or `false`.
pub(super) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn read(&self, node: &Node) -> Result<bool, Misfit> {
        if let Value::Flag(flag) = node.value { Ok(flag) } else { Err(Misfit::Type("true or false")) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

/// A whole number between these, both included: `1000`, `"1M"`.
pub(super) struct Count<N>(pub(super) N, pub(super) N);

impl<N: Copy + Into<u64> + TryFrom<u64>> Kind for Count<N> {
    type Value = N;

    fn read(&self, node: &Node) -> Result<N, Misfit> {
        let (min, max): (u64, u64) = (self.0.into(), self.1.into());
        let number = match &node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            // as a level, quoted digits would be a name
            Value::Text(text) if text.trim().ends_with(|last: char| last.is_ascii_alphabetic()) => {
                Some(quantity::count(text).map_err(|error| Misfit::Value(error.into()))?)
            }
            _ => return Err(Misfit::Type("a whole number")),
        };
        let number =
            number.filter(|number| (min..=max).contains(number)).and_then(|number| number.try_into().ok());
        number.ok_or_else(|| out_of_range("number", [min, max].map(|limit| limit.to_string())))
    }

    fn schema(&self) -> Json {
        let (min, max): (u64, u64) = (self.0.into(), self.1.into());
        json!({
            "type": ["integer", "string"],
            "minimum": min,
            "maximum": max,
            "pattern": r"^\s*[0-9][0-9_]*\s*[kKmMgG]\s*$",
        })
    }
}

/// A number between these, both included.
pub(super) struct Number(pub(super) f64, pub(super) f64);

impl Kind for Number {
    type Value = f64;

    fn read(&self, node: &Node) -> Result<f64, Misfit> {
        let Self(min, max) = *self;
        if !matches!(node.value, Value::Integer(_) | Value::Real(_)) {
            return Err(Misfit::Type("a number"));
        }
        let number = node.label().parse().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| out_of_range("number", [min, max].map(|limit| limit.to_string())))
    }

    fn schema(&self) -> Json {
        json!({ "type": "number", "minimum": self.0, "maximum": self.1 })
    }
}

/// A length of time between these microseconds, both included.
pub(super) struct Time(pub(super) u64, pub(super) u64);

impl Kind for Time {
    type Value = Duration;

    fn read(&self, node: &Node) -> Result<Duration, Misfit> {
        let (min, max) = (Duration::from_micros(self.0), Duration::from_micros(self.1));
        let time = quantity(node, quantity::duration, Wanted::Duration).map_err(Misfit::Value)?;
        if (min..=max).contains(&time) {
            return Ok(time);
        }
        Err(out_of_range("time", [min, max].map(quantity::show_duration)))
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": r"^\s*([0-9][0-9_.]*\s*(us|ms|s|m|min|h)\s*)+$" })
    }
}

/// One of these words, each with what it means.
pub(super) struct Words<V: 'static>(pub(super) &'static [(&'static str, V)]);

impl<V: Clone> Kind for Words<V> {
    type Value = V;

    fn read(&self, node: &Node) -> Result<V, Misfit> {
        let text = node.text().ok_or(Misfit::Type("text in quotes"))?;
        let found = self.0.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| value.clone()).ok_or_else(|| Misfit::Word(self.words()))
    }

    fn schema(&self) -> Json {
        json!({ "enum": self.words() })
    }

    fn is_text(&self) -> bool {
        true
    }
}

impl<V> Words<V> {
    fn words(&self) -> Vec<&'static str> {
        self.0.iter().map(|(word, _)| *word).collect()
    }
}

/// Addresses of this machine.
pub(super) struct Addresses;

impl Kind for Addresses {
    type Value = Vec<IpAddr>;

    fn read(&self, node: &Node) -> Result<Vec<IpAddr>, Misfit> {
        let wanted = || Wrong::Expected("a list of this machine's addresses: [\"127.0.0.1\", \"127.0.0.2\"]");
        let Value::Array(nodes) = &node.value else { return Err(Misfit::Value(wanted())) };
        let address = |node: &Node| node.text()?.trim().parse().ok();
        nodes.iter().map(address).collect::<Option<_>>().ok_or_else(|| Misfit::List(wanted()))
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": { "type": "string" } })
    }
}

/// One address of this machine, by which others know it.
pub(super) struct OwnAddress;

impl Kind for OwnAddress {
    type Value = IpAddr;

    fn read(&self, node: &Node) -> Result<IpAddr, Misfit> {
        let wanted = || Wrong::Expected("an address of this machine: \"192.0.2.10\"");
        let address = node.text().and_then(|text| text.trim().parse::<IpAddr>().ok());
        let is_one = |address: &IpAddr| !address.is_unspecified() && !address.is_multicast();
        address.filter(is_one).ok_or_else(|| Misfit::Value(wanted()))
    }

    fn schema(&self) -> Json {
        json!({ "type": "string" })
    }
}

/// Load hosts, each once.
pub(super) struct LoadHosts;

impl Kind for LoadHosts {
    type Value = Vec<String>;

    fn read(&self, node: &Node) -> Result<Vec<String>, Misfit> {
        let wanted =
            || Wrong::Expected("a list of load hosts: [\"a.example.com:7433\", \"b.example.com:7433\"]");
        let Value::Array(nodes) = &node.value else { return Err(Misfit::Value(wanted())) };
        let address = |node: &Node| load::agent::address(node.text()?);
        let found: Option<Vec<String>> = nodes.iter().map(address).collect();
        let found = found.ok_or_else(|| Misfit::List(wanted()))?;
        let twice = found.iter().enumerate().find(|(at, address)| found[..*at].contains(address));
        match twice {
            Some((_, address)) => Err(Misfit::List(Wrong::Twice(address.clone()))),
            None => Ok(found),
        }
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": { "type": "string" } })
    }
}

/// A form with a syntax of its own: what reads it, and its schema.
pub(super) struct Form<V>(pub(super) fn(&Node) -> Result<V, Wrong>, pub(super) Pattern);

/// How a schema describes a form.
pub(super) enum Pattern {
    /// A text like this regular expression.
    Text(&'static str),
    /// This, as JSON.
    Schema(&'static str),
}

impl<V> Kind for Form<V> {
    type Value = V;

    fn read(&self, node: &Node) -> Result<V, Misfit> {
        self.0(node).map_err(Misfit::Value)
    }

    fn schema(&self) -> Json {
        match self.1 {
            Pattern::Text(pattern) => json!({ "type": "string", "pattern": pattern }),
            Pattern::Schema(text) => serde_json::from_str(text).expect("JSON, as a test sees"),
        }
    }
}

fn out_of_range(what: &'static str, [min, max]: [String; 2]) -> Misfit {
    Misfit::Value(Wrong::OutOfRange { what, min, max })
}

/// A quantity as it is written, in quotes or bare.
pub(super) fn quantity<T>(
    node: &Node,
    read: fn(&str) -> Result<T, quantity::Error>,
    wanted: Wanted,
) -> Result<T, Wrong> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Real(_) => node.label(),
        _ => return Err(Wrong::NoQuantity(wanted)),
    };
    Ok(read(&text)?)
}
