//! `prony list`, and manual pages.

use super::{
    arguments::{Arguments, ListOptions, Listed},
    failure::{Failure, chain},
    report::{open_store, print, store_path, write},
    server,
};
use crate::{
    provision, study,
    workload::{self, Options},
};
use clap::CommandFactory as _;
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING,
};
use serde_json::{Value, json};
use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

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
            "\nEach server gets them in its own terms, which `prony plan STUDY` shows, or they are refused \
             with the reason. Any other\nname in [settings] passes through to the server as it is.\n",
        ),
        _ => Ok(()),
    }
}

/// Prints a list as a table or as JSON.
pub(super) fn show((header, rows, machine): Listing, json: bool) -> Result<(), Failure> {
    if json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&machine).expect("a list is JSON")));
    }
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    // what goes to another program stays in one line
    if io::stdout().is_terminal() {
        let width = terminal_size::terminal_size().map_or(u16::MAX, |(width, _)| width.0);
        arrange(&mut table, width);
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    print(&lines)
}

/// Breaks long cells so that a table is no wider than the terminal. Short cells and words stay whole; where
/// that leaves no room, the terminal breaks the lines.
fn arrange(table: &mut Table, width: u16) {
    /// Up to this width a column is never broken.
    const SHORT: u16 = 24;
    /// Space before and behind a cell.
    const PADDING: u16 = 2;
    let longest_word = |column: &comfy_table::Column| {
        let cells =
            table.row_iter().chain(table.header()).filter_map(|row| row.cell_iter().nth(column.index));
        let words = cells.flat_map(|cell| cell.content().split_whitespace().map(str::len).max()).max();
        u16::try_from(words.unwrap_or(0)).unwrap_or(u16::MAX)
    };
    let least: Vec<u16> = table
        .column_iter()
        .zip(table.column_max_content_widths())
        .map(|(column, whole)| if whole <= SHORT { whole } else { longest_word(column).max(SHORT) })
        .map(|width| width.saturating_add(PADDING))
        .collect();
    if least.iter().fold(0_u16, |sum, width| sum.saturating_add(*width)) > width {
        return;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for (column, least) in table.column_iter_mut().zip(least) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
}

/// Header, rows, and the same as JSON.
pub(super) type Listing = (Vec<&'static str>, Vec<Vec<Cell>>, Value);

fn runs(options: &ListOptions) -> Result<Listing, Failure> {
    let header = vec!["RUN", "BEGUN", "STUDY", "TRIALS", "STATE", "LABELS", "TITLE"];
    if !store_path(&options.store)?.exists() {
        return Ok((header, Vec::new(), json!([])));
    }
    let store = open_store(&options.store)?;
    let failed = |error| Failure::cannot_begin(chain(&error));
    let mut runs = store.list().map_err(failed)?;
    runs.retain(|run| {
        options.study.as_ref().is_none_or(|study| run.name == *study)
            && options.label.as_ref().is_none_or(|label| run.labels.contains(label))
            && options.since.is_none_or(|since| run.started >= since)
            && options.until.is_none_or(|until| run.started < until)
    });
    if let Some(wanted) = &options.server {
        let mut kept = Vec::new();
        for run in runs {
            if store
                .servers_of(run.id)
                .map_err(failed)?
                .iter()
                .any(|server| server.starts_with(wanted.as_str()))
            {
                kept.push(run);
            }
        }
        runs = kept;
    }
    let rows = runs.iter().map(|run| {
        let state = match (run.is_complete(), run.finished, run.process) {
            (true, ..) => "complete".to_owned(),
            (false, _, Some(pid)) if run.lease.is_some() => format!("running (process {pid}, elsewhere)"),
            (false, _, Some(pid)) => format!("running (process {pid})"),
            (false, Some(_), None) => "broken off".to_owned(),
            (false, None, None) => "killed".to_owned(),
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

/// What is said in place of an empty table.
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
        0 => format!("there is no run in {path} yet; `prony run quickstart` makes one\n"),
        1 => format!("the only run in {path} is not among those asked for\n"),
        count => format!("none of the {count} runs in {path} is among those asked for\n"),
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
pub(super) fn manual(directory: Option<&Path>) -> Result<(), Failure> {
    let render = |command: clap::Command| {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).expect("writing to memory");
        String::from_utf8_lossy(&page).into_owned()
    };
    let mut command = Arguments::command();
    command.build();
    let Some(directory) = directory else { return print(&render(command)) };
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::cannot_begin(format!("cannot make {}: {error}", directory.display())))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_no_wider_than_the_terminal_where_words_can_stay_whole() {
        let mut table = Table::new();
        table.load_preset(NOTHING).set_header(["RUN", "BEGUN", "TITLE"]);
        table.add_row(["12", "2026-03-01 12:00 UTC", "What becomes of a server when nobody looks at it"]);
        let drawn = |width| {
            let mut table = table.clone();
            arrange(&mut table, width);
            table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            drawn(56),
            [
                " RUN  BEGUN                 TITLE",
                " 12   2026-03-01 12:00 UTC  What becomes of a server",
                "                            when nobody looks at it",
            ]
        );
        assert_eq!(drawn(100).len(), 2);
        // no room: the terminal breaks the line
        assert_eq!(drawn(30).len(), 2);
    }
}
