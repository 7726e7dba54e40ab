//! What tables of a study are, and that their rows depend on nothing but seed, names and number.

use super::*;
use crate::layout::{self, Cell, DataSet, Kinship, Rows, State};

fn column(name: &str, kind: &str, values: Values) -> Column {
    Column { name: name.to_owned(), kind: kind.to_owned(), values, null: 0.0, distinct: None }
}

fn shop() -> Data {
    let uniform = Distribution::Uniform;
    let day = Values::Date { first: 18_262, last: 19_722, distribution: uniform };
    let state = Values::Choice(vec![
        (Literal::Text("open".to_owned()), 1.0),
        (Literal::Text("paid".to_owned()), 3.0),
    ]);
    let of_customer = Values::References {
        table: "customer".to_owned(),
        column: "id".to_owned(),
        min: 1,
        max: 100,
        distribution: uniform,
    };
    let customer = Table {
        name: "customer".to_owned(),
        rows: 100,
        columns: vec![
            column("id", "BIGINT", Values::Sequence { first: 1 }),
            column("name", "VARCHAR(20)", Values::Text { min: 5, max: 20 }),
        ],
        indexes: Vec::new(),
    };
    let orders = Table {
        name: "orders".to_owned(),
        rows: 20_000,
        columns: vec![
            column("id", "BIGINT", Values::Sequence { first: 1000 }),
            column("customer_id", "BIGINT", of_customer),
            column("day", "DATE", day),
            column("state", "VARCHAR(4)", state),
            Column {
                null: 0.25,
                ..column(
                    "price",
                    "DECIMAL(20,2)",
                    Values::Normal { mean: 50.0, deviation: 10.0, decimals: 2 },
                )
            },
        ],
        indexes: vec![vec!["customer_id".to_owned(), "day".to_owned()]],
    };
    Data { tables: vec![customer, orders], engine: None, seed: 3 }
}

