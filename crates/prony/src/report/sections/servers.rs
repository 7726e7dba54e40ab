//! The servers: what they are, what they ran with, and in which settings they differ.

use crate::{
    fairness::Verdict,
    plan,
    report::{
        block::{Block, Cell, CellKind, NOTHING, Reach, Section, Table, Tone},
        document::{Condition, Difference, Document, Server},
        number,
        words::Words,
    },
};

/// The most differing settings that are shown at once; a longer list is folded.
const SHOWN_MAX: usize = 12;

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let mut section = Section::new("servers", words.get("html", "servers"));
    section.add(Reach::Paper, facts(document, words));
    section.extend(Reach::Paper, conditions(document, words));
    section.add(Reach::Page, Block::Heading(words.get("html", "settings_differ").to_owned()));
    section.add(Reach::Page, differences(document, words));
    let variables = document.servers.iter().map(|server| Block::Table(variables(server))).collect();
    section.add(Reach::Page, Block::Folded(words.get("html", "settings_all").to_owned(), variables));
    vec![section]
}

/// What each server is: a row for each fact, a column for each server.
fn facts(document: &Document, words: Words) -> Table {
    let servers = &document.servers;
    let common = plan::common_settings(servers.iter().map(|server| &server.settings));
    let lines = |lines: &[String], none: &str| {
        if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
    };
    let own = |server: &Server| -> Vec<String> {
        let own = server.settings.iter().filter(|(key, _)| !common.contains_key(key));
        own.map(|(key, value)| format!("{key} = {value}")).collect()
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut put = |key: &str, kind: CellKind, text: &dyn Fn(&Server) -> String| {
        let cells = servers.iter().map(|server| Cell { kind, ..Cell::name(&text(server)) });
        rows.push([Cell::name(words.get("html", key))].into_iter().chain(cells).collect());
    };
    put("version", CellKind::Name, &|one| format!("{} {}", one.product, one.version).trim().to_owned());
    put("build", CellKind::Name, &|one| one.build.clone());
    put("origin", CellKind::Name, &|one| one.origin.clone());
    if servers.iter().any(|server| server.topology.is_some()) {
        let alone = words.get("html", "alone");
        put("topology", CellKind::Name, &|one| one.topology.clone().unwrap_or_else(|| alone.to_owned()));
    }
    if servers.iter().any(|server| !server.limits.is_empty()) {
        put("limits", CellKind::Name, &|one| lines(&one.limits, words.get("html", "none")));
    }
    if servers.iter().any(|server| !server.networks.is_empty() || !server.reached.is_empty()) {
        put("networks", CellKind::Name, &|one| lines(&[&*one.reached, &one.networks].concat(), ""));
    }
    if servers.iter().any(|server| !own(server).is_empty()) {
        put("settings_asked", CellKind::Code, &|one| lines(&own(one), NOTHING));
    }
    if !common.is_empty() {
        let common: Vec<String> = common.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        put("settings_common", CellKind::Code, &|_| lines(&common, NOTHING));
    }
    put("data_loaded", CellKind::Name, &|one| format!("{} s", number::rate(one.data_loaded_s)));
    let names = servers.iter().map(|server| server.shown.clone());
    let heads = [String::new()].into_iter().chain(names).collect();
    Table { has_row_heads: true, ..Table::new("", heads, rows) }
}

/// Settings that are not the same on all servers; of a long list, only the number is shown at first.
fn differences(document: &Document, words: Words) -> Block {
    let text = |key: &str| Block::Text(words.get("html", key).to_owned());
    let row = |one: &Difference| {
        let value =
            |value: &Option<String>| value.as_ref().map_or_else(Cell::empty, |value| Cell::code(value));
        [Cell::code(&one.variable)].into_iter().chain(one.values.iter().map(value)).collect()
    };
    let rows: Vec<Vec<Cell>> = document.settings_that_differ.iter().map(row).collect();
    let count = rows.len();
    let names = document.servers.iter().map(|server| server.shown.clone());
    let heads = [words.get("head", "variable").to_owned()].into_iter().chain(names).collect();
    let table = Table { has_row_heads: true, ..Table::new("", heads, rows) };
    match (count, document.servers.len()) {
        (0, 0 | 1) => text("settings_one"),
        (0, _) => text("settings_same"),
        (1..=SHOWN_MAX, _) => table.into(),
        _ => {
            let line = words.fill("html", "settings_differ_many", &[("count", &count.to_string())]);
            Block::Folded(line, vec![table.into()])
        }
    }
}

/// All settings of a server, as it reports them.
fn variables(server: &Server) -> Table {
    let rows = server.variables.iter().map(|(key, value)| vec![Cell::code(key), Cell::code(value)]).collect();
    Table { has_row_heads: true, ..Table::new(&server.shown, Vec::new(), rows) }
}

/// A row for each condition, a column for each server; `None` where no server said anything.
fn conditions(document: &Document, words: Words) -> Option<Table> {
    if document.conditions.is_empty() {
        return None;
    }
    let mut heads = vec![words.get("head", "condition").to_owned()];
    let several = document.servers.len() > 1;
    heads.extend(several.then(|| words.get("head", "compared").to_owned()));
    heads.extend(document.servers.iter().map(|server| server.shown.clone()));
    let row = |one: &Condition| {
        let mut row = vec![Cell::name(&one.title)];
        let tone = match one.verdict {
            Verdict::Different => Tone::Bad,
            Verdict::Same => Tone::Faint,
            Verdict::OnPurpose => Tone::Plain,
        };
        row.extend(several.then(|| Cell { tone, ..Cell::name(words.named("condition", one.verdict)) }));
        row.extend(
            one.values.iter().map(|value| value.as_ref().map_or_else(Cell::empty, |value| Cell::name(value))),
        );
        row
    };
    let rows = document.conditions.iter().map(row).collect();
    Some(Table::new(words.get("text", "conditions"), heads, rows))
}
