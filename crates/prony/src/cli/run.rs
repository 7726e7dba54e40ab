//! `prony run` and `prony plan`: a study from its file to its report.

use super::{
    doctor,
    failure::{Failure, chain},
    flags::{StoreOptions, StudyOptions},
    foresee::{self, Foreseen},
    interrupt,
    progress::RunProgress,
    resume, server,
    stored::make_store,
    terminal::{self, aside, print, write},
};
use crate::{
    analyse, escape,
    live::Teller,
    plan::{self, Plan, ServerSource},
    provision::{
        Provisioner,
        target::{self, Entrusted},
    },
    report::{self, Format, Language, Words},
    run,
    store::{self, Store},
    study::Adjustments,
    telemetry::Machine,
};
use clap::Args;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony run quickstart\n  prony run pool.toml --scale quick\n  prony \
                        run pool.toml --set measure.repeats=5 --write pool.html\n  prony run pool.toml \
                        --resume")]
pub(super) struct RunOptions {
    #[command(flatten)]
    study: StudyOptions,
    #[command(flatten)]
    store: StoreOptions,
    /// Resume this study's last run: execute only the missing trials
    #[arg(long)]
    resume: bool,
    /// Profile each server with perf where its throughput is highest, and draw a flame graph (`--set
    /// telemetry.profile=true`)
    #[arg(long)]
    profile: bool,
    /// With --resume: resume although the study's settings, a server or the machine changed; the differences
    /// are recorded in the run
    #[arg(long, requires = "resume")]
    anyway: bool,
    /// Language of the report: en or zh [default: the environment's; of a page, the browser's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// Where to write the HTML report [default: prony-STUDY-RUN.html in the current directory, or in the
    /// directory of --store]
    #[arg(long, alias = "report", value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print the findings as JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Set the exit code by the study's claims: 0 all supported, 3 one refuted, 4 one open
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony plan quickstart\n  prony plan pool.toml --scale published --json")]
pub(super) struct PlanOptions {
    #[command(flatten)]
    study: StudyOptions,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn plan(options: &PlanOptions) -> Result<(), Failure> {
    let plan = read(&options.study)?;
    let words = Words::of_environment();
    announce_passwords(&plan, words)?;
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&plan).expect("a plan is JSON")))?;
    } else {
        let provisioner = Provisioner::new().map_err(|error| Failure::cannot_begin(chain(&error)))?;
        let foreseen = Foreseen::of(&plan, &provisioner)?;
        foreseen.check_settings(&provisioner, &options.study)?;
        print(&format!("{}{}", plan::render(&plan, words.language()), foreseen.text(words)))?;
        foreseen.check()?;
    }
    Ok(())
}

pub(super) fn run(options: &RunOptions) -> Result<(), Failure> {
    let words = Words::of(terminal::look(options.language, None).language);
    let mut plan = read(&options.study)?;
    if options.profile {
        plan.telemetry.profile = true;
        plan.set.push("telemetry.profile=true".to_owned());
    }
    if options.check && plan.claims.is_empty() {
        return Err(Failure::cannot_begin("the study has no [[claim]] to check"));
    }
    announce_passwords(&plan, words)?;
    let mut store = make_store(&options.store)?;
    let provisioner = Provisioner::new().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let foreseen = Foreseen::of(&plan, &provisioner)?;
    foreseen.check_settings(&provisioner, &options.study)?;
    foreseen.check()?;
    let lacks = foreseen.lacks(words);
    if !lacks.is_empty() {
        aside(lacks.trim());
    }
    provisioner.sweep().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    server::restore(&provisioner)?;
    let machine = Machine::of_this_host();
    let mut earlier =
        options.resume.then(|| resume::earlier(&mut store, &plan, &machine, options.anyway)).transpose()?;
    let (id, done, notes) = match &mut earlier {
        Some(earlier) => (earlier.id, std::mem::take(&mut earlier.done), std::mem::take(&mut earlier.notes)),
        None => {
            let begun = store.begin(&plan, &machine);
            (begun?, Vec::new(), Vec::new())
        }
    };
    announce(&plan, id, done.len(), &store, words);
    for note in doctor::remark(&provisioner.places().instances(), words) {
        store.record(id, &run::Event::Noted(note)).map_err(|error| Failure::failed(chain(&error)))?;
    }
    let stop = interrupt::stop_on_signals();
    let provisioner = provisioner.heeding(Arc::clone(&stop)).encrypted(plan.is_encrypted());
    let total = missing(&plan, done.len()) as u32;
    let mut progress = RunProgress::new(total, words);
    let mut teller = Teller::new(store.telling(id), total);
    let mut begun = false;
    let before = run::Done { trials: &done, notes: &notes };
    let result = run::carry_out(&plan, &machine, before, &provisioner, &stop, &mut |event| {
        begun |= matches!(event, run::Event::TrialFinished { .. });
        if let Some(earlier) = &earlier {
            earlier.check(&mut store, event)?;
        }
        store.record(id, event)?;
        teller.tell(event);
        progress.show(event);
        Ok(())
    });
    drop(progress);
    match result {
        Ok(()) => finish(&store, id, &plan, options),
        Err(error) => Err(broken_off(&error, begun, id, words)),
    }
}

