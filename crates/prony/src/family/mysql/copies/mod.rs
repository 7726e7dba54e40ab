//! Looks at the files of a physical copy: which server wrote them, which databases they hold, what they
//! demand of a server, whether a server has them open.
//!
//! Sources of the offsets: the MySQL and MariaDB Internals manuals (`.frm` header, FIL and FSP headers of
//! page 0 of a tablespace).

use super::MySql;
use crate::family::{Copied, Copies, CopyError, CopyKind, Upgrade};
use rustix::process::{Flock, FlockType, fcntl_getlk};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Directories of a data directory that are no databases of a user.
const OF_SYSTEM: [&str; 4] = ["mysql", "performance_schema", "sys", "information_schema"];
/// Files by which a server keeps others out (fcntl locks).
const LOCKED: [&str; 3] = ["ibdata1", "aria_log_control", "mysql.ibd"];
/// Files of one running server rather than of its data. What was persisted there would be a setting that no
/// study shows.
const OF_SERVER: [&str; 5] = ["auto.cnf", "mysqld-auto.cnf", "ib_buffer_pool", "ibtmp1", "galera.cache"];
/// Endings of names of such files.
const ENDINGS_OF_SERVER: [&str; 4] = ["pid", "err", "sock", "lock"];
/// Endings that a backup's files have where they are compressed or encrypted.
const PACKED: [&str; 5] = ["qp", "zst", "lz4", "xbcrypt", "xbstream"];
/// Endings of the files of tables.
const OF_TABLES: [&str; 8] = ["ibd", "frm", "MYD", "MYI", "MAD", "MAI", "CSV", "sdi"];
/// Files in which backup programs say what they have done, under the names of all generations.
const CHECKPOINTS: [&str; 2] = ["mariadb_backup_checkpoints", "xtrabackup_checkpoints"];
/// Files with the version of a server.
const INFO: [&str; 2] = ["mariadb_backup_info", "xtrabackup_info"];
/// The same, in one line.
const UPGRADED: [&str; 2] = ["mariadb_upgrade_info", "mysql_upgrade_info"];
/// Most that is read of such a file, bytes.
const TEXT_MAX: u64 = 1 << 20;
/// Where a `.frm` has the version of the server that made the table, little endian.
const FRM_VERSION: u64 = 51;
/// Where page 0 of a tablespace of MySQL 8.0 and newer has the version of the server, big endian.
const SPACE_VERSION: u64 = 8;
/// Where page 0 of a tablespace has its flags, big endian.
const SPACE_FLAGS: u64 = 54;
/// Versions from here on are MariaDB's.
const MARIADB_FROM: u32 = 100_000;

/// Series of MySQL whose servers upgrade the data of the series before, and of none older. Each stands for
/// those up to the next.
const STEPS: [(u32, u32); 6] = [(5, 5), (5, 6), (5, 7), (8, 0), (8, 4), (9, 7)];
/// From here on MySQL upgrades its system tables when it starts.
const UPGRADES_ITSELF: [u32; 3] = [8, 0, 16];

impl Copies for MySql {
    fn read_copy(&self, copy: &Path, database: Option<&str>) -> Result<Copied, CopyError> {
        read(copy, database)
    }

    fn copy_in_use(&self, copy: &Path) -> Option<String> {
        in_use(copy)
    }

    fn copy_stamp(&self, copy: &Path) -> Result<String, CopyError> {
        walk(copy).map(|tree| tree.stamp())
    }

    fn copy_leaves_out(&self, file: &Path) -> bool {
        is_of_server(file)
    }

