//! `prony mysqlslap`: takes mysqlslap's command line, runs its loads and prints what it prints.
//!
//! Two of its dangers are removed: an existing schema is never dropped, and a statement that fails ends the
//! program with exit code 1. Written from documented and observed behaviour; `docs/sysbench.md` says what
//! differs.

mod clients;
mod error;
mod generate;
mod options;

use error::Error;
use generate::{Load, Statement};
use load::{
    Stop,
    client::Connection,
    spec::{Address, Secret, Target, Tls, TlsMode, Trust},
};
use options::Given;
use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// How long the first login may take.
const LOGIN_MAX: Duration = Duration::from_secs(30);
/// Sockets of `localhost`.
const SOCKETS: [&str; 3] = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// Carries a command line out: the words behind the program's name. Returns the exit code.
pub fn main(words: &[String], out: &mut dyn Write, err: &mut dyn Write, stop: &Stop) -> u8 {
    match slap(words, out, stop) {
        Ok(()) => 0,
        Err(error) => {
            // nobody may read it
            let _ = writeln!(err, "mysqlslap: {error}");
            1
        }
    }
}

fn slap(words: &[String], out: &mut dyn Write, stop: &Stop) -> Result<(), Error> {
    let given = Given::read(words)?;
    if given.has("help") || given.has("version") {
        let version = format!("mysqlslap  Ver 1.0 (Prony {})\n", env!("CARGO_PKG_VERSION"));
        let help = if given.has("help") { options::usage() } else { String::new() };
        return say(out, &format!("{version}{help}"));
    }
    let load = generate::load(&given)?;
    let engines = if given.has("engine") { given.list("engine") } else { vec![""] };
    if given.has("only-print") {
        return say(out, &printed(&given, &load, &engines)?);
    }
    let target = target(&given)?;
    let mut control =
        Connection::open(&Target { database: None, ..target.clone() }, LOGIN_MAX).map_err(Error::Login)?;
    let mut slap = Slap { given: &given, load: &load, target, control: &mut control, stop };
    let schema = given.text("create-schema");
    if slap.makes_schema() && slap.has_schema()? {
        return Err(Error::SchemaExists(schema.to_owned()));
    }
    for engine in engines {
        for clients in given.list("concurrency") {
            let clients: u32 = clients
                .parse()
                .ok()
                .filter(|clients| *clients > 0)
                .ok_or_else(|| Error::value("concurrency", "numbers of 1 or more", clients))?;
            let times = slap.runs(engine, clients)?;
            slap.report(out, engine, clients, &times)?;
        }
    }
    Ok(())
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Error::Write("the output".to_owned(), error))
}

struct Slap<'a> {
    given: &'a Given,
    load: &'a Load,
    target: Target,
    control: &'a mut Connection,
    stop: &'a Stop,
}

