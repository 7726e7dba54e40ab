//! Limits of a real server hold, are read back, and leave nothing; a network before it adds what it says.

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    pub(crate) mod server;
}

use load::{client::Connection, spec::Address};
use prony::{
    network::{Link, Shape, bandwidth, round_trip},
    plan::{Limits, ServerPlan, ServerSource},
    provision::{Error, Places, Provisioner, Server},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
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
            let has_no_disk = message.contains("not backed by a single disk");
            require(if has_no_disk { Need::BlockDevice } else { Need::ControlGroups }, Err(message))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Cgroups of Prony's that are left for instances below `state`.
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
    // the first version of cgroups knows only of what is written past the page cache whose it is
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
    assert!(rate < 1.3 * LIMIT as f64, "{rate:.0} bytes per second");
    server.stop().expect("stopped");
}

#[test]
fn a_network_adds_what_it_says_to_a_round_trip_and_ends_with_its_owner() {
    let stated = Duration::from_millis(20);
    let (_state, server) = mariadb(&[]);
    let direct = server.target().clone();
    let Address::Tcp { host, port } = &direct.address else { panic!("{:?} is not TCP", direct.address) };
    let launcher = Path::new(env!("CARGO_BIN_EXE_prony"));
    let mut link = Link::start(launcher, host, *port, stated.into(), &[]).expect("a network");
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

/// One byte goes through a relay that is stopped for a while. What the relay reports as its lateness is what
/// the client had to wait in addition to the network.
#[test]
fn a_relay_is_as_late_as_it_says() {
    let (one_way, pause) = (Duration::from_millis(200), Duration::from_millis(600));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut byte = [0];
        while socket.read_exact(&mut byte).and_then(|()| socket.write_all(&byte)).is_ok() {}
    });
    let launcher = Path::new(env!("CARGO_BIN_EXE_prony"));
    let mut link = Link::start(launcher, "127.0.0.1", port, (2 * one_way).into(), &[]).expect("a network");
    let relay = Pid::from_raw(link.pid() as i32).expect("a process");
    let mut socket = TcpStream::connect(link.address()).expect("a relay");
    for attempt in 0.. {
        let _ = link.figures().expect("running");
        let begun = Instant::now();
        socket.write_all(b"x").expect("sent");
        link.cut().expect("stopped");
        let in_time = begun.elapsed() < one_way / 2;
        thread::sleep(pause);
        kill_process(relay, Signal::CONT).expect("it goes on");
        socket.read_exact(&mut [0]).expect("the byte");
        let (waited, figures) = (begun.elapsed() - 2 * one_way, link.figures().expect("running"));
        // the first byte waits for the handshake as well; a busy machine may stop the relay too late
        if attempt == 0 || !in_time && attempt < 20 {
            continue;
        }
        assert_eq!(figures.pieces, 2, "there and back");
        let late = 2 * figures.late_mean;
        assert!(late > (pause - one_way) * 9 / 10 && late < waited * 11 / 10, "{waited:?} but {figures:?}");
        break;
    }
}

#[test]
fn a_narrow_network_lets_through_what_it_says() {
    let (_state, server) = mariadb(&[]);
    let direct = server.target().clone();
    let Address::Tcp { host, port } = &direct.address else { panic!("{:?} is not TCP", direct.address) };
    let launcher = Path::new(env!("CARGO_BIN_EXE_prony"));
    let shape = Shape { round_trip: Duration::from_millis(1), bandwidth: Some(2_000_000) };
    let link = Link::start(launcher, host, *port, shape, &[]).expect("a network");
    let there = link.address();
    let address = Address::Tcp { host: there.ip().to_string(), port: there.port() };
    let through = load::spec::Target { address, ..direct.clone() };
    let measured = bandwidth(&direct, &through, 2_000_000).expect("an answer");
    // headers of packets go through as well; a busy machine is slower
    assert!((500_000..2_000_000).contains(&measured), "{measured} bytes per second");
}

/// Each statement fails unless the account is the one that the study names.
const ACCOUNT: &str = r#"
[server.a]
product = "mariadb"
version = "10.11"
[settings]
innodb_buffer_pool_size = "32M"
[data]
rows = 1000
[client]
bandwidth = "1 Mbit/s"
authentication = "ed25519"
[[stream]]
name = "main"
workload = "who"
connections = 4
limit = "1_000_000 transactions"
time_limit = "400ms"
[[stream]]
name = "local"
workload = "who"
connections = 1
to = "local"
begin = "after main"
limit = "50 transactions"
[workload.who]
statements = [
  """SELECT REPEAT('x', 2500), CASE WHEN CURRENT_USER() LIKE 'prony_ed25519%' THEN 1
     ELSE (SELECT id FROM sbtest1) END""",
]
[measure]
warm_up = "0s"
interval = "60s"
repeats = 1
"#;

#[test]
fn a_load_logs_in_as_it_is_told_over_a_narrow_network_and_is_stopped_in_time() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("study.toml"), ACCOUNT).expect("a file");
    let output = prony(home.path()).args(["run", "study.toml", "--json"]).output().expect("prony");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let [main, local] = &document["points"].as_array().expect("points")[..] else { panic!("two streams") };
    for point in [main, local] {
        assert_eq!(point["error_share"], 0.0, "{point:#}");
    }
    let number = |point: &serde_json::Value, path: &str| point.pointer(path).and_then(|one| one.as_f64());
    // 125,000 bytes per second are 50 such replies, and some that begin before the first has ended
    let rate = number(main, "/throughput/value").expect("a rate");
    assert!((5.0..60.0).contains(&rate), "{rate} replies per second");
    assert_eq!((&main["limit"]["extrapolated"], &local["limit"]["reached"]), (&1.into(), &1.into()));
    let seconds = number(main, "/limit/seconds/value").expect("extrapolated");
    assert!((seconds * rate / 1e6 - 1.0).abs() < 0.01, "{seconds} s at {rate}/s");
    let network = document["servers"][0]["networks"][0].as_str().expect("a network");
    assert!(network.contains("at most 1 Mbit/s in each direction, measured"), "{network}");
    assert!(document["run"]["complete"] == true, "{told}");
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
    let mut command = prony(home);
    command.args(["run", "study.toml", "--set"]).arg(format!("interval={interval}"));
    command
}

/// Prony with a home of its own but for the cache of servers.
fn prony(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home);
    command.env_remove("PRONY_STORE").current_dir(home);
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
    assert!(
        told.contains("400 MiB of memory")
            && told.contains(
                "2.000 ms round trip through a \
        relay"
            ),
        "{told}"
    );
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    assert!(groups_below(&state).is_empty());
}
