//! What a transaction costs on machine and servers, what limited them, and where they spent their time.

use super::{flame, pareto};
use crate::report::{
    block::{Block, Cell, Item, List, Marks, Reach, Section, Table},
    document::{Document, Group},
    number,
    resources::{Grown, Resources, evidence, label},
    words::Words,
};
use crate::telemetry;
use std::collections::BTreeSet;

/// The most rows of a table that a terminal shows; longer tables are in the other formats.
const ROWS_ON_TERMINAL: usize = 12;

/// Costs that a narrow terminal leaves out, the least important first.
const SPARE: [&str; 5] = ["reads", "relay_cpu_us", "client_cpu_us", "syncs", "written_kb"];

pub(super) fn sections(document: &Document, words: Words) -> Vec<Section> {
    let Some(costs) = costs(document, words) else { return Vec::new() };
    let mut section = Section::new("cost", &costs.title);
    let is_short = costs.rows.len() <= ROWS_ON_TERMINAL;
    section.add(if is_short { Reach::Everywhere } else { Reach::Paper }, costs.untitled());
    section.add(Reach::Page, Block::Text(words.get("text", "cost_note").to_owned()));
    let evidence = evidence(document, words);
    if !evidence.is_empty() {
        section.add(Reach::Page, Block::Heading(words.get("head", "limited_by").to_owned()));
        let items = evidence.into_iter().map(|(about, text)| Item::about(&about, text)).collect();
        section.add(Reach::Paper, List { marks: Marks::Points, items });
    }
    let pareto: Vec<_> = pareto::chart(document, words).into_iter().collect();
    if !pareto.is_empty() {
        section.add(Reach::Paper, Block::Charts(pareto));
    }
    section.extend(Reach::Page, flame::blocks(document, words));
    section.extend(Reach::Page, closer(document, words));
    vec![section]
}

/// What a transaction costs; `None`: nothing is known.
fn costs(document: &Document, words: Words) -> Option<Table> {
    let all = &document.resources;
    if all.is_empty() {
        return None;
    }
    type Figure = fn(&Resources) -> Option<f64>;
    let columns: [(&str, Figure); 7] = [
        ("server_cpu_us", |one| one.cost.server_cpu_us),
        ("client_cpu_us", |one| one.cost.client_cpu_us),
        ("relay_cpu_us", |one| one.cost.relay_cpu_us),
        ("switches", |one| one.cost.context_switches),
        ("reads", |one| one.cost.reads),
        ("written_kb", |one| one.cost.written_kb),
        ("syncs", |one| one.cost.log_syncs),
    ];
    let columns = columns.into_iter().filter(|(_, value)| all.iter().any(|one| value(one).is_some()));
    let columns: Vec<_> = columns.collect();
    let is_limited = all.iter().any(|one| !one.limited_by.is_empty());
    let mut table = table_of_treatments(document, "cost", words, |one| {
        let cell = |(name, value): &(&str, Figure)| {
            let mut cell = quantity(value(one));
            if *name == "switches" && one.cost.context_switches_at_most {
                cell.text.insert_str(0, "≤ ");
            } else if *name == "switches" && one.cost.context_switches_sampled {
                cell.text.insert_str(0, "≈ ");
            }
            cell
        };
        let mut cells: Vec<Cell> = columns.iter().map(cell).collect();
        let names: Vec<&str> = one.limited_by.iter().map(|limit| limit.name.as_str()).collect();
        cells.extend(is_limited.then(|| Cell::name(&names.join(", "))));
        cells
    });
    let first = table.heads.len();
    let place = |spare: &str| columns.iter().position(|(name, _)| *name == spare).map(|at| first + at);
    table.spare = SPARE.into_iter().filter_map(place).collect();
    table.heads.extend(columns.iter().map(|(name, _)| words.get("head", name).to_owned()));
    table.heads.extend(is_limited.then(|| words.get("head", "limited_by").to_owned()));
    Some(table)
}

/// Tables with more detail: what the processors did, which waits grew.
fn closer(document: &Document, words: Words) -> Vec<Table> {
    let hosts = load_hosts(document, words);
    [processors(document, words), work(document, words), grown(document, words), hosts]
        .into_iter()
        .flatten()
        .collect()
}

