//! Databases and what is in them, as every family has them.

use load::{
    client::{Connection, Error},
    lock::Lock,
};
use serde::{Deserialize, Serialize};

/// How databases are selected, created and examined, over a connection that works in one of them. Everything
/// fails where the server refuses or the connection breaks.
pub trait Schema {
    /// A database that every server has.
    fn any(&self) -> &'static str;

    /// Enters a database; false: there is none of that name.
    ///
    /// # Errors
    /// See [`Schema`].
    fn enter(&self, connection: &mut Connection, database: &str) -> Result<bool, Error>;

    /// Makes a database; false: one of that name is there.
    ///
    /// # Errors
    /// See [`Schema`].
    fn make(&self, connection: &mut Connection, database: &str) -> Result<bool, Error>;

    /// Removes a database with everything in it.
    ///
    /// # Errors
    /// See [`Schema`].
    fn remove(&self, connection: &mut Connection, database: &str) -> Result<(), Error>;

    /// Takes a lock on the connection's database, told from others by `purpose`; it ends with the connection.
    /// One that another holds is waited for, for seconds: a connection that has just ended may hold it for a
    /// moment longer, and that of a killed Prony until the server has noticed.
    ///
    /// # Errors
    /// See [`Schema`].
    fn lock(&self, connection: &mut Connection, purpose: &str) -> Result<Lock, Error>;

    /// Whether nobody holds any of these locks on the connection's database: they could be taken.
    ///
    /// # Errors
    /// See [`Schema`].
    fn are_free(&self, connection: &mut Connection, purposes: &[String]) -> Result<Lock, Error>;

    /// Tables, views and the like of a database; `None`: the connection's own.
    ///
    /// # Errors
    /// See [`Schema`].
    fn tables(
        &self,
        connection: &mut Connection,
        database: Option<&str>,
        names: Names<'_>,
    ) -> Result<Vec<Found>, Error>;

    /// Those of these names that are stored functions of a database.
    ///
    /// # Errors
    /// See [`Schema`].
    fn functions(
        &self,
        connection: &mut Connection,
        database: &str,
        names: &[String],
    ) -> Result<Vec<String>, Error>;

    /// Stored procedures of the connection's database, each with its comment.
    ///
    /// # Errors
    /// See [`Schema`].
    fn procedures(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, Error>;

    /// What the server made of a table of the connection's database: for each column or index (or nothing,
    /// for the table itself) and each aspect its value, written alike by all servers of the family.
    ///
    /// # Errors
    /// See [`Schema`].
    fn form(&self, connection: &mut Connection, table: &str) -> Result<Vec<(String, Aspect, String)>, Error>;

    /// Columns of a table of the connection's database in their order, each with the first word of its type
    /// in capital letters.
    ///
    /// # Errors
    /// See [`Schema`].
    fn columns(&self, connection: &mut Connection, table: &str) -> Result<Vec<(String, String)>, Error>;

    /// What the server has to say about the statement that it executed last, apart from what goes out of use.
    ///
    /// # Errors
    /// See [`Schema`].
    fn warnings(&self, connection: &mut Connection) -> Result<Vec<String>, Error>;

    /// What is in the connection's database besides tables and views.
    ///
    /// # Errors
    /// See [`Schema`].
    fn others(&self, connection: &mut Connection) -> Result<Vec<String>, Error>;

    /// Rights that the account lacks to see what is in the connection's database: a server keeps silent about
    /// what it hides. Tables and views are shown to whoever may drop them.
    ///
    /// # Errors
    /// See [`Schema`].
    fn unseen(&self, connection: &mut Connection) -> Result<Vec<&'static str>, Error>;

    /// Whether names of tables that differ in case alone are the same.
    ///
    /// # Errors
    /// See [`Schema`].
    fn ignores_case(&self, connection: &mut Connection) -> Result<bool, Error>;

    /// Sizes of tables of the connection's database, as the server estimates them now.
    ///
    /// # Errors
    /// See [`Schema`].
    fn sizes(&self, connection: &mut Connection, tables: &[String]) -> Result<Vec<TableSize>, Error>;

    /// Statements of which each reads a table of the connection's database whole: its rows, and each of its
    /// ordered indexes.
    ///
    /// # Errors
    /// See [`Schema`].
    fn whole_reads(&self, connection: &mut Connection, table: &str) -> Result<Vec<String>, Error>;

    /// Prepares a connection for loading rows: digits need no conversion, and an engine that the server lacks
    /// is an error, not another engine. Returns the server's number of it, for [`Schema::end_statement`].
    ///
    /// # Errors
    /// See [`Schema`].
    fn begin_loading(&self, connection: &mut Connection) -> Result<Option<String>, Error>;

    /// Ends the statement of another connection, which lives on.
    ///
    /// # Errors
    /// See [`Schema`].
    fn end_statement(&self, connection: &mut Connection, number: &str) -> Result<(), Error>;
}

/// Which tables are meant.
#[derive(Debug, Clone, Copy)]
pub enum Names<'a> {
    /// All.
    Any,
    /// Those with these names; some servers also find names that differ only in case.
    Of(&'a [String]),
}

/// Something that is called as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TableKind,
    /// Its comment.
    pub comment: String,
}

/// What is called as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A plain table.
    Table,
    /// A table of another kind, such as one that keeps its history.
    Special,
    /// A view.
    View,
    /// A sequence.
    Sequence,
}

/// Size of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    /// Rows and the tree that they are in, bytes.
    pub data_bytes: u64,
    /// Secondary indexes, bytes.
    pub index_bytes: u64,
    /// The engine that really holds it, its row format and options: `MyISAM, Fixed`.
    pub form: String,
}

/// What of a table or column it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Storage engine.
    Engine,
    /// Row format.
    RowFormat,
    /// Type of a column.
    Type,
    /// Collation of a table or column.
    Collation,
    /// Whether a column may be NULL.
    Nullable,
    /// What a column holds by default.
    Default,
    /// Whether the server computes a column, and whether it stores it.
    Generated,
    /// Columns of an index, with their directions.
    Index,
    /// Foreign keys.
    ForeignKeys,
    /// Conditions (CHECK).
    Checks,
}

impl Aspect {
    /// Its name, for words of any language.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::RowFormat => "row_format",
            Self::Type => "type",
            Self::Collation => "collation",
            Self::Nullable => "nullable",
            Self::Default => "default",
            Self::Generated => "generated",
            Self::Index => "index",
            Self::ForeignKeys => "foreign_keys",
            Self::Checks => "checks",
        }
    }
}
