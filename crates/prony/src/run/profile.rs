//! Where a server spends its processor time at its knee: the treatment with its highest throughput runs once
//! more, counted in no figure, while `perf` records. A profile disturbs, so no measured trial has one.

use super::{Error, Event, NoProfile, Note, Run, TrialOutcome, nodes, trial};
use crate::{
    plan::{Trial, seed},
    provision::{
        Provisioner,
        trampoline::{self, Bond},
    },
    telemetry::Profile,
};
use std::{
    ffi::OsString,
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The program, unless the environment variable of this name says where it is.
const PERF: &str = "perf";
const PERF_VARIABLE: &str = "PRONY_PERF";
/// How long the load runs before `perf` looks, and how long that does.
const SETTLE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_secs(4);
/// Samples per second of each running thread; no round number, so that periodic work is not sampled always or
/// never.
const FREQUENCY: &str = "499";
/// Bytes of recorded stacks that are kept in memory at most.
const RECORDED_MAX: u64 = 512 << 20;
/// How long translating addresses into names may take.
const SCRIPT_MAX: Duration = Duration::from_secs(120);

/// The treatment with the highest throughput of each server, and that throughput.
#[derive(Debug, Default)]
pub(super) struct Knees(Vec<(usize, Trial, f64)>);

impl Knees {
    /// Looks at a trial that has ended.
    pub(super) fn saw(&mut self, server: usize, trial: Trial, outcome: &TrialOutcome) {
        let TrialOutcome::Measured { outcome, .. } = outcome else { return };
        let count: u64 = outcome.streams.iter().map(|stream| stream.transactions.count).sum();
        let rate = count as f64 / outcome.interval.as_secs_f64().max(f64::MIN_POSITIVE);
        match self.0.iter_mut().find(|(known, ..)| *known == server) {
            Some((_, best, highest)) if rate > *highest => (*best, *highest) = (trial, rate),
            Some(_) => {}
            None => self.0.push((server, trial, rate)),
        }
    }
}

impl Run<'_, '_> {
    /// Profiles each server at its knee.
    pub(super) fn profile(&mut self, knees: &Knees) -> Result<(), Error> {
        for (server, trial, _) in &knees.0 {
            self.heed_stop()?;
            let note = match self.profile_one(*server, trial)? {
                Ok(profile) => Note::Profiled { treatment: trial.treatment, profile },
                Err(reason) => Note::NotProfiled { server: *server, reason },
            };
            self.tell(&Event::Noted(note))?;
        }
        Ok(())
    }

    /// The profile, or why there is none.
    fn profile_one(&mut self, server: usize, trial: &Trial) -> Result<Result<Profile, NoProfile>, Error> {
        let plan = self.plan;
        let treatment = &plan.treatments[trial.treatment];
        self.have_data(server, treatment.data)?;
        let (stop, loader) = (self.stop, self.loader(treatment));
        let provisioner = self.provisioner;
        let reached = self.reach(server, treatment)?;
        let up = self.up(server);
        let nodes = nodes::nodes(&up.group, &plan.servers[server]);
        let Some(pid) = nodes[0].pid else {
            return Ok(Err(NoProfile::NoProcess));
        };
        let mut spec = trial::spec(plan, trial, reached);
        // what the trial has written may still be there
        spec.seed = seed::drawn();
        (spec.warm_up, spec.interval) = (SETTLE, LOOK + Duration::from_secs(1));
        let profile = thread::scope(|scope| {
            let mut looking = None;
            let offered = loader.run(&spec, stop, &mut |event| {
                if matches!(event, load::Progress::Started) {
                    looking = Some(scope.spawn(|| look(provisioner, pid)));
                }
            });
            match (offered, looking.map(|looking| looking.join())) {
                (Err(load::Error::Interrupted), _) => None,
                (Err(error), _) => Some(Err(NoProfile::Load { cause: error.into() })),
                (Ok(_), Some(Ok(profile))) => Some(profile),
                (Ok(_), _) => Some(Err(NoProfile::NothingRecorded)),
            }
        });
        profile.ok_or(Error::Interrupted)
    }
}

/// Records what the process does, and reads it.
fn look(provisioner: &Provisioner, pid: u32) -> Result<Profile, NoProfile> {
    thread::sleep(SETTLE);
    let perf = std::env::var_os(PERF_VARIABLE).unwrap_or_else(|| PERF.into());
    let pid = pid.to_string();
    let seconds = LOOK.as_secs().to_string();
    let record = ["record", "-F", FREQUENCY, "-g", "-p", &pid, "-o", "-", "--", "sleep", &seconds];
    let recorded = output(provisioner, &perf, &record, Vec::new(), LOOK + SCRIPT_MAX)?;
    let text = output(provisioner, &perf, &["script", "-i", "-"], recorded, SCRIPT_MAX)?;
    let profile = Profile::of_script(&String::from_utf8_lossy(&text));
    if profile.stacks.is_empty() {
        return Err(NoProfile::NoSamples);
    }
    Ok(profile)
}

/// What `perf` prints for `input`; it cannot outlive Prony.
fn output(
    provisioner: &Provisioner,
    perf: &OsString,
    arguments: &[&str],
    input: Vec<u8>,
    limit: Duration,
) -> Result<Vec<u8>, NoProfile> {
    if !is_installed(perf) {
        return Err(NoProfile::NotInstalled);
    }
    let mut command: Command = trampoline::command(provisioner.launcher(), Bond::Owner, perf, None);
    command.args(arguments).env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = trampoline::spawn(command, Bond::Owner)
        .map_err(|error| NoProfile::NotStarted { cause: error.to_string() })?;
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writing = thread::spawn(move || stdin.as_mut().map(|pipe| pipe.write_all(&input)));
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.map(|pipe| pipe.take(RECORDED_MAX).read_to_end(&mut bytes));
        bytes
    });
    let complaining = thread::spawn(move || {
        let mut text = String::new();
        stderr.map(|pipe| pipe.take(1 << 16).read_to_string(&mut text));
        text
    });
    let is_well = wait(&mut child, limit);
    let (bytes, complaint) = (reading.join().unwrap_or_default(), complaining.join().unwrap_or_default());
    // a reader that has ended early is no fault of the writer's
    let _ = writing.join();
    if is_well { Ok(bytes) } else { Err(refusal(&complaint)) }
}

fn is_installed(program: &OsString) -> bool {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return program.exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).exists())
}

fn wait(child: &mut Child, limit: Duration) -> bool {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if began.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

/// Why `perf` gave nothing.
fn refusal(complaint: &str) -> NoProfile {
    let is_forbidden = ["perf_event_paranoid", "Permission", "not permitted", "Access to performance"]
        .iter()
        .any(|word| complaint.contains(word));
    if is_forbidden {
        return NoProfile::Forbidden;
    }
    let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty());
    NoProfile::Failed { cause: last.unwrap_or("it gave no reason").to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_says_is_told_with_what_to_do() {
        let limited = "Error:\nAccess to performance monitoring is limited.\n";
        assert_eq!(refusal(limited), NoProfile::Forbidden);
        assert_eq!(refusal("a\n b \n\n"), NoProfile::Failed { cause: "b".to_owned() });
        assert!(!is_installed(&"/nowhere/perf".into()) && is_installed(&"sh".into()));
    }
}
