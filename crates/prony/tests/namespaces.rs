//! Servers in network namespaces of their own. Where a kernel has no netem the ways to them are tested with
//! another queueing discipline, which delays nothing; where there is no right to namespaces there is only the
//! refusal to be tested, and that is told.

use load::{client::Connection, spec::Address};
use prony::{
    network::{self, Node, WhyRelay},
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner},
};
use std::{
    collections::BTreeSet,
    fs,
    net::{Ipv4Addr, UdpSocket},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{
    require::{Need, require},
    server::processes_of,
};

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "the server of other tests")]
    pub(crate) mod server;
}

const WAIT: Duration = Duration::from_secs(180);

fn launcher() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_prony"))
}

/// Whether servers can be set apart here, with netem or without; why not.
fn namespaces() -> Result<(), String> {
    match network::possible(launcher()) {
        Ok(()) | Err(WhyRelay::NoDiscipline(_)) => Ok(()),
        Err(why) => Err(format!("{why:?}")),
    }
}

/// Whether this machine has the other end of the pair that leads to this address.
fn has_other_end(address: Ipv4Addr) -> bool {
    UdpSocket::bind((Ipv4Addr::from(u32::from(address) - 1), 0)).is_ok()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn servers_in_namespaces_are_reached_by_their_addresses_alone_and_these_go_with_them() {
    let Some(()) = require(Need::Namespaces, namespaces()) else { return };
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let source = ServerSource::Product { product: "mariadb".to_owned(), version: Some("10.11".to_owned()) };
    let nodes = [(); 2].map(|()| Node::start(launcher()).expect("a namespace"));
    let provisioner =
        Provisioner::with(places, launcher().to_owned()).within(vec![nodes[0].namespace().clone()]);
    let server = provisioner.bring_up(&ServerPlan::new("tested", source), 0, &mut |_| ()).expect("a server");
    let direct = server.target().clone();
    let Address::Tcp { host, port } = &direct.address else { panic!("{:?} is not TCP", direct.address) };
    assert_eq!(*host, nodes[0].namespace().address.to_string());
    let at =
        |host: String| load::spec::Target { address: Address::Tcp { host, port: *port }, ..direct.clone() };
    assert!(
        Connection::open(&at("127.0.0.1".to_owned()), Duration::from_secs(2)).is_err(),
        "it is elsewhere"
    );
    // a second way from the machine, and one from the other namespace
    let second = network::join(launcher(), None, &nodes[0], network::Shape::default()).expect("a pair");
    network::round_trip(&direct, &at(second.to_string())).expect("an answer");
    let from =
        network::join(launcher(), Some(&nodes[1]), &nodes[0], network::Shape::default()).expect("a pair");
    let through = at(from.to_string());
    network::round_trip_from(&nodes[1], &direct, &through).expect("an answer");
    assert!(Connection::open(&through, Duration::from_secs(2)).is_err(), "the machine is not on that way");
    assert!(has_other_end(second));
    server.stop().expect("stopped");
    drop(nodes);
    wait_until("the devices are there", || !has_other_end(second));
}

/// A run of a server with a replica, both apart, in a home of its own.
fn run(home: &Path, network: &str, discipline: &str, interval: &str) -> Command {
    let text = format!(
        "network = \"{network}\"\n[server.a]\nproduct = \"mariadb\"\nversion = \"10.11\"\ntopology = {{ \
         replicas = 1, replication = \"semi-sync\", latency = \"2ms\" }}\n[settings]\nbuffer_pool = \
         \"32M\"\n[data]\nrows = 1000\n[client]\nlatency = \"1ms\"\n[[stream]]\nworkload = \
         \"oltp_write_only\"\nconnections = 4\n[measure]\nwarm_up = \"0s\"\ninterval = \
         \"{interval}\"\nrepeats = 1\n"
    );
    fs::write(home.join("study.toml"), text).expect("a file");
    let mut command = Command::new(launcher());
    command.args(["run", "study.toml"]).env("XDG_DATA_HOME", home.join("data")).env("XDG_STATE_HOME", home);
    command.env("PRONY_TC", discipline).env_remove("PRONY_STORE").current_dir(home);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn netem_that_cannot_be_is_refused_before_anything_is_started() {
    let home = tempfile::tempdir().expect("a directory");
    let Output { status, stderr, .. } =
        run(home.path(), "netem", "no_such_discipline", "1s").output().expect("prony");
    let said = text(&stderr);
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("network = \"netem\", but") && said.contains("to use the relay instead"), "{said}");
    let instances: PathBuf = home.path().join("prony/instances");
    assert!(!instances.exists(), "nothing was started");
}

#[test]
#[ignore = "long: a run with servers in namespaces is killed and goes on"]
fn a_killed_run_leaves_no_namespace_and_the_next_one_says_what_made_the_network() {
    let Some(()) = require(Need::Namespaces, namespaces()) else { return };
    let home = tempfile::tempdir().expect("a directory");
    let discipline = "tbf rate 1gbit burst 1mb latency 50ms";
    let devices = || -> BTreeSet<String> {
        let all = fs::read_dir("/sys/class/net").expect("devices").flatten();
        let names = all.map(|device| device.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("prony")).collect()
    };
    // what was there before may be on its way out: the kernel takes devices away after their namespace
    let before = devices();
    let new = || devices().difference(&before).count();
    let mut killed = run(home.path(), "netem", discipline, "60s");
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony");
    let state = home.path().join("prony");
    let begun = Instant::now();
    // one to each of the two servers, and the slow one to the primary
    while new() < 3 {
        assert!(begun.elapsed() < WAIT, "no network");
        assert!(killed.try_wait().expect("a process").is_none(), "it has ended");
        thread::sleep(Duration::from_millis(50));
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    wait_until("the servers live", || processes_of(&state).is_empty());
    wait_until("the devices are there", || new() == 0);
    let next = run(home.path(), "auto", discipline, "1s").output().expect("prony");
    let told = text(&next.stdout);
    assert!(next.status.success(), "{}", text(&next.stderr));
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("2.000 ms round trip by tbf rate 1gbit") && flat.contains("between servers 0-1"),
        "{told}"
    );
    wait_until("the devices are there", || new() == 0);
}
