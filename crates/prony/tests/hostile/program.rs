//! The program `prony` in a home of its own, with a limit on how long it may take.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything here takes on a busy machine; what is not done by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None`: a signal ended it, ours where it hung.
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    pub(crate) took: Duration,
}

impl Ended {
    /// What it said, both streams together.
    pub(crate) fn said(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.out), String::from_utf8_lossy(&self.err))
    }
}

/// A home with nothing in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file there.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// The command, with nothing of the user's around it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("HOME", self.path());
        for name in ["CACHE", "STATE", "CONFIG", "DATA"] {
            command.env(format!("XDG_{name}_HOME"), self.path().join(name));
        }
        for name in ["PRONY_URL", "PRONY_PASSWORD", "MYSQL_PWD", "PRONY_STORE"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn prony(&self, arguments: &[&str]) -> Ended {
        wait(start(&mut self.command(arguments)))
    }
}

/// A command that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    begun: Instant,
    readers: [thread::JoinHandle<Vec<u8>>; 2],
}

pub(crate) fn start(command: &mut Command) -> Running {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony starts");
    let readers = [read(child.stdout.take().expect("a pipe")), read(child.stderr.take().expect("a pipe"))];
    Running { child, begun: Instant::now(), readers }
}

fn read(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe");
        bytes
    })
}

/// Waits for its end; what hangs is killed.
pub(crate) fn wait(mut running: Running) -> Ended {
    let status = loop {
        if let Some(status) = running.child.try_wait().expect("a child") {
            break status;
        }
        if running.begun.elapsed() > PATIENCE {
            running.child.kill().expect("it runs");
        }
        thread::sleep(Duration::from_millis(10));
    };
    let took = running.begun.elapsed();
    let [out, err] = running.readers.map(|reader| reader.join().expect("a reader"));
    Ended { code: status.code(), out, err, took }
}

/// Lets a command take servers from the user's cache, where they are fetched once.
pub(crate) fn with_servers(command: &mut Command) {
    let cache = prony::provision::Places::of_user().expect("a home").cache;
    command.env("XDG_CACHE_HOME", cache.parent().expect("a directory above"));
}

/// Processes of servers whose files are in `directory`.
pub(crate) fn servers_in(directory: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let pid = entry.file_name().to_string_lossy().parse();
        if let (Ok(pid), true) =
            (pid, line.contains("my.cnf") && line.contains(&*directory.to_string_lossy()))
        {
            found.push(pid);
        }
    }
    found
}

/// TCP connections of IPv4 that a process of this user holds open.
pub(crate) fn connections_of(pid: u32) -> usize {
    let text = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let open: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            (fields.get(3) == Some(&"01")).then(|| fields.get(9).copied()).flatten()
        })
        .collect();
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let sockets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    sockets
        .filter(|link| open.iter().any(|inode| link.to_string_lossy() == format!("socket:[{inode}]")))
        .count()
}
