//! What Prony may do with a server, decided in one place: with one that it starts, everything; with one that
//! is already running, what the study allows.

use super::{Server, ServerSource, Topology};

/// Something that is done with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Start it from a program, with its own directory, socket and port, and stop it again.
    Start,
    /// Stop it between trials and start it again on its data, or kill it.
    Restart,
    /// Restore its data from a copy of its files, or start it on such a copy of an earlier run.
    PutBack,
    /// Set what the study says under `[settings]`.
    ChangeSettings,
    /// Limit what it may use of the machine.
    Limit,
    /// Put it into a network namespace.
    Namespace,
}

impl ServerSource {
    /// Whether Prony starts it; otherwise it is already running.
    #[must_use]
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Url(_))
    }
}

impl Server {
    /// Whether Prony may do this with it.
    #[must_use]
    pub fn may(&self, act: Act) -> bool {
        let is_own = self.source.is_own();
        match act {
            Act::Start | Act::Restart | Act::Limit | Act::Namespace => is_own,
            // the files of servers that work together belong together
            Act::PutBack => is_own && self.topology == Topology::Single,
            Act::ChangeSettings => is_own || self.apply_settings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Act; 6] =
        [Act::Start, Act::Restart, Act::PutBack, Act::ChangeSettings, Act::Limit, Act::Namespace];

    fn allowed(server: &Server) -> Vec<Act> {
        ALL.into_iter().filter(|act| server.may(*act)).collect()
    }

    #[test]
    fn a_server_that_runs_already_is_left_alone_but_for_what_the_study_allows() {
        let own = Server::new("own", ServerSource::Path("/opt/mariadb".into()));
        assert_eq!(allowed(&own), ALL);
        let cluster = Server { topology: Topology::Galera { nodes: 3 }, ..own };
        assert!(!cluster.may(Act::PutBack) && cluster.may(Act::Restart));
        let running = Server::new("running", ServerSource::Url("mysql://db/".to_owned()));
        assert_eq!(allowed(&running), []);
        let lent = Server { apply_settings: true, ..running };
        assert_eq!(allowed(&lent), [Act::ChangeSettings]);
    }
}
