//! Ctrl-C, SIGTERM and SIGHUP: the first asks the work to end cleanly, the second ends it at once (servers
//! then die with Prony, and the next run removes what they leave).

use super::{failure::INTERRUPTED, terminal::aside};
use load::Stop;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::sync::Arc;

/// A [`Stop`] that these signals set.
#[expect(clippy::exit, reason = "the second Ctrl-C must end a program that does not react to the first")]
pub(super) fn stop_on_signals() -> Arc<Stop> {
    let stop = Arc::new(Stop::default());
    load::client::heed(&stop);
    let pulled = Arc::clone(&stop);
    // without signal handling the default remains: the process ends at once
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if pulled.is_stopped() {
                    std::process::exit(i32::from(INTERRUPTED));
                }
                aside(format_args!("\nending cleanly; press Ctrl-C again to end at once"));
                pulled.stop();
            }
        });
    }
    stop
}
