//! The comparison of two runs as text: for a terminal, and as Markdown.

use super::{
    super::{
        Options, markdown, number,
        table::{Cell, Table, Tone, estimate},
        terminal::{self, WIDTH_MIN},
        words::{Words, subject},
    },
    ComparedPoint, ComparedRun, RunsDocument,
};
use crate::{analyse::Verdict, escape, plan::without_levels};
use std::fmt::Write as _;

/// Differences of settings that a terminal shows; JSON has them all.
const SHOWN_MAX: usize = 20;

/// For a terminal.
pub(super) fn terminal(document: &RunsDocument, words: Words, options: &Options) -> String {
    let width = usize::from(options.width).max(WIDTH_MIN);
    let mut text = String::new();
    for line in heads(document, words) {
        terminal::put_wrapped(&mut text, &line, "  ", width);
    }
    for table in tables(document, words) {
        let _ = writeln!(text, "\n{}", terminal::bold(&table.title, options));
        text.push_str(&terminal::fit(&table, &table, options.colour, width));
        text.push('\n');
    }
    text.push('\n');
    for line in notes(document, words) {
        terminal::put_wrapped(&mut text, &line, "  ", width);
    }
    text
}

/// As Markdown.
pub(super) fn markdown(document: &RunsDocument, words: Words) -> String {
    let mut text = String::new();
    for line in heads(document, words) {
        let _ = writeln!(text, "- {}", escape::markdown(&line));
    }
    for table in tables(document, words) {
        let _ = write!(text, "\n## {}\n", escape::markdown(&table.title));
        markdown::put_table(&mut text, &table);
    }
    text.push('\n');
    for line in notes(document, words) {
        let _ = writeln!(text, "{}\n", escape::markdown(&line));
    }
    text
}

fn heads(document: &RunsDocument, words: Words) -> Vec<String> {
    let run = |key: &str, run: &ComparedRun| {
        let places = [
            ("id", &*run.id.to_string()),
            ("title", &run.title),
            ("started", &run.started),
            ("trials", &run.trials_measured.to_string()),
        ];
        words.fill("runs", key, &places)
    };
    let mut lines = vec![run("base", &document.base), run("run", &document.run)];
    let count =
        |verdict| document.comparisons.iter().filter(|one| one.verdict == verdict).count().to_string();
    let verdicts = [
        ("better", Verdict::Better),
        ("worse", Verdict::Worse),
        ("same", Verdict::Same),
        ("undecided", Verdict::Undecided),
    ];
    let counts = verdicts.map(|(place, verdict)| (place, count(verdict)));
    let mut places: Vec<(&str, &str)> = counts.iter().map(|(name, count)| (*name, count.as_str())).collect();
    let all = document.comparisons.len().to_string();
    places.push(("all", &all));
    lines.push(words.fill("runs", "summary", &places));
    lines
}

/// One table for each metric, and one of what differs beside the figures.
fn tables(document: &RunsDocument, words: Words) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut metric = "";
    for one in &document.comparisons {
        if one.metric != metric {
            metric = &one.metric;
            let heads = ["point", "base_head", "run_head", "ratio", "verdict"];
            tables.push(Table {
                title: title(metric, words),
                heads: heads.map(|head| words.get("runs", head).to_owned()).to_vec(),
                rows: Vec::new(),
            });
        }
        if let Some(table) = tables.last_mut() {
            table.rows.push(row(one, words));
        }
    }
    tables.extend(differences(document, words));
    tables
}

fn title(metric: &str, words: Words) -> String {
    match metric.strip_prefix('p') {
        Some(percent) if !["95", "99"].contains(&percent) => {
            words.fill("runs", "title_percentile", &[("percent", percent)])
        }
        _ => words.get("runs", &format!("title_{metric}")).to_owned(),
    }
}

