//! Shared libraries that a server's program needs and the system may lack: which are missing, as the loader
//! sees it, and how a program runs with others than the system's.

use crate::provision::{Error, process::trampoline::keep_secrets};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where libraries lie below the root of an unpacked server, below the directory of its program, and below
/// [`ADDED`].
const DIRECTORIES: [&str; 7] = [
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "lib/private",
    "lib",
    "libs",
];
/// Names of the program that loads libraries; it belongs to the C library beside it.
const LOADERS: [&str; 2] = ["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
/// Directory in an unpacked server for packages with libraries that it needs beside its own.
pub(in crate::provision) const ADDED: &str = ".libraries";

/// What a program is loaded with. The default is the system's own libraries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Libraries {
    /// Directories that are searched before the system's.
    pub path: Vec<PathBuf>,
    /// A loader to be used instead of the system's, where the C library is in `path`, too.
    pub loader: Option<PathBuf>,
}

/// What a program lacks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::provision) struct Lacks {
    /// Names (`libaio.so.1`) that are not found.
    pub(in crate::provision) names: Vec<String>,
    /// Whether one that is found is older than the program takes.
    pub(in crate::provision) newer: bool,
}

impl Lacks {
    pub(in crate::provision) fn nothing(&self) -> bool {
        self.names.is_empty() && !self.newer
    }
}

impl Libraries {
    /// Those that exist for a server unpacked in `root` whose program's own directory is `base`.
    pub(in crate::provision) fn below(root: &Path, base: &Path) -> Self {
        let added = root.join(ADDED);
        let roots = if base == root { vec![root, &added] } else { vec![base, root, &added] };
        let all = roots.iter().flat_map(|root| DIRECTORIES.map(|name| root.join(name)));
        // One package has its library beside the program.
        let beside = Some(base.to_owned()).filter(|base| base.join("mysqld").is_file());
        let path: Vec<_> = all.filter(|path| path.is_dir()).chain(beside).collect();
        let loaders = path.iter().flat_map(|directory| LOADERS.map(|name| directory.join(name)));
        let loader = loaders.into_iter().find(|file| file.is_file());
        Self { path, loader }
    }

    /// A program and its first arguments that run `program` with these libraries, and the value of
    /// `LD_LIBRARY_PATH` for it.
    pub(in crate::provision) fn start(&self, program: &Path) -> (Vec<OsString>, Option<OsString>) {
        let path = if self.path.is_empty() { None } else { std::env::join_paths(&self.path).ok() };
        let Some(loader) = &self.loader else { return (vec![program.into()], path) };
        // Not in the environment: it would hold for the programs that the server starts, which have the
        // system's loader.
        let mut words = vec![loader.into()];
        words.extend(path.into_iter().flat_map(|path| ["--library-path".into(), path]));
        words.push(program.into());
        (words, None)
    }

    /// A command that runs `program` with these libraries.
    pub(in crate::provision) fn command(&self, program: &Path) -> Command {
        let (words, path) = self.start(program);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        keep_secrets(&mut command);
        if let Some(path) = path {
            command.env("LD_LIBRARY_PATH", path);
        }
        command
    }

    /// What `program` still lacks with these. It is not run: the loader only lists its libraries, as ldd
    /// does.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the program cannot be loaded at all.
    pub(in crate::provision) fn lacks(&self, program: &Path) -> Result<Lacks, Error> {
        let mut command = self.command(program);
        // The arguments are for a wrapper script or a static program, which would run: it must not touch the
        // system's data.
        command.args(["--no-defaults", "--version"]).env("LD_TRACE_LOADED_OBJECTS", "1");
        let output = command
            .output()
            .map_err(|error| Error::Unusable { program: program.to_owned(), reason: error.to_string() })?;
        Ok(lacks_in(&String::from_utf8_lossy(&output.stdout), &String::from_utf8_lossy(&output.stderr)))
    }
}

fn lacks_in(trace: &str, complaints: &str) -> Lacks {
    let names = trace.lines().filter_map(|line| line.strip_suffix("=> not found"));
    let newer = complaints.lines().any(|line| line.contains("version `") && line.contains("not found"));
    Lacks { names: names.map(|name| name.trim().to_owned()).collect(), newer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_list_names_what_is_missing() {
        let trace = "\tlibm.so.6 => /lib/libm.so.6 (0x00007f)\n\tliburing.so.2 => not found\n\tlibaio.so.1 \
                     => not found\n";
        let names = ["liburing.so.2", "libaio.so.1"].map(str::to_owned).to_vec();
        assert_eq!(lacks_in(trace, ""), Lacks { names, newer: false });
        let complaint =
            "x/mariadbd: /lib/libc.so.6: version `GLIBC_2.38' not found (required by x/mariadbd)\n";
        assert!(lacks_in("", complaint).newer && !lacks_in("", complaint).nothing());
    }

    #[test]
    fn a_program_of_this_system_lacks_nothing() {
        assert!(Libraries::default().lacks(Path::new("/bin/sh")).unwrap().nothing());
    }

    #[test]
    fn a_loader_that_comes_with_a_server_is_told_where_the_libraries_are() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join(ADDED).join("usr/lib/x86_64-linux-gnu");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(LOADERS[0]), "").unwrap();
        let libraries = Libraries::below(home.path(), home.path());
        let (words, path) = libraries.start(Path::new("/x/mysqld"));
        assert_eq!(words[0], directory.join(LOADERS[0]));
        assert_eq!(words[1..], ["--library-path".into(), directory.into_os_string(), "/x/mysqld".into()]);
        assert_eq!(path, None);
    }
}
