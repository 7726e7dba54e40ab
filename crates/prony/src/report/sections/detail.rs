//! Tables below a group's main table, shown where they have something to say: what each transaction of a mix
//! did, what became of a schedule, how connections were opened, how evenly they were served.

use super::ladder::{estimate, has_series, members, rung_cell, series_head};
use crate::{
    analyse::STREAM,
    report::{
        block::{Cell, NOTHING, Table, Tone},
        document::{Connects, Document, Estimate, Group, MixPart, Point, Scaling},
        number,
        words::Words,
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// The percentiles of the table of response times.
const PERCENTILES: [&str; 5] = ["mean", "p50", "p95", "p99", "p99.9"];

/// One kind of table: its title, the keys of its heads, and which points have a row in it.
struct Kind {
    title: &'static str,
    heads: &'static [&'static str],
    has: fn(&Point) -> bool,
    cells: fn(&Point) -> Vec<Cell>,
}

const SCHEDULE: Kind = Kind {
    title: "schedule",
    heads: &[
        "due_per_second",
        "completed_per_second",
        "late",
        "skipped",
        "never_sent",
        "response_p99_ms",
        "service_p99_ms",
    ],
    has: |point| point.schedule.is_some(),
    cells: schedule,
};

const CONNECTIONS: Kind = Kind {
    title: "connections",
    heads: &[
        "connects",
        "failed_connects",
        "connect_p50_ms",
        "connect_p99_ms",
        "tcp_ms",
        "tls_ms",
        "login_ms",
        "first_reply_ms",
    ],
    has: |point| point.reconnecting.opened + point.reconnecting.failed > 0,
    cells: connections,
};

const FOLLOWING: Kind = Kind {
    title: "following",
    heads: &[
        "lag_p50_ms",
        "lag_p99_ms",
        "lag_max_ms",
        "drain_s",
        "acknowledgement_ms",
        "unacknowledged",
        "held_back",
    ],
    has: |point| point.following.is_some(),
    cells: following,
};

const OUTAGES: Kind = Kind {
    title: "outages",
    heads: &["outages", "outage_longest_s", "outage_all_s", "outage_open"],
    has: |point| !point.outages.is_empty(),
    cells: outages,
};

const OPENING: Kind = Kind {
    title: "opening",
    heads: CONNECTIONS.heads,
    has: |point| point.opening.opened + point.opening.failed > 0,
    cells: opening,
};

const FAIRNESS: Kind = Kind {
    title: "fairness",
    heads: &["fewest", "median", "most"],
    has: |point| point.fairness.is_some(),
    cells: fairness,
};

const UTILISATION: Kind = Kind {
    title: "utilisation",
    heads: &["utilisation", "p50_ms", "p95_ms", "p99_ms"],
    has: |point| point.utilisation.is_some(),
    cells: utilisation,
};

/// The tables that are always worth showing below a group's main table.
pub(super) fn details(document: &Document, group: &Group, words: Words) -> Vec<Table> {
    let mut kinds = vec![SCHEDULE, UTILISATION, CONNECTIONS, OUTAGES];
    // members follow all streams together, so trials that appear in several tables are covered once
    if !is_told_before(document, group) {
        kinds.push(FOLLOWING);
    }
    let mut tables: Vec<Table> = mix(document, group, words).into_iter().collect();
    tables.extend(kinds.iter().filter_map(|kind| table(kind, document, group, words)));
    tables.extend(scaling(document, group, words));
    tables
}

/// Whether an earlier group is about another stream of the same trials.
fn is_told_before(document: &Document, group: &Group) -> bool {
    let treatments = |group: &Group| -> BTreeSet<BTreeMap<String, String>> {
        let levels = members(group).map(|member| {
            let point = &document.points[member];
            let mut levels = point.levels.clone();
            levels.remove(STREAM);
            levels.insert("server".to_owned(), point.server.clone());
            levels
        });
        levels.collect()
    };
    let own = treatments(group);
    document.groups.iter().take_while(|one| !std::ptr::eq(*one, group)).any(|one| treatments(one) == own)
}

/// Figures for each transaction, where a workload has several.
fn mix(document: &Document, group: &Group, words: Words) -> Option<Table> {
    let mut rows = Vec::new();
    for place in 0..group.rungs.len() {
        let mut is_first = true;
        for series in &group.series {
            let Some(point) = series.points[place].map(|point| &document.points[point]) else { continue };
            // TPC-H-like queries have another table
            let mix = point.mix.iter().filter(|_| point.tpch.is_none());
            for (number, part) in mix.enumerate() {
                let mut row = vec![rung_cell(group, place, is_first)];
                let name = if number == 0 { series.name.as_str() } else { "" };
                row.extend(has_series(group).then(|| Cell::name(name)));
                row.extend(mix_cells(part));
                rows.push(row);
                is_first = false;
            }
        }
    }
    let heads = ["transaction", "share", "transactions_per_second", "p50_ms", "p95_ms", "p99_ms", "errors"];
    let mut titles = vec![document.axis.title.clone()];
    titles.extend(has_series(group).then(|| series_head(document, group, words)));
    titles.extend(heads.map(|head| words.get("head", head).to_owned()));
    (!rows.is_empty()).then(|| Table::new(words.get("text", "mix"), titles, rows))
}

fn mix_cells(part: &MixPart) -> Vec<Cell> {
    let latency = |name: &str| milliseconds(part.latency_ms.get(name).copied());
    let tone = if part.errors > 0 { Tone::Bad } else { Tone::Faint };
    vec![
        Cell::name(&part.name),
        Cell::number(number::percent(part.share * 100.0)),
        Cell::number(number::rate(part.throughput)),
        latency("p50"),
        latency("p95"),
        latency("p99"),
        Cell::toned(number::count(part.errors), tone),
    ]
}

/// The law of each series of a group, where one could be fitted.
fn scaling(document: &Document, group: &Group, words: Words) -> Option<Table> {
    let place = document.groups.iter().position(|one| std::ptr::eq(one, group))?;
    let worst = |scaling: &Scaling| {
        scaling.points.iter().map(|point| point.residual).max_by(|a, b| a.abs().total_cmp(&b.abs()))
    };
    let share = |estimate: &Estimate| {
        let [value, low, high] = [Some(estimate.value), estimate.low, estimate.high]
            .map(|end| end.map(|end| number::percent(end * 100.0)));
        let interval = low.zip(high).map_or_else(String::new, |(low, high)| format!(" ({low}–{high})"));
        format!("{}{interval}", value.unwrap_or_default())
    };
    let row = |scaling: &Scaling| {
        let peak = scaling.peak.as_ref().map_or_else(Cell::empty, |peak| {
            let interval = peak.low.zip(peak.high).map_or_else(String::new, |(low, high)| {
                format!(" ({}–{})", number::count(low.round() as u64), number::count(high.round() as u64))
            });
            Cell::number(format!("{}{interval}", number::count(peak.value.round() as u64)))
        });
        let worst = worst(scaling).map_or_else(Cell::empty, |worst| {
            let sign = if worst > 0.0 { "+" } else { "" };
            Cell::number(format!("{sign}{}", number::percent(worst * 100.0)))
        });
        vec![
            Cell::name(&scaling.series),
            Cell::number(estimate(&scaling.single)),
            Cell::number(share(&scaling.contention)),
            peak,
            Cell::number(number::count(u64::from(scaling.enough))),
            worst,
            Cell::number(scaling.left_out.len().to_string()),
        ]
    };
    let of_group = document.scalings.iter().filter(|scaling| scaling.group == place);
    let rows: Vec<Vec<Cell>> = of_group.map(row).collect();
    let heads = ["usl_single", "usl_contention", "usl_peak", "usl_enough", "usl_residual", "usl_left_out"];
    let mut titles = vec![series_head(document, group, words)];
    titles.extend(heads.map(|head| words.get("head", head).to_owned()));
    (!rows.is_empty()).then(|| Table::new(words.get("text", "scaling"), titles, rows))
}

fn utilisation(point: &Point) -> Vec<Cell> {
    let latency = |name: &str| milliseconds(point.latency_ms.get(name).map(|estimate| estimate.value));
    let share =
        point.utilisation.map_or_else(Cell::empty, |share| Cell::number(number::percent(share * 100.0)));
    vec![share, latency("p50"), latency("p95"), latency("p99")]
}

/// Tables with more detail: all percentiles, how connections were opened before the load began, how evenly
/// they were served.
pub(super) fn closer(document: &Document, group: &Group, words: Words) -> Vec<Table> {
    let tables = [OPENING, FAIRNESS];
    let tables = tables.iter().filter_map(|kind| table(kind, document, group, words));
    latencies(document, group, words).into_iter().chain(tables).collect()
}

/// The percentiles of each point.
fn latencies(document: &Document, group: &Group, words: Words) -> Option<Table> {
    let mut rows = Vec::new();
    for (place, rung) in group.rungs.iter().enumerate() {
        for series in &group.series {
            let Some(point) = series.points[place].map(|point| &document.points[point]) else { continue };
            let value =
                |name: &&str| point.latency_ms.get(*name).map_or_else(|| NOTHING.to_owned(), estimate);
            let mut row = vec![Cell::number(rung.label.clone()), Cell::name(&series.name)];
            row.extend(PERCENTILES.iter().map(|name| Cell::number(value(name))));
            row.push(Cell::number(number::milliseconds(point.latency_max_ms)));
            rows.push(row);
        }
    }
    let mut heads = vec![document.axis.title.clone(), series_head(document, group, words)];
    heads.extend(PERCENTILES.map(str::to_owned));
    heads.push(words.get("html", "longest").to_owned());
    (!rows.is_empty()).then(|| Table::new(words.get("text", "unit_latency"), heads, rows))
}

fn table(kind: &Kind, document: &Document, group: &Group, words: Words) -> Option<Table> {
    if !members(group).any(|member| (kind.has)(&document.points[member])) {
        return None;
    }
    let mut rows = Vec::new();
    for place in 0..group.rungs.len() {
        let mut first = true;
        for series in &group.series {
            let Some(point) = series.points[place].map(|point| &document.points[point]) else { continue };
            if !(kind.has)(point) {
                continue;
            }
            let mut row = vec![rung_cell(group, place, first)];
            row.extend(has_series(group).then(|| Cell::name(&series.name)));
            row.extend((kind.cells)(point));
            rows.push(row);
            first = false;
        }
    }
    let mut heads = vec![document.axis.title.clone()];
    heads.extend(has_series(group).then(|| series_head(document, group, words)));
    heads.extend(kind.heads.iter().map(|head| words.get("head", head).to_owned()));
    Some(Table::new(words.get("text", kind.title), heads, rows))
}

fn schedule(point: &Point) -> Vec<Cell> {
    let Some(schedule) = &point.schedule else { return Vec::new() };
    let late = schedule.late as f64 / schedule.started.max(1) as f64 * 100.0;
    let response = point.latency_ms.get("p99").map(|estimate| estimate.value);
    let service = point.service_ms.get("p99").copied().or(response);
    vec![
        Cell::number(number::rate(schedule.offered_per_second)),
        Cell::number(number::rate(point.throughput.value)),
        Cell::number(number::percent(late)),
        Cell::number(number::count(schedule.skipped)),
        Cell::number(number::count(schedule.never_sent)),
        milliseconds(response),
        milliseconds(service),
    ]
}

fn connections(point: &Point) -> Vec<Cell> {
    connects(&point.reconnecting)
}

fn following(point: &Point) -> Vec<Cell> {
    let Some(following) = &point.following else { return Vec::new() };
    let all = &following.all;
    let semi_sync = following.semi_sync.as_ref();
    vec![
        milliseconds(all.lag_ms.get("p50").copied()),
        milliseconds(all.lag_ms.get("p99").copied()),
        milliseconds(Some(all.lag_max_ms)),
        all.drain_s.map_or_else(Cell::empty, |drain| Cell::number(number::ratio(drain))),
        milliseconds(semi_sync.and_then(|waits| waits.wait_mean_ms)),
        semi_sync.map_or_else(Cell::empty, |waits| Cell::number(number::count(waits.unacknowledged))),
        following.paused_share.map_or_else(Cell::empty, |share| Cell::number(number::percent(share * 100.0))),
    ]
}

fn outages(point: &Point) -> Vec<Cell> {
    let lengths = || point.outages.iter().map(|outage| outage.until_s - outage.from_s);
    let open = point.outages.iter().filter(|outage| !outage.recovered).count();
    vec![
        Cell::number(number::count(point.outages.len() as u64)),
        Cell::number(number::rate(lengths().fold(0.0, f64::max))),
        Cell::number(number::rate(lengths().sum())),
        Cell::number(number::count(open as u64)),
    ]
}

fn opening(point: &Point) -> Vec<Cell> {
    connects(&point.opening)
}

fn connects(connects: &Connects) -> Vec<Cell> {
    let of = |times: &BTreeMap<String, f64>, name: &str| milliseconds(times.get(name).copied());
    vec![
        Cell::number(number::count(connects.opened)),
        Cell::number(number::count(connects.failed)),
        of(&connects.total_ms, "p50"),
        of(&connects.total_ms, "p99"),
        of(&connects.tcp_ms, "p50"),
        of(&connects.tls_ms, "p50"),
        of(&connects.login_ms, "p50"),
        of(&connects.first_reply_ms, "p50"),
    ]
}

fn fairness(point: &Point) -> Vec<Cell> {
    let Some(fairness) = &point.fairness else { return Vec::new() };
    [fairness.min, fairness.median, fairness.max].map(|count| Cell::number(number::count(count))).into()
}

fn milliseconds(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::empty, |value| Cell::number(number::milliseconds(value)))
}
