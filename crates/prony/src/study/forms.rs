//! Values that are written in a form of their own: arrivals and their rates and pauses, when a connection is
//! made anew, when a stream begins and what ends it, addresses. How rates, pauses and modes are written is
//! [`crate::arrival`]'s to say, so that a study and the command line say it alike.

use super::{
    claim::bound,
    mistake::nearest,
    tree::{Node, Value},
};
use crate::{
    arrival,
    quantity::{self, Wanted},
    search::Objectives,
};
use load::spec::{Arrival, Begin, ConnectionMode, Limit, Rate, Think};
use std::{net::IpAddr, time::Duration};

/// Which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `"closed"`, or one of the keys `think`, `pace` and `rate` with its value.
    Arrival,
    /// `"10ms"`, `"exp:10ms"`.
    Think,
    /// `1000`, a profile in words, or `"find"`.
    Rate,
    /// `"p99 < 20ms, errors < 0.1%"`.
    Objective,
    /// `"never"`, `"transaction"`, `"statement"`, a number.
    Reconnect,
    /// `"together"`, `"after 5s"`, `"after NAME"`.
    Begin,
    /// `"100000 transactions"`, `"5000 rows"`.
    Limit,
    /// `["127.0.0.1", "127.0.0.2"]`.
    Addresses,
    /// `"auto"`, or a length of time.
    WarmUp,
    /// `"3%"`, `"0.5%"`.
    Share,
    /// `"4G"`.
    Memory,
    /// `"100MB/s"`.
    Bandwidth,
    /// `"0-3,6"`.
    Processors,
    /// `">= 2"`, `"< 0.5"`.
    Bound,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// As one line.
    pub(super) title: String,
    /// What belongs there.
    pub(super) label: String,
}

/// Kinds of arrival as `arrival` names them.
const ARRIVALS: [&str; 4] = ["closed", "pace", "rate", "think"];
/// When a connection is made anew, in words.
const RECONNECTS: [&str; 3] = ["never", "statement", "transaction"];

impl Form {
    /// Whether the value of a key has the form.
    pub(super) fn check(self, name: &str, node: &Node) -> Result<(), Wrong> {
        match self {
            Self::Arrival => arrival(node).map(drop),
            Self::Think => think(node).map(drop),
            Self::Rate => rate(node).map(drop),
            Self::Objective => objective(node).map(drop),
            Self::Reconnect => reconnect(node).map(drop),
            Self::Begin => begin(node).map(drop),
            Self::Limit => limit(node).map(drop),
            Self::Addresses => addresses(node).map(drop),
            Self::WarmUp => warm_up(node).map(drop),
            Self::Share => share(node).map(drop),
            Self::Memory => memory(node).map(drop),
            Self::Bandwidth => bandwidth(node).map(drop),
            Self::Processors => processors(node).map(drop),
            Self::Bound => bound(node, "").map(drop),
        }
        .map_err(|label| {
            let title = match &node.value {
                Value::Text(text) => format!("`{name}` is \"{text}\""),
                Value::Integer(number) => format!("`{name}` is {number}"),
                Value::Real(number) => format!("`{name}` is {number}"),
                Value::Array(_) => format!("`{name}` is [{}]", node.label()),
                other => format!("`{name}` is {}", other.kind()),
            };
            Wrong { title, label }
        })
    }
}

/// A value, or what belongs in its place.
type Read<T> = Result<T, String>;

/// Reads `arrival`, without the gaps and the limit of lateness that other keys say.
pub(super) fn arrival(node: &Node) -> Read<Arrival> {
    let wanted = || "\"closed\", \"think 10ms\", \"pace 10ms\" or \"rate 1000\" belongs here".to_owned();
    let text = node.text().ok_or_else(wanted)?.trim();
    let (kind, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = Node { value: Value::Text(value.trim().to_owned()), place: node.place.clone() };
    match kind {
        "closed" if value.text() == Some("") => Ok(Arrival::Closed),
        "think" => think(&value).map(Arrival::Think),
        "pace" => Ok(Arrival::Paced { every: pace(&value)?, lateness_max: None }),
        "rate" => Ok(Arrival::Open { rate: rate(&value)?, gaps: Default::default(), lateness_max: None }),
        "closed" => Err(wanted()),
        _ => Err(nearest(kind, ARRIVALS).map_or_else(wanted, |kind| format!("did you mean `{kind}`?"))),
    }
}

fn pace(node: &Node) -> Read<Duration> {
    let wanted = || "a length of time above 0 belongs here, such as \"10ms\"".to_owned();
    if node.text().is_some_and(|text| text.trim().is_empty()) {
        return Err(wanted());
    }
    match quantity(node, quantity::duration, Wanted::Duration)? {
        Duration::ZERO => Err(wanted()),
        every => Ok(every),
    }
}

/// Reads `think`.
pub(super) fn think(node: &Node) -> Read<Think> {
    let wanted = || "\"10ms\", or \"exp:10ms\" for an exponential distribution, belongs here".to_owned();
    arrival::think(node.text().ok_or_else(wanted)?).map_err(|_| wanted())
}

/// A rate that is to be found.
pub(super) const FIND: &str = "find";

/// Reads `rate`. What is to be found begins as 1 in a second.
pub(super) fn rate(node: &Node) -> Read<Rate> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Real(_) => node.label(),
        _ => return Err("a number of starts in a second belongs here, or text in quotes".to_owned()),
    };
    if text.trim() == FIND {
        return Ok(Rate::Constant(1.0));
    }
    arrival::rate(&text).map_err(|error| match error {
        arrival::Error::Rate { reason, .. } => format!("{reason}, or \"{FIND}\""),
        other => other.to_string(),
    })
}

