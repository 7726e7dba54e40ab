//! What a database that exists says of its tables and of the statements that it executes. It is only read.

use super::{
    DIGESTS, Error, Seen,
    seen::{Place, is_work},
};
use crate::family;
use load::{client::Connection, spec::Target};
use std::time::Duration;

/// Rows of a table of which a sample is made.
const SAMPLE_ROWS: u32 = 10_000;
/// Values from which on their distribution is worth a word.
const SAMPLE_MIN: f64 = 100.0;
/// Share of different values among all that are seen, above which all may be different.
const UNIQUE: f64 = 0.9;
/// Ranges of a histogram.
const RANGES: usize = 10;
/// What is asked.
const WHAT: &str = "looking at a column";
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Kinds of statements that are asked for.
const DIGESTS_MAX: u32 = 500;

/// A table as its statistics describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Rows, as the server estimates them.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The columns of its secondary indexes.
    pub indexes: Vec<Vec<String>>,
    /// What a study cannot say as it is.
    pub remarks: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
    /// Share of rows in which it is NULL.
    pub null: f64,
    /// How many different values it has, where there are fewer than rows.
    pub distinct: Option<u64>,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Holds {
    /// Numbers that count rows, from this.
    Sequence(i64),
    /// Values of a column of another table.
    References {
        /// `table.column`.
        column: String,
        /// The lowest and the highest.
        range: (i64, i64),
    },
    /// Whole numbers from one to the other.
    Integers(i64, i64),
    /// Numbers with digits behind the point.
    Decimals {
        /// Lowest.
        min: f64,
        /// Highest.
        max: f64,
        /// Digits.
        decimals: u32,
    },
    /// Numbers of these ranges, with how many of the sample are in each, and digits behind the point.
    Histogram(Vec<Range>, u32),
    /// Days from one to the other.
    Days(String, String),
    /// Times from one to the other.
    Times(String, String),
    /// UUIDs of this version.
    Uuid(u32),
    /// JSON of these lengths.
    Json(u64, u64),
    /// These words, which the column's type lists, with their numbers in the sample.
    Choice(Vec<(String, u64)>),
    /// Texts of these lengths.
    Text(u64, u64),
}

/// A column as the catalogue has it.
struct Listed {
    name: String,
    kind: String,
    whole: String,
    scale: u32,
}

struct Session(Connection);

type Row = Vec<Option<String>>;

/// Lowest and highest value of a range of a column, and the number of values in it.
type Range = (f64, f64, u64);

impl Session {
    fn open(target: &Target) -> Result<Self, Error> {
        if target.database.is_none() {
            return Err(Error::NoDatabase);
        }
        let opened = Connection::open(target, CONNECT);
        opened.map(Self).map_err(|source| Error::Server { what: "connecting", source })
    }

    fn rows(&mut self, what: &'static str, sql: &str) -> Result<Vec<Row>, Error> {
        let answer = self.0.query(sql).map_err(|source| Error::Server { what, source })?;
        Ok(answer.rows().to_vec())
    }
}

fn text(row: &Row, place: usize) -> String {
    row.get(place).cloned().flatten().unwrap_or_default()
}

fn number(row: &Row, place: usize) -> Option<i64> {
    text(row, place).parse().ok()
}

/// The tables of the target's database, without views.
///
/// # Errors
/// See [`Error`].
pub fn describe(target: &Target) -> Result<Vec<Described>, Error> {
    let mut session = Session::open(target)?;
    let tables = session.rows(
        "listing tables",
        "SELECT TABLE_NAME, COALESCE(TABLE_ROWS, 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = \
         DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
    )?;
    let mut described = Vec::new();
    for table in &tables {
        let rows = number(table, 1).and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
        described.push(session.table(&text(table, 0), rows)?);
    }
    if described.is_empty() {
        return Err(Error::Nothing(format!("{}: the database", target.address)));
    }
    refer(&mut described);
    Ok(described)
}

