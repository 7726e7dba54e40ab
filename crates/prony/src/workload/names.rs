//! Whether the tables and columns that a statement names exist, as far as that is certain without a parser of
//! SQL: tables where SQL allows nothing but tables, and columns where it allows nothing but columns. What it
//! reports as missing is missing; other names may be missing too.

use super::tokens::{Token, tokens};
use crate::layout::{DataSet, Layout as _};
use std::collections::{BTreeMap, BTreeSet};

/// Something that a statement names and the data set does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    /// `table` or `column`.
    pub(super) what: &'static str,
    /// Its name.
    pub(super) name: String,
    /// Those that there are.
    pub(super) known: Vec<String>,
}

/// What is around a statement.
pub(super) struct Known<'a> {
    /// The data set.
    pub(super) data: &'a DataSet,
    /// Whether there may be other tables as well.
    pub(super) others: bool,
    /// Tables that the workload makes itself.
    pub(super) made: &'a BTreeSet<String>,
}

/// Words behind a table's name that are no alias of it.
const NO_ALIAS: [&str; 35] = [
    "CROSS",
    "EXCEPT",
    "FETCH",
    "FOR",
    "FORCE",
    "FULL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "INNER",
    "INTERSECT",
    "INTO",
    "JOIN",
    "LEFT",
    "LIMIT",
    "LOCK",
    "MINUS",
    "NATURAL",
    "OFFSET",
    "ON",
    "ORDER",
    "OUTER",
    "PARTITION",
    "PROCEDURE",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SET",
    "STRAIGHT_JOIN",
    "UNION",
    "USE",
    "USING",
    "VALUE",
    "VALUES",
    "WHERE",
];
/// Words that stand where a column can, and are none.
const NO_COLUMN: [&str; 34] = [
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BINARY",
    "BY",
    "CASE",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DEFAULT",
    "DESC",
    "DISTINCT",
    "DIV",
    "ELSE",
    "END",
    "EXISTS",
    "FALSE",
    "IN",
    "INTERVAL",
    "IS",
    "LIKE",
    "MOD",
    "NOT",
    "NULL",
    "OR",
    "SOME",
    "THEN",
    "TRUE",
    "WHEN",
    "XOR",
];
/// Words between a column and what it is compared with.
const COMPARES: [&str; 6] = ["BETWEEN", "IN", "IS", "LIKE", "REGEXP", "RLIKE"];
/// Functions of one column.
const AGGREGATES: [&str; 5] = ["AVG", "COUNT", "MAX", "MIN", "SUM"];

/// Tables that a statement makes, in small letters.
pub(super) fn made(text: &str) -> Option<String> {
    let tokens = tokens(text, true).ok()?;
    let mut rest = tokens.iter();
    if !rest.next()?.is("CREATE") {
        return None;
    }
    let mut rest = rest.skip_while(|token| !token.is("TABLE")).skip(1);
    let name = rest.find(|token| !["IF", "NOT", "EXISTS"].iter().any(|word| token.is(word)))?;
    name_of(name).map(str::to_lowercase)
}

/// What a statement names that is not there.
pub(super) fn missing(text: &str, known: &Known<'_>) -> Vec<Missing> {
    let Ok(tokens) = tokens(text, true) else { return Vec::new() };
    let first = tokens.iter().find(|token| **token != Token::Sign('('));
    let is_checked = |token: &Token| {
        ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"].iter().any(|verb| token.is(verb))
    };
    if !first.is_some_and(is_checked) {
        return Vec::new();
    }
    let mut reader = Reader {
        tokens: &tokens,
        known,
        tables: BTreeMap::new(),
        all_known: true,
        names: own_names(&tokens),
        missing: Vec::new(),
    };
    reader.read_tables();
    reader.read_columns();
    reader.missing
}

fn name_of(token: &Token) -> Option<&str> {
    match token {
        Token::Word(name) | Token::Quoted(name) => Some(name),
        Token::Value | Token::Sign(_) => None,
    }
}

