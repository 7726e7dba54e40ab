//! What goes along with work that may take minutes: whom to tell of its steps, and who may end it.

use crate::provision::Error;
use load::Stop;

/// Carried through everything that fetches, initialises or starts.
pub struct Work<'a> {
    tell: &'a mut dyn FnMut(&str),
    stop: &'a Stop,
}

impl<'a> Work<'a> {
    /// `tell` hears each step in words (`fetching mysql-5.7.22: 12 of 18 MB`), once a second at most while
    /// one lasts; pulling `stop` ends the work soon, cleanly.
    pub fn new(tell: &'a mut dyn FnMut(&str), stop: &'a Stop) -> Self {
        Self { tell, stop }
    }

    /// Tells a step.
    pub(in crate::provision) fn say(&mut self, step: &str) {
        (self.tell)(step);
    }

    /// # Errors
    /// [`Error::Interrupted`] once the user wants an end.
    pub(in crate::provision) fn heed(&self) -> Result<(), Error> {
        if self.stop.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
