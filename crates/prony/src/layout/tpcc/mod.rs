//! Tables and workloads like those of TPC-C (specification 5.11): nine tables for any number of warehouses,
//! five transactions, and the conditions that the data keep. Only this folder knows these names.
//!
//! Written after the specification, but no audited benchmark: its results are called TPC-C-like. It differs
//! on purpose: rows are a function of the seed (so dates are fixed, and the numbers of lines of two
//! successive orders add up to 20, each being uniform from 5 to 15); there are no foreign keys; deliveries
//! run while the terminal waits.

mod calls;
mod conditions;
mod procedures;
mod rows;
mod workloads;

pub use procedures::written_by;
pub use workloads::{BUILTINS, LIMITS, Limits, NAME, waits, workload};

use super::{Column, Condition, Index, Layout, Routine, Scan, Sent, Table, Undrawn, engine_words};
use crate::{
    language::{Language, say},
    quantity::show_count,
};
use load::spec::{Distribution, Draw};
use rows::{Contents, Kind};
use serde::{Deserialize, Serialize};

/// Districts of a warehouse, and terminals at it.
pub const DISTRICTS: u64 = 10;
/// Customers of a district, and orders that it begins with.
const CUSTOMERS: u64 = 3_000;
/// Orders of a district that are not delivered at first.
const UNDELIVERED: u64 = 900;
/// Lines of a district's first orders.
const LINES: u64 = CUSTOMERS * 10;
/// Items, and kinds of stock in each warehouse.
const ITEMS: u64 = 100_000;
/// Most warehouses: what SMALLINT numbers, rounded down.
pub const WAREHOUSES_MAX: u32 = 10_000;
/// The highest tpmC that one warehouse's terminals can reach with the required keying and think times.
pub const TPMC_MAX: f64 = 12.86;

/// A data set of a number of warehouses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Number of warehouses; 0: nothing is to be made.
    pub warehouses: u32,
    /// Storage engine; `None`: the server's default.
    pub engine: Option<String>,
    /// Seed of the contents.
    pub seed: u64,
    /// Whether the transactions are stored procedures.
    #[serde(default, skip_serializing_if = "is_false")]
    pub procedures: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A column: name, type, and how it is sent.
type Shape = (&'static str, &'static str, Sent);

