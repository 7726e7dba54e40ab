//! The consistency conditions of TPC-C (specification 5.11, 3.3.2.1 to 3.3.2.12) as SQL that counts what
//! breaks them.
//!
//! Most say that two sums are equal. Each is asked as one sum over a UNION ALL that must be 0 for every
//! warehouse, district, order or customer: this needs no join without an index, works on servers of any age,
//! and also finds what is missing on one side. As written, condition 11 holds only before the first delivery
//! (2,100 orders of a district are delivered); here the deliveries to customers since then are added, so that
//! it always holds.

use crate::layout::Condition;

/// One side of a sum: an amount, by keys, of a table with its condition.
type Side = (&'static str, &'static str, &'static str);

/// Lines of orders with their orders.
const LINES: &str = "order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id";
/// What was delivered to a customer, to be taken away.
const DELIVERED: Side = (
    "-ol_amount",
    "o_w_id, o_d_id, o_c_id",
    "order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE \
     ol_delivery_d IS NOT NULL",
);

/// All twelve.
pub(super) fn all() -> Vec<Condition> {
    let asked = [
        sums("0", &[("w_ytd", "w_id", "warehouse"), ("-d_ytd", "d_w_id", "district")]),
        "SELECT COUNT(*) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM \
         orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT \
         no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n ON \
         no_w_id = d_w_id AND no_d_id = d_id WHERE NOT (d_next_o_id - 1 <=> last_order) OR last_new <> \
         last_order"
            .to_owned(),
        "SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS span, COUNT(*) AS there FROM \
         new_order GROUP BY no_w_id, no_d_id) n WHERE span <> there"
            .to_owned(),
        sums("0", &[("o_ol_cnt", "o_w_id, o_d_id", "orders"), ("-1", "ol_w_id, ol_d_id", "order_line")]),
        "SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND \
         no_o_id = o_id WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)"
            .to_owned(),
        sums(
            "0",
            &[
                ("o_ol_cnt", "o_w_id, o_d_id, o_id", "orders"),
                ("-1", "ol_w_id, ol_d_id, ol_o_id", "order_line"),
            ],
        ),
        format!("SELECT COUNT(*) FROM {LINES} WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)"),
        sums("0", &[("w_ytd", "w_id", "warehouse"), ("-h_amount", "h_w_id", "history")]),
        sums("0", &[("d_ytd", "d_w_id, d_id", "district"), ("-h_amount", "h_w_id, h_d_id", "history")]),
        sums(
            "0",
            &[
                ("c_balance", "c_w_id, c_d_id, c_id", "customer"),
                DELIVERED,
                ("h_amount", "h_c_w_id, h_c_d_id, h_c_id", "history"),
            ],
        ),
        sums(
            "2100",
            &[
                ("1", "o_w_id, o_d_id", "orders"),
                ("-1", "no_w_id, no_d_id", "new_order"),
                ("-c_delivery_cnt", "c_w_id, c_d_id", "customer"),
            ],
        ),
        sums("0", &[("c_balance + c_ytd_payment", "c_w_id, c_d_id, c_id", "customer"), DELIVERED]),
    ];
    let condition = |(place, violations): (usize, String)| Condition {
        name: format!("consistency condition {}", place + 1),
        violations,
    };
    asked.into_iter().enumerate().map(condition).collect()
}

/// Counts keys for which the amounts of all sides together are not this.
fn sums(total: &str, sides: &[Side]) -> String {
    let side = |(amount, keys, from): &Side| {
        let named = keys.split(", ").enumerate().map(|(place, key)| format!("{key} AS k{place}"));
        format!("SELECT {}, {amount} AS amount FROM {from}", named.collect::<Vec<_>>().join(", "))
    };
    let all: Vec<String> = sides.iter().map(side).collect();
    let keys = sides.first().map_or(0, |(_, keys, _)| keys.split(", ").count());
    let keys: Vec<String> = (0..keys).map(|place| format!("k{place}")).collect();
    format!(
        "SELECT COUNT(*) FROM (SELECT 1 AS broken FROM ({}) a GROUP BY {} HAVING SUM(amount) <> {total}) b",
        all.join(" UNION ALL "),
        keys.join(", ")
    )
}
