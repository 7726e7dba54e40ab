//! Tables and queries like those of TPC-H (specification 3.0.1): eight tables at any scale factor, with the
//! contents that the TPC's generator dbgen makes, and 22 queries whose answers at scale factor 1 the
//! specification tells. Only this folder knows these names.
//!
//! It is no audited benchmark: results are called TPC-H-like. There are no refresh functions, and no QphH is
//! computed. Keys and the indexes of foreign keys are made, which the specification permits (1.4.2, 1.5.4),
//! but no foreign keys are declared.

mod parameters;
mod queries;
mod rows;
mod workloads;

pub use workloads::{BUILTINS, NAME, STREAM_MAX, workload};

use super::{Column, Index, Layout, Scan, Sent, Table, Undrawn, engine_words};
use crate::language::{Language, say};
use load::spec::{Distribution, Draw};
use rows::{Contents, Holds, Kind, Text as Words};
use serde::{Deserialize, Serialize};

/// Orders at scale factor 1.
const ORDERS: u64 = 1_500_000;
/// The lowest scale factor: the one with 100 suppliers.
pub const SCALE_FACTOR_MIN: f64 = 0.01;
/// The highest scale factor: about 1.3 TB.
pub const SCALE_FACTOR_MAX: f64 = 1_000.0;

/// A data set of a scale factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Scale factor: 1 is about 1 GB of text; 0: nothing is to be made.
    pub scale_factor: f64,
    /// Storage engine; `None`: the server's default.
    pub engine: Option<String>,
}

/// A column: name, type, and how it is sent.
type Shape = (&'static str, &'static str, Sent);

/// What the tables are made of.
struct Form {
    name: &'static str,
    kind: Kind,
    /// Numbers of rows at scale factor 1, or at any where it has the same rows at all of them.
    numbers: u64,
    columns: &'static [Shape],
    /// Columns of the primary key.
    key: &'static str,
    /// The row's number as SQL.
    number: &'static str,
    /// Names and columns of the secondary indexes.
    indexes: &'static [(&'static str, &'static [&'static str])],
    /// What a row and its entries in indexes take on disk, about.
    row_bytes: u64,
}

const KEY: &str = "INT NOT NULL";
const LONG_KEY: &str = "BIGINT NOT NULL";
const MONEY: &str = "DECIMAL(15,2) NOT NULL";
const DATE: &str = "DATE NOT NULL";
const FLAG: &str = "CHAR(1) NOT NULL";
const NAME_25: &str = "CHAR(25) NOT NULL";
const PHONE: &str = "CHAR(15) NOT NULL";
const COMMENT_44: &str = "VARCHAR(44) NOT NULL";
const COMMENT_152: &str = "VARCHAR(152) NOT NULL";

use Sent::{BigInt, Int, Text};

