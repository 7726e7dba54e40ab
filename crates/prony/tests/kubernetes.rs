//! Load hosts as pods of a real Kubernetes: `scripts/kubernetes.sh` brings one up on this machine, and the
//! database is outside the pods. What is wrong is said before the load begins, what is lost spoils its trial,
//! and nothing stays.

mod support {
    #[expect(dead_code, reason = "what tests of processes look at")]
    pub(crate) mod processes;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "the servers of other tests")]
    pub(crate) mod server;
    pub(crate) mod sizes;
}

use load::{
    null::NullServer,
    spec::{Address, Target},
};
use prony::provision::Server;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs, io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use support::{
    processes::wait_for,
    require::{Need, require},
    sizes::{assert_alike, sizes},
};
use tempfile::TempDir;

const PRONY: &str = env!("CARGO_BIN_EXE_prony");
const IMAGE: &str = concat!("localhost/prony-agent:", env!("CARGO_PKG_VERSION"));
/// This machine, as pods reach it.
const MACHINE: &str = "10.245.0.1";
/// As much as a pod here needs, so that several fit.
const SMALL: &str = "resources = { cpu = \"300m\", memory = \"96Mi\" }";
/// The cluster's addresses are those of one cluster.
static ONE: Mutex<()> = Mutex::new(());
/// Nothing that is waited for takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cluster; it ends when this is dropped.
struct Cluster {
    home: TempDir,
    /// Network namespaces of pods that were there before.
    networks_before: BTreeSet<String>,
    _one: MutexGuard<'static, ()>,
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Cluster {
    fn start() -> Result<Self, String> {
        Self::with_nodes(1)
    }

    /// With the image of this very program on each of its nodes.
    fn with_nodes(nodes: u32) -> Result<Self, String> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            return Err("not root".to_owned());
        }
        let home = tempfile::tempdir().expect("a directory");
        let cluster = Self { home, networks_before: networks_of_pods(), _one: one };
        let up = cluster.script("up").arg(nodes.to_string()).output().expect("the script");
        if !up.status.success() {
            return Err(said(&up).lines().last().unwrap_or("the script failed").to_owned());
        }
        let program = cluster.home.path().join("prony");
        let mut strip = Command::new("strip");
        done(&strip.arg("-o").arg(&program).arg(PRONY).output().expect("strip"));
        let mut package = Command::new(repository("scripts/package.sh"));
        package.arg("agent").env("OUT", cluster.home.path().join("package")).env("PRONY_PROGRAM", program);
        let archive = done(&package.output().expect("the script"));
        done(&cluster.script("import").arg(archive.trim()).output().expect("the script"));
        Ok(cluster)
    }

    fn script(&self, what: &str) -> Command {
        let mut command = Command::new(repository("scripts/kubernetes.sh"));
        command.arg(what).arg(self.directory());
        command
    }

    fn directory(&self) -> PathBuf {
        self.home.path().join("cluster")
    }

    fn config(&self) -> PathBuf {
        self.directory().join("admin.conf")
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("kubectl");
        command.env("KUBECONFIG", self.config()).args(arguments);
        done(&command.output().expect("kubectl"))
    }

    fn apply(&self, namespace: &str, text: &str) {
        let file = self.home.path().join("applied.yaml");
        fs::write(&file, text).expect("a file");
        self.kubectl(&["apply", "--namespace", namespace, "--filename", &file.to_string_lossy()]);
    }

    /// A load of so many pods.
    fn load(&self, url: &str, pods: &str, flags: &[&str]) -> Command {
        let mut command = load(url, flags);
        command.env("KUBECONFIG", self.config());
        command.args(["--kubernetes", &format!("image = \"{IMAGE}\", {pods}")]);
        command
    }

    /// What is in a namespace of all that Prony creates.
    fn left(&self, namespace: &str) -> String {
        let kinds = "jobs,pods,services,secrets";
        let found = self.kubectl(&["get", kinds, "--namespace", namespace, "--output=name"]);
        found.lines().filter(|name| *name != "service/kubernetes").collect::<Vec<_>>().join(" ")
    }

    /// Lets processes in the cgroup of a pod take more memory than the pod may have.
    fn exhaust(&self, pod: &str) {
        let about = "--output=jsonpath={.status.containerStatuses[0].containerID}";
        let id = self.kubectl(&["get", "pod", pod, about]);
        let id = id.trim().trim_start_matches("containerd://");
        let socket = self.directory().join("node1/containerd.sock");
        let mut tasks = Command::new("ctr");
        tasks.arg("--address").arg(socket).args(["--namespace", "k8s.io", "tasks", "list"]);
        let tasks = done(&tasks.output().expect("ctr"));
        let line = tasks.lines().find(|line| line.starts_with(id)).expect("its container runs");
        let pid = line.split_whitespace().nth(1).expect("its process");
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("its cgroup");
        let group = groups.lines().find_map(|line| {
            let (_, path) = line.split_once(":memory:").or_else(|| line.split_once("0::"))?;
            let places =
                ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|root| format!("{root}{path}/cgroup.procs"));
            places.into_iter().find(|file| Path::new(file).exists())
        });
        let group = group.expect("its cgroup can be seen");
        // many that are small: the kernel kills the largest first, which is the agent's load
        let script = format!(
            "echo $$ > {group}; for i in $(seq 30); do (head -c 5m /dev/zero | tail -c 5m | sleep 8) & \
             done; wait"
        );
        let mut greedy = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).spawn().expect("sh");
        thread::spawn(move || greedy.wait());
    }

    /// A pod of the load that runs now.
    fn pod(&self, namespace: &str) -> Option<String> {
        let selector = "app.kubernetes.io/managed-by=prony";
        let arguments = ["get", "pods", "--namespace", namespace, "--selector", selector, "--output=name"];
        self.kubectl(&arguments).lines().next().map(str::to_owned)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let ended = self.script("down").output();
        let left: Vec<_> = networks_of_pods().difference(&self.networks_before).cloned().collect();
        assert!(thread::panicking() || ended.is_ok_and(|output| output.status.success()));
        assert!(thread::panicking() || left.is_empty(), "the cluster leaves networks: {left:?}");
    }
}

