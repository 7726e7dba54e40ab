//! Reads the columns of a `[[table]]`: how the values of each are drawn.

use super::{
    forms,
    keys::{self, Elsewhere, Key, Put, Seen, key},
    kinds::{Count, Number, Text, Words},
    mistake::{Collector, Place},
    tables::ROWS_MAX,
    tree::{Entry, Node, Table as Tree, Value},
};
use crate::layout::custom::{Column, Values};
use load::spec::{Distribution, Distributions, Literal};
use serde_json::json;

/// A column of a `[[table]]`.
pub(super) const COLUMN: &[Key<WrittenColumn>] = &[
    key(
        "sequence",
        &Elsewhere(anything),
        None,
        "1",
        "Numbers the rows, starting here; every table has one such column, its primary key.",
    ),
    key("random", &Elsewhere(lists), None, "[1, 999]", "Integers from the first to the second."),
    key(
        "normal",
        &Elsewhere(lists),
        None,
        "[50, 10]",
        "A normal distribution: its mean and standard deviation.",
    ),
    key(
        "real",
        &Elsewhere(lists),
        None,
        "[0.5, 9.5]",
        "Numbers with `decimals`, uniform from the first to the second.",
    ),
    key(
        "text",
        &Elsewhere(anything),
        None,
        "[5, 20]",
        "Letters and digits: their number, or the shortest and longest; or \"fill\": as many as the table's \
         `rows` and `size` require.",
    ),
    key("pattern", &Elsewhere(anything), None, r###""##-@@@""###, "Text: `#` becomes a digit, `@` a letter."),
    key(
        "date",
        &Elsewhere(lists),
        None,
        r#"["2020-01-01", "2024-12-31"]"#,
        "Days from the first to the second.",
    ),
    key(
        "choice",
        &Elsewhere(anything),
        None,
        "{ open = 1, paid = 3 }",
        "One of these values: a list, or a table with their weights.",
    ),
    key(
        "references",
        &Elsewhere(anything),
        None,
        r#""customer.id""#,
        "A value of another table's sequence: a foreign key, but not declared as one on the server.",
    ),
    key(
        "words",
        &Elsewhere(anything),
        None,
        r#"["red", "green", "blue"]"#,
        "Vocabulary of `text`, whose words then have blanks between them; or a number of words that Prony \
         makes up.",
    ),
    key(
        "uuid",
        &Elsewhere(anything),
        None,
        "7",
        "A UUID of this version: 4 (random) or 7 (ascends with the rows).",
    ),
    key(
        "json",
        &Elsewhere(anything),
        None,
        "{ colour = { text = 5 }, size = { random = [1, 9] } }",
        "A JSON object; its fields are written as columns are.",
    ),
    key(
        "time",
        &Elsewhere(lists),
        None,
        r#"["2024-01-01 00:00:00", "2024-12-31 23:59:59"]"#,
        "Days with the time of day from the first to the second, in whole seconds.",
    ),
    key(
        "histogram",
        &Elsewhere(lists),
        None,
        "[[1, 9, 70], [10, 99, 30]]",
        "Numbers of several ranges, each with its lowest, its highest and its weight.",
    ),
    key(
        "follows",
        &Elsewhere(anything),
        None,
        r#""price""#,
        "What a column above holds in the same row, a number or a day, times `factor`, plus `plus`, plus a \
         normal deviation.",
    ),
    key(
        "factor",
        &Put(Number(-1e9, 1e9), |column: &mut WrittenColumn, value| column.factor = Some(value)),
        None,
        "1.19",
        "What `follows` multiplies with [default: 1].",
    ),
    key(
        "plus",
        &Put(Number(-1e12, 1e12), |column: &mut WrittenColumn, value| column.plus = Some(value)),
        None,
        "3",
        "What `follows` adds [default: 0].",
    ),
    key(
        "deviation",
        &Put(Number(0.0, 1e12), |column: &mut WrittenColumn, value| column.deviation = Some(value)),
        None,
        "0.5",
        "Standard deviation of what `follows` adds further [default: 0].",
    ),
    key(
        "by",
        &Put(Text, |column: &mut WrittenColumn, value| column.by = Some(value)),
        None,
        r#""country""#,
        "A column above with a `choice`: `choice` then has values for each of its values.",
    ),
    key(
        "children",
        &Elsewhere(anything),
        None,
        "[0, 5]",
        "How many rows each row has that `references` names: a number, or the lowest and highest. The table \
         needs no `rows` then.",
    ),
    key(
        "distinct",
        &Put(Count(1, ROWS_MAX), |column: &mut WrittenColumn, value| column.distinct = Some(value)),
        None,
        "500",
        "How many different values it has at most; `distribution` says how often each.",
    ),
    key(
        "distribution",
        &Put(
            Words(&[
                ("uniform", "uniform"),
                ("gaussian", "gaussian"),
                ("special", "special"),
                ("pareto", "pareto"),
                ("zipfian", "zipfian"),
                ("latest", "latest"),
            ]),
            |column: &mut WrittenColumn, word| column.distribution = Distributions::SYSBENCH.named(word),
        ),
        None,
        r#""zipfian""#,
        "How `random`, `date`, `time`, `references`, `words` and `distinct` values are distributed [default: \
         uniform].",
    ),
    key(
        "decimals",
        &Put(Count(0, DECIMALS_MAX), |column: &mut WrittenColumn, value| column.decimals = Some(value)),
        None,
        "2",
        "Digits after the decimal point: of `real` (2), `normal`, `histogram` and `follows` (0).",
    ),
    key(
        "null",
        &Put(forms::SHARE, |column: &mut WrittenColumn, value| column.null = value),
        None,
        r#""5%""#,
        "Share of the rows that are NULL.",
    ),
    key(
        "type",
        &Put(Text, |column: &mut WrittenColumn, value| column.kind = Some(value.trim().to_ascii_uppercase())),
        None,
        r#""VARCHAR(40)""#,
        "Its SQL type, if it should not be the one that Prony chooses.",
    ),
];

pub(super) fn anything() -> serde_json::Value {
    json!({})
}

pub(super) fn lists() -> serde_json::Value {
    json!({ "type": "array" })
}

/// What a column says beside its values.
#[derive(Default)]
pub(super) struct WrittenColumn {
    distribution: Option<Distribution>,
    decimals: Option<u32>,
    pub(super) null: f64,
    pub(super) kind: Option<String>,
    factor: Option<f64>,
    plus: Option<f64>,
    deviation: Option<f64>,
    by: Option<String>,
    distinct: Option<u64>,
}

/// More digits behind the point than anybody counts.
const DECIMALS_MAX: u32 = 9;
/// Keys of a column of which it has exactly one.
const KINDS: [&str; 14] = [
    "sequence",
    "random",
    "normal",
    "real",
    "histogram",
    "text",
    "pattern",
    "uuid",
    "json",
    "date",
    "time",
    "choice",
    "follows",
    "references",
];
/// Kinds of a column that a field of JSON cannot be.
const OF_ROWS: [&str; 3] = ["sequence", "follows", "references"];
/// Kinds that have a distribution.
const DISTRIBUTED: [&str; 4] = ["random", "date", "time", "references"];
/// Kinds that have decimals.
const DECIMAL: [&str; 4] = ["real", "normal", "histogram", "follows"];
/// Kinds whose values may be few.
const FEW: [&str; 9] = ["random", "normal", "real", "histogram", "text", "pattern", "json", "date", "time"];
/// Words that a vocabulary may have.
const WORDS_MAX: i64 = 100_000;
/// Most rows that belong to one.
const CHILDREN_MAX: i64 = 1_000_000;

/// A column as it is written.
pub(super) struct Read<'a> {
    pub(super) own: WrittenColumn,
    pub(super) seen: Seen<'a>,
    /// The key that says what it holds.
    pub(super) kind: &'a Entry,
    pub(super) values: Values,
    pub(super) distinct: Option<(u64, Distribution)>,
}

