//! Starts a study and stops it. A run is `prony run` in a separate process that cannot outlive this one; its
//! plan is what `prony plan` prints. One run at a time: two would measure each other.

use super::{
    Shared, list, locked, pages,
    refusal::{Missing, Refusal, Senseless},
};
use crate::{
    provision::trampoline::{self, Bond},
    report::Words,
    store::{RunState, RunSummary},
    study::{self, Adjustments},
};
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, kill_process},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _, Seek as _},
    path::Path as FilePath,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// How long a page waits for the run that it has started to be in the store; what is fetched and made before
/// takes longer at times.
const BEGIN_MAX: Duration = Duration::from_secs(20);
const BEGIN_EVERY: Duration = Duration::from_millis(200);
/// How often to check a run that should end.
const END_EVERY: Duration = Duration::from_millis(100);
/// Files of studies that are offered, and how large one may be.
const FILES_MAX: usize = 200;
const FILE_MAX: u64 = 1 << 20;
/// Settings that a form may have, and length of each.
const SET_MAX: usize = 100;
/// Most bytes of a run's last output that are shown.
const WORDS_MAX: usize = 4000;

/// A run that was started here.
#[derive(Debug)]
pub(super) struct Started {
    process: Child,
    /// What it prints beside its result.
    said: File,
    /// Its number in the store, as soon as it has one.
    run: Option<i64>,
    /// How it ended.
    ended: Option<ExitStatus>,
}

impl Started {
    /// Whether it is running. Notes its end.
    fn goes_on(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.process.try_wait().unwrap_or_default();
        }
        self.ended.is_none()
    }

    /// Asks it to end; finished trials stay stored.
    fn stop(&mut self) {
        // it is still ours to wait for, so the number is its own
        if let (true, Ok(Some(pid))) = (self.goes_on(), i32::try_from(self.process.id()).map(Pid::from_raw)) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// The last of what it said.
    fn words(&mut self) -> String {
        let mut text = Vec::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_end(&mut text));
        let text = read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        let first = text.len().saturating_sub(WORDS_MAX);
        let first = (first..=text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(0);
        text[first..].trim().to_owned()
    }
}

/// What a form says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    study: String,
    scale: Option<String>,
    #[serde(default)]
    set: Vec<String>,
    /// Whether the study's last run is to be resumed.
    #[serde(skip)]
    resume: bool,
}

impl Wanted {
    /// Only studies that are offered, and no word that the command line would take for another option.
    fn checked(body: &[u8], shared: &Shared) -> Result<Self, Refusal> {
        let wanted: Self = super::read(body)?;
        let is_builtin = study::builtin().iter().any(|study| study.name == wanted.study);
        if !is_builtin && !files(&shared.options.directory).contains(&wanted.study) {
            return Err(Missing::Study(wanted.study).into());
        }
        if wanted.set.len() > SET_MAX || wanted.set.iter().any(|set| !set.contains('=')) {
            return Err(Senseless::Settings.into());
        }
        Ok(wanted)
    }

    /// What a run that did not end was started with; only the last run of a study can be resumed.
    fn of_run(shared: &Shared, id: i64) -> Result<Self, Refusal> {
        let summary = shared.summary(id)?;
        match summary.state() {
            RunState::Running => return Err(Refusal::Running(id)),
            RunState::Complete => return Err(Missing::Rest(id).into()),
            _ => {}
        }
        let name = summary.name;
        let last = shared.runs()?.iter().filter(|run| run.name == name).map(|run| run.id).max();
        if let Some(last) = last.filter(|last| *last != id) {
            return Err(Refusal::NotLast(last));
        }
        let file = format!("{name}.toml");
        let is_builtin = study::builtin().iter().any(|study| study.name == name);
        let study = match files(&shared.options.directory).contains(&file) {
            true => file,
            false if is_builtin => name,
            false => return Err(Missing::Study(file).into()),
        };
        let plan = shared.store()?.run(id)?.plan;
        Ok(Self { study, scale: plan.scale, set: plan.set, resume: true })
    }

    /// What follows `prony run` or `prony plan`.
    fn words(&self) -> Vec<String> {
        let scale = self.scale.iter().map(|scale| format!("--scale={scale}"));
        let set = self.set.iter().map(|set| format!("--set={set}"));
        let resume = self.resume.then(|| "--resume".to_owned());
        resume.into_iter().chain(scale).chain(set).chain(["--".to_owned(), self.study.clone()]).collect()
    }
}

