//! The five transactions of TPC-C (specification 5.11, 2.4 to 2.8) as values, with the times that terminals
//! key in and think (5.2.5.7), and what they must keep.
//!
//! Each consists of single statements, as an application would send them, or is one call of a stored
//! procedure (`calls`). A terminal stays at its warehouse;
//! without waits there are no terminals, and each transaction draws its warehouse.

use super::DISTRICTS;
use crate::layout::{Builtin, Effect};
use load::spec::{
    Comparison, Condition, Distribution, Draw, Expect, Literal, Operand, Piece, SlotIndex, Statement, Step,
    Transaction, Waits, Workload,
};
use std::time::Duration;

/// The workload with keying and think times.
pub const NAME: &str = "tpcc";

/// What comes with these tables.
pub static BUILTINS: [Builtin; 2] = [
    Builtin {
        name: NAME,
        about: "the five transactions of TPC-C, with its keying and think times; 10 connections per \
                warehouse",
        effect: Effect::Adds,
    },
    Builtin {
        name: "tpcc-nowait",
        about: "the same transactions without waits; its result is not a tpmC",
        effect: Effect::Adds,
    },
];

/// A transaction's share of the mix (5.2.3), and its limit of response time (5.2.5.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Its name.
    pub transaction: &'static str,
    /// Its weight in the mix, per cent.
    pub percent: f64,
    /// What 90 % of its response times stay below.
    pub p90_max: Duration,
    /// Keying time, and mean think time.
    keying_s: u64,
    think_s: u64,
}

const fn limits(
    transaction: &'static str,
    percent: f64,
    p90_s: u64,
    (keying_s, think_s): (u64, u64),
) -> Limits {
    Limits { transaction, percent, p90_max: Duration::from_secs(p90_s), keying_s, think_s }
}

/// Of all five, in the order of the workload. Each transaction is drawn by its weight, so that shares vary
/// around these by chance.
pub static LIMITS: [Limits; 5] = [
    limits("new_order", 45.0, 5, (18, 12)),
    limits("payment", 43.0, 5, (3, 12)),
    limits("order_status", 4.0, 5, (2, 10)),
    limits("delivery", 4.0, 5, (2, 5)),
    limits("stock_level", 4.0, 20, (2, 5)),
];

/// The waits around each transaction.
#[must_use]
pub fn waits() -> Vec<Waits> {
    let seconds = Duration::from_secs;
    LIMITS.iter().map(|each| Waits { keying: seconds(each.keying_s), think: seconds(each.think_s) }).collect()
}

/// The workload of this name on this many warehouses, in single statements or as calls of `procedures`.
#[must_use]
pub fn workload(name: &str, warehouses: u32, procedures: bool) -> Workload {
    let of_terminal = name == NAME;
    let writer = Writer { warehouses: i64::from(warehouses.max(1)), of_terminal };
    let steps = if procedures { writer.calls() } else { writer.statements() };
    let transaction = |(limits, steps): (&Limits, Vec<Step>)| Transaction {
        name: limits.transaction.to_owned(),
        weight: limits.percent,
        steps,
    };
    Workload::new(name, 1, LIMITS.iter().zip(steps).map(transaction).collect())
}

/// Slots: the terminal's warehouse and district, then what a transaction draws and keeps.
pub(super) const W: SlotIndex = 0;
pub(super) const D: SlotIndex = 1;
pub(super) const C: SlotIndex = 2;
/// Warehouse and district of a payment's customer.
pub(super) const C_W: SlotIndex = 3;
pub(super) const C_D: SlotIndex = 4;
pub(super) const LAST: SlotIndex = 5;
const MIDDLE: SlotIndex = 6;
pub(super) const BY_NAME: SlotIndex = 7;
const ORDER: SlotIndex = 8;
pub(super) const LINES: SlotIndex = 9;
const LINE: SlotIndex = 10;
const ITEM: SlotIndex = 11;
const SUPPLY: SlotIndex = 12;
const QUANTITY: SlotIndex = 13;
const PRICE: SlotIndex = 14;
const DIST: SlotIndex = 15;
const ALL_LOCAL: SlotIndex = 16;
pub(super) const ROLLBACK: SlotIndex = 17;
pub(super) const AMOUNT: SlotIndex = 18;
const CREDIT: SlotIndex = 19;
const W_NAME: SlotIndex = 20;
const D_NAME: SlotIndex = 21;
pub(super) const CARRIER: SlotIndex = 22;
const TOTAL: SlotIndex = 23;
pub(super) const THRESHOLD: SlotIndex = 24;

/// The constants of NURand at run time (2.1.6.1: that of last names differs from the one at load time by 65
/// to 119, and not by 96 or 112).
const C_LAST: u32 = 223;
pub(super) const C_ID: u32 = 259;
pub(super) const C_ITEM: u32 = 7_911;
/// A number that no item has.
const NO_ITEM: i64 = 100_001;