    fn copy_unreadable(&self, copied: &Copied, product: &str, version: &str) -> Option<String> {
        if product != copied.product {
            return Some("files of one product are no use to the other; load a dump (`sql`)".to_owned());
        }
        let (own, its) = (numbers(&copied.version), numbers(version));
        // a version may be known by its beginning alone: 10.11
        let has_patch = version.split('.').nth(2).is_some();
        let patch_matters = product == "mysql" && own[..2] == [8, 0] && has_patch;
        if its[..2] < own[..2] || patch_matters && its < own {
            let needed = &copied.version;
            return Some(format!("servers do not read data of newer ones; use {needed} or newer"));
        }
        // 8.1 to 8.3 are on the way from 8.0 to 8.4, and 9.0 to 9.6 to 9.7
        let step = |of: [u32; 3]| STEPS.iter().rposition(|step| *step <= (of[0], of[1])).unwrap_or(0);
        let (from, to) = (step(own), step(its));
        let skips = product == "mysql" && to > from + 1;
        let (major, minor) = STEPS[(from + 1).min(STEPS.len() - 1)];
        skips.then(|| format!("MySQL upgrades one series at a time; start MySQL {major}.{minor} on it first"))
    }

    fn copy_upgrade(&self, copied: &Copied, version: &str) -> Upgrade {
        let (own, its) = (numbers(&copied.version), numbers(version));
        if its[..2] <= own[..2] {
            Upgrade::None
        } else if copied.product == "mysql" && its >= UPGRADES_ITSELF {
            Upgrade::ByServer
        } else {
            Upgrade::ByProgram
        }
    }
}

/// The numbers of a version.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().ok());
    std::array::from_fn(|_| numbers.next().flatten().unwrap_or(0))
}

/// What is below a directory.
struct Tree {
    /// Size and time (s, ns) of each file, by path from there.
    files: BTreeMap<PathBuf, (u64, i64, i64)>,
    directories: BTreeSet<PathBuf>,
}

impl Tree {
    /// One number of names, sizes and times.
    fn stamp(&self) -> String {
        let mut hash = Sha256::new();
        for (path, (bytes, seconds, nanoseconds)) in &self.files {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update(format!("\0{bytes} {seconds} {nanoseconds}\0"));
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn has(&self, file: &str) -> bool {
        self.files.contains_key(Path::new(file))
    }

    fn bytes(&self, file: &str) -> Option<u64> {
        self.files.get(Path::new(file)).map(|known| known.0)
    }

    /// Files of the root whose names are so.
    fn named<'a>(&'a self, is_meant: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
        let names = self.files.keys().filter(|path| path.components().count() == 1);
        names.filter_map(|path| path.to_str()).filter(move |name| is_meant(name))
    }
}

/// All files that a server is to get.
fn walk(directory: &Path) -> Result<Tree, CopyError> {
    let mut tree = Tree { files: BTreeMap::new(), directories: BTreeSet::new() };
    let mut below = vec![PathBuf::new()];
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CopyError::Read { path, source }
    };
    while let Some(inner) = below.pop() {
        let place = directory.join(&inner);
        for entry in place.read_dir().map_err(failed(&place))? {
            let entry = entry.map_err(failed(&place))?;
            let (path, name) = (entry.path(), inner.join(entry.file_name()));
            if name == Path::new("lost+found") || is_of_server(&name) {
                continue;
            }
            let known = path.symlink_metadata().map_err(failed(&path))?;
            if known.is_dir() {
                below.push(name.clone());
                tree.directories.insert(name);
            } else if known.is_symlink() {
                let elsewhere = path.read_link().unwrap_or_default().display().to_string();
                return Err(CopyError::Outside { path, elsewhere });
            } else if known.is_file() {
                tree.files.insert(name, (known.len(), known.mtime(), known.mtime_nsec()));
            }
        }
    }
    Ok(tree)
}

/// See [`Copies::copy_leaves_out`].
fn is_of_server(file: &Path) -> bool {
    if file.components().count() > 1 {
        return false;
    }
    let name = file.to_string_lossy();
    let ends = file.extension().is_some_and(|end| ENDINGS_OF_SERVER.iter().any(|known| end == *known));
    OF_SERVER.contains(&&*name) || ends
}

/// Who has the files of a directory open; `None`: no server, as far as that can be seen.
fn in_use(directory: &Path) -> Option<String> {
    for name in LOCKED {
        let Ok(file) = File::open(directory.join(name)) else { continue };
        if let Ok(Some(lock)) = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)) {
            let process = lock.pid.map(|pid| format!("process {}", pid.as_raw_nonzero()));
            return Some(process.unwrap_or_else(|| "a running server".to_owned()));
        }
    }
    // file systems of other machines may know of no locks
    let files = directory.read_dir().ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "pid")).find_map(|path| {
        let number: u32 = text(&path)?.trim().parse().ok()?;
        let name = fs::read_to_string(format!("/proc/{number}/comm")).ok()?;
        ["mysqld", "mariadbd"].contains(&name.trim()).then(|| format!("process {number}"))
    })
}

