//! A run as Parquet files: what stands in them is what the store has, and others can read them.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

mod support {
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
}
#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;
#[path = "support/synthetic_load.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic_load;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use load::sample::Phase;
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use prony::{
    export::{self, Error},
    report::{Format, Options, Words, render},
    run::{Event, TrialOutcome},
    store::{RunRecord, Store},
};
use std::{collections::BTreeMap, fs, path::Path, process::Command};
use support::require::{Need, program, require};

fn said(outcome: &TrialOutcome) -> String {
    Words::default().outcome(outcome)
}

type Row = BTreeMap<String, Field>;

fn rows(file: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(fs::File::open(file).unwrap()).unwrap();
    let facts = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(facts.iter().any(|fact| fact.key == "prony_export_format" && fact.value.as_deref() == Some("2")));
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns().into_iter().collect()).collect()
}

fn whole(value: u64) -> Field {
    Field::Long(value as i64)
}

fn text(value: &str) -> Field {
    Field::Str(value.to_owned())
}

/// Of a run a few trials, one of which failed: writing files takes long in a build that is not optimised.
fn of_few_trials(mut events: Vec<Event>) -> Vec<Event> {
    events.retain(|event| match event {
        Event::TrialStarted { trial }
        | Event::TrialSample { trial, .. }
        | Event::TrialReading { trial, .. }
        | Event::TrialFinished { trial, .. } => *trial < 4 || *trial == synthetic::FAILED_TRIAL,
        _ => true,
    });
    events
}

/// A store with a run, and what the run left in it.
struct Stored {
    directory: tempfile::TempDir,
    store: Store,
    record: RunRecord,
}

impl Stored {
    fn of(events: &[Event]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("prony.sqlite")).unwrap();
        let Event::RunStarted { plan, machine } = &events[0] else { panic!("a run starts first") };
        let id = store.begin(plan, machine).unwrap();
        events.iter().for_each(|event| store.record(id, event).unwrap());
        let record = store.run(id).unwrap();
        Self { directory, store, record }
    }

    fn exported(&self) -> BTreeMap<&'static str, Vec<Row>> {
        let directory = self.directory.path().join("data");
        let files = export::parquet(&self.store, self.record.id, &said, &directory).unwrap();
        files.into_iter().map(|name| (name, rows(&directory.join(name)))).collect()
    }
}

#[test]
fn trials_seconds_and_readings_are_those_of_the_record() {
    for events in [synthetic::events(), synthetic_load::events()] {
        let stored = Stored::of(&of_few_trials(events));
        let (record, tables) = (&stored.record, stored.exported());

        assert_eq!(tables["trials.parquet"].len(), record.trials.len());
        for (row, trial) in tables["trials.parquet"].iter().zip(&record.trials) {
            assert_eq!(row["trial"], whole(trial.trial.number.into()));
            assert_eq!((&row["run"], &row["study"]), (&text(&record.uid), &text(&record.plan.name)));
            let treatment = &record.plan.treatments[trial.trial.treatment];
            let version = record.servers.get(&treatment.server).map(|server| &server.description.version);
            assert_eq!(row["server_version"], version.map_or(Field::Null, |version| text(version)));
            assert_eq!(row["started"], Field::TimestampMicros(trial.started.as_microsecond()));
            for (factor, level) in &treatment.levels {
                let told = level.parse().map_or_else(|_| text(level), Field::Double);
                assert_eq!(row[&format!("level_{factor}")], told);
            }
            match &trial.outcome {
                TrialOutcome::Failed(_) => {
                    let reason = text(&said(&trial.outcome));
                    assert_eq!((&row["failure"], &row["verdict"]), (&reason, &Field::Null));
                }
                TrialOutcome::Measured { outcome, doubts, .. } => {
                    assert_eq!(row["verdict"], text(prony::run::verdict(doubts).name()));
                    assert_eq!(row["interval_s"], Field::Double(outcome.interval.as_secs_f64()));
                }
            }
        }

        let samples =
            record.trials.iter().flat_map(|trial| trial.seconds.iter().map(move |one| (trial, one)));
        assert_eq!(samples.clone().count(), tables["seconds.parquet"].len());
        for (row, (trial, sample)) in tables["seconds.parquet"].iter().zip(samples) {
            let stream = &record.plan.treatments[trial.trial.treatment].streams[usize::from(sample.stream)];
            assert_eq!((&row["stream"], &row["second"]), (&text(&stream.name), &whole(sample.second.into())));
            // also where the study does not vary them
            assert_eq!(row["connections"], whole(stream.connections.into()));
            assert_eq!(row["transactions"], whole(sample.transactions.count));
            assert_eq!(row["errors"], whole(sample.errors));
            let times = sample.transactions.response();
            let p99 = Field::Double(times.quantile_ns(0.99) as f64 / 1000.0);
            assert_eq!(row["p99_us"], if times.is_empty() { Field::Null } else { p99 });
            let offered = sample.schedule.as_ref().map(|schedule| whole(schedule.offered));
            assert_eq!(row["offered"], offered.unwrap_or(Field::Null));
        }

        let mut readings = tables["readings.parquet"].iter();
        for trial in &record.trials {
            for reading in trial.readings.readings() {
                for (path, value) in &reading.values {
                    let row = readings.next().unwrap();
                    assert_eq!(row["trial"], whole(trial.trial.number.into()));
                    assert_eq!(row["at_s"], Field::Double(reading.at.as_secs_f64()));
                    assert_eq!((&row["path"], &row["value"]), (&text(path), &Field::Double(*value)));
                }
            }
        }
        assert!(readings.next().is_none());
    }
}

