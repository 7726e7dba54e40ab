//! The runs of the store, as the application shows them: a list, with a small curve for each visible run.

use super::{
    Shared, locked,
    refusal::{Missing, Refusal, Senseless},
};
use crate::{
    run::TrialOutcome,
    store::{RunState, RunSummary, Store},
};
use axum::{
    extract::{Path, RawQuery, State},
    http::{HeaderMap, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path as FilePath,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use url::form_urlencoded;

/// How long a list with runs that go on holds: a process that is killed changes no file.
const HOLDS: Duration = Duration::from_secs(2);
/// Curves that are made for one request.
const SPARKS_MAX: usize = 60;
/// Curves that are kept.
const SPARKS_KEPT: usize = 5000;

/// What the files of the store looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pulse([Option<(SystemTime, u64)>; 2]);

/// All runs, as they were read from files that looked like this.
#[derive(Debug, Clone)]
struct Listed {
    read: Instant,
    pulse: Pulse,
    runs: Arc<Vec<RunSummary>>,
}

/// The list as it was read last.
#[derive(Debug, Default)]
pub(super) struct Cache {
    listed: Option<Listed>,
    /// Curves by the run's own name and how many trials it had.
    sparks: HashMap<(String, u32), Value>,
}

/// What changes when something is written to the store.
pub(super) fn pulse(store: &FilePath) -> Pulse {
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    Pulse([store, FilePath::new(&log)].map(|file| {
        let found = fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len()))
    }))
}

impl Shared {
    /// All runs, the last one first.
    pub(super) fn runs(&self) -> Result<Arc<Vec<RunSummary>>, Refusal> {
        let pulse = pulse(&self.options.store);
        let known = locked(&self.list).listed.clone().filter(|known| known.pulse == pulse);
        if let Some(Listed { read: began, runs, .. }) = known {
            let mut alive = runs.iter().filter(|run| run.process.is_some()).peekable();
            if alive.peek().is_none() || began.elapsed() < HOLDS {
                return Ok(runs);
            }
            let store = self.store()?;
            let goes_on = |run: &RunSummary| Ok::<_, Refusal>(store.summary(run.id)?.process == run.process);
            if alive.map(goes_on).collect::<Result<Vec<_>, _>>()?.into_iter().all(|goes_on| goes_on) {
                return Ok(self.keep(pulse, runs));
            }
        }
        let runs = Arc::new(self.store()?.list()?);
        Ok(self.keep(pulse, runs))
    }

    fn keep(&self, pulse: Pulse, runs: Arc<Vec<RunSummary>>) -> Arc<Vec<RunSummary>> {
        locked(&self.list).listed = Some(Listed { read: Instant::now(), pulse, runs: Arc::clone(&runs) });
        runs
    }

    /// One of them.
    pub(super) fn summary(&self, id: i64) -> Result<RunSummary, Refusal> {
        let found = self.runs()?.iter().find(|run| run.id == id).cloned();
        found.ok_or_else(|| Missing::Run(id).into())
    }

    /// The one that goes on.
    pub(super) fn running(&self) -> Result<Option<RunSummary>, Refusal> {
        Ok(self.runs()?.iter().find(|run| run.state() == RunState::Running).cloned())
    }
}

/// JSON as a response.
pub(super) fn answer(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn shown(run: &RunSummary) -> Value {
    json!({
        "id": run.id,
        "name": run.name,
        "title": run.title,
        "origin": run.origin,
        "started": run.started.to_string(),
        "finished": run.finished.map(|at| at.to_string()),
        "state": run.state(),
        "process": run.process,
        "labels": run.labels,
        "note": run.note,
        "measured": run.trials_measured,
        "failed": run.trials_failed,
        "planned": run.trials_planned,
    })
}

/// Who asks, and whom.
pub(super) async fn me(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    answer(&json!({
        "has_token": shared.guard.has_token(&headers),
        "store": shared.options.store.display().to_string(),
        "directory": shared.options.directory.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// Every run.
pub(super) async fn runs(State(shared): State<Arc<Shared>>) -> Result<Response, Refusal> {
    let runs = shared.work(Shared::runs).await?;
    Ok(answer(&runs.iter().map(shown).collect()))
}

/// One run, with what its plan says of it.
pub(super) async fn run(State(shared): State<Arc<Shared>>, Path(id): Path<i64>) -> Result<Response, Refusal> {
    let value = shared.work(move |shared| {
        let summary = shared.summary(id)?;
        let plan = shared.store()?.plan(id)?;
        let mut value = shown(&summary);
        value["title_zh"] = json!(plan.title_zh);
        value["scale"] = json!(plan.scale);
        value["ours"] = json!(super::start::is_ours(shared, &summary));
        Ok(value)
    });
    Ok(answer(&value.await?))
}

/// Small curves of the runs `?ids=1,2,3`.
pub(super) async fn sparks(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let ids = numbers(query.as_deref(), "ids")?;
    if ids.len() > SPARKS_MAX {
        return Err(Senseless::TooMany { most: SPARKS_MAX }.into());
    }
    let found = shared.work(move |shared| {
        let (runs, store) = (shared.runs()?, shared.store()?);
        let mut found = Map::new();
        for run in runs.iter().filter(|run| ids.contains(&run.id)) {
            let key = (run.uid.clone(), run.trials_done());
            let known = locked(&shared.list).sparks.get(&key).cloned();
            let curve = known.map_or_else(|| curve(&store, run.id), Ok)?;
            let kept = &mut locked(&shared.list).sparks;
            if kept.len() >= SPARKS_KEPT {
                kept.clear();
            }
            kept.insert(key, curve.clone());
            found.insert(run.id.to_string(), curve);
        }
        Ok(Value::Object(found))
    });
    Ok(answer(&found.await?))
}

/// Whole numbers with commas between them, of one key of a query.
pub(super) fn numbers(query: Option<&str>, key: &str) -> Result<Vec<i64>, Refusal> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let text: Vec<String> =
        pairs.filter(|(name, _)| name == key).map(|(_, value)| value.into_owned()).collect();
    let words = text.iter().flat_map(|text| text.split(',')).filter(|word| !word.is_empty());
    let wrong = || Refusal::from(Senseless::Numbers { key: key.to_owned() });
    words.map(|word| word.parse().map_err(|_| wrong())).collect()
}

/// Transactions in a second of each treatment, in the plan's order, by server.
fn curve(store: &Store, id: i64) -> Result<Value, Refusal> {
    let plan = store.plan(id)?;
    let mut rates: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (trial, outcome) in store.outcomes(id)? {
        if let TrialOutcome::Measured { outcome, .. } = outcome {
            rates.entry(trial.treatment).or_default().push(crate::live::Figures::of(&outcome).rate);
        }
    }
    let mut servers: Vec<Vec<Option<f64>>> = vec![Vec::new(); plan.servers.len()];
    for (index, treatment) in plan.treatments.iter().enumerate() {
        let mean = rates.get(&index).map(|rates| rates.iter().sum::<f64>() / rates.len() as f64);
        servers[treatment.server].push(mean);
    }
    Ok(json!(servers))
}
