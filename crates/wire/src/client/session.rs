//! Commands of a session that is logged in. Each encoder appends whole packets to the caller's buffer, and
//! allocates nothing if the buffer has room.

use super::{
    Progress, Sink, Statement,
    handshake::Greeting,
    reply::{Awaited, Machine},
};
use crate::{
    Error, Value,
    auth::{Channel, NONCE},
    compression::Compression,
    constants::{capability, command},
    packet::{self, PAYLOAD_MAX},
};

/// A connection that is logged in: capabilities, position in the reply, packet numbers. Without compression
/// it holds no buffers; those are the caller's.
#[derive(Debug)]
pub struct Session {
    pub(super) version: Box<str>,
    pub(super) thread: u32,
    pub(super) capabilities: u64,
    pub(super) nonce: [u8; NONCE],
    pub(super) channel: Channel,
    machine: Machine,
    compression: Option<Box<Compression>>,
}

impl Session {
    pub(super) fn new(greeting: Greeting, channel: Channel) -> Self {
        let Greeting { version, thread, capabilities, nonce, .. } = greeting;
        let compression = (capabilities & capability::COMPRESS != 0).then(Box::default);
        Self {
            version,
            thread,
            capabilities,
            nonce,
            channel,
            machine: Machine::new(capabilities),
            compression,
        }
    }

    /// The server's version as its greeting has it, such as `5.5.5-10.11.6-MariaDB`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The server's number of this connection, as in `KILL`.
    #[must_use]
    pub fn connection_id(&self) -> u32 {
        self.thread
    }

