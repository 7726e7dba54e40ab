//! The top of a study, with all of its sections: the one place that knows every key.

use super::{
    Fairness, Network, Study,
    audit::AUDIT,
    buy::BUY,
    claim::CLAIM,
    client::{CLIENT, LOAD},
    data::DATA,
    keys::{Described, Elsewhere, Key, Put, Section, described, key, object, toml_value},
    kinds::{Count, Text, Words},
    measure::{MEASURE, TELEMETRY},
    select::NESTED,
    server::{LIMITS, SERVER},
    shapes,
    streams::{STREAM, options_of_streams},
    tables::TABLE,
    topology::TOPOLOGY,
};
use crate::workload::{self, OptionInfo, OptionKind};
use serde_json::{Value, json};

/// The top of the file.
pub(super) const ROOT: &[Key<Study>] = &[
    key(
        "title",
        &Put(Text, |study: &mut Study, title| study.title = title),
        None,
        r#""Thread pool under many connections""#,
        "Title of the study.",
    ),
    key(
        "title_zh",
        &Put(Text, |study: &mut Study, title| study.title_zh = title),
        None,
        r#""大量连接下的线程池""#,
        "The same in Chinese, for reports in Chinese.",
    ),
    key(
        "seed",
        &Put(Count(0, i64::MAX as u64), |study: &mut Study, seed| study.seed = seed),
        Some("1"),
        "",
        "The same seed gives the same order, data and load; data that is not restored between trials gets \
         values that no run has written before.",
    ),
    key(
        "fairness",
        &Put(
            Words(&[("report", Fairness::Report), ("strict", Fairness::Strict), ("off", Fairness::Off)]),
            |study: &mut Study, value| study.fairness = value,
        ),
        Some(r#""report""#),
        "",
        "Differences between servers that the study does not vary: report them, refuse them, or skip the \
         check.",
    ),
    key(
        "network",
        &Put(
            Words(&[("auto", Network::Auto), ("netem", Network::Netem), ("relay", Network::Relay)]),
            |study: &mut Study, value| study.network = value,
        ),
        Some(r#""auto""#),
        "",
        "What provides a `latency`: netem in network namespaces (needs root and kernel support), a relay, or \
         the first of these that is possible.",
    ),
    key("server", &Elsewhere(servers), None, "", "The servers, each `[server.NAME]`."),
    key(
        "settings",
        &Elsewhere(shapes::settings),
        None,
        "",
        "Settings for all servers: portable words that are translated for each server (`prony list \
         settings`), and the servers' own options.",
    ),
    key(
        "topology",
        &Section(TOPOLOGY),
        None,
        "",
        "Replication or clustering of each server that Prony starts.",
    ),
    key("limits", &Section(LIMITS), None, "", "Resource limits of each server that Prony starts."),
    key("data", &Section(DATA), None, "", "The data set."),
    key(
        "table",
        &Elsewhere(tables),
        None,
        "",
        "Tables defined in this file, each `[[table]]`, instead of those of the built-in workloads.",
    ),
    key(
        "stream",
        &Elsewhere(streams),
        None,
        "",
        "Groups of connections that run at the same time, each `[[stream]]`.",
    ),
    key(
        "workload",
        &Elsewhere(shapes::named_tables),
        None,
        "",
        "Workloads defined in this file, each `[workload.NAME]`.",
    ),
    key(
        "vary",
        &Elsewhere(shapes::vary),
        None,
        "",
        "What to vary: a key of this file and the list of its levels.",
    ),
    key(
        "factor",
        &Elsewhere(shapes::factors),
        None,
        "",
        "Factors whose levels set several keys at once, each `[factor.NAME]`; all levels are used unless \
         [vary] selects some.",
    ),
    key(
        "nested",
        &Elsewhere(nested),
        None,
        "",
        "Factors that vary only under certain levels of others, each `[[nested]]`.",
    ),
    key("exclude", &Elsewhere(exclusions), None, "", "Combinations to leave out, each `[[exclude]]`."),
    key(
        "claim",
        &Elsewhere(claims),
        None,
        "",
        "Expected results, each `[[claim]]`: the report says whether the run supports it, and `prony run \
         --check` sets the exit code accordingly.",
    ),
    key("client", &Section(CLIENT), None, "", "How connections are opened, for all streams."),
    key("load", &Section(LOAD), None, "", "The processes that produce the load."),
    key("measure", &Section(MEASURE), None, "", "How long and how often to measure."),
    key("telemetry", &Section(TELEMETRY), None, "", "What to sample during the load."),
    key(
        "audit",
        &Section(AUDIT),
        None,
        "",
        "After the trials, each server is killed while clients commit, and acknowledged commits that are \
         missing afterwards are counted [default: no audit].",
    ),
    key(
        "buy",
        &Section(BUY),
        None,
        "",
        "What a buyer asks: how much each server sustains while it keeps an objective, which is enough for a \
         rate, and what a million transactions cost.",
    ),
    key(
        "scale",
        &Elsewhere(shapes::named_tables),
        None,
        "",
        "Named sets of overrides, each `[scale.NAME]`, for `--scale NAME`.",
    ),
];

/// The keys of one of its sections.
pub(super) fn keys_of(section: &str) -> Vec<Described> {
    match section {
        "server" => described(SERVER),
        "stream" => described(STREAM),
        "table" => described(TABLE),
        section => described(ROOT)
            .iter()
            .find(|key| key.name == section)
            .map(|key| key.shape.keys())
            .unwrap_or_default(),
    }
}

fn servers() -> Value {
    let server = object(&described(SERVER));
    json!({ "type": "object", "minProperties": 1, "additionalProperties": server })
}

fn tables() -> Value {
    let mut table = object(&described(TABLE));
    table["required"] = json!(["name", "columns"]);
    json!({ "type": "array", "minItems": 1, "items": table })
}

fn streams() -> Value {
    let mut stream = object(&described(STREAM));
    for option in options_of_streams() {
        stream["properties"][option.name] = option_schema(&option);
    }
    let known: Vec<&str> = workload::list().iter().map(|builtin| builtin.name).collect();
    stream["properties"]["workload"]["examples"] = json!(known);
    json!({ "type": "array", "minItems": 1, "items": stream })
}

fn option_schema(option: &OptionInfo) -> Value {
    let mut schema = match option.kind {
        OptionKind::Count => json!({ "type": "integer", "minimum": 0 }),
        OptionKind::Number => json!({ "type": "number" }),
        OptionKind::Switch => json!({ "type": "boolean" }),
        OptionKind::Word if option.choices.is_empty() => json!({ "type": "string" }),
        OptionKind::Word => json!({ "enum": option.choices }),
    };
    schema["description"] = json!(option.help);
    schema["default"] = toml_value(&option_default(option));
    schema
}

/// The default of an option, as TOML.
pub(super) fn option_default(option: &OptionInfo) -> String {
    match option.kind {
        OptionKind::Word => format!("\"{}\"", option.default),
        OptionKind::Count | OptionKind::Number | OptionKind::Switch => option.default.clone(),
    }
}

fn nested() -> Value {
    let mut nested = object(&described(NESTED));
    nested["required"] = json!(["under", "vary"]);
    json!({ "type": "array", "items": nested })
}

fn exclusions() -> Value {
    json!({ "type": "array", "items": shapes::selection() })
}

fn claims() -> Value {
    let mut claim = object(&described(CLAIM));
    claim["required"] = json!(["says"]);
    json!({ "type": "array", "items": claim })
}
