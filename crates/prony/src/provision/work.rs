//! The context of work that may take minutes: where things are kept, whom to tell about its steps, and who
//! may end it.

use crate::provision::{Error, Places, Step};
use load::Stop;
use std::path::{Path, PathBuf};

/// Where Prony keeps things, and its own program.
#[derive(Debug, Clone)]
pub(in crate::provision) struct Home {
    /// Where things are kept.
    pub places: Places,
    /// The `prony` program, which starts others; see [`crate::provision::trampoline`].
    pub launcher: PathBuf,
}

/// Carried through everything that fetches, initialises or starts.
pub(in crate::provision) struct Work<'a> {
    home: &'a Home,
    tell: &'a mut dyn FnMut(Step),
    stop: &'a Stop,
}

impl<'a> Work<'a> {
    /// `tell` gets each step, at most once per second during one; pulling `stop` ends the work soon, cleanly.
    pub(in crate::provision) fn new(home: &'a Home, tell: &'a mut dyn FnMut(Step), stop: &'a Stop) -> Self {
        Self { home, tell, stop }
    }

    /// Where things are kept.
    pub(in crate::provision) fn places(&self) -> &'a Places {
        &self.home.places
    }

    /// The `prony` program.
    pub(in crate::provision) fn launcher(&self) -> &'a Path {
        &self.home.launcher
    }

    /// Tells a step.
    pub(in crate::provision) fn say(&mut self, step: Step) {
        (self.tell)(step);
    }

    /// # Errors
    /// [`Error::Interrupted`] once the user wants an end.
    pub(in crate::provision) fn heed(&self) -> Result<(), Error> {
        if self.stop.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

#[cfg(test)]
impl Work<'_> {
    /// Does a test's job with places below `home`, telling nobody.
    pub(in crate::provision) fn in_test<T>(home: &Path, job: impl FnOnce(&mut Work<'_>) -> T) -> T {
        let at = |name: &str| home.join(name);
        let places = Places { cache: at("cache"), state: at("state"), config: at("config") };
        let home = Home { places, launcher: PathBuf::from("/none") };
        job(&mut Work::new(&home, &mut |_| {}, &Stop::default()))
    }
}