    /// Capabilities that both sides have agreed on, see [`capability`].
    #[must_use]
    pub fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// Whether no reply is due, so that a command may be sent.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.machine.is_idle()
    }

    /// The server's words to the error in the last [`super::Reply`].
    #[must_use]
    pub fn message(&self) -> &str {
        self.machine.message()
    }

    /// SQL text: one statement, or several where that was agreed on.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.command(Awaited::Query, command::QUERY, sql, out)
    }

    /// SQL text whose statement is allowed to ask for the local file `name` (LOAD DATA LOCAL INFILE 'name').
    pub fn query_with_local_file(&mut self, sql: &[u8], name: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        self.command(Awaited::Query, command::QUERY, sql, out)?;
        self.machine.announce(name);
        Ok(())
    }

    /// A piece of the local file that [`Progress::LocalInfile`] asked for.
    pub fn local_data(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        for piece in data.chunks(PAYLOAD_MAX - 1) {
            self.machine.continue_sending(true)?;
            let start = packet::begin(out);
            out.extend_from_slice(piece);
            self.finish(out, start, false);
        }
        Ok(())
    }

    /// The end of the local file; to be called in any case after [`Progress::LocalInfile`]. The reply goes
    /// on.
    pub fn local_end(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.machine.continue_sending(false)?;
        let start = packet::begin(out);
        self.finish(out, start, false);
        Ok(())
    }

    /// Prepares a statement; the reply has [`super::Reply::prepared`].
    pub fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.command(Awaited::Prepare, command::STMT_PREPARE, sql, out)
    }

    /// Executes a prepared statement. Parameter types are told only when they differ from the last execution.
    ///
    /// # Panics
    /// If the number of parameters is not the statement's.
    #[inline]
    pub fn execute(
        &mut self,
        statement: &mut Statement,
        parameters: &[Value<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let prepared = statement.prepared();
        assert_eq!(parameters.len(), usize::from(prepared.parameters), "one value for each parameter");
        self.machine.begin(Awaited::Execute(prepared.id))?;
        let start = packet::begin(out);
        out.push(command::STMT_EXECUTE);
        out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor; one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            let bitmap = out.len();
            out.resize(bitmap + parameters.len().div_ceil(8), 0);
            let bind = statement.bind(parameters);
            out.push(u8::from(bind));
            if bind {
                for value in parameters {
                    out.extend_from_slice(&value.parameter_type());
                }
            }
            for (index, value) in parameters.iter().enumerate() {
                if matches!(value, Value::Null) {
                    out[bitmap + index / 8] |= 1 << (index % 8);
                }
                value.put_binary(out);
            }
        }
        self.finish(out, start, true);
        Ok(())
    }

    /// Whether [`Session::execute_bulk`] may be used.
    #[must_use]
    pub fn has_bulk(&self) -> bool {
        self.capabilities & capability::MARIADB_STMT_BULK_OPERATIONS != 0
    }

    /// Executes a prepared statement that changes data once for each row of parameters, in one command and
    /// with one reply (MariaDB from 10.2 on). `types` has one of [`crate::constants::column_type`] for
    /// each parameter; `rows` has for each value of each row a byte 0 and then the value as the binary
    /// protocol writes that type.
    ///
    /// # Panics
    /// If the number of types is not the statement's number of parameters.
    pub fn execute_bulk(
        &mut self,
        statement: &Statement,
        types: &[u8],
        rows: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        const TYPES_FOLLOW: u16 = 128;
        let prepared = statement.prepared();
        assert_eq!(types.len(), usize::from(prepared.parameters), "one type for each parameter");
        if !self.has_bulk() {
            return Err(Error::OutOfTurn("the server has no bulk execution"));
        }
        self.machine.begin(Awaited::Execute(prepared.id))?;
        let start = packet::begin(out);
        out.push(command::STMT_BULK_EXECUTE);
        out.extend_from_slice(&prepared.id.to_le_bytes());
        out.extend_from_slice(&TYPES_FOLLOW.to_le_bytes());
        for code in types {
            out.extend_from_slice(&[*code, 0]);
        }
        out.extend_from_slice(rows);
        self.finish(out, start, true);
        Ok(())
    }

    /// Forgets a prepared statement. Has no reply.
    pub fn close(&mut self, statement: Statement, out: &mut Vec<u8>) -> Result<(), Error> {
        let id = statement.prepared().id;
        self.command(Awaited::Nothing, command::STMT_CLOSE, &id.to_le_bytes(), out)?;
        self.machine.forget(id);
        Ok(())
    }

    /// Asks for a sign of life.
    pub fn ping(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.command(Awaited::Ok, command::PING, &[], out)
    }

    /// Says good-bye. Has no reply; the server closes the connection.
    pub fn quit(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.command(Awaited::Nothing, command::QUIT, &[], out)
    }

    /// Takes what has arrived. Returns how many bytes of `input` are done with, and how far the reply is. A
    /// packet that is incomplete and at most [`super::BUFFER_MIN`] long stays with the caller; of longer
    /// ones, any part is taken.
    #[inline]
    pub fn receive(&mut self, input: &[u8]) -> Result<(usize, Progress), Error> {
        self.receive_with(input, &mut ())
    }

    /// The same, and hands columns and rows that `sink` wants to it.
    #[inline]
    pub fn receive_with<S: Sink>(&mut self, input: &[u8], sink: &mut S) -> Result<(usize, Progress), Error> {
        match &mut self.compression {
            None => self.machine.receive(input, sink),
            Some(compression) => {
                let (used, outcome) = compression.receive(input, |plain| {
                    let (used, progress) = self.machine.receive(plain, sink)?;
                    Ok((used, (progress != Progress::NeedMore).then_some(progress)))
                })?;
                Ok((used, outcome.unwrap_or(Progress::NeedMore)))
            }
        }
    }

    /// Bytes that came in compressed packets and were not part of any reply yet: after a reply that is
    /// complete, what nobody has asked for. Without compression such bytes stay with the caller.
    #[must_use]
    #[inline]
    pub fn unread(&self) -> usize {
        self.compression.as_ref().map_or(0, |compression| compression.unread())
    }

    fn command(&mut self, awaited: Awaited, code: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.machine.begin(awaited)?;
        let start = packet::begin(out);
        out.push(code);
        out.extend_from_slice(body);
        self.finish(out, start, true);
        Ok(())
    }

    /// Ends the packet that began at `start`; `fresh`: it is a command.
    #[inline]
    fn finish(&mut self, out: &mut Vec<u8>, start: usize, fresh: bool) {
        let sequence = packet::end(out, start, self.machine.sequence());
        self.machine.sent(sequence);
        if let Some(compression) = &mut self.compression {
            compression.wrap(out, start, fresh);
        }
    }
}
