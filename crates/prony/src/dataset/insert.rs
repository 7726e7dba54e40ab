//! The way rows go into a table, in order of speed:
//!
//! 1. MariaDB from 10.2 on: one prepared INSERT executed for 2,000 rows at once, in binary. Nothing is
//!    parsed. It costs the server about 0.6 of what LOAD DATA does (which looks at every character twice) and
//!    0.4 of sysbench's INSERTs.
//! 2. Elsewhere: one prepared INSERT of 1,000 rows, executed again and again.
//!
//! Neither needs LOCAL INFILE, which is off by default in MySQL from 8.0 on, and both are written to the
//! binary log as any other INSERT, so that replicas get the data too.

use super::{
    Error, Method,
    rows::{C_LENGTH, PAD_LENGTH, Row, Rows},
    session::Session,
    table,
};
use load::client;
use std::ops::RangeInclusive;
use wire::{Value, client::Statement, constants::column_type};

/// Rows of one bulk execution: about 390 KB, below any server's `max_allowed_packet`; more gains nothing.
const BULK_ROWS: usize = 2_000;
/// Rows of one INSERT with many rows: 4 parameters each, and a statement can have 65,535.
const MANY_ROWS: usize = 1_000;
const TYPES: [u8; 4] = [column_type::LONG, column_type::LONG, column_type::STRING, column_type::STRING];

/// Puts rows into one table by one connection.
pub(super) struct Inserter {
    table: u32,
    rows: Rows,
    statement: Statement,
    method: Method,
    encoded: Vec<u8>,
}

impl Inserter {
    /// Prepares the INSERT into table `number`, whose contents are `rows`.
    pub(super) fn new(session: &mut Session, number: u32, rows: Rows) -> Result<Self, Error> {
        let mut method = Method::ManyRows;
        let name = table::name(number);
        // Asking costs no round trip: the capabilities were agreed on at login.
        let look = session.connection().run(
            |session, out| {
                method = if session.has_bulk() { Method::Bulk } else { Method::ManyRows };
                let count = if session.has_bulk() { 1 } else { MANY_ROWS };
                session.prepare(insert(number, count).as_bytes(), out)
            },
            &mut (),
        );
        let statement = prepared(session, &name, look)?;
        Ok(Self { table: number, rows, statement, method, encoded: Vec::new() })
    }

    /// Number of the table.
    pub(super) fn table(&self) -> u32 {
        self.table
    }

    /// How rows are sent.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Inserts the rows with these ids; `go_on` is asked before each packet. False: it was told not to go on.
    pub(super) fn insert(
        &mut self,
        session: &mut Session,
        ids: RangeInclusive<i32>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let step = if self.method == Method::Bulk { BULK_ROWS } else { MANY_ROWS };
        let mut first = *ids.start();
        while first <= *ids.end() {
            if !go_on() {
                return Ok(false);
            }
            let last = ids.end().min(&first.saturating_add(step as i32 - 1)).to_owned();
            match self.method {
                Method::Bulk => self.bulk(session, first..=last)?,
                Method::ManyRows => self.many(session, first..=last)?,
            }
            let Some(next) = last.checked_add(1) else { break };
            first = next;
        }
        Ok(true)
    }

    fn bulk(&mut self, session: &mut Session, ids: RangeInclusive<i32>) -> Result<(), Error> {
        let mut row = Row::new();
        self.encoded.clear();
        for id in ids {
            self.rows.fill(id, &mut row);
            let out = &mut self.encoded;
            out.push(0);
            out.extend_from_slice(&row.id.to_le_bytes());
            out.push(0);
            out.extend_from_slice(&row.k.to_le_bytes());
            out.extend_from_slice(&[0, C_LENGTH as u8]);
            out.extend_from_slice(&row.c);
            out.extend_from_slice(&[0, PAD_LENGTH as u8]);
            out.extend_from_slice(&row.pad);
        }
        let (statement, encoded) = (&self.statement, &self.encoded);
        let done = session
            .connection()
            .run(|session, out| session.execute_bulk(statement, &TYPES, encoded, out), &mut ());
        done.map_err(|source| session.failed("INSERT", &table::name(self.table), source))?;
        Ok(())
    }

    fn many(&mut self, session: &mut Session, ids: RangeInclusive<i32>) -> Result<(), Error> {
        let name = table::name(self.table);
        let rows: Vec<Row> = ids
            .map(|id| {
                let mut row = Row::new();
                self.rows.fill(id, &mut row);
                row
            })
            .collect();
        let values: Vec<Value<'_>> = rows
            .iter()
            .flat_map(|row| {
                let (id, k) = (i64::from(row.id), i64::from(row.k));
                [Value::Int(id), Value::Int(k), Value::Bytes(&row.c), Value::Bytes(&row.pad)]
            })
            .collect();
        if rows.len() == MANY_ROWS {
            let statement = &mut self.statement;
            let done =
                session.connection().run(|session, out| session.execute(statement, &values, out), &mut ());
            done.map_err(|source| session.failed("INSERT", &name, source))?;
            return Ok(());
        }
        // The last rows of a table: a shorter statement, used once.
        let text = insert(self.table, rows.len());
        let reply = session.connection().run(|session, out| session.prepare(text.as_bytes(), out), &mut ());
        let mut statement = prepared(session, &name, reply)?;
        let done =
            session.connection().run(|session, out| session.execute(&mut statement, &values, out), &mut ());
        done.map_err(|source| session.failed("INSERT", &name, source))?;
        let closed = session.connection().run(|session, out| session.close(statement, out), &mut ());
        closed.map_err(|source| session.failed("INSERT", &name, source))?;
        Ok(())
    }

    /// Forgets the prepared statement.
    pub(super) fn close(self, session: &mut Session) -> Result<(), Error> {
        let statement = self.statement;
        let closed = session.connection().run(|session, out| session.close(statement, out), &mut ());
        closed.map_err(|source| session.failed("INSERT", &table::name(self.table), source))?;
        Ok(())
    }
}

fn insert(table: u32, rows: usize) -> String {
    let values = vec!["(?, ?, ?, ?)"; rows].join(", ");
    format!("INSERT INTO {}(id, k, c, pad) VALUES {values}", table::name(table))
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
