//! The SQL types that columns of a study's tables have, and which of them take which values.

use super::{Values, is_integer, shown};
use load::spec::Literal;

/// Types of whole numbers, with their bits.
const INTEGERS: [(&str, u32); 6] =
    [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("INTEGER", 32), ("BIGINT", 64)];
/// Types of texts of any length that a study can write.
const TEXTS: [&str; 3] = ["TEXT", "MEDIUMTEXT", "LONGTEXT"];
/// Longest text that is a VARCHAR by itself.
const VARCHAR_MAX: u32 = 4_000;
/// Most digits of a DECIMAL that holds any number that is drawn.
const DIGITS: u32 = 20;

impl Values {
    /// The type of a column for which a study writes none.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Sequence { .. } => "BIGINT".to_owned(),
            Self::Date { .. } => "DATE".to_owned(),
            Self::Normal { decimals, .. } | Self::Decimal { decimals, .. } => {
                format!("DECIMAL({DIGITS},{decimals})")
            }
            _ => match self.integers() {
                Some((min, max)) if i32::try_from(min).is_ok() && i32::try_from(max).is_ok() => {
                    "INT".to_owned()
                }
                Some(_) => "BIGINT".to_owned(),
                None => match self.longest() {
                    length if length > VARCHAR_MAX => "TEXT".to_owned(),
                    length => format!("VARCHAR({})", length.max(1)),
                },
            },
        }
    }

    /// Whether a column of this type, in capital letters, takes every value as it is.
    ///
    /// # Errors
    /// The types that do.
    pub fn takes(&self, kind: &str) -> Result<(), String> {
        let fits = match self {
            Self::Date { .. } => kind == "DATE",
            Self::Normal { decimals, .. } | Self::Decimal { decimals, .. } => {
                kind.replace(' ', "") == format!("DECIMAL({DIGITS},{decimals})")
            }
            _ => match self.integers() {
                Some(range) => takes_integers(kind, range),
                None => takes_texts(kind, self.longest()),
            },
        };
        if fits {
            return Ok(());
        }
        let also = match self {
            Self::Sequence { .. } | Self::Random { .. } | Self::References { .. } => {
                ", or another type of whole numbers that has room for all of them,"
            }
            Self::Text { .. } | Self::Pattern(_) | Self::Choice(_) => ", CHAR or TEXT with as much room",
            _ => "",
        };
        Err(format!("{}{also} belongs here", self.kind()))
    }

    /// Whether a column of them has a character set.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Text { .. } | Self::Pattern(_) => true,
            Self::Choice(_) => self.integers().is_none(),
            _ => false,
        }
    }

    /// Lowest and highest, where all values are whole numbers.
    fn integers(&self) -> Option<(i64, i64)> {
        match self {
            Self::Sequence { first } => Some((*first, *first)),
            Self::Random { min, max, .. } | Self::References { min, max, .. } => Some((*min, *max)),
            Self::Choice(choice) if choice.iter().all(|(value, _)| is_integer(value)) => {
                let numbers = choice.iter().filter_map(|(value, _)| match value {
                    Literal::Integer(number) => Some(*number),
                    _ => None,
                });
                Some((numbers.clone().min()?, numbers.max()?))
            }
            _ => None,
        }
    }

    /// Characters of the longest text.
    fn longest(&self) -> u32 {
        let longest = match self {
            Self::Text { max, .. } => return *max,
            Self::Pattern(pattern) => pattern.len(),
            Self::Choice(choice) => {
                choice.iter().map(|(value, _)| shown(value).chars().count()).max().unwrap_or(0)
            }
            _ => 0,
        };
        u32::try_from(longest).unwrap_or(u32::MAX)
    }
}

fn takes_integers(kind: &str, (min, max): (i64, i64)) -> bool {
    let (name, is_unsigned) = match kind.strip_suffix(" UNSIGNED") {
        Some(name) => (name, true),
        None => (kind, false),
    };
    let Some((_, bits)) = INTEGERS.into_iter().find(|(known, _)| *known == name) else { return false };
    let (lowest, highest) = if is_unsigned {
        (0, (1i128 << bits) - 1)
    } else {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    };
    i128::from(min) >= lowest && i128::from(max) <= highest
}

fn takes_texts(kind: &str, longest: u32) -> bool {
    if TEXTS.contains(&kind) {
        return true;
    }
    let room =
        ["CHAR(", "VARCHAR("].into_iter().find_map(|start| kind.strip_prefix(start)?.strip_suffix(')'));
    let most = if kind.starts_with("CHAR") { 255 } else { 16_000 };
    room.and_then(|room| room.trim().parse().ok())
        .is_some_and(|room: u32| (longest.max(1)..=most).contains(&room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::Distribution;

    #[test]
    fn a_type_takes_what_it_has_room_for() {
        let random = |min, max| Values::Random { min, max, distribution: Distribution::Uniform };
        let text = |max| Values::Text { min: 1, max };
        for (values, kind, fits) in [
            (random(0, 255), "TINYINT UNSIGNED", true),
            (random(0, 255), "TINYINT", false),
            (random(-1, 5), "INT UNSIGNED", false),
            (random(0, i64::MAX), "BIGINT", true),
            (random(0, 5), "VARCHAR(5)", false),
            (text(20), "VARCHAR(20)", true),
            (text(20), "VARCHAR(19)", false),
            (text(20), "CHAR(20)", true),
            (text(300), "CHAR(300)", false),
            (text(7_000), "TEXT", true),
            (text(20), "VARCHAR(20); DROP TABLE t", false),
            (Values::Decimal { min: 0, max: 1, decimals: 2 }, "DECIMAL(20, 2)", true),
            (Values::Date { first: 0, last: 1, distribution: Distribution::Uniform }, "DATETIME", false),
        ] {
            assert_eq!(values.takes(kind).is_ok(), fits, "{values:?} {kind}");
            assert_eq!(values.takes(&values.kind()), Ok(()), "{values:?}");
        }
    }
}
