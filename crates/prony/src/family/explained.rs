//! How a server would execute a statement, in words of no family: which tables it reads in which order, and
//! how it finds their rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a server would execute a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The tables in the order in which they are read.
    pub accesses: Vec<Access>,
    /// Everything that the server says, in its own form.
    pub text: String,
}

/// How one table of a statement is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// The table as the statement calls it; empty: none has to be read.
    pub table: String,
    /// As the server calls it: `ref`, `range`, `ALL`.
    pub kind: String,
    /// The index by which rows are found; null: none.
    pub key: Option<String>,
    /// Whether rows are sorted.
    pub sorts: bool,
    /// Whether they go through a temporary table.
    pub temporary: bool,
    /// Rows that the server expects to read; null: it does not say.
    pub rows: Option<u64>,
}

impl Explained {
    /// Whether a plan reads the same tables in the same ways; what servers estimate does not count.
    #[must_use]
    pub fn reads_like(&self, accesses: &[Access]) -> bool {
        let shape = |accesses: &[Access]| -> Vec<Access> {
            accesses.iter().map(|access| Access { rows: None, ..access.clone() }).collect()
        };
        shape(&self.accesses) == shape(accesses)
    }
}
