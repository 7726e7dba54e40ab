//! The five transactions as calls of stored procedures: what a terminal keys in is drawn as for single
//! statements, and goes along as arguments.

use super::{
    DISTRICTS,
    procedures::{self, LINES_MAX},
    workloads::{
        AMOUNT, BY_NAME, C, C_D, C_ID, C_ITEM, C_W, CARRIER, D, LAST, LINES, ROLLBACK, THRESHOLD, W, Writer,
        draw, last_name, non_uniform, same, select, uniform, when,
    },
};
use load::spec::{SlotIndex, Step};

/// Slots of the lines of an order: items, then warehouses, then quantities.
const FIRST_LINE: SlotIndex = 25;

impl Writer {
    /// Steps of all five.
    pub(super) fn calls(&self) -> [Vec<Step>; 5] {
        [
            self.call_new_order(),
            self.call_payment(),
            self.call_order_status(),
            self.call_delivery(),
            self.call_stock_level(),
        ]
    }

    fn call_new_order(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend([
            draw(C, non_uniform(1023, C_ID, 1, 3_000)),
            draw(LINES, uniform(5, 15)),
            draw(ROLLBACK, uniform(1, 100)),
        ]);
        let lines = LINES_MAX as SlotIndex;
        for item in (FIRST_LINE..).take(LINES_MAX) {
            steps.push(draw(item, non_uniform(8191, C_ITEM, 1, 100_000)));
            steps.push(draw(item + lines, self.near(W, self.warehouses, 1)));
            steps.push(draw(item + 2 * lines, uniform(1, 10)));
        }
        let mut arguments = vec![W, D, C, LINES, ROLLBACK];
        arguments.extend(FIRST_LINE..FIRST_LINE + 3 * lines);
        steps.push(call(procedures::NEW_ORDER, &arguments));
        steps
    }

    fn call_payment(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend([
            draw(AMOUNT, uniform(100, 500_000)),
            draw(C_W, self.near(W, self.warehouses, 15)),
            when(
                same(C_W, W),
                vec![draw(C_D, self.near(D, DISTRICTS as i64, 0))],
                vec![draw(C_D, uniform(1, DISTRICTS as i64))],
            ),
        ]);
        steps.extend(who());
        steps.push(call(procedures::PAYMENT, &[W, D, C_W, C_D, BY_NAME, LAST, C, AMOUNT]));
        steps
    }

    fn call_order_status(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend(who());
        steps.push(call(procedures::ORDER_STATUS, &[W, D, BY_NAME, LAST, C]));
        steps
    }

    fn call_delivery(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.push(draw(CARRIER, uniform(1, 10)));
        steps.push(call(procedures::DELIVERY, &[W, CARRIER]));
        steps
    }

    fn call_stock_level(&self) -> Vec<Step> {
        let mut steps = self.at_home();
        steps.extend(self.own_district());
        steps.push(draw(THRESHOLD, uniform(10, 20)));
        steps.push(call(procedures::STOCK_LEVEL, &[W, D, THRESHOLD]));
        steps
    }
}

/// A customer by last name or by number: the procedure takes the one that is meant.
fn who() -> [Step; 3] {
    [draw(BY_NAME, uniform(1, 100)), draw(LAST, last_name()), draw(C, non_uniform(1023, C_ID, 1, 3_000))]
}

fn call(procedure: &str, arguments: &[SlotIndex]) -> Step {
    let values = vec!["?"; arguments.len()].join(", ");
    let kind = procedure.strip_prefix("prony_tpcc_").unwrap_or(procedure);
    select(&format!("{kind}.call"), &format!("CALL {procedure}({values})"), arguments, &[])
}
