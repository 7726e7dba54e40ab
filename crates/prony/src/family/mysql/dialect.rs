//! How statements are written.

use super::MySql;
use crate::family::Dialect;

impl Dialect for MySql {
    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
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

    fn set_comment(&self, table: &str, comment: &str) -> String {
        format!("ALTER TABLE {table} COMMENT = {}", self.literal(comment))
    }

    fn by_index(&self, index: Option<&str>) -> String {
        format!(" FORCE INDEX ({})", index.unwrap_or("PRIMARY"))
    }

    fn find_index(&self, table: &str, index: &str) -> String {
        format!("SHOW INDEX FROM {table} WHERE Key_name = {}", self.literal(index))
    }

    fn checksum(&self, columns: &[&str], charset: &str) -> String {
        let joined = format!("CONCAT_WS(',', {})", columns.join(", "));
        format!("COALESCE(SUM(CRC32(CONVERT({joined} USING {charset}))), 0)")
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
    }
}
