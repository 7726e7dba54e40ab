//! What a user who writes a study relies on.

use super::*;
use crate::{language::Language, layout::Layout as _};
use proptest::prelude::*;

const GOOD: &str = r#"
title = "A good one"
[server.a]
product = "mariadb"
[server.b]
product = "mariadb"
version = "10.11"
settings = { thread_handling = "pool-of-threads", back_log = 500 }
[settings]
skip-name-resolve = true
[data]
rows = 500
[[stream]]
range_size = 10
[vary]
"stream.workload" = ["oltp_read_only", "oltp_update_non_index"]
"stream.connections" = [1, 4]
[scale.quick]
data.rows = 20
measure = { interval = "1s" }
"#;

fn read(text: &str) -> Result<Study, Mistakes> {
    parse("test", "test.toml", text, &Adjustments::default())
}

fn with(set: &[&str], scale: Option<&str>) -> Result<Study, Mistakes> {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    parse("test", "test.toml", GOOD, &Adjustments { set, scale: scale.map(str::to_owned) })
}

fn mistakes(text: &str) -> String {
    read(text).expect_err("a wrong study").to_string()
}

#[test]
fn every_built_in_study_is_right_at_every_scale() {
    for builtin in builtin() {
        for scale in [None, Some("quick"), Some("bench"), Some("published")] {
            let adjustments = Adjustments { scale: scale.map(str::to_owned), ..Adjustments::default() };
            let study = parse(builtin.name, builtin.name, builtin.text, &adjustments);
            let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert!(!study.treatments.is_empty(), "{}", builtin.name);
        }
    }
}

/// What servers allow unless told otherwise is not enough for many connections and tables.
#[test]
fn every_built_in_study_sets_the_limits_that_its_connections_need() {
    for builtin in builtin() {
        for scale in [None, Some("quick"), Some("bench"), Some("published")] {
            let adjustments = Adjustments { scale: scale.map(str::to_owned), ..Adjustments::default() };
            let study = parse(builtin.name, builtin.name, builtin.text, &adjustments).expect("a good study");
            for treatment in &study.treatments {
                let (mut connections, mut prepared) = (0, 0);
                for stream in &treatment.streams {
                    let each = load::statements_prepared(&stream.workload, stream.protocol).unwrap_or(0);
                    connections += u64::from(stream.connections + stream.idle);
                    prepared += u64::from(stream.connections) * each;
                }
                let limits =
                    [("max_connections", connections, 151), ("max_prepared_stmt_count", prepared, 16_382)];
                for (setting, needed, default) in limits {
                    let set = treatment.server.settings.get(setting);
                    let limit: u64 = set.map_or(default, |set| set.parse().expect("a number"));
                    let name = (builtin.name, scale, setting);
                    assert!(needed < limit, "{name:?}: {needed} are needed: {:?}", treatment.levels);
                }
            }
        }
    }
}

#[test]
fn all_mistakes_are_reported_at_once_and_pointed_at() {
    let text = r#"
seed = "42"
[server.pool]
product = "mariadbb"
[server.other]
product = "mysql"
[measure]
interval = "10"
repeat = 3
[data]
rows = 0
[[stream]]
workload = "oltp_read_onyl"
connections = 1.5
range_sise = 4
[vary]
server = ["poool"]
"stream.conections" = [1, 2]
"data.rows" = 5
"#;
    insta::assert_snapshot!(mistakes(text));
}

#[test]
fn what_is_left_out_has_a_default_and_servers_vary_by_themselves() {
    let study = with(&[], None).expect("right");
    assert_eq!(
        study.factors.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(),
        ["server", "workload", "connections"]
    );
    assert_eq!(study.treatments.len(), 8);
    assert_eq!((study.repeats, study.interval), (3, Duration::from_secs(30)));
    let pool = &study.treatments[4];
    assert_eq!(pool.levels["server"], "b");
    assert_eq!(pool.server.settings["thread_handling"], "pool-of-threads");
    assert_eq!(pool.server.settings["back_log"], "500");
    assert_eq!(pool.server.settings["skip_name_resolve"], "ON");
    assert_eq!((pool.data.table_names().len(), pool.data.rows()), (1, 500));
}

#[test]
fn a_scale_and_the_command_line_lie_over_the_file() {
    let study =
        with(&["measure.repeats=5", "stream.connections=[8, 16]", "server=b"], Some("quick")).expect("right");
    assert_eq!((study.interval, study.repeats), (Duration::from_secs(1), 5));
    assert_eq!(study.treatments[0].data.rows(), 20);
    let levels =
        |name: &str| study.factors.iter().find(|factor| factor.name == name).map(|factor| &factor.levels[..]);
    assert_eq!(levels("server").unwrap(), ["b"]);
    assert_eq!(levels("connections").unwrap(), ["8", "16"]);
    let study =
        with(&["rows=7", "interval=200ms", "connections=3", "server.b.version=10.6"], None).expect("right");
    assert_eq!(study.treatments[0].data.rows(), 7);
    assert_eq!(study.interval, Duration::from_millis(200));
    assert!(study.treatments.iter().all(|treatment| treatment.streams[0].connections == 3));
    let ServerSource::Product { version, .. } = &study.treatments[2].server.source else {
        panic!("a product")
    };
    assert_eq!(version.as_deref(), Some("10.6"));
}

/// Keys of all sections by how a schema describes them, as `--set` has them.
fn keys_like(pattern: &str) -> Vec<String> {
    let sections = ["topology", "limits", "data", "client", "measure", "telemetry", "stream", "server"];
    let of = |section: &'static str| {
        let place = if section == "server" { "server.a" } else { section };
        root::keys_of(section).into_iter().filter_map(move |key| {
            let is_like = key.shape.schema()["pattern"].as_str() == Some(pattern);
            is_like.then(|| format!("{place}.{}", key.name))
        })
    };
    sections.into_iter().flat_map(of).collect()
}

#[test]
fn every_key_reads_quantities_by_the_one_grammar() {
    let quantities = [
        ("latency", "1m 30s", "10", "10s, 500ms or 1m 30s", 13),
        ("memory", "1.5G", "10", "512M or 1.5G", 1),
        ("io_read", "1.5MB/s", "10", "100MB/s", 2),
        ("precision", "2%", "10", "2% or 0.1%", 2),
        ("price", "0.42 EUR/h", "10", "0.42 EUR/h", 1),
    ];
    for (like, right, bare, written, least) in quantities {
        let sections = ["client", "limits", "measure", "server"];
        let like = sections.iter().flat_map(|section| root::keys_of(section)).find(|key| key.name == like);
        let schema = like.expect("a key").shape.schema();
        let keys = keys_like(schema["pattern"].as_str().expect("a pattern"));
        assert!(keys.len() >= least, "{keys:?}");
        let refused = |key: &str, value: &str| match with(&[&format!("{key}={value}")], None) {
            Ok(_) => String::new(),
            Err(mistakes) => mistakes.to_string(),
        };
        for key in keys {
            for bare in [bare.to_owned(), format!("\"{bare}\"")] {
                let told = refused(&key, &bare);
                assert!(told.contains(&format!("`10` has no unit: write {written}")), "{key}: {told}");
            }
            let told = refused(&key, right);
            assert!(!told.contains("no unit") && !told.contains("is not a"), "{key}: {told}");
        }
    }
    let counted = with(&["data.rows=10K", "stream.connections=[\"1K\"]"], None).expect("counts");
    assert_eq!(
        (counted.treatments[0].data.rows(), counted.treatments[0].streams[0].connections),
        (10_240, 1024)
    );
    for (key, told) in [
        ("stream.think=10", "`10` has no unit: write 10s"),
        ("stream.begin=after 10", "`10` has no unit: write 10s"),
        ("measure.warm_up=10", "`10` has no unit: write 10s"),
        ("stream.arrival=pace 10", "`10` has no unit: write 10s"),
        ("stream.rate=100..200 over 10", "`10` has no unit: write 10s"),
        ("stream.objective=p99 < 10", "`10` has no unit: write 10s"),
        ("stream.objective=errors < 10", "`10` has no unit: write 2%"),
    ] {
        let shown = with(&[key], None).expect_err(key).to_string();
        assert!(shown.contains(told), "{key}: {shown}");
    }
}

