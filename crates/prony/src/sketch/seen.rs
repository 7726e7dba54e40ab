//! Statements that were seen, those that differ in their values alone being one.

use std::collections::BTreeSet;

/// Values of one place that are remembered, to be drawn from.
const SAMPLES_MAX: usize = 20;

/// A kind of statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Its text, with `?` for each value.
    pub text: String,
    /// How often it was seen.
    pub count: u64,
    /// What was seen at each `?`.
    pub places: Vec<Place>,
}

/// The values of one place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// The lowest and the highest, where all are whole numbers.
    pub range: Option<(i64, i64)>,
    /// Shortest and longest text, where there were any.
    pub lengths: Option<(usize, usize)>,
    /// The numbers with fraction, or words that are no numbers, as they were written: the first few.
    pub samples: BTreeSet<String>,
}

/// A value in a statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Integer(i64),
    Real(String),
    Text(usize),
}

impl Place {
    pub(super) fn add(&mut self, literal: &Literal) {
        match literal {
            Literal::Integer(number) => {
                let (min, max) = self.range.unwrap_or((*number, *number));
                self.range = Some((min.min(*number), max.max(*number)));
            }
            Literal::Real(text) if self.samples.len() < SAMPLES_MAX => {
                self.samples.insert(text.clone());
            }
            Literal::Real(_) => {}
            Literal::Text(length) => {
                let (min, max) = self.lengths.unwrap_or((*length, *length));
                self.lengths = Some((min.min(*length), max.max(*length)));
            }
        }
    }
}

/// The text of a statement with `?` for its values, and these. Comments are left out, blanks are one.
#[must_use]
pub fn normalised(text: &str) -> String {
    taken_apart(text).0
}

/// The same with the values.
pub(super) fn taken_apart(text: &str) -> (String, Vec<Literal>) {
    let letters: Vec<char> = text.chars().collect();
    let (mut out, mut literals, mut at) = (String::new(), Vec::new(), 0);
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$' || letter == '@';
    while at < letters.len() {
        let letter = letters[at];
        let next = letters.get(at + 1).copied();
        if letter.is_whitespace() {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
            at += 1;
        } else if letter == '#' || (letter == '-' && next == Some('-')) {
            at += letters[at..].iter().position(|letter| *letter == '\n').unwrap_or(letters.len() - at);
        } else if letter == '/' && next == Some('*') {
            let end = (at + 2..letters.len()).find(|end| letters[*end - 1..=*end] == ['*', '/']);
            at = end.map_or(letters.len(), |end| end + 1);
        } else if letter == '\'' || letter == '"' {
            let (length, end) = quoted(&letters, at);
            literals.push(Literal::Text(length));
            out.push('?');
            at = end;
        } else if letter == '`' {
            let end = (at + 1..letters.len()).find(|end| letters[*end] == '`').unwrap_or(letters.len() - 1);
            out.extend(&letters[at..=end]);
            at = end + 1;
        } else if letter.is_ascii_digit() {
            let end = (at..letters.len()).find(|end| !is_word(letters[*end]) && letters[*end] != '.');
            let end = end.unwrap_or(letters.len());
            let text: String = letters[at..end].iter().collect();
            literals.push(text.parse().map_or(Literal::Real(text), Literal::Integer));
            out.push('?');
            at = end;
        } else if is_word(letter) {
            let end = (at..letters.len()).find(|end| !is_word(letters[*end])).unwrap_or(letters.len());
            out.extend(&letters[at..end]);
            at = end;
        } else {
            out.push(letter);
            at += 1;
        }
    }
    (out.trim_end_matches([' ', ';']).to_owned(), literals)
}

/// Letters between the quotes at `at`, and where they end.
fn quoted(letters: &[char], at: usize) -> (usize, usize) {
    let (quote, mut place, mut length) = (letters[at], at + 1, 0);
    while place < letters.len() {
        let is_doubled = letters[place] == quote && letters.get(place + 1) == Some(&quote);
        if letters[place] == quote && !is_doubled {
            return (length, place + 1);
        }
        place += if letters[place] == '\\' || is_doubled { 2 } else { 1 };
        length += 1;
    }
    (length, letters.len())
}

/// Whether it is one of those that a workload sends: no administration, no session settings.
pub(super) fn is_work(text: &str) -> bool {
    let verb = text.trim_start_matches('(').split([' ', '(']).next().unwrap_or_default().to_uppercase();
    ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"].contains(&verb.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_values_alone_are_one() {
        let (text, literals) = taken_apart(
            "SELECT /* hint */ a1, `b 2` FROM t2\n WHERE id = 15 AND x IN ('it''s', \"q\\\"\") -- end\n \
             AND y > 1.5;",
        );
        assert_eq!(text, "SELECT a1, `b 2` FROM t2 WHERE id = ? AND x IN (?, ?) AND y > ?");
        let expected =
            [Literal::Integer(15), Literal::Text(4), Literal::Text(2), Literal::Real("1.5".to_owned())];
        assert_eq!(literals, expected);
        assert_eq!(normalised("select 1"), normalised("select   2 ;"));
        assert!(
            is_work(&text) && !is_work("SET NAMES utf8") && !is_work("SHOW TABLES") && is_work("(SELECT ?)")
        );
    }
}