/// Names of the network namespaces that CNI made for pods.
fn networks_of_pods() -> BTreeSet<String> {
    let all = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("cni-")).collect()
}

fn load(url: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(PRONY);
    command.args(["load", "oltp_point_select", "--tables", "1", "--rows", "1000", "--url", url, "--json"]);
    command.args(["--workers", "1"]).args(flags).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn figures(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

/// Makes what listens at this port of the machine reachable from pods; the port there.
fn published(port: u16) -> u16 {
    let listener = TcpListener::bind((MACHINE, 0)).expect("the node's address");
    let there = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
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
    there
}

fn url_of(target: &Target) -> String {
    let Address::Tcp { port, .. } = target.address else { panic!("a port") };
    let (port, database) = (published(port), target.database.as_deref().expect("a schema"));
    format!("mysql://{}:{}@{MACHINE}:{port}/{database}", target.user, target.password.reveal())
}

/// A MariaDB outside the pods, with data.
fn database() -> (TempDir, Server, String) {
    let (state, server) = support::server::mariadb(&[]);
    let url = url_of(server.target());
    let mut prepare = Command::new(PRONY);
    prepare.args(["prepare", "oltp_point_select", "--tables", "1", "--rows", "1000", "--url", &url]);
    done(&prepare.output().expect("prony"));
    (state, server, url)
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn a_load_from_pods_equals_that_of_one_process_and_leaves_nothing() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let (_state, _server, url) = database();
    let flags =
        ["-c4", "--rate", "200", "--gaps", "constant", "--duration", "6s", "--warm-up", "1s", "--seed", "7"];
    let here = figures(&load(&url, &flags).output().expect("prony"));
    let output = cluster.load(&url, &format!("replicas = 2, {SMALL}"), &flags).output().expect("prony");
    let pods = figures(&output);
    // what was due was done, was under way at the end, or waited: on a busy machine pods have some of it left
    let accounted = |figures: &Value| {
        let stream = &figures["streams"][0];
        let number = |of: &Value| of.as_u64().unwrap_or_else(|| panic!("{figures}"));
        let schedule = &stream["schedule"];
        assert!(number(&schedule["offered"]).abs_diff(1_200) <= 1, "{figures}");
        assert_eq!(stream["errors"].as_u64().unwrap_or(0), 0, "{figures}");
        let left = number(&schedule["never_sent"]) + number(&stream["in_flight_at_end"]);
        number(&stream["transactions"]) + left - number(&schedule["backlog"])
    };
    assert!(accounted(&here).abs_diff(accounted(&pods)) <= 4, "{here} and {pods}");
    let parts = pods["client_processes"].as_array().expect("a list");
    let names: Vec<&str> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    assert!(names.len() == 2 && names[0].ends_with("-0") && names[1].ends_with("-1"), "{names:?}");
    assert!(parts.iter().all(|part| part["clock"].is_object()), "their clocks were compared");
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
}

/// A load of a null server that runs for long, once it does.
fn running(cluster: &Cluster, server: &NullServer, pods: &str) -> Child {
    let url = format!("mysql://somebody@{MACHINE}:{}/test", published(server.address().port()));
    let begun = server.statements();
    let child = cluster.load(&url, pods, &["-c4", "--duration", "300s", "--warm-up", "0s"]).spawn();
    let child = child.expect("prony");
    wait_for(PATIENCE, "the load runs", || server.statements() > begun + 1_000);
    child
}

/// Takes a pod away, by its name.
type Lose<'a> = &'a dyn Fn(&str);

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn a_pod_that_is_lost_ends_the_load_with_the_reason() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let server = NullServer::start(0).expect("a port");
    let pods = format!("replicas = 2, {SMALL}");
    let evict = |pod: &str| {
        let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod } });
        let file = cluster.home.path().join("eviction.json");
        fs::write(&file, eviction.to_string()).expect("a file");
        let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
        cluster.kubectl(&["create", "--raw", &path, "--filename", &file.to_string_lossy()]);
    };
    let delete = |pod: &str| {
        cluster.kubectl(&["delete", "pod", pod, "--wait=false"]);
    };
    let exhaust = |pod: &str| cluster.exhaust(pod);
    let ways: [(&str, Lose<'_>); 3] =
        [("the pod was deleted", &delete), ("evicted", &evict), ("memory", &exhaust)];
    for (words, lose) in ways {
        let child = running(&cluster, &server, &pods);
        let pod = cluster.pod("default").expect("a pod");
        lose(pod.trim_start_matches("pod/"));
        let output = child.wait_with_output().expect("prony");
        let said = said(&output);
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains("agent prony-") && said.contains("it is gone (") && said.contains(words),
            "{said}"
        );
        wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
    }
    // one that has used up its CPU time answers for a while with waiting of its own
    let url = format!("mysql://somebody@{MACHINE}:{}/test", published(server.address().port()));
    let few = "replicas = 1, resources = { cpu = \"100m\", memory = \"96Mi\" }";
    let output = cluster.load(&url, few, &["--duration", "3s", "--warm-up", "0s"]).output().expect("prony");
    let said = said(&output);
    assert!(!output.status.success() && said.contains("these figures are invalid"), "{said}");
    assert!(said.contains("was held back for") && said.contains("used up its CPU time"), "{said}");
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn what_keeps_pods_from_beginning_is_one_message() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let server = NullServer::start(0).expect("a port");
    let url = format!("mysql://somebody@{MACHINE}:{}/test", published(server.address().port()));
    for namespace in ["few", "none", "restricted"] {
        cluster.kubectl(&["create", "namespace", namespace]);
        let account =
            || cluster.kubectl(&["get", "serviceaccounts", "--namespace", namespace, "--output=name"]);
        wait_for(PATIENCE, "its service account", || account().contains("default"));
    }
    cluster.kubectl(&["create", "quota", "pods", "--namespace", "few", "--hard=pods=1"]);
    cluster.kubectl(&["create", "quota", "secrets", "--namespace", "none", "--hard=secrets=0"]);
    let label = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&["label", "namespace", "restricted", label]);
    let one = ["--duration", "1s", "--warm-up", "0s"];
    let said_of = |namespace: &str, pods: &str| {
        let pods = format!("namespace = \"{namespace}\", {SMALL}, {pods}");
        let output = cluster.load(&url, &pods, &one).output().expect("prony");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        wait_for(PATIENCE, "nothing stays", || cluster.left(namespace).is_empty());
        said
    };
    for (namespace, pods, words) in [
        ("few", "replicas = 2", "the namespace's quota is too small"),
        ("none", "replicas = 1", "the namespace's quota is too small"),
        ("default", "replicas = 1, affinity = { wrong = {} }", "the cluster rejected the jobs"),
    ] {
        let told = said_of(namespace, pods);
        assert!(told.contains(words), "{told}");
    }
    let mut missing = load(&url, &one);
    missing.env("KUBECONFIG", cluster.config());
    let output = missing.args(["--kubernetes", "image = \"localhost/no-such:1\""]).output().expect("prony");
    let told = said(&output);
    assert!(told.contains("cannot pull the image localhost/no-such:1"), "{told}");
    let output =
        cluster.load(&url, &format!("namespace = \"restricted\", {SMALL}"), &one).output().expect("prony");
    assert!(output.status.success(), "pods need no privilege: {}", said(&output));
    let nowhere = fs::read_to_string(cluster.config()).expect("a file").replace(":16443", ":1");
    let file = cluster.home.path().join("nowhere.conf");
    fs::write(&file, nowhere).expect("a file");
    let output = cluster.load(&url, SMALL, &one).env("KUBECONFIG", &file).output().expect("prony");
    assert!(
        said(&output).contains("cannot reach the Kubernetes API at https://10.245.0.1:1"),
        "{}",
        said(&output)
    );
}

