//! Servers that Debian packages: downloaded by `apt-get download` with lists of its own, unpacked by
//! `dpkg-deb`.
//!
//! Nothing is installed and no root is needed: apt's lists and cache are kept in the user's cache. Packages
//! come from the site that the system itself is set up for, and apt checks the signatures with the system's
//! keys.

use super::{
    Error,
    client::{Client, Job},
};
use crate::provision::{
    disk::lock::Lock,
    software::{
        base_of,
        catalogue::{AptSource, library_package, library_suite},
        find_program,
        libraries::{self, Libraries},
    },
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(super) const CLIENT: Client = Client {
    name: "apt-get",
    remedy: "it is part of Debian; on other systems, install MariaDB or MySQL with the package manager (it \
             need not run), or install Maven (mvn), which provides other versions",
};
const DPKG: Client = Client { name: "dpkg-deb", remedy: "install dpkg" };

/// Packages may need libraries that need libraries; more rounds than this mean that something is wrong.
const LIBRARY_ROUNDS_MAX: u32 = 5;

pub(super) fn fetch(job: &mut Job<'_, '_>, source: &AptSource) -> Result<(), Error> {
    let apt = Apt::prepare(job, &source.suite)?;
    apt.unpack(job, &source.packages, job.directory)
}

/// Fetches the libraries that the server in the job's directory needs and this system lacks, from Debian:
/// single ones that are known by name, or all that the packages of `source` depend on, with the C library and
/// its loader. Where Debian is not available, the check that follows names what is missing.
pub(super) fn add_libraries(job: &mut Job<'_, '_>, source: Option<&AptSource>) -> Result<(), Error> {
    let Some(program) = find_program(job.directory) else {
        return Err(Error::NoProgram { directory: job.directory.to_owned() });
    };
    let added = job.directory.join(libraries::ADDED);
    let mut apt = None;
    for _ in 0..LIBRARY_ROUNDS_MAX {
        let lacks = Libraries::below(job.directory, base_of(&program)).lacks(&program)?;
        let mut packages: Vec<_> = lacks.names.iter().filter_map(|name| library_package(name)).collect();
        let all_known = packages.len() == lacks.names.len() && !lacks.newer;
        packages.sort_unstable();
        packages.dedup();
        if lacks.nothing() || CLIENT.find().is_none() {
            break;
        }
        if let (false, Some(source)) = (all_known, source) {
            drop(apt);
            let apt = Apt::prepare(job, &source.suite)?;
            let needed = apt.libraries_of(job, &source.packages[0])?;
            return apt.unpack(job, &needed, &added);
        }
        if packages.is_empty() {
            break;
        }
        if apt.is_none() {
            apt = match Apt::prepare(job, library_suite()) {
                Err(Error::FetchFailed { .. }) => break,
                apt => Some(apt?),
            };
        }
        if let Some(apt) = &apt {
            apt.unpack(job, &packages, &added)?;
        }
    }
    Ok(())
}

/// apt with lists and cache of its own, for one suite; only one process has it at a time.
struct Apt {
    options: Vec<OsString>,
    /// Packages that have arrived and are not unpacked yet; an interrupted fetch is resumed.
    archives: PathBuf,
    _lock: Lock,
}

impl Apt {
    fn prepare(job: &mut Job<'_, '_>, suite: &str) -> Result<Self, Error> {
        let home = job.cache().join("apt").join(suite);
        let (lists, archives) = (home.join("lists"), home.join("archives"));
        for directory in [lists.join("partial"), archives.join("partial")] {
            fs::create_dir_all(&directory).map_err(Error::file("make the directory", &directory))?;
        }
        let lock = Lock::open(&home.join(".lock"))?;
        lock.take(job.work)?;
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
        if let Some(list) = sources_of_other_suite(job, suite, &home)? {
            set("Dir::Etc::sourcelist", &list);
            set("Dir::Etc::sourceparts", Path::new("-"));
        }
        let apt = Self { options, archives, _lock: lock };
        job.run(&CLIENT, None, |command| {
            apt.arrange(command, "update").arg("--error-on=any");
        })?;
        Ok(apt)
    }

    fn arrange<'c>(&self, command: &'c mut Command, operation: &str) -> &'c mut Command {
        command.arg("-q").args(&self.options).arg(operation)
    }

    /// Downloads packages and unpacks them into `directory`.
    fn unpack<S: AsRef<str>>(
        &self,
        job: &mut Job<'_, '_>,
        packages: &[S],
        directory: &Path,
    ) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(Error::file("make the directory", directory))?;
        job.run(&CLIENT, Some(&self.archives), |command| {
            self.arrange(command, "download")
                .args(packages.iter().map(AsRef::as_ref))
                .current_dir(&self.archives);
        })?;
        let read = self.archives.read_dir().map_err(Error::file("read", &self.archives))?;
        let files: Vec<_> = read.flatten().map(|entry| entry.path()).collect();
        let archives = files.iter().filter(|file| file.extension().is_some_and(|end| end == "deb"));
        // An interrupted fetch of something else may have left its own.
        let name = |file: &Path| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.split('_').next().unwrap_or_default().to_owned()
        };
        for file in
            archives.clone().filter(|file| packages.iter().any(|wanted| name(file) == wanted.as_ref()))
        {
            job.run(&DPKG, None, |command| {
                command.arg("-x").arg(file).arg(directory);
            })?;
        }
        for file in archives {
            fs::remove_file(file).map_err(Error::file("remove", file))?;
        }
        Ok(())
    }

    /// The packages with libraries that `package` depends on, directly or not.
    fn libraries_of(&self, job: &mut Job<'_, '_>, package: &str) -> Result<Vec<String>, Error> {
        let plan = job.run(&CLIENT, None, |command| {
            self.arrange(command, "install").args(["--simulate", "--no-install-recommends", package]);
        })?;
        Ok(libraries_in(&plan))
    }
}