/// A reference can only be drawn from a column that counts rows; elsewhere its numbers are drawn by
/// themselves.
fn refer(described: &mut [Described]) {
    let sequences: Vec<String> = described
        .iter()
        .flat_map(|table| table.columns.iter().map(move |column| (table, column)))
        .filter(|(_, column)| matches!(column.holds, Holds::Sequence(_)))
        .map(|(table, column)| format!("{}.{}", table.name, column.name))
        .collect();
    for table in described {
        for column in &mut table.columns {
            if let Holds::References { column: other, range: (min, max) } = &column.holds
                && !sequences.contains(other)
            {
                table.remarks.push(format!("{} refers to {other}, which does not count rows", column.name));
                column.holds = Holds::Integers(*min, *max);
            }
        }
    }
}

impl Session {
    fn table(&mut self, name: &str, rows: u64) -> Result<Described, Error> {
        let literal = family::spoken().literal(name);
        let of_table = format!("TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {literal}");
        let columns = self.rows(
            "listing columns",
            &format!(
                "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(NUMERIC_SCALE, 0) FROM \
                 information_schema.COLUMNS WHERE {of_table} ORDER BY ORDINAL_POSITION"
            ),
        )?;
        let listed: Vec<Listed> = columns.iter().map(listed).collect();
        let (keys, indexes) = self.indexes(&of_table)?;
        let references = self.rows(
            "listing foreign keys",
            &format!(
                "SELECT COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM \
                 information_schema.KEY_COLUMN_USAGE WHERE {of_table} AND REFERENCED_TABLE_SCHEMA = \
                 DATABASE() GROUP BY 1, 2, 3"
            ),
        )?;
        let mut described =
            Described { name: name.to_owned(), rows, columns: Vec::new(), indexes, remarks: Vec::new() };
        for column in &listed {
            let reference = references.iter().find(|row| text(row, 0) == column.name);
            let is_key = keys == [column.name.clone()] && is_integer(column);
            let is_led = is_key || described.indexes.iter().any(|index| index[0] == column.name);
            let mut found = self.column(name, column, is_led, rows)?;
            let lowest = match &found.holds {
                Holds::Integers(min, _) => Some(*min),
                Holds::Histogram(ranges, 0) => Some(ends(ranges).0),
                _ => None,
            };
            if let (true, Some(min)) = (is_key, lowest) {
                (found.holds, found.distinct) = (Holds::Sequence(min), None);
            } else if let Some(row) = reference {
                let range = match &found.holds {
                    Holds::Integers(min, max) => (*min, *max),
                    Holds::Histogram(ranges, _) => ends(ranges),
                    _ => (1, 1),
                };
                found.distinct = None;
                found.holds =
                    Holds::References { column: format!("{}.{}", text(row, 1), text(row, 2)), range };
            }
            described.columns.push(found);
        }
        if !described.columns.iter().any(|column| matches!(column.holds, Holds::Sequence(_))) {
            described
                .remarks
                .push("its primary key is not one whole number: rows are numbered here".to_owned());
            let (name, holds) = ("row_number".to_owned(), Holds::Sequence(1));
            described.columns.insert(0, Column { name, holds, null: 0.0, distinct: None });
        }
        Ok(described)
    }

    /// Columns of the primary key, and of each other index.
    fn indexes(&mut self, of_table: &str) -> Result<(Vec<String>, Vec<Vec<String>>), Error> {
        let rows = self.rows(
            "listing indexes",
            &format!(
                "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE {of_table} AND \
                 COLUMN_NAME IS NOT NULL ORDER BY INDEX_NAME, SEQ_IN_INDEX"
            ),
        )?;
        let mut all: Vec<(String, Vec<String>)> = Vec::new();
        for row in &rows {
            match all.last_mut().filter(|(name, _)| *name == text(row, 0)) {
                Some((_, columns)) => columns.push(text(row, 1)),
                None => all.push((text(row, 0), vec![text(row, 1)])),
            }
        }
        let (primary, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| name == "PRIMARY");
        let columns = |(_, columns): (String, Vec<String>)| columns;
        Ok((primary.into_iter().flat_map(columns).collect(), others.into_iter().map(columns).collect()))
    }