/// A kubeconfig of the service account `prony`.
fn account(cluster: &Cluster, namespace: &str) -> PathBuf {
    let token = cluster.kubectl(&["create", "token", "prony", "--namespace", namespace]);
    let config = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u", "namespace": namespace } }],
        "clusters": [{ "name": "c", "cluster": {
            "server": "https://10.245.0.1:16443",
            "certificate-authority": cluster.directory().join("ca.crt"),
        } }],
        "users": [{ "name": "u", "user": { "token": token.trim() } }],
    });
    let file = cluster.home.path().join("account.conf");
    fs::write(&file, config.to_string()).expect("a file");
    file
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn the_rights_in_deploy_are_enough_and_each_is_needed() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let server = NullServer::start(0).expect("a port");
    let url = format!("mysql://somebody@{MACHINE}:{}/test", published(server.address().port()));
    let rights = fs::read_to_string(repository("deploy/kustomize/rights.yaml")).expect("a file");
    cluster.apply("default", &rights);
    let config = account(&cluster, "default");
    let attempt = || {
        // a pod more than there can be is what events are read for
        // slow enough for the CPU time of such pods
        let flags = ["--duration", "1s", "--warm-up", "0s", "--rate", "200", "--connections", "2"];
        let mut command = cluster.load(&url, &format!("replicas = 2, {SMALL}"), &flags);
        command.env("KUBECONFIG", &config).output().expect("prony")
    };
    let output = attempt();
    assert!(output.status.success(), "{}", said(&output));
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
    for (verb, what, without) in [
        ("create", "jobs", "[list, patch, delete]"),
        ("list", "jobs", "[create, patch, delete]"),
        ("patch", "jobs", "[create, list, delete]"),
        ("delete", "jobs", "[create, list, patch]"),
    ] {
        cluster.apply("default", &rights.replace("[create, list, patch, delete]", without));
        let told = said(&attempt());
        assert!(told.contains(&format!("missing right in namespace default: {verb} {what}")), "{told}");
        cluster.apply("default", &rights);
    }
    for (verb, what, from, to) in [
        ("create", "secrets", "[secrets, services]", "[services]"),
        ("create", "services", "[secrets, services]", "[secrets]"),
        ("list", "pods", "[pods, events]", "[events]"),
        ("list", "events", "[pods, events]", "[pods]"),
    ] {
        cluster.apply("default", &rights.replace(from, to));
        let told = said(&attempt());
        assert!(told.contains(&format!("missing right in namespace default: {verb} {what}")), "{told}");
        cluster.apply("default", &rights);
    }
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn a_killed_coordinator_leaves_nothing() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let server = NullServer::start(0).expect("a port");
    let kill = || {
        let mut child = running(&cluster, &server, &format!("replicas = 2, {SMALL}"));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(!cluster.left("default").is_empty());
    };
    kill();
    // the next one removes it
    let left = cluster.left("default");
    let old = left.split(' ').find(|name| name.starts_with("job")).expect("a Job").to_owned();
    let next = running(&cluster, &server, &format!("replicas = 1, {SMALL}"));
    wait_for(PATIENCE, "the next one removes it", || !cluster.left("default").contains(&*old));
    kill_process(Pid::from_child(&next), Signal::INT).expect("it runs");
    next.wait_with_output().expect("it ends");
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
    kill();
    // nobody does: the agents end, and then the cluster does
    wait_for(PATIENCE * 2, "it removes itself", || cluster.left("default").is_empty());
}

