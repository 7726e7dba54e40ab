//! Takes a statement's text apart at its `{values}`.

use crate::layout::{DataSet, Layout as _, Undrawn};
use load::spec::{Distribution, Draw, Operand, Piece, SlotIndex};
use std::ops::Range;

/// The values that a statement of a transaction can name, with their slots: those drawn at its start, then
/// those kept from results and those of columns (`customer.id`), in the order of the text.
pub(super) struct Scope<'a> {
    names: Vec<String>,
    used: Vec<bool>,
    data: &'a DataSet,
    distribution: Distribution,
    /// What draws the values of columns that are named.
    columns: Vec<(SlotIndex, Draw)>,
}

/// A name that has no value, and why.
#[derive(Debug, PartialEq)]
pub(super) struct Unknown {
    /// The name; of a column with its table.
    pub(super) name: String,
    /// `None`: nothing is called so; else it is a column's, of which none can be drawn.
    pub(super) column: Option<Undrawn>,
}

impl<'a> Scope<'a> {
    /// The values that are drawn, in the order of their slots, and the data set whose columns can be named.
    pub(super) fn new<'b>(
        drawn: impl Iterator<Item = &'b str>,
        data: &'a DataSet,
        distribution: Distribution,
    ) -> Self {
        let names: Vec<String> = drawn.map(str::to_owned).collect();
        Self { used: vec![false; names.len()], names, data, distribution, columns: Vec::new() }
    }

    /// What draws the values of columns that statements have named so far.
    pub(super) fn columns(&self) -> &[(SlotIndex, Draw)] {
        &self.columns
    }

    /// A slot for a kept value; the same one where it was kept before.
    pub(super) fn keep(&mut self, name: &str) -> SlotIndex {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.used.push(false);
            self.names.len() - 1
        });
        SlotIndex::try_from(place).unwrap_or(SlotIndex::MAX)
    }

    /// Whether a statement names the value in this slot.
    pub(super) fn is_used(&self, slot: SlotIndex) -> bool {
        self.used.get(usize::from(slot)).copied().unwrap_or(false)
    }

    /// All names that are known so far.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The slot of a value that is named.
    pub(super) fn slot(&mut self, name: &str) -> Result<SlotIndex, Unknown> {
        let name = &name.split_whitespace().collect::<Vec<_>>().join(" ");
        let unknown = |column| Unknown { name: name.clone(), column };
        let place = match (self.names.iter().position(|known| known == name), name.split_once('.')) {
            (Some(place), _) => place,
            (None, None) => return Err(unknown(None)),
            (None, Some((table, column))) => {
                let draw = match condition(column) {
                    Some((column, by, value)) => self.draw_with(table, (column, by), value)?,
                    None => {
                        let draw = self.data.draw(table, column, self.distribution);
                        draw.map_err(|why| unknown(Some(why)))?
                    }
                };
                let slot = self.keep(name);
                self.columns.push((slot, draw));
                usize::from(slot)
            }
        };
        self.used[place] = true;
        SlotIndex::try_from(place).map_err(|_| unknown(None))
    }

    /// What draws a row of a table by the value of a column.
    fn draw_with(&mut self, table: &str, (column, by): (&str, &str), value: &str) -> Result<Draw, Unknown> {
        let rows = self
            .data
            .rows_with(table, column, by)
            .map_err(|(column, why)| Unknown { name: format!("{table}.{column}"), column: Some(why) })?;
        Ok(Draw::RowWith { slot: self.slot(value)?, rows })
    }
}

/// Takes `id where customer_id = customer` apart: column, column of the condition, name of the value.
pub(super) fn condition(text: &str) -> Option<(&str, &str, &str)> {
    let (column, condition) = text.split_once(" where ").or_else(|| text.split_once(" WHERE "))?;
    let (by, value) = condition.split_once('=')?;
    let parts = (column.trim(), by.trim(), value.trim());
    let is_value = parts.2.split('.').all(is_name) && parts.2.matches('.').count() <= 1;
    (is_name(parts.0) && is_name(parts.1) && is_value).then_some(parts)
}

