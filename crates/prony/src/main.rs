//! The command; everything is in the library.
use prony::{
    loader,
    provision::{containers::watch, trampoline},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some(trampoline::ARGUMENT) => trampoline::main(arguments),
        Some(loader::ARGUMENT) => loader::main(arguments),
        Some(watch::ARGUMENT) => watch::main(arguments),
        _ => prony::cli::main(),
    }
}
