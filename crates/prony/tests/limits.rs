//! Limits of a real server hold, are read back, and leave nothing; a network before it adds what it says.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    pub(crate) mod server;
}

use load::{client::Connection, spec::Address};
use prony::{
    network::{Link, round_trip},
    plan::{Limits, ServerPlan, ServerSource},
    provision::{Error, Places, Provisioner, Server},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{
    require::{Need, require},
    server::{mariadb, processes_of},
};

const WAIT: Duration = Duration::from_secs(120);

/// A server with these limits; `None`: this machine or this user cannot have them, and the message says what
/// to do.
fn limited(state: &Path, settings: &[(&str, &str)], limits: Limits) -> Option<Server> {
    let places = Places { state: state.to_owned(), ..Places::of_user().expect("a home") };
    let source = ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let plan = ServerPlan { limits, settings: settings.collect(), ..ServerPlan::new("tested", source) };
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    match Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()) {
        Ok(server) => require(Need::ControlGroups, Ok(server)),
        Err(error @ Error::CannotLimit { .. }) => {
            let message = error.to_string();
            assert!(message.contains("systemd-run") && message.contains("Nothing is measured"), "{message}");
            let has_no_disk = message.contains("without a disk of its own");
            require(if has_no_disk { Need::BlockDevice } else { Need::ControlGroups }, Err(message))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Control groups of Prony's that are left for instances below `state`.
fn groups_below(state: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for owner in fs::read_dir(state.join("instances")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(owner.path()).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let paths = record["groups"].as_array().cloned().unwrap_or_default();
        found.extend(paths.iter().filter_map(|path| path.as_str().map(PathBuf::from)));
    }
    found
}

/// CPU time of a process so far.
fn cpu_time(pid: u32) -> Duration {
    const TICKS: u64 = 100;
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = text.rsplit(')').next().expect("a name").split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|&at: &usize| fields[at].parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

#[test]
fn memory_and_cpu_time_stay_within_their_limits_and_the_groups_go_with_the_server() {
    let state = tempfile::tempdir().expect("a directory");
    let limits = Limits { memory_bytes: Some(400 << 20), cpus: Some(0.4), pin: vec![0], ..Limits::default() };
    let Some(server) = limited(state.path(), &[("innodb_buffer_pool_size", "32M")], limits.clone()) else {
        return;
    };
    let mut connection = Connection::open(server.target(), WAIT).expect("a connection");
    let description = server.describe("tested", &mut connection).expect("a description");
    let confinement = description.limits.expect("limits");
    assert_eq!(
        (confinement.limits.memory_bytes, &confinement.limits.pin),
        (limits.memory_bytes, &limits.pin)
    );
    let groups = groups_below(state.path());
    assert!(!groups.is_empty() && groups.iter().all(|group| group.is_dir()), "{groups:?}");
    let pid = server.pid().expect("a process");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut connection = Connection::open(server.target(), WAIT).expect("a connection");
                connection.query("SELECT BENCHMARK(3000000, MD5('x'))").expect("an answer");
            });
        }
        let (begun, before) = (Instant::now(), cpu_time(pid));
        thread::sleep(Duration::from_millis(1500));
        let share = (cpu_time(pid) - before).as_secs_f64() / begun.elapsed().as_secs_f64();
        // a busy machine gives it less, and the kernel's own counting is in steps of 10 ms
        assert!(share < 0.4 * 1.15, "{share} of a processor");
    });
    let usage = server.usage().expect("limits");
    assert!(usage.cpu_waits > 0 && usage.memory_kills == 0, "{usage:?}");
    assert!(usage.memory_bytes_max.expect("a peak") <= 400 << 20, "{usage:?}");
    server.stop().expect("stopped");
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
}

