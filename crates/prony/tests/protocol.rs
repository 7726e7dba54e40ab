//! The protocol and the blocking client against real servers, one test for each version. MariaDB 10.11 is a
//! quick test, the others are long. `PRONY_TEST_SERVERS` adds servers that are already running, separated by
//! spaces, such as `mysql://root@127.0.0.1:3306`: accounts that are allowed everything,
//! `max_allowed_packet=64M`, `local_infile=1`.
//!
//! Each check makes accounts and tables of its own. What a server is too old for is left out for it, which is
//! printed.

use load::{
    client::{Answer, Connection, Error},
    spec::{
        Address, Distribution, Draw, Expect, Operand, Piece, Protocol, Secret, Step, Stream, Target, Tls,
        TlsMode, Transaction, Workload,
    },
};
use prony::{
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner, target::resolve},
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use wire::{
    Date, DateTime, Time, Value,
    client::{Column, Options, Reply, Row, Sink, Statement},
    constants::{capability, column_type},
};

const PATIENCE: Duration = Duration::from_secs(20);
const SCHEMA: &str = "prony_wire_test";

/// A server and what it is.
struct Server {
    target: Target,
    mariadb: bool,
    version: (u32, u32, u32),
}

impl Server {
    fn is_mysql(&self, from: (u32, u32, u32)) -> bool {
        !self.mariadb && self.version >= from
    }

    #[expect(clippy::print_stderr, reason = "whoever runs the tests must see what a server was too old for")]
    fn skipped(&self, what: &str) {
        eprintln!("{} {:?}: {what}", self.target.address, self.version);
    }

    fn open(&self) -> Connection {
        Connection::open(&self.target, PATIENCE)
            .unwrap_or_else(|error| panic!("{}: {error}", self.target.address))
    }

    fn open_with(&self, change: impl FnOnce(&mut Options)) -> Connection {
        let change = |wanted: &mut Options| {
            (wanted.local_infile, wanted.multi_statements) = (true, true);
            change(wanted);
        };
        Connection::open_as(&self.target, change, PATIENCE).expect("the same account, other options")
    }

    fn with(&self, change: impl FnOnce(&mut Target)) -> Target {
        let mut target = self.target.clone();
        change(&mut target);
        target
    }
}

/// A running server with a schema for the checks.
fn server(target: &Target) -> Server {
    let mut connection =
        Connection::open(target, PATIENCE).unwrap_or_else(|error| panic!("{}: {error}", target.address));
    let answer = connection.query("SELECT VERSION()").expect("version");
    let text = answer.first_value().expect("version").to_owned();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let version = (next(), next(), next());
    connection.query(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}")).expect("schema");
    let target = Target { database: Some(SCHEMA.into()), ..target.clone() };
    Server { target, mariadb: text.contains("MariaDB"), version }
}

/// Certificates of an authority, and of a server and a client under it, as MySQL names the files.
fn certificates() -> TempDir {
    let files = tempfile::tempdir().expect("directory");
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // A certificate whose issuer has its own name counts as self-signed.
    params.distinguished_name.push(DnType::CommonName, "authority");
    let key = KeyPair::generate().expect("key");
    let authority = params.self_signed(&key).expect("authority");
    let issuer = Issuer::new(params, key);
    let write = |name: &str, text: String| std::fs::write(files.path().join(name), text).expect("file");
    write("ca.pem", authority.pem());
    for name in ["server", "client"] {
        let key = KeyPair::generate().expect("key");
        let params = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).expect("names");
        write(&format!("{name}-cert.pem"), params.signed_by(&key, &issuer).expect("certificate").pem());
        write(&format!("{name}-key.pem"), key.serialize_pem());
    }
    files
}

/// Brings a server up and does everything that is asked of it.
fn check(product: &str, version: &str, checks: &[fn(&Server)]) {
    let state = tempfile::tempdir().expect("directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let provisioner = Provisioner::with(places, env!("CARGO_BIN_EXE_prony").into());
    let files = certificates();
    let path = |name: &str| files.path().join(name).display().to_string();
    let mut settings = vec![("max_allowed_packet", "64M".to_owned()), ("local_infile", "1".to_owned())];
    if product == "mariadb" {
        // MySQL makes certificates for itself.
        let named = [("ssl_ca", "ca.pem"), ("ssl_cert", "server-cert.pem"), ("ssl_key", "server-key.pem")];
        settings.extend(named.map(|(setting, name)| (setting, path(name))));
    }
    let plan = ServerPlan {
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) },
        )
    };
    let running = provisioner.bring_up(&plan, 0, &mut |_| {}).expect("a server");
    let server = server(running.target());
    for check in checks {
        check(&server);
    }
    running.stop().expect("it stops");
}

