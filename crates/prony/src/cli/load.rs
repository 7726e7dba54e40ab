//! `prony load`: one load at a server that is running.

use super::{
    arguments::{LoadOptions, ProtocolFlag},
    failure::{Failure, chain},
    figures::{Circumstances, Figures},
    interrupt,
    progress::LoadProgress,
};
use crate::{
    provision::{self, target},
    run, workload,
};
use load::{
    Spec,
    sample::End,
    spec::{Protocol, Stream, Target},
};

/// "Table doesn't exist".
const NO_SUCH_TABLE: &str = "(error 1146";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the command's result and remarks")]
pub(super) fn load(options: &LoadOptions) -> Result<(), Failure> {
    let target = options.server.target()?;
    let stream = stream(options)?;
    for remark in check(&target, &stream)? {
        eprintln!("remark: {remark}");
    }
    let streams = vec![stream.clone()];
    let spec = Spec {
        seed: options.seed,
        workers: options.workers,
        ..Spec::new(target.clone(), streams, options.warm_up.0, options.duration.0)
    };
    let stop = interrupt::stop_on_signals();
    let mut progress = LoadProgress::new(options.warm_up.0 + options.duration.0);
    let result = load::run(&spec, &stop, &mut |event| progress.show(&event));
    progress.clear();
    let outcome = result.map_err(|error| match error {
        load::Error::Interrupted => Failure::interrupted("interrupted before the load began"),
        error => Failure::cannot_begin(chain(&error)),
    })?;
    if let End::Failed(reason) = &outcome.end {
        let advice = advise(reason, options, &target);
        let nothing = outcome.streams.iter().all(|stream| stream.transactions.count == 0);
        return Err(if nothing { Failure::cannot_begin(advice) } else { Failure::failed(advice) });
    }
    let doubts = run::doubts(&spec, &outcome, &[], run::clock_cost());
    let about = Circumstances { server: target::shown(&target), stream: &stream, seed: options.seed, doubts };
    let figures = Figures::new(&outcome, about);
    if options.json {
        println!("{}", serde_json::to_string_pretty(&figures).expect("figures are JSON"));
    } else {
        print!("{}", figures.text());
    }
    match outcome.end {
        End::Interrupted => {
            Err(Failure::interrupted("interrupted: the figures are about the time until then"))
        }
        _ => Ok(()),
    }
}

fn stream(options: &LoadOptions) -> Result<Stream, Failure> {
    let workload = workload::builtin(&options.workload, &options.workload_options.options()?)
        .map_err(Failure::cannot_begin)?;
    let protocol = match options.protocol {
        ProtocolFlag::Prepared => Protocol::Prepared,
        ProtocolFlag::Text => Protocol::Text,
    };
    Ok(Stream { protocol, ..Stream::new("main", workload, options.connections) })
}

/// One login before the thousands: whatever is wrong with server, account or limits is said once, and before the load.
fn check(target: &Target, stream: &Stream) -> Result<Vec<String>, Failure> {
    let mut connection = provision::log_in(target).map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let wants = run::wants(std::slice::from_ref(stream), target);
    provision::preflight(&mut connection, &wants).map_err(|error| Failure::cannot_begin(chain(&error)))
}

/// A load that ended at once, with what to do about it.
fn advise(reason: &str, options: &LoadOptions, target: &Target) -> String {
    let shown = target::shown(target);
    if reason.contains(NO_SUCH_TABLE) {
        let flags: Vec<String> = ["tables", "table_size"]
            .into_iter()
            .filter_map(|name| options.workload_options.given(name).map(|text| (name, text)))
            .map(|(name, text)| format!(" --{} {text}", if name == "table_size" { "rows" } else { name }))
            .collect();
        return format!(
            "{shown}: {reason}\nmake the tables first: prony prepare {} --url '{shown}'{}",
            options.workload,
            flags.concat()
        );
    }
    format!("{shown}: {reason}")
}
