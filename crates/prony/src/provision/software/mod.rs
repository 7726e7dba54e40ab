//! A server's program on this machine: where it is, what it says it is, and what it needs to run.

pub mod catalogue;
pub mod fetch;
pub(in crate::provision) mod installed;
pub(in crate::provision) mod libraries;
pub(in crate::provision) mod search;
pub(in crate::provision) mod version;

use crate::provision::{
    Error,
    containers::{Contents, Image},
};
use catalogue::library_package;
use libraries::Libraries;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};
use version::{Build, Version};

/// Names of the program, better first: MariaDB links the old name to the new one.
pub(in crate::provision) const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];
/// Where a program lies below the root of an unpacked server.
const PROGRAM_DIRECTORIES: [&str; 8] =
    ["sbin", "bin", "libexec", "usr/sbin", "usr/bin", "usr/libexec", "usr/local/sbin", "usr/local/libexec"];

/// A server program that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Software {
    /// `mariadb` or `mysql`.
    pub product: String,
    /// As `--version` says: `10.11.19-MariaDB-0+deb12u1`.
    pub version: String,
    /// The program.
    pub program: PathBuf,
    /// The directory above the program's, which the server calls `basedir`.
    pub base: PathBuf,
    /// Shared libraries that the system does not have.
    pub libraries: Libraries,
    /// Where it is from, in words: `installed`, `fetched from Debian`, `directory /opt/x`.
    pub origin: String,
    /// The container image that it runs in; program and base are then copies from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
}

impl Software {
    /// Looks for a server program in `root` and below it, and asks it for its version.
    ///
    /// # Errors
    /// [`Error::NoProgram`] if there is none, and those of [`Software::of_program`].
    pub fn in_directory(root: &Path, origin: &str) -> Result<Self, Error> {
        if let Some(Contents { image, product, version, program }) = Contents::read(root) {
            let program = root.join(program);
            let (base, libraries) = (base_of(&program).to_owned(), Libraries::default());
            let (origin, image) = (origin.to_owned(), Some(image));
            return Ok(Self { product, version, program, base, libraries, origin, image });
        }
        let program = find_program(root).ok_or_else(|| Error::NoProgram { directory: root.to_owned() })?;
        // `sbin` may be a link to `usr/sbin`: what belongs to a program lies beside where it really is
        let program = program.canonicalize().unwrap_or(program);
        // The system's libraries go first: a package may bring old ones that its own program does not even
        // need.
        let system = Libraries::default();
        let suffices = system.lacks(&program)?.nothing();
        let libraries = if suffices { system } else { Libraries::below(root, base_of(&program)) };
        Self::of_program(&program, libraries, origin)
    }

    /// Asks `program` what it is. The program reads no option file and touches no data.
    ///
    /// # Errors
    /// [`Error::LibrariesMissing`] where shared libraries are missing, [`Error::Unusable`] if it does not run
    /// or says nothing sensible.
    pub fn of_program(program: &Path, libraries: Libraries, origin: &str) -> Result<Self, Error> {
        let lacks = libraries.lacks(program)?;
        if !lacks.names.is_empty() {
            let named = |name: &String| match library_package(name) {
                Some(package) => format!("{name} (Debian's package {package})"),
                None => name.clone(),
            };
            let libraries = lacks.names.iter().map(named).collect();
            return Err(Error::LibrariesMissing { program: program.to_owned(), libraries });
        }
        let unusable = |reason: String| Error::Unusable { program: program.to_owned(), reason };
        let mut command = libraries.command(program);
        command.args(["--no-defaults", "--version"]);
        let output = command.output().map_err(|error| unusable(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some((product, version)) = parse_version(&text) else {
            let said = if text.trim().is_empty() { String::from_utf8_lossy(&output.stderr) } else { text };
            return Err(unusable(format!("asked for its version, it said: {}", said.trim())));
        };
        let (program, base, origin) = (program.to_owned(), base_of(program).to_owned(), origin.to_owned());
        Ok(Self { product, version, program, base, libraries, origin, image: None })
    }

    /// Whether this is `product` and its version begins with `version` (`10.1` does not fit 10.11).
    #[must_use]
    pub fn fits(&self, product: &str, version: Option<&str>) -> bool {
        self.product == product && version.is_none_or(|wanted| version::fits(&self.version, wanted))
    }

    /// The numbers of the version.
    #[must_use]
    pub fn numbers(&self) -> Version {
        Version::of(&self.version)
    }

    /// What it is, as far as settings differ.
    #[must_use]
    pub fn build(&self) -> Build<'_> {
        Build { product: &self.product, version: &self.version }
    }

    /// Whether it is MariaDB.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.product == "mariadb"
    }

