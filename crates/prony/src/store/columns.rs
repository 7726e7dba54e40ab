//! Many rows of the same shape, kept by column: one second of a trial is much like the one before it, so the
//! differences of each figure take a byte or two, while whole seconds as JSON take thousands.
//!
//! Any value that serde can write may be a row. Whole numbers and texts come back as they were; numbers with
//! a fraction are rounded to [`DIGITS`] significant decimal digits. It knows neither what the rows mean nor
//! any file.
//!
//! Layout: the number of rows, then one node for the row itself. A node has a tag for every row ([`Tag`]),
//! then the values of the rows that have one: whole numbers as differences, numbers with a fraction as
//! differences in units of one power of ten, texts as numbers of a dictionary; then a node for every field
//! that occurs, and one for every place of a list. Numbers are LEB128, signed ones zig-zag. Whoever keeps the
//! bytes compresses them.
//!
//! Why not Parquet, which `export` writes: of a run of 110 trials the readings take 0.67 MB here and 1.54 MB
//! as one Parquet file (Snappy; deflated once more 1.36 MB), seconds with statements and histograms 1.14 MB
//! and 4.46 MB (3.83 MB). A report, which reads the run, takes 0.09 s of processor time; writing its Parquet
//! files takes 0.84 s. And a trial is kept when it ends: each would be files of its own.

mod read;
mod write;

pub(super) use read::{read, read_beside};
pub(super) use write::write;

/// Significant decimal digits of numbers with a fraction: more than any figure of a machine has.
const DIGITS: usize = 5;

/// What one row has at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Absent,
    Null,
    False,
    True,
    /// A whole number from 0.
    Natural,
    /// A whole number below 0.
    Negative,
    Fraction,
    Text,
    List,
    Fields,
}

impl Tag {
    const ALL: [Self; 10] = [
        Self::Absent,
        Self::Null,
        Self::False,
        Self::True,
        Self::Natural,
        Self::Negative,
        Self::Fraction,
        Self::Text,
        Self::List,
        Self::Fields,
    ];
}

/// 10 to the power of `exponent`, exact for the exponents that occur in practice (up to 22).
fn power_of_ten(exponent: u32) -> f64 {
    10_f64.powi(exponent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn again(rows: &[Value]) -> Vec<Value> {
        read(&write(rows)).expect("own bytes")
    }

    #[test]
    fn rows_of_any_shape_come_back() {
        let rows = [
            json!({"at": {"secs": 1, "nanos": 1_000_123}, "cpu": 0.4, "memory": 412 << 20, "phase": "warm_up",
                   "none": null}),
            json!({"at": {"secs": 2, "nanos": 998_877}, "cpu": 1.25, "memory": 411 << 20, "phase": "measure",
                   "more": {}}),
            json!({"at": {"secs": 3, "nanos": 0}, "cpu": 0.0, "list": [1, -5, "x", [true, false], {"a": []}],
                   "phase": "measure"}),
            json!([]),
            json!({"memory": u64::MAX, "other": i64::MIN, "cpu": 24.0, "phase": "ü"}),
            json!("text"),
            json!(-0.001),
        ];
        assert_eq!(again(&rows), rows);
        assert_eq!(again(&[]), Vec::<Value>::new());
    }

    #[test]
    fn fractions_keep_five_digits_at_any_size() {
        let numbers =
            [1.0 / 3.0, 1e-12 / 7.0, 7e20 / 9.0, -123_456.7, 1.0 / 3e-300, f64::MIN_POSITIVE, 0.1 + 0.2];
        for rows in [numbers.map(|number| json!(number)).to_vec(), vec![json!(1.0 / 3.0), json!(99_999.96)]] {
            for (read, was) in again(&rows).iter().zip(&rows) {
                let (read, was) = (read.as_f64().unwrap(), was.as_f64().unwrap());
                assert!((read - was).abs() <= 0.6e-4 * was.abs(), "{read} {was}");
            }
        }
    }

    #[test]
    fn a_hundred_noisy_rates_a_second_take_little() {
        let noise = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
        let rows: Vec<Value> = (0..70)
            .map(|second| {
                let rate = |n: u64| 40_000.0 / (n + 1) as f64 * (1.0 + 0.1 * noise(second * 100 + n));
                (0..100)
                    .map(|n| (format!("rate_{n}"), json!(rate(n))))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            })
            .collect();
        let bytes = write(&rows).len();
        assert!(bytes < 16_000, "{bytes}");
    }

    #[test]
    fn few_bytes_are_not_many_rows_or_values() {
        let with_rows = |bytes: &[u8], rows: u32| {
            let mut number = Vec::new();
            let mut rest = rows;
            while rest >= 0x80 {
                number.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            number.push(rest as u8);
            assert_eq!(bytes[0], 1, "it has one row");
            [&number, &bytes[1..]].concat()
        };
        let one = write(&[Value::Null]);
        assert_eq!(read::<Value>(&with_rows(&one, 1)).expect("a row"), [Value::Null]);
        assert!(read::<Value>(&with_rows(&one, 1_000_000)).is_err(), "a million rows of {} bytes", one.len());
        let wide = write(&[json!(vec![true; 5000])]);
        assert!(read::<Value>(&with_rows(&wide, 1)).is_ok());
        assert!(read::<Value>(&with_rows(&wide, 5000)).is_err(), "25 million values of {} bytes", wide.len());
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(place in 0..400_usize, byte: u8, cut in 0..100_usize) {
            let row = |n: u64| {
                let even = n.is_multiple_of(2);
                json!({"a": n * n, "b": n as f64 / 7.0, "c": ["x", n.to_string()], "d": {"e": even}})
            };
            let mut bytes = write(&(0..20).map(row).collect::<Vec<_>>());
            if let Some(target) = bytes.get_mut(place) {
                *target = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = read::<Value>(&bytes);
        }
    }
}
