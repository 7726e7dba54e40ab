//! `prony load --find-rate`: runs loads at the rates that the search asks for, and prints the result.

use super::{
    live::Live,
    offer::{Offer, carry_out},
};
use crate::{
    cli::{
        failure::Failure,
        terminal::{aside, print},
    },
    provision::target,
    report::number,
    run::{self, Probed, Sought, Step},
    search::{Ending, Objectives, Purpose, Why},
};
use load::{Outcome, Spec, sample::End};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Ended {
    /// The highest rate was found.
    Found,
    /// Even the lowest rate whose loads say something breaks the objective.
    NothingKeeps,
    /// Not even the highest rate that is ever offered breaks it.
    NothingBreaks,
    /// Noise: the same load keeps it at one time and breaks it at another.
    Unsteady,
    /// Loads hold too few transactions.
    CannotTell,
    /// The user asked for an end.
    Interrupted,
    /// The time of `--budget` was over.
    OutOfTime,
}

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
    /// How the search ended.
    ending: Ended,
    /// The highest rate that kept the objective in every confirming load, transactions per second; of
    /// `unsteady` the best guess.
    rate_per_second: Option<f64>,
    /// The rate just above that broke it, transactions per second.
    broken_at_per_second: Option<f64>,
    /// What a closed loop of the same connections reached, transactions per second.
    closed_loop_per_second: f64,
    /// Whether the client was at its limit where the objective broke: then this is not the server's limit.
    client_limited: bool,
    /// Whether the wait for a free connection broke it: then more connections may sustain more.
    connections_limited: bool,
    /// Rate that the server sustained after a gentle load although the rate found is clearly lower: it has
    /// two states, and the rate found is what it sustains once it has been overloaded; transactions per
    /// second.
    from_rest_per_second: Option<f64>,
    /// Processors that other virtual machines took in the worst load, where they disturbed most of the loads
    /// that broke the objective.
    steal_processors: Option<f64>,
    /// Transactions that a load must hold so that it can say whether the objective is kept: 20 beyond a
    /// quantile (2000 for p99), 3 / limit for errors.
    transactions_needed: f64,
    /// Every load, in order.
    probes: Vec<Probed>,
}

pub(super) fn find(offer: &Offer<'_>, spec: &Spec) -> Result<(), Failure> {
    let options = offer.options;
    let objectives = Objectives::join(&options.find.objective);
    let deadline = options.find.budget.map(|budget| Instant::now() + budget.0);
    let clock = run::clock_cost();
    let search = run::Search { spec, stream: 0, objectives: &objectives, clock, deadline };
    let mut version = String::new();
    let mut offer_one = |spec: &Spec, step: Step| {
        if step.probe.is_none() {
            let seconds = step.left.as_secs();
            aside(format_args!(
                "a search takes about {seconds} s, longer where rates are low or noise is high"
            ));
        }
        let outcome = carry_out_one(offer, spec, title(&step))?;
        version
            .clone_from(&outcome.as_ref().map(|outcome| outcome.server_version.clone()).unwrap_or_default());
        Ok(outcome)
    };
    let mut told = |probed: &Probed, left: Duration| {
        tell(probed, left, &objectives);
        Ok::<(), Failure>(())
    };
    let sought = run::seek(search, &mut offer_one, &mut told)?.ok_or_else(|| {
        Failure::failed("the server finished nothing in a closed loop, so there is no rate to search for")
    })?;
    let ending = sought.ending;
    let found = found(sought, version, spec, &objectives);
    if options.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&found).expect("figures are JSON")))?;
    } else {
        print(&text(&found, ending, &objectives))?;
    }
    conclude(ending, &objectives)
}

/// The exit code.
fn conclude(ending: Ending, objectives: &Objectives) -> Result<(), Failure> {
    match ending {
        Ending::Unfinished { why: Why::Interrupted, .. } => {
            Err(Failure::interrupted("interrupted: the search did not finish"))
        }
        Ending::Found { .. }
        | Ending::NothingBreaks { .. }
        | Ending::Unfinished { confirmed: Some(_), .. } => Ok(()),
        Ending::NothingKeeps { .. }
        | Ending::Unsteady { .. }
        | Ending::CannotTell { .. }
        | Ending::Unfinished { .. } => {
            Err(Failure::failed(format!("no rate was found that keeps {objectives}")))
        }
    }
}

/// Runs one load of a search, with its purpose above its progress; `None`: interrupted.
fn carry_out_one(offer: &Offer<'_>, spec: &Spec, title: String) -> Result<Option<Outcome>, Failure> {
    let names = [spec.streams[0].name.clone()];
    let mut live = Live::new(Some(spec.warm_up + spec.interval), &names).titled(title);
    let outcome = carry_out(offer, spec, &mut live, None);
    if offer.stop.is_stopped() {
        return Ok(None);
    }
    outcome.map(|outcome| Some(outcome).filter(|outcome| outcome.end != End::Interrupted))
}

