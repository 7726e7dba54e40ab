//! Runs a load with as many threads as it needs. If it cannot begin or stops early, says what to do.

use super::{live::Live, options::LoadOptions};
use crate::{
    cli::failure::{Failure, chain},
    layout::{self, neighbours},
    provision::target,
    telemetry::Beside,
};
use load::{
    Loader, Outcome, Progress, Spec, Stop,
    sample::{Broken, End},
    spec::Target,
};

/// How EADDRNOTAVAIL is shown.
const NOT_AVAILABLE: &str = "(os error 99)";
/// "Table doesn't exist".
const NO_SUCH_TABLE: u16 = 1146;

/// The load, and who carries it out.
#[derive(Clone, Copy)]
pub(super) struct Offer<'a> {
    pub(super) options: &'a LoadOptions,
    pub(super) loader: &'a dyn Loader,
    pub(super) stop: &'a Stop,
}

/// The load with as many threads as it needs, unless a number was given.
pub(super) fn with_workers(spec: Spec, offer: &Offer<'_>) -> Result<Spec, Failure> {
    let needed = load::workers_needed(offer.loader, &spec, offer.stop);
    let workers = needed.map_err(|error| not_begun(&error, &spec, offer.stop))?;
    Ok(Spec { workers: Some(workers), ..spec })
}

/// Why a load did not begin, and what to do about it.
fn not_begun(error: &load::Error, spec: &Spec, stop: &Stop) -> Failure {
    match error {
        load::Error::Interrupted => Failure::interrupted("interrupted before the load began"),
        // the first login was interrupted
        _ if stop.is_stopped() => Failure::interrupted("interrupted before the load began"),
        error => Failure::cannot_begin(with_hint(chain(error), spec)),
    }
}

/// Carries one load out, and samples beside it if asked to. A load that the server made impossible is a
/// failure that says what to do.
pub(super) fn carry_out(
    &Offer { options, loader, stop }: &Offer<'_>,
    spec: &Spec,
    live: &mut Live,
    mut beside: Option<&mut Beside>,
) -> Result<Outcome, Failure> {
    let mut processes = Vec::new();
    let mut has_begun = false;
    let result = loader.run(spec, stop, &mut |event| {
        has_begun |= matches!(event, Progress::Started);
        if let Some(beside) = &mut beside {
            match &event {
                Progress::Processes(told) => processes.clone_from(told),
                Progress::Started => beside.begin_in(&processes),
                Progress::Seen(now) => {
                    if let Some(hosts) = beside.hear(now.clone()) {
                        live.with_load_hosts(&hosts);
                    }
                }
                Progress::Sample(_) | Progress::Opening { .. } => {}
            }
        }
        live.show(&event);
    });
    live.clear();
    let outcome = result.map_err(|error| match has_begun {
        // a load process or a load host is gone
        true => Failure::failed(chain(&error)),
        false => not_begun(&error, spec, stop),
    })?;
    if let End::Failed(broken) = &outcome.end {
        let advice = advise(broken, options, &spec.target);
        let nothing = outcome.streams.iter().all(|stream| stream.transactions.count == 0);
        return Err(if nothing { Failure::cannot_begin(advice) } else { Failure::failed(advice) });
    }
    Ok(outcome)
}

/// The kernel's message about a source address that this machine does not have does not mention the flag.
fn with_hint(message: String, spec: &Spec) -> String {
    if !spec.sources.is_empty() && message.contains(NOT_AVAILABLE) {
        return format!("{message}\n--source takes addresses of this machine; `ip address` lists them");
    }
    message
}

/// Whether `prony prepare` creates the table that the server lacks: `Table 'test.t1' ...`.
fn names_own_table(message: &str) -> bool {
    message.to_lowercase().split(['\'', '.', '`']).any(layout::is_reserved)
}

/// Whether it is that of the neighbours, which `prony prepare` makes for any of them.
fn names_neighbours_table(message: &str) -> bool {
    message.to_lowercase().contains(neighbours::TABLE)
}

/// A failure of a load that ended at once, which says what to do.
fn advise(broken: &Broken, options: &LoadOptions, target: &Target) -> String {
    let shown = target::shown(target);
    let Broken::Statement { code: NO_SUCH_TABLE, message, .. } = broken else {
        return format!("{shown}: {broken}");
    };
    if names_neighbours_table(message) {
        return format!(
            "{shown}: {broken}\ncreate the neighbours' table first: prony prepare {} --url '{shown}'",
            neighbours::ALL[0].builtin.name
        );
    }
    if !names_own_table(message) {
        return format!(
            "{shown}: {broken}\ncreate this table yourself: `prony prepare` only creates those of the \
             built-in workloads"
        );
    }
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
    format!(
        "{shown}: {broken}\ncreate the tables first: prony prepare {} --url '{shown}'{}",
        options.prepared_as(),
        flags.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_of_prony_are_made_by_prepare() {
        for (reason, own) in [
            ("Table 'test.sbtest12' doesn't exist", true),
            ("Table 'test.orders' doesn't exist", false),
            ("Table 'sbtest.orders' doesn't exist", false),
            ("Table 'test.sbtest' doesn't exist", false),
        ] {
            assert_eq!(names_own_table(reason), own, "{reason}");
        }
    }
}
