//! `prony load --find-rate`: offers loads at the rates that the search asks for, and says what it found.

use super::{LoadOptions, live::Live, offer};
use crate::{
    cli::{
        failure::Failure,
        report::{aside, print},
    },
    provision::target,
    report::number,
    run::{self, Probed, Sought, Step},
    search::{Ending, Objectives, Purpose},
};
use load::{Outcome, Spec, Stop, sample::End};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// Version of this form.
    format: u32,
    /// Version of Prony.
    prony_version: String,
    /// Version of the server, as it introduces itself.
    server_version: String,
    /// Address of the server, without password.
    server: String,
    /// Name of the workload.
    workload: String,
    /// Seed of everything random: each load of the search has one derived from it.
    seed: u64,
    /// Connections that shared the starts.
    connections: u32,
    /// What was to be kept.
    objective: String,
    /// `found`, `nothing_keeps` (even the lowest rate breaks it), `nothing_breaks` (not even the highest
    /// rate that the connections can offer), `unsteady` (noise), `interrupted`.
    ending: String,
    /// The highest rate that kept the objective in every confirming load, transactions per second.
    rate_per_second: Option<f64>,
    /// The rate just above that broke it, transactions per second.
    broken_at_per_second: Option<f64>,
    /// What a closed loop of the same connections reached, transactions per second.
    closed_loop_per_second: f64,
    /// Whether the client was at its limit where the objective broke: then this is not the server's limit.
    client_limited: bool,
    /// Whether the wait for a free connection broke it: then more connections may bear more.
    connections_limited: bool,
    /// Every load, in order.
    probes: Vec<Probed>,
}

pub(super) fn find(options: &LoadOptions, spec: &Spec, stop: &Stop) -> Result<(), Failure> {
    let objectives = Objectives::join(&options.find.objective);
    let search = run::Search { spec, stream: 0, objectives: &objectives, clock: run::clock_cost() };
    let mut version = String::new();
    let mut offer_one = |spec: &Spec, step: Step| {
        let outcome = carry_out(options, spec, stop, title(&step))?;
        version.clone_from(&outcome.server_version);
        Ok(outcome)
    };
    let mut told = |probed: &Probed| {
        tell(probed, &objectives);
        Ok::<(), Failure>(())
    };
    let sought = run::seek(search, &mut offer_one, &mut told)?.ok_or_else(|| {
        Failure::failed("the server finished nothing in a closed loop: there is no rate to search")
    })?;
    let ending = sought.ending;
    let found = found(sought, version, spec);
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&found).expect("figures are JSON")))?;
    } else {
        print(&text(&found, ending, &objectives))?;
    }
    match ending {
        Ending::Found { .. } | Ending::NothingBreaks { .. } => Ok(()),
        Ending::NothingKeeps { .. } | Ending::Unsteady { .. } => {
            Err(Failure::failed(format!("no rate was found that keeps {objectives}")))
        }
    }
}

/// One load of a search, with what it is for above its progress.
fn carry_out(options: &LoadOptions, spec: &Spec, stop: &Stop, title: String) -> Result<Outcome, Failure> {
    let names = [spec.streams[0].name.clone()];
    let mut live = Live::new(Some(spec.warm_up + spec.interval), &names).titled(title);
    let outcome = offer(options, spec, stop, &mut live, &mut || ())?;
    if outcome.end == End::Interrupted {
        return Err(Failure::interrupted("interrupted: the search was not finished"));
    }
    Ok(outcome)
}

/// A line for each load that is over: a search takes minutes, and what it does should be seen.
fn tell(probed: &Probed, objectives: &Objectives) {
    let result = match (probed.kept, probed.overloaded) {
        (true, _) => "kept",
        (_, true) => "BROKEN (overloaded)",
        _ => "BROKEN",
    };
    aside(format_args!(
        "{:8} {:>9}/s for {:>4.1} s   {}   {result}{}",
        probed.purpose,
        number::count(probed.offered_per_second.round() as u64),
        probed.interval_s,
        probed.shown(objectives),
        if probed.client_limited { ", Prony itself was near its limit" } else { "" }
    ));
}