/// Prints a line for each finished load: a search takes minutes and should show what it does.
fn tell(probed: &Probed, left: Duration, objectives: &Objectives) {
    let result = match (probed.kept, probed.overloaded, probed.cannot_tell) {
        _ if probed.purpose == Purpose::Rest => "(not judged)",
        (true, ..) => "kept",
        (_, true, _) => "BROKEN (overloaded)",
        (.., true) => "too few transactions to tell; repeating for longer",
        _ => "BROKEN",
    };
    let steal = probed.steal_processors.filter(|_| probed.is_disturbed());
    let steal = steal.map(|steal| format!(", other virtual machines took {steal:.2} processors (steal)"));
    aside(format_args!(
        "{:8} {:>9}/s for {:>4.1} s   {}   {result}{}{}; about {} s left",
        probed.purpose.name(),
        number::count(probed.offered_per_second.round() as u64),
        probed.interval_s,
        probed.shown(objectives),
        if probed.client_limited { ", Prony itself was near its limit" } else { "" },
        steal.unwrap_or_default(),
        left.as_secs()
    ));
}

fn found(sought: Sought, server_version: String, spec: &Spec, objectives: &Objectives) -> Found {
    let ending = match sought.ending {
        Ending::Found { .. } => Ended::Found,
        Ending::NothingKeeps { .. } => Ended::NothingKeeps,
        Ending::NothingBreaks { .. } => Ended::NothingBreaks,
        Ending::Unsteady { .. } => Ended::Unsteady,
        Ending::CannotTell { .. } => Ended::CannotTell,
        Ending::Unfinished { why: Why::Interrupted, .. } => Ended::Interrupted,
        Ending::Unfinished { why: Why::OutOfTime, .. } => Ended::OutOfTime,
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
        ending,
        rate_per_second: sought.rate(),
        broken_at_per_second: sought.broken_at(),
        objective: sought.objective,
        closed_loop_per_second: sought.closed_loop_per_second,
        client_limited: sought.client_limited,
        connections_limited: sought.connections_limited,
        from_rest_per_second: sought.from_rest_per_second,
        steal_processors: sought.steal_processors,
        transactions_needed: objectives.transactions_needed().ceil(),
        probes: sought.probes,
    }
}

/// What the search tries, between which rates, and how long it will take.
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
        Purpose::Above => "trying a higher rate than was found,",
        Purpose::Rest => "letting the server recover,",
        Purpose::Beyond => "trying a much higher rate than was found,",
    };
    format!("{purpose}{between}, about {} s left in total; now {:.0}/s: ", step.left.as_secs(), probe.rate)
}

fn text(found: &Found, ending: Ending, objectives: &Objectives) -> String {
    let mut lines = vec![
        format!("{} on {} ({}), seed {}", found.workload, found.server, found.server_version, found.seed),
        format!(
            "{} connections, {} loads; a closed loop reached {} transactions/s\n",
            found.connections,
            found.probes.len(),
            number::per_second(found.closed_loop_per_second)
        ),
    ];
    lines.push(format!("highest rate  {}", answer(found, ending, objectives)));
    lines.extend(remarks(found).into_iter().map(|remark| format!("but           {remark}")));
    lines.join("\n") + "\n"
}

/// What was found.
fn answer(found: &Found, ending: Ending, objectives: &Objectives) -> String {
    let last = found.probes.last().map(|last| last.shown(objectives)).unwrap_or_default();
    match ending {
        Ending::Found { rate, above } => format!(
            "{rate:.0} transactions/s keeps {objectives}, confirmed by 3 of 3 loads; {above:.0}/s ({:.0} % \
             more) does not",
            (above / rate - 1.0) * 100.0
        ),
        Ending::NothingKeeps { lowest } if lowest > 1.0 => format!(
            "none: even {lowest:.0} transactions/s does not keep {objectives} ({last}). At lower rates a \
             load has too few transactions to tell: make --duration longer"
        ),
        Ending::NothingKeeps { lowest } => {
            let lowest = number::per_second(lowest);
            format!("none: even {lowest} transactions/s does not keep {objectives} ({last})")
        }
        Ending::NothingBreaks { highest } => {
            format!("at least {highest:.0} transactions/s: the highest rate offered still keeps {objectives}")
        }
        Ending::Unsteady { rate } => format!(
            "not found: near {rate:.0} transactions/s, the same load keeps {objectives} at one time and \
             breaks it at another; make --duration longer, or find what disturbs the server"
        ),
        Ending::CannotTell { rate } => format!(
            "cannot tell: at {rate:.0} transactions/s, a load has fewer than the {:.0} transactions that \
             {objectives} needs; make --duration longer, or ask for a lower percentile",
            found.transactions_needed
        ),
        Ending::Unfinished { why, confirmed } => unfinished(found, why, confirmed, objectives),
    }
}

