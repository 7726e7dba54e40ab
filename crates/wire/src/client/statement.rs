//! What the client remembers of a prepared statement.

use crate::Value;

/// Answer of the server to prepare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The server's number for the statement, valid on this connection.
    pub id: u32,
    /// Number of parameters.
    pub parameters: u16,
    /// Columns of its result; 0: it has none.
    pub columns: u16,
}

/// A prepared statement: what the server said, and which parameter types it has been told.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    prepared: Prepared,
    bound: u64,
}

/// Parameters whose types are remembered; longer lists are told each time.
const REMEMBERED_MAX: usize = 16;

impl Statement {
    /// From [`super::Reply::prepared`].
    #[must_use]
    pub fn new(prepared: Prepared) -> Self {
        Self { prepared, bound: 0 }
    }

    /// What the server said.
    #[must_use]
    pub fn prepared(&self) -> Prepared {
        self.prepared
    }

    /// Tells the types again with the next execution. To be called after an execution that failed, because
    /// the server may not have taken them.
    pub fn forget_types(&mut self) {
        self.bound = 0;
    }

    /// Whether the types of `parameters` differ from those told last, and must be told now. 4 bits for each.
    #[inline]
    pub(super) fn bind(&mut self, parameters: &[Value<'_>]) -> bool {
        if parameters.len() > REMEMBERED_MAX {
            return true;
        }
        let types = parameters.iter().fold(0, |types, value| types << 4 | type_number(value));
        let changed = types != self.bound;
        self.bound = types;
        changed
    }
}

fn type_number(value: &Value<'_>) -> u64 {
    match value {
        Value::Null => 1,
        Value::Int(_) => 2,
        Value::UInt(_) => 3,
        Value::Float(_) => 4,
        Value::Double(_) => 5,
        Value::Bytes(_) => 6,
        Value::Date(_) => 7,
        Value::DateTime(_) => 8,
        Value::Time(_) => 9,
    }
}
