//! The load engine against sysbench on the same null server, and both against a real MariaDB: interleaved rounds, medians,
//! ratios. `make bench` runs it; `-- --rounds 1 --seconds 1` makes it short. Absolute figures are this machine's; only
//! ratios say something elsewhere.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its result")]

use load::{null::NullServer, spec::Address};
use procfs::process::Process;
use prony::{
    dataset,
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner},
    telemetry::Machine,
    workload::{self, Options},
};
use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

/// Connections against the null server, and against MariaDB.
const NULL_RUNGS: [u32; 4] = [8, 64, 512, 2048];
const REAL_RUNGS: [u32; 5] = [1, 16, 64, 256, 1024];
const ROWS: u64 = 10_000;
const NAME: &str = "oltp_point_select";
/// Memory is read so often while a peer runs.
const PEEK: Duration = Duration::from_millis(50);

fn main() {
    let flag = |name: &str, default: u64| {
        let mut arguments = std::env::args().skip_while(|argument| argument != name);
        arguments.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (rounds, seconds) = (flag("--rounds", 3), flag("--seconds", 3));
    if Command::new("sysbench").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("sysbench is not installed: nothing to compare with (Debian: apt install sysbench)");
        return;
    }
    let machine = Machine::of_this_host();
    println!("{} x {}, {}, {}", machine.cpus, machine.cpu_model, machine.distribution, machine.kernel);
    println!("{NAME}, prepared, {ROWS} rows, {rounds} interleaved rounds of {seconds} s, medians\n");
    let server = Peer::null_server();
    compare("null server", server.address, ("bench", ""), &NULL_RUNGS, rounds, seconds);
    drop(server);
    with_mariadb(|address, password| {
        compare("MariaDB 10.11", address, ("prony", password), &REAL_RUNGS, rounds, seconds);
    });
}

/// What a peer reached in one round.
#[derive(Debug, Clone, Copy)]
struct Figures {
    queries_per_second: f64,
    cpu_us_per_query: f64,
    memory_mb: f64,
}

fn compare(
    title: &str,
    address: SocketAddr,
    account: (&str, &str),
    rungs: &[u32],
    rounds: u64,
    seconds: u64,
) {
    println!("{title}");
    println!(
        "{:>11}  {:>12} {:>12} {:>6}   {:>9} {:>9} {:>6}   {:>8} {:>8}",
        "connections", "sysbench q/s", "prony q/s", "ratio", "CPU us/q", "CPU us/q", "ratio", "MB", "MB"
    );
    for &connections in rungs {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            theirs.push(sysbench(address, account, connections, seconds));
            ours.push(prony(address, account, connections, seconds));
        }
        let (theirs, ours) = (median(&theirs), median(&ours));
        println!(
            "{connections:>11}  {:>12.0} {:>12.0} {:>6.2}   {:>9.2} {:>9.2} {:>6.2}   {:>8.1} {:>8.1}",
            theirs.queries_per_second,
            ours.queries_per_second,
            ours.queries_per_second / theirs.queries_per_second,
            theirs.cpu_us_per_query,
            ours.cpu_us_per_query,
            ours.cpu_us_per_query / theirs.cpu_us_per_query,
            theirs.memory_mb,
            ours.memory_mb,
        );
    }
    println!();
}

/// Each figure's own median.
fn median(rounds: &[Figures]) -> Figures {
    let middle = |of: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Figures {
        queries_per_second: middle(|each| each.queries_per_second),
        cpu_us_per_query: middle(|each| each.cpu_us_per_query),
        memory_mb: middle(|each| each.memory_mb),
    }
}

