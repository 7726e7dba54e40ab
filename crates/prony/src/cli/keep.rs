//! `prony label`, `note`, `delete`, `export` and `import`: managing stored runs.

use super::{
    failure::{Failure, chain},
    flags::{StoreOptions, time},
    stored::{make_store, open_store, run_named},
    terminal::print,
};
use crate::{
    analyse, export,
    foreign::{self, Known, Tool},
    report::{self, Format, Words, number},
    run::TrialOutcome,
    store::{self, RunRecord, RunSummary, Store, Transfer},
};
use clap::{Args, ValueEnum};
use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

/// The name of an argument that names a run, in help texts.
const RUN: &str = "RUN";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  prony label last nightly\n  prony label 12 v2.1 release\n  prony label \
                        nightly --remove nightly\n\nA run can then be named by its label: prony report \
                        nightly. If several runs share a label, it means the latest."
)]
pub(super) struct LabelOptions {
    /// A number, `last`, a label or the name of a study
    #[arg(value_name = RUN)]
    run: String,
    /// Labels to add; without any, the run's labels are printed
    #[arg(value_name = "LABEL")]
    labels: Vec<String>,
    /// A label to remove; may be repeated
    #[arg(long, value_name = "LABEL")]
    remove: Vec<String>,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony note last 'new kernel, mitigations off'\n  prony note last")]
pub(super) struct NoteOptions {
    /// A number, `last`, a label or the name of a study
    #[arg(value_name = RUN)]
    run: String,
    /// The new note, which replaces the old one; without it, the note is printed
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony delete 12\n  prony delete 3 4 5 --yes")]
pub(super) struct DeleteOptions {
    /// Numbers, `last`, labels, or names of studies (the latest run of each)
    #[arg(value_name = RUN, required = true)]
    runs: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony export last\n  prony export nightly --write nightly.prony\n  \
                        prony export last --format parquet --write data\n  prony export last --format \
                        package\n\nThe file has a format version and \
                        checksums, and contains no passwords. `prony import` reads it into another \
                        store.\nParquet files (trials, seconds, statements, readings, histograms) are for \
                        pandas, DuckDB and the like; hlog files are interval logs for HdrHistogram's tools, \
                        one for each trial.")]
pub(super) struct ExportOptions {
    /// A number, `last`, a label or the name of a study
    #[arg(value_name = RUN)]
    run: String,
    /// Output format: one file with everything, Parquet files, histogram logs, or one archive with study,
    /// versions, results, report and a script that repeats the run and checks its findings
    #[arg(long, value_enum, default_value_t = ExportFormat::Prony)]
    format: ExportFormat,
    /// The file, or the directory for Parquet and hlog; nothing is overwritten [default:
    /// prony-STUDY-RUN.prony, .parquet, .hlog or .tar.gz]
    #[arg(long, value_name = "PATH")]
    write: Option<PathBuf>,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony import nightly.prony\n  prony import /mnt/other/prony.sqlite\n  \
                        prony import sysbench old.txt --server old --workload oltp_read_write\n  prony \
                        import mysqlslap slap.csv --study slap\n\nA run that is already in this store is not \
                        imported again. What another tool's output does not state remains unknown.")]
pub(super) struct ImportOptions {
    /// Files that `prony export` wrote, or other stores: all their runs are imported. After `sysbench` or
    /// `mysqlslap`: output of that tool, all files as one run; `-`: stdin
    #[arg(value_name = "[sysbench|mysqlslap] FILE", required = true)]
    files: Vec<PathBuf>,
    /// For another tool's output: name of the server [default: the file's name]; may be repeated, once for
    /// each file
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// For another tool's output: the workload that was run
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// For another tool's output: number of connections, if the output does not state it
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// For another tool's output: name of the run's study [default: the tool's name]
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// For another tool's output: when it was measured, for the history: 2026-11-21, or 2026-11-21T18:00Z
    /// [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    measured: Option<jiff::Timestamp>,
    #[command(flatten)]
    store: StoreOptions,
}

/// The formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Prony,
    Parquet,
    Hlog,
    Package,
}

impl ExportFormat {
    /// The extension of its file.
    fn ending(self) -> &'static str {
        match self {
            Self::Prony => "prony",
            Self::Parquet => "parquet",
            Self::Hlog => "hlog",
            Self::Package => "tar.gz",
        }
    }
}

pub(super) fn label(options: &LabelOptions) -> Result<(), Failure> {
    let mut store = open_store(&options.store)?;
    let id = run_named(&store, Some(&options.run))?;
    let labels = store.label(id, &options.labels, &options.remove)?;
    print(&format!(
        "run {id}: {}\n",
        if labels.is_empty() { "no label".to_owned() } else { labels.join(" ") }
    ))
}

pub(super) fn note(options: &NoteOptions) -> Result<(), Failure> {
    let mut store = open_store(&options.store)?;
    let id = run_named(&store, Some(&options.run))?;
    match &options.text {
        Some(text) => {
            store.annotate(id, text)?;
            print(&if text.is_empty() {
                format!("run {id}: no note\n")
            } else {
                format!("run {id}: {text}\n")
            })
        }
        None => match store.summary(id)?.note {
            note if note.is_empty() => {
                print(&format!("run {id} has no note; `prony note {id} TEXT` writes one\n"))
            }
            note => print(&format!("{note}\n")),
        },
    }
}

pub(super) fn delete(options: &DeleteOptions) -> Result<(), Failure> {
    let mut store = open_store(&options.store)?;
    let ids = options.runs.iter().map(|name| run_named(&store, Some(name))).collect::<Result<Vec<_>, _>>()?;
    for id in ids {
        let run = store.summary(id)?;
        if options.yes || confirmed(&run)? {
            store.delete(id)?;
            print(&format!("run {id} deleted\n"))?;
        } else {
            print(&format!("run {id} not deleted\n"))?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a question to the user")]
fn confirmed(run: &RunSummary) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::cannot_begin(format!(
            "cannot ask whether to delete run {}: there is no terminal; add --yes",
            run.id
        )));
    }
    let begun = run.started.strftime("%Y-%m-%d %H:%M UTC");
    eprint!("delete run {} of {} ({begun}, {} trials)? [y/N] ", run.id, run.name, run.trials_done());
    // a question that cannot be shown is answered with no
    let _ = io::stderr().flush();
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::failed(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

pub(super) fn export(options: &ExportOptions) -> Result<(), Failure> {
    let store = open_store(&options.store)?;
    let id = run_named(&store, Some(&options.run))?;
    let name = store.summary(id)?.name;
    let ending = options.format.ending();
    let path = options.write.clone().unwrap_or_else(|| PathBuf::from(format!("prony-{name}-{id}.{ending}")));
    match options.format {
        ExportFormat::Prony => store.export(id, &path)?,
        ExportFormat::Parquet => {
            let said = |outcome: &TrialOutcome| Words::default().outcome(outcome);
            export::parquet(&store, id, &said, &path).map_err(not_exported)?;
        }
        ExportFormat::Hlog => {
            export::hlog(&store.run(id)?, &path).map_err(not_exported)?;
        }
        ExportFormat::Package => {
            export::package(&store, id, reports(&store.run(id)?)?, &path).map_err(not_exported)?;
        }
    }
    print(&format!("run {id} of {name} is in {}\n", path.display()))
}

/// The reports in a package, by file name.
fn reports(record: &RunRecord) -> Result<Vec<(&'static str, String)>, Failure> {
    let findings = analyse::analyse(record);
    let files = [("report.html", Format::Html), ("report.json", Format::Json), ("results.csv", Format::Csv)];
    let of =
        |(name, format)| Ok((name, report::render(record, &findings, format, &report::Options::default())?));
    files.into_iter().map(of).collect()
}

fn not_exported(error: export::Error) -> Failure {
    match error {
        export::Error::Exists { .. } | export::Error::NoStudy { .. } => Failure::cannot_begin(chain(&error)),
        export::Error::Store(error) => error.into(),
        _ => Failure::failed(chain(&error)),
    }
}

pub(super) fn import(options: &ImportOptions) -> Result<(), Failure> {
    let first = options.files.first().filter(|first| !first.exists());
    let tool = first.and_then(|first| Tool::ALL.into_iter().find(|(name, _)| first.as_os_str() == *name));
    if let Some((_, tool)) = tool {
        return import_output(options, tool, &options.files[1..]);
    }
    let mut store = make_store(&options.store)?;
    for file in &options.files {
        let transfer = taken(&mut store, file)?;
        let mut text = String::new();
        for (there, here) in &transfer.taken {
            text.push_str(&format!("{}: its run {there} is run {here} here\n", file.display()));
        }
        for (there, here) in &transfer.known {
            text.push_str(&format!("{}: its run {there} was already here, as run {here}\n", file.display()));
        }
        if text.is_empty() {
            text = format!("{}: it contains no run\n", file.display());
        }
        print(&text)?;
    }
    Ok(())
}

/// Imports all runs of a file that are not in the store yet.
fn taken(store: &mut Store, file: &Path) -> Result<Transfer, Failure> {
    if let Err(error) = std::fs::File::open(file) {
        return Err(Failure::cannot_begin(format!("cannot read {}: {error}", file.display())));
    }
    store.take(file).map_err(|error| match error {
        store::Error::Foreign { .. } => Failure::cannot_begin(format!(
            "{0} is neither an exported run nor a store, or its beginning is damaged; to read another tool's \
             output, use `prony import sysbench {0}` or `prony import mysqlslap {0}`",
            file.display()
        )),
        other => other.into(),
    })
}

/// Stores a report in another tool's form as the run of one test.
pub(super) fn keep_output(
    tool: Tool,
    test: &str,
    text: String,
    store: Option<PathBuf>,
) -> Result<(), Failure> {
    let known = Known { server: None, workload: Some(test.to_owned()), connections: None };
    let results = foreign::read(tool, test, &[(text, known)])
        .map_err(|(_, error)| Failure::failed(format!("nothing was imported: {}", chain(&error))))?;
    let mut store = make_store(&StoreOptions { store })?;
    let id = store
        .add(tool.name(), jiff::Timestamp::now(), &results.plan, &results.trials)
        .map_err(|error| Failure::failed(chain(&error)))?;
    super::terminal::aside(format_args!("stored as run {id}; `prony report {id}` shows it"));
    Ok(())
}

/// Imports other tools' output, all files as one run.
fn import_output(options: &ImportOptions, tool: Tool, files: &[PathBuf]) -> Result<(), Failure> {
    if files.is_empty() {
        return Err(Failure::cannot_begin(format!("name the files that hold the output of {}", tool.name())));
    }
    if options.server.len() > 1 && options.server.len() != files.len() {
        let words = format!(
            "{} and {}: give --server once, or once for each file",
            number::counted(files.len() as u64, "file"),
            number::counted(options.server.len() as u64, "server")
        );
        return Err(Failure::cannot_begin(words));
    }
    let mut texts = Vec::new();
    for (place, file) in files.iter().enumerate() {
        let text = if file.as_os_str() == "-" {
            io::read_to_string(io::stdin())
        } else {
            std::fs::read_to_string(file)
        };
        let text =
            text.map_err(|error| Failure::cannot_begin(format!("cannot read {}: {error}", file.display())))?;
        let named = options.server.get(place).or(options.server.first());
        let server = named.cloned().or_else(|| Some(file.file_stem()?.to_string_lossy().into_owned()));
        texts.push((
            text,
            Known { server, workload: options.workload.clone(), connections: options.connections },
        ));
    }
    let name = options.study.clone().unwrap_or_else(|| tool.name().to_owned());
    let results = foreign::read(tool, &name, &texts).map_err(|(place, error)| {
        Failure::cannot_begin(format!("{}: {}", files[place].display(), chain(&error)))
    })?;
    let mut store = make_store(&options.store)?;
    let measured = options.measured.unwrap_or_else(jiff::Timestamp::now);
    let id = store.add(tool.name(), measured, &results.plan, &results.trials)?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    store.annotate(id, &format!("read from {}", names.join(", ")))?;
    let count = number::counted(results.trials.len() as u64, "result");
    print(&format!("run {id} of {name}: {count}; `prony report {id}` shows what is in it\n"))
}