/// What takes seconds.
const QUICK: &[fn(&Server)] = &[
    every_plugin_logs_in_and_refuses_a_wrong_password,
    tls_modes_do_what_they_say,
    a_client_certificate_is_shown,
    text_queries_and_several_results,
    every_parameter_type_goes_through_a_table,
    many_rows_in_one_execution,
    fractions_of_a_second_and_changes_of_a_table,
    ping_and_change_of_user,
    addresses_of_every_kind,
    both_sides_agree_on_what_both_can_do,
    the_load_engine_runs_in_every_connection_mode,
];

/// What takes longer.
const LONG: &[fn(&Server)] =
    &[packets_over_16_mib_both_ways, local_data_is_loaded_and_other_files_are_refused];

fn check_all(product: &str, version: &str) {
    check(product, version, &[QUICK, LONG].concat());
}

#[test]
fn mariadb_10_11() {
    check("mariadb", "10.11", QUICK);
}

#[test]
#[ignore = "long: 20 s"]
fn mariadb_10_11_with_much_data() {
    check("mariadb", "10.11", LONG);
}

#[test]
#[ignore = "long: 20 s, 46 MB are fetched once"]
fn mariadb_10_1() {
    check_all("mariadb", "10.1.23");
}

#[test]
#[ignore = "long: 20 s, 149 MB are fetched once"]
fn mariadb_11_4() {
    check_all("mariadb", "11.4.5");
}

#[test]
#[ignore = "long: 20 s, 202 MB are fetched once"]
fn mysql_5_5() {
    check_all("mysql", "5.5.34");
}

#[test]
#[ignore = "long: 20 s, 31 MB are fetched once"]
fn mysql_5_6() {
    check_all("mysql", "5.6.24");
}

#[test]
#[ignore = "long: 20 s, 18 MB are fetched once"]
fn mysql_5_7() {
    check_all("mysql", "5.7.22");
}

#[test]
#[ignore = "long: 20 s, 33 MB are fetched once"]
fn mysql_8_0_12() {
    check_all("mysql", "8.0.12");
}

#[test]
#[ignore = "long: 20 s, 554 MB are fetched once"]
fn mysql_8_0_33() {
    check_all("mysql", "8.0.33");
}

#[test]
#[ignore = "helper: for servers that who works on it names in PRONY_TEST_SERVERS"]
fn servers_of_the_environment() {
    for url in std::env::var("PRONY_TEST_SERVERS").unwrap_or_default().split_whitespace() {
        let target = resolve(Some(url), None).expect("an address like mysql://root@127.0.0.1:3306");
        let server = server(&target);
        for check in [QUICK, LONG].concat() {
            check(&server);
        }
    }
}

/// Creates an account with every host it may be seen from, so that no anonymous one of an old server wins.
fn create_account(connection: &mut Connection, name: &str, identified: &str) -> Result<(), Error> {
    for host in ["%", "localhost"] {
        let _ = connection.query(&format!("DROP USER '{name}'@'{host}'"));
        connection.query(&format!("CREATE USER '{name}'@'{host}' {identified}"))?;
        connection.query(&format!("GRANT ALL ON {SCHEMA}.* TO '{name}'@'{host}'"))?;
    }
    Ok(())
}

fn drop_account(connection: &mut Connection, name: &str) {
    for host in ["%", "localhost"] {
        connection.query(&format!("DROP USER '{name}'@'{host}'")).expect("an account of our own");
    }
}

/// What an account logs in as, or the code of the server's refusal.
fn log_in(target: &Target) -> Result<String, u16> {
    match Connection::open(target, PATIENCE) {
        Ok(mut connection) => {
            let answer = connection.query("SELECT CURRENT_USER()").expect("who am I");
            Ok(answer.first_value().expect("somebody").split('@').next().expect("name").to_owned())
        }
        Err(Error::Server { code, .. }) => Err(code),
        Err(error) => panic!("{}: {error}", target.address),
    }
}

fn check_account(server: &Server, name: &str) {
    let account = |password: &str| {
        server.with(|target| {
            target.user = name.into();
            target.password = Secret::new(password);
        })
    };
    // Twice: caching_sha2_password takes another way when it knows the password.
    for _ in 0..2 {
        assert_eq!(log_in(&account("sécret-1")), Ok(name.into()), "{} {:?}", name, server.version);
    }
    assert_eq!(log_in(&account("wrong")), Err(1045));
    assert_eq!(log_in(&account("")), Err(1045));
    let mut compressed = account("sécret-1");
    compressed.compress = true;
    assert_eq!(log_in(&compressed), Ok(name.into()));
    if let Some(path) = socket(server) {
        let local = Target { address: Address::Unix(path.into()), ..account("sécret-1") };
        assert_eq!(log_in(&local), Ok(name.into()));
    }
    let tls = Target { tls: Tls { mode: TlsMode::Preferred, ..Tls::default() }, ..account("sécret-1") };
    assert_eq!(log_in(&tls), Ok(name.into()));
}

