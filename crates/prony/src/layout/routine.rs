//! A stored procedure that belongs to a data set, and the comment by which it is known again.

use super::{FORMAT, MARK, quoted};
use crate::family;
use sha2::{Digest as _, Sha256};

/// A stored procedure that belongs to the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// A table of the data: it goes with that.
    pub table: &'static str,
    /// The text in the parentheses behind its name.
    pub parameters: String,
    /// What it does, from BEGIN to END.
    pub body: String,
}

impl Routine {
    /// The comment by which it is known again. Old servers keep 64 characters.
    #[must_use]
    pub fn comment(&self) -> String {
        let digest = Sha256::digest(format!("{}\0{}", self.parameters, self.body));
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{MARK} {FORMAT} routine table={} of={digest}", self.table)
    }

    /// Makes it.
    #[must_use]
    pub fn create(&self) -> String {
        let Self { name, parameters, body, .. } = self;
        let (name, comment) = (quoted(name), family::spoken().literal(&self.comment()));
        // it may do what its caller may, on a server that is somebody's
        format!(
            "CREATE PROCEDURE {name}({parameters}) MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT {comment} \
             {body}"
        )
    }
}
