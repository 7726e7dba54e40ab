//! What a user who writes a study relies on.

use super::*;
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
        let plain = Adjustments::default();
        let study = parse(builtin.name, builtin.name, builtin.text, &plain);
        let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert!(!study.treatments.is_empty(), "{}", builtin.name);
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
    assert_eq!((pool.data.tables, pool.data.rows), (1, 500));
}

#[test]
fn a_scale_and_the_command_line_lie_over_the_file() {
    let study =
        with(&["measure.repeats=5", "stream.connections=[8, 16]", "server=b"], Some("quick")).expect("right");
    assert_eq!((study.interval, study.repeats), (Duration::from_secs(1), 5));
    assert_eq!(study.treatments[0].data.rows, 20);
    let levels =
        |name: &str| study.factors.iter().find(|factor| factor.name == name).map(|factor| &factor.levels[..]);
    assert_eq!(levels("server").unwrap(), ["b"]);
    assert_eq!(levels("connections").unwrap(), ["8", "16"]);
    let study =
        with(&["rows=7", "interval=200ms", "connections=3", "server.b.version=10.6"], None).expect("right");
    assert_eq!(study.treatments[0].data.rows, 7);
    assert_eq!(study.interval, Duration::from_millis(200));
    assert!(study.treatments.iter().all(|treatment| treatment.streams[0].connections == 3));
    let ServerSource::Product { version, .. } = &study.treatments[2].server.source else {
        panic!("a product")
    };
    assert_eq!(version.as_deref(), Some("10.6"));
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
    let text = "[server.a]\nurl = \"mysql://root:s3cret@127.0.0.1/test\"\n[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 1\n";
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
    assert_eq!(stream.workload.transactions.len(), 2);
    assert_eq!(study.treatments[0].data.generator, "sysbench");
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
    assert_eq!(study.factors.len(), 6);
    assert_eq!(study.treatments.len(), 4 * 2 * 2 * 2 * 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever an editor or a cat on the keyboard makes of a study, there is a study or there are mistakes to show.
    #[test]
    fn no_text_is_too_broken_to_be_told_about(cuts in prop::collection::vec((0..3000_usize, 0..12_usize, "[\\]\\[{}=\"'.,# a-zä0-9\n\\\\-]{0,6}"), 1..4)) {
        let mut text = GOOD.replace("[scale.quick]", &format!("[workload.shop.values]{}\n[scale.quick]", SHOP.split_once("[workload.shop.values]").map_or("", |(_, rest)| rest)));
        for (at, length, put) in cuts {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let (start, end) = (boundary(at % text.len().max(1)), boundary(at % text.len().max(1) + length));
            text.replace_range(start..end.max(start), &put);
        }
        if let Err(mistakes) = read(&text) {
            prop_assert!(mistakes.count() > 0);
            prop_assert!(mistakes.to_string().contains("test.toml"));
        }
    }
}