/// What the tables are made of.
struct Form {
    name: &'static str,
    kind: Kind,
    /// Rows for each warehouse; of items, for all of them.
    rows: u64,
    columns: &'static [Shape],
    /// Columns of the primary key; empty: it has none.
    key: &'static str,
    /// The row's number as SQL.
    number: &'static str,
    /// Name and columns of a secondary index.
    index: Option<(&'static str, &'static [&'static str])>,
    /// A column that no index holds.
    beside: &'static str,
    /// What a row takes on disk, about.
    row_bytes: u64,
}

const ID: &str = "SMALLINT NOT NULL";
const SMALL: &str = "TINYINT NOT NULL";
const NUMBER: &str = "INT NOT NULL";
const MONEY: &str = "DECIMAL(12,2) NOT NULL";
const RATE: &str = "DECIMAL(4,4) NOT NULL";
const TIME: &str = "DATETIME NOT NULL";
const UP_TO_20: &str = "VARCHAR(20) NOT NULL";
const STATE: &str = "CHAR(2) NOT NULL";
const ZIP: &str = "CHAR(9) NOT NULL";
const DIST: &str = "CHAR(24) NOT NULL";

use Sent::{Int, Text};

static FORMS: [Form; 9] = [
    Form {
        name: "warehouse",
        kind: Kind::Warehouse,
        rows: 1,
        columns: &[
            ("w_id", ID, Int),
            ("w_name", "VARCHAR(10) NOT NULL", Text),
            ("w_street_1", UP_TO_20, Text),
            ("w_street_2", UP_TO_20, Text),
            ("w_city", UP_TO_20, Text),
            ("w_state", STATE, Text),
            ("w_zip", ZIP, Text),
            ("w_tax", RATE, Text),
            ("w_ytd", MONEY, Text),
        ],
        key: "w_id",
        number: "w_id",
        index: None,
        beside: "w_name",
        row_bytes: 130,
    },
    Form {
        name: "district",
        kind: Kind::District,
        rows: DISTRICTS,
        columns: &[
            ("d_w_id", ID, Int),
            ("d_id", SMALL, Int),
            ("d_name", "VARCHAR(10) NOT NULL", Text),
            ("d_street_1", UP_TO_20, Text),
            ("d_street_2", UP_TO_20, Text),
            ("d_city", UP_TO_20, Text),
            ("d_state", STATE, Text),
            ("d_zip", ZIP, Text),
            ("d_tax", RATE, Text),
            ("d_ytd", MONEY, Text),
            ("d_next_o_id", NUMBER, Int),
        ],
        key: "d_w_id, d_id",
        number: "((d_w_id - 1) * 10 + d_id)",
        index: None,
        beside: "d_name",
        row_bytes: 135,
    },
    Form {
        name: "customer",
        kind: Kind::Customer,
        rows: DISTRICTS * CUSTOMERS,
        columns: &[
            ("c_w_id", ID, Int),
            ("c_d_id", SMALL, Int),
            ("c_id", NUMBER, Int),
            ("c_first", "VARCHAR(16) NOT NULL", Text),
            ("c_middle", STATE, Text),
            ("c_last", "VARCHAR(16) NOT NULL", Text),
            ("c_street_1", UP_TO_20, Text),
            ("c_street_2", UP_TO_20, Text),
            ("c_city", UP_TO_20, Text),
            ("c_state", STATE, Text),
            ("c_zip", ZIP, Text),
            ("c_phone", "CHAR(16) NOT NULL", Text),
            ("c_since", TIME, Text),
            ("c_credit", STATE, Text),
            ("c_credit_lim", MONEY, Text),
            ("c_discount", RATE, Text),
            ("c_balance", MONEY, Text),
            ("c_ytd_payment", MONEY, Text),
            ("c_payment_cnt", NUMBER, Int),
            ("c_delivery_cnt", NUMBER, Int),
            ("c_data", "VARCHAR(500) NOT NULL", Text),
        ],
        key: "c_w_id, c_d_id, c_id",
        number: "(((c_w_id - 1) * 10 + c_d_id - 1) * 3000 + c_id)",
        index: Some(("customer_name", &["c_w_id", "c_d_id", "c_last", "c_first"])),
        beside: "c_data",
        row_bytes: 680,
    },
    Form {
        name: "history",
        kind: Kind::History,
        rows: DISTRICTS * CUSTOMERS,
        columns: &[
            ("h_c_id", NUMBER, Int),
            ("h_c_d_id", SMALL, Int),
            ("h_c_w_id", ID, Int),
            ("h_d_id", SMALL, Int),
            ("h_w_id", ID, Int),
            ("h_date", TIME, Text),
            ("h_amount", "DECIMAL(6,2) NOT NULL", Text),
            ("h_data", "VARCHAR(24) NOT NULL", Text),
        ],
        key: "",
        number: "(((h_c_w_id - 1) * 10 + h_c_d_id - 1) * 3000 + h_c_id)",
        index: None,
        beside: "h_data",
        row_bytes: 80,
    },
    Form {
        name: "orders",
        kind: Kind::Order,
        rows: DISTRICTS * CUSTOMERS,
        columns: &[
            ("o_w_id", ID, Int),
            ("o_d_id", SMALL, Int),
            ("o_id", NUMBER, Int),
            ("o_c_id", NUMBER, Int),
            ("o_entry_d", TIME, Text),
            ("o_carrier_id", "TINYINT", Int),
            ("o_ol_cnt", SMALL, Int),
            ("o_all_local", SMALL, Int),
        ],
        key: "o_w_id, o_d_id, o_id",
        number: "(((o_w_id - 1) * 10 + o_d_id - 1) * 3000 + o_id)",
        index: Some(("orders_customer", &["o_w_id", "o_d_id", "o_c_id", "o_id"])),
        beside: "o_entry_d",
        row_bytes: 75,
    },
    Form {
        name: "new_order",
        kind: Kind::NewOrder,
        rows: DISTRICTS * UNDELIVERED,
        columns: &[("no_w_id", ID, Int), ("no_d_id", SMALL, Int), ("no_o_id", NUMBER, Int)],
        key: "no_w_id, no_d_id, no_o_id",
        number: "(((no_w_id - 1) * 10 + no_d_id - 1) * 900 + no_o_id - 2100)",
        index: None,
        beside: "",
        row_bytes: 34,
    },
    Form {
        name: "order_line",
        kind: Kind::OrderLine,
        rows: DISTRICTS * LINES,
        columns: &[
            ("ol_w_id", ID, Int),
            ("ol_d_id", SMALL, Int),
            ("ol_o_id", NUMBER, Int),
            ("ol_number", SMALL, Int),
            ("ol_i_id", NUMBER, Int),
            ("ol_supply_w_id", ID, Int),
            ("ol_delivery_d", "DATETIME", Text),
            ("ol_quantity", SMALL, Int),
            ("ol_amount", "DECIMAL(6,2) NOT NULL", Text),
            ("ol_dist_info", DIST, Text),
        ],
        key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
        number: "(((ol_w_id - 1) * 10 + ol_d_id - 1) * 30000 + (ol_o_id - 1) DIV 2 * 20 + IF(ol_o_id MOD \
                 2 = 1, ol_number, 21 - ol_number))",
        index: None,
        beside: "ol_dist_info",
        row_bytes: 80,
    },
    Form {
        name: "item",
        kind: Kind::Item,
        rows: ITEMS,
        columns: &[
            ("i_id", NUMBER, Int),
            ("i_im_id", NUMBER, Int),
            ("i_name", "VARCHAR(24) NOT NULL", Text),
            ("i_price", "DECIMAL(5,2) NOT NULL", Text),
            ("i_data", "VARCHAR(50) NOT NULL", Text),
        ],
        key: "i_id",
        number: "i_id",
        index: None,
        beside: "i_data",
        row_bytes: 100,
    },
    Form {
        name: "stock",
        kind: Kind::Stock,
        rows: ITEMS,
        columns: &[
            ("s_w_id", ID, Int),
            ("s_i_id", NUMBER, Int),
            ("s_quantity", "SMALLINT NOT NULL", Int),
            ("s_dist_01", DIST, Text),
            ("s_dist_02", DIST, Text),
            ("s_dist_03", DIST, Text),
            ("s_dist_04", DIST, Text),
            ("s_dist_05", DIST, Text),
            ("s_dist_06", DIST, Text),
            ("s_dist_07", DIST, Text),
            ("s_dist_08", DIST, Text),
            ("s_dist_09", DIST, Text),
            ("s_dist_10", DIST, Text),
            ("s_ytd", "DECIMAL(8,0) NOT NULL", Text),
            ("s_order_cnt", NUMBER, Int),
            ("s_remote_cnt", NUMBER, Int),
            ("s_data", "VARCHAR(50) NOT NULL", Text),
        ],
        key: "s_w_id, s_i_id",
        number: "((s_w_id - 1) * 100000 + s_i_id)",
        index: None,
        beside: "s_data",
        row_bytes: 345,
    },
];

/// The largest table is loaded first, so that connections end at about the same time.
const ORDER: [usize; 9] = [6, 8, 2, 3, 4, 7, 5, 1, 0];

impl Form {
    fn rows(&self, warehouses: u32) -> u64 {
        let each = if self.kind == Kind::Item { 1 } else { u64::from(warehouses) };
        self.rows * each
    }

    fn definition(&self) -> String {
        let column = |(name, kind, _): &Shape| format!("{name} {kind}");
        let key = (!self.key.is_empty()).then(|| format!("PRIMARY KEY ({})", self.key));
        self.columns.iter().map(column).chain(key).collect::<Vec<_>>().join(", ")
    }

    /// The rows in the order of the key, then the index by itself; what has no key is never read.
    fn scans(&self, warehouses: u32) -> Vec<Scan> {
        if self.key.is_empty() {
            return Vec::new();
        }
        let column = self.columns[0].0.to_owned();
        let last = if self.kind == Kind::Item { ITEMS as i64 } else { i64::from(warehouses) };
        let condition =
            if self.beside.is_empty() { String::new() } else { format!("{} IS NULL", self.beside) };
        let by = Some((column, 1, last));
        let rows = Scan { index: Some("PRIMARY".to_owned()), by: by.clone(), condition };
        let of_index = |(name, _): (&str, _)| Scan {
            index: Some(name.to_owned()),
            by: by.clone(),
            condition: String::new(),
        };
        [rows].into_iter().chain(self.index.map(of_index)).collect()
    }
}

impl Data {
    fn table(&self, form: &'static Form) -> Table {
        let Self { warehouses, seed, engine, .. } = self;
        let engine_name = engine.as_deref().unwrap_or("default").to_ascii_lowercase();
        let column = |(name, _, sent): &Shape| Column { name: (*name).to_owned(), sent: *sent };
        let index = |(name, columns): (&str, &[&str])| Index {
            name: name.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        };
        Table {
            name: form.name.to_owned(),
            rows: form.rows(*warehouses),
            columns: form.columns.iter().map(column).collect(),
            definition: form.definition(),
            engine: engine.clone(),
            number: form.number.to_owned(),
            indexes: form.index.map(index).into_iter().collect(),
            has_statistics: false,
            scans: form.scans(*warehouses),
            identity: format!(
                "tpcc table={} warehouses={warehouses} seed={seed} engine={engine_name}",
                form.name
            ),
            charset: "latin1",
            row_bytes: form.row_bytes,
            contents: Box::new(Contents::new(*seed, form.kind)),
        }
    }

    fn forms(&self) -> impl Iterator<Item = &'static Form> {
        let is_any = self.warehouses > 0;
        ORDER.iter().filter(move |_| is_any).map(|place| &FORMS[*place])
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
        let count = show_count(self.warehouses.into());
        let warehouses = match (self.warehouses, language) {
            (1, Language::English) => "1 warehouse".to_owned(),
            (_, Language::English) => format!("{count} warehouses"),
            (_, Language::Chinese) => format!("{count} 个仓库"),
        };
        match self.procedures {
            true => say!(
                language,
                "{warehouses}, TPC-C-like, {engine}, transactions as stored procedures",
                "{warehouses}，类 TPC-C，{engine}，事务为存储过程"
            ),
            false => say!(
                language,
                "{warehouses}, TPC-C-like, {engine}, transactions as single statements",
                "{warehouses}，类 TPC-C，{engine}，事务由单条语句组成"
            ),
        }
    }

    fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    fn has_table(&self, name: &str) -> bool {
        self.warehouses > 0 && form(name).is_some()
    }

    fn table_names(&self) -> Vec<String> {
        self.forms().map(|form| form.name.to_owned()).collect()
    }

    fn columns(&self, table: &str) -> Option<Vec<String>> {
        form(table).map(|form| form.columns.iter().map(|(name, ..)| (*name).to_owned()).collect())
    }

    /// Numbers that identify something, each by itself: a customer is drawn by warehouse, district and
    /// number.
    fn draw(&self, table: &str, column: &str, distribution: Distribution) -> Result<Draw, Undrawn> {
        let columns = self.columns(table).ok_or(Undrawn::NoTable)?;
        let column = column.to_ascii_lowercase();
        if !columns.contains(&column) {
            return Err(Undrawn::NoColumn(columns));
        }
        let max = match column.as_str() {
            "d_next_o_id" => return Err(Undrawn::Contents),
            column if column.ends_with("w_id") => u64::from(self.warehouses),
            column if column.ends_with("d_id") => DISTRICTS,
            column if column.ends_with("c_id") || column.ends_with("o_id") => CUSTOMERS,
            column if column.ends_with("i_id") => ITEMS,
            _ => return Err(Undrawn::Contents),
        };
        Ok(Draw::Integer { min: 1, max: max.max(1) as i64, distribution })
    }

    fn rows(&self) -> u64 {
        self.forms().map(|form| form.rows(self.warehouses)).sum()
    }

    fn size_bytes(&self) -> u64 {
        self.forms().map(|form| form.rows(self.warehouses) * form.row_bytes).sum()
    }

    fn routines(&self) -> Vec<Routine> {
        if self.procedures && self.warehouses > 0 { procedures::all() } else { Vec::new() }
    }

    fn conditions(&self) -> Vec<Condition> {
        if self.warehouses == 0 { Vec::new() } else { conditions::all() }
    }
}

#[cfg(test)]
mod tests;
