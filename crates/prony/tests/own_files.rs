//! Tables that files of SQL make, on real servers: loaded as they are, put back after trials that write,
//! compared between servers; what a server refuses is told with file, line and its own words.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use flate2::{Compression, write::GzEncoder};
use load::{Stop, client::Connection};
use parquet::{
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use prony::{
    dataset,
    layout::files,
    sketch,
    study::{self, Adjustments},
};
use serde_json::Value;
use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output},
    sync::Arc,
    time::Duration,
};
use support::server::mariadb;

const SCHEMA: &str = "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
DROP TABLE IF EXISTS `customer`;
CREATE TABLE `customer` (
  `id` int(11) NOT NULL,
  `name` varchar(40) CHARACTER SET utf8mb4 DEFAULT NULL, -- may hold ; and '
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
LOCK TABLES `customer` WRITE;
";

/// Customers 1 to 500, and their orders.
fn dump() -> String {
    let customers: Vec<String> = (1..=500).map(|id| format!("({id},'Ren\u{e9}e; it''s {id}')")).collect();
    let orders: Vec<String> = (1..=2_000).map(|id| format!("({id},{},9.50)", id % 500 + 1)).collect();
    format!(
        "{SCHEMA}INSERT INTO `customer` VALUES {};\nUNLOCK TABLES;\nCREATE TABLE orders (id INT \
         AUTO_INCREMENT PRIMARY KEY, customer_id INT NOT NULL, price DECIMAL(10,2), KEY (customer_id), \
         CONSTRAINT of FOREIGN KEY (customer_id) REFERENCES customer (id));\nINSERT INTO orders VALUES \
         {};\n",
        customers.join(","),
        orders.join(",\n")
    )
}

fn study(sql: &str, rest: &str) -> String {
    format!(
        r#"
title = "From files"
[server.a]
product = "mariadb"
version = "10.11"
[server.b]
product = "mariadb"
version = "10.11"
settings = {{ max_connections = 77 }}
[settings]
innodb_flush_log_at_trx_commit = 0
[data]
sql = {sql}
[[workload.shop.transaction]]
name = "read"
weight = 80
statements = [{{ sql = "SELECT * FROM orders WHERE customer_id = {{customer.id}}", expect = "row" }}]
[[workload.shop.transaction]]
name = "write"
weight = 20
statements = [
  {{ sql = "INSERT INTO orders (customer_id, price) VALUES ({{customer.id}}, 1)", expect = "change" }}
]
[[stream]]
workload = "shop"
connections = 2
[vary]
server = ["a", "b"]
[measure]
warm_up = "0s"
interval = "300ms"
repeats = 2
repeat_invalid = 0
{rest}"#
    )
}

fn run(home: &Path, verb: &str, text: &str) -> Output {
    fs::write(home.join("shop.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args([verb, "shop.toml"]).current_dir(home).env_remove("PRONY_STORE");
    command.args(if verb == "run" { &["--json"][..] } else { &[] });
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home.join("state"));
    command.output().unwrap()
}

/// What is told on the way, in one line: messages are wrapped.
fn told(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_compressed_dump_is_loaded_on_every_server_and_put_back() {
    let home = tempfile::tempdir().unwrap();
    let mut gz =
        GzEncoder::new(fs::File::create(home.path().join("dump.sql.gz")).unwrap(), Compression::fast());
    gz.write_all(dump().as_bytes()).unwrap();
    gz.finish().unwrap();
    let output = run(home.path(), "run", &study("\"dump.sql.gz\"", ""));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(
            (point["trials"].as_u64(), point["error_share"].as_f64()),
            (Some(2), Some(0.0)),
            "{point:#}"
        );
        assert_eq!(point["mix"].as_array().unwrap().len(), 2);
        let doubts = point["doubts"].to_string();
        assert!(!doubts.contains("rows_missing") && !doubts.contains("nothing_changed"), "{doubts}");
    }
}

#[test]
fn what_a_server_refuses_and_what_differs_between_servers_ends_the_run_before_any_trial() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("dump.sql"), dump()).unwrap();
    let more = "\n-- a stranger\nINSERT INTO orders (customer_id, price)\n VALUES (777, 5);\n";
    fs::write(home.path().join("more.sql"), more).unwrap();
    let output = run(home.path(), "run", &study("[\"dump.sql\", \"more.sql\"]", ""));
    let text = told(&output);
    assert_ne!(output.status.code(), Some(0), "{text}");
    for part in
        ["server a", "more.sql, line 3", "foreign key", "INSERT INTO orders (customer_id, price) VALUES"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let more = "INSERT INTO customer SELECT @@max_connections + 1000, 'x';";
    fs::write(home.path().join("more.sql"), more).unwrap();
    let output = run(home.path(), "run", &study("[\"dump.sql\", \"more.sql\"]", ""));
    let text = told(&output);
    assert_ne!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("customer has the same 501 rows with other values"), "{text}");
}