/// A run that ended early: what was stored, and how to resume it.
fn broken_off(error: &run::Error, begun: bool, id: i64, words: Words) -> Failure {
    // what cannot be stored breaks off a run that is in the store by then
    let is_unstored = matches!(error, run::Error::Reader(cause) if cause.is::<store::Error>());
    let told = |key| format!("\n{}", words.progress(key, &[("id", &id.to_string())]));
    let kept = match (begun, is_unstored) {
        (true, _) => told("kept"),
        (false, true) => told("kept_none"),
        (false, false) => String::new(),
    };
    match error {
        run::Error::Interrupted => {
            Failure::interrupted(format!("{}{kept}", words.progress("interrupted", &[])))
        }
        error if begun || is_unstored => Failure::failed(format!("{}{kept}", chain(error))),
        error => Failure::cannot_begin(chain(error)),
    }
}

fn read(options: &StudyOptions) -> Result<Plan, Failure> {
    let adjustments = Adjustments { scale: options.scale.clone(), set: options.set.clone() };
    Ok(Plan::from_study(&foresee::open(&options.study, &adjustments)?))
}

/// Warns before a password that is not the study's is sent to anybody.
fn announce_passwords(plan: &Plan, words: Words) -> Result<(), Failure> {
    for server in &plan.servers {
        let ServerSource::Url(url) = &server.source else { continue };
        let entrusted = target::entrusted(url).map_err(|error| Failure::cannot_begin(chain(&error)))?;
        if let Some(Entrusted { address, source }) = entrusted {
            let (source, address) = (source.to_string(), address.to_string());
            let places = [("server", &*server.name), ("source", &source), ("address", &address)];
            aside(words.progress("password", &places));
        }
    }
    Ok(())
}

fn announce(plan: &Plan, id: i64, done: usize, store: &Store, words: Words) {
    let share = missing(plan, done) as f64 / plan.trials.len().max(1) as f64;
    aside(words.either(&plan.title, &plan.title_zh));
    for line in plan::servers_elsewhere(plan, words.language()) {
        aside(format_args!("{line}"));
    }
    let trials = words.counted("trials", missing(plan, done) as u64, &[]);
    let (id, time) = (id.to_string(), words.takes(&plan::time(plan, share)));
    let store = store.path().display().to_string();
    let places = [("id", &*id), ("trials", &trials), ("time", &time), ("store", &store)];
    aside(words.progress("begun", &places));
    if plan.repetition.precision.is_some() {
        aside(words.counted("precision", plan.trials_at_most().len() as u64, &[]));
    }
    if done > 0 {
        aside(words.counted("not_repeated", done as u64, &[]));
    }
}

/// Trials of the plan that remain after this many have ended.
fn missing(plan: &Plan, done: usize) -> usize {
    plan.trials.len().saturating_sub(done)
}

fn finish(store: &Store, id: i64, plan: &Plan, options: &RunOptions) -> Result<(), Failure> {
    let record = store.run(id).map_err(|error| Failure::failed(chain(&error)))?;
    let findings = analyse::analyse(&record);
    let look = terminal::look(options.language, None);
    let format = if options.json { Format::Json } else { Format::Terminal };
    print(&format!("{}\n", report::render(&record, &findings, format, &look)?.trim_end()))?;
    let path = report_path(options, plan, id);
    let html = report::render(&record, &findings, Format::Html, &look)?;
    write(&path, &html).map_err(|failure| {
        failure.with(&format!("; `prony report {id} --format html --write FILE` writes it to another place"))
    })?;
    let words = Words::of(look.language);
    let place = escape::line(&absolute(&path).display().to_string());
    aside(format_args!("\n{}", words.progress("report", &[("path", &place)])));
    // one that failed or was invalid and then was repeated well is no failure of the run
    let (unmeasured, all) = record.unmeasured();
    if unmeasured > 0 {
        let trials = words.counted("trials", all as u64, &[]);
        return Err(Failure::failed(words.counted("unmeasured", unmeasured as u64, &[("trials", &trials)])));
    }
    if options.check { super::report::check(&findings, words) } else { Ok(()) }
}

/// Where the report goes: beside the store, if --store names a directory.
fn report_path(options: &RunOptions, plan: &Plan, id: i64) -> PathBuf {
    let usual = || {
        let directory = options.store.directory().unwrap_or(Path::new(""));
        directory.join(format!("prony-{}-{id}.html", plan.name))
    };
    options.write.clone().unwrap_or_else(usual)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