#[test]
fn a_price_is_kept_in_the_plan_and_shown() {
    let study = with(&["server.b.price=0.42 EUR/h"], None).expect("right");
    let plan = crate::plan::Plan::from_study(&study);
    let kept: crate::plan::Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(kept.servers[1].price.as_ref().map(ToString::to_string).as_deref(), Some("0.42 EUR/h"));
    assert!(
        crate::plan::render(&kept, Language::English).contains("costs 0.42 EUR/h"),
        "{}",
        crate::plan::render(&kept, Language::English)
    );
}

#[test]
fn an_audit_says_in_which_ways_servers_crash() {
    let audit = |text: &str| read(&format!("{GOOD}\n[audit]\n{text}"));
    let kinds = |text: &str| audit(text).expect("right").audit.expect("one").kinds;
    assert_eq!(kinds(""), [CrashKind::Kill]);
    assert_eq!(kinds("kinds = \"power\""), [CrashKind::Power]);
    assert_eq!(kinds("kinds = [\"power\", \"kill\"]"), [CrashKind::Kill, CrashKind::Power]);
    for wrong in ["[]", "[\"kill\", \"kill\"]", "[\"fire\"]"] {
        let shown = audit(&format!("kinds = {wrong}")).expect_err(wrong).to_string();
        assert!(shown.contains(", each once"), "{shown}");
    }
    assert!(audit("kinds = \"powr\"").expect_err("no kind").to_string().contains("`power`"));
    let (alone, pair) = (Topology::Single, Topology::Galera { nodes: 2 });
    assert!(CrashKind::Kill.is_of(alone) && CrashKind::Kill.is_of(pair));
    assert!(!CrashKind::Network.is_of(alone) && CrashKind::Network.is_of(pair));
    assert!(CrashKind::Power.is_of(alone) && !CrashKind::Power.is_of(pair));
}

#[test]
fn what_a_buyer_asks_is_complete_or_a_mistake() {
    let asked = |text: &str| read(&format!("{GOOD}\n[buy]\n{text}"));
    let buy = asked("rate = [2000, 500]\nobjective = \"p99<50ms\"").expect("right").buy.expect("asked");
    assert_eq!((&*buy.rates_per_second, &*buy.objective), (&[500.0, 2000.0][..], "p99 < 50ms"));
    for (text, told) in [
        ("rate = 500", "does not say what is to be kept"),
        ("rate = 0\nobjective = \"p99 < 1s\"", "a number of transactions per second"),
        ("rate = [500, \"x\"]\nobjective = \"p99 < 1s\"", "a number of transactions per second"),
        ("objective = \"p99 < 50\"", "`50` has no unit"),
        ("rates = 5\nobjective = \"p99 < 1s\"", "did you mean `rate`?"),
    ] {
        let shown = asked(text).expect_err(text).to_string();
        assert!(shown.contains(told), "{text}: {shown}");
    }
    // where a rate is searched, its objective is the buyer's
    let searched = GOOD.replace("range_size = 10", "rate = \"find\"\nobjective = \"p99 < 20ms\"");
    let read_with = |buy: &str| read(&format!("{searched}\n[buy]\n{buy}"));
    assert_eq!(read_with("rate = 500").expect("right").buy.expect("asked").objective, "p99 < 20ms");
    let shown = read_with("objective = \"p99 < 5ms\"").expect_err("two objectives").to_string();
    assert!(shown.contains("but a rate is searched for `p99 < 20ms`"), "{shown}");
}

#[test]
fn a_list_where_one_value_belongs_points_to_vary() {
    let shown = mistakes(&GOOD.replace("range_size = 10", "connections = [4, 8]\nrate = [100, 200]"));
    assert_eq!(shown.matches("put lists of levels into [vary]").count(), 2, "{shown}");
    assert!(shown.ends_with("2 mistakes in test.toml; nothing was started."), "{shown}");
}

#[test]
fn a_wrong_exclusion_is_one_mistake_and_excludes_nothing() {
    let shown = mistakes(&format!("{GOOD}\n[[exclude]]\nconection = 4\n"));
    assert!(shown.contains("did you mean `connections`?"), "{shown}");
    assert!(shown.ends_with("1 mistake in test.toml; nothing was started."), "{shown}");
}

#[test]
fn a_setting_that_servers_refuse_is_pointed_at_where_the_study_says_it() {
    let text = r#"
[server.a]
product = "mariadb"
settings = { redo-capacity = "1G" }
[server.b]
product = "mysql"
[settings]
redo_capacity = "lots"
[[stream]]
workload = "oltp_read_only"
connections = 4
[vary]
"settings.query_cache" = ["off", "64M"]
"#;
    let refused = |servers: &[&str], name: &str, value: &str| Refused {
        servers: servers.iter().map(|server| (*server).to_owned()).collect(),
        name: name.to_owned(),
        value: value.to_owned(),
        title: format!("`{name} = {value}` cannot be"),
        label: "the reason".to_owned(),
    };
    let all = [
        refused(&["b query_cache=off", "b query_cache=64M"], "redo_capacity", "lots"),
        refused(&["a query_cache=off"], "redo_capacity", "1G"),
        refused(&["b query_cache=64M"], "query_cache", "64M"),
        refused(&["a query_cache=off"], "back_log", "many"),
        refused(&["a query_cache=off"], "elsewhere", "1"),
    ];
    let adjustments = Adjustments { set: vec!["settings.back_log=many".to_owned()], scale: None };
    insta::assert_snapshot!(settings_refused("test.toml", text, &adjustments, &all));
}

#[test]
fn mistakes_of_the_command_line_are_shown_in_its_own_text() {
    let shown = with(&["rows=many", "conections=3", "nonsense", "server.c.version=1"], Some("quik"))
        .expect_err("wrong")
        .to_string();
    insta::assert_snapshot!(shown);
}

#[test]
fn settings_and_versions_can_vary_and_make_servers_of_their_own() {
    let text = GOOD.replace(
        "\"stream.connections\" = [1, 4]",
        "\"settings.thread_pool_size\" = [2, 4]\n\"stream.connections\" = [1]",
    );
    let study = read(&text).expect("right");
    let names: Vec<&str> = study.treatments.iter().map(|treatment| treatment.server.name.as_str()).collect();
    assert_eq!(names[0], "a thread_pool_size=2");
    assert_eq!(names[1], "a thread_pool_size=4");
    assert_eq!(study.treatments[1].server.settings["thread_pool_size"], "4");
    assert_eq!(study.treatments[1].levels["thread_pool_size"], "4");
}

