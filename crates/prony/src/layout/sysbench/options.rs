//! The options of the built-in workloads: one table from which command-line flags, study keys and `prony list
//! workloads` are made, so that a name, its default and its help are written once.
//!
//! Names, meanings and defaults are those of sysbench 1.0.20 (`oltp_common.lua`), except for the
//! distribution, whose default is uniform: with what sysbench calls `special`, three of four statements hit
//! 77 rows of 10,000, which measures lock waits where a reader expects a data set.

use crate::{
    layout::{Error, Wanted, nearest, tpcc, tpch},
    quantity,
};
use load::spec::{Distribution, Distributions};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of value an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// A whole number, 0 or more.
    Count,
    /// A number with fraction.
    Number,
    /// On or off.
    Switch,
    /// A word.
    Word,
}

/// One option: what flags, study keys and lists say about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptionInfo {
    /// Its key, with `_`; a flag has `-` in its place.
    pub name: &'static str,
    /// Another name for the same, if it has one.
    pub alias: Option<&'static str>,
    /// Default, as it is written.
    pub default: String,
    /// What it does, one sentence.
    pub help: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// The words that it takes, if only certain ones.
    pub choices: &'static [&'static str],
}

/// Declares [`Options`] and everything that lists or sets its fields by name.
macro_rules! options {
    ($( #[doc = $help:literal] $name:ident $(/ $alias:ident)? : $type:ty = $default:expr; )*) => {
        /// How a built-in workload is shaped, and which data it needs. See [`Options::table`] for the
        /// defaults.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Options {
            $( #[doc = $help] pub $name: $type, )*
        }

        impl Default for Options {
            fn default() -> Self {
                Self { $( $name: $default, )* }
            }
        }

        impl Options {
            /// Every option, in the order in which they are best listed.
            #[must_use]
            pub fn table() -> Vec<OptionInfo> {
                let default = Self::default();
                vec![$( OptionInfo {
                    name: stringify!($name),
                    alias: [$( stringify!($alias) )?].first().copied(),
                    default: default.$name.to_string(),
                    help: $help.trim_ascii(),
                    kind: <$type as Value>::KIND,
                    choices: <$type as Value>::CHOICES,
                }, )*]
            }

            /// Sets an option from its name (`-` and `_` are the same) and its text.
            ///
            /// # Errors
            /// [`Error::UnknownOption`] or [`Error::WrongValue`].
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), Error> {
                let key = name.replace('-', "_");
                match key.as_str() {
                    $( stringify!($name) $(| stringify!($alias))? => {
                        self.$name = Value::parse(text).map_err(|wanted| Error::WrongValue {
                            option: stringify!($name).to_owned(),
                            value: text.to_owned(),
                            wanted,
                        })?;
                    } )*
                    _ => {
                        let names = [$( stringify!($name), $( stringify!($alias), )? )*];
                        return Err(Error::UnknownOption {
                            nearest: nearest(&key, names.into_iter()),
                            name: name.to_owned(),
                        });
                    }
                }
                Ok(())
            }
        }
    };
}

