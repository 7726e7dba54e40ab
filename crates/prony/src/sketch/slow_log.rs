//! Reads a slow query log, of MySQL and MariaDB: headers begin with `#`, `SET timestamp` and `use` are the
//! server's own, all else is statements.

use super::{
    Error, Seen,
    seen::{Place, is_work, taken_apart},
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// Longest statement that is looked at; longer ones are left out.
const STATEMENT_BYTES_MAX: usize = 1 << 20;
/// Most kinds of statements: each keeps its text.
const KINDS_MAX: usize = 100_000;

/// The statements of a log, the most frequent first.
///
/// # Errors
/// It cannot be read, or has none.
pub fn slow_log(path: &Path) -> Result<Vec<Seen>, Error> {
    let read = |source| Error::Read { path: path.to_owned(), source };
    let seen = File::open(path).and_then(|file| read_log(BufReader::new(file))).map_err(read)?;
    if seen.is_empty() { Err(Error::Nothing(path.display().to_string())) } else { Ok(seen) }
}

fn read_log(mut input: impl BufRead) -> io::Result<Vec<Seen>> {
    let mut kinds: BTreeMap<String, Seen> = BTreeMap::new();
    let (mut line, mut statement) = (Vec::new(), String::new());
    loop {
        line.clear();
        let is_end = input.read_until(b'\n', &mut line)? == 0;
        let text = String::from_utf8_lossy(&line);
        let is_header = text.starts_with('#');
        if is_end || is_header || is_of_server(&text) {
            statement.clear();
        } else if statement.len() < STATEMENT_BYTES_MAX {
            statement.push_str(&text);
            if text.trim_end().ends_with(';') {
                add(&mut kinds, &statement);
                statement.clear();
            }
        }
        if is_end {
            break;
        }
    }
    let mut seen: Vec<Seen> = kinds.into_values().collect();
    seen.sort_by_key(|one| std::cmp::Reverse(one.count));
    Ok(seen)
}

/// What a server writes between headers and statements, and what it writes when it starts.
fn is_of_server(line: &str) -> bool {
    let lower = line.trim_start().to_ascii_lowercase();
    let starts = ["set timestamp=", "use ", "tcp port:", "time  "];
    starts.iter().any(|start| lower.starts_with(start)) || lower.contains("started with:")
}

fn add(kinds: &mut BTreeMap<String, Seen>, statement: &str) {
    let (text, literals) = taken_apart(statement);
    if !is_work(&text) || (kinds.len() >= KINDS_MAX && !kinds.contains_key(&text)) {
        return;
    }
    let seen = kinds.entry(text.clone()).or_insert_with(|| Seen {
        text,
        count: 0,
        places: vec![Place::default(); literals.len()],
    });
    seen.count += 1;
    for (place, literal) in seen.places.iter_mut().zip(&literals) {
        place.add(literal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "/usr/sbin/mariadbd, Version: 10.11.6. started with:\nTcp port: 3306  Unix socket: \
                       /x\nTime\t\t    Id Command\tArgument\n# Time: 261122 20:00:00\n# User@Host: a[a] @ \
                       localhost []\n# Query_time: 0.5  Lock_time: 0.0\nuse shop;\nSET \
                       timestamp=1700000000;\nSELECT * FROM orders\n WHERE customer_id = 7 AND state = \
                       'open';\n# User@Host: a[a] @ localhost []\n# Query_time: 0.1\nSET \
                       timestamp=1700000001;\nSELECT * FROM orders WHERE customer_id = 900 AND state = \
                       'paid now';\n# Time: x\nSET timestamp=1700000002;\nadministrator command: Quit;\n# \
                       Time: y\nSET timestamp=1700000003;\nINSERT INTO orders (price) VALUES (9.5);\n";

    #[test]
    fn statements_of_a_log_are_counted_with_the_range_of_their_values() {
        let seen = read_log(LOG.as_bytes()).unwrap();
        let texts: Vec<(&str, u64)> = seen.iter().map(|one| (one.text.as_str(), one.count)).collect();
        assert_eq!(
            texts,
            [
                ("SELECT * FROM orders WHERE customer_id = ? AND state = ?", 2),
                ("INSERT INTO orders (price) VALUES (?)", 1),
            ]
        );
        assert_eq!(seen[0].places[0].range, Some((7, 900)));
        assert_eq!(seen[0].places[1].lengths, Some((4, 8)));
        assert_eq!(seen[1].places[0].samples.iter().next().map(String::as_str), Some("9.5"));
    }
}
