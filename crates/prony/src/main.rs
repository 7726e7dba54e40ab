//! The command; everything is in the library.
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == prony::provision::trampoline::ARGUMENT) {
        return prony::provision::trampoline::main(arguments);
    }
    prony::cli::main()
}
