//! Replies of a server.

use crate::{
    ColumnKind, Value,
    constants::{CHARSET_UTF8MB4, COLUMN_UNSIGNED, capability, status},
    packet::{self, put_lenenc, put_lenenc_bytes},
};

/// Appends packets of a reply to a buffer, with their numbers, in the dialect that was agreed on.
#[derive(Debug, Clone, Copy)]
pub struct Encoder {
    pub(super) capabilities: u64,
    sequence: u8,
}

/// A column of a result or a parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// Its name.
    pub name: &'a str,
    /// Type and sign.
    pub kind: ColumnKind,
}

/// What ends a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Affected rows.
    pub affected: u64,
    /// First id that was given out.
    pub last_insert_id: u64,
    /// See [`status`].
    pub status: u16,
    /// Number of warnings.
    pub warnings: u16,
}

impl Default for Finish {
    fn default() -> Self {
        Self { affected: 0, last_insert_id: 0, status: status::AUTOCOMMIT, warnings: 0 }
    }
}

impl Encoder {
    /// For the reply to a command of one packet, under these capabilities.
    #[must_use]
    pub fn new(capabilities: u64) -> Self {
        Self { capabilities, sequence: 1 }
    }

    /// Any packet.
    #[inline]
    pub fn packet(&mut self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = packet::begin(out);
        payload(out);
        self.sequence = packet::end(out, start, self.sequence);
    }

    /// OK: a result without rows.
    #[inline]
    pub fn ok(&mut self, out: &mut Vec<u8>, finish: &Finish) {
        self.packet(out, |out| put_ok(out, 0x00, finish));
    }

    /// An error, which ends the reply. `state` has 5 ASCII characters.
    pub fn error(&mut self, out: &mut Vec<u8>, code: u16, state: &[u8; 5], message: &str) {
        self.packet(out, |out| {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(state);
            out.extend_from_slice(message.as_bytes());
        });
    }

    /// Begins a result with rows. 1 column or more.
    pub fn columns(&mut self, out: &mut Vec<u8>, columns: &[ColumnDefinition<'_>]) {
        let cached = self.has(capability::MARIADB_CACHE_METADATA);
        self.packet(out, |out| {
            put_lenenc(out, columns.len() as u64);
            if cached {
                out.push(1);
            }
        });
        self.definitions(out, columns);
    }

    /// A row in the text protocol; `None` is NULL.
    pub fn text_row(&mut self, out: &mut Vec<u8>, values: &[Option<&[u8]>]) {
        self.packet(out, |out| {
            for value in values {
                match value {
                    None => out.push(0xfb),
                    Some(bytes) => put_lenenc_bytes(out, bytes),
                }
            }
        });
    }

    /// A row in the binary protocol. The kinds of the columns must be those of the values: integers as
    /// BIGINT.
    pub fn binary_row(&mut self, out: &mut Vec<u8>, values: &[Value<'_>]) {
        self.packet(out, |out| {
            out.push(0);
            let bitmap = out.len();
            out.resize(bitmap + (values.len() + 9) / 8, 0);
            for (index, value) in values.iter().enumerate() {
                if matches!(value, Value::Null) {
                    out[bitmap + (index + 2) / 8] |= 1 << ((index + 2) % 8);
                }
                value.put_binary(out);
            }
        });
    }

    /// Ends the rows of a result.
    pub fn end_rows(&mut self, out: &mut Vec<u8>, finish: &Finish) {
        if self.has(capability::DEPRECATE_EOF) {
            self.packet(out, |out| put_ok(out, 0xfe, finish));
        } else {
            self.eof(out, finish);
        }
    }

    /// EOF, the answer to [`super::Request::SetOption`].
    pub fn eof(&mut self, out: &mut Vec<u8>, finish: &Finish) {
        self.packet(out, |out| {
            out.push(0xfe);
            out.extend_from_slice(&finish.warnings.to_le_bytes());
            out.extend_from_slice(&finish.status.to_le_bytes());
        });
    }

    /// The answer to prepare.
    pub fn prepared(
        &mut self,
        out: &mut Vec<u8>,
        id: u32,
        parameters: &[ColumnDefinition<'_>],
        columns: &[ColumnDefinition<'_>],
    ) {
        self.packet(out, |out| {
            out.push(0);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            out.extend_from_slice(&(parameters.len() as u16).to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        for definitions in [parameters, columns] {
            if !definitions.is_empty() {
                self.definitions(out, definitions);
            }
        }
    }

    /// Asks the client for a local file; then [`super::Connection::next_data`].
    pub fn local_file(&mut self, out: &mut Vec<u8>, name: &str) {
        self.packet(out, |out| {
            out.push(0xfb);
            out.extend_from_slice(name.as_bytes());
        });
    }

    pub(super) fn sequence(&self) -> u8 {
        self.sequence
    }

    pub(super) fn expect(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    fn has(&self, capability: u64) -> bool {
        self.capabilities & capability != 0
    }

    fn definitions(&mut self, out: &mut Vec<u8>, columns: &[ColumnDefinition<'_>]) {
        for column in columns {
            self.packet(out, |out| column.put(out));
        }
        self.definitions_end(out);
    }

    fn definitions_end(&mut self, out: &mut Vec<u8>) {
        if !self.has(capability::DEPRECATE_EOF) {
            self.eof(out, &Finish::default());
        }
    }
}

impl ColumnDefinition<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_lenenc_bytes(out, b"def");
        for text in ["", "", "", self.name, self.name] {
            put_lenenc_bytes(out, text.as_bytes());
        }
        out.extend_from_slice(&[12, CHARSET_UTF8MB4, 0]);
        out.extend_from_slice(&1024_u32.to_le_bytes());
        out.push(self.kind.code);
        let flags = if self.kind.unsigned { COLUMN_UNSIGNED } else { 0 };
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    }
}

fn put_ok(out: &mut Vec<u8>, first: u8, finish: &Finish) {
    out.push(first);
    put_lenenc(out, finish.affected);
    put_lenenc(out, finish.last_insert_id);
    out.extend_from_slice(&finish.status.to_le_bytes());
    out.extend_from_slice(&finish.warnings.to_le_bytes());
}
