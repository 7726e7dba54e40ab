//! What `prony server` and `prony doctor` print for programs; their JSON schemas are committed in `schemas/`.

use crate::{
    doctor::{Finding, Level},
    provision::{
        Places, Software, Standing,
        catalogue::{self, Entry},
        fetch,
    },
    report::{self, Words},
};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of all documents here.
const FORMAT: u32 = 1;

/// `prony server list --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct List {
    /// Version of this document.
    format: u32,
    /// Servers that are installed on this machine; a study takes one of these before it fetches.
    installed: Vec<Installed>,
    /// Servers that can be downloaded, the user's own first.
    servers: Vec<Available>,
}

#[derive(Serialize, JsonSchema)]
struct Installed {
    /// `mariadb` or `mysql`.
    product: String,
    /// As the program says.
    version: String,
    /// Its path.
    program: String,
}

#[derive(Serialize, JsonSchema)]
struct Available {
    /// What `prony server fetch` and `start` take.
    name: String,
    /// `mariadb` or `mysql`.
    product: String,
    /// Version, or its beginning where the registry moves it on.
    version: String,
    /// SPDX expression; empty: not said.
    licence: String,
    /// The only kind of processor that it runs on; null: any.
    architecture: Option<String>,
    /// Size of the download, MB.
    download_mb: u32,
    /// Where it is downloaded from.
    from: String,
    /// What sets this build apart.
    remark: String,
    /// Whether the user added it.
    own: bool,
    /// Whether it is on this machine.
    here: bool,
    /// Where it is, if it is here.
    directory: Option<String>,
    /// A program that fetching it needs and this machine lacks.
    needs: Option<Needs>,
}

#[derive(Serialize, JsonSchema)]
struct Needs {
    /// Its name.
    program: String,
    /// What to do about that.
    remedy: String,
}

/// `prony server status --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Status {
    /// Version of this document.
    format: u32,
    /// Servers that were started and not stopped.
    servers: Vec<Started>,
}

/// One of them; also what `prony server start --json` prints.
#[derive(Serialize, JsonSchema)]
pub(super) struct Started {
    /// The name that it goes by.
    name: String,
    /// `running`, or `ended` if it did so by itself.
    state: String,
    /// `mariadb` or `mysql`.
    product: String,
    /// As its program says.
    version: String,
    /// Where it is from, in words.
    origin: String,
    /// Path of its program.
    program: String,
    /// Process number while it runs.
    pid: Option<u32>,
    /// Port on 127.0.0.1.
    port: u16,
    /// Unix socket.
    socket: String,
    /// Data directory.
    data: String,
    /// Whether the data stays when it is stopped.
    keeps_data: bool,
    /// Error log.
    log: String,
    /// Address without the password.
    url: String,
    /// Option file with user and password, for `--defaults-file` of clients and of Prony.
    defaults_file: String,
    /// When it was started, UTC.
    started: String,
}

/// `prony doctor --json`.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Examination {
    /// Version of this document.
    format: u32,
    /// Everything that was looked at.
    findings: Vec<Examined>,
}

/// One thing that was checked.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
struct Examined {
    /// Stable name: `governor`.
    id: String,
    /// How much it hurts.
    level: Level,
    /// What was read, in words with its figures.
    read: String,
    /// What it does to a measurement; empty where it is fine.
    effect: String,
    /// How to fix it, with the command; empty where it is fine.
    remedy: String,
}

impl List {
    pub(super) fn new(installed: &[Software], entries: &[Entry], places: &Places) -> Self {
        let installed = installed.iter().map(|software| Installed {
            product: software.product.clone(),
            version: software.version.clone(),
            program: software.program.display().to_string(),
        });
        let servers = entries.iter().map(|entry| Available::new(entry, places)).collect();
        Self { format: FORMAT, installed: installed.collect(), servers }
    }
}

impl Available {
    fn new(entry: &Entry, places: &Places) -> Self {
        let place = fetch::place(entry, places);
        let here = place.is_dir();
        let missing = if here { None } else { fetch::missing_client(entry) };
        let entry = entry.clone();
        Self {
            own: !catalogue::entries().contains(&entry),
            from: entry.registry(),
            name: entry.name,
            product: entry.product,
            version: entry.version,
            licence: entry.licence,
            architecture: entry.architecture,
            download_mb: entry.download_mb,
            remark: entry.remark,
            here,
            directory: here.then(|| place.display().to_string()),
            needs: missing
                .map(|(program, remedy)| Needs { program: program.to_owned(), remedy: remedy.to_owned() }),
        }
    }
}

impl Status {
    pub(super) fn new(standing: &[Standing]) -> Self {
        Self { format: FORMAT, servers: standing.iter().map(Started::new).collect() }
    }
}

impl Started {
    pub(super) fn new(standing: &Standing) -> Self {
        Self {
            name: standing.name.clone(),
            state: standing.state().to_owned(),
            product: standing.product.clone(),
            version: standing.version.clone(),
            origin: standing.origin.clone(),
            program: standing.program.display().to_string(),
            pid: standing.pid(),
            port: standing.port,
            socket: standing.socket.display().to_string(),
            data: standing.data().display().to_string(),
            keeps_data: standing.keeps_data,
            log: standing.log().display().to_string(),
            url: standing.url(),
            defaults_file: standing.client_file().display().to_string(),
            started: standing.started.clone(),
        }
    }
}

impl Examination {
    pub(in crate::cli) fn new(findings: &[Finding]) -> Self {
        let examined = |finding: &Finding| {
            let report::Examined { read, effect, remedy } =
                Words::default().examined(finding.level, &finding.reading);
            Examined { id: finding.id().to_owned(), level: finding.level, read, effect, remedy }
        };
        Self { format: FORMAT, findings: findings.iter().map(examined).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed<T: JsonSchema>(name: &str) {
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(T)).expect("a schema") + "\n";
        let path = format!("{}/../../schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(&path, &schema).expect("writable");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == schema, "schemas/{name}.json is out of date: run `make schemas`");
    }

    #[test]
    fn the_committed_schemas_are_those_of_the_documents() {
        committed::<List>("server-list");
        committed::<Status>("server-status");
        committed::<Examination>("doctor");
    }
}
