//! How a server would execute a statement, as EXPLAIN says. The table that all products have says which
//! tables are read how; JSON, where a version has it, is kept as its own words.

use super::ask;
use crate::family::{Access, Explained};
use load::client::{Answer, Connection, Error};

/// Statements that have a plan, by their first word.
const PLANNED: [&str; 6] = ["SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "REPLACE"];
/// Longest text of a plan that is kept, bytes: that of a join of a dozen tables.
const TEXT_MAX: usize = 32 << 10;

/// See [`crate::family::Family::explain`].
pub(super) fn explain(connection: &mut Connection, sql: &str) -> Result<Option<Explained>, Error> {
    let (before, sql) = without_comment(sql);
    let verb = sql.trim_start_matches(|letter: char| letter == '(' || letter.is_whitespace());
    let verb: String = verb.chars().take_while(char::is_ascii_alphabetic).collect();
    if !PLANNED.iter().any(|planned| verb.eq_ignore_ascii_case(planned)) {
        return Ok(None);
    }
    let mut table = None;
    // MySQL 8.0.32 and later can be set to another form; old versions know no other
    for form in ["FORMAT=TRADITIONAL ", ""] {
        table = match connection.query(&format!("{before}EXPLAIN {form}{sql}")) {
            Err(Error::Server { .. }) => continue,
            answer => Some(answer?),
        };
        break;
    }
    let Some(table) = table else { return Ok(None) };
    let accesses = accesses(&table);
    if accesses.is_empty() {
        return Ok(None);
    }
    let told = ask(connection, &format!("{before}EXPLAIN FORMAT=JSON {sql}"))?;
    let json = told.and_then(|rows| rows.into_iter().next()?.into_iter().next()?);
    let mut text = json.unwrap_or_else(|| lines(&table));
    if text.len() > TEXT_MAX {
        let end = (0..=TEXT_MAX).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    Ok(Some(Explained { accesses, text }))
}

/// A comment before a statement, and the statement: what only some servers execute of it
/// (`/*M! SET STATEMENT ... FOR */`) must stay in front.
fn without_comment(sql: &str) -> (&str, &str) {
    let end = sql.strip_prefix("/*").and_then(|rest| rest.find("*/"));
    let (before, statement) = sql.split_at(end.map_or(0, |end| end + 4));
    (before, statement.trim_start())
}

/// A line for each row of a result.
fn lines(answer: &Answer) -> String {
    let Some(result) = answer.results.first() else { return String::new() };
    let rows = result.rows.iter().map(|row| {
        let named = result.columns.iter().zip(row);
        let cells = named.filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?)));
        cells.collect::<Vec<_>>().join(", ")
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn accesses(answer: &Answer) -> Vec<Access> {
    let Some(result) = answer.results.first() else { return Vec::new() };
    let rows = result.rows.iter().filter_map(|row| {
        let value = |name: &str| {
            let place = result.columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
            row.get(place)?.as_deref()
        };
        access(&value)
    });
    rows.collect()
}

/// What a row of EXPLAIN says; `None`: nothing about reading.
fn access<'a>(value: &impl Fn(&str) -> Option<&'a str>) -> Option<Access> {
    // the table that rows are put into is not read
    if matches!(value("select_type"), Some("INSERT" | "REPLACE")) {
        return None;
    }
    let extra = value("Extra").unwrap_or_default();
    let has = |words: &str| extra.contains(words);
    let (table, kind) = match (value("table"), value("type")) {
        (Some(table), Some(kind)) => (table, kind),
        // The server has found out that there is no such row, or has read it already: each version says it
        // with other words.
        (None, _) if has("optimized away") => ("", "optimized"),
        (None, _) if extra.is_empty() || has("No tables used") => return None,
        _ => ("", "none"),
    };
    Some(Access {
        table: table.to_owned(),
        kind: kind.to_owned(),
        key: value("key").map(str::to_owned),
        sorts: has("Using filesort"),
        temporary: has("Using temporary"),
        rows: value("rows").and_then(|rows| rows.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::client::ResultSet;

    fn answer(columns: &[&str], rows: &[&[Option<&str>]]) -> Answer {
        let text = |value: &Option<&str>| value.map(str::to_owned);
        let rows = rows.iter().map(|row| row.iter().map(text).collect()).collect();
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Answer { results: vec![ResultSet { columns, rows, ..ResultSet::default() }] }
    }

    #[test]
    fn what_products_say_with_other_columns_and_words_is_the_same_plan() {
        let mariadb = answer(
            &[
                "id",
                "select_type",
                "table",
                "type",
                "possible_keys",
                "key",
                "key_len",
                "ref",
                "rows",
                "Extra",
            ],
            &[&[
                Some("1"),
                Some("SIMPLE"),
                Some("o"),
                Some("ref"),
                Some("c"),
                Some("c"),
                Some("4"),
                Some("const"),
                Some("12"),
                Some("Using where; Using filesort"),
            ]],
        );
        let mysql = answer(
            &["id", "select_type", "table", "partitions", "type", "key", "rows", "filtered", "Extra"],
            &[&[
                Some("1"),
                Some("SIMPLE"),
                Some("o"),
                None,
                Some("ref"),
                Some("c"),
                Some("11"),
                Some("100.00"),
                Some("Using filesort"),
            ]],
        );
        let plan = |answer: &Answer| Explained { accesses: accesses(answer), text: String::new() };
        let (one, other) = (plan(&mariadb), plan(&mysql));
        assert!(one.reads_like(&other.accesses) && one != other, "{one:?} {other:?}");
        assert_eq!((one.accesses[0].rows, one.accesses[0].sorts), (Some(12), true));
        assert_eq!(
            lines(&mysql),
            "id: 1, select_type: SIMPLE, table: o, type: ref, key: c, rows: 11, \
                                   filtered: 100.00, Extra: Using filesort"
        );
        let scan = Access { kind: "ALL".to_owned(), key: None, ..one.accesses[0].clone() };
        assert!(!one.reads_like(&[scan]));
    }

    #[test]
    fn what_reads_no_table_has_no_access() {
        let columns = ["select_type", "table", "type", "Extra"];
        let kinds = |row: [Option<&str>; 4]| {
            let kinds = accesses(&answer(&columns, &[&row])).into_iter().map(|access| access.kind);
            kinds.collect::<Vec<_>>()
        };
        assert!(kinds([Some("SIMPLE"), None, None, Some("No tables used")]).is_empty());
        assert!(kinds([Some("INSERT"), Some("t"), Some("ALL"), None]).is_empty());
        assert_eq!(kinds([Some("SIMPLE"), None, None, Some("Impossible WHERE")]), ["none"]);
        assert_eq!(kinds([Some("SIMPLE"), None, None, Some("no matching row in const table")]), ["none"]);
        assert_eq!(kinds([Some("SIMPLE"), None, None, Some("Select tables optimized away")]), ["optimized"]);
    }
}
