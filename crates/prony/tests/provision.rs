//! Real servers: had, started, asked, stopped, and gone without a trace.

mod support {
    pub(crate) mod unpacked;
}

use load::{client::Connection, spec::Address};
use prony::{
    plan::{ServerPlan, ServerSource},
    provision::{
        Error, Places, PreflightError, Provisioner, Server, Wants, catalogue, fetch, preflight, status,
    },
};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    net::{IpAddr, TcpStream, UdpSocket},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const WAIT: Duration = Duration::from_secs(10);

/// The user's cache, so that a server is fetched once, and a state directory of the test's own.
fn provisioner(state: &Path) -> Provisioner {
    let places = Places { state: state.to_owned(), ..Places::of_user().expect("a home") };
    Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")))
}

fn plan(product: &str, version: &str, settings: &[(&str, &str)]) -> ServerPlan {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ServerPlan {
        settings: settings.collect::<BTreeMap<_, _>>(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) },
        )
    }
}

fn mariadb(settings: &[(&str, &str)]) -> ServerPlan {
    plan("mariadb", "10.11", settings)
}

fn bring_up(state: &Path, plan: &ServerPlan) -> Result<Server, Error> {
    provisioner(state).bring_up(plan, 0, &mut |_| {})
}

/// Whether nothing is left in the directory of the instances.
fn is_clean(state: &Path) -> bool {
    state.join("instances").read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

fn is_running(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie has ended; its parent has not looked yet.
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn a_server_runs_with_the_studys_settings_says_what_it_is_and_leaves_nothing() {
    let state = tempfile::tempdir().unwrap();
    let server = bring_up(
        state.path(),
        &mariadb(&[("thread_handling", "pool-of-threads"), ("max_connections", "77")]),
    )
    .unwrap();
    let pid = server.pid().unwrap();
    let mut connection = Connection::open(server.target(), WAIT).unwrap();
    let description = server.describe("tested", &mut connection).unwrap();
    assert_eq!((description.product.as_str(), description.name.as_str()), ("mariadb", "tested"));
    assert!(description.version.starts_with("10.11."), "{}", description.version);
    assert_eq!(description.variables["thread_handling"], "pool-of-threads");
    assert_eq!(description.variables["bind_address"], "127.0.0.1");
    assert!(description.status_before.contains_key("Questions") && description.build.contains("x86_64"));
    assert!(is_running(pid) && description.pid == Some(pid));
    connection.query("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(connection.query("SELECT a FROM t").unwrap().first_value(), Some("1"));
    assert!(status(&mut connection).unwrap()["Questions"].parse::<u64>().unwrap() > 0);

    let wants = Wants {
        connections: 76,
        prepared_statements: 100,
        tcp: true,
        sources: 1,
        relayed: false,
        elsewhere: false,
    };
    preflight(&mut connection, &wants).unwrap();
    let error = preflight(&mut connection, &Wants { connections: 77, ..wants }).unwrap_err();
    assert!(matches!(error, PreflightError::MaxConnections { value: 77, needed: 78, .. }), "{error}");
    let error = preflight(&mut connection, &Wants { prepared_statements: 1 << 40, ..wants }).unwrap_err();
    assert!(matches!(error, PreflightError::MaxPreparedStatements { .. }), "{error}");

    server.stop().unwrap();
    assert!(!is_running(pid) && is_clean(state.path()));
}

#[test]
fn a_restarted_server_has_its_port_its_socket_its_account_and_its_data_again() {
    let state = tempfile::tempdir().unwrap();
    let provisioner = provisioner(state.path());
    let mut server = provisioner.bring_up(&mariadb(&[("max_connections", "77")]), 0, &mut |_| {}).unwrap();
    let (target, socket, pid) = (server.target().clone(), server.target_by_socket(), server.pid().unwrap());
    let mut connection = Connection::open(&target, WAIT).unwrap();
    connection.query("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO t VALUES (7)").unwrap();
    assert!(provisioner.restart(&mut server, &mut |_| {}).unwrap());
    assert!(!is_running(pid) && server.pid() != Some(pid));
    assert!(connection.query("SELECT 1").is_err(), "the old server is gone");
    for target in [target, socket] {
        let mut connection = Connection::open(&target, WAIT).unwrap();
        let answer = connection.query("SELECT a + @@max_connections FROM t").unwrap();
        assert_eq!(answer.first_value(), Some("84"));
    }
    server.stop().unwrap();
    assert!(is_clean(state.path()));
}

#[test]
fn nobody_but_pronys_account_gets_in_and_the_socket_works_too() {
    let state = tempfile::tempdir().unwrap();
    let Server::Own(instance) = bring_up(state.path(), &mariadb(&[])).unwrap() else { panic!("its own") };
    let mut connection = Connection::open(&instance.target_by_socket(), WAIT).unwrap();
    assert_eq!(connection.query("SELECT CURRENT_USER()").unwrap().first_value(), Some("prony@localhost"));
    for user in ["root", "", "mysql"] {
        for mut target in [instance.target().clone(), instance.target_by_socket()] {
            target.user = user.to_owned();
            target.password = load::spec::Secret::default();
            assert!(Connection::open(&target, WAIT).is_err(), "{user} at {}", target.address);
        }
    }
    let password = instance.target().password.reveal().to_owned();
    for file in [instance.data_directory().join("../my.cnf"), instance.data_directory().join("../error.log")]
    {
        assert!(!fs::read_to_string(&file).unwrap().contains(&password), "{}", file.display());
    }
    let arguments = fs::read_to_string(format!("/proc/{}/cmdline", instance.pid())).unwrap();
    assert!(!arguments.contains(&password));
}

/// An address by which others know this machine, if it has a network.
fn outer() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // nothing is sent: this only chooses a way
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

#[test]
fn a_server_listens_where_it_is_told_and_nowhere_else() {
    let inner = [Some([127, 0, 0, 9].into()), outer()];
    for address in inner.into_iter().flatten() {
        let state = tempfile::tempdir().unwrap();
        let plan = ServerPlan { listen: Some(address), ..mariadb(&[]) };
        let mut server = bring_up(state.path(), &plan).unwrap();
        let Address::Tcp { host, port } = server.target().address.clone() else { panic!("TCP") };
        assert_eq!(host, address.to_string());
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{address}");
        let mut connection = Connection::open(server.target(), WAIT).unwrap();
        let user = connection.query("SELECT CURRENT_USER()").unwrap();
        let expected = if address.is_loopback() { "prony@127.%" } else { "prony@%" };
        assert_eq!(user.first_value(), Some(expected));
        assert!(provisioner(state.path()).restart(&mut server, &mut |_| {}).unwrap());
        Connection::open(server.target(), WAIT).unwrap();
        server.stop().unwrap();
    }
    let state = tempfile::tempdir().unwrap();
    let plan = ServerPlan { listen: Some([192, 0, 2, 1].into()), ..mariadb(&[]) };
    let error = provisioner(state.path()).have_program(&plan, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("does not have the address 192.0.2.1"), "{error}");
}

#[test]
fn a_setting_that_the_server_does_not_know_is_named_with_its_own_words() {
    let state = tempfile::tempdir().unwrap();
    let error = bring_up(state.path(), &mariadb(&[("innodb_bufer_pool_size", "1G")])).unwrap_err();
    assert!(error.to_string().contains("did you mean innodb_buffer_pool_size?"), "{error}");
    let Error::UnknownSetting { setting, log, .. } = &error else { panic!("{error}") };
    assert_eq!(setting, "innodb_bufer_pool_size");
    assert!(log.contains("[ERROR]"), "{log}");
    assert!(is_clean(state.path()));
}

#[test]
fn a_server_that_dies_while_starting_shows_its_last_words() {
    let state = tempfile::tempdir().unwrap();
    let error = bring_up(state.path(), &mariadb(&[("innodb_page_size", "12345")])).unwrap_err().to_string();
    assert!(error.contains("[ERROR]") && error.contains("page"), "{error}");
    assert!(is_clean(state.path()));
}

#[test]
fn too_much_data_is_refused_before_anything_is_started() {
    let state = tempfile::tempdir().unwrap();
    let result = provisioner(state.path()).bring_up(&mariadb(&[]), 1 << 60, &mut |_| {});
    assert!(matches!(result, Err(Error::NoSpace { .. })), "{result:?}");
    assert!(is_clean(state.path()));
}

#[test]
fn a_running_server_is_used_but_not_stopped_and_a_wrong_password_is_told_once() {
    let state = tempfile::tempdir().unwrap();
    let own = bring_up(state.path(), &mariadb(&[])).unwrap();
    let load::spec::Address::Tcp { host, port } = &own.target().address else { panic!("TCP") };
    let url = |password: &str| format!("mysql://prony:{password}@{host}:{port}/prony");
    let elsewhere = |password: &str| ServerPlan {
        settings: BTreeMap::new(),
        ..ServerPlan::new("elsewhere", ServerSource::Url(url(password)))
    };
    let running = bring_up(state.path(), &elsewhere(own.target().password.reveal())).unwrap();
    assert_eq!(running.pid(), own.pid(), "its process is found");
    let mut connection = Connection::open(running.target(), WAIT).unwrap();
    let description = running.describe("elsewhere", &mut connection).unwrap();
    assert_eq!(description.origin, format!("running at mysql://prony@{host}:{port}/prony"));
    running.stop().unwrap();
    assert!(is_running(own.pid().unwrap()));

    let error = bring_up(state.path(), &elsewhere("wrong-secret")).unwrap_err().to_string();
    for part in
        ["Access denied for user 'prony'@", "1045", &format!("{host}:{port}"), "check user and password"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("wrong-secret"));
    let mut changed = elsewhere(own.target().password.reveal());
    changed.settings.insert("max_connections".to_owned(), "10".to_owned());
    assert!(matches!(bring_up(state.path(), &changed), Err(Error::SettingsElsewhere { .. })));
}

/// Not a test by itself: the process that the next test kills. It brings a server up, says its number, and
/// waits.
#[test]
#[ignore = "helper: a process that another test starts and kills"]
fn helper_that_is_killed() {
    let Some(state) = std::env::var_os("PRONY_TEST_STATE") else { return };
    let server = bring_up(Path::new(&state), &mariadb(&[])).unwrap();
    println!("\nserver {}", server.pid().unwrap());
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn kill_9_leaves_no_server_and_the_next_run_removes_its_data() {
    let state = tempfile::tempdir().unwrap();
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["helper_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .env("PRONY_TEST_STATE", state.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pid = lines.find_map(|line| line.strip_prefix("server ")?.parse::<u32>().ok()).unwrap();
    assert!(is_running(pid));
    let provisioner = provisioner(state.path());
    assert!(provisioner.sweep().unwrap().is_empty(), "what a living run has stays");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let began = Instant::now();
    while is_running(pid) && began.elapsed() < WAIT {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_running(pid), "the server outlived its owner");
    assert!(!is_clean(state.path()));
    assert_eq!(provisioner.sweep().unwrap().len(), 1);
    assert!(is_clean(state.path()));
}

#[test]
fn a_panic_of_its_owner_stops_a_server() {
    let state = tempfile::tempdir().unwrap();
    let (sender, pid) = std::sync::mpsc::channel();
    let path = state.path().to_owned();
    let owner = thread::spawn(move || {
        let server = bring_up(&path, &mariadb(&[])).unwrap();
        sender.send(server.pid().unwrap()).unwrap();
        panic!("this is the test");
    });
    assert!(owner.join().is_err());
    assert!(!is_running(pid.recv().unwrap()) && is_clean(state.path()));
}

/// Not a test by itself: what the next one runs with another environment.
#[test]
#[ignore = "helper: a process that another test starts"]
fn helper_that_fetches() {
    let Some(state) = std::env::var_os("PRONY_TEST_STATE") else { return };
    let [cache, state, config] = std::array::from_fn(|_| PathBuf::from(&state));
    let places = Places { cache, state, config };
    let provisioner = Provisioner::with(places, PathBuf::from(env!("CARGO_BIN_EXE_prony")));
    let entry = provisioner.named("mariadb-10.11-debian").unwrap();
    println!("\n{}", provisioner.fetch(&entry, &mut |_| {}).unwrap_err());
}

#[test]
fn a_fetch_without_network_or_client_says_so_and_leaves_nothing_half_done() {
    let run = |name: &str, value: &str| {
        let state = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["helper_that_fetches", "--exact", "--ignored", "--nocapture"])
            .env("PRONY_TEST_STATE", state.path())
            .env(name, value)
            .output()
            .unwrap();
        let left: Vec<_> = state.path().join("servers").read_dir().unwrap().flatten().collect();
        assert!(
            left.iter().all(|entry| entry.path().extension().is_some_and(|end| end == "lock")),
            "{left:?}"
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Port 9 discards, where anybody listens at all.
    let said = run("http_proxy", "http://127.0.0.1:9");
    assert!(
        said.contains("cannot fetch mariadb-10.11-debian: apt-get failed")
            && said.contains("Check the network"),
        "{said}"
    );
    let said = run("PATH", "/nowhere");
    assert!(said.contains("needs the program apt-get, which is not installed"), "{said}");

    let programs = tempfile::tempdir().unwrap();
    let client = programs.path().join("apt-get");
    fs::write(&client, "#!/bin/sh\nprintf '\\033[1;31mno such mirror\\033[0m\\n' >&2\nexit 100\n").unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let said = run("PATH", programs.path().to_str().unwrap());
    assert!(said.contains("no such mirror") && said.contains("exit status: 100"), "{said}");
    assert!(said.contains("`prony server list`") && !said.contains("[1;31m"), "{said}");
}

/// Not a test by itself: what the next one runs with another `PATH`.
#[test]
#[ignore = "helper: a process that another test starts"]
fn helper_that_finds() {
    let Some(state) = std::env::var_os("PRONY_TEST_STATE") else { return };
    let server = bring_up(Path::new(&state), &plan("mariadb", "10", &[])).unwrap();
    let mut connection = Connection::open(server.target(), WAIT).unwrap();
    println!("\norigin {}", server.describe("found", &mut connection).unwrap().origin);
}

#[test]
fn an_installed_server_goes_before_a_fetched_one_and_a_directory_will_do() {
    let state = tempfile::tempdir().unwrap();
    let (fetched, root) = support::unpacked::mariadb();
    let programs = fetched.program.parent().unwrap();
    let path = std::env::join_paths([programs, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["helper_that_finds", "--exact", "--ignored", "--nocapture"])
        .env("PRONY_TEST_STATE", state.path())
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", std::env::join_paths(&fetched.libraries.path).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let program = fetched.program.canonicalize().unwrap();
    assert!(said.contains(&format!("origin installed: {}", program.display())), "{said}");

    // as a distribution has it, whose /sbin is a link to /usr/sbin
    let linked = tempfile::tempdir().unwrap();
    symlink(programs, linked.path().join("sbin")).unwrap();
    for entry in root.read_dir().unwrap().map(Result::unwrap) {
        symlink(entry.path(), linked.path().join(entry.file_name())).unwrap();
    }
    for directory in [&*root, linked.path()] {
        let source = ServerSource::Path(directory.to_owned());
        let server = bring_up(state.path(), &ServerPlan { source, ..mariadb(&[]) }).unwrap();
        let mut connection = Connection::open(server.target(), WAIT).unwrap();
        let description = server.describe("by path", &mut connection).unwrap();
        assert!(description.origin.starts_with("directory /"), "{}", description.origin);
        server.stop().unwrap();
    }
    let nothing = ServerPlan { source: ServerSource::Path(state.path().to_owned()), ..mariadb(&[]) };
    assert!(matches!(bring_up(state.path(), &nothing), Err(Error::NoProgram { .. })));
    let unknown = bring_up(state.path(), &plan("mariadb", "5.1", &[])).unwrap_err().to_string();
    assert!(unknown.contains("mariadb 5.1") && unknown.contains("mysql-8.0.15"), "{unknown}");
}

/// Versions of all generations with the smallest downloads; each is initialised in its own way.
#[test]
#[ignore = "long: fetches about 1 GB of servers once"]
fn servers_of_all_generations_start_with_an_account_and_stop() {
    let mut failures = Vec::new();
    // The part of a name in the environment restricts it, for who works on one of them.
    let wanted = std::env::var("PRONY_TEST_SERVER").unwrap_or_default();
    for entry in prony::provision::catalogue::entries().iter().filter(|entry| entry.name.contains(&wanted)) {
        let state = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let result = provisioner(state.path())
            .fetch(entry, &mut |step| println!("  {step:?}"))
            .map_err(Into::into)
            .and_then(|_| try_server(state.path(), &of_entry(entry)));
        println!("{}: {result:?} after {:?}", entry.name, began.elapsed());
        if result.is_err() || !is_clean(state.path()) {
            failures.push(format!("{}: {result:?}", entry.name));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A plan for this very entry, where another one may have the same version.
fn of_entry(entry: &catalogue::Entry) -> ServerPlan {
    let places = Places::of_user().expect("a home");
    let source = ServerSource::Path(fetch::place(entry, &places));
    ServerPlan { source, ..plan(&entry.product, &entry.version, &[("max_connections", "33")]) }
}

fn try_server(state: &Path, plan: &ServerPlan) -> Result<String, Box<dyn std::error::Error>> {
    let Server::Own(instance) = bring_up(state, plan)? else { return Err("not its own".into()) };
    let mut description = String::new();
    for target in [instance.target().clone(), instance.target_by_socket()] {
        let mut connection = Connection::open(&target, WAIT)?;
        connection.query("CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY) ENGINE=InnoDB")?;
        connection.query("REPLACE INTO t VALUES (1)")?;
        let answer = connection.query("SELECT VERSION(), @@max_connections, @@socket, COUNT(*) FROM t")?;
        description = format!("{:?}", answer.rows());
        preflight(
            &mut connection,
            &Wants {
                connections: 10,
                prepared_statements: 10,
                tcp: true,
                sources: 1,
                relayed: false,
                elsewhere: false,
            },
        )?;
        let users = connection.query("SELECT COUNT(*) FROM mysql.user WHERE User=''")?;
        if users.first_value() != Some("0") || !description.contains("\"33\"") {
            return Err(format!("{description} {users:?}").into());
        }
    }
    let mut root = instance.target().clone();
    (root.user, root.password) = ("root".to_owned(), load::spec::Secret::default());
    if Connection::open(&root, WAIT).is_ok() {
        return Err("root gets in".into());
    }
    instance.stop()?;
    let mut wrong = plan.clone();
    wrong.settings.insert("no_such_setting".to_owned(), "1".to_owned());
    match bring_up(state, &wrong) {
        Err(Error::UnknownSetting { setting, .. }) if setting == "no_such_setting" => Ok(description),
        other => Err(format!("{other:?}").into()),
    }
}