fn sysbench(address: SocketAddr, (user, password): (&str, &str), connections: u32, seconds: u64) -> Figures {
    let mut command = Command::new("sysbench");
    command.args([
        NAME,
        &format!("--mysql-host={}", address.ip()),
        &format!("--mysql-port={}", address.port()),
        &format!("--mysql-user={user}"),
        &format!("--mysql-password={password}"),
        "--mysql-db=prony",
        &format!("--threads={connections}"),
        &format!("--time={seconds}"),
        &format!("--table-size={ROWS}"),
        "--rand-type=uniform",
        "run",
    ]);
    let (text, cpu_s, memory_mb) = measured(&mut command);
    let number = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or_default();
        let digits = line.split(':').nth(1).unwrap_or_default().trim();
        digits.split([' ', 's']).next().and_then(|number| number.parse::<f64>().ok())
    };
    let (Some(queries), Some(time)) = (number("total:"), number("total time:")) else {
        panic!("sysbench said something else: {text}");
    };
    Figures { queries_per_second: queries / time, cpu_us_per_query: cpu_s * 1e6 / queries, memory_mb }
}

fn prony(address: SocketAddr, (user, password): (&str, &str), connections: u32, seconds: u64) -> Figures {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["load", NAME, "--json", "--warm-up", "0s"]);
    command.args(["--url", &format!("mysql://{user}@{address}/prony")]);
    command.args(["--connections", &connections.to_string(), "--duration", &format!("{seconds}s")]);
    command.args(["--rows", &ROWS.to_string()]).env("PRONY_PASSWORD", password);
    let (text, cpu_s, memory_mb) = measured(&mut command);
    let figures: serde_json::Value = serde_json::from_str(&text).expect("prony prints JSON");
    let number = |name: &str| figures[name].as_f64().expect(name);
    Figures {
        queries_per_second: number("statements_per_second"),
        cpu_us_per_query: cpu_s * 1e6 / number("statements"),
        memory_mb,
    }
}

/// Runs a peer; its output, CPU time of its whole life in seconds, peak memory in MB.
fn measured(command: &mut Command) -> (String, f64, f64) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the peer starts");
    let mut output = child.stdout.take().expect("piped");
    let reader = thread::spawn(move || std::io::read_to_string(&mut output).unwrap_or_default());
    let process = Process::new(child.id() as i32).expect("the peer's process");
    let (mut ticks, mut memory_kb) = (0, 0);
    // a process that has ended and was not yet waited for still tells its CPU time
    while let Ok(stat) = process.stat() {
        ticks = stat.utime + stat.stime;
        memory_kb = memory_kb.max(process.status().ok().and_then(|status| status.vmhwm).unwrap_or(0));
        if stat.state == 'Z' {
            break;
        }
        thread::sleep(PEEK);
    }
    let status = child.wait().expect("the peer ends");
    let text = reader.join().expect("no panic");
    assert!(status.success(), "the peer failed: {text}");
    (text, ticks as f64 / procfs::ticks_per_second() as f64, memory_kb as f64 / 1e3)
}

/// A null server in a process of its own.
struct Peer {
    child: Child,
    address: SocketAddr,
}

impl Peer {
    fn null_server() -> Self {
        // a port that was free a moment ago: the server itself is to be another process
        let address = NullServer::start(0).expect("a port").address();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let child =
            command.args(["null-server", "--port", &address.port().to_string()]).spawn().expect("starts");
        while std::net::TcpStream::connect(address).is_err() {
            thread::sleep(PEEK);
        }
        Self { child, address }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // it may have ended by itself; either way nothing stays
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_mariadb(measure: impl FnOnce(SocketAddr, &str)) {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let settings =
        [("max_connections", "1100"), ("innodb_buffer_pool_size", "256M"), ("performance_schema", "OFF")];
    let plan = ServerPlan {
        name: "bench".to_owned(),
        source: ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) },
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    let launcher = env!("CARGO_BIN_EXE_prony").into();
    let provisioner = Provisioner::with(places, launcher);
    let server = match provisioner.bring_up(&plan, 0, &mut |step| eprintln!("{step}")) {
        Ok(server) => server,
        Err(error) => return println!("no MariaDB to measure on: {error}"),
    };
    let options = Options { table_size: ROWS, ..Options::default() };
    let data = workload::data(NAME, &options).expect("built in");
    let target = server.target();
    dataset::prepare(target, &data, 2, &mut |_| (), &AtomicBool::new(false)).expect("data");
    let Address::Tcp { host, port } = &target.address else { panic!("a TCP address") };
    let address = SocketAddr::new(host.parse().expect("an address"), *port);
    measure(address, target.password.reveal());
}