/// Names of files in the directory that look like studies.
fn files(directory: &FilePath) -> BTreeSet<String> {
    let found = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let named = found.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_small = entry.metadata().is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX);
        (name.ends_with(".toml") && !name.starts_with('.') && is_small).then_some(name)
    });
    let is_study = |name: &String| {
        let text = fs::read_to_string(directory.join(name)).unwrap_or_default();
        table(&text).is_some_and(|table| {
            ["server", "workload", "measure", "vary"].iter().any(|key| table.contains_key(*key))
        })
    };
    named.filter(is_study).take(FILES_MAX).collect()
}

fn table(text: &str) -> Option<toml::Table> {
    text.parse().ok()
}

/// A study as the form offers it.
fn offered(name: &str, path: &str, text: &str) -> Value {
    let table = table(text).unwrap_or_default();
    let scales: Vec<&String> = table
        .get("scale")
        .and_then(toml::Value::as_table)
        .map(|scales| scales.keys().collect())
        .unwrap_or_default();
    let said = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let mistakes = study::parse(name, path, text, &Adjustments::default()).err();
    json!({
        "name": path,
        "title": said("title"),
        "title_zh": said("title_zh"),
        "scales": scales,
        "is_wrong": mistakes.is_some(),
    })
}

/// Studies that can be started: the built-in ones, and files in the directory.
pub(super) async fn studies(State(shared): State<Arc<Shared>>) -> Result<Response, Refusal> {
    static BUILTIN: OnceLock<Value> = OnceLock::new();
    let studies = shared.work(|shared| {
        let builtin = BUILTIN.get_or_init(|| {
            study::builtin().iter().map(|study| offered(study.name, study.name, study.text)).collect()
        });
        let directory = &shared.options.directory;
        let own = files(directory).into_iter().map(|name| {
            let text = fs::read_to_string(directory.join(&name)).unwrap_or_default();
            offered(name.trim_end_matches(".toml"), &name, &text)
        });
        Ok(json!({ "builtin": builtin, "files": own.collect::<Value>() }))
    });
    Ok(list::answer(&studies.await?))
}

/// What a study would do, or what is wrong with it: the words of `prony plan`.
pub(super) async fn plan(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let wanted = Wanted::checked(&body, &shared)?;
    let language = Words::of(pages::look(&headers).language).code();
    let text = shared.work(move |shared| {
        let output = Command::new(&shared.options.program)
            .arg("plan")
            .args(wanted.words())
            .current_dir(&shared.options.directory)
            .env("LC_ALL", language)
            .stdin(Stdio::null())
            .output()
            .map_err(|cause| Refusal::Machine { what: "cannot start prony plan", cause })?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(Refusal::Study(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
        }
    });
    Ok(list::answer(&json!({ "text": text.await? })))
}

/// Starts a run, and answers with its number as soon as it has one.
pub(super) async fn start(State(shared): State<Arc<Shared>>, body: Bytes) -> Result<Response, Refusal> {
    let wanted = Wanted::checked(&body, &shared)?;
    launch(&shared, &wanted).await
}

/// Resumes a run with what it was started with.
pub(super) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<i64>,
) -> Result<Response, Refusal> {
    let wanted = shared.work(move |shared| Wanted::of_run(shared, id)).await?;
    launch(&shared, &wanted).await
}

async fn launch(shared: &Arc<Shared>, wanted: &Wanted) -> Result<Response, Refusal> {
    if let Some(other) = shared.work(Shared::running).await? {
        return Err(Refusal::Running(other.id));
    }
    begin(shared, wanted).map_err(|refusal| match refusal {
        Ok(refusal) => refusal,
        Err(cause) => Refusal::Machine { what: "cannot start prony run", cause },
    })?;
    let begun = Instant::now();
    while begun.elapsed() < BEGIN_MAX {
        sleep(BEGIN_EVERY).await;
        let found = shared.work(|shared| Ok(begun_as(shared))).await?;
        if let Some(run) = found? {
            return Ok(list::answer(&json!({ "run": run })));
        }
    }
    Ok(list::answer(&json!({ "run": null })))
}