/// Reads a column; `above` are those before it.
pub(super) fn read<'a>(entry: &'a Entry, above: &[Column], mistakes: &mut Collector) -> Option<Read<'a>> {
    let Some(tree) = entry.node.table() else {
        let title = format!("column `{}` is {}", entry.key, entry.node.value.kind());
        mistakes.at(&entry.node.place, title, "expected a table such as { random = [1, 999] }");
        return None;
    };
    let (own, seen) = keys::read(tree, COLUMN, mistakes);
    let mut kinds = tree.0.iter().filter(|entry| KINDS.contains(&entry.key.as_str()));
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        let label = format!("expected one of {}", KINDS.join(", "));
        mistakes.at(&entry.node.place, "a column has one kind of value", label);
        return None;
    };
    let mut reader = Reader { own: &own, seen, tree, above, mistakes };
    // One that is wrong is known nevertheless: what names it is not wrong too.
    let nothing = Values::Random { min: 0, max: 0, distribution: Distribution::Uniform };
    let values = reader.held(kind).unwrap_or(nothing);
    let distinct = reader.distinct(&kind.key);
    Some(Read { own, seen, kind, values, distinct })
}

/// Reads what a column holds.
struct Reader<'a> {
    own: &'a WrittenColumn,
    seen: Seen<'a>,
    tree: &'a Tree,
    above: &'a [Column],
    mistakes: &'a mut Collector,
}

