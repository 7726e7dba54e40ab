//! Shared libraries that a server's program needs and the system may lack: which are missing, as the system's own loader sees it.

use super::Error;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where libraries lie below the root of an unpacked server, below the directory of its program, and below [`ADDED`].
const DIRECTORIES: [&str; 7] = [
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "lib/private",
    "lib",
    "libs",
];
/// Directory in an unpacked server for packages with libraries that it needs beside its own.
pub(super) const ADDED: &str = ".libraries";

/// The directories with libraries that exist for a server unpacked in `root` whose program's own directory is `base`.
pub(super) fn directories(root: &Path, base: &Path) -> Vec<PathBuf> {
    let added = root.join(ADDED);
    let roots = if base == root { vec![root, &added] } else { vec![base, root, &added] };
    let all = roots.iter().flat_map(|root| DIRECTORIES.map(|name| root.join(name)));
    // One package has its library beside the program.
    let beside = Some(base.to_owned()).filter(|base| base.join("mysqld").is_file());
    all.filter(|path| path.is_dir()).chain(beside).collect()
}

/// `directories` as `LD_LIBRARY_PATH` takes them; `None` if there are none.
pub(super) fn joined(directories: &[PathBuf]) -> Option<OsString> {
    if directories.is_empty() { None } else { std::env::join_paths(directories).ok() }
}

/// Names (`libaio.so.1`) that the loader does not find for `program`. It is not run: the loader only lists, which is
/// what `ldd` does.
///
/// # Errors
/// [`Error::Unusable`] if the program cannot be loaded at all.
pub(super) fn missing(program: &Path, library_path: &[PathBuf]) -> Result<Vec<String>, Error> {
    let mut command = Command::new(program);
    // The arguments are for a wrapper script or a static program, which would run: it must not touch the system's data.
    command.args(["--no-defaults", "--version"]).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null());
    if let Some(path) = joined(library_path) {
        command.env("LD_LIBRARY_PATH", path);
    }
    let output = command
        .output()
        .map_err(|error| Error::Unusable { program: program.to_owned(), reason: error.to_string() })?;
    Ok(missing_in(&String::from_utf8_lossy(&output.stdout)))
}

fn missing_in(trace: &str) -> Vec<String> {
    let names = trace.lines().filter_map(|line| line.strip_suffix("=> not found"));
    names.map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_list_names_what_is_missing() {
        let trace = "\tlibm.so.6 => /lib/libm.so.6 (0x00007f)\n\tliburing.so.2 => not found\n\tlibaio.so.1 => not found\n";
        assert_eq!(missing_in(trace), ["liburing.so.2", "libaio.so.1"]);
    }

    #[test]
    fn a_program_of_this_system_lacks_nothing() {
        assert_eq!(missing(Path::new("/bin/sh"), &[]).unwrap(), Vec::<String>::new());
    }
}