options! {
    /// Number of tables.
    tables: u32 = 1;
    /// Rows in each table.
    table_size / rows: u64 = 10_000;
    /// Point selects in a transaction.
    point_selects: u32 = 10;
    /// Range selects in a transaction.
    simple_ranges: u32 = 1;
    /// Range selects with SUM() in a transaction.
    sum_ranges: u32 = 1;
    /// Range selects with ORDER BY in a transaction.
    order_ranges: u32 = 1;
    /// Range selects with DISTINCT in a transaction.
    distinct_ranges: u32 = 1;
    /// Whether there are range selects at all, of any of the four kinds.
    range_selects: bool = true;
    /// Rows that a range select covers.
    range_size: u32 = 100;
    /// Updates of the indexed column in a transaction.
    index_updates: u32 = 1;
    /// Updates of a column without index in a transaction.
    non_index_updates: u32 = 1;
    /// Pairs of DELETE and INSERT of the same row in a transaction.
    delete_inserts: u32 = 1;
    /// Leave BEGIN and COMMIT out: every statement commits by itself.
    skip_trx: bool = false;
    /// Number the rows by AUTO_INCREMENT; off: the client gives every id.
    auto_inc: bool = true;
    /// Make `id` a secondary index instead of the primary key.
    secondary: bool = false;
    /// Make the secondary index on `k`.
    create_secondary: bool = true;
    /// Storage engine of the tables.
    engine / mysql_storage_engine: String = "innodb".to_owned();
    /// Values in the IN list of select_random_points.
    random_points: u32 = 10;
    /// Ranges that select_random_ranges counts.
    number_of_ranges: u32 = 10;
    /// Width of each range of select_random_ranges.
    delta: u32 = 5;
    /// How ids are distributed over the rows: uniform, gaussian, special, pareto, zipfian, latest.
    random / rand_type: Random = Random::Uniform;
    /// Uniform numbers that are averaged into one of gaussian, or of special outside its hot set.
    random_iterations / rand_spec_iter: u32 = Distributions::SYSBENCH.iterations;
    /// Size of special's hot set, per cent of the rows.
    random_hot_set / rand_spec_pct: u32 = Distributions::SYSBENCH.hot_set_percent;
    /// Share of the draws that hit special's hot set, per cent.
    random_hot_draws / rand_spec_res: u32 = Distributions::SYSBENCH.hot_draws_percent;
    /// Pareto: a share 1 - h of the draws hits the first h of the rows.
    random_pareto_h / rand_pareto_h: f64 = Distributions::SYSBENCH.h;
    /// Exponent of zipfian and latest.
    random_zipfian_exponent / rand_zipfian_exp: f64 = Distributions::SYSBENCH.exponent;
    /// Warehouses of the TPC-C-like workloads.
    warehouses: u32 = 1;
    /// Make the transactions of the TPC-C-like workloads stored procedures, and call them.
    procedures: bool = false;
    /// Scale factor of the TPC-H-like workload.
    scale_factor: f64 = 0.01;
    /// Query stream of the TPC-H-like workload: 0 is the power run's, the others are the throughput run's.
    query_stream: u32 = 0;
    /// Time after which the server gives up a query of the TPC-H-like workload, seconds; 0: never.
    query_limit: u32 = 600;
}

impl Options {
    /// The distribution that the `random...` options describe.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let all = Distributions {
            iterations: self.random_iterations,
            hot_set_percent: self.random_hot_set,
            hot_draws_percent: self.random_hot_draws,
            h: self.random_pareto_h,
            exponent: self.random_zipfian_exponent,
        };
        all.named(self.random.name()).unwrap_or_default()
    }

    /// Whether the values make sense together.
    ///
    /// # Errors
    /// [`Error::WrongValue`].
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |option: &str, value: String, wanted: Wanted| {
            Err(Error::WrongValue { option: option.to_owned(), value, wanted })
        };
        if self.tables == 0 {
            return wrong("tables", "0".to_owned(), Wanted::AtLeastOne);
        }
        if self.table_size == 0 || self.table_size > MAX_ROWS {
            return wrong("table_size", self.table_size.to_string(), Wanted::Within(1, MAX_ROWS));
        }
        let counts = [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
            ("random_points", self.random_points),
            ("number_of_ranges", self.number_of_ranges),
        ];
        if let Some((option, count)) = counts.into_iter().find(|(_, count)| *count > MAX_STATEMENTS) {
            return wrong(option, count.to_string(), Wanted::Within(0, MAX_STATEMENTS.into()));
        }
        if !(1..=tpcc::WAREHOUSES_MAX).contains(&self.warehouses) {
            return wrong(
                "warehouses",
                self.warehouses.to_string(),
                Wanted::Within(1, tpcc::WAREHOUSES_MAX.into()),
            );
        }
        if !(tpch::SCALE_FACTOR_MIN..=tpch::SCALE_FACTOR_MAX).contains(&self.scale_factor) {
            return wrong("scale_factor", self.scale_factor.to_string(), Wanted::ScaleFactor);
        }
        if self.query_stream > tpch::STREAM_MAX {
            let wanted = Wanted::Within(0, tpch::STREAM_MAX.into());
            return wrong("query_stream", self.query_stream.to_string(), wanted);
        }
        if self.range_size == 0 {
            return wrong("range_size", "0".to_owned(), Wanted::AtLeastOne);
        }
        if self.engine.is_empty() || !self.engine.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return wrong("engine", self.engine.clone(), Wanted::Engine);
        }
        if self.random_iterations == 0 {
            return wrong("random_iterations", "0".to_owned(), Wanted::AtLeastOne);
        }
        if self.random_hot_set > 100 {
            return wrong("random_hot_set", self.random_hot_set.to_string(), Wanted::Within(0, 100));
        }
        if self.random_hot_draws > 99 {
            return wrong("random_hot_draws", self.random_hot_draws.to_string(), Wanted::Within(0, 99));
        }
        if !(self.random_pareto_h > 0.0 && self.random_pareto_h < 1.0) {
            return wrong("random_pareto_h", self.random_pareto_h.to_string(), Wanted::Share);
        }
        if !(self.random_zipfian_exponent > 0.0 && self.random_zipfian_exponent.is_finite()) {
            let value = self.random_zipfian_exponent.to_string();
            return wrong("random_zipfian_exponent", value, Wanted::AboveZero);
        }
        Ok(())
    }
}

