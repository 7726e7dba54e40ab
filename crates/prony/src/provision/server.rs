//! A server of a plan that answers, whoever started it.

use crate::provision::{
    Error, Remark, ServerDescription,
    attach::Running,
    instance::Instance,
    limits::Usage,
    login::{describe, target},
    software::Software,
};
use load::{
    client::{self, Connection},
    spec::Target,
};

/// A server that answers.
#[derive(Debug)]
pub enum Server {
    /// Started by Prony; stopped and removed when dropped.
    Own(Box<Instance>),
    /// Was there before and stays.
    Running(Box<Running>),
}

impl Server {
    /// How to log in.
    #[must_use]
    pub fn target(&self) -> &Target {
        match self {
            Self::Own(instance) => instance.target(),
            Self::Running(running) => running.target(),
        }
    }

    /// How to log in over the Unix socket, where Prony has started it; else as [`Server::target`].
    #[must_use]
    pub fn target_by_socket(&self) -> Target {
        match self {
            Self::Own(instance) => instance.target_by_socket(),
            Self::Running(running) => running.target().clone(),
        }
    }

    /// The program, where Prony has started it.
    #[must_use]
    pub fn software(&self) -> Option<&Software> {
        match self {
            Self::Own(instance) => Some(instance.software()),
            Self::Running(_) => None,
        }
    }

    /// Its process number where it runs on this machine and that is known.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Own(instance) => Some(instance.pid()),
            Self::Running(running) => running.pid(),
        }
    }

    /// What is to be said about it before trials begin.
    #[must_use]
    pub fn remarks(&self) -> &[Remark] {
        match self {
            Self::Own(_) => &[],
            Self::Running(running) => running.remarks(),
        }
    }

    /// Makes sure that other runs know that a server which Prony did not start is still in use.
    ///
    /// # Errors
    /// [`Error::InUse`] where another run has taken its place, [`Error::Login`].
    pub fn keep_place(&mut self) -> Result<(), Error> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Running(running) => running.keep_place(),
        }
    }

    /// What it used of its limits so far; `None`: it has none.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Own(instance) => instance.usage(),
            Self::Running(_) => None,
        }
    }

    /// Whether it still runs, as far as that can be known.
    ///
    /// # Errors
    /// [`Error::Died`] with its last words, [`Error::OutOfMemory`].
    pub fn check(&mut self) -> Result<(), Error> {
        match self {
            Self::Own(instance) => instance.check(),
            Self::Running(_) => Ok(()),
        }
    }

    /// What it is, as it says over `connection` and as Prony knows it; `name` is its name in the plan.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub fn describe(
        &self,
        name: &str,
        connection: &mut Connection,
    ) -> Result<ServerDescription, client::Error> {
        let said = describe::describe(connection, name)?;
        Ok(match self {
            Self::Own(instance) => {
                let software = instance.software();
                let program = Some(software.program.display().to_string());
                let limits = instance.limits().cloned();
                let origin = software.origin.clone();
                ServerDescription { origin, program, pid: self.pid(), limits, ..said }
            }
            Self::Running(running) => {
                let origin = format!("running at {}", target::shown(running.target()));
                ServerDescription { origin, ..said }
            }
        })
    }

    /// Whether one of Prony's own, when restarted, starts with the buffer pool pages that it noted last
    /// (`innodb_buffer_pool_dump_now`); otherwise with none.
    pub fn keep_pages(&mut self, keep: bool) {
        if let Self::Own(instance) = self {
            instance.keep_pages(keep);
        }
    }

    /// Stops it if it is Prony's own and removes what was made for it. Dropping does the same but cannot
    /// report an error.
    ///
    /// # Errors
    /// [`Error::File`] if something cannot be removed.
    pub fn stop(self) -> Result<(), Error> {
        match self {
            Self::Own(instance) => instance.stop(),
            Self::Running(mut running) => running.restore(),
        }
    }
}
