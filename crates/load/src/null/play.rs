//! What a null server plays: how it greets, what it answers, and how the bytes of an answer are made. Knows
//! no sockets.

use std::time::Duration;
use wire::{
    ColumnKind, Value,
    constants::{column_type, status},
    packet::{HEADER, PAYLOAD_MAX, put_lenenc},
    server::{ColumnDefinition, Encoder, Finish},
};

/// The row that every SELECT yields: as long as the longer text of a row of sysbench's.
pub const ROW: &str = "00000000000-11111111111-22222222222-33333333333-44444444444-\
                       55555555555-66666666666-77777777777-88888888888-99999999999";
const COLUMN: &str = "c";
/// How far off the packet number of [`Answer::Misnumbered`] is.
const MISNUMBERED_BY: u8 = 7;

/// What a server answers to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One row with one column.
    Row,
    /// No rows.
    Done {
        /// Affected rows.
        affected: u64,
        /// Whether a transaction is open afterwards.
        in_transaction: bool,
    },
    /// An empty result with one column.
    NoRow,
    /// This many rows with one column. They are made as the client reads them: a reply may be larger than
    /// memory.
    Rows {
        /// How many.
        rows: u64,
        /// Length of the value in each; from 16 MiB on a row goes in several packets.
        bytes: u64,
    },
    /// An error.
    Error(u16, [u8; 5], String),
    /// This many rows, then an error instead of the end of the result.
    CutShort(u64, u16, [u8; 5], String),
    /// One row, and an end of the result whose packet has a wrong number.
    Misnumbered,
    /// Nothing at all, ever.
    Silence,
    /// The connection is closed.
    Close,
    /// The connection is reset: what was sent and not yet read by the client may be lost.
    Reset,
    /// These bytes, whatever they mean.
    Raw(Vec<u8>),
    /// The first bytes of an answer, this many, then what follows here.
    Torn(Box<Answer>, u64, Then),
    /// An answer and, this much later (zero: in the same write), bytes that nobody asked for.
    Surplus(Box<Answer>, Duration, Vec<u8>),
    /// An answer after this time; other connections are answered meanwhile.
    After(Duration, Box<Answer>),
}

/// What follows where a server breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing more comes.
    Silence,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
}

/// How a server meets a connection that it has accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Welcome {
    /// As it should.
    #[default]
    Greeting,
    /// The first bytes of its greeting, this many, then what follows here.
    Torn(usize, Then),
    /// These bytes instead of a greeting, then what follows here.
    Raw(Vec<u8>, Then),
    /// It greets, and never answers the login.
    NoLogin,
    /// It greets and lets the client in, and then sends these bytes.
    Surplus(Vec<u8>),
}

/// What is asked for a statement that is executed: its text where it came as text, its id where it was
/// prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A text query.
    Text(&'a [u8]),
    /// A prepared statement; whether its text begins with SELECT.
    Prepared {
        /// Whether rows are expected.
        yields_rows: bool,
    },
}

/// Decides what is answered to the `n`-th statement (from 0) that the server sees.
pub type Script = dyn FnMut(u64, Asked<'_>) -> Answer + Send;

/// Everything that a server does by itself.
pub trait Scenario: Send {
    /// How the `connection`-th connection (from 0) is met. The engine opens one more than its streams have,
    /// first of all, to see whether anybody is there.
    fn welcome(&mut self, connection: u64) -> Welcome {
        let _ = connection;
        Welcome::Greeting
    }

    /// What is answered to the `statement`-th statement (from 0) of all, on this connection.
    fn answer(&mut self, connection: u64, statement: u64, asked: Asked<'_>) -> Answer;
}

/// Answers every statement at once.
pub(super) struct Plain;

impl Scenario for Plain {
    fn answer(&mut self, _: u64, _: u64, asked: Asked<'_>) -> Answer {
        plain(asked)
    }
}

/// Answers as a script says.
pub(super) struct Scripted(pub(super) Box<Script>);

impl Scenario for Scripted {
    fn answer(&mut self, _: u64, statement: u64, asked: Asked<'_>) -> Answer {
        (self.0)(statement, asked)
    }
}

/// What a plain null server answers.
#[must_use]
pub fn plain(asked: Asked<'_>) -> Answer {
    let yields_rows = match asked {
        Asked::Text(sql) => is_query(sql),
        Asked::Prepared { yields_rows } => yields_rows,
    };
    if yields_rows { Answer::Row } else { Answer::Done { affected: 1, in_transaction: false } }
}

pub(super) fn is_query(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    [&b"SELECT"[..], b"SHOW"]
        .iter()
        .any(|word| sql.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word)))
}

/// What is to be done beside sending what was encoded.
pub(super) enum Rest {
    /// Nothing.
    Nothing,
    /// The connection ends.
    End(Then),
    /// More than a buffer should hold: it is sent as the client reads it.
    Flood(Flood),
    /// Beside what was encoded, if anything: this is to be sent after a time.
    Later(Duration, Answer),
}

