//! Makes the system tables of a server: once for each program, kept as a template in the cache, copied for
//! each instance.
//!
//! Each generation does it in its own way. The scripts that come with the servers only wrap these ways, and
//! need Perl or a shell of their time.

use crate::provision::{
    Error, Site, Step, Work,
    disk::{
        files::{copy_directory, make_private, remove_if_there, write_private},
        lock::Lock,
    },
    launch::{
        log,
        option_file::OptionFile,
        process::{Process, Start},
    },
    process::trampoline::Bond,
    settings::plain_name,
    software::{Software, version::Version},
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{ErrorKind, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

/// The slowest (MySQL 8.0 on a slow disk) takes some 30 s.
const INITIALISE_LIMIT: Duration = Duration::from_secs(180);

/// Templates that are kept, of 60 to 150 MB each: enough for every server of the catalogue.
const TEMPLATES_MAX: usize = 24;

/// Settings that the files made now must already have.
const LASTING_SETTINGS: [&str; 10] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_undo_tablespaces",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_checksum_algorithm",
    "innodb_file_per_table",
    "innodb_file_format",
    "lower_case_table_names",
];

/// Scripts of the system tables in the order of execution, under the names of all generations.
const BOOTSTRAP_SCRIPTS: [[&str; 2]; 6] = [
    ["mariadb_system_tables.sql", "mysql_system_tables.sql"],
    ["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
    ["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
    ["maria_add_gis_sp_bootstrap.sql", "maria_add_gis_sp_bootstrap.sql"],
    ["fill_help_tables.sql", "fill_help_tables.sql"],
    ["mariadb_sys_schema.sql", "mysql_sys_schema.sql"],
];

/// Fills the new directory `data` with the system tables of `software`.
pub(in crate::provision) fn fill(
    software: &Software,
    settings: &BTreeMap<String, String>,
    data: &Path,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let lasting: BTreeMap<_, _> = settings
        .iter()
        .filter(|(name, _)| LASTING_SETTINGS.contains(&plain_name(name).as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let templates = work.places().templates();
    fs::create_dir_all(&templates).map_err(Error::file("make the directory", &templates))?;
    let name = template_name(software, &lasting)?;
    let template = templates.join(&name);
    let lock = Lock::open(&lock_of(&template))?;
    lock.take(work)?;
    if !template.is_dir() {
        work.say(Step::SystemTables { of: format!("{} {}", software.product, software.version) });
        let unfinished = template.with_file_name(format!(".{name}.unfinished"));
        remove_if_there(&unfinished)?;
        make_private(&unfinished)?;
        let made = make(software, &lasting, &unfinished, work);
        if made.is_err() {
            remove_if_there(&unfinished)?;
        }
        made?;
        fs::rename(&unfinished, &template).map_err(Error::file("move into place", &template))?;
        prune(&templates)?;
    }
    copy_directory(&template.join("data"), data)?;
    // MySQL writes its server's identity when it makes the tables, and a replica of the same identity does
    // not replicate
    let identity = data.join("auto.cnf");
    match fs::remove_file(&identity) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", &identity)(error)),
        _ => Ok(()),
    }
}

/// Removes the oldest templates beyond [`TEMPLATES_MAX`]. One that is in use is locked and stays.
fn prune(templates: &Path) -> Result<(), Error> {
    let entries = templates.read_dir().map_err(Error::file("read", templates))?.flatten();
    let age = |path: &Path| path.metadata().and_then(|known| known.modified()).ok();
    let mut all: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .map(|path| (age(&path), path))
        .collect();
    all.sort();
    let excess = all.len().saturating_sub(TEMPLATES_MAX);
    for (_, template) in all.into_iter().take(excess) {
        let lock = Lock::open(&lock_of(&template))?;
        if lock.try_take()? {
            remove_if_there(&template)?;
        }
    }
    Ok(())
}

fn lock_of(template: &Path) -> PathBuf {
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    template.with_file_name(format!(".{name}.lock"))
}

/// Names the template after all that its contents depend on.
fn template_name(software: &Software, lasting: &BTreeMap<String, String>) -> Result<String, Error> {
    let program = software.program.metadata().map_err(Error::file("read", &software.program))?;
    let mut hasher = DefaultHasher::new();
    (&software.program, program.len(), program.mtime(), lasting).hash(&mut hasher);
    Ok(format!("{}-{}-{:016x}", software.product, software.version, hasher.finish()))
}

/// Makes `directory/data`.
fn make(
    software: &Software,
    lasting: &BTreeMap<String, String>,
    directory: &Path,
    work: &Work<'_>,
) -> Result<(), Error> {
    let data = directory.join("data");
    let method = Method::of(software)?;
    if let Method::Shipped(shipped) = &method {
        return copy_directory(shipped, &data);
    }
    make_private(&data)?;
    let log = directory.join("error.log");
    let options = OptionFile {
        directory,
        data: &data,
        log: &log,
        socket: &directory.join("sock"),
        port: None,
        administration: None,
        site: &Site::default(),
        init_file: None,
    };
    let file = directory.join("my.cnf");
    write_private(&file, &options.text(software, lasting)?)?;
    let mut start = Start::of(software, work.launcher(), Bond::Owner, &file, &[]);
    let command = &mut start.command;
    command.current_dir(directory).stdout(create(&log)?).stderr(create(&log)?);
    match &method {
        Method::InitializeInsecure => command.arg("--initialize-insecure"),
        Method::Bootstrap(scripts) => {
            make_private(&data.join("mysql"))?;
            make_private(&data.join("test"))?;
            command.arg("--bootstrap").stdin(bootstrap_input(&directory.join("bootstrap.sql"), scripts)?)
        }
        Method::Shipped(_) => unreachable!("handled above"),
    };
    let process =
        start.spawn().map_err(|source| Error::Spawn { program: software.program.clone(), source })?;
    let failed = |reason: String| Error::Initialise {
        server: software.to_string(),
        reason,
        log: log::last_lines(&log),
    };
    let status = wait(process, INITIALISE_LIMIT, work)?.map_err(|error| failed(error.to_string()))?;
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(status.to_string())),
        None => Err(failed(format!("not finished after {} s", INITIALISE_LIMIT.as_secs()))),
    }
}

/// How a generation of servers makes its system tables.
enum Method {
    /// MySQL since 5.7 has it built in.
    InitializeInsecure,
    /// The server reads these scripts in its bootstrap mode.
    Bootstrap(Vec<PathBuf>),
    /// The package has no scripts but a finished data directory.
    Shipped(PathBuf),
}

impl Method {
    fn of(software: &Software) -> Result<Self, Error> {
        if !software.is_mariadb() && software.numbers() >= Version::new(5, 7, 0) {
            return Ok(Self::InitializeInsecure);
        }
        let find = |names: [&str; 2]| names.iter().find_map(|name| software.shared_file(name));
        if find(BOOTSTRAP_SCRIPTS[0]).is_some() {
            return Ok(Self::Bootstrap(BOOTSTRAP_SCRIPTS.into_iter().filter_map(find).collect()));
        }
        let shipped = software.base.join("data");
        if shipped.join("mysql").is_dir() {
            return Ok(Self::Shipped(shipped));
        }
        Err(Error::Unusable {
            program: software.program.clone(),
            reason: "its package has neither mysql_system_tables.sql nor a data directory".to_owned(),
        })
    }
}

/// One file with all that the bootstrap mode is to read.
fn bootstrap_input(path: &Path, scripts: &[PathBuf]) -> Result<File, Error> {
    let mut input = create(path)?;
    let mut write = |bytes: &[u8]| input.write_all(bytes).map_err(Error::file("write", path));
    // MariaDB's scripts read these two: root logs in without a plug-in of its own, and there are no anonymous
    // users.
    write(b"use mysql;\nSET @auth_root_socket=NULL;\nSET @skip_auth_anonymous=1;\n")?;
    for script in scripts {
        write(&fs::read(script).map_err(Error::file("read", script))?)?;
        write(b"\n")?;
    }
    input.rewind().map_err(Error::file("read", path))?;
    Ok(input)
}

/// Waits for the end of `process`; kills it if that takes longer than `limit` (then it returns `None`) or the
/// user wants to stop.
fn wait(
    mut process: Process,
    limit: Duration,
    work: &Work<'_>,
) -> Result<std::io::Result<Option<ExitStatus>>, Error> {
    const POLL: Duration = Duration::from_millis(20);
    let began = Instant::now();
    loop {
        match process.try_wait() {
            Ok(None) => {}
            ended => return Ok(ended),
        }
        let wanted = work.heed();
        if wanted.is_err() || began.elapsed() > limit {
            process.kill();
            return wanted.map(|()| Ok(None));
        }
        thread::sleep(POLL);
    }
}

fn create(path: &Path) -> Result<File, Error> {
    let mut options = File::options();
    options.create(true).append(false).read(true).write(true);
    options.open(path).map_err(Error::file("write", path))
}