pub(super) struct Writer {
    pub(super) warehouses: i64,
    of_terminal: bool,
}

impl Writer {
    /// Steps of all five.
    fn statements(&self) -> [Vec<Step>; 5] {
        [self.new_order(), self.payment(), self.order_status(), self.delivery(), self.stock_level()]
    }

    /// Warehouse and district of whoever asks.
    pub(super) fn at_home(&self) -> Vec<Step> {
        let warehouse = match self.of_terminal {
            true => Draw::OwnOf { min: 1, max: self.warehouses, each: 1 },
            false => uniform(1, self.warehouses),
        };
        vec![draw(W, warehouse), draw(D, uniform(1, DISTRICTS as i64))]
    }

    fn new_order(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend([
            draw(C, non_uniform(1023, C_ID, 1, 3_000)),
            draw(LINES, uniform(5, 15)),
            draw(ROLLBACK, uniform(1, 100)),
            draw(ALL_LOCAL, constant(1)),
            begin(),
            select(
                "new_order.customer",
                "SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer WHERE w_id = ? AND \
                 c_w_id = w_id AND c_d_id = ? AND c_id = ?",
                &[W, D, C],
                &[],
            ),
            select(
                "new_order.district",
                "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
                &[W, D],
                &[ORDER],
            ),
            change(
                "new_order.next",
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
                &[W, D],
            ),
            Step::Repeat { times: Operand::Slot(LINES), number: Some(LINE), steps: self.line() },
            // the last item of one order in a hundred does not exist: a user's mistake
            when(
                is_null(PRICE),
                vec![plain("rollback", "ROLLBACK")],
                vec![
                    change(
                        "new_order.order",
                        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
                         o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)",
                        &[W, D, ORDER, C, LINES, ALL_LOCAL],
                    ),
                    change(
                        "new_order.new",
                        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
                        &[W, D, ORDER],
                    ),
                    commit(),
                ],
            ),
        ]);
        steps
    }

    /// One line of an order.
    fn line(&self) -> Vec<Step> {
        let last_is_wrong = when(is(ROLLBACK, constant(1)), vec![draw(ITEM, constant(NO_ITEM))], vec![]);
        vec![
            draw(ITEM, non_uniform(8191, C_ITEM, 1, 100_000)),
            draw(QUANTITY, uniform(1, 10)),
            draw(SUPPLY, self.near(W, self.warehouses, 1)),
            when(same(SUPPLY, W), vec![], vec![draw(ALL_LOCAL, constant(0))]),
            when(same(LINE, LINES), vec![last_is_wrong], vec![]),
            found(
                "new_order.item",
                "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
                &[ITEM],
                &[PRICE],
            ),
            when(
                is_null(PRICE),
                vec![],
                vec![
                    select(
                        "new_order.stock",
                        "SELECT ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, \
                         s_dist_07, s_dist_08, s_dist_09, s_dist_10), s_quantity, s_data FROM stock WHERE \
                         s_w_id = ? AND s_i_id = ? FOR UPDATE",
                        &[D, SUPPLY, ITEM],
                        &[DIST],
                    ),
                    change(
                        "new_order.take",
                        "UPDATE stock SET s_quantity = IF(s_quantity >= ? + 10, s_quantity - ?, \
                         s_quantity - ? + 91), s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                         s_remote_cnt = s_remote_cnt + IF(? = ?, 0, 1) WHERE s_w_id = ? AND s_i_id = ?",
                        &[QUANTITY, QUANTITY, QUANTITY, QUANTITY, SUPPLY, W, SUPPLY, ITEM],
                    ),
                    change(
                        "new_order.line",
                        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
                         ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?, \
                         ?, ?, ?, ?, ?, NULL, ?, ? * CAST(? AS DECIMAL(5,2)), ?)",
                        &[W, D, ORDER, LINE, ITEM, SUPPLY, QUANTITY, QUANTITY, PRICE, DIST],
                    ),
                ],
            ),
        ]
    }

    /// What a slot holds, and with this chance another number up to `max`.
    pub(super) fn near(&self, slot: SlotIndex, max: i64, other_percent: u32) -> Draw {
        Draw::Near { slot, min: 1, max, other_percent }
    }

    fn payment(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend([
            draw(AMOUNT, uniform(100, 500_000)),
            draw(C_W, self.near(W, self.warehouses, 15)),
            when(
                same(C_W, W),
                vec![draw(C_D, self.near(D, DISTRICTS as i64, 0))],
                vec![draw(C_D, uniform(1, DISTRICTS as i64))],
            ),
            begin(),
            change(
                "payment.warehouse",
                "UPDATE warehouse SET w_ytd = w_ytd + ? * 0.01 WHERE w_id = ?",
                &[AMOUNT, W],
            ),
            select(
                "payment.warehouse_address",
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
                &[W],
                &[W_NAME],
            ),
            change(
                "payment.district",
                "UPDATE district SET d_ytd = d_ytd + ? * 0.01 WHERE d_w_id = ? AND d_id = ?",
                &[AMOUNT, W, D],
            ),
            select(
                "payment.district_address",
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id \
                 = ? AND d_id = ?",
                &[W, D],
                &[D_NAME],
            ),
        ]);
        steps.extend(customer("payment", (C_W, C_D)));
        let bad_credit = Draw::Literal(Literal::Text("BC".to_owned()));
        steps.extend([
            select(
                "payment.customer",
                "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                 c_zip, c_phone, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id \
                 = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
                &[C_W, C_D, C],
                &[CREDIT],
            ),
            when(is(CREDIT, bad_credit), paid_with_bad_credit(), paid()),
            change(
                "payment.history",
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
                 h_data) VALUES (?, ?, ?, ?, ?, NOW(), ? * 0.01, CONCAT(?, '    ', ?))",
                &[C, C_D, C_W, D, W, AMOUNT, W_NAME, D_NAME],
            ),
            commit(),
        ]);
        steps
    }

    fn order_status(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.push(begin());
        steps.extend(customer("order_status", (W, D)));
        steps.extend([
            select(
                "order_status.customer",
                "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = \
                 ? AND c_id = ?",
                &[W, D, C],
                &[],
            ),
            select(
                "order_status.order",
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND \
                 o_c_id = ? ORDER BY o_id DESC LIMIT 1",
                &[W, D, C],
                &[ORDER],
            ),
            select(
                "order_status.lines",
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                &[W, D, ORDER],
                &[],
            ),
            commit(),
        ]);
        steps
    }

    fn delivery(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        let deliver = vec![
            change(
                "delivery.take",
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
                &[W, D, ORDER],
            ),
            select(
                "delivery.order",
                "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                &[W, D, ORDER],
                &[C],
            ),
            change(
                "delivery.carrier",
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                &[CARRIER, W, D, ORDER],
            ),
            change(
                "delivery.lines",
                "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND \
                 ol_o_id = ?",
                &[W, D, ORDER],
            ),
            select(
                "delivery.amount",
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                &[W, D, ORDER],
                &[TOTAL],
            ),
            change(
                "delivery.customer",
                "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)), c_delivery_cnt = \
                 c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                &[TOTAL, W, D, C],
            ),
        ];
        let district = vec![
            found(
                "delivery.oldest",
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 \
                 FOR UPDATE",
                &[W, D],
                &[ORDER],
            ),
            when(is_null(ORDER), vec![], deliver),
        ];
        let districts = Operand::Draw(constant(DISTRICTS as i64));
        steps.extend([
            draw(CARRIER, uniform(1, 10)),
            begin(),
            Step::Repeat { times: districts, number: Some(D), steps: district },
            commit(),
        ]);
        steps
    }

    /// One district for each terminal of a warehouse.
    pub(super) fn own_district(&self) -> Option<Step> {
        let each = u32::try_from(self.warehouses).unwrap_or(1);
        self.of_terminal.then(|| draw(D, Draw::OwnOf { min: 1, max: DISTRICTS as i64, each }))
    }

    fn stock_level(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend(self.own_district());
        let low = select(
            "stock_level.low",
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND \
             ol_o_id < ? AND ol_o_id >= ? - 20 AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < \
             ?",
            &[W, D, ORDER, ORDER, THRESHOLD],
            &[],
        );
        steps.extend([
            draw(THRESHOLD, uniform(10, 20)),
            begin(),
            select(
                "stock_level.next",
                "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
                &[W, D],
                &[ORDER],
            ),
            low,
            commit(),
        ]);
        steps
    }
}