/// Encodes an answer.
pub(super) fn put(
    answer: Answer,
    binary: bool,
    capabilities: u64,
    encoder: &mut Encoder,
    out: &mut Vec<u8>,
) -> Rest {
    match answer {
        Answer::Row => {
            put_rows(1, binary, encoder, out);
            encoder.end_rows(out, &Finish::default());
        }
        Answer::NoRow => {
            encoder.columns(out, &[column()]);
            encoder.end_rows(out, &Finish::default());
        }
        Answer::Done { affected, in_transaction } => {
            let open = if in_transaction { status::IN_TRANSACTION } else { 0 };
            encoder.ok(out, &Finish { affected, status: status::AUTOCOMMIT | open, ..Finish::default() });
        }
        Answer::Error(code, state, message) => encoder.error(out, code, &state, &message),
        Answer::CutShort(rows, code, state, message) => {
            put_rows(rows, binary, encoder, out);
            encoder.error(out, code, &state, &message);
        }
        Answer::Misnumbered => {
            put_rows(1, binary, encoder, out);
            let end = out.len();
            encoder.end_rows(out, &Finish::default());
            out[end + 3] = out[end + 3].wrapping_add(MISNUMBERED_BY);
        }
        Answer::Rows { rows, bytes } => {
            let begun = out.len();
            encoder.columns(out, &[column()]);
            // the packets so far are whole, and the next one has the number after the last one's
            let sequence = packets(&out[begun..]).wrapping_add(1);
            return Rest::Flood(Flood::new(rows, bytes, binary, sequence, capabilities));
        }
        Answer::Silence => {}
        Answer::Close => return Rest::End(Then::Close),
        Answer::Reset => return Rest::End(Then::Reset),
        Answer::Raw(bytes) => out.extend_from_slice(&bytes),
        Answer::Torn(whole, bytes, then) => {
            let begun = out.len();
            let rest = put(*whole, binary, capabilities, encoder, out);
            let put = (out.len() - begun) as u64;
            return match rest {
                Rest::Flood(flood) if put < bytes => Rest::Flood(flood.cut(bytes - put, then)),
                _ => {
                    out.truncate(begun + put.min(bytes) as usize);
                    Rest::End(then)
                }
            };
        }
        Answer::Surplus(answer, time, bytes) => {
            let rest = put(*answer, binary, capabilities, encoder, out);
            if !time.is_zero() {
                return Rest::Later(time, Answer::Raw(bytes));
            }
            out.extend_from_slice(&bytes);
            return rest;
        }
        Answer::After(time, answer) => return Rest::Later(time, *answer),
    }
    Rest::Nothing
}

fn put_rows(rows: u64, binary: bool, encoder: &mut Encoder, out: &mut Vec<u8>) {
    encoder.columns(out, &[column()]);
    for _ in 0..rows {
        if binary {
            encoder.binary_row(out, &[Value::Bytes(ROW.as_bytes())]);
        } else {
            encoder.text_row(out, &[Some(ROW.as_bytes())]);
        }
    }
}

pub(super) fn column() -> ColumnDefinition<'static> {
    ColumnDefinition { name: COLUMN, kind: ColumnKind { code: column_type::VAR_STRING, unsigned: false } }
}

fn packets(mut bytes: &[u8]) -> u8 {
    let mut count = 0;
    while let Some((length, _)) = wire::packet::header(bytes) {
        bytes = &bytes[HEADER + length..];
        count += 1;
    }
    count
}

/// The rows of a large result, made piece by piece.
pub(super) struct Flood {
    rows_left: u64,
    /// Bytes of a value.
    bytes: u64,
    /// What stands before the value in each row.
    head: Vec<u8>,
    /// Of the row that is being written: what has no packet yet.
    row_left: u64,
    packet_left: u64,
    /// Whether the last packet was a full one, so that another continues it.
    continued: bool,
    sequence: u8,
    /// The packet that ends the result.
    end: Vec<u8>,
    /// Where it stops early: after this many more bytes.
    cut: Option<(u64, Then)>,
    finished: bool,
}

impl Flood {
    fn new(rows: u64, bytes: u64, binary: bool, sequence: u8, capabilities: u64) -> Self {
        let mut head = if binary { vec![0, 0] } else { Vec::new() };
        put_lenenc(&mut head, bytes);
        let mut end = Vec::new();
        Encoder::new(capabilities).end_rows(&mut end, &Finish::default());
        Self {
            rows_left: rows,
            bytes,
            head,
            row_left: 0,
            packet_left: 0,
            continued: false,
            sequence,
            end,
            cut: None,
            finished: false,
        }
    }

    fn cut(mut self, bytes: u64, then: Then) -> Self {
        self.cut = Some((bytes, then));
        self
    }

    /// What follows the last byte; `None`: there are more to come.
    pub(super) fn ending(&self) -> Option<Rest> {
        match self.cut {
            Some((0, then)) => Some(Rest::End(then)),
            _ => self.finished.then_some(Rest::Nothing),
        }
    }

    /// Appends the next bytes, up to about `limit` in all.
    pub(super) fn fill(&mut self, out: &mut Vec<u8>, limit: usize) {
        let begun = out.len();
        while out.len() < limit && !self.finished {
            if self.packet_left == 0 {
                self.next_packet(out);
            } else {
                let taken = self.packet_left.min((limit - out.len()) as u64);
                out.resize(out.len() + taken as usize, b'x');
                self.packet_left -= taken;
            }
        }
        if let Some((left, _)) = &mut self.cut {
            out.truncate(begun + (*left).min((out.len() - begun) as u64) as usize);
            *left -= (out.len() - begun) as u64;
        }
    }

    fn next_packet(&mut self, out: &mut Vec<u8>) {
        let is_new_row = self.row_left == 0 && !self.continued;
        if is_new_row {
            if self.rows_left == 0 {
                self.end[3] = self.sequence;
                out.extend_from_slice(&self.end);
                self.finished = true;
                return;
            }
            self.rows_left -= 1;
            self.row_left = self.head.len() as u64 + self.bytes;
        }
        let length = self.row_left.min(PAYLOAD_MAX as u64);
        out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        out.push(self.sequence);
        self.sequence = self.sequence.wrapping_add(1);
        self.continued = length == PAYLOAD_MAX as u64;
        self.row_left -= length;
        self.packet_left = length;
        if is_new_row {
            out.extend_from_slice(&self.head);
            self.packet_left -= self.head.len() as u64;
        }
    }
}
