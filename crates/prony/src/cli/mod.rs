//! The command line: reads arguments, wires the stages together, prints, and says how it ended. The only
//! module that prints; no other module uses it.
//!
//! Data goes to stdout, progress and remarks to stderr.

mod agent;
mod arguments;
mod calibrate;
mod compare;
mod complete;
mod doctor;
mod failure;
mod flags;
mod foresee;
mod history;
mod interrupt;
mod keep;
mod list;
mod listing;
mod load;
mod prepare;
mod progress;
mod report;
mod resume;
mod run;
mod serve;
mod server;
mod sketch;
mod stored;
mod sysbench;
mod terminal;

pub use arguments::Arguments;
pub use failure::Failure;

use ::load::null::NullServer;
use ::load::relay::Line;
use arguments::Command;
use clap::{CommandFactory as _, Parser as _};
use std::{io, net::SocketAddr, process::ExitCode, time::Duration};

/// The whole program: from arguments to exit code.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = sysbench::called(&std::env::args().collect::<Vec<_>>()) {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => {
            renamed(std::env::args());
            arguments
        }
        Err(error) => {
            // help and version are no errors: clap knows their stream and exit code
            let code = if error.use_stderr() { failure::CANNOT_BEGIN } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match dispatch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::aside(&failure);
            ExitCode::from(failure.code())
        }
    }
}

/// Old names of options, which still work.
const RENAMED: [(&str, &str); 2] = [("--output", "--store"), ("--report", "--write")];

/// Warns about an option's old name.
fn renamed(typed: impl Iterator<Item = String>) {
    let words: Vec<String> = typed.skip(1).take_while(|word| word != "--").collect();
    for (old, new) in RENAMED {
        if words.iter().any(|word| word.split('=').next() == Some(old)) {
            terminal::aside(format_args!("note: {old} is now called {new}"));
        }
    }
}

fn dispatch(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Plan(options) => run::plan(&options),
        Command::Load(options) => load::load(&options),
        Command::Agent(options) => agent::agent(&options),
        Command::Prepare(options) => prepare::prepare(&options),
        Command::Cleanup(options) => prepare::cleanup(&options),
        Command::Report(options) => report::report(&options),
        Command::Label(options) => keep::label(&options),
        Command::Note(options) => keep::note(&options),
        Command::Delete(options) => keep::delete(&options),
        Command::Export(options) => keep::export(&options),
        Command::Import(options) => keep::import(&options),
        Command::History(options) => history::history(&options),
        Command::Compare(options) => compare::compare(&options),
        Command::Sysbench { .. } | Command::Mysqlslap { .. } => {
            unreachable!("its words are not read by this parser")
        }
        Command::List(options) => list::list(&options),
        Command::Doctor { json } => doctor::doctor(json),
        Command::Server { command } => server::server(&command),
        Command::Serve(options) => serve::serve(&options),
        Command::Data { command } => sketch::data(&command),
        Command::Workload { command } => sketch::workload(&command),
        Command::Calibrate(options) => calibrate::calibrate(&options),
        Command::NullServer { port } => null_server(port),
        Command::Relay { to, one_way_ns, bytes_per_second } => {
            relay(to, Line { one_way: Duration::from_nanos(one_way_ns), bytes_per_second })
        }
        Command::Completions { shell } => complete::script(shell, Arguments::command()),
        Command::Complete { names, store } => complete::names(names, &store),
        Command::Man { directory } => list::manual(Arguments::command(), directory.as_deref()),
    }
}

/// Serves until it is killed; prints the port if it was free to choose.
#[expect(clippy::print_stdout, reason = "whoever started it reads the address")]
fn null_server(port: u16) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::cannot_begin(format!("null server on port {port}: {error}"));
    let server = NullServer::start(port).map_err(failed)?;
    if port == 0 {
        println!("{}", server.address());
    }
    server.join().map_err(failed)
}

/// Relays until its input is closed, and answers on its output.
fn relay(to: SocketAddr, line: Line) -> Result<(), Failure> {
    crate::network::serve(to, line, io::stdin().lock(), io::stdout().lock())
        .map_err(|error| Failure::cannot_begin(format!("relay to {to}: {error}")))
}
