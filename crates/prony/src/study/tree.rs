//! The study's text as a tree of values that remember where they were written. So overrides of a scale or of
//! a `--set` can be merged in, and a mistake still points at the text that it came from.

use super::mistake::{Collector, Place, nearest};
use toml_edit::{Document, Item};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// What a study can hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Real(f64),
    Flag(bool),
    Array(Vec<Node>),
    Table(Table),
    /// A date or time, which nothing in a study takes.
    Date,
}

/// Entries in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table(pub(super) Vec<Entry>);

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_place: Place,
    pub(super) node: Node,
}

impl Value {
    /// What it is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Real(_) => "a number with a fraction",
            Self::Flag(_) => "true or false",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
            Self::Date => "a date or time",
        }
    }
}

impl Node {
    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The table, if it is one.
    pub(super) fn table(&self) -> Option<&Table> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    /// As a level of a factor is shown.
    pub(super) fn label(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Array(nodes) => nodes.iter().map(Self::label).collect::<Vec<_>>().join(", "),
            Value::Table(table) => {
                let entries: Vec<String> =
                    table.0.iter().map(|entry| format!("{}={}", entry.key, entry.node.label())).collect();
                entries.join(", ")
            }
            Value::Date => "date".to_owned(),
        }
    }
}

impl Table {
    /// The entry of a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Takes a key out.
    pub(super) fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.0.iter().position(|entry| entry.key == key)?;
        Some(self.0.remove(index))
    }

    /// Replaces the value of a key, or adds it.
    pub(super) fn put(&mut self, entry: Entry) {
        match self.0.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => self.0.push(entry),
        }
    }

    /// The table under a key, made where it is missing; `None` where something else stands there.
    fn table_mut(&mut self, key: &str, place: &Place) -> Option<&mut Table> {
        if self.get(key).is_none() {
            let node = Node { value: Value::Table(Table::default()), place: place.clone() };
            self.0.push(Entry { key: key.to_owned(), key_place: place.clone(), node });
        }
        match &mut self.get_mut(key)?.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Lays `over` upon this table: tables are merged, everything else is replaced. A table upon a list of
    /// streams (or of the study's own tables) is laid upon the one, or upon those that its keys name.
    pub(super) fn merge(&mut self, over: &Table, mistakes: &mut Collector) {
        for entry in &over.0 {
            match (self.get_mut(&entry.key).map(|node| &mut node.value), &entry.node.value) {
                (Some(Value::Table(old)), Value::Table(new)) => old.merge(new, mistakes),
                (Some(Value::Array(streams)), Value::Table(new))
                    if ["stream", "table"].contains(&entry.key.as_str()) =>
                {
                    merge_streams(streams, new, mistakes);
                }
                _ => self.put(entry.clone()),
            }
        }
    }

    /// The leaves with their paths: `"stream.connections" = 4` and `stream.connections = 4` mean the same.
    pub(super) fn flatten(&self, prefix: &str, found: &mut Vec<Entry>) {
        for entry in &self.0 {
            let key = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
            match &entry.node.value {
                Value::Table(inner) => inner.flatten(&key, found),
                _ => found.push(Entry { key, ..entry.clone() }),
            }
        }
    }

    /// Writes the entries of a table of this one by their whole paths, so that what is laid upon it meets
    /// them.
    pub(super) fn flatten_at(&mut self, key: &str) {
        if let Some(Value::Table(table)) = self.get_mut(key).map(|node| &mut node.value) {
            let mut flat = Vec::new();
            table.flatten("", &mut flat);
            table.0 = flat;
        }
    }

    /// Puts a value at a path from the root (`stream.connections`, `server.pool.settings.X`).
    pub(super) fn put_at(&mut self, path: &[String], place: &Place, node: Node, mistakes: &mut Collector) {
        let mut over = Table::default();
        let Some((last, parents)) = path.split_last() else { return };
        let mut table = &mut over;
        for key in parents {
            table = table.table_mut(key, place).expect("an empty table takes any key");
        }
        table.put(Entry { key: last.clone(), key_place: place.clone(), node });
        self.merge(&over, mistakes);
    }
}

/// Name of a stream's table as other parts of the study call it.
pub(super) fn stream_name(stream: &Node) -> &str {
    stream.table().and_then(|table| table.get("name")).and_then(Node::text).unwrap_or("main")
}

