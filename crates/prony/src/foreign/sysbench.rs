//! The text report of sysbench 0.4, 0.5, 1.0 and 1.1.

use super::{Entry, Error, Second, number};

/// Every result in a text; several may stand one after another.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, Error> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        let is_head = line.starts_with("sysbench ")
            && line["sysbench ".len()..].starts_with(|c: char| c.is_ascii_digit());
        if is_head {
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(line.trim());
        }
    }
    let is_result = |part: &&Vec<&str>| part.iter().any(|line| !line.is_empty());
    let entries = parts.iter().filter(is_result).map(|part| entry(part)).collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err(Error::NoResult { tool: "sysbench", missing: "it is empty" });
    }
    Ok(entries)
}

fn entry(lines: &[&str]) -> Result<Entry, Error> {
    let mut entry = Entry::default();
    let (mut events, mut transactions, mut seconds) = (None, None, None);
    for line in lines {
        if let Some(words) = line.strip_prefix("FATAL:") {
            return Err(Error::Failed { tool: "sysbench", words: words.trim().to_owned() });
        }
        if line.starts_with("sysbench ") {
            entry.version =
                line.split_whitespace().nth(1).unwrap_or_default().trim_end_matches(':').to_owned();
        } else if line.starts_with('[') {
            entry.series.extend(second(line));
        } else if let Some((value, bar)) = line.split_once('|') {
            bin(&mut entry, value, bar);
        } else if let Some((name, value)) = line.split_once(':') {
            let Some(figure) = number(value) else { continue };
            match name {
                "Number of threads" => entry.connections = Some(figure as u32),
                "transactions" => transactions = Some(figure as u64),
                "total" => entry.statements = figure as u64,
                "ignored errors" => entry.errors = figure as u64,
                "total time" | "time elapsed" => seconds = Some(figure),
                "total number of events" => events = Some(figure as u64),
                "avg" => drop(entry.told.insert("mean".to_owned(), figure)),
                "max" => drop(entry.told.insert("max".to_owned(), figure)),
                name if name.ends_with("percentile") => {
                    let percent = number(name).unwrap_or_default();
                    entry.told.insert(format!("p{percent}"), figure);
                }
                _ => {}
            }
        }
    }
    let missing = |missing| Error::NoResult { tool: "sysbench", missing };
    entry.seconds =
        seconds.filter(|seconds| *seconds > 0.0).ok_or_else(|| missing("no line `total time`"))?;
    // a test that is not one of databases has events alone
    entry.transactions = transactions.or(events).ok_or_else(|| missing("no line `transactions`"))?;
    Ok(entry)
}

/// `[ 1s ] thds: 4 tps: 1488.65 ... err/s: 0.00 ...`, or as 0.5 has it: `[   1s] threads: 4, tps: 1488.65,
/// ... errors: 0.00, ...`.
fn second(line: &str) -> Option<Second> {
    let (time, figures) = line.strip_prefix('[')?.split_once(']')?;
    let figure =
        |name: &str| number(figures.split_once(name)?.1.split([',', ' ']).find(|word| !word.is_empty())?);
    Some(Second {
        until_s: number(time)?,
        transactions_per_second: figure("tps:")?,
        errors_per_second: figure("err/s:")
            .or_else(|| figure("err/s"))
            .or_else(|| figure("errors:"))
            .unwrap_or(0.0),
    })
}

/// A line of the histogram: `0.054 |******   10`.
fn bin(entry: &mut Entry, value: &str, bar: &str) {
    let count = bar.trim_start_matches(['*', ' ']).trim().parse::<u64>();
    let (Ok(milliseconds), Ok(count)) = (value.trim().parse::<f64>(), count) else { return };
    for _ in 0..count {
        entry.histogram.record_ns((milliseconds * 1e6) as u64);
    }
}
