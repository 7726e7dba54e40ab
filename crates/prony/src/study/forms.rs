//! Values with a syntax of their own: arrivals with their rates and pauses, when a connection is opened
//! again, when a stream begins and what ends it. [`crate::arrival`] says how rates, pauses and modes are
//! written, so that a study and the command line agree.

use super::{
    bound::{Bound, Unit, bound},
    kinds::{DAY_US, Form, Pattern, quantity},
    mistake::nearest,
    tree::{Node, Value},
    wrong::Wrong,
};
use crate::{
    arrival,
    quantity::{self, Price, Wanted},
    search::Objectives,
};
use load::spec::{Arrival, Begin, ConnectionMode, Limit, Rate, Think};
use std::time::Duration;

/// `"closed"`, or one of the keys `think`, `pace` and `rate` with its value.
pub(super) const ARRIVAL: Form<Arrival> =
    Form(arrival, Pattern::Text(r"^\s*(closed\s*$|(think|pace|rate)\s)"));
/// `"10ms"`, `"exp:10ms"`.
pub(super) const THINK: Form<Think> = Form(think, Pattern::Text(r"^\s*(exp:|exponential:)?\s*[0-9]"));
/// `1000`, a profile in words, or `"find"`.
pub(super) const RATE: Form<Rate> = Form(rate, Pattern::Schema(r#"{ "type": ["number", "string"] }"#));
/// `"p99 < 20ms, errors < 0.1%"`.
pub(super) const OBJECTIVE: Form<Objectives> = Form(objective, Pattern::Text("<"));
/// `"never"`, `"transaction"`, `"statement"`, a number.
pub(super) const RECONNECT: Form<ConnectionMode> = Form(
    reconnect,
    Pattern::Schema(
        r#"{ "anyOf": [
            { "enum": ["never", "transaction", "statement"] },
            { "type": "integer", "minimum": 1 }
        ] }"#,
    ),
);
/// `"together"`, `"after 5s"`, `"after NAME"`.
pub(super) const BEGIN: Form<Begin> = Form(begin, Pattern::Text(r"^\s*(together|after\s+\S+)\s*$"));
/// `"100000 transactions"`, `"5000 rows"`.
pub(super) const LIMIT: Form<Limit> =
    Form(limit, Pattern::Text(r"^\s*[0-9][0-9_]*[kKmMgG]?\s+(transactions?|rows?)\s*$"));
