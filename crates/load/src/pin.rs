//! The processors that a load runs on: those of the thread that starts it, which all of its threads inherit.

use crate::error::Error;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// This thread runs on some processors only, until dropped.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// To these; none: wherever it runs now.
    ///
    /// # Errors
    /// [`Error::Pin`] where the thread may not run on all of them.
    pub fn to(processors: &[u32]) -> Result<Self, Error> {
        if processors.is_empty() {
            return Ok(Self { before: None });
        }
        let list = || processors.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let failed = |source: io::Error| Error::Pin { processors: list(), source };
        let before = sched_getaffinity(None).map_err(|error| failed(error.into()))?;
        let wanted = || processors.iter().map(|&number| number as usize);
        let mut set = CpuSet::new();
        wanted().filter(|&number| number < CpuSet::MAX_CPU).for_each(|number| set.set(number));
        sched_setaffinity(None, &set).map_err(|error| failed(error.into()))?;
        let pinned = Self { before: Some(before) };
        let now = sched_getaffinity(None).map_err(|error| failed(error.into()))?;
        if wanted().all(|number| number < CpuSet::MAX_CPU && now.is_set(number)) {
            Ok(pinned)
        } else {
            Err(failed(io::Error::other("this machine does not have all of them, or Prony may not use them")))
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // it ran there a moment ago
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_with_all_that_it_starts_and_let_go_again() {
        let all = sched_getaffinity(None).expect("a set");
        let first = (0..CpuSet::MAX_CPU).find(|&number| all.is_set(number)).expect("one at least") as u32;
        let pinned = Pinned::to(&[first]).expect("it runs there");
        let inherited =
            std::thread::spawn(|| sched_getaffinity(None).expect("a set")).join().expect("no panic");
        assert_eq!(inherited.count(), 1);
        drop(pinned);
        assert_eq!(sched_getaffinity(None).expect("a set"), all);
        let error = Pinned::to(&[first, 1023]).expect_err("no machine here has so many").to_string();
        assert!(error.contains("1023"), "{error}");
        assert_eq!(sched_getaffinity(None).expect("a set"), all);
    }
}
