//! Lists as tables no wider than the terminal, or as JSON.

use super::{
    failure::Failure,
    terminal::{print, print_json},
};
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING};
use serde_json::Value;
use std::io::{self, IsTerminal as _};

/// Header, rows, and the same as JSON.
pub(super) type Listing = (Vec<&'static str>, Vec<Vec<Cell>>, Value);

/// Prints a list as a table or as JSON.
pub(super) fn show((header, rows, machine): Listing, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&machine);
    }
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    // what goes to another program stays in one line
    if io::stdout().is_terminal() {
        let width = terminal_size::terminal_size().map_or(u16::MAX, |(width, _)| width.0);
        arrange(&mut table, width);
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    print(&lines)
}

/// Breaks long cells so that a table is no wider than the terminal. Short cells and words stay whole; if that
/// leaves no room, the terminal breaks the lines.
fn arrange(table: &mut Table, width: u16) {
    /// Up to this width a column is never broken.
    const SHORT: u16 = 24;
    /// Space before and behind a cell.
    const PADDING: u16 = 2;
    let longest_word = |column: &comfy_table::Column| {
        let cells =
            table.row_iter().chain(table.header()).filter_map(|row| row.cell_iter().nth(column.index));
        let words = cells.flat_map(|cell| cell.content().split_whitespace().map(str::len).max()).max();
        u16::try_from(words.unwrap_or(0)).unwrap_or(u16::MAX)
    };
    let least: Vec<u16> = table
        .column_iter()
        .zip(table.column_max_content_widths())
        .map(|(column, whole)| if whole <= SHORT { whole } else { longest_word(column).max(SHORT) })
        .map(|width| width.saturating_add(PADDING))
        .collect();
    if least.iter().fold(0_u16, |sum, width| sum.saturating_add(*width)) > width {
        return;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for (column, least) in table.column_iter_mut().zip(least) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_no_wider_than_the_terminal_where_words_can_stay_whole() {
        let mut table = Table::new();
        table.load_preset(NOTHING).set_header(["RUN", "BEGUN", "TITLE"]);
        table.add_row(["12", "2026-03-01 12:00 UTC", "What becomes of a server when nobody looks at it"]);
        let drawn = |width| {
            let mut table = table.clone();
            arrange(&mut table, width);
            table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            drawn(56),
            [
                " RUN  BEGUN                 TITLE",
                " 12   2026-03-01 12:00 UTC  What becomes of a server",
                "                            when nobody looks at it",
            ]
        );
        assert_eq!(drawn(100).len(), 2);
        // no room: the terminal breaks the line
        assert_eq!(drawn(30).len(), 2);
    }
}