/// `"auto"` (`None`), or a length of time.
pub(super) const WARM_UP: Form<Option<Duration>> = Form(warm_up, Pattern::Text(r"^\s*(auto|[0-9].*)\s*$"));
/// `"3%"`, `"0.5%"`.
pub(super) const SHARE: Form<f64> = Form(share, Pattern::Text(r"^\s*[0-9][0-9_.]*\s*%\s*$"));
/// `"4G"`, in bytes.
pub(super) const SIZE: Form<u64> = Form(
    |node| quantity(node, quantity::size, Wanted::Size),
    Pattern::Text(r"^\s*[0-9][0-9_.]*\s*([kKmMgGtT][iI]?[bB]?|[bB])\s*$"),
);
/// `"100MB/s"`, `"100 Mbit/s"`, in bytes per second.
pub(super) const BANDWIDTH: Form<u64> = Form(
    |node| quantity(node, quantity::bandwidth, Wanted::Bandwidth),
    Pattern::Text(r"^\s*[0-9][0-9_.]*\s*[kKmMgGtT]?[iI]?([bB]|bit)?\s*/s\s*$"),
);
/// `"0.42 EUR/h"`.
pub(super) const PRICE: Form<Price> = Form(
    |node| quantity(node, quantity::price, Wanted::Price),
    Pattern::Text(r"^\s*[0-9][0-9_.]*\s*[A-Za-z]+\s*/\s*h\s*$"),
);
/// `"0-3,6"`.
pub(super) const PROCESSORS: Form<Vec<u32>> =
    Form(processors, Pattern::Schema(r#"{ "type": ["integer", "string"] }"#));
/// `"schema.sql"`, or a list.
pub(super) const SQL_FILES: Form<Vec<String>> = Form(
    sql_files,
    Pattern::Schema(
        r#"{ "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": { "type": "string" } }"#,
    ),
);

/// `">= 2"`, `"< 0.5"`.
pub(super) const BOUND: Form<Bound> =
    Form(|node| bound(node, Unit::One), Pattern::Text(r"^\s*(>=|<=|>|<)\s*-?[0-9]"));

/// `"http://host:9100/metrics"`.
pub(super) const EXPORTER: Form<String> = Form(exporter, Pattern::Text("^http://"));

/// Kinds of arrival as `arrival` names them.
const ARRIVALS: [&str; 4] = ["closed", "pace", "rate", "think"];
/// When a connection is opened again, in words.
const RECONNECTS: [&str; 3] = ["never", "statement", "transaction"];

/// Reads `arrival`, without the gaps and the limit of lateness that other keys say.
fn arrival(node: &Node) -> Result<Arrival, Wrong> {
    let wanted = "\"closed\", \"think 10ms\", \"pace 10ms\" or \"rate 1000\"";
    let text = node.text().ok_or(Wrong::Expected(wanted))?.trim();
    let (kind, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = Node { value: Value::Text(value.trim().to_owned()), place: node.place.clone() };
    match kind {
        "closed" if value.text() == Some("") => Ok(Arrival::Closed),
        "think" => think(&value).map(Arrival::Think),
        "pace" => Ok(Arrival::Paced { every: pace(&value)?, lateness_max: None }),
        "rate" => Ok(Arrival::Open { rate: rate(&value)?, gaps: Default::default(), lateness_max: None }),
        "closed" => Err(Wrong::Expected(wanted)),
        _ => Err(Wrong::word(kind, &ARRIVALS, wanted)),
    }
}

fn pace(node: &Node) -> Result<Duration, Wrong> {
    let wanted = Wrong::Expected("a length of time above 0, such as \"10ms\"");
    if node.text().is_some_and(|text| text.trim().is_empty()) {
        return Err(wanted);
    }
    match quantity(node, quantity::duration, Wanted::Duration)? {
        Duration::ZERO => Err(wanted),
        every => Ok(every),
    }
}

/// Reads `think`.
fn think(node: &Node) -> Result<Think, Wrong> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Real(_) => node.label(),
        _ => return Err(Wrong::Expected("\"10ms\", or \"exp:10ms\" for an exponential distribution")),
    };
    Ok(arrival::think(&text)?)
}

/// A rate to search for.
pub(super) const FIND: &str = "find";

/// Reads `rate`. A rate to search for is 1 per second until it is found.
fn rate(node: &Node) -> Result<Rate, Wrong> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Real(_) => node.label(),
        _ => return Err(Wrong::Expected("a number of starts per second, or text in quotes")),
    };
    if text.trim() == FIND {
        return Ok(Rate::Constant(1.0));
    }
    arrival::rate(&text).map_err(|error| match error {
        arrival::Error::Rate { reason, .. } => Wrong::Rate(reason).nor(FIND),
        other => other.into(),
    })
}

/// Reads `objective`.
pub(super) fn objective(node: &Node) -> Result<Objectives, Wrong> {
    let wanted = "an objective such as \"p99 < 20ms\" or \"p95 < 5ms, errors < 0.1%\"";
    Ok(Objectives::parse(node.text().ok_or(Wrong::Expected(wanted))?)?)
}

/// Reads `reconnect`.
fn reconnect(node: &Node) -> Result<ConnectionMode, Wrong> {
    let wanted = "\"never\", \"transaction\", \"statement\" or a number of transactions";
    match &node.value {
        Value::Integer(number) => {
            let number = u32::try_from(*number).ok().filter(|number| *number > 0);
            number.map(ConnectionMode::Transactions).ok_or(Wrong::Expected(wanted))
        }
        Value::Text(text) if RECONNECTS.contains(&text.as_str()) => {
            arrival::connection_mode(text).map_err(|_| Wrong::Expected(wanted))
        }
        Value::Text(text) => Err(Wrong::word(text, &RECONNECTS, wanted)),
        _ => Err(Wrong::Expected(wanted)),
    }
}

/// Reads `begin`; whether there is a stream of the name is not looked at.
fn begin(node: &Node) -> Result<Begin, Wrong> {
    let wanted = || Wrong::Expected("\"together\", \"after 5s\" or \"after\" and the name of another stream");
    let text = node.text().ok_or_else(wanted)?.trim();
    if text == "together" {
        return Ok(Begin::Together);
    }
    let what = text.strip_prefix("after ").ok_or_else(wanted)?.trim();
    match quantity::duration(what) {
        Ok(time) => Ok(Begin::After(time)),
        // no name begins with a digit
        Err(error) if what.starts_with(|first: char| first.is_ascii_digit()) => Err(error.into()),
        Err(_) if what.is_empty() || what.contains(char::is_whitespace) => Err(wanted()),
        Err(_) => Ok(Begin::WhenDone(what.to_owned())),
    }
}

