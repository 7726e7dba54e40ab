//! What editors and readers get from the tables of keys: a JSON schema, and a study that shows every key with
//! its default. Both are committed, and a test says when they are out of date.

use super::{
    forms::Form,
    keys::{
        CLAIM, CLIENT, DATA, Key, Kind, LIMITS, MEASURE, NESTED, ROOT, SERVER, STREAM, TELEMETRY, TOPOLOGY,
    },
    streams::options_of_streams,
};
use crate::workload::{self, OptionInfo, OptionKind};
use serde_json::{Map, Value, json};

/// The JSON schema of a study, as committed in `schemas/study.json`.
///
/// # Panics
/// Never: a value of JSON can always be written.
#[must_use]
pub fn schema() -> String {
    let mut root = properties(ROOT);
    let mut stream = properties(STREAM);
    for option in options_of_streams() {
        stream.insert(option.name.to_owned(), option_schema(&option));
    }
    if let Some(workload) = stream.get_mut("workload").and_then(Value::as_object_mut) {
        let known: Vec<&str> = workload::list().iter().map(|builtin| builtin.name).collect();
        workload.insert("examples".to_owned(), json!(known));
    }
    let mut server = properties(SERVER);
    server.insert("settings".to_owned(), settings(about(SERVER, "settings")));
    let mut limits = object(properties(LIMITS));
    limits["description"] = json!(about(SERVER, "limits"));
    server.insert("limits".to_owned(), limits);
    let mut topology = object(properties(TOPOLOGY));
    topology["description"] = json!(about(SERVER, "topology"));
    server.insert("topology".to_owned(), topology);
    let sections = [
        ("server", json!({ "type": "object", "minProperties": 1, "additionalProperties": object(server) })),
        ("settings", settings("")),
        ("topology", object(properties(TOPOLOGY))),
        ("limits", object(properties(LIMITS))),
        ("data", object(properties(DATA))),
        ("stream", json!({ "type": "array", "minItems": 1, "items": object(stream) })),
        ("workload", json!({ "type": "object", "additionalProperties": { "type": "object" } })),
        ("vary", json!({ "type": "object", "additionalProperties": { "type": ["array", "object"] } })),
        (
            "factor",
            json!({ "type": "object", "additionalProperties": { "type": "object", "minProperties": 1,
                "additionalProperties": { "type": "object" } } }),
        ),
        ("nested", json!({ "type": "array", "items": nested() })),
        ("exclude", json!({ "type": "array", "items": selection("") })),
        ("claim", json!({ "type": "array", "items": claim() })),
        ("client", object(properties(CLIENT))),
        ("measure", object(properties(MEASURE))),
        ("telemetry", object(properties(TELEMETRY))),
        ("scale", json!({ "type": "object", "additionalProperties": { "type": "object" } })),
    ];
    for (name, mut section) in sections {
        section["description"] = json!(about(ROOT, name));
        root.insert(name.to_owned(), section);
    }
    let mut schema = object(root);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Prony study");
    schema["required"] = json!(["server", "stream"]);
    serde_json::to_string_pretty(&schema).expect("a value of JSON") + "\n"
}

