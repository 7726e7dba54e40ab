//! Directories that a dump consists of: those of `mydumper`, and of `mysqlsh` (`util.dumpSchemas`). Their
//! files become a list in the order in which they can be loaded.
//!
//! Sources: mydumper's "Files" documentation; the MySQL Shell manual, "Instance Dump Utility", and the
//! metadata that its dumps hold.

use super::{Encoded, Error, Form, OfRows, Use};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What says that a directory is mysqlsh's.
const OF_SHELL: &str = "@.json";
/// What mysqlsh writes last.
const SHELL_DONE: &str = "@.done.json";
/// What says that a directory is mydumper's.
const OF_MYDUMPER: &str = "metadata";
/// What compresses a file, by the end of its name.
const PACKED: [&str; 4] = [".gz", ".zst", ".zstd", ""];

/// The files of a dump.
///
/// # Errors
/// [`Error::Read`]; [`Error::Dump`] where it is incomplete, of several databases, or no dump.
pub fn dump(directory: &Path) -> Result<Vec<(PathBuf, Use)>, Error> {
    let failed = |source| Error::Read { path: directory.to_owned(), source };
    let mut names = BTreeSet::new();
    for entry in directory.read_dir().map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    let mut found = Found { directory, names, tables: Vec::new(), rows: Vec::new(), last: Vec::new() };
    if found.names.contains(OF_SHELL) {
        found.shell()?;
    } else if found.names.contains(OF_MYDUMPER) {
        found.mydumper()?;
    } else if found.names.contains("metadata.partial") {
        return Err(found.wrong("mydumper did not finish this dump: dump again"));
    } else {
        return Err(found.wrong(
            "neither a dump of mydumper (it has no file `metadata`) nor of mysqlsh (it has no file \
             `@.json`); files of SQL belong into `sql`",
        ));
    }
    Ok([found.tables, found.rows, found.last].concat())
}

struct Found<'a> {
    directory: &'a Path,
    names: BTreeSet<String>,
    tables: Vec<(PathBuf, Use)>,
    rows: Vec<(PathBuf, Use)>,
    last: Vec<(PathBuf, Use)>,
}

