//! mysqlslap's and mariadb-slap's report and CSV. They know how long all queries took together, and nothing
//! about single ones.

use super::{Entry, Error, number};

/// Every result in a text.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let mut block: Option<Entry> = None;
    for line in text.lines() {
        if line.trim() == "Benchmark" {
            entries.extend(block.replace(Entry::default()));
        } else if let Some(entry) = &mut block {
            of_block(entry, line.trim());
        } else {
            entries.extend(of_csv(line));
        }
    }
    entries.extend(block);
    entries.retain(|entry| entry.seconds > 0.0 && entry.transactions > 0);
    if entries.is_empty() {
        let missing = "neither a block `Benchmark` nor a line of CSV with a time";
        return Err(Error::NoResult { tool: "mysqlslap", missing });
    }
    Ok(entries)
}

/// A line of the report.
fn of_block(entry: &mut Entry, line: &str) {
    let figure = || line.split_once(':').and_then(|(_, value)| number(value));
    if let Some(engine) = line.strip_prefix("Running for engine ") {
        entry.levels.insert("engine".to_owned(), engine.to_owned());
    } else if line.starts_with("Average number of seconds") {
        entry.seconds = figure().unwrap_or_default();
    } else if line.starts_with("Number of clients") {
        entry.connections = figure().map(|clients| clients as u32);
    } else if line.starts_with("Average number of queries per client") {
        // the last line of a block
        let queries = figure().unwrap_or_default() as u64 * u64::from(entry.connections.unwrap_or_default());
        (entry.transactions, entry.statements) = (queries, queries);
    }
}

/// `engine,mixed,0.582,0.190,0.974,2,200`: seconds on average, at least, at most; clients; queries of each.
/// What stands in the second place may hold commas.
fn of_csv(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.trim().rsplitn(6, ',').collect();
    let [each, clients, _, _, average, first] = fields[..] else { return None };
    let (engine, load) = first.split_once(',')?;
    let connections: u32 = clients.parse().ok()?;
    let queries = each.parse::<u64>().ok()? * u64::from(connections);
    let mut entry = Entry {
        connections: Some(connections),
        seconds: average.parse().ok()?,
        transactions: queries,
        statements: queries,
        ..Entry::default()
    };
    entry.levels.insert("workload".to_owned(), load.trim_matches('"').to_owned());
    if !engine.is_empty() {
        entry.levels.insert("engine".to_owned(), engine.to_owned());
    }
    Some(entry)
}
