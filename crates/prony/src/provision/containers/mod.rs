//! Servers in containers: an image that podman or docker has on this machine, and how a server in it is
//! started so that everything else is as with any other server. It knows no study.
//!
//! The container shares the network of the machine, and sees the server's own directory under the same path
//! as Prony does. So option file, data, error log and socket are Prony's, addresses are those of the machine,
//! and the server's process is a process of the machine, with a number by which it is sampled and stopped.
//!
//! What starts a container (podman's conmon, docker's daemon) is no child of Prony, so the container would
//! outlive Prony. The process [`watch`] removes it in time; if that is killed too, the next sweep finds it by
//! name.

pub mod watch;

use crate::provision::{
    Error,
    process::{
        identity::ProcessIdentity,
        trampoline::{self, Bond, keep_secrets},
    },
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

/// The programs that run containers, in order of preference.
pub(in crate::provision) const CLIENTS: [&str; 2] = ["podman", "docker"];
/// What is known of an image, in the directory of its server.
const FILE: &str = "image.json";
/// Label of every container of Prony's: the process that started it.
const LABEL: &str = "prony.owner";

/// An image that has a server, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `podman` or `docker`.
    pub client: String,
    /// The name that it was asked for by.
    pub name: String,
    /// The identifier that stays when the name comes to mean another image.
    pub id: String,
    /// Directory on this machine with those of its files that Prony reads, under the same paths.
    #[serde(skip)]
    pub root: PathBuf,
}

/// What a server's directory says of its image.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::provision) struct Contents {
    pub(in crate::provision) image: Image,
    /// `mariadb` or `mysql`.
    pub(in crate::provision) product: String,
    /// As the program says.
    pub(in crate::provision) version: String,
    /// Path of the program in the image.
    pub(in crate::provision) program: PathBuf,
}

impl Contents {
    /// Those of the image in `root`; `None`: there is none.
    pub(in crate::provision) fn read(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(root.join(FILE)).ok()?;
        let mut contents: Self = serde_json::from_str(&text).ok()?;
        contents.image.root = root.to_owned();
        Some(contents)
    }

    /// Writes them into `root`.
    pub(in crate::provision) fn write(&self, root: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).expect("a plain value");
        let file = root.join(FILE);
        fs::write(&file, text).map_err(Error::file("write", &file))
    }
}

/// A container that is about to be, or is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provision) struct Container {
    client: String,
    name: String,
}

impl Container {
    /// One of a new name.
    fn new(client: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // a process number is used again, at another time
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
        Self { client: client.to_owned(), name: format!("prony-{}-{number}-{now:x}", std::process::id()) }
    }

    /// The server's process on this machine; `None`: it does not run (yet).
    pub(in crate::provision) fn process(&self) -> Option<ProcessIdentity> {
        let output = client_command(&self.client)
            .args(["inspect", "--format", "{{.State.Pid}}", &self.name])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let pid = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
        if pid == 0 { None } else { ProcessIdentity::of(pid) }
    }

    /// Ends it at once, with everything in it; one that does not exist is no error.
    pub(in crate::provision) fn remove(&self) {
        remove(&self.client, &self.name);
    }
}

/// A command of the client, without what only Prony may know.
fn client_command(client: &str) -> Command {
    let mut command = Command::new(client);
    keep_secrets(&mut command);
    command
}

/// As [`Container::remove`]. The client's answer is not checked: it is the same for a container that never
/// existed.
fn remove(client: &str, name: &str) {
    let _ = client_command(client)
        .args(["rm", "--force", "--volumes", name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

impl Image {
    /// Whether a daemon starts its containers, and not the client itself.
    pub(in crate::provision) fn has_daemon(&self) -> bool {
        self.client != CLIENTS[0]
    }

    /// A path on this machine as the server in the image sees it.
    pub(in crate::provision) fn seen(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).map_or_else(|_| path.to_owned(), |inner| Path::new("/").join(inner))
    }

    /// A command that runs `program`, a path on this machine, in a container that vanishes when it ends and
    /// sees `directory`, with what `flags` say; and the container.
    pub(in crate::provision) fn command(
        &self,
        launcher: &Path,
        bond: Bond,
        program: &Path,
        directory: &Path,
        flags: &[String],
    ) -> (Command, Container) {
        let container = Container::new(&self.client);
        let mut command = match bond {
            Bond::Owner => watch::command(launcher, &self.client, &container.name),
            Bond::None => trampoline::command(launcher, bond, &self.client, None),
        };
        command.args(["run", "--rm", "--interactive", "--pull=never", "--name", &container.name]);
        command.arg("--label").arg(format!("{LABEL}={}", std::process::id()));
        command.args(self.usual_flags()).args(flags);
        command.arg("--volume").arg(volume(directory)).arg("--workdir").arg(directory);
        command.arg("--entrypoint").arg(self.seen(program)).arg(&self.id);
        (command, container)
    }

    /// Runs `program`, a path on this machine, with `arguments` in a container that sees `directory`: what it
    /// prints, and what it complains about.
    ///
    /// # Errors
    /// If the client cannot be started.
    pub(in crate::provision) fn ask(
        &self,
        program: &Path,
        directory: &Path,
        arguments: &[&str],
    ) -> std::io::Result<(String, String)> {
        let mut command = client_command(&self.client);
        command.args(["run", "--rm", "--pull=never"]).args(self.usual_flags());
        command.arg("--volume").arg(volume(directory));
        command.arg("--entrypoint").arg(self.seen(program)).arg(&self.id).args(arguments);
        let output = command.stdin(Stdio::null()).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    /// What every container of a server gets: the machine's network, this user.
    fn usual_flags(&self) -> Vec<String> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let mut flags = vec![
            "--network=host".to_owned(),
            format!("--user={}:{}", user.as_raw(), group.as_raw()),
            // where SELinux is in force, a directory of the user's is otherwise closed to containers
            "--security-opt=label=disable".to_owned(),
            // the server has its log in its own directory
            "--log-driver=none".to_owned(),
        ];
        if self.client == CLIENTS[0] && !user.is_root() {
            flags.push("--userns=keep-id".to_owned());
        }
        flags
    }
}

/// A directory under the same path inside and outside.
fn volume(directory: &Path) -> String {
    format!("{0}:{0}", directory.display())
}

/// The client to use: the one `asked` for, else the first that this machine has.
pub(in crate::provision) fn client(asked: Option<&str>) -> &'static str {
    let found = match asked {
        Some(asked) => CLIENTS.into_iter().find(|client| *client == asked),
        None => CLIENTS.into_iter().find(|client| trampoline::is_program(client)),
    };
    found.unwrap_or(CLIENTS[0])
}

/// The number that `name` means to `client` now; `None`: this machine does not have it.
///
/// # Errors
/// If the client cannot be started.
pub(in crate::provision) fn id_of(client: &str, name: &str) -> Result<Option<String>, std::io::Error> {
    let output = client_command(client)
        .args(["image", "inspect", "--format", "{{.Id}}", name])
        .stdin(Stdio::null())
        .output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        output => {
            let output = output?;
            let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok((output.status.success() && !id.is_empty()).then_some(id))
        }
    }
}

/// How often a container that comes up is asked for its process.
pub(in crate::provision) const POLL: Duration = Duration::from_millis(50);
