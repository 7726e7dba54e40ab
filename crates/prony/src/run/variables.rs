//! Whether a server ran with the same settings from its first trial on: all global variables are read back
//! before and after each trial. A trial during which somebody changed one is not what the report says it is.

use super::{
    Doubt, Error, Event, Level, Remark, Run, What,
    site::{CONTROL_WAIT, Up},
};
use crate::{
    plan::Act,
    provision::{Globals, Moved, globals, moved},
};
use load::{client::Connection, spec::Target};

/// Most variables that are named; where more have changed, somebody has done something to the whole server.
const TOLD_MAX: usize = 10;

/// What the servers of a group were found to run with.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// When trials began, by the server's number in the group; empty: not looked at yet.
    first: Vec<Globals>,
    /// What had moved when the trial under way began.
    moved: Vec<Moved>,
}

impl Run<'_, '_> {
    /// Reports where other runs no longer know that a server is in use.
    pub(super) fn keep_place(&mut self, server: usize) -> Result<(), Error> {
        let Err(error) = self.up(server).group.primary_mut().keep_place() else { return Ok(()) };
        self.tell(&Event::Remark { server, what: Remark::PlaceLost { cause: error.to_string() } })
    }

    /// Notes what the servers of a group run with, where Prony has started them since. One that runs
    /// elsewhere is to stay as it was when the run began.
    pub(super) fn note_settings(&mut self, server: usize, restarted: bool) {
        let is_own = self.plan.servers[server].may(Act::Start);
        let up = self.up(server);
        if up.state.settings.first.is_empty() || (is_own && restarted) {
            up.state.settings.first = if is_own { read(up) } else { vec![up.description.variables.clone()] };
        }
    }

    /// Sees what has moved before a trial.
    pub(super) fn see_settings(&mut self, server: usize) {
        let up = self.up(server);
        up.state.settings.moved = moved_since(up);
    }
}

/// What speaks against a trial that has ended: what had moved before it, and by now.
pub(super) fn doubts(up: &Up) -> Vec<Doubt> {
    doubts_of(&up.state.settings.moved, moved_since(up))
}

fn doubts_of(before: &[Moved], mut all: Vec<Moved>) -> Vec<Doubt> {
    let gone: Vec<Moved> = before.iter().filter(|one| !all.contains(one)).cloned().collect();
    all.extend(gone);
    let doubt = |Moved { variable, before, after }| {
        Doubt::new(Level::Invalid, What::SettingMoved { variable, before, after })
    };
    all.into_iter().take(TOLD_MAX).map(doubt).collect()
}

fn moved_since(up: &Up) -> Vec<Moved> {
    up.state.settings.first.iter().zip(read(up)).flat_map(|(before, now)| moved(before, &now)).collect()
}

/// A server that does not answer has not changed its settings: that it is gone is reported elsewhere.
fn read(up: &Up) -> Vec<Globals> {
    up.group.servers().map(|server| of(server.target()).unwrap_or_default()).collect()
}

fn of(target: &Target) -> Option<Globals> {
    let mut connection = Connection::open(target, CONTROL_WAIT).ok()?;
    connection.set_timeout(Some(CONTROL_WAIT));
    globals(&mut connection).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn moved(variable: &str) -> Moved {
        Moved { variable: variable.to_owned(), before: "1".to_owned(), after: "2".to_owned() }
    }

    /// Every doubt that is produced here.
    pub(in crate::run) fn produced() -> Vec<Doubt> {
        doubts_of(&[], vec![moved("a")])
    }

    #[test]
    fn what_had_moved_before_a_trial_or_by_its_end_makes_it_invalid() {
        assert_eq!(doubts_of(&[], Vec::new()), []);
        let told = doubts_of(&[moved("a"), moved("b")], vec![moved("b"), moved("c")]);
        let of = |variable: &str| {
            let (before, after) = ("1".to_owned(), "2".to_owned());
            What::SettingMoved { variable: variable.to_owned(), before, after }
        };
        assert_eq!((&told[0].what, &told[2].what), (&of("b"), &of("a")));
        assert!(told.len() == 3 && told.iter().all(|doubt| doubt.level == Level::Invalid));
        let many = (0..99).map(|number| moved(&number.to_string())).collect();
        assert_eq!(doubts_of(&[], many).len(), TOLD_MAX, "no report is about variables alone");
    }
}