    /// The names of all its settings, from its own help text; empty if it does not say them.
    pub(in crate::provision) fn settings(&self) -> Vec<String> {
        let mut arguments = vec!["--no-defaults", "--verbose", "--help"];
        if rustix::process::geteuid().is_root() {
            arguments.push("--user=root");
        }
        let help = match &self.image {
            Some(image) => image.ask(&self.program, &image.root, &arguments).map(|(help, _)| help),
            None => {
                let output = self.libraries.command(&self.program).args(arguments).output();
                output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            }
        };
        let help = help.unwrap_or_default();
        // At its end is a table of names and values.
        let table = help.lines().skip_while(|line| !line.starts_with("Variables (")).skip(1);
        let names = table.filter_map(|line| line.split_whitespace().next());
        names.filter(|name| name.len() > 1 && !name.starts_with('-')).map(str::to_owned).collect()
    }

    /// A path in its own directories as the server itself sees it.
    pub(in crate::provision) fn seen<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        match &self.image {
            Some(image) => Cow::Owned(image.seen(path)),
            None => Cow::Borrowed(path),
        }
    }

    /// The directory of plug-ins that has `file`.
    pub(in crate::provision) fn plugin_directory(&self, file: &str) -> Option<PathBuf> {
        let directories = ["lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin"];
        directories.map(|name| self.base.join(name)).into_iter().find(|path| path.join(file).is_file())
    }

    /// Whether its package has the plug-in `file`; `None` where that cannot be told.
    pub(in crate::provision) fn has_plugin(&self, file: &str) -> Option<bool> {
        const DIRECTORIES: [&str; 5] =
            ["lib/plugin", "lib64/plugin", "lib/mysql/plugin", "lib64/mysql/plugin", "lib/mariadb/plugin"];
        let there: Vec<_> =
            DIRECTORIES.iter().map(|name| self.base.join(name)).filter(|path| path.is_dir()).collect();
        // Distributions have directories of their own below /usr.
        (!there.is_empty() || !self.base.ends_with("usr"))
            .then(|| there.iter().any(|directory| directory.join(file).is_file()))
    }

    /// Finds `file` in the directories where servers keep what they share: `share`, `share/mysql`,
    /// `share/mariadb`, `scripts`.
    pub(in crate::provision) fn shared_file(&self, file: &str) -> Option<PathBuf> {
        let root_share = self.base.parent().map(|root| root.join("share"));
        ["share", "share/mysql", "share/mariadb", "scripts"]
            .iter()
            .map(|directory| self.base.join(directory))
            .chain(root_share)
            .map(|directory| directory.join(file))
            .find(|path| path.is_file())
    }
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.product, self.version, self.program.display())
    }
}

/// The directory that `program` knows as its `basedir`: above `bin`, or its own where it lies plainly in one.
pub(in crate::provision) fn base_of(program: &Path) -> &Path {
    let directory = program.parent().unwrap_or(Path::new("/"));
    let is_for_programs = ["bin", "sbin", "libexec"].iter().any(|name| directory.ends_with(name));
    if is_for_programs { directory.parent().unwrap_or(directory) } else { directory }
}

/// The server's program in `root` or below it.
pub(in crate::provision) fn find_program(root: &Path) -> Option<PathBuf> {
    let directories = PROGRAM_DIRECTORIES.iter().map(|name| root.join(name)).chain([root.to_owned()]);
    directories
        .flat_map(|directory| PROGRAMS.map(|name| directory.join(name)))
        .find(|path| path.is_file())
        .or_else(|| find_in_children(root))
}

/// Packages often have everything below one directory, `mysql-5.7.22-linux`, or below several levels of it.
fn find_in_children(root: &Path) -> Option<PathBuf> {
    let mut children: Vec<_> = root.read_dir().ok()?.flatten().filter(|e| e.path().is_dir()).collect();
    if children.len() > PACKAGE_DIRECTORIES_MAX {
        return None;
    }
    children.sort_by_key(std::fs::DirEntry::file_name);
    children.iter().find_map(|child| find_program(&child.path()))
}

/// Directories with more children than this do not wrap a package; searching them all could take minutes.
const PACKAGE_DIRECTORIES_MAX: usize = 4;

/// `mysqld  Ver 5.7.22 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))`
pub(in crate::provision) fn parse_version(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.split_once("Ver ")?;
    let version = rest.split_whitespace().next()?;
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let product = if text.to_ascii_lowercase().contains("mariadb") { "mariadb" } else { "mysql" };
    Some((product.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_servers_say_them() {
        let mariadb = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(parse_version(mariadb), Some(("mariadb".into(), "10.11.19-MariaDB-0+deb12u1".into())));
        let mysql =
            "/x/bin/mysqld  Ver 8.0.15 for linux-glibc2.12 on x86_64 (MySQL Community Server - GPL)\n";
        assert_eq!(parse_version(mysql), Some(("mysql".into(), "8.0.15".into())));
        assert_eq!(parse_version("usage: something"), None);
    }

    #[test]
    fn a_directory_without_a_server_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let error = Software::in_directory(directory.path(), "test").unwrap_err().to_string();
        assert!(error.contains(&directory.path().display().to_string()), "{error}");
    }
}