/// The server's Unix socket, if it can be seen from here.
fn socket(server: &Server) -> Option<String> {
    let answer = server.open().query("SELECT @@socket").expect("a variable of every server");
    answer.first_value().filter(|path| Path::new(path).exists()).map(str::to_owned)
}

fn every_plugin_logs_in_and_refuses_a_wrong_password(server: &Server) {
    let mut root = server.open();
    let native = if server.is_mysql((5, 7, 0)) {
        "IDENTIFIED WITH mysql_native_password BY 'sécret-1'"
    } else {
        "IDENTIFIED BY 'sécret-1'"
    };
    match create_account(&mut root, "prony_native", native) {
        Ok(()) => {
            check_account(server, "prony_native");
            drop_account(&mut root, "prony_native");
        }
        Err(error) => server.skipped(&format!("no native passwords: {error}")),
    }
    if server.is_mysql((8, 0, 0)) {
        for plugin in ["caching_sha2_password", "sha256_password"] {
            root.query("FLUSH PRIVILEGES").expect("empties the cache of passwords");
            let name = &format!("prony_{}", &plugin[..6]);
            create_account(&mut root, name, &format!("IDENTIFIED WITH {plugin} BY 'sécret-1'"))
                .expect(plugin);
            check_account(server, name);
            drop_account(&mut root, name);
        }
    }
    if server.mariadb {
        if let Err(error) = root.query("INSTALL SONAME 'auth_ed25519'")
            && error.code() != Some(1968)
        {
            server.skipped(&format!("no ed25519: {error}"));
            return;
        }
        let identified = "IDENTIFIED VIA ed25519 USING PASSWORD('sécret-1')";
        create_account(&mut root, "prony_ed", identified).expect("ed25519");
        check_account(server, "prony_ed");
        drop_account(&mut root, "prony_ed");
    }
}

/// The file of the authority that signed the server's certificate.
fn authority(server: &Server) -> Option<PathBuf> {
    let mut connection = server.open();
    let path = connection.query("SHOW GLOBAL VARIABLES WHERE Variable_name = 'ssl_ca'").expect("variable");
    let path = path.rows().first()?[1].clone().filter(|path| !path.is_empty())?;
    let data = connection.query("SELECT @@datadir").expect("variable");
    Some(Path::new(data.first_value()?).join(path))
}

fn tls_modes_do_what_they_say(server: &Server) {
    let ca = authority(server);
    let mode = |mode, ca| {
        let target = server.with(|target| target.tls = Tls { mode, ca, ..Tls::default() });
        Connection::open(&target, PATIENCE)
    };
    assert!(!mode(TlsMode::Disabled, None).expect("without").is_encrypted());
    match mode(TlsMode::Required, None) {
        Ok(mut connection) => {
            assert!(connection.is_encrypted());
            let cipher = connection.query("SHOW STATUS LIKE 'Ssl_cipher'").expect("status");
            assert_ne!(cipher.rows()[0][1].as_deref(), Some(""));
            assert!(mode(TlsMode::Preferred, None).expect("with").is_encrypted());
            assert!(mode(TlsMode::VerifyCa, None).is_err(), "nobody is trusted");
            let ca = ca.expect("an authority");
            assert!(mode(TlsMode::VerifyCa, Some(ca.clone())).expect("its own authority").is_encrypted());
            // MySQL makes its certificate without the host's name, ours has it.
            match mode(TlsMode::VerifyIdentity, Some(ca)) {
                Ok(connection) => assert!(connection.is_encrypted()),
                Err(error) => {
                    assert!(error.to_string().contains("alternative names"), "{error}");
                    server.skipped("the certificate has no host name");
                }
            }
            let strangers =
                rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).expect("certificate");
            let directory = tempfile::tempdir().expect("directory");
            let path = directory.path().join("ca.pem");
            std::fs::write(&path, strangers.cert.pem()).expect("file");
            assert!(matches!(mode(TlsMode::VerifyCa, Some(path)), Err(Error::Tls(_))));
        }
        Err(error) => {
            server.skipped(&format!("no TLS: {error}"));
            assert!(!mode(TlsMode::Preferred, None).expect("goes on without").is_encrypted());
        }
    }
}

