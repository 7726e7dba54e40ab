//! Limits on a number, as claims state them: `>= 2`, `< 20 ms`.

use super::{tree::Node, wrong::Wrong};
use crate::quantity;
use serde::{Deserialize, Serialize};

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

    /// Whether all numbers of an interval are on the right side.
    #[must_use]
    pub fn holds_throughout(self, (low, high): (f64, f64)) -> bool {
        self.holds(if self.relation.is_lower_limit() { low } else { high })
    }

    /// Whether no number of an interval is on the right side.
    #[must_use]
    pub fn fails_throughout(self, (low, high): (f64, f64)) -> bool {
        !self.holds(if self.relation.is_lower_limit() { high } else { low })
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

    /// Whether the number must be large.
    #[must_use]
    pub fn is_lower_limit(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }
}

/// What a metric is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nothing.
    One,
    /// In per second.
    PerSecond,
    /// ms.
    Milliseconds,
    /// s.
    Seconds,
    /// kB, 1000 bytes.
    Kilobytes,
    /// A share of all.
    Share,
}

impl Unit {
    /// An example of a limit, as a study writes it.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::One => ">= 2",
            Self::PerSecond => ">= 1000",
            Self::Milliseconds => "< 20 ms",
            Self::Seconds => "< 60 s",
            Self::Kilobytes => "< 4 kB",
            Self::Share => "< 0.1%",
        }
    }
}

/// Reads `">= 2"`, with the unit after it where it has one.
pub(super) fn bound(node: &Node, unit: Unit) -> Result<Bound, Wrong> {
    let wanted = || Wrong::NoLimit(unit.example());
    let text = node.text().ok_or_else(wanted)?.trim();
    let signs = [Relation::AtLeast, Relation::AtMost, Relation::Above, Relation::Below];
    let relation = signs.into_iter().find(|relation| text.starts_with(relation.sign())).ok_or_else(wanted)?;
    let rest = text[relation.sign().len()..].trim();
    let time = || quantity::duration(rest).map(|time| time.as_nanos() as f64);
    let value = match unit {
        Unit::One => {
            let (sign, digits) = rest.strip_prefix('-').map_or((1.0, rest), |digits| (-1.0, digits));
            Ok(sign * quantity::number(digits).ok_or_else(wanted)?)
        }
        Unit::PerSecond => Ok(quantity::rate(rest).ok_or_else(wanted)?),
        Unit::Milliseconds => time().map(|ns| ns / 1e6),
        Unit::Seconds => time().map(|ns| ns / 1e9),
        Unit::Kilobytes => quantity::amount(rest).map(|bytes| bytes as f64 / 1e3),
        Unit::Share => quantity::share(rest),
    };
    Ok(Bound { relation, value: value? })
}
