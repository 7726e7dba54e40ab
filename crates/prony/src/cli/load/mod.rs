//! `prony load`: one load at a server that is running, or the search for the highest rate that it bears.

mod figures;
mod find;
mod live;
mod options;
mod text;

pub(super) use options::LoadOptions;

use super::{
    failure::{Failure, chain},
    interrupt,
    terminal::{aside, print},
};
use crate::{
    dataset, layout, loader,
    provision::{self, Wants, target},
    run::{self, Level},
    telemetry::{self, Beside},
    workload,
};
use figures::{Circumstances, Figures};
use live::Live;
use load::{Loader, Outcome, Progress, Spec, Stop, sample::End, spec::Target};

/// EADDRNOTAVAIL, as the kernel's words are shown.
const NOT_AVAILABLE: &str = "(os error 99)";
/// "Table doesn't exist".
const NO_SUCH_TABLE: &str = "(error 1146";

pub(super) fn load(options: &LoadOptions) -> Result<(), Failure> {
    let spec = options.spec()?;
    let (remarks, pid) = check(options, &spec)?;
    for remark in remarks {
        aside(format_args!("remark: {remark}"));
    }
    let stop = interrupt::stop_on_signals();
    let program = std::env::current_exe().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let loader = loader::in_processes(options.processes, &[], &program);
    let offer = Offer { options, loader: &*loader, stop: &stop };
    let spec = with_workers(spec, &offer)?;
    if options.find.find_rate { find::find(&offer, &spec) } else { once(&offer, &spec, pid) }
}

/// What is to be offered, and by whom.
#[derive(Clone, Copy)]
struct Offer<'a> {
    options: &'a LoadOptions,
    loader: &'a dyn Loader,
    stop: &'a Stop,
}

fn once(offer: &Offer<'_>, spec: &Spec, pid: Option<u32>) -> Result<(), Failure> {
    let options = offer.options;
    let names: Vec<String> = spec.streams.iter().map(|stream| stream.name.clone()).collect();
    let limited = spec.streams.iter().all(|stream| stream.limit.is_some());
    let total = (!limited).then_some(spec.warm_up + spec.interval);
    let live = Live::new(total, &names);
    let every = options.report_interval.map(|flag| flag.0);
    let mut live = live.reporting(every, options.json, names);
    let clock = run::clock_cost();
    // of a server elsewhere, what this machine's neighbours take from the client is still worth a word
    let nodes: Vec<_> = pid.map(|pid| run::node("server", &spec.target, Some(pid))).into_iter().collect();
    let mut beside = Beside::prepare(&nodes, telemetry::Options::default());
    let outcome = carry_out(offer, spec, &mut live, &mut |processes| beside.begin_in(processes))?;
    let readings = beside.end();
    let doubts = run::doubts(spec, &outcome, &readings, clock);
    let about =
        Circumstances { server: target::shown(&spec.target), spec, clock, doubts, readings: &readings };
    let figures = Figures::new(&outcome, &about);
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&figures).expect("figures are JSON")))?;
    } else {
        print(&text::text(&figures))?;
    }
    match outcome.end {
        End::Interrupted => {
            Err(Failure::interrupted("interrupted: the figures are about the time until then"))
        }
        _ if ended_in_an_outage(&outcome) => Err(Failure::failed(
            "the server went away and did not come back: the figures are about a load that broke off",
        )),
        _ => judged(&figures),
    }
}

/// Figures that are invalid are printed, and no success: a script must not take them for a measurement.
fn judged(figures: &Figures) -> Result<(), Failure> {
    let first = figures.doubts.iter().find(|doubt| doubt.level == figures.verdict);
    match first {
        Some(doubt) if figures.verdict == Level::Invalid => {
            Err(Failure::failed(format!("these figures are invalid: {}", doubt.text)))
        }
        _ => Ok(()),
    }
}

/// Whether nothing worked any more at the end.
fn ended_in_an_outage(outcome: &Outcome) -> bool {
    outcome.streams.iter().any(|stream| stream.outages.last().is_some_and(|outage| !outage.recovered))
}

/// The load with as many threads as it needs, where no number was given.
fn with_workers(spec: Spec, offer: &Offer<'_>) -> Result<Spec, Failure> {
    let needed = load::workers_needed(offer.loader, &spec, offer.stop);
    let workers = needed.map_err(|error| not_begun(&error, &spec, offer.stop))?;
    Ok(Spec { workers: Some(workers), ..spec })
}

/// Why a load did not begin, and what to do about it.
fn not_begun(error: &load::Error, spec: &Spec, stop: &Stop) -> Failure {
    match error {
        load::Error::Interrupted => Failure::interrupted("interrupted before the load began"),
        // the first login was broken off
        _ if stop.is_stopped() => Failure::interrupted("interrupted before the load began"),
        error => Failure::cannot_begin(with_hint(chain(error), spec)),
    }
}

