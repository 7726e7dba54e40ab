//! Data sets on a real server: the same however they are loaded, resumed after a break, never at others'
//! cost.

use load::{client::Connection, spec::Target};
use prony::{
    dataset::{self, Checksum, Error, Method, Progress, Report},
    layout::sysbench::Data as DataPlan,
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner, Server},
    workload::{self, Options},
};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// A MariaDB of the test's own; the directory is its state.
fn server() -> (tempfile::TempDir, Server) {
    server_of("mariadb", "10.11")
}

fn server_of(product: &str, version: &str) -> (tempfile::TempDir, Server) {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    let plan = ServerPlan {
        settings: [("innodb_flush_log_at_trx_commit".to_owned(), "0".to_owned())].into(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) },
        )
    };
    let server = Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()).expect("a server");
    (state, server)
}

fn target(server: &Server, database: &str) -> Target {
    Target { database: Some(database.to_owned()), ..server.target().clone() }
}

fn plan(tables: u32, rows: u64) -> DataPlan {
    let options = Options { tables, table_size: rows, ..Options::default() };
    DataPlan { seed: 42, ..workload::data("oltp_read_write", &options).expect("good options") }
}

fn prepare(target: &Target, plan: &DataPlan, connections: u32) -> Result<Report, Error> {
    dataset::prepare(target, plan, connections, &mut |_| (), &GO_ON)
}

fn checksum(target: &Target, plan: &DataPlan) -> Checksum {
    dataset::checksum(target, plan, 2, &GO_ON).expect("a checksum")
}

fn query(target: &Target, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut connection = Connection::open(target, Duration::from_secs(5)).expect("a connection");
    connection.query(sql).expect("good SQL").rows().to_vec()
}

fn value(target: &Target, sql: &str) -> String {
    query(target, sql)[0][0].clone().unwrap_or_default()
}

#[test]
fn a_data_set_is_the_same_however_many_connections_load_it_and_is_known_again() {
    let (_state, server) = server();
    let plan = plan(2, 25_000);
    let (one, four) = (target(&server, "one"), target(&server, "four"));
    let report = prepare(&one, &plan, 1).unwrap();
    assert_eq!((report.rows_loaded, report.tables_kept, report.method), (50_000, 0, Some(Method::Bulk)));
    let mut seen: Vec<Progress> = Vec::new();
    dataset::prepare(&four, &plan, 4, &mut |progress| seen.push(progress), &GO_ON).unwrap();
    let last = seen.last().unwrap();
    assert_eq!((last.rows, last.rows_total, last.tables, last.tables_total), (50_000, 50_000, 2, 2));
    assert!(seen.is_sorted_by_key(|progress| progress.rows));

    let sum = checksum(&one, &plan);
    assert!(sum.is_right() && sum.found != 0, "{sum:?}");
    assert_eq!(checksum(&four, &plan), sum);
    for target in [&one, &four] {
        let k = "SELECT COUNT(*) FROM sbtest2 WHERE k BETWEEN 1 AND 25000";
        assert_eq!(value(target, k), "25000");
        assert_eq!(query(target, "SHOW INDEX FROM sbtest2 WHERE Key_name = 'k_2'").len(), 1);
    }

    let again = prepare(&one, &plan, 2).unwrap();
    assert_eq!((again.rows_loaded, again.tables_kept), (0, 2));
    // A workload that removes rows leaves a table to be made again; one that changes them leaves one for the
    // checksum to tell.
    query(&one, "DELETE FROM sbtest1 WHERE id = 77");
    query(&one, "UPDATE sbtest2 SET k = k + 1 WHERE id = 77");
    assert_eq!(checksum(&one, &plan).different, ["sbtest1", "sbtest2"]);
    let again = prepare(&one, &plan, 2).unwrap();
    assert_eq!((again.rows_loaded, again.tables_kept), (25_000, 1));
    assert_eq!(checksum(&one, &plan).different, ["sbtest2"]);
    // Another seed is another data set.
    let other = DataPlan { seed: 43, ..plan };
    assert_eq!(prepare(&one, &other, 2).unwrap().rows_loaded, 50_000);
    assert!(checksum(&one, &other).is_right());
    server.stop().unwrap();
}

