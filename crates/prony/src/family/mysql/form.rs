//! What a server made of a table, as `information_schema` has it, written alike by MySQL and MariaDB of all
//! versions where it is alike.

use super::MySql;
use crate::family::{Aspect, Dialect as _};
use load::client::{Connection, Error};

type Told = Vec<(String, Aspect, String)>;

/// Warnings that something goes out of use, or is written in an old way: nothing of the table is lost.
const OF_AGE: [u16; 5] = [1287, 1681, 1831, 3719, 3778];
/// Integer types, which some servers show with a width that means nothing.
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

/// As [`crate::family::Schema::form`].
pub(super) fn form(connection: &mut Connection, table: &str) -> Result<Told, Error> {
    let literal = MySql.literal(table);
    let of_table = format!("TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {literal}");
    let mut told = Vec::new();
    let asked =
        format!("SELECT ENGINE, ROW_FORMAT, TABLE_COLLATION FROM information_schema.TABLES WHERE {of_table}");
    let aspects = [Aspect::Engine, Aspect::RowFormat, Aspect::Collation];
    for row in connection.query(&asked)?.rows() {
        for (aspect, value) in aspects.iter().zip(row) {
            told.push((String::new(), *aspect, collation(&value.clone().unwrap_or_default())));
        }
    }
    columns(connection, &of_table, &mut told)?;
    indexes(connection, &of_table, &mut told)?;
    let keys = format!(
        "SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE {of_table} AND CONSTRAINT_TYPE = \
         'FOREIGN KEY'"
    );
    told.push((String::new(), Aspect::ForeignKeys, count(connection, &keys)?));
    told.push((String::new(), Aspect::Checks, checks(connection, &literal)?));
    Ok(told)
}

fn columns(connection: &mut Connection, of_table: &str, told: &mut Told) -> Result<(), Error> {
    let asked = format!(
        "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT, EXTRA FROM \
         information_schema.COLUMNS WHERE {of_table}"
    );
    for row in connection.query(&asked)?.rows() {
        let text = |place: usize| row.get(place).cloned().flatten().unwrap_or_default();
        let mut tell = |aspect, value| told.push((text(0), aspect, value));
        tell(Aspect::Type, kind(&text(1)));
        tell(Aspect::Collation, collation(&text(2)));
        tell(Aspect::Nullable, text(3));
        tell(Aspect::Default, default(&text(4)));
        tell(Aspect::Generated, generated(&text(5)).to_owned());
    }
    Ok(())
}

fn indexes(connection: &mut Connection, of_table: &str, told: &mut Told) -> Result<(), Error> {
    let asked = format!(
        "SELECT INDEX_NAME, GROUP_CONCAT(CONCAT(COALESCE(COLUMN_NAME, '(expression)'), IF(COLLATION = 'D', ' \
         DESC', '')) ORDER BY SEQ_IN_INDEX SEPARATOR ', ') FROM information_schema.STATISTICS WHERE \
         {of_table} GROUP BY INDEX_NAME"
    );
    for row in connection.query(&asked)?.rows() {
        let text = |place: usize| row.get(place).cloned().flatten().unwrap_or_default();
        told.push((text(0), Aspect::Index, text(1)));
    }
    Ok(())
}

/// Conditions that the server enforces, those by which a column is JSON aside; servers without the table know
/// none.
fn checks(connection: &mut Connection, table: &str) -> Result<String, Error> {
    let ways = [
        // MariaDB says the table there
        format!("CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = {table}"),
        format!(
            "CONSTRAINT_SCHEMA = DATABASE() AND CONSTRAINT_NAME IN (SELECT CONSTRAINT_NAME FROM \
             information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {table} \
             AND CONSTRAINT_TYPE = 'CHECK')"
        ),
    ];
    for condition in ways {
        let asked = format!(
            "SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS WHERE {condition} AND CHECK_CLAUSE \
             NOT LIKE 'json_valid(`%`)'"
        );
        match count(connection, &asked) {
            // it has no such table, or column
            Err(Error::Server { .. }) => {}
            counted => return counted,
        }
    }
    Ok("0".to_owned())
}

fn count(connection: &mut Connection, asked: &str) -> Result<String, Error> {
    Ok(connection.query(asked)?.first_value().unwrap_or("0").to_owned())
}

fn kind(text: &str) -> String {
    let Some((name, rest)) = text.split_once('(') else { return text.to_owned() };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    match INTEGERS.contains(&name) {
        // BOOLEAN is tinyint(1) everywhere
        true if !text.starts_with("tinyint(1)") => format!("{name}{after}"),
        _ => text.to_owned(),
    }
}

/// `utf8` has another name in newer versions.
fn collation(name: &str) -> String {
    match name.strip_prefix("utf8_") {
        Some(rest) => format!("utf8mb3_{rest}"),
        None => name.to_owned(),
    }
}

/// MariaDB shows an expression where MySQL shows a value.
fn default(text: &str) -> String {
    let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "null" => String::new(),
        time if time.starts_with("current_timestamp") => time.replace("()", ""),
        _ => text.replace("''", "'"),
    }
}

fn generated(extra: &str) -> &'static str {
    let extra = extra.to_ascii_uppercase();
    let is = |word: &str| extra.contains(word);
    if is("DEFAULT_GENERATED") {
        ""
    } else if is("STORED") || is("PERSISTENT") {
        "stored"
    } else if is("VIRTUAL") {
        "virtual"
    } else {
        ""
    }
}

/// As [`crate::family::Schema::warnings`].
pub(super) fn warnings(connection: &mut Connection) -> Result<Vec<String>, Error> {
    let answer = connection.query("SHOW WARNINGS")?;
    let worth = |row: &Vec<Option<String>>| {
        let [Some(level), Some(code), Some(message)] = row.as_slice() else { return None };
        let is_of_age = code.parse().is_ok_and(|code: u16| OF_AGE.contains(&code));
        (level == "Warning" && !is_of_age).then(|| message.clone())
    };
    Ok(answer.rows().iter().filter_map(worth).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_written_alike() {
        for (one, other) in [("int(11)", "int"), ("bigint(20) unsigned", "bigint unsigned")] {
            assert_eq!(kind(one), kind(other));
        }
        assert_eq!((kind("tinyint(1)"), kind("varchar(20)")), ("tinyint(1)".into(), "varchar(20)".into()));
        assert_eq!((default("'it''s'"), default("NULL")), ("it's".to_owned(), String::new()));
        assert_eq!(default("current_timestamp()"), default("CURRENT_TIMESTAMP"));
        assert_eq!(collation("utf8_bin"), collation("utf8mb3_bin"));
        assert_eq!((generated("STORED GENERATED"), generated("DEFAULT_GENERATED")), ("stored", ""));
    }
}
