//! What was seen, as sections of a study.

use super::{
    Seen,
    database::{Column, Described, Holds},
    seen::Place,
};
use std::fmt::Write as _;

/// A workload of the most frequent statements, each a transaction with its share. `of` says where they are
/// from.
#[must_use]
pub fn workload(name: &str, of: &str, seen: &[Seen], most: usize) -> String {
    let all: u64 = seen.iter().map(|one| one.count).sum();
    let kept = &seen[..seen.len().min(most)];
    let count: u64 = kept.iter().map(|one| one.count).sum();
    let share = count as f64 / all.max(1) as f64 * 100.0;
    let mut values = String::new();
    let mut transactions = String::new();
    let (mut number, mut has_text) = (0, false);
    for (place, one) in kept.iter().enumerate() {
        let verb = one.text.trim_start_matches('(').split(' ').next().unwrap_or_default().to_lowercase();
        let mut sql = String::new();
        for (at, part) in one.text.split('?').enumerate() {
            if let Some(place) = at.checked_sub(1).and_then(|at| one.places.get(at)) {
                number += 1;
                has_text |= place.range.is_none() && place.lengths.is_some();
                line(&mut values, &format!("v{number} = {}", draw(place)));
                sql.push_str(&format!("{{v{number}}}"));
            }
            sql.push_str(&part.replace('{', "{{"));
        }
        let head = format!("\n[[workload.{name}.transaction]]\nname = \"{verb}_{}\"", place + 1);
        line(&mut transactions, &head);
        line(&mut transactions, &format!("weight = {}\nstatements = [{}]", one.count.max(1), quoted(&sql)));
    }
    let mut text = format!(
        "# Drawn up by Prony from {of}: the {} most frequent of {} kinds of statements, {share:.1} % of \
         all.\n# Each value is drawn from the range that was seen. Use {{table.column}} where a value \
         must exist, and group\n# statements that belong together into one transaction.\n",
        kept.len(),
        seen.len()
    );
    if has_text {
        const TEXTS: &str = "# Texts are random letters of the lengths that were seen: use a `choice` where \
                             they must be found.";
        line(&mut text, TEXTS);
    }
    if !values.is_empty() {
        line(&mut text, &format!("[workload.{name}.values]\n{}", values.trim_end()));
    }
    text + &transactions
}

