//! Servers in images of containers. The client is a script that starts what it is told to as no child of
//! anybody's, which is what podman and docker do; with `PRONY_TEST_IMAGE` the long test uses podman itself
//! and that image.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use support::{server::processes_of, unpacked::mariadb};

mod support {
    #[expect(dead_code, reason = "the server of other tests")]
    pub(crate) mod server;
    pub(crate) mod unpacked;
}

const WAIT: Duration = Duration::from_secs(180);

/// A home of a user with a client of containers.
struct Home {
    directory: tempfile::TempDir,
    image: String,
}

impl Home {
    /// With the script as `client`.
    fn with(client: &str) -> Self {
        let home =
            Self { directory: tempfile::tempdir().expect("a directory"), image: "tested:1".to_owned() };
        let program = home.path().join("bin").join(client);
        fs::create_dir(home.path().join("bin")).expect("a directory");
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/podman.sh"), &program)
            .expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Prony with all its directories in it, and no client but its own.
    fn prony(&self, arguments: &[&str]) -> Command {
        let (software, root) = mariadb();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(self.path()).env_remove("PRONY_STORE");
        for name in ["CACHE", "STATE", "CONFIG", "DATA"] {
            command.env(format!("XDG_{name}_HOME"), self.path().join(name));
        }
        let libraries = std::env::join_paths(&software.libraries.path).expect("paths");
        command.env("FAKE", self.path()).env("ROOT", root).env("LIBRARIES", libraries);
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let first = [self.path().join("bin")].into_iter().chain(std::env::split_paths(&usual));
        command.env("PATH", std::env::join_paths(first).expect("paths"));
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.prony(arguments).output().expect("prony starts")
    }

    fn study(&self, interval: &str) -> Command {
        let text = format!(
            "[server.contained]\nimage = \"{}\"\n[settings]\nbuffer_pool = \"32M\"\n[data]\nrows = \
             1000\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections = 2\n[measure]\nwarm_up = \
             \"0s\"\ninterval = \"{interval}\"\nrepeats = 1\n",
            self.image
        );
        fs::write(self.path().join("study.toml"), text).expect("a file");
        self.prony(&["run", "study.toml"])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until nothing runs that names this directory.
fn wait_for_nothing_in(directory: &Path) {
    let begun = Instant::now();
    while !processes_of(directory).is_empty() {
        assert!(begun.elapsed() < WAIT, "{:?}", processes_of(directory));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_in_an_image_is_fetched_started_with_its_limits_and_stopped() {
    let home = Home::with("docker");
    let config = home.path().join("CONFIG/prony");
    fs::create_dir_all(&config).expect("a directory");
    let entry = |image: &str| {
        let from = format!("{{ image = {{ name = \"{image}\", client = \"docker\" }} }}");
        let text = format!(
            "[[server]]\nname = \"mine\"\nproduct = \"mariadb\"\nversion = \"10.11\"\nfrom = {from}\n"
        );
        fs::write(config.join("servers.toml"), text).expect("a file");
    };
    entry("other:1");
    let refused = home.output(&["server", "fetch", "mine"]);
    assert!(text(&refused.stderr).contains("no registry has other:1"), "{}", text(&refused.stderr));
    entry("tested:1");
    let fetched = home.output(&["server", "fetch", "mine"]);
    assert!(text(&fetched.stdout).contains("mine: mariadb 10.11"), "{}", text(&fetched.stderr));
    let listed = text(&home.output(&["server", "list"]).stdout);
    assert!(listed.lines().any(|line| line.contains("mine") && line.contains("here")), "{listed}");

    let started = home.output(&["server", "start", "mine", "--set", "max_connections=77"]);
    let stopped = home.output(&["server", "stop", "mine"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    wait_for_nothing_in(home.path());
    let said = fs::read_to_string(home.path().join("docker/said")).expect("what the client was told");
    let run = said.lines().rfind(|line| line.starts_with("run")).expect("a container");
    let user = rustix::process::geteuid().as_raw();
    for words in
        ["--rm", "--network=host", &format!("--user={user}:"), "--entrypoint /usr/sbin/mariadbd 0123abc"]
    {
        assert!(run.contains(words), "{words}: {run}");
    }
}

#[test]
fn a_missing_client_is_named_with_its_remedy() {
    let home = Home::with("nothing");
    let directory = home.path().join("bin");
    let output = home.study("1s").env("PATH", &directory).output().expect("prony");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("needs the program podman") && said.contains("install podman"), "{said}");
}

#[test]
#[ignore = "long: two runs, the first of which is killed"]
fn a_container_ends_with_prony_also_when_that_is_killed_and_the_run_goes_on() {
    let mut home = Home::with("podman");
    if let Ok(image) = std::env::var("PRONY_TEST_IMAGE") {
        fs::remove_dir_all(home.path().join("bin")).expect("removed");
        home.image = image;
    }
    let mut killed = home.study("60s").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prony");
    let begun = Instant::now();
    let instances: PathBuf = home.path().join("STATE/prony/instances");
    // the option file is the server's first argument, also where a client has only passed it on
    let server =
        || processes_of(&instances).into_iter().filter(|line| !line.contains("--entrypoint")).count();
    while server() == 0 {
        assert!(begun.elapsed() < WAIT, "no server");
        assert!(killed.try_wait().expect("a process").is_none(), "it has ended");
        thread::sleep(Duration::from_millis(50));
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    wait_for_nothing_in(&instances);
    let next = home.study("1s").output().expect("prony");
    assert!(next.status.success(), "{}", text(&next.stderr));
    let told = text(&next.stdout) + &text(&next.stderr);
    assert!(told.contains("in image"), "{told}");
    wait_for_nothing_in(&instances);
    assert_eq!(fs::read_dir(&instances).expect("a directory").count(), 0);
}
