//! Data that come as a physical copy: a user's directory is copied into that of a server, which then starts
//! on it. The user's is only read.

use super::snapshot;
use crate::{
    family::{self, Copied, CopyError, CopyKind, Upgrade},
    provision::{
        Error, Remark, Step, Work,
        disk::{files::remove_if_there, space},
        process::trampoline::{self, Bond, is_program},
        settings::plain_name,
        software::{Software, version},
    },
};
use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::Duration,
};

/// Between two looks at a program that works on a copy.
const POLL: Duration = Duration::from_millis(50);
/// Programs that upgrade system tables, under the names of all generations.
const UPGRADERS: [&str; 2] = ["mariadb-upgrade", "mysql_upgrade"];
/// What servers write when they start on data that were not written out.
const RECOVERIES: [&str; 3] =
    ["tarting crash recovery", "was not shutdown normally", "was not shut down normally"];
/// Lines that are shown of what a program says.
const LINES_SHOWN: usize = 12;

impl From<CopyError> for Error {
    fn from(source: CopyError) -> Self {
        Self::Copy { source: Box::new(source) }
    }
}

/// Whether `software` can start on such a copy, before anything is started.
pub(in crate::provision) fn check(copy: &Copied, software: &Software) -> Result<(), Error> {
    copy.check_server(&software.product, &software.version)?;
    copy.check_unchanged()?;
    if copy.kind == CopyKind::Unprepared && software.image.is_none() {
        preparer(copy, software)?;
    }
    if !software.is_mariadb() && copy.upgrade(&software.version) == Upgrade::ByProgram {
        let (holds, server) = (copy.version.clone(), software.version.clone());
        return Err(Error::NotUpgradable { copy: copy.copy.clone(), holds, server });
    }
    Ok(())
}

/// Settings that a server needs for the copy, without those that the study gives.
pub(in crate::provision) fn settings(
    copy: &Copied,
    software: &Software,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let is_new = !software.is_mariadb() && software.numbers() >= version::Version::new(8, 0, 26);
    let replica = if is_new { "skip_replica_start" } else { "skip_slave_start" };
    // the copy of a replica would follow its primary, and events are no part of a load
    let ours = [(replica, "ON"), ("event_scheduler", "OFF")];
    let ours = ours.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let is_given = |name: &String| given.keys().any(|other| plain_name(other) == *name);
    ours.into_iter().chain(copy.settings.clone()).filter(|(name, _)| !is_given(name)).collect()
}

/// Replaces the data directory `data` by a copy, prepared.
pub(in crate::provision) fn fill(
    copy: &Copied,
    software: &Software,
    data: &Path,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    check(copy, software)?;
    remove_if_there(data)?;
    space::check(data.parent().unwrap_or(data), copy.bytes)?;
    snapshot::copy(&copy.copy, data, &|file| family::spoken().copy_leaves_out(file), work)?;
    // a server that began to write while it was copied has spoilt it
    copy.check_unchanged()?;
    if copy.kind != CopyKind::Unprepared {
        return Ok(());
    }
    let program = preparer(copy, software)?;
    work.say(Step::Preparing);
    let words = ["--prepare".to_owned(), format!("--target-dir={}", data.display())];
    run(&program, software, &words, None, work)
}

/// The program that prepares such a backup: beside the server or on the path, of the series that made it.
fn preparer(copy: &Copied, software: &Software) -> Result<PathBuf, Error> {
    let names: &[&str] =
        if copy.product == "mariadb" { &["mariadb-backup", "mariabackup"] } else { &["xtrabackup"] };
    let beside = names.iter().map(|name| software.base.join("bin").join(name)).filter(|path| path.is_file());
    let on_path = names.iter().filter(|name| is_program(name)).map(PathBuf::from);
    let series = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    let is_fit = |program: &PathBuf| {
        let mut command = software.libraries.command(program);
        let said = command.arg("--version").output().map(|said| [said.stdout, said.stderr].concat());
        let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
        let mut words = said.split_whitespace().skip_while(|word| *word != "server").skip(1);
        words.next().is_some_and(|version| series(version) == series(&copy.version))
    };
    beside.chain(on_path).find(is_fit).ok_or_else(|| {
        let command = format!("{} --prepare --target-dir={}", names[0], copy.copy.display());
        Error::NotPrepared { copy: copy.copy.clone(), command, version: copy.version.clone() }
    })
}

/// How a program logs in to the server that runs on a copy.
pub(in crate::provision) struct Login<'a> {
    /// Its Unix socket.
    pub(in crate::provision) socket: &'a Path,
    /// Who.
    pub(in crate::provision) account: &'a str,
    /// With what.
    pub(in crate::provision) password: &'a str,
}

