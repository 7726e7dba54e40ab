//! The text of a statement as words, names and signs, from which Prony can tell what it does. This is no
//! parser of SQL: the caller refuses what is unknown.

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters and digits: a keyword, a name, a number.
    Word(String),
    /// What stands in backquotes or double quotes.
    Quoted(String),
    /// A text in quotes, or a value that is put in.
    Value,
    /// Any other character.
    Sign(char),
}

impl Token {
    /// Whether it is this keyword, which is given in capitals.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// Stands in the text where a value is put in.
pub(super) const VALUE: char = '\u{e000}';
/// Stands in the text where a table's number is put in: a part of the name.
pub(super) use crate::layout::NUMBER;

/// Takes `text` apart. What stands in comments that some servers execute (`/*!50000 ... */`) is a part of it
/// if `executed` says so.
///
/// # Errors
/// [`NotClosed`].
pub(super) fn tokens(text: &str, executed: bool) -> Result<Vec<Token>, NotClosed> {
    let mut reader = Reader { rest: text, executed, within_executed: false };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

/// A quote or comment has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotClosed;

struct Reader<'a> {
    rest: &'a str,
    executed: bool,
    within_executed: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Option<Token>, NotClosed> {
        self.skip()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        Ok(Some(match first {
            '\'' => self.quoted('\'').map(|_| Token::Value)?,
            '`' | '"' => Token::Quoted(self.quoted(first)?),
            VALUE => {
                self.take(first.len_utf8());
                Token::Value
            }
            letter if is_of_word(letter) => {
                let end = self.rest.find(|letter| !is_of_word(letter)).unwrap_or(self.rest.len());
                Token::Word(self.take(end).to_owned())
            }
            sign => {
                self.take(sign.len_utf8());
                Token::Sign(sign)
            }
        }))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), NotClosed> {
        loop {
            self.rest = self.rest.trim_start();
            let rest = self.rest;
            let is_dashes = rest.strip_prefix("--").is_some_and(|after| {
                after.chars().next().is_none_or(|next| next.is_whitespace() || next.is_control())
            });
            if rest.starts_with('#') || is_dashes {
                self.take(rest.find('\n').unwrap_or(rest.len()));
            } else if self.within_executed && rest.starts_with("*/") {
                self.within_executed = false;
                self.take(2);
            } else if let Some(length) = ["/*!", "/*M!"].iter().find(|begin| rest.starts_with(**begin)) {
                if self.executed {
                    self.within_executed = true;
                    self.take(length.len());
                    let version = self.rest.find(|letter: char| !letter.is_ascii_digit());
                    self.take(version.unwrap_or(self.rest.len()));
                } else {
                    self.take(rest.find("*/").ok_or(NotClosed)? + 2);
                }
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.take(2 + comment.find("*/").ok_or(NotClosed)? + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// What stands in quotes, its doubled and escaped quotes undone.
    fn quoted(&mut self, quote: char) -> Result<String, NotClosed> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            if letter == quote {
                match letters.peek() {
                    Some((_, next)) if *next == quote => {
                        letters.next();
                        text.push(quote);
                    }
                    _ => {
                        self.take(at + quote.len_utf8());
                        return Ok(text);
                    }
                }
            } else if letter == '\\' && quote != '`' {
                text.extend(letters.next().map(|(_, escaped)| escaped));
            } else {
                text.push(letter);
            }
        }
        Err(NotClosed)
    }

    fn take(&mut self, length: usize) -> &str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(letter, '_' | '$' | NUMBER)
        || (!letter.is_ascii() && letter != VALUE && !letter.is_whitespace())
}
