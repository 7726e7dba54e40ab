//! A report as blocks: sections with headings, sentences, lists, tables and charts. What a report says is
//! decided once, in `sections`; a format is one file that walks this list, with one arm for each kind of
//! block.

use super::chart::Chart;

/// The full content of a report.
#[derive(Debug)]
pub(super) struct Report {
    /// Code of its language.
    pub(super) language: &'static str,
    /// Its title.
    pub(super) title: String,
    /// The formats that show the title.
    pub(super) titled: Reach,
    /// What a page shows above and below its title.
    pub(super) kind: String,
    pub(super) meta: Vec<String>,
    /// Its parts, in the order of a page.
    pub(super) sections: Vec<Section>,
    /// The text at the end of a page.
    pub(super) foot: String,
}

impl Report {
    /// Charts that a format shows.
    pub(super) fn charts(&self, format: Reach) -> Vec<&Chart> {
        let blocks = self.sections.iter().flat_map(|section| section.shown(format));
        blocks
            .filter_map(|block| if let Block::Charts(charts) = block { Some(charts) } else { None })
            .flatten()
            .collect()
    }
}

/// Which formats show a block: a page shows everything, a terminal only the most important.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// In every format.
    Everywhere,
    /// In Markdown and on a page.
    Paper,
    /// On a page.
    Page,
}

/// A part of a report.
#[derive(Debug)]
pub(super) struct Section {
    /// The anchor for links: the same in every language, and every time.
    pub(super) id: String,
    /// Its heading; empty: it has none.
    pub(super) title: String,
    /// The formats that show the heading.
    pub(super) titled: Reach,
    /// Whether it states what the run showed: a terminal prints such parts last, where the reader looks
    /// first.
    pub(super) is_answer: bool,
    blocks: Vec<(Reach, Block)>,
}

impl Section {
    pub(super) fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            titled: Reach::Everywhere,
            is_answer: false,
            blocks: Vec::new(),
        }
    }

    /// A section that states what the run showed.
    pub(super) fn answer(id: &str, title: &str) -> Self {
        Self { is_answer: true, ..Self::new(id, title) }
    }

    /// Adds a block, with the formats that show it.
    pub(super) fn add(&mut self, reach: Reach, block: impl Into<Block>) {
        self.blocks.push((reach, block.into()));
    }

    /// Adds several blocks.
    pub(super) fn extend(&mut self, reach: Reach, blocks: impl IntoIterator<Item = impl Into<Block>>) {
        self.blocks.extend(blocks.into_iter().map(|block| (reach, block.into())));
    }

    /// The blocks that a format shows.
    pub(super) fn shown(&self, format: Reach) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |(reach, _)| *reach <= format).map(|(_, block)| block)
    }

    /// Its heading, if the format shows one.
    pub(super) fn heading(&self, format: Reach) -> Option<&str> {
        (self.titled <= format && !self.title.is_empty()).then_some(self.title.as_str())
    }
}

/// A piece of a section.
#[derive(Debug)]
pub(super) enum Block {
    /// The topic of the blocks that follow.
    Heading(String),
    /// Sentences.
    Text(String),
    /// Sentences, one below the other.
    List(List),
    /// Figures or names in rows and columns.
    Table(Table),
    /// Charts that belong together.
    Charts(Vec<Chart>),
    /// A command, or a file verbatim.
    Code(String),
    /// Details, behind a line that unfolds them.
    Folded(String, Vec<Block>),
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<List> for Block {
    fn from(list: List) -> Self {
        Self::List(list)
    }
}

/// What precedes each item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Nothing: each item is a separate line.
    Lines,
    /// A bullet.
    Points,
    /// A number in brackets, from 1.
    Numbers,
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) marks: Marks,
    pub(super) items: Vec<Item>,
}

impl List {
    /// A list of plain sentences.
    pub(super) fn of(marks: Marks, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { marks, items: texts.into_iter().map(Item::text).collect() }
    }
}

/// One line of a list: `lead: title text`.
#[derive(Debug)]
pub(super) struct Item {
    /// Its subject, or its verdict; empty: none.
    pub(super) lead: String,
    /// What is judged; empty: none.
    pub(super) title: String,
    pub(super) text: String,
    pub(super) tone: Tone,
    /// Items that belong below it.
    pub(super) under: Vec<Item>,
}

impl Item {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::about("", text)
    }

    /// What separates the lead from the rest, in the language of the text.
    pub(super) fn colon(&self) -> &'static str {
        if self.text.ends_with('。') || self.title.ends_with(['。', '：']) { "：" } else { ": " }
    }

    pub(super) fn about(lead: &str, text: impl Into<String>) -> Self {
        let (lead, title) = (lead.to_owned(), String::new());
        Self { lead, title, text: text.into(), tone: Tone::Plain, under: Vec::new() }
    }
}

/// What a text signals to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Nothing special.
    Plain,
    /// Better than the base.
    Good,
    /// Worse than the base, or errors.
    Bad,
    /// Unimportant.
    Faint,
}

impl Tone {
    /// The name of its style.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Faint => "faint",
        }
    }
}

/// A piece of text in a table.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Several lines where there are several values.
    pub(super) text: String,
    pub(super) tone: Tone,
    pub(super) kind: CellKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    /// A name, or a sentence.
    Name,
    /// A number, or what belongs to one.
    Number,
    /// Text as it is written in a file, such as a setting.
    Code,
}

/// What is shown where nothing was measured.
pub(super) const NOTHING: &str = "–";

impl Cell {
    pub(super) fn number(text: String) -> Self {
        Self { text, tone: Tone::Plain, kind: CellKind::Number }
    }

    pub(super) fn name(text: &str) -> Self {
        Self { text: text.to_owned(), tone: Tone::Plain, kind: CellKind::Name }
    }

    pub(super) fn code(text: &str) -> Self {
        Self { kind: CellKind::Code, ..Self::name(text) }
    }

    pub(super) fn toned(text: String, tone: Tone) -> Self {
        Self { text, tone, kind: CellKind::Number }
    }

    pub(super) fn empty() -> Self {
        Self::toned(NOTHING.to_owned(), Tone::Faint)
    }
}

/// Rows and columns.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Its caption; empty: the section's heading serves as one.
    pub(super) title: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether each row's first cell is its head.
    pub(super) has_row_heads: bool,
    /// The same table with the series side by side, for where there is room.
    pub(super) wide: Option<Box<Table>>,
    /// Columns that a narrow terminal leaves out, the least important first.
    pub(super) spare: Vec<usize>,
}

impl Table {
    pub(super) fn new(title: &str, heads: Vec<String>, rows: Vec<Vec<Cell>>) -> Self {
        let title = title.to_owned();
        Self { title, heads, rows, has_row_heads: false, wide: None, spare: Vec::new() }
    }

    /// The table without its title, because the heading above it says what it is.
    pub(super) fn untitled(self) -> Self {
        Self { title: String::new(), ..self }
    }

    /// Whether a column holds numbers.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let first = self.rows.first().and_then(|row| row.get(column));
        first.is_some_and(|cell| cell.kind == CellKind::Number)
    }
}
