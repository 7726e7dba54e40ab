//! A report as blocks: sections with headings, sentences, lists, tables and charts. What a report says is
//! decided once, in `sections`; a format is one file that walks this list, with one arm for each kind of
//! block.

use super::chart::Chart;

/// Everything that one text says.
#[derive(Debug)]
pub(super) struct Report {
    /// Code of its language.
    pub(super) language: &'static str,
    /// Its title.
    pub(super) title: String,
    /// From which format on the title is shown.
    pub(super) titled: Reach,
    /// What a page says above its title and below it.
    pub(super) kind: String,
    pub(super) meta: Vec<String>,
    /// Its parts, in the order of a page.
    pub(super) sections: Vec<Section>,
    /// What a page says at its end.
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

/// From which format on something is shown: a page shows everything, a terminal what is asked first.
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
    /// What a link names: the same in every language, and each time.
    pub(super) id: String,
    /// Its heading; empty: it has none.
    pub(super) title: String,
    /// From which format on the heading is shown.
    pub(super) titled: Reach,
    /// Whether it says what the run says: a terminal shows such parts last, where the eye is.
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

    /// One that says what the run says.
    pub(super) fn answer(id: &str, title: &str) -> Self {
        Self { is_answer: true, ..Self::new(id, title) }
    }

    /// Adds what is shown from a format on.
    pub(super) fn add(&mut self, reach: Reach, block: impl Into<Block>) {
        self.blocks.push((reach, block.into()));
    }

    /// Adds each of several.
    pub(super) fn extend(&mut self, reach: Reach, blocks: impl IntoIterator<Item = impl Into<Block>>) {
        self.blocks.extend(blocks.into_iter().map(|block| (reach, block.into())));
    }

    /// What a format shows of it.
    pub(super) fn shown(&self, format: Reach) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |(reach, _)| *reach <= format).map(|(_, block)| block)
    }

    /// Its heading in a format.
    pub(super) fn heading(&self, format: Reach) -> Option<&str> {
        (self.titled <= format && !self.title.is_empty()).then_some(self.title.as_str())
    }
}

/// A piece of a section.
#[derive(Debug)]
pub(super) enum Block {
    /// What the blocks behind it are about.
    Heading(String),
    /// Sentences.
    Text(String),
    /// Sentences one below the other.
    List(List),
    /// Figures or names in rows and columns.
    Table(Table),
    /// Charts that belong together.
    Charts(Vec<Chart>),
    /// A command, or a file as it is.
    Code(String),
    /// For those who look closer: behind a line that opens it.
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

/// What stands before the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Nothing: each is a line of its own.
    Lines,
    /// A point.
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
    /// Of plain sentences.
    pub(super) fn of(marks: Marks, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { marks, items: texts.into_iter().map(Item::text).collect() }
    }
}

/// One line of a list: `lead: title text`.
#[derive(Debug)]
pub(super) struct Item {
    /// What it is about, or how it was judged; empty: nothing.
    pub(super) lead: String,
    /// What is judged; empty: nothing.
    pub(super) title: String,
    pub(super) text: String,
    pub(super) tone: Tone,
    /// What belongs to it.
    pub(super) under: Vec<Item>,
}

impl Item {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::about("", text)
    }

    pub(super) fn about(lead: &str, text: impl Into<String>) -> Self {
        let (lead, title) = (lead.to_owned(), String::new());
        Self { lead, title, text: text.into(), tone: Tone::Plain, under: Vec::new() }
    }
}

/// What something means for the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Nothing special.
    Plain,
    /// Better than the base.
    Good,
    /// Worse than the base, or errors.
    Bad,
    /// Of no consequence.
    Faint,
}

impl Tone {
    /// As a style is called.
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
    /// As it is written in a file: a setting.
    Code,
}

/// What stands where nothing was measured.
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
    /// What is said above it; empty: the section's heading says it.
    pub(super) title: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether each row's first cell is its head.
    pub(super) has_row_heads: bool,
    /// The same with series beside each other, where there is room.
    pub(super) wide: Option<Box<Table>>,
    /// Columns that a narrow terminal does without, the least missed first.
    pub(super) spare: Vec<usize>,
}

impl Table {
    pub(super) fn new(title: &str, heads: Vec<String>, rows: Vec<Vec<Cell>>) -> Self {
        let title = title.to_owned();
        Self { title, heads, rows, has_row_heads: false, wide: None, spare: Vec::new() }
    }

    /// Without a title: the heading above it says what it is.
    pub(super) fn untitled(self) -> Self {
        Self { title: String::new(), ..self }
    }

    /// Whether a column is one of numbers.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let first = self.rows.first().and_then(|row| row.get(column));
        first.is_some_and(|cell| cell.kind == CellKind::Number)
    }
}
