//! Servers that Debian packages: downloaded by `apt-get download` with lists of its own, unpacked by `dpkg-deb`.
//!
//! Nothing is installed and no root is needed: apt's lists and cache lie in the user's cache. The site is the one that the system
//! itself is set up for, and apt checks the signatures with the system's keys.

use super::{Error, Places, run};
use crate::provision::{
    catalogue::{AptSource, Entry, library_package, library_suite},
    libraries,
    software::{base_of, find_program},
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const APT_REMEDY: &str = "it is Debian's; elsewhere install MariaDB or MySQL with your system's package manager (it \
     need not run), or Maven (mvn), which has other versions";
const DPKG_REMEDY: &str = "install dpkg";

/// Packages may need libraries that need libraries; more rounds than this mean that something is wrong.
const LIBRARY_ROUNDS_MAX: u32 = 5;

pub(super) fn fetch(
    entry: &Entry,
    source: &AptSource,
    places: &Places,
    directory: &Path,
) -> Result<(), Error> {
    let apt = Apt::prepare(&entry.name, &source.suite, places)?;
    apt.update()?;
    apt.unpack(&source.packages, directory)
}

/// Fetches the libraries that the server in `directory` needs and this system lacks, from Debian.
pub(super) fn add_libraries(entry: &Entry, places: &Places, directory: &Path) -> Result<(), Error> {
    let Some(program) = find_program(directory) else {
        return Err(Error::NoProgram { directory: directory.to_owned() });
    };
    let added = directory.join(libraries::ADDED);
    let mut apt = None;
    for _ in 0..LIBRARY_ROUNDS_MAX {
        let missing = libraries::missing(&program, &libraries::directories(directory, base_of(&program)))?;
        let mut packages: Vec<_> = missing.iter().filter_map(|name| library_package(name)).collect();
        packages.sort_unstable();
        packages.dedup();
        if packages.is_empty() || !has_apt() {
            // What cannot be fetched is named by the check that follows.
            break;
        }
        if apt.is_none() {
            let new = Apt::prepare(&entry.name, library_suite(), places)?;
            new.update()?;
            apt = Some(new);
        }
        if let Some(apt) = &apt {
            apt.unpack(&packages, &added)?;
        }
    }
    Ok(())
}

fn has_apt() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("apt-get").is_file())
}

/// apt with lists and cache of its own, for one suite.
struct Apt {
    /// For messages.
    server: String,
    options: Vec<OsString>,
}

impl Apt {
    fn prepare(server: &str, suite: &str, places: &Places) -> Result<Self, Error> {
        let home = places.cache.join("apt").join(suite);
        let (lists, archives) = (home.join("lists"), home.join("archives"));
        for directory in [lists.join("partial"), archives.join("partial")] {
            fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
        }
        let mut options = Vec::new();
        let mut set = |name: &str, value: &Path| {
            let mut option = OsString::from(format!("-o{name}="));
            option.push(value);
            options.push(option);
        };
        set("Dir::State::Lists", &lists);
        set("Dir::Cache", &home);
        // No package counts as installed, so that every wanted one is downloaded.
        set("Dir::State::status", Path::new("/dev/null"));
        // As root apt drops its rights, and could then not write here.
        set("APT::Sandbox::User", Path::new("root"));
        set("Acquire::Languages", Path::new("none"));
        set("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", Path::new("false"));
        set("Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled", Path::new("false"));
        if let Some(list) = sources_of_other_suite(server, suite, &home)? {
            set("Dir::Etc::sourcelist", &list);
            set("Dir::Etc::sourceparts", Path::new("-"));
        }
        Ok(Self { server: server.to_owned(), options })
    }

    fn command(&self, operation: &str) -> Command {
        let mut command = Command::new("apt-get");
        command.arg("-q").args(&self.options).arg(operation);
        command
    }

    fn update(&self) -> Result<(), Error> {
        let mut command = self.command("update");
        command.arg("--error-on=any");
        run(&mut command, &self.server, APT_REMEDY, "apt-get").map(drop)
    }

    /// Downloads packages and unpacks them into `directory`.
    fn unpack<S: AsRef<str>>(&self, packages: &[S], directory: &Path) -> Result<(), Error> {
        let store = directory.join(".packages");
        fs::create_dir_all(&store).map_err(Error::file("make the directory", &store))?;
        let mut download = self.command("download");
        download.args(packages.iter().map(AsRef::as_ref)).current_dir(&store);
        run(&mut download, &self.server, APT_REMEDY, "apt-get")?;
        for package in store.read_dir().map_err(Error::file("read", &store))?.flatten() {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(package.path()).arg(directory);
            run(&mut unpack, &self.server, DPKG_REMEDY, "dpkg-deb")?;
        }
        fs::remove_dir_all(&store).map_err(Error::file("remove", &store))
    }
}

/// The file of sources for a suite that is not the system's own; `None`: the system's own sources do.
fn sources_of_other_suite(server: &str, suite: &str, home: &Path) -> Result<Option<PathBuf>, Error> {
    let mut ask = Command::new("apt-get");
    ask.args(["indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"]);
    let targets = run(&mut ask, server, APT_REMEDY, "apt-get")?;
    let known: Vec<_> = targets.lines().filter_map(|line| line.split_once(' ')).collect();
    if known.iter().any(|(_, release)| *release == suite) {
        return Ok(None);
    }
    let text = other_sources(&known, suite);
    if text.is_empty() {
        return Err(Error::FetchFailed {
            server: server.to_owned(),
            command: "apt-get indextargets".to_owned(),
            reason: format!("apt is set up for no site that would have Debian's {suite}"),
            output: targets,
        });
    }
    let list = home.join("sources.list");
    fs::write(&list, text).map_err(Error::file("write", &list))?;
    Ok(Some(list))
}

/// Lines of a `sources.list` with `suite` and its security updates, on the sites where the system has its own.
fn other_sources(known: &[(&str, &str)], suite: &str) -> String {
    let keyring = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
    let signed = if keyring.exists() { format!("[signed-by={}] ", keyring.display()) } else { String::new() };
    let site = |security: bool| {
        let mut sites = known.iter().filter(|(site, _)| site.contains("debian"));
        sites.find(|(_, release)| {
            release.ends_with("-security") == security && (security || !release.contains('-'))
        })
    };
    let suites = match suite.strip_suffix("-security") {
        Some(plain) => [(false, plain.to_owned()), (true, suite.to_owned())],
        None => [(false, suite.to_owned()), (true, format!("{suite}-security"))],
    };
    let has_security = suite != "sid";
    let wanted = suites.iter().filter(|(security, _)| has_security || !security);
    wanted
        .filter_map(|(security, name)| {
            site(*security).map(|(site, _)| format!("deb {signed}{site} {name} main\n"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_suite_comes_from_the_sites_that_the_system_uses() {
        let known =
            [("http://mirror/debian", "trixie"), ("http://mirror/debian-security", "trixie-security")];
        let text = other_sources(&known, "bookworm");
        assert!(text.contains("http://mirror/debian bookworm main"), "{text}");
        assert!(text.contains("http://mirror/debian-security bookworm-security main"), "{text}");
        assert!(other_sources(&[("http://mirror/ubuntu", "noble")], "bookworm").is_empty());
    }
}
