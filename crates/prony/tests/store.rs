//! The store, as its users see it: what went in comes out, whatever happens in between.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the right answer")]

#[path = "support/stored.rs"]
mod stored;
#[path = "support/synthetic.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic;
#[path = "support/synthetic_load.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared by several test programs, each of which needs a part")]
mod synthetic_load;

use prony::{
    report::{Format, Language, Options, render},
    run::{Cause, Event, NoProfile, Note, TrialFailure, TrialOutcome},
    store::{Difference, Error, Of, Store},
};
use rusqlite::Connection;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

/// Names the file that a child of this test writes to; see [`child`].
const CHILD: &str = "PRONY_STORE_TEST_FILE";

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

/// The store keeps a second of a single statement with less resolution, and everything else exactly.
fn as_stored(sample: &load::Sample) -> load::Sample {
    let mut sample = sample.clone();
    for tally in &mut sample.statements {
        tally.service = tally.service.coarse();
        tally.response = tally.response.as_ref().map(load::Histogram::coarse);
    }
    if let Some(schedule) = &mut sample.schedule {
        schedule.delay = schedule.delay.coarse();
    }
    sample
}

/// Numbers with a fraction keep five digits in readings.
fn rounded(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) if number.is_f64() => {
            format!("{:.4e}", number.as_f64().unwrap()).parse::<f64>().unwrap().into()
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, rounded(field))).collect(),
        other => other,
    }
}

/// All that was kept of the seconds of a run; what its record has of them is the same.
fn samples_of(store: &Store, record: &prony::store::RunRecord) -> Vec<serde_json::Value> {
    let of_trial = |trial: &prony::store::TrialRecord| {
        let samples = store.samples(record.id, trial.trial.number).unwrap();
        let seconds: Vec<prony::store::Second> = samples.iter().cloned().map(Into::into).collect();
        assert_eq!(json(&seconds), json(&trial.seconds), "trial {}", trial.trial.number);
        samples.iter().map(json).collect::<Vec<_>>()
    };
    record.trials.iter().flat_map(of_trial).collect()
}

fn write_run(store: &mut Store, events: &[Event]) -> i64 {
    let Event::RunStarted { plan, machine } = &events[0] else { panic!("a run starts first") };
    let id = store.begin(plan, machine).unwrap();
    for event in events {
        store.record(id, event).unwrap();
    }
    id
}

#[test]
fn what_went_in_comes_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made/by/prony.sqlite");
    let events = synthetic::events();
    let id = write_run(&mut Store::open(&path).unwrap(), &events);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.latest().unwrap(), Some(id));
    let record = store.run(id).unwrap();
    assert!(record.complete);
    assert!(record.finished.unwrap() >= record.started);
    assert_eq!(json(&record.plan), json(&synthetic::plan()));
    assert_eq!(json(&record.machine), json(&synthetic::machine()));
    assert_eq!(record.servers[&1].data_took[&0], Duration::from_millis(812));
    assert_eq!(record.servers[&1].status_after["Questions"], "1234567");
    assert_eq!(record.servers[&0].description.variables["report_password"], "(hidden)");

    let (mut samples, mut readings, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for event in &events {
        match event {
            Event::TrialSample { sample, .. } => samples.push(json(&as_stored(sample))),
            Event::TrialReading { reading, .. } => readings.push(rounded(json(reading))),
            Event::TrialFinished { outcome, .. } => outcomes.push(json(outcome)),
            _ => {}
        }
    }
    let read = |pick: fn(&prony::store::TrialRecord) -> Vec<serde_json::Value>| {
        record.trials.iter().flat_map(pick).collect::<Vec<_>>()
    };
    assert!(samples_of(&store, &record) == samples, "samples differ");
    assert!(
        read(|trial| trial.readings.readings().map(|one| json(&one)).collect()) == readings,
        "readings differ"
    );
    assert!(read(|trial| vec![json(&trial.outcome)]) == outcomes, "outcomes differ");
    assert_eq!(record.trials.iter().map(|trial| trial.trial).collect::<Vec<_>>(), synthetic::plan().trials);

    let summary = &store.list().unwrap()[0];
    assert_eq!((summary.trials_measured, summary.trials_failed, summary.trials_planned), (59, 1, 60));
    assert!(summary.is_complete());
}

