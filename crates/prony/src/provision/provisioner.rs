//! The one door for a run: a server as the plan asks for it, whatever that takes.

use super::{
    Error, Instance, Places, Running, ServerDescription, Software, Wish, catalogue, describe, fetch,
    installed, remains, target,
};
use crate::plan::{ServerPlan, ServerSource};
use load::{
    client::{self, Connection},
    spec::Target,
};
use std::path::PathBuf;

/// Brings servers up.
#[derive(Debug, Clone)]
pub struct Provisioner {
    places: Places,
    launcher: PathBuf,
}

impl Provisioner {
    /// With the user's own places, for the `prony` program itself.
    ///
    /// # Errors
    /// [`Error::NoHome`].
    pub fn new() -> Result<Self, Error> {
        // This name holds even after the program's file was replaced or removed.
        Ok(Self { places: Places::of_user()?, launcher: PathBuf::from("/proc/self/exe") })
    }

    /// With other places; `launcher` is the path of the `prony` program, for callers that are not `prony` themselves (tests).
    #[must_use]
    pub fn with(places: Places, launcher: PathBuf) -> Self {
        Self { places, launcher }
    }

    /// Where things are kept.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Removes what killed runs left; see [`super::sweep`]. Call it before the first server is brought up.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn sweep(&self) -> Result<Vec<PathBuf>, Error> {
        remains::sweep(&self.places.instances())
    }

    /// Brings up the server of `plan`, with room for `data_bytes` of data; `progress` is told each step in words
    /// (`fetching mariadb-10.11 (12 MB)`). Blocks, up to minutes where it must be fetched.
    ///
    /// # Errors
    /// Each says what to do next; nothing is left behind but the cache.
    pub fn bring_up(
        &self,
        plan: &ServerPlan,
        data_bytes: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Server, Error> {
        let software = match &plan.source {
            ServerSource::Product { product, version } => {
                self.software(product, version.as_deref(), progress)?
            }
            ServerSource::Path(directory) => {
                Software::in_directory(directory, &format!("directory {}", directory.display()))?
            }
            ServerSource::Url(url) => {
                let target = target::resolve(Some(url), None)?;
                if !plan.settings.is_empty() {
                    return Err(Error::SettingsElsewhere { server: target::shown(&target) });
                }
                return Ok(Server::Running(Running::attach(target)?));
            }
        };
        let wish = Wish { software: &software, settings: &plan.settings, data_bytes };
        Ok(Server::Own(Box::new(Instance::start(&wish, &self.places, &self.launcher, progress)?)))
    }

    /// A program of `product` whose version begins with `version`: installed on the machine, else in the cache, else fetched.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], and those of [`fetch::fetch`] of the preferred one if none can be fetched.
    pub fn software(
        &self,
        product: &str,
        version: Option<&str>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Software, Error> {
        let fits = |software: &Software| software.fits(product, version);
        if let Some(software) = installed::installed().into_iter().find(fits) {
            return Ok(software);
        }
        let fitting: Vec<_> =
            catalogue::entries().iter().filter(|entry| entry.fits(product, version)).collect();
        if let Some(software) =
            fitting.iter().filter_map(|entry| fetch::cached(entry, &self.places)).find(fits)
        {
            return Ok(software);
        }
        let mut failure = None;
        for entry in fitting {
            match fetch::fetch(entry, &self.places, progress) {
                Ok(software) if fits(&software) => return Ok(software),
                // The registry has moved on from the very version that is asked for.
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let names = catalogue::entries().iter().map(|entry| entry.name.as_str());
        Err(failure.unwrap_or_else(|| Error::UnknownServer {
            wanted: [product, version.unwrap_or_default()].join(" ").trim().to_owned(),
            known: names.collect::<Vec<_>>().join(", "),
        }))
    }
}

/// A server that answers.
#[derive(Debug)]
pub enum Server {
    /// Started by Prony; stopped and removed when dropped.
    Own(Box<Instance>),
    /// Was there before and stays.
    Running(Running),
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

    /// Its process number where it runs on this machine and that is known.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Own(instance) => Some(instance.pid()),
            Self::Running(running) => running.pid(),
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
                ServerDescription { origin: software.origin.clone(), program, pid: self.pid(), ..said }
            }
            Self::Running(running) => {
                let origin = format!("running at {}", target::shown(running.target()));
                ServerDescription { origin, ..said }
            }
        })
    }

    /// Stops it if it is Prony's own and removes what was made for it. Dropping does the same but cannot tell an error.
    ///
    /// # Errors
    /// [`Error::File`] if something cannot be removed.
    pub fn stop(self) -> Result<(), Error> {
        match self {
            Self::Own(instance) => instance.stop(),
            Self::Running(_) => Ok(()),
        }
    }
}
