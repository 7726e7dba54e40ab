//! Prony's workloads and data beside sysbench's own, on one server: what the server was asked, word for word,
//! as its general log has it.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}

use load::{
    client::Connection,
    spec::{Address, Spec, Stream, Target},
};
use prony::{
    dataset,
    layout::sysbench::Data as DataPlan,
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner, Server},
    workload::{self, Options},
};
use std::{path::PathBuf, process::Command, sync::atomic::AtomicBool, time::Duration};
use support::require::{Need, program, require};

const ROWS: u64 = 10_000;

/// Whether sysbench can be asked.
fn sysbench() -> Result<(), String> {
    program(Command::new("sysbench").arg("--version"))
}

/// A server that logs to a table, and two schemas with the same tables: one made by sysbench, one by Prony.
struct Bench {
    _state: tempfile::TempDir,
    server: Server,
}

impl Bench {
    fn new() -> Self {
        let state = tempfile::tempdir().expect("a directory");
        let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
        let settings = [("log_output", "TABLE"), ("innodb_flush_log_at_trx_commit", "0")];
        let plan = ServerPlan {
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..ServerPlan::new(
                "tested",
                ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) },
            )
        };
        let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
        let server = Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()).expect("a server");
        let bench = Self { _state: state, server };
        bench.query("CREATE DATABASE theirs; CREATE DATABASE ours; CREATE DATABASE bulk");
        bench
    }

    fn target(&self, database: &str) -> Target {
        Target { database: Some(database.to_owned()), ..self.server.target().clone() }
    }

    fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let mut connection =
            Connection::open(self.server.target(), Duration::from_secs(5)).expect("a connection");
        connection.query(sql).expect("good SQL").rows().to_vec()
    }

    fn sysbench(&self, database: &str, arguments: &[&str]) {
        let target = self.server.target();
        let Address::Tcp { host, port } = &target.address else {
            panic!("a provisioned server listens on TCP")
        };
        let mut command = Command::new("sysbench");
        command
            .arg(arguments[0])
            .arg(format!("--mysql-host={host}"))
            .arg(format!("--mysql-port={port}"))
            .arg(format!("--mysql-user={}", target.user))
            .arg(format!("--mysql-password={}", target.password.reveal()))
            .arg(format!("--mysql-db={database}"))
            .args(&arguments[1..]);
        let output = command.output().expect("sysbench runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn prony(&self, database: &str, name: &str, options: &Options, interval: Duration) {
        let workload = workload::builtin(name, options).expect("good options");
        let streams = vec![Stream::new("main", workload, 1)];
        let spec = Spec {
            seed: 1,
            workers: Some(1),
            ..Spec::new(self.target(database), streams, Duration::ZERO, interval)
        };
        load::run(&spec, &load::Stop::default(), &mut |_| ()).expect("a load");
    }

    fn prepare(&self, database: &str, plan: &DataPlan) {
        let stop = AtomicBool::new(false);
        dataset::prepare(&self.target(database), plan, 2, &mut |_| (), &stop).expect("data");
    }

    /// What a load asks of the server: the arguments of Execute and Query in the general log.
    fn log_of(&self, load: impl FnOnce()) -> Vec<String> {
        self.query("TRUNCATE mysql.general_log; SET GLOBAL general_log = ON");
        load();
        self.query("SET GLOBAL general_log = OFF");
        let asked = self.query(
            "SELECT argument FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') AND argument \
             NOT LIKE 'SET%' AND argument <> 'ROLLBACK'",
        );
        asked.into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
    }
}

/// A statement as a digest has it: one `S` for each text, one `N` for each number, single blanks.
fn digest(statement: &str) -> String {
    let mut digest = String::new();
    let mut rest = statement.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\'' => {
                rest.by_ref().find(|c| *c == '\'');
                digest.push('S');
            }
            '0'..='9' => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
                digest.push('N');
            }
            c if c.is_whitespace() => {
                if !digest.ends_with(' ') {
                    digest.push(' ');
                }
            }
            c => digest.push(c),
        }
    }
    digest.trim().to_owned()
}

fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options { tables: 2, table_size: ROWS, ..Options::default() };
    for (name, value) in settings {
        options.set(name, value).expect("a good option");
    }
    options
}