fn row(data: &Data, table: usize, number: u64) -> String {
    let mut rows = Rows::default();
    Layout::tables(data)[table].contents.write(number, &mut rows);
    let mut text = Vec::new();
    rows.write_joined(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn a_row_depends_on_seed_names_and_number_alone() {
    let data = shop();
    assert_eq!(row(&data, 1, 7), row(&data, 1, 7));
    assert_ne!(row(&data, 1, 7), row(&data, 1, 8));
    assert_ne!(row(&data, 0, 7), row(&Data { seed: 4, ..shop() }, 0, 7));
    // Pinned: tables of the same seed stay the same from one version of Prony to the next.
    insta::assert_snapshot!([row(&data, 0, 1), row(&data, 1, 1), row(&data, 1, 20_000)].join("\n"));
    let mut wider = shop();
    wider.tables[0].columns.insert(1, column("more", "BIGINT", Values::Sequence { first: 1 }));
    assert_eq!(row(&wider, 1, 7), row(&data, 1, 7), "another table is not touched");
    assert!(row(&wider, 0, 7).ends_with(row(&data, 0, 7).trim_start_matches('7')), "nor is a column");
}

#[test]
fn columns_hold_what_they_say() {
    let data = shop();
    let mut rows = Rows::default();
    (1..=20_000).for_each(|number| Layout::tables(&data)[1].contents.write(number, &mut rows));
    let cells: Vec<Cell<'_>> = rows.cells().collect();
    let text = |cell: &Cell<'_>| match cell {
        Cell::Text(text) => String::from_utf8(text.to_vec()).expect("text"),
        other => panic!("{other:?}"),
    };
    let all: Vec<&[Cell<'_>]> = cells.chunks(5).collect();
    assert_eq!((all[0][0], all[19_999][0]), (Cell::Integer(1000), Cell::Integer(20_999)));
    assert!(all.iter().all(|row| matches!(row[1], Cell::Integer(1..=100))));
    let days: Vec<String> = all.iter().map(|row| text(&row[2])).collect();
    assert_eq!(days.iter().min().map(String::as_str), Some("2020-01-01"));
    assert_eq!(days.iter().max().map(String::as_str), Some("2023-12-31"));
    let paid = all.iter().filter(|row| text(&row[3]) == "paid").count();
    assert!(paid.abs_diff(15_000) < 350, "{paid}: 15,000 are expected, 61 is the standard deviation");
    let prices: Vec<f64> = all
        .iter()
        .filter(|row| row[4] != Cell::Null)
        .map(|row| text(&row[4]).parse().expect("a number"))
        .collect();
    assert!(prices.len().abs_diff(15_000) < 350, "{}", prices.len());
    let mean = prices.iter().sum::<f64>() / prices.len() as f64;
    let deviation =
        (prices.iter().map(|price| (price - mean).powi(2)).sum::<f64>() / prices.len() as f64).sqrt();
    assert!((mean - 50.0).abs() < 0.5 && (deviation - 10.0).abs() < 0.4, "{mean} {deviation}");
}

#[test]
fn a_table_is_known_by_everything_that_it_is_made_from() {
    let whole = |data: &Data| Layout::tables(data).remove(1);
    let same = whole(&shop()).comment(State::Complete);
    assert_eq!(whole(&shop()).kinship(&same), Kinship::Same(State::Complete));
    let mut other = shop();
    other.tables[1].columns[4].null = 0.3;
    assert_eq!(whole(&other).kinship(&same), Kinship::Other);
    assert_eq!(whole(&Data { seed: 4, ..shop() }).kinship(&same), Kinship::Other);
    let engine = Some("MyISAM".to_owned());
    assert_eq!(whole(&Data { engine, ..shop() }).kinship(&same), Kinship::Other);
    assert_eq!(Layout::tables(&shop())[0].kinship(&same), Kinship::Foreign, "a mark names its table");
    assert!(same.len() < 1024, "what a table's comment can be in every server");
    assert!(layout::is_own("orders", &same));
}

#[test]
fn a_table_is_made_with_its_types_and_keys() {
    let table = Layout::tables(&shop()).remove(1);
    insta::assert_snapshot!([table.create(), table.indexes[0].create(&table.name)].join("\n"));
    assert_eq!(table.number, "(`id` - (999))");
}

#[test]
fn values_are_drawn_from_what_columns_hold() {
    let data = shop();
    let uniform = Distribution::Uniform;
    let integers = |min, max| Ok(Draw::Integer { min, max, distribution: uniform });
    assert_eq!(data.draw("orders", "id", uniform), integers(1000, 20_999));
    assert_eq!(data.draw("Orders", "customer_ID", uniform), integers(1, 100));
    let date = Draw::Date { first: 18_262, last: 19_722, distribution: uniform };
    assert_eq!(data.draw("orders", "day", uniform), Ok(date));
    assert!(matches!(data.draw("orders", "state", uniform), Ok(Draw::Weighted(values)) if values.len() == 2));
    assert_eq!(data.draw("orders", "price", uniform), Err(Undrawn::Contents));
    assert_eq!(data.draw("order", "id", uniform), Err(Undrawn::NoTable));
    let columns = Undrawn::NoColumn(vec!["id".to_owned(), "name".to_owned()]);
    assert_eq!(data.draw("customer", "nmae", uniform), Err(columns));
}

#[test]
fn a_data_set_is_read_as_it_was_written() {
    let data = DataSet::from(shop());
    let text = serde_json::to_string(&data).expect("JSON");
    assert_eq!(serde_json::from_str::<DataSet>(&text).expect("a data set"), data);
}

#[test]
fn rows_are_found_by_what_the_server_is_given() {
    use load::random::{Sampler, of_row};
    let mut data = shop();
    data.tables[1].columns[1].null = 0.2;
    let rows = data.rows_with("orders", "id", "customer_id").expect("drawn from a sequence");
    assert_eq!((rows.count, rows.first, rows.min, rows.max, rows.null), (20_000, 1000, 1, 100, 0.2));
    let sampler = Sampler::new(rows.min, rows.max, rows.distribution);
    for number in 1..=200 {
        let mut random = of_row(rows.key, number);
        let is_null = random.unit() < rows.null;
        let customer = (!is_null).then(|| sampler.draw(&mut random).to_string());
        let loaded = row(&data, 1, number);
        let fields: Vec<&str> = loaded.split(',').collect();
        assert_eq!(fields[0], (999 + number).to_string());
        match customer {
            Some(customer) => assert_eq!(fields[1], customer, "{loaded}"),
            None => assert!(fields[1].starts_with("20"), "the day is next: {loaded}"),
        }
    }
    let refused = |table: &str, column: &str, by: &str| data.rows_with(table, column, by).unwrap_err();
    assert_eq!(refused("order", "id", "day").1, Undrawn::NoTable);
    assert!(matches!(refused("orders", "id", "dya"), (name, Undrawn::NoColumn(_)) if name == "dya"));
    assert_eq!(refused("orders", "id", "state"), ("state".to_owned(), Undrawn::Rows));
    assert_eq!(refused("orders", "day", "customer_id"), ("day".to_owned(), Undrawn::Rows));
    data.tables[1].rows = 30_000_000;
    let (column, why) = data.rows_with("orders", "id", "customer_id").unwrap_err();
    assert_eq!((column.as_str(), why), ("customer_id", Undrawn::Rows), "too many");
}
