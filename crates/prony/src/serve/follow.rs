//! Progress as server-sent events, for any number of viewers, each of which reads the run's own file from
//! where it was. A page that comes later gets what was reported before.

use super::{Shared, list, refusal::Refusal, start};
use crate::{
    escape,
    live::{Line, Told},
    report::{Language, Words},
    store::RunState,
};
use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::stream::{Stream, unfold};
use serde_json::{Map, Value, json};
use std::{
    convert::Infallible,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::time::sleep;

/// How often a file is looked at.
const EVERY: Duration = Duration::from_millis(250);
/// After this many reads without news, check whether the run still exists.
const QUIET: u32 = 6;
/// How often the store is looked at.
const STORE_EVERY: Duration = Duration::from_secs(1);
/// Bytes that are read at once: hours of a run.
const READ_MAX: u64 = 16 << 20;

type Said = Result<Event, Infallible>;

/// Sends an event whenever the list of runs may have changed.
pub(super) async fn changes(State(shared): State<Arc<Shared>>) -> Sse<impl Stream<Item = Said>> {
    let seen = list::pulse(&shared.options.store);
    let stream = unfold((shared, seen, None), |(shared, mut seen, mut running)| async move {
        loop {
            sleep(STORE_EVERY).await;
            let now = list::pulse(&shared.options.store);
            let goes_on = shared.work(Shared::running).await.ok().flatten().map(|run| run.id);
            if now != seen || goes_on != running {
                (seen, running) = (now, goes_on);
                let event = Event::default().event("changed").data(json!({ "running": running }).to_string());
                return Some((Ok(event), (shared, seen, running)));
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

/// Progress of run `id`, from the beginning or from a viewer's last event (`Last-Event-ID`).
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Said>>, Refusal> {
    let path = shared
        .work(move |shared| {
            let summary = shared.summary(id)?;
            Ok(shared.store()?.told_at(&summary))
        })
        .await?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let tail = Tail { path, file: None, offset: last.unwrap_or(0), rest: Vec::new() };
    let viewer = Viewer { shared, run: id, tail, quiet: QUIET, is_over: false };
    let stream = unfold(viewer, |mut viewer| async move {
        let event = viewer.next().await?;
        Some((Ok(event), viewer))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

/// Somebody who watches a run.
struct Viewer {
    shared: Arc<Shared>,
    run: i64,
    tail: Tail,
    /// Looks in vain, one after another.
    quiet: u32,
    is_over: bool,
}

impl Viewer {
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let is_first = self.tail.offset == 0;
            let lines = self.tail.read().unwrap_or_default();
            if !lines.is_empty() {
                self.quiet = 0;
                let lines = if is_first { of_interest(lines) } else { lines };
                let told: Value = lines.into_iter().map(worded).collect();
                let id = self.tail.offset.to_string();
                return Some(Event::default().event("told").id(id).data(told.to_string()));
            }
            self.quiet += 1;
            if self.quiet >= QUIET {
                self.quiet = 0;
                if let Some(event) = self.end().await {
                    return Some(event);
                }
            }
            sleep(EVERY).await;
        }
        None
    }

    /// How the run ended; `None`: it is running.
    async fn end(&mut self) -> Option<Event> {
        let run = self.run;
        let found = self.shared.work(move |shared| shared.summary(run)).await.ok()?;
        if found.state() == RunState::Running {
            return None;
        }
        self.is_over = true;
        let said = start::last_words(&self.shared, run);
        let data = json!({ "state": found.state(), "said": said });
        Some(Event::default().event("over").data(data.to_string()))
    }
}

/// A file that grows.
struct Tail {
    path: PathBuf,
    /// It stays open, because its name disappears with the run, and its last lines do not.
    file: Option<File>,
    /// Bytes of whole lines that were read.
    offset: u64,
    rest: Vec<u8>,
}

impl Tail {
    /// Lines that are new.
    fn read(&mut self) -> io::Result<Vec<Line>> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        if file.metadata()?.len() < self.offset {
            // the run was resumed and tells from the beginning
            self.offset = 0;
        }
        file.seek(SeekFrom::Start(self.offset))?;
        self.rest.clear();
        file.take(READ_MAX).read_to_end(&mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.offset += whole as u64;
        let lines = self.rest[..whole].split(|byte| *byte == b'\n');
        // a newer Prony may tell what this one does not know
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

/// All lines except the seconds of finished trials, and what load hosts did before.
fn of_interest(lines: Vec<Line>) -> Vec<Line> {
    let begins = lines.iter().rposition(|line| matches!(line.told, Told::Trial { .. })).unwrap_or(0);
    let hosts = lines.iter().rposition(|line| matches!(line.told, Told::LoadHosts { .. })).unwrap_or(0);
    let is_wanted = |(place, line): &(usize, Line)| match line.told {
        Told::Second(_) => *place >= begins,
        Told::LoadHosts { .. } => *place >= begins.max(hosts),
        _ => true,
    };
    lines.into_iter().enumerate().filter(is_wanted).map(|(_, line)| line).collect()
}

/// A line with the sentences that belong to its facts, in each language.
fn worded(line: Line) -> Value {
    let said = |words: Words| match &line.told {
        Told::Finished { failure: Some(failure), .. } => Some(words.failure(failure)),
        Told::Finished { doubts, .. } => words.brief(doubts),
        Told::Server { what, .. } => Some(escape::plain(&words.step(what))),
        Told::Remark { what, .. } => Some(escape::plain(&escape::without_passwords(&words.remark(what)))),
        _ => None,
    };
    let words = Language::ALL.map(Words::of).map(|words| (words.code(), said(words)));
    let said: Map<String, Value> =
        words.into_iter().filter_map(|(code, said)| Some((code.to_owned(), json!(said?)))).collect();
    let mut value = serde_json::to_value(&line).expect("plain values are JSON");
    if let Some(fields) = value.as_object_mut() {
        ["doubts", "failure", "what"].iter().for_each(|fact| drop(fields.remove(*fact)));
        fields.insert("said".to_owned(), Value::Object(said));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Second;
    use std::io::Write as _;

    fn second(number: u32) -> Told {
        Told::Second(Second { stream: 0, second: number, warm_up: false, rate: 10.0, times: None, errors: 0 })
    }

    fn trial() -> Told {
        let (levels, streams) = (String::new(), vec!["main".to_owned()]);
        Told::Trial { levels, streams, place: 1, total: 2, takes: 3.0, left: 6.0 }
    }

    #[test]
    fn a_file_that_grows_is_read_line_by_line_and_from_the_beginning_when_it_was_emptied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("told");
        let mut tail = Tail { path: path.clone(), file: None, offset: 0, rest: Vec::new() };
        assert!(tail.read().is_err(), "nothing was told yet");
        let mut file = File::create(&path).unwrap();
        let line = |told| serde_json::to_string(&Line { after: 1.0, told }).unwrap();
        write!(file, "{}\n{{\"after\":1.0,\"told\":\"newer\"}}\n{}", line(trial()), line(second(1))).unwrap();
        assert_eq!(tail.read().unwrap().len(), 1, "what is not known is left out, what is torn comes later");
        file.write_all(b"\n").unwrap();
        let lines = tail.read().unwrap();
        assert!(
            matches!(&lines[..], [Line { told: Told::Second(Second { second: 1, .. }), .. }]),
            "{lines:?}"
        );
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        writeln!(file, "{}", line(second(2))).unwrap();
        assert_eq!(tail.read().unwrap().len(), 1);
    }

    #[test]
    fn who_comes_late_gets_the_seconds_of_the_running_trial_alone() {
        let line = |told| Line { after: 0.0, told };
        let hosts = |total| Told::LoadHosts { hosts: Vec::new(), total };
        let first = vec![line(trial()), line(second(0)), line(hosts(1)), line(second(1))];
        let running = vec![line(trial()), line(hosts(2)), line(second(0)), line(hosts(3))];
        let kept = of_interest([first.clone(), running].concat());
        assert_eq!(kept.len(), 4);
        assert!(matches!(kept[1].told, Told::Trial { .. }) && matches!(kept[2].told, Told::Second(_)));
        assert!(matches!(kept[3].told, Told::LoadHosts { total: 3, .. }), "what they do now");
        let kept = of_interest([first, vec![line(trial())]].concat());
        assert!(!kept.iter().any(|line| matches!(line.told, Told::LoadHosts { .. })), "of the last trial");
    }
}
