//! Values of parameters and columns: typed, borrowed, and how they look in the binary protocol.

use crate::{
    constants::{COLUMN_UNSIGNED, column_type},
    error::{Error, malformed},
    packet::{Reader, put_lenenc_bytes},
};
use std::fmt;

/// A parameter to be sent, or a column that was received. Text results have only `Null` and `Bytes`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// Text, blobs, decimals, bits, everything else.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// DATETIME and TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
}

/// DATE; all zero is SQL's zero date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Date {
    /// Year, 0 to 9999.
    pub year: u16,
    /// Month, 0 to 12.
    pub month: u8,
    /// Day, 0 to 31.
    pub day: u8,
}

/// DATETIME or TIMESTAMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    /// The day.
    pub date: Date,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microsecond.
    pub microsecond: u32,
}

/// TIME, a length of time with sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Time {
    /// Below zero.
    pub negative: bool,
    /// Whole days.
    pub days: u32,
    /// Hours, 0 to 23.
    pub hours: u8,
    /// Minutes.
    pub minutes: u8,
    /// Seconds.
    pub seconds: u8,
    /// Microseconds.
    pub microseconds: u32,
}

/// What is needed of a column's definition to read its values: type and sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnKind {
    /// One of [`column_type`].
    pub code: u8,
    /// Whether integers have no sign.
    pub unsigned: bool,
}

impl ColumnKind {
    /// From the type and the flags of a column definition.
    #[must_use]
    pub fn new(code: u8, flags: u16) -> Self {
        Self { code, unsigned: flags & COLUMN_UNSIGNED != 0 }
    }
}

impl<'a> Value<'a> {
    /// Type code of the parameter and whether it is unsigned (0x80), as the execute packet has them.
    #[inline]
    pub(crate) fn parameter_type(&self) -> [u8; 2] {
        match self {
            Self::Null => [column_type::NULL, 0],
            Self::Int(_) => [column_type::LONGLONG, 0],
            Self::UInt(_) => [column_type::LONGLONG, 0x80],
            Self::Float(_) => [column_type::FLOAT, 0],
            Self::Double(_) => [column_type::DOUBLE, 0],
            Self::Bytes(_) => [column_type::VAR_STRING, 0],
            Self::Date(_) => [column_type::DATE, 0],
            Self::DateTime(_) => [column_type::DATETIME, 0],
            Self::Time(_) => [column_type::TIME, 0],
        }
    }

    /// Appends the value in the binary protocol; nothing for `Null`.
    #[inline]
    pub(crate) fn put_binary(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Null => {}
            Self::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::UInt(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Bytes(bytes) => put_lenenc_bytes(out, bytes),
            Self::Date(date) => put_moment(out, &DateTime { date, ..DateTime::default() }),
            Self::DateTime(moment) => put_moment(out, &moment),
            Self::Time(time) => put_time(out, &time),
        }
    }

    /// Reads a value that is not NULL from a row of the binary protocol.
    pub(crate) fn take_binary(reader: &mut Reader<'a>, kind: ColumnKind) -> Result<Self, Error> {
        const WHAT: &str = "a value of a binary row";
        let signed = !kind.unsigned;
        Ok(match kind.code {
            column_type::NULL => Self::Null,
            column_type::TINY if signed => Self::Int(i64::from(reader.u8(WHAT)? as i8)),
            column_type::TINY => Self::UInt(u64::from(reader.u8(WHAT)?)),
            column_type::SHORT if signed => Self::Int(i64::from(reader.u16(WHAT)? as i16)),
            column_type::SHORT | column_type::YEAR => Self::UInt(u64::from(reader.u16(WHAT)?)),
            column_type::LONG | column_type::INT24 if signed => {
                Self::Int(i64::from(reader.u32(WHAT)? as i32))
            }
            column_type::LONG | column_type::INT24 => Self::UInt(u64::from(reader.u32(WHAT)?)),
            column_type::LONGLONG if signed => Self::Int(i64::from_le_bytes(reader.array(WHAT)?)),
            column_type::LONGLONG => Self::UInt(u64::from_le_bytes(reader.array(WHAT)?)),
            column_type::FLOAT => Self::Float(f32::from_le_bytes(reader.array(WHAT)?)),
            column_type::DOUBLE => Self::Double(f64::from_le_bytes(reader.array(WHAT)?)),
            column_type::DATE | column_type::NEWDATE => Self::Date(take_moment(reader)?.date),
            column_type::DATETIME | column_type::TIMESTAMP => Self::DateTime(take_moment(reader)?),
            column_type::TIME => Self::Time(take_time(reader)?),
            _ => Self::Bytes(reader.lenenc_bytes(WHAT)?),
        })
    }
}

