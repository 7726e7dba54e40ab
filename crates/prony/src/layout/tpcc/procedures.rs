//! The five transactions as stored procedures, which are made with the tables and called in place of single
//! statements: the same reads, locks and changes in the same order, with what the terminal keys in as
//! arguments. Each returns what the terminal shows, as one result.

use super::DISTRICTS;
use crate::layout::Routine;
use std::fmt::Write as _;

/// Most lines of an order.
pub(super) const LINES_MAX: usize = 15;
/// Tables that each transaction writes into.
const WRITTEN: [(&str, &[&str]); 5] = [
    (NEW_ORDER, &["district", "new_order", "order_line", "orders", "stock"]),
    (PAYMENT, &["customer", "district", "history", "warehouse"]),
    (ORDER_STATUS, &[]),
    (DELIVERY, &["customer", "new_order", "order_line", "orders"]),
    (STOCK_LEVEL, &[]),
];
pub(super) const NEW_ORDER: &str = "prony_tpcc_new_order";
pub(super) const PAYMENT: &str = "prony_tpcc_payment";
pub(super) const ORDER_STATUS: &str = "prony_tpcc_order_status";
pub(super) const DELIVERY: &str = "prony_tpcc_delivery";
pub(super) const STOCK_LEVEL: &str = "prony_tpcc_stock_level";

/// What undoes a transaction in which a statement fails; the caller gets the error.
const UNDO: &str = "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;";

/// Tables that a procedure writes into, if this is one of them.
#[must_use]
pub fn written_by(procedure: &str) -> Option<&'static [&'static str]> {
    WRITTEN.iter().find(|(name, _)| name.eq_ignore_ascii_case(procedure)).map(|(_, tables)| *tables)
}

/// All five.
pub(super) fn all() -> Vec<Routine> {
    let numbered = |name: &str, kind: &str| {
        (1..=LINES_MAX).map(|line| format!("p_{name}{line} {kind}")).collect::<Vec<_>>().join(", ")
    };
    let lines = format!(
        "p_w INT, p_d INT, p_c INT, p_lines INT, p_rollback INT, {}, {}, {}",
        numbered("i", "INT"),
        numbered("s", "INT"),
        numbered("q", "INT")
    );
    let routine = |name: &str, parameters: String, body: String| Routine {
        name: name.to_owned(),
        table: "warehouse",
        parameters,
        body,
    };
    let who = "p_by_name INT, p_last VARCHAR(16), p_c INT";
    vec![
        routine(NEW_ORDER, lines, new_order()),
        routine(PAYMENT, format!("p_w INT, p_d INT, p_c_w INT, p_c_d INT, {who}, p_amount INT"), payment()),
        routine(ORDER_STATUS, format!("p_w INT, p_d INT, {who}"), order_status()),
        routine(DELIVERY, "p_w INT, p_carrier INT".to_owned(), delivery()),
        routine(STOCK_LEVEL, "p_w INT, p_d INT, p_threshold INT".to_owned(), stock_level()),
    ]
}