/// See [`Copies::read_copy`].
fn read(copy: &Path, database: Option<&str>) -> Result<Copied, CopyError> {
    if let Some(by) = in_use(copy) {
        return Err(CopyError::InUse { path: copy.to_owned(), by });
    }
    let tree = walk(copy)?;
    let is_packed = |name: &str| name.rsplit_once('.').is_some_and(|(_, end)| PACKED.contains(&end));
    if let Some(example) = tree.named(is_packed).next() {
        return Err(CopyError::Packed { path: copy.to_owned(), example: example.to_owned() });
    }
    if !tree.has("ibdata1") {
        return Err(CopyError::NoData { path: copy.to_owned() });
    }
    check_inside(copy, &tree)?;
    let (product, version) = written_by(copy, &tree)?;
    let kind = kind(copy, &product)?;
    let (database, tables) = choose(copy, &tree, database)?;
    Ok(Copied {
        copy: copy.to_owned(),
        database,
        kind,
        bytes: tree.files.values().map(|known| known.0).sum(),
        stamp: tree.stamp(),
        settings: settings(copy, &tree, &product, &version),
        tables: tables.into_iter().collect(),
        // MySQL 8.0 keeps its tables' names in a tablespace, and tables may share one
        has_all: !tree.has("mysql.ibd"),
        product,
        version,
    })
}

/// The program that makes backups of a product's servers.
fn tool(product: &str) -> &'static str {
    if product == "mariadb" { "mariadb-backup" } else { "xtrabackup" }
}

/// Refuses what would lead a server to files elsewhere, as `DATA DIRECTORY` of a table does: it would write
/// there.
fn check_inside(copy: &Path, tree: &Tree) -> Result<(), CopyError> {
    let is_link = |path: &&PathBuf| path.extension().is_some_and(|end| end == "isl");
    if let Some(link) = tree.files.keys().find(is_link) {
        let path = copy.join(link);
        let elsewhere = text(&path).unwrap_or_default().trim().to_owned();
        return Err(CopyError::Outside { path, elsewhere });
    }
    let path = copy.join("mysql.ibd");
    if !tree.has("mysql.ibd") {
        return Ok(());
    }
    // the data dictionary has a path for each tablespace
    let bytes = fs::read(&path).map_err(|source| CopyError::Read { path: path.clone(), source })?;
    match outside(&bytes).into_iter().find(|file| Path::new(file).is_file()) {
        Some(elsewhere) => Err(CopyError::Outside { path, elsewhere }),
        None => Ok(()),
    }
}

/// Absolute paths of tablespaces that stand between other bytes. What stands before one may look like a part
/// of it, so each `/` may be its begin.
fn outside(bytes: &[u8]) -> BTreeSet<String> {
    const PATH_MAX: usize = 512;
    let mut found = BTreeSet::new();
    for at in 4..=bytes.len() {
        if ![&b".ibd"[..], b".ibu"].contains(&&bytes[at - 4..at]) {
            continue;
        }
        let least = at.saturating_sub(PATH_MAX);
        let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ' || *byte >= 0x80;
        let begin =
            (least..at).rev().find(|&place| !is_plain(&bytes[place])).map_or(least, |place| place + 1);
        for slash in (begin..at).filter(|&place| bytes[place] == b'/') {
            // `./shop/t.ibd` is inside
            if slash == begin || bytes[slash - 1] != b'.' {
                found.insert(String::from_utf8_lossy(&bytes[slash..at]).into_owned());
            } else {
                break;
            }
        }
    }
    found
}