/// The best result of a search that ended early.
fn unfinished(found: &Found, why: Why, confirmed: Option<f64>, objectives: &Objectives) -> String {
    let why = match why {
        Why::Interrupted => "the search was interrupted",
        Why::OutOfTime => "the time budget ran out",
    };
    if let Some(rate) = confirmed {
        return format!(
            "at least {rate:.0} transactions/s keeps {objectives}, confirmed by 3 of 3 loads; higher rates \
             were not tested, because {why}"
        );
    }
    let rates = |is: fn(&Probed) -> bool| {
        let probes = found.probes.iter().filter(move |probed| is(probed));
        probes.map(|probed| probed.offered_per_second)
    };
    let broken = |probed: &Probed| !probed.kept && !probed.cannot_tell && probed.purpose != Purpose::Rest;
    let known = [
        rates(|probed| probed.kept).max_by(f64::total_cmp).map(|rate| format!("{rate:.0}/s kept it once")),
        rates(broken).min_by(f64::total_cmp).map(|rate| format!("{rate:.0}/s broke it")),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    format!("no rate was confirmed{known}: {why}")
}

/// Its doubts.
fn remarks(found: &Found) -> Vec<String> {
    let mut remarks = Vec::new();
    if found.client_limited {
        remarks.push(
            "Prony itself was near its limit where the objective broke, so this may not be the server's \
             limit. Run it on another machine or give it more processors (`prony calibrate` measures its \
             limit)"
                .to_owned(),
        );
    }
    if found.connections_limited {
        remarks.push(
            "the wait for a free connection broke the objective, while the server's own time kept it, and a \
             closed loop did hardly more: with more connections it may sustain a higher rate"
                .to_owned(),
        );
    }
    if let Some(rate) = found.from_rest_per_second {
        remarks.push(format!(
            "the server has two states: after a gentle load it sustained {rate:.0} transactions/s; the rate \
             found is what it sustains once it has been overloaded"
        ));
    }
    if let Some(steal) = found.steal_processors {
        remarks.push(format!(
            "other virtual machines on the host took up to {steal:.2} processors where the objective broke \
             (steal): the server may sustain more at a quieter time"
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(rate: f64, kept: bool) -> Probed {
        Probed {
            purpose: Purpose::Bracket,
            offered_per_second: rate,
            achieved_per_second: rate,
            interval_s: 3.0,
            values: vec![if kept { 4.5 } else { 31.2 }],
            kept,
            cannot_tell: false,
            overloaded: false,
            client_limited: false,
            steal_processors: Some(0.4),
            doubts: Vec::new(),
        }
    }

    /// The sentence for an ending.
    fn said(ending: Ending, steal_processors: Option<f64>) -> String {
        let objectives = Objectives::parse("p99 < 20ms").expect("an objective");
        let sought = Sought {
            objective: objectives.to_string(),
            ending,
            closed_loop_per_second: 40.0,
            client_limited: false,
            connections_limited: false,
            from_rest_per_second: None,
            steal_processors,
            probes: vec![probed(26.0, true), probed(39.0, false)],
        };
        let address = load::spec::Address::Unix("/tmp/none".into());
        let (user, password, tls) = ("user".to_owned(), Default::default(), Default::default());
        let trust = Default::default();
        let target =
            load::spec::Target { address, user, password, database: None, tls, trust, compress: false };
        let workload = crate::workload::builtin("oltp_point_select", &Default::default()).expect("built in");
        let streams = vec![load::spec::Stream::new("main", workload, 4)];
        let spec = Spec::new(target, streams, Duration::ZERO, Duration::from_secs(10));
        let found = found(sought, "10.11".to_owned(), &spec, &objectives);
        text(&found, ending, &objectives)
    }

    #[test]
    fn each_ending_says_what_was_shown_and_no_more() {
        let why = Why::Interrupted;
        for (ending, words) in [
            (Ending::NothingKeeps { lowest: 17.8 }, &["even 18", "p99 31.200 ms", "--duration"][..]),
            (Ending::NothingKeeps { lowest: 0.4 }, &["even 0.4 transactions/s", "p99 31.200 ms"]),
            (Ending::NothingKeeps { lowest: 1.0 }, &["even 1 transactions/s", "p99 31.200 ms"]),
            (Ending::CannotTell { rate: 20.0 }, &["cannot tell", "2000 transactions", "--duration"]),
            (Ending::Unfinished { why, confirmed: Some(26.0) }, &["at least 26", "3 of 3", "interrupted"]),
            (Ending::Unfinished { why, confirmed: None }, &["26/s kept it once", "39/s broke it"]),
            (
                Ending::Unfinished { why: Why::OutOfTime, confirmed: None },
                &["no rate was confirmed", "the time budget ran out"],
            ),
        ] {
            let text = said(ending, None);
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(!text.contains("at rest") && !text.contains("steal"), "{text}");
        }
        assert!(said(Ending::NothingKeeps { lowest: 17.8 }, Some(0.4)).contains("0.40 processors"));
        let objectives = Objectives::parse("p99 < 20ms").expect("an objective");
        let code = |ending| conclude(ending, &objectives).err().map(|failure| failure.code());
        assert_eq!(code(Ending::Unfinished { why, confirmed: Some(26.0) }), Some(130));
        assert_eq!(code(Ending::Unfinished { why: Why::OutOfTime, confirmed: Some(26.0) }), None);
        assert_eq!(code(Ending::Unfinished { why: Why::OutOfTime, confirmed: None }), Some(1));
    }

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