/// A transaction that reads all rows of a table and changes one of them.
fn engine_workload() -> Workload {
    let step = |kind: &str, pieces, expect| {
        let (kind, keep) = (kind.to_owned(), Vec::new());
        Step::Statement(load::spec::Statement { kind, pieces, text_only: false, keep, expect })
    };
    let plain = |kind, sql: &str, expect| step(kind, vec![Piece::Sql(sql.to_owned())], expect);
    let write = vec![
        Piece::Sql("UPDATE engine SET t = ".to_owned()),
        Piece::Parameter(Operand::Draw(Draw::Pattern("#####@@@@@'\\".to_owned()))),
        Piece::Sql(" WHERE id = ".to_owned()),
        Piece::Parameter(Operand::Draw(Draw::Integer {
            min: 1,
            max: 3,
            distribution: Distribution::Uniform,
        })),
    ];
    let steps = vec![
        plain("begin", "BEGIN", Expect::Anything),
        plain("read", "SELECT id, t FROM engine", Expect::Row),
        step("write", write, Expect::Change),
        plain("commit", "COMMIT", Expect::Anything),
    ];
    let transactions = vec![Transaction { name: "all".to_owned(), weight: 1.0, steps }];
    Workload::new("all", 1, transactions)
}

fn the_load_engine_runs_in_every_connection_mode(server: &Server) {
    let mut connection = server.open();
    for sql in [
        "DROP TABLE IF EXISTS engine",
        "CREATE TABLE engine (id INT PRIMARY KEY, t VARCHAR(60)) ENGINE=InnoDB",
        "INSERT INTO engine VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    ] {
        connection.query(sql).expect("a table with three rows");
    }
    let mut modes =
        vec![("plain", server.target.clone()), ("compressed", server.with(|target| target.compress = true))];
    let tls = Tls { mode: TlsMode::Required, ..Tls::default() };
    let encrypted = server.with(|target| target.tls = tls);
    if Connection::open(&encrypted, PATIENCE).is_ok() {
        modes.push(("TLS and compressed", Target { compress: true, ..encrypted.clone() }));
        modes.push(("TLS", encrypted));
    } else {
        server.skipped("no TLS for the engine");
    }
    modes.push(("preferred TLS", server.with(|target| target.tls.mode = TlsMode::Preferred)));
    if let Some(path) = socket(server) {
        modes.push(("socket", server.with(|target| target.address = Address::Unix(path.into()))));
    }
    let mut seed = 5;
    for (mode, target) in modes {
        for protocol in [Protocol::Prepared, Protocol::Text] {
            // another each time: what the last one wrote would be written again, which changes nothing
            seed += 1;
            let stream = Stream { protocol, ..Stream::new("main", engine_workload(), 4) };
            let interval = Duration::from_millis(250);
            let spec = load::Spec {
                seed,
                workers: Some(2),
                ..load::Spec::new(target.clone(), vec![stream], Duration::ZERO, interval)
            };
            let outcome = load::run(&spec, &load::Stop::default(), &mut |_| ()).expect(mode);
            let stream = &outcome.streams[0];
            assert_eq!(outcome.end, load::sample::End::Completed, "{mode}, {protocol:?}");
            let passing = [1205, 1213, 1020]; // what concurrent writers may meet
            assert!(
                stream.errors.iter().all(|error| passing.contains(&error.code)),
                "{mode}: {:?}",
                stream.errors
            );
            assert!(stream.transactions.count > 0, "{mode}, {protocol:?}");
            assert_eq!(stream.statements[1].rows, 3 * stream.statements[1].count, "{mode}, {protocol:?}");
            assert_eq!(stream.statements[2].unchanged, 0, "{mode}, {protocol:?}");
            assert_eq!(stream.connections_opened, 4, "{mode}, {protocol:?}");
        }
    }
}

fn a_client_certificate_is_shown(server: &Server) {
    let mut root = server.open();
    let Some(ca) = authority(server) else { return server.skipped("no certificates") };
    let (certificate, key) = (ca.with_file_name("client-cert.pem"), ca.with_file_name("client-key.pem"));
    let required = server.with(|target| target.tls.mode = TlsMode::Required);
    if !certificate.exists() || Connection::open(&required, PATIENCE).is_err() {
        server.skipped("no client certificate or no TLS");
        return;
    }
    create_account(&mut root, "prony_x509", "IDENTIFIED BY 'sécret-1'").expect("account");
    for host in ["%", "localhost"] {
        let sql =
            if server.is_mysql((5, 7, 0)) || server.mariadb { "ALTER USER" } else { "GRANT USAGE ON *.* TO" };
        root.query(&format!("{sql} 'prony_x509'@'{host}' REQUIRE X509")).expect("require a certificate");
    }
    let account = |tls| {
        server.with(|target| {
            target.user = "prony_x509".into();
            target.password = Secret::new("sécret-1");
            target.tls = tls;
        })
    };
    let without = Tls { mode: TlsMode::Required, ..Tls::default() };
    let with = Tls { certificate: Some(certificate), key: Some(key), ..without.clone() };
    assert_eq!(log_in(&account(without)), Err(1045));
    assert_eq!(log_in(&account(with)), Ok("prony_x509".into()));
    drop_account(&mut root, "prony_x509");
}

