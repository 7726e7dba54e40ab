//! What people do with stored runs: label them, note something down, delete them.

use super::{Store, codec, error::Error, parts, query::LAST};
use rusqlite::{Connection, params};

/// Longest label, bytes: it has to fit into a column of a table.
const LABEL_MAX: usize = 40;

impl Store {
    /// Gives a run labels and takes some away; a label may be on many runs.
    ///
    /// # Errors
    /// When there is no such run, a label cannot be one, or it cannot be written.
    pub fn label(&mut self, id: i64, add: &[String], remove: &[String]) -> Result<Vec<String>, Error> {
        add.iter().try_for_each(|label| check_label(label))?;
        self.summary(id)?;
        // read where it is written: another process may give a label at the same time
        self.write_run(id, |transaction| {
            let text: String =
                transaction.query_row("SELECT labels FROM run WHERE id = ?", [id], |row| row.get(0))?;
            let mut labels: Vec<String> = serde_json::from_str(&text).unwrap_or_default();
            labels.extend_from_slice(add);
            labels.retain(|label| !remove.contains(label));
            labels.sort();
            labels.dedup();
            transaction
                .execute("UPDATE run SET labels = ? WHERE id = ?", params![codec::text(&labels), id])?;
            Ok(labels)
        })
    }

    /// Writes something down about a run, instead of what was there; an empty text: nothing.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be written.
    pub fn annotate(&mut self, id: i64, note: &str) -> Result<(), Error> {
        self.summary(id)?;
        let note = codec::without_passwords(note);
        self.write_run(id, |transaction| {
            transaction.execute("UPDATE run SET note = ? WHERE id = ?", params![note, id]).map(drop)
        })
    }

    /// Removes a run and gives its space back.
    ///
    /// # Errors
    /// When there is no such run, a process carries it out, or the file cannot be written.
    pub fn delete(&mut self, id: i64) -> Result<(), Error> {
        let runs = self.list()?;
        let run = runs.iter().find(|run| run.id == id);
        let run = run.ok_or_else(|| Error::NoSuchRun { id, path: self.path.clone() })?;
        let is_ours = self.leases.contains_key(&id) || run.process == i32::try_from(std::process::id()).ok();
        if let Some(holder) = run.holder().filter(|_| !is_ours) {
            return Err(Error::alive(id, holder));
        }
        self.leases.remove(&id);
        self.write(|transaction| {
            transaction.execute("DELETE FROM run WHERE id = ?", [id])?;
            parts::seal(transaction, id)
        })?;
        // Each step of this pragma frees one page, so it is stepped to its end.
        let vacuum = |connection: &Connection| -> rusqlite::Result<()> {
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        vacuum(&self.connection).map_err(|source| self.fault(source))
    }
}

/// A label must not be mistaken for a number, for `last`, or for two.
fn check_label(label: &str) -> Result<(), Error> {
    let letters = label.chars().all(|letter| letter.is_alphanumeric() || "-_.:/+".contains(letter));
    let is_number = label.parse::<i64>().is_ok();
    if label.is_empty()
        || label.len() > LABEL_MAX
        || !letters
        || is_number
        || label == LAST
        || label.starts_with('-')
    {
        return Err(Error::Label { label: label.to_owned() });
    }
    Ok(())
}
