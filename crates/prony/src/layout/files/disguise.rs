//! Values that are not to reach a server as they are: replaced on the way, by rules of the study. Everything
//! else of a table stays as it is, so that plans and sizes stay what they were.

use super::{Data, Error, OfRows, Reader, Statement, Table, Use, open, parse, rows::write_quoted};
use crate::layout::{Cell, Rows};
use load::random::{Random, mix};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, collections::BTreeMap, ops::Range};

/// Values that are kept to be shuffled, bytes.
const KEPT_MAX: usize = 1 << 30;

/// What becomes of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disguise {
    /// Equal values become equal ones, of the same length: joins keep their partners.
    Hash,
    /// They change places with each other: all of them are there, in other rows.
    Shuffle,
    /// Letters become `x` and digits `9`.
    Mask,
}

/// Rules: by table and column.
pub type Rules = BTreeMap<String, BTreeMap<String, Disguise>>;

/// Carries rules out while files are loaded.
pub struct Disguises<'a> {
    data: &'a Data,
    key: [u8; 32],
    /// Values of the columns that are shuffled, in their new order, by table and place.
    shuffled: BTreeMap<(String, usize), Vec<Box<[u8]>>>,
    /// Rows of a table that stand in files before this one, by index of the file.
    before: BTreeMap<(usize, String), u64>,
}

/// How far a file is: rows of each of its tables.
#[derive(Debug, Default)]
pub struct Progress {
    file: usize,
    rows: BTreeMap<String, u64>,
}

/// A value as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed<'a> {
    /// As it is in the file.
    As(Cell<'a>),
    /// Another.
    Other(Vec<u8>),
}

impl Passed<'_> {
    /// It.
    #[must_use]
    pub fn cell(&self) -> Cell<'_> {
        match self {
            Self::As(cell) => *cell,
            Self::Other(text) => Cell::Text(text),
        }
    }
}

/// A column of a table, and what becomes of its values.
type Rule = (usize, Disguise);

/// Rules of a table.
fn places(data: &Data, table: &Table) -> Vec<Rule> {
    let rules = data.disguised.get(&table.name);
    let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
    rules.into_iter().flatten().filter_map(|(name, rule)| Some((place(name)?, *rule))).collect()
}

/// A rule, with the place of its column in the rows of a statement.
type Placed = (usize, Rule);

/// The table that a statement fills, its rules by place in a row, and where its rows begin.
fn rules_of<'a>(data: &'a Data, text: &[u8]) -> Option<(&'a Table, Vec<Placed>, usize)> {
    if data.disguised.is_empty() {
        return None;
    }
    let (name, columns, rows) = parse::inserted(text)?;
    let table = data.made.iter().find(|table| table.name == name)?;
    let in_row = |(at, rule): &Rule| match columns.as_slice() {
        [] => Some((*at, (*at, *rule))),
        named => {
            let own = &table.columns[*at].name;
            Some((named.iter().position(|name| name.eq_ignore_ascii_case(own))?, (*at, *rule)))
        }
    };
    let rules: Vec<_> = places(data, table).iter().filter_map(in_row).collect();
    (!rules.is_empty()).then(|| (table, rules, text.len() - rows.len()))
}

impl<'a> Disguises<'a> {
    /// Of these data; reads what is to be shuffled.
    ///
    /// # Errors
    /// A file cannot be read, or has more to shuffle than memory is for.
    pub fn new(data: &'a Data) -> Result<Self, Error> {
        let mut hash = Sha256::new();
        data.files.iter().for_each(|file| hash.update(&file.digest));
        let key = hash.finalize().into();
        let mut all = Self { data, key, shuffled: BTreeMap::new(), before: BTreeMap::new() };
        let is_shuffled =
            |rules: &BTreeMap<String, Disguise>| rules.values().any(|rule| *rule == Disguise::Shuffle);
        if data.disguised.values().any(is_shuffled) {
            all.collect()?;
        }
        Ok(all)
    }

