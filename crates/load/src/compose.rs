//! How a connection composes its statements: draws their values, writes them as parameters or into the text,
//! and keeps what a later statement needs of a row.

use crate::{
    bench::Bench,
    loss::Loss,
    program::{Drawer, Drawn, Input, Part, Program, Sentence, Source, Test},
    random::Random,
    spec::{Comparison, REPEAT_MAX, SlotIndex},
};
use std::{cmp::Ordering, io::Write as _};
use wire::{
    Value,
    client::{Column, Reply, Row, Session, Sink, Statement},
};

/// Parameters for which there is room on the stack; a statement with more allocates.
const PARAMETERS_ON_STACK: usize = 24;

/// Longest row of which something is kept for a later statement: whatever a server sends, thousands of
/// connections fit into memory.
const KEPT_ROW_BYTES_MAX: usize = 1 << 20;

/// What a connection draws from, and what it has drawn.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) random: Random,
    /// Number of the connection in its stream.
    number: u32,
    pub(crate) slots: Box<[Drawn]>,
    /// Texts of `slots`.
    pub(crate) arena: Vec<u8>,
    /// Whether the statement under way has had its first row.
    pub(crate) kept: bool,
}

impl Values {
    /// Those of connection `number` of stream `stream`.
    pub(crate) fn new(seed: u64, (stream, number): (usize, u32), slots: usize) -> Self {
        Self {
            random: Random::for_connection(seed, stream as u32, number),
            number,
            slots: vec![Drawn::Null; slots].into(),
            arena: Vec::new(),
            kept: false,
        }
    }

    /// Draws a value and keeps it.
    #[inline]
    pub(crate) fn draw(&mut self, slot: SlotIndex, program: &Program, source: &Source) {
        let (random, connection) = (&mut self.random, self.number);
        let mut drawer = Drawer { random, connection, slots: &self.slots };
        let drawn = program.draw(source, &mut drawer, &mut self.arena);
        self.slots[usize::from(slot)] = drawn;
    }

    /// The table that a slot names, from 0, of so many.
    pub(crate) fn table(&self, slot: SlotIndex, tables: u32) -> usize {
        match self.slots[usize::from(slot)] {
            Drawn::Integer(table) => (table - 1).clamp(0, i64::from(tables) - 1) as usize,
            _ => 0,
        }
    }

    /// Takes the first row of a result into slots.
    pub(crate) fn first_row<'a>(&'a mut self, keep: &'a [SlotIndex]) -> FirstRow<'a> {
        FirstRow { keep, slots: &mut self.slots, arena: &mut self.arena, seen: &mut self.kept }
    }

    /// Draws the parameters of a statement into the worker's buffers.
    fn draw_parameters(&mut self, program: &Program, sentence: &Sentence, bench: &mut Bench<'_>) {
        bench.drawn.clear();
        bench.arena.clear();
        for part in &sentence.parts {
            if let Part::Parameter(input) = part {
                let drawn = self.value(program, input, &mut bench.arena);
                bench.drawn.push(drawn);
            }
        }
    }

    /// The value of an operand; a text is copied to the end of `arena`.
    fn value(&mut self, program: &Program, input: &Input, arena: &mut Vec<u8>) -> Drawn {
        match input {
            Input::Draw(source) => {
                let (random, connection) = (&mut self.random, self.number);
                let mut drawer = Drawer { random, connection, slots: &self.slots };
                program.draw(source, &mut drawer, arena)
            }
            Input::SlotPlus(slot, add) => match self.slots[usize::from(*slot)] {
                Drawn::Integer(number) => Drawn::Integer(number.wrapping_add(*add)),
                Drawn::Text { start, end } => {
                    // a number that was kept from a row of the text protocol
                    let text = &self.arena[start as usize..end as usize];
                    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
                    number.map_or(Drawn::Null, |number| Drawn::Integer(number.wrapping_add(*add)))
                }
                other => other,
            },
            Input::Slot(slot) => copy(self.slots[usize::from(*slot)], &self.arena, arena),
        }
    }

