use super::{parameters::parameters, *};
use crate::layout::{Cell, Rows};
use std::collections::BTreeSet;

fn data(scale_factor: f64) -> Data {
    Data { scale_factor, engine: None }
}

fn table(data: &Data, name: &str) -> Table {
    data.tables().into_iter().find(|table| table.name == name).unwrap()
}

/// The rows with a number, each as dbgen prints it.
fn rows(table: &Table, number: u64) -> Vec<String> {
    let mut rows = Rows::default();
    table.contents.write(number, &mut rows);
    let shown = |cell: Cell<'_>| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
    };
    let cells: Vec<String> = rows.cells().map(shown).collect();
    assert_eq!(cells.len() % table.columns.len(), 0, "{}", table.name);
    cells.chunks(table.columns.len()).map(|row| row.join("|")).collect()
}

#[test]
fn tables_have_the_rows_that_the_specification_says() {
    let rows = |scale_factor: f64| -> Vec<(String, u64)> {
        data(scale_factor).tables().into_iter().map(|table| (table.name, table.rows)).collect()
    };
    let expected = [
        ("lineitem", 6_001_215),
        ("orders", 1_500_000),
        ("partsupp", 800_000),
        ("part", 200_000),
        ("customer", 150_000),
        ("supplier", 10_000),
        ("nation", 25),
        ("region", 5),
    ];
    assert_eq!(rows(1.0), expected.map(|(name, rows)| (name.to_owned(), rows)));
    assert_eq!(rows(10.0)[0].1, 59_986_052);
    assert_eq!(rows(0.01)[0].1, 60_175);
    assert!(data(0.0).tables().is_empty());
}

#[test]
fn lines_are_counted_as_they_are_written() {
    let lines = table(&data(0.01), "lineitem");
    let counted = |numbers: std::ops::RangeInclusive<u64>| -> u64 {
        numbers.map(|number| self::rows(&lines, number).len() as u64).sum()
    };
    assert_eq!(lines.last(), 15_000);
    for numbers in [1..=1, 1..=100, 777..=1_234, 14_990..=15_000] {
        assert_eq!(lines.contents.count(&numbers), counted(numbers.clone()), "{numbers:?}");
    }
    assert_eq!(lines.contents.count(&(1..=15_000)), lines.rows);
}

#[test]
fn rows_are_those_that_dbgen_makes() {
    let first = |name: &str| rows(&table(&data(1.0), name), 1).remove(0);
    // what dbgen 2.18 prints at scale factor 1
    assert_eq!(
        first("lineitem"),
        "1|155190|7706|1|17.00|21168.23|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN \
         PERSON|TRUCK|egular courts above the"
    );
    assert_eq!(
        first("orders"),
        "1|36901|O|173665.47|1996-01-02|5-LOW|Clerk#000000951|0|nstructions sleep furiously among "
    );
    assert_eq!(
        first("customer"),
        "1|Customer#000000001|IVhzIApeRb ot,c,E|15|25-989-741-2988|711.56|BUILDING|to the even, regular \
         platelets. regular, ironic epitaphs nag e"
    );
    assert_eq!(
        first("part"),
        "1|goldenrod lavender spring chocolate lace|Manufacturer#1|Brand#13|PROMO BURNISHED \
         COPPER|7|JUMBO PKG|901.00|ly. slyly ironi"
    );
    assert_eq!(
        first("supplier"),
        "1|Supplier#000000001| N kD4on9OM Ipw3,gf0JBoQDd7tgrzrddZ|17|27-918-335-1736|5755.94|each slyly \
         above the careful"
    );
    let nations = table(&data(1.0), "nation");
    assert!(rows(&nations, 25)[0].starts_with("24|UNITED STATES|1|"), "{:?}", rows(&nations, 25));
}

#[test]
fn rows_do_not_depend_on_who_makes_them() {
    let generator = tpchgen::generators::LineItemGenerator::new(0.01, 1, 1);
    let printed = |line: tpchgen::generators::LineItem<'_>| {
        let line = line.to_string();
        let mut values: Vec<&str> = line.trim_end_matches('|').split('|').collect();
        let quantity = format!("{}.00", values[4]);
        values[4] = &quantity;
        values.join("|")
    };
    let expected: Vec<String> = generator.iter().map(printed).collect();
    let lines = table(&data(0.01), "lineitem");
    let made: Vec<String> = (1..=15_000).flat_map(|number| rows(&lines, number)).collect();
    assert!(expected == made, "one of {} rows differs", expected.len());
}

