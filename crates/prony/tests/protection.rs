//! Servers that Prony did not start: what it sets there it restores, even after a crash, and what it did not
//! make it leaves alone.

mod support {
    #[expect(dead_code, reason = "nobody here looks for processes")]
    pub(crate) mod server;
}

use load::{
    client::Connection,
    lock::Lock,
    spec::{Address, Target},
};
use prony::provision::{NoProcess, Server, pairs, process_of};
use std::{
    collections::BTreeMap,
    fs, io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::server::{mariadb, started};

/// Lets a run put its settings in force, and not end.
const LONG: &str = "60s";

/// Nothing here takes nearly as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the server has before: none of it is a default, or what the study asks for.
const BEFORE: [(&str, &str); 3] =
    [("max_connections", "177"), ("innodb_flush_log_at_trx_commit", "0"), ("sync_binlog", "3")];

/// A server that somebody else has started, and a home for Prony.
struct Elsewhere {
    home: tempfile::TempDir,
    _state: tempfile::TempDir,
    server: Server,
}

impl Elsewhere {
    fn new() -> Self {
        Self::of(mariadb(&BEFORE))
    }

    fn of((state, server): (tempfile::TempDir, Server)) -> Self {
        Self { home: tempfile::tempdir().expect("a directory"), _state: state, server }
    }

    fn url(&self, database: &str) -> String {
        let Address::Tcp { host, port } = &self.server.target().address else { panic!("TCP") };
        format!("mysql://{}@{host}:{port}/{database}", self.server.target().user)
    }

    fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let target = Target { database: None, ..self.server.target().clone() };
        let mut connection = Connection::open(&target, PATIENCE).expect("a login");
        connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).rows().to_vec()
    }

    fn value(&self, sql: &str) -> String {
        self.query(sql)[0][0].clone().expect("a value")
    }

    fn variables(&self) -> BTreeMap<String, String> {
        let mut connection = Connection::open(self.server.target(), PATIENCE).expect("a login");
        pairs(&mut connection, "SHOW GLOBAL VARIABLES").expect("variables")
    }

    /// Writes a study on the database `database`, with these lines for its server.
    fn study(&self, database: &str, interval: &str, lines: &str) {
        let text = format!(
            r#"
title = "Elsewhere"
[server.there]
url = "{}"
{lines}
[data]
rows = 200
[[stream]]
workload = "oltp_point_select"
connections = 2
[measure]
warm_up = "50ms"
interval = "{interval}"
repeats = 1
"#,
            self.url(database)
        );
        fs::write(self.home.path().join("study.toml"), text).expect("a study");
    }

    fn prony(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(self.home.path()).env_remove("PRONY_URL").stdin(Stdio::null());
        for name in ["CACHE", "STATE", "CONFIG", "DATA"] {
            command.env(format!("XDG_{name}_HOME"), self.home.path().join(name));
        }
        command.env_remove("PRONY_STORE").env("PRONY_PASSWORD", self.server.target().password.reveal());
        command
    }

    /// Starts a run of a study file of its own.
    fn start(&self, file: &str) -> Child {
        let mut command = self.prony(&["run", file, "--report", "other.html"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony starts")
    }

    /// Waits until the server says 1 to a question.
    fn wait_for(&self, question: &str, child: &mut Child) {
        let begun = Instant::now();
        while self.value(question) != "1" {
            assert!(begun.elapsed() < PATIENCE, "{question}");
            assert!(child.try_wait().expect("a child").is_none(), "it ended before {question}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.prony(arguments).output().expect("prony starts")
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }

    /// What a command says that begins; a load so short may be invalid in the end.
    fn begun(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(!matches!(output.status.code(), None | Some(2)), "{arguments:?}: {said}");
        said
    }

    fn run(&self) -> String {
        self.done(&["run", "study.toml", "--report", "report.html"])
    }

    fn owed(&self) -> Vec<PathBuf> {
        let entries = self.home.path().join("STATE/prony/owed").read_dir();
        entries.map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
    }

    fn assert_all_as(&self, all: &BTreeMap<String, String>) {
        let now = self.variables();
        let moved: Vec<_> = all.iter().filter(|(name, value)| now.get(*name) != Some(value)).collect();
        assert!(moved.is_empty(), "{moved:?}");
    }

    fn assert_as_before(&self) {
        let now = self.variables();
        for (name, value) in BEFORE {
            assert_eq!(now[name], value, "{name}");
        }
        assert_eq!(self.owed(), Vec::<PathBuf>::new());
    }

    /// Kills a run that has its settings in force.
    fn kill_in_the_middle(&self) {
        self.study(self.database(), "60s", SETTINGS);
        let mut child = self
            .prony(&["run", "study.toml", "--report", "report.html"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prony starts");
        let begun = Instant::now();
        while self.value("SELECT COUNT(*) >= 4 FROM information_schema.PROCESSLIST") != "1"
            || self.value("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit") != "2"
        {
            assert!(begun.elapsed() < PATIENCE && child.try_wait().expect("a child").is_none(), "no load");
            thread::sleep(Duration::from_millis(20));
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        let left = self.variables();
        assert_eq!((left["max_connections"].as_str(), left["sync_binlog"].as_str()), ("222", "3"));
        assert_eq!(self.owed().len(), 1, "it is written down");
    }

    fn database(&self) -> &str {
        self.server.target().database.as_deref().expect("a database")
    }
}

/// A word, and a name of the server's own.
const SETTINGS: &str = "apply_settings = true\nsettings = { flush_at_commit = 2, max_connections = 222 }";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn exists(path: &Path) -> bool {
    path.try_exists().expect("a path")
}

#[test]
fn what_a_study_sets_is_in_force_while_it_runs_and_put_back_at_its_end() {
    let there = Elsewhere::new();
    there.study(there.database(), "200ms", SETTINGS);
    let plan = there.done(&["plan", "study.toml"]);
    assert!(plan.contains("flush_at_commit, max_connections are set during the run"), "{plan}");
    there.assert_as_before();
    there.run();
    there.assert_as_before();
    let shown = there.done(&["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let shown = report.to_string();
    assert!(shown.contains(r#""max_connections":"222""#), "the report has what it ran with");
}

#[test]
fn what_a_killed_run_owes_is_paid_by_the_next_one_or_on_request() {
    let there = Elsewhere::new();
    there.kill_in_the_middle();
    there.study(there.database(), "200ms", "");
    let said = there.run();
    assert!(
        said.contains(
            "restored the settings that a killed run had \
                       changed"
        ) && said.contains("max_connections = 177"),
        "{said}"
    );
    there.assert_as_before();

    there.kill_in_the_middle();
    // Somebody has set it meanwhile: that is not Prony's to put back.
    there.query("SET GLOBAL max_connections = 333");
    let said = there.done(&["server", "restore"]);
    assert!(
        said.contains("innodb_flush_log_at_trx_commit = 0") && !said.contains("max_connections"),
        "{said}"
    );
    assert_eq!(there.variables()["max_connections"], "333");
    there.query("SET GLOBAL max_connections = 177");
    there.assert_as_before();
    let again = there.done(&["server", "restore"]);
    assert!(again.contains("no killed run left settings to restore"), "{again}");
}

#[test]
fn no_variable_is_changed_unless_the_study_says_so() {
    let there = Elsewhere::new();
    there.study(there.database(), "200ms", "settings = { max_connections = 222 }");
    let refused = there.output(&["run", "study.toml"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("is not reconfigured") && message.contains("apply_settings = true"),
        "{message}"
    );

    let before = there.variables();
    there.study(there.database(), "200ms", "");
    // What is for all servers is for those that Prony starts.
    let study = there.home.path().join("study.toml");
    let common = fs::read_to_string(&study).expect("the study") + "[settings]\nmax_connections = 222\n";
    fs::write(&study, common).expect("a study");
    there.run();
    let now = there.variables();
    let changed: Vec<_> = before.iter().filter(|(name, value)| now.get(*name) != Some(value)).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert!(!exists(&there.home.path().join("STATE/prony/owed")));
}

/// Beside a server of Prony's own: what the study does not ask for is nobody's purpose.
#[test]
fn a_strict_comparison_with_a_server_that_differs_is_refused_with_all_that_differs() {
    let there = Elsewhere::new();
    let own = "[server.own]\nproduct = \"mariadb\"\nversion = \"10.11\"";
    there.study(there.database(), "200ms", own);
    let study = there.home.path().join("study.toml");
    let strict = format!("fairness = \"strict\"\n{}", fs::read_to_string(&study).expect("the study"));
    fs::write(&study, strict).expect("a study");
    let mut command = there.prony(&["run", "study.toml"]);
    command.env_remove("XDG_CACHE_HOME");
    let refused = command.output().expect("prony starts");
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    for words in
        ["flush at commit: 0 with there; 1 with own (set `flush_at_commit` in [settings]", "fairness"]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(!message.contains("isolation"), "what is the same is not told: {message}");
    there.assert_as_before();
}

#[test]
fn a_table_that_prony_did_not_make_is_refused_before_anything_is_changed() {
    let there = Elsewhere::new();
    there.query("CREATE DATABASE theirs");
    there.query("CREATE TABLE theirs.sbtest1 (a INT PRIMARY KEY) COMMENT = 'of the shop'");
    there.query("INSERT INTO theirs.sbtest1 VALUES (7)");
    there.study("theirs", "200ms", SETTINGS);
    let refused = there.output(&["run", "study.toml"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("Prony did not create the table `sbtest1` in `theirs`"), "{message}");
    assert!(!exists(&there.home.path().join("STATE/prony/owed")), "no setting was touched");
    there.assert_as_before();
    let url = there.url("theirs");
    let said = there.done(&["cleanup", "--url", &url]);
    assert!(said.contains("not touched, because Prony did not create them: sbtest1"), "{said}");
    assert_eq!(there.value("SELECT a FROM theirs.sbtest1"), "7");
}

#[test]
fn only_a_database_that_prony_made_and_nobody_else_uses_is_dropped() {
    let there = Elsewhere::new();
    let databases = |like: &str| there.query(&format!("SHOW DATABASES LIKE '{like}'")).len();
    let prepare = |url: &str| {
        there.done(&["prepare", "oltp_read_only", "--rows", "100", "--tables", "2", "--url", url])
    };
    let cleanup = |url: &str| there.done(&["cleanup", "--url", url]);

    let made = there.url("made");
    prepare(&made);
    let some = there.done(&["cleanup", "--tables", "1", "--url", &made]);
    assert!(some.contains("dropped sbtest1\n") && databases("made") == 1, "{some}");
    for (add, remove) in [
        ("CREATE TABLE made.bills (a INT)", "DROP TABLE made.bills"),
        ("CREATE VIEW made.bills AS SELECT 1", "DROP VIEW made.bills"),
        ("CREATE PROCEDURE made.bills() SELECT 1", "DROP PROCEDURE made.bills"),
        ("CREATE EVENT made.bills ON SCHEDULE EVERY 1 YEAR DO SELECT 1", "DROP EVENT made.bills"),
    ] {
        there.query(add);
        let said = cleanup(&made);
        assert!(
            said.contains(
                "Prony created the database but does not drop it: it holds \
                               bills"
            ),
            "{add}: {said}"
        );
        assert_eq!(databases("made"), 1, "{add}");
        there.query(remove);
    }
    let said = cleanup(&made);
    assert!(
        said.contains(
            "dropped the database, which Prony had \
                           created"
        ) && databases("made") == 0,
        "{said}"
    );

    there.query("CREATE DATABASE theirs");
    prepare(&there.url("theirs"));
    cleanup(&there.url("theirs"));
    assert_eq!((databases("theirs"), there.query("SHOW TABLES FROM theirs").len()), (1, 0));
    // Made by Prony once, and then by somebody else.
    prepare(&made);
    there.query("DROP DATABASE made");
    there.query("CREATE DATABASE made");
    prepare(&made);
    let said = cleanup(&made);
    assert!(!said.contains("the database") && databases("made") == 1, "{said}");
}

/// A workload of one statement, in a study of its own.
fn study_of(there: &Elsewhere, statement: &str, of_server: &str) {
    let text = format!(
        r#"
title = "Mine"
[server.there]
url = "{}"
{of_server}
[data]
rows = 100
[workload.mine]
statements = ["{statement}"]
[[stream]]
workload = "mine"
connections = 1
[measure]
warm_up = "0s"
interval = "100ms"
repeats = 1
"#,
        there.url(there.database())
    );
    fs::write(there.home.path().join("mine.toml"), text).expect("a study");
}

#[test]
fn a_load_writes_into_no_table_or_view_of_somebody_elses_unless_it_is_told_to() {
    let there = Elsewhere::new();
    there.query("CREATE DATABASE theirs");
    let url = there.url("theirs");
    let load = |workload: &str, more: &[&str]| {
        let fixed = ["load", workload, "--rows", "100", "-t", "100ms", "--warm-up", "0", "--url", &url];
        there.output(&[&fixed[..], more].concat())
    };
    let columns = "(id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(120), pad CHAR(60))";
    there.query(&format!("CREATE TABLE theirs.bills {columns}"));
    there.query("INSERT INTO theirs.bills SELECT seq, 7, 'c', 'pad' FROM theirs.seq_1_to_100");
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(k), ' ', MIN(c), MAX(c)) FROM theirs.bills";
    for (make, kind) in [
        ("CREATE VIEW theirs.sbtest1 AS SELECT * FROM theirs.bills", "view"),
        ("CREATE TABLE theirs.sbtest1 LIKE theirs.bills", "table"),
    ] {
        there.query(make);
        let before = there.value(sum);
        for workload in ["oltp_write_only", "oltp_delete", "oltp_insert", "bulk_insert"] {
            let refused = load(workload, &[]);
            let message = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{workload}: {message}");
            let what = format!("the {kind} `sbtest1` in `theirs`, which Prony did not create");
            assert!(message.contains(&what) && message.contains("--write-to-my-tables"), "{message}");
        }
        assert_ne!(load("oltp_point_select", &[]).status.code(), Some(2), "reading is allowed");
        assert_eq!(there.value(sum), before);
        assert_ne!(load("oltp_update_index", &["--write-to-my-tables"]).status.code(), Some(2));
        assert_eq!(there.value(sum) != before, kind == "view", "it writes through a view when told to");
        there.query(&format!("DROP {kind} theirs.sbtest1"));
    }
    there.done(&["prepare", "oltp_write_only", "--rows", "100", "--url", &url]);
    let own = load("oltp_write_only", &[]);
    assert_ne!(own.status.code(), Some(2), "{}", text(&own.stderr));
}

#[test]
fn statements_of_ones_own_write_only_where_they_may() {
    let there = Elsewhere::new();
    let database = there.database().to_owned();
    there.query(&format!("CREATE TABLE {database}.bills (id INT PRIMARY KEY, paid INT)"));
    there.query(&format!("INSERT INTO {database}.bills VALUES (1, 0)"));
    there.query(&format!("CREATE FUNCTION {database}.pay() RETURNS INT RETURN 1"));
    let paid = || there.value(&format!("SELECT paid FROM {database}.bills"));
    let refused = |statement: &str| {
        study_of(&there, statement, "");
        let run = there.output(&["run", "mine.toml"]);
        let url = there.url(&database);
        let load = there.output(&["load", "mine", "--study", "mine.toml", "-t", "100ms", "--url", &url]);
        [run, load].map(|output| {
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{statement}: {message}");
            assert!(message.contains("write_to_my_tables = true"), "{statement}: {message}");
            message
        })
    };
    let said = refused("UPDATE bills SET paid = paid + 1 WHERE id = 1").concat();
    assert_eq!(said.matches("the table `bills`").count(), 2, "{said}");
    let said = refused("SELECT pay()").concat();
    assert_eq!(said.matches("the stored function pay").count(), 2, "{said}");
    let said = refused("CALL pay_all()").concat();
    assert_eq!(said.matches("tables are changed by: CALL pay_all()").count(), 2, "{said}");
    assert_eq!(paid(), "0");
    study_of(&there, "UPDATE sbtest{table} SET k = k + 1 WHERE id = {id}", "");
    there.done(&["run", "mine.toml", "--report", "report.html"]);
    let may = "write_to_my_tables = true";
    study_of(&there, "UPDATE bills SET paid = paid + 1 WHERE id = 1", may);
    let plan = there.done(&["plan", "mine.toml"]);
    assert!(plan.contains("change bills, which are not restored"), "{plan}");
    there.done(&["run", "mine.toml", "--report", "report.html"]);
    assert_ne!(paid(), "0");
}

/// A load of a study is at work.
const AT_WORK: &str = "SELECT COUNT(*) >= 4 FROM information_schema.PROCESSLIST";
/// The settings of a study are in force.
const IN_FORCE: &str = "SELECT @@GLOBAL.max_connections = 222";

#[test]
fn a_server_in_use_is_not_reconfigured_by_another_run_whatever_its_address_says() {
    let there = Elsewhere::new();
    there.query("CREATE DATABASE other");
    // One that changes nothing is at work.
    there.study(there.database(), LONG, "");
    let mut measuring = there.start("study.toml");
    there.wait_for(AT_WORK, &mut measuring);
    there.study("other", "200ms", SETTINGS);
    let refused = there.output(&["run", "study.toml"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("is in use by another run (connection"), "{message}");
    assert!(message.contains("which measures with the current settings"), "{message}");
    there.assert_as_before();
    measuring.kill().and_then(|()| measuring.wait()).expect("a child");

    // One that changes settings is at work, under another name of the same server.
    there.study(there.database(), LONG, SETTINGS);
    let mut changing = there.start("study.toml");
    there.wait_for(IN_FORCE, &mut changing);
    there.study("other", "200ms", "apply_settings = true\nsettings = { max_connections = 333 }");
    let refused = there.output(&["run", "study.toml"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("with its own settings applied"), "{message}");
    assert_eq!(there.variables()["max_connections"], "222", "the first run goes on with its own");
    there.study("other", "200ms", "");
    let said = there.run();
    assert!(said.contains("has its own settings applied on this server"), "{said}");
    let url = there.url("other");
    let load = ["load", "oltp_point_select", "--rows", "200", "-t", "100ms", "--warm-up", "0", "--url", &url];
    let said = there.begun(&load);
    assert!(said.contains("has its own settings applied on this server"), "{said}");
    changing.kill().and_then(|()| changing.wait()).expect("a child");
    let said = there.done(&["server", "restore"]);
    assert!(said.contains("max_connections = 177"), "{said}");
    there.assert_as_before();
}

#[test]
fn a_trial_during_which_anybody_changes_a_setting_is_invalid_and_says_which() {
    let there = Elsewhere::new();
    there.study(there.database(), "1s", "");
    let mut run = there.start("study.toml");
    there.wait_for(AT_WORK, &mut run);
    there.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    run.wait().expect("a child");
    let shown = text(&there.output(&["report", "--format", "json"]).stdout);
    for part in ["setting_moved", "innodb_flush_log_at_trx_commit was 0 and is 1", "\"invalid\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn what_else_a_setting_moves_is_put_back_with_it() {
    let there = Elsewhere::new();
    let all = there.variables();
    there.study(
        there.database(),
        "200ms",
        "apply_settings = true\nsettings = { innodb_io_capacity = 9000, sync_binlog = 7 }",
    );
    there.run();
    there.assert_all_as(&all);
    assert_ne!(all["innodb_io_capacity_max"], "18000", "the server would raise it");
}

#[test]
#[ignore = "long: MySQL is fetched"]
fn what_mysql_makes_of_a_setting_is_put_back_as_well() {
    let there = Elsewhere::of(started("mysql", "8.0.15", &[]));
    let all = there.variables();
    let settings = |settings: &str| format!("apply_settings = true\nsettings = {{ {settings} }}");
    // It lowers what is asked for, which is then not what was asked for.
    there.study(there.database(), "200ms", &settings("innodb_io_capacity = 9000, sync_binlog = 7"));
    let refused = there.output(&["run", "study.toml"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("it runs with innodb_io_capacity = 2000"), "{message}");
    there.assert_all_as(&all);
    // It lowers another one along with it.
    there.study(there.database(), "200ms", &settings("innodb_max_dirty_pages_pct = 5"));
    there.run();
    there.assert_all_as(&all);
}

#[test]
fn a_debt_is_paid_to_the_server_that_it_is_owed_to_and_as_it_was_logged_in_to() {
    let there = Elsewhere::new();
    there.kill_in_the_middle();
    let [file] = &there.owed()[..] else { panic!("one debt") };
    let debt = fs::read_to_string(file).expect("a debt");
    let mut other: serde_json::Value = serde_json::from_str(&debt).expect("JSON");
    assert!(!debt.contains(there.server.target().password.reveal()), "the password is not written down");
    // Another server in its place gets nothing.
    let key = other["identity"]["key"].as_str().expect("a key").to_owned();
    other["identity"]["key"] = format!("{key}x").into();
    fs::write(file, other.to_string()).expect("a debt");
    let said = there.done(&["server", "restore"]);
    assert!(
        said.contains("is not the one whose settings were changed")
            && there.variables()["max_connections"] == "222",
        "{said}"
    );
    // TLS that was used is used again: this server has none, so that there is no way in.
    other["identity"]["key"] = key.into();
    other["target"]["tls"]["mode"] = "required".into();
    fs::write(file, other.to_string()).expect("a debt");
    let said = there.done(&["server", "restore"]);
    assert!(said.contains("cannot be restored yet") && said.contains("TLS"), "{said}");
    assert_eq!(there.variables()["max_connections"], "222");
    // One that was restarted has nothing left of it.
    other["target"]["tls"]["mode"] = "disabled".into();
    let started = other["identity"]["started_s"].as_u64().expect("a time");
    other["identity"]["started_s"] = (started - 100).into();
    fs::write(file, other.to_string()).expect("a debt");
    let said = there.done(&["server", "restore"]);
    assert!(said.contains("has been restarted"), "{said}");
    assert_eq!((there.variables()["max_connections"].as_str(), there.owed().len()), ("222", 0));
}

#[test]
fn a_database_is_not_dropped_by_an_account_that_cannot_see_all_of_it() {
    let there = Elsewhere::new();
    let password = there.server.target().password.reveal();
    there.query(&format!("CREATE USER narrow@'%' IDENTIFIED BY '{password}'"));
    let rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX";
    there.query(&format!("GRANT {rights} ON `made`.* TO narrow@'%'"));
    let url = there.url("made").replace(&format!("//{}@", there.server.target().user), "//narrow@");
    there.done(&["prepare", "oltp_read_only", "--rows", "100", "--url", &url]);
    there.query("CREATE PROCEDURE made.bills() SELECT 1");
    there.query("CREATE EVENT made.monthly ON SCHEDULE EVERY 1 YEAR DO SELECT 1");
    let cleanup = || there.done(&["cleanup", "--url", &url]);
    let stays = || there.query("SHOW DATABASES LIKE 'made'").len() == 1;
    let said = cleanup();
    assert!(said.contains("Grant it EVENT and CREATE ROUTINE on the database"), "{said}");
    assert!(stays());
    there.query("GRANT EVENT ON `made`.* TO narrow@'%'");
    let said = cleanup();
    assert!(said.contains("holds monthly") && stays(), "{said}");
    there.query("DROP EVENT made.monthly");
    let said = cleanup();
    assert!(said.contains("Grant it CREATE ROUTINE on the database") && stays(), "{said}");
    there.query("GRANT EXECUTE ON `made`.* TO narrow@'%'");
    let said = cleanup();
    assert!(said.contains("holds bills") && stays(), "{said}");
    there.query("DROP PROCEDURE made.bills");
    let said = cleanup();
    assert!(said.contains("dropped the database") && !stays(), "{said}");
}

/// Hands on what it gets to a server, as a tunnel does. It ends with the test.
fn tunnel(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(to).expect("the server");
            for (mut from, mut to) in
                [(near.try_clone().expect("a socket"), far.try_clone().expect("a socket")), (far, near)]
            {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

#[test]
fn the_process_of_a_server_is_the_one_at_the_other_end_of_the_connection() {
    let there = Elsewhere::new();
    let asked = |target: &Target| {
        let mut connection = Connection::open(target, PATIENCE).expect("a login");
        process_of(&mut connection, target)
    };
    let pid = there.server.pid().expect("a process");
    assert_eq!(asked(there.server.target()), Ok(pid));
    assert_eq!(asked(&there.server.target_by_socket()), Ok(pid));
    let Address::Tcp { host, port } = there.server.target().address.clone() else { panic!("TCP") };
    let through = tunnel(SocketAddr::new(host.parse().expect("an address"), port));
    let address = Address::Tcp { host: through.ip().to_string(), port: through.port() };
    let tunnelled = Target { address, ..there.server.target().clone() };
    assert_eq!(asked(&tunnelled), Err(NoProcess::Behind), "it may lead anywhere");
    let database = there.database();
    there.done(&["prepare", "oltp_point_select", "--rows", "100", "--url", &there.url(database)]);
    let url = there.url(database).replace(&format!(":{port}/"), &format!(":{}/", through.port()));
    let load = ["load", "oltp_point_select", "--rows", "100", "-t", "200ms", "--warm-up", "0", "--url", &url];
    let said = there.begun(&load);
    assert!(said.contains("this server's processor time and memory are unknown"), "{said}");
    let url = there.url(database);
    let said = there.begun(&[&load[..load.len() - 1], &[&url]].concat());
    assert!(!said.contains("is not known"), "{said}");
}

#[test]
fn a_named_lock_counts_as_taken_only_where_the_server_says_so() {
    let there = Elsewhere::new();
    let open = || Connection::open(there.server.target(), PATIENCE).expect("a login");
    let (mut one, mut other) = (open(), open());
    let no_wait = Duration::ZERO;
    assert_eq!(one.take_lock("'prony x'", no_wait).expect("an answer"), Lock::Taken);
    assert_eq!(other.take_lock("'prony x'", no_wait).expect("an answer"), Lock::Held);
    let holder = other.lock_holder("'prony x'").expect("an answer");
    assert_eq!(holder, Some(u64::from(one.connection_id())));
    assert_eq!(other.take_lock("NULL", no_wait).expect("an answer"), Lock::Failed, "it answers NULL");
    assert_eq!(other.take_lock("no_such_function()", no_wait).expect("an answer"), Lock::Unknown);
    assert!(other.take_lock("no such syntax", no_wait).is_err());
}
