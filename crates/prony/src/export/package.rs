//! A run as one archive for others: the study, what was measured, the report, and a script that carries the
//! study out again and says whether the findings come out again.
//!
//! The same run gives the same bytes: entries have the time of the run and no owner.

use super::{Error, Unfinished};
use crate::{
    escape::HIDDEN,
    plan::Plan,
    store::{RunRecord, Store},
};
use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs, io,
    path::{Component, Path},
};

/// What a reader of the archive meets first, in both languages.
const README: &str = include_str!("package/README.md");
/// Carries the study out again and compares.
const SCRIPT: &str = include_str!("package/repeat.sh");

/// The name of the run's own file in the archive.
const RUN: &str = "run.prony";
/// The name of the file with the checksums of all others, in the form of `sha256sum`.
const SUMS: &str = "SHA256SUMS";

/// A file of the archive.
struct File {
    name: String,
    contents: Vec<u8>,
    is_program: bool,
}

/// Writes a run as one archive (`tar`, compressed with gzip) to a file that is not there yet. `reports` are
/// files that were made of the run, by name.
///
/// # Errors
/// When there is no such run or it has no study, something has the file's name, or it cannot be written.
pub fn package(store: &Store, id: i64, reports: Vec<(&str, String)>, target: &Path) -> Result<(), Error> {
    let record = store.run(id)?;
    if record.plan.study_text.is_empty() {
        return Err(Error::NoStudy { id, origin: record.origin });
    }
    let unfinished = Unfinished::beside(target)?;
    let run = unfinished.0.join(RUN);
    store.export(id, &run)?;
    let mut files =
        vec![File::text("README.md", readme(&record)), File::program("repeat.sh", script(&record))];
    files.push(File::text(&study_file(&record.plan), record.plan.study_text.clone()));
    files.extend(scripts(&record.plan));
    files.extend(reports.into_iter().map(|(name, text)| File::text(name, text)));
    files.push(File::text("versions.json", versions(&record)));
    let contents = fs::read(&run).map_err(|source| Error::Write { path: run, source })?;
    files.push(File { name: RUN.to_owned(), contents, is_program: false });
    files.push(File::text(SUMS, sums(&files)));
    let archive = unfinished.0.join("archive");
    let written = write(&record, &files, &archive);
    written.map_err(|source| Error::Write { path: archive.clone(), source })?;
    fs::rename(&archive, target).map_err(|source| Error::Write { path: target.to_owned(), source })
}

impl File {
    fn text(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), contents: text.into_bytes(), is_program: false }
    }

    fn program(name: &str, text: String) -> Self {
        Self { is_program: true, ..Self::text(name, text) }
    }
}

fn write(record: &RunRecord, files: &[File], path: &Path) -> io::Result<()> {
    let file = io::BufWriter::new(fs::File::create(path)?);
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    let directory = format!("prony-{}-{}", plain(&record.plan.name), record.id);
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.contents.len() as u64);
        header.set_mode(if file.is_program { 0o755 } else { 0o644 });
        header.set_mtime(u64::try_from(record.started.as_second()).unwrap_or(0));
        archive.append_data(&mut header, format!("{directory}/{}", file.name), file.contents.as_slice())?;
    }
    archive.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A name that is a single part of a path, whoever chose it.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    name.trim_start_matches(['.', '-']).to_owned()
}

fn study_file(plan: &Plan) -> String {
    format!("{}.toml", plain(&plan.name))
}

/// Scripts that streams run, where the study names them by paths below its own directory; what they load
/// lies beside them.
fn scripts(plan: &Plan) -> Vec<File> {
    let streams = plan.treatments.iter().flat_map(|treatment| &treatment.streams);
    let mut files: Vec<File> = Vec::new();
    for script in streams.filter_map(|stream| stream.workload.script()) {
        let path = Path::new(&script.file);
        let beside = |name: &String| path.with_file_name(format!("{}.lua", name.trim_end_matches(".lua")));
        let others = script.others.iter().map(|(name, text)| (beside(name), text));
        for (path, text) in [(path.to_owned(), &script.text)].into_iter().chain(others) {
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            let name = path.display().to_string();
            if is_below && !files.iter().any(|file| file.name == name) {
                files.push(File::text(&name, text.clone()));
            }
        }
    }
    files
}

fn readme(record: &RunRecord) -> String {
    let plan = &record.plan;
    README
        .replace("@TITLE@", &plan.title)
        .replace("@TITLE_ZH@", if plan.title_zh.is_empty() { &plan.title } else { &plan.title_zh })
        .replace("@STUDY@", &study_file(plan))
        .replace("@STARTED@", &record.started.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .replace("@VERSION@", &record.prony_version)
        .replace("@SEED@", &plan.seed.to_string())
}

/// The script with this run's own options.
fn script(record: &RunRecord) -> String {
    let plan = &record.plan;
    let hides = |text: &String| text.contains(HIDDEN);
    let is_hidden = hides(&plan.study_text) || plan.set.iter().any(hides);
    let options: Vec<String> = plan.repeat_options().iter().map(|option| quoted(option)).collect();
    SCRIPT
        .replace("@STUDY@", &quoted(&study_file(plan)))
        .replace("@OPTIONS@", &options.join(" "))
        .replace("@VERSION@", &quoted(&record.prony_version))
        .replace("@HIDDEN@", if is_hidden { "yes" } else { "no" })
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What the run was made with, for programs.
fn versions(record: &RunRecord) -> String {
    let plan = &record.plan;
    let server = |(number, server): (usize, &crate::plan::ServerPlan)| {
        let known = record.servers.get(&number).map(|known| known.description.clone()).unwrap_or_default();
        json!({
            "name": server.name,
            "product": known.product,
            "version": known.version,
            "build": known.build,
            "origin": known.origin,
        })
    };
    let versions = json!({
        "run": record.uid,
        "started": record.started.to_string(),
        "prony": record.prony_version,
        "study": plan.name,
        "scale": plan.scale,
        "set": plan.set,
        "seed": plan.seed,
        "servers": plan.servers.iter().enumerate().map(server).collect::<Vec<_>>(),
        "machine": record.machine,
    });
    format!("{versions:#}\n")
}

/// As `sha256sum --check` reads them.
fn sums(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        for byte in Sha256::digest(&file.contents) {
            // writing to a string does not fail
            let _ = write!(text, "{byte:02x}");
        }
        let _ = writeln!(text, "  {}", file.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{plain, quoted};

    #[test]
    fn names_of_others_are_one_part_of_a_path_and_one_word_of_a_shell() {
        assert_eq!(plain("../../etc/pass wd"), "_.._etc_pass_wd");
        assert_eq!(plain("线程池-2"), "线程池-2");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