    /// What a column holds: of the whole table where it leads an index, else of a sample.
    fn column(&mut self, table: &str, column: &Listed, is_led: bool, rows: u64) -> Result<Column, Error> {
        let (from, quoted) = (family::spoken().quoted(table), family::spoken().quoted(&column.name));
        let sample = format!("(SELECT {quoted} AS c FROM {from} LIMIT {SAMPLE_ROWS}) s");
        let value = if is_text(&column.kind) { "CHAR_LENGTH(c)" } else { "c" };
        let asked = format!("SELECT MIN({value}), MAX({value}), AVG(c IS NULL) FROM {sample}");
        let mut row = self.rows(WHAT, &asked)?.pop().unwrap_or_default();
        if is_led && is_integer(column) {
            let whole = self.rows(WHAT, &format!("SELECT MIN({quoted}), MAX({quoted}) FROM {from}"))?;
            row.splice(..2, whole.into_iter().flatten());
        }
        let (low, high) = (text(&row, 0), text(&row, 1));
        let day =
            |text: &str| text.get(..10).filter(|day| day.contains('-')).unwrap_or("2024-01-01").to_owned();
        let time = |text: &str| {
            let time = text.get(..19).filter(|time| time.contains(':') && !time.starts_with("0000"));
            time.unwrap_or("2024-01-01 00:00:00").to_owned()
        };
        let holds = match column.kind.as_str() {
            "enum" => self.choice(&sample, &column.whole)?,
            "date" => Holds::Days(day(&low), day(&high)),
            "datetime" | "timestamp" => Holds::Times(time(&low), time(&high)),
            "decimal" | "float" | "double" => {
                let decimals = if column.kind == "decimal" { column.scale } else { 2 };
                let (min, max) = (low.parse().unwrap_or(0.0), high.parse().unwrap_or(1.0));
                let ranges = self.ranges(&sample, (min, max))?;
                ranges.map_or(Holds::Decimals { min, max, decimals }, |ranges| {
                    Holds::Histogram(ranges, decimals)
                })
            }
            _ if is_integer(column) && low.is_empty() => Holds::Integers(0, 1),
            _ if is_integer(column) => {
                let (min, max) = (low.parse().unwrap_or(0i64), high.parse().unwrap_or(i64::MAX));
                // floating-point numbers have all integers up to here
                let is_exact = min.unsigned_abs().max(max.unsigned_abs()) < 1 << 53;
                let ranges = match is_exact {
                    true => self.ranges(&sample, (min as f64, max as f64))?,
                    false => None,
                };
                ranges.map_or(Holds::Integers(min, max), |ranges| Holds::Histogram(ranges, 0))
            }
            "json" => Holds::Json(low.parse().unwrap_or(2), high.parse().unwrap_or(20)),
            _ if (low.as_str(), high.as_str()) == ("36", "36") => self.uuid(&sample)?,
            _ => Holds::Text(low.parse().unwrap_or(1), high.parse().unwrap_or(20)),
        };
        let null: f64 = text(&row, 2).parse().unwrap_or(0.0);
        let has_many = matches!(holds, Holds::Text(..) | Holds::Integers(..) | Holds::Decimals { .. });
        let filled = (rows as f64 * (1.0 - null)) as u64;
        let distinct = if has_many { self.distinct(&sample, filled)? } else { None };
        Ok(Column { name: column.name.clone(), holds, null, distinct })
    }