#[test]
fn streams_with_schedules_and_limits_come_back_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("prony.sqlite")).unwrap();
    let events = synthetic_load::events();
    let id = write_run(&mut store, &events);
    let record = store.run(id).unwrap();
    assert_eq!(json(&record.plan), json(&synthetic_load::plan()));
    let samples = events.iter().filter_map(|event| match event {
        Event::TrialSample { sample, .. } => Some(json(&as_stored(sample))),
        _ => None,
    });
    assert!(samples.eq(samples_of(&store, &record)), "samples differ");
    let outcomes = events.iter().filter_map(|event| match event {
        Event::TrialFinished { outcome, .. } => Some(json(outcome)),
        _ => None,
    });
    assert!(outcomes.eq(record.trials.iter().map(|trial| json(&trial.outcome))), "outcomes differ");
}

/// Why a trial failed, and why there is no profile, were sentences once; format 2 has both forms.
#[test]
fn reasons_of_older_versions_are_told_in_their_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored::second_format(directory.path());
    let record = Store::open(&path).unwrap().run(1).unwrap();
    assert_eq!(record.trials.len(), 2);
    let words = "the server closed the connection while 1024 connections were being opened: Too many \
                 connections (1040)";
    let TrialOutcome::Failed(failure) = &record.trials[1].outcome else { panic!("it failed") };
    assert_eq!(*failure, TrialFailure::told(words));
    let reason = NoProfile::Told { cause: "perf is not installed".to_owned() };
    assert_eq!(record.notes, [Note::NotProfiled { server: 1, reason }]);
    let findings = prony::analyse::analyse(&record);
    for language in [Language::English, Language::Chinese] {
        let options = Options { language, width: 500, ..Options::default() };
        let text = render(&record, &findings, Format::Terminal, &options).unwrap();
        assert!(text.contains(words) && text.contains("38"), "{text}");
    }
    // what is written today is no sentence, and the same when it is read
    let mut store = Store::open(&directory.path().join("today.sqlite")).unwrap();
    let failed = TrialOutcome::Failed(TrialFailure::GivenUp { attempts: 2, cause: Cause::told("no room") });
    let mut events = synthetic::events()[..1].to_vec();
    events.extend([
        Event::TrialStarted { trial: 0 },
        Event::TrialFinished { trial: 0, outcome: Box::new(failed.clone()) },
        Event::Noted(Note::NotProfiled { server: 0, reason: NoProfile::NoSamples }),
    ]);
    let id = write_run(&mut store, &events);
    let record = store.run(id).unwrap();
    assert_eq!(json(&record.trials[0].outcome), json(&failed));
    assert_eq!(record.notes, [Note::NotProfiled { server: 0, reason: NoProfile::NoSamples }]);
}

#[test]
fn runs_of_the_first_format_can_still_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = stored::first_format(directory.path());
    let mut store = Store::open(&path).unwrap();
    let record = store.run(1).unwrap();
    assert_eq!((record.plan.trials.len(), record.trials.len()), (60, 4));
    let findings = prony::analyse::analyse(&record);
    assert_eq!(findings.points.len(), 4);
    let rate = findings.points[0].throughput.value;
    assert!(rate > 100.0, "a stream without times was active all the time: {rate}");
    assert!(record.trials.iter().all(|trial| trial.seconds.len() == 10 && trial.readings.len() == 10));

    // The same run written today is the same but for what today rounds.
    let all = synthetic_load::events();
    let cut = all.iter().position(|event| matches!(event, Event::TrialStarted { trial: 2 })).unwrap();
    let id = write_run(&mut store, &all[..cut]);
    let (then, now) = (store.run(2).unwrap(), store.run(id).unwrap());
    assert_eq!(then.trials.len(), 2);
    for (then, now) in then.trials.iter().zip(&now.trials) {
        assert_eq!(json(&then.outcome), json(&now.outcome));
        assert_eq!(json(&then.seconds), json(&now.seconds));
        assert_eq!(rounded(json(&then.readings)), json(&now.readings));
    }
}

