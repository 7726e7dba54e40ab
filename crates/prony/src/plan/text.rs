//! A plan in words, as `prony plan` shows it: what will be done, in which order, how long it takes.

use super::{
    Act, DataPlan, Plan, Repetition, Replication, ServerNames, ServerPlan, ServerSource, Topology, Trial,
    WaitPoint, claims,
    estimate::{self, estimate, estimate_at_most},
    load, state,
};
use crate::{
    escape::wrap::{columns, padded},
    layout::Layout as _,
    quantity::show_size_about,
    study::server_words,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    time::Duration,
};

/// Trials that are listed; of more, the first block, as far as that goes.
const TRIALS_SHOWN: usize = 48;

/// The whole plan as text.
#[must_use]
pub fn render(plan: &Plan) -> String {
    let mut text = String::new();
    write_to(&mut text, plan).expect("writing to memory");
    text
}

fn write_to(text: &mut String, plan: &Plan) -> std::fmt::Result {
    write_head(text, plan)?;
    for line in repetition(plan) {
        writeln!(text, "{line}")?;
    }
    writeln!(text)?;
    if !plan.factors.is_empty() {
        writeln!(text, "Varied")?;
        let width = plan.factors.iter().map(|factor| columns(&factor.name)).max().unwrap_or(0);
        for factor in &plan.factors {
            writeln!(text, "  {}  {}", padded(&factor.name, width, false), factor.levels.join(", "))?;
        }
        writeln!(text)?;
    }
    let names = ServerNames::of(plan);
    match &names.factors {
        by if by.is_empty() => writeln!(text, "Servers")?,
        by => writeln!(text, "Servers by {}", by.join(", "))?,
    }
    let common = common_settings(plan.servers.iter().map(|server| &server.settings));
    for server in &plan.servers {
        write_server(text, plan, server, names.shown(&server.name), &common)?;
    }
    if !common.is_empty() {
        writeln!(text, "  all servers:")?;
    }
    for (name, value) in common {
        writeln!(text, "      {name} = {value}")?;
    }
    if plan.servers.iter().any(|server| server.may(Act::Start)) {
        writeln!(
            text,
            "  Each server that Prony starts gets its own data directory, port and socket, which are removed \
             afterwards; servers that are not installed are fetched into the cache."
        )?;
    }
    writeln!(text, "\nData")?;
    for data in &plan.data_sets {
        writeln!(text, "  {}", data_words(data))?;
    }
    let state = state::lines(plan, &estimate::put_back(plan, &plan.trials));
    if !state.is_empty() {
        writeln!(text, "\nBefore a trial")?;
    }
    for line in state {
        writeln!(text, "  {line}")?;
    }
    writeln!(text, "\nLoad")?;
    for line in load::lines(plan) {
        writeln!(text, "  {line}")?;
    }
    write_aims(text, plan)?;
    writeln!(text, "\nTrials in order of execution")?;
    write_trials(text, plan)
}

/// What the run is to answer beside its trials: what a crash loses, what a buyer asks, what was claimed.
fn write_aims(text: &mut String, plan: &Plan) -> std::fmt::Result {
    if let Some(audit) = &plan.audit {
        writeln!(
            text,
            "\nAfter the trials\n  Of each server that Prony starts, {}: each {} while {} commit for {}. \
             Acknowledged commits that are missing afterwards are counted as lost.",
            load::struck(audit),
            count(audit.crashes as usize, "time"),
            count(audit.writers as usize, "connection"),
            seconds(audit.length),
        )?;
    }
    if let Some(buy) = &plan.buy {
        let rates: Vec<String> = buy.rates_per_second.iter().map(ToString::to_string).collect();
        let of_rates = if rates.is_empty() {
            String::new()
        } else {
            format!("; which is enough for {} transactions per second", load::listed(rates))
        };
        let objective = &buy.objective;
        writeln!(text, "\nFor a buyer\n  How much each server sustains at {objective}{of_rates}.")?;
    }
    if !plan.claims.is_empty() {
        writeln!(text, "\nClaims to be checked")?;
        for claim in &plan.claims {
            writeln!(text, "  {}", claim.says)?;
            writeln!(text, "      {}", claims::asked(plan, claim))?;
        }
    }
    Ok(())
}

/// What it is, how much it is, what it costs.
fn write_head(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let cost = estimate(plan);
    writeln!(text, "{}", plan.title)?;
    let scale = plan.scale.as_ref().map_or_else(String::new, |scale| format!(", scale {scale}"));
    writeln!(text, "study {}{scale}, seed {}\n", plan.name, plan.seed)?;
    writeln!(
        text,
        "{}: {} x {}, each {}{} of warm-up{} and {}{} of measurement{}",
        count(plan.trials.len(), "trial"),
        count(plan.treatments.len(), "combination"),
        count(plan.repeats as usize, "repeat"),
        if plan.warm_up_auto { "at most " } else { "" },
        seconds(plan.warm_up),
        match plan.alone {
            Duration::ZERO => String::new(),
            alone => format!(", {} of the background alone", seconds(alone)),
        },
        if has_limit(plan) { "at most " } else { "" },
        seconds(plan.interval),
        match plan.treatments.iter().filter(|treatment| treatment.goal.is_some()).count() {
            0 => "",
            some if some == plan.treatments.len() => ", after a search for its rate",
            _ => ", some after a search for their rate",
        },
    )?;
    let time = time_words(plan);
    let (disk, memory) = (show_size_about(cost.disk_bytes), show_size_about(cost.memory_bytes));
    writeln!(text, "{time}, {disk} on disk, {memory} of memory\n")
}