#[test]
fn mistakes_are_told_before_anything_starts() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("dump.sql"), dump()).unwrap();
    let good = study("\"dump.sql\"", "");
    assert_eq!(run(home.path(), "plan", &good).status.code(), Some(0));
    for (wrong, parts) in [
        (good.replace("dump.sql", "dmp.sql"), ["cannot read", "dmp.sql"]),
        (good.replace("{customer.id}", "{customer.idd}"), ["there is no column `idd`", "did you mean `id`?"]),
        (good.replace("FROM orders", "FROM order"), ["there is no table `order`", "did you mean `orders`?"]),
        (good.replace("{customer.id}", "{customer.name}"), ["cannot be drawn", "customer.name"]),
        (
            good.replace("workload = \"shop\"", "workload = \"oltp_read_only\""),
            [
                "built-in",
                "files of \
                                                                                             `sql`",
            ],
        ),
        (
            good.replace("[server.a]", "[server.far]\nurl = \"mysql://u@127.0.0.1:1/x\"\n[server.a]"),
            ["`sql` would write to `far`", "remove `sql`"],
        ),
        (study("\"dump.sql\"\nrows = 5", ""), ["`rows` applies to", "create the tables"]),
    ] {
        let output = run(home.path(), "plan", &wrong);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    }
}

/// What is drawn up from a database is a study that can be run, and nothing of the contents is in it.
#[test]
fn a_database_is_described_and_its_statements_become_a_workload() {
    let (_state, server) = mariadb(&[("performance_schema", "ON")]);
    let target = server.target();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("dump.sql");
    let more = "CREATE TABLE line (order_id INT, n INT, state ENUM('new','it''s') NOT NULL, sold DATETIME, \
                note \
                VARCHAR(9), PRIMARY KEY (order_id, n));\nINSERT INTO line VALUES (1,1,'new',\
                '2024-02-03 04:05:06',\
                NULL),(1,2,'new','2025-01-01','secret'),(2,1,'it''s',NULL,NULL);";
    fs::write(&path, dump() + more).unwrap();
    let data = files::Data::of_sql(&[path]).unwrap();
    dataset::execute(target, &data, 2, &mut |_| (), Stop::default().flag()).unwrap();
    let mut connection = Connection::open(target, Duration::from_secs(5)).unwrap();
    for customer in 1..=8 {
        let sql = format!("SELECT price FROM orders WHERE customer_id = {customer} AND id IN (1, 2) LIMIT 3");
        connection.query(&sql).unwrap();
    }
    connection.query("INSERT INTO orders (customer_id, price) VALUES (5, 1.25)").unwrap();
    connection.query("ANALYZE TABLE customer, orders, line").unwrap();
    let tables = sketch::tables("shop", &sketch::describe(target).unwrap(), 10.0);
    for part in [
        "[[table]]\nname = \"customer\"\nrows = 50",
        "customer_id = { references = \"customer.id\"",
        "price = { histogram = [[1.25, 9.50, 201], [9.50, 9.50, ",
        "row_number = { sequence = 1 }\norder_id = { random = [1, 2] }\nn = { random = [1, 2] }\n",
        "state = { choice = { new = 2, \"it's\" = 1 } }",
        "sold = { time = [\"2024-02-03 04:05:06\", \"2025-01-01 00:00:00\"], null = \"33.3%\" }",
        "note = { text = [6, 6], null = \"66.7%\" }",
    ] {
        assert!(tables.contains(part), "{part}\n{tables}");
    }
    assert!(!tables.contains("secret") && !tables.contains("Ren"), "{tables}");
    let seen = sketch::digests(target).unwrap();
    let workload = sketch::workload("mine", "shop", &seen, 50);
    assert!(workload.contains("weight = 8\n"), "{workload}");
    assert!(workload.contains(" = { random = [1, 500] }"), "{workload}");
    let head = "title = \"Mine\"\n[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"mine\"\n\
                connections = \
                2\n";
    let text = format!("{head}{tables}{workload}");
    let parsed = study::parse("mine", "mine.toml", &text, &Adjustments::default());
    parsed.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
}

