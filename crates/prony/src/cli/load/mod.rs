//! `prony load`: one load on a running server, or the search for the highest rate that the server sustains.

mod figures;
mod find;
mod live;
mod offer;
mod options;
mod text;

pub(super) use options::LoadOptions;

use super::{
    agent,
    failure::{Failure, chain},
    interrupt,
    terminal::{aside, print},
};
use crate::{
    dataset,
    layout::neighbours,
    loader::{self, Agents, AgentsError},
    provision::{self, NoProcess, Wants, target},
    report::Words,
    run::{self, Level},
    telemetry::{self, Beside},
    workload,
};
use figures::{Circumstances, Figures};
use live::Live;
use load::{Outcome, Spec, Stop, agent as load_host, sample::End};
use offer::{Offer, carry_out, with_workers};

pub(super) fn load(options: &LoadOptions) -> Result<(), Failure> {
    let spec = options.spec()?;
    let (remarks, pid) = check(options, &spec)?;
    for remark in remarks {
        aside(format_args!("remark: {remark}"));
    }
    let stop = interrupt::stop_on_signals();
    let program = std::env::current_exe().map_err(|error| Failure::cannot_begin(chain(&error)))?;
    let agents = agents(options, &spec, &stop)?;
    let loader = match &agents {
        Some(agents) => agents.loader(&agents.names().collect::<Vec<_>>()),
        None => loader::in_processes(options.processes, &[], &program),
    };
    let offer = Offer { options, loader: &*loader, stop: &stop };
    let spec = with_workers(spec, &offer)?;
    if options.find.find_rate { find::find(&offer, &spec) } else { once(&offer, &spec, pid) }
}

/// The load hosts that the flags ask for, once all of them have answered.
fn agents(options: &LoadOptions, spec: &Spec, stop: &Stop) -> Result<Option<Agents>, Failure> {
    let run = format!("`prony load {}`", options.workload);
    let held = if let Some(wish) = &options.kubernetes {
        let wants = load_host::Wants::of(spec, wish.replicas);
        let pods = if wish.replicas == 1 { "pod" } else { "pods" };
        aside(format_args!("starting {} {pods} of {}", wish.replicas, wish.image));
        Agents::in_pods(wish, run, wants, stop)
    } else if options.agents.is_empty() {
        return Ok(None);
    } else {
        let directory = agent::directory(options.agents_dir.clone())?;
        let wants = load_host::Wants::of(spec, options.agents.len() as u32);
        Agents::hold(&options.agents, &directory, run, wants)
    };
    let held = held.and_then(|held| {
        held.check_reach(&options.agents, &target::shown(&spec.target), &spec.target.address)?;
        Ok(Some(held))
    });
    held.map_err(|error| match error {
        AgentsError::Interrupted => Failure::interrupted("interrupted before the load began"),
        error => Failure::cannot_begin(chain(&error)),
    })
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
    let outcome = carry_out(offer, spec, &mut live, Some(&mut beside))?;
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
        End::Interrupted => Err(Failure::interrupted("interrupted: the figures cover the time until then")),
        _ if ended_in_an_outage(spec, &outcome) => Err(Failure::failed(
            "the server went away and did not come back: the figures cover the load until then",
        )),
        _ => judged(&figures),
    }
}

/// Invalid figures are printed, but the command fails: a script must not take them for a measurement.
fn judged(figures: &Figures) -> Result<(), Failure> {
    let first = figures.doubts.iter().find(|doubt| doubt.level == figures.verdict);
    match first {
        Some(doubt) if figures.verdict == Level::Invalid => {
            Err(Failure::failed(format!("these figures are invalid: {}", doubt.text)))
        }
        _ => Ok(()),
    }
}

/// Whether nothing succeeded any more at the end; some neighbours are meant to fail.
fn ended_in_an_outage(spec: &Spec, outcome: &Outcome) -> bool {
    let streams = spec.streams.iter().zip(&outcome.streams);
    let measured = streams.filter(|(stream, _)| !neighbours::is_one(stream));
    measured.into_iter().any(|(_, told)| told.outages.last().is_some_and(|outage| !outage.recovered))
}

/// One login before the thousands, so that a mistake in server, account or limits is reported once, before
/// the load. Returns remarks, and the server's process if it runs here.
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
    let elsewhere = options.is_elsewhere();
    let wants = Wants { sources, elsewhere, ..run::wants(&spec.streams, &spec.target) };
    let mut remarks = provision::preflight(&mut connection, &wants).map_err(|error| cannot(&error))?;
    remarks.extend(provision::changer(&mut connection));
    let process = provision::process_of(&mut connection, &spec.target);
    remarks.extend(process.err().and_then(NoProcess::remark));
    let remarks = remarks.iter().map(|remark| Words::default().server_remark(remark));
    let of_ports = loader::few_ports(spec, login).filter(|_| !elsewhere).map(|few| few.to_string());
    Ok((of_ports.into_iter().chain(remarks).collect(), process.ok()))
}
