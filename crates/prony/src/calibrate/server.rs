//! The null server as a process of its own: this program with the hidden command `null-server`, which cannot
//! outlive it.

use crate::provision::trampoline::{self, Bond};
use std::{
    io::{self, BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Stdio},
};

/// A running null server; ends when dropped, or with this process.
#[derive(Debug)]
pub struct NullProcess {
    child: Child,
    address: SocketAddr,
}

impl NullProcess {
    /// Starts `program` (the `prony` program) as null server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If it does not start, or says something else than its address.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut command = trampoline::command(program, Bond::Owner, program, None);
        command.args(["null-server", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = trampoline::spawn(command, Bond::Owner)?;
        match first_line(&mut child).parse() {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                end(&mut child);
                Err(io::Error::other("it did not report its address"))
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        // one that says nothing has no address, and that is the error
        let _ = BufReader::new(output).read_line(&mut line);
    }
    line.trim().to_owned()
}

fn end(child: &mut Child) {
    // it may have ended by itself
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for NullProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