/// What stands for a table's number: any table's, and that of the connection's own table.
pub(super) const TABLES: [&str; 2] = ["table", "own_table"];

/// A statement's pieces, and what is wrong with its text.
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    pub(super) mistakes: Vec<Mistake>,
}

/// What is wrong with a statement's text, and where in it.
#[derive(Debug, PartialEq)]
pub(super) enum Mistake {
    /// It names a value that does not exist, or not yet, or that cannot be drawn.
    Unknown { within: Range<usize>, what: Unknown },
    /// Anything else.
    Text { within: Range<usize>, title: &'static str, label: &'static str },
}

/// Takes `text` apart.
pub(super) fn pieces(text: &str, scope: &mut Scope<'_>) -> Pieces {
    let text = text.trim_end().trim_end_matches(';');
    let mut parser =
        Parser { text, at: 0, plain: String::new(), quote: None, pieces: vec![], mistakes: vec![] };
    parser.parse(scope);
    Pieces { pieces: parser.pieces, mistakes: parser.mistakes }
}

/// Whether `{name}` can be written with this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// First word of a statement, in small letters.
pub(super) fn verb(pieces: &[Piece]) -> String {
    let Some(Piece::Sql(text)) = pieces.first() else { return "statement".to_owned() };
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    if word.is_empty() { "statement".to_owned() } else { word.to_ascii_lowercase() }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Text since the last value.
    plain: String,
    /// The quote that is open, as in SQL.
    quote: Option<char>,
    pieces: Vec<Piece>,
    mistakes: Vec<Mistake>,
}