    /// How many different values there are among `rows`; `None`: about as many as rows, or too few to say.
    ///
    /// M. Charikar, S. Chaudhuri, R. Motwani, V. Narasayya, "Towards estimation error guarantees for distinct
    /// values", PODS 2000: the guaranteed-error estimator.
    fn distinct(&mut self, sample: &str, rows: u64) -> Result<Option<u64>, Error> {
        let asked = format!(
            "SELECT COUNT(*), COALESCE(SUM(k), 0), COALESCE(SUM(k = 1), 0) FROM (SELECT COUNT(*) AS k FROM \
             {sample} WHERE c IS NOT NULL GROUP BY c) g"
        );
        let row = self.rows(WHAT, &asked)?.pop().unwrap_or_default();
        let figure = |place: usize| text(&row, place).parse::<f64>().unwrap_or(0.0);
        let (found, seen, once) = (figure(0), figure(1), figure(2));
        if seen < SAMPLE_MIN || found > seen * UNIQUE {
            return Ok(None);
        }
        let all = (rows as f64 / seen).max(1.0).sqrt() * once + (found - once);
        Ok(Some(all.min(rows as f64).max(1.0).round() as u64))
    }

    /// Ranges that hold about as many values each; `None`: one range says as much, or there are too few
    /// values.
    fn ranges(&mut self, sample: &str, ends: (f64, f64)) -> Result<Option<Vec<Range>>, Error> {
        let asked = format!("SELECT s.c FROM {sample} WHERE c IS NOT NULL ORDER BY c");
        let values: Vec<f64> =
            self.rows(WHAT, &asked)?.iter().filter_map(|row| text(row, 0).parse().ok()).collect();
        Ok(if values.len() as f64 >= SAMPLE_MIN { equal_shares(&values, ends) } else { None })
    }

    /// UUIDs with their version, where all texts of the sample are some.
    fn uuid(&mut self, sample: &str) -> Result<Holds, Error> {
        let asked = format!(
            "SELECT COALESCE(MIN(c LIKE '________-____-____-____-____________'), 0), \
             COALESCE(MIN(SUBSTRING(c, 15, 1) = '7'), 0) FROM {sample} WHERE c IS NOT NULL"
        );
        let row = self.rows(WHAT, &asked)?.pop().unwrap_or_default();
        Ok(match (number(&row, 0), number(&row, 1)) {
            (Some(1), Some(1)) => Holds::Uuid(7),
            (Some(1), _) => Holds::Uuid(4),
            _ => Holds::Text(36, 36),
        })
    }

    /// The words that the type of a column lists, with how often each is in the sample.
    fn choice(&mut self, sample: &str, whole: &str) -> Result<Holds, Error> {
        let counted =
            self.rows(WHAT, &format!("SELECT c, COUNT(*) FROM {sample} WHERE c IS NOT NULL GROUP BY c"))?;
        let inner = whole.trim_start_matches("enum(").trim_end_matches(')');
        let words = inner.split("','").map(|word| word.trim_matches('\'').replace("''", "'"));
        let count = |word: &String| {
            let row = counted.iter().find(|row| text(row, 0) == *word);
            row.and_then(|row| number(row, 1)).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
        };
        Ok(Holds::Choice(words.map(|word| (word.clone(), count(&word))).collect()))
    }
}

/// Lowest and highest of ranges of whole numbers.
fn ends(ranges: &[Range]) -> (i64, i64) {
    let (first, last) = (ranges.first(), ranges.last());
    (first.map_or(0, |range| range.0 as i64), last.map_or(0, |range| range.1 as i64))
}