/// Product and version: the newest that a file tells, since a file of a backup stays where it was restored.
fn written_by(copy: &Path, tree: &Tree) -> Result<(String, String), CopyError> {
    let mut told: Vec<String> = Vec::new();
    for name in INFO {
        let info = text(&copy.join(name)).unwrap_or_default();
        let line = info.lines().find_map(|line| line.trim().strip_prefix("server_version"));
        told.extend(line.map(|line| line.trim_start_matches([' ', '=']).to_owned()));
    }
    told.extend(UPGRADED.iter().filter_map(|name| text(&copy.join(name))));
    if let Some(history) = text(&copy.join("mysql_upgrade_history")) {
        let history: serde_json::Value = serde_json::from_str(&history).unwrap_or_default();
        let all = history["upgrade_history"].as_array().into_iter().flatten();
        told.extend(all.filter_map(|one| one["version"].as_str()).map(str::to_owned));
    }
    let numbered = |number: u32| {
        let plain = format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100);
        if number >= MARIADB_FROM { format!("{plain}-MariaDB") } else { plain }
    };
    let bytes = read_at(&copy.join("mysql.ibd"), SPACE_VERSION).map(u32::from_be_bytes);
    told.extend(bytes.filter(|number| (80_000..MARIADB_FROM).contains(number)).map(numbered));
    let is_frm =
        |path: &&PathBuf| path.starts_with("mysql") && path.extension().is_some_and(|end| end == "frm");
    for frm in tree.files.keys().filter(is_frm) {
        let path = copy.join(frm);
        // a view's is text
        let is_table = read_at(&path, 0).is_some_and(|head| head[..2] == [0xfe, 0x01]);
        let number = read_at(&path, FRM_VERSION).map(u32::from_le_bytes).filter(|_| is_table);
        told.extend(number.filter(|number| (50_000..200_000).contains(number)).map(numbered));
    }
    let is_mariadb = tree.has("aria_log_control") || told.iter().any(|told| told.contains("MariaDB"));
    let newest = told.iter().map(|told| numbers(told.trim())).max();
    let Some([major, minor, patch]) = newest.filter(|newest| newest[0] > 0) else {
        return Err(CopyError::NoVersion { path: copy.to_owned() });
    };
    let product = if is_mariadb { "mariadb" } else { "mysql" };
    Ok((product.to_owned(), format!("{major}.{minor}.{patch}")))
}

fn kind(copy: &Path, product: &str) -> Result<CopyKind, CopyError> {
    let Some(said) = CHECKPOINTS.iter().find_map(|name| text(&copy.join(name))) else {
        return Ok(CopyKind::Stopped);
    };
    let line = said.lines().find_map(|line| line.trim().strip_prefix("backup_type"));
    match line.unwrap_or_default().trim_start_matches([' ', '=']).trim() {
        "incremental" => Err(CopyError::Incremental { path: copy.to_owned(), tool: tool(product) }),
        "full-prepared" => Ok(CopyKind::Prepared),
        // mariadb-backup leaves it to the server to roll back
        "log-applied" if product == "mariadb" => Ok(CopyKind::Prepared),
        _ => Ok(CopyKind::Unprepared),
    }
}

/// The database that is meant, and its tables.
fn choose(copy: &Path, tree: &Tree, wanted: Option<&str>) -> Result<(String, BTreeSet<String>), CopyError> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let is_database = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        path.components().count() == 1 && !name.starts_with(['#', '.']) && !OF_SYSTEM.contains(&&*name)
    };
    for directory in tree.directories.iter().filter(is_database) {
        let inside = tree.files.keys().filter(|path| path.parent() == Some(directory));
        let tables: BTreeSet<String> = inside.filter_map(|path| table(path)).collect();
        if !tables.is_empty() {
            all.insert(decoded(&directory.to_string_lossy()), tables);
        }
    }
    let known = || all.keys().cloned().collect::<Vec<_>>().join(", ");
    let path = copy.to_owned();
    match (wanted, all.len()) {
        (_, 0) => Err(CopyError::NoDatabase { path }),
        (None, 1) => Ok(all.pop_first().expect("there is one")),
        (None, _) => Err(CopyError::Database { path, wanted: None, known: known() }),
        (Some(name), _) => match all.get(name) {
            Some(tables) => Ok((name.to_owned(), tables.clone())),
            None => Err(CopyError::Database { path, wanted: Some(name.to_owned()), known: known() }),
        },
    }
}

