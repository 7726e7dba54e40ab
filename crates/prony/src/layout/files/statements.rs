//! A file of SQL taken apart into statements, each with the line where it begins, as the client programs do
//! it: at `;` outside quotes and comments, or at what a line `DELIMITER ...` says. One statement at a time
//! is in memory, however long the file is.

use std::io::{self, BufRead};

/// Longest statement: more than a server takes.
const STATEMENT_BYTES_MAX: usize = 1 << 30;

/// A statement of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    /// Line where it begins, from 1.
    pub line: u64,
    /// Its text, without what ends it. A dump may hold any bytes.
    pub text: Vec<u8>,
}

/// Reads statements.
#[derive(Debug)]
pub struct Statements<R> {
    input: R,
    line: u64,
    delimiter: Vec<u8>,
    /// What is read of the current line and belongs to the next statement.
    rest: Vec<u8>,
}

/// Within what a place of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Sql,
    Quote(u8),
    Comment,
    LineComment,
}

impl<R: BufRead> Statements<R> {
    /// Those of `input`.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, delimiter: b";".to_vec(), rest: Vec::new() }
    }

    /// The next one; `None`: there is none.
    ///
    /// # Errors
    /// The input cannot be read, or a statement is longer than 1 GiB.
    pub fn read(&mut self) -> io::Result<Option<Statement>> {
        let mut statement = Statement::default();
        let mut within = Within::Sql;
        loop {
            let mut piece = std::mem::take(&mut self.rest);
            if piece.is_empty() {
                self.line += 1;
                if self.input.read_until(b'\n', &mut piece)? == 0 {
                    return Ok(statement.skip_comments().then_some(statement));
                }
                if statement.line == 0 && within == Within::Sql && self.takes_delimiter(&piece) {
                    continue;
                }
            }
            let (end, then) = self.end_of(&piece, within);
            within = then;
            let text = &piece[..end.unwrap_or(piece.len())];
            if statement.line == 0 && !is_blank(text) {
                statement.line = self.line;
            }
            if statement.line > 0 {
                statement.text.extend_from_slice(text);
            }
            if statement.text.len() > STATEMENT_BYTES_MAX {
                let told = format!("line {}: a statement of more than 1 GiB has no end", statement.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, told));
            }
            let Some(end) = end else { continue };
            self.rest = piece[end + self.delimiter.len()..].to_vec();
            if is_blank(&self.rest) {
                self.rest.clear();
            }
            if statement.skip_comments() {
                return Ok(Some(statement));
            }
            statement = Statement::default();
        }
    }

    /// Whether a line is one of the client's own, which changes what ends a statement.
    fn takes_delimiter(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace();
        let is_one = words.next().is_some_and(|word| word.eq_ignore_ascii_case("DELIMITER"));
        if let Some(delimiter) = words.next().filter(|_| is_one) {
            self.delimiter = delimiter.as_bytes().to_vec();
        }
        is_one
    }

    /// Where the statement ends in a piece of it, and within what the piece ends.
    fn end_of(&self, piece: &[u8], mut within: Within) -> (Option<usize>, Within) {
        let mut at = 0;
        while at < piece.len() {
            let rest = &piece[at..];
            let mut step = 1;
            match within {
                Within::Sql if rest.starts_with(&self.delimiter) => return (Some(at), within),
                Within::Sql if rest.starts_with(b"/*") => (within, step) = (Within::Comment, 2),
                Within::Sql if rest[0] == b'#' || begins_comment(rest) => within = Within::LineComment,
                Within::Sql if [b'\'', b'"', b'`'].contains(&rest[0]) => within = Within::Quote(rest[0]),
                Within::Quote(quote) if rest[0] == b'\\' && quote != b'`' => step = 2,
                Within::Quote(quote) if rest[0] == quote => within = Within::Sql,
                Within::Comment if rest.starts_with(b"*/") => (within, step) = (Within::Sql, 2),
                Within::LineComment if rest[0] == b'\n' => within = Within::Sql,
                Within::Sql | Within::Quote(_) | Within::Comment | Within::LineComment => {}
            }
            at += step;
        }
        (None, within)
    }
}

/// What a dump by MariaDB begins with: for its own client, not for a server.
const SANDBOX: &[u8] = b"/*M!999999\\-";

/// A comment that no server executes.
fn is_plain(rest: &[u8]) -> bool {
    !rest.starts_with(b"/*!") && !rest.starts_with(b"/*M!")
}

/// Two dashes and a blank.
fn begins_comment(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace)
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}

impl Statement {
    /// Skips comments before it that no server executes. Whether anything is left.
    fn skip_comments(&mut self) -> bool {
        let whole = self.text.len();
        let mut rest = self.text.trim_ascii_start();
        loop {
            let end = if rest.starts_with(b"#") || begins_comment(rest) {
                rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1)
            } else if rest.starts_with(b"/*") && (is_plain(rest) || rest.starts_with(SANDBOX)) {
                rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 2)
            } else {
                break;
            };
            rest = rest[end..].trim_ascii_start();
        }
        let skipped = whole - rest.len();
        self.line += self.text.drain(..skipped).filter(|byte| *byte == b'\n').count() as u64;
        !self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u64, String)> {
        let mut statements = Statements::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(Statement { line, text }) = statements.read().unwrap() {
            all.push((line, String::from_utf8(text).unwrap().trim().to_owned()));
        }
        all
    }

    #[test]
    fn statements_end_outside_quotes_and_comments_alone() {
        let text = "-- a dump; of mine\nCREATE TABLE a (b TEXT);\n\n# none;\nINSERT INTO a VALUES \
        ('x;y\\';', \
                    \"q;\"), ('it''s');SELECT `;` /* ; */ FROM a -- ;\n WHERE b = 'two\nlines;';\n/* only \
                      a comment; */;\n/*!40101 SET NAMES utf8 */;\nSELECT 5";
        let told = read(text);
        let lines: Vec<u64> = told.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 5, 5, 9, 10]);
        assert_eq!(told[0].1, "CREATE TABLE a (b TEXT)");
        assert!(told[1].1.ends_with("('x;y\\';', \"q;\"), ('it''s')"), "{told:?}");
        assert!(told[2].1.starts_with("SELECT `;`") && told[2].1.ends_with("lines;'"), "{told:?}");
        assert_eq!((told[3].1.as_str(), told[4].1.as_str()), ("/*!40101 SET NAMES utf8 */", "SELECT 5"));
    }

    #[test]
    fn another_delimiter_keeps_a_procedure_whole() {
        let told = read(
            "DELIMITER ;;\nCREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END ;;\nDELIMITER \
                         ;\nCALL p();\n",
        );
        assert_eq!(
            told,
            [
                (2, "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END".to_owned()),
                (4, "CALL p()".to_owned())
            ]
        );
    }
}
