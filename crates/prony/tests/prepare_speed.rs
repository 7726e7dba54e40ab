//! How fast data sets are loaded, beside sysbench's `prepare` on the same server. Meaningful in
//! an optimised build only, which `scripts/tests.sh long` makes.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}

use load::spec::{Address, Target};
use prony::{
    dataset,
    layout::sysbench::Data as DataPlan,
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner},
    workload::{self, Options},
};
use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use support::require::{Need, program, require};

const ROUNDS: usize = 5;
const THREADS: u32 = 2;

/// Time of `prony prepare` in `database`.
fn prony(target: &Target, database: &str, tables: u32, rows: u64) -> Duration {
    let options = Options { tables, table_size: rows, ..Options::default() };
    let plan = DataPlan { seed: 1, ..workload::data("oltp_read_write", &options).expect("good options") };
    let target = Target { database: Some(database.to_owned()), ..target.clone() };
    dataset::cleanup(&target, &|_| true).expect("cleaned up");
    let report = dataset::prepare(&target, &plan, THREADS, &mut |_| (), &AtomicBool::new(false));
    let report = report.expect("prepared");
    assert_eq!(report.rows_loaded, u64::from(tables) * rows);
    dataset::cleanup(&target, &|_| true).expect("cleaned up");
    report.took
}

/// Time of `sysbench prepare` in `database`.
fn sysbench(target: &Target, database: &str, tables: u32, rows: u64) -> Duration {
    let Address::Tcp { host, port } = &target.address else { panic!("a provisioned server listens on TCP") };
    let run = |command: &str| {
        let mut sysbench = Command::new("sysbench");
        sysbench
            .arg("oltp_read_write")
            .arg(format!("--mysql-host={host}"))
            .arg(format!("--mysql-port={port}"))
            .arg(format!("--mysql-user={}", target.user))
            .arg(format!("--mysql-password={}", target.password.reveal()))
            .arg(format!("--mysql-db={database}"))
            .args([format!("--tables={tables}"), format!("--table-size={rows}")])
            .args([format!("--threads={THREADS}"), "--rand-type=uniform".to_owned(), command.to_owned()]);
        let started = Instant::now();
        let status = sysbench.stdout(Stdio::null()).status().expect("sysbench");
        assert!(status.success());
        started.elapsed()
    };
    let took = run("prepare");
    run("cleanup");
    took
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "long: two minutes, and it needs sysbench, an optimised build and a quiet machine"]
fn loading_is_faster_than_sysbench_by_half() {
    if cfg!(debug_assertions) {
        panic!("a debug build makes rows too slowly to be compared; `scripts/tests.sh long` has another");
    }
    let sysbench_is_here = program(Command::new("sysbench").arg("--version"));
    let Some(()) = require(Need::Sysbench, sysbench_is_here) else { return };
    let (product, version) = (std::env::var("PRODUCT"), std::env::var("VERSION"));
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let settings = [
        ("innodb_buffer_pool_size", "1G"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("innodb_log_file_size", "512M"),
    ];
    let plan = ServerPlan {
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product {
                product: product.unwrap_or("mariadb".to_owned()),
                version: Some(version.unwrap_or("10.11".to_owned())),
            },
        )
    };
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    let server = Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()).expect("a server");
    let target = server.target().clone();
    let database = target.database.clone().expect("a provisioned server has a schema");
    for (tables, rows, least) in [(4, 250_000, 1.5), (1, 1_000_000, 2.0)] {
        let mut ratios = Vec::new();
        for round in 1..=ROUNDS {
            let theirs = sysbench(&target, &database, tables, rows);
            let ours = prony(&target, &database, tables, rows);
            let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
            println!(
                "{tables} x {rows}, round {round}: sysbench {theirs:.2?}, prony {ours:.2?}, ratio {ratio:.2}"
            );
            ratios.push(ratio);
        }
        let ratio = median(ratios);
        println!("{tables} x {rows}: median ratio {ratio:.2}");
        assert!(ratio >= least, "{tables} x {rows}: {ratio:.2} times sysbench's rate, {least} are wanted");
    }
    server.stop().expect("stopped");
}