#[test]
fn loading_goes_on_where_it_was_broken_off() {
    let (_state, server) = server();
    let plan = plan(2, 200_000);
    let target = target(&server, "broken_off");
    let mut kept = 0;
    for attempt in 1..=20 {
        let stop = AtomicBool::new(false);
        // Stopped at another place each time.
        let limit = 30_000 * attempt;
        let mut watch = |progress: Progress| {
            kept = kept.max(progress.rows);
            stop.store(progress.rows_loaded >= limit, Relaxed);
        };
        match dataset::prepare(&target, &plan, 3, &mut watch, &stop) {
            Err(Error::Interrupted) => {}
            other => {
                let report = other.unwrap();
                assert!(attempt > 1, "it was never interrupted");
                assert!(report.rows_loaded < 400_000, "nothing was kept: {report:?}");
                break;
            }
        }
    }
    assert!(checksum(&target, &plan).is_right());

    // A connection that is killed by others, in an engine without transactions.
    let plan = DataPlan { engine: Some("MyISAM".to_owned()), ..plan };
    let mut killed = false;
    let mut kill = |progress: Progress| {
        if progress.rows_loaded > 20_000 && !killed {
            killed = true;
            let list = "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'broken_off' AND ID <> \
                        CONNECTION_ID()";
            for row in query(&target, list) {
                let mut connection = Connection::open(&target, Duration::from_secs(5)).unwrap();
                let _ = connection.query(&format!("KILL {}", row[0].as_deref().unwrap()));
            }
        }
    };
    let error = dataset::prepare(&target, &plan, 2, &mut kill, &GO_ON).unwrap_err();
    assert!(error.to_string().contains("sbtest"), "{error}");
    assert_eq!(prepare(&target, &plan, 2).unwrap().tables, 2);
    assert!(checksum(&target, &plan).is_right());
    server.stop().unwrap();
}

#[test]
fn loading_waits_for_what_connections_of_a_killed_load_still_insert() {
    let (_state, server) = server();
    let target = target(&server, "late_insert");
    let plan = DataPlan { engine: Some("MyISAM".to_owned()), ..plan(1, 20_000) };
    let stop = AtomicBool::new(false);
    let mut half = |progress: Progress| stop.store(progress.rows_loaded >= 10_000, Relaxed);
    let _ = dataset::prepare(&target, &plan, 1, &mut half, &stop);
    query(&target, "DELETE FROM sbtest1 WHERE id > 10000; ALTER TABLE sbtest1 DISABLE KEYS");
    let comment =
        value(&target, "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_NAME = 'sbtest1'");
    query(&target, &format!("ALTER TABLE sbtest1 COMMENT = '{}'", comment.replace("complete", "loading")));
    // What the server has of a load whose client is gone: a connection in an INSERT that it has only begun.
    let mut late = Connection::open(&target, Duration::from_secs(5)).unwrap();
    late.query("SELECT GET_LOCK(CONCAT('prony load 0 ', DATABASE()), 0)").unwrap();
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        late.query("INSERT INTO sbtest1 (id, k) VALUES (10001, 1)").unwrap();
    });
    let report = prepare(&target, &plan, 1).unwrap();
    late.join().unwrap();
    assert!(report.took >= Duration::from_millis(500), "{report:?}");
    assert!(checksum(&target, &plan).is_right());
    server.stop().unwrap();
}

#[test]
fn only_what_prony_made_is_replaced_or_removed() {
    let (_state, server) = server();
    let target = target(&server, "shared");
    prepare(&target, &plan(3, 100), 2).unwrap();
    query(
        &target,
        "DROP TABLE sbtest2; CREATE TABLE sbtest2 (mine INT); CREATE TABLE sbtest_notes (mine INT)",
    );
    let error = prepare(&target, &plan(3, 200), 2).unwrap_err();
    assert!(matches!(&error, Error::Foreign { table, .. } if table == "sbtest2"), "{error}");
    assert_eq!(value(&target, "SELECT COUNT(*) FROM sbtest1"), "100", "nothing was changed before");
    let cleaned = dataset::cleanup(&target, &|_| true).unwrap();
    assert_eq!(
        (cleaned.dropped, cleaned.foreign),
        (vec!["sbtest1".into(), "sbtest3".into()], vec!["sbtest2".into()])
    );
    let left = query(&target, "SHOW TABLES LIKE 'sbtest%'");
    assert_eq!(left, [[Some("sbtest2".to_owned())], [Some("sbtest_notes".to_owned())]]);
    server.stop().unwrap();
}

