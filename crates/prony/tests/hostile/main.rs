//! Prony against servers, files and machines that mean no good. One scripted server has all the faults
//! ([`server::Fault`]); each module attacks one promise, through the program as users have it.

mod certificates;
mod death;
mod endless;
mod fetches;
mod kept;
mod locks;
mod passwords;
mod paths;
mod program;
mod secrets;
mod server;
mod silence;
mod standing;
mod words;

#[path = "../support"]
mod support {
    pub(crate) mod disk;
    #[expect(dead_code, reason = "what other tests ask for")]
    pub(crate) mod require;
    #[expect(dead_code, reason = "stores of other tests")]
    pub(crate) mod stored;
}