fn processors(document: &Document, words: Words) -> Option<Table> {
    const KINDS: [&str; 5] = ["user", "system", "iowait", "steal", "idle"];
    if document.resources.iter().all(|one| one.processors.is_empty()) {
        return None;
    }
    let has_alone = document.resources.iter().any(|one| one.alone.is_some());
    let mut table = table_of_treatments(document, "processors", words, |one| {
        let all: f64 = one.processors.values().sum();
        let kind_share = |kind: &str| one.processors.get(kind).map(|value| value / all * 100.0);
        let mut cells: Vec<Cell> = KINDS.iter().map(|kind| percent(kind_share(kind))).collect();
        cells.extend(has_alone.then(|| share(one.alone.and_then(|alone| alone.cpu_idle))));
        for name in ["machine/run_queue", "machine/context_switches", "client/telemetry_cpu"] {
            let scale = if name.ends_with("_cpu") { 100.0 } else { 1.0 };
            cells.push(quantity(one.means.get(name).map(|value| value * scale)));
        }
        cells
    });
    let heads = KINDS.iter().copied().chain(has_alone.then_some("idle_alone"));
    let heads = heads.chain(["run_queue", "switches_per_second", "telemetry_cpu"]);
    table.heads.extend(heads.map(|kind| words.get("head", kind).to_owned()));
    Some(table)
}

