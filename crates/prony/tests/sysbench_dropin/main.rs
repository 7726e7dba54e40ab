//! `prony sysbench` and `prony mysqlslap` beside the programs whose command lines they take, on one server.

mod agreement;
mod documents;
mod options;
mod scripts;
mod slap;
mod tls;

#[path = "../support"]
mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod server;
}

use load::{client::Connection, spec::Address};
use prony::provision::Server;
use std::{
    process::{Command, Output},
    time::Duration,
};
use support::require::program;

struct Bench {
    _state: tempfile::TempDir,
    server: Server,
}

impl Bench {
    fn new() -> Self {
        let settings = [
            ("log_output", "TABLE"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("max_connections", "400"),
            ("performance_schema", "ON"),
        ];
        Self::of("mariadb", "10.11", &settings)
    }

    fn of(product: &str, version: &str, settings: &[(&str, &str)]) -> Self {
        let (state, server) = support::server::started(product, version, settings);
        let bench = Self { _state: state, server };
        bench.query("CREATE DATABASE theirs");
        bench.query("CREATE DATABASE ours");
        bench
    }

    /// Host and port.
    fn place(&self) -> (String, u16) {
        let Address::Tcp { host, port } = &self.server.target().address else { panic!("it listens on TCP") };
        (host.clone(), *port)
    }

    fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let mut connection =
            Connection::open(self.server.target(), Duration::from_secs(5)).expect("a connection");
        connection.query(sql).expect("good SQL").rows().to_vec()
    }

    /// Options that lead to the server, as both programs take them.
    fn there(&self, database: &str) -> Vec<String> {
        let (target, (host, port)) = (self.server.target(), self.place());
        vec![
            format!("--mysql-host={host}"),
            format!("--mysql-port={port}"),
            format!("--mysql-user={}", target.user),
            format!("--mysql-password={}", target.password.reveal()),
            format!("--mysql-db={database}"),
        ]
    }

    fn ours(&self, database: &str, words: &[&str]) -> Output {
        ran(prony().arg("sysbench").args(self.there(database)).args(words))
    }

    /// Runs ours, which has to end well and to print `what`.
    fn well(&self, words: &[&str], what: &str) -> String {
        let output = self.ours("ours", words);
        let all = text(&output);
        assert!(output.status.success() && all.contains(what), "{words:?}\n{all}");
        all
    }

    fn theirs(&self, database: &str, words: &[&str]) -> Output {
        ran(Command::new("sysbench").args(self.there(database)).args(words))
    }

    /// What is asked of the server meanwhile, values left out.
    fn asked(&self, work: impl FnOnce() -> Output) -> Vec<String> {
        self.query("TRUNCATE mysql.general_log; SET GLOBAL general_log = ON");
        let output = work();
        self.query("SET GLOBAL general_log = OFF");
        assert!(output.status.success(), "{}", text(&output));
        let asked = self.query(
            "SELECT argument FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') AND argument \
             NOT LIKE 'SET GLOBAL%'",
        );
        asked.into_iter().map(|row| digest(&row[0].clone().unwrap_or_default())).collect()
    }
}

fn prony() -> Command {
    Command::new(env!("CARGO_BIN_EXE_prony"))
}

fn ran(command: &mut Command) -> Output {
    command.output().expect("it runs")
}

/// A statement without its values and table numbers.
fn digest(sql: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for letter in sql.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match letter {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            '-' if out.ends_with(['(', '=', ' ']) => {}
            letter => out.push(letter.to_ascii_lowercase()),
        }
    }
    out
}

/// Printed lines without their figures.
fn shape(text: &str) -> Vec<String> {
    let squeezed = |line: &str| {
        let mut out = String::new();
        for word in line.split_whitespace() {
            let is_figure = word.contains(|letter: char| letter.is_ascii_digit());
            let plain: String =
                word.chars().filter(|letter| !(letter.is_ascii_digit() || *letter == '.')).collect();
            out.push_str(if is_figure { "# " } else { "" });
            out.push_str(&plain);
            out.push(' ');
        }
        out
    };
    text.lines().map(squeezed).collect()
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

fn sysbench() -> Result<(), String> {
    program(Command::new("sysbench").arg("--version"))
}
