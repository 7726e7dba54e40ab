//! Other programs' command lines: `prony sysbench ...`, `prony mysqlslap ...`, or Prony under these names.

use super::{interrupt, keep, terminal::aside};
use crate::{foreign::Tool, mysqlslap, plan::seed, sysbench};
use std::{io, path::Path, process::ExitCode};

/// The exit code, where the program was called as another one: by its name, or by its first word.
pub(super) fn called(words: &[String]) -> Option<ExitCode> {
    let name = words.first().map(|path| Path::new(path).file_name().unwrap_or_default().to_string_lossy());
    let second = words.get(1).map(String::as_str);
    let code = match (name.as_deref(), second) {
        // `sysbench_orig`, `sysbench-1.0`: links are named as what they stand for was
        (Some(name), _) if name.starts_with("sysbench") => run(&words[1..]),
        (Some("mysqlslap" | "mariadb-slap"), _) => slap(&words[1..]),
        (_, Some("sysbench")) => run(&words[2..]),
        (_, Some("mysqlslap")) => slap(&words[2..]),
        _ => return None,
    };
    Some(ExitCode::from(code))
}

/// Carries a command line of mysqlslap out.
fn slap(words: &[String]) -> u8 {
    let stop = interrupt::stop_on_signals();
    mysqlslap::main(words, &mut io::stdout(), &mut io::stderr(), &stop)
}

/// Carries a command line of sysbench out.
fn run(words: &[String]) -> u8 {
    let stop = interrupt::stop_on_signals();
    let outside = sysbench::Outside {
        out: Box::new(io::stdout()),
        err: &mut io::stderr(),
        stop: &stop,
        seed: seed::drawn(),
    };
    let ended = sysbench::main(words, outside);
    let kept = ended.kept.map_or(Ok(()), |kept| {
        let store = (kept.store != "on").then(|| kept.store.clone().into());
        keep::keep_output(Tool::Sysbench, &kept.test, kept.text, store)
    });
    match kept {
        Ok(()) => ended.code,
        Err(failure) => {
            aside(&failure);
            failure.code()
        }
    }
}