/// A file with one run of a few trials, closed.
fn small_store(directory: &Path) -> PathBuf {
    let path = directory.join("small.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = write_run(&mut store, &synthetic::events()[..60]);
    store.label(id, &["nightly".to_owned()], &[]).unwrap();
    store.annotate(id, "before the new kernel").unwrap();
    store.record(id, &Event::RunFinished { complete: false }).unwrap();
    path
}

/// Everything that a store says.
fn all_of(path: &Path) -> Result<String, Error> {
    let store = Store::open(path)?;
    let list = store.list()?;
    let runs = list.iter().map(|run| store.run(run.id)).collect::<Result<Vec<_>, _>>()?;
    Ok(json(&(list, runs)).to_string())
}

#[test]
fn a_flipped_bit_anywhere_changes_nothing_or_is_said() {
    flipped_bits(60);
}

#[test]
#[ignore = "long: 2000 bits"]
fn two_thousand_flipped_bits_change_nothing_or_are_said() {
    flipped_bits(2000);
}

/// Flips so many bits of a store, one at a time.
fn flipped_bits(bits: u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = small_store(directory.path());
    let whole = fs::read(&path).unwrap();
    let truth = all_of(&path).unwrap();
    let damaged = directory.path().join("damaged.sqlite");
    let (mut said, mut harmless) = (0, 0);
    let mut place = 12_345_usize;
    for _ in 0..bits {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bit = (place >> 20) % (whole.len() * 8);
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(directory.path().join(format!("damaged.sqlite{end}")));
        }
        fs::write(&damaged, bytes).unwrap();
        match all_of(&damaged) {
            Ok(read) => {
                let same = read.bytes().zip(truth.bytes()).take_while(|(one, other)| one == other).count();
                let around = |text: &str| {
                    text.get(same.saturating_sub(60)..(same + 40).min(text.len())).map(str::to_owned)
                };
                assert!(read == truth, "bit {bit}: {:?}, not {:?}", around(&read), around(&truth));
                harmless += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("damaged.sqlite"), "bit {bit}: {error}");
                said += 1;
            }
        }
    }
    assert!(said > bits / 5, "{said} said, {harmless} harmless");
}

#[test]
fn runs_go_from_store_to_store_and_none_twice() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = Store::open(&small_store(directory.path())).unwrap();
    let other_path = directory.path().join("other.sqlite");
    let mut other = Store::open(&other_path).unwrap();
    write_run(&mut other, &synthetic_load::events()[..30]);

    let file = directory.path().join("run.prony");
    one.export(1, &file).unwrap();
    assert!(matches!(one.export(1, &file), Err(Error::Exists { .. })));
    assert!(matches!(one.export(9, &directory.path().join("none")), Err(Error::NoSuchRun { .. })));
    assert_eq!(other.take(&file).unwrap().taken, [(1, 2)]);
    assert_eq!(other.take(&file).unwrap().known, [(1, 2)]);
    let (mut there, here) = (one.run(1).unwrap(), other.run(2).unwrap());
    there.id = 2;
    assert_eq!(json(&there), json(&here));
    assert_eq!(here.labels, ["nightly"]);

    // the other way round, from a store that is open
    let merged = one.take(&other_path).unwrap();
    assert_eq!((merged.taken, merged.known), (vec![(1, 2)], vec![(2, 1)]));
    // of an older format
    let old = stored::first_format(directory.path());
    let before = fs::read(&old).unwrap();
    assert_eq!(one.take(&old).unwrap().taken, [(1, 3), (2, 4)]);
    assert_eq!(fs::read(&old).unwrap(), before, "the source stays as it is");
    assert_eq!(one.take(&old).unwrap().known.len(), 2);
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".part-")), "{names:?}");

    // damaged, or no store at all
    let mut bytes = fs::read(&file).unwrap();
    bytes[20_000..].iter_mut().step_by(512).for_each(|byte| *byte ^= 16);
    let broken = directory.path().join("broken.prony");
    fs::write(&broken, bytes).unwrap();
    let error = Store::open(&directory.path().join("new.sqlite")).unwrap().take(&broken).unwrap_err();
    assert!(error.to_string().contains("broken.prony"), "{error}");
    assert!(matches!(one.take(&directory.path().join("none")), Err(Error::Open { .. })));
}

