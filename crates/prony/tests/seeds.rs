//! Loads that follow each other on data that stay: each writes values of its own, unless it is told to repeat
//! one. A server skips an update to what the row holds already, so that a repeated load is less work.

#![expect(clippy::unwrap_used, reason = "what the tests share is part of them")]

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection, spec::Address};
use prony::{
    plan::{Plan, ServerSource},
    provision::{Places, Provisioner, Server},
    run::{self, Event, Origin, TrialOutcome},
    study::{self, Adjustments},
    telemetry::Machine,
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use support::server::mariadb;

fn url(server: &Server, password: &str) -> String {
    let target = server.target();
    let Address::Tcp { host, port } = &target.address else { panic!("TCP") };
    format!("mysql://{}{password}@{host}:{port}/{}", target.user, target.database.as_deref().unwrap())
}

/// A load of `oltp_update_non_index`, and its doubts.
fn load(home: &Path, server: &Server, flags: &[&str]) -> (Value, Vec<String>) {
    let url = url(server, "");
    let fixed = ["load", "oltp_update_non_index", "--url", &url, "--rows", "20000", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(fixed.iter().chain(["-c", "4", "--transactions", "4000"].iter()).chain(flags))
        .env("PRONY_PASSWORD", server.target().password.reveal())
        .env("XDG_STATE_HOME", home)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let code = i32::from(figures["verdict"] == "invalid");
    assert_eq!(output.status.code(), Some(code), "{said}");
    let doubts = figures["doubts"].as_array().unwrap().iter();
    let doubts = doubts.map(|doubt| doubt["id"].as_str().unwrap().to_owned()).collect();
    (figures, doubts)
}

#[test]
fn a_load_draws_its_seed_prints_it_and_repeats_one_only_when_told_to() {
    let (state, server) = mariadb(&[]);
    let options = prony::workload::Options { table_size: 20_000, ..Default::default() };
    let plan = prony::workload::data("oltp_update_non_index", &options).unwrap();
    prony::dataset::prepare(server.target(), &plan, 2, &mut |_| (), Stop::default().flag()).unwrap();
    let unchanged = |figures: &Value| figures["streams"][0]["unchanged"].as_u64().unwrap();
    let mut seeds = Vec::new();
    for _ in 0..3 {
        let (figures, doubts) = load(state.path(), &server, &[]);
        assert_eq!(unchanged(&figures), 0, "{doubts:?}");
        assert!(!doubts.contains(&"nothing_changed".to_owned()), "{doubts:?}");
        seeds.push(figures["seed"].as_u64().unwrap());
    }
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
    let (figures, doubts) = load(state.path(), &server, &["--seed", &seeds[2].to_string()]);
    assert_eq!(figures["seed"], seeds[2]);
    assert!(unchanged(&figures) > 1000, "the same values again: {}", unchanged(&figures));
    assert!(doubts.contains(&"nothing_changed".to_owned()), "{doubts:?}");
    assert!(!doubts.contains(&"rows_missing".to_owned()), "all rows are there: {doubts:?}");
}

/// Two servers of a study that are one and the same, each loaded twice; statements that changed nothing, and
/// what the data of each trial were.
fn run(state: &Path, server: &Server, study: &str) -> (u64, Vec<Origin>) {
    let plain = url(server, "");
    let text = format!(
        "title = \"Twice\"\n[server.a]\nurl = \"{plain}\"\n{WRITES}[server.b]\nurl = \"{plain}\"\n\
         {WRITES}{study}\n[vary]\nserver = [\"a\", \"b\"]\n"
    );
    let study = study::parse("twice", "twice.toml", &text, &Adjustments::default()).unwrap();
    let mut plan = Plan::from_study(&study);
    let with_password = url(server, &format!(":{}", server.target().password.reveal()));
    for server in &mut plan.servers {
        server.source = ServerSource::Url(with_password.clone());
    }
    let places = Places { state: state.join("run"), ..Places::of_user().unwrap() };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let (mut unchanged, mut origins) = (0, Vec::new());
    let machine = Machine::of_this_host();
    run::carry_out(&plan, &machine, run::Done::default(), &provisioner, &Stop::default(), &mut |event| {
        match event {
            Event::TrialPrepared { began, .. } => origins.push(began.data),
            Event::TrialFinished { outcome, .. } => {
                let TrialOutcome::Measured { outcome, .. } = &**outcome else { panic!("{outcome:?}") };
                let told = &outcome.streams[0];
                assert!(told.transactions.count > 100, "{told:?}");
                unchanged += told.statements.iter().map(|tally| tally.unchanged).sum::<u64>();
            }
            _ => {}
        }
        Ok(())
    })
    .unwrap();
    (unchanged, origins)
}

/// Also into the tables that the tests make themselves.
const WRITES: &str = "write_to_my_tables = true\n";
const MEASURE: &str = "[measure]\nwarm_up = \"0s\"\ninterval = \"500ms\"\nrepeats = 2\nrepeat_invalid = 0\n\
                       settle = \"0s\"\n";

#[test]
fn trials_on_tables_that_are_not_put_back_write_values_of_their_own() {
    let (state, server) = mariadb(&[]);
    let mut connection = Connection::open(server.target(), Duration::from_secs(10)).unwrap();
    for sql in [
        "CREATE TABLE mine (id INT PRIMARY KEY, note VARCHAR(40) NOT NULL)",
        "INSERT INTO mine SELECT seq, '' FROM seq_1_to_500",
    ] {
        connection.query(sql).unwrap();
    }
    let study = format!(
        "[data]\nrows = 500\n[[stream]]\nworkload = \"notes\"\nconnections = 2\n\
         [workload.notes]\nvalues = {{ note = {{ text = [30, 40] }} }}\nstatements = [{{ sql = \"UPDATE mine \
         SET note = {{note}} WHERE id = {{id}}\", expect = \"change\" }}]\n{MEASURE}"
    );
    for _ in 0..2 {
        assert_eq!(run(state.path(), &server, &study), (0, vec![Origin::None; 4]));
    }
    let tables = connection.query("SHOW TABLES LIKE 'sbtest%'").unwrap();
    assert!(tables.rows().is_empty(), "nothing is made that no statement uses: {:?}", tables.rows());
}

#[test]
fn two_servers_of_a_study_that_are_one_know_of_each_others_writes() {
    let (state, server) = mariadb(&[]);
    let study = |fresh: &str| {
        format!(
            "[data]\nrows = 500\n[[stream]]\nworkload = \"oltp_update_non_index\"\nconnections = 2\n\
             {MEASURE}fresh = \"{fresh}\"\n"
        )
    };
    // what an earlier run has left is not what this one loads
    for _ in 0..2 {
        assert_eq!(run(state.path(), &server, &study("auto")), (0, vec![Origin::Loaded; 4]));
    }
    let (unchanged, origins) = run(state.path(), &server, &study("never"));
    assert_eq!(origins, [Origin::Found, Origin::Left, Origin::Left, Origin::Left]);
    assert_eq!(unchanged, 0);
}