/// A volume for the store, and what else the cluster has for a run.
fn surroundings(cluster: &Cluster, password: &str) {
    let store = cluster.home.path().join("store");
    fs::create_dir(&store).expect("a directory");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o777)).expect("a mode");
    fs::set_permissions(cluster.home.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": "store" },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "hostPath": { "path": store },
        },
    });
    cluster.apply("default", &volume.to_string());
    let password = format!("--from-literal=password={password}");
    cluster.kubectl(&["create", "secret", "generic", "prony-password", &password]);
}

/// What a run inside needs here beside the base: there is no kube-proxy, and the study is another one.
fn overlay(cluster: &Cluster, study: &str) -> PathBuf {
    let overlay = cluster.home.path().join("overlay");
    let copied = Command::new("cp").arg("-r").arg(repository("deploy/kustomize")).arg(&overlay).output();
    done(&copied.expect("cp"));
    fs::write(overlay.join("study.toml"), study).expect("a file");
    let file = overlay.join("kustomization.yaml");
    let base = fs::read_to_string(&file).expect("a file");
    let patch = r#"
patches:
  - target: { kind: Job }
    patch: |
      - op: add
        path: /spec/template/spec/containers/0/env/-
        value: { name: KUBERNETES_SERVICE_HOST, value: 10.245.0.1 }
      - op: add
        path: /spec/template/spec/containers/0/env/-
        value: { name: KUBERNETES_SERVICE_PORT, value: "16443" }
"#;
    fs::write(&file, base + patch).expect("a file");
    overlay
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn a_run_is_a_job_with_its_store_on_a_volume_and_its_exit_code() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let (_state, server, url) = database();
    let password = server.target().password.reveal().to_owned();
    surroundings(&cluster, &password);
    let url = url.replace(&format!(":{password}@"), "@");
    let study = format!(
        r#"
server.database.url = "{url}"
[[stream]]
workload = "oltp_point_select"
connections = 4
rate = 200
[data]
tables = 1
rows = 1000
[load.kubernetes]
image = "{IMAGE}"
{SMALL}
[vary]
"load.kubernetes.replicas" = [1, 2]
[measure]
warm_up = "1s"
interval = "3s"
repeats = 3
[[claim]]
says = "Two pods offer five times as much."
of = {{ "load.kubernetes.replicas" = 2 }}
over = {{ "load.kubernetes.replicas" = 1 }}
ratio = ">= 5"
"#
    );
    let overlay = overlay(&cluster, &study);
    cluster.kubectl(&["apply", "--kustomize", &overlay.to_string_lossy()]);
    let exit = "--output=jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}";
    let selector = "--selector=app.kubernetes.io/name=prony-run";
    let mut code = String::new();
    let has_ended = || {
        code = cluster.kubectl(&["get", "pods", selector, "--output=json"]);
        !code.is_empty() && code.contains("\"exitCode\"")
    };
    wait_for(Duration::from_secs(240), "the run ends", has_ended);
    let log = cluster.kubectl(&["logs", selector, "--tail=-1"]);
    let code = cluster.kubectl(&["get", "pods", selector, exit]);
    assert_eq!(code, "3", "its claim is refuted: {log}");
    let others = || cluster.left("default");
    wait_for(PATIENCE, "the pods of the load are gone", || others().matches("job.batch/").count() == 1);
    let store = cluster.home.path().join("store/prony.sqlite");
    let report =
        Command::new(PRONY).args(["report", "last", "--format", "json", "--store"]).arg(&store).output();
    let report: Value = serde_json::from_str(&done(&report.expect("prony"))).expect("JSON");
    assert!(report.to_string().contains("load.kubernetes.replicas"), "the runs survive the pod");
}