/// The largest table first, so that connections that load end at about the same time.
static FORMS: [Form; 8] = [
    Form {
        name: "lineitem",
        kind: Kind::Line,
        numbers: ORDERS,
        columns: &[
            ("l_orderkey", LONG_KEY, BigInt),
            ("l_partkey", KEY, Int),
            ("l_suppkey", KEY, Int),
            ("l_linenumber", KEY, Int),
            ("l_quantity", MONEY, Text),
            ("l_extendedprice", MONEY, Text),
            ("l_discount", MONEY, Text),
            ("l_tax", MONEY, Text),
            ("l_returnflag", FLAG, Text),
            ("l_linestatus", FLAG, Text),
            ("l_shipdate", DATE, Text),
            ("l_commitdate", DATE, Text),
            ("l_receiptdate", DATE, Text),
            ("l_shipinstruct", NAME_25, Text),
            ("l_shipmode", "CHAR(10) NOT NULL", Text),
            ("l_comment", COMMENT_44, Text),
        ],
        key: "l_orderkey, l_linenumber",
        number: "(l_orderkey DIV 32 * 8 + l_orderkey MOD 8)",
        indexes: &[("lineitem_partsupp", &["l_partkey", "l_suppkey"]), ("lineitem_supplier", &["l_suppkey"])],
        row_bytes: 210,
    },
    Form {
        name: "orders",
        kind: Kind::Order,
        numbers: ORDERS,
        columns: &[
            ("o_orderkey", LONG_KEY, BigInt),
            ("o_custkey", KEY, Int),
            ("o_orderstatus", FLAG, Text),
            ("o_totalprice", MONEY, Text),
            ("o_orderdate", DATE, Text),
            ("o_orderpriority", PHONE, Text),
            ("o_clerk", PHONE, Text),
            ("o_shippriority", KEY, Int),
            ("o_comment", "VARCHAR(79) NOT NULL", Text),
        ],
        key: "o_orderkey",
        number: "(o_orderkey DIV 32 * 8 + o_orderkey MOD 8)",
        indexes: &[("orders_customer", &["o_custkey"])],
        row_bytes: 162,
    },
    Form {
        name: "partsupp",
        kind: Kind::PartSupplier,
        numbers: 200_000,
        columns: &[
            ("ps_partkey", KEY, Int),
            ("ps_suppkey", KEY, Int),
            ("ps_availqty", KEY, Int),
            ("ps_supplycost", MONEY, Text),
            ("ps_comment", "VARCHAR(199) NOT NULL", Text),
        ],
        key: "ps_partkey, ps_suppkey",
        number: "ps_partkey",
        indexes: &[("partsupp_supplier", &["ps_suppkey"])],
        row_bytes: 270,
    },
    Form {
        name: "part",
        kind: Kind::Part,
        numbers: 200_000,
        columns: &[
            ("p_partkey", KEY, Int),
            ("p_name", "VARCHAR(55) NOT NULL", Text),
            ("p_mfgr", NAME_25, Text),
            ("p_brand", "CHAR(10) NOT NULL", Text),
            ("p_type", "VARCHAR(25) NOT NULL", Text),
            ("p_size", KEY, Int),
            ("p_container", "CHAR(10) NOT NULL", Text),
            ("p_retailprice", MONEY, Text),
            ("p_comment", "VARCHAR(23) NOT NULL", Text),
        ],
        key: "p_partkey",
        number: "p_partkey",
        indexes: &[],
        row_bytes: 205,
    },
    Form {
        name: "customer",
        kind: Kind::Customer,
        numbers: 150_000,
        columns: &[
            ("c_custkey", KEY, Int),
            ("c_name", "VARCHAR(25) NOT NULL", Text),
            ("c_address", "VARCHAR(40) NOT NULL", Text),
            ("c_nationkey", KEY, Int),
            ("c_phone", PHONE, Text),
            ("c_acctbal", MONEY, Text),
            ("c_mktsegment", "CHAR(10) NOT NULL", Text),
            ("c_comment", "VARCHAR(117) NOT NULL", Text),
        ],
        key: "c_custkey",
        number: "c_custkey",
        indexes: &[("customer_nation", &["c_nationkey"])],
        row_bytes: 260,
    },
    Form {
        name: "supplier",
        kind: Kind::Supplier,
        numbers: 10_000,
        columns: &[
            ("s_suppkey", KEY, Int),
            ("s_name", NAME_25, Text),
            ("s_address", "VARCHAR(40) NOT NULL", Text),
            ("s_nationkey", KEY, Int),
            ("s_phone", PHONE, Text),
            ("s_acctbal", MONEY, Text),
            ("s_comment", "VARCHAR(101) NOT NULL", Text),
        ],
        key: "s_suppkey",
        number: "s_suppkey",
        indexes: &[("supplier_nation", &["s_nationkey"])],
        row_bytes: 400,
    },
    Form {
        name: "nation",
        kind: Kind::Nation,
        numbers: 25,
        columns: &[
            ("n_nationkey", KEY, Int),
            ("n_name", NAME_25, Text),
            ("n_regionkey", KEY, Int),
            ("n_comment", COMMENT_152, Text),
        ],
        key: "n_nationkey",
        number: "(n_nationkey + 1)",
        indexes: &[("nation_region", &["n_regionkey"])],
        row_bytes: 650,
    },
    Form {
        name: "region",
        kind: Kind::Region,
        numbers: 5,
        columns: &[("r_regionkey", KEY, Int), ("r_name", NAME_25, Text), ("r_comment", COMMENT_152, Text)],
        key: "r_regionkey",
        number: "(r_regionkey + 1)",
        indexes: &[],
        row_bytes: 3_300,
    },
];

impl Form {
    /// The highest number of its rows.
    fn last(&self, scale_factor: f64) -> u64 {
        match self.kind {
            Kind::Nation | Kind::Region => self.numbers,
            // as dbgen rounds
            _ => (self.numbers as f64 * scale_factor) as u64,
        }
    }

    fn rows(&self, scale_factor: f64) -> u64 {
        rows::rows(self.kind, self.last(scale_factor))
    }

    fn definition(&self) -> String {
        let column = |(name, kind, _): &Shape| format!("{name} {kind}");
        let key = [format!("PRIMARY KEY ({})", self.key)];
        self.columns.iter().map(column).chain(key).collect::<Vec<_>>().join(", ")
    }

