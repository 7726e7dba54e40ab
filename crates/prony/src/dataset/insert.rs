//! How rows are inserted into a table, the fastest way first:
//!
//! 1. MariaDB from 10.2 on: one prepared INSERT executed for 2,000 rows at once, in binary. Nothing is
//!    parsed. It costs the server about 0.6 of what LOAD DATA does (which looks at every character twice) and
//!    0.4 of sysbench's INSERTs.
//! 2. Elsewhere: one prepared INSERT of 1,000 rows, executed again and again.
//!
//! Neither needs LOCAL INFILE, which is off by default in MySQL from 8.0 on. Both are written to the binary
//! log like any other INSERT, so that replicas get the data too.

use super::{Error, Method, session::Session};
use crate::{
    family,
    layout::{Cell, Rows, Sent, Table, quoted},
};
use load::client;
use std::ops::RangeInclusive;
use wire::{Value, client::Statement, constants::column_type};

/// Rows of one bulk execution, at most: about 390 KB of sysbench's; more gains nothing.
const BULK_ROWS: u64 = 2_000;
/// Rows of one INSERT with many rows, at most.
const MANY_ROWS: u64 = 1_000;
/// What one execution sends, about: below any server's `max_allowed_packet`, which was 1 MB once.
const PACKET_BYTES: u64 = 500 << 10;
/// Parameters of a statement.
const PARAMETERS_MAX: u64 = 65_535;

/// Puts rows into one table by one connection.
pub(super) struct Inserter<'a> {
    table: &'a Table,
    statement: Statement,
    method: Method,
    /// Rows of one execution.
    step: u64,
    rows: Rows,
    types: Vec<u8>,
    encoded: Vec<u8>,
}

impl<'a> Inserter<'a> {
    /// Prepares the INSERT into a table.
    pub(super) fn new(session: &mut Session, table: &'a Table) -> Result<Self, Error> {
        let fitting = (PACKET_BYTES / table.row_bytes.max(1)).max(1);
        let many = MANY_ROWS.min(fitting).min((PARAMETERS_MAX / table.columns.len().max(1) as u64).max(1));
        let (mut method, mut step) = (Method::ManyRows, many);
        // Asking costs no round trip: the capabilities were agreed on at login.
        let look = session.connection().run(
            |session, out| {
                if session.has_bulk() {
                    (method, step) = (Method::Bulk, BULK_ROWS.min(fitting));
                }
                let count = if method == Method::Bulk { 1 } else { many };
                session.prepare(insert(table, count).as_bytes(), out)
            },
            &mut (),
        );
        let statement = prepared(session, &table.name, look)?;
        let types = table.columns.iter().map(|column| match column.sent {
            Sent::Int => column_type::LONG,
            Sent::BigInt => column_type::LONGLONG,
            Sent::Text => column_type::STRING,
        });
        let types = types.collect();
        Ok(Self { table, statement, method, step, rows: Rows::default(), types, encoded: Vec::new() })
    }