/// Highest number of rows: ids are INTEGER.
const MAX_ROWS: u64 = i32::MAX as u64;

/// Most statements of one kind in a transaction: what a prepared statement can have of parameters (65,535)
/// and a transaction of slots is above anything made from this.
const MAX_STATEMENTS: u32 = 10_000;

/// Names of the distributions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Random {
    /// [`Distribution::Uniform`].
    #[default]
    Uniform,
    /// [`Distribution::Gaussian`].
    Gaussian,
    /// [`Distribution::Special`].
    Special,
    /// [`Distribution::Pareto`].
    Pareto,
    /// [`Distribution::Zipfian`].
    Zipfian,
    /// [`Distribution::Latest`].
    Latest,
}

impl Random {
    fn name(self) -> &'static str {
        Distributions::NAMES[self as usize]
    }
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of option value, and how it is read from text.
trait Value: Sized {
    const KIND: OptionKind;
    const CHOICES: &'static [&'static str] = &[];
    fn parse(text: &str) -> Result<Self, Wanted>;
}

impl Value for u64 {
    const KIND: OptionKind = OptionKind::Count;
    fn parse(text: &str) -> Result<Self, Wanted> {
        quantity::count(text).map_err(|_| Wanted::Whole)
    }
}

impl Value for u32 {
    const KIND: OptionKind = OptionKind::Count;
    fn parse(text: &str) -> Result<Self, Wanted> {
        Self::try_from(u64::parse(text)?).map_err(|_| Wanted::WholeUpTo(Self::MAX))
    }
}

impl Value for f64 {
    const KIND: OptionKind = OptionKind::Number;
    fn parse(text: &str) -> Result<Self, Wanted> {
        text.trim().parse().map_err(|_| Wanted::Number)
    }
}

impl Value for bool {
    const KIND: OptionKind = OptionKind::Switch;
    const CHOICES: &'static [&'static str] = &["on", "off", "true", "false"];
    fn parse(text: &str) -> Result<Self, Wanted> {
        match text.trim() {
            "on" | "true" | "1" => Ok(true),
            "off" | "false" | "0" => Ok(false),
            _ => Err(Wanted::Switch),
        }
    }
}

impl Value for String {
    const KIND: OptionKind = OptionKind::Word;
    fn parse(text: &str) -> Result<Self, Wanted> {
        Ok(text.trim().to_owned())
    }
}

impl Value for Random {
    const KIND: OptionKind = OptionKind::Word;
    const CHOICES: &'static [&'static str] = &Distributions::NAMES;
    fn parse(text: &str) -> Result<Self, Wanted> {
        let all = [Self::Uniform, Self::Gaussian, Self::Special, Self::Pareto, Self::Zipfian, Self::Latest];
        all.into_iter().find(|one| one.name() == text.trim()).ok_or(Wanted::OneOf(Self::CHOICES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_table_can_be_set_to_its_own_default() {
        let mut options = Options::default();
        for info in Options::table() {
            options.set(info.name, &info.default).expect(info.name);
            if let Some(alias) = info.alias {
                options.set(&alias.replace('_', "-"), &info.default).expect(alias);
            }
            assert!(info.help.ends_with('.'), "{}", info.help);
        }
        assert_eq!(options, Options::default());
    }

    #[test]
    fn values_are_read_as_sysbench_reads_them() {
        let mut options = Options::default();
        options.set("rows", "1_000_000").unwrap();
        options.set("range-size", "1K").unwrap();
        options.set("skip_trx", "on").unwrap();
        options.set("rand-type", "pareto").unwrap();
        assert_eq!((options.table_size, options.range_size, options.skip_trx), (1_000_000, 1024, true));
        assert_eq!(options.distribution(), Distribution::Pareto { h: 0.2 });
    }

    #[test]
    fn mistakes_name_the_nearest_option_and_what_is_wanted() {
        let mut options = Options::default();
        let error = options.set("range_sise", "5").unwrap_err().to_string();
        assert!(error.contains("`range_size`"), "{error}");
        let error = options.set("tables", "many").unwrap_err().to_string();
        assert!(error.contains("whole number"), "{error}");
        let error = options.set("random", "normal").unwrap_err().to_string();
        assert!(error.contains("gaussian"), "{error}");
        options.tables = 0;
        assert!(options.check().unwrap_err().to_string().contains("1 or more"));
    }
}