    /// How many rounds a loop has.
    pub(crate) fn rounds(&mut self, program: &Program, times: &Input, bench: &mut Bench<'_>) -> i64 {
        bench.arena.clear();
        let times = self.value(program, times, &mut bench.arena);
        number(times, &bench.arena).map_or(0, |times| (times as i64).clamp(0, REPEAT_MAX))
    }

    /// A loop of so many rounds begins.
    pub(crate) fn begin_rounds(&mut self, (left, number): (SlotIndex, Option<SlotIndex>), rounds: i64) {
        self.slots[usize::from(left)] = Drawn::Integer(rounds);
        if let Some(number) = number {
            self.slots[usize::from(number)] = Drawn::Integer(0);
        }
    }

    /// Whether a loop has another round, which begins.
    pub(crate) fn next_round(&mut self, (left, number): (SlotIndex, Option<SlotIndex>)) -> bool {
        match &mut self.slots[usize::from(left)] {
            Drawn::Integer(rounds) if *rounds > 0 => *rounds -= 1,
            _ => return false,
        }
        if let Some(Drawn::Integer(round)) = number.map(|number| &mut self.slots[usize::from(number)]) {
            *round += 1;
        }
        true
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&mut self, program: &Program, test: &Test, bench: &mut Bench<'_>) -> bool {
        bench.arena.clear();
        let left = self.value(program, &test.left, &mut bench.arena);
        let right = self.value(program, &test.right, &mut bench.arena);
        compare(left, test.is, right, &bench.arena)
    }

    /// Writes the execution of a prepared statement.
    pub(crate) fn write_execute(
        &mut self,
        program: &Program,
        sentence: &Sentence,
        (session, statement): (&mut Session, &mut Statement),
        bench: &mut Bench<'_>,
    ) -> Result<(), Loss> {
        self.draw_parameters(program, sentence, bench);
        let Bench { drawn, arena, out, .. } = bench;
        if drawn.len() <= PARAMETERS_ON_STACK {
            let mut values = [Value::Null; PARAMETERS_ON_STACK];
            for (value, drawn) in values.iter_mut().zip(&*drawn) {
                *value = as_value(*drawn, arena);
            }
            session.execute(statement, &values[..drawn.len()], out)?;
        } else {
            let values: Vec<Value<'_>> = drawn.iter().map(|drawn| as_value(*drawn, arena)).collect();
            session.execute(statement, &values, out)?;
        }
        Ok(())
    }

    /// Writes a statement as text into the worker's buffer. With `escapes` the server takes backslashes as
    /// such.
    pub(crate) fn write_text(
        &mut self,
        program: &Program,
        sentence: &Sentence,
        escapes: bool,
        bench: &mut Bench<'_>,
    ) {
        let Bench { text, arena, .. } = bench;
        text.clear();
        self.write_sentence(program, sentence, escapes, (text, arena));
    }

    /// Appends a statement with its values to `text`; `arena` is for the values of the moment.
    pub(crate) fn write_sentence(
        &mut self,
        program: &Program,
        sentence: &Sentence,
        escapes: bool,
        (text, arena): (&mut Vec<u8>, &mut Vec<u8>),
    ) {
        arena.clear();
        for part in &sentence.parts {
            match part {
                Part::Sql(sql) => text.extend_from_slice(sql),
                Part::Table(slot) => write_plain(self.slots[usize::from(*slot)], &self.arena, text),
                Part::Parameter(input) => {
                    let drawn = self.value(program, input, arena);
                    write_literal(drawn, arena, escapes, text);
                }
                Part::Inline(input) => {
                    let drawn = self.value(program, input, arena);
                    write_plain(drawn, arena, text);
                }
            }
        }
    }

    /// Appends a statement as it is prepared, a `?` for each value.
    pub(crate) fn write_prepared(&self, sentence: &Sentence, text: &mut Vec<u8>) {
        for part in &sentence.parts {
            match part {
                Part::Sql(sql) => text.extend_from_slice(sql),
                Part::Parameter(_) => text.push(b'?'),
                Part::Table(slot) => write_plain(self.slots[usize::from(*slot)], &self.arena, text),
                Part::Inline(_) => {}
            }
        }
    }

