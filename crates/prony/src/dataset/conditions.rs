//! Whether the data still keep what is always true of them, whatever the workloads that come with them do.

use super::{Error, session::Session};
use crate::layout::Layout;
use load::spec::Target;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A condition that data do not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub condition: String,
    /// How often it is broken.
    pub violations: u64,
}

/// The conditions that the data break; reads all of them, each once.
///
/// # Errors
/// No connection, a table is missing, or `stop` became true.
pub fn broken(target: &Target, layout: &dyn Layout, stop: &AtomicBool) -> Result<Vec<Broken>, Error> {
    let conditions = layout.conditions();
    if conditions.is_empty() {
        return Ok(Vec::new());
    }
    let mut session = Session::open(target)?;
    let mut broken = Vec::new();
    for condition in conditions {
        if stop.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        let answer = session.run("SELECT", &condition.name, &condition.violations)?;
        // no answer is no proof
        let violations = answer.first_value().and_then(|count| count.parse().ok()).unwrap_or(u64::MAX);
        if violations > 0 {
            broken.push(Broken { condition: condition.name, violations });
        }
    }
    Ok(broken)
}
