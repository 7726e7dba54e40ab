//! A report as text for a terminal of a given width.

use super::{
    Options,
    block::{Block, Item, List, Marks, Reach, Report, Section, Table, Tone},
    chart::{Chart, Drawing, Line},
    number,
};
use crate::escape::{
    self,
    wrap::{columns, wrapped},
};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, TableComponent, Width,
    presets,
};
use std::fmt::Write as _;

/// Narrower terminals get this width: below it, nothing is readable anyway.
const WIDTH_MIN: usize = 40;

/// Where no line may break inside a cell: these texts have non-breaking spaces until the table is drawn.
const PLUS_MINUS: &str = "\u{a0}±\u{a0}";
const PER_CENT: &str = "\u{a0}%";

/// How many of the last values a sketch shows: where there is room, and at least.
const SKETCHED: (usize, usize) = (40, 8);
/// The height of a sketch is at least this share of a value: smaller changes are not worth a look, and chance
/// alone would fill it.
const HEIGHT_MIN: f64 = 0.1;

/// The text for a terminal: what the run showed comes last, where the reader looks first.
pub(super) fn render(report: &Report, options: &Options) -> String {
    let width = usize::from(options.width).max(WIDTH_MIN);
    let mut page = Page { text: String::new(), width, colour: options.colour, is_begun: false };
    if report.titled == Reach::Everywhere {
        page.wrapped(&page.bold(&report.title), "");
    }
    let (answers, others): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|section| section.is_answer);
    others.into_iter().chain(answers.into_iter().rev()).for_each(|section| page.section(section));
    if options.colour { escape::styled(&page.text) } else { escape::plain(&page.text) }
}

/// A text under construction.
struct Page {
    text: String,
    width: usize,
    colour: bool,
    /// Whether it already contains a section.
    is_begun: bool,
}

