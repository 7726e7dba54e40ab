//! Whose tables are: the one check by which Prony's own are told from others, for making, removing and
//! writing.

use super::{Error, session::Session, table};
use crate::plan::{Name, Writes};
use load::spec::Target;
use std::collections::BTreeMap;

/// Names that one question is about.
const NAMES_MAX: usize = 500;
/// Database that every server has: to ask from, where an address names none.
const ANY_DATABASE: &str = "information_schema";

/// Something that is called as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    /// `BASE TABLE`, `VIEW`, `SEQUENCE` and so on.
    pub(super) kind: String,
    pub(super) comment: String,
}

impl Found {
    /// Whether Prony made it. A view is none of Prony's, whatever stands behind it.
    pub(super) fn is_own(&self) -> bool {
        self.kind == "BASE TABLE" && table::is_own(&self.comment)
    }

    fn kind_in_words(&self) -> &'static str {
        match self.kind.as_str() {
            "VIEW" | "SYSTEM VIEW" => "view",
            "SEQUENCE" => "sequence",
            _ => "table",
        }
    }
}

/// What is called as a table where `condition` holds.
pub(super) fn find(session: &mut Session, condition: &str) -> Result<Vec<Found>, Error> {
    let list = format!(
        "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES WHERE {condition}"
    );
    let answer = session.run("SELECT", "information_schema.TABLES", &list)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let found = |row: &Vec<Option<String>>| match row.as_slice() {
        [name, kind, comment] => Some(Found { name: text(name), kind: text(kind), comment: text(comment) }),
        // A server that knows nothing but the protocol answers anything.
        _ => None,
    };
    Ok(answer.rows().iter().filter_map(found).collect())
}

/// See [`super::refuse_writes`].
pub(super) fn refuse(target: &Target, writes: &Writes) -> Result<(), Error> {
    let server = target.address.to_string();
    if let Some(what) = writes.untold.first() {
        return Err(Error::Untold { server, what: what.clone() });
    }
    if writes.tables.is_empty() && writes.calls.is_empty() {
        return Ok(());
    }
    let database = target.database.clone().unwrap_or_else(|| ANY_DATABASE.to_owned());
    let asked = Target { database: Some(database.clone()), ..target.clone() };
    let Some(mut session) = Session::open_existing(&asked)? else { return Ok(()) };
    let lower = session.run("SELECT", "lower_case_table_names", "SELECT @@lower_case_table_names")?;
    let ignores_case = matches!(lower.first_value(), Some("1" | "2"));
    for (database, mut names) in by_database(writes.tables.iter(), &database) {
        if ignores_case {
            names.iter_mut().for_each(|name| *name = name.to_lowercase());
        }
        for part in names.chunks(NAMES_MAX) {
            let list: Vec<String> = part.iter().map(|name| literal(name)).collect();
            let condition =
                format!("TABLE_SCHEMA = {} AND TABLE_NAME IN ({})", literal(&database), list.join(", "));
            // Some servers compare without regard to case where names differ by it.
            let is_meant = |found: &Found| ignores_case || part.contains(&found.name);
            let found = find(&mut session, &condition)?;
            if let Some(other) = found.into_iter().find(|found| is_meant(found) && !found.is_own()) {
                let kind = other.kind_in_words();
                return Err(Error::NotOurs { server, database, table: other.name, kind });
            }
        }
    }
    refuse_functions(&mut session, writes, &database)
}

/// Stored functions may change whatever they like.
fn refuse_functions(session: &mut Session, writes: &Writes, database: &str) -> Result<(), Error> {
    for (database, names) in by_database(writes.calls.iter(), database) {
        for part in names.chunks(NAMES_MAX) {
            let list: Vec<String> = part.iter().map(|name| literal(name)).collect();
            let stored = format!(
                "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = \
                 'FUNCTION' AND ROUTINE_SCHEMA = {} AND ROUTINE_NAME IN ({})",
                literal(&database),
                list.join(", ")
            );
            let answer = session.run("SELECT", "information_schema.ROUTINES", &stored)?;
            if let Some([Some(name), _]) = answer.rows().first().map(Vec::as_slice) {
                let server = session.server().to_owned();
                return Err(Error::Untold { server, what: format!("the stored function {name}") });
            }
        }
    }
    Ok(())
}

fn by_database<'a>(names: impl Iterator<Item = &'a Name>, default: &str) -> BTreeMap<String, Vec<String>> {
    let mut by_database: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        let database = name.database.as_deref().unwrap_or(default).to_owned();
        by_database.entry(database).or_default().push(name.name.clone());
    }
    by_database
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