/// Tables with columns that hold what those of a database hold, by its statistics, and `times` as many rows.
#[must_use]
pub fn tables(of: &str, described: &[Described], times: f64) -> String {
    let mut text = format!(
        "# Drawn up by Prony from the statistics of {of}, and a sample of each table. Rows, ranges, \
         lengths and null\n# shares are those of the database; nothing of its contents is here.\n"
    );
    for table in described {
        let rows = (table.rows as f64 * times).round() as u64;
        line(&mut text, "");
        table.remarks.iter().for_each(|remark| line(&mut text, &format!("# {remark}")));
        line(&mut text, &format!("[[table]]\nname = {}\nrows = {}", quoted(&table.name), rows.max(1)));
        if !table.indexes.is_empty() {
            let list = |columns: &Vec<String>| match columns.as_slice() {
                [one] => quoted(one),
                many => format!("[{}]", many.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ")),
            };
            let lists: Vec<String> = table.indexes.iter().map(list).collect();
            line(&mut text, &format!("indexes = [{}]", lists.join(", ")));
        }
        line(&mut text, "[table.columns]");
        for column in &table.columns {
            line(&mut text, &format!("{} = {}", key(&column.name), values(column)));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    // writing to memory cannot fail
    let _ = writeln!(text, "{line}");
}

fn draw(place: &Place) -> String {
    match (place.range, place.lengths) {
        (Some((min, max)), _) if min == max => min.to_string(),
        (Some((min, max)), _) => format!("{{ random = [{min}, {max}] }}"),
        (None, _) if !place.samples.is_empty() => {
            let samples: Vec<String> = place.samples.iter().map(|sample| sample_of(sample)).collect();
            format!("{{ choice = [{}] }}", samples.join(", "))
        }
        (None, Some((min, max))) => format!("{{ text = [{min}, {max}] }}"),
        (None, None) => "1 # unknown: nothing was seen of this value".to_owned(),
    }
}

/// A number where it is one.
fn sample_of(sample: &str) -> String {
    let is_plain = sample.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && sample.split('.').count() == 2
        && !sample.starts_with('.')
        && !sample.ends_with('.');
    if is_plain { sample.to_owned() } else { quoted(sample) }
}

fn values(column: &Column) -> String {
    let distinct = column.distinct.map_or_else(String::new, |distinct| format!(", distinct = {distinct}"));
    let null = match column.null {
        share if share > 0.0 => {
            format!("{distinct}, null = \"{}%\"", (share * 1000.0).round().max(1.0) / 10.0)
        }
        _ => distinct,
    };
    match &column.holds {
        Holds::Sequence(first) => format!("{{ sequence = {first} }}"),
        Holds::References { column: other, .. } => format!("{{ references = {}{null} }}", quoted(other)),
        Holds::Integers(min, max) => format!("{{ random = [{min}, {max}]{null} }}"),
        Holds::Decimals { min, max, decimals } => {
            format!("{{ real = [{min}, {max}], decimals = {decimals}{null} }}")
        }
        Holds::Histogram(ranges, decimals) => {
            let range = |(low, high, count): &(f64, f64, u64)| {
                let [low, high] =
                    [low, high].map(|end| format!("{end:.places$}", places = *decimals as usize));
                format!("[{low}, {high}, {count}]")
            };
            let ranges = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
            let decimals = if *decimals > 0 { format!(", decimals = {decimals}") } else { String::new() };
            format!("{{ histogram = [{ranges}]{decimals}{null} }}")
        }
        Holds::Uuid(version) => format!("{{ uuid = {version}{null} }}"),
        Holds::Json(min, max) => {
            // `{"data": "..."}`
            let [min, max] = [min, max].map(|length| length.saturating_sub(12).max(1));
            format!("{{ json = {{ data = {{ text = [{min}, {max}] }} }}{null} }}")
        }
        Holds::Times(first, last) => format!("{{ time = [{}, {}]{null} }}", quoted(first), quoted(last)),
        Holds::Days(first, last) => format!("{{ date = [{}, {}]{null} }}", quoted(first), quoted(last)),
        Holds::Choice(names) => {
            let choices: Vec<String> =
                names.iter().map(|(name, weight)| format!("{} = {}", key(name), weight.max(&1))).collect();
            format!("{{ choice = {{ {} }}{null} }}", choices.join(", "))
        }
        Holds::Text(min, max) => format!("{{ text = [{min}, {max}]{null} }}"),
    }
}

/// A key of TOML.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_workload_has_the_shares_and_draws_that_were_seen() {
        let place = |range, lengths| Place { range, lengths, samples: BTreeSet::new() };
        let seen = [
            Seen {
                text: "SELECT \"a{\" FROM t WHERE b = ? AND c = ?".to_owned(),
                count: 8,
                places: vec![place(Some((1, 9)), None), place(None, Some((2, 5)))],
            },
            Seen {
                text: "DELETE FROM t WHERE b = ?".to_owned(),
                count: 1,
                places: vec![place(Some((4, 4)), None)],
            },
            Seen { text: "SELECT 5".to_owned(), count: 1, places: vec![] },
        ];
        let text = workload("mine", "slow.log", &seen, 2);
        assert!(text.contains("the 2 most frequent of 3 kinds of statements, 90.0 % of all"), "{text}");
        for part in [
            "v1 = { random = [1, 9] }\nv2 = { text = [2, 5] }\nv3 = 4\n",
            "name = \"select_1\"\nweight = 8\nstatements = \
             [\"SELECT \\\"a{{\\\" FROM t WHERE b = {v1} AND c = {v2}\"]",
            "name = \"delete_2\"\nweight = 1\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