    /// At the begin of a file, by its path.
    #[must_use]
    pub fn begin(&self, path: &std::path::Path) -> Progress {
        let file = self.data.files.iter().position(|file| file.path == *path).unwrap_or(0);
        Progress { file, rows: BTreeMap::new() }
    }

    /// A statement as it is sent.
    #[must_use]
    pub fn statement<'t>(&self, text: &'t [u8], progress: &mut Progress) -> Cow<'t, [u8]> {
        let Some((table, places, begin)) = rules_of(self.data, text) else { return Cow::Borrowed(text) };
        let mut row = self.next_row(table, progress);
        let (mut out, mut from) = (text[..begin].to_vec(), begin);
        let rows = &text[begin..];
        let count = parse::values(rows, &mut |number, place, range| {
            let Some((at, rule)) = places.iter().find(|(at, ..)| *at == place).map(|(_, rule)| rule) else {
                return;
            };
            let value = &rows[range.clone()];
            out.extend_from_slice(&text[from..begin + range.start]);
            from = begin + range.end;
            match rule {
                Disguise::Shuffle => out.extend_from_slice(self.in_place(table, *at, row + number)),
                rule => self.write_literal(value, *rule, &mut out),
            }
        });
        out.extend_from_slice(&text[from..]);
        row += count;
        progress.rows.insert(table.name.clone(), row);
        Cow::Owned(out)
    }

    /// The cells of a row as they are sent.
    #[must_use]
    pub fn cells<'c>(&self, of: &OfRows, cells: &'c Rows, progress: &mut Progress) -> Vec<Passed<'c>> {
        let table = self.data.made.iter().find(|table| table.name == of.table);
        let rules = table.map(|table| (table, places(self.data, table)));
        let Some((table, rules)) = rules.filter(|(_, rules)| !rules.is_empty()) else {
            return cells.cells().map(Passed::As).collect();
        };
        let row = self.next_row(table, progress);
        progress.rows.insert(table.name.clone(), row + 1);
        let place =
            |name: &String| table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let one = |(cell, name): (Cell<'c>, &String)| {
            let rule = rules.iter().find(|(at, _)| Some(*at) == place(name));
            match (rule, cell) {
                (Some((at, Disguise::Shuffle)), _) => match self.in_place(table, *at, row) {
                    [0, value @ ..] => Passed::Other(value.to_vec()),
                    _ => Passed::As(Cell::Null),
                },
                (Some((_, rule)), Cell::Text(text)) => Passed::Other(self.changed(text, *rule)),
                (Some((_, rule)), Cell::Integer(number)) => {
                    Passed::Other(self.changed(number.to_string().as_bytes(), *rule))
                }
                (_, cell) => Passed::As(cell),
            }
        };
        cells.cells().zip(&of.columns).map(one).collect()
    }

    fn next_row(&self, table: &Table, progress: &Progress) -> u64 {
        let known = progress.rows.get(&table.name).copied();
        known.or_else(|| self.before.get(&(progress.file, table.name.clone())).copied()).unwrap_or(0)
    }

    /// The value that a row has after shuffling: as it stands in SQL, or in rows of another form after a 0.
    fn in_place(&self, table: &Table, at: usize, row: u64) -> &[u8] {
        let values = self.shuffled.get(&(table.name.clone(), at));
        values.and_then(|values| values.get(usize::try_from(row).ok()?)).map_or(b"NULL", |value| value)
    }

    fn write_literal(&self, value: &[u8], rule: Disguise, out: &mut Vec<u8>) {
        match value.first() {
            _ if value.eq_ignore_ascii_case(b"NULL") => out.extend_from_slice(value),
            Some(b'\'' | b'"') => write_quoted(&self.changed(&parse::quoted(value).0, rule), out),
            Some(b'0'..=b'9' | b'-') => out.extend_from_slice(&self.changed(value, rule)),
            // bytes, or an expression: its text is as good a value as any
            _ => write_quoted(&self.changed(value, rule), out),
        }
    }

    fn changed(&self, value: &[u8], rule: Disguise) -> Vec<u8> {
        let masked = |letter: char| match letter {
            letter if letter.is_ascii_digit() => '9',
            letter if letter.is_alphanumeric() => 'x',
            letter => letter,
        };
        match rule {
            Disguise::Mask => String::from_utf8_lossy(value).chars().map(masked).collect::<String>().into(),
            Disguise::Hash | Disguise::Shuffle => self.hashed(value),
        }
    }

    /// As many letters, or digits of a number, as the value has.
    fn hashed(&self, value: &[u8]) -> Vec<u8> {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let text = String::from_utf8_lossy(value);
        let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |digits| ("-", digits));
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let length = if is_number { digits.len() } else { text.chars().count() };
        let mut out = if is_number { sign.as_bytes().to_vec() } else { Vec::new() };
        for part in 0..length.div_ceil(32) {
            let mut hash = Sha256::new();
            hash.update(self.key);
            hash.update((part as u64).to_le_bytes());
            hash.update(value);
            let letter = |(place, byte): (usize, u8)| match is_number {
                // no zero leads, which would make the number shorter
                true if part == 0 && place == 0 => b'1' + byte % 9,
                true => b'0' + byte % 10,
                false => LETTERS[usize::from(byte % 32)],
            };
            let wanted = (length - part * 32).min(32);
            out.extend(hash.finalize().into_iter().take(wanted).enumerate().map(letter));
        }
        out
    }

    /// Reads all values that are to be shuffled, and gives them their new order.
    fn collect(&mut self) -> Result<(), Error> {
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        let (data, mut bytes) = (self.data, 0);
        for (index, file) in data.files.iter().enumerate() {
            for (table, count) in &rows {
                self.before.insert((index, table.clone()), *count);
            }
            let failed = |source| Error::Read { path: file.path.clone(), source };
            let mut keep = |table: &Table, at: usize, value: Vec<u8>| {
                bytes += value.len() + 2 * size_of::<usize>();
                self.shuffled.entry((table.name.clone(), at)).or_default().push(value.into());
            };
            let is_kept = |rule: Disguise| rule == Disguise::Shuffle;
            if let Use::Rows(of) = &file.use_as {
                let Some(table) = data.made.iter().find(|table| table.name == of.table) else { continue };
                let mut reader = Reader::open(&file.path, of, &table.columns).map_err(failed)?;
                let mut cells = Rows::default();
                let rules = places(data, table);
                while reader.read(&mut cells).map_err(failed)? {
                    for (cell, name) in cells.cells().zip(&of.columns) {
                        let rule = rules.iter().find(|(at, rule)| {
                            is_kept(*rule) && table.columns[*at].name.eq_ignore_ascii_case(name)
                        });
                        let value = match cell {
                            Cell::Null => b"N".to_vec(),
                            Cell::Integer(number) => [&[0], number.to_string().as_bytes()].concat(),
                            Cell::Text(text) => [&[0], text].concat(),
                        };
                        rule.iter().for_each(|(at, _)| keep(table, *at, value.clone()));
                    }
                    *rows.entry(table.name.clone()).or_default() += 1;
                    cells.clear();
                }
            } else {
                let mut statements = open(&file.path).map_err(failed)?;
                while let Some(Statement { text, .. }) = statements.read().map_err(failed)? {
                    let Some((table, places, begin)) = rules_of(data, &text) else { continue };
                    let values = &text[begin..];
                    let count = parse::values(values, &mut |_, place, range: Range<usize>| {
                        let rule = places.iter().find(|(at, (_, rule))| *at == place && is_kept(*rule));
                        rule.iter().for_each(|(_, (at, _))| keep(table, *at, values[range.clone()].to_vec()));
                    });
                    *rows.entry(table.name.clone()).or_default() += count;
                }
            }
            if bytes > KEPT_MAX {
                let what = "more than 1 GiB of values are to be shuffled: use `hash` or `mask`".to_owned();
                return Err(Error::Dump { path: file.path.clone(), what });
            }
        }
        let key = u64::from_le_bytes(self.key[..8].try_into().unwrap_or_default());
        for (seed, values) in self.shuffled.values_mut().enumerate() {
            let mut random = Random::for_connection(mix(key ^ seed as u64), 0, 0);
            // R. Durstenfeld, "Algorithm 235: Random permutation", 1964
            for last in (1..values.len()).rev() {
                values.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::files::Use;
    use std::path::PathBuf;

    fn data(path: &PathBuf, text: &str, rules: &[(&str, Disguise)]) -> Data {
        std::fs::write(path, text).unwrap();
        let rules = rules.iter().map(|(name, rule)| ((*name).to_owned(), *rule)).collect();
        let rules = Rules::from([("t".to_owned(), rules)]);
        Data::read(vec![(path.clone(), Use::Script)]).unwrap().disguised_by(rules).unwrap()
    }

    #[test]
    fn values_are_replaced_and_everything_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sql");
        let table = "CREATE TABLE t (id INT, mail VARCHAR(40), phone VARCHAR(20), n INT, s VARCHAR(9));\n";
        let rows = "INSERT INTO t VALUES (1,'a,(b\\'c','+49 (0)7',123,'one'),(2,NULL,'x',-5,'two');\n\
                    INSERT INTO t (s, mail, id) VALUES ('six','a,(b\\'c',3)";
        let rules = [
            ("mail", Disguise::Hash),
            ("phone", Disguise::Mask),
            ("n", Disguise::Hash),
            ("s", Disguise::Shuffle),
        ];
        let data = data(&path, &format!("{table}{rows}"), &rules);
        let disguises = Disguises::new(&data).unwrap();
        let mut progress = disguises.begin(&path);
        let mut sent = |text: &str| {
            String::from_utf8(disguises.statement(text.as_bytes(), &mut progress).into_owned()).unwrap()
        };
        let (first, second) = rows.split_once(";\n").unwrap();
        let (first, second) = (sent(first), sent(second));
        assert!(first.starts_with("INSERT INTO t VALUES (1,'") && first.contains(",'+99 (9)9',"), "{first}");
        assert!(
            first.contains("(2,NULL,'x',-") && !first.contains("123") && !first.contains("b\\'"),
            "{first}"
        );
        let mail = &first["INSERT INTO t VALUES (1,'".len()..][..6];
        assert!(second.contains(&format!(",'{mail}',3)")), "equal values stay equal: {second}");
        let mut words: Vec<&str> = ["one", "two", "six"]
            .into_iter()
            .filter(|word| (first.clone() + &second).contains(word))
            .collect();
        words.sort_unstable();
        assert_eq!(words, ["one", "six", "two"], "all are there: {first} {second}");
        let draw =
            |column: &str| crate::layout::Layout::draw(&data, "t", column, load::spec::Distribution::Uniform);
        assert!(draw("id").is_ok() && draw("n").is_err(), "what it holds is not known any more");
    }

    #[test]
    fn rows_that_cannot_be_replaced_are_not_sent() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sql");
        let text = "CREATE TABLE t (id INT, mail VARCHAR(40));\nINSERT INTO t SET mail = 'a@b';";
        std::fs::write(&path, text).unwrap();
        let read = Data::read(vec![(path, Use::Script)]).unwrap();
        let of = |table: &str, column: &str| {
            Rules::from([(table.to_owned(), [(column.to_owned(), Disguise::Mask)].into())])
        };
        let told = |rules| read.clone().disguised_by(rules).unwrap_err().to_string();
        assert!(told(of("t", "mail")).contains("line 2"), "{}", told(of("t", "mail")));
        assert!(told(of("u", "mail")).contains("no file creates a table `u`"));
        assert!(told(of("t", "male")).contains("no column `male`"));
    }
}