fn new_order() -> String {
    let of_line = |name: &str| {
        let all = (1..=LINES_MAX).fold(String::new(), |mut text, line| {
            let _ = write!(text, ", p_{name}{line}");
            text
        });
        format!("ELT(v_line{all})")
    };
    format!(
        "BEGIN DECLARE v_order, v_line, v_item, v_supply, v_quantity, v_left INT; DECLARE v_local INT \
         DEFAULT 1; DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4); DECLARE v_last VARCHAR(16); DECLARE \
         v_credit CHAR(2); DECLARE v_price DECIMAL(5,2) DEFAULT 0; DECLARE v_name VARCHAR(24); DECLARE \
         v_data, v_info VARCHAR(50); DECLARE v_dist CHAR(24); DECLARE v_total DECIMAL(12,2) DEFAULT 0; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_price = NULL; {UNDO} START TRANSACTION; SELECT \
         c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax FROM warehouse, \
         customer WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c; SELECT d_next_o_id, \
         d_tax INTO v_order, v_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE; UPDATE \
         district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d; SET v_line = 1; WHILE \
         v_line <= p_lines AND v_price IS NOT NULL DO SET v_item = {item}, v_supply = {supply}, v_quantity = \
         {quantity}; IF v_line = p_lines AND p_rollback = 1 THEN SET v_item = 100001; END IF; SELECT \
         i_price, i_name, i_data INTO v_price, v_name, v_data FROM item WHERE i_id = v_item; IF v_price IS \
         NOT NULL THEN IF v_supply <> p_w THEN SET v_local = 0; END IF; SELECT ELT(p_d, s_dist_01, \
         s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10), \
         s_quantity, s_data INTO v_dist, v_left, v_info FROM stock WHERE s_w_id = v_supply AND s_i_id = \
         v_item FOR UPDATE; UPDATE stock SET s_quantity = IF(s_quantity >= v_quantity + 10, s_quantity - \
         v_quantity, s_quantity - v_quantity + 91), s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + \
         1, s_remote_cnt = s_remote_cnt + IF(v_supply = p_w, 0, 1) WHERE s_w_id = v_supply AND s_i_id = \
         v_item; INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (p_w, p_d, v_order, v_line, v_item, \
         v_supply, NULL, v_quantity, v_quantity * v_price, v_dist); SET v_total = v_total + v_quantity * \
         v_price, v_line = v_line + 1; END IF; END WHILE; IF v_price IS NULL THEN ROLLBACK; ELSE INSERT INTO \
         orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (p_w, \
         p_d, v_order, p_c, NOW(), NULL, p_lines, v_local); INSERT INTO new_order (no_w_id, no_d_id, \
         no_o_id) VALUES (p_w, p_d, v_order); COMMIT; END IF; SELECT v_order, v_price IS NULL AS was_undone, \
         v_last, v_credit, v_discount, v_w_tax, v_d_tax, v_total; END",
        item = of_line("i"),
        supply = of_line("s"),
        quantity = of_line("q")
    )
}

/// Sets `p_c` to the customer in the middle of those with the last name, in six cases of ten.
fn by_name(warehouse: &str, district: &str) -> String {
    format!(
        "IF p_by_name <= 60 THEN SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_middle FROM customer WHERE c_w_id = \
         {warehouse} AND c_d_id = {district} AND c_last = p_last; SELECT c_id INTO p_c FROM customer WHERE \
         c_w_id = {warehouse} AND c_d_id = {district} AND c_last = p_last ORDER BY c_first LIMIT v_middle, \
         1; END IF;"
    )
}

fn payment() -> String {
    let by_name = by_name("p_c_w", "p_c_d");
    format!(
        "BEGIN DECLARE v_middle INT; DECLARE v_w_name, v_d_name VARCHAR(10); DECLARE v_street_1, v_street_2, \
         v_city VARCHAR(20); DECLARE v_state, v_credit CHAR(2); DECLARE v_zip CHAR(9); DECLARE v_data \
         VARCHAR(500); DECLARE v_limit, v_balance DECIMAL(12,2); {UNDO} START TRANSACTION; UPDATE warehouse \
         SET w_ytd = w_ytd + p_amount * 0.01 WHERE w_id = p_w; SELECT w_name, w_street_1, w_street_2, \
         w_city, w_state, w_zip INTO v_w_name, v_street_1, v_street_2, v_city, v_state, v_zip FROM warehouse \
         WHERE w_id = p_w; UPDATE district SET d_ytd = d_ytd + p_amount * 0.01 WHERE d_w_id = p_w AND d_id = \
         p_d; SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO v_d_name, v_street_1, \
         v_street_2, v_city, v_state, v_zip FROM district WHERE d_w_id = p_w AND d_id = p_d; {by_name} \
         SELECT c_credit, c_credit_lim, c_balance INTO v_credit, v_limit, v_balance FROM customer WHERE \
         c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c FOR UPDATE; IF v_credit = 'BC' THEN SELECT c_data \
         INTO v_data FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c; UPDATE customer \
         SET c_balance = c_balance - p_amount * 0.01, c_ytd_payment = c_ytd_payment + p_amount * 0.01, \
         c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(p_c, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', \
         p_w, ' ', p_amount * 0.01, ' | ', v_data), 500) WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = \
         p_c; ELSE UPDATE customer SET c_balance = c_balance - p_amount * 0.01, c_ytd_payment = \
         c_ytd_payment + p_amount * 0.01, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id \
         = p_c_d AND c_id = p_c; END IF; INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, \
         h_date, h_amount, h_data) VALUES (p_c, p_c_d, p_c_w, p_d, p_w, NOW(), p_amount * 0.01, \
         CONCAT(v_w_name, '    ', v_d_name)); COMMIT; SELECT c_id, c_first, c_middle, c_last, c_street_1, \
         c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, \
         c_balance, v_w_name, v_d_name, LEFT(v_data, 200) FROM customer WHERE c_w_id = p_c_w AND c_d_id = \
         p_c_d AND c_id = p_c; END"
    )
}