impl Found<'_> {
    fn wrong(&self, what: &str) -> Error {
        Error::Dump { path: self.directory.to_owned(), what: what.to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The database that the dump is of.
    fn only<'b>(&self, databases: &'b BTreeSet<String>) -> Result<&'b str, Error> {
        match databases.iter().collect::<Vec<_>>().as_slice() {
            [one] => Ok(one),
            [] => Err(self.wrong("it holds no database")),
            several => {
                let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                let told = format!(
                    "it holds the databases {}, but a study has one: dump one of them",
                    names.join(", ")
                );
                Err(self.wrong(&told))
            }
        }
    }

    /// `DATABASE-schema-create.sql`, `DATABASE.TABLE-schema.sql`, `DATABASE.TABLE.00001.sql`, ...
    fn mydumper(&mut self) -> Result<(), Error> {
        let plain = |name: &String| {
            let end = PACKED.iter().find(|end| name.ends_with(*end)).copied().unwrap_or_default();
            name[..name.len() - end.len()].to_owned()
        };
        let all: Vec<(String, String)> = self.names.iter().map(|name| (plain(name), name.clone())).collect();
        let views: BTreeSet<&str> =
            all.iter().filter_map(|(plain, _)| plain.strip_suffix("-schema-view.sql")).collect();
        let (mut databases, mut frame, mut sequences) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (plain, name) in &all {
            let path = self.path(name);
            if let Some(database) = plain.strip_suffix("-schema-create.sql") {
                databases.insert(database.to_owned());
                frame.push((path, Use::Frame));
            } else if plain.ends_with("-schema-sequence.sql") {
                sequences.push((path, Use::Script));
            } else if ["-schema-view.sql", "-schema-triggers.sql", "-schema-post.sql"]
                .iter()
                .any(|end| plain.ends_with(end))
            {
                self.last.push((path, Use::Last));
            } else if let Some(table) = plain.strip_suffix("-schema.sql") {
                databases.extend(table.split_once('.').map(|(database, _)| database.to_owned()));
                // a table that stands for a view until the view is made
                if !views.contains(table) {
                    self.tables.push((path, Use::Script));
                }
            } else if plain.ends_with(".sql") {
                self.rows.push((path, Use::Part));
            } else if [".dat", ".csv"].iter().any(|end| plain.ends_with(end)) {
                let what = format!(
                    "`{name}` holds rows for LOAD DATA: dump without --load-data, --csv and --clickhouse"
                );
                return Err(self.wrong(&what));
            }
        }
        self.only(&databases)?;
        self.tables.splice(..0, frame.into_iter().chain(sequences));
        Ok(())
    }

    fn json(&self, name: &str) -> Result<Value, Error> {
        let path = self.path(name);
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        serde_json::from_str(&text).map_err(|error| Error::Dump { path, what: error.to_string() })
    }

    /// `@.json`, `DATABASE.json`, `DATABASE@TABLE.json`, `DATABASE@TABLE@0.tsv.zst`, ...
    fn shell(&mut self) -> Result<(), Error> {
        if !self.names.contains(SHELL_DONE) {
            return Err(self.wrong("mysqlsh did not finish this dump (it has no file `@.done.json`)"));
        }
        let all = self.json(OF_SHELL)?;
        let databases = texts(&all["schemas"]).into_iter().collect();
        let database = self.only(&databases)?;
        let database = name_of(&all, database, || database.to_owned());
        let of_database = self.json(&format!("{database}.json"))?;
        if let Some(frame) = self.names.get(&format!("{database}.sql")) {
            self.tables.push((self.path(frame), Use::Frame));
        }
        for table in texts(&of_database["tables"]) {
            let base = name_of(&of_database, &table, || format!("{database}@{table}"));
            self.shell_table(&table, &base)?;
        }
        // what stands for a view comes first: views are made of each other
        for end in [".pre.sql", ".sql"] {
            for view in texts(&of_database["views"]) {
                let base = name_of(&of_database, &view, || format!("{database}@{view}"));
                let made = self.names.get(&format!("{base}{end}")).map(|name| self.path(name));
                self.last.extend(made.map(|path| (path, Use::Last)));
            }
        }
        Ok(())
    }

    fn shell_table(&mut self, table: &str, base: &str) -> Result<(), Error> {
        let of_table = self.json(&format!("{base}.json"))?;
        let options = &of_table["options"];
        let is = |key: &str, expected: &str| options[key].as_str().is_none_or(|found| found == expected);
        let is_default = is("fieldsTerminatedBy", "\t")
            && is("fieldsEnclosedBy", "")
            && is("fieldsEscapedBy", "\\")
            && is("linesTerminatedBy", "\n");
        if !is_default {
            let what = "its rows are not in the default dialect of mysqlsh: dump without `dialect`";
            return Err(Error::Dump { path: self.path(&format!("{base}.json")), what: what.to_owned() });
        }
        let mut encoded = BTreeMap::new();
        for (column, how) in options["decodeColumns"].as_object().into_iter().flatten() {
            let how = match how.as_str().unwrap_or_default() {
                "FROM_BASE64" => Encoded::Base64,
                "UNHEX" => Encoded::Hex,
                other => {
                    let what = format!("the column `{column}` is encoded by {other}, which is not known");
                    return Err(Error::Dump { path: self.path(&format!("{base}.json")), what });
                }
            };
            encoded.insert(column.clone(), how);
        }
        let sql = format!("{base}.sql");
        if !self.names.contains(&sql) {
            return Err(self.wrong(&format!("`{sql}` is missing: dump with DDL")));
        }
        self.tables.push((self.path(&sql), Use::Script));
        let extension = of_table["extension"].as_str().unwrap_or("tsv.zst");
        let is_chunk = |name: &&String| {
            let rest = name.strip_prefix(base).and_then(|rest| rest.strip_suffix(extension));
            let number = rest.and_then(|rest| rest.strip_suffix('.'));
            number.is_some_and(|number| {
                number.is_empty()
                    || number.starts_with('@')
                        && number.trim_start_matches('@').bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let columns = texts(&options["columns"]);
        for name in self.names.iter().filter(is_chunk) {
            let of = OfRows {
                table: table.to_owned(),
                form: Form::Tab,
                columns: columns.clone(),
                encoded: encoded.clone(),
            };
            self.rows.push((self.path(name), Use::Rows(of)));
        }
        if let Some(name) = self.names.get(&format!("{base}.triggers.sql")) {
            self.last.push((self.path(name), Use::Last));
        }
        Ok(())
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The begin of the names of files about `of`.
fn name_of(all: &Value, of: &str, default: impl FnOnce() -> String) -> String {
    all["basenames"][of].as_str().map_or_else(default, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[(&str, &str)]) -> Result<Vec<String>, Error> {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let name = |(path, use_as): (PathBuf, Use)| {
            let kind = match use_as {
                Use::Rows(of) => format!("{:?} {}", of.form, of.columns.join("+")),
                other => format!("{other:?}"),
            };
            format!("{} {kind}", path.file_name().unwrap().to_string_lossy())
        };
        Ok(dump(home.path())?.into_iter().map(name).collect())
    }

    #[test]
    fn files_of_mydumper_are_loaded_tables_first_and_views_last() {
        let files = [
            "metadata",
            "shop-schema-create.sql.zst",
            "shop.a.00000.sql.zst",
            "shop.a-schema.sql.zst",
            "shop.v-schema.sql.zst",
            "shop.v-schema-view.sql.zst",
            "shop.a-schema-triggers.sql.zst",
        ];
        let all = listed(&files.map(|name| (name, ""))).unwrap();
        assert_eq!(
            all,
            [
                "shop-schema-create.sql.zst Frame",
                "shop.a-schema.sql.zst Script",
                "shop.a.00000.sql.zst Part",
                "shop.a-schema-triggers.sql.zst Last",
                "shop.v-schema-view.sql.zst Last"
            ]
        );
        let told = |files: &[(&str, &str)]| listed(files).unwrap_err().to_string();
        let two = told(&[("metadata", ""), ("a.t-schema.sql", ""), ("b.t-schema.sql", "")]);
        assert!(two.contains("the databases a, b"), "{two}");
        assert!(told(&[("metadata", ""), ("a.t-schema.sql", ""), ("a.t.dat", "")]).contains("LOAD DATA"));
        assert!(told(&[("metadata.partial", "")]).contains("did not finish"));
        assert!(told(&[("a.sql", "")]).contains("belong into `sql`"));
    }

    #[test]
    fn files_of_mysqlsh_are_those_that_its_metadata_names() {
        let files = [
            ("@.json", r#"{"schemas": ["shop"], "basenames": {"shop": "shop"}}"#),
            ("@.done.json", "{}"),
            ("shop.sql", ""),
            (
                "shop.json",
                r#"{"tables": ["a"], "views": ["v"], "basenames": {"a": "shop@a", "v": "shop@v"}}"#,
            ),
            (
                "shop@a.json",
                r#"{"options": {"columns": ["id", "b"], "decodeColumns": {"b": "FROM_BASE64"},
                    "fieldsTerminatedBy": "\t"}, "extension": "tsv.zst"}"#,
            ),
            ("shop@a.sql", ""),
            ("shop@a@0.tsv.zst", ""),
            ("shop@a@@1.tsv.zst", ""),
            ("shop@a@0.tsv.zst.idx", ""),
            ("shop@a.triggers.sql", ""),
            ("shop@v.sql", ""),
            ("shop@v.pre.sql", ""),
        ];
        let all = listed(&files).unwrap();
        assert_eq!(
            all,
            [
                "shop.sql Frame",
                "shop@a.sql Script",
                "shop@a@0.tsv.zst Tab id+b",
                "shop@a@@1.tsv.zst Tab id+b",
                "shop@a.triggers.sql Last",
                "shop@v.pre.sql Last",
                "shop@v.sql Last"
            ]
        );
        let unfinished: Vec<_> = files.iter().filter(|(name, _)| *name != "@.done.json").copied().collect();
        assert!(listed(&unfinished).unwrap_err().to_string().contains("did not finish"));
    }
}