#[test]
fn numbers_of_rows_in_sql_are_those_of_the_rows() {
    let (orders, lines) = (table(&data(0.01), "orders"), table(&data(0.01), "lineitem"));
    for table in [&orders, &lines] {
        for number in [1, 7, 8, 9, 31, 32, 1_000, 14_999, 15_000] {
            let row = rows(table, number).remove(0);
            let key: u64 = row.split('|').next().unwrap().parse().unwrap();
            assert_eq!(key / 32 * 8 + key % 8, number, "{row}");
        }
    }
    let last: i64 = rows(&orders, 15_000)[0].split('|').next().unwrap().parse().unwrap();
    assert_eq!(form("orders").unwrap().keys(0.01), (1, last));
}

#[test]
fn drawn_parameters_keep_the_rules_and_are_the_same_for_everybody() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for stream in 1..=STREAM_MAX {
        let all = parameters(stream, 1.0);
        assert_eq!(all, parameters(stream, 1.0));
        let number = |query: usize, place: usize| all[query - 1][place].parse::<f64>().unwrap();
        assert!((60.0..=120.0).contains(&number(1, 0)));
        assert!((1.0..=50.0).contains(&number(2, 0)) && words(&all[1][1]).len() == 1);
        assert!((0.02..=0.09).contains(&number(6, 1)) && (24.0..=25.0).contains(&number(6, 2)));
        assert_ne!(all[6][0], all[6][1], "two nations");
        assert_eq!(words(&all[7][2]).len(), 3);
        assert!((1992..=1995).contains(&all[9][0][..4].parse::<u32>().unwrap()), "{}", all[9][0]);
        assert_eq!(all[10][1], "0.0001");
        assert_ne!(all[11][0], all[11][1], "two modes");
        let sizes: BTreeSet<&String> = all[15][2..].iter().collect();
        assert_eq!((sizes.len(), words(&all[15][1]).len()), (8, 2));
        assert!((312.0..=315.0).contains(&number(18, 0)));
        assert_eq!(all[21].iter().collect::<BTreeSet<_>>().len(), 7);
        assert!(all[21].iter().all(|code| (10..=34).contains(&code.parse::<u32>().unwrap())));
    }
    let different: BTreeSet<String> = (1..=40).map(|stream| parameters(stream, 1.0)[0][0].clone()).collect();
    assert!(different.len() > 15, "{different:?}");
    assert_eq!(parameters(0, 0.01)[10][1], "0.01");
}

#[test]
fn every_stream_has_each_query_once_in_the_order_of_its_own() {
    let mut orders = BTreeSet::new();
    for stream in 0..=STREAM_MAX {
        let made = workload(stream, 1.0, 0);
        let names: Vec<String> = made.transactions().iter().map(|one| one.name.clone()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 22);
        let text = |step: &load::spec::Step| match step {
            load::spec::Step::Statement(statement) => format!("{:?}", statement.pieces),
            other => panic!("{other:?}"),
        };
        let is_left = |text: String| (1..=9).any(|place| text.contains(&format!(":{place}")));
        assert!(!made.steps().map(text).any(is_left), "a parameter is left");
        orders.insert(names);
    }
    assert_eq!(orders.len(), 41);
    let power: Vec<String> = workload(0, 1.0, 0).transactions().iter().map(|one| one.name.clone()).collect();
    assert_eq!((power[0].as_str(), power[21].as_str()), ("q14", "q12"));
}

#[test]
fn numbers_can_be_drawn_and_what_is_not_there_is_told() {
    let draw = |table: &str, column: &str| data(0.5).draw(table, column, Distribution::Uniform);
    let from = |min, max| Ok(Draw::Integer { min, max, distribution: Distribution::Uniform });
    assert_eq!(draw("lineitem", "l_partkey"), from(1, 100_000));
    assert_eq!(
        (draw("customer", "C_NATIONKEY"), draw("orders", "o_custkey")),
        (from(0, 24), from(1, 75_000))
    );
    assert_eq!(draw("orders", "o_orderkey"), Err(Undrawn::Contents));
    assert!(matches!(draw("part", "p_nmae"), Err(Undrawn::NoColumn(columns)) if columns.len() == 9));
}