/// Ranges with about the same number of these values, which ascend, each; `None`: about as wide, too. The
/// outer ends are those of all rows.
fn equal_shares(values: &[f64], (min, max): (f64, f64)) -> Option<Vec<Range>> {
    let mut ranges: Vec<Range> = Vec::new();
    for part in values.chunks(values.len().div_ceil(RANGES)) {
        let (low, high, count) = (part[0], part[part.len() - 1], part.len() as u64);
        match ranges.last_mut() {
            // a value that is frequent fills several
            Some(last) if last.0 == low && last.1 == high => last.2 += count,
            _ => ranges.push((low, high, count)),
        }
    }
    let whole = values[values.len() - 1] - values[0];
    let is_even = ranges.len() == RANGES
        && ranges.iter().all(|(low, high, _)| (0.5..=1.5).contains(&((high - low) / whole * RANGES as f64)));
    if let (Some(first), false) = (ranges.first_mut(), is_even) {
        first.0 = first.0.min(min);
    }
    if let (Some(last), false) = (ranges.last_mut(), is_even) {
        last.1 = last.1.max(max);
    }
    (!is_even && ranges.len() > 1).then_some(ranges)
}

fn listed(row: &Row) -> Listed {
    let whole = text(row, 2);
    Listed {
        name: text(row, 0),
        kind: text(row, 1).to_lowercase(),
        scale: text(row, 3).parse().unwrap_or(0),
        whole,
    }
}

fn is_integer(column: &Listed) -> bool {
    ["tinyint", "smallint", "mediumint", "int", "bigint", "year"].contains(&column.kind.as_str())
}

fn is_text(kind: &str) -> bool {
    ["char", "text", "binary", "blob", "json", "set"].iter().any(|part| kind.contains(part))
}

/// The statements that the target's database has executed since its server began to count, the most frequent
/// first, with values drawn as its columns hold them.
///
/// # Errors
/// See [`Error`].
pub fn digests(target: &Target) -> Result<Vec<Seen>, Error> {
    let mut session = Session::open(target)?;
    let rows = session.rows(
        DIGESTS,
        &format!(
            "SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest \
             WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT IS NOT NULL ORDER BY COUNT_STAR DESC LIMIT \
             {DIGESTS_MAX}"
        ),
    )?;
    let tables = describe(target)?;
    let seen = |row: &Row| {
        let text = whole(&text(row, 0))?;
        let places = places(&text, &tables);
        let count = number(row, 1).and_then(|count| u64::try_from(count).ok()).unwrap_or(1);
        is_work(&text).then_some(Seen { text, count, places })
    };
    let all: Vec<Seen> = rows.iter().filter_map(seen).collect();
    if all.is_empty() {
        Err(Error::Nothing(format!("{}: the list of digests", target.address)))
    } else {
        Ok(all)
    }
}

/// A digest with a `?` for each value: lists are short in it. `None`: it is cut off, or what it leaves out
/// cannot be told.
fn whole(digest: &str) -> Option<String> {
    if digest.trim_end().ends_with("...") {
        return None;
    }
    let mut text = digest.replace("/* , ... */", "").replace("IN (...)", "IN (?)");
    if let Some((before, after)) = text.split_once("VALUES (...)") {
        let columns = before.rsplit_once('(')?.1.matches(',').count() + 1;
        text = format!("{before}VALUES ({}){after}", vec!["?"; columns].join(", "));
    }
    (!text.contains("...")).then_some(text)
}

/// What belongs at each `?`: what the column holds that stands before it, or that an INSERT names for it.
fn places(text: &str, tables: &[Described]) -> Vec<Place> {
    let words = words(text);
    let is_there = |table: &&Described| words.contains(&table.name);
    let columns: Vec<&Column> = tables.iter().filter(is_there).flat_map(|table| &table.columns).collect();
    let known = |name: &str| columns.iter().find(|column| column.name == name);
    let listed = text.split_once("VALUES (").and_then(|(before, _)| before.rsplit_once('('));
    let mut listed = listed.map(|(_, list)| self::words(list)).unwrap_or_default().into_iter();
    let mut last = None;
    let mut places = Vec::new();
    for word in &words {
        if let Some(column) = known(word) {
            last = Some(*column);
        } else if ["VALUES", "LIMIT", "OFFSET", "INTERVAL"].contains(&word.as_str()) {
            last = None;
        } else if word == "?" {
            let column = last.or_else(|| listed.next().and_then(|name| known(&name).copied()));
            places.push(column.map(place).unwrap_or_default());
        }
    }
    places
}