/// As text results have it; bytes that are no UTF-8 are replaced.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(value) => write!(f, "{value}"),
            Self::UInt(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Date(date) => write!(f, "{date}"),
            Self::DateTime(moment) => write!(f, "{moment}"),
            Self::Time(time) => write!(f, "{time}"),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}:{:02}", self.date, self.hour, self.minute, self.second)?;
        fraction(f, self.microsecond)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = u64::from(self.days) * 24 + u64::from(self.hours);
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{hours:02}:{:02}:{:02}", self.minutes, self.seconds)?;
        fraction(f, self.microseconds)
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, microseconds: u32) -> fmt::Result {
    if microseconds == 0 { Ok(()) } else { write!(f, ".{microseconds:06}") }
}

/// A moment is as long as needed: 0, 4, 7 or 11 bytes after its length.
fn put_moment(out: &mut Vec<u8>, moment: &DateTime) {
    let DateTime { date, hour, minute, second, microsecond } = *moment;
    let length: u8 = if microsecond != 0 {
        11
    } else if (hour, minute, second) != (0, 0, 0) {
        7
    } else if date != Date::default() {
        4
    } else {
        0
    };
    let mut bytes = [0; 12];
    bytes[0] = length;
    bytes[1..3].copy_from_slice(&date.year.to_le_bytes());
    bytes[3..8].copy_from_slice(&[date.month, date.day, hour, minute, second]);
    bytes[8..].copy_from_slice(&microsecond.to_le_bytes());
    out.extend_from_slice(&bytes[..=usize::from(length)]);
}

fn take_moment(reader: &mut Reader<'_>) -> Result<DateTime, Error> {
    const WHAT: &str = "a date of a binary row";
    let length = reader.u8(WHAT)?;
    let mut moment = DateTime::default();
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(malformed("the length of a date in a binary row"));
    }
    if length >= 4 {
        moment.date = Date { year: reader.u16(WHAT)?, month: reader.u8(WHAT)?, day: reader.u8(WHAT)? };
    }
    if length >= 7 {
        [moment.hour, moment.minute, moment.second] = reader.array(WHAT)?;
    }
    if length == 11 {
        moment.microsecond = reader.u32(WHAT)?;
    }
    Ok(moment)
}

/// A length of time: 0, 8 or 12 bytes after its length.
fn put_time(out: &mut Vec<u8>, time: &Time) {
    let length: u8 = match time {
        Time { microseconds: 1.., .. } => 12,
        Time { days: 0, hours: 0, minutes: 0, seconds: 0, .. } => 0,
        _ => 8,
    };
    let mut bytes = [0; 13];
    bytes[0] = length;
    bytes[1] = u8::from(time.negative);
    bytes[2..6].copy_from_slice(&time.days.to_le_bytes());
    bytes[6..9].copy_from_slice(&[time.hours, time.minutes, time.seconds]);
    bytes[9..].copy_from_slice(&time.microseconds.to_le_bytes());
    out.extend_from_slice(&bytes[..=usize::from(length)]);
}

fn take_time(reader: &mut Reader<'_>) -> Result<Time, Error> {
    const WHAT: &str = "a time of a binary row";
    let length = reader.u8(WHAT)?;
    let mut time = Time::default();
    if !matches!(length, 0 | 8 | 12) {
        return Err(malformed("the length of a time in a binary row"));
    }
    if length >= 8 {
        time.negative = reader.u8(WHAT)? != 0;
        time.days = reader.u32(WHAT)?;
        [time.hours, time.minutes, time.seconds] = reader.array(WHAT)?;
    }
    if length == 12 {
        time.microseconds = reader.u32(WHAT)?;
    }
    Ok(time)
}
