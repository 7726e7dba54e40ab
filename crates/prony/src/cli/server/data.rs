//! `prony server data`: the data cache, loaded data for later runs.

use super::{failure, provisioner};
use crate::{
    cli::{
        failure::Failure,
        listing,
        terminal::{print, print_json},
    },
    layout::Layout as _,
    provision::{CachedData, cached_data, remove_cached},
    report::number,
};
use comfy_table::Cell;

pub(super) fn data(remove: &[String], remove_all: bool, json: bool) -> Result<(), Failure> {
    let provisioner = provisioner()?;
    let places = provisioner.places();
    let cached = cached_data(places).map_err(|error| failure(&error))?;
    if remove.is_empty() && !remove_all {
        return if json { print_json(&cached) } else { show(&cached) };
    }
    let names: Vec<String> =
        if remove_all { cached.into_iter().map(|each| each.name).collect() } else { remove.to_vec() };
    for name in names {
        let removed = remove_cached(places, &name).map_err(|error| failure(&error))?;
        print(&format!("{name}: {}\n", if removed { "removed" } else { "in use by a run, and left" }))?;
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
            each.data.about(),
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
    print(&format!("\n{} in all\n", megabytes(cached.iter().map(|each| each.bytes).sum())))
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", number::count(bytes.div_ceil(1_000_000)))
}