#[test]
fn a_password_is_refused_and_never_shown() {
    let text = "[server.a]\nurl = \"mysql://root:s3cret@127.0.0.1/test\"\n[[stream]]\nworkload = \
                \"oltp_read_only\"\nconnections = 1\n";
    let shown = mistakes(text);
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("there is a password in the study"), "{shown}");
    let right = read(&text.replace(":s3cret", "")).expect("right");
    assert_eq!(
        right.treatments[0].server.source,
        ServerSource::Url("mysql://root@127.0.0.1/test".to_owned())
    );
}

#[test]
fn schema_and_reference_are_current() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas");
    for (name, text) in [("study.json", schema()), ("study.toml", reference())] {
        let path = format!("{directory}/{name}");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "the keys of a study changed: run this test with PRONY_UPDATE=1");
    }
}

#[test]
fn the_reference_says_what_holds_without_it() {
    let shown = read(&reference()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let silent =
        "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 64\n";
    let silent = read(silent).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(Study { text: String::new(), ..shown }, Study { text: String::new(), ..silent });
}

const STREAMS: &str = r#"
[server.a]
product = "mariadb"
[[stream]]
name = "lookups"
workload = "oltp_point_select"
connections = 4
limit = "1_000_000 rows"
begin = "after 5s"
[[stream]]
name = "back-ground"
workload = "oltp_update_non_index"
idle = 100
reconnect = 25
lateness_max = "1s"
protocol = "text"
[[stream]]
name = "after"
workload = "oltp_read_only"
connections = 2
think = "exp:10ms"
reconnect = "statement"
begin = "after lookups"
limit = "5000 transactions"
[client]
sources = ["127.0.0.1", "127.0.0.2"]
open_rate = 500
connect_timeout = "3s"
reply_timeout = "1min"
workers = 2
tls = "required"
compress = true
[vary]
"back-ground.pace" = ["10ms", "100us"]
"back-ground.connections" = [0, 50]
"client.transport" = ["tcp", "socket"]
"#;

#[test]
fn a_load_comes_from_one_process_or_several_and_their_number_varies_as_any_key() {
    let study = |more: &str| {
        let text = "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_point_select\"\n\
                    connections = 8\n";
        read(&format!("{text}{more}"))
    };
    let processes = |more: &str| -> Vec<u32> {
        let study = study(more).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        study.treatments.iter().map(|treatment| treatment.client.processes).collect()
    };
    assert_eq!(processes(""), [1]);
    assert_eq!(processes("[load]\nprocesses = 4\n"), [4]);
    assert_eq!(processes("[vary]\n\"load.processes\" = [1, 2, 4]\n"), [1, 2, 4]);
    let words = |more: &str| {
        let client = study(more).expect("a study").treatments[0].client.clone();
        super::client_words().map(|say| say(&client, Language::English).text()).collect::<Vec<_>>().join("")
    };
    assert!(words("[load]\nprocesses = 4\n").contains("shared by 4 load processes"));
    assert!(!words("").contains("process"));
    // a built-in study has `processes` at its levels, and takes `--set load.agents`
    assert!(!words("[load]\nprocesses = 4\nagents = [\"a\"]\n").contains("process"));
    let hosts = "[vary]\n\"load.agents\" = [[\"a\"], [\"a\", \"b:7500\"]]\n";
    let varied = study(hosts).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let agents: Vec<_> =
        varied.treatments.iter().map(|treatment| treatment.client.agents.join(" ")).collect();
    assert_eq!(agents, ["a:7433", "a:7433 b:7500"]);
    let set = |value: &str| {
        let study =
            with(&[&format!("load.agents={value}")], None).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let all: std::collections::BTreeSet<String> =
            study.treatments.iter().map(|each| each.client.agents.join(" ")).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    assert_eq!(set("[\"a\", \"b\"]"), "a:7433 b:7433");
    assert_eq!(set("[[\"a\"], [\"a\", \"b\"]]"), "a:7433, a:7433 b:7433");
    assert!(words("[load]\nagents = [\"a\", \"b\"]\n").contains("from the load hosts a:7433, b:7433"));
    for (wrong, said) in [
        ("agents = [\"a\", \"a:7433\"]", "listed twice"),
        ("agents = [\"a\"]\n[client]\npin = \"0\"", "is about this machine"),
        ("agents = [\"a\"]\n[client]\nsources = [\"127.0.0.1\"]", "is about this machine"),
        ("agents = [\"a:port\"]", "expected a list of load hosts"),
    ] {
        let told = study(&format!("[load]\n{wrong}\n")).expect_err(wrong).to_string();
        assert!(told.contains(said), "{told}");
    }
    let wrong = study("[load]\nprocesses = 65\nagents = 2\n").expect_err("two mistakes").to_string();
    assert!(wrong.contains("processes") && wrong.contains("agents"), "{wrong}");
}

#[test]
fn a_server_of_pronys_own_listens_where_load_hosts_reach_it() {
    let study = |server: &str, more: &str| {
        let text = format!(
            "[server.a]\n{server}\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections = 8\n{more}"
        );
        read(&text)
    };
    let listens =
        |address: &str, more: &str| study(&format!("product = \"mariadb\"\nlisten = {address}"), more);
    let pods = "[load.kubernetes]\nimage = \"prony\"\n";
    let found = listens("\"192.0.2.10\"", pods).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(found.treatments[0].server.listen, Some([192, 0, 2, 10].into()));
    for (told, label) in [
        (listens("\"0.0.0.0\"", ""), "expected an address of this machine"),
        (listens("\"here\"", ""), "expected an address of this machine"),
        (listens("\"127.0.0.1\"", pods), "an address of this machine that pods reach"),
        (study("product = \"mariadb\"", pods), "an address of this machine that pods reach"),
        (study("url = \"mysql://u@db/t\"\nlisten = \"192.0.2.10\"", ""), "listens where it does"),
        (listens("\"192.0.2.10\"\nlatency = \"1ms\"", ""), "on this machine alone"),
        (listens("\"192.0.2.10\"", "[client]\nbandwidth = \"10MB/s\"\n"), "on this machine alone"),
        (listens("\"192.0.2.10\"", "[topology]\nreplicas = 1\nlatency = \"1ms\"\n"), "on this machine alone"),
    ] {
        let told = told.expect_err(label).to_string();
        assert!(told.contains(label), "{told}");
    }
}

#[test]
fn a_load_comes_from_pods_whose_number_varies_as_any_key() {
    let study = |more: &str| {
        let text = "[server.a]\nurl = \"mysql://u@db/t\"\n[[stream]]\nworkload = \"oltp_point_select\"\n\
                    connections = 8\n";
        read(&format!("{text}{more}"))
    };
    let pods = |more: &str| {
        let study = study(more).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        study.treatments.into_iter().map(|one| one.client.kubernetes.expect("pods")).collect::<Vec<_>>()
    };
    let all = r#"
[load.kubernetes]
replicas = 6
image = "i:1"
namespace = "n"
resources = { cpu = 2 }
node_selector = { pool = "load" }
tolerations = [{ key = "k" }]
affinity = { a = { b = [1] } }
"#;
    let [one] = &pods(all)[..] else { panic!("one treatment") };
    assert_eq!((one.replicas, &*one.image, one.namespace.as_deref()), (6, "i:1", Some("n")));
    assert_eq!(one.resources.requests, one.resources.limits);
    assert_eq!(one.resources.limits["cpu"], "2");
    assert_eq!(one.node_selector["pool"], "load");
    assert_eq!(one.tolerations, Some(serde_json::json!([{ "key": "k" }])));
    assert_eq!(one.affinity, Some(serde_json::json!({ "a": { "b": [1] } })));
    let apart =
        "[load.kubernetes]\nimage = \"i\"\nresources = { requests.cpu = \"1\", limits.cpu = \"2\" }\n";
    let resources = &pods(apart)[0].resources;
    assert_eq!([&resources.requests["cpu"], &resources.limits["cpu"]], ["1", "2"]);
    let varied = pods("[load.kubernetes]\nimage = \"i\"\n[vary]\n\"load.kubernetes.replicas\" = [1, 2, 4]\n");
    assert_eq!(varied.iter().map(|pods| pods.replicas).collect::<Vec<_>>(), [1, 2, 4]);
    assert!(varied[0].is_like(&varied[2]) && varied[0] != varied[2]);
    // they take the place of processes on this machine
    assert_eq!(pods("[load]\nprocesses = 2\nkubernetes = { image = \"i\" }\n")[0].replicas, 1);
    for (wrong, said) in [
        ("[load.kubernetes]\nreplicas = 2", "`kubernetes` has no `image`"),
        ("[load]\nagents = [\"a\"]\nkubernetes = { image = \"i\" }", "not from both"),
        (
            "[client]\nlatency = \"1ms\"\n[load.kubernetes]\nimage = \"i\"",
            "which pods have nothing to do with",
        ),
        ("[load.kubernetes]\nimage = \"i\"\nreplica = 2", "replicas"),
        ("[load.kubernetes]\nimage = \"i\"\nresources = 2", "expected { cpu"),
    ] {
        let told = study(&format!("{wrong}\n")).expect_err(wrong).to_string();
        assert!(told.contains(said), "{told}");
    }
    let own = "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_point_select\"\nconnections \
               = 8\n[load.kubernetes]\nimage = \"i\"\n";
    let told = read(own).expect_err("it is on this machine").to_string();
    assert!(told.contains("pods cannot reach server `a`"), "{told}");
    let flag = super::pods("replicas = 3, image = \"i\"").expect("pods");
    assert_eq!((flag.replicas, &*flag.image), (3, "i"));
    assert!(super::pods("replicas = 3").is_err() && super::pods("}").is_err());
}

#[test]
fn several_streams_say_each_its_load_and_vary_by_name() {
    use load::spec::{Arrival, Begin, ConnectionMode, Limit, Protocol, Think, TlsMode};
    let study = read(STREAMS).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["back-ground.pace", "back-ground.connections", "transport"]);
    assert_eq!(study.treatments.len(), 8);
    let without = &study.treatments[0];
    let names: Vec<&str> = without.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["lookups", "after"], "0 connections leave a stream out");
    let client = &without.client;
    assert_eq!((client.transport, client.tls), (Some(Transport::Tcp), Some(TlsMode::Required)));
    assert_eq!((client.compress, client.workers, client.open_rate), (Some(true), Some(2), Some(500.0)));
    assert_eq!((client.connect_timeout.as_secs(), client.reply_timeout), (3, Some(Duration::from_secs(60))));
    assert_eq!(client.sources.len(), 2);

    let [lookups, background, after] = &study.treatments[7].streams[..] else { panic!("three streams") };
    assert_eq!(study.treatments[7].client.transport, Some(Transport::Socket));
    assert_eq!((lookups.limit, &lookups.arrival), (Some(Limit::Rows(1_000_000)), &Arrival::Closed));
    assert_eq!(lookups.begin, Begin::After(Duration::from_secs(5)));
    assert_eq!((background.connections, background.idle, background.protocol), (50, 100, Protocol::Text));
    assert_eq!(background.connect, ConnectionMode::Transactions(25));
    let paced =
        Arrival::Paced { every: Duration::from_micros(100), lateness_max: Some(Duration::from_secs(1)) };
    assert_eq!(background.arrival, paced);
    assert_eq!(after.arrival, Arrival::Think(Think::Exponential(Duration::from_millis(10))));
    assert_eq!(
        (after.connect, &after.begin),
        (ConnectionMode::Statement, &Begin::WhenDone("lookups".to_owned()))
    );
}