#[test]
fn the_server_is_asked_the_same_statements_in_the_same_order() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let size = format!("--table-size={ROWS}");
    bench.sysbench("theirs", &["oltp_read_write", "--tables=2", &size, "prepare"]);
    let plan = workload::data("oltp_read_write", &options(&[])).expect("good options");
    bench.prepare("ours", &plan);
    let few = ("point_selects", "3");
    let cases: [(&str, &[(&str, &str)]); 12] = [
        ("oltp_read_only", &[]),
        ("oltp_read_write", &[]),
        ("oltp_read_write", &[("skip_trx", "on"), few, ("simple_ranges", "2"), ("delete_inserts", "2")]),
        ("oltp_read_only", &[("range_selects", "off"), few, ("range_size", "7")]),
        ("oltp_write_only", &[("index_updates", "2"), ("non_index_updates", "0")]),
        ("oltp_point_select", &[few]),
        ("oltp_update_index", &[]),
        ("oltp_update_non_index", &[("non_index_updates", "2")]),
        ("oltp_insert", &[]),
        ("oltp_delete", &[]),
        ("select_random_points", &[("tables", "1"), ("random_points", "4")]),
        ("select_random_ranges", &[("tables", "1"), ("number_of_ranges", "3"), ("delta", "9")]),
    ];
    for (name, settings) in cases {
        let options = options(settings);
        let mut arguments = vec![name.to_owned(), "--tables=2".to_owned(), size.clone()];
        arguments
            .extend(settings.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
        arguments.extend(["--events=20", "--time=0", "--threads=1", "run"].map(str::to_owned));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let theirs = bench.log_of(|| bench.sysbench("theirs", &arguments));
        let ours = bench.log_of(|| bench.prony("ours", name, &options, Duration::from_millis(100)));
        let digests = |log: &[String]| log.iter().map(|line| digest(line)).collect::<Vec<_>>();
        let (theirs, ours) = (digests(&theirs), digests(&ours));
        assert!(theirs.len() >= 20 && theirs.len() % 20 == 0, "{name}: {} statements", theirs.len());
        let event = theirs.len() / 20;
        assert!(ours.len() >= event, "{name}: only {} statements", ours.len());
        for (line, asked) in ours.iter().enumerate() {
            assert_eq!(*asked, theirs[line % event], "{name} {settings:?}: statement {line}");
        }
    }
}

#[test]
fn bulk_inserts_have_the_same_size_and_rows() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    bench.sysbench("theirs", &["bulk_insert", "--threads=1", "prepare"]);
    let bulk = workload::data("bulk_insert", &Options::default()).expect("good options");
    bench.prepare("bulk", &bulk);
    let arguments = ["bulk_insert", "--threads=1", "--events=100000", "--time=0", "run"];
    let theirs = bench.log_of(|| bench.sysbench("theirs", &arguments));
    let run = || bench.prony("bulk", "bulk_insert", &Options::default(), Duration::from_millis(500));
    let ours = bench.log_of(run);
    let (theirs, ours) = (theirs.first().expect("an INSERT"), ours.first().expect("an INSERT"));
    let head = "INSERT INTO sbtest1 VALUES(1,1),(2,2),";
    let squeezed = |text: &str| text[..60].replace(' ', "");
    assert!(squeezed(theirs).starts_with(&head.replace(' ', "")), "{}", &theirs[..60]);
    assert!(squeezed(ours).starts_with(&head.replace(' ', "")), "{}", &ours[..60]);
    let ratio = ours.len() as f64 / theirs.len() as f64;
    assert!((0.99..1.01).contains(&ratio), "{} and {} bytes", ours.len(), theirs.len());
}

