//! The whole result: as Markdown for people, as JSON for programs. Written again after each heat, so that an
//! interrupted run loses only what was under way.

use crate::{
    section::{Section, shown},
    table::{Table, whole},
};
use procfs::Current as _;
use prony::telemetry::Machine;
use serde_json::json;
use std::{fs, path::PathBuf, process::Command};

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// Everything that was found out so far.
pub(crate) struct Page {
    date: String,
    machine: Vec<(&'static str, String)>,
    how: String,
    pub(crate) sections: Vec<Section>,
    /// What was left out, and the remedy.
    pub(crate) missing: Vec<String>,
    markdown: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Page {
    pub(crate) fn new(
        how: String,
        peers: Vec<String>,
        markdown: Option<PathBuf>,
        json: Option<PathBuf>,
    ) -> Self {
        let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
        Self {
            date,
            machine: describe(peers),
            how,
            sections: Vec::new(),
            missing: Vec::new(),
            markdown,
            json,
        }
    }

    /// One more thing to be known about the machine.
    pub(crate) fn note(&mut self, what: &'static str, value: String) {
        self.machine.push((what, value));
    }

    /// Writes the files that were asked for.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        if let Some(path) = &self.markdown {
            fs::write(path, self.text())?;
        }
        if let Some(path) = &self.json {
            let verdicts: Vec<_> = self.sections.iter().flat_map(Section::verdicts).collect();
            let machine: serde_json::Map<_, _> =
                self.machine.iter().map(|(what, value)| ((*what).to_owned(), json!(value))).collect();
            let whole = json!({
                "format": FORMAT, "date": self.date, "machine": machine, "how": self.how,
                "missing": self.missing, "targets": verdicts, "sections": self.sections,
            });
            fs::write(path, format!("{whole:#}\n"))?;
        }
        Ok(())
    }

    /// The document.
    fn text(&self) -> String {
        let mut text = format!("# Benchmarks of {}\n\n{INTRODUCTION}\n\n{}\n\n", self.date, self.how);
        text.push_str(&self.head());
        text.push_str(&self.targets());
        for section in &self.sections {
            text.push_str(&format!("\n{}", section.markdown()));
        }
        text
    }

    /// The machine, and what is missing on it.
    pub(crate) fn head(&self) -> String {
        let mut text = String::new();
        for (what, value) in &self.machine {
            text.push_str(&format!("* {what}: {value}\n"));
        }
        for missing in &self.missing {
            text.push_str(&format!("* left out: {missing}\n"));
        }
        text
    }

    /// All targets in one table.
    pub(crate) fn targets(&self) -> String {
        let verdicts: Vec<_> = self.sections.iter().flat_map(Section::verdicts).collect();
        if verdicts.is_empty() {
            return String::new();
        }
        let mut table = Table::new(&["what", "connections", "target", "median (rounds)", "result"]);
        for verdict in &verdicts {
            table.add(vec![
                verdict.what.clone(),
                whole(f64::from(verdict.at)),
                verdict.target.clone(),
                shown(verdict.measured),
                if verdict.is_met { "met" } else { "MISSED" }.to_owned(),
            ]);
        }
        let met = verdicts.iter().filter(|verdict| verdict.is_met).count();
        format!("\n## Targets: {met} of {} met\n\n{}", verdicts.len(), table.markdown())
    }
}

const INTRODUCTION: &str = "\
Made by `make bench`. Absolute figures are this machine's, and client and server share it; only ratios say \
                            something elsewhere. All programs of a comparison run in turn, round after \
                            round; a ratio is made within a round. Given is the median, and in brackets the \
                            least and the greatest round. CPU time is user and system time of a process's \
                            whole life, connecting included, seen from outside; memory is its peak.";

/// The commit that is measured, and whether anything but this page differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let output = Command::new("git").args(["-C", top]).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "commit unknown".to_owned() };
    let changes = git(&["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"]);
    let state = if changes.is_some_and(|changes| changes.is_empty()) { "" } else { ", CHANGED since" };
    format!("commit {commit}{state}")
}

/// Load average above which something else is running.
const QUIET: f32 = 0.7;

fn describe(peers: Vec<String>) -> Vec<(&'static str, String)> {
    let machine = Machine::of_this_host();
    let place = if machine.virtualisation.is_empty() {
        String::new()
    } else {
        format!(", {}", machine.virtualisation)
    };
    let said = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let profile = if cfg!(debug_assertions) { "NOT optimised" } else { "release profile" };
    let busy = procfs::LoadAverage::current().map(|load| load.one).ok();
    let advice = if busy.is_some_and(|load| load > QUIET) {
        " (NOT quiet: the figures are of little use)"
    } else {
        ""
    };
    let compiler = said("rustc").unwrap_or_else(|| "unknown compiler".to_owned());
    vec![
        ("processors", format!("{} x {}{place}", machine.cpus, machine.cpu_model)),
        ("memory", format!("{:.0} GiB", machine.memory_bytes as f64 / f64::from(1 << 30))),
        ("system", format!("{}, {}", machine.distribution, machine.kernel)),
        ("Prony", format!("{}, {}, {profile}, {compiler}", env!("CARGO_PKG_VERSION"), commit())),
        ("other programs", peers.join("; ")),
        (
            "load average when it began",
            busy.map_or("unknown".to_owned(), |load| format!("{load:.1}{advice}")),
        ),
    ]
}
