//! How a family's statements are written.

/// How statements are written.
pub trait Dialect {
    /// The name of a database, table or column, in quotes.
    fn quoted(&self, name: &str) -> String;

    /// A text as a value.
    fn literal(&self, text: &str) -> String;

    /// What follows the columns where a table is made: its storage engine, and its comment.
    fn table_options(&self, engine: Option<&str>, comment: &str) -> String;

    /// The engine that keeps rows through a crash.
    fn crash_safe_engine(&self) -> &'static str;

    /// Gives a table another comment.
    fn set_comment(&self, table: &str, comment: &str) -> String;

    /// What follows the name of a table that is to be read by this index; `None`: by its primary key.
    fn by_index(&self, index: Option<&str>) -> String;

    /// Whether a table has an index of this name: no row, or some.
    fn find_index(&self, table: &str, index: &str) -> String;

    /// A checksum of these columns over all rows: the sum of one CRC-32 for each row, of its values joined by
    /// commas in this character set, so that the order of the rows does not matter.
    fn checksum(&self, columns: &[&str], charset: &str) -> String;
}