/// Every way of reading a reply that the two sides can agree on.
fn dialects(server: &Server) -> Vec<Connection> {
    let mut found = Vec::new();
    for compress in [false, true] {
        for deprecate_eof in [true, false] {
            for mariadb_extended in [true, false] {
                let connection = server.open_with(|wanted| {
                    wanted.compress = compress;
                    wanted.deprecate_eof = deprecate_eof;
                    wanted.mariadb_extended = mariadb_extended;
                });
                found.push(connection);
            }
        }
    }
    found
}

fn text(answer: &Answer) -> Vec<Vec<&str>> {
    answer
        .rows()
        .iter()
        .map(|row| row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect())
        .collect()
}

fn text_queries_and_several_results(server: &Server) {
    for mut connection in dialects(server) {
        let answer = connection
            .query(
                "SELECT 1 AS one, NULL, 'äöü'; DO 0; SELECT 2 UNION SELECT 3 ORDER BY 1; SELECT 4 FROM DUAL \
                 WHERE 0",
            )
            .expect("four statements");
        assert_eq!(answer.results.len(), 4);
        assert_eq!(text(&answer), [["1", "NULL", "äöü"]]);
        assert_eq!(answer.results[0].columns, ["one", "NULL", "äöü"]);
        assert!(answer.results[1].columns.is_empty());
        assert_eq!(answer.results[2].rows.len(), 2);
        assert!(answer.results[3].rows.is_empty());

        connection
            .query(
                "DROP PROCEDURE IF EXISTS two; CREATE TEMPORARY TABLE IF NOT EXISTS t (id INT \
                 AUTO_INCREMENT PRIMARY KEY, n INT)",
            )
            .expect("setup");
        connection.query("CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2, 3; END").expect("procedure");
        let answer = connection.query("CALL two()").expect("two results and OK");
        assert_eq!(answer.results.iter().map(|result| result.columns.len()).collect::<Vec<_>>(), [1, 2, 0]);

        let answer = connection.query("INSERT INTO t (n) VALUES (1), (2), (3)").expect("insert");
        assert_eq!((answer.affected(), answer.results[0].last_insert_id), (3, 1));
        assert_eq!(connection.query("UPDATE t SET n = 9 WHERE id > 1").expect("update").affected(), 2);

        // An error in the second statement, in the text of a statement, and in the middle of rows.
        assert_eq!(
            connection.query("SELECT 1; SELECT * FROM nowhere").expect_err("no table").code(),
            Some(1146)
        );
        assert_eq!(connection.query("SELEKT").expect_err("syntax").code(), Some(1064));
        let late = "SELECT n, (SELECT n FROM (SELECT 1 AS n UNION SELECT 2) AS two WHERE t.n = 9) FROM t \
                    ORDER BY id";
        assert_eq!(connection.query(late).expect_err("a subquery with two rows").code(), Some(1242));
        assert_eq!(connection.query("SELECT 'fine'").expect("lives on").first_value(), Some("fine"));
    }
}

/// Rows as typed values, each shown by `Debug`.
#[derive(Default)]
struct Typed(Vec<Vec<String>>);

