//! Which tables a workload works on, by the words of its statements: those that Prony makes, called
//! `sbtest1`, `sbtest2` and so on, and those of the user's own, of which nothing is known but the name.

use super::effect::{READING, without_comments};
use load::spec::{Piece, Statement, Step, Workload};
use std::collections::BTreeSet;

/// How Prony's tables begin; a number follows.
const OWN: &str = "sbtest";
/// Words that may stand between what a statement does and the table that it does it to.
const BETWEEN: [&str; 7] = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "INTO", "FROM"];
/// Words before which a name ends.
const ENDS: [&str; 6] = ["SET", "VALUES", "VALUE", "SELECT", "WHERE", "USING"];

/// Whether any statement names a table that Prony makes.
#[must_use]
pub fn needs_data(workload: &Workload) -> bool {
    texts(workload).any(|text| text.to_ascii_lowercase().contains(OWN))
}

/// What a workload writes to that Prony did not make: names of tables as they are written, or the first words
/// of a statement of which that cannot be told (`CALL pay`).
#[must_use]
pub fn foreign_written(workload: &Workload) -> BTreeSet<String> {
    texts(workload).flat_map(|text| written(&text)).filter(|name| !is_own(name)).collect()
}

fn is_own(name: &str) -> bool {
    let Some((start, number)) = name.split_at_checked(OWN.len()) else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    start.eq_ignore_ascii_case(OWN) && is_number
}

/// The text of every statement, with `1` where a table's number is drawn.
fn texts(workload: &Workload) -> impl Iterator<Item = String> {
    let steps = workload.transactions.iter().flat_map(|transaction| &transaction.steps);
    steps.filter_map(|step| match step {
        Step::Statement(Statement { pieces, .. }) | Step::BulkRow { head: pieces, .. } => Some(text(pieces)),
        Step::Draw { .. } => None,
    })
}

fn text(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Sql(text) => text.clone(),
        Piece::Table(_) => "1".to_owned(),
        Piece::Parameter(_) | Piece::Inline(_) => "?".to_owned(),
    };
    pieces.iter().map(piece).collect()
}

/// The tables that a statement writes to.
fn written(text: &str) -> Vec<String> {
    let text = without_comments(text);
    let words: Vec<String> = words(&text);
    let is = |word: &String, known: &[&str]| known.iter().any(|one| word.eq_ignore_ascii_case(one));
    let writing = ["UPDATE", "INSERT", "REPLACE", "DELETE", "TRUNCATE", "LOAD"];
    // what a common table expression reads stands before
    let start = match words.first() {
        Some(first) if is(first, &["WITH"]) => {
            words.iter().position(|word| is(word, &writing)).unwrap_or(words.len())
        }
        _ => 0,
    };
    let words = &words[start..];
    let Some(first) = words.first() else { return Vec::new() };
    if is(first, &READING) {
        return Vec::new();
    }
    if !is(first, &writing) {
        return vec![words.iter().take(2).cloned().collect::<Vec<_>>().join(" ")];
    }
    if is(first, &["LOAD"]) {
        let after = words.iter().skip_while(|word| !is(word, &["TABLE"])).nth(1);
        return after.cloned().into_iter().collect();
    }
    let mut found = Vec::new();
    let mut rest = words[1..].iter().skip_while(|word| is(word, &BETWEEN) || is(word, &["TABLE"]));
    found.extend(rest.next().cloned());
    // an UPDATE may change all tables that it joins
    let update = is(first, &["UPDATE"]);
    let mut joined = rest.take_while(|word| update && !is(word, &ENDS));
    while joined.by_ref().any(|word| is(word, &["JOIN", ","])) {
        found.extend(joined.next().cloned());
    }
    found
}

/// Words of a statement, commas and names in backticks among them; a name with its schema is one word.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            Some('`') => words.last_mut().expect("never empty").push(letter),
            Some(_) => {}
            None if matches!(letter, '`' | '\'' | '"') => quote = Some(letter),
            None if letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '?') => {
                words.last_mut().expect("never empty").push(letter);
            }
            None if letter == ',' => words.extend([",".to_owned(), String::new()]),
            None => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Options, builtin};

    #[test]
    fn a_statement_says_which_tables_it_writes_to() {
        for (sql, names) in [
            ("UPDATE orders SET n = n + 1 WHERE id = ?", &["orders"][..]),
            ("update low_priority ignore `my shop`.orders set a = 'INTO x'", &["my shop.orders"]),
            ("UPDATE a JOIN b ON a.id = b.id, c SET a.n = 1, b.n = 2", &["a", "b", "c"]),
            ("insert into orders (a, b) values (1, 2)", &["orders"]),
            ("INSERT IGNORE orders SELECT * FROM other", &["orders"]),
            ("REPLACE INTO orders VALUES (1)", &["orders"]),
            ("DELETE FROM orders WHERE id = 1", &["orders"]),
            ("TRUNCATE TABLE orders", &["orders"]),
            ("LOAD DATA INFILE 'x' INTO TABLE orders", &["orders"]),
            ("WITH a AS (SELECT 1 FROM b) DELETE FROM orders", &["orders"]),
            ("CALL pay(1)", &["CALL pay"]),
            ("SELECT * FROM orders FOR UPDATE", &[]),
            ("/* UPDATE x */ BEGIN", &[]),
            ("", &[]),
        ] {
            assert_eq!(written(sql), names, "{sql}");
        }
    }

    #[test]
    fn built_in_workloads_write_to_tables_of_prony_only() {
        for each in crate::workload::list() {
            let workload = builtin(each.name, &Options::default()).expect("a workload");
            assert!(needs_data(&workload), "{}", each.name);
            assert_eq!(foreign_written(&workload), BTreeSet::new(), "{}", each.name);
        }
        assert!(is_own("sbtest12") && !is_own("sbtest_mine") && !is_own("shop.sbtest1"));
    }
}