    /// Adds a row to an INSERT.
    pub(crate) fn add_row(
        &mut self,
        program: &Program,
        (head, row): (&[Part], &[Part]),
        bulk: &mut Vec<u8>,
        bench: &mut Bench<'_>,
    ) {
        if bulk.is_empty() {
            self.write_plain_parts(program, head, bench, bulk);
        } else {
            bulk.push(b',');
        }
        self.write_plain_parts(program, row, bench, bulk);
    }

    fn write_plain_parts(
        &mut self,
        program: &Program,
        parts: &[Part],
        bench: &mut Bench<'_>,
        out: &mut Vec<u8>,
    ) {
        for part in parts {
            match part {
                Part::Sql(sql) => out.extend_from_slice(sql),
                Part::Table(slot) => write_plain(self.slots[usize::from(*slot)], &self.arena, out),
                Part::Inline(input) | Part::Parameter(input) => {
                    bench.arena.clear();
                    let drawn = self.value(program, input, &mut bench.arena);
                    write_plain(drawn, &bench.arena, out);
                }
            }
        }
    }
}

/// Takes the first row of a result into slots: see [`crate::spec::Statement::keep`].
pub(crate) struct FirstRow<'a> {
    pub(crate) keep: &'a [SlotIndex],
    pub(crate) slots: &'a mut [Drawn],
    pub(crate) arena: &'a mut Vec<u8>,
    pub(crate) seen: &'a mut bool,
}

impl Sink for FirstRow<'_> {
    fn wants_columns(&self) -> bool {
        false
    }

    fn wants_rows(&self) -> bool {
        !*self.seen
    }

    fn row_bytes_max(&self) -> usize {
        KEPT_ROW_BYTES_MAX
    }

    fn column(&mut self, _: &Column<'_>) {}

    fn row(&mut self, row: &Row<'_>) -> Result<(), wire::Error> {
        *self.seen = true;
        let mut values = row.values();
        for slot in self.keep {
            let value = values.next().transpose()?.unwrap_or(Value::Null);
            self.slots[usize::from(*slot)] = match value {
                Value::Null => Drawn::Null,
                Value::Int(number) => Drawn::Integer(number),
                Value::UInt(number) => match i64::try_from(number) {
                    Ok(number) => Drawn::Integer(number),
                    Err(_) => text(number.to_string().as_bytes(), self.arena),
                },
                Value::Float(number) => Drawn::Real(f64::from(number)),
                Value::Double(number) => Drawn::Real(number),
                Value::Bytes(bytes) => text(bytes, self.arena),
                Value::Date(date) => text(date.to_string().as_bytes(), self.arena),
                Value::DateTime(moment) => text(moment.to_string().as_bytes(), self.arena),
                Value::Time(time) => text(time.to_string().as_bytes(), self.arena),
            };
        }
        Ok(())
    }

    fn end(&mut self, _: &Reply) {
        if !*self.seen {
            for slot in self.keep {
                self.slots[usize::from(*slot)] = Drawn::Null;
            }
        }
    }
}

fn text(bytes: &[u8], arena: &mut Vec<u8>) -> Drawn {
    let start = arena.len() as u32;
    arena.extend_from_slice(bytes);
    Drawn::Text { start, end: arena.len() as u32 }
}

fn copy(drawn: Drawn, from: &[u8], arena: &mut Vec<u8>) -> Drawn {
    let Drawn::Text { start, end } = drawn else { return drawn };
    text(&from[start as usize..end as usize], arena)
}

