//! Two runs side by side, and what differs between them apart from their figures.

use super::ladder::estimate;
use crate::{
    analyse::{RunComparison, Verdict},
    plan::{Metric, without_levels},
    report::{
        block::{Cell, List, Marks, NOTHING, Reach, Report, Section, Table, Tone},
        number,
        runs::{ComparedRun, RunsDocument},
        words::Words,
    },
};

/// The most differences of settings that are shown; JSON has them all.
const SHOWN_MAX: usize = 20;

/// The full content of a comparison of two runs.
pub(in crate::report) fn runs(document: &RunsDocument, words: Words) -> Report {
    let mut summary = Section::new("summary", "");
    summary.add(Reach::Everywhere, List::of(Marks::Lines, heads(document, words)));
    let mut sections = vec![summary];
    sections.extend(metrics(document, words));
    sections.extend(differences(document, words));
    let mut said = Section::new("notes", "");
    said.add(Reach::Everywhere, List::of(Marks::Lines, notes(document, words)));
    sections.push(said);
    let title = words.fill(
        "runs",
        "title",
        &[("base", &document.base.id.to_string()), ("run", &document.run.id.to_string())],
    );
    let kind = format!("Prony · {}", document.run.name);
    let (titled, meta) = (Reach::Page, Vec::new());
    Report { language: words.code(), title, titled, kind, meta, sections, foot: String::new() }
}

/// Several comparisons with the same base, one below the other.
pub(in crate::report) fn several_runs(documents: &[RunsDocument], words: Words) -> Report {
    if let [document] = documents {
        return runs(document, words);
    }
    let reports: Vec<Report> = documents.iter().map(|document| runs(document, words)).collect();
    let names: Vec<String> = documents.iter().map(|document| document.run.id.to_string()).collect();
    let base = documents[0].base.id.to_string();
    let title = words.fill("runs", "title_several", &[("base", &base), ("runs", &words.listed(&names))]);
    let kind = reports[0].kind.clone();
    let mut sections = Vec::new();
    for (report, name) in reports.into_iter().zip(&names) {
        for (place, mut section) in report.sections.into_iter().enumerate() {
            section.id = format!("{}-{name}", section.id);
            if place == 0 {
                section.title.clone_from(&report.title);
            }
            sections.push(section);
        }
    }
    let (titled, meta) = (Reach::Page, Vec::new());
    Report { language: words.code(), title, titled, kind, meta, sections, foot: String::new() }
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
    let found = [("differences", &document.repeated.differences), ("claims", &document.repeated.claims)];
    lines.extend(found.into_iter().filter(|(_, found)| found.count() > 0).map(|(key, found)| {
        let counts = [found.count(), found.again, found.open, found.contradicted.len()];
        let [all, again, open, contradicted] = counts.map(|count| count.to_string());
        let places = [("all", &*all), ("again", &again), ("open", &open), ("contradicted", &contradicted)];
        words.fill("runs", key, &places)
    }));
    lines
}

/// A section for each metric.
fn metrics(document: &RunsDocument, words: Words) -> Vec<Section> {
    let mut tables: Vec<(Metric, Table)> = Vec::new();
    for one in &document.comparisons {
        if tables.last().is_none_or(|(metric, _)| *metric != one.metric) {
            let heads = ["point", "base_head", "run_head", "ratio", "verdict"];
            let heads = heads.map(|head| words.get("runs", head).to_owned()).to_vec();
            tables.push((one.metric, Table::new("", heads, Vec::new())));
        }
        if let Some((_, table)) = tables.last_mut() {
            table.rows.push(row(one, words));
        }
    }
    let section = |(metric, table): (Metric, Table)| {
        let mut section = Section::new(&metric.to_string(), &title(metric, words));
        section.add(Reach::Everywhere, table);
        section
    };
    tables.into_iter().map(section).collect()
}

fn title(metric: Metric, words: Words) -> String {
    match metric {
        Metric::Quantile(parts) if ![95_000, 99_000].contains(&parts) => {
            let percent = f64::from(parts) / 1000.0;
            words.fill("runs", "title_percentile", &[("percent", &*percent.to_string())])
        }
        _ => words.get("runs", &format!("title_{metric}")).to_owned(),
    }
}

fn row(one: &RunComparison, words: Words) -> Vec<Cell> {
    let levels = words.subject(&one.levels);
    // the levels are already shown beside it
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
        Cell { tone, ..Cell::name(&verdict) },
    ]
}

/// What differs apart from the figures; `None`: nothing.
fn differences(document: &RunsDocument, words: Words) -> Option<Section> {
    let value = |value: &Option<String>| Cell::name(value.as_deref().unwrap_or(NOTHING));
    let rows: Vec<Vec<Cell>> = document
        .differences
        .iter()
        .take(SHOWN_MAX)
        .map(|one| vec![Cell::name(&one.of), Cell::name(&one.what), value(&one.base), value(&one.run)])
        .collect();
    let heads = ["of", "what", "base_head", "run_head"].map(|head| words.get("runs", head).to_owned());
    let mut section = Section::new("differences", words.get("runs", "differ"));
    (!rows.is_empty()).then(|| {
        section.add(Reach::Everywhere, Table::new("", heads.to_vec(), rows));
        section
    })
}

/// Notes below the tables.
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
    let seen = document.comparisons.iter().filter(|one| one.metric == Metric::Throughput);
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

/// Which intervals are missing, and what the intervals of another tool's percentiles are based on.
fn of_intervals(document: &RunsDocument, words: Words) -> Vec<String> {
    let compared = || document.comparisons.iter();
    let is_known = document.base.is_known && document.run.is_known;
    let has_percentile = compared().any(|one| one.metric != Metric::Throughput);
    let told = [
        ("stated", compared().any(|one| one.is_stated)),
        ("no_percentile", !is_known && !document.comparisons.is_empty() && !has_percentile),
        ("one_trial", compared().any(|one| one.ratio.low.is_none())),
    ];
    let told = told.into_iter().filter(|(_, is_told)| *is_told);
    told.map(|(key, _)| words.get("runs", key).to_owned()).collect()
}