/// How long a run takes, probably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Without any trial that a wish for precision may add.
    pub least: Duration,
    /// With all of them.
    pub most: Duration,
    /// Whether a trial ends as soon as its limit is reached.
    pub may_be_less: bool,
}

/// How long a share of a plan takes.
#[must_use]
pub fn time(plan: &Plan, share: f64) -> Time {
    let (least, most) = (estimate(plan).time.mul_f64(share), estimate_at_most(plan).time.mul_f64(share));
    Time { least, most, may_be_less: has_limit(plan) }
}

/// The same in words: `about 35 s`.
fn time_words(plan: &Plan) -> String {
    let Time { least, most, may_be_less } = time(plan, 1.0);
    match (may_be_less, most > least) {
        (true, _) => format!("at most {}", minutes(most)),
        (false, true) => format!("from {} to {}", minutes(least), minutes(most)),
        (false, false) => format!("about {}", minutes(least)),
    }
}

/// How trials are repeated, in sentences.
fn repetition(plan: &Plan) -> Vec<String> {
    let Repetition { restarts, precision, budget, repeat_invalid, .. } = &plan.repetition;
    let mut lines = Vec::new();
    lines.push(
        match (plan.servers.len(), plan.repeats_at_most()) {
            (_, 1) => "Trials run in one block of random order.",
            (1, _) => "Trials run in blocks, each with every combination once, in random order.",
            _ => {
                "Trials run in blocks, each with every combination once, in random order; the servers of a \
                 combination run one after another and take turns in going first."
            }
        }
        .to_owned(),
    );
    if let Some(precision) = precision {
        let limit = budget.map_or_else(String::new, |budget| format!(", for at most {}", minutes(budget)));
        lines.push(format!(
            "Blocks are added until every interval is within ±{} %{limit}; at most {} ({} trials).",
            precision * 100.0,
            count(plan.repeats_at_most() as usize, "repeat"),
            plan.trials_at_most().len(),
        ));
    }
    if *restarts > 1 && plan.start_of(plan.repeats_at_most() - 1) > 0 {
        let blocks = (1..=plan.repeats).take_while(|&block| plan.start_of(block) == 0).count() + 1;
        let after = if blocks == 1 { "every block".to_owned() } else { format!("every {blocks} blocks") };
        lines.push(format!("Servers that Prony started are restarted after {after}."));
    }
    if *repeat_invalid > 0 {
        let times =
            if *repeat_invalid == 1 { "once".to_owned() } else { format!("up to {repeat_invalid} times") };
        lines.push(format!("A trial that fails or is invalid is repeated {times}, at the end of its block."));
    }
    lines
}

/// Whether a trial may end before its interval is over.
fn has_limit(plan: &Plan) -> bool {
    plan.treatments.iter().flat_map(|treatment| &treatment.streams).any(|stream| stream.limit.is_some())
}

fn write_server(
    text: &mut String,
    plan: &Plan,
    server: &ServerPlan,
    name: &str,
    common: &BTreeMap<&String, &String>,
) -> std::fmt::Result {
    match &server.source {
        ServerSource::Product { product, version } => {
            let version = version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            writeln!(text, "  {name}: {product}{version}")?;
        }
        ServerSource::Path(path) => writeln!(text, "  {name}: unpacked in {}", path.display())?,
        ServerSource::Image(image) => {
            writeln!(text, "  {name}: in a container of the image {image}")?;
        }
        ServerSource::Url(url) => writeln!(text, "  {}", elsewhere(plan, server, name, url))?,
    }
    if let Some(words) = topology_words(server.topology) {
        writeln!(text, "      {words}")?;
    }
    for (name, value) in &server.settings {
        if !common.contains_key(name) {
            writeln!(text, "      {name} = {value}")?;
        }
    }
    for words in server_words(server) {
        writeln!(text, "      {words}")?;
    }
    Ok(())
}

/// What works together as this server; `None`: it is alone.
fn topology_words(topology: Topology) -> Option<String> {
    match topology {
        Topology::Single => None,
        Topology::Galera { nodes } => Some(format!("a Galera cluster of {nodes} nodes on this machine")),
        Topology::Replicas { count, replication } => {
            let replicas = self::count(count as usize, "replica");
            let how = match replication {
                Replication::Asynchronous => "asynchronous: a commit waits for none".to_owned(),
                Replication::SemiSynchronous { wait_point, acknowledgements, timeout } => {
                    let wait_point = match wait_point {
                        None => "where the server does by default",
                        Some(WaitPoint::AfterSync) => "before it is in the engine",
                        Some(WaitPoint::AfterCommit) => "after it is in the engine",
                    };
                    let seconds = seconds(timeout);
                    let has = if acknowledgements == 1 { "has" } else { "have" };
                    format!(
                        "semi-synchronous: a commit waits, {wait_point}, until {acknowledgements} of them \
                         {has} received it, {seconds} at most"
                    )
                }
            };
            Some(format!("with {replicas} on this machine, {how}"))
        }
    }
}

