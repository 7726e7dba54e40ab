//! The doctor on machines as their kernels show them (`support/machines`), and on the one that the test runs
//! on.

use prony::{
    doctor::{Busy, Disk, Effort, Files, Finding, Level, Observed, examine},
    report::Words,
};
use std::{fs, path::Path, process::Command};

/// Unpacks a recorded machine: each file behind a line `== PATH`.
fn machine(name: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/machines").join(name);
    for part in fs::read_to_string(file).expect("the recording").split("\n== ").skip(1) {
        let (path, text) = part.split_once('\n').expect("a path and its text");
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, format!("{}\n", text.trim_end())).expect("a file");
    }
    root
}

fn of<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
    findings.iter().find(|finding| finding.id() == id).unwrap_or_else(|| panic!("no {id} in {findings:#?}"))
}

/// That each has this level, and says these words of what was read or of what to do.
fn expect(findings: &[Finding], expected: &[(&str, Level, &str)]) {
    for (id, level, words) in expected {
        let finding = of(findings, id);
        let examined = Words::default().examined(finding.level, &finding.reading);
        let said = format!("{} {}", examined.read, examined.remedy);
        assert!(finding.level == *level && said.contains(words), "{id}: {finding:?}: {said}");
    }
    for finding in findings {
        let examined = Words::default().examined(finding.level, &finding.reading);
        let explained = !examined.effect.is_empty() && !examined.remedy.is_empty();
        assert_eq!(explained, finding.level != Level::Fine, "{examined:?}");
    }
}

fn observed(directory: &str, stat: [&str; 2], syncs_per_second: f64) -> Observed {
    let disk = Disk {
        directory: directory.into(),
        available_bytes: 100_000_000_000,
        total_bytes: 400_000_000_000,
        syncs_per_second: Some(syncs_per_second),
    };
    Observed { stat: Some(stat.map(str::to_owned)), disk: Some(disk), ..Observed::default() }
}

#[test]
fn a_laptop_saves_power_turns_its_clock_up_and_swaps() {
    let root = machine("laptop.txt");
    let stat = ["cpu  1000 0 500 8000 500 0 0 0 0 0", "cpu  1090 0 510 8290 510 0 0 0 0 0"];
    let mut observed = observed("/home/ada/.local/state/prony/instances", stat, 900.0);
    observed.busiest = vec![Busy { pid: 4711, name: "firefox".to_owned(), cpus: 0.9 }];
    let findings = examine(&Files::below(root.path()), &observed);
    expect(
        &findings,
        &[
            ("governor", Level::Warning, "powersave (intel_pstate, balance_power) on 4 of 4 processors"),
            ("turbo", Level::Note, "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
            ("other-load", Level::Warning, "25 % of the processors: firefox (pid 4711, 90 % CPU)"),
            ("steal", Level::Fine, "0.0 % now"),
            ("processors", Level::Fine, "4 processors"),
            ("limits", Level::Fine, "no cgroup limit"),
            ("clock-source", Level::Fine, "tsc"),
            ("virtualisation", Level::Fine, ""),
            ("huge-pages", Level::Fine, "madvise"),
            ("swap", Level::Warning, "1,376 of 8,388 MB of swap space in use, vm.swappiness 60"),
            ("numa", Level::Fine, "one"),
            ("open-files", Level::Fine, "524,288"),
            ("ports", Level::Fine, "28,232 ports for outgoing connections, 4 of them closed"),
            ("backlog", Level::Fine, "4,096"),
            ("disk-space", Level::Fine, "100 of 400 GB free"),
            ("file-system", Level::Note, "btrfs at /home/ada"),
            ("sync-speed", Level::Fine, "900 writes per second"),
            ("build", Level::Fine, ""),
        ],
    );
}

#[test]
fn an_old_numa_server_in_a_container_has_much_to_mend() {
    let root = machine("numa-server.txt");
    let stat = ["cpu  0 0 0 0 0 0 0 0 0 0", "cpu  1 0 1 388 0 0 0 10 0 0"];
    let findings = examine(&Files::below(root.path()), &observed("/tmp/prony", stat, 84.0));
    expect(
        &findings,
        &[
            ("governor", Level::Warning, "ondemand on 1 of 4 processors"),
            ("turbo", Level::Fine, "off"),
            ("other-load", Level::Fine, "0.5 %"),
            ("steal", Level::Warning, "2.5 % now"),
            ("limits", Level::Warning, "at most 2.50 processors for Prony"),
            ("clock-source", Level::Warning, "clocksource=tsc tsc=reliable"),
            ("virtualisation", Level::Note, "a container"),
            ("huge-pages", Level::Warning, "echo madvise"),
            ("swap", Level::Fine, "no swap space"),
            ("numa", Level::Warning, "sysctl -w kernel.numa_balancing=0; then numactl --interleave=all"),
            ("open-files", Level::Note, "hard limit 4,096"),
            ("ports", Level::Warning, "19,044 of them closed and waiting"),
            ("backlog", Level::Note, "somaxconn 128"),
            ("file-system", Level::Note, "overlay"),
            ("sync-speed", Level::Warning, "84 writes per second"),
        ],
    );
    let on_volume = examine(&Files::below(root.path()), &observed("/data/prony", stat, 84.0));
    expect(&on_volume, &[("file-system", Level::Fine, "xfs at /data/prony")]);
}

#[test]
fn a_full_disk_and_one_in_memory_are_told() {
    let root = machine("laptop.txt");
    let mut observed = observed("/tmp/prony", ["cpu ", ""], 400_000.0);
    if let Some(disk) = &mut observed.disk {
        disk.available_bytes = 1_000_000_000;
    }
    observed.debug_build = true;
    let findings = examine(&Files::below(root.path()), &observed);
    expect(
        &findings,
        &[
            ("disk-space", Level::Warning, "1 of 400 GB free for /tmp/prony"),
            ("file-system", Level::Warning, "tmpfs"),
            ("sync-speed", Level::Note, "400,000"),
            ("build", Level::Warning, "cargo build --release"),
        ],
    );
    assert!(findings.iter().all(|finding| finding.id() != "steal"), "nothing is said of what was not read");
}

#[test]
fn a_machine_that_tells_nothing_is_no_error() {
    let root = tempfile::tempdir().unwrap();
    let findings = examine(&Files::below(root.path()), &Observed::default());
    assert!(findings.iter().all(|finding| finding.level == Level::Fine), "{findings:#?}");
}

#[test]
fn this_machine_is_examined_and_left_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let observed = Observed::of_this_machine(home.path(), Effort::Short).unwrap();
    let findings = examine(&Files::of_this_machine(), &observed);
    assert!(observed.disk.is_some_and(|disk| disk.syncs_per_second.unwrap() > 0.0 && disk.total_bytes > 0));
    for id in [
        "other-load",
        "steal",
        "processors",
        "open-files",
        "ports",
        "disk-space",
        "file-system",
        "sync-speed",
    ] {
        of(&findings, id);
    }
    assert_eq!(home.path().read_dir().unwrap().count(), 0);

    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["doctor", "--json"])
        .env("XDG_STATE_HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let levels = ["fine", "note", "warning"];
    let all = object["findings"].as_array().unwrap();
    assert!(all.len() >= 10 && all.iter().all(|each| levels.contains(&each["level"].as_str().unwrap())));

    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .arg("doctor")
        .env("XDG_STATE_HOME", "/proc/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("set XDG_STATE_HOME to a writable directory"), "{message}");
}
