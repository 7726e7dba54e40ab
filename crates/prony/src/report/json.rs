//! JSON for programs: every figure has six significant digits, which is more than any measurement has. Only
//! the output is rounded, never the values themselves.

use super::number::round;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// A value as indented JSON that ends with a newline.
pub(crate) fn written(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Rounding(PrettyFormatter::new()));
    value.serialize(&mut serializer).expect("plain values become JSON");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is text")
}

/// The schema of what `written` writes for a type, as `schemas/` contains it.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> String {
    let schema = SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>();
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// Indents, and rounds numbers that are not integers.
struct Rounding(PrettyFormatter<'static>);

impl Formatter for Rounding {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, round(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_six_digits_and_whole_numbers_all_of_theirs() {
        let value =
            serde_json::json!({"a": [1_234.567_89, 0.000_123_456_789], "b": 123_456_789_u64, "c": null});
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let expected = pretty.replace("1234.56789", "1234.57").replace("0.000123456789", "0.000123457");
        assert_eq!(written(&value), format!("{expected}\n"));
    }
}