fn merge_streams(streams: &mut [Node], over: &Table, mistakes: &mut Collector) {
    let names: Vec<String> = streams.iter().map(|stream| stream_name(stream).to_owned()).collect();
    for entry in &over.0 {
        let single = Table(vec![entry.clone()]);
        let named = names.iter().position(|name| *name == entry.key);
        match (named, &entry.node.value) {
            (Some(index), Value::Table(table)) => merge_into(&mut streams[index], table, mistakes),
            _ if streams.len() == 1 => merge_into(&mut streams[0], &single, mistakes),
            _ => {
                let label = match nearest(&entry.key, names.iter().map(String::as_str)) {
                    Some(name) => format!("did you mean `stream.{name}`?"),
                    None => format!("name the stream: `stream.{}.{}`", names[0], entry.key),
                };
                let title = format!("`stream.{}` does not name a stream", entry.key);
                mistakes.at(&entry.key_place, title, label);
            }
        }
    }
}

fn merge_into(stream: &mut Node, over: &Table, mistakes: &mut Collector) {
    if let Value::Table(table) = &mut stream.value {
        table.merge(over, mistakes);
    }
}

/// Reads a text; a mistake of TOML itself ends the reading, since nothing behind it can be trusted.
pub(super) fn parse(text: &str, source: usize, mistakes: &mut Collector) -> Option<Table> {
    match Document::parse(text) {
        Ok(document) => {
            let whole = Place { source, span: 0..text.len() };
            Some(convert_table(document.as_table(), source, &whole))
        }
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let mut lines = error.message().lines();
            let title = format!("this is not TOML: {}", lines.next().unwrap_or("syntax error"));
            mistakes.at(&Place { source, span }, title, lines.collect::<Vec<_>>().join("; "));
            None
        }
    }
}

/// Reads one value as `--set` gives it: TOML where it is TOML (`3`, `[1, 2]`, `"a"`), else plain text
/// (`MyISAM`, `3s`).
pub(super) fn parse_value(text: &str, source: usize, start: usize) -> Node {
    let place = Place { source, span: start..start + text.len() };
    match text.parse::<toml_edit::Value>() {
        Ok(value) => {
            let mut node = convert_value(&value, source, &place);
            relocate(&mut node, &place);
            node
        }
        Err(_) => Node { value: Value::Text(text.to_owned()), place },
    }
}

fn relocate(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.value {
        Value::Array(nodes) => nodes.iter_mut().for_each(|node| relocate(node, place)),
        Value::Table(table) => {
            for entry in &mut table.0 {
                entry.key_place = place.clone();
                relocate(&mut entry.node, place);
            }
        }
        _ => {}
    }
}

fn convert_table(table: &dyn toml_edit::TableLike, source: usize, parent: &Place) -> Table {
    let entries = table.iter().filter_map(|(key, item)| {
        let key_span = table.key(key).and_then(toml_edit::Key::span);
        let key_place = key_span.map_or_else(|| parent.clone(), |span| Place { source, span });
        let node = convert_item(item, source, &key_place)?;
        Some(Entry { key: key.to_owned(), key_place, node })
    });
    Table(entries.collect())
}

fn convert_item(item: &Item, source: usize, key_place: &Place) -> Option<Node> {
    let place = item.span().map_or_else(|| key_place.clone(), |span| Place { source, span });
    let value = match item {
        Item::None => return None,
        Item::Value(value) => return Some(convert_value(value, source, key_place)),
        Item::Table(table) => Value::Table(convert_table(table, source, &place)),
        Item::ArrayOfTables(tables) => {
            let nodes = tables.iter().map(|table| {
                let place = table.span().map_or_else(|| place.clone(), |span| Place { source, span });
                Node { value: Value::Table(convert_table(table, source, &place)), place }
            });
            Value::Array(nodes.collect())
        }
    };
    Some(Node { value, place })
}

fn convert_value(value: &toml_edit::Value, source: usize, key_place: &Place) -> Node {
    let place = value.span().map_or_else(|| key_place.clone(), |span| Place { source, span });
    let value = match value {
        toml_edit::Value::String(text) => Value::Text(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Integer(*number.value()),
        toml_edit::Value::Float(number) => Value::Real(*number.value()),
        toml_edit::Value::Boolean(flag) => Value::Flag(*flag.value()),
        toml_edit::Value::Datetime(_) => Value::Date,
        toml_edit::Value::Array(values) => {
            Value::Array(values.iter().map(|value| convert_value(value, source, &place)).collect())
        }
        toml_edit::Value::InlineTable(table) => Value::Table(convert_table(table, source, &place)),
    };
    Node { value, place }
}