impl Reader<'_> {
    fn held(&mut self, kind: &Entry) -> Option<Values> {
        let node = &kind.node;
        let decimals = self.decimals(&kind.key);
        let distribution = self.distribution(&kind.key);
        match kind.key.as_str() {
            "sequence" => match node.value {
                Value::Integer(first) if first >= 1 => Some(Values::Sequence { first }),
                _ => self.wrong(node, "a sequence", "its first number, 1 or more"),
            },
            "random" => {
                let (min, max) = self.integers(node)?;
                Some(Values::Random { min, max, distribution })
            }
            "normal" => match self.numbers(node)? {
                (mean, deviation) if deviation > 0.0 && (mean.abs() + deviation) < 1e15 => {
                    Some(Values::Normal { mean, deviation, decimals: decimals.unwrap_or(0) })
                }
                _ => self.wrong(node, "a normal distribution", "its mean, and a deviation above 0"),
            },
            "real" => {
                let decimals = decimals.unwrap_or(2);
                let unit = 10f64.powi(decimals as i32);
                let (min, max) = self.numbers(node)?;
                if min > max || min.abs().max(max.abs()) * unit > 9e15 {
                    return self.wrong(node, "a range", "two numbers, the lower first, as in [0.5, 9.5]");
                }
                let [min, max] = [min, max].map(|end| (end * unit).round() as i64);
                Some(Values::Decimal { min, max, decimals })
            }
            "text" if node.text() == Some("fill") => Some(Values::Text { min: 0, max: u32::MAX }),
            "text" => match self.lengths(node)? {
                (min, max) if (0..=8_000).contains(&min) && max <= 8_000 => {
                    let (min, max) = (min as u32, max as u32);
                    match self.tree.get("words") {
                        None => Some(Values::Text { min, max }),
                        Some(words) => {
                            let words = self.words(words)?;
                            Some(Values::Words { min: min.max(1), max: max.max(1), words, distribution })
                        }
                    }
                }
                _ => self.wrong(node, "a length", "up to 8000 letters, or \"fill\""),
            },
            "pattern" => match node.text() {
                Some(text) if !text.is_empty() && text.is_ascii() => Some(Values::Pattern(text.to_owned())),
                _ => self.wrong(node, "a pattern", "text such as \"##-@@@\""),
            },
            "date" => {
                let (first, last) = self.days(node)?;
                Some(Values::Date { first, last, distribution })
            }
            "time" => {
                let (first, last) = self.times(node)?;
                Some(Values::Time { first, last, distribution })
            }
            "uuid" => match node.value {
                Value::Integer(version @ (4 | 7)) => Some(Values::Uuid(version as u32)),
                _ => self.wrong(node, "a UUID", "its version, 4 or 7"),
            },
            "histogram" => self.histogram(node, decimals.unwrap_or(0)),
            "json" => self.json(node),
            "follows" => self.follows(node, decimals),
            "choice" => match &self.own.by {
                Some(by) => self.by(node, by),
                None => self.choice(node),
            },
            _ => self.references(node, distribution),
        }
    }

    fn references(&mut self, node: &Node, distribution: Distribution) -> Option<Values> {
        let Some((table, column)) = node.text().and_then(|text| text.split_once('.')) else {
            return self.wrong(node, "a reference", "table and column, as in \"customer.id\"");
        };
        let (table, column) = (table.trim().to_owned(), column.trim().to_owned());
        let Some(children) = self.tree.get("children") else {
            return Some(Values::References { table, column, min: 1, max: 1, distribution });
        };
        if let Some(place) = self.seen.place("distribution") {
            let label = "remove it: `children` says how many rows belong to each";
            self.mistakes.at(place, "`children` has no distribution", label);
        }
        match self.lengths(children)? {
            (min, max) if min >= 0 && (1..=CHILDREN_MAX).contains(&max) => Some(Values::Children {
                table,
                column,
                first: 1,
                parents: 1,
                min: min as u32,
                max: max as u32,
            }),
            _ => self.wrong(children, "a number of rows", "a number above 0, or two, as in [0, 5]"),
        }
    }

    /// How many different values there are.
    fn distinct(&mut self, kind: &str) -> Option<(u64, Distribution)> {
        let distinct = self.own.distinct?;
        if let Some(place) = self.seen.place("distinct").filter(|_| !FEW.contains(&kind)) {
            self.mistakes.at(place, format!("`{kind}` has its own number of values"), "remove it");
        }
        Some((distinct, self.own.distribution.unwrap_or_default()))
    }

    fn words(&mut self, node: &Node) -> Option<Vec<String>> {
        let is_word = |text: &&str| !text.is_empty() && !text.contains(char::is_control);
        let listed = match &node.value {
            Value::Integer(count) if (1..=WORDS_MAX).contains(count) => {
                return Some((1..=*count as u64).map(made_up).collect());
            }
            Value::Array(nodes) => nodes
                .iter()
                .map(|node| node.text().filter(is_word).map(str::to_owned))
                .collect::<Option<Vec<String>>>(),
            _ => None,
        };
        match listed {
            Some(words) if !words.is_empty() && words.len() <= WORDS_MAX as usize => Some(words),
            _ => self.wrong(node, "a vocabulary", "words, as in [\"red\", \"green\"], or their number"),
        }
    }

    fn histogram(&mut self, node: &Node, decimals: u32) -> Option<Values> {
        let unit = 10f64.powi(decimals as i32);
        let number = |node: &Node| match node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Real(number) if number.is_finite() => Some(number),
            _ => None,
        };
        let range = |node: &Node| match &node.value {
            Value::Array(nodes) => match &nodes[..] {
                [min, max, weight] => {
                    let (min, max, weight) = (number(min)?, number(max)?, number(weight)?);
                    let is_right = min <= max && weight > 0.0 && min.abs().max(max.abs()) * unit < 9e15;
                    is_right.then(|| ((min * unit).round() as i64, (max * unit).round() as i64, weight))
                }
                _ => None,
            },
            _ => None,
        };
        let ranges: Option<Vec<(i64, i64, f64)>> = match &node.value {
            Value::Array(nodes) => nodes.iter().map(range).collect(),
            _ => None,
        };
        match ranges {
            Some(ranges) if !ranges.is_empty() => Some(Values::Histogram { ranges, decimals }),
            _ => self.wrong(node, "a histogram", "ranges with weights, as in [[1, 9, 70], [10, 99, 30]]"),
        }
    }

    /// Fields in the order in which MySQL shows them: shorter names first.
    fn json(&mut self, node: &Node) -> Option<Values> {
        let Some(tree) = node.table().filter(|tree| !tree.0.is_empty()) else {
            return self.wrong(node, "JSON", "its fields, as in { size = { random = [1, 9] } }");
        };
        let mut fields = Vec::new();
        for entry in &tree.0 {
            let Read { own, kind, values, distinct, .. } = read(entry, &[], self.mistakes)?;
            let is_whole = own.by.is_none() && !matches!(values, Values::Text { max: u32::MAX, .. });
            if OF_ROWS.contains(&kind.key.as_str()) || !is_whole {
                let label = "fields of JSON can be everything else that a column can";
                self.mistakes.at(&kind.node.place, format!("no field of JSON can be `{}`", kind.key), label);
                return None;
            }
            let kind = values.kind();
            fields.push(Column { name: entry.key.clone(), kind, values, null: own.null, distinct });
        }
        fields.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        Some(Values::Json(fields))
    }

    /// A column above.
    fn above(&mut self, place: &Place, name: &str) -> Option<Column> {
        let found = self.above.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        if found.is_none() {
            let known = self.above.iter().map(|column| column.name.as_str());
            self.mistakes.unknown(place, "column above this one named", name, known);
        }
        found.cloned()
    }

    fn follows(&mut self, node: &Node, decimals: Option<u32>) -> Option<Values> {
        let other = self.above(&node.place, node.text().unwrap_or_default())?;
        let is_day = match &other.values {
            Values::Date { .. } | Values::Follows { decimals: None, .. } => true,
            values if values.is_number() => false,
            _ => {
                let title = format!("`{}` holds neither numbers nor days", other.name);
                self.mistakes.at(&node.place, title, "name a column that does");
                return None;
            }
        };
        if let Some(place) = self.seen.place("decimals").filter(|_| is_day) {
            self.mistakes.at(place, "days have no decimals", "remove it");
        }
        Some(Values::Follows {
            column: other.name,
            factor: self.own.factor.unwrap_or(1.0),
            plus: self.own.plus.unwrap_or(0.0),
            deviation: self.own.deviation.unwrap_or(0.0),
            decimals: (!is_day).then(|| decimals.unwrap_or(0)),
        })
    }

    fn by(&mut self, node: &Node, by: &str) -> Option<Values> {
        let place = self.seen.place("by").unwrap_or(&node.place);
        let other = self.above(place, by)?;
        let Values::Choice(of) = &other.values else {
            self.mistakes.at(place, format!("`{by}` is no `choice`"), "name a column that is one");
            return None;
        };
        let Some(tree) = node.table() else {
            let wanted = "values for each value of the other column, as in { DE = [\"Berlin\"] }";
            return self.wrong(node, "a choice", wanted);
        };
        let mut cases = Vec::new();
        for entry in &tree.0 {
            match self.choice(&entry.node)? {
                Values::Choice(choice) => cases.push((entry.key.clone(), choice)),
                _ => return None,
            }
        }
        let texts = of.iter().map(|(value, _)| match value {
            Literal::Text(text) => text.clone(),
            Literal::Integer(number) => number.to_string(),
            _ => String::new(),
        });
        let texts: Vec<String> = texts.collect();
        if let Some(missing) = texts.iter().find(|text| !cases.iter().any(|(case, _)| case == *text)) {
            let title = format!("there is no choice for `{missing}`, which `{by}` can hold");
            self.mistakes.at(&node.place, title, format!("add `{missing} = [...]`"));
        }
        if let Some(entry) = tree.0.iter().find(|entry| !texts.contains(&entry.key)) {
            self.mistakes.unknown(&entry.key_place, "value", &entry.key, texts.iter().map(String::as_str));
        }
        Some(Values::By { column: other.name.clone(), cases })
    }

    fn times(&mut self, node: &Node) -> Option<(i64, i64)> {
        let time = |node: &Node| {
            let time: jiff::civil::DateTime = node.text()?.trim().parse().ok()?;
            time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp().as_second())
        };
        match pair(node).map(|(first, last)| (time(first), time(last))) {
            Some((Some(first), Some(last))) if first <= last => Some((first, last)),
            _ => self.wrong(
                node,
                "a range",
                "two times in quotes, as in [\"2024-01-01 00:00:00\", \"2024-12-31 23:59:59\"]",
            ),
        }
    }

    fn decimals(&mut self, kind: &str) -> Option<u32> {
        let place = self.seen.place("decimals")?;
        if !DECIMAL.contains(&kind) {
            self.mistakes.at(place, format!("`{kind}` has no decimals"), "remove it");
        }
        self.own.decimals
    }

    fn distribution(&mut self, kind: &str) -> Distribution {
        let Some(place) = self.seen.place("distribution") else { return Distribution::Uniform };
        let has_one = DISTRIBUTED.contains(&kind)
            || self.own.distinct.is_some()
            || kind == "text" && self.tree.get("words").is_some();
        if !has_one {
            self.mistakes.at(place, format!("`{kind}` has no distribution"), "remove it");
        }
        self.own.distribution.unwrap_or_default()
    }

    fn integers(&mut self, node: &Node) -> Option<(i64, i64)> {
        match pair(node).map(|(min, max)| (&min.value, &max.value)) {
            Some((Value::Integer(min), Value::Integer(max))) if min <= max => Some((*min, *max)),
            _ => self.wrong(node, "a range", "two whole numbers, the lower first, as in [1, 100]"),
        }
    }

    fn lengths(&mut self, node: &Node) -> Option<(i64, i64)> {
        match node.value {
            Value::Integer(length) => Some((length, length)),
            _ => self.integers(node),
        }
    }

    fn numbers(&mut self, node: &Node) -> Option<(f64, f64)> {
        let number = |node: &Node| match node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Real(number) if number.is_finite() => Some(number),
            _ => None,
        };
        match pair(node).map(|(one, other)| (number(one), number(other))) {
            Some((Some(one), Some(other))) => Some((one, other)),
            _ => self.wrong(node, "this", "two numbers, as in [50, 10]"),
        }
    }

    fn days(&mut self, node: &Node) -> Option<(i64, i64)> {
        let day = |node: &Node| {
            let date: jiff::civil::Date = node.text()?.trim().parse().ok()?;
            jiff::civil::date(1970, 1, 1).until(date).ok().map(|span| i64::from(span.get_days()))
        };
        match pair(node).map(|(first, last)| (day(first), day(last))) {
            Some((Some(first), Some(last))) if first <= last => Some((first, last)),
            _ => self.wrong(node, "a range", "two dates in quotes, as in [\"2020-01-01\", \"2024-12-31\"]"),
        }
    }

    fn choice(&mut self, node: &Node) -> Option<Values> {
        let wanted = "values, as in [\"open\", \"paid\"], or with their weights { open = 1, paid = 3 }";
        let literal = |node: &Node| match &node.value {
            Value::Text(text) => Some(Literal::Text(text.clone())),
            Value::Integer(number) => Some(Literal::Integer(*number)),
            _ => None,
        };
        let weight = |node: &Node| match node.value {
            Value::Integer(weight) if weight > 0 => Some(weight as f64),
            Value::Real(weight) if weight > 0.0 && weight.is_finite() => Some(weight),
            _ => None,
        };
        let choice: Option<Vec<(Literal, f64)>> = match &node.value {
            Value::Array(nodes) => nodes.iter().map(|node| Some((literal(node)?, 1.0))).collect(),
            Value::Table(tree) => {
                let one = |entry: &Entry| Some((Literal::Text(entry.key.clone()), weight(&entry.node)?));
                tree.0.iter().map(one).collect()
            }
            _ => None,
        };
        match choice {
            Some(choice) if !choice.is_empty() => Some(Values::Choice(choice)),
            _ => self.wrong(node, "a choice", wanted),
        }
    }

    fn wrong<T>(&mut self, node: &Node, what: &str, wanted: &str) -> Option<T> {
        self.mistakes.at(&node.place, format!("{what} cannot be this"), format!("expected {wanted}"));
        None
    }
}

/// The two items of a list of two.
fn pair(node: &Node) -> Option<(&Node, &Node)> {
    match &node.value {
        Value::Array(nodes) => match &nodes[..] {
            [one, other] => Some((one, other)),
            _ => None,
        },
        _ => None,
    }
}

/// A word of a vocabulary that nobody wrote: its number decides, and the first are short.
fn made_up(number: u64) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we",
        "xi", "yo", "zu",
    ];
    let mut rest = number + SYLLABLES.len() as u64;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % SYLLABLES.len() as u64) as usize]);
        rest /= SYLLABLES.len() as u64;
    }
    word
}