/// Reads `objective`.
pub(super) fn objective(node: &Node) -> Read<Objectives> {
    let wanted = || {
        "what is to be kept belongs here, such as \"p99 < 20ms\" or \"p95 < 5ms, errors < 0.1%\"".to_owned()
    };
    let text = node.text().ok_or_else(wanted)?;
    Objectives::parse(text).map_err(|error| error.to_string())
}

/// Reads `reconnect`.
pub(super) fn reconnect(node: &Node) -> Read<ConnectionMode> {
    let wanted =
        || "\"never\", \"transaction\", \"statement\" or a number of transactions belongs here".to_owned();
    match &node.value {
        Value::Integer(number) => {
            let number = u32::try_from(*number).ok().filter(|number| *number > 0);
            number.map(ConnectionMode::Transactions).ok_or_else(wanted)
        }
        Value::Text(text) if RECONNECTS.contains(&text.as_str()) => {
            arrival::connection_mode(text).map_err(|_| wanted())
        }
        Value::Text(text) => {
            Err(nearest(text, RECONNECTS).map_or_else(wanted, |word| format!("did you mean `{word}`?")))
        }
        _ => Err(wanted()),
    }
}

/// Reads `begin`; whether there is a stream of the name is not looked at.
pub(super) fn begin(node: &Node) -> Read<Begin> {
    let wanted =
        || "\"together\", \"after 5s\" or \"after\" and the name of another stream belongs here".to_owned();
    let text = node.text().ok_or_else(wanted)?.trim();
    if text == "together" {
        return Ok(Begin::Together);
    }
    let what = text.strip_prefix("after ").ok_or_else(wanted)?.trim();
    match quantity::duration(what) {
        Ok(time) => Ok(Begin::After(time)),
        Err(_) if what.is_empty() || what.contains(char::is_whitespace) => Err(wanted()),
        Err(_) => Ok(Begin::WhenDone(what.to_owned())),
    }
}

/// Reads `limit`.
pub(super) fn limit(node: &Node) -> Read<Limit> {
    let wanted = || "\"100000 transactions\" or \"100000 rows\" belongs here".to_owned();
    let text = node.text().ok_or_else(wanted)?.trim();
    let (number, unit) = text.split_once(char::is_whitespace).ok_or_else(wanted)?;
    let number = quantity::count(number).ok().filter(|number| *number > 0).ok_or_else(wanted)?;
    match unit.trim() {
        "transactions" | "transaction" => Ok(Limit::Transactions(number)),
        "rows" | "row" => Ok(Limit::Rows(number)),
        unit => Err(nearest(unit, ["transactions", "rows"])
            .map_or_else(wanted, |word| format!("did you mean `{number} {word}`?"))),
    }
}

/// A quantity as it is written, in quotes or bare.
fn quantity<T>(node: &Node, read: fn(&str) -> Result<T, quantity::Error>, wanted: Wanted) -> Read<T> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Real(_) => node.label(),
        _ => return Err(format!("{} belongs here, such as {}", wanted.name(), wanted.examples())),
    };
    read(&text).map_err(|error| error.to_string())
}

/// Reads a share above 0: 0.03 of `"3%"`.
pub(super) fn share(node: &Node) -> Read<f64> {
    match quantity(node, quantity::share, Wanted::Share)? {
        0.0 => Err("a share above 0 belongs here, such as \"3%\"".to_owned()),
        share => Ok(share),
    }
}

