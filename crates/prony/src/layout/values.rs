//! Values of rows, as a layout writes them and a server gets them.

/// Values of rows, one row after the other.
#[derive(Debug, Default)]
pub struct Rows {
    cells: Vec<Stored>,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Stored {
    Null,
    Integer(i64),
    Text { start: usize, end: usize },
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// None.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(&'a [u8]),
}

impl Rows {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    /// Adds NULL.
    pub fn null(&mut self) {
        self.cells.push(Stored::Null);
    }

    /// Adds a whole number.
    pub fn integer(&mut self, number: i64) {
        self.cells.push(Stored::Integer(number));
    }

    /// Adds a text, which `write` appends.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        self.cells.push(Stored::Text { start, end: self.text.len() });
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Forgets so many values at the beginning.
    pub fn forget(&mut self, values: usize) {
        self.cells.drain(..values);
        let kept = self.cells.iter().find_map(|cell| match cell {
            Stored::Text { start, .. } => Some(*start),
            Stored::Null | Stored::Integer(_) => None,
        });
        let gone = kept.unwrap_or(self.text.len());
        self.text.drain(..gone);
        for cell in &mut self.cells {
            if let Stored::Text { start, end } = cell {
                (*start, *end) = (*start - gone, *end - gone);
            }
        }
    }

    /// All values.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        self.cells.iter().map(|cell| match *cell {
            Stored::Null => Cell::Null,
            Stored::Integer(number) => Cell::Integer(number),
            Stored::Text { start, end } => Cell::Text(&self.text[start..end]),
        })
    }

    /// The values of all rows as `CONCAT_WS(',', ...)` has them: without those that are NULL.
    pub fn write_joined(&self, out: &mut Vec<u8>) {
        self.write_joined_row(0, self.cells.len(), out);
    }

    /// The same of one row, which has so many values from this one on.
    pub fn write_joined_row(&self, first: usize, values: usize, out: &mut Vec<u8>) {
        let mut is_first = true;
        for cell in self.cells().skip(first).take(values) {
            if cell == Cell::Null {
                continue;
            }
            if !std::mem::replace(&mut is_first, false) {
                out.push(b',');
            }
            match cell {
                Cell::Null => {}
                Cell::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Cell::Text(text) => out.extend_from_slice(text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_values_leave_nulls_out_as_concat_ws_does() {
        let mut rows = Rows::default();
        rows.null();
        rows.integer(-7);
        rows.null();
        rows.text(|out| out.extend_from_slice(b"a,b"));
        let mut text = Vec::new();
        rows.write_joined(&mut text);
        assert_eq!(text, b"-7,a,b");
        rows.clear();
        assert_eq!(rows.cells().count(), 0);
    }
}