#[test]
fn a_server_that_the_kernel_killed_for_its_memory_says_so() {
    let state = tempfile::tempdir().expect("a directory");
    let limits = Limits { memory_bytes: Some(300 << 20), ..Limits::default() };
    let settings = [("innodb_buffer_pool_size", "32M"), ("max_allowed_packet", "1G")];
    let Some(mut server) = limited(state.path(), &settings, limits) else { return };
    server.check().expect("it runs");
    let mut connection = Connection::open(server.target(), WAIT).expect("a connection");
    connection.query("SELECT SHA1(REPEAT('x', 900000000))").expect_err("the server is dead");
    let begun = Instant::now();
    let error = loop {
        match server.check() {
            Err(error) => break error,
            Ok(()) => assert!(begun.elapsed() < WAIT, "it lives"),
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert!(matches!(error, Error::OutOfMemory { limit_bytes, .. } if limit_bytes == 300 << 20), "{error}");
}

/// Bytes that a process has sent to disks so far.
fn written(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("a figure");
    line.parse().expect("a number")
}

#[test]
fn writing_stays_within_its_limit() {
    const LIMIT: u64 = 4_000_000;
    let state = tempfile::tempdir().expect("a directory");
    let limits = Limits { write_bytes_per_second: Some(LIMIT), ..Limits::default() };
    // the first version of control groups knows only of what is written past the page cache whose it is
    let settings = [("innodb_buffer_pool_size", "32M"), ("innodb_flush_method", "O_DIRECT")];
    let Some(server) = limited(state.path(), &settings, limits) else { return };
    let mut connection = Connection::open(server.target(), WAIT).expect("a connection");
    connection.query("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)").expect("a table");
    let pid = server.pid().expect("a process");
    let (begun, before) = (Instant::now(), written(pid));
    while written(pid) - before < 3 * LIMIT {
        assert!(begun.elapsed() < WAIT, "it writes nothing");
        connection.query("INSERT INTO t (b) VALUES (REPEAT(MD5(RAND()), 16384))").expect("a row");
    }
    // what the kernel lets through at once is small, and a slow disk or a busy machine only takes longer
    let rate = (written(pid) - before) as f64 / begun.elapsed().as_secs_f64();
    assert!(rate < 1.3 * LIMIT as f64, "{rate:.0} bytes a second");
    server.stop().expect("stopped");
}

#[test]
fn a_network_adds_what_it_says_to_a_round_trip_and_ends_with_its_owner() {
    let stated = Duration::from_millis(20);
    let (_state, server) = mariadb(&[]);
    let direct = server.target().clone();
    let Address::Tcp { host, port } = &direct.address else { panic!("{:?} is not TCP", direct.address) };
    let launcher = Path::new(env!("CARGO_BIN_EXE_prony"));
    let mut link = Link::start(launcher, host, *port, stated, &[]).expect("a network");
    let there = link.address();
    let address = Address::Tcp { host: there.ip().to_string(), port: there.port() };
    let through = load::spec::Target { address, ..direct.clone() };
    let added = round_trip(&direct, &through).expect("an answer");
    // what is added by chance is the difference of two medians
    assert!(added > stated * 3 / 4 && added < stated * 5, "{added:?}");
    let figures = link.figures().expect("running");
    assert!(figures.pieces > 100 && figures.refused == 0, "{figures:?}");
    drop(link);
    assert!(Connection::open(&through, Duration::from_secs(5)).is_err(), "it is gone");
}

const STUDY: &str = r#"
network = "relay"
[server.a]
product = "mariadb"
version = "10.11"
[limits]
memory = "400M"
io_read = "20MB/s"
[settings]
innodb_buffer_pool_size = "32M"
[data]
rows = 1000
[client]
latency = "2ms"
[[stream]]
workload = "oltp_point_select"
connections = 4
[measure]
warm_up = "0s"
repeats = 1
"#;

/// A run of [`STUDY`] with a home of its own.
fn run(home: &Path, interval: &str) -> Command {
    fs::write(home.join("study.toml"), STUDY).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .args(["run", "study.toml", "--set"])
        .arg(format!("interval={interval}"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_STATE_HOME", home)
        .env_remove("PRONY_STORE")
        .current_dir(home);
    command
}

#[test]
#[ignore = "long: two runs, the first of which is killed"]
fn what_a_killed_run_leaves_of_limits_and_networks_is_gone_after_the_next() {
    let home = tempfile::tempdir().expect("a directory");
    let mut killed =
        run(home.path(), "60s").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony");
    let begun = Instant::now();
    let state = home.path().join("prony");
    while !(processes_of(Path::new("--one-way-ns")).iter().any(|line| line.contains("relay"))
        && groups_below(&state).iter().any(|group| group.is_dir()))
    {
        assert!(begun.elapsed() < WAIT, "it does not begin: {:?}", groups_below(&state));
        assert!(killed.try_wait().expect("a process").is_none(), "it has ended");
        thread::sleep(Duration::from_millis(50));
    }
    let groups = groups_below(&state);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    while !processes_of(&state).is_empty() {
        assert!(begun.elapsed() < WAIT, "the server lives");
        thread::sleep(Duration::from_millis(50));
    }
    let next = run(home.path(), "1s").output().expect("prony");
    let told = String::from_utf8_lossy(&next.stdout);
    assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    assert!(told.contains("400 MiB of memory") && told.contains("2.000 ms round trip by a relay"), "{told}");
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    assert!(groups_below(&state).is_empty());
}