impl Sink for Typed {
    fn wants_columns(&self) -> bool {
        false
    }
    fn wants_rows(&self) -> bool {
        true
    }
    fn column(&mut self, _: &Column<'_>) {}
    fn row(&mut self, row: &Row<'_>) -> Result<(), wire::Error> {
        self.0.push(
            row.values().map(|value| value.map(|value| format!("{value:?}"))).collect::<Result<_, _>>()?,
        );
        Ok(())
    }
    fn end(&mut self, _: &Reply) {}
}

fn prepare(connection: &mut Connection, sql: &str) -> Statement {
    let reply = connection.run(|session, out| session.prepare(sql.as_bytes(), out), &mut ());
    Statement::new(reply.unwrap_or_else(|error| panic!("{sql}: {error}")).prepared.expect("prepared"))
}

fn execute(connection: &mut Connection, statement: &mut Statement, values: &[Value<'_>]) -> (Reply, Typed) {
    let mut rows = Typed::default();
    let reply = connection.run(|session, out| session.execute(statement, values, out), &mut rows);
    (reply.expect("execution"), rows)
}

const TYPES: &str = "CREATE TEMPORARY TABLE every (id INT PRIMARY KEY AUTO_INCREMENT, tiny TINYINT, utiny \
                     TINYINT UNSIGNED,
    small SMALLINT, usmall SMALLINT UNSIGNED, medium MEDIUMINT, umedium MEDIUMINT UNSIGNED, i INT, ui INT \
                     UNSIGNED,
    big BIGINT, ubig BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(30,5), y YEAR, bits BIT(12), da DATE, dt \
                     DATETIME,
    ti TIME, c CHAR(9), v VARCHAR(99), b VARBINARY(99), t TEXT, bl BLOB, e ENUM('x','y'), s SET('p','q'))";

/// A value for each column of [`TYPES`] after the first, at the limits of its type.
fn limits() -> Vec<Value<'static>> {
    let date = Date { year: 2024, month: 2, day: 29 };
    let moment = DateTime { date, hour: 23, minute: 59, second: 58, microsecond: 0 };
    let time = Time { negative: true, days: 34, hours: 22, minutes: 59, seconds: 59, microseconds: 0 };
    vec![
        Value::Int(-128),
        Value::UInt(255),
        Value::Int(-32_768),
        Value::UInt(65_535),
        Value::Int(-8_388_608),
        Value::UInt(16_777_215),
        Value::Int(-2_147_483_648),
        Value::UInt(4_294_967_295),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Float(1.5),
        Value::Double(-2.5e300),
        Value::Bytes(b"-1234567890123456789012345.67891"),
        Value::Int(2155),
        Value::UInt(0xabc),
        Value::Date(date),
        Value::DateTime(moment),
        Value::Time(time),
        Value::Bytes(b"char"),
        Value::Bytes("värchar".as_bytes()),
        Value::Bytes(b"\0\xff\x01"),
        Value::Bytes(b"text"),
        Value::Bytes(&[0x80; 300]),
        Value::Bytes(b"y"),
        Value::Bytes(b"p,q"),
    ]
}

fn every_parameter_type_goes_through_a_table(server: &Server) {
    let limits = limits();
    // What comes back has the column's own type.
    let mut expected = limits.clone();
    expected[13] = Value::UInt(2155);
    expected[14] = Value::Bytes(&[0x0a, 0xbc]);
    let nulls = vec![Value::Null; limits.len()];
    for mut connection in dialects(server) {
        connection.query(TYPES).expect("a table of all types");
        let marks = vec!["?"; limits.len()].join(",");
        let mut insert = prepare(&mut connection, &format!("INSERT INTO every VALUES (NULL,{marks})"));
        assert_eq!(usize::from(insert.prepared().parameters), limits.len());
        for values in [&limits, &nulls, &limits] {
            assert_eq!(execute(&mut connection, &mut insert, values).0.affected, 1);
        }
        let mut select = prepare(&mut connection, "SELECT * FROM every WHERE id >= ? ORDER BY id");
        for _ in 0..2 {
            let (reply, rows) = execute(&mut connection, &mut select, &[Value::Int(1)]);
            assert_eq!(reply.rows, 3);
            for (row, values) in rows.0.iter().zip([&expected, &nulls, &expected]) {
                let values: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
                assert_eq!(row[1..], values, "{:?}", server.version);
            }
        }
        check_types_told_anew(&mut connection);
    }
}

/// One statement with parameters of changing types, on the table of the test above; also with nobody who
/// reads the rows.
fn check_types_told_anew(connection: &mut Connection) {
    let mut count = prepare(connection, "SELECT id FROM every WHERE id < ?");
    for _ in 0..2 {
        let unseen =
            connection.run(|session, out| session.execute(&mut count, &[Value::Int(3)], out), &mut ());
        assert_eq!(unseen.expect("execution").rows, 2);
    }
    // Now the columns are known already, where the server does not repeat them.
    assert_eq!(execute(connection, &mut count, &[Value::Int(2)]).1.0, [["Int(1)"]]);
    for value in [Value::Bytes(b"2"), Value::Bytes(b"2"), Value::Double(2.0), Value::UInt(2), Value::Int(2)] {
        assert_eq!(execute(connection, &mut count, &[value]).0.rows, 1);
    }
    connection.run(|session, out| session.close(count, out), &mut ()).expect("no reply");
    let closed = connection.run(|session, out| session.execute(&mut count, &[Value::Int(1)], out), &mut ());
    assert_eq!(closed.expect_err("closed").code(), Some(1243));
}

