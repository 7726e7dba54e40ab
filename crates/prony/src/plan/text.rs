//! A plan in words, as `prony plan` shows it: what will be done, in which order, how long it takes.

use super::{DataPlan, Plan, ServerPlan, ServerSource, estimate, load};
use std::{fmt::Write, time::Duration};

/// The whole plan as text.
#[must_use]
pub fn render(plan: &Plan) -> String {
    let mut text = String::new();
    write_to(&mut text, plan).expect("writing to memory");
    text
}

fn write_to(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let cost = estimate(plan);
    writeln!(text, "{}", plan.title)?;
    let scale = plan.scale.as_ref().map_or_else(String::new, |scale| format!(", scale {scale}"));
    writeln!(text, "study {}{scale}, seed {}\n", plan.name, plan.seed)?;
    writeln!(
        text,
        "{} trials: {} x {}, each {} of warm-up and {}{} of measurement",
        plan.trials.len(),
        count(plan.treatments.len(), "combination"),
        count(plan.repeats as usize, "repeat"),
        seconds(plan.warm_up),
        if has_limit(plan) { "at most " } else { "" },
        seconds(plan.interval),
    )?;
    writeln!(
        text,
        "{} {}, {} on disk, {} of memory\n",
        if has_limit(plan) { "at most" } else { "about" },
        minutes(cost.time),
        size(cost.disk_bytes),
        size(cost.memory_bytes)
    )?;
    if !plan.factors.is_empty() {
        writeln!(text, "Varied")?;
        let width = plan.factors.iter().map(|factor| factor.name.len()).max().unwrap_or(0);
        for factor in &plan.factors {
            writeln!(text, "  {:width$}  {}", factor.name, factor.levels.join(", "))?;
        }
        writeln!(text)?;
    }
    writeln!(text, "Servers")?;
    for server in &plan.servers {
        write_server(text, server)?;
    }
    writeln!(text, "\nData")?;
    for data in &plan.data_sets {
        writeln!(text, "  {}", data_words(data))?;
    }
    writeln!(text, "\nLoad")?;
    for line in load::lines(plan) {
        writeln!(text, "  {line}")?;
    }
    writeln!(text, "\nTrials in their order")?;
    write_trials(text, plan)
}

/// Whether a trial may end before its interval is over.
fn has_limit(plan: &Plan) -> bool {
    plan.treatments.iter().flat_map(|treatment| &treatment.streams).any(|stream| stream.limit.is_some())
}

fn write_server(text: &mut String, server: &ServerPlan) -> std::fmt::Result {
    match &server.source {
        ServerSource::Product { product, version } => {
            let version = version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            writeln!(
                text,
                "  {}: {product}{version}, installed here or fetched into the cache; started on a data directory, port and socket of its own, removed afterwards",
                server.name
            )?;
        }
        ServerSource::Path(path) => writeln!(
            text,
            "  {}: unpacked in {}; started on a data directory, port and socket of its own, removed afterwards",
            server.name,
            path.display()
        )?,
        ServerSource::Url(url) => writeln!(
            text,
            "  {}: running at {url}; gets the data set's tables, is neither configured nor stopped",
            server.name
        )?,
    }
    for (name, value) in &server.settings {
        writeln!(text, "      {name} = {value}")?;
    }
    Ok(())
}

fn write_trials(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let mut rows = vec![vec!["trial".to_owned(), "block".to_owned()]];
    rows[0].extend(plan.factors.iter().map(|factor| factor.name.clone()));
    for trial in &plan.trials {
        let levels = &plan.treatments[trial.treatment].levels;
        let mut row = vec![(trial.number + 1).to_string(), (trial.block + 1).to_string()];
        row.extend(plan.factors.iter().map(|factor| levels.get(&factor.name).cloned().unwrap_or_default()));
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let right: Vec<bool> =
        [true, true].into_iter().chain(plan.factors.iter().map(|factor| factor.numeric)).collect();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths.iter().zip(&right))
            .map(
                |(cell, (&width, &right))| {
                    if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        writeln!(text, "  {}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn data_words(data: &DataPlan) -> String {
    let engine = data.engine.as_deref().unwrap_or("the server's default engine");
    let tables = count(data.tables as usize, "table");
    match data.generator.as_str() {
        "sysbench" => format!("{tables} of {} rows as sysbench makes them, {engine}", thousands(data.rows)),
        other => format!("{tables}, {other}, {engine}"),
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", duration.as_secs_f64() / 3600.0),
    }
}

fn size(bytes: u64) -> String {
    let mebibytes = bytes >> 20;
    if mebibytes < 10_240 { format!("{mebibytes} MiB") } else { format!("{} GiB", mebibytes >> 10) }
}

/// A whole number, thousands apart.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}