/// Names of nodes, in order, on which the pods of the load are that runs now.
fn nodes_of_pods(cluster: &Cluster) -> Vec<String> {
    let about = "--output=jsonpath={range .items[*]}{.spec.nodeName}{\"\\n\"}{end}";
    let selector = "--selector=app.kubernetes.io/managed-by=prony";
    let mut nodes: Vec<String> =
        cluster.kubectl(&["get", "pods", selector, about]).lines().map(str::to_owned).collect();
    nodes.sort_unstable();
    nodes
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn pods_are_spread_over_nodes_or_go_where_they_are_sent() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::with_nodes(2)) else { return };
    let server = NullServer::start(0).expect("a port");
    let stop = |child: Child| {
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let figures = figures(&output);
        assert_eq!(figures["client_processes"].as_array().map(Vec::len), Some(4), "{figures}");
        wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
    };
    let pods = format!("replicas = 4, {SMALL}");
    let child = running(&cluster, &server, &pods);
    assert_eq!(nodes_of_pods(&cluster), ["n1", "n1", "n2", "n2"]);
    stop(child);
    let there = "node_selector = { \"kubernetes.io/hostname\" = \"n2\" }";
    let child = running(&cluster, &server, &format!("{pods}, {there}"));
    assert_eq!(nodes_of_pods(&cluster), ["n2"; 4]);
    stop(child);
    // a node for others alone
    cluster.kubectl(&["taint", "nodes", "n2", "for=others:NoSchedule"]);
    let child = running(&cluster, &server, &pods);
    assert_eq!(nodes_of_pods(&cluster), ["n1"; 4]);
    stop(child);
    let tolerates = "tolerations = [{ key = \"for\", operator = \"Exists\" }]";
    let child = running(&cluster, &server, &format!("{pods}, {tolerates}"));
    assert_eq!(nodes_of_pods(&cluster), ["n1", "n1", "n2", "n2"]);
    stop(child);
}