#[test]
fn what_is_between_client_and_server_and_who_logs_in_can_be_varied() {
    let study = |more: &str| {
        let text = "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_point_select\"\n\
                    connections = 8\nlimit = \"10 rows\"\n";
        read(&format!("{text}{more}"))
    };
    let narrow = study(
        "time_limit = \"3s\"\n[client]\nbandwidth = \"100 Mbit/s\"\n[vary]\n\"client.authentication\" = \
         [\"ed25519\", \"mysql_native_password\"]\n",
    )
    .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let clients = narrow.treatments.iter().map(|treatment| &treatment.client);
    let told: Vec<_> = clients.clone().map(|client| (client.bandwidth, client.authentication)).collect();
    let (one, other) = (Authentication::Ed25519, Authentication::MysqlNativePassword);
    assert_eq!(told, [(Some(12_500_000), Some(one)), (Some(12_500_000), Some(other))]);
    assert_eq!(narrow.treatments[0].streams[0].time_limit, Some(Duration::from_secs(3)));
    let words: Vec<String> = super::client_words()
        .map(|say| say(&narrow.treatments[0].client, Language::English).text())
        .collect();
    assert!(words.iter().any(|said| said == "at most 100 Mbit/s each way"), "{words:?}");
    let told = |more: &str| study(more).expect_err(more).to_string();
    let socket = told("[client]\nbandwidth = \"1 Mbit/s\"\ntransport = \"socket\"\n");
    assert!(socket.contains("a Unix socket bypasses the network"), "{socket}");
    assert!(told("[client]\nauthentication = \"ed25518\"\n").contains("did you mean `ed25519`?"));
    let text = "[server.a]\nurl = \"mysql://u@h/d\"\n[[stream]]\nworkload = \"oltp_point_select\"\n\
                connections = 8\ntime_limit = \"1s\"\n[client]\nauthentication = \"ed25519\"\n";
    let elsewhere = mistakes(text);
    assert!(elsewhere.contains("only on servers that it starts"), "{elsewhere}");
    assert!(elsewhere.contains("`time_limit` without `limit`"), "{elsewhere}");
}

