//! What was compared, on what, and how.

use crate::{
    plan,
    report::{
        block::{List, Marks, Reach, Section},
        document::{Document, Server},
        number,
        words::Words,
    },
};
use std::collections::BTreeMap;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("compared", words.get("text", "compared"));
    section.titled = Reach::Paper;
    section.add(Reach::Everywhere, List::of(Marks::Lines, summary(document, words)));
    vec![section]
}

/// What was compared, on what, and how: one line each.
fn summary(document: &Document, words: Words) -> Vec<String> {
    let common = plan::common_settings(document.servers.iter().map(|server| &server.settings));
    let mut lines: Vec<String> = document.servers.iter().map(|one| server(one, &common)).collect();
    if !common.is_empty() {
        let settings: Vec<String> = common.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(words.fill("text", "of_all_servers", &[("settings", &settings.join(", "))]));
    }
    lines.push(machine(document, words));
    let run = &document.run;
    let count = match run.alone_s > 0.0 {
        _ if document.machine.cpus == 0 => "results_count",
        true => "trials_count_alone",
        false => "trials_count",
    };
    lines.push(words.fill(
        "text",
        count,
        &[
            ("done", &(run.trials_measured + run.trials_failed).to_string()),
            ("planned", &run.trials_planned.to_string()),
            ("repeats", &repeats(document, words)),
            ("interval", &run.interval_s.to_string()),
            ("warm_up", &format!("{}{}", if run.warm_up_auto { "≤ " } else { "" }, run.warm_up_s)),
            ("alone", &run.alone_s.to_string()),
            ("seed", &run.seed.to_string()),
        ],
    ));
    if !run.labels.is_empty() {
        lines.push(words.fill("text", "labels", &[("labels", &run.labels.join(", "))]));
    }
    if !run.note.is_empty() {
        lines.push(words.fill("text", "note", &[("note", &run.note)]));
    }
    lines
}

/// The machine in one line.
pub(super) fn machine(document: &Document, words: Words) -> String {
    let machine = &document.machine;
    let text = if machine.cpus == 0 { "of_unknown_machine" } else { "of_machine" };
    words.fill(
        "text",
        text,
        &[
            ("cpus", &machine.cpus.to_string()),
            ("model", &machine.cpu_model),
            ("memory", &number::ratio(machine.memory_bytes as f64 / f64::from(1 << 30))),
            ("distribution", &machine.distribution),
            ("kernel", &machine.kernel),
        ],
    )
}

/// The trials of each combination that were requested and, where some were added for precision, the highest
/// number that there is.
fn repeats(document: &Document, words: Words) -> String {
    let fewest = document.run.repeats;
    match document.trials.iter().map(|trial| trial.block + 1).max() {
        Some(most) if most > fewest => format!("{fewest}{}{most}", words.get("sentence", "to")),
        _ => fewest.to_string(),
    }
}

/// `pool: mariadb 10.11.6, thread_handling=pool-of-threads`, without the settings that are `common` to all
/// servers.
fn server(server: &Server, common: &BTreeMap<&String, &String>) -> String {
    let what = [server.product.as_str(), server.version.as_str()];
    let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let mut parts = vec![if what.is_empty() { "?".to_owned() } else { what }];
    parts.extend(server.topology.clone());
    let own = server.settings.iter().filter(|(key, _)| !common.contains_key(key));
    parts.extend(own.map(|(key, value)| format!("{key}={value}")));
    parts.extend(server.limits.clone());
    // several networks get a separate table
    parts.extend(server.networks.iter().filter(|_| server.networks.len() == 1).cloned());
    format!("{}: {}", server.shown, parts.join(", "))
}
