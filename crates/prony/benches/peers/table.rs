//! Tables as Markdown, aligned so that a terminal shows them well, too.

/// A table of text; the first column is aligned to the left, all others to the right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    pub(crate) fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The same without columns that have nothing but a head.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        for column in (0..self.rows[0].len()).rev() {
            if self.rows[1..].iter().all(|row| row[column].is_empty()) {
                for row in &mut self.rows {
                    row.remove(column);
                }
            }
        }
        self
    }

    pub(crate) fn markdown(&self) -> String {
        let columns = self.rows[0].len();
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let cell =
                    if column == 0 { format!("| {cell:<width$} |") } else { format!(" {cell:>width$} |") };
                text.push_str(&cell);
            }
            text.push('\n');
            if index == 0 {
                text.push_str(&format!("|{}|", "-".repeat(widths[0] + 2)));
                text.extend(widths[1..].iter().map(|width| format!("{}:|", "-".repeat(width + 1))));
                text.push('\n');
            }
        }
        text
    }
}

/// 123,456
pub(crate) fn whole(value: f64) -> String {
    prony::quantity::show_count(value.round() as u64)
}
