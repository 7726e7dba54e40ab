//! The report as one HTML page that needs no network: text and tables from a template, charts by the viewer,
//! which is committed ready-made (`viewer/dist`) and finds its data, the JSON document, inside the page.

use super::{
    Error, conditions,
    detail::{closer, details},
    document::{Document, Group, Server},
    flame, number, rates,
    resources::{self, Profiled, cost_table, evidence},
    table::{Layout, Remarks, Table, estimate, series_head, table},
    terminal::{notes, summary},
    words::{Words, subject},
};
use crate::{escape, plan};
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("html/report.html");
const STYLE: &str = include_str!("html/report.css");
const VIEWER: &str = include_str!("../../../../viewer/dist/viewer.js");

const THIRD_PARTY: &str = include_str!("../../../../viewer/dist/THIRD-PARTY.txt");

/// One group of points with its tables.
#[derive(Serialize)]
struct Section {
    group: Group,
    series_head: String,
    table: Table,
    details: Vec<Table>,
    latencies: Vec<Latency>,
    closer: Vec<Table>,
}

/// Percentiles of one point.
#[derive(Serialize)]
struct Latency {
    rung: String,
    series: String,
    values: Vec<String>,
    max: String,
}

/// The percentiles of the latency table.
const PERCENTILES: [&str; 5] = ["mean", "p50", "p95", "p99", "p99.9"];

/// The page.
///
/// # Errors
/// When the template is wrong.
pub(super) fn render(document: &Document, words: Words) -> Result<String, Error> {
    let mut environment = environment();
    environment.add_filter("number", |value: f64| number::rate(value));
    environment.add_filter("fill", fill);
    environment.add_template("report", TEMPLATE)?;
    let remarks = Remarks::of(document, words);
    let sections: Vec<Section> = document
        .groups
        .iter()
        .map(|group| Section {
            group: group.clone(),
            table: table(document, group, Layout::Stacked, &remarks, words),
            series_head: series_head(document, group, words),
            details: details(document, group, words),
            latencies: latencies(document, group),
            closer: closer(document, group, words),
        })
        .collect();
    let settings = settings(document);
    let page = environment.get_template("report")?.render(context! {
        document => document,
        found_head => words.found_head(document),
        words => words.table(),
        sections => sections,
        remarks => remarks.texts().collect::<Vec<_>>(),
        factor_heads => factor_heads(document, words),
        own_settings => settings.0,
        common_settings => settings.1,
        percentiles => PERCENTILES,
        notes => notes(document, words),
        summary => summary(document, words),
        rates => rates::table(document, words),
        cost => cost_table(document, words),
        flames => flames(document),
        evidence => evidence(document, words),
        resources => resources::closer(document, words),
        conditions => conditions::table(document, words),
        style => Value::from_safe_string(STYLE.to_owned()),
        third_party => THIRD_PARTY,
        viewer => Value::from_safe_string(VIEWER.to_owned()),
        data => Value::from_safe_string(embedded(document)),
        viewer_words => Value::from_safe_string(embedded(words.table())),
    })?;
    Ok(page)
}

/// Templates in which every text is escaped.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&escape::html(text))?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    environment
}

/// Settings that were asked for: those of each server alone, and those of all.
fn settings(document: &Document) -> (Vec<Vec<String>>, Vec<String>) {
    let common = plan::common_settings(document.servers.iter().map(|server| &server.settings));
    let own = |server: &Server| {
        let own = server.settings.iter().filter(|(key, _)| !common.contains_key(key));
        own.map(|(key, value)| format!("{key} = {value}")).collect()
    };
    let of_all = common.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    (document.servers.iter().map(own).collect(), of_all)
}

/// Names of what varied, as heads of columns.
fn factor_heads(document: &Document, words: Words) -> Vec<String> {
    let head = |name: &str| match name {
        "server" => words.get("head", "server").to_owned(),
        name => words.factor_head(name),
    };
    document.run.factors.iter().map(|factor| head(&factor.name)).collect()
}

/// JSON that can stand inside a `script` element: without `<` nothing in it can end the element or begin a
/// comment. The viewer shows its texts as they are, so they come to it as they are to be shown.
fn embedded(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("plain values become JSON");
    show(&mut value);
    value.to_string().replace('<', "\\u003c")
}

/// Every text of a value as it is to be shown, every figure with the digits that files have.
fn show(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = escape::plain(text),
        serde_json::Value::Number(number) => {
            if let Some(value) = number.as_f64().filter(|_| number.is_f64()) {
                *number = serde_json::Number::from_f64(number::round(value)).unwrap_or(number.clone());
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(show),
        serde_json::Value::Object(fields) => {
            let shown = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                show(&mut value);
                (escape::plain(&name), value)
            });
            *fields = shown.collect();
        }
        _ => {}
    }
}

/// A flame graph of each profile: what it is about, the drawing, and why there is none.
fn flames(document: &Document) -> Vec<(String, Value, Option<String>)> {
    let flame = |one: &Profiled| {
        let about = subject(&one.levels);
        let about = if about.is_empty() {
            document.shown(&one.server).to_owned()
        } else {
            format!("{}, {about}", document.shown(&one.server))
        };
        let drawing = if one.failure.is_some() { String::new() } else { flame::svg(&one.stacks) };
        (about, Value::from_safe_string(drawing), one.failure.clone())
    };
    document.profiles.iter().map(flame).collect()
}

/// Puts a value into the only place of a template text.
fn fill(text: String, place: String, value: Value) -> String {
    text.replace(&format!("{{{place}}}"), &value.to_string())
}

fn latencies(document: &Document, group: &Group) -> Vec<Latency> {
    let mut rows = Vec::new();
    for (place, rung) in group.rungs.iter().enumerate() {
        for series in &group.series {
            let Some(point) = series.points[place].map(|point| &document.points[point]) else { continue };
            let value = |name: &&str| point.latency_ms.get(*name).map_or_else(|| "–".to_owned(), estimate);
            rows.push(Latency {
                rung: rung.label.clone(),
                series: series.name.clone(),
                values: PERCENTILES.iter().map(value).collect(),
                max: number::milliseconds(point.latency_max_ms),
            });
        }
    }
    rows
}
