//! The relay as a process: this program with the hidden command `relay`, which cannot outlive it. It says its
//! address, and what it did as often as it is asked; both sides of that short talk are here.

use super::Shape;
use crate::provision::trampoline::{self, Bond};
use load::relay::{Figures, Line, Relay, threads_for};
use rustix::process::{Pid, Signal};
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, ToSocketAddrs as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// Priority above that of other programs, as a network does not wait for a processor; the kernel gives it to
/// root only.
const NICE: i32 = -10;

/// A running relay; ends when dropped, or with this process.
#[derive(Debug)]
pub struct Link {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Link {
    /// Starts `launcher` (the `prony` program) as a relay to `host` and `port` that is like a network of this
    /// shape, on these processors only; none: on all.
    ///
    /// # Errors
    /// If it does not start, or the host's name leads nowhere.
    pub fn start(
        launcher: &Path,
        host: &str,
        port: u16,
        shape: Shape,
        processors: &[u32],
    ) -> io::Result<Self> {
        let to = (host, port).to_socket_addrs()?.next();
        let to = to.ok_or_else(|| io::Error::other(format!("the host name {host} cannot be resolved")))?;
        let mut command = trampoline::command(launcher, Bond::Owner, launcher, None);
        trampoline::limit(&mut command, &[], processors);
        command.arg("relay").arg("--to").arg(to.to_string());
        command.arg("--one-way-ns").arg((shape.round_trip.as_nanos() / 2).to_string());
        command.args(
            shape.bandwidth.iter().flat_map(|bytes| ["--bytes-per-second".to_owned(), bytes.to_string()]),
        );
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = trampoline::spawn(command, Bond::Owner)?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            end(&mut child);
            return Err(io::Error::other("it has no input and output"));
        };
        let mut answers = BufReader::new(answers);
        match line(&mut answers).ok().and_then(|line| line.parse().ok()) {
            Some(address) => Ok(Self { child, questions, answers, address }),
            None => {
                end(&mut child);
                Err(io::Error::other("the relay did not report its address"))
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it in its tracks: nothing is handed on from now on, and no connection is closed, as where a
    /// cable is cut. It cannot go on.
    ///
    /// # Errors
    /// If it has ended.
    pub fn cut(&self) -> io::Result<()> {
        let process = Pid::from_child(&self.child);
        rustix::process::kill_process(process, Signal::STOP).map_err(io::Error::from)
    }

    /// What it did since this was last asked.
    ///
    /// # Errors
    /// If it has ended.
    pub fn figures(&mut self) -> io::Result<Figures> {
        writeln!(self.questions)?;
        Ok(serde_json::from_str(&line(&mut self.answers)?)?)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn line(answers: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match answers.read_line(&mut line)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the relay has ended")),
        _ => Ok(line.trim().to_owned()),
    }
}

fn end(child: &mut Child) {
    // it may have ended by itself
    let _ = child.kill();
    let _ = child.wait();
}

/// What the hidden command does: relays to `to` until `questions` end, and answers each line of them with
/// what was done.
///
/// # Errors
/// What ended it.
pub fn serve(to: SocketAddr, line: Line, questions: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    // without the right to it, it has the priority of all others
    let _ = rustix::process::setpriority_process(None, NICE);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let relay = Relay::start(to, line, threads_for(processors))?;
    writeln!(answers, "{}", relay.address())?;
    answers.flush()?;
    for question in questions.lines() {
        question?;
        serde_json::to_writer(&mut answers, &relay.figures()?)?;
        writeln!(answers)?;
        answers.flush()?;
    }
    Ok(())
}
