//! A server that is already running: it is never started or stopped, and reconfigured only where the study
//! says so.

mod identity;
pub(in crate::provision) mod in_use;
pub(in crate::provision) mod owner;
pub(in crate::provision) mod restore;

use crate::provision::{Error, NoProcess, Places, Remark, login::log_in};
use in_use::InUse;
use load::spec::Target;
use restore::Applied;
use std::collections::BTreeMap;

/// A server that is already running and that can be logged in to.
#[derive(Debug)]
pub struct Running {
    target: Target,
    pid: Option<u32>,
    /// Settings that are restored when it is given up.
    applied: Option<Applied>,
    /// That it is in use, where nothing is set.
    place: Option<InUse>,
    remarks: Vec<Remark>,
}

impl Running {
    /// Logs in once to see that it can be done.
    ///
    /// # Errors
    /// [`Error::Login`] with the server's own words.
    pub fn attach(target: Target) -> Result<Self, Error> {
        let mut connection = log_in(&target)?;
        let process = owner::process_of(&mut connection, &target);
        let remarks = process.err().and_then(NoProcess::remark).into_iter().collect();
        Ok(Self { target, pid: process.ok(), applied: None, place: None, remarks })
    }

    /// Lets other runs know that it is in use, and hears of theirs.
    pub(in crate::provision) fn stay(&mut self) -> Result<(), Error> {
        let (place, told) = InUse::side_by_side(&self.target)?;
        self.place = Some(place);
        self.remarks.extend(told);
        Ok(())
    }

    /// Sees to it that other runs still know that it is in use.
    pub(in crate::provision) fn keep_place(&mut self) -> Result<(), Error> {
        let of_settings = self.applied.as_mut().map(|applied| &mut applied.place);
        match of_settings.or(self.place.as_mut()) {
            Some(place) => place.keep(&self.target),
            None => Ok(()),
        }
    }

    /// What is to be said about it.
    #[must_use]
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Sets what the study asks for, until it is given up.
    pub(in crate::provision) fn apply(
        &mut self,
        settings: &BTreeMap<String, String>,
        places: &Places,
    ) -> Result<(), Error> {
        self.applied = Some(Applied::apply(&self.target, settings, places)?);
        Ok(())
    }

    /// Restores what was there before.
    pub(in crate::provision) fn restore(&mut self) -> Result<(), Error> {
        self.applied.as_mut().map_or(Ok(()), Applied::restore)
    }

    /// How to log in.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its process, where it runs on this machine and can be found.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }
}