impl Page {
    fn section(&mut self, section: &Section) {
        let mut blocks = section.shown(Reach::Everywhere).peekable();
        if blocks.peek().is_none() {
            return;
        }
        // the first section belongs to the title
        if std::mem::replace(&mut self.is_begun, true) {
            self.text.push('\n');
        }
        if let Some(heading) = section.heading(Reach::Everywhere) {
            let heading = self.bold(heading);
            self.wrapped(&heading, "");
        }
        blocks.for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => self.line(&format!("\n{text}")),
            Block::Text(text) => self.wrapped(text, ""),
            Block::List(list) => self.list(list),
            Block::Table(table) => {
                if !table.title.is_empty() {
                    self.line(&format!("\n{}", table.title));
                }
                self.line(&fit(table, self.colour, self.width));
            }
            Block::Charts(charts) => self.sketches(charts),
            Block::Code(text) => self.line(text),
            Block::Folded(line, blocks) => {
                self.line(&format!("\n{line}"));
                blocks.iter().for_each(|block| self.block(block));
            }
        }
    }

    fn list(&mut self, list: &List) {
        for (place, item) in list.items.iter().enumerate() {
            let (mark, indent) = match list.marks {
                Marks::Lines => (String::new(), "  "),
                Marks::Points => ("• ".to_owned(), "  "),
                Marks::Numbers => (format!("[{}] ", place + 1), "    "),
            };
            self.wrapped(&format!("{mark}{}", spoken(item)), indent);
            // a non-breaking space keeps the indent
            item.under.iter().for_each(|item| self.wrapped(&format!("\u{a0} {}", spoken(item)), "    "));
        }
    }

    /// One line for each chart: its values in eight heights, and the last one as a number.
    fn sketches(&mut self, charts: &[Chart]) {
        let drawn: Vec<(&str, &Line)> = charts.iter().filter_map(sketched).collect();
        let names = drawn.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let latest: Vec<String> = drawn.iter().map(|(_, line)| latest(line)).collect();
        let values = latest.iter().map(|value| columns(value)).max().unwrap_or(0);
        let room = self.width.saturating_sub(names + values + 6);
        for ((name, line), latest) in drawn.iter().zip(&latest) {
            let blanks = " ".repeat(names - columns(name));
            let sketch = sketch(&line.values, room.clamp(SKETCHED.1, SKETCHED.0));
            self.line(&format!("  {name}{blanks}  {sketch}  {latest}"));
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn wrapped(&mut self, text: &str, indent: &str) {
        wrapped(text, indent, self.width).iter().for_each(|line| self.line(line));
    }

    fn bold(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// `lead: title text`.
fn spoken(item: &Item) -> String {
    let lead = if item.lead.is_empty() { String::new() } else { format!("{}{}", item.lead, item.colon()) };
    let title = if item.title.is_empty() { String::new() } else { format!("{} ", item.title) };
    format!("{lead}{title}{}", item.text)
}

/// The line of a chart that a sketch shows, with its name.
fn sketched(chart: &Chart) -> Option<(&str, &Line)> {
    let Drawing::Lines(lines) = &chart.drawing else { return None };
    Some((&chart.title, lines.panels.first()?.lines.first()?))
}

/// The last value with its interval.
fn latest(line: &Line) -> String {
    let last = line.values.iter().rposition(Option::is_some);
    let Some((place, value)) = last.and_then(|place| Some((place, line.values[place]?))) else {
        return String::new();
    };
    let end = |ends: &[Option<f64>]| ends.get(place).copied().flatten();
    let (low, high) = (end(&line.low), end(&line.high));
    number::estimate(&stats::Estimate { value, low, high, level: 0.95, observations: 0 })
}

/// The last values in eight heights; a missing value is a gap.
fn sketch(values: &[Option<f64>], most: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(most)..];
    let (low, high) = span(shown.iter().copied().flatten());
    let height = |value: &Option<f64>| {
        value.map_or(' ', |value| HEIGHTS[(((value - low) / (high - low) * 7.0).round() as usize).min(7)])
    };
    shown.iter().map(height).collect()
}

/// The lowest and the highest value, at least [`HEIGHT_MIN`] apart.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let middle = f64::midpoint(low, high);
    let half = ((high - low) / 2.0).max(HEIGHT_MIN / 2.0 * middle);
    (middle - half, middle + half)
}

/// The first drawing that is not too wide: series side by side, else below each other, else without the
/// columns that can be spared, else with wrapped lines; where a number would have to be broken, one line for
/// each value.
fn fit(table: &Table, colour: bool, width: usize) -> String {
    let fits = |drawn: &String| drawn.lines().all(|line| columns(line) <= width);
    let is_narrow_enough = |table: &Table| fits(&draw(&narrowed(table), false, 1, None));
    let mut reduced = (0..=table.spare.len()).map(|count| without(table, &table.spare[..count]));
    let stacked = reduced.find(is_narrow_enough).unwrap_or_else(|| without(table, &table.spare));
    let beside = table.wide.as_deref().unwrap_or(&stacked);
    [(beside, 3), (beside, 2), (&stacked, 3), (&stacked, 2), (&stacked, 1)]
        .into_iter()
        .map(|(table, gap)| draw(table, colour, gap, None))
        .find(fits)
        .or_else(|| {
            let narrow = narrowed(&stacked);
            [2, 1].into_iter().map(|gap| draw(&narrow, colour, gap, None)).find(fits)
        })
        .or_else(|| {
            let least: usize = (0..stacked.heads.len()).map(|column| unbroken(&stacked, column) + 1).sum();
            let room = u16::try_from(width).ok().filter(|_| least <= width)?;
            Some(draw(&stacked, colour, 1, Some(room)))
        })
        .unwrap_or_else(|| cards(table, colour, width))
}

/// Each row as lines `head: value`; a row that continues the one above begins with the first value it has.
fn cards(table: &Table, colour: bool, width: usize) -> String {
    let mut lines = Vec::new();
    for row in &table.rows {
        let cells = table.heads.iter().zip(row).filter(|(_, cell)| !cell.text.is_empty());
        for (place, (head, cell)) in cells.enumerate() {
            // a non-breaking space keeps the indent
            let (first, further) = if place == 0 { ("", "  ") } else { ("\u{a0} ", "    ") };
            let colon = match head.chars().last() {
                None => "",
                Some(last) if columns(last.encode_utf8(&mut [0; 4])) == 2 => "：",
                Some(_) => ": ",
            };
            let value = cell.text.replace(" ± ", PLUS_MINUS).replace(" %", PER_CENT);
            let text = format!("{first}{head}{colon}{value}");
            lines.extend(wrapped(&text, further, width).iter().map(|line| painted(line, cell.tone, colour)));
        }
    }
    lines.join("\n")
}

/// A text in the colour of its tone.
fn painted(text: &str, tone: Tone, colour: bool) -> String {
    match tone {
        Tone::Good if colour => format!("\u{1b}[32m{text}\u{1b}[0m"),
        Tone::Bad if colour => format!("\u{1b}[31m{text}\u{1b}[0m"),
        Tone::Faint if colour => format!("\u{1b}[2m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    }
}

/// A table without some of its columns.
fn without(table: &Table, left_out: &[usize]) -> Table {
    fn kept<T: Clone>(row: &[T], left_out: &[usize]) -> Vec<T> {
        let kept = row.iter().enumerate().filter(|(column, _)| !left_out.contains(column));
        kept.map(|(_, cell)| cell.clone()).collect()
    }
    let rows = table.rows.iter().map(|row| kept(row, left_out)).collect();
    Table { heads: kept(&table.heads, left_out), rows, ..table.clone() }
}

/// The same table with heads broken into enough lines not to be wider than the cells below them.
fn narrowed(table: &Table) -> Table {
    let narrow = |(column, head): (usize, &String)| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(&cell.text));
        let words = head.split_whitespace().map(columns);
        let width = cells.chain(words).max().unwrap_or(0);
        wrapped(head, "", width).join("\n")
    };
    Table { heads: table.heads.iter().enumerate().map(narrow).collect(), ..table.clone() }
}

/// The longest piece of a column that must not be broken across lines.
fn unbroken(table: &Table, column: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| Some(&row.get(column)?.text));
    let kept = |text: &String| text.replace(" ± ", PLUS_MINUS).replace(" %", PER_CENT);
    let texts = cells.chain(table.heads.get(column)).map(kept);
    texts.flat_map(|text| text.split([' ', '\n']).map(columns).collect::<Vec<_>>()).max().unwrap_or(0)
}

