//! What the order of trials promises.

use super::*;
use crate::{
    language::Language,
    study::{self, Adjustments},
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn plan(servers: usize, connections: usize, repeats: u32, seed: u64) -> Plan {
    let mut text = String::new();
    for server in 0..servers {
        text.push_str(&format!(
            "[server.s{server}]\nproduct = \"mariadb\"\nsettings = {{ back_log = {server} }}\n"
        ));
    }
    let ladder: Vec<String> = (1..=connections).map(|rung| rung.to_string()).collect();
    text.push_str(&format!(
        "[[stream]]\nworkload = \"oltp_point_select\"\n[vary]\n\"stream.connections\" = \
         [{}]\n[measure]\nrepeats = {repeats}\n",
        ladder.join(", ")
    ));
    let text = format!("seed = {seed}\n{text}");
    let study = study::parse("test", "test.toml", &text, &Adjustments::default());
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

fn order(plan: &Plan) -> Vec<usize> {
    plan.trials.iter().map(|trial| trial.treatment).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_block_has_every_treatment_once(
        servers in 1..4_usize,
        rungs in 1..9_usize,
        repeats in 1..6_u32,
        seed in 0..1000_u64,
    ) {
        let plan = plan(servers, rungs, repeats, seed);
        prop_assert_eq!(plan.servers.len(), servers);
        prop_assert_eq!(plan.data_sets.len(), 1);
        prop_assert_eq!(plan.trials.len(), servers * rungs * repeats as usize);
        for (number, trial) in plan.trials.iter().enumerate() {
            prop_assert_eq!(trial.number as usize, number);
        }
        for (block, trials) in plan.trials.chunks(servers * rungs).enumerate() {
            prop_assert!(trials.iter().all(|trial| trial.block as usize == block));
            let treatments: BTreeSet<usize> = trials.iter().map(|trial| trial.treatment).collect();
            prop_assert_eq!(treatments.len(), servers * rungs);
        }
    }

    #[test]
    fn servers_run_side_by_side_and_take_turns_in_going_first(
        servers in 1..4_usize,
        rungs in 1..9_usize,
        repeats in 1..7_u32,
        seed in 0..1000_u64,
    ) {
        let plan = plan(servers, rungs, repeats, seed);
        let mut first: BTreeMap<(usize, String), u32> = BTreeMap::new();
        for cell in plan.trials.chunks(servers) {
            let rung = |trial: &Trial| plan.treatments[trial.treatment].levels["connections"].clone();
            let alike = |trial: &Trial| rung(trial) == rung(&cell[0]) && trial.seed == cell[0].seed;
            prop_assert!(cell.iter().all(alike));
            *first.entry((plan.treatments[cell[0].treatment].server, rung(&cell[0]))).or_default() += 1;
        }
        for rung in plan.trials.iter().map(|trial| &plan.treatments[trial.treatment].levels["connections"]) {
            let turns: Vec<u32> =
                (0..servers).map(|server| first.get(&(server, rung.clone())).copied().unwrap_or(0)).collect();
            let (most, least) = (turns.iter().max(), turns.iter().min());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{:?}", turns);
        }
    }

    #[test]
    fn the_seed_gives_the_order(seed in 0..1000_u64) {
        prop_assert_eq!(plan(2, 8, 3, seed), plan(2, 8, 3, seed));
        prop_assert_ne!(order(&plan(2, 8, 3, seed)), order(&plan(2, 8, 3, seed + 1)));
    }
}

#[test]
fn two_servers_go_a_b_b_a() {
    let plan = plan(2, 6, 2, 1);
    for block in plan.trials.chunks(12) {
        let servers: Vec<usize> = block.iter().map(|trial| plan.treatments[trial.treatment].server).collect();
        for four in servers.chunks(4) {
            assert_eq!((four[0], four[1]), (four[3], four[2]), "{servers:?}");
        }
    }
}

#[test]
fn the_quickstart_is_promised_within_two_minutes() {
    let study = study::open("quickstart", &Adjustments::default()).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::from_study(&study);
    assert!(estimate(&plan).time <= Duration::from_secs(120), "{:?}", estimate(&plan));
    insta::assert_snapshot!(render(&plan, Language::English));
}

#[test]
fn repetition_can_be_read_aloud() {
    let text = r#"
[server.a]
product = "mariadb"
[server.b]
product = "mariadb"
settings = { thread_handling = "pool-of-threads" }
[[stream]]
workload = "oltp_read_only"
[vary]
"stream.connections" = [1, 8, 64, 512, 1024]
[[nested]]
under = { server = "b" }
vary = { "settings.thread_pool_size" = [2, 8] }
[[exclude]]
server = "a"
connections = "highest"
[measure]
repeats = 4
restarts = 2
precision = "2%"
repeats_max = 12
budget = "1h"
"#;
    let study = study::parse("again", "again.toml", text, &Adjustments::default());
    let plan = Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")));
    assert_eq!(plan.trials_at_most()[..plan.trials.len()], plan.trials, "what is added comes after");
    insta::assert_snapshot!(render(&plan, Language::English));
}

#[test]
fn the_load_can_be_read_aloud() {
    let mut told = String::new();
    for name in ["background-pressure", "many-tables", "connection-modes"] {
        let study = study::open(name, &Adjustments::default()).unwrap_or_else(|error| panic!("{error}"));
        let plan = Plan::from_study(&study);
        assert!(estimate(&plan).time <= Duration::from_secs(300), "{name}: {:?}", estimate(&plan));
        told.push_str(&format!("{name}\n"));
        load::lines(&plan, Language::English).iter().for_each(|line| told.push_str(&format!("  {line}\n")));
    }
    let ladder = r#"
[server.a]
product = "mariadb"
[[stream]]
workload = "oltp_read_only"
connections = 1
[vary]
"stream.rate" = [500, 1000, "100..2000 over 5s"]
"stream.reconnect" = ["transaction", "statement"]
"stream.connections" = [4, 1024]
"#;
    let all = r#"
[server.a]
product = "mariadb"
[[stream]]
workload = "oltp_read_only"
connections = 2000
idle = 8000
lateness_max = "500ms"
begin = "after 5s"
[vary]
"stream.arrival" = ["closed", "think exp:10ms", "rate 100..5000 over 60s", "pace 1500us"]
[client]
sources = ["127.0.0.1", "127.0.0.2"]
open_rate = 500
connect_timeout = "3s"
reply_timeout = "1min"
workers = 2
tls = "required"
compress = true
"#;
    for (name, text) in [("ladder", ladder), ("all", all)] {
        let study = study::parse(name, &format!("{name}.toml"), text, &Adjustments::default());
        let plan = Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")));
        load::lines(&plan, Language::English).iter().for_each(|line| told.push_str(&format!("{line}\n")));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn claims_are_told_with_what_they_ask_and_those_of_another_scale_as_such() {
    let text = r#"
[server.a]
product = "mariadb"
topology = { replicas = 1 }
[server.b]
product = "mariadb"
[[stream]]
name = "writes"
workload = "oltp_update_non_index"
[[stream]]
name = "reads"
workload = "oltp_point_select"
connections = 4
to = "replicas"
[vary]
server = ["a", "b"]
"writes.connections" = [8, 64]
[[claim]]
says = "B is faster."
of = { server = "b", "writes.connections" = "highest" }
over = { server = "a" }
ratio = "> 1.5"
[[claim]]
says = "It answers in time."
metric = "p99"
of = { server = "b", stream = "reads" }
value = "< 20 ms"
[[claim]]
says = "The order of the two."
order = ["b", "a"]
[[claim]]
says = "It grows."
slope = ">= 0.8"
along = "writes.connections"
[[claim]]
says = "No difference."
of = { server = "b" }
over = { server = "a" }
within = "3%"
[[claim]]
says = "On the large machine."
of = { "writes.connections" = 1024 }
value = "> 1000"
[scale.large]
vary."writes.connections" = [1024]
"#;
    let study = study::parse("claims", "claims.toml", text, &Adjustments::default());
    let plan = Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")));
    let told: Vec<String> =
        plan.claims.iter().map(|claim| claims::asked(&plan, claim, Language::English)).collect();
    insta::assert_snapshot!(told.join("\n"));
    let measured: Vec<bool> = plan.claims.iter().map(|claim| is_measured(&plan, claim)).collect();
    assert_eq!(measured, [true, true, true, true, true, false]);
    assert!(
        load::lines(&plan, Language::English)[1].contains("on 4 connections to the replicas"),
        "{:?}",
        load::lines(&plan, Language::English)
    );
}

/// Words of a plan in Chinese that are English: none but names, which stay.
fn english(text: &str) -> Vec<String> {
    const WORDS: &str = "the of on each with and is are by to for at in or no after before from every its \
                         about most least trial trials block load data servers connection connections \
                         transaction transactions where between limited seconds days";
    let own = |line: &&str| !line.contains(" = ");
    let words =
        text.lines().filter(own).flat_map(|line| line.split([' ', '，', '；', '：', '（', '）', '。']));
    words.filter(|word| WORDS.split_whitespace().any(|known| known == *word)).map(str::to_owned).collect()
}

#[test]
fn plans_of_all_built_in_studies_speak_chinese() {
    for study in study::builtin() {
        for scale in [None, Some("quick"), Some("published")] {
            let scale = scale.map(str::to_owned);
            let adjustments = Adjustments { scale: scale.clone(), ..Adjustments::default() };
            let read = study::parse(study.name, study.name, study.text, &adjustments);
            let plan = Plan::from_study(&read.unwrap_or_else(|mistakes| panic!("{mistakes}")));
            let text = render(&plan, Language::Chinese);
            // levels have the study's own names, which may be English
            let text = text.split("试验（按执行顺序）").next().unwrap_or_default();
            let mut found = english(text);
            found.retain(|word| {
                !plan.factors.iter().any(|factor| {
                    factor.name.contains(word.as_str())
                        || factor.levels.iter().any(|level| level.split([' ', ',']).any(|part| part == word))
                })
            });
            assert!(found.is_empty(), "{} {scale:?}: {found:?}\n{text}", study.name);
        }
    }
}

#[test]
fn a_plan_with_everything_speaks_chinese() {
    let text = r#"
title = "All of it"
title_zh = "全部"
[server.a]
product = "mariadb"
topology = { replicas = 2, replication = "after-sync", latency = "1ms" }
limits = { memory = "4G", cpus = 1.5, pin = "0-3", io_read = "100MB/s", io_write_ops = 3000 }
price = "0.42 EUR/h"
[server.b]
path = "/opt/mariadb"
settings = { back_log = 500 }
[server.c]
image = "docker.io/library/mariadb:11.8"
latency = "0.8ms"
[client]
tls = "required"
compress = true
sources = ["127.0.0.1", "127.0.0.2"]
open_rate = 500
connect_timeout = "5s"
reply_timeout = "30s"
workers = 2
bandwidth = "100 Mbit/s"
pin = "0"
[load]
processes = 2
[data]
rows = 1000
[[stream]]
name = "main"
workload = "oltp_read_write"
connections = 4
idle = 10
reconnect = 5
rate = 100
[[stream]]
name = "bulk"
workload = "oltp_point_select"
connections = 1
begin = "after 1s"
limit = "1000 transactions"
to = "replicas"
[vary]
server = ["a", "b", "c"]
[measure]
warm_up = "auto"
interval = "10s"
repeats = 3
fresh = "always"
precision = "5%"
budget = "2h"
[audit]
"#;
    let study = study::parse("test", "test.toml", text, &Adjustments::default());
    let plan = Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")));
    let text = render(&plan, Language::Chinese);
    assert!(english(&text).is_empty(), "{:?}\n{text}", english(&text));
    insta::assert_snapshot!(text);
}