/// What work a transaction caused on the servers; `None` where they do not count it.
pub(super) fn work_each(document: &Document, words: Words) -> Option<Table> {
    type Figure = (&'static str, fn(&Resources) -> Option<f64>);
    let columns: [Figure; 4] = [
        ("rows_examined", |one| one.cost.rows_examined),
        ("temporary_tables", |one| one.cost.temporary_tables),
        ("temporary_on_disk", |one| one.cost.temporary_tables_on_disk),
        ("sorts", |one| one.cost.sorts),
    ];
    if document.resources.iter().all(|one| columns.iter().all(|(_, value)| value(one).is_none())) {
        return None;
    }
    let mut table = table_of_treatments(document, "work_each", words, |one| {
        columns.iter().map(|(_, value)| quantity(value(one))).collect()
    });
    table.heads.extend(columns.iter().map(|(name, _)| words.get("head", name).to_owned()));
    Some(table)
}

/// What the servers did besides transactions, where they count it.
fn work(document: &Document, words: Words) -> Option<Table> {
    type Figure = (&'static str, fn(&Resources) -> Option<f64>, fn(Option<f64>) -> Cell);
    let columns: [Figure; 4] = [
        ("rows_scanned", |one| one.sampled.rows_scanned, quantity),
        ("rows_read", |one| one.sampled.rows_read, quantity),
        ("table_locks_waited", |one| one.sampled.table_locks_waited, share),
        ("buffer_pool_hit", |one| one.sampled.buffer_pool_hit, share),
    ];
    let known = |(_, value, _): &Figure| document.resources.iter().any(|one| value(one).is_some());
    let columns: Vec<Figure> = columns.into_iter().filter(known).collect();
    let mut table = table_of_treatments(document, "work", words, |one| {
        columns.iter().map(|(_, value, cell)| cell(value(one))).collect()
    });
    table.heads.extend(columns.iter().map(|(name, ..)| words.get("head", name).to_owned()));
    (!columns.is_empty()).then_some(table)
}

/// What load hosts measured of themselves, each in its busiest treatment; `None`: there are none.
fn load_hosts(document: &Document, words: Words) -> Option<Table> {
    let address = |path: &str| Some(path.strip_prefix("load_host/")?.split_once('/')?.0.to_owned());
    let paths = document.resources.iter().flat_map(|one| one.means.keys());
    let hosts: BTreeSet<String> = paths.filter_map(|path| address(path)).collect();
    let row = |host: &String| {
        let of = |one: &Resources, what: &str| one.means.get(&telemetry::of_load_host(host, what)).copied();
        let cpu = |one: &Resources, whose: &str| {
            Some(of(one, &format!("{whose}/cpu_user"))? + of(one, &format!("{whose}/cpu_system"))?)
        };
        let busy = |one: &&Resources| cpu(one, "machine").unwrap_or(0.0);
        let one = document.resources.iter().max_by(|one, other| busy(one).total_cmp(&busy(other)))?;
        let scaled = |what: &str, scale: f64| quantity(of(one, what).map(|value| value * scale));
        let again = of(one, "network/retransmits").zip(of(one, "network/segments"));
        Some(vec![
            Cell::name(host),
            quantity(cpu(one, "machine")),
            quantity(cpu(one, "client")),
            scaled("client/waiting", 1e3),
            scaled("network/received_bytes", 1e-6),
            scaled("network/sent_bytes", 1e-6),
            share(again.map(|(again, all)| again / all.max(1.0))),
            scaled("machine/memory_available_bytes", 1e-9),
        ])
    };
    let rows: Vec<_> = hosts.iter().filter_map(row).collect();
    let heads = ["", "_machine", "_client", "_waiting", "_received", "_sent", "_again", "_memory"];
    let heads = heads.iter().map(|head| words.get("head", &format!("load_host{head}")).to_owned()).collect();
    (!rows.is_empty()).then(|| Table::new(words.get("text", "load_hosts"), heads, rows))
}

fn grown(document: &Document, words: Words) -> Option<Table> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let row = |grown: &Grown| {
        let (first, last) = (&document.resources[grown.first], &document.resources[grown.last]);
        vec![
            Cell::name(&label(first, document)),
            Cell::name(&label(last, document)),
            Cell::name(&name(&grown.counter)),
            quantity(Some(grown.at_first)),
            quantity(Some(grown.at_last)),
        ]
    };
    let rows: Vec<_> = document.waits_that_grew.iter().map(row).collect();
    let heads = ["from", "up_to", "counter", "at_first", "at_last"];
    let heads = heads.iter().map(|head| words.get("head", head).to_owned()).collect();
    (!rows.is_empty()).then(|| Table::new(words.get("text", "grown"), heads, rows))
}

/// A row for each treatment, its levels first.
fn table_of_treatments(
    document: &Document,
    title: &str,
    words: Words,
    cells: impl Fn(&Resources) -> Vec<Cell>,
) -> Table {
    let factors: Vec<&str> = document
        .run
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .filter(|name| *name != "server")
        .collect();
    let told = |one: &Resources| -> Option<String> {
        let told = document.beside_levels(&one.server, &one.levels);
        told.or(factors.is_empty().then_some(&*one.server)).map(str::to_owned)
    };
    let several = document.resources.iter().any(|one| told(one).is_some());
    let mut heads: Vec<String> = factors.iter().map(|factor| words.factor_head(factor)).collect();
    heads.extend(several.then(|| words.get("head", "server").to_owned()));
    let row = |one: &Resources| {
        let level = |factor: &&str| {
            let level = one.levels.get(*factor).map_or("", String::as_str);
            level.parse().map_or_else(|_| Cell::name(level), |value| Cell::number(number::level(value)))
        };
        let mut row: Vec<Cell> = factors.iter().map(level).collect();
        row.extend(told(one).map(|server| Cell::name(&server)));
        row.extend(cells(one));
        row
    };
    let mut all: Vec<&Resources> = document.resources.iter().collect();
    all.sort_by_cached_key(|one| place_of(one, document).unwrap_or((usize::MAX, 0, 0)));
    Table::new(words.get("text", title), heads, all.into_iter().map(row).collect())
}

/// The place of the first point of a treatment in the tables of points: group, rung, series.
fn place_of(one: &Resources, document: &Document) -> Option<(usize, usize, usize)> {
    let is_of = |point: usize| {
        let point = &document.points[point];
        point.server == one.server
            && one.levels.iter().all(|(factor, level)| point.levels.get(factor) == Some(level))
    };
    let in_group = |(group, of): (usize, &Group)| {
        (0..of.rungs.len()).find_map(|rung| {
            let at = of.series.iter().position(|series| series.points[rung].is_some_and(is_of))?;
            Some((group, rung, at))
        })
    };
    document.groups.iter().enumerate().find_map(in_group)
}

fn quantity(value: Option<f64>) -> Cell {
    // what is below half of the last written digit counts as zero
    let text = |value: f64| if value.abs() < 5e-4 { "0".to_owned() } else { number::rate(value) };
    value.map_or_else(Cell::empty, |value| Cell::number(text(value)))
}

/// A share, 0 to 1.
fn share(value: Option<f64>) -> Cell {
    percent(value.map(|share| share * 100.0))
}

fn percent(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::empty, |value| Cell::number(number::percent(value)))
}