fn row(one: &ComparedPoint, words: Words) -> Vec<Cell> {
    let levels = subject(&one.levels);
    // the levels stand beside it
    let [base, of] = [&one.base_server, &one.server].map(|name| without_levels(name, &one.levels));
    let server = if base == of { of.to_owned() } else { format!("{base} → {of}") };
    let name = if levels.is_empty() { server } else { format!("{server}, {levels}") };
    let without = || words.get("runs", "no_interval").to_owned();
    let interval = one.ratio.low.zip(one.ratio.high).map_or_else(without, |(low, high)| {
        if number::tells_nothing(low, high) {
            return words.get("runs", "too_few").to_owned();
        }
        let places = [("low", &*number::ratio(low)), ("high", &number::ratio(high))];
        words.fill("runs", "interval", &places)
    });
    let tone = match one.verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        _ => Tone::Faint,
    };
    let mut verdict = words.named("verdict", one.verdict).to_owned();
    if let Some(repeats) = one.repeats_needed {
        verdict = words.fill("runs", "needs", &[("verdict", &verdict), ("repeats", &repeats.to_string())]);
    }
    vec![
        Cell::name(&name),
        Cell::number(estimate(&one.base)),
        Cell::number(estimate(&one.value)),
        Cell::number(format!("{}{interval}", number::ratio(one.ratio.value))),
        Cell { numeric: false, ..Cell::toned(verdict, tone) },
    ]
}

fn differences(document: &RunsDocument, words: Words) -> Option<Table> {
    let value = |value: &Option<String>| Cell::name(value.as_deref().unwrap_or("–"));
    let rows: Vec<Vec<Cell>> = document
        .differences
        .iter()
        .take(SHOWN_MAX)
        .map(|one| vec![Cell::name(&one.of), Cell::name(&one.what), value(&one.base), value(&one.run)])
        .collect();
    let heads = ["of", "what", "base_head", "run_head"].map(|head| words.get("runs", head).to_owned());
    (!rows.is_empty()).then(|| Table {
        title: words.get("runs", "differ").to_owned(),
        heads: heads.to_vec(),
        rows,
    })
}

/// What is to be said below the tables.
fn notes(document: &RunsDocument, words: Words) -> Vec<String> {
    let mut notes = Vec::new();
    let hidden = document.differences.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        notes.push(words.fill("runs", "more_differ", &[("count", &hidden.to_string())]));
    }
    match (document.base.is_known && document.run.is_known, document.differences.is_empty()) {
        (false, _) => notes.push(words.get("runs", "nothing_known").to_owned()),
        (true, true) => notes.push(words.get("runs", "nothing_differs").to_owned()),
        (true, false) => {}
    }
    for (key, names) in [("only_base", &document.only_base), ("only_run", &document.only_run)] {
        if !names.is_empty() {
            notes.push(words.fill("runs", key, &[("names", &names.join("; "))]));
        }
    }
    notes.extend(of_intervals(document, words));
    let relevant = number::percent(document.relevant * 100.0);
    let seen = document.comparisons.iter().filter(|one| one.metric == "throughput");
    let seen = seen
        .filter_map(|one| one.detectable)
        .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))));
    notes.push(words.fill("runs", "relevant", &[("relevant", &relevant)]));
    if seen.is_some_and(|seen| seen >= 1.0) {
        notes.push(words.get("runs", "detectable_unknown").to_owned());
    } else if let Some(seen) = seen {
        let seen = number::percent(seen * 100.0);
        notes.push(words.fill("runs", "detectable", &[("detectable", &seen)]));
    }
    notes
}

/// What intervals are missing, and what those of another tool's percentiles rest on.
fn of_intervals(document: &RunsDocument, words: Words) -> Vec<String> {
    let compared = || document.comparisons.iter();
    let is_known = document.base.is_known && document.run.is_known;
    let has_percentile = compared().any(|one| one.metric != "throughput");
    let told = [
        ("stated", compared().any(|one| one.is_stated)),
        ("no_percentile", !is_known && !document.comparisons.is_empty() && !has_percentile),
        ("one_trial", compared().any(|one| one.ratio.low.is_none())),
    ];
    let told = told.into_iter().filter(|(_, is_told)| *is_told);
    told.map(|(key, _)| words.get("runs", key).to_owned()).collect()
}
