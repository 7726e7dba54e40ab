//! What a statement of a dump makes or fills, as far as drawing values from its columns needs it: tables with
//! their columns, and the range of the whole numbers that are inserted. No parser of SQL: what it does not
//! know it leaves alone, and the server judges it.

use std::ops::Range;

/// A table that a statement creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Created {
    pub(super) name: String,
    pub(super) columns: Vec<CreatedColumn>,
    /// Where what stands between the parentheses begins and ends.
    pub(super) body: Range<usize>,
    /// Its indexes that can be made when the rows are in.
    pub(super) indexes: Vec<Range<usize>>,
    /// Whether it has foreign keys.
    pub(super) refers: bool,
    /// Whether one of them leads to itself.
    pub(super) refers_to_itself: bool,
    /// Its conditions (CHECK).
    pub(super) checks: u32,
}

/// A column of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CreatedColumn {
    pub(super) name: String,
    /// The first word of its type, in capital letters.
    pub(super) kind: String,
    /// Whether the server numbers rows by it.
    pub(super) counts: bool,
    /// Where it stands in the statement.
    pub(super) at: usize,
}

/// What stands between two commas of CREATE TABLE.
struct Item<'a> {
    tokens: Vec<Token<'a>>,
    /// With blanks and comments around it.
    range: Range<usize>,
    /// Where its first token begins.
    at: usize,
}

/// Types of whole numbers.
const INTEGERS: [&str; 7] = ["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT", "SERIAL"];
/// Words with which something begins in CREATE TABLE that is no column.
const NO_COLUMN: [&str; 11] = [
    "CHECK",
    "CONSTRAINT",
    "EXCLUDE",
    "FOREIGN",
    "FULLTEXT",
    "INDEX",
    "KEY",
    "PERIOD",
    "PRIMARY",
    "SPATIAL",
    "UNIQUE",
];

/// A part of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a [u8]),
    Name(String),
    Text,
    Sign(u8),
}

impl CreatedColumn {
    /// Whether it holds whole numbers.
    pub(super) fn is_integer(&self) -> bool {
        INTEGERS.contains(&self.kind.as_str())
    }
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(own) if own.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn name(&self) -> Option<String> {
        match self {
            Token::Word(word) => Some(String::from_utf8_lossy(word).into_owned()),
            Token::Name(name) => Some(name.clone()),
            Token::Text | Token::Sign(_) => None,
        }
    }
}

struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.rest = self.rest.trim_ascii_start();
            let rest = self.rest;
            let first = *rest.first()?;
            if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") {
                let digits = rest[3..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'!');
                self.rest = &rest[3 + digits.count()..];
            } else if rest.starts_with(b"*/") {
                self.rest = &rest[2..];
            } else if rest.starts_with(b"/*") {
                let end = rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 2);
                self.rest = &rest[end..];
            } else if rest.starts_with(b"-- ") || first == b'#' {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                self.rest = &rest[end..];
            } else if [b'`', b'"', b'\''].contains(&first) {
                let (text, end) = quoted(rest);
                self.rest = &rest[end..];
                return Some(if first == b'\'' {
                    Token::Text
                } else {
                    Token::Name(String::from_utf8_lossy(&text).into_owned())
                });
            } else {
                let end = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
                let (taken, rest) = rest.split_at(end.max(1));
                self.rest = rest;
                return Some(if end == 0 { Token::Sign(first) } else { Token::Word(taken) });
            }
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// How long the quoted part at the begin of a text is.
fn quoted_bytes(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while at < text.len() {
        if text[at] == b'\\' && quote != b'`' {
            at += 1;
        } else if text[at] == quote {
            if text.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    text.len()
}

/// What stands in quotes at the begin of a text, and where it ends.
pub(super) fn quoted(text: &[u8]) -> (Vec<u8>, usize) {
    let quote = text[0];
    let (mut inner, mut at) = (Vec::new(), 1);
    while at < text.len() {
        let byte = text[at];
        if byte == quote && text.get(at + 1) == Some(&quote) {
            at += 1;
        } else if byte == quote {
            return (inner, at + 1);
        } else if byte == b'\\' && quote != b'`' {
            at += 1;
        }
        inner.extend(text.get(at));
        at += 1;
    }
    (inner, text.len())
}

/// The table that a statement creates.
pub(super) fn created(text: &[u8]) -> Option<Created> {
    let mut tokens = Tokens { rest: text };
    if !tokens.next()?.is("CREATE") {
        return None;
    }
    let mut next = tokens.next()?;
    if next.is("TEMPORARY") || next.is("OR") {
        return None;
    }
    if !next.is("TABLE") {
        return None;
    }
    next = tokens.next()?;
    if next.is("IF") {
        next = tokens.nth(2)?;
    }
    let mut name = next.name()?;
    let mut sign = tokens.next()?;
    if sign == Token::Sign(b'.') {
        name = tokens.next()?.name()?;
        sign = tokens.next()?;
    }
    if sign != Token::Sign(b'(') {
        return None;
    }
    let begin = text.len() - tokens.rest.len();
    let (items, end) = items(tokens, text, begin);
    let columns: Vec<CreatedColumn> = items.iter().filter_map(column).collect();
    let own = Token::Name(name.clone());
    let targets = items.iter().flat_map(|item| {
        item.tokens.windows(2).filter(|two| two[0].is("REFERENCES")).map(|two| two[1].name())
    });
    let targets: Vec<Option<String>> = targets.collect();
    (!columns.is_empty()).then(|| Created {
        body: begin..end,
        indexes: later(&items, &columns),
        refers: !targets.is_empty(),
        refers_to_itself: targets.contains(&own.name()),
        checks: items.iter().map(checks).sum(),
        columns,
        name,
    })
}

/// How many conditions an item has. That a text is JSON is none: MariaDB writes it for a column of that type.
fn checks(item: &Item<'_>) -> u32 {
    let conditions = item.tokens.iter().enumerate().filter(|(_, token)| token.is("CHECK"));
    let is_of_type = |at: usize| item.tokens.get(at + 2).is_some_and(|token| token.is("json_valid"));
    conditions.filter(|(at, _)| !is_of_type(*at)).count() as u32
}

/// What stands between the parentheses, and where the second of them is.
fn items<'a>(mut tokens: Tokens<'a>, text: &'a [u8], begin: usize) -> (Vec<Item<'a>>, usize) {
    let (mut all, mut depth, mut start) = (Vec::new(), 1, begin);
    let (mut item, mut at) = (Vec::new(), begin);
    while let Some(token) = tokens.next() {
        let end = text.len() - tokens.rest.len();
        match token {
            Token::Sign(b'(') => depth += 1,
            Token::Sign(b')') => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && token == Token::Sign(b',')) {
            all.push(Item { tokens: std::mem::take(&mut item), range: start..end - 1, at });
            start = end;
            if depth == 0 {
                return (all, end - 1);
            }
            continue;
        }
        if item.is_empty() {
            // a token is as long as its text, quotes included, and begins where blanks and comments end
            at = end - token_bytes(&token);
        }
        item.push(token);
    }
    (all, text.len())
}

/// How long the token is that a text ends in, where it is a word or a sign; of a quoted one, its last byte.
fn token_bytes(token: &Token<'_>) -> usize {
    match token {
        Token::Word(word) => word.len(),
        Token::Name(_) | Token::Text | Token::Sign(_) => 1,
    }
}

/// The indexes that nothing needs while rows are loaded: neither unique, nor that of a column which the
/// server numbers or which refers to another table, nor one of words or places.
fn later(items: &[Item<'_>], columns: &[CreatedColumn]) -> Vec<Range<usize>> {
    let needed = |leading: &str| {
        let counts = columns.iter().any(|column| column.counts && column.name.eq_ignore_ascii_case(leading));
        let refers = |item: &Item<'_>| {
            item.tokens.iter().any(|token| token.is("REFERENCES"))
                && (leads(item).is_some_and(|first| first.eq_ignore_ascii_case(leading))
                    || item.tokens.first().and_then(Token::name).is_some_and(|own| own == leading))
        };
        counts || items.iter().any(refers)
    };
    let is_index = |item: &&Item<'_>| {
        item.tokens
            .first()
            .is_some_and(|first| matches!(first, Token::Word(_)) && (first.is("KEY") || first.is("INDEX")))
            && leads(item).is_some_and(|first| !needed(&first))
    };
    items.iter().filter(is_index).map(|item| item.range.clone()).collect()
}

/// The column in the first parentheses of an item.
fn leads(item: &Item<'_>) -> Option<String> {
    let open = item.tokens.iter().position(|token| *token == Token::Sign(b'('))?;
    item.tokens.get(open + 1)?.name()
}

/// Whether a statement makes, or goes to, a database.
#[must_use]
pub fn names_database(text: &[u8]) -> bool {
    let mut tokens = Tokens { rest: text };
    let first = tokens.next();
    let is = |token: &Option<Token<'_>>, word: &str| token.as_ref().is_some_and(|token| token.is(word));
    if is(&first, "USE") {
        return true;
    }
    let second = tokens.next();
    let makes = ["CREATE", "DROP", "ALTER"].iter().any(|verb| is(&first, verb));
    makes && ["DATABASE", "SCHEMA"].iter().any(|what| is(&second, what))
}

