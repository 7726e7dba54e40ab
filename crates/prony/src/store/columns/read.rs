//! Columns become rows again, straight into the types that they were made from.

use super::{Tag, power_of_ten};
use crate::store::damage::Damage;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Error, Value};
use std::collections::BTreeMap;

/// Most rows of one table: far more than a trial has seconds. Damaged data must not ask for all memory.
const ROWS_MAX: u64 = 10_000_000;
/// Values of all rows that a byte may stand for, and how many there may always be. A value that all rows
/// share takes no byte in each, but rows consist of others as well: real ones have two or three values in a
/// byte.
const CELLS_IN_A_BYTE: usize = 64;
const CELLS_LEAST: usize = 1 << 16;
/// Nodes inside each other.
const DEPTH_MAX: u32 = 64;

/// Reads all rows.
pub(in crate::store) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, Damage> {
    let (rows, root) = table(bytes)?;
    rows_of(&root, rows)
}

/// Numbers by name, one for each row; NaN: the row has none.
type Columns = BTreeMap<String, Vec<f64>>;

/// Reads rows of which one field holds nothing but named numbers: that field by column, the others by row.
/// `None`: no row has the field.
pub(in crate::store) fn read_beside<T: DeserializeOwned>(
    bytes: &[u8],
    field: &str,
) -> Result<Option<(Vec<T>, Columns)>, Damage> {
    let (rows, mut root) = table(bytes)?;
    let Some(place) = root.fields.iter().position(|(name, _)| name == field) else { return Ok(None) };
    let (_, beside) = root.fields.swap_remove(place);
    let column = |(name, node): (String, Node)| (name, node.numbers(rows));
    Ok(Some((rows_of(&root, rows)?, beside.fields.into_iter().map(column).collect())))
}

fn table(bytes: &[u8]) -> Result<(usize, Node), Damage> {
    let mut source = Source { bytes, nodes: 0 };
    // each row has a number at least, and that a byte
    let rows_max = ROWS_MAX.min(bytes.len() as u64);
    let rows = source.number().filter(|rows| *rows <= rows_max).ok_or(Damage::Columns)? as usize;
    let root = Node::read(&mut source, rows, DEPTH_MAX).ok_or(Damage::Columns)?;
    if source.nodes.saturating_mul(rows) > CELLS_LEAST + bytes.len() * CELLS_IN_A_BYTE {
        return Err(Damage::TooMany { rows, values: source.nodes });
    }
    Ok((rows, root))
}

fn rows_of<T: DeserializeOwned>(root: &Node, rows: usize) -> Result<Vec<T>, Damage> {
    (0..rows).map(|row| Ok(T::deserialize(Cell { node: root, row })?)).collect()
}

/// What all rows have at one place.
struct Node {
    tags: Tags,
    /// For each row: a whole number, the bits of one with a fraction, the number of a text.
    values: Vec<u64>,
    texts: Vec<String>,
    fields: Vec<(String, Node)>,
    items: Vec<Node>,
}

enum Tags {
    Same(Tag),
    Each(Vec<Tag>),
}

impl Tags {
    fn at(&self, row: usize) -> Tag {
        match self {
            Self::Same(tag) => *tag,
            Self::Each(tags) => tags[row],
        }
    }

    fn rows(&self, rows: usize, wanted: impl Fn(Tag) -> bool) -> Vec<usize> {
        match self {
            Self::Same(tag) if wanted(*tag) => (0..rows).collect(),
            Self::Same(_) => Vec::new(),
            Self::Each(tags) => (0..rows).filter(|&row| wanted(tags[row])).collect(),
        }
    }

    fn any(&self, wanted: Tag) -> bool {
        match self {
            Self::Same(tag) => *tag == wanted,
            Self::Each(tags) => tags.contains(&wanted),
        }
    }
}

impl Node {
    fn read(source: &mut Source<'_>, rows: usize, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        source.nodes += 1;
        let tags = source.tags(rows)?;
        let whole = tags.rows(rows, |tag| matches!(tag, Tag::Natural | Tag::Negative));
        let fractions = tags.rows(rows, |tag| tag == Tag::Fraction);
        let of_texts = tags.rows(rows, |tag| tag == Tag::Text);
        let has_values = !(whole.is_empty() && fractions.is_empty() && of_texts.is_empty());
        let mut node = Self {
            values: vec![0; if has_values { rows } else { 0 }],
            texts: Vec::new(),
            fields: Vec::new(),
            items: Vec::new(),
            tags,
        };
        let mut last = 0_u64;
        for row in whole {
            last = last.wrapping_add(source.signed()? as u64);
            node.values[row] = last;
        }
        node.read_fractions(source, &fractions)?;
        if !of_texts.is_empty() {
            for _ in 0..source.number()? {
                node.texts.push(source.text()?.to_owned());
            }
            for row in of_texts {
                node.values[row] = source.number().filter(|number| (*number as usize) < node.texts.len())?;
            }
        }
        if rows > 0 && node.tags.any(Tag::Fields) {
            for _ in 0..source.number()? {
                let name = source.text()?.to_owned();
                node.fields.push((name, Self::read(source, rows, depth)?));
            }
        }
        if rows > 0 && node.tags.any(Tag::List) {
            for _ in 0..source.number()? {
                node.items.push(Self::read(source, rows, depth)?);
            }
        }
        Some(node)
    }

