//! Carries a plan out, one trial after another, and tells it by one stream of events. It never prints and never stores.

mod event;

pub use event::{DataProgress, Event, TrialOutcome};