/// Carries one load out; `begin` is called when it begins, with the processes that do, where it is not this
/// one. One that the server made impossible is a failure with what to do about it.
fn carry_out(
    &Offer { options, loader, stop }: &Offer<'_>,
    spec: &Spec,
    live: &mut Live,
    begin: &mut dyn FnMut(&[u32]),
) -> Result<Outcome, Failure> {
    let mut processes = Vec::new();
    let result = loader.run(spec, stop, &mut |event| {
        match &event {
            Progress::Processes(told) => processes.clone_from(told),
            Progress::Started => begin(&processes),
            Progress::Opening { .. } | Progress::Sample(_) => {}
        }
        live.show(&event);
    });
    live.clear();
    let outcome = result.map_err(|error| not_begun(&error, spec, stop))?;
    if let End::Failed(reason) = &outcome.end {
        let advice = advise(reason, options, &spec.target);
        let nothing = outcome.streams.iter().all(|stream| stream.transactions.count == 0);
        return Err(if nothing { Failure::cannot_begin(advice) } else { Failure::failed(advice) });
    }
    Ok(outcome)
}

/// The kernel's words for a source address that is none of this machine's say nothing about the flag.
fn with_hint(message: String, spec: &Spec) -> String {
    if !spec.sources.is_empty() && message.contains(NOT_AVAILABLE) {
        return format!("{message}\n--source takes addresses of this machine (`ip address` lists them)");
    }
    message
}

/// One login before the thousands: whatever is wrong with server, account or limits is said once, and before
/// the load. Tells what to remark, and the server's process if it is here.
fn check(options: &LoadOptions, spec: &Spec) -> Result<(Vec<String>, Option<u32>), Failure> {
    let cannot = |error: &dyn std::error::Error| Failure::cannot_begin(chain(error));
    let begun = std::time::Instant::now();
    let mut connection = provision::log_in(&spec.target).map_err(|error| cannot(&error))?;
    let login = begun.elapsed();
    if !options.write_to_my_tables {
        let writes = workload::written_by(&spec.streams);
        dataset::refuse_writes(&spec.target, &writes).map_err(|error| cannot(&error))?;
    }
    let sources = spec.sources.len().max(1) as u32;
    let wants = Wants { sources, ..run::wants(&spec.streams, &spec.target) };
    let mut remarks = provision::preflight(&mut connection, &wants).map_err(|error| cannot(&error))?;
    remarks.extend(loader::remark(spec, login));
    remarks.extend(provision::changer(&mut connection));
    let process = provision::process_of(&mut connection, &spec.target);
    remarks.extend(process.err().and_then(provision::no_process));
    Ok((remarks, process.ok()))
}

/// Whether the table that a server misses is one that `prony prepare` makes: `Table 'test.t1' ...`.
fn names_own_table(reason: &str) -> bool {
    reason.to_lowercase().split(['\'', '.', '`']).any(layout::is_reserved)
}

/// A load that ended at once, with what to do about it.
fn advise(reason: &str, options: &LoadOptions, target: &Target) -> String {
    let shown = target::shown(target);
    if reason.contains(NO_SUCH_TABLE) && !names_own_table(reason) {
        return format!(
            "{shown}: {reason}\nmake this table yourself: `prony prepare` makes those of the built-in \
             workloads"
        );
    }
    if reason.contains(NO_SUCH_TABLE) {
        let given: Vec<(&str, String)> = match options.data_of_study() {
            Some(data) => data.options(),
            None => ["tables", "table_size"]
                .into_iter()
                .filter_map(|name| options.workload_options.given(name).map(|text| (name, text.to_owned())))
                .collect(),
        };
        let flags: Vec<String> = given
            .into_iter()
            .map(|(name, text)| format!(" --{} {text}", if name == "table_size" { "rows" } else { name }))
            .collect();
        return format!(
            "{shown}: {reason}\nmake the tables first: prony prepare {} --url '{shown}'{}",
            options.prepared_as(),
            flags.concat()
        );
    }
    format!("{shown}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_of_prony_are_made_by_prepare() {
        for (reason, own) in [
            ("Table 'test.sbtest12' doesn't exist (error 1146, state 42S02)", true),
            ("Table 'test.orders' doesn't exist (error 1146, state 42S02)", false),
            ("Table 'sbtest.orders' doesn't exist (error 1146, state 42S02)", false),
            ("Table 'test.sbtest' doesn't exist (error 1146, state 42S02)", false),
        ] {
            assert_eq!(names_own_table(reason), own, "{reason}");
        }
    }
}
