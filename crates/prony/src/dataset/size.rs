//! How large a data set is on a server, as that server's own statistics estimate it.

use super::{Error, session::Session, table};
use crate::plan::DataPlan;
use load::spec::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Size of a data set on one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Rows and the trees that they are in, bytes.
    pub data_bytes: u64,
    /// Secondary indexes, bytes.
    pub index_bytes: u64,
    /// The engine that really holds the tables, their row format and options: `InnoDB, Dynamic`.
    pub form: String,
}

/// Asks the server for the size of the plan's tables.
///
/// # Errors
/// No connection, or the server does not say.
pub fn size(target: &Target, plan: &DataPlan) -> Result<Size, Error> {
    let mut session = Session::open(target)?;
    // MySQL 8.0 and later tell what they knew a day ago; others do not have this variable.
    let _ = session.run(
        "SET",
        "information_schema_stats_expiry",
        "SET SESSION information_schema_stats_expiry = 0",
    );
    // Right after loading most have not counted yet.
    for number in 1..=plan.tables {
        let name = table::name(number);
        session.run("ANALYZE TABLE", &name, &format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"))?;
    }
    let select = "SELECT TABLE_NAME, ENGINE, ROW_FORMAT, CREATE_OPTIONS, DATA_LENGTH, INDEX_LENGTH FROM \
                  information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'sbtest%'";
    let answer = session.run("SELECT", "information_schema.TABLES", select)?;
    let mut size = Size::default();
    let mut forms = BTreeSet::new();
    for row in answer.rows() {
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        if table::number(text(0)).is_none_or(|number| number > plan.tables) {
            continue;
        }
        size.data_bytes += text(4).parse::<u64>().unwrap_or(0);
        size.index_bytes += text(5).parse::<u64>().unwrap_or(0);
        let parts = [text(1), text(2), text(3)];
        forms.insert(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
    }
    size.form = forms.into_iter().collect::<Vec<_>>().join("; ");
    Ok(size)
}