/// Makes the system tables those of the server that runs on the copy, where that needs a program, and tells
/// what was done to the copy.
pub(in crate::provision) fn upgrade(
    copy: &Copied,
    software: &Software,
    login: &Login<'_>,
    work: &mut Work<'_>,
) -> Result<Option<Remark>, Error> {
    let (from, to) = (copy.version.clone(), software.version.clone());
    match copy.upgrade(&software.version) {
        Upgrade::None => return Ok(None),
        Upgrade::ByServer => return Ok(Some(Remark::Upgraded { from, to })),
        Upgrade::ByProgram => {}
    }
    let Some(program) = upgrader(software) else { return Ok(Some(Remark::NotUpgraded { from, to })) };
    work.say(Step::Upgrading);
    // the password is in no command line, which everybody can read
    let Login { socket, account, password } = login;
    let file = socket.with_file_name("upgrade.cnf");
    let text =
        format!("[client]\nuser = {account}\npassword = {password}\nsocket = \"{}\"\n", socket.display());
    crate::provision::disk::files::write_private(&file, &text)?;
    let words = [format!("--defaults-file={}", file.display()), "--force".to_owned()];
    let done = run(&program, software, &words, program.parent(), work);
    fs::remove_file(&file).map_err(Error::file("remove", &file))?;
    done.map(|()| Some(Remark::Upgraded { from, to }))
}

/// The program that upgrades system tables, with the two clients that it lets work for it.
fn upgrader(software: &Software) -> Option<PathBuf> {
    let bin = software.base.join("bin");
    let has = |names: [&str; 2]| names.iter().any(|name| bin.join(name).is_file());
    let is_whole =
        software.image.is_none() && has(["mariadb", "mysql"]) && has(["mariadb-check", "mysqlcheck"]);
    UPGRADERS.map(|name| bin.join(name)).into_iter().find(|program| is_whole && program.is_file())
}

/// Whether a server that starts says in its log that it had to recover.
pub(in crate::provision) fn recovered(log: &Path) -> bool {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    RECOVERIES.iter().any(|words| text.contains(words))
}

/// Runs a program to its end; `beside` is where it finds others first.
fn run(
    program: &Path,
    software: &Software,
    words: &[String],
    beside: Option<&Path>,
    work: &Work<'_>,
) -> Result<(), Error> {
    let (first, library_path) = software.libraries.start(program);
    let mut command = trampoline::command(work.launcher(), Bond::Owner, &first[0], library_path);
    command.args(&first[1..]).args(words);
    if let Some(directory) = beside {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let all = [directory.to_owned()].into_iter().chain(std::env::split_paths(&usual));
        command.env("PATH", std::env::join_paths(all).unwrap_or(usual));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |said: String| Error::CopyProgram { program: program.to_owned(), said };
    let mut child = trampoline::spawn(command, Bond::Owner).map_err(|error| failed(error.to_string()))?;
    // both are read while it runs: a full pipe would stop it
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.map(|mut out| out.read_to_end(&mut text));
        text
    });
    let errors = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.map(|mut err| err.read_to_end(&mut text));
        text
    });
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        if let Err(error) = work.heed() {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(error);
        }
        thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    let said = [reader, errors].map(|thread| thread.join().unwrap_or_default()).concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n  ");
    Err(failed(format!("{status}\n  {last}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_of_a_series_whose_program_is_nowhere_is_told_with_what_prepares_it() {
        let (base, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (product, name) in [("mariadb", "mariadb-backup"), ("mysql", "xtrabackup")] {
            // programs of this machine are of other series, if it has any
            let version = "9999.1.2".to_owned();
            let software = Software {
                product: product.to_owned(),
                version: version.clone(),
                program: base.path().join("bin/none"),
                base: base.path().to_owned(),
                libraries: Default::default(),
                origin: "made up".to_owned(),
                image: None,
            };
            let copied = Copied {
                copy: copy.path().to_owned(),
                database: "shop".to_owned(),
                product: product.to_owned(),
                version,
                kind: CopyKind::Unprepared,
                bytes: 0,
                stamp: family::spoken().copy_stamp(copy.path()).unwrap(),
                settings: BTreeMap::new(),
                tables: Vec::new(),
                has_all: true,
            };
            let Err(Error::NotPrepared { command, version, .. }) = check(&copied, &software) else {
                panic!("{product}: nothing can prepare it")
            };
            assert_eq!(command, format!("{name} --prepare --target-dir={}", copy.path().display()));
            assert_eq!(version, "9999.1.2");
            // what is prepared needs no program
            check(&Copied { kind: CopyKind::Prepared, ..copied }, &software).unwrap();
        }
    }
}