#[test]
fn tables_have_the_same_form_and_rows_the_same_size() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    for (settings, arguments) in [
        (&[][..], &[][..]),
        (
            &[("auto_inc", "off"), ("secondary", "on"), ("create_secondary", "off")][..],
            &["--auto-inc=off", "--secondary=on", "--create-secondary=off"][..],
        ),
    ] {
        let size = format!("--table-size={ROWS}");
        let theirs = [
            &["oltp_read_write", "--tables=2", size.as_str(), "--rand-type=uniform"],
            arguments,
            &["prepare"],
        ];
        bench.sysbench("theirs", &theirs.concat());
        let plan = workload::data("oltp_read_write", &options(settings)).expect("good options");
        bench.prepare("ours", &plan);
        for table in ["sbtest1", "sbtest2"] {
            let form = |database: &str| {
                let rows = bench.query(&format!("SHOW CREATE TABLE {database}.{table}"));
                let text = rows[0][1].clone().unwrap_or_default();
                text.split(" COMMENT=").next().unwrap_or_default().to_owned()
            };
            assert_eq!(form("ours"), form("theirs"));
            let measures = |database: &str| {
                let figures = bench.query(&format!(
                    "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MAX(LENGTH(c)), MAX(LENGTH(pad)), \
                     MIN(k) BETWEEN 1 AND 20, MAX(k) BETWEEN {ROWS} - 20 AND {ROWS}, SUM(c RLIKE \
                     '^([0-9]{{11}}-){{9}}[0-9]{{11}}$'), SUM(pad RLIKE \
                     '^([0-9]{{11}}-){{4}}[0-9]{{11}}$'), ROUND(COUNT(DISTINCT k) / 100) BETWEEN 61 AND 65 \
                     FROM {database}.{table}"
                ));
                figures[0].clone()
            };
            assert_eq!(measures("ours"), measures("theirs"));
            let length = |database: &str| -> f64 {
                bench.query(&format!("ANALYZE TABLE {database}.{table}"));
                let length = bench.query(&format!(
                    "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' \
                     AND TABLE_NAME = '{table}'"
                ));
                length[0][0].as_deref().unwrap_or_default().parse().expect("a number")
            };
            let ratio = length("ours") / length("theirs");
            assert!((0.8..1.25).contains(&ratio), "{table} takes {ratio} of the space");
        }
        bench.sysbench("theirs", &["oltp_read_write", "--tables=2", "cleanup"]);
        dataset::cleanup(&bench.target("ours"), &|_| true).expect("cleaned up");
    }
}

#[test]
fn ids_have_the_same_distribution() {
    let Some(()) = require(Need::Sysbench, sysbench()) else { return };
    let bench = Bench::new();
    let size = format!("--table-size={ROWS}");
    bench.prepare("ours", &workload::data("oltp_read_only", &options(&[])).expect("good options"));
    let ids = |log: Vec<String>| -> Vec<f64> {
        let mut ids: Vec<f64> = log
            .iter()
            .filter_map(|line| line.rsplit_once("id=")?.1.trim_matches('\'').parse().ok())
            .collect();
        ids.sort_by(f64::total_cmp);
        ids
    };
    for random in ["uniform", "gaussian", "special", "pareto"] {
        let type_ = format!("--rand-type={random}");
        let arguments =
            ["oltp_point_select", "--tables=2", &size, &type_, "--events=4000", "--time=0", "run"];
        let theirs = ids(bench.log_of(|| bench.sysbench("ours", &arguments)));
        let run = || {
            bench.prony(
                "ours",
                "oltp_point_select",
                &options(&[("random", random)]),
                Duration::from_millis(1500),
            )
        };
        let ours = ids(bench.log_of(run));
        assert!(theirs.len() == 4_000 && ours.len() > 200, "{} and {}", theirs.len(), ours.len());
        // Kolmogorov and Smirnov's distance of two samples, with the limit that equal distributions pass in 1
        // of 100,000 cases at most (Hodges, "The significance probability of the Smirnov two-sample
        // test", 1958).
        let share =
            |ids: &[f64], limit: f64| ids.partition_point(|id| *id <= limit) as f64 / ids.len() as f64;
        let distance = (0..=ROWS).map(|id| (share(&theirs, id as f64) - share(&ours, id as f64)).abs());
        let distance = distance.fold(0.0, f64::max);
        let limit = 2.47 * (1.0 / theirs.len() as f64 + 1.0 / ours.len() as f64).sqrt();
        println!("{random}: distance {distance:.4}, limit {limit:.4}");
        assert!(distance < limit, "{random}: {distance} is above {limit}");
    }
}
