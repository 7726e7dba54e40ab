//! `prony server` as its user meets it: entries of one's own, fetching that is interrupted, and servers that
//! stay. And every server of the catalogue: what it makes of the words of `[settings]`, and what it runs with
//! when nobody asks for anything.

#![expect(clippy::print_stdout, reason = "what a server cannot have, for who looks at the test's output")]

mod support {
    pub(crate) mod unpacked;
}

use load::client::Connection;
use prony::{
    fairness::{Known, conditions},
    plan::{ServerPlan, ServerSource},
    provision::{Build, Places, Provisioner, catalogue, fetch, target, translate, words},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use support::unpacked::mariadb;

const WAIT: Duration = Duration::from_secs(20);

/// Prony with all its directories in `home`.
fn prony(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).current_dir(home).env_remove("PRONY_URL").env_remove("PRONY_PASSWORD");
    for name in ["CACHE", "STATE", "CONFIG", "DATA"] {
        command.env(format!("XDG_{name}_HOME"), home.join(name));
    }
    command
}

fn output(home: &Path, arguments: &[&str]) -> Output {
    prony(home, arguments).output().expect("prony starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// That it is refused before it begins, with these words.
fn refused(home: &Path, arguments: &[&str], words: &str) {
    let output = output(home, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
}

/// Writes the user's own catalogue with one entry, `mine`.
fn add_entry(home: &Path, from: &str) {
    let directory = home.join("CONFIG/prony");
    fs::create_dir_all(&directory).expect("a directory");
    let text = format!(
        "[[server]]\nname = \"mine\"\nproduct = \"mariadb\"\nversion = \"10.11\"\nfrom = {{ {from} }}\n"
    );
    fs::write(directory.join("servers.toml"), text).expect("a file");
}

fn status(home: &Path) -> Vec<Value> {
    let object: Value =
        serde_json::from_str(&stdout(&output(home, &["server", "status", "--json"]))).expect("JSON");
    object["servers"].as_array().expect("a list").clone()
}

fn pid(server: &Value) -> u32 {
    u32::try_from(server["pid"].as_u64().expect("a number")).expect("a small one")
}

fn is_running(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

fn log_in(server: &Value) -> Connection {
    let file = PathBuf::from(server["defaults_file"].as_str().expect("a path"));
    Connection::open(&target::resolve(None, Some(&file)).expect("an address"), WAIT).expect("a login")
}

/// Stops what a failed test would leave.
struct StopAll<'a>(&'a Path);

impl Drop for StopAll<'_> {
    fn drop(&mut self) {
        let _ = prony(self.0, &["server", "stop", "--all"]).output();
    }
}

#[test]
fn a_server_stays_when_prony_ends_is_known_to_the_next_one_and_ends_when_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _stop = StopAll(home);
    add_entry(home, &format!("directory = \"{}\"", mariadb().1.display()));
    let list = stdout(&output(home, &["server", "list"]));
    assert!(list.contains("mine") && list.contains("mysql-5.7.22"), "{list}");
    assert_eq!(list, stdout(&output(home, &["list", "servers"])), "one list under both names");

    let said = stdout(&output(home, &["server", "start", "mine", "--set", "max_connections=77"]));
    let servers = status(home);
    let [server] = servers.as_slice() else { panic!("{servers:?}") };
    assert!(said.contains(&format!("pid {}", pid(server))) && server["state"] == "running", "{said}");
    let mut connection = log_in(server);
    let answer = connection.query("SELECT @@max_connections").unwrap();
    assert_eq!(answer.first_value(), Some("77"));
    assert!(!said.contains("Pr-1"), "the password is in the file alone");
    refused(home, &["server", "start", "mine"], "choose another name with --name");
    let cleaned = Provisioner::with(
        Places {
            cache: home.join("CACHE/prony"),
            state: home.join("STATE/prony"),
            config: home.join("CONFIG/prony"),
        },
        PathBuf::from(env!("CARGO_BIN_EXE_prony")),
    );
    assert!(cleaned.sweep().unwrap().is_empty() && is_running(pid(server)), "no run sweeps it away");

    stdout(&output(home, &["server", "stop", "mine"]));
    assert!(!is_running(pid(server)) && status(home).is_empty());
    assert!(!Path::new(server["data"].as_str().unwrap()).exists(), "its data was its own");
    refused(home, &["server", "stop", "mine"], "no server named mine was started");
}

#[test]
fn data_that_is_kept_is_used_again_and_nothing_foreign_is_touched() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _stop = StopAll(home);
    add_entry(home, &format!("directory = \"{}\"", mariadb().1.display()));
    let start = ["server", "start", "mine", "--data", "kept"];
    stdout(&output(home, &start));
    log_in(&status(home)[0]).query("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)").unwrap();
    stdout(&output(home, &["server", "stop", "--all"]));
    stdout(&output(home, &start));
    let server = &status(home)[0];
    assert_eq!(log_in(server).query("SELECT a FROM t").unwrap().first_value(), Some("7"));

    // A server that ended by itself is not forgotten.
    let pid = i32::try_from(pid(server)).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let began = Instant::now();
    while status(home)[0]["state"] == "running" && began.elapsed() < WAIT {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((&status(home)[0]["state"], &status(home)[0]["pid"]), (&"ended".into(), &Value::Null));

    // Its number may belong to another process by then.
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let record = home.join("STATE/prony/servers/mine.json");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace(&format!("\"pid\": {pid}"), &format!("\"pid\": {}", other.id())))
        .unwrap();
    stdout(&output(home, &["server", "stop", "mine"]));
    assert!(other.try_wait().unwrap().is_none(), "another process was ended");
    other.kill().unwrap();
    other.wait().unwrap();

    fs::write(home.join("file"), "of the user").unwrap();
    refused(home, &["server", "start", "mine", "--data", "."], "was not created by Prony");
    let kept = home.join("kept/server.json");
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, text.replace("\"version\": \"10.11", "\"version\": \"10.5")).unwrap();
    refused(home, &start, "holds data of mariadb 10.5");
    assert!(home.join("kept/data/ibdata1").exists());
}