#[test]
fn layouts_are_those_of_sysbench_and_mistakes_are_explained() {
    let (_state, server) = server();
    let target = target(&server, "layouts");
    let columns = "SELECT GROUP_CONCAT(CONCAT_WS(' ', COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY, NULLIF(EXTRA, \
                   '')) ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = \
                   'layouts' AND TABLE_NAME = 'sbtest1'";
    prepare(&target, &plan(1, 10), 1).unwrap();
    let usual = "id int(11) PRI auto_increment,k int(11) MUL,c char(120) ,pad char(60) ";
    assert_eq!(value(&target, columns), usual);
    prepare(
        &target,
        &DataPlan { secondary: true, auto_inc: false, create_secondary: false, ..plan(1, 10) },
        1,
    )
    .unwrap();
    assert_eq!(value(&target, columns), "id int(11) MUL,k int(11) ,c char(120) ,pad char(60) ");
    assert_eq!(query(&target, "SHOW INDEX FROM sbtest1 WHERE Key_name = 'xid'").len(), 1);
    let bulk = workload::data("bulk_insert", &Options::default()).unwrap();
    prepare(&target, &bulk, 4).unwrap();
    assert_eq!(value(&target, columns), "id int(11) PRI,k int(11) ");

    let said = |target: &Target, plan: &DataPlan| prepare(target, plan, 2).unwrap_err().to_string();
    let message = said(&target, &DataPlan { engine: Some("nonesuch".to_owned()), ..plan(1, 10) });
    assert!(message.contains("CREATE TABLE sbtest1") && message.contains("SHOW ENGINES"), "{message}");
    query(&target, "CREATE USER poor@'%' IDENTIFIED BY 'x'; GRANT SELECT ON layouts.* TO poor@'%'");
    let poor = Target { user: "poor".to_owned(), password: load::spec::Secret::new("x"), ..target.clone() };
    let message = said(&poor, &plan(1, 10));
    assert!(message.contains("grant the account the privileges"), "{message}");
    let message = said(&Target { database: Some("absent".to_owned()), ..poor }, &plan(1, 10));
    assert!(message.contains("absent"), "{message}");
    server.stop().unwrap();
}

#[test]
#[ignore = "long: fetches several servers once"]
fn data_sets_are_the_same_on_every_server() {
    let plan = plan(2, 12_345);
    let mut sums = Vec::new();
    for (product, version, method) in [
        ("mysql", "5.5", Method::ManyRows),
        ("mysql", "5.6", Method::ManyRows),
        ("mysql", "5.7", Method::ManyRows),
        ("mysql", "8.0", Method::ManyRows),
        ("mariadb", "10.1", Method::ManyRows),
        ("mariadb", "10.2", Method::Bulk),
        ("mariadb", "11.4", Method::Bulk),
    ] {
        let (_state, server) = server_of(product, version);
        for engine in ["InnoDB", "MyISAM"] {
            let target = target(&server, &format!("data_{engine}"));
            let plan = DataPlan { engine: Some(engine.to_owned()), ..plan.clone() };
            let report = prepare(&target, &plan, 3).unwrap();
            assert_eq!((report.rows_loaded, report.method), (24_690, Some(method)), "{product} {version}");
            assert_eq!(prepare(&target, &plan, 3).unwrap().tables_kept, 2, "{product} {version}");
            let sum = checksum(&target, &plan);
            assert!(sum.is_right(), "{product} {version} {engine}: {sum:?}");
            sums.push(sum.found);
        }
        server.stop().unwrap();
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}
