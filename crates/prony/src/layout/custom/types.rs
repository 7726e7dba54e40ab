//! The types that columns of a study's tables have. Which types there are is the family's to say.

use super::{Values, is_integer, shown};
use crate::family::{Domain, spoken};
use load::spec::Literal;

/// Why a column of some type cannot have its values: what is expected in place of the type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Only one type has them all.
    #[error("expected {0}")]
    Only(String),
    /// Several types of whole numbers do.
    #[error("expected {0}, or another integer type that can hold all of them")]
    Integers(String),
    /// Several types of texts do.
    #[error("expected {0}, or another type of text that is long enough")]
    Texts(String),
}

impl Values {
    /// The type of a column for which a study writes none.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            // a sequence has room for every row that a table can have
            Self::Sequence { .. } => spoken().column_type(Domain::Integers { min: 0, max: i64::MAX }),
            _ => spoken().column_type(self.domain()),
        }
    }

    /// Whether a column of this type, in capital letters, takes every value as it is.
    ///
    /// # Errors
    /// The types that do.
    pub fn takes(&self, kind: &str) -> Result<(), Unfit> {
        let domain = self.domain();
        if spoken().holds(kind, domain) {
            return Ok(());
        }
        Err(match domain {
            Domain::Integers { .. } => Unfit::Integers(self.kind()),
            Domain::Texts(_) => Unfit::Texts(self.kind()),
            Domain::Decimals(_) | Domain::Dates | Domain::Times | Domain::Json => Unfit::Only(self.kind()),
        })
    }

    /// Whether a column of them has a character set.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Text { .. } | Self::Words { .. } | Self::Pattern(_) | Self::Uuid(_) => true,
            Self::Choice(_) | Self::By { .. } => self.integers().is_none(),
            _ => false,
        }
    }

    /// What all of them are.
    fn domain(&self) -> Domain {
        match (self, self.integers()) {
            (Self::Date { .. } | Self::Follows { decimals: None, .. }, _) => Domain::Dates,
            (Self::Time { .. }, _) => Domain::Times,
            (Self::Json(_), _) => Domain::Json,
            (Self::Normal { decimals, .. } | Self::Decimal { decimals, .. }, _)
            | (Self::Histogram { decimals: decimals @ 1.., .. }, _)
            | (Self::Follows { decimals: Some(decimals), .. }, _) => Domain::Decimals(*decimals),
            (_, Some((min, max))) => Domain::Integers { min, max },
            (_, None) => Domain::Texts(self.longest()),
        }
    }

    /// Lowest and highest, where all values are whole numbers.
    fn integers(&self) -> Option<(i64, i64)> {
        match self {
            Self::Sequence { first } => Some((*first, *first)),
            Self::Choice(choice) if choice.iter().all(|(value, _)| is_integer(value)) => {
                let numbers = choice.iter().filter_map(|(value, _)| match value {
                    Literal::Integer(number) => Some(*number),
                    _ => None,
                });
                Some((numbers.clone().min()?, numbers.max()?))
            }
            values => values.range(),
        }
    }

    /// Characters of the longest text.
    fn longest(&self) -> u32 {
        let longest = match self {
            Self::Text { max, .. } | Self::Words { max, .. } => return *max,
            Self::Uuid(_) => 36,
            Self::By { cases, .. } => {
                let choices = cases.iter().flat_map(|(_, choice)| choice);
                choices.map(|(value, _)| shown(value).chars().count()).max().unwrap_or(0)
            }
            Self::Pattern(pattern) => pattern.len(),
            Self::Choice(choice) => {
                choice.iter().map(|(value, _)| shown(value).chars().count()).max().unwrap_or(0)
            }
            _ => 0,
        };
        u32::try_from(longest).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::Distribution;

    #[test]
    fn every_column_takes_its_own_type_and_others_where_they_have_room() {
        let random = |min, max| Values::Random { min, max, distribution: Distribution::Uniform };
        for values in [
            random(0, 255),
            random(0, i64::MAX),
            Values::Sequence { first: 1 },
            Values::Text { min: 1, max: 7_000 },
            Values::Decimal { min: 0, max: 1, decimals: 2 },
            Values::Date { first: 0, last: 1, distribution: Distribution::Uniform },
        ] {
            assert_eq!(values.takes(&values.kind()), Ok(()), "{values:?}");
        }
        assert_eq!(random(0, 255).takes("TINYINT"), Err(Unfit::Integers("INT".to_owned())));
        assert_eq!(Values::Sequence { first: 1 }.kind(), "BIGINT");
        assert_eq!(Values::Sequence { first: 1 }.takes("INT"), Ok(()));
        let text = Values::Text { min: 1, max: 20 };
        assert_eq!(text.takes("VARCHAR(19)"), Err(Unfit::Texts("VARCHAR(20)".to_owned())));
    }
}