/// A server of one file over HTTP, with ranges, that breaks off in the middle at first.
struct FileServer {
    url: String,
    /// First bytes of the ranges that were asked for.
    asked: Arc<Mutex<Vec<usize>>>,
    breaks_off: Arc<AtomicBool>,
}

impl FileServer {
    fn start(bytes: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/server.tar", listener.local_addr().expect("its address"));
        let (asked, breaks_off) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let server = Self { url, asked: Arc::clone(&asked), breaks_off: Arc::clone(&breaks_off) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The client may go away at any time.
                let _ =
                    answer(stream.expect("a connection"), &bytes, &asked, breaks_off.load(Ordering::SeqCst));
            }
        });
        server
    }
}

fn answer(
    mut stream: TcpStream,
    bytes: &[u8],
    asked: &Mutex<Vec<usize>>,
    breaks_off: bool,
) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines().map_while(Result::ok);
    let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| line.strip_prefix("Range: bytes="));
    let first: usize = range.map_or(0, |range| range.trim_end_matches('-').parse().expect("a number"));
    asked.lock().expect("nobody panicked").push(first);
    let (status, length) =
        if first > 0 { ("206 Partial Content", bytes.len() - first) } else { ("200 OK", bytes.len()) };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Range: bytes {first}-{}/{}\r\nConnection: \
         close\r\n\r\n",
        bytes.len() - 1,
        bytes.len()
    )?;
    let end = if breaks_off { bytes.len() / 2 } else { bytes.len() };
    stream.write_all(&bytes[first..end])
}