/// Reads `limit`.
fn limit(node: &Node) -> Result<Limit, Wrong> {
    let wanted = || Wrong::Expected("\"100000 transactions\" or \"100000 rows\"");
    let text = node.text().ok_or_else(wanted)?.trim();
    let (number, unit) = text.split_once(char::is_whitespace).ok_or_else(wanted)?;
    let number = quantity::count(number).ok().filter(|number| *number > 0).ok_or_else(wanted)?;
    match unit.trim() {
        "transactions" | "transaction" => Ok(Limit::Transactions(number)),
        "rows" | "row" => Ok(Limit::Rows(number)),
        unit => Err(nearest(unit, ["transactions", "rows"])
            .map_or_else(wanted, |word| Wrong::Nearly(format!("{number} {word}")))),
    }
}

/// Reads a share above 0: 0.03 of `"3%"`.
fn share(node: &Node) -> Result<f64, Wrong> {
    match quantity(node, quantity::share, Wanted::Share)? {
        0.0 => Err(Wrong::Expected("a share above 0, such as \"3%\"")),
        share => Ok(share),
    }
}

/// One path, or a list of them.
fn sql_files(node: &Node) -> Result<Vec<String>, Wrong> {
    let nodes = match &node.value {
        Value::Array(nodes) if !nodes.is_empty() => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let path = |node: &Node| node.text().filter(|path| !path.is_empty()).map(str::to_owned);
    let paths = nodes.iter().map(path).collect::<Option<_>>();
    paths.ok_or(Wrong::Expected("the path of a file, or a list of paths"))
}

/// Reads `pin`: numbers of processors in their order, each once.
fn processors(node: &Node) -> Result<Vec<u32>, Wrong> {
    /// The kernel's own limit for one call.
    const NUMBER_MAX: u32 = 1023;
    let wanted = || Wrong::Expected("numbers of processors such as \"0-3\" or \"0,2,4-7\"");
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) => node.label(),
        _ => return Err(wanted()),
    };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number <= NUMBER_MAX);
    let mut found = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = number(first).zip(number(last)).ok_or_else(wanted)?;
        found.extend(first..=last);
        if first > last {
            return Err(wanted());
        }
    }
    Ok(found.into_iter().collect())
}

/// A warm-up until the load is steady.
const AUTO: &str = "auto";

/// Reads `warm_up`; `None`: until it is steady.
fn warm_up(node: &Node) -> Result<Option<Duration>, Wrong> {
    if node.text().is_some_and(|text| text.trim() == AUTO) {
        return Ok(None);
    }
    let time = quantity(node, quantity::duration, Wanted::Duration);
    let time = time.map_err(|wrong| wrong.nor(AUTO))?;
    if time > Duration::from_micros(DAY_US) {
        return Err(Wrong::Expected("\"auto\" or a length of time up to \"24h\": \"5s\""));
    }
    Ok(Some(time))
}

