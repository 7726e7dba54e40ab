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
    plan::{self, Plan, ServerSource},
    provision::{
        Provisioner,
        target::{self, Entrusted},
    },
    report::{self, Format, Language, number},
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
    /// Go on with this study's last run, doing only the trials that are missing
    #[arg(long)]
    resume: bool,
    /// Profile each server where its throughput is highest, with perf, and draw a flame graph (`--set
    /// telemetry.profile=true`)
    #[arg(long)]
    profile: bool,
    /// With --resume: go on although the study's settings, a server or the machine changed; the run keeps
    /// what was different
    #[arg(long, requires = "resume")]
    anyway: bool,
    /// Language of the report: en or zh
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    language: Language,
    /// Where to write the HTML report [default: prony-STUDY-RUN.html here, or in the directory of --store]
    #[arg(long, alias = "report", value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print the findings as JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Let the exit code follow the study's claims: 0 all are supported, 3 one is refuted, 4 one is open
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
    announce_passwords(&plan)?;
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&plan).expect("a plan is JSON")))?;
    } else {
        let provisioner = Provisioner::new().map_err(|error| Failure::cannot_begin(chain(&error)))?;
        let foreseen = Foreseen::of(&plan, &provisioner)?;
        foreseen.check_settings(&provisioner, &options.study)?;
        print(&format!("{}{}", plan::render(&plan), foreseen.text()))?;
        foreseen.check()?;
    }
    Ok(())
}

pub(super) fn run(options: &RunOptions) -> Result<(), Failure> {
    let mut plan = read(&options.study)?;
    plan.telemetry.profile |= options.profile;
    if options.check && plan.claims.is_empty() {
        return Err(Failure::cannot_begin(
            "the study claims nothing that could be checked: it has no [[claim]]",
        ));
    }
    announce_passwords(&plan)?;
    let mut store = make_store(&options.store)?;
    let provisioner = Provisioner::new().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let foreseen = Foreseen::of(&plan, &provisioner)?;
    foreseen.check_settings(&provisioner, &options.study)?;
    foreseen.check()?;
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
    announce(&plan, id, done.len(), &store);
    for note in doctor::remark(&provisioner.places().instances()) {
        store.record(id, &run::Event::Noted(note)).map_err(|error| Failure::failed(chain(&error)))?;
    }
    let stop = interrupt::stop_on_signals();
    let provisioner = provisioner.heeding(Arc::clone(&stop)).encrypted(plan.is_encrypted());
    let mut progress = RunProgress::new(missing(&plan, done.len()) as u32);
    let mut begun = false;
    let before = run::Done { trials: &done, notes: &notes };
    let result = run::carry_out(&plan, &machine, before, &provisioner, &stop, &mut |event| {
        begun |= matches!(event, run::Event::TrialFinished { .. });
        if let Some(earlier) = &earlier {
            earlier.check(&mut store, event)?;
        }
        store.record(id, event)?;
        progress.show(event);
        Ok(())
    });
    drop(progress);
    match result {
        Ok(()) => finish(&store, id, &plan, options),
        Err(error) => Err(broken_off(&error, begun, id)),
    }
}

/// A run that could not go on: what is kept, and how to go on.
fn broken_off(error: &run::Error, begun: bool, id: i64) -> Failure {
    // what cannot be stored breaks off a run that is in the store by then
    let is_unstored = matches!(error, run::Error::Reader(cause) if cause.is::<store::Error>());
    let kept = match (begun, is_unstored) {
        (true, _) => format!(
            "\nthe trials that had finished are kept as run {id}; `prony report {id}` shows them, --resume \
             goes on"
        ),
        (false, true) => format!("\nrun {id} has no finished trial yet; --resume carries it out"),
        (false, false) => String::new(),
    };
    match error {
        run::Error::Interrupted => Failure::interrupted(format!("interrupted{kept}")),
        error if begun || is_unstored => Failure::failed(format!("{}{kept}", chain(error))),
        error => Failure::cannot_begin(chain(error)),
    }
}

fn read(options: &StudyOptions) -> Result<Plan, Failure> {
    let adjustments = Adjustments { scale: options.scale.clone(), set: options.set.clone() };
    Ok(Plan::from_study(&foresee::open(&options.study, &adjustments)?))
}

/// Who will be told a password that is not the study's own, before anybody is.
fn announce_passwords(plan: &Plan) -> Result<(), Failure> {
    for server in &plan.servers {
        let ServerSource::Url(url) = &server.source else { continue };
        let entrusted = target::entrusted(url).map_err(|error| Failure::cannot_begin(chain(&error)))?;
        if let Some(Entrusted { address, source }) = entrusted {
            aside(format_args!(
                "server {}: the password in {source} is used to log in to {address}, which only the study \
                 names",
                server.name
            ));
        }
    }
    Ok(())
}

fn announce(plan: &Plan, id: i64, done: usize, store: &Store) {
    let share = missing(plan, done) as f64 / plan.trials.len().max(1) as f64;
    aside(format_args!("{}", plan.title));
    for line in plan::servers_elsewhere(plan) {
        aside(format_args!("{line}"));
    }
    aside(format_args!(
        "run {id}: {}, {}; kept in {}",
        number::counted(missing(plan, done) as u64, "trial"),
        plan::time_words(plan, share),
        store.path().display()
    ));
    if plan.repetition.precision.is_some() {
        let most = plan.trials_at_most().len();
        aside(format_args!("more, up to {most} trials, until the intervals are narrow enough"));
    }
    if done > 0 {
        let have = if done == 1 { "has" } else { "have" };
        aside(format_args!(
            "not repeated: {} that {have} finished before",
            number::counted(done as u64, "trial")
        ));
    }
}

/// Trials of the plan that are left where so many have ended.
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
        failure.with(&format!("; `prony report {id} --format html --write FILE` writes it elsewhere"))
    })?;
    aside(format_args!("\nreport: {}", escape::line(&absolute(&path).display().to_string())));
    // one that failed or was invalid and then was repeated well is no failure of the run
    let (unmeasured, all) = record.unmeasured();
    if unmeasured > 0 {
        let trials = number::counted(all as u64, "trial");
        return Err(Failure::failed(format!(
            "{unmeasured} of {trials} could not be measured; the report says why, and --resume tries again"
        )));
    }
    if options.check { super::report::check(&findings) } else { Ok(()) }
}

/// Where the report goes: beside the store, where a directory is named for that.
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
