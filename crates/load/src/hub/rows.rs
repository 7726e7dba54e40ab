//! The rows of one reply, kept as text until the next one.

use wire::{
    Error, Value,
    client::{Column, Reply, Row, Sink},
};

/// Capacity that is kept from one reply to the next: what a range of a hundred rows takes.
const KEPT: usize = 32 << 10;
/// Length that stands for NULL.
const NULL: u32 = u32::MAX;

/// Rows of the first result of a reply that has columns.
#[derive(Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    at: usize,
    rows: u64,
    columns: u32,
    results: u32,
}

impl Rows {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of columns; 0: the statement has no result.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        *self = Self { bytes: std::mem::take(&mut self.bytes), ..Self::default() };
    }

    /// Columns of a result whose definitions did not come with it.
    pub(super) fn set_columns(&mut self, columns: u32) {
        self.columns = columns;
    }

    /// The values of the next row, from left to right; `None`: there is none.
    pub fn next_row(&mut self) -> Option<impl Iterator<Item = Option<&[u8]>>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let (start, mut end) = (self.at, self.at);
        for _ in 0..self.columns {
            end += 4 + length(&self.bytes[end..]).unwrap_or(0);
        }
        self.at = end;
        let mut rest = &self.bytes[start..end];
        Some(std::iter::from_fn(move || {
            let count = if rest.is_empty() { return None } else { length(rest) };
            let (value, after) = rest[4..].split_at(count.unwrap_or(0));
            rest = after;
            Some(count.map(|_| value))
        }))
    }
}

/// Length of the value that begins there; `None`: it is NULL.
fn length(bytes: &[u8]) -> Option<usize> {
    let count = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
    (count != NULL).then_some(count as usize)
}

impl Sink for Rows {
    #[inline]
    fn wants_columns(&self) -> bool {
        self.results == 0
    }

    #[inline]
    fn wants_rows(&self) -> bool {
        self.results == 0
    }

    fn column(&mut self, _: &Column<'_>) {
        self.columns += 1;
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let mut text = Vec::new();
        for value in row.values() {
            match value? {
                Value::Null => self.bytes.extend_from_slice(&NULL.to_le_bytes()),
                Value::Bytes(bytes) => {
                    self.bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                    self.bytes.extend_from_slice(bytes);
                }
                other => {
                    use std::io::Write as _;
                    text.clear();
                    // a buffer in memory takes everything
                    let _ = write!(text, "{other}");
                    self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    self.bytes.extend_from_slice(&text);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    #[inline]
    fn end(&mut self, _: &Reply) {
        self.results += u32::from(self.columns > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were_put() {
        let mut rows = Rows { columns: 3, ..Rows::default() };
        for value in [Some(&b"one"[..]), None, Some(b""), Some(b"x"), Some(b"y"), None] {
            let count = value.map_or(NULL, |value| value.len() as u32);
            rows.bytes.extend_from_slice(&count.to_le_bytes());
            rows.bytes.extend_from_slice(value.unwrap_or_default());
        }
        let first: Vec<_> = rows.next_row().expect("a row").map(|v| v.map(<[u8]>::to_vec)).collect();
        assert_eq!(first, [Some(b"one".to_vec()), None, Some(Vec::new())]);
        let second: Vec<_> = rows.next_row().expect("a row").map(|v| v.map(<[u8]>::to_vec)).collect();
        assert_eq!(second, [Some(b"x".to_vec()), Some(b"y".to_vec()), None]);
        assert!(rows.next_row().is_none());
    }
}