impl Slap<'_> {
    fn makes_schema(&self) -> bool {
        !self.load.create.is_empty()
    }

    fn ask(&mut self, sql: &str) -> Result<load::client::Answer, Error> {
        self.control.query(sql).map_err(|error| Error::Control { sql: sql.to_owned(), error })
    }

    fn has_schema(&mut self) -> Result<bool, Error> {
        let name = self.given.text("create-schema").replace('\'', "''");
        let asked = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'");
        Ok(!self.ask(&asked)?.rows().is_empty())
    }

    /// Runs all iterations. Returns how long each took.
    fn runs(&mut self, engine: &str, clients: u32) -> Result<Vec<Duration>, Error> {
        let mut times = Vec::new();
        for _ in 0..self.given.number("iterations")?.max(1) {
            let made = if self.makes_schema() { self.make(engine) } else { Ok(()) };
            let time = made.and_then(|()| self.run(clients));
            // the schema is dropped after a failure, too
            if self.makes_schema() && !self.given.has("no-drop") {
                let dropped = self.ask(&format!("DROP SCHEMA IF EXISTS {}", self.schema()));
                times.push(time.and_then(|time| dropped.map(|_| time))?);
            } else {
                times.push(time?);
            }
            if self.stop.is_stopped() {
                return Err(Error::Interrupted);
            }
        }
        Ok(times)
    }

    fn schema(&self) -> String {
        format!("`{}`", self.given.text("create-schema").replace('`', "``"))
    }

    fn make(&mut self, engine: &str) -> Result<(), Error> {
        let schema = self.schema();
        // it can only be one that an earlier iteration left with --no-drop: others are refused
        self.ask(&format!("DROP SCHEMA IF EXISTS {schema}"))?;
        self.ask(&format!("CREATE SCHEMA {schema}"))?;
        self.ask(&format!("USE {schema}"))?;
        let (engine, option) = engine.split_once(':').unwrap_or((engine, ""));
        for (place, sql) in self.load.create.iter().enumerate() {
            let is_table = place == 0 && !engine.is_empty() && self.given.has("auto-generate-sql");
            let sql = if is_table { format!("{sql} Engine = {engine} {option}") } else { sql.clone() };
            if place == 0 && !is_table && !engine.is_empty() {
                self.ask(&format!("SET default_storage_engine = {engine}"))?;
            }
            self.ask(&sql)?;
        }
        Ok(())
    }

    fn run(&mut self, clients: u32) -> Result<Duration, Error> {
        self.system("pre-system")?;
        for sql in generate::written(self.given, "pre-query")? {
            self.ask(&sql)?;
        }
        let keys = if self.load.needs_keys { self.keys()? } else { Vec::new() };
        let terms = clients::Terms {
            clients,
            each: self.each(clients)?,
            commit: self.given.number("commit")?,
            detach: self.given.number("detach")?,
            first: Some(self.given.text("init-command").to_owned()).filter(|sql| !sql.is_empty()),
        };
        let time = clients::run(&self.target, &self.load.statements, &keys, &terms, self.stop)?;
        for sql in generate::written(self.given, "post-query")? {
            self.ask(&sql)?;
        }
        self.system("post-system")?;
        Ok(time)
    }

    /// Runs the command of an option, if it is given.
    fn system(&self, option: &'static str) -> Result<(), Error> {
        let command = self.given.text(option).to_owned();
        if command.is_empty() {
            return Ok(());
        }
        match Command::new("sh").args(["-c", &command]).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Command { option, command, status }),
            Err(error) => Err(Error::Shell { option, command, error }),
        }
    }

    fn keys(&mut self) -> Result<Vec<String>, Error> {
        let rows = self.ask("SELECT id FROM t1")?;
        let keys: Vec<_> = rows.rows().iter().filter_map(|row| row.first()?.clone()).collect();
        if keys.is_empty() { Err(Error::NoKeys) } else { Ok(keys) }
    }

    /// Statements of each client.
    fn each(&self, clients: u32) -> Result<u64, Error> {
        let all = self.given.number("number-of-queries")?;
        let execute = self.given.number("auto-generate-sql-execute-number")?;
        Ok(match (all, execute) {
            (0, 0) => self.load.statements.len() as u64,
            (0, each) => each,
            (all, _) => all / u64::from(clients),
        })
    }

    fn report(
        &self,
        out: &mut dyn Write,
        engine: &str,
        clients: u32,
        times: &[Duration],
    ) -> Result<(), Error> {
        if self.given.has("silent") {
            return Ok(());
        }
        let shown = |time: Duration| format!("{}.{:03}", time.as_secs(), time.subsec_millis());
        let mean = shown(times.iter().sum::<Duration>() / times.len().max(1) as u32);
        let least = shown(times.iter().min().copied().unwrap_or_default());
        let most = shown(times.iter().max().copied().unwrap_or_default());
        let each = self.each(clients)?;
        if self.given.has("csv") {
            let kind = self.given.text("auto-generate-sql-load-type");
            let line = format!("{engine},{kind},{mean},{least},{most},{clients},{each}\n");
            let file = self.given.text("csv");
            if file.is_empty() {
                return say(out, &line);
            }
            let opened = OpenOptions::new().create(true).append(true).open(file);
            return opened
                .and_then(|mut file| file.write_all(line.as_bytes()))
                .map_err(|error| Error::Write(file.to_owned(), error));
        }
        let engine =
            if engine.is_empty() { String::new() } else { format!("\tRunning for engine {engine}\n") };
        let mut text = format!("Benchmark\n{engine}");
        for (name, time) in [("Average", mean), ("Minimum", least), ("Maximum", most)] {
            text.push_str(&format!("\t{name} number of seconds to run all queries: {time} seconds\n"));
        }
        text.push_str(&format!("\tNumber of clients running queries: {clients}\n"));
        text.push_str(&format!("\tAverage number of queries per client: {each}\n\n"));
        say(out, &text)
    }
}