    /// The table.
    pub(super) fn table(&self) -> &'a Table {
        self.table
    }

    /// How rows are sent.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Inserts the rows with these numbers; `go_on` is asked before each packet. False: it was told not to go
    /// on.
    pub(super) fn insert(
        &mut self,
        session: &mut Session,
        numbers: RangeInclusive<u64>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let columns = self.table.columns.len().max(1);
        let packet = self.step as usize * columns;
        let last = *numbers.end();
        self.rows.clear();
        for number in numbers {
            self.table.contents.write(number, &mut self.rows);
            while self.rows.len() >= packet || (number == last && !self.rows.is_empty()) {
                if !go_on() {
                    return Ok(false);
                }
                match self.method {
                    // a few more, where the last number has several rows
                    Method::Bulk => {
                        self.bulk(session)?;
                        self.rows.clear();
                    }
                    Method::ManyRows => {
                        let values = self.rows.len().min(packet);
                        self.many(session, values)?;
                        self.rows.forget(values);
                    }
                }
            }
        }
        Ok(true)
    }

    fn bulk(&mut self, session: &mut Session) -> Result<(), Error> {
        self.encoded.clear();
        let out = &mut self.encoded;
        for (cell, column) in self.rows.cells().zip(self.table.columns.iter().cycle()) {
            // 0: a value follows; 1: it is NULL
            out.push(u8::from(cell == Cell::Null));
            match cell {
                Cell::Null => {}
                Cell::Integer(number) if column.sent == Sent::Int => {
                    out.extend_from_slice(&(number as i32).to_le_bytes());
                }
                Cell::Integer(number) => out.extend_from_slice(&number.to_le_bytes()),
                Cell::Text(text) => write_length_encoded(text, out),
            }
        }
        let (statement, types, encoded) = (&self.statement, &self.types, &self.encoded);
        let done = session
            .connection()
            .run(|session, out| session.execute_bulk(statement, types, encoded, out), &mut ());
        done.map_err(|source| session.failed("INSERT", &self.table.name, source))?;
        Ok(())
    }

    /// Sends the rows that these first values are.
    fn many(&mut self, session: &mut Session, values: usize) -> Result<(), Error> {
        let name = &self.table.name;
        let count = (values / self.table.columns.len().max(1)) as u64;
        let values: Vec<Value<'_>> = self
            .rows
            .cells()
            .take(values)
            .map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Integer(number) => Value::Int(number),
                Cell::Text(text) => Value::Bytes(text),
            })
            .collect();
        if count == self.step {
            let statement = &mut self.statement;
            let done =
                session.connection().run(|session, out| session.execute(statement, &values, out), &mut ());
            done.map_err(|source| session.failed("INSERT", name, source))?;
            return Ok(());
        }
        // The last rows of a unit: a shorter statement, used once.
        let text = insert(self.table, count);
        let reply = session.connection().run(|session, out| session.prepare(text.as_bytes(), out), &mut ());
        let mut statement = prepared(session, name, reply)?;
        let done =
            session.connection().run(|session, out| session.execute(&mut statement, &values, out), &mut ());
        done.map_err(|source| session.failed("INSERT", name, source))?;
        let closed = session.connection().run(|session, out| session.close(statement, out), &mut ());
        closed.map_err(|source| session.failed("INSERT", name, source))?;
        Ok(())
    }

    /// Forgets the prepared statement.
    pub(super) fn close(self, session: &mut Session) -> Result<(), Error> {
        let statement = self.statement;
        let closed = session.connection().run(|session, out| session.close(statement, out), &mut ());
        closed.map_err(|source| session.failed("INSERT", &self.table.name, source))?;
        Ok(())
    }
}

/// A text as the protocol has it: its length in 1, 3 or 4 bytes, then itself.
fn write_length_encoded(text: &[u8], out: &mut Vec<u8>) {
    let length = text.len() as u32;
    match length {
        0..=250 => out.push(length as u8),
        251..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&length.to_le_bytes()[..2]);
        }
        _ => {
            out.push(0xFD);
            out.extend_from_slice(&length.to_le_bytes()[..3]);
        }
    }
    out.extend_from_slice(text);
}

fn insert(table: &Table, rows: u64) -> String {
    family::spoken().insert(&quoted(&table.name), &table.column_list(), table.columns.len(), rows)
}

fn prepared(
    session: &Session,
    table: &str,
    reply: Result<wire::client::Reply, client::Error>,
) -> Result<Statement, Error> {
    let reply = reply.map_err(|source| session.failed("INSERT", table, source))?;
    let missing =
        || client::Error::Protocol(wire::Error::OutOfTurn("a statement was prepared without a number"));
    let prepared = reply.prepared.ok_or_else(|| session.failed("INSERT", table, missing()))?;
    Ok(Statement::new(prepared))
}