fn many_rows_in_one_execution(server: &Server) {
    let mut connection = server.open();
    connection.query("CREATE TEMPORARY TABLE m (id INT PRIMARY KEY, t VARCHAR(20))").expect("table");
    let insert = prepare(&mut connection, "INSERT INTO m VALUES (?, ?)");
    let row = |number: i32| {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(b"\0\x04text");
        bytes
    };
    let types = [column_type::LONG, column_type::VAR_STRING];
    let send = |connection: &mut Connection, rows: &[u8]| {
        connection.run(|session, out| session.execute_bulk(&insert, &types, rows, out), &mut ())
    };
    let rows: Vec<u8> = (0..10_000).flat_map(row).collect();
    match send(&mut connection, &rows) {
        Ok(reply) => {
            assert_eq!(reply.affected, 10_000);
            let twice = send(&mut connection, &[row(10_000), row(7)].concat());
            assert_eq!(twice.expect_err("the key is there").code(), Some(1062));
            let sum = connection.query("SELECT SUM(id) FROM m WHERE t = 'text' AND id < 10000").expect("sum");
            assert_eq!(sum.first_value(), Some("49995000"));
        }
        Err(Error::Protocol(wire::Error::OutOfTurn(_))) => {
            assert!(!server.mariadb || server.version < (10, 2, 0))
        }
        Err(other) => panic!("{other}"),
    }
}

fn fractions_of_a_second_and_changes_of_a_table(server: &Server) {
    if !server.mariadb && server.version < (5, 6, 4) {
        server.skipped("no fractions of a second");
        return;
    }
    let date = Date { year: 1000, month: 1, day: 1 };
    let moment = DateTime { date, hour: 1, minute: 2, second: 3, microsecond: 456_789 };
    let time = Time { negative: true, days: 1, hours: 2, minutes: 3, seconds: 4, microseconds: 5 };
    for mut connection in dialects(server) {
        connection.query("CREATE TEMPORARY TABLE f (dt DATETIME(6), ti TIME(6))").expect("table");
        let mut insert = prepare(&mut connection, "INSERT INTO f VALUES (?, ?)");
        execute(&mut connection, &mut insert, &[Value::DateTime(moment), Value::Time(time)]);
        let mut select = prepare(&mut connection, "SELECT * FROM f");
        let both = [format!("{:?}", Value::DateTime(moment)), format!("{:?}", Value::Time(time))];
        assert_eq!(execute(&mut connection, &mut select, &[]).1.0, [both.to_vec()]);
        let shown = connection.query("SELECT * FROM f").expect("text");
        assert_eq!(text(&shown), [[moment.to_string(), time.to_string()]]);
        // The statement is prepared again inside the server, and its columns are others.
        connection.query("ALTER TABLE f ADD COLUMN n INT DEFAULT 5 FIRST").expect("alter");
        let changed = [["Int(5)".to_owned(), both[0].clone(), both[1].clone()]];
        for _ in 0..2 {
            assert_eq!(execute(&mut connection, &mut select, &[]).1.0, changed);
        }
    }
}

fn packets_over_16_mib_both_ways(server: &Server) {
    for compress in [false, true] {
        let mut connection = server.open_with(|wanted| wanted.compress = compress);
        for length in [(1 << 24) - 30, (1 << 24) - 2, 1 << 24, 40 << 20] {
            let letters: String = ('a'..='z').cycle().take(length - 26).collect();
            let answer = connection.query(&format!("SELECT '{letters}', LENGTH('x')")).expect("a long query");
            assert!(answer.rows()[0][0].as_deref() == Some(&letters) && answer.rows()[0][1].is_some());
        }
        let bytes = vec![0xfe; (1 << 24) + 77];
        let mut statement = prepare(&mut connection, "SELECT MD5(?), LENGTH(?), REPEAT('y', 17000000)");
        let (reply, rows) =
            execute(&mut connection, &mut statement, &[Value::Bytes(&bytes), Value::Bytes(&bytes)]);
        assert_eq!((reply.rows, rows.0[0][1].contains("16777293")), (1, true));
    }
    let mut connection = server.open();
    let long = format!("SELECT LENGTH('{}')", "x".repeat(70 << 20));
    match connection.query(&long) {
        Err(Error::Server { code: 1153, .. } | Error::Closed) => {}
        other => panic!("more than max_allowed_packet: {other:?}"),
    }
}