/// Starts the process, unless one is running.
fn begin(shared: &Shared, wanted: &Wanted) -> Result<(), Result<Refusal, io::Error>> {
    let mut started = locked(&shared.started);
    if let Some(before) = started.as_mut()
        && before.goes_on()
    {
        return Err(Ok(before.run.map_or(Refusal::Starting, Refusal::Running)));
    }
    let said = memfd_create("prony run", MemfdFlags::CLOEXEC).map_err(|error| Err(error.into()))?;
    let said = File::from(said);
    let program = &shared.options.program;
    let mut command = trampoline::command(program, Bond::Owner, program, None);
    // the report is made of the store whenever somebody looks at it
    command.arg("run").arg("--store").arg(&shared.options.store).args(["--write", "/dev/null"]);
    command.args(wanted.words()).current_dir(&shared.options.directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(Err)?);
    let process = trampoline::spawn(command, Bond::Owner).map_err(Err)?;
    *started = Some(Started { process, said, run: None, ended: None });
    Ok(())
}

/// The number of the run that was started last; `None`: it has none yet. One that has ended without is wrong.
fn begun_as(shared: &Shared) -> Result<Option<i64>, Refusal> {
    let runs = shared.runs()?;
    let mut started = locked(&shared.started);
    let Some(started) = started.as_mut() else { return Ok(None) };
    let pid = i32::try_from(started.process.id()).ok();
    let goes_on = started.goes_on();
    if started.run.is_none() {
        started.run = runs.iter().find(|run| run.process.is_some() && run.process == pid).map(|run| run.id);
    }
    match (started.run, goes_on) {
        (None, false) => Err(Refusal::Study(started.words())),
        (run, _) => Ok(run),
    }
}

/// Whether this server has started a run.
pub(super) fn is_ours(shared: &Shared, run: &RunSummary) -> bool {
    let pid = locked(&shared.started).as_ref().and_then(|started| i32::try_from(started.process.id()).ok());
    pid.is_some() && run.process == pid
}

/// The last output of a failed run that was started here.
pub(super) fn last_words(shared: &Shared, run: i64) -> Option<String> {
    let mut started = locked(&shared.started);
    let started = started.as_mut().filter(|started| started.run == Some(run))?;
    let failed = !started.goes_on() && started.ended.is_some_and(|status| !status.success());
    failed.then(|| started.words())
}

/// Stops a run: it ends within seconds, and what it has measured stays.
pub(super) async fn stop(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<i64>,
) -> Result<Response, Refusal> {
    let summary = shared.work(move |shared| shared.summary(id)).await?;
    match (summary.state(), summary.process) {
        (RunState::Running, Some(process)) if !is_ours(&shared, &summary) => {
            Err(Refusal::NotOurs { run: id, process })
        }
        (RunState::Running, _) => {
            if let Some(started) = locked(&shared.started).as_mut() {
                started.stop();
            }
            Ok(list::answer(&json!({ "stopping": id })))
        }
        _ => Err(Missing::Process(id).into()),
    }
}

/// Ends the run that was started here, and waits for it: its servers are stopped in order.
pub(super) async fn end(shared: &Shared) {
    let goes_on = || locked(&shared.started).as_mut().is_some_and(Started::goes_on);
    if let Some(started) = locked(&shared.started).as_mut() {
        started.stop();
    }
    while goes_on() {
        sleep(END_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_of_the_directory_are_offered_and_other_files_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write(
            "pool.toml",
            "title = \"Pool\"\n[server.a]\nproduct = \"mariadb\"\n[scale.quick]\n[scale.bench]\n",
        );
        write("Cargo.toml", "[package]\nname = \"x\"\n");
        write("notes.txt", "[server.a]\n");
        write("broken.toml", "[server\n");
        assert_eq!(files(directory.path()), BTreeSet::from(["pool.toml".to_owned()]));
        let text = fs::read_to_string(directory.path().join("pool.toml")).unwrap();
        let value = offered("pool", "pool.toml", &text);
        assert_eq!((&value["title"], &value["scales"]), (&json!("Pool"), &json!(["bench", "quick"])));
    }

    #[test]
    fn no_word_of_a_form_becomes_an_option() {
        let wanted = Wanted {
            study: "--store=/x".to_owned(),
            scale: Some("--json".to_owned()),
            set: vec!["--write=x".to_owned()],
            resume: false,
        };
        assert_eq!(wanted.words(), ["--scale=--json", "--set=--write=x", "--", "--store=/x"]);
    }
}
