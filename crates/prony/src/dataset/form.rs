//! What servers made of the tables in files: types, collations, row formats, indexes, conditions. Products
//! read the same CREATE TABLE in different ways, and some parts not at all; what differs is told with its
//! line.

use super::{Error, session::Session};
use crate::{
    family::Aspect,
    layout::files::{Data, Table},
};
use load::spec::Target;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// A place in a file that servers read differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The file.
    pub file: PathBuf,
    /// The line there.
    pub line: u64,
    /// The table, with the column or index where it is about one.
    pub subject: String,
    /// What of it.
    pub aspect: Aspect,
    /// What it is on this server; empty: nothing.
    pub here: String,
    /// What it is on the other server, or in the file.
    pub there: String,
}

/// What a server made of the tables: values by table, column or index, and aspect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form(BTreeMap<(String, String, Aspect), String>);

/// What a server made of the tables of the files.
///
/// # Errors
/// No connection, or a right is missing.
pub fn form(target: &Target, data: &Data) -> Result<Form, Error> {
    let mut session = Session::open(target)?;
    let mut form = Form::default();
    for table in &data.made {
        let told =
            session.about("SELECT", &table.name, |family, control| family.form(control, &table.name))?;
        for (subject, aspect, value) in told {
            form.0.insert((table.name.clone(), subject, aspect), value);
        }
    }
    Ok(form)
}

impl Form {
    /// What the other server has made differently.
    #[must_use]
    pub fn differences(&self, other: &Self, data: &Data) -> Vec<Difference> {
        let keys: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let one = |key: &(String, String, Aspect)| {
            let [here, there] = [self, other].map(|form| form.0.get(key).cloned().unwrap_or_default());
            (here != there).then(|| difference(data, key, here, there))
        };
        keys.into_iter().filter_map(one).collect()
    }

    /// What the files say and the server left out without a word: conditions.
    #[must_use]
    pub fn left_out(&self, data: &Data) -> Vec<Difference> {
        let one = |table: &Table| {
            let key = (table.name.clone(), String::new(), Aspect::Checks);
            let kept = self.0.get(&key).and_then(|kept| kept.parse().ok()).unwrap_or(0);
            let (here, there) = (format!("{kept}"), table.checks.to_string());
            (kept < table.checks).then(|| difference(data, &key, here, there))
        };
        data.made.iter().filter_map(one).collect()
    }
}

fn difference(data: &Data, key: &(String, String, Aspect), here: String, there: String) -> Difference {
    let (table, subject, aspect) = key;
    let made = data.made.iter().find(|made| made.name == *table);
    let column = made.and_then(|made| made.columns.iter().find(|column| column.name == *subject));
    let (file, line) = made.map_or((0, 0), |made| made.place);
    Difference {
        file: data.files.get(file).map(|file| file.path.clone()).unwrap_or_default(),
        line: column.map_or(line, |column| column.line),
        subject: if subject.is_empty() { table.clone() } else { format!("{table}.{subject}") },
        aspect: *aspect,
        here,
        there,
    }
}

/// What a server had to say about a statement of a file that it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The file.
    pub file: PathBuf,
    /// The line there.
    pub line: u64,
    /// The server's words.
    pub message: String,
}

/// What the server has to say about the statement that was executed last, except that something is going out
/// of use.
pub(super) fn warnings(session: &mut Session) -> Result<Vec<String>, Error> {
    session.about("SHOW WARNINGS", "", |family, control| family.warnings(control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::files::{Column, File};

    #[test]
    fn differences_have_the_line_of_what_they_are_about() {
        let column = Column { name: "b".to_owned(), line: 7, ..Column::default() };
        let table = Table {
            name: "t".to_owned(),
            columns: vec![column],
            place: (0, 5),
            checks: 2,
            ..Table::default()
        };
        let file = File {
            path: "a.sql".into(),
            digest: String::new(),
            bytes: 0,
            use_as: Default::default(),
            rows: 0,
        };
        let data = Data { files: vec![file], made: vec![table], ..Data::default() };
        let form = |collation: &str, checks: &str| {
            let key = |subject: &str, aspect| ("t".to_owned(), subject.to_owned(), aspect);
            let told = [
                (key("b", Aspect::Collation), collation.to_owned()),
                (key("", Aspect::Checks), checks.to_owned()),
            ];
            Form(told.into_iter().collect())
        };
        let (one, other) = (form("utf8mb4_bin", "2"), form("utf8mb4_general_ci", "0"));
        let told = one.differences(&other, &data);
        let lines: Vec<_> = told.iter().map(|one| (one.subject.as_str(), one.line)).collect();
        assert_eq!(lines, [("t", 5), ("t.b", 7)]);
        assert_eq!((told[1].here.as_str(), told[1].there.as_str()), ("utf8mb4_bin", "utf8mb4_general_ci"));
        assert!(one.left_out(&data).is_empty() && other.left_out(&data).len() == 1);
        assert!(one.differences(&one, &data).is_empty());
    }
}