/// From apt's plan of an installation: `Inst libc6 (2.41-12 Debian:13/stable [amd64])`.
fn libraries_in(plan: &str) -> Vec<String> {
    let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
    names.filter(|name| name.starts_with("lib") || *name == "zlib1g").map(str::to_owned).collect()
}

/// The file of sources for a suite that is not the system's own; `None`: the system's own sources do.
fn sources_of_other_suite(job: &mut Job<'_, '_>, suite: &str, home: &Path) -> Result<Option<PathBuf>, Error> {
    let targets = job.run(&CLIENT, None, |command| {
        command.args(["indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"]);
    })?;
    let known: Vec<_> = targets.lines().filter_map(|line| line.split_once(' ')).collect();
    if known.iter().any(|(_, release)| *release == suite) {
        return Ok(None);
    }
    let text = other_sources(&known, suite);
    if text.is_empty() {
        let reason = format!("apt is not configured with a mirror that has Debian's {suite}");
        return Err(job.failed("apt-get indextargets", reason, &targets));
    }
    let list = home.join("sources.list");
    fs::write(&list, text).map_err(Error::file("write", &list))?;
    Ok(Some(list))
}

/// Lines of a `sources.list` with `suite` and its security updates, on the sites where the system has its
/// own.
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

    #[test]
    fn of_an_installation_only_the_libraries_are_taken() {
        let plan = "Reading package lists...\nInst gcc-14-base (14.2.0-19 Debian:13/stable [amd64])\nInst \
                    libc6 (2.41-12 Debian:13/stable [amd64])\nConf libc6 (2.41-12 Debian:13/stable \
                    [amd64])\nInst zlib1g (1:1.3 Debian:13/stable [amd64]) []\nInst mariadb-server-core \
                    (1:11.8.6 Debian:13)\n";
        assert_eq!(libraries_in(plan), ["libc6", "zlib1g"]);
    }
}