/// The program and its libraries, as a tar file.
fn archive(home: &Path) -> Vec<u8> {
    let (software, root) = mariadb();
    let file = home.join("server.tar");
    let mut members = vec![software.program.strip_prefix(&root).expect("it is below").to_owned()];
    members.extend(root.join(".libraries").is_dir().then(|| PathBuf::from(".libraries")));
    let done =
        Command::new("tar").arg("-cf").arg(&file).arg("-C").arg(&root).args(&members).status().expect("tar");
    assert!(done.success());
    fs::read(&file).expect("the archive")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names in the cache's directory of servers, locks aside.
fn in_cache(home: &Path) -> Vec<String> {
    let entries = home.join("CACHE/prony/servers").read_dir().expect("the cache").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn an_archive_is_verified_fetched_once_by_two_at_a_time_and_gone_on_with_after_a_break() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let bytes = archive(home);
    let sum = sha256(&bytes);
    let fetch = ["server", "fetch", "mine"];
    add_entry(
        home,
        &format!(
            "archive = {{ at = \"{}\", sha256 = \"{}\" }}",
            home.join("server.tar").display(),
            "0".repeat(64)
        ),
    );
    refused(home, &fetch, &format!("its SHA-256 is {sum}, not 000"));
    assert_eq!(in_cache(home), Vec::<String>::new());

    let server = FileServer::start(bytes);
    add_entry(home, &format!("archive = {{ at = \"{}\", sha256 = \"{sum}\" }}", server.url));
    server.breaks_off.store(true, Ordering::SeqCst);
    refused(home, &fetch, "cannot fetch mine: curl failed");
    assert_eq!(in_cache(home), Vec::<String>::new());
    server.breaks_off.store(false, Ordering::SeqCst);
    let both = [0, 1].map(|_| prony(home, &fetch).stdout(Stdio::piped()).spawn().unwrap());
    for one in both {
        let said = stdout(&one.wait_with_output().unwrap());
        assert!(said.starts_with("mine: mariadb 10.11"), "{said}");
    }
    assert_eq!(in_cache(home), ["mine"]);
    let asked = server.asked.lock().unwrap().clone();
    assert!(matches!(asked[..], [0, next] if next > 0), "once, and the rest of it: {asked:?}");
    assert_eq!(
        home.join("CACHE/prony/archives").read_dir().unwrap().count(),
        0,
        "what was unpacked is removed"
    );
}

#[test]
fn ctrl_c_ends_a_fetch_as_an_interruption_and_leaves_neither_client_nor_half_a_server() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // Takes the connection, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/server.tar", silent.local_addr().unwrap());
    add_entry(home, &format!("archive = {{ at = \"{url}\", sha256 = \"{}\" }}", "0".repeat(64)));
    let study = "[server.a]\nproduct = \"mariadb\"\nversion = \"10.11\"\n[[stream]]\nworkload = \
                 \"oltp_read_only\"\nconnections = 1\n";
    fs::write(home.join("study.toml"), study).unwrap();
    for arguments in [["server", "fetch", "mine"].as_slice(), &["run", "study.toml"]] {
        let mut fetching = prony(home, arguments).stderr(Stdio::piped()).spawn().unwrap();
        let (mut client, _) = silent.accept().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(fetching.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let code = fetching.wait().unwrap().code();
        let mut said = String::new();
        fetching.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let is_interruption = said.contains("interrupted") && !said.contains("cannot fetch");
        assert!(code == Some(130) && is_interruption, "{arguments:?} {code:?} {said}");
        assert_eq!(in_cache(home), Vec::<String>::new());
        client.set_read_timeout(Some(WAIT)).unwrap();
        client.read_to_end(&mut Vec::new()).expect("the client's end of the connection is closed");
    }
}

/// Rounds of settings that together say every word, and every way in which it can be said, but for those of
/// semi-synchronous replication, which topologies start. Two words never contradict each other in a round.
const ROUNDS: [&[(&str, &str)]; 4] = [
    &[
        ("buffer_pool", "64M"),
        ("buffer_pool_instances", "1"),
        ("redo_capacity", "256M"),
        ("log_buffer", "8M"),
        ("flush_at_commit", "0"),
        ("flush_method", "fsync"),
        ("doublewrite", "true"),
        ("adaptive_hash_index", "true"),
        ("file_per_table", "true"),
        ("io_capacity", "500"),
        ("read_io_threads", "8"),
        ("write_io_threads", "6"),
        ("query_cache", "off"),
        ("thread_pool", "false"),
        ("binlog", "false"),
        ("isolation", "read-uncommitted"),
        ("character_set", "utf8mb4"),
        ("collation", "utf8mb4_general_ci"),
        ("performance_schema", "false"),
        ("max_connections", "77"),
        ("backlog", "60"),
        ("table_cache", "700"),
    ],
    &[
        ("buffer_pool", "200M"),
        ("redo_capacity", "64M"),
        ("log_buffer", "16M"),
        ("flush_at_commit", "1"),
        ("flush_method", "direct"),
        ("doublewrite", "false"),
        ("adaptive_hash_index", "false"),
        ("file_per_table", "false"),
        ("query_cache", "32M"),
        ("thread_pool", "true"),
        ("thread_pool_size", "3"),
        ("binlog", "true"),
        ("binlog_format", "row"),
        ("sync_binlog", "1"),
        ("log_replica_updates", "true"),
        ("isolation", "read-committed"),
        ("character_set", "latin1"),
        ("collation", "latin1_swedish_ci"),
        ("performance_schema", "true"),
    ],
    &[
        ("flush_at_commit", "2"),
        ("flush_method", "direct_no_fsync"),
        ("binlog", "true"),
        ("binlog_format", "statement"),
        ("sync_binlog", "10"),
        ("log_replica_updates", "false"),
        ("isolation", "repeatable-read"),
        ("collation", "utf8mb4_0900_ai_ci"),
        ("character_set", "utf8mb4"),
    ],
    &[
        ("binlog", "true"),
        ("binlog_format", "mixed"),
        ("sync_binlog", "0"),
        ("isolation", "serializable"),
        ("redo_capacity", "1G"),
    ],
];

#[test]
#[ignore = "long: fetches every server of the catalogue once, starts each five times"]
fn every_server_takes_the_words_that_it_can_have_and_has_the_defaults_that_plans_foresee() {
    let said = |word: &str| ROUNDS.iter().any(|round| round.iter().any(|(name, _)| *name == word));
    for word in words() {
        assert!(word.name.starts_with("semi_sync_") || said(&word.name), "{} is not tried", word.name);
    }
    let mut faults = Vec::new();
    let wanted = std::env::var("PRONY_TEST_SERVER").unwrap_or_default();
    for entry in catalogue::entries().iter().filter(|entry| entry.name.contains(&wanted) && entry.runs_here())
    {
        let began = Instant::now();
        let of_server = try_words(entry);
        println!("{}: {:.1} s {of_server:#?}", entry.name, began.elapsed().as_secs_f64());
        faults.extend(of_server);
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What is wrong with one server.
fn try_words(entry: &catalogue::Entry) -> Vec<String> {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let provisioner =
        Provisioner::with(places.clone(), PathBuf::from(env!("CARGO_BIN_EXE_prony"))).encrypted(false);
    provisioner.fetch(entry, &mut |_| ()).expect("a server");
    let plain = ServerPlan::new("tested", ServerSource::Path(fetch::place(entry, &places)));
    let mut faults = Vec::new();
    let server = provisioner.bring_up(&plain, 0, &mut |_| ()).expect("a server without settings");
    let mut connection = Connection::open(server.target(), WAIT).expect("a login");
    let description = server.describe("tested", &mut connection).expect("a description");
    drop(connection);
    server.stop().expect("it stops");
    let build = Build { product: &description.product, version: &description.version };
    let plans = [plain.clone()];
    let really = conditions(&plans, &[Known { description: Some(&description), ..Known::default() }]);
    let foreseen = conditions(&plans, &[Known { build: Some(build), ..Known::default() }]);
    for condition in &foreseen {
        let found = really.iter().find(|one| one.key == condition.key).map(|one| &one.values);
        if found != Some(&condition.values) {
            faults.push(format!(
                "{}: {} is foreseen as {:?}, is {found:?}",
                entry.name, condition.key, condition.values
            ));
        }
    }
    for (number, round) in ROUNDS.iter().enumerate() {
        let settings = round.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (taken, refused): (Vec<_>, Vec<_>) =
            settings.partition(|one| translate(build, &[one.clone()].into()).is_ok());
        println!("{} {number}: cannot have {refused:?}", entry.name);
        let plan = ServerPlan { settings: taken.into_iter().collect(), ..plain.clone() };
        // What it does not say back as it was asked for is an error of its start.
        match provisioner.bring_up(&plan, 0, &mut |_| ()) {
            Ok(server) => server.stop().expect("it stops"),
            Err(error) => faults.push(format!("{}, round {number}: {error}", entry.name)),
        }
    }
    faults
}