#[test]
fn arrivals_vary_as_a_whole_or_by_their_number() {
    use load::spec::{Arrival, Gaps, Rate};
    let text = GOOD.replace(
        "range_size = 10",
        "workload = \"oltp_read_only\"\nconnections = 8\nrate = 700\ngaps = \"constant\"",
    );
    let vary = |levels: &str| {
        let (before, _) = text.split_once("[vary]").unwrap();
        read(&format!("{before}[vary]\nserver = [\"a\"]\n{levels}\n"))
    };
    let arrivals = |levels: &str| -> Vec<Arrival> {
        let study = vary(levels).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        study.treatments.into_iter().map(|treatment| treatment.streams[0].arrival.clone()).collect()
    };
    let open = |rate| Arrival::Open { rate, gaps: Gaps::Constant, lateness_max: None };
    let rates = arrivals("\"stream.rate\" = [1000, \"100..200 over 5s\"]");
    let ramp = Rate::Ramp { from: 100.0, to: 200.0, over: Duration::from_secs(5) };
    assert_eq!(rates, [open(Rate::Constant(1000.0)), open(ramp)]);
    let whole = arrivals("\"stream.arrival\" = [\"closed\", \"pace 5ms\", \"rate 900\"]");
    let every = Duration::from_millis(5);
    let paced = Arrival::Paced { every, lateness_max: None };
    assert_eq!(whole, [Arrival::Closed, paced, open(Rate::Constant(900.0))]);
    assert!(
        vary("\"stream.pace\" = [\"5ms\"]").expect_err("both").to_string().contains("both `rate` and `pace`")
    );
}

#[test]
fn mistakes_in_the_load_are_pointed_at() {
    let wrong = STREAMS
        .replace("1_000_000 rows", "1_000_000 rowz")
        .replace("begin = \"after 5s\"", "begin = \"soon\"")
        .replace("idle = 100", "idle = -1\nrate = \"quickly\"\ngaps = \"poison\"")
        .replace("reconnect = \"statement\"", "reconnect = \"statment\"\npace = \"10\"")
        .replace("think = \"exp:10ms\"", "think = 10")
        .replace("\"127.0.0.2\"", "\"localhost\"")
        .replace("open_rate = 500", "open_rte = 500")
        .replace("workers = 2", "workers = 0")
        .replace("tls = \"required\"", "tls = \"yes\"")
        .replace("\"client.transport\"", "\"client.transprot\"")
        .replace("\"back-ground.connections\"", "\"backgruond.connections\"");
    insta::assert_snapshot!(mistakes(&wrong));
}

#[test]
fn what_excludes_or_waits_for_each_other_is_refused() {
    let wrong = STREAMS
        .replace("limit = \"1_000_000 rows\"\nbegin = \"after 5s\"", "rate = 5\nbegin = \"after afterr\"")
        .replace("think = \"exp:10ms\"", "think = \"exp:10ms\"\ngaps = \"constant\"\narrival = \"closed\"")
        .replace("[0, 50]", "[50]")
        .replace("reconnect = 25", "reconnect = 25\nthink = \"1s\"");
    insta::assert_snapshot!(mistakes(&wrong));
    let cycle = STREAMS.replace("begin = \"after 5s\"", "begin = \"after after\"");
    assert!(mistakes(&cycle).contains("these streams wait for each other"));
    let oneself = STREAMS.replace("after lookups", "after after");
    assert!(mistakes(&oneself).contains("begins after itself"));
    let nobody = STREAMS.replace("connections = 4", "connections = 0");
    assert!(mistakes(&nobody).contains("has no connections and is left out"));
    let which = STREAMS.replace("\"back-ground.connections\"", "\"stream.connections\"");
    assert!(mistakes(&which).contains("name the stream: `stream.lookups.connections`"));
    let named = STREAMS.replace("\"lookups\"", "\"rate\"");
    assert!(mistakes(&named).contains("that is the name of a key"));
    let running = STREAMS.replace("product = \"mariadb\"", "url = \"mysql://u@h/d\"");
    assert!(mistakes(&running).contains("reached as its `url` says"));
    let none = GOOD.replace("[1, 4]", "[0, 4]");
    assert!(mistakes(&none).contains("nothing would load the servers"));
}

#[test]
fn the_background_is_alone_before_a_stream_that_has_an_end() {
    let alone = |measure: &str| format!("{GOOD}[measure]\n{measure}\n");
    assert!(mistakes(&alone("alone = \"2s\"")).contains("no stream begins after the background was `alone`"));
    let limited = |measure: &str| alone(measure).replace("range_size = 10", "limit = \"10 rows\"");
    let study = read(&limited("warm_up = \"1s\"\nalone = \"2s\"")).expect("right");
    assert_eq!((study.warm_up, study.alone), (Duration::from_secs(1), Duration::from_secs(2)));
    let auto = mistakes(&limited("warm_up = \"auto\"\nalone = \"2s\""));
    assert!(auto.contains("a warm-up of a known length"), "{auto}");
    let claim = "[[claim]]\nsays = \"it\"\nmetric = \"cpu_idle_alone\"\nvalue = \"> 10%\"\n";
    assert!(mistakes(&format!("{GOOD}{claim}")).contains("the background is never alone"));
    assert!(read(&(limited("alone = \"2s\"") + claim)).is_ok());
}

const SHOP: &str = r###"
[server.a]
product = "mariadb"
[data]
tables = 4
[[stream]]
workload = "shop"
connections = 8
random = "zipfian"
[workload.shop.values]
price = { random = [1, 999] }
[[workload.shop.transaction]]
name = "look"
weight = 4
statements = ["SELECT c FROM sbtest{table} WHERE id = {id}"]
[[workload.shop.transaction]]
name = "buy"
statements = [
  "BEGIN",
  { sql = "SELECT k FROM sbtest{table} WHERE id = {id} FOR UPDATE", keep = ["stock"] },
  """
UPDATE sbtest{table} SET k = {stock + 1}, c = {price} WHERE id = {id}""",
  "COMMIT",
]
"###;

#[test]
fn a_workload_can_be_written_in_the_study() {
    let study = read(SHOP).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let stream = &study.treatments[0].streams[0];
    assert_eq!((stream.workload.name.as_str(), stream.workload.tables), ("shop", 4));
    assert_eq!(stream.workload.transactions().len(), 2);
    assert_eq!(study.treatments[0].data.columns("sbtest4").map(|columns| columns.len()), Some(4));
}

