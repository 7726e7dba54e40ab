//! What a load writes into, as far as its statements show.

use std::collections::BTreeSet;

/// What statements write into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Tables that they may change.
    pub tables: BTreeSet<Name>,
    /// The functions that they call: a stored one may change anything.
    pub calls: BTreeSet<Name>,
    /// Statements of which it cannot be told, as they are written.
    pub untold: BTreeSet<String>,
}

/// Name of a table or a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The database; `None`: that of the connection.
    pub database: Option<String>,
    /// The name.
    pub name: String,
}

impl Writes {
    /// What both write into.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.tables.extend(other.tables);
        self.calls.extend(other.calls);
        self.untold.extend(other.untold);
        self
    }
}