/// Draws a table with a gap between columns; if a width is given, lines are wrapped to fit it.
fn draw(table: &Table, colour: bool, gap: u16, width: Option<u16>) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_preset(presets::NOTHING);
    drawn.set_style(TableComponent::HeaderLines, '─');
    drawn.force_no_tty();
    if colour {
        drawn.enforce_styling();
    }
    if let Some(width) = width {
        drawn.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    drawn.set_header(table.heads.iter().map(|head| {
        let cell = Cell::new(head);
        if colour { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in &table.rows {
        drawn.add_row(row.iter().map(|cell| {
            let drawn = Cell::new(cell.text.replace(" ± ", PLUS_MINUS).replace(" %", PER_CENT));
            match cell.tone {
                Tone::Good if colour => drawn.fg(Color::Green),
                Tone::Bad if colour => drawn.fg(Color::Red),
                Tone::Faint if colour => drawn.add_attribute(Attribute::Dim),
                _ => drawn,
            }
        }));
    }
    for (number, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, gap));
        column.set_cell_alignment(if table.is_numeric(number) {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        });
    }
    if let Some(width) = width {
        let least: Vec<usize> =
            (0..table.heads.len()).map(|column| unbroken(table, column) + usize::from(gap)).collect();
        // where even that is too wide, words are broken
        if least.iter().sum::<usize>() <= usize::from(width) {
            for (column, least) in drawn.column_iter_mut().zip(least) {
                let least = Width::Fixed(u16::try_from(least).unwrap_or(width));
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
    }
    let lines: Vec<String> = drawn.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n").replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::{super::block::Cell, *};

    fn table(heads: &[&str]) -> Table {
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        let row = heads.iter().map(|_| Cell::number("12,345".to_owned())).collect();
        Table::new("", heads, vec![row])
    }

    #[test]
    fn a_table_has_what_there_is_room_for() {
        let wide = table(&["pool", "threads", "reads", "writes"]);
        let narrow = Table { spare: vec![2, 0], ..table(&["name", "value", "reads"]) };
        let both = Table { wide: Some(Box::new(wide)), ..narrow };
        let heads = |width: usize| fit(&both, false, width).lines().next().unwrap_or_default().to_owned();
        assert_eq!(heads(80).split_whitespace().collect::<Vec<_>>(), ["pool", "threads", "reads", "writes"]);
        assert_eq!(heads(26).split_whitespace().collect::<Vec<_>>(), ["name", "value", "reads"]);
        assert_eq!(heads(18).split_whitespace().collect::<Vec<_>>(), ["name", "value"], "the least missed");
        assert_eq!(heads(8).split_whitespace().collect::<Vec<_>>(), ["value"]);
    }

    #[test]
    fn no_number_is_broken_on_a_narrow_terminal() {
        let heads = ["连接", "Server", "Transactions/s", "Errors"].map(str::to_owned).to_vec();
        let row = |cells: [&str; 4]| cells.map(|text| Cell::number(text.to_owned())).to_vec();
        let rows = vec![row(["8", "mysql-55", "1,350 ± 381 [1]", "0"]), row(["", "mysql-80", "952", "1 %"])];
        let table = Table::new("", heads, rows);
        assert!(fit(&table, false, 60).contains('─'), "there is room for a table");
        assert_eq!(
            fit(&table, false, 28),
            "连接：8\n  Server: mysql-55\n  Transactions/s:\n    1,350 ± 381 [1]\n  Errors: 0\n\
             Server: mysql-80\n  Transactions/s: 952\n  Errors: 1 %"
        );
    }

    #[test]
    fn little_noise_fills_no_sketch() {
        let (low, high) = span([100.0, 101.0].into_iter());
        assert!((low - 95.475).abs() < 1e-9 && (high - 105.525).abs() < 1e-9, "{low} {high}");
        assert_eq!(span(std::iter::empty()), (0.0, 1.0));
        assert_eq!(sketch(&[Some(1.0), None, Some(2.0), Some(1.0)], 3), " █▁");
    }
}
