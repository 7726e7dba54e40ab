//! `prony list`, and manual pages.

use super::{
    failure::{Failure, chain},
    flags::{StoreOptions, time},
    listing::{Listing, show},
    server,
    stored::{open_store, store_path},
    terminal::{print, write},
};
use crate::{
    provision,
    store::RunState,
    study,
    workload::{self, Options},
};
use clap::{Args, ValueEnum};
use comfy_table::{Cell, CellAlignment};
use serde_json::json;
use std::path::Path;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony list studies\n  prony list workloads\n  prony list runs --json")]
pub(super) struct ListOptions {
    /// What to list
    #[arg(value_enum)]
    what: Listed,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// For runs: only those of this study
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// For runs: only those with this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// For runs: only those with a server whose name, product or version starts with this
    #[arg(long, value_name = "TEXT")]
    server: Option<String>,
    /// For runs: only those that started at this time or later: 2026-11-21, or 2026-11-21T18:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<jiff::Timestamp>,
    /// For runs: only those that started before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<jiff::Timestamp>,
    #[command(flatten)]
    store: StoreOptions,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Listed {
    /// Runs in the store
    Runs,
    /// Built-in studies
    Studies,
    /// Built-in workloads and their options
    Workloads,
    /// Servers that can be downloaded, and those that are on this machine
    Servers,
    /// Portable setting words, translated for each server
    Settings,
}

pub(super) fn list(options: &ListOptions) -> Result<(), Failure> {
    let listing = match options.what {
        Listed::Runs => {
            let listing = runs(options)?;
            if listing.1.is_empty() && !options.json {
                return print(&nothing_listed(options)?);
            }
            listing
        }
        Listed::Studies => studies(),
        Listed::Workloads => workloads(),
        Listed::Servers => server::servers()?,
        Listed::Settings => settings(),
    };
    show(listing, options.json)?;
    match options.what {
        Listed::Workloads if !options.json => print(&workload_options()),
        Listed::Settings if !options.json => print(
            "\nEach word is translated for each server (`prony plan STUDY` shows how) or refused with the \
             reason. Any other name in\n[settings] is passed to the server unchanged.\n",
        ),
        _ => Ok(()),
    }
}

fn runs(options: &ListOptions) -> Result<Listing, Failure> {
    let header = vec!["RUN", "BEGUN", "STUDY", "TRIALS", "STATE", "LABELS", "TITLE"];
    if !store_path(&options.store)?.exists() {
        return Ok((header, Vec::new(), json!([])));
    }
    let store = open_store(&options.store)?;
    let mut runs = store.list()?;
    runs.retain(|run| {
        options.study.as_ref().is_none_or(|study| run.name == *study)
            && options.label.as_ref().is_none_or(|label| run.labels.contains(label))
            && options.since.is_none_or(|since| run.started >= since)
            && options.until.is_none_or(|until| run.started < until)
    });
    if let Some(wanted) = &options.server {
        let mut kept = Vec::new();
        for run in runs {
            if store.servers_of(run.id)?.iter().any(|server| server.starts_with(wanted.as_str())) {
                kept.push(run);
            }
        }
        runs = kept;
    }
    let rows = runs.iter().map(|run| {
        let place = if run.lease.is_some() { ", elsewhere" } else { "" };
        let state = match (run.state(), run.process) {
            (RunState::Running, Some(pid)) => format!("running (process {pid}{place})"),
            (RunState::Running, None) => "running".to_owned(),
            (RunState::Complete, _) => "complete".to_owned(),
            (RunState::Interrupted, _) => "interrupted".to_owned(),
            (RunState::Killed, _) => "killed".to_owned(),
        };
        vec![
            Cell::new(run.id).set_alignment(CellAlignment::Right),
            Cell::new(run.started.strftime("%Y-%m-%d %H:%M UTC")),
            Cell::new(&run.name),
            Cell::new(format!("{} of {}", run.trials_done(), run.trials_planned)),
            Cell::new(state),
            Cell::new(run.labels.join(" ")),
            Cell::new(&run.title),
        ]
    });
    Ok((header, rows.collect(), serde_json::to_value(&runs).expect("runs are JSON")))
}

/// The message in place of an empty table.
fn nothing_listed(options: &ListOptions) -> Result<String, Failure> {
    let path = store_path(&options.store)?;
    let count = if path.exists() {
        let list = open_store(&options.store)?.list();
        list.map_err(|error| Failure::cannot_begin(chain(&error)))?.len()
    } else {
        0
    };
    let path = path.display();
    Ok(match count {
        0 => format!("there is no run in {path} yet; `prony run quickstart` creates one\n"),
        1 => format!("the only run in {path} does not match\n"),
        count => format!("none of the {count} runs in {path} matches\n"),
    })
}

fn studies() -> Listing {
    let studies = study::builtin();
    let rows = studies.iter().map(|study| vec![Cell::new(study.name), Cell::new(study.title())]).collect();
    let machine = studies.iter().map(|study| json!({ "name": study.name, "title": study.title() })).collect();
    (vec!["STUDY", "TITLE"], rows, machine)
}

fn workloads() -> Listing {
    let list = workload::list();
    let rows = list.iter().map(|each| vec![Cell::new(each.name), Cell::new(each.about)]).collect();
    let machine = json!({ "workloads": list, "options": Options::table() });
    (vec!["WORKLOAD", "WHAT IT DOES"], rows, machine)
}

fn settings() -> Listing {
    let words = provision::words();
    let rows = words
        .iter()
        .map(|word| [word.name.clone(), word.form.words(), word.about.clone()].map(Cell::new).to_vec());
    let machine = words
        .iter()
        .map(|word| {
            json!({
                "name": word.name,
                "takes": word.form.words(),
                "about": word.about,
                "options": word.option_names(),
                "refused": word.refusals(),
            })
        })
        .collect();
    (vec!["SETTING", "TAKES", "WHAT IT IS"], rows.collect(), machine)
}

/// The options that all workloads share, as a second table.
fn workload_options() -> String {
    let mut text = "\nOptions (as flags --table-size, as study keys table_size):\n".to_owned();
    for info in Options::table() {
        let name = info.alias.map_or_else(|| info.name.to_owned(), |alias| format!("{}, {alias}", info.name));
        text.push_str(&format!("  {name:42} {} [{}]\n", info.help, info.default));
    }
    text
}

/// Prints the manual page, or writes one for each command.
pub(super) fn manual(mut command: clap::Command, directory: Option<&Path>) -> Result<(), Failure> {
    let render = |command: clap::Command| {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).expect("writing to memory");
        String::from_utf8_lossy(&page).into_owned()
    };
    command.build();
    let Some(directory) = directory else { return print(&render(command)) };
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::cannot_begin(format!("cannot create {}: {error}", directory.display())))?;
    let is_shown = |sub: &&clap::Command| !sub.is_hide_set() && sub.get_name() != "help";
    for sub in command.get_subcommands().filter(is_shown) {
        let name = format!("prony-{}", sub.get_name());
        for inner in sub.get_subcommands().filter(is_shown) {
            let name = format!("{name}-{}", inner.get_name());
            write(&directory.join(format!("{name}.1")), &render(inner.clone().name(name)))?;
        }
        let page = render(sub.clone().name(name.clone()));
        write(&directory.join(format!("{name}.1")), &page)?;
    }
    write(&directory.join("prony.1"), &render(command))
}