/// Who it is about: 60 % by last name (the one in the middle by first name), 40 % by number.
fn customer(of: &str, (warehouse, district): (SlotIndex, SlotIndex)) -> Vec<Step> {
    let mut pick = found(
        &format!("{of}.by_name"),
        "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first LIMIT \
         ?, 1",
        &[warehouse, district, LAST, MIDDLE],
        &[C],
    );
    if let Step::Statement(Statement { pieces, expect, .. }) = &mut pick {
        *expect = Expect::Row;
        // a number, whatever the protocol made of it
        for piece in pieces {
            if *piece == Piece::Parameter(Operand::Slot(MIDDLE)) {
                *piece = Piece::Parameter(Operand::SlotPlus(MIDDLE, -1));
            }
        }
    }
    let by_name = vec![
        draw(LAST, last_name()),
        select(
            &format!("{of}.of_name"),
            "SELECT (COUNT(*) + 1) DIV 2 FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?",
            &[warehouse, district, LAST],
            &[MIDDLE],
        ),
        pick,
    ];
    let by_name_below = Condition {
        left: Operand::Slot(BY_NAME),
        is: Comparison::LessOrEqual,
        right: Operand::Draw(constant(60)),
    };
    vec![
        draw(BY_NAME, uniform(1, 100)),
        draw(C, non_uniform(1023, C_ID, 1, 3_000)),
        when(by_name_below, by_name, vec![]),
    ]
}

