//! Options of a run, and what becomes of what it prints.

use super::*;
use prony::store::Store;

/// What both commands print in each of their forms, and what `prony import` makes of it.
#[test]
fn what_is_printed_is_imported_as_what_the_originals_print() {
    let bench = Bench::new();
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (store, point) = (path("s.sqlite"), ["oltp_point_select", "--table-size=100"]);
    bench.well(&[&point[..], &["prepare"]].concat(), "Creating table");
    bench.well(&["--test=oltp", "--oltp-table-size=100", "prepare"], "Creating table");
    let run = |test: &[&str]| {
        let words = [test, &["--threads=4", "--time=2", "--events=0", "--report-interval=1", "run"]].concat();
        bench.well(&words, "total number of events:")
    };
    let (target, (host, port)) = (bench.server.target(), bench.place());
    let slap = |words: &[&str]| {
        let mut command = prony();
        command.args(["mysqlslap", "--no-defaults", "--protocol=tcp", "-a", "-i2", "--number-of-queries=40"]);
        command.arg(format!("-h{host}")).arg(format!("-P{port}")).arg(format!("-u{}", target.user));
        let output = ran(command.env("MYSQL_PWD", target.password.reveal()).args(words));
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    for (tool, name, printed, connections) in [
        ("sysbench", "one", run(&point), &[4][..]),
        ("sysbench", "legacy05", run(&["--test=tests/db/oltp.lua", "--oltp-table-size=100"]), &[4]),
        ("sysbench", "legacy04", run(&["--test=oltp", "--oltp-table-size=100"]), &[4]),
        ("mysqlslap", "report", slap(&["-c2,4"]), &[2, 4]),
        ("mysqlslap", "lines", slap(&["-c2,4", "--csv"]), &[2, 4]),
    ] {
        let file = path(name);
        std::fs::write(&file, &printed).expect("written");
        let words = ["import", tool, &file, "--server", name, "--workload", "asked", "--store", &store];
        let imported = ran(prony().args(words));
        assert!(imported.status.success(), "{name}: {}\n{printed}", text(&imported));
        let kept = Store::open(std::path::Path::new(&store)).expect("a store");
        let record = kept.run(kept.latest().expect("a run").expect("one")).expect("read");
        let streams = record.plan.treatments.iter().map(|treatment| treatment.streams[0].connections);
        assert_eq!(streams.collect::<Vec<_>>(), connections, "{name}");
        let is_seconds = record.trials.iter().all(|trial| !trial.seconds.is_empty());
        assert_eq!((record.trials.len(), is_seconds), (connections.len(), tool == "sysbench"), "{name}");
    }
    let listed = ran(prony().args(["report", "--store", &store]));
    assert!(listed.status.success() && text(&listed).contains("lines"), "{}", text(&listed));
}

/// Options that say how it is run, beyond what a test does.
#[test]
fn options_of_the_run_do_what_they_say() {
    let bench = Bench::new();
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a path").to_owned();
    let script = path("slow.lua");
    let body = "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event()\n  \
                con:query('SELECT SLEEP(' .. (sysbench.opt.rate > 0 and 0.05 or 3) .. ')')\nend\n";
    std::fs::write(&script, body).expect("written");
    let forced = bench.ours("ours", &[&script, "--threads=2", "--time=1", "--forced-shutdown=0", "run"]);
    let all = text(&forced);
    assert_eq!(forced.status.code(), Some(2), "{all}");
    assert!(all.contains("Number of unfinished transactions on forced shutdown: 2"), "{all}");
    let full = bench.ours("ours", &[&script, "--threads=1", "--time=1", "--rate=500000", "run"]);
    let all = text(&full);
    assert!(full.status.success() && all.contains("because the queue was full"), "{all}");

    bench.well(&["oltp_point_select", "--table-size=100", "prepare"], "Creating table");
    let file = path("options");
    std::fs::write(&file, "# options\n[main]\nthreads = 3\ntime=2\n--report-interval=1\n").expect("written");
    let file = format!("--config-file={file}");
    let all = bench.well(&["oltp_point_select", "--table-size=100", &file, "run"], "Number of threads: 3");
    let intervals = all.lines().filter(|line| line.starts_with("[ ") && line.contains("thds: ")).count();
    assert_eq!(intervals, 2, "the last one ends with the run: {all}");
    let all = bench.well(
        &["oltp_point_select", "--table-size=100", "--warmup-time=1", "--time=1", "run"],
        "transactions:",
    );
    let total = all.lines().find(|line| line.trim().starts_with("total time:")).expect("a line");
    let seconds: f64 =
        total.split_whitespace().last().expect("one").trim_end_matches('s').parse().expect("one");
    assert!((0.9..1.9).contains(&seconds), "the warm-up is not counted: {total}");
    let words = ["oltp_point_select", "--table-size=100", "--time=2", "--report-checkpoints=1", "run"];
    let all = bench.well(&words, "[ 1s ] Checkpoint report:");
    assert_eq!(all.matches("total number of events:").count(), 2, "{all}");
    let words = ["oltp_point_select", "--table-size=100", "--events=99", "--prony-json", "--verbosity=0"];
    let all = bench.well(&[&words[..], &["--prony-percentiles=50,99.9", "run"]].concat(), "\"percentiles\"");
    let json: serde_json::Value = serde_json::from_str(&all).expect("JSON alone");
    assert_eq!(json["total"]["events"], 99, "{all}");

    let store = path("s.sqlite");
    let keep = format!("--prony-store={store}");
    for run in ["1", "2"] {
        let words =
            ["oltp_point_select", "--table-size=100", "--time=2", "--report-interval=1", &keep, "run"];
        bench.well(&words, &format!("stored as run {run}"));
    }
    let compared = ran(prony().args(["compare", "1", "2", "--store", &store]));
    assert!(text(&compared).contains("oltp_point_select"), "{}", text(&compared));

    let link = path("sysbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_prony"), &link).expect("a link");
    let words = [&bench.there("ours")[..], &["oltp_point_select".into(), "--events=7".into(), "run".into()]];
    let linked = Command::new(&link).args(words.concat()).output().expect("prony runs");
    assert!(linked.status.success() && text(&linked).contains("transactions:                        7 "));
    let help = text(&ran(prony().args(["sysbench", "--help"])));
    let (theirs, beyond) = help.split_once("Beyond sysbench:").expect("what is ours");
    assert!(theirs.contains("--mysql-ignore-errors") && !theirs.contains("--prony-"), "{help}");
    assert!(beyond.contains("--prony-percentiles") && beyond.contains("--prony-store"), "{help}");
    let wrong = bench.ours("ours", &["oltp_point_select", "--mysql-password=no", "--threads=300", "run"]);
    assert_eq!(text(&wrong).matches("Access denied").count(), 1, "{}", text(&wrong));
    for test in ["cpu", "memory", "threads", "mutex", "fileio"] {
        let refused = bench.ours("ours", &[test, "run"]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused).contains("use this program"), "{test}: {}", text(&refused));
    }
}