impl Parser<'_> {
    fn parse(&mut self, scope: &mut Scope<'_>) {
        if self.text.trim().is_empty() {
            self.wrong(0..self.text.len(), "a statement is empty", "expected SQL");
        }
        while let Some(next) = self.text[self.at..].chars().next() {
            let rest = &self.text[self.at..];
            match next {
                '{' | '}' if rest[1..].starts_with(next) => {
                    self.plain.push(next);
                    self.at += 2;
                }
                '{' => self.placeholder(scope),
                '}' => {
                    self.wrong(
                        self.at..self.at + 1,
                        "a closing brace without an opening one",
                        "write }} for a literal brace",
                    );
                    self.at += 1;
                }
                _ => {
                    self.quotes(next);
                    self.take(next);
                    // MySQL reads a backslash in a text as an escape, also of a quote.
                    if next == '\\' && matches!(self.quote, Some('\'' | '"')) {
                        self.text[self.at..]
                            .chars()
                            .next()
                            .into_iter()
                            .for_each(|escaped| self.take(escaped));
                    }
                }
            }
        }
        self.end_plain();
    }

    fn take(&mut self, next: char) {
        self.plain.push(next);
        self.at += next.len_utf8();
    }

    fn quotes(&mut self, next: char) {
        match (self.quote, next) {
            (None, '\'' | '"' | '`') => self.quote = Some(next),
            (Some(open), _) if open == next => self.quote = None,
            (None, ';') => {
                let label = "put each statement into its own string in the list";
                self.wrong(self.at..self.at + 1, "two statements in one string", label);
            }
            _ => {}
        }
    }

    fn placeholder(&mut self, scope: &mut Scope<'_>) {
        let start = self.at;
        let Some(length) = self.text[start..].find('}') else {
            self.wrong(
                start..self.text.len(),
                "an opening brace without a closing \
                                                one",
                "write {{ for a literal brace",
            );
            self.at = self.text.len();
            return;
        };
        self.at = start + length + 1;
        let within = start..self.at;
        let inner = self.text[start + 1..self.at - 1].trim();
        let (name, plus) = match inner.split_once(['+', '-']) {
            None => (inner, 0),
            Some((name, number)) => {
                let number: Option<i64> = number.trim().parse().ok().filter(|number| *number >= 0);
                let Some(number) = number else {
                    return self.wrong(
                        within,
                        "this is not a number to \
                                               add",
                        "write a number, as in {id + 99}",
                    );
                };
                (name.trim_end(), if inner[name.len()..].starts_with('-') { -number } else { number })
            }
        };
        let is_row = name.split_once('.').is_some_and(|(table, rest)| {
            is_name(table.trim())
                && condition(&rest.split_whitespace().collect::<Vec<_>>().join(" ")).is_some()
        });
        if !is_row && (!name.split('.').all(is_name) || name.matches('.').count() > 1) {
            return self.wrong(
                within,
                "no name of a value in these braces",
                "write {{ for a literal \
                brace",
            );
        }
        let slot = match scope.slot(name) {
            Ok(slot) => slot,
            Err(what) => return self.mistakes.push(Mistake::Unknown { within, what }),
        };
        if TABLES.contains(&name) {
            if plus != 0 {
                return self.wrong(within, "nothing can be added to a table's number", "write {table}");
            }
            self.end_plain();
            return self.pieces.push(Piece::Table(slot));
        }
        if self.quote.is_some() {
            return self.wrong(
                within,
                "a value is inside quotes",
                "remove the quotes: values are quoted automatically",
            );
        }
        self.end_plain();
        let operand = if plus == 0 { Operand::Slot(slot) } else { Operand::SlotPlus(slot, plus) };
        self.pieces.push(Piece::Parameter(operand));
    }

    fn end_plain(&mut self) {
        if !self.plain.is_empty() {
            self.pieces.push(Piece::Sql(std::mem::take(&mut self.plain)));
        }
    }

    fn wrong(&mut self, within: Range<usize>, title: &'static str, label: &'static str) {
        self.mistakes.push(Mistake::Text { within, title, label });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_apart(text: &str) -> Pieces {
        let data = crate::workload::data("oltp_read_only", &Default::default()).unwrap().into();
        pieces(text, &mut Scope::new(["id", "name", "table"].into_iter(), &data, Distribution::Uniform))
    }

    fn plain(text: &str) -> Piece {
        Piece::Sql(text.to_owned())
    }

    #[test]
    fn values_become_parameters_and_the_table_a_number() {
        let made = taken_apart(
            "SELECT '{{', `c` FROM t{table} WHERE id BETWEEN {id} AND { id + 99 } OR id < {id-1};",
        );
        let expected = [
            plain("SELECT '{', `c` FROM t"),
            Piece::Table(2),
            plain(" WHERE id BETWEEN "),
            Piece::Parameter(Operand::Slot(0)),
            plain(" AND "),
            Piece::Parameter(Operand::SlotPlus(0, 99)),
            plain(" OR id < "),
            Piece::Parameter(Operand::SlotPlus(0, -1)),
        ];
        assert_eq!(made.pieces, expected);
        assert_eq!(made.mistakes, []);
        assert_eq!(taken_apart("SELECT 'it''s; a \\'{{', {name}").mistakes, []);
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let pointed = |text: &str| -> Vec<String> {
            let made = taken_apart(text);
            let at = |mistake: &Mistake| match mistake {
                Mistake::Unknown { within, .. } | Mistake::Text { within, .. } => {
                    text[within.clone()].to_owned()
                }
            };
            made.mistakes.iter().map(at).collect()
        };
        assert_eq!(pointed("SELECT {nmae} + {id"), ["{nmae}", "{id"]);
        assert_eq!(
            pointed("SELECT {sbtest1.id where k = id}"),
            ["{sbtest1.id where k = id}"],
            "unknown rows"
        );
        assert_eq!(pointed("SELECT {sbtest1.id where k}"), ["{sbtest1.id where k}"]);
        assert_eq!(pointed("SELECT '{name}', \"{id}\", `t{table}`"), ["{name}", "{id}"]);
        assert_eq!(pointed("SELECT }"), ["}"]);
        assert_eq!(pointed("SELECT 1; SELECT 2;"), [";"]);
        assert_eq!(pointed("SELECT {id + x} {table + 1} {}"), ["{id + x}", "{table + 1}", "{}"]);
        assert_eq!(pointed("  ").len(), 1);
    }
}