#[test]
fn statements_of_each_second_are_those_of_the_store() {
    let stored = Stored::of(&of_few_trials(synthetic_load::events()));
    let tables = stored.exported();
    let mut rows = tables["statements.parquet"].iter();
    for trial in &stored.record.trials {
        let streams = &stored.record.plan.treatments[trial.trial.treatment].streams;
        for sample in stored.store.samples(stored.record.id, trial.trial.number).unwrap() {
            for tally in &sample.statements {
                let row = rows.next().unwrap();
                let stream = &streams[usize::from(sample.stream)].name;
                assert_eq!((&row["stream"], &row["second"]), (&text(stream), &whole(sample.second.into())));
                assert_eq!((&row["statement"], &row["count"]), (&text(&tally.name), &whole(tally.count)));
                let times = tally.response();
                let p95 = Field::Double(times.quantile_ns(0.95) as f64 / 1000.0);
                assert_eq!(row["p95_us"], if times.is_empty() { Field::Null } else { p95 });
            }
        }
    }
    assert!(rows.next().is_none());
    assert!(!tables["statements.parquet"].is_empty());
}

#[test]
fn histograms_are_those_of_the_record() {
    let stored = Stored::of(&of_few_trials(synthetic_load::events()));
    let (record, tables) = (&stored.record, stored.exported());
    let mut found = BTreeMap::new();
    for row in &tables["histograms.parquet"] {
        let key = ["trial", "stream", "kind", "name", "time"].map(|name| row[name].to_string());
        let (Field::Double(low), Field::Double(high), Field::Long(count)) =
            (&row["low_us"], &row["high_us"], &row["count"])
        else {
            panic!("{row:?}")
        };
        assert!(low <= high);
        let histogram: &mut Vec<(u64, u64)> = found.entry(key).or_default();
        histogram.push(((high * 1000.0).round() as u64, *count as u64));
    }
    let mut expected = BTreeMap::new();
    for trial in &record.trials {
        let TrialOutcome::Measured { outcome, .. } = &trial.outcome else { continue };
        for stream in &outcome.streams {
            let all = [("all", &stream.transactions)].into_iter();
            let each = stream.by_transaction.iter().map(|tally| ("transaction", tally));
            let statements = stream.statements.iter().map(|tally| ("statement", tally));
            for (kind, tally) in all.chain(each).chain(statements) {
                let mut expect = |time: &str, histogram: &load::Histogram| {
                    let key = [text(&stream.name), text(kind), text(&tally.name), text(time)];
                    let key = std::iter::once(whole(trial.trial.number.into())).chain(key);
                    let key: Vec<String> = key.map(|field| field.to_string()).collect();
                    if !histogram.is_empty() {
                        expected.insert(<[String; 5]>::try_from(key).unwrap(), histogram.buckets().collect());
                    }
                };
                expect("response", tally.response());
                if tally.response.is_some() {
                    expect("service", &tally.service);
                }
            }
        }
    }
    assert!(expected.keys().any(|key| key[4].contains("service")), "an open loop has both times");
    assert!(found == expected, "histograms differ");
}