/// The published evaluation with six client machines, which are pods; Prony starts the servers outside the
/// cluster, at an address that pods reach.
#[test]
#[ignore = "long: a Kubernetes of its own"]
fn instance_sizes_from_six_pods_is_what_one_process_measures() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let pods = "replicas = 6, resources = { cpu = \"250m\", memory = \"96Mi\" }";
    let pods = format!("load.kubernetes={{ image = \"{IMAGE}\", {pods} }}");
    let measured = |flags: &[&str]| -> Vec<_> {
        let home = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(PRONY);
        command.args(["run", "instance-sizes", "--scale", "quick", "--json", "--set"]);
        command.arg(format!("server.mariadb.listen=\"{MACHINE}\"")).args(flags);
        command.args(["--set", "measure.interval=2s", "--set", "measure.repeats=4"]);
        command.current_dir(home.path()).env("XDG_DATA_HOME", home.path().join("data"));
        command.env("XDG_STATE_HOME", home.path().join("state"));
        command.env("KUBECONFIG", cluster.config()).env_remove("PRONY_STORE");
        let output = command.output().expect("prony");
        assert!(output.status.success(), "{}", said(&output));
        sizes(&figures(&output), |_| true)
    };
    assert_alike(&measured(&["--set", &pods]), &measured(&[]));
    wait_for(PATIENCE, "nothing stays", || cluster.left("default").is_empty());
}