/// The table that a file belongs to.
fn table(path: &Path) -> Option<String> {
    let end = path.extension()?.to_str()?;
    let name = path.file_stem()?.to_str()?;
    if !OF_TABLES.contains(&end)
        || name.starts_with("#sql")
        || name.starts_with("FTS_")
        || name.starts_with("fts_")
    {
        return None;
    }
    // `t#P#p0`: a partition; `t_362`: the definition of a table without a tablespace
    let name = name.split("#P#").next()?.split("#p#").next()?;
    let name = match end {
        "sdi" => name.rsplit_once('_')?.0,
        _ => name,
    };
    Some(decoded(name))
}

/// A name as files have it: `my@002dshop` is `my-shop`.
fn decoded(name: &str) -> String {
    let mut parts = name.split('@');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..4).and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match code {
            Some(letter) => plain.extend([letter].into_iter().chain(part[4..].chars())),
            None => plain.extend(['@'].into_iter().chain(part.chars())),
        }
    }
    plain
}

/// Settings without which a server does not read the files: those of a backup's `backup-my.cnf`, and those
/// that the files show.
fn settings(copy: &Path, tree: &Tree, product: &str, version: &str) -> BTreeMap<String, String> {
    const FROM_BACKUP: [&str; 2] = ["innodb_page_size", "innodb_data_file_path"];
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
    let flags = read_at(&copy.join("ibdata1"), SPACE_FLAGS).map_or(0, u32::from_be_bytes);
    // bit 4: MariaDB's full_crc32, with the size of a page in the bits below; otherwise in bits 6 to 9, as 0
    // where it is the usual one
    let size = if flags & 0x10 != 0 && product == "mariadb" { flags & 0xf } else { flags >> 6 & 0xf };
    if (1..=7).contains(&size) && size != 5 {
        set("innodb_page_size", (512_u32 << size).to_string());
    }
    if let Some(path) = system_tablespace(tree) {
        set("innodb_data_file_path", path);
    }
    for line in text(&copy.join("backup-my.cnf")).unwrap_or_default().lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().replace('-', "_"), value.trim());
        let is_usual = value == "16384" || value == "ibdata1:12M:autoextend" || value.contains('/');
        if FROM_BACKUP.contains(&name.as_str()) && !is_usual {
            set(&name, value.to_owned());
        }
    }
    let is_undo = |name: &str| {
        let number = name.strip_prefix("undo").filter(|number| number.len() == 3);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let undo = tree.named(is_undo).count();
    if undo > 0 && (product == "mariadb" || numbers(version) < [8, 0, 0]) {
        set("innodb_undo_tablespaces", undo.to_string());
    }
    let log = tree.bytes("ib_logfile0").filter(|bytes| *bytes > 0);
    // later ones make a log of another size when they start
    if let Some(bytes) = log.filter(|_| numbers(version) < [5, 6, 8]) {
        set("innodb_log_file_size", bytes.to_string());
        let is_log = |name: &str| name.strip_prefix("ib_logfile").is_some_and(|number| number.len() == 1);
        set("innodb_log_files_in_group", tree.named(is_log).count().to_string());
    }
    settings
}

/// `ibdata1:12M;ibdata2:50M:autoextend`, where it is not as servers have it by default.
fn system_tablespace(tree: &Tree) -> Option<String> {
    let megabytes = |number: usize| tree.bytes(&format!("ibdata{number}")).map(|bytes| bytes >> 20);
    let sizes: Vec<u64> = (1..).map_while(megabytes).collect();
    if sizes.len() == 1 && sizes[0] >= 12 {
        return None;
    }
    let one = |(place, size): (usize, &u64)| format!("ibdata{}:{size}M", place + 1);
    let all: Vec<String> = sizes.iter().enumerate().map(one).collect();
    Some(format!("{}:autoextend", all.join(";")))
}

/// The text of a small file, if it is there.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(TEXT_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ']).to_owned())
}

/// Four bytes of a file.
fn read_at(path: &Path, offset: u64) -> Option<[u8; 4]> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests;
