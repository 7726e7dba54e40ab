use super::*;
use crate::layout::{Cell, Kinship, Rows, State};
use std::collections::BTreeSet;

fn data(warehouses: u32) -> Data {
    Data { warehouses, engine: None, seed: 7, procedures: false }
}

fn table(data: &Data, name: &str) -> Table {
    data.tables().into_iter().find(|table| table.name == name).unwrap()
}

/// The values of a row: numbers, or text as `Err`.
fn row(table: &Table, number: u64) -> Vec<String> {
    let mut rows = Rows::default();
    table.contents.write(number, &mut rows);
    let shown = |cell: Cell<'_>| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
    };
    let row: Vec<String> = rows.cells().map(shown).collect();
    assert_eq!(row.len(), table.columns.len(), "{}", table.name);
    row
}

fn numbers(table: &Table, number: u64, columns: usize) -> Vec<u64> {
    row(table, number)[..columns].iter().map(|value| value.parse().unwrap()).collect()
}

#[test]
fn tables_have_the_rows_that_the_specification_says() {
    let rows: Vec<(String, u64)> =
        data(3).tables().into_iter().map(|table| (table.name, table.rows)).collect();
    let expected = [
        ("order_line", 900_000),
        ("stock", 300_000),
        ("customer", 90_000),
        ("history", 90_000),
        ("orders", 90_000),
        ("item", 100_000),
        ("new_order", 27_000),
        ("district", 30),
        ("warehouse", 3),
    ];
    assert_eq!(rows, expected.map(|(name, rows)| (name.to_owned(), rows)));
    assert_eq!(data(3).rows(), 1_597_033);
    assert!(data(0).tables().is_empty());
}

#[test]
fn every_row_fits_its_columns() {
    for table in data(2).tables() {
        let form = form(&table.name).unwrap();
        for number in [1, 2, table.rows / 2, table.rows] {
            for (value, (name, kind, _)) in row(&table, number.max(1)).iter().zip(form.columns) {
                let room = |open: &str| kind.split_once(open)?.1.split_once([')', ','])?.0.parse().ok();
                if value == "NULL" {
                    assert!(!kind.contains("NOT NULL"), "{name}");
                } else if kind.starts_with("CHAR(") {
                    assert_eq!(Some(value.len()), room("CHAR("), "{name}: {value}");
                } else if kind.starts_with("VARCHAR(") {
                    assert!(Some(value.len()) <= room("VARCHAR("), "{name}: {value}");
                } else if kind.starts_with("TINYINT") {
                    value.parse::<i8>().expect(name);
                } else if kind.starts_with("SMALLINT") {
                    value.parse::<i16>().expect(name);
                }
            }
        }
    }
}

#[test]
fn orders_have_five_to_fifteen_lines_and_each_customer_of_a_district_one_order() {
    let data = data(1);
    let (orders, lines) = (table(&data, "orders"), table(&data, "order_line"));
    let mut counts = Vec::new();
    let mut customers = BTreeSet::new();
    for number in 1..=3_000 {
        let row = row(&orders, number);
        customers.insert(row[3].parse::<u64>().unwrap());
        counts.push(row[6].parse::<u64>().unwrap());
        assert_eq!(row[5] == "NULL", number > 2_100, "{row:?}");
    }
    assert_eq!(customers, (1..=3_000).collect());
    assert!(counts.iter().all(|count| (5..=15).contains(count)));
    for count in 5..=15 {
        let share = counts.iter().filter(|one| **one == count).count();
        assert!(share.abs_diff(3_000 / 11) < 90, "{count} lines: {share} orders");
    }
    let mut seen = BTreeSet::new();
    for number in 1..=30_000 {
        let numbers = numbers(&lines, number, 4);
        assert_eq!(numbers[..2], [1, 1]);
        assert!(numbers[3] <= counts[numbers[2] as usize - 1], "{numbers:?}");
        // as SQL numbers the row
        let (order, line) = (numbers[2], numbers[3]);
        let within = if order % 2 == 1 { line } else { 21 - line };
        assert_eq!((order - 1) / 2 * 20 + within, number);
        seen.insert((order, line));
    }
    assert_eq!(seen.len() as u64, counts.iter().sum::<u64>(), "every line once");
}

#[test]
fn the_first_thousand_customers_of_a_district_have_all_names() {
    let customers = table(&data(1), "customer");
    let names: BTreeSet<String> = (3_001..=4_000).map(|number| row(&customers, number)[5].clone()).collect();
    assert_eq!(names.len(), 1_000);
    let bad = (1..=10_000).filter(|number| row(&customers, *number)[13] == "BC").count();
    assert!(bad.abs_diff(1_000) < 150, "{bad}");
    let items = table(&data(1), "item");
    let original = (1..=10_000).filter(|number| row(&items, *number)[4].contains("ORIGINAL")).count();
    assert!(original.abs_diff(1_000) < 150, "{original}");
}

#[test]
fn tables_are_known_by_what_they_depend_on() {
    let comment = table(&data(1), "stock").comment(State::Complete);
    assert_eq!(comment, "prony 1 complete tpcc table=stock warehouses=1 seed=7 engine=default");
    assert_eq!(table(&data(1), "stock").kinship(&comment), Kinship::Same(State::Complete));
    assert_eq!(table(&data(2), "stock").kinship(&comment), Kinship::Other);
    assert_eq!(table(&data(1), "orders").kinship(&comment), Kinship::Foreign, "a copy");
}

#[test]
fn terminals_reach_what_the_specification_says_at_most() {
    let arrival = load::spec::Arrival::Waits(waits());
    let cycle = arrival.wait_mean(&workload(NAME, 1, false)).as_secs_f64();
    let tpmc = DISTRICTS as f64 * 60.0 / cycle * 0.45;
    assert!((tpmc - TPMC_MAX).abs() < 0.005, "{tpmc}");
}

#[test]
fn numbers_can_be_drawn_and_what_is_not_there_is_told() {
    let draw = |column: &str| data(4).draw("customer", column, Distribution::Uniform);
    let upto = |max| Ok(Draw::Integer { min: 1, max, distribution: Distribution::Uniform });
    assert_eq!(draw("c_w_id"), upto(4));
    assert_eq!((draw("c_d_id"), draw("C_ID")), (upto(10), upto(3_000)));
    assert_eq!(draw("c_last"), Err(Undrawn::Contents));
    assert!(matches!(draw("c_lsat"), Err(Undrawn::NoColumn(columns)) if columns.len() == 21));
}
