//! Each rule of advice applies to what it is about, and to nothing else.

use super::*;
use crate::{
    audit::Crash,
    plan::{CrashKind, ServerPlan},
    run::Note,
    store::ServerRecord,
};

/// A study with these servers on a ladder of connections.
fn study(servers: &str) -> Plan {
    let text = format!(
        "{servers}\n\
         [[stream]]\n\
         workload = \"oltp_read_only\"\n\
         [vary]\n\
         \"stream.connections\" = [8, 64, 512]\n\
         [measure]\n\
         repeats = 4\n"
    );
    let study = study::parse("advice", "advice.toml", &text, &Adjustments::default());
    Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

/// The run of a plan whose servers report these versions and variables; `truth` by server and connections,
/// with 1 % of noise.
fn run_of(
    plan: Plan,
    said: impl Fn(&ServerPlan) -> (&'static str, Vec<(&'static str, &'static str)>),
    truth: impl Fn(&str, u32) -> f64,
) -> RunRecord {
    let (names, mut noise) = (plan.servers.clone(), noise(8));
    let mut record = record(plan, |treatment, _| {
        let own = treatment.levels.get("server").or(treatment.levels.get("way"));
        let side = own.map_or(&*names[treatment.server].name, String::as_str);
        truth(side, treatment.streams[0].connections) * (0.01 * noise.normal()).exp()
    });
    for (number, server) in names.iter().enumerate() {
        let (version, variables) = said(server);
        let mut one = ServerRecord::default();
        one.description.product = "mariadb".to_owned();
        one.description.version = version.to_owned();
        let usual =
            [("innodb_flush_log_at_trx_commit", "1"), ("thread_handling", "one-thread-per-connection")];
        let all = usual.into_iter().chain(variables);
        one.description.variables = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        record.servers.insert(number, one);
    }
    record
}

fn advice_of(record: &RunRecord) -> Vec<Advice> {
    analyse(record).advice
}

const POOLS: &str = "[server.threads]\nproduct = \"mariadb\"\n[server.pool]\nproduct = \"mariadb\"\nsettings \
                     = { thread_handling = \"pool-of-threads\" }\n";

fn pooled(server: &ServerPlan) -> (&'static str, Vec<(&'static str, &'static str)>) {
    let pool = [("thread_handling", "pool-of-threads")];
    ("10.11.6-MariaDB", if server.name == "pool" { pool.to_vec() } else { Vec::new() })
}

#[test]
fn the_pool_is_switched_on_where_it_is_better_and_left_off_where_it_is_worse() {
    let record = run_of(study(POOLS), pooled, |server, connections| match (server, connections) {
        ("pool", 8) => 8000.0,
        ("pool", 512) => 16_000.0,
        (_, 8 | 512) => 10_000.0,
        _ => 15_000.0,
    });
    let advice = advice_of(&record);
    let [off, on] = &advice[..] else { panic!("{advice:#?}") };
    assert_eq!((&off.rule, off.verdict, off.stretch), (&Rule::Pool, Verdict::Worse, (8.0, 8.0)));
    assert_eq!((&on.rule, on.verdict, on.stretch), (&Rule::Pool, Verdict::Better, (512.0, 512.0)));
    assert_eq!((&*on.one, &*on.other), ("pool", "threads"));
    let (low, high) = on.ratio.interval().expect("four repeats");
    assert!(low < 1.6 && 1.6 < high, "{:?}", on.ratio);
}

#[test]
fn a_pool_that_makes_no_difference_is_said_to_and_one_of_two_differences_is_no_pool() {
    let same = |_: &str, connections: u32| f64::from(connections) * 100.0;
    let advice = advice_of(&run_of(study(POOLS), pooled, same));
    let [same_pool] = &advice[..] else { panic!("{advice:#?}") };
    assert_eq!((&same_pool.rule, same_pool.verdict), (&Rule::Pool, Verdict::Same));
    assert_eq!((same_pool.stretch, same_pool.together), ((8.0, 512.0), true));
    // where the server does not wait for the disk either, the pool need not be what helped
    let also_unsafe = |server: &ServerPlan| {
        let (version, mut variables) = pooled(server);
        if server.name == "pool" {
            variables.push(("innodb_flush_log_at_trx_commit", "0"));
        }
        (version, variables)
    };
    let faster = |server: &str, _: u32| if server == "pool" { 20_000.0 } else { 10_000.0 };
    assert_eq!(advice_of(&run_of(study(POOLS), also_unsafe, faster)).len(), 0);
    // nor is anything said about servers of which nothing is known
    let mut unknown = run_of(study(POOLS), pooled, faster);
    unknown.servers.clear();
    assert_eq!(advice_of(&unknown).len(), 0);
}

#[test]
fn a_pool_that_was_chosen_among_three_is_not_advised_once_more() {
    let three = format!("{POOLS}[server.old]\nproduct = \"mariadb\"\nversion = \"10.1\"\n");
    let said = |server: &ServerPlan| match &*server.name {
        "old" => ("10.1.48-MariaDB", Vec::new()),
        _ => pooled(server),
    };
    let advice = advice_of(&run_of(study(&three), said, |server, _| match server {
        "pool" => 20_000.0,
        "threads" => 10_000.0,
        _ => 5000.0,
    }));
    let about: Vec<&Rule> = advice
        .iter()
        .filter(|one| (&*one.one, &*one.other) == ("pool", "threads"))
        .map(|one| &one.rule)
        .collect();
    assert_eq!(about, [&Rule::Choose { servers: 2 }], "{advice:#?}");
    // where the pool is not the choice, its own advice stays
    let advice = advice_of(&run_of(study(&three), said, |server, _| match server {
        "pool" => 20_000.0,
        "threads" => 10_000.0,
        _ => 40_000.0,
    }));
    assert!(advice.iter().any(|one| one.rule == Rule::Pool), "{advice:#?}");
}

const THREE: &str = "[server.a]\nproduct = \"mariadb\"\nversion = \"10.1\"\n[server.b]\nproduct = \
                     \"mariadb\"\nversion = \"10.6\"\n[server.c]\nproduct = \"mariadb\"\nversion = \
                     \"11.4\"\n";

fn version(server: &ServerPlan) -> (&'static str, Vec<(&'static str, &'static str)>) {
    let version = match server.name.as_str() {
        "a" => "10.1.48-MariaDB",
        "b" => "10.6.18-MariaDB",
        _ => "11.4.2-MariaDB",
    };
    (version, Vec::new())
}

#[test]
fn of_three_servers_the_one_that_beats_both_others_is_chosen() {
    let best = |server: &str, _: u32| match server {
        "a" => 10_000.0,
        "b" => 15_000.0,
        _ => 12_000.0,
    };
    let advice = advice_of(&run_of(study(THREE), version, best));
    let chosen: Vec<&Advice> =
        advice.iter().filter(|one| matches!(one.rule, Rule::Choose { servers: 2 })).collect();
    let [chosen] = &chosen[..] else { panic!("{advice:#?}") };
    assert_eq!((&*chosen.one, &*chosen.other, chosen.stretch), ("b", "c", (8.0, 512.0)));
    assert!((chosen.ratio.value - 1.25).abs() < 0.02, "against the next best: {:?}", chosen.ratio);
    // each step between versions: from a to b it pays, from b to c it costs; from a to c is not a step
    let steps: Vec<(&str, &str, Verdict)> = advice
        .iter()
        .filter(|one| matches!(one.rule, Rule::Upgrade { .. }))
        .map(|one| (&*one.other, &*one.one, one.verdict))
        .collect();
    assert_eq!(steps, [("a", "b", Verdict::Better), ("b", "c", Verdict::Worse)]);
}

#[test]
fn where_the_best_of_many_connections_is_another_one_it_is_named_and_two_equals_are_not_told_apart() {
    let crossing = |server: &str, connections: u32| match (server, connections) {
        ("a", 512) => 10_000.0,
        ("c", 512) => 4000.0,
        ("c", _) => 30_000.0,
        _ => 8000.0,
    };
    let advice = advice_of(&run_of(study(THREE), version, crossing));
    let chosen: Vec<(&str, (f64, f64))> = advice
        .iter()
        .filter(|one| matches!(one.rule, Rule::Choose { .. }))
        .map(|one| (&*one.one, one.stretch))
        .collect();
    assert_eq!(chosen, [("c", (8.0, 512.0)), ("a", (512.0, 512.0))]);
    let equal = |server: &str, _: u32| if server == "a" { 9000.0 } else { 15_000.0 };
    let advice = advice_of(&run_of(study(THREE), version, equal));
    assert!(!advice.iter().any(|one| matches!(one.rule, Rule::Choose { .. })), "{advice:#?}");
}

#[test]
fn a_server_that_is_larger_or_less_safe_is_not_chosen() {
    let fast = |server: &str, _: u32| if server == "b" { 15_000.0 } else { 10_000.0 };
    let larger = THREE.replace("version = \"10.6\"", "version = \"10.6\"\nlimits = { cpus = 2 }");
    let advice = advice_of(&run_of(study(&larger), version, fast));
    assert!(!advice.iter().any(|one| matches!(one.rule, Rule::Choose { .. })), "{advice:#?}");
    let unsafe_b = |server: &ServerPlan| {
        let (version, mut variables) = version(server);
        if server.name == "b" {
            variables.push(("innodb_flush_log_at_trx_commit", "2"));
        }
        (version, variables)
    };
    let advice = advice_of(&run_of(study(THREE), unsafe_b, fast));
    assert!(advice.iter().all(|one| one.one != "b" && one.other != "b"), "{advice:#?}");
}

#[test]
fn the_network_is_told_with_its_price_and_not_what_else_differs() {
    let study = study::open("connection-modes", &Adjustments::default());
    let plan = Plan::from_study(&study.unwrap_or_else(|error| panic!("{error}")));
    let record = run_of(
        plan,
        |_| ("10.11.6-MariaDB", Vec::new()),
        |way, _| match way {
            "local" => 8000.0,
            "long" => 2000.0,
            "prepared" => 2500.0,
            _ => 1000.0,
        },
    );
    let advice = advice_of(&record);
    assert_eq!(advice.len(), 4, "one for each kind of statement: {advice:#?}");
    for one in &advice {
        assert_eq!((&one.rule, &*one.one, &*one.other), (&Rule::Local { latency_ms: 0.4 }, "long", "local"));
        assert_eq!(one.verdict, Verdict::Worse);
        assert!((one.ratio.value - 0.25).abs() < 0.01, "{:?}", one.ratio);
    }
}

const REPLICATED: &str = "[server.async]\nproduct = \"mariadb\"\ntopology = { replicas = 1, replication = \
                          \"async\" }\n[server.sync]\nproduct = \"mariadb\"\ntopology = { replicas = 1, \
                          replication = \"after-sync\" }\n";

/// A server was killed, and this many of its 10,000 commits were lost.
fn killed(server: usize, lost: u64) -> Note {
    let kind = CrashKind::Kill;
    let crash = Crash { kind, acknowledged: 10_000, lost, in_doubt: 0, unacknowledged: 0, recovery: 1.0 };
    Note::Crashed { server, crash }
}

#[test]
fn what_it_costs_not_to_lose_commits_is_told_with_what_crashes_showed() {
    let slower = |server: &str, _: u32| if server == "sync" { 8000.0 } else { 10_000.0 };
    let run = || run_of(study(REPLICATED), |_| ("10.11.6-MariaDB", Vec::new()), slower);
    let advice = advice_of(&run());
    let [untested] = &advice[..] else { panic!("{advice:#?}") };
    assert_eq!((&untested.rule, untested.verdict), (&Rule::Safety { lost: None }, Verdict::Worse));
    assert_eq!((&*untested.one, &*untested.other), ("sync", "async"));
    let mut crashed = run();
    for (server, lost) in [(0, 30), (1, 0), (0, 50), (1, 0)] {
        crashed.notes.push(killed(server, lost));
    }
    let advice = advice_of(&crashed);
    let [tested] = &advice[..] else { panic!("{advice:#?}") };
    let Rule::Safety { lost: Some(lost) } = &tested.rule else { panic!("{tested:#?}") };
    assert!((lost.other.value - 0.004).abs() < 1e-9 && lost.one.value == 0.0, "{lost:?}");
    assert_eq!((lost.acknowledged, lost.crashes), (20_000, 4));
}

#[test]
fn crashes_alone_say_who_is_safer_and_who_loses_nothing_needs_no_advice() {
    let servers = "[server.memory]\nproduct = \"mariadb\"\n[server.system]\nproduct = \"mariadb\"\n";
    let said = |server: &ServerPlan| {
        let flush = if server.name == "memory" { "0" } else { "2" };
        ("10.11.6-MariaDB", vec![("innodb_flush_log_at_trx_commit", flush)])
    };
    let mut record = run_of(study(servers), said, |_, _| 10_000.0);
    assert_eq!(advice_of(&record).len(), 0, "neither waits for the disk");
    for (server, lost) in [(0, 300), (1, 0)] {
        record.notes.push(killed(server, lost));
    }
    let advice = advice_of(&record);
    let [safer] = &advice[..] else { panic!("{advice:#?}") };
    assert_eq!((&*safer.one, &*safer.other, safer.verdict), ("system", "memory", Verdict::Same));
}

#[test]
fn where_nothing_differs_hardly_any_run_advises_a_change() {
    let (mut advising, runs) = (0, 60);
    for seed in 0..runs {
        let mut record = run_of(study(THREE), version, |_, _| 10_000.0);
        let mut noise = noise(1000 + seed);
        for trial in &mut record.trials {
            let TrialOutcome::Measured { outcome: told, .. } = &mut trial.outcome else { continue };
            let rate = 10_000.0 * (0.05 * noise.normal()).exp();
            **told = outcome(told.streams[0].connections, rate);
        }
        let changes = |one: &Advice| one.verdict != Verdict::Same;
        advising += u32::from(advice_of(&record).iter().any(changes));
    }
    assert!(advising * 12 <= runs as u32, "{advising} of {runs} runs advise a change");
}