/// Reads `sources`.
pub(super) fn addresses(node: &Node) -> Read<Vec<IpAddr>> {
    let wanted =
        || "a list of this machine's addresses belongs here: [\"127.0.0.1\", \"127.0.0.2\"]".to_owned();
    let Value::Array(nodes) = &node.value else { return Err(wanted()) };
    let address = |node: &Node| node.text()?.trim().parse().ok();
    nodes.iter().map(address).collect::<Option<_>>().ok_or_else(wanted)
}

/// Reads `memory`, in bytes.
pub(super) fn memory(node: &Node) -> Read<u64> {
    quantity(node, quantity::size, Wanted::Size)
}

/// Reads `io_read` and its like, in bytes in a second.
pub(super) fn bandwidth(node: &Node) -> Read<u64> {
    quantity(node, quantity::bandwidth, Wanted::Bandwidth)
}

/// Reads `pin`: numbers of processors in their order, each once.
pub(super) fn processors(node: &Node) -> Read<Vec<u32>> {
    /// The kernel's own limit for one call.
    const NUMBER_MAX: u32 = 1023;
    let wanted = || "numbers of processors such as \"0-3\" or \"0,2,4-7\" belong here".to_owned();
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

/// Reads `warm_up`; `None`: until it is steady.
pub(super) fn warm_up(node: &Node) -> Read<Option<Duration>> {
    let text = node.text().unwrap_or_default().trim();
    if text == "auto" {
        return Ok(None);
    }
    let time = quantity::duration(text).ok().filter(|time| *time <= Duration::from_secs(24 * 3600));
    time.map(Some).ok_or_else(|| "\"auto\" or a length of time up to \"24h\" belongs here: \"5s\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tree::parse_value;

    fn text(text: &str) -> Node {
        parse_value(text, 0, 0)
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
        assert_eq!(addresses(&text("[\"127.0.0.2\", \"::1\"]")).map(|found| found.len()), Ok(2));
        assert_eq!(memory(&text("1.5G")), Ok(3 << 29));
        assert_eq!(memory(&text("512MB")), Ok(512 << 20));
        assert_eq!(bandwidth(&text("100MB/s")), Ok(100_000_000));
        assert_eq!(processors(&text("0-2,6")), Ok(vec![0, 1, 2, 6]));
        assert_eq!(processors(&text("3")), Ok(vec![3]));
        assert_eq!(warm_up(&text("auto")), Ok(None));
        assert_eq!(warm_up(&text("2min")), Ok(Some(Duration::from_secs(120))));
        assert_eq!(share(&text("0.5%")), Ok(0.005));
        for (form, wrong, label) in [
            (Form::Memory, "4", "`4` has no unit: write 512M"),
            (Form::Memory, "0M", "512M"),
            (Form::Memory, "true", "a size belongs here, such as 512M"),
            (Form::Bandwidth, "100MB", "100MB/s"),
            (Form::Processors, "3-0", "\"0-3\""),
            (Form::Processors, "all", "\"0-3\""),
            (Form::WarmUp, "automatic", "\"auto\""),
            (Form::WarmUp, "25h", "24h"),
            (Form::Share, "0.03", "`0.03` has no unit: write 2%"),
            (Form::Share, "0%", "\"3%\""),
            (Form::Arrival, "paced 10ms", "did you mean `pace`?"),
            (Form::Arrival, "pace", "above 0"),
            (Form::Arrival, "closed 5", "\"closed\""),
            (Form::Think, "10", "\"10ms\""),
            (Form::Rate, "fast", "100..5000 over 60s"),
            (Form::Rate, "-5", "1000:10s"),
            (Form::Rate, "finde", "\"find\""),
            (Form::Objective, "p99 < 20", "20ms"),
            (Form::Objective, "fast", "no <"),
            (Form::Objective, "5", "\"p99 < 20ms\""),
            (Form::Reconnect, "statment", "did you mean `statement`?"),
            (Form::Reconnect, "0", "a number of transactions"),
            (Form::Begin, "later", "\"after 5s\""),
            (Form::Begin, "after the rain", "the name of another stream"),
            (Form::Limit, "100", "\"100000 rows\""),
            (Form::Limit, "100 row s", "did you mean `100 rows`?"),
            (Form::Limit, "0 rows", "\"100000 rows\""),
            (Form::Addresses, "\"127.0.0.1\"", "a list"),
            (Form::Addresses, "[\"localhost\"]", "a list"),
        ] {
            let told = form.check("key", &text(wrong)).expect_err(wrong);
            assert!(told.label.contains(label), "{wrong}: {told:?}");
            assert!(told.title.starts_with("`key` is "), "{wrong}: {told:?}");
        }
    }
}