    /// The lowest and the highest value of the first column of the key.
    fn keys(&self, scale_factor: f64) -> (i64, i64) {
        let last = self.last(scale_factor) as i64;
        match self.kind {
            Kind::Nation | Kind::Region => (0, last - 1),
            // three bits of an order's number, then two that are 0, then the others
            Kind::Order | Kind::Line => (1, (last / 8 * 32) + last % 8),
            _ => (1, last),
        }
    }

    /// The rows in the order of the key, then the indexes by themselves.
    fn scans(&self, scale_factor: f64) -> Vec<Scan> {
        let (first, last) = self.keys(scale_factor);
        let by = Some((self.columns[0].0.to_owned(), first, last));
        let beside = self.columns.last().map_or("", |(name, ..)| name);
        let rows = Scan { index: Some("PRIMARY".to_owned()), by, condition: format!("{beside} IS NULL") };
        let of_index = |(name, _): &(&str, _)| Scan {
            index: Some((*name).to_owned()),
            by: None,
            condition: String::new(),
        };
        [rows].into_iter().chain(self.indexes.iter().map(of_index)).collect()
    }
}

impl Data {
    fn table(&self, form: &'static Form) -> Table {
        let Self { scale_factor, engine } = self;
        let engine_name = engine.as_deref().unwrap_or("default").to_ascii_lowercase();
        let column = |(name, _, sent): &Shape| Column { name: (*name).to_owned(), sent: *sent };
        let index = |(name, columns): &(&str, &[&str])| Index {
            name: (*name).to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        };
        Table {
            name: form.name.to_owned(),
            rows: form.rows(*scale_factor),
            columns: form.columns.iter().map(column).collect(),
            definition: form.definition(),
            engine: engine.clone(),
            number: form.number.to_owned(),
            indexes: form.indexes.iter().map(index).collect(),
            has_statistics: true,
            scans: form.scans(*scale_factor),
            identity: format!("tpch table={} scale={scale_factor} engine={engine_name}", form.name),
            charset: "latin1",
            row_bytes: form.row_bytes,
            contents: Box::new(Contents {
                kind: form.kind,
                scale_factor: *scale_factor,
                last: form.last(*scale_factor),
                columns: form.columns.iter().map(holds).collect(),
                text: Words::default(),
            }),
        }
    }

    fn forms(&self) -> impl Iterator<Item = &'static Form> {
        let is_any = self.scale_factor > 0.0;
        FORMS.iter().filter(move |_| is_any)
    }
}

fn holds((_, kind, sent): &Shape) -> Holds {
    match (*sent, *kind) {
        (_, MONEY) => Holds::Money,
        (Text, _) => Holds::Text,
        (Int | BigInt, _) => Holds::Number,
    }
}

fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name.eq_ignore_ascii_case(name))
}

impl Layout for Data {
    fn tables(&self) -> Vec<Table> {
        self.forms().map(|form| self.table(form)).collect()
    }

    fn about(&self, language: Language) -> String {
        let engine = engine_words(self.engine.as_deref(), language);
        let factor = self.scale_factor;
        say!(language, "scale factor {factor}, TPC-H-like, {engine}", "规模因子 {factor}，类 TPC-H，{engine}")
    }

    fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    fn has_table(&self, name: &str) -> bool {
        self.scale_factor > 0.0 && form(name).is_some()
    }

    fn table_names(&self) -> Vec<String> {
        self.forms().map(|form| form.name.to_owned()).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        form(table).map(|form| form.columns.iter().map(|(name, ..)| (*name).to_owned()).collect())
    }

    /// Keys of one column; those of orders have gaps, so they cannot be drawn.
    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let columns = self.columns(table).ok_or(Undrawn::NoTable)?;
        let column = column.to_ascii_lowercase();
        if !columns.contains(&column) {
            return Err(Undrawn::NoColumn(columns));
        }
        let of = match column.split_once('_').map(|(_, name)| name) {
            Some("partkey") => "part",
            Some("suppkey") => "supplier",
            Some("custkey") => "customer",
            Some("nationkey") => "nation",
            Some("regionkey") => "region",
            _ => return Err(Undrawn::Contents),
        };
        let (min, max) = form(of).map_or((1, 1), |form| form.keys(self.scale_factor));
        Ok(Draw::Integer { min, max: max.max(min), distribution })
    }

    fn rows(&self) -> u64 {
        self.forms().map(|form| form.rows(self.scale_factor)).sum()
    }

    fn size_bytes(&self) -> u64 {
        self.forms().map(|form| form.rows(self.scale_factor) * form.row_bytes).sum()
    }
}

#[cfg(test)]
mod tests;
