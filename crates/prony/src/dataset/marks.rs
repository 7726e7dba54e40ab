//! Whose tables these are: the one check that tells Prony's own tables from others, for creating, removing
//! and writing.

use super::{Error, session::Session};
use crate::{
    family::{self, Found, Names, TableKind},
    layout,
    plan::{Name, Writes},
};
use load::spec::Target;
use std::collections::BTreeMap;

/// Whether Prony created it. A view never belongs to Prony, whatever is behind it.
pub(super) fn is_own(found: &Found) -> bool {
    found.kind == TableKind::Table && layout::is_own(&found.name, &found.comment)
}

/// What is called as a table in a database, the session's own if none is named.
pub(super) fn find(
    session: &mut Session,
    database: Option<&str>,
    names: Names<'_>,
) -> Result<Vec<Found>, Error> {
    session.about("SELECT", "the list of tables", |family, control| family.tables(control, database, names))
}

/// Tables of the session's database that Prony did not make itself.
pub(super) fn unnamed(session: &mut Session) -> Result<Vec<String>, Error> {
    let found = find(session, None, Names::Any)?;
    let others = found.into_iter().filter(|found| found.kind == TableKind::Table && !is_own(found));
    Ok(others.map(|found| found.name).collect())
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
    let database = target.database.clone().unwrap_or_else(|| family::spoken().any().to_owned());
    let asked = Target { database: Some(database.clone()), ..target.clone() };
    let Some(mut session) = Session::open_existing(&asked)? else { return Ok(()) };
    let ignores_case = ignores_case(&mut session)?;
    for (database, mut names) in by_database(writes.tables.iter(), &database) {
        if ignores_case {
            names.iter_mut().for_each(|name| *name = name.to_lowercase());
        }
        // Some servers compare without regard to case where names differ by it.
        let is_meant = |found: &Found| ignores_case || names.contains(&found.name);
        let found = find(&mut session, Some(&database), Names::Of(&names))?;
        if let Some(other) = found.into_iter().find(|found| is_meant(found) && !is_own(found)) {
            let kind = match other.kind {
                TableKind::Table | TableKind::Special => "table",
                TableKind::View => "view",
                TableKind::Sequence => "sequence",
            };
            return Err(Error::NotOurs { server, database, table: other.name, kind });
        }
    }
    refuse_functions(&mut session, writes, &database)
}

/// Whether names of tables that differ in case alone are the same.
pub(super) fn ignores_case(session: &mut Session) -> Result<bool, Error> {
    session.about("SELECT", "the case of names", |family, control| family.ignores_case(control))
}

/// Stored functions may change whatever they like.
fn refuse_functions(session: &mut Session, writes: &Writes, database: &str) -> Result<(), Error> {
    for (database, names) in by_database(writes.calls.iter(), database) {
        let stored = session.about("SELECT", "stored functions", |family, control| {
            family.functions(control, &database, &names)
        })?;
        if let Some(name) = stored.first() {
            let server = session.server().to_owned();
            return Err(Error::Untold { server, what: format!("the stored function {name}") });
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
