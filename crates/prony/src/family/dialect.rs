//! How a family writes its statements, and which types its columns have.

/// What all values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Whole numbers.
    Integers {
        /// The lowest.
        min: i64,
        /// The highest.
        max: i64,
    },
    /// Numbers with this many decimals.
    Decimals(u32),
    /// Days.
    Dates,
    /// Days with the time of day.
    Times,
    /// JSON.
    Json,
    /// Texts with this many characters at most.
    Texts(u32),
}

/// A column of a table that is created.
#[derive(Debug, Clone, Copy)]
pub struct Definition<'a> {
    /// Its name, without quotes.
    pub name: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// Its character set; `None`: it has none, or that of the table.
    pub charset: Option<&'a str>,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Whether the server numbers the rows by it.
    pub counts: bool,
}

/// How statements are written.
pub trait Dialect {
    /// The name of a database, table or column, in quotes.
    fn quoted(&self, name: &str) -> String;

    /// A column, as a statement that creates a table has it.
    fn column(&self, of: &Definition<'_>) -> String;

    /// The type of a column with these values, where nobody asks for another one.
    fn column_type(&self, values: Domain) -> String;

    /// Whether a column of this type, in capital letters, takes every one of these values as it is.
    fn holds(&self, kind: &str, values: Domain) -> bool;

    /// A text as a value.
    fn literal(&self, text: &str) -> String;

    /// What follows the columns when a table is created: its storage engine, and its comment.
    fn table_options(&self, engine: Option<&str>, comment: &str) -> String;

    /// The engine that keeps rows through a crash.
    fn crash_safe_engine(&self) -> &'static str;

    /// Inserts this many rows into a table, one parameter per value. `columns` are in quotes, with commas.
    fn insert(&self, table: &str, columns: &str, values: usize, rows: u64) -> String;

    /// Gives a table another comment.
    fn set_comment(&self, table: &str, comment: &str) -> String;

    /// What follows the name of a table to read it by this index; `None`: by its primary key.
    fn by_index(&self, index: Option<&str>) -> String;

    /// Counts anew what plans depend on: how many rows a table has, and how many different values its
    /// indexes.
    fn count_values(&self, table: &str) -> String;

    /// Whether a table has an index of this name: no row, or some.
    fn find_index(&self, table: &str, index: &str) -> String;

    /// A checksum of these columns over all rows: the sum of one CRC-32 per row, of its values joined by
    /// commas in this character set, so the order of rows does not matter.
    fn checksum(&self, columns: &[&str], charset: &str) -> String;

    /// A checksum of a row by its values, NULL and empty text told apart, which is the same on every server
    /// where the values are. `columns` are names in quotes, with the first words of their types.
    fn row_checksum(&self, columns: &[(String, &str)]) -> String;

    /// Whether the values of a type are bytes, which are no text, by its first word.
    fn is_bytes(&self, kind: &str) -> bool;

    /// Makes a session show times and texts as every other one does.
    fn plain_session(&self) -> &'static str;
}
