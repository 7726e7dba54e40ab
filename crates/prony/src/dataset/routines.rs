//! Stored procedures that belong to a data set: made when its tables are there, known again by their comment,
//! removed with their tables. One that Prony did not make is never touched.

use super::{Error, session::Session};
use crate::{
    family,
    layout::{Routine, has_mark},
};
use load::spec::Target;

/// Those that are there: names and comments.
fn there(session: &mut Session) -> Result<Vec<(String, String)>, Error> {
    session.about("SELECT", "the list of procedures", |family, control| family.procedures(control))
}

/// Refuses where one of these names is taken by a procedure that Prony did not make.
pub(super) fn refuse(session: &mut Session, target: &Target, wanted: &[Routine]) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let found = there(session)?;
    let is_foreign = |(name, comment): &&(String, String)| {
        !has_mark(comment) && wanted.iter().any(|routine| routine.name.eq_ignore_ascii_case(name))
    };
    match found.iter().find(is_foreign) {
        None => Ok(()),
        Some((name, _)) => {
            let database = target.database.clone().unwrap_or_default();
            let server = session.server().to_owned();
            Err(Error::ForeignProcedure { server, database, procedure: name.clone() })
        }
    }
}

/// Makes those that are missing or not as they should be.
pub(super) fn make(target: &Target, wanted: &[Routine]) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut session = Session::open(target)?;
    session.lock()?;
    refuse(&mut session, target, wanted)?;
    let found = there(&mut session)?;
    for routine in wanted {
        let known = found.iter().find(|(name, _)| name.eq_ignore_ascii_case(&routine.name));
        match known {
            Some((_, comment)) if *comment == routine.comment() => continue,
            Some((name, _)) => drop_one(&mut session, name)?,
            None => {}
        }
        session.run("CREATE PROCEDURE", &routine.name, &routine.create())?;
    }
    Ok(())
}

/// Drops those of Prony's own that go with a table whose name `wanted` takes.
pub(super) fn remove(session: &mut Session, wanted: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    for (name, comment) in there(session)? {
        let table = comment.split(' ').find_map(|word| word.strip_prefix("table="));
        if has_mark(&comment) && table.is_some_and(wanted) {
            drop_one(session, &name)?;
        }
    }
    Ok(())
}

fn drop_one(session: &mut Session, name: &str) -> Result<(), Error> {
    let sql = format!("DROP PROCEDURE {}", family::spoken().quoted(name));
    session.run("DROP PROCEDURE", name, &sql).map(drop)
}
