//! A MariaDB of a test's own, and processes that it must not leave behind.

use prony::{
    plan::{ServerPlan, ServerSource},
    provision::{Places, Provisioner, Server},
};
use std::{fs, path::Path, path::PathBuf};
use tempfile::TempDir;

/// The server, and the directory of its state. The programs come from the user's cache.
pub(crate) fn mariadb(settings: &[(&str, &str)]) -> (TempDir, Server) {
    started("mariadb", "10.11", settings)
}

/// The same of any product.
pub(crate) fn started(product: &str, version: &str, settings: &[(&str, &str)]) -> (TempDir, Server) {
    let state = tempfile::tempdir().expect("a directory");
    let places = Places { state: state.path().to_owned(), ..Places::of_user().expect("a home") };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let plan = ServerPlan {
        settings: settings.collect(),
        ..ServerPlan::new(
            "tested",
            ServerSource::Product { product: product.to_owned(), version: Some(version.to_owned()) },
        )
    };
    let launcher = PathBuf::from(env!("CARGO_BIN_EXE_prony"));
    let server = Provisioner::with(places, launcher).bring_up(&plan, 0, &mut |_| ()).expect("a server");
    (state, server)
}

/// Processes whose command line names `directory`.
pub(crate) fn processes_of(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
            && line.contains(&*directory.to_string_lossy())
        {
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}
