//! Outputs as the tools print them: sysbench 1.0.20 and mariadb-slap as they were, sysbench 0.5 from its
//! format.

use super::*;
use crate::run::TrialOutcome;

fn sample(name: &str) -> String {
    let path = format!("{}/tests/support/foreign/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn read_one(tool: Tool, name: &str) -> Results {
    read(tool, "tools", &[(sample(name), Known::default())]).unwrap()
}

fn outcome(trial: &ForeignTrial) -> &Outcome {
    match &trial.outcome {
        TrialOutcome::Measured { outcome, .. } => outcome,
        TrialOutcome::Failed(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn a_report_of_sysbench_with_seconds_is_read() {
    let results = read_one(Tool::Sysbench, "sysbench-interval.txt");
    let trial = &results.trials[0];
    let outcome = outcome(trial);
    assert_eq!(outcome.streams[0].connections, 4);
    assert_eq!(outcome.streams[0].transactions.count, 29_706);
    assert_eq!(outcome.streams[0].statements[0].count, 29_706);
    assert_eq!(outcome.interval, Duration::from_secs_f64(5.0408));
    assert_eq!(trial.told["p99"], 15.55);
    assert_eq!(trial.told["mean"], 0.67);
    assert!(!trial.told.contains_key("p95"), "what is not told is not known");
    assert!(outcome.streams[0].transactions.service.is_empty());
    assert_eq!(trial.samples.len(), 5);
    assert_eq!(trial.samples[2].transactions.count, 9702);
}

#[test]
fn a_histogram_of_sysbench_gives_every_percentile() {
    let results = read_one(Tool::Sysbench, "sysbench-histogram.txt");
    let histogram = &outcome(&results.trials[0]).streams[0].transactions.service;
    assert_eq!(histogram.count(), outcome(&results.trials[0]).streams[0].transactions.count);
    let (p50, p95) = (histogram.quantile_ns(0.5) as f64 / 1e6, histogram.quantile_ns(0.95) as f64 / 1e6);
    let told = results.trials[0].told["p95"];
    assert!(p50 < p95 && (p95 / told - 1.0).abs() < 0.02, "{p50} {p95} {told}");
}

#[test]
fn the_report_of_an_old_sysbench_is_read() {
    let results = read_one(Tool::Sysbench, "sysbench-0.5.txt");
    let trial = &results.trials[0];
    let stream = &outcome(trial).streams[0];
    assert_eq!((stream.connections, stream.transactions.count, stream.transactions.errors), (16, 3335, 1));
    assert_eq!((trial.told["p95"], trial.told["mean"], trial.told["max"]), (150.12, 95.93, 456.78));
    let seconds: Vec<_> =
        trial.samples.iter().map(|sample| (sample.length.as_secs(), sample.transactions.count)).collect();
    assert_eq!(seconds, [(10, 1708), (10, 1625)]);
    assert_eq!(trial.samples[1].errors, 1);
}

#[test]
fn both_forms_of_mysqlslap_are_read() {
    for name in ["slap.txt", "slap.csv"] {
        let results = read_one(Tool::Mysqlslap, name);
        let levels: Vec<_> =
            results.plan.treatments.iter().map(|one| one.levels["connections"].clone()).collect();
        assert_eq!(levels, ["2", "4"], "{name}");
        assert!(results.plan.treatments.iter().all(|one| one.levels["engine"] == "innodb"));
        let first = outcome(&results.trials[0]);
        assert_eq!(first.streams[0].transactions.count, 400);
        assert!((0.5..2.0).contains(&first.interval.as_secs_f64()));
        assert!(results.trials[0].told.is_empty());
    }
    let quoted = "innodb,\"SELECT a, b FROM t\",0.582,0.190,0.974,2,200\n".to_owned();
    let results = read(Tool::Mysqlslap, "tools", &[(quoted, Known::default())]).unwrap();
    assert_eq!(results.plan.treatments[0].levels["workload"], "SELECT a, b FROM t");
}

#[test]
fn the_same_twice_is_a_repeat_and_servers_are_told_apart() {
    let text = sample("sysbench-interval.txt");
    let on = |server: &str| Known { server: Some(server.to_owned()), ..Known::default() };
    let texts = [(text.clone(), on("a")), (text.clone(), on("b")), (text, on("a"))];
    let results = read(Tool::Sysbench, "tools", &texts).unwrap();
    assert_eq!(results.plan.servers.iter().map(|server| &*server.name).collect::<Vec<_>>(), ["a", "b"]);
    let places: Vec<_> = results.plan.trials.iter().map(|trial| (trial.treatment, trial.block)).collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 1)]);
}

#[test]
fn what_is_no_result_is_refused_with_the_reason() {
    let refused = |tool, text: &str| {
        let known = [
            (String::new() + &sample("sysbench-interval.txt"), Known::default()),
            (text.to_owned(), Known::default()),
        ];
        read(tool, "tools", &known[1..]).unwrap_err().1.to_string()
    };
    assert!(refused(Tool::Sysbench, "hello").contains("total time"));
    assert!(refused(Tool::Sysbench, "").contains("empty"));
    assert!(
        refused(Tool::Sysbench, "sysbench 1.0.20\nFATAL: error 1045: Access denied")
            .contains("Access denied")
    );
    assert!(refused(Tool::Mysqlslap, "hello, world").contains("Benchmark"));
    let lost = "sysbench 1.0.20\n  transactions: 10 (1.0 per sec.)\n total time: 10.0s";
    assert!(refused(Tool::Sysbench, lost).contains("--connections"));
}