/// A file that zstd compressed.
fn packed(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

/// Rows of the table that comes by every way.
const ROWS: u32 = 3_000;
/// It.
const ITEM: &str = "CREATE TABLE item (id INT NOT NULL, name VARCHAR(60) CHARACTER SET utf8mb4, price \
                 DECIMAL(9,2), sold DATETIME, data BLOB, doc JSON, PRIMARY KEY (id), KEY by_name (name), KEY \
                 by_price (price)) ENGINE=InnoDB;\n";

/// Its rows as statements, as CSV without its bytes, and as MySQL Shell writes them.
fn items() -> [String; 3] {
    let name = |id: u32| if id.is_multiple_of(7) { None } else { Some(format!("Ren\u{e9}e's \\ {id}\tx")) };
    let mut sql = format!("SET FOREIGN_KEY_CHECKS=0;\n{ITEM}");
    let (mut csv, mut tab) = ("price,id,name,sold,data,doc\n".to_owned(), String::new());
    for id in 1..=ROWS {
        let literal = name(id).map_or("NULL".to_owned(), |name| {
            format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"))
        });
        let day = format!("2024-02-{:02} 03:04:05", id % 28 + 1);
        sql += &format!(
            "INSERT INTO item VALUES ({id},{literal},{}.50,'{day}',x'00ff27','{{\"b\":1}}');\n",
            id % 90
        );
        let quoted = name(id).map_or("\\N".to_owned(), |name| format!("\"{name}\""));
        csv += &format!("{}.5,{id},{quoted},{day},\"\",\"{{\"\"b\"\": 1}}\"\n", id % 90);
        let escaped =
            name(id).map_or("\\N".to_owned(), |name| name.replace('\\', "\\\\").replace('\t', "\\t"));
        tab += &format!("{id}\t{escaped}\t{}.50\t{day}\tAP8n\t{{\"b\":1}}\n", id % 90);
    }
    [sql, csv, tab]
}

/// Some of its rows as Parquet, which other programs write with types of its own.
fn write_parquet(path: &Path, ids: std::ops::RangeInclusive<u32>) {
    /// 2024-02-01 03:04:05 UTC.
    const FIRST_DAY_S: i64 = 1_706_756_645;
    let schema = "message item { REQUIRED INT64 sold (TIMESTAMP(MICROS,true)); REQUIRED INT32 id; OPTIONAL \
                  BYTE_ARRAY name (UTF8); REQUIRED INT32 price (DECIMAL(9,2)); REQUIRED BYTE_ARRAY data; \
                  REQUIRED BYTE_ARRAY doc (JSON); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    macro_rules! column {
        ($kind:ty, $value:expr, $levels:expr) => {{
            let values: Vec<_> = ids.clone().filter_map($value).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<$kind>().write_batch(&values, $levels, None).unwrap();
            column.close().unwrap();
        }};
    }
    let levels: Vec<i16> = ids.clone().map(|id| i16::from(!id.is_multiple_of(7))).collect();
    let name = |id: u32| {
        (!id.is_multiple_of(7)).then(|| ByteArray::from(format!("Ren\u{e9}e's \\ {id}\tx").as_str()))
    };
    column!(Int64Type, |id: u32| Some((FIRST_DAY_S + i64::from(id % 28) * 86_400) * 1_000_000), None);
    column!(Int32Type, |id: u32| i32::try_from(id).ok(), None);
    column!(ByteArrayType, name, Some(&levels));
    column!(Int32Type, |id: u32| i32::try_from(id % 90 * 100 + 50).ok(), None);
    column!(ByteArrayType, |_| Some(ByteArray::from(vec![0x00, 0xff, 0x27])), None);
    column!(ByteArrayType, |_| Some(ByteArray::from("{\"b\": 1}")), None);
    group.close().unwrap();
    writer.close().unwrap();
}

