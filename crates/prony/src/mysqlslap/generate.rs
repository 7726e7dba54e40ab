//! The statements of a load: generated ones, and those that the user gives.

use super::{error::Error, options::Given};
use load::random::{Random, write_text};

/// Length of generated texts.
const TEXT: u32 = 126;

/// A statement of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Text(String),
    /// Followed by a quoted key, one of those that are read once the data is loaded.
    WithKey(String),
}

/// What a run does.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    /// Creates tables and rows.
    pub(super) create: Vec<String>,
    pub(super) statements: Vec<Statement>,
    pub(super) needs_keys: bool,
}

/// Statements of an option: its text, or the file of that name.
pub(super) fn written(given: &Given, name: &str) -> Result<Vec<String>, Error> {
    let text = given.text(name);
    let text = if std::path::Path::new(text).is_file() {
        std::fs::read_to_string(text).map_err(|error| Error::Read(text.to_owned(), error))?
    } else {
        text.to_owned()
    };
    let delimiter = match given.text("delimiter") {
        "\\n" => '\n',
        other => other.chars().next().unwrap_or('\n'),
    };
    let parts = text.split(delimiter).map(str::trim).filter(|part| !part.is_empty());
    Ok(parts.map(str::to_owned).collect())
}

/// The load of a command line.
pub(super) fn load(given: &Given) -> Result<Load, Error> {
    if given.has("auto-generate-sql") {
        return generated(given);
    }
    let statements: Vec<_> = written(given, "query")?.into_iter().map(Statement::Text).collect();
    if statements.is_empty() {
        return Err(Error::NothingToDo);
    }
    Ok(Load { create: written(given, "create")?, statements, needs_keys: false })
}

/// Columns of one kind, and whether they have indexes.
fn columns(given: &Given, name: &str) -> Result<(u64, bool), Error> {
    let text = given.text(name);
    let (count, is_indexed) = text.split_once(':').map_or((text, false), |(count, _)| (count, true));
    let count = count.parse().map_err(|_| Error::value(name, "N or N:indexed", text))?;
    Ok((count, is_indexed))
}

struct Table {
    ints: u64,
    chars: u64,
    /// Values of an INSERT before the columns.
    keys: Vec<&'static str>,
    random: Random,
}

impl Table {
    fn names(&self) -> Vec<String> {
        let ints = (1..=self.ints).map(|number| format!("intcol{number}"));
        ints.chain((1..=self.chars).map(|number| format!("charcol{number}"))).collect()
    }

    fn values(&mut self) -> Vec<String> {
        let ints: Vec<_> = (0..self.ints).map(|_| self.random.below(1 << 31).to_string()).collect();
        let chars = (0..self.chars).map(|_| {
            let mut text = Vec::new();
            write_text(TEXT, TEXT, &mut self.random, &mut text);
            format!("'{}'", String::from_utf8_lossy(&text))
        });
        ints.into_iter().chain(chars).collect()
    }

    fn insert(&mut self) -> String {
        let mut values: Vec<String> = self.keys.iter().map(|key| (*key).to_owned()).collect();
        values.extend(self.values());
        format!("INSERT INTO t1 VALUES ({})", values.join(","))
    }

    fn select(&self) -> String {
        format!("SELECT {} FROM t1", self.names().join(","))
    }

    fn update(&mut self) -> String {
        let values = self.values();
        let pairs: Vec<_> =
            self.names().iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect();
        format!("UPDATE t1 SET {} WHERE id = ", pairs.join(","))
    }
}

fn generated(given: &Given) -> Result<Load, Error> {
    let kind = given.text("auto-generate-sql-load-type").chars().next().unwrap_or('m');
    let ((ints, int_indexes), (chars, char_indexes)) =
        (columns(given, "number-int-cols")?, columns(given, "number-char-cols")?);
    let secondary = given.number("auto-generate-sql-secondary-indexes")?;
    let by_key = kind == 'k' || kind == 'u';
    let is_guid = given.has("auto-generate-sql-guid-primary");
    let is_serial = given.has("auto-generate-sql-add-autoincrement");
    if by_key && !is_guid && !is_serial {
        return Err(Error::NeedsKey);
    }
    let mut definitions = Vec::new();
    let mut keys = Vec::new();
    if is_serial {
        definitions.push("id serial".to_owned());
        keys.push("NULL");
    } else if is_guid {
        definitions.push("id varchar(36) primary key".to_owned());
        keys.push("uuid()");
    }
    for number in 0..secondary {
        definitions.push(format!("id{number} varchar(36) unique key"));
        keys.push("uuid()");
    }
    let index =
        |is_indexed, name: String| if is_indexed { format!(", INDEX({name})") } else { String::new() };
    definitions.extend(
        (1..=ints).map(|n| format!("intcol{n} INT(32) {}", index(int_indexes, format!("intcol{n}")))),
    );
    definitions.extend(
        (1..=chars).map(|n| format!("charcol{n} VARCHAR(128){}", index(char_indexes, format!("charcol{n}")))),
    );
    // the same values in every run, as with mysqlslap
    let mut table = Table { ints, chars, keys, random: Random::for_connection(1, 0, 0) };
    let mut create = vec![format!("CREATE TABLE `t1` ({})", definitions.join(","))];
    for _ in 0..given.number("auto-generate-sql-write-number")? {
        create.push(table.insert());
    }
    let queries = given.number("auto-generate-sql-unique-query-number")?.max(1);
    let writes = given.number("auto-generate-sql-unique-write-number")?.max(1);
    let statements = match kind {
        'r' => vec![Statement::Text(table.select())],
        'k' => vec![Statement::WithKey(format!("{} WHERE id = ", table.select()))],
        'u' => (0..queries).map(|_| Statement::WithKey(table.update())).collect(),
        'w' => (0..writes).map(|_| Statement::Text(table.insert())).collect(),
        'm' => (0..queries.max(2))
            .map(|place| Statement::Text(if place % 2 == 0 { table.insert() } else { table.select() }))
            .collect(),
        _ => {
            let name = "auto-generate-sql-load-type";
            return Err(Error::value(name, "mixed, update, write, key or read", given.text(name)));
        }
    };
    Ok(Load { create, statements, needs_keys: by_key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Load, Error> {
        let words: Vec<String> =
            [words, &["--defaults-file=/dev/null"]].concat().iter().map(|word| (*word).to_owned()).collect();
        load(&Given::read(&words)?)
    }

    #[test]
    fn every_load_type_has_its_statements() {
        let first = |kind: &str| {
            let kind = format!("--auto-generate-sql-load-type={kind}");
            let load =
                of(&["-a", "--auto-generate-sql-add-autoincrement", &kind, "-x", "2"]).expect("a load");
            assert_eq!(load.create.len(), 101);
            assert!(load.create[0].contains("charcol2 VARCHAR(128)") && load.create[1].contains("(NULL,"));
            match &load.statements[0] {
                Statement::Text(text) | Statement::WithKey(text) => text[..6].to_owned(),
            }
        };
        assert_eq!(
            ["mixed", "update", "write", "key", "read"].map(first),
            ["INSERT", "UPDATE", "INSERT", "SELECT", "SELECT"]
        );
        assert!(of(&["-a", "--auto-generate-sql-load-type=key"]).is_err(), "a table without a key");
    }

    #[test]
    fn statements_stand_between_delimiters() {
        let load = of(&["--query=SELECT 1;SELECT 2;", "--delimiter=;"]).expect("a load");
        assert_eq!(load.statements.len(), 2);
        assert!(of(&[]).is_err());
    }
}