/// The column that an item is.
fn column(item: &Item<'_>) -> Option<CreatedColumn> {
    let first = item.tokens.first()?;
    if NO_COLUMN.iter().any(|word| first.is(word)) {
        return None;
    }
    let kind = match item.tokens.get(1) {
        Some(Token::Word(word)) => String::from_utf8_lossy(word).to_ascii_uppercase(),
        _ => String::new(),
    };
    let counts = kind == "SERIAL" || item.tokens.iter().any(|token| token.is("AUTO_INCREMENT"));
    Some(CreatedColumn { name: first.name()?, kind, counts, at: item.at })
}

/// What a statement is to whoever loads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It says how the session works: every connection that loads needs it.
    Setting,
    /// It keeps others out while rows are loaded, which nobody else needs.
    Lock,
    /// It inserts rows, in an order that may matter.
    Rows,
    /// Anything else.
    Other,
}

/// What a statement is to whoever loads a file.
#[must_use]
pub fn role(text: &[u8]) -> Role {
    let mut tokens = Tokens { rest: text };
    let (Some(first), second) = (tokens.next(), tokens.next()) else { return Role::Other };
    let is_second = |word: &str| second.as_ref().is_some_and(|token| token.is(word));
    let is_global = || {
        let mut words = Tokens { rest: text };
        words.any(|token| ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD"].iter().any(|word| token.is(word)))
    };
    if first.is("SET") && !is_global() {
        Role::Setting
    } else if (first.is("LOCK") || first.is("UNLOCK")) && (is_second("TABLES") || is_second("TABLE")) {
        Role::Lock
    } else if first.is("INSERT") || first.is("REPLACE") {
        Role::Rows
    } else {
        Role::Other
    }
}

/// Whether rows of this statement may be inserted in any order with those of others: it is a plain INSERT.
pub(super) fn is_plain_insert(text: &[u8]) -> bool {
    let mut tokens = Tokens { rest: text };
    let is_plain = tokens.next().is_some_and(|token| token.is("INSERT"));
    let next = tokens.next();
    let end = &text[text.len().saturating_sub(ON_DUPLICATE)..];
    let has = |word: &[u8]| end.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    is_plain
        && next.is_some_and(|token| token.is("INTO") || token.name().is_some_and(|name| name != "IGNORE"))
        && !has(b"DUPLICATE")
}

/// Where, before its end, an INSERT says what to do with rows that are there.
const ON_DUPLICATE: usize = 4096;

/// The table that a statement inserts rows into, the columns that it names, and where its rows begin.
pub(super) fn inserted(text: &[u8]) -> Option<(String, Vec<String>, &[u8])> {
    let mut tokens = Tokens { rest: text };
    let verb = tokens.next()?;
    if !verb.is("INSERT") && !verb.is("REPLACE") {
        return None;
    }
    let mut next = tokens.next()?;
    while ["INTO", "IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"].iter().any(|word| next.is(word)) {
        next = tokens.next()?;
    }
    let mut name = next.name()?;
    next = tokens.next()?;
    if next == Token::Sign(b'.') {
        name = tokens.next()?.name()?;
        next = tokens.next()?;
    }
    let mut columns = Vec::new();
    if next == Token::Sign(b'(') {
        loop {
            columns.push(tokens.next()?.name()?);
            if tokens.next()? == Token::Sign(b')') {
                break;
            }
        }
        next = tokens.next()?;
    }
    (next.is("VALUES") || next.is("VALUE")).then_some((name, columns, tokens.rest))
}

/// The table that a statement inserts rows into in another form: INSERT ... SET or SELECT, LOAD DATA.
pub(super) fn fills(text: &[u8]) -> Option<String> {
    let mut tokens = Tokens { rest: text };
    let verb = tokens.next()?;
    if verb.is("LOAD") {
        tokens.find(|token| token.is("TABLE"))?;
        return tokens.next()?.name();
    }
    if !verb.is("INSERT") && !verb.is("REPLACE") {
        return None;
    }
    let words = ["INTO", "IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"];
    let name = tokens.find(|token| !words.iter().any(|word| token.is(word)))?.name()?;
    match tokens.next()? {
        Token::Sign(b'.') => tokens.next()?.name(),
        _ => Some(name),
    }
}

/// Calls `told` with each value of each row that is a whole number: its place in the row, and itself.
/// Returns how many rows there are.
pub(super) fn integers(rows: &[u8], told: &mut dyn FnMut(usize, i64)) -> u64 {
    values(rows, &mut |_, place, range| {
        let text = std::str::from_utf8(&rows[range]).ok();
        if let Some(number) = text.and_then(|text| text.parse().ok()) {
            told(place, number);
        }
    })
}

/// Calls `told` with each value of each row: the row's number from 0, the value's place in it, and where it
/// stands. Returns how many rows there are.
pub(super) fn values(rows: &[u8], told: &mut dyn FnMut(u64, usize, Range<usize>)) -> u64 {
    let (mut at, mut depth, mut place, mut count) = (0, 0, 0, 0);
    let mut begin = 0;
    while at < rows.len() {
        match rows[at] {
            b'\'' | b'"' | b'`' => {
                at += quoted_bytes(&rows[at..]);
                continue;
            }
            b'(' => {
                depth += 1;
                if depth == 1 {
                    (place, begin, count) = (0, at + 1, count + 1);
                }
            }
            b',' | b')' if depth == 1 => {
                let value = &rows[begin..at];
                let first = begin + (value.len() - value.trim_ascii_start().len());
                told(count - 1, place, first..first.max(begin + value.trim_ascii_end().len()));
                (place, begin) = (place + 1, at + 1);
                depth -= i32::from(rows[at] == b')');
            }
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_with_their_columns() {
        let text = "CREATE TABLE IF NOT EXISTS `shop`.`order``s` (\n  `id` int(11) NOT NULL \
                    AUTO_INCREMENT, -- a, b\n  name VARCHAR(20) DEFAULT 'x,y)', price DECIMAL(10,2), \
                    `key` bigint unsigned /*!80023 INVISIBLE */,\n PRIMARY KEY (`id`, name), KEY `n` \
                    (name), CONSTRAINT c CHECK (price > 0)) ENGINE=InnoDB";
        let created = created(text.as_bytes()).unwrap();
        assert_eq!(created.name, "order`s");
        let columns = [("id", "INT"), ("name", "VARCHAR"), ("price", "DECIMAL"), ("key", "BIGINT")];
        let found: Vec<(&str, &str)> =
            created.columns.iter().map(|column| (&column.name[..], &column.kind[..])).collect();
        assert_eq!(found, columns);
        assert_eq!((created.checks, created.columns[0].counts, created.refers), (1, true, false));
        assert_eq!(text[created.indexes[0].clone()].trim(), "KEY `n` (name)");
        // as MariaDB dumps a column of type JSON
        let json = "CREATE TABLE j (d longtext DEFAULT NULL CHECK (json_valid(`d`)), p INT CHECK (p > 0))";
        assert_eq!(super::created(json.as_bytes()).unwrap().checks, 1);
        for other in ["CREATE VIEW v AS SELECT 1", "CREATE TABLE a LIKE b", "INSERT INTO a VALUES (1)"] {
            assert_eq!(super::created(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn indexes_that_something_needs_while_rows_are_loaded_are_not_put_off() {
        let text = "CREATE TABLE t (id INT, n INT AUTO_INCREMENT, p INT, q INT, KEY (n), KEY (p, q), KEY `k` \
                    (q), UNIQUE KEY u (q), FULLTEXT KEY f (q), CONSTRAINT c FOREIGN KEY (p) REFERENCES t \
                    (id))";
        let created = created(text.as_bytes()).unwrap();
        let later: Vec<&str> = created.indexes.iter().map(|range| text[range.clone()].trim()).collect();
        assert_eq!(later, ["KEY `k` (q)"]);
        assert!(created.refers && created.refers_to_itself);
        assert_eq!(&text[created.columns[2].at..][..5], "p INT");
    }

    #[test]
    fn statements_have_roles() {
        for (text, expected) in [
            ("/*!40101 SET NAMES utf8 */", Role::Setting),
            ("SET @@GLOBAL.GTID_PURGED=''", Role::Other),
            ("LOCK TABLES `a` WRITE", Role::Lock),
            ("UNLOCK TABLES", Role::Lock),
            ("INSERT INTO a VALUES (1)", Role::Rows),
            ("/*!40000 ALTER TABLE `a` DISABLE KEYS */", Role::Other),
        ] {
            assert_eq!(role(text.as_bytes()), expected, "{text}");
        }
        assert!(is_plain_insert(b"INSERT INTO a VALUES (1)") && is_plain_insert(b"INSERT `a` VALUES (1)"));
        for text in [
            "INSERT IGNORE INTO a VALUES (1)",
            "REPLACE INTO a VALUES (1)",
            "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1",
        ] {
            assert!(!is_plain_insert(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn whole_numbers_of_rows_are_told_with_their_place() {
        let text = "INSERT IGNORE INTO `a` (`x`, y, z) VALUES (1,'it''s (2), 3',-7),(20,'\\'',NULL),\n ( \
                    3 ,NOW(5),4.5)";
        let (name, columns, rows) = inserted(text.as_bytes()).unwrap();
        assert_eq!((name.as_str(), columns), ("a", vec!["x".to_owned(), "y".to_owned(), "z".to_owned()]));
        let mut told = Vec::new();
        assert_eq!(integers(rows, &mut |place, number| told.push((place, number))), 3);
        assert_eq!(told, [(0, 1), (2, -7), (0, 20), (0, 3)]);
        assert!(inserted(b"INSERT INTO a SELECT 1").is_none());
    }
}