#[test]
fn a_run_is_found_by_number_label_or_study() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&small_store(directory.path())).unwrap();
    let second = write_run(&mut store, &synthetic::events()[..1]);
    assert_eq!(store.find("last").unwrap(), second);
    assert_eq!(store.find("nightly").unwrap(), 1);
    assert_eq!(store.find("quickstart").unwrap(), second);
    assert_eq!(store.find("1").unwrap(), 1);
    assert!(matches!(store.find("7"), Err(Error::NoSuchRun { id: 7, .. })));
    assert!(store.find("nothing").unwrap_err().to_string().contains("`nothing`"));
    for wrong in ["last", "12", "", "a b", "-x", &"x".repeat(60)] {
        assert!(matches!(store.label(1, &[wrong.to_owned()], &[]), Err(Error::Label { .. })), "{wrong}");
    }
    assert_eq!(
        store.label(1, &["b".to_owned(), "a".to_owned()], &["nightly".to_owned()]).unwrap(),
        ["a", "b"]
    );
    assert_eq!(
        store.list().unwrap()[0].process,
        Some(std::process::id() as i32),
        "this process carries it out"
    );
    assert_eq!(store.list().unwrap()[1].process, None);
}

#[test]
fn a_run_belongs_to_one_process_as_long_as_that_lives() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut store = Store::open(&path).unwrap();
    let own = write_run(&mut store, &synthetic::events()[..1]);
    let refused = Store::open(&path).unwrap().resume(own, Vec::new()).unwrap_err();
    assert!(matches!(refused, Error::Alive { .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");

    let mut child = start_child(&path);
    let begun = Instant::now();
    let id = loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "the child begins no run");
        let first = &store.list().unwrap()[0];
        if first.id != own {
            break first.id;
        }
        thread::sleep(Duration::from_millis(2));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let differs =
        |of, what: &str| Difference { of, what: what.to_owned(), was: Some("1".to_owned()), is: None };
    let kernel = differs(Of::Machine, "kernel");
    let server = differs(Of::Server("a".to_owned()), "version");
    store.resume(id, vec![kernel.clone()]).unwrap();
    store.differs(id, vec![server.clone()]).unwrap();
    assert_eq!(store.run(id).unwrap().resumed[0].differences, [kernel, server]);
    // as older versions kept them
    let old: Difference = serde_json::from_str("\"the kernel\"").unwrap();
    assert_eq!((old.of, old.what.as_str()), (Of::Told, "the kernel"));
}

#[test]
fn a_deleted_run_is_gone_and_its_space_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut store = Store::open(&path).unwrap();
    let first = write_run(&mut store, &synthetic::events());
    let second = write_run(&mut store, &synthetic::events()[..1]);
    store.delete(second).unwrap();
    assert!(matches!(store.run(second), Err(Error::NoSuchRun { .. })));
    assert!(matches!(store.delete(second), Err(Error::NoSuchRun { .. })));
    let third = write_run(&mut store, &synthetic::events()[..1]);
    assert!(third > second, "a number is never given twice");
    let before = fs::metadata(&path).unwrap().len();
    store.delete(first).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < before / 2);
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn passwords_never_reach_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut store = Store::open(&path).unwrap();
    let mut plan = synthetic::plan();
    plan.title = "mysql://root:hunter2@db/".to_owned();
    plan.servers[0].source = prony::plan::ServerSource::Url("mysql://root:hunter2@db/".to_owned());
    let id = store.begin(&plan, &synthetic::machine()).unwrap();
    let cause = "cannot reach mysql://root:hunter2@db/".to_owned();
    let failed = TrialOutcome::Failed(TrialFailure::Load { cause: Cause::told(cause) });
    store.record(id, &Event::TrialFinished { trial: 0, outcome: Box::new(failed) }).unwrap();
    let record = store.run(id).unwrap();
    assert!(!json(&record).to_string().contains("hunter2"));
    assert!(json(&record).to_string().contains("mysql://root:(hidden)@db/"));
    assert!(!json(&store.list().unwrap()).to_string().contains("hunter2"));
}

/// Not a test: what the tests below start as processes of their own. Writes runs until it is killed or has
/// written 2.
#[test]
#[ignore = "helper: a process that another test starts"]
fn child() {
    let Ok(path) = env::var(CHILD) else { return };
    let mut store = Store::open(Path::new(&path)).unwrap();
    for _ in 0..2 {
        write_run(&mut store, &synthetic::events());
    }
}

