//! How statements are written.

use super::{
    MySql,
    types::{self, Content},
};
use crate::family::{Definition, Dialect, Domain};

impl Dialect for MySql {
    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn column(&self, of: &Definition<'_>) -> String {
        let charset = of.charset.map_or_else(String::new, |charset| format!(" CHARACTER SET {charset}"));
        let null = if of.is_nullable { "" } else { " NOT NULL" };
        let counts = if of.counts { " AUTO_INCREMENT" } else { "" };
        format!("{} {}{charset}{null}{counts}", self.quoted(of.name), of.kind)
    }

    fn column_type(&self, values: Domain) -> String {
        types::column_type(values)
    }

    fn holds(&self, kind: &str, values: Domain) -> bool {
        types::holds(kind, values)
    }

    fn literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }

    fn table_options(&self, engine: Option<&str>, comment: &str) -> String {
        let engine = engine.map_or_else(String::new, |engine| format!(" ENGINE = {engine}"));
        format!("{engine} COMMENT = {}", self.literal(comment))
    }

    fn crash_safe_engine(&self) -> &'static str {
        "InnoDB"
    }

    fn insert(&self, table: &str, columns: &str, values: usize, rows: u64) -> String {
        let row = format!("({})", vec!["?"; values].join(", "));
        format!("INSERT INTO {table}({columns}) VALUES {}", vec![row; rows as usize].join(", "))
    }

    fn set_comment(&self, table: &str, comment: &str) -> String {
        format!("ALTER TABLE {table} COMMENT = {}", self.literal(comment))
    }

    fn by_index(&self, index: Option<&str>) -> String {
        format!(" FORCE INDEX ({})", index.unwrap_or("PRIMARY"))
    }

    fn count_values(&self, table: &str) -> String {
        format!("ANALYZE LOCAL TABLE {table}")
    }

    fn find_index(&self, table: &str, index: &str) -> String {
        format!("SHOW INDEX FROM {table} WHERE Key_name = {}", self.literal(index))
    }

    fn checksum(&self, columns: &[&str], charset: &str) -> String {
        let joined = format!("CONCAT_WS(',', {})", columns.join(", "));
        format!("COALESCE(SUM(CRC32(CONVERT({joined} USING {charset}))), 0)")
    }

    fn row_checksum(&self, columns: &[(String, &str)]) -> String {
        let value = |(name, kind): &(String, &str)| {
            let shown = match types::content(kind) {
                Content::Bytes => format!("HEX({name})"),
                Content::Text => format!("CONVERT({name} USING utf8mb4)"),
                Content::Other => format!("CAST({name} AS CHAR)"),
            };
            // neither stands in what people write
            format!("COALESCE({shown}, CHAR(30 USING utf8mb4))")
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        match values.as_slice() {
            [] => "0".to_owned(),
            values => {
                let joined = format!("CONCAT_WS(CHAR(31 USING utf8mb4), {})", values.join(", "));
                format!("CRC32(CONVERT({joined} USING utf8mb4))")
            }
        }
    }

    fn is_bytes(&self, kind: &str) -> bool {
        types::content(kind) == Content::Bytes
    }

    fn plain_session(&self) -> &'static str {
        "SET NAMES utf8mb4, time_zone = '+00:00'"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_names_nor_texts_end_before_their_quotes() {
        assert_eq!(MySql.quoted("a`b"), "`a``b`");
        assert_eq!(MySql.literal(r"it's a \"), r"'it''s a \\'");
        assert_eq!(MySql.table_options(Some("MyISAM"), "x"), " ENGINE = MyISAM COMMENT = 'x'");
        assert_eq!(MySql.table_options(None, "x"), " COMMENT = 'x'");
        assert_eq!(MySql.insert("t", "a, b", 2, 2), "INSERT INTO t(a, b) VALUES (?, ?), (?, ?)");
    }
}