fn order_status() -> String {
    let by_name = by_name("p_w", "p_d");
    format!(
        "BEGIN DECLARE v_middle, v_order, v_carrier INT; DECLARE v_entry DATETIME; DECLARE v_balance \
         DECIMAL(12,2); DECLARE v_first, v_last VARCHAR(16); DECLARE v_initials CHAR(2); {UNDO} START \
         TRANSACTION; {by_name} SELECT c_balance, c_first, c_middle, c_last INTO v_balance, v_first, \
         v_initials, v_last FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c; SELECT o_id, \
         o_entry_d, o_carrier_id INTO v_order, v_entry, v_carrier FROM orders WHERE o_w_id = p_w AND o_d_id \
         = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1; SELECT p_c, v_balance, v_first, v_initials, \
         v_last, v_order, v_entry, v_carrier, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
         FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order; COMMIT; END"
    )
}

fn delivery() -> String {
    format!(
        "BEGIN DECLARE v_district, v_order, v_customer INT; DECLARE v_done INT DEFAULT 0; DECLARE v_total \
         DECIMAL(12,2); DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_order = NULL; {UNDO} START TRANSACTION; \
         SET v_district = 1; WHILE v_district <= {DISTRICTS} DO SELECT no_o_id INTO v_order FROM new_order \
         WHERE no_w_id = p_w AND no_d_id = v_district ORDER BY no_o_id LIMIT 1 FOR UPDATE; IF v_order IS NOT \
         NULL THEN DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_district AND no_o_id = v_order; \
         SELECT o_c_id INTO v_customer FROM orders WHERE o_w_id = p_w AND o_d_id = v_district AND o_id = \
         v_order; UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_district AND \
         o_id = v_order; UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = p_w AND ol_d_id = \
         v_district AND ol_o_id = v_order; SELECT SUM(ol_amount) INTO v_total FROM order_line WHERE ol_w_id \
         = p_w AND ol_d_id = v_district AND ol_o_id = v_order; UPDATE customer SET c_balance = c_balance + \
         v_total, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = p_w AND c_d_id = v_district AND c_id = \
         v_customer; SET v_done = v_done + 1; END IF; SET v_district = v_district + 1; END WHILE; COMMIT; \
         SELECT v_done; END"
    )
}

fn stock_level() -> String {
    format!(
        "BEGIN DECLARE v_next INT; {UNDO} START TRANSACTION; SELECT d_next_o_id INTO v_next FROM district \
         WHERE d_w_id = p_w AND d_id = p_d; SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE \
         ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < v_next AND ol_o_id >= v_next - 20 AND s_w_id = \
         ol_w_id AND s_i_id = ol_i_id AND s_quantity < p_threshold; COMMIT; END"
    )
}