fn place(column: &Column) -> Place {
    match &column.holds {
        Holds::Integers(min, max) => Place { range: Some((*min, *max)), ..Place::default() },
        Holds::Sequence(first) => Place { range: Some((*first, first + 999)), ..Place::default() },
        Holds::Text(min, max) => Place { lengths: Some((*min as usize, *max as usize)), ..Place::default() },
        Holds::Choice(words) => {
            Place { samples: words.iter().map(|(word, _)| word.clone()).collect(), ..Place::default() }
        }
        Holds::Histogram(ranges, 0) => Place { range: Some(ends(ranges)), ..Place::default() },
        Holds::Histogram(ranges, _) => {
            let text = |number: f64| format!("{number:.2}");
            let ends = ranges.iter().flat_map(|(low, high, _)| [text(*low), text(*high)]);
            Place { samples: ends.collect(), ..Place::default() }
        }
        Holds::Uuid(_) => Place { lengths: Some((36, 36)), ..Place::default() },
        Holds::Json(min, max) => Place { lengths: Some((*min as usize, *max as usize)), ..Place::default() },
        Holds::Days(first, last) | Holds::Times(first, last) => {
            Place { samples: [first.clone(), last.clone()].into(), ..Place::default() }
        }
        Holds::Decimals { min, max, .. } => {
            Place { samples: [format!("{min:.2}"), format!("{max:.2}")].into(), ..Place::default() }
        }
        Holds::References { range, .. } => Place { range: Some(*range), ..Place::default() },
    }
}

/// Names, words and `?`.
fn words(text: &str) -> Vec<String> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut words = vec![String::new()];
    for letter in text.chars() {
        match letter {
            '?' => words.extend(["?".to_owned(), String::new()]),
            letter if is_of_word(letter) => {
                words.iter_mut().last().into_iter().for_each(|word| word.push(letter))
            }
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_where_one_does_not_say_as_much() {
        let even: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert_eq!(equal_shares(&even, (0.0, 999.0)), None);
        let skewed: Vec<f64> = (0..1_000).map(|value| f64::from(value).powi(3)).collect();
        let ranges = equal_shares(&skewed, (0.0, 2e9)).unwrap();
        assert_eq!((ranges.len(), ranges[0].1, ranges[9].1, ranges[9].2), (10, 970_299.0, 2e9, 100));
        let mut same = vec![5.0; 900];
        same.extend([7.0; 100]);
        let ranges = equal_shares(&same, (5.0, 7.0)).unwrap();
        assert_eq!(ranges, [(5.0, 5.0, 900), (7.0, 7.0, 100)]);
    }

    #[test]
    fn values_of_digests_are_what_their_columns_hold() {
        let column = |name: &str, holds| Column { name: name.to_owned(), holds, null: 0.0, distinct: None };
        let table = Described {
            name: "orders".to_owned(),
            rows: 9,
            columns: vec![
                column("id", Holds::Sequence(1)),
                column("state", Holds::Text(2, 6)),
                column("n", Holds::Integers(5, 8)),
            ],
            indexes: vec![],
            remarks: vec![],
        };
        let tables = [table];
        let ranges = |text: &str| places(&whole(text).unwrap(), &tables);
        let told = ranges("SELECT * FROM `orders` WHERE `n` BETWEEN ? AND ? AND `state` IN (...) LIMIT ?");
        assert_eq!(
            (told[0].range, told[1].range, told[2].lengths),
            (Some((5, 8)), Some((5, 8)), Some((2, 6)))
        );
        let told = ranges("INSERT INTO `orders` ( `n` , `state` ) VALUES (...)");
        assert_eq!((told[0].range, told[1].lengths, told.len()), (Some((5, 8)), Some((2, 6)), 2));
        assert_eq!(whole("SELECT a , b FROM ..."), None);
    }
}