fn found(sought: Sought, server_version: String, spec: &Spec) -> Found {
    let ending = match sought.ending {
        Ending::Found { .. } => "found",
        Ending::NothingKeeps { .. } => "nothing_keeps",
        Ending::NothingBreaks { .. } => "nothing_breaks",
        Ending::Unsteady { .. } => "unsteady",
    };
    let stream = &spec.streams[0];
    Found {
        format: FORMAT,
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        server_version,
        server: target::shown(&spec.target),
        workload: stream.workload.name.clone(),
        seed: spec.seed,
        connections: stream.connections,
        ending: ending.to_owned(),
        rate_per_second: sought.rate(),
        broken_at_per_second: sought.broken_at(),
        objective: sought.objective,
        closed_loop_per_second: sought.closed_loop_per_second,
        client_limited: sought.client_limited,
        connections_limited: sought.connections_limited,
        probes: sought.probes,
    }
}

/// What is tried, between what, and how long all of it will take.
fn title(step: &Step) -> String {
    let Some((probe, outlook)) = step.probe else { return "closed loop: ".to_owned() };
    let between = match outlook.between {
        (Some(low), Some(high)) => format!(" between {low:.0} and {high:.0}/s"),
        (Some(low), None) => format!(" above {low:.0}/s"),
        (None, Some(high)) => format!(" below {high:.0}/s"),
        (None, None) => String::new(),
    };
    let purpose = match probe.purpose {
        Purpose::Bracket | Purpose::Narrow => "searching",
        Purpose::Confirm => "confirming",
        Purpose::Above => "trying more than was found,",
    };
    format!("{purpose}{between}, about {} s left in all; now {:.0}/s: ", step.left.as_secs(), probe.rate)
}

fn text(found: &Found, ending: Ending, objectives: &Objectives) -> String {
    let mut lines = vec![
        format!("{} on {} ({}), seed {}", found.workload, found.server, found.server_version, found.seed),
        format!(
            "{} connections, {} loads; a closed loop reached {:.0} transactions/s\n",
            found.connections,
            found.probes.len(),
            found.closed_loop_per_second
        ),
    ];
    lines.push(match ending {
        Ending::Found { rate, above } => format!(
            "highest rate  {rate:.0} transactions/s keep {objectives}: confirmed by 3 of 3 loads; \
             {above:.0}/s ({:.0} % more) did not",
            (above / rate - 1.0) * 100.0
        ),
        Ending::NothingKeeps { lowest } => format!(
            "highest rate  none: even {lowest:.0} transactions/s do not keep {objectives}; the objective is \
             below what the server needs for one transaction at rest"
        ),
        Ending::NothingBreaks { highest } => format!(
            "highest rate  at least {highest:.0} transactions/s, the most that {} connections can offer, \
             and {objectives} is still kept: search with more connections",
            found.connections
        ),
        Ending::Unsteady { rate } => format!(
            "highest rate  not found: near {rate:.0} transactions/s the same load keeps {objectives} at one \
             time and breaks it at another; make --duration longer, or look for what disturbs the server"
        ),
    });
    if found.client_limited {
        lines.push(
            "but           Prony itself was near its limit where the objective broke: this may not be the \
             server's limit. Run it on another machine or give it more processors (`prony calibrate` says \
             what it can do)"
                .to_owned(),
        );
    }
    if found.connections_limited {
        lines.push(
            "but           what broke the objective was the wait for a free connection, while the server's \
             own time kept it, and a closed loop did hardly more: with more connections it may bear more"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_that_of_the_result() {
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(Found)).expect("a schema") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/find-rate.json");
        if std::env::var_os("PRONY_UPDATE").is_some() {
            std::fs::write(path, &schema).expect("writable");
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == schema, "schemas/find-rate.json is out of date: run `make schemas`");
    }
}