/// Writes them in every form.
fn write_items(home: &Path) {
    let path = |name: &str| home.join(name);
    let [sql, csv, tab] = items();
    fs::write(path("dump.sql.zst"), packed(&sql)).unwrap();
    fs::write(path("schema.sql"), ITEM).unwrap();
    fs::write(path("item.csv.zst"), packed(&csv)).unwrap();
    write_parquet(&path("1.parquet"), 1..=1_800);
    write_parquet(&path("2.parquet"), 1_801..=ROWS);
    fs::create_dir(path("shell")).unwrap();
    fs::create_dir(path("my")).unwrap();
    for (name, text) in [
        ("@.json", r#"{"schemas": ["shop"]}"#),
        ("@.done.json", "{}"),
        ("shop.json", r#"{"tables": ["item"]}"#),
        ("shop.sql", "CREATE DATABASE shop; USE shop;"),
        (
            "shop@item.json",
            r#"{"options": {"columns": ["id","name","price","sold","data","doc"], "decodeColumns": {"data":
            "FROM_BASE64"}}, "extension": "tsv.zst"}"#,
        ),
        ("shop@item.sql", ITEM),
    ] {
        fs::write(path("shell").join(name), text).unwrap();
    }
    let half = tab.match_indices('\n').nth(1_499).unwrap().0 + 1;
    fs::write(path("shell/shop@item@0.tsv.zst"), packed(&tab[..half])).unwrap();
    fs::write(path("shell/shop@item@@1.tsv.zst"), packed(&tab[half..])).unwrap();
    let inserts: Vec<&str> = sql.lines().filter(|line| line.starts_with("INSERT")).collect();
    for (name, text) in [
        ("metadata", String::new()),
        ("shop-schema-create.sql.zst", "CREATE DATABASE `shop`;".to_owned()),
        ("shop.item-schema.sql.zst", format!("/*!40101 SET NAMES utf8mb4*/;\n{ITEM}")),
        ("shop.item.00000.sql.zst", format!("/*!40101 SET NAMES utf8mb4*/;\n{}", inserts[..900].join("\n"))),
        ("shop.item.00001.sql.zst", inserts[900..].join("\n")),
    ] {
        fs::write(path("my").join(name), packed(&text)).unwrap();
    }
}

/// Rows by every way in are the same rows: their sums on one server say so.
#[test]
fn rows_are_the_same_by_whatever_file_they_come() {
    let (_state, server) = mariadb(&[]);
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    write_items(home.path());
    let rows = |name: &str, form| {
        let (table, columns, encoded) = ("item".to_owned(), Vec::new(), Default::default());
        (path(name), files::Use::Rows(files::OfRows { table, form, columns, encoded }))
    };
    let script = |name: &str| (path(name), files::Use::Script);
    let mut sums = Vec::new();
    for (name, list) in [
        ("sql", vec![script("dump.sql.zst")]),
        ("shell", files::dump(&path("shell")).unwrap()),
        ("my", files::dump(&path("my")).unwrap()),
        ("csv", vec![script("schema.sql"), rows("item.csv.zst", files::Form::Csv)]),
        (
            "parquet",
            vec![
                script("schema.sql"),
                rows("1.parquet", files::Form::Parquet),
                rows("2.parquet", files::Form::Parquet),
            ],
        ),
    ] {
        let data = files::Data::read(list).unwrap();
        assert_eq!(data.made[0].rows, u64::from(ROWS), "{name}");
        let target = load::spec::Target { database: Some(name.to_owned()), ..server.target().clone() };
        let mut done = 0;
        dataset::execute(&target, &data, 3, &mut |bytes| done = bytes, Stop::default().flag())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut connection = Connection::open(&target, Duration::from_secs(5)).unwrap();
        if name == "csv" {
            // what CSV cannot say
            connection.query("UPDATE item SET data = x'00ff27'").unwrap();
        }
        let keys = connection.query("SHOW INDEX FROM item").unwrap();
        assert_eq!(keys.rows().len(), 3, "{name}");
        sums.push((name, dataset::contents(&target, &data.made, Stop::default().flag()).unwrap().remove(0)));
    }
    let sum = sums[0].1.clone();
    assert_eq!(sum.rows, u64::from(ROWS));
    assert!(sums.iter().all(|(_, other)| *other == sum), "{sums:?}");
    let mut connection = Connection::open(
        &load::spec::Target { database: Some("my".to_owned()), ..server.target().clone() },
        Duration::from_secs(5),
    )
    .unwrap();
    connection.query("UPDATE item SET name = NULL, price = NULL WHERE id = 9").unwrap();
    let list = files::dump(&path("my")).unwrap();
    let target = load::spec::Target { database: Some("my".to_owned()), ..server.target().clone() };
    let data = files::Data::read(list).unwrap();
    assert_ne!(dataset::contents(&target, &data.made, Stop::default().flag()).unwrap()[0], sum);
}