fn start_child(path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--test-threads", "1"])
        .env(CHILD, path)
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_process_leaves_every_finished_trial() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let path = directory.path().join(format!("{round}.sqlite"));
        let mut child = start_child(&path);
        let begun = Instant::now();
        let done = |path: &Path| {
            let summaries = Store::open(path).unwrap().list().unwrap();
            summaries.last().map_or(0, |first| first.trials_done())
        };
        while done(&path) < 5 + round * 11 {
            assert!(begun.elapsed() < Duration::from_secs(60), "the child writes nothing");
            thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Store::open(&path).unwrap();
        let record = store.run(1).unwrap();
        assert!(record.trials.len() as u32 >= 5 + round * 11);
        for (number, trial) in record.trials.iter().enumerate() {
            assert_eq!(trial.trial.number as usize, number);
            assert_eq!(
                trial.seconds.len(),
                if trial.trial.number == synthetic::FAILED_TRIAL { 0 } else { 10 }
            );
        }
        let intact: String = Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(intact, "ok");
    }
}

#[test]
fn two_processes_use_one_new_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut children = [start_child(&path), start_child(&path)];
    // what is read meanwhile is whole: a run that grows is not taken for a damaged one
    let store = Store::open(&path).unwrap();
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        for run in store.list().unwrap() {
            store.run(run.id).unwrap();
        }
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let summaries = store.list().unwrap();
    assert_eq!(summaries.len(), 4);
    assert!(summaries.iter().all(prony::store::RunSummary::is_complete));
}

/// A process that writes without a pause takes nothing from those that read.
#[test]
fn what_is_read_while_another_process_writes_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut store = Store::open(&path).unwrap();
    write_run(&mut store, &synthetic::events()[..30]);
    let mut child = start_child(&path);
    for _ in 0..20 {
        let runs = store.list().unwrap();
        let opened = Store::open(&path).unwrap();
        assert!(opened.list().unwrap().len() >= runs.len());
        opened.run(runs[0].id).unwrap();
        store.summary(1).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn other_files_are_refused_and_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");

    fs::write(&path, "This is a letter, not a database. ".repeat(100)).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");

    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE accounts (id)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::remove_file(&path).unwrap();
    drop(Store::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("format 99"));
}

#[test]
fn damage_inside_is_found_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let id = write_run(&mut Store::open(&path).unwrap(), &synthetic::events()[..40]);
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "UPDATE part SET bytes = substr(bytes, 1, length(bytes) - 9) WHERE kind = 'samples' AND number \
             = 0",
        )
        .unwrap();
    let error = Store::open(&path).unwrap().run(id).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("run 1, samples of 0"), "{error}");
}

/// What a server's counters do: each at a level of its own, noisy.
fn busy_reading(second: u32) -> prony::telemetry::Reading {
    let noise = |n: u32| f64::from((second * 977 + n).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let rate = |n: u32| {
        (format!("node/server/status/counter_{n}"), 40_000.0 / f64::from(n + 1) * (1.0 + 0.1 * noise(n)))
    };
    prony::telemetry::Reading {
        at: Duration::from_secs_f64(f64::from(second) + 1.0 + 0.001 * noise(3)),
        length: Duration::from_secs_f64(1.0 + 0.001 * noise(4)),
        values: (0..130).map(rate).collect(),
    }
}

/// One trial as it really is: 600 transactions of 7 statements per second for 60 s after 10 s of warm-up, 130
/// figures of machine and server each second. 1000 of them have to fit into 100 MB.
#[test]
fn a_trial_of_a_minute_is_small() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prony.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&synthetic::plan(), &synthetic::machine()).unwrap();
    let trial = synthetic::plan().trials[0];
    let mut events = Vec::new();
    synthetic::trial_events(&synthetic::plan(), trial, &mut events);
    let Some(Event::TrialSample { sample, .. }) =
        events.iter().find(|e| matches!(e, Event::TrialSample { .. }))
    else {
        panic!("a trial has samples")
    };
    store.record(id, &events[0]).unwrap();
    for second in 0..70 {
        let sample = Box::new(synthetic::busy_second(sample, second));
        store.record(id, &Event::TrialSample { trial: trial.number, sample }).unwrap();
        let reading = Box::new(busy_reading(second));
        store.record(id, &Event::TrialReading { trial: trial.number, reading }).unwrap();
    }
    store.record(id, events.last().unwrap()).unwrap();
    // a row takes its pages, of 4096 bytes each, whole
    let sql = "SELECT sum((length(bytes) + 4095 + 200) / 4096 * 4096) FROM part
               WHERE kind IN ('trial', 'outcome', 'samples', 'readings')";
    let bytes: i64 = Connection::open(&path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
    println!("a trial of a minute takes {bytes} bytes");
    assert!(bytes < 100_000, "a trial of a minute takes {bytes} bytes");
}