/// Names that the statement defines: after AS, and those of common table expressions before it.
fn own_names(tokens: &[Token]) -> BTreeSet<String> {
    let places = (0..tokens.len()).filter(|&at| tokens[at].is("AS"));
    let named = places.filter_map(|at| match tokens.get(at + 1)? {
        Token::Sign('(') => expression(&tokens[..at]),
        name => name_of(name),
    });
    named.map(str::to_lowercase).collect()
}

/// The name of the common table expression whose AS comes next: `few`, `few (a, b)`.
fn expression(before: &[Token]) -> Option<&str> {
    let columns = before.last()? == &Token::Sign(')');
    let name =
        if columns { before.iter().rposition(|token| *token == Token::Sign('('))? } else { before.len() };
    name_of(before.get(name.checked_sub(1)?)?)
}

struct Reader<'a> {
    tokens: &'a [Token],
    known: &'a Known<'a>,
    /// Columns of the tables, by table and alias in small letters; `None`: unknown.
    tables: BTreeMap<String, Option<Vec<String>>>,
    /// Whether the columns of all tables are known.
    all_known: bool,
    names: BTreeSet<String>,
    missing: Vec<Missing>,
}

impl Reader<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(word))
    }

    fn is_one(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    fn is_sign(&self, at: usize, signs: &[char]) -> bool {
        matches!(self.tokens.get(at), Some(Token::Sign(sign)) if signs.contains(sign))
    }

    fn read_tables(&mut self) {
        // whether what stands in each open parenthesis is a statement
        let mut queries = vec![true];
        for at in 0..self.tokens.len() {
            if self.is_sign(at, &['(']) {
                queries.push(self.is_one(at + 1, &["SELECT", "WITH", "TABLE", "VALUES"]));
            } else if self.is_sign(at, &[')']) {
                queries.pop();
            }
            let in_query = queries.last().copied().unwrap_or(true);
            let begins = self.is(at, "JOIN")
                || self.is(at, "STRAIGHT_JOIN")
                || (self.is(at, "FROM") && in_query)
                || (self.is(at, "INTO") && !self.is_one(at + 1, &["OUTFILE", "DUMPFILE", "TABLE"]))
                || (at == 0 && self.is(at, "UPDATE"));
            if begins {
                self.references(at + 1);
            }
        }
    }

    /// Tables with commas between them.
    fn references(&mut self, mut at: usize) {
        loop {
            while self.is_one(at, &["LOW_PRIORITY", "IGNORE", "LATERAL"]) {
                at += 1;
            }
            let Some(name) = self.tokens.get(at).and_then(name_of).map(str::to_owned) else {
                // a derived table, a variable: whatever it has, it is not known here
                self.all_known = false;
                return;
            };
            at += 1;
            let is_elsewhere = self.is_sign(at, &['.']);
            let is_function = self.is_sign(at, &['(']) && !self.is(at.saturating_sub(2), "INTO");
            at += 2 * usize::from(is_elsewhere);
            let columns = if is_elsewhere || is_function { None } else { self.columns_of(&name) };
            self.all_known &= columns.is_some();
            if self.is(at, "AS") {
                at += 1;
            }
            let alias = self.tokens.get(at).and_then(name_of);
            if let Some(alias) = alias.filter(|alias| !NO_ALIAS.contains(&&*alias.to_ascii_uppercase())) {
                self.tables.insert(alias.to_lowercase(), columns.clone());
                at += 1;
            }
            self.tables.insert(name.to_lowercase(), columns);
            if !self.is_sign(at, &[',']) {
                return;
            }
            at += 1;
        }
    }

    /// Columns of a table; one that is not there is told.
    fn columns_of(&mut self, name: &str) -> Option<Vec<String>> {
        let columns = self.known.data.columns(name);
        let lower = name.to_lowercase();
        let is_other = self.known.others
            // the columns of a copy are not known, and not always its tables
            || self.known.data.copy().is_some_and(|copy| !copy.has_all || copy.has_table(name))
            || self.known.made.contains(&lower)
            || self.names.contains(&lower)
            || lower == "dual"
            // tables that MariaDB makes up
            || lower.starts_with("seq_");
        if columns.is_none() && !is_other {
            let known = self.known.data.table_names();
            self.missing.push(Missing { what: "table", name: name.to_owned(), known });
        }
        columns
    }

    fn read_columns(&mut self) {
        let has_own_names = self.tokens.iter().any(|token| token.is("HAVING"));
        for at in 0..self.tokens.len() {
            let Some(name) = name_of(&self.tokens[at]).map(str::to_owned) else { continue };
            if at > 1 && self.is_sign(at - 1, &['.']) {
                let table = name_of(&self.tokens[at - 2]).map(str::to_lowercase);
                let is_third = at > 2 && self.is_sign(at - 3, &['.']);
                let columns = table.filter(|_| !is_third).and_then(|table| self.tables.get(&table).cloned());
                if let Some(Some(columns)) = columns {
                    self.expect(&name, &columns);
                }
                continue;
            }
            let is_other = self.is_sign(at + 1, &['.', '('])
                || (at > 0 && self.is_sign(at - 1, &['@', ':']))
                || name.starts_with(|first: char| first.is_ascii_digit())
                || NO_COLUMN.contains(&&*name.to_ascii_uppercase())
                || self.names.contains(&name.to_lowercase())
                || self.tables.contains_key(&name.to_lowercase());
            if !is_other && self.all_known && !has_own_names && self.is_column(at) {
                let columns: Vec<String> = self.tables.values().flatten().flatten().cloned().collect();
                self.expect(&name, &columns);
            }
        }
    }

    /// Whether nothing but a column can stand here.
    fn is_column(&self, at: usize) -> bool {
        let is_compared = self.is_sign(at + 1, &['=', '<', '>', '!'])
            || self.is_one(at + 1, &COMPARES)
            || (self.is(at + 1, "NOT") && self.is_one(at + 2, &COMPARES));
        let is_aggregated = at > 1
            && self.is_sign(at - 1, &['('])
            && self.is_sign(at + 1, &[')'])
            && self.is_one(at - 2, &AGGREGATES);
        is_compared || is_aggregated || self.is_selected(at) || self.is_inserted(at)
    }

    /// `SELECT a, b FROM`: an item that is one word.
    fn is_selected(&self, at: usize) -> bool {
        let begins = at > 0 && (self.is_one(at - 1, &["SELECT", "DISTINCT"]) || self.is_sign(at - 1, &[',']));
        let ends = self.is(at + 1, "FROM") || self.is_sign(at + 1, &[',']);
        if !begins || !ends {
            return false;
        }
        // back to the SELECT, through nothing that could be the arguments of a function
        let mut place = at;
        while place > 0 {
            place -= 1;
            if self.is(place, "SELECT") {
                return true;
            }
            if self.is_sign(place, &['(', ')']) || self.is(place, "FROM") {
                return false;
            }
        }
        false
    }

    /// `INTO t (a, b)`.
    fn is_inserted(&self, at: usize) -> bool {
        let is_in_list = self.is_sign(at + 1, &[',', ')']) && at > 0 && self.is_sign(at - 1, &['(', ',']);
        if !is_in_list {
            return false;
        }
        let mut place = at;
        while place > 1 {
            place -= 1;
            if self.is_sign(place, &['(']) {
                return self.is(place - 2, "INTO") || self.is_one(0, &["REPLACE", "INSERT"]) && place == 2;
            }
            if self.is_sign(place, &[')']) || matches!(self.tokens[place], Token::Value) {
                return false;
            }
        }
        false
    }

    fn expect(&mut self, name: &str, columns: &[String]) {
        if columns.iter().any(|column| column.eq_ignore_ascii_case(name)) {
            return;
        }
        let mut known = columns.to_vec();
        known.dedup();
        let missing = Missing { what: "column", name: name.to_owned(), known };
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        layout::NUMBER,
        workload::{Options, data, tokens::VALUE},
    };

    fn found(text: &str) -> Vec<String> {
        let options = Options { tables: 2, ..Options::default() };
        let data = data("oltp_read_only", &options).unwrap().into();
        let made = BTreeSet::from(["mine".to_owned()]);
        let known = Known { data: &data, others: false, made: &made };
        let text = text.replace("{table}", &NUMBER.to_string()).replace('?', &VALUE.to_string());
        missing(&text, &known).into_iter().map(|one| format!("{} {}", one.what, one.name)).collect()
    }

    #[test]
    fn what_is_there_is_not_told() {
        for sql in [
            "SELECT c FROM sbtest{table} WHERE id = ? FOR UPDATE",
            "SELECT `c`, t.pad FROM sbtest1 AS t JOIN sbtest2 u ON t.id = u.k WHERE u.k BETWEEN ? AND ?",
            "SELECT c AS name FROM sbtest1 ORDER BY name LIMIT 5",
            "SELECT SUM(k) total FROM sbtest1 GROUP BY c HAVING total > 5",
            "SELECT EXTRACT(YEAR FROM c), IF(k = 1, c, pad) FROM sbtest1",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE k = VALUES(k)",
            "INSERT INTO sbtest1 VALUES (?, ?, CONCAT('a', c), NULL)",
            "UPDATE LOW_PRIORITY sbtest2 SET k = k + 1, c = ? WHERE id IN (SELECT id FROM sbtest1)",
            "DELETE FROM sbtest1 WHERE NOT k = 3 AND c IS NOT NULL AND @x = 5",
            "WITH few AS (SELECT id FROM sbtest1) SELECT x FROM few WHERE y = 1",
            "WITH few (x, y) AS (SELECT id, k FROM sbtest1) SELECT x FROM few WHERE y = 1",
            "SELECT a FROM (SELECT id AS a FROM sbtest1) AS d WHERE a > 1",
            "SELECT x FROM elsewhere.t WHERE y = 1",
            "INSERT INTO mine SELECT z FROM sbtest1, mine WHERE z = 1",
            "SELECT seq FROM seq_1_to_10 WHERE seq > 2",
            "SELECT 1 FROM DUAL",
            "SELECT CURRENT_DATE, NULL FROM sbtest1 WHERE TRUE = ?",
            "SHOW TABLES FROM nowhere LIKE 'x'",
            "SET @a = 1",
        ] {
            assert_eq!(found(sql), Vec::<String>::new(), "{sql}");
        }
    }

    #[test]
    fn what_is_not_there_is_told() {
        for (sql, missing) in [
            ("SELECT c FROM sbtst1 WHERE id = ?", "table sbtst1"),
            ("SELECT c FROM sbtest3", "table sbtest3"),
            ("SELECT nmae FROM sbtest{table}", "column nmae"),
            ("SELECT c, nmae, k FROM sbtest1", "column nmae"),
            ("SELECT COUNT(nmae) FROM sbtest1", "column nmae"),
            ("SELECT c FROM sbtest1 WHERE idd = ?", "column idd"),
            ("SELECT c FROM sbtest1 WHERE id = ? AND kk NOT IN (?, ?)", "column kk"),
            ("SELECT t.cc FROM sbtest1 t", "column cc"),
            ("SELECT 1 FROM costumer AS t", "table costumer"),
            ("UPDATE sbtest1 SET kk = kk + 1 WHERE id = ?", "column kk"),
            ("INSERT INTO sbtest1 (id, kk) VALUES (?, ?)", "column kk"),
            ("DELETE FROM order WHERE id = ?", "table order"),
            ("SELECT 1 FROM sbtest1 JOIN costumer ON 1", "table costumer"),
        ] {
            assert_eq!(found(sql), [missing], "{sql}");
        }
    }
}
