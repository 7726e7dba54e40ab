//! What editors and readers get from the tables of keys: a JSON schema, and a study that shows every key with
//! its default. Both are committed, and a test fails when they are out of date.

use super::{
    claim::CLAIM,
    columns::COLUMN,
    keys::{Described, described, object},
    kubernetes::KUBERNETES,
    root::{ROOT, keys_of, option_default},
    streams::options_of_streams,
    tables::TABLE,
};
use crate::layout::sysbench;
use serde_json::json;

/// The JSON schema of a study, as committed in `schemas/study.json`.
///
/// # Panics
/// Never: a value of JSON can always be written.
#[must_use]
pub fn schema() -> String {
    let mut schema = object(&described(ROOT));
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
    write_keys(&mut text, "", &[]);
    heading(&mut text, "server");
    text.push_str("[server.a]\n");
    write_keys(&mut text, "server", &["product"]);
    heading(&mut text, "settings");
    text.push_str("[settings]\n# innodb_buffer_pool_size = \"1G\"\n\n");
    section(&mut text, "topology");
    section(&mut text, "limits");
    section(&mut text, "data");
    heading(&mut text, "table");
    text.push_str("# [[table]]\n");
    write_commented(&mut text, &described(TABLE));
    text.push_str("# [table.columns] # each `NAME = { ... }` with exactly one of the first nine keys\n");
    write_commented(&mut text, &described(COLUMN));
    text.push('\n');
    heading(&mut text, "stream");
    text.push_str("[[stream]]\n");
    write_keys(&mut text, "stream", &["workload", "connections"]);
    text.push_str("# Options of the workload; each workload uses those that apply to it.\n\n");
    for option in options_of_streams() {
        line(&mut text, option.help, option.name, &option_default(&option), true);
    }
    heading(&mut text, "workload");
    text.push_str(
        "# {table.column} is a value of that column of the data set; other values are described, or kept \
         from a result.\n",
    );
    text.push_str(sysbench::EXAMPLE);
    text.push_str(
        "# A Lua script as sysbench runs it; other keys are its options, or sysbench's. With `prepare` its \
         own command\n# makes the tables. Reading a study executes the code outside the script's \
         functions.\n# [workload.tpcc]\n# lua = \"tpcc.lua\"\n# prepare = true\n# scale = 10\n\n",
    );
    write_design(&mut text);
    section(&mut text, "client");
    section(&mut text, "load");
    text.push_str(
        "# Or pods of a Kubernetes cluster, which Prony creates before the run and removes after it.\n",
    );
    text.push_str("# [load.kubernetes]\n");
    write_commented(&mut text, &described(KUBERNETES));
    text.push('\n');
    section(&mut text, "measure");
    section(&mut text, "telemetry");
    optional(&mut text, "audit");
    optional(&mut text, "buy");
    heading(&mut text, "scale");
    text.push_str(
        "# [scale.quick]\n# data.rows = 1_000\n# vary.\"stream.connections\" = [1, 64]\n# measure = { \
         interval = \"3s\", repeats = 2 }\n",
    );
    text
}

/// `[vary]` and the sections about combinations and claims.
fn write_design(text: &mut String) {
    heading(text, "vary");
    text.push_str(
        "# Several servers are compared even if this is empty. The names of levels are those of the keys' \
         values.\n[vary]\n# server = [\"a\"]\n# \"stream.connections\" = [1, 8, 64, 512]\n# \
         \"stream.workload\" = [\"oltp_read_only\", \"oltp_update_non_index\"]\n# \"data.engine\" = \
         [\"InnoDB\", \"MyISAM\"]\n# \"settings.innodb_buffer_pool_size\" = [\"1G\", \"4G\"]\n# \
         \"server.a.version\" = [\"10.11\", \"11.4\"]\n# \"stream.arrival\" = [\"closed\", \"rate 1000\"]\n# \
         \"client.transport\" = [\"tcp\", \"socket\"]\n# client.latency = [\"0ms\", \"0.8ms\"]\n# \
         limits.cpus = [1, 2, 4]\n# With several streams, name one: \"background.pace\" = [\"10ms\", \
         \"1ms\"]\n\n",
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
    write_commented(text, &described(CLAIM));
    text.push('\n');
}

/// A section of which every key can be written as it stands.
fn section(text: &mut String, name: &str) {
    heading(text, name);
    text.push_str(&format!("[{name}]\n"));
    write_keys(text, name, &[]);
}

/// An optional section; without it, nothing of its kind is done.
fn optional(text: &mut String, name: &str) {
    heading(text, name);
    text.push_str(&format!("# [{name}]\n"));
    write_commented(text, &keys_of(name));
    text.push('\n');
}

fn heading(text: &mut String, section: &str) {
    let key = described(ROOT).into_iter().find(|key| key.name == section).expect("a section of the root");
    text.push_str(&format!("# {}\n", key.about));
}

/// Keys of a section, or of the root, with their defaults; of those without, the ones of `shown` are written
/// out and the others as a comment.
fn write_keys(text: &mut String, section: &str, shown: &[&str]) {
    let keys = if section.is_empty() { described(ROOT) } else { keys_of(section) };
    for key in keys.iter().filter(|key| key.default.is_some() || !key.example.is_empty()) {
        let value = key.default.unwrap_or(key.example);
        line(text, key.about, key.name, value, key.default.is_some() || shown.contains(&key.name));
    }
}

/// Keys of a section that may be missing.
fn write_commented(text: &mut String, keys: &[Described]) {
    for Described { name, about, default, example, .. } in keys {
        let value = default.unwrap_or(example);
        if !value.is_empty() {
            text.push_str(&format!("# # {about}\n# {name} = {value}\n"));
        }
    }
}

fn line(text: &mut String, about: &str, name: &str, value: &str, written: bool) {
    let comment = if written { "" } else { "# " };
    text.push_str(&format!("# {about}\n{comment}{name} = {value}\n\n"));
}
