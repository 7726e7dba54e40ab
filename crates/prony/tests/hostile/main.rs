//! Prony against servers, files and machines that mean no good. One scripted server has all the faults
//! ([`server::Fault`]); each module attacks one promise, through the program as users have it.

mod death;
mod program;
#[expect(dead_code, reason = "faults that the next cases use")]
mod server;
mod silence;