/// `mysqldump` of a MySQL that Prony has fetched.
fn mysqldump() -> std::path::PathBuf {
    let servers = prony::provision::Places::of_user().unwrap().servers();
    let mut found: Vec<_> = fs::read_dir(servers)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("mysql-8.0"))
        .map(|path| path.join("bin/mysqldump"))
        .filter(|path| path.is_file())
        .collect();
    found.pop().expect("MySQL 8.0 comes with it")
}

/// How a client program reaches a server's database.
fn reach(target: &load::spec::Target) -> Vec<String> {
    let load::spec::Address::Tcp { host, port } = &target.address else { panic!("{target:?}") };
    let password = target.password.reveal();
    [
        format!("--host={host}"),
        format!("--port={port}"),
        format!("--user={}", target.user),
        format!("--password={password}"),
    ]
    .into()
}

const RICH: &str = "CREATE TABLE item (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(60) COLLATE utf8mb4_bin,
  price DECIMAL(9,2) CHECK (price >= 0),
  half DECIMAL(9,3) AS (price / 2) STORED,
  d DOUBLE, f FLOAT, t TIMESTAMP NULL, dt DATETIME(3), b VARBINARY(20), bits BIT(9),
  doc JSON,
  KEY by_name (name), KEY by_price (price)
) ENGINE=InnoDB ROW_FORMAT=COMPRESSED DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE line (id INT NOT NULL PRIMARY KEY, item_id INT, KEY (item_id),
  CONSTRAINT li FOREIGN KEY (item_id) REFERENCES item (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
  COLLATE=utf8mb4_unicode_ci;
";

/// The table of every type, with rows.
fn rich() -> String {
    let row = |id: u32| {
        let name =
            if id.is_multiple_of(9) { "NULL".to_owned() } else { format!("'R\u{e9}n\u{e9}e\\\\ ''{id}\\n'") };
        format!(
            "({id},{name},{}.25,{id}.5e3,{id}.125,'2024-03-01 {:02}:00:00','2024-03-01 01:02:03.456',\
             x'00ff{:02x}',b'1010',' {{\"bb\": [1,2.5], \"a\" : \"x{id}\"}}')",
            id % 70,
            id % 24,
            id % 256
        )
    };
    let rows: Vec<String> = (1..=3_000).map(row).collect();
    let lines: Vec<String> = (1..=3_000).map(|id| format!("({id},{})", id % 900 + 1)).collect();
    format!(
        "SET NAMES utf8mb4;\n{RICH}INSERT INTO item (id, name, price, d, f, t, dt, b, bits, doc) VALUES \
         {};\nINSERT INTO line VALUES {};\n",
        rows.join(",\n"),
        lines.join(",")
    )
}

#[test]
#[ignore = "long: fetches MySQL 8.0, whose mysqldump it needs; MariaDB and MySQL side by side"]
fn real_dumps_hold_the_same_on_both_products_and_what_differs_is_told_with_its_line() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rich.sql");
    fs::write(&path, rich()).unwrap();
    let (_one, maria) = mariadb(&[]);
    let (_other, mysql) = support::server::started("mysql", "8.0", &[]);
    let never = Stop::default();
    let database = |server: &prony::provision::Server, name: &str| load::spec::Target {
        database: Some(name.to_owned()),
        ..server.target().clone()
    };
    let load = |target: &load::spec::Target, data: &files::Data| {
        dataset::execute(target, data, 3, &mut |_| (), never.flag())
            .unwrap_or_else(|error| panic!("{}: {error}", data.files[0].path.display()));
        dataset::contents(target, &data.made, never.flag()).unwrap()
    };
    let written = files::Data::of_sql(&[path]).unwrap();
    let mut dumps = vec![("written", written.clone())];
    for (name, server) in [("from_maria", &maria), ("from_mysql", &mysql)] {
        let source = database(server, "source");
        load(&source, &written);
        let file = home.path().join(format!("{name}.sql"));
        let dumped = Command::new(mysqldump())
            .args(reach(&source))
            .args(["--no-tablespaces", "--column-statistics=0", "--triggers", "-r"])
            .arg(&file)
            .args(["source", "item", "line"])
            .output()
            .unwrap();
        assert!(dumped.status.success(), "{name}: {}", String::from_utf8_lossy(&dumped.stderr));
        dumps.push((name, files::Data::of_sql(&[file]).unwrap()));
    }
    // a distribution's package, which not every machine has
    if Command::new("mydumper").arg("--version").output().is_ok() {
        let directory = home.path().join("mydumper");
        let dumped = Command::new("mydumper")
            .args(reach(&database(&maria, "source")))
            // `--tables-list` takes names with the database or without it, by version
            .args(["--database=source", "--regex=^source\\.(item|line)$", "--compress", "--rows=700"])
            .arg(format!("--outputdir={}", directory.display()))
            .output()
            .unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        dumps.push(("mydumper", files::Data::read(files::dump(&directory).unwrap()).unwrap()));
    }
    for (name, data) in &dumps {
        let rows: Vec<u64> = data.made.iter().map(|table| table.rows).collect();
        assert_eq!(rows, [3_000, 3_000], "{name}");
        let [here, there] = [&maria, &mysql].map(|server| database(server, name));
        let (one, other) = (load(&here, data), load(&there, data));
        assert_eq!(one, other, "{name}");
        let forms = [&here, &there].map(|target| dataset::form(target, data).unwrap());
        let told = forms[0].differences(&forms[1], data);
        let left_out: Vec<_> = forms.iter().flat_map(|form| form.left_out(data)).collect();
        assert!(left_out.is_empty(), "{name}: {left_out:?}");
        if *name == "from_mysql" {
            let doc = told.iter().find(|one| one.subject == "item.doc").expect("JSON is text in MariaDB");
            let text = String::from_utf8_lossy(&fs::read(&doc.file).unwrap()).into_owned();
            let line = text.lines().nth(doc.line as usize - 1).unwrap();
            assert!(line.trim_start().starts_with("`doc` json"), "{line}");
            assert_eq!((doc.here.as_str(), doc.there.as_str()), ("longtext", "json"));
        } else {
            let others = told.iter().filter(|one| !one.subject.contains("doc")).count();
            assert_eq!(others, 0, "{name}: {told:#?}");
        }
    }
    // a row that differs, and a condition that an old server reads over
    let here = database(&maria, "written");
    let before = dataset::contents(&here, &written.made, never.flag()).unwrap();
    let mut connection = Connection::open(&here, Duration::from_secs(5)).unwrap();
    connection.query("UPDATE item SET doc = '{\"a\": \"x1\", \"bb\": [1, 2.50]}' WHERE id = 1").unwrap();
    assert_eq!(dataset::contents(&here, &written.made, never.flag()).unwrap(), before, "the same JSON");
    connection.query("UPDATE item SET b = x'00ff99' WHERE id = 1").unwrap();
    assert_ne!(dataset::contents(&here, &written.made, never.flag()).unwrap(), before);
}
