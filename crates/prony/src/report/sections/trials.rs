//! Every trial in the order of execution.

use crate::{
    report::{
        block::{Block, Cell, Reach, Section, Table, Tone},
        document::{Document, Trial, TrialStream},
        number,
        words::Words,
    },
    run::Level,
};

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let run = &document.run;
    let mut section = Section::new("order", words.get("html", "order"));
    section.add(Reach::Page, Block::Text(words.get("html", "order_note").to_owned()));
    let trials = words.get("head", "trials").to_lowercase();
    let line = format!("{} {trials}", run.trials_measured + run.trials_failed);
    section.add(Reach::Page, Block::Folded(line, vec![table(document, words).into()]));
    vec![section]
}

fn table(document: &Document, words: Words) -> Table {
    let factors = || document.run.factors.iter().map(|factor| factor.name.as_str());
    let factor_head = |name: &str| match name {
        "server" => words.get("head", "server").to_owned(),
        name => words.factor_head(name),
    };
    let head = |key: &str| words.get("head", key).to_owned();
    let mut heads: Vec<String> = ["trial", "block"].map(head).to_vec();
    heads.extend(factors().map(factor_head));
    heads.extend(["transactions_per_second", "p95_ms", "p99_ms", "server_cpu", "doubts"].map(head));
    let row = |trial: &Trial| {
        let level = |factor| trial.levels.get(factor).map_or("", String::as_str);
        let place = [trial.number, trial.block].map(|place| Cell::number((place + 1).to_string()));
        let mut row: Vec<Cell> =
            place.into_iter().chain(factors().map(|one| Cell::name(level(one)))).collect();
        row.extend(results(trial, words));
        row
    };
    Table::new("", heads, document.trials.iter().map(row).collect())
}

/// The outcome of a trial: figures with one line for each stream, and the doubts about them.
fn results(trial: &Trial, words: Words) -> Vec<Cell> {
    if let Some(failure) = &trial.failure {
        let none = [(); 3].map(|()| Cell::number(String::new()));
        let failed = Cell::toned(words.get("text", "failed").to_owned(), Tone::Bad);
        let reason = Cell { tone: Tone::Bad, ..Cell::name(failure) };
        return [failed].into_iter().chain(none).chain([reason]).collect();
    }
    let lines = |text: &dyn Fn(&TrialStream) -> String| {
        Cell::number(trial.streams.iter().map(text).collect::<Vec<_>>().join("\n"))
    };
    let rate = |value: Option<f64>| value.map(number::rate).unwrap_or_default();
    let throughput = |one: &TrialStream| match trial.streams.len() {
        1 => rate(one.throughput),
        _ => format!("{}: {}", one.name, rate(one.throughput)),
    };
    let latency = |name: &'static str| move |one: &TrialStream| rate(one.latency_ms.get(name).copied());
    let invalid = words.get("level", "invalid");
    let doubts = trial.doubts.iter().map(|doubt| match doubt.level {
        Level::Invalid => format!("{invalid}: {}", doubt.text),
        Level::Suspicious | Level::Fine => doubt.text.clone(),
    });
    let errors = trial.streams.iter().flat_map(|one| &one.errors);
    let errors = errors.map(|(code, count)| format!("{count} × {code}"));
    let remarks: Vec<String> = doubts.chain(errors).collect();
    vec![
        lines(&throughput),
        lines(&latency("p95")),
        lines(&latency("p99")),
        Cell::number(rate(trial.server_cpu)),
        Cell::name(&remarks.join("; ")),
    ]
}