    /// One for each row, NaN where it has no number.
    fn numbers(&self, rows: usize) -> Vec<f64> {
        let number = |row| match self.tags.at(row) {
            Tag::Natural => self.values[row] as f64,
            Tag::Negative => self.values[row] as i64 as f64,
            Tag::Fraction => f64::from_bits(self.values[row]),
            _ => f64::NAN,
        };
        (0..rows).map(number).collect()
    }

    fn read_fractions(&mut self, source: &mut Source<'_>, rows: &[usize]) -> Option<()> {
        if rows.is_empty() {
            return Some(());
        }
        if source.byte()? == 0 {
            for &row in rows {
                self.values[row] = u64::from_le_bytes(*source.take(8)?.first_chunk()?);
            }
            return Some(());
        }
        let unit = i32::try_from(source.signed()?).ok().filter(|unit| unit.abs() <= 22)?;
        let power = power_of_ten(unit.unsigned_abs());
        let mut last = 0_i64;
        for &row in rows {
            last = last.wrapping_add(source.signed()?);
            let value = if unit < 0 { last as f64 / power } else { last as f64 * power };
            self.values[row] = value.to_bits();
        }
        Some(())
    }
}

struct Source<'a> {
    bytes: &'a [u8],
    /// Nodes that were read.
    nodes: usize,
}

impl<'a> Source<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn tags(&mut self, rows: usize) -> Option<Tags> {
        let tag = |byte: u8| Tag::ALL.get(usize::from(byte)).copied();
        let first = self.byte()?;
        if let Some(tag) = tag(first) {
            return Some(Tags::Same(tag));
        }
        self.take(rows)?.iter().map(|&byte| tag(byte)).collect::<Option<_>>().map(Tags::Each)
    }
}

/// What one row has at one place.
#[derive(Clone, Copy)]
struct Cell<'a> {
    node: &'a Node,
    row: usize,
}

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { node, row } = self;
        match node.tags.at(row) {
            Tag::Absent => Err(Error::custom("a row has nothing where something must be")),
            Tag::Null => visitor.visit_unit(),
            Tag::False => visitor.visit_bool(false),
            Tag::True => visitor.visit_bool(true),
            Tag::Natural => visitor.visit_u64(node.values[row]),
            Tag::Negative => visitor.visit_i64(node.values[row] as i64),
            Tag::Fraction => visitor.visit_f64(f64::from_bits(node.values[row])),
            Tag::Text => visitor.visit_str(&node.texts[node.values[row] as usize]),
            Tag::List => visitor.visit_seq(Items { nodes: &node.items, row }),
            Tag::Fields => visitor.visit_map(Fields { nodes: &node.fields, row, value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.tags.at(self.row) {
            Tag::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.node.tags.at(self.row) {
            Tag::Text => {
                let text: &str = &self.node.texts[self.node.values[self.row] as usize];
                visitor.visit_enum(text.into_deserializer())
            }
            _ => Value::deserialize(self)?.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a> {
    nodes: &'a [Node],
    row: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((node, rest)) = self.nodes.split_first() else { return Ok(None) };
        self.nodes = rest;
        // a shorter list than that of other rows
        if node.tags.at(self.row) == Tag::Absent {
            return Ok(None);
        }
        seed.deserialize(Cell { node, row: self.row }).map(Some)
    }
}

struct Fields<'a> {
    nodes: &'a [(String, Node)],
    row: usize,
    value: Option<&'a Node>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        while let Some(((name, node), rest)) = self.nodes.split_first() {
            self.nodes = rest;
            if node.tags.at(self.row) != Tag::Absent {
                self.value = Some(node);
                return seed.deserialize(name.as_str().into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let node = self.value.take().ok_or_else(|| Error::custom("a value was asked for before its name"))?;
        seed.deserialize(Cell { node, row: self.row })
    }
}
