//! Whether published figures agree with themselves.

use super::{Error, Place, Sheet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the two sides of a law may be apart before it is reported: figures are rounded, and rates are
/// means of runs that are not quite equally long.
const TOLERANCE: f64 = 0.1;

/// What must hold between the columns of a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Check {
    /// A rate times its time is the amount of work, the same in each row.
    RateTimesTime { rate: String, seconds: String, amount: f64 },
    /// Statements per second, divided by those of a transaction, times the mean response time is the number
    /// of connections.
    Little {
        statements_per_second: String,
        mean_ms: String,
        connections: String,
        #[serde(default = "one")]
        statements: f64,
        /// Only rows with this in that column.
        only: Option<(String, String)>,
    },
    /// A product of columns is another one.
    Product { of: Vec<String>, is: String },
}

/// A law that a row breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Rate x time = amount of work.
    RateTimesTime,
    /// Little's law.
    Little,
    /// A column is the product of others.
    Product,
}

/// A row that does not agree with itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Remark {
    /// What it breaks.
    pub law: Law,
    /// Where; the column is the one that the law would give.
    pub at: Place,
    /// What stands there.
    pub published: f64,
    /// What the other columns of the row give.
    pub computed: f64,
    /// The line of another row that breaks the law too, whose figure would be right here and which has no
    /// other such row: the two may have been exchanged.
    pub exchanged_with: Option<u64>,
}

fn one() -> f64 {
    1.0
}

impl Check {
    /// Rows that break the law.
    ///
    /// # Errors
    /// Where a column is missing, or is no number.
    pub(super) fn remarks(&self, sheet: &Sheet) -> Result<Vec<Remark>, Error> {
        let mut remarks = Vec::new();
        for row in &sheet.rows {
            let number = |column: &str| sheet.number(row, column);
            if let Self::Little { only: Some((column, text)), .. } = self
                && sheet.text(row, column)? != text
            {
                continue;
            }
            let (law, column, computed) = match self {
                Self::RateTimesTime { rate, seconds, amount } => {
                    (Law::RateTimesTime, rate, number(seconds)?.map(|seconds| amount / seconds))
                }
                Self::Little { statements_per_second, mean_ms, connections, statements, .. } => {
                    let transactions = number(statements_per_second)?.map(|rate| rate / statements);
                    let inside = transactions.zip(number(mean_ms)?).map(|(rate, ms)| rate * ms / 1e3);
                    (Law::Little, connections, inside)
                }
                Self::Product { of, is } => {
                    let factors = of.iter().map(|column| number(column)).collect::<Result<Vec<_>, _>>()?;
                    (Law::Product, is, factors.into_iter().product::<Option<f64>>())
                }
            };
            let Some((published, computed)) = number(column)?.zip(computed) else { continue };
            if !agree(published, computed) {
                let at = sheet.place(row, column);
                remarks.push(Remark { law, at, published, computed, exchanged_with: None });
            }
        }
        if matches!(self, Self::RateTimesTime { .. }) {
            find_exchanges(&mut remarks);
        }
        Ok(remarks)
    }
}

fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

/// Each row whose figure would be right in exactly one other row that is wrong as well.
fn find_exchanges(remarks: &mut [Remark]) {
    let found: Vec<Option<u64>> = (0..remarks.len())
        .map(|each| {
            let here = &remarks[each];
            let mut others = remarks.iter().filter(|other| {
                other.at.line != here.at.line
                    && agree(other.published, here.computed)
                    && agree(here.published, other.computed)
            });
            let other = others.next()?;
            others.next().is_none().then_some(other.at.line)
        })
        .collect();
    for (remark, line) in remarks.iter_mut().zip(found) {
        remark.exchanged_with = line;
    }
}