/// Whether two values compare so: see [`crate::spec::Condition`].
fn compare(left: Drawn, is: Comparison, right: Drawn, arena: &[u8]) -> bool {
    let order = match (left, right) {
        (Drawn::Null, Drawn::Null) => return is == Comparison::Equal,
        (Drawn::Null, _) | (_, Drawn::Null) => return is == Comparison::NotEqual,
        (Drawn::Integer(left), Drawn::Integer(right)) => Some(left.cmp(&right)),
        _ => match (number(left, arena), number(right, arena)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => {
                let (mut texts, mut ends) = (Vec::new(), 0);
                for (place, drawn) in [left, right].into_iter().enumerate() {
                    write_plain(drawn, arena, &mut texts);
                    ends = if place == 0 { texts.len() } else { ends };
                }
                Some(texts[..ends].cmp(&texts[ends..]))
            }
        },
    };
    match is {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// A value as a number; the text protocol gives numbers as text.
fn number(drawn: Drawn, arena: &[u8]) -> Option<f64> {
    match drawn {
        Drawn::Null => None,
        Drawn::Integer(number) => Some(number as f64),
        Drawn::Real(number) => Some(number),
        Drawn::Text { start, end } => {
            std::str::from_utf8(&arena[start as usize..end as usize]).ok()?.parse().ok()
        }
    }
}

fn as_value(drawn: Drawn, arena: &[u8]) -> Value<'_> {
    match drawn {
        Drawn::Null => Value::Null,
        Drawn::Integer(number) => Value::Int(number),
        Drawn::Real(number) => Value::Double(number),
        Drawn::Text { start, end } => Value::Bytes(&arena[start as usize..end as usize]),
    }
}

/// Writes a value as it is, without quotes.
pub(crate) fn write_plain(drawn: Drawn, arena: &[u8], out: &mut Vec<u8>) {
    match drawn {
        Drawn::Null => out.extend_from_slice(b"NULL"),
        Drawn::Integer(number) => write_integer(number, out),
        // writing to memory cannot fail
        Drawn::Real(number) => drop(write!(out, "{number}")),
        Drawn::Text { start, end } => out.extend_from_slice(&arena[start as usize..end as usize]),
    }
}

fn write_integer(number: i64, out: &mut Vec<u8>) {
    const DIGITS_MAX: usize = 20;
    let mut digits = [0u8; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a value as an SQL literal. Quotes are doubled, which is right in every SQL mode; backslashes only
/// where the server takes them as escapes.
fn write_literal(drawn: Drawn, arena: &[u8], escapes: bool, out: &mut Vec<u8>) {
    let Drawn::Text { start, end } = drawn else { return write_plain(drawn, arena, out) };
    out.push(b'\'');
    for &byte in &arena[start as usize..end as usize] {
        if byte == b'\'' || (byte == b'\\' && escapes) {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_cannot_break_out_of_their_quotes() {
        let arena = br"it's a \ back";
        let whole = Drawn::Text { start: 0, end: arena.len() as u32 };
        let written = |escapes| {
            let mut out = Vec::new();
            write_literal(whole, arena, escapes, &mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(written(true), r"'it''s a \\ back'");
        assert_eq!(written(false), r"'it''s a \ back'");
    }

    #[test]
    fn values_compare_as_numbers_where_both_are_and_as_texts_elsewhere() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let arena = b"9010abcabd";
        let (nine, ten) = (Drawn::Text { start: 0, end: 1 }, Drawn::Text { start: 2, end: 4 });
        let (abc, abd) = (Drawn::Text { start: 4, end: 7 }, Drawn::Text { start: 7, end: 10 });
        for (left, is, right, holds) in [
            (Drawn::Integer(3), Less, Drawn::Integer(3), false),
            (Drawn::Integer(3), LessOrEqual, Drawn::Integer(3), true),
            (Drawn::Integer(i64::MAX), Greater, Drawn::Integer(i64::MAX - 1), true),
            (nine, Less, ten, true),
            (nine, Equal, Drawn::Integer(9), true),
            (Drawn::Real(9.5), GreaterOrEqual, nine, true),
            (abc, Less, abd, true),
            (abc, Equal, Drawn::Integer(9), false),
            (abc, NotEqual, Drawn::Integer(9), true),
            (Drawn::Null, Equal, Drawn::Null, true),
            (Drawn::Null, NotEqual, nine, true),
            (Drawn::Null, Less, nine, false),
        ] {
            assert_eq!(compare(left, is, right, arena), holds, "{left:?} {is:?} {right:?}");
        }
    }

    #[test]
    fn integers_are_written_to_their_ends() {
        for number in [0, 7, -7, 10, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_integer(number, &mut out);
            assert_eq!(String::from_utf8(out).expect("digits"), number.to_string());
        }
    }
}