fn local_data_is_loaded_and_other_files_are_refused(server: &Server) {
    for mut connection in dialects(server) {
        connection.query("CREATE TEMPORARY TABLE l (id INT, t VARCHAR(20))").expect("table");
        let mut number = 0;
        let answer =
            connection.load_data("LOAD DATA LOCAL INFILE 'rows of ours' INTO TABLE l", &mut |piece| {
                for _ in 0..10_000 {
                    number += 1;
                    piece.extend_from_slice(format!("{number}\ttext {number}\n").as_bytes());
                }
                number < 50_000
            });
        assert_eq!(answer.expect("local files are allowed").affected(), 50_000);
        let sum = connection.query("SELECT SUM(id), COUNT(DISTINCT t) FROM l").expect("sum");
        assert_eq!(text(&sum), [["1250025000", "50000"]]);
        let refused =
            connection.query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE l").expect_err("refused");
        assert!(matches!(refused, Error::Protocol(wire::Error::LocalFileRefused { .. })), "{refused}");
    }
}

fn ping_and_change_of_user(server: &Server) {
    let mut root = server.open();
    create_account(&mut root, "prony_other", "IDENTIFIED BY 'sécret-1'").expect("account");
    for mut connection in dialects(server) {
        connection.run(|session, out| session.ping(out), &mut ()).expect("ping");
    }
    for compress in [false, true] {
        check_change_of_user(server.open_with(|wanted| wanted.compress = compress));
    }
    drop_account(&mut root, "prony_other");
}

/// Logs in again as `prony_other`.
fn check_change_of_user(mut connection: Connection) {
    connection.query("SET @kept = 1").expect("variable");
    connection.change_user("prony_other", "sécret-1", Some(SCHEMA)).expect("change of user");
    let answer = connection.query("SELECT CURRENT_USER(), @kept, DATABASE()").expect("who am I");
    assert!(answer.rows()[0][0].as_deref().is_some_and(|user| user.starts_with("prony_other@")));
    assert_eq!(answer.rows()[0][1..], [None, Some(SCHEMA.to_owned())]);
    let mut select = prepare(&mut connection, "SELECT ?");
    assert_eq!(execute(&mut connection, &mut select, &[Value::Int(5)]).1.0, [["Int(5)"]]);
    assert_eq!(connection.change_user("prony_other", "wrong", None).expect_err("refused").code(), Some(1045));
}

fn addresses_of_every_kind(server: &Server) {
    let Address::Tcp { port, .. } = server.target.address else { panic!("listed by TCP") };
    let at = |host: &str| {
        let address = Address::Tcp { host: host.into(), port };
        Connection::open(&server.with(|target| target.address = address), PATIENCE)
    };
    // The name may stand for ::1 first, where most of these servers do not listen.
    at("localhost").expect("one of its addresses").query("SELECT 1").expect("query");
    match at("::1") {
        Ok(mut connection) => drop(connection.query("SELECT 1").expect("query")),
        Err(Error::Connect { address, .. }) => {
            assert_eq!(address, format!("[::1]:{port}"));
            server.skipped("does not listen on ::1");
        }
        Err(other) => panic!("{other}"),
    }
    let path = socket(server).expect("a socket on this machine");
    let local = server.with(|target| target.address = Address::Unix(path.into()));
    Connection::open(&local, PATIENCE).expect("socket").query("SELECT 1").expect("query");
    assert!(matches!(at("no.such.host.invalid"), Err(Error::Address { .. })));

    let mut slow = server.open();
    slow.set_timeout(Some(Duration::from_millis(200)));
    assert!(matches!(slow.query("SELECT SLEEP(5)"), Err(Error::TimedOut)));

    let mut first = server.open();
    let mut second = server.open();
    second.query(&format!("KILL {}", first.connection_id())).expect("kill");
    assert!(matches!(first.query("SELECT 1"), Err(Error::Closed | Error::Server { .. })));
}

fn both_sides_agree_on_what_both_can_do(server: &Server) {
    let flags = |wanted: fn(&mut Options)| {
        let mut flags = 0;
        let mut connection = server.open_with(wanted);
        connection
            .run(
                |session, out| {
                    flags = session.capabilities();
                    session.ping(out)
                },
                &mut (),
            )
            .expect("ping");
        flags
    };
    let has = |flags: u64, flag| flags & flag != 0;
    let all = flags(|_| {});
    let new = server.is_mysql((5, 7, 5)) || server.mariadb && server.version >= (10, 2, 0);
    assert_eq!(has(all, capability::DEPRECATE_EOF), new);
    assert_eq!(has(all, capability::MARIADB_CACHE_METADATA), server.mariadb && server.version >= (10, 6, 0));
    let few = flags(|wanted| {
        wanted.deprecate_eof = false;
        wanted.mariadb_extended = false;
    });
    assert!(!has(few, capability::DEPRECATE_EOF) && few >> 32 == 0);
}