/// A study that shows every key with what it does and its default, as committed in `schemas/study.toml`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# Every key of a study, with its default where it has one. A key whose line begins with `#` has \
         none, or can be\n# left out. A study needs a server that says where it comes from (`product`, \
         `path`, `image` or `url`), and a stream\n# with `workload` and `connections`, which can be varied \
         instead; everything else has a default.\n\n",
    );
    write_keys(&mut text, ROOT, &[]);
    heading(&mut text, "server");
    text.push_str("[server.a]\n");
    write_keys(&mut text, SERVER, &["product"]);
    heading(&mut text, "settings");
    text.push_str("[settings]\n# innodb_buffer_pool_size = \"1G\"\n\n");
    section(&mut text, "topology", TOPOLOGY);
    section(&mut text, "limits", LIMITS);
    section(&mut text, "data", DATA);
    heading(&mut text, "stream");
    text.push_str("[[stream]]\n");
    write_keys(&mut text, STREAM, &["workload", "connections"]);
    text.push_str("# Options of the workload; each looks at those that mean something to it.\n\n");
    for option in options_of_streams() {
        line(&mut text, option.help, option.name, &option_default(&option), true);
    }
    heading(&mut text, "workload");
    text.push_str(
        "# {id} is the number of a row, {table} that of a table; other values are described, or kept from a \
         result.\n\
         # [workload.shop.values]\n# price = { random = [1, 999] }\n\
         # [[workload.shop.transaction]]\n# name = \"buy\"\n# weight = 1\n\
         # statements = [\n#   \"BEGIN\",\n\
         #   { sql = \"SELECT k FROM sbtest{table} WHERE id = {id} FOR UPDATE\", keep = [\"stock\"] },\n\
         #   \"UPDATE sbtest{table} SET k = {stock + 1}, pad = {price} WHERE id = {id}\",\n\
         #   \"COMMIT\",\n# ]\n\n",
    );
    write_design(&mut text);
    section(&mut text, "client", CLIENT);
    section(&mut text, "measure", MEASURE);
    section(&mut text, "telemetry", TELEMETRY);
    heading(&mut text, "scale");
    text.push_str(
        "# [scale.quick]\n# data.rows = 1_000\n# vary.\"stream.connections\" = [1, 64]\n# measure = { \
         interval = \"3s\", repeats = 2 }\n",
    );
    text
}

/// What varies, what of it is left out, and what is claimed of the outcome.
fn write_design(text: &mut String) {
    heading(text, "vary");
    text.push_str(
        "# Several servers are compared without a word here. The names of levels are those of the keys' \
         values.\n[vary]\n# server = [\"a\"]\n# \"stream.connections\" = [1, 8, 64, 512]\n# \
         \"stream.workload\" = [\"oltp_read_only\", \"oltp_update_non_index\"]\n# \"data.engine\" = \
         [\"InnoDB\", \"MyISAM\"]\n# \"settings.innodb_buffer_pool_size\" = [\"1G\", \"4G\"]\n# \
         \"server.a.version\" = [\"10.11\", \"11.4\"]\n# \"stream.arrival\" = [\"closed\", \"rate \
         1000\"]\n# \"client.transport\" = [\"tcp\", \"socket\"]\n# client.latency = [\"0ms\", \
         \"0.8ms\"]\n# limits.cpus = [1, 2, 4]\n# Of several streams one is named: \"background.pace\" = \
         [\"10ms\", \"1ms\"]\n\n",
    );
    heading(text, "factor");
    text.push_str(
        "# [factor.size]\n# small = { data.rows = 1_000, stream.connections = 8 }\n# large = { data.rows = \
         1_000_000, stream.connections = 64 }\n\n",
    );
    heading(text, "nested");
    text.push_str(
        "# [[nested]]\n# under = { server = \"a\" }\n# vary = { settings.thread_pool_size = [2, 4] }\n\n",
    );
    heading(text, "exclude");
    text.push_str(
        "# A level, a list of levels, or for numbers \">= 64\", \"highest\", \"lowest\"; all that are named \
         must hold.\n# [[exclude]]\n# connections = \">= 512\"\n# workload = [\"oltp_read_only\"]\n\n",
    );
    heading(text, "claim");
    text.push_str("# [[claim]]\n");
    for key in CLAIM {
        text.push_str(&format!(
            "# # {}\n# {} = {}\n",
            key.about,
            key.name,
            key.default.unwrap_or(key.example)
        ));
    }
    text.push('\n');
}

/// A section of which every key can be written as it stands.
fn section(text: &mut String, name: &str, keys: &[Key]) {
    heading(text, name);
    text.push_str(&format!("[{name}]\n"));
    write_keys(text, keys, &[]);
}

fn heading(text: &mut String, section: &str) {
    text.push_str(&format!("# {}\n", about(ROOT, section)));
}

/// Keys with their defaults; of those without, the ones of `shown` are written out and the others as a
/// comment.
fn write_keys(text: &mut String, keys: &[Key], shown: &[&str]) {
    for key in keys.iter().filter(|key| key.default.is_some() || !key.example.is_empty()) {
        let value = key.default.unwrap_or(key.example);
        line(text, key.about, key.name, value, key.default.is_some() || shown.contains(&key.name));
    }
}