/// Options that came after 1.0.20.
#[test]
fn options_of_later_versions_are_taken() {
    let bench = Bench::new();
    let sizes = ["oltp_read_write", "--tables=2", "--table-size=200", "--threads=2"];
    let more = "--create-table-options=COMMENT 'mine' STATS_PERSISTENT=1";
    bench.well(&[&sizes[..], &[more, "prepare"]].concat(), "Creating table 'sbtest2'...");
    let form = bench.query("SHOW CREATE TABLE ours.sbtest1")[0][1].clone().unwrap_or_default();
    assert!(form.contains("COMMENT='mine'") && form.contains("STATS_PERSISTENT=1"), "{form}");
    bench.well(&[&sizes[..], &["warmup"]].concat(), "Prewarming table sbtest2");
    let words = ["--rand-type=zipfian", "--rand-zipfian-exp=0.9", "--reconnect=5", "--events=40", "--time=0"];
    let opened = || bench.query("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1].clone().expect("a count");
    let before: u64 = opened().parse().expect("a number");
    let all =
        bench.well(&[&sizes[..], &words, &["run"]].concat(), "transactions:                        40 ");
    let since = opened().parse::<u64>().expect("a number") - before;
    // two at the beginning, one of ours that asks, and one after each fifth event of a connection
    assert!((8..=12).contains(&since), "{since} connections: {all}");
    let reconnects = all.lines().find(|line| line.trim().starts_with("reconnects:")).expect("a line");
    let counted: u64 = reconnects.split_whitespace().nth(1).expect("a figure").parse().expect("a number");
    assert!((6..=8).contains(&counted), "{all}");
}

/// The limit of files is the machine's, threads and memory are ours: 4096 connections of a script.
#[test]
fn four_thousand_connections_of_a_script_need_few_threads_and_250_kb_each() {
    let server = load::null::NullServer::start(0).expect("a server");
    let address = server.address();
    let mut command = prony();
    command.args(["sysbench", "oltp_point_select", "--threads=4096", "--time=2", "--mysql-db=x", "run"]);
    command.arg(format!("--mysql-host={}", address.ip())).arg(format!("--mysql-port={}", address.port()));
    command.stdout(std::process::Stdio::piped());
    let child = command.spawn().expect("prony runs");
    let figure = |name: &str| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    let (mut threads, mut memory_kb, begun) = (0, 0, std::time::Instant::now());
    // a process that has ended has no threads any more
    while begun.elapsed() < Duration::from_secs(120) {
        let now = figure("VmHWM:");
        if now == 0 && memory_kb > 0 {
            break;
        }
        (threads, memory_kb) = (threads.max(figure("Threads:")), memory_kb.max(now));
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it ended");
    let all = text(&output);
    assert!(output.status.success() && all.contains("Number of threads: 4096"), "{all}");
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    assert!(threads <= processors + 6, "{threads} threads");
    let each = memory_kb as f64 / 4096.0;
    assert!(each < 250.0, "{each:.0} KB each");
}
