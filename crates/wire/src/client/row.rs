//! What a reply holds: columns, rows, and who takes them.

use super::Reply;
use crate::{ColumnKind, Error, Value, error::malformed, packet::Reader};

/// Longest row that is put together for a [`Sink`] unless it says otherwise: what a server's
/// `max_allowed_packet` can be.
const ROW_BYTES_MAX: usize = 1 << 30;

/// Takes what a reply holds.
pub trait Sink {
    /// Whether [`Sink::column`] is to be called for the next result.
    fn wants_columns(&self) -> bool;
    /// Whether [`Sink::row`] is to be called for the next row. Asked also where a result begins: if the
    /// answer is no there, its rows is not available later.
    fn wants_rows(&self) -> bool;
    /// Longest row that is taken, in bytes; a longer one that is wanted is an error. Memory grows with what
    /// has arrived of a row, never with what was announced; a row that is not wanted takes none, however
    /// long it is.
    #[inline]
    fn row_bytes_max(&self) -> usize {
        ROW_BYTES_MAX
    }
    /// A column definition.
    fn column(&mut self, column: &Column<'_>);
    /// A row.
    fn row(&mut self, row: &Row<'_>) -> Result<(), Error>;
    /// A result ended well; `result` has the figures of this one alone.
    fn end(&mut self, result: &Reply);
}

/// Wants nothing.
impl Sink for () {
    #[inline]
    fn wants_columns(&self) -> bool {
        false
    }
    #[inline]
    fn wants_rows(&self) -> bool {
        false
    }
    fn column(&mut self, _: &Column<'_>) {}
    fn row(&mut self, _: &Row<'_>) -> Result<(), Error> {
        Ok(())
    }
    #[inline]
    fn end(&mut self, _: &Reply) {}
}

/// A column definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Name, or alias.
    pub name: &'a [u8],
    /// Number of character set and collation; 63: binary.
    pub charset: u16,
    /// Type and sign.
    pub kind: ColumnKind,
}

impl<'a> Column<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        const WHAT: &str = "a column definition";
        let mut reader = Reader(payload);
        // Catalogue, schema, table, original table.
        for _ in 0..4 {
            reader.lenenc_bytes(WHAT)?;
        }
        let name = reader.lenenc_bytes(WHAT)?;
        reader.lenenc_bytes(WHAT)?;
        reader.lenenc(WHAT)?;
        let charset = reader.u16(WHAT)?;
        reader.bytes(4, WHAT)?;
        let code = reader.u8(WHAT)?;
        Ok(Self { name, charset, kind: ColumnKind::new(code, reader.u16(WHAT)?) })
    }
}

/// A row as it came.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub(super) payload: &'a [u8],
    /// Kinds of the columns in the binary protocol.
    pub(super) binary: Option<&'a [ColumnKind]>,
}

impl<'a> Row<'a> {
    /// Its values from left to right, decoded one by one.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        match self.binary {
            None => Values { rest: Reader(self.payload), binary: None, index: 0 },
            Some(kinds) => {
                let mut rest = Reader(self.payload);
                // First a 0, then a bit for each column, from the third bit on.
                let nulls = rest
                    .u8("a binary row")
                    .and_then(|_| rest.bytes((kinds.len() + 9) / 8, "the NULL bits of a binary row"))
                    .unwrap_or_default();
                Values { rest, binary: Some((kinds, nulls)), index: 0 }
            }
        }
    }
}

/// Values of a row.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    rest: Reader<'a>,
    binary: Option<(&'a [ColumnKind], &'a [u8])>,
    index: usize,
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Value<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some((kinds, nulls)) = self.binary else {
            return match self.rest.0.first()? {
                0xfb => {
                    self.rest.0 = &self.rest.0[1..];
                    Some(Ok(Value::Null))
                }
                _ => Some(self.rest.lenenc_bytes("a value of a text row").map(Value::Bytes).inspect_err(
                    |_| {
                        self.rest = Reader(&[]);
                    },
                )),
            };
        };
        let kind = *kinds.get(self.index)?;
        let bit = self.index + 2;
        self.index += 1;
        let Some(&nulls) = nulls.get(bit / 8) else {
            self.index = kinds.len();
            return Some(Err(malformed("a binary row")));
        };
        if nulls & 1 << (bit % 8) != 0 {
            return Some(Ok(Value::Null));
        }
        let value = Value::take_binary(&mut self.rest, kind);
        if value.is_err() {
            self.index = kinds.len();
        }
        Some(value)
    }
}