/// Reads `node_exporter`.
fn exporter(node: &Node) -> Result<String, Wrong> {
    let wanted = || Wrong::Expected("\"http://host:9100/metrics\"");
    let text = node.text().ok_or_else(wanted)?;
    match url::Url::parse(text) {
        Ok(url) if url.scheme() == "https" => Err(Wrong::NotPlain),
        Ok(url) if url.scheme() == "http" && url.host_str().is_some() => Ok(text.to_owned()),
        _ => Err(wanted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{
        keys::{Kind, Misfit},
        kinds::Addresses,
        tree::parse_value,
    };

    fn text(text: &str) -> Node {
        parse_value(text, 0, 0)
    }

    /// What belongs in the place of something wrong.
    fn told<K: Kind>(kind: K, wrong: &str) -> String {
        match kind.read(&text(wrong)) {
            Err(Misfit::Value(wrong) | Misfit::List(wrong)) => wrong.to_string(),
            Err(other) => panic!("{wrong}: {other:?}"),
            Ok(_) => panic!("{wrong} is read"),
        }
    }

    #[test]
    fn each_form_is_read_and_what_is_none_is_told_what_belongs_there() {
        assert_eq!(arrival(&text("closed")), Ok(Arrival::Closed));
        let every = Duration::from_micros(100);
        assert_eq!(arrival(&text("pace 100us")), Ok(Arrival::Paced { every, lateness_max: None }));
        assert!(matches!(
            arrival(&text("rate 100..200 over 5s")),
            Ok(Arrival::Open { rate: Rate::Ramp { .. }, .. })
        ));
        assert_eq!(think(&text("exp:10ms")), Ok(Think::Exponential(Duration::from_millis(10))));
        assert_eq!(rate(&text("1500")), Ok(Rate::Constant(1500.0)));
        assert_eq!(rate(&text("find")), Ok(Rate::Constant(1.0)));
        assert!(objective(&text("p99 < 20ms, errors < 0.1%")).is_ok());
        assert_eq!(reconnect(&text("25")), Ok(ConnectionMode::Transactions(25)));
        assert_eq!(reconnect(&text("statement")), Ok(ConnectionMode::Statement));
        assert_eq!(begin(&text("after 5s")), Ok(Begin::After(Duration::from_secs(5))));
        assert_eq!(begin(&text("after lookups")), Ok(Begin::WhenDone("lookups".to_owned())));
        assert_eq!(limit(&text("1_000_000 rows")), Ok(Limit::Rows(1_000_000)));
        assert_eq!(Addresses.read(&text("[\"127.0.0.2\", \"::1\"]")).map(|found| found.len()), Ok(2));
        assert_eq!(SIZE.0(&text("1.5G")), Ok(3 << 29));
        assert_eq!(SIZE.0(&text("512MB")), Ok(512 << 20));
        assert_eq!(BANDWIDTH.0(&text("100MB/s")), Ok(100_000_000));
        assert_eq!(processors(&text("0-2,6")), Ok(vec![0, 1, 2, 6]));
        assert_eq!(processors(&text("3")), Ok(vec![3]));
        assert_eq!(warm_up(&text("auto")), Ok(None));
        assert_eq!(warm_up(&text("2min")), Ok(Some(Duration::from_secs(120))));
        assert_eq!(share(&text("0.5%")), Ok(0.005));
        for (told, label) in [
            (told(SIZE, "4"), "`4` has no unit: write 512M"),
            (told(SIZE, "0M"), "512M"),
            (told(SIZE, "true"), "expected a size, such as 512M"),
            (told(BANDWIDTH, "100MB"), "100MB/s"),
            (told(PROCESSORS, "3-0"), "\"0-3\""),
            (told(PROCESSORS, "all"), "\"0-3\""),
            (told(WARM_UP, "automatic"), "\"auto\""),
            (told(WARM_UP, "25h"), "24h"),
            (told(SHARE, "0.03"), "`0.03` has no unit: write 2%"),
            (told(SHARE, "0%"), "\"3%\""),
            (told(ARRIVAL, "paced 10ms"), "did you mean `pace`?"),
            (told(ARRIVAL, "pace"), "above 0"),
            (told(ARRIVAL, "closed 5"), "\"closed\""),
            (told(THINK, "10"), "`10` has no unit: write 10s"),
            (told(RATE, "fast"), "100..5000 over 60s"),
            (told(RATE, "-5"), "1000:10s"),
            (told(RATE, "finde"), "\"find\""),
            (told(OBJECTIVE, "p99 < 20"), "20ms"),
            (told(OBJECTIVE, "fast"), "no <"),
            (told(OBJECTIVE, "5"), "\"p99 < 20ms\""),
            (told(RECONNECT, "statment"), "did you mean `statement`?"),
            (told(RECONNECT, "0"), "a number of transactions"),
            (told(BEGIN, "after 5"), "`5` has no unit: write 10s"),
            (told(WARM_UP, "5"), "`5` has no unit: write 10s"),
            (told(BEGIN, "later"), "\"after 5s\""),
            (told(BEGIN, "after the rain"), "the name of another stream"),
            (told(LIMIT, "100"), "\"100000 rows\""),
            (told(LIMIT, "100 row s"), "did you mean `100 rows`?"),
            (told(LIMIT, "0 rows"), "\"100000 rows\""),
            (told(Addresses, "\"127.0.0.1\""), "a list"),
            (told(Addresses, "[\"localhost\"]"), "a list"),
        ] {
            assert!(told.contains(label), "{told}");
        }
    }
}
