//! Where Prony keeps what it fetches and makes: the XDG directories of the user.

use crate::provision::Error;
use std::path::PathBuf;

/// The directories of Prony that provisioning uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What can be obtained again: fetched servers, initialised empty data directories.
    pub cache: PathBuf,
    /// What lives as long as a run: data directories of running servers. Should be on the disk that is to be
    /// measured.
    pub state: PathBuf,
    /// What the user writes: [`Places::own_servers`].
    pub config: PathBuf,
}

impl Places {
    /// Name of [`Places::instances`] below a state directory.
    pub(in crate::provision) const INSTANCES: &'static str = "instances";

    /// `$XDG_CACHE_HOME/prony` (else `~/.cache/prony`), `$XDG_STATE_HOME/prony` (else `~/.local/state/prony`)
    /// and `$XDG_CONFIG_HOME/prony` (else `~/.config/prony`).
    ///
    /// # Errors
    /// [`Error::NoHome`] where neither these nor `$HOME` are set.
    pub fn of_user() -> Result<Self, Error> {
        Self::from_environment(|name| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        })
    }

    fn from_environment(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, Error> {
        let directory = |name: &str, below_home: &str| {
            let own = variable(name).filter(|path| path.is_absolute());
            own.or_else(|| variable("HOME").map(|home| home.join(below_home)))
                .map(|base| base.join("prony"))
                .ok_or(Error::NoHome { variable: name.to_owned() })
        };
        Ok(Self {
            cache: directory("XDG_CACHE_HOME", ".cache")?,
            state: directory("XDG_STATE_HOME", ".local/state")?,
            config: directory("XDG_CONFIG_HOME", ".config")?,
        })
    }

    /// Fetched servers, a directory each.
    #[must_use]
    pub fn servers(&self) -> PathBuf {
        self.cache.join("servers")
    }

    /// Initialised, empty data directories that new instances are copied from.
    #[must_use]
    pub fn templates(&self) -> PathBuf {
        self.cache.join("templates")
    }

    /// The data cache: loaded data directories for later runs.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.cache.join("data")
    }

    /// Data directories of servers that run.
    #[must_use]
    pub fn instances(&self) -> PathBuf {
        self.state.join(Self::INSTANCES)
    }

    /// Servers that were started to stay, a directory each.
    #[must_use]
    pub fn standing(&self) -> PathBuf {
        self.state.join("servers")
    }

    /// Settings of servers that run elsewhere, to be restored, a file each. Its name is that of earlier
    /// versions, whose files are restored as well.
    #[must_use]
    pub fn saved_settings(&self) -> PathBuf {
        self.state.join("owed")
    }

    /// The file with the user's own entries of the catalogue.
    #[must_use]
    pub fn own_servers(&self) -> PathBuf {
        self.config.join("servers.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_directories_go_before_home_and_must_be_absolute() {
        let places = Places::from_environment(|name| match name {
            "HOME" => Some("/home/ada".into()),
            "XDG_CACHE_HOME" => Some("/scratch".into()),
            "XDG_STATE_HOME" => Some("relative".into()),
            _ => None,
        })
        .expect("a home");
        assert_eq!(places.servers(), PathBuf::from("/scratch/prony/servers"));
        assert_eq!(places.own_servers(), PathBuf::from("/home/ada/.config/prony/servers.toml"));
        assert_eq!(places.instances(), PathBuf::from("/home/ada/.local/state/prony/instances"));
        assert!(Places::from_environment(|_| None).is_err());
    }
}
