//! Reads replies: a state machine that is fed bytes as they come, counts rows by their headers, and hands
//! values out only to a [`Sink`] that asks for them.

use super::{
    BUFFER_MIN, Column, Prepared, Progress, Reply, Row, Sink,
    handshake::read_error,
    outcome::{read_eof, read_ok, unasked, unexpected},
};
use crate::{
    ColumnKind, Error,
    constants::{capability, status},
    error::malformed,
    packet::{HEADER, PAYLOAD_MAX, Reader, header},
};
use std::collections::HashMap;

/// Bytes of an OK, ERR or EOF packet that are looked at; the rest is passed over.
const HEAD_MAX: usize = 1024;
/// Capacity that is kept between rows that had to be put together.
const COLLECTED_KEPT: usize = 16 << 10;
/// Columns of a result; servers end at 4096.
const COLUMNS_MAX: u64 = 65_535;
/// Results of one command; a procedure that gives this many is none of ours.
const RESULTS_MAX: u32 = 1 << 16;
/// Prepared statements of one connection whose columns are remembered; beyond that, metadata is not cached.
const REMEMBERED_MAX: usize = 1 << 16;

/// What the reply to a command begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Nothing comes.
    Nothing,
    /// OK, EOF or ERR.
    Ok,
    /// Results.
    Query,
    /// Results in the binary protocol, of the statement with this number.
    Execute(u32),
    /// Answer to prepare.
    Prepare,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// The first packet of the reply or of its next result.
    First,
    /// Definitions, and how many are left, 1 or more.
    Definitions(What, u32),
    /// The EOF after them.
    DefinitionsEnd(What),
    Rows,
    Local {
        announced: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Columns,
    Parameters,
    PreparedColumns,
}

/// A packet that is being taken in parts.
#[derive(Debug, Clone, Copy)]
struct Part {
    left: u32,
    /// Another packet continues it.
    more: bool,
    treatment: Treatment,
}

/// What is done with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// It goes by.
    Skip,
    /// Its first [`HEAD_MAX`] bytes are looked at.
    Head,
    /// All of it is.
    Whole,
}

/// Position in the reply.
#[derive(Debug)]
pub(super) struct Machine {
    state: State,
    awaited: Awaited,
    sequence: u8,
    deprecate_eof: bool,
    cache_metadata: bool,
    compressed: bool,
    part: Option<Part>,
    /// Whether the column definitions of the running result are read.
    reading_columns: bool,
    /// Whether its rows may be asked for.
    reading_rows: bool,
    kinds: Vec<ColumnKind>,
    reply: Reply,
    collected: Vec<u8>,
    message: String,
    /// The local file that may be asked for, or, after a refusal, that was asked for.
    file: Option<Box<str>>,
    refused: bool,
    /// Columns of prepared statements, where the server does not repeat them.
    statements: HashMap<u32, Box<[ColumnKind]>>,
}