/// What will be done to each server that Prony does not start, in words.
#[must_use]
pub fn servers_elsewhere(plan: &Plan) -> Vec<String> {
    let names = ServerNames::of(plan);
    let of_server = |server: &ServerPlan| match &server.source {
        ServerSource::Url(url) => Some(elsewhere(plan, server, names.shown(&server.name), url)),
        _ => None,
    };
    plan.servers.iter().filter_map(of_server).collect()
}

fn elsewhere(plan: &Plan, server: &ServerPlan, name: &str, url: &str) -> String {
    let of_server = || plan.treatments.iter().filter(|one| plan.servers[one.server] == *server);
    let tables = if of_server().any(|one| !plan.data_sets[one.data].is_empty()) {
        "gets the tables of the data set in the database of its URL; they stay until `prony cleanup`"
    } else {
        "gets no tables, because no statement uses Prony's"
    };
    let foreign: BTreeSet<String> =
        of_server().flat_map(|treatment| plan.foreign_written(treatment)).collect();
    let touched = if foreign.is_empty() {
        "No table that Prony did not create is changed".to_owned()
    } else {
        let tables = foreign.into_iter().collect::<Vec<_>>().join(", ");
        if server.write_to_my_tables {
            format!(
                "The study's own statements change {tables}, which are not restored; no other table is \
                     changed"
            )
        } else {
            format!(
                "The study's own statements would change {tables}, which is refused without \
                 `write_to_my_tables = true`"
            )
        }
    };
    let configured = if server.apply_settings && !server.settings.is_empty() {
        let names: Vec<_> = server.settings.keys().map(String::as_str).collect();
        format!("{} are set during the run and restored afterwards", names.join(", "))
    } else {
        "none of its variables is changed".to_owned()
    };
    format!("{name}: running at {url}; {tables}. {touched}; {configured}")
}

/// Settings that every one of several servers has with the same value; `servers` has those of each.
pub fn common_settings<'a>(
    servers: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<&'a String, &'a String> {
    let all: Vec<_> = servers.collect();
    let [first, others @ ..] = all.as_slice() else { return BTreeMap::new() };
    let everywhere = |(name, value): &(&String, &String)| {
        !others.is_empty() && others.iter().all(|server| server.get(*name) == Some(*value))
    };
    first.iter().filter(everywhere).collect()
}

fn write_trials(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let mut rows = vec![vec!["trial".to_owned(), "block".to_owned()]];
    rows[0].extend(plan.factors.iter().map(|factor| factor.name.clone()));
    let shown = |trial: &&Trial| plan.trials.len() <= TRIALS_SHOWN || trial.block == 0;
    for trial in plan.trials.iter().filter(shown).take(TRIALS_SHOWN) {
        let levels = &plan.treatments[trial.treatment].levels;
        let mut row = vec![(trial.number + 1).to_string(), (trial.block + 1).to_string()];
        row.extend(
            plan.factors
                .iter()
                .map(|factor| levels.get(&factor.name).cloned().unwrap_or_else(|| "-".to_owned())),
        );
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0))
        .collect();
    let right: Vec<bool> =
        [true, true].into_iter().chain(plan.factors.iter().map(|factor| factor.numeric)).collect();
    for row in &rows {
        let cells = row.iter().zip(widths.iter().zip(&right));
        let cells: Vec<String> = cells.map(|(cell, (width, right))| padded(cell, *width, *right)).collect();
        writeln!(text, "  {}", cells.join("  ").trim_end())?;
    }
    let blocks = plan.repeats as usize - 1;
    match plan.trials.len() + 1 - rows.len() {
        0 => Ok(()),
        more if rows.len() <= plan.treatments.len() => {
            let blocks = match blocks {
                0 => String::new(),
                more => format!(" of this block and {}", count(more, "other")),
            };
            writeln!(text, "  ... and {more} more{blocks}, which --json lists")
        }
        more => {
            let orders = if blocks == 1 { "another random order" } else { "other random orders" };
            writeln!(
                text,
                "  ... and {more} more in {} of {orders}, which --json lists",
                count(blocks, "block")
            )
        }
    }
}

fn data_words(data: &DataPlan) -> String {
    if data.is_empty() { "no Prony tables, because no statement uses them".to_owned() } else { data.about() }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => "1 s".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        172_800.. => format!("{:.1} days", duration.as_secs_f64() / 86_400.0),
        _ => format!("{:.1} h", duration.as_secs_f64() / 3600.0),
    }
}