fn line(text: &mut String, about: &str, name: &str, value: &str, written: bool) {
    let comment = if written { "" } else { "# " };
    text.push_str(&format!("# {about}\n{comment}{name} = {value}\n\n"));
}

fn option_default(option: &OptionInfo) -> String {
    match option.kind {
        OptionKind::Word => format!("\"{}\"", option.default),
        OptionKind::Count | OptionKind::Number | OptionKind::Switch => option.default.clone(),
    }
}

fn about(keys: &[Key], name: &str) -> &'static str {
    keys.iter().find(|key| key.name == name).map_or("", |key| key.about)
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn claim() -> Value {
    let mut claim = properties(CLAIM);
    for key in ["of", "over"] {
        claim.insert(key.to_owned(), selection(about(CLAIM, key)));
    }
    let mut order = json!({ "type": "array", "minItems": 2 });
    order["description"] = json!(about(CLAIM, "order"));
    claim.insert("order".to_owned(), order);
    let mut claim = object(claim);
    claim["required"] = json!(["says"]);
    claim
}

/// Factors with the levels that are meant.
fn selection(about: &str) -> Value {
    let level = json!({ "type": ["string", "number", "boolean", "array", "object"] });
    json!({ "type": "object", "description": about, "additionalProperties": level })
}

fn nested() -> Value {
    let vary = json!({ "type": "object", "additionalProperties": { "type": ["array", "object"] },
        "description": about(NESTED, "vary") });
    let mut nested = Map::new();
    nested.insert("under".to_owned(), selection(about(NESTED, "under")));
    nested.insert("vary".to_owned(), vary);
    let mut nested = object(nested);
    nested["required"] = json!(["under", "vary"]);
    nested
}

fn settings(about: &str) -> Value {
    json!({
        "type": "object",
        "description": about,
        "additionalProperties": { "type": ["string", "number", "boolean"] },
    })
}

fn properties(keys: &[Key]) -> Map<String, Value> {
    keys.iter().map(|key| (key.name.to_owned(), key_schema(key))).collect()
}

fn key_schema(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Duration(..) => {
            json!({ "type": "string", "pattern": "^\\s*[0-9][0-9_.]*\\s*(us|ms|s|m|min|h)\\s*$" })
        }
        Kind::Form(form) => form_schema(form),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Section => json!({ "type": ["object", "array"] }),
    };
    schema["description"] = json!(key.about);
    if let Some(default) = key.default {
        schema["default"] = toml_value(default);
    }
    schema
}

fn form_schema(form: Form) -> Value {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    match form {
        Form::Arrival => text("^\\s*(closed\\s*$|(think|pace|rate)\\s)"),
        Form::Think => text("^\\s*(exp:|exponential:)?\\s*[0-9]"),
        Form::Rate => json!({ "type": ["number", "string"] }),
        Form::Objective => text("<"),
        Form::Reconnect => json!({ "anyOf": [
            { "enum": ["never", "transaction", "statement"] },
            { "type": "integer", "minimum": 1 },
        ] }),
        Form::Begin => text("^\\s*(together|after\\s+\\S+)\\s*$"),
        Form::Limit => text("^\\s*[0-9][0-9_]*\\s+(transactions?|rows?)\\s*$"),
        Form::WarmUp => text("^\\s*(auto|[0-9].*)\\s*$"),
        Form::Bound => text("^\\s*(>=|<=|>|<)\\s*-?[0-9]"),
        Form::Share => text("^\\s*[0-9.]+\\s*%\\s*$"),
        Form::Addresses => json!({ "type": "array", "items": { "type": "string" } }),
        Form::Memory => text("^\\s*[0-9][0-9_.]*\\s*[kKmMgGtT]?[bB]?\\s*$"),
        Form::Bandwidth => text("^\\s*[0-9][0-9_.]*\\s*[kKmMgGtT]?[bB]?/s\\s*$"),
        Form::Processors => json!({ "type": ["integer", "string"] }),
    }
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

/// A default as it is written in TOML, for JSON.
fn toml_value(text: &str) -> Value {
    let value = text.parse::<toml::Value>().expect("defaults are TOML; a test reads them all");
    serde_json::to_value(value).expect("numbers, text and flags are JSON")
}