impl Machine {
    pub(super) fn new(capabilities: u64) -> Self {
        Self {
            state: State::Idle,
            awaited: Awaited::Nothing,
            sequence: 0,
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            cache_metadata: capabilities & capability::MARIADB_CACHE_METADATA != 0,
            compressed: capabilities & capability::COMPRESS != 0,
            part: None,
            reading_columns: false,
            reading_rows: false,
            kinds: Vec::new(),
            reply: Reply::default(),
            collected: Vec::new(),
            message: String::new(),
            file: None,
            refused: false,
            statements: HashMap::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn sequence(&self) -> u8 {
        self.sequence
    }

    pub(super) fn sent(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub(super) fn announce(&mut self, name: &str) {
        self.file = Some(name.into());
    }

    pub(super) fn forget(&mut self, statement: u32) {
        self.statements.remove(&statement);
    }

    /// A command begins.
    #[inline]
    pub(super) fn begin(&mut self, awaited: Awaited) -> Result<(), Error> {
        if self.state != State::Idle {
            return Err(Error::OutOfTurn("a command was sent before the reply to the last one was complete"));
        }
        self.sequence = 0;
        self.awaited = awaited;
        if awaited != Awaited::Nothing {
            self.state = State::First;
            self.reply = Reply::default();
            self.file = None;
            self.refused = false;
        }
        Ok(())
    }

    /// A piece of a local file is about to go; `more`: it is not the end.
    pub(super) fn continue_sending(&mut self, more: bool) -> Result<(), Error> {
        match self.state {
            State::Local { announced: false } if more => {
                Err(Error::OutOfTurn("a file that was not announced must not be sent"))
            }
            State::Local { .. } => {
                if !more {
                    self.state = State::First;
                }
                Ok(())
            }
            _ => Err(Error::OutOfTurn("no local file was asked for")),
        }
    }

    pub(super) fn receive<S: Sink>(
        &mut self,
        input: &[u8],
        sink: &mut S,
    ) -> Result<(usize, Progress), Error> {
        let mut at = 0;
        loop {
            let progress = if let Some(part) = self.part {
                if !self.take_part(part, input, &mut at, sink.row_bytes_max())? {
                    return Ok((at, Progress::NeedMore));
                }
                self.complete_collected(part.treatment, sink)?
            } else {
                let Some((length, sequence)) = header(&input[at..]) else { break };
                let body = &input[at + HEADER..];
                if self.state == State::Idle {
                    return Err(unasked(body.get(..length)));
                }
                self.check(sequence)?;
                let Some(treatment) = self.treatment(length, body, sink)? else { break };
                let whole = body.get(..length).filter(|_| length < PAYLOAD_MAX);
                if whole.is_none() && treatment != Treatment::Skip && length + HEADER <= BUFFER_MIN {
                    break;
                }
                at += HEADER;
                self.sequence = sequence.wrapping_add(1);
                let Some(payload) = whole else {
                    let more = length == PAYLOAD_MAX;
                    self.part = Some(Part { left: length as u32, more, treatment });
                    continue;
                };
                at += length;
                if treatment == Treatment::Skip { self.skipped() } else { self.packet(payload, sink)? }
            };
            if let Some(progress) = progress {
                if self.refused && matches!(progress, Progress::Done(_)) {
                    let asked = self.file.take().unwrap_or_default().into();
                    return Err(Error::LocalFileRefused { asked });
                }
                return Ok((at, progress));
            }
        }
        Ok((at, Progress::NeedMore))
    }

    #[inline]
    fn check(&self, seen: u8) -> Result<(), Error> {
        // Inside compressed packets the numbers of the outer ones count, and are checked there.
        if seen != self.sequence && !self.compressed {
            return Err(Error::Sequence { expected: self.sequence, seen });
        }
        Ok(())
    }

    /// Resumes a packet that is taken in parts; whether it is complete.
    fn take_part(
        &mut self,
        mut part: Part,
        input: &[u8],
        at: &mut usize,
        row_bytes_max: usize,
    ) -> Result<bool, Error> {
        loop {
            let taken = (input.len() - *at).min(part.left as usize);
            let bytes = &input[*at..*at + taken];
            match part.treatment {
                Treatment::Skip => {}
                Treatment::Head => {
                    let room = HEAD_MAX.saturating_sub(self.collected.len());
                    self.collected.extend_from_slice(&bytes[..taken.min(room)]);
                }
                Treatment::Whole => {
                    check_size(self.collected.len() + taken, row_bytes_max)?;
                    self.collected.extend_from_slice(bytes);
                }
            }
            *at += taken;
            part.left -= taken as u32;
            self.part = Some(part);
            if part.left > 0 {
                return Ok(false);
            }
            if !part.more {
                self.part = None;
                return Ok(true);
            }
            let Some((length, sequence)) = header(&input[*at..]) else { return Ok(false) };
            self.check(sequence)?;
            self.sequence = sequence.wrapping_add(1);
            *at += HEADER;
            part.left = length as u32;
            part.more = length == PAYLOAD_MAX;
        }
    }

    #[cold]
    fn complete_collected<S: Sink>(
        &mut self,
        treatment: Treatment,
        sink: &mut S,
    ) -> Result<Option<Progress>, Error> {
        if treatment == Treatment::Skip {
            return Ok(self.skipped());
        }
        let payload = std::mem::take(&mut self.collected);
        let progress = self.packet(&payload, sink);
        self.collected = payload;
        self.collected.clear();
        self.collected.shrink_to(COLLECTED_KEPT);
        progress
    }

    /// What is to be done with the packet that begins; `None`: that cannot be told before its first byte is
    /// there.
    #[inline]
    fn treatment<S: Sink>(&self, length: usize, body: &[u8], sink: &S) -> Result<Option<Treatment>, Error> {
        Ok(Some(match self.state {
            State::Definitions(..) if self.reading_columns => Treatment::Whole,
            State::Definitions(..) => Treatment::Skip,
            State::Rows => {
                if length == 0 {
                    return Err(malformed("a row is empty"));
                }
                let Some(&first) = body.first() else { return Ok(None) };
                if first == 0xff || first == 0xfe && self.ends_rows(length) {
                    Treatment::Head
                } else if self.reading_rows && sink.wants_rows() {
                    Treatment::Whole
                } else {
                    Treatment::Skip
                }
            }
            _ => Treatment::Head,
        }))
    }

    /// Whether a packet that begins with 0xfe ends the rows. A text row that begins so has a value of 16 MiB
    /// or more.
    #[inline]
    fn ends_rows(&self, length: usize) -> bool {
        if self.deprecate_eof { length < PAYLOAD_MAX } else { length < 9 }
    }

    /// A packet went by that nobody looked at.
    #[inline]
    fn skipped(&mut self) -> Option<Progress> {
        match self.state {
            State::Definitions(what, left) => self.defined(what, left),
            _ => {
                self.reply.rows += 1;
                None
            }
        }
    }

    /// A packet that is looked at.
    #[inline]
    fn packet<S: Sink>(&mut self, payload: &[u8], sink: &mut S) -> Result<Option<Progress>, Error> {
        match self.state {
            State::First => self.first(payload, sink),
            State::Definitions(what, left) => {
                let column = Column::parse(payload)?;
                if what != What::Parameters {
                    self.kinds.push(column.kind);
                    if what == What::Columns && sink.wants_columns() {
                        sink.column(&column);
                    }
                }
                Ok(self.defined(what, left))
            }
            State::DefinitionsEnd(what) => match payload {
                [0xfe, ..] => Ok(self.after_definitions(what)),
                [0xff, ..] => self.failed(payload).map(Some),
                _ => Err(unexpected(payload, "the end of the column definitions")),
            },
            State::Rows => match payload {
                [0xff, ..] => self.failed(payload).map(Some),
                [0xfe, ..] if self.ends_rows(payload.len()) => {
                    let result = if self.deprecate_eof { read_ok(payload)? } else { read_eof(payload)? };
                    Ok(self.end_of_result(result, sink))
                }
                _ => {
                    check_size(payload.len(), sink.row_bytes_max())?;
                    self.reply.rows += 1;
                    let binary = matches!(self.awaited, Awaited::Execute(_)).then_some(&self.kinds[..]);
                    sink.row(&Row { payload, binary })?;
                    Ok(None)
                }
            },
            State::Idle | State::Local { .. } => {
                Err(unexpected(payload, "nothing, because a local file is being sent,"))
            }
        }
    }

    /// The first packet of a reply or of one of its results.
    fn first<S: Sink>(&mut self, payload: &[u8], sink: &mut S) -> Result<Option<Progress>, Error> {
        let first = *payload.first().ok_or_else(|| malformed("a reply is empty"))?;
        if self.reply.results >= RESULTS_MAX {
            let (seen, limit) = (u64::from(self.reply.results) + 1, u64::from(RESULTS_MAX));
            return Err(Error::TooLarge { what: "a number of results", seen, limit });
        }
        match (first, self.awaited) {
            (0xff, _) => self.failed(payload).map(Some),
            (0x00, Awaited::Prepare) => self.prepared(payload),
            (0x00, _) => Ok(self.end_of_result(read_ok(payload)?, sink)),
            (0xfe, Awaited::Ok) => Ok(self.end_of_result(read_eof(payload)?, sink)),
            (0xfb, Awaited::Query) => Ok(Some(self.local_file(&payload[1..]))),
            (_, Awaited::Query | Awaited::Execute(_)) => self.columns(payload, sink),
            _ => Err(unexpected(payload, "OK or an error")),
        }
    }

    /// A result with rows begins.
    fn columns<S: Sink>(&mut self, payload: &[u8], sink: &S) -> Result<Option<Progress>, Error> {
        const WHAT: &str = "the number of columns of a result";
        let mut reader = Reader(payload);
        let count = reader.lenenc(WHAT)?;
        if count > COLUMNS_MAX {
            return Err(Error::TooLarge { what: "a number of columns", seen: count, limit: COLUMNS_MAX });
        }
        self.kinds.clear();
        self.reading_rows = sink.wants_rows();
        self.reading_columns = self.reading_rows || sink.wants_columns();
        let known = self.cache_metadata && reader.u8(WHAT)? == 0;
        if !known {
            self.reading_columns |= self.cache_metadata && matches!(self.awaited, Awaited::Execute(_));
            self.state = State::Definitions(What::Columns, count as u32);
            return Ok(None);
        }
        if let Awaited::Execute(statement) = self.awaited {
            self.kinds.extend_from_slice(self.statements.get(&statement).map_or(&[][..], |kinds| kinds));
        }
        if self.reading_rows && self.kinds.len() as u64 != count {
            return Err(malformed("column definitions are left out that were never sent"));
        }
        self.state = if self.deprecate_eof { State::Rows } else { State::DefinitionsEnd(What::Columns) };
        Ok(None)
    }

    /// One definition went by.
    #[inline]
    fn defined(&mut self, what: What, left: u32) -> Option<Progress> {
        if left > 1 {
            self.state = State::Definitions(what, left - 1);
            None
        } else if self.deprecate_eof {
            self.after_definitions(what)
        } else {
            self.state = State::DefinitionsEnd(what);
            None
        }
    }

    #[inline]
    fn after_definitions(&mut self, what: What) -> Option<Progress> {
        match what {
            What::Columns => {
                if let (true, Awaited::Execute(statement)) = (self.cache_metadata, self.awaited) {
                    self.remember(statement);
                }
                self.state = State::Rows;
                None
            }
            What::Parameters => {
                let columns = self.reply.prepared.map_or(0, |prepared| prepared.columns);
                self.define(What::PreparedColumns, columns)
            }
            What::PreparedColumns => {
                if let (true, Some(prepared)) = (self.cache_metadata, self.reply.prepared) {
                    self.remember(prepared.id);
                }
                self.done()
            }
        }
    }

    fn remember(&mut self, statement: u32) {
        if self.reading_columns && self.statements.len() < REMEMBERED_MAX {
            self.statements.insert(statement, self.kinds.as_slice().into());
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<Option<Progress>, Error> {
        const WHAT: &str = "the answer to prepare";
        let mut reader = Reader(&payload[1..]);
        let (id, columns, parameters) = (reader.u32(WHAT)?, reader.u16(WHAT)?, reader.u16(WHAT)?);
        reader.bytes(1, WHAT)?;
        self.reply.warnings = reader.u16(WHAT)?;
        self.reply.prepared = Some(Prepared { id, parameters, columns });
        self.kinds.clear();
        self.reading_columns = self.cache_metadata && columns > 0;
        Ok(if parameters > 0 {
            self.define(What::Parameters, parameters)
        } else {
            self.define(What::PreparedColumns, columns)
        })
    }

    fn define(&mut self, what: What, count: u16) -> Option<Progress> {
        if count == 0 {
            return self.done();
        }
        self.state = State::Definitions(what, u32::from(count));
        None
    }

    fn local_file(&mut self, name: &[u8]) -> Progress {
        let announced = self.file.as_deref().is_some_and(|file| file.as_bytes() == name);
        if !announced {
            self.file = Some(String::from_utf8_lossy(name).chars().take(200).collect());
            self.refused = true;
        }
        self.state = State::Local { announced };
        Progress::LocalInfile { announced }
    }

    /// A result ended well.
    #[inline]
    fn end_of_result<S: Sink>(&mut self, result: Reply, sink: &mut S) -> Option<Progress> {
        sink.end(&result);
        let reply = &mut self.reply;
        reply.affected += result.affected;
        if result.last_insert_id != 0 {
            reply.last_insert_id = result.last_insert_id;
        }
        reply.warnings = result.warnings;
        reply.status = result.status;
        reply.results += 1;
        if result.status & status::MORE_RESULTS != 0 {
            self.state = State::First;
            return None;
        }
        self.done()
    }

    #[cold]
    fn failed(&mut self, payload: &[u8]) -> Result<Progress, Error> {
        match read_error(payload) {
            Error::Server { error, message } => {
                self.reply.error = Some(error);
                self.message = message;
                self.state = State::Idle;
                Ok(Progress::Done(self.reply))
            }
            error => Err(error),
        }
    }

    #[inline]
    fn done(&mut self) -> Option<Progress> {
        self.state = State::Idle;
        Some(Progress::Done(self.reply))
    }
}

/// Whether a row, or a column definition, is not longer than who takes it wants.
#[inline]
fn check_size(bytes: usize, limit: usize) -> Result<(), Error> {
    if bytes > limit {
        return Err(Error::TooLarge { what: "a row", seen: bytes as u64, limit: limit as u64 });
    }
    Ok(())
}
