//! Types of columns, and which values each of them takes.

use crate::family::Domain;

/// Types of whole numbers, with their bits.
const INTEGERS: [(&str, u32); 6] =
    [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("INTEGER", 32), ("BIGINT", 64)];
/// Types of texts of any length that a study can write.
const TEXTS: [&str; 3] = ["TEXT", "MEDIUMTEXT", "LONGTEXT"];
/// Longest text that is a VARCHAR where nobody asks for another type.
const VARCHAR_MAX: u32 = 4_000;
/// Most digits of a DECIMAL that holds any number that is drawn.
const DIGITS: u32 = 20;

/// Types of bytes, which are no text.
const BYTES: [&str; 16] = [
    "BINARY",
    "VARBINARY",
    "TINYBLOB",
    "BLOB",
    "MEDIUMBLOB",
    "LONGBLOB",
    "BIT",
    "GEOMETRY",
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
    "GEOMCOLLECTION",
];

/// What the values of a column are to whoever writes them down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Bytes without a character set.
    Bytes,
    /// Text in a character set of its own.
    Text,
    /// Anything else: numbers, times.
    Other,
}

/// What the values of a type are, by its first word.
pub(super) fn content(kind: &str) -> Content {
    let kind = kind.to_ascii_uppercase();
    if BYTES.contains(&kind.as_str()) {
        Content::Bytes
    } else if ["CHAR", "TEXT", "ENUM", "SET"].iter().any(|part| kind.contains(part)) {
        Content::Text
    } else {
        Content::Other
    }
}

/// As [`crate::family::Dialect::column_type`].
pub(super) fn column_type(values: Domain) -> String {
    match values {
        Domain::Integers { min, max } if i32::try_from(min).is_ok() && i32::try_from(max).is_ok() => {
            "INT".to_owned()
        }
        Domain::Integers { .. } => "BIGINT".to_owned(),
        Domain::Decimals(decimals) => format!("DECIMAL({DIGITS},{decimals})"),
        Domain::Dates => "DATE".to_owned(),
        Domain::Times => "DATETIME".to_owned(),
        Domain::Json => "JSON".to_owned(),
        Domain::Texts(longest) if longest > VARCHAR_MAX => "TEXT".to_owned(),
        Domain::Texts(longest) => format!("VARCHAR({})", longest.max(1)),
    }
}

/// As [`crate::family::Dialect::holds`].
pub(super) fn holds(kind: &str, values: Domain) -> bool {
    match values {
        Domain::Integers { min, max } => holds_integers(kind, min, max),
        Domain::Json => kind == "JSON" || TEXTS.contains(&kind),
        Domain::Decimals(_) | Domain::Dates | Domain::Times => kind.replace(' ', "") == column_type(values),
        Domain::Texts(longest) => holds_texts(kind, longest),
    }
}

fn holds_integers(kind: &str, min: i64, max: i64) -> bool {
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

fn holds_texts(kind: &str, longest: u32) -> bool {
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

    #[test]
    fn a_type_takes_what_it_has_room_for() {
        let integers = |min, max| Domain::Integers { min, max };
        for (values, kind, fits) in [
            (integers(0, 255), "TINYINT UNSIGNED", true),
            (integers(0, 255), "TINYINT", false),
            (integers(-1, 5), "INT UNSIGNED", false),
            (integers(0, i64::MAX), "BIGINT", true),
            (integers(0, 5), "VARCHAR(5)", false),
            (Domain::Texts(20), "VARCHAR(20)", true),
            (Domain::Texts(20), "VARCHAR(19)", false),
            (Domain::Texts(20), "CHAR(20)", true),
            (Domain::Texts(300), "CHAR(300)", false),
            (Domain::Texts(7_000), "TEXT", true),
            (Domain::Texts(20), "VARCHAR(20); DROP TABLE t", false),
            (Domain::Decimals(2), "DECIMAL(20, 2)", true),
            (Domain::Dates, "DATETIME", false),
        ] {
            assert_eq!(holds(kind, values), fits, "{values:?} {kind}");
            assert!(holds(&column_type(values), values), "{values:?}");
        }
    }
}
