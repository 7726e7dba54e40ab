//! `prony server data`: the data cache, loaded data for later runs.

use crate::{
    cli::{
        failure::Failure,
        listing,
        terminal::{print, print_json},
    },
    language::Language,
    layout::Layout as _,
    provision::{CachedData, Places, cached_data, remove_cached},
    report::number,
};
use comfy_table::Cell;

pub(super) fn data(places: &Places, remove: &[String], remove_all: bool, json: bool) -> Result<(), Failure> {
    let cached = cached_data(places)?;
    if remove.is_empty() && !remove_all {
        return if json { print_json(&cached) } else { show(&cached) };
    }
    let names: Vec<String> =
        if remove_all { cached.into_iter().map(|each| each.name).collect() } else { remove.to_vec() };
    for name in names {
        let removed = remove_cached(places, &name)?;
        print(&format!("{name}: {}\n", if removed { "removed" } else { "in use by a run, not removed" }))?;
    }
    Ok(())
}

fn show(cached: &[CachedData]) -> Result<(), Failure> {
    if cached.is_empty() {
        return print("the data cache is empty\n");
    }
    let rows = cached.iter().map(|each| {
        let used = if each.in_use { "now".to_owned() } else { each.used.clone() };
        let settings: Vec<String> =
            each.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cells = [
            each.name.clone(),
            each.data.about(Language::of_environment()),
            megabytes(each.bytes),
            each.made.clone(),
            used,
            settings.join(" "),
        ];
        cells.map(Cell::new).to_vec()
    });
    let rows = rows.collect();
    let header = vec!["NAME", "DATA", "SIZE", "MADE", "USED", "SETTINGS"];
    listing::show((header, rows, serde_json::Value::Null), false)?;
    print(&format!("\n{} in total\n", megabytes(cached.iter().map(|each| each.bytes).sum())))
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", number::count(bytes.div_ceil(1_000_000)))
}