#[test]
#[ignore = "long: a Kubernetes of its own"]
fn the_cluster_takes_what_is_in_deploy() {
    let Some(cluster) = require(Need::Kubernetes, Cluster::start()) else { return };
    let build =
        done(&Command::new(repository("scripts/kubernetes.sh")).arg("build").output().expect("the script"));
    let bin = Path::new(build.trim());
    let helm = if bin.join("helm").exists() { bin.join("helm") } else { PathBuf::from("helm") };
    let chart = repository("deploy/helm/prony");
    let set = format!("study={}", repository("deploy/kustomize/study.toml").display());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&helm);
        command.args(arguments).arg(&chart).args([
            "--set-file",
            &set,
            "--set",
            "password.secret=prony-password",
        ]);
        done(&command.output().expect("helm"))
    };
    assert!(run(&["lint", "--strict"]).contains("0 chart(s) failed"));
    let of_helm = run(&["template", "prony"]);
    let base = repository("deploy/kustomize");
    let of_kustomize = cluster.kubectl(&["kustomize", &base.to_string_lossy()]);
    let file = cluster.home.path().join("all.yaml");
    for (text, job) in [(of_helm, "job.batch/prony created"), (of_kustomize, "job.batch/prony-run created")] {
        fs::write(&file, text).expect("a file");
        let file = file.to_string_lossy();
        let arguments = ["apply", "--dry-run=server", "--validate=strict", "--filename", &file];
        let told = cluster.kubectl(&arguments);
        assert!(told.contains(job) && told.matches("created (server dry run)").count() >= 6, "{told}");
    }
}

/// Documents of a YAML file.
fn documents(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(repository(path)).expect("a file");
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    documents.map(|one| serde::Deserialize::deserialize(one).expect("YAML")).collect()
}

#[test]
fn what_is_in_deploy_agrees_with_itself_and_with_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let rights = documents("deploy/kustomize/rights.yaml");
    let of_chart = fs::read_to_string(repository("deploy/helm/prony/templates/rights.yaml")).expect("a file");
    let of_chart =
        of_chart.replace("{{ .Release.Name }}", "prony").replace("{{ .Release.Namespace }}", "default");
    let role = |all: &[Value]| all.iter().find(|one| one["kind"] == "Role").expect("a role")["rules"].clone();
    let chart: Vec<Value> = serde_yaml_ng::Deserializer::from_str(&of_chart)
        .map(|one| serde::Deserialize::deserialize(one).expect("YAML"))
        .collect();
    assert_eq!(role(&rights), role(&chart));
    assert!(!role(&rights).to_string().contains('*'), "no right is a wildcard");
    let about = &documents("deploy/helm/prony/Chart.yaml")[0];
    assert_eq!([&about["version"], &about["appVersion"]], [version, version]);
    assert_eq!(documents("deploy/helm/prony/values.yaml")[0]["image"], IMAGE);
    let job = &documents("deploy/kustomize/run.yaml")[0];
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], IMAGE);
    assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let resources = documents("deploy/kustomize/kustomization.yaml")[0]["resources"].clone();
    for name in resources.as_array().expect("a list") {
        let name = name.as_str().expect("text");
        let kinds = documents(&format!("deploy/kustomize/{name}"));
        assert!(
            kinds.iter().all(|one| one["kind"].is_string() && one["metadata"]["name"].is_string()),
            "{name}"
        );
    }
    let study = fs::read_to_string(repository("deploy/kustomize/study.toml")).expect("a file");
    let study = prony::study::parse("study", "study.toml", &study, &prony::study::Adjustments::default());
    let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let pods: Vec<_> = study.treatments.iter().filter_map(|one| one.client.kubernetes.clone()).collect();
    assert_eq!(pods.iter().map(|pods| pods.replicas).collect::<Vec<_>>(), [1, 2]);
    assert!(pods.iter().all(|pods| pods.image == IMAGE));
}
