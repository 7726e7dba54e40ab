//! What happens to a load when things break: each fault ends in an outcome that says what went wrong, how
//! often and when; other connections go on; lost ones come back; memory stays bounded; the engine stops at
//! its time, and counts no success that was none. The bounds are those that cannot be otherwise, widened for
//! a busy machine.

mod backlog;
mod ledger;
mod opening;
mod outages;
mod relay;
mod replies;
#[path = "../support/mod.rs"]
mod support;
mod surplus;