#[test]
fn each_transaction_of_a_written_workload_can_have_waits() {
    use load::spec::{Arrival, Think, Waits};
    let waits = |text: &str| {
        let study = read(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        study.treatments[0].streams[0].arrival.clone()
    };
    let keyed = SHOP.replace("weight = 4", "weight = 4\nkeying = \"2s\"\nthink = \"12s\"");
    let seconds = Duration::from_secs;
    let both = Waits { keying: seconds(2), think: seconds(12) };
    assert_eq!(waits(&keyed), Arrival::Waits(vec![both, Waits::default()]));
    assert_eq!(waits(SHOP), Arrival::Closed);
    let paced = keyed.replace("connections = 8", "connections = 8\nthink = \"1s\"");
    assert_eq!(waits(&paced), Arrival::Think(Think::Fixed(seconds(1))), "the stream's own arrival");
    let wrong = mistakes(&SHOP.replace("weight = 4", "weight = 4\nkeying = 2"));
    assert!(wrong.contains("`keying` is a whole number") && wrong.contains("such as \"2s\""), "{wrong}");
}

#[test]
fn a_statement_of_a_study_is_found_by_its_place() {
    let line = |place| line_of_statement(SHOP, "shop", place);
    let of = |text: &str| Some(SHOP[..SHOP.find(text).unwrap()].matches('\n').count() + 1);
    assert_eq!(line(0), of("SELECT c FROM"));
    assert_eq!(line(2), of("{ sql = \"SELECT k"));
    assert_eq!((line(3), line(4)), (of("\"\"\""), of("\"COMMIT\"")));
    assert_eq!((line(5), line_of_statement(SHOP, "other", 0)), (None, None));
}

#[test]
fn mistakes_in_a_written_workload_are_pointed_at_within_its_statements() {
    let wrong = SHOP
        .replace("workload = \"shop\"", "workload = \"shopp\"")
        .replace("{price}", "{prize}")
        .replace("WHERE id = {id}\"", "WHERE id = {idd}\"")
        .replace("weight", "wieght");
    insta::assert_snapshot!(mistakes(&wrong));
}

#[test]
fn what_the_reference_shows_as_a_comment_is_right_too() {
    let shown = reference();
    let (before, workload) = shown.split_once("# [workload.shop.values]").unwrap();
    let (workload, after) = workload.split_once("\n\n").unwrap();
    let workload = format!("[workload.shop.values]{}", workload.replace("\n# ", "\n").replace("\n#", "\n"));
    let text = format!("{before}{workload}\n\n{after}")
        .replace("workload = \"oltp_read_only\"", "workload = \"shop\"");
    let text = text.replace("\n# \"", "\n\"").replace("\n# server = ", "\nserver = ");
    let text = text.replace("workload\" = [\"oltp_read_only\"", "workload\" = [\"shop\"");
    let study = read(&text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(study.factors.len(), 8);
    assert_eq!(study.treatments.len(), 4 * 2 * 2 * 2 * 2 * 2 * 2);
}

const VARIED: &str = r#"
[server.threads]
product = "mariadb"
[server.pool]
product = "mariadb"
settings = { thread_handling = "pool-of-threads" }
[server.mysql]
product = "mysql"
[[stream]]
workload = "oltp_read_only"
[factor.size]
small = { data.rows = 1000, settings.innodb_buffer_pool_size = "64M" }
large = { data = { rows = 50_000, tables = 4 }, settings.innodb_buffer_pool_size = "1G" }
[vary]
"stream.connections" = [4, 64, 1024]
[[nested]]
under = { server = "pool" }
vary = { "settings.thread_pool_size" = [2, 8] }
[[nested]]
under = { server = "mysql", connections = ">= 64" }
vary."client.transport" = ["tcp", "socket"]
[[exclude]]
server = ["threads", "mysql"]
"stream.connections" = "highest"
[[exclude]]
size = "large"
connections = 4
[scale.full]
vary.stream.connections = [4, 64, 4096]
[[scale.full.exclude]]
connections = [1024, 4096]
"#;

#[test]
fn factors_can_be_made_of_several_keys_nested_and_leave_combinations_out() {
    let study = read(VARIED).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let factors: Vec<(&str, Vec<&str>)> = study
        .factors
        .iter()
        .map(|factor| (factor.name.as_str(), factor.levels.iter().map(String::as_str).collect()))
        .collect();
    insta::assert_debug_snapshot!(factors);
    let shown: Vec<String> = study
        .treatments
        .iter()
        .map(|treatment| {
            let rows = treatment.data.rows();
            let levels: Vec<&str> = treatment.levels.values().map(String::as_str).collect();
            format!("{} | {} | {rows} rows", treatment.server.name, levels.join(" "))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_scale_and_the_command_line_choose_levels_of_made_factors_too() {
    let read = |scale: Option<&str>, set: &[&str]| {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let adjustments = Adjustments { set, scale: scale.map(str::to_owned) };
        parse("test", "test.toml", VARIED, &adjustments).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    };
    let full = read(Some("full"), &[]);
    assert!(full.treatments.iter().all(|treatment| treatment.levels["connections"] != "4096"));
    let one = read(None, &["size=small", "server=pool", "connections=64"]);
    let sizes: Vec<&str> = one.treatments.iter().map(|treatment| treatment.levels["size"].as_str()).collect();
    assert_eq!(sizes, ["small", "small"], "one for each size of the pool");
    let two = read(None, &["server=threads", "size=[\"large\", \"small\"]"]);
    let first = two.treatments.iter().find(|treatment| treatment.levels["connections"] == "64");
    assert_eq!(first.map(|treatment| treatment.levels["size"].as_str()), Some("large"));
}

#[test]
fn mistakes_in_what_varies_are_pointed_at_with_the_nearest_names() {
    let wrong = VARIED
        .replace("small = { data.rows = 1000", "small = { data.rowz = 1000")
        .replace("under = { server = \"pool\" }", "under = { sever = \"pool\" }")
        .replace(
            "server = \"mysql\", connections = \">= 64\"",
            "server = \"mysq\", connections = \">= many\"",
        )
        .replace("\"highest\"", "\"hihgest\"")
        .replace("connections = 4\n", "connections = 5\n")
        .replace("[1024, 4096]", "[1024, 2048]");
    insta::assert_snapshot!(mistakes(&wrong));
    let twice = VARIED.replace("\"settings.thread_pool_size\"", "\"stream.connections\"");
    assert!(mistakes(&twice).contains("`connections` is already varied everywhere"));
    let both = VARIED.replace(
        "under = { server = \"mysql\", connections = \">= 64\" }\nvary.\"client.transport\"",
        "under = { connections = 64 }\nvary.\"settings.thread_pool_size\"",
    );
    assert!(mistakes(&both).contains("varied twice under the same levels"), "{}", mistakes(&both));
    let nothing = VARIED.replace("size = \"large\"\nconnections = 4", "connections = [4, 64, 1024]");
    assert!(mistakes(&nothing).contains("nothing would be measured"));
}

const CLAIMS: &str = r#"
[server.threads]
product = "mariadb"
[server.pool]
product = "mariadb"
settings = { thread_handling = "pool-of-threads" }
[[stream]]
workload = "oltp_read_only"
[vary]
"stream.connections" = [4, 64, 1024]
[[claim]]
says = "At the highest connection count, the pool doubles throughput."
of = { server = "pool", connections = "highest" }
over = { server = "threads" }
ratio = ">= 2"
[[claim]]
says = "It answers in time."
metric = "p99.9"
of = { server = "pool", connections = [4, 64] }
value = "< 0.5 s"
[[claim]]
says = "Nothing fails."
metric = "errors"
value = "<= 0.1%"
[[claim]]
says = "With few connections it makes no difference."
metric = "mean"
of = { server = "pool", "stream.connections" = "< 64" }
over = { server = "threads" }
within = "3%"
[[claim]]
says = "The pool is first."
of = { connections = 1024 }
order = ["pool", "threads"]
[[claim]]
says = "It scales."
of = { server = "pool" }
slope = "> 0.9"
[scale.quick]
vary."stream.connections" = [4, 16]
"#;

#[test]
fn claims_are_read_and_mean_the_levels_of_the_scale() {
    let study = read(CLAIMS).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    insta::assert_debug_snapshot!(study.claims);
    let adjustments = Adjustments { scale: Some("quick".to_owned()), ..Adjustments::default() };
    let quick =
        parse("test", "test.toml", CLAIMS, &adjustments).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(quick.claims[0].of["connections"], ["16"], "the highest of this scale");
    assert!(quick.claims[4].of["connections"] == ["1024"], "at another scale only: nothing to judge here");
}

#[test]
fn mistakes_in_claims_are_pointed_at_with_the_nearest_names() {
    let wrong = CLAIMS
        .replace("says = \"It answers in time.\"\n", "")
        .replace("\"p99.9\"", "\"p999\"")
        .replace("\"errors\"", "\"erors\"")
        .replace("over = { server = \"threads\" }\nratio", "over = { server = \"treads\" }\nratio")
        .replace("\">= 2\"", "\"twice\"")
        .replace("\"3%\"", "\"3\"")
        .replace("order = [\"pool\", \"threads\"]", "order = [\"pol\", \"threads\"]\nalong = \"server\"")
        .replace("slope = \"> 0.9\"", "slope = \"> 0.9\"\nalong = \"connection\"\nratio = \"> 1\"");
    insta::assert_snapshot!(mistakes(&wrong));
    for (from, to, told) in [
        ("over = { server = \"threads\" }\nratio", "ratio", "`ratio` without `over`"),
        ("< 0.5 s", "< 0.5 parsecs", "`0.5 parsecs` is not a length of time: write 10s"),
        ("< 0.5 s", "< 500", "`500` has no unit: write 10s"),
        ("ratio = \">= 2\"", "", "a claim has nothing to check"),
        ("slope = \"> 0.9\"", "slope = \"> 0.9\"\nalong = \"server\"", "`server` are not numbers"),
        ("[\"pool\", \"threads\"]", "[\"pool\"]", "at least two levels"),
        ("slope = \"> 0.9\"", "variation = \"< 1\"\nthan = \"row\"", "no factor `row`"),
        ("slope = \"> 0.9\"", "variation = \"< 1\"\nby = \"server\"", "`by` has no effect with `variation`"),
        ("slope = \"> 0.9\"", "linear = \"10%\"\nalong = \"server\"", "`server` are not numbers"),
        ("slope = \"> 0.9\"", "linear = \"10%\"\nnumbers = { 4 = \"x\" }", "a number for each level"),
        ("slope = \"> 0.9\"", "slope = \"> 1\"\nnumbers = { 5 = 1 }", "level of `connections`"),
    ] {
        let shown = mistakes(&CLAIMS.replace(from, to));
        assert!(shown.contains(told), "{shown}");
    }
}

#[test]
fn levels_with_units_are_numbers_to_grow_along_and_others_are_given_theirs() {
    let text = |claim: &str| {
        format!(
            "[server.a]\nproduct = \"mariadb\"\n[[stream]]\nworkload = \"oltp_read_only\"\nconnections = \
             1\n[vary]\n\"stream.think\" = [\"1ms\", \"10ms\", \"exp:5ms\"]\n[[claim]]\nsays = \
             \"It grows.\"\nslope = \"> 0\"\nalong = \"think\"\n{claim}"
        )
    };
    let shown = mistakes(&text(""));
    assert!(shown.contains("`numbers = { LEVEL = NUMBER }`"), "{shown}");
    let study = read(&text("numbers = { \"exp:5ms\" = 0.005 }")).unwrap_or_else(|told| panic!("{told}"));
    let Statement::Slope { numbers, .. } = &study.claims[0].statement else { panic!("{:?}", study.claims) };
    assert_eq!(number_of("1ms", numbers), Some(0.001));
    assert_eq!((number_of("exp:5ms", numbers), number_of("64", numbers)), (Some(0.005), Some(64.0)));
}

const SEARCHES: &str = r#"
[server.a]
product = "mariadb"
[[stream]]
name = "one"
workload = "oltp_point_select"
connections = 4
rate = "find"
objective = "p99 < 20ms, errors < 0.1%"
[[stream]]
name = "two"
workload = "oltp_point_select"
connections = 4
rate = 100
[[claim]]
says = "It bears a thousand."
metric = "rate"
value = ">= 1000 /s"
[[claim]]
says = "A lookup costs little."
metric = "cpu"
value = "< 100 us"
[[claim]]
says = "It writes nothing."
metric = "written"
value = "< 100 B"
"#;

#[test]
fn a_rate_is_searched_where_a_stream_says_so() {
    let study = read(SEARCHES).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let goal = study.treatments[0].goal.as_ref().expect("it searches");
    assert_eq!((&*goal.stream, &*goal.objective), ("one", "p99 < 20ms, errors < 0.1%"));
    let bounds: Vec<_> = study.claims.iter().map(|claim| claim.statement.clone()).collect();
    let value = |statement: &Statement| match statement {
        Statement::Value(bound) => bound.value,
        other => panic!("{other:?}"),
    };
    let values: Vec<f64> = bounds.iter().map(value).collect();
    assert!(
        values.iter().zip([1000.0, 0.1, 0.1]).all(|(one, other)| (one - other).abs() < 1e-9),
        "{values:?}"
    );
    let beside = format!("{SEARCHES}[vary]\n\"one.rate\" = [50, \"find\"]\n");
    let varied = read(&beside).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let goals: Vec<bool> = varied.treatments.iter().map(|treatment| treatment.goal.is_some()).collect();
    assert_eq!(goals, [false, true]);
}

#[test]
fn what_cannot_be_searched_or_claimed_is_pointed_at() {
    let wrong = SEARCHES
        .replace("rate = 100", "rate = \"find\"\nobjective = \"p99 < 5\"\nlimit = \"100 transactions\"")
        .replace("metric = \"rate\"", "metric = \"lag\"")
        .replace("\"cpu\"", "\"cpus\"")
        .replace("< 100 B", "< 100 ms");
    insta::assert_snapshot!(mistakes(&wrong));
    let unused = SEARCHES.replace("rate = \"find\"", "rate = 100");
    insta::assert_snapshot!(mistakes(&unused));
    let without = SEARCHES.replace("objective = \"p99 < 20ms, errors < 0.1%\"\n", "begin = \"after 5s\"\n");
    insta::assert_snapshot!(mistakes(&without));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever an editor or a cat on the keyboard makes of a study, there is a study or there are mistakes
    /// to show.
    #[test]
    fn no_text_is_too_broken_to_be_told_about(
        cuts in prop::collection::vec(
            (0..3000_usize, 0..12_usize, "[\\]\\[{}=\"'.,# a-zä0-9\n\\\\-]{0,6}"),
            1..4,
        ),
    ) {
        let shop = SHOP.split_once("[workload.shop.values]").map_or("", |(_, rest)| rest);
        let mut text =
            GOOD.replace("[scale.quick]", &format!("[workload.shop.values]{shop}\n[scale.quick]"));
        for (at, length, put) in cuts {
            let boundary = |at: usize| {
                (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
            };
            let (start, end) = (boundary(at % text.len().max(1)), boundary(at % text.len().max(1) + length));
            text.replace_range(start..end.max(start), &put);
        }
        if let Err(mistakes) = read(&text) {
            prop_assert!(mistakes.count() > 0);
            prop_assert!(mistakes.to_string().contains("test.toml"));
        }
    }
}

#[test]
fn a_setting_that_is_varied_or_said_in_the_wrong_place_is_told_with_what_to_write() {
    let vary = |line: &str| mistakes(&GOOD.replace("[vary]", &format!("[vary]\n{line}")));
    let text = vary("innodb_flush_log_at_trx_commit = [1, 2]");
    assert!(text.contains("\"settings.innodb_flush_log_at_trx_commit\""), "{text}");
    assert!(!text.contains("known: "), "{text}");
    let text = vary("\"server.a.innodb_io_capacity\" = [1, 2]");
    assert!(text.contains("\"server.a.settings.innodb_io_capacity\""), "{text}");
    assert!(vary("conections = [1, 2]").contains("did you mean `stream.connections`?"));
    let right = GOOD.replace("[vary]", "[vary]\n\"settings.innodb_flush_log_at_trx_commit\" = [1, 2]");
    assert_eq!(read(&right).expect("what was proposed").treatments.len(), 16);
}

#[test]
fn mistakes_know_the_servers_that_could_be_read_all_the_same() {
    let wrong = GOOD.replace("oltp_read_only", "oltp_read_olny").replace("rows = 500", "rowss = 500");
    let mistakes = read(&wrong).expect_err("two mistakes");
    let names: Vec<&str> = mistakes.servers().iter().map(|server| server.name.as_str()).collect();
    assert_eq!((mistakes.count(), names), (2, vec!["a", "b"]));
    let refused = Refused {
        servers: vec!["b".to_owned()],
        name: "back_log".to_owned(),
        value: "500".to_owned(),
        title: "there is no setting `back_log`".to_owned(),
        label: "did you mean `backlog`?".to_owned(),
    };
    let all = mistakes.with_refused(&[refused]);
    assert_eq!(all.count(), 3);
    let text = all.to_string();
    for words in ["oltp_read_olny", "rowss", "did you mean `backlog`?", "3 mistakes in test.toml"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn no_tables_are_made_for_statements_that_use_none_of_them() {
    let own = |sql: &str| {
        let text = GOOD.replace("\"oltp_read_only\", \"oltp_update_non_index\"", "\"orders\"").replace(
            "[server.a]\nproduct = \"mariadb\"",
            "[server.a]\nurl = \"mysql://u@127.0.0.1:3306/shop\"",
        ) + &format!("[workload.orders]\nstatements = [\"{sql}\"]\n");
        read(&text).expect("a study").treatments[0].clone()
    };
    let orders = own("UPDATE orders SET n = n + 1 WHERE id = {id}");
    assert!(orders.data.is_empty());
    assert_eq!(foreign_written(&orders.streams, &orders.data).into_iter().collect::<Vec<_>>(), ["orders"]);
    assert!(!own("SELECT k FROM sbtest{table} WHERE id = {id}").data.is_empty());
}

/// Two tables of the study's own, and what stands in its place.
fn shop(tables: &str, statements: &str) -> String {
    format!(
        "[server.a]\nproduct = \"mariadb\"\n{tables}\n[workload.shop]\nstatements = [{statements}]\n\
         [[stream]]\nworkload = \"shop\"\nconnections = 4\n"
    )
}

const SHOP_TABLES: &str = r#"
[[table]]
name = "customer"
rows = 100
[table.columns]
id = { sequence = 1 }
name = { text = [5, 20] }
[[table]]
name = "orders"
size = "1M"
indexes = ["customer_id"]
[table.columns]
id = { sequence = 1 }
customer_id = { references = "customer.id" }
day = { date = ["2020-01-01", "2020-12-31"], null = "5%" }
"#;

#[test]
fn a_study_can_have_tables_of_its_own() {
    let text = shop(
        SHOP_TABLES,
        r#""SELECT day FROM orders o JOIN customer c ON c.id = o.customer_id WHERE c.id = {customer.id}""#,
    );
    let treatment = read(&text).unwrap_or_else(|mistakes| panic!("{mistakes}")).treatments.remove(0);
    assert_eq!(treatment.data.table_names(), ["customer", "orders"]);
    let rows = treatment.data.tables()[1].rows;
    assert!((10_000..20_000).contains(&rows), "1 MB of narrow rows: {rows}");
    let wide = SHOP_TABLES
        .replace("size = \"1M\"", "size = \"1G\"\nrows = 1_000_000")
        .replace("customer_id = {", "filler = { text = \"fill\" }\ncustomer_id = {");
    let data = read(&shop(&wide, "\"SELECT 1 FROM orders\"")).expect("a study").treatments.remove(0).data;
    let row = data.tables()[1].row_bytes;
    assert!(row.abs_diff(1_074) < 10, "1 GB of a million rows: {row} bytes each");
    let other_rows =
        "[scale.quick]\ntable.customer.rows = 10\n[vary]\n\"table.orders.size\" = [\"1M\", \"2M\"]\n";
    let scale = Adjustments { scale: Some("quick".to_owned()), set: Vec::new() };
    let study = parse("test", "test.toml", &(text + other_rows), &scale);
    let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let rows =
        |at: usize| study.treatments[at].data.tables().iter().map(|table| table.rows).collect::<Vec<_>>();
    assert_eq!((rows(0)[0], study.treatments.len()), (10, 2));
    assert!(rows(1)[1].abs_diff(2 * rows(0)[1]) <= 1, "{:?} {:?}", rows(0), rows(1));
}

#[test]
fn tables_and_columns_that_are_not_there_are_mistakes_at_the_line() {
    let statements = r#"
        "SELECT day FROM order WHERE id = {orders.id}",
        "SELECT dya FROM orders WHERE customer_id = {costumer.id} AND name = {customer.nmae}",
        "INSERT INTO orders (customer_id, dai) VALUES ({customer.name}, {orders.day})",
        "SELECT c FROM sbtest1 WHERE id = {id}",
    "#;
    let mistakes = read(&shop(SHOP_TABLES, statements)).expect_err("all of it");
    insta::assert_snapshot!(mistakes.to_string());
}

#[test]
fn mistakes_in_tables_of_a_study_are_pointed_at() {
    let tables = r#"
[[table]]
name = "customer"
rows = 100
[table.columns]
id = { sequence = 0 }
name = { text = [20, 5] }
more = { text = "fill" }
[[table]]
name = "sbtest1"
indexes = ["nmae", 5]
[table.columns]
customer = { references = "customer.nmae" }
what = { random = [1, 300], type = "TINYINT" }
state = { choice = [], null = "200%" }
two = { random = [1, 2], text = 5 }
odd = { real = [1, 2], distribution = "pareto" }
[[table]]
name = "customer"
rows = 5
columns = { id = { sequence = 1 }, other = { sequence = 5 } }
[data]
rows = 100
"#;
    let text = shop(tables, "\"SELECT 1 FROM customer\"")
        .replace("workload = \"shop\"", "workload = \"oltp_read_only\"");
    insta::assert_snapshot!(read(&text).expect_err("all of it").to_string());
}

/// As the reference of all keys begins by saying.
#[test]
fn a_study_needs_a_server_with_its_origin_and_a_stream_with_workload_and_connections() {
    let parts = [
        "[server.a]",
        "product = \"mariadb\"",
        "[[stream]]",
        "workload = \"oltp_read_only\"",
        "connections = 1",
    ];
    assert_eq!(read(&parts.join("\n")).expect("all that is needed").treatments.len(), 1);
    for missing in 0..parts.len() {
        let kept: Vec<&str> =
            (0..parts.len()).filter(|&each| each != missing).map(|each| parts[each]).collect();
        assert!(read(&kept.join("\n")).is_err(), "without {}", parts[missing]);
    }
    let reference = reference();
    for words in ["`product`, `path`, `image` or `url`", "`workload` and `connections`"] {
        assert!(reference.lines().take(4).any(|line| line.contains(words)), "{words}");
    }
}