/// The output of `--only-print`: what one client would send.
fn printed(given: &Given, load: &Load, engines: &[&str]) -> Result<String, Error> {
    let schema = given.text("create-schema");
    let mut text = String::new();
    for engine in engines {
        if !load.create.is_empty() {
            text.push_str(&format!("CREATE SCHEMA `{schema}`;\nuse {schema};\n"));
        }
        for (place, sql) in load.create.iter().enumerate() {
            let engine =
                if place == 0 && !engine.is_empty() { format!(" Engine = {engine}") } else { String::new() };
            text.push_str(&format!("{sql}{engine};\n"));
        }
        let all = given.number("number-of-queries")?;
        let count = if all == 0 { load.statements.len() } else { all as usize };
        for statement in load.statements.iter().cycle().take(count) {
            match statement {
                Statement::Text(sql) => text.push_str(&format!("{sql};\n")),
                Statement::WithKey(sql) => text.push_str(&format!("{sql}'...';\n")),
            }
        }
        if !load.create.is_empty() && !given.has("no-drop") {
            text.push_str(&format!("DROP SCHEMA IF EXISTS `{schema}`;\n"));
        }
    }
    Ok(text)
}

fn target(given: &Given) -> Result<Target, Error> {
    let path = |name: &str| Some(given.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let host = given.text("host");
    let port = given.number("port")?;
    let socket = path("socket").or_else(|| {
        let is_local = host == "localhost" && !given.has("port");
        SOCKETS.iter().map(PathBuf::from).find(|socket| is_local && Path::exists(socket))
    });
    let by_tcp =
        given.text("protocol").eq_ignore_ascii_case("tcp") || given.has("host") && host != "localhost";
    let address = match socket.filter(|_| !by_tcp) {
        Some(socket) => Address::Unix(socket),
        None => {
            Address::Tcp { host: host.to_owned(), port: u16::try_from(port).map_err(|_| Error::Port(port))? }
        }
    };
    let mode = match given.text("ssl-mode").to_ascii_uppercase().as_str() {
        "PREFERRED" => TlsMode::Preferred,
        "REQUIRED" => TlsMode::Required,
        "VERIFY_CA" => TlsMode::VerifyCa,
        "VERIFY_IDENTITY" => TlsMode::VerifyIdentity,
        "" if given.has("ssl") && !["0", "off"].contains(&given.text("ssl")) => TlsMode::Required,
        _ => TlsMode::Disabled,
    };
    let password = match given.text("password") {
        "" => std::env::var("MYSQL_PWD").unwrap_or_default(),
        password => password.to_owned(),
    };
    let user = match given.text("user") {
        "" => std::env::var("USER").unwrap_or_else(|_| "root".to_owned()),
        user => user.to_owned(),
    };
    Ok(Target {
        address,
        user,
        password: Secret::new(password),
        database: Some(given.text("create-schema").to_owned()),
        tls: Tls { mode, ca: path("ssl-ca"), certificate: path("ssl-cert"), key: path("ssl-key") },
        trust: Trust::default(),
        compress: given.has("compress"),
    })
}