/// A last name as terminals key it in.
pub(super) fn last_name() -> Draw {
    Draw::LastName { distribution: Distribution::NonUniform { a: 255, c: C_LAST } }
}

pub(super) fn draw(slot: SlotIndex, draw: Draw) -> Step {
    Step::Draw { slot, draw }
}

pub(super) fn uniform(min: i64, max: i64) -> Draw {
    Draw::Integer { min, max, distribution: Distribution::Uniform }
}

pub(super) fn non_uniform(a: u32, c: u32, min: i64, max: i64) -> Draw {
    Draw::Integer { min, max, distribution: Distribution::NonUniform { a, c } }
}

fn constant(number: i64) -> Draw {
    Draw::Literal(Literal::Integer(number))
}

pub(super) fn when(condition: Condition, then: Vec<Step>, otherwise: Vec<Step>) -> Step {
    Step::If { condition, then, otherwise }
}

pub(super) fn same(left: SlotIndex, right: SlotIndex) -> Condition {
    Condition { left: Operand::Slot(left), is: Comparison::Equal, right: Operand::Slot(right) }
}

fn is(slot: SlotIndex, value: Draw) -> Condition {
    Condition { left: Operand::Slot(slot), is: Comparison::Equal, right: Operand::Draw(value) }
}

fn is_null(slot: SlotIndex) -> Condition {
    is(slot, Draw::Literal(Literal::Null))
}

fn begin() -> Step {
    plain("begin", "BEGIN")
}

fn commit() -> Step {
    plain("commit", "COMMIT")
}

fn plain(kind: &str, sql: &str) -> Step {
    statement(kind, sql, &[], &[], Expect::Anything)
}

/// A SELECT that always returns a row.
pub(super) fn select(kind: &str, sql: &str, values: &[SlotIndex], keep: &[SlotIndex]) -> Step {
    statement(kind, sql, values, keep, Expect::Row)
}

/// A SELECT that may have none.
fn found(kind: &str, sql: &str, values: &[SlotIndex], keep: &[SlotIndex]) -> Step {
    statement(kind, sql, values, keep, Expect::Anything)
}

fn change(kind: &str, sql: &str, values: &[SlotIndex]) -> Step {
    statement(kind, sql, values, &[], Expect::Change)
}

/// A statement in whose text each `?` is the value of the next slot.
fn statement(kind: &str, sql: &str, values: &[SlotIndex], keep: &[SlotIndex], expect: Expect) -> Step {
    let mut pieces = Vec::new();
    for (place, text) in sql.split('?').enumerate() {
        if place > 0 {
            pieces.push(Piece::Parameter(Operand::Slot(values[place - 1])));
        }
        if !text.is_empty() {
            pieces.push(Piece::Sql(text.to_owned()));
        }
    }
    debug_assert_eq!(sql.matches('?').count(), values.len(), "{sql}");
    let keep = keep.to_vec();
    Step::Statement(Statement { kind: kind.to_owned(), pieces, text_only: false, keep, expect })
}

/// What a payment changes of a customer whose credit is bad: the data that the clerk looks at, too.
fn paid_with_bad_credit() -> Vec<Step> {
    vec![
        select(
            "payment.customer_data",
            "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            &[C_W, C_D, C],
            &[],
        ),
        change(
            "payment.bad_credit",
            "UPDATE customer SET c_balance = c_balance - ? * 0.01, c_ytd_payment = c_ytd_payment + ? \
             * 0.01, c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(?, ' ', ?, ' ', ?, ' ', \
             ?, ' ', ?, ' ', ? * 0.01, ' | ', c_data), 500) WHERE c_w_id = ? AND c_d_id = ? AND c_id \
             = ?",
            &[AMOUNT, AMOUNT, C, C_D, C_W, D, W, AMOUNT, C_W, C_D, C],
        ),
    ]
}

/// What a payment changes of any other customer.
fn paid() -> Vec<Step> {
    vec![change(
        "payment.good_credit",
        "UPDATE customer SET c_balance = c_balance - ? * 0.01, c_ytd_payment = c_ytd_payment + ? * \
         0.01, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[AMOUNT, AMOUNT, C_W, C_D, C],
    )]
}