#[test]
fn what_is_there_is_not_overwritten() {
    let Stored { directory, store, record } = Stored::of(&of_few_trials(synthetic_load::events()));
    let target = directory.path().join("new/data");
    export::parquet(&store, record.id, &said, &target).unwrap();
    let again = export::parquet(&store, record.id, &said, &target);
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    assert_eq!(fs::read_dir(directory.path().join("new")).unwrap().count(), 1, "nothing is left beside it");
}

/// Checks the files with what users have.
/// Readers of histogram logs and OpenMetrics that are not ours.
const FURTHER_READERS: &str = r#"
import glob, sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families
logs, figures, transactions = sys.argv[1:]
total = 0
for path in sorted(glob.glob(logs + "/*.hlog")):
    whole = HdrHistogram(1, 10**13, 3)
    reader = HistogramLogReader(path, whole)
    while (one := reader.get_next_interval_histogram()) is not None:
        total += one.get_total_count()
assert total == int(transactions), (total, transactions)
families = {one.name: one for one in text_string_to_metric_families(open(figures).read())}
assert families["prony_transactions_per_second"].samples, families.keys()
assert families["prony_response_time_seconds"].unit == "seconds"
"#;

const READERS: &str = "
import sys, duckdb, pandas
folder, transactions, trials = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
frame = pandas.read_parquet(folder + '/seconds.parquet')
assert frame.transactions.sum() == transactions, frame
assert str(pandas.read_parquet(folder + '/trials.parquet').started.dtype).endswith('UTC]')
ask = lambda text: duckdb.sql(text.replace('data/', folder + '/')).fetchall()
assert ask(\"SELECT sum(transactions) FROM 'data/seconds.parquet'\") == [(transactions,)]
assert ask(\"SELECT count(*) FROM 'data/trials.parquet'\") == [(trials,)]
assert ask(\"SELECT count(DISTINCT path) FROM 'data/readings.parquet'\")[0][0] > 3
assert ask(\"\"\"SELECT server, second, avg(transactions / length_s) FROM 'data/seconds.parquet' JOIN \
                       'data/trials.parquet' USING (run, trial)
    WHERE verdict <> 'invalid' GROUP BY ALL ORDER BY ALL\"\"\")
assert ask(\"\"\"SELECT statement, second, max(p99_us) FROM 'data/statements.parquet' GROUP BY ALL\"\"\")
assert ask(\"SELECT sum(count) FROM 'data/histograms.parquet' WHERE kind = 'all'\")[0][0] > 0
";

/// Every second of the measurement, with exactly the values that the store has, in order.
#[test]
fn histogram_logs_have_every_second_of_the_measurement() {
    let Stored { directory, record, .. } = Stored::of(&of_few_trials(synthetic_load::events()));
    let data = directory.path().join("logs");
    let names = export::hlog(&record, &data).unwrap();
    let measured = || record.trials.iter().filter(|trial| !trial.seconds.is_empty());
    assert_eq!(names.len(), measured().count());
    for (name, trial) in names.iter().zip(measured()) {
        let bytes = fs::read(data.join(name)).unwrap();
        let mut entries = IntervalLogIterator::new(&bytes).filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
        for second in trial.seconds.iter().filter(|second| second.phase == Phase::Measure) {
            let interval = entries.next().unwrap();
            let streams = &record.plan.treatments[trial.trial.treatment].streams;
            let tag = (streams.len() > 1).then(|| streams[usize::from(second.stream)].name.as_str());
            assert_eq!(interval.tag().map(|tag| tag.as_str()), tag, "tools read what has none by default");
            assert_eq!(interval.duration(), second.length);
            let packed = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap();
            let read = load::Histogram::from_bytes(&packed).unwrap();
            let response = second.transactions.response();
            assert_eq!((read.count(), read.max_ns()), (response.count(), response.max_ns()));
            assert_eq!(read.quantiles_ns([0.5, 0.99]), response.quantiles_ns([0.5, 0.99]));
        }
        assert!(entries.next().is_none());
    }
    let again = export::hlog(&record, &data);
    assert!(matches!(again, Err(Error::Exists { .. })), "nothing is overwritten");
}

#[test]
#[ignore = "long: gets DuckDB and pandas from pip"]
fn duckdb_and_pandas_read_it() {
    let venv = program(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    let Some(()) = require(Need::Python, venv) else { return };
    let Stored { directory, store, record } = Stored::of(&synthetic::events());
    let (python, data) = (directory.path().join("python"), directory.path().join("data"));
    export::parquet(&store, record.id, &said, &data).unwrap();
    let logs = directory.path().join("logs");
    export::hlog(&record, &logs).unwrap();
    let figures = directory.path().join("figures.txt");
    let findings = prony::analyse::analyse(&record);
    let open_metrics = (Format::OpenMetrics, &Options::default());
    fs::write(&figures, render(&record, &findings, open_metrics.0, open_metrics.1).unwrap()).unwrap();
    let done = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    done(Command::new("python3").args(["-m", "venv"]).arg(&python));
    let packages = ["duckdb", "pandas", "pyarrow", "hdrhistogram", "prometheus-client"];
    done(Command::new(python.join("bin/pip")).args(["install", "--quiet"]).args(packages));
    let samples = record.trials.iter().flat_map(|trial| &trial.seconds);
    let transactions: u64 = samples.map(|sample| sample.transactions.count).sum();
    done(
        Command::new(python.join("bin/python"))
            .args(["-c", READERS])
            .arg(&data)
            .args([transactions.to_string(), record.trials.len().to_string()]),
    );
    let measured = record.trials.iter().flat_map(|trial| &trial.seconds);
    let measured = measured.filter(|second| second.phase == Phase::Measure);
    let measured: u64 = measured.map(|second| second.transactions.response().count()).sum();
    done(
        Command::new(python.join("bin/python"))
            .args(["-c", FURTHER_READERS])
            .args([&logs, &figures])
            .arg(measured.to_string()),
    );
}

/// A study of a second or two, whose claim holds on any machine.
const STUDY: &str = r#"
title = "Small"
[server.plain]
product = "mariadb"
version = "10.11"
[server.pooled]
product = "mariadb"
version = "10.11"
settings = { thread_handling = "pool-of-threads" }
[data]
rows = 500
[[stream]]
workload = "oltp_point_select"
connections = 2
[vary]
server = ["plain", "pooled"]
[measure]
warm_up = "100ms"
interval = "300ms"
repeats = 3
[[claim]]
says = "Nothing fails."
metric = "errors"
of = { server = "plain" }
value = "< 1%"
"#;

/// A command in a home of its own, with what it printed and told.
fn done(home: &Path, command: &mut Command, code: i32) -> String {
    command.current_dir(home).env("XDG_DATA_HOME", home.join("data")).env("LC_ALL", "C");
    command.env("XDG_STATE_HOME", home.join("state")).env_remove("PRONY_STORE");
    let output = command.env("PRONY", env!("CARGO_BIN_EXE_prony")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{command:?}: {}", text.concat());
    text.concat()
}

#[test]
fn a_package_is_unpacked_verified_and_repeated_by_its_own_script() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("small study.toml"), STUDY).unwrap();
    let prony = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments);
        command
    };
    done(home, &mut prony(&["run", "small study.toml", "--set", "measure.repeats=2"]), 0);
    let pack = ["export", "last", "--format", "package", "--write", "small.tar.gz"];
    done(home, &mut prony(&pack), 0);
    assert!(done(home, &mut prony(&pack), 2).contains("already exists"));
    done(home, Command::new("tar").args(["-xzf", "small.tar.gz"]), 0);
    let root = home.join("prony-small_study-1");
    let versions: serde_json::Value =
        serde_json::from_slice(&fs::read(root.join("versions.json")).unwrap()).unwrap();
    assert_eq!(versions["set"], serde_json::json!(["measure.repeats=2"]), "{versions}");
    assert!(versions["servers"][0]["version"].as_str().unwrap().starts_with("10.11"), "{versions}");
    assert_eq!(fs::read_to_string(root.join("small_study.toml")).unwrap(), STUDY);

    let said = done(home, &mut Command::new(root.join("repeat.sh")), 0);
    assert!(said.contains("Claims decided by the base: 1. The run confirms 1 of them"), "{said}");
    let repeated = Store::open(&root.join("repeat.sqlite")).unwrap();
    let (base, again) = (repeated.run(1).unwrap(), repeated.run(2).unwrap());
    assert_eq!((again.plan.seed, &again.plan.trials), (base.plan.seed, &base.plan.trials));
    drop(repeated);

    let report = root.join("report.json");
    fs::write(&report, fs::read_to_string(&report).unwrap() + "\n").unwrap();
    assert!(
        done(home, &mut Command::new(root.join("repeat.sh")), 2).contains("not the files that were packed")
    );
}

#[test]
fn what_no_study_can_repeat_is_not_packed() {
    let Stored { directory, store, mut record } = Stored::of(&of_few_trials(synthetic::events()));
    let at = |name: &str| directory.path().join(name);
    export::package(&store, 1, vec![("a.txt", "a".to_owned())], &at("one.tar.gz")).unwrap();
    export::package(&store, 1, vec![("a.txt", "a".to_owned())], &at("two.tar.gz")).unwrap();
    assert_eq!(fs::read(at("one.tar.gz")).unwrap(), fs::read(at("two.tar.gz")).unwrap());
    record.plan.study_text.clear();
    let mut other = Store::open(&at("other.sqlite")).unwrap();
    let id = other.add("sysbench", record.started, &record.plan, &[]).unwrap();
    let refused = export::package(&other, id, Vec::new(), &at("three.tar.gz")).unwrap_err();
    assert!(matches!(refused, Error::NoStudy { .. }), "{refused}");
    assert!(!at("three.tar.gz").exists());
}

/// The query of the guide names only columns that every export has, whatever the study varies.
#[test]
fn the_query_in_the_guide_works_on_every_export() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/results.md");
    let guide = fs::read_to_string(guide).unwrap();
    let query: String = guide
        .lines()
        .skip_while(|line| !line.starts_with("SELECT "))
        .take(3)
        .map(|line| format!("{line} "))
        .collect();
    assert!(query.contains("GROUP BY ALL"), "{query}");
    const SQL: [&str; 16] = [
        "SELECT",
        "sum",
        "AS",
        "per_second",
        "FROM",
        "data",
        "seconds",
        "parquet",
        "JOIN",
        "trials",
        "USING",
        "WHERE",
        "AND",
        "GROUP",
        "BY",
        "ALL",
    ];
    let names = query.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let names = names.filter(|name| !name.is_empty() && !SQL.contains(name));
    let names: Vec<&str> = names.filter(|name| !["ORDER", "measure", "invalid"].contains(name)).collect();
    assert!(names.contains(&"connections") && names.contains(&"length_s"), "{names:?}");
    let mut of_one = synthetic_load::events();
    let Event::RunStarted { plan, .. } = &mut of_one[0] else { panic!("a run starts first") };
    plan.factors.clear();
    for events in [synthetic::events(), of_one] {
        let tables = Stored::of(&of_few_trials(events)).exported();
        for name in &names {
            let is_there = |table: &str| tables[table][0].contains_key(*name);
            assert!(is_there("seconds.parquet") || is_there("trials.parquet"), "{name} is no column");
        }
    }
}
