//! The tables of a data set: their statements, and the comment by which Prony knows its own again.
//!
//! The mark is the table's comment: it comes and goes with the table itself, so that a table which somebody
//! dropped and made anew can never be taken for Prony's.

use crate::{family, plan::DataPlan};
use load::spec::Distribution;

/// First word of the comment of every table that Prony made.
const MARK: &str = "prony";
/// Version of the comment's form and of the contents behind it.
const FORMAT: u32 = 1;

/// How far a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Rows are being loaded, or were when it broke off.
    Loading,
    /// All rows and indexes are there.
    Complete,
}

/// What a table of the schema is to a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    /// Prony did not make it.
    Foreign,
    /// Prony made it, for another data set.
    Other,
    /// It is a table of this data set.
    Same(State),
}

/// Name of table `number`.
pub(super) fn name(number: u32) -> String {
    format!("sbtest{number}")
}

/// Number of the table called `name`, if it is called as tables of data sets are.
pub(super) fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("sbtest")?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Whether this comment is on a table that Prony made.
pub(super) fn is_own(comment: &str) -> bool {
    comment.split(' ').next() == Some(MARK)
}

/// What a table with this comment is to a data set.
pub(super) fn kinship(comment: &str, plan: &DataPlan) -> Kinship {
    if !is_own(comment) {
        Kinship::Foreign
    } else if comment == self::comment(plan, State::Complete) {
        Kinship::Same(State::Complete)
    } else if comment == self::comment(plan, State::Loading) {
        Kinship::Same(State::Loading)
    } else {
        Kinship::Other
    }
}

/// `prony 1 complete sysbench rows=10000 seed=42 ...`: everything that the table's contents and form depend
/// on.
pub(super) fn comment(plan: &DataPlan, state: State) -> String {
    let state = match state {
        State::Loading => "loading",
        State::Complete => "complete",
    };
    let k = match plan.k {
        Distribution::Uniform => "uniform".to_owned(),
        Distribution::Gaussian { iterations } => format!("gaussian({iterations})"),
        Distribution::Special { iterations, hot_set_percent, hot_draws_percent } => {
            format!("special({iterations},{hot_set_percent},{hot_draws_percent})")
        }
        Distribution::Pareto { h } => format!("pareto({h})"),
        Distribution::Zipfian { exponent } => format!("zipfian({exponent})"),
    };
    let DataPlan { rows, seed, generator, auto_inc, secondary, create_secondary, engine, .. } = plan;
    let engine = engine.as_deref().unwrap_or("default").to_ascii_lowercase();
    format!(
        "{MARK} {FORMAT} {state} {generator} rows={rows} seed={seed} k={k} engine={engine} \
         auto_inc={auto_inc} secondary={secondary} create_secondary={create_secondary}"
    )
}

/// Makes table `number`, empty, marked as being loaded.
pub(super) fn create(plan: &DataPlan, number: u32) -> String {
    let count = if plan.auto_inc { " AUTO_INCREMENT" } else { "" };
    let key = if plan.secondary { "KEY xid" } else { "PRIMARY KEY" };
    let text = if is_bulk(plan) {
        ""
    } else {
        "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, "
    };
    let options = family::spoken().table_options(plan.engine.as_deref(), &comment(plan, State::Loading));
    format!(
        "CREATE TABLE {}(id INTEGER NOT NULL{count}, k INTEGER DEFAULT '0' NOT NULL, {text}{key} \
         (id)){options}",
        name(number)
    )
}

/// Makes the index on `k`.
pub(super) fn create_index(number: u32) -> String {
    format!("CREATE INDEX {} ON {}(k)", index(number), name(number))
}

/// Name of the index on `k`.
pub(super) fn index(number: u32) -> String {
    format!("k_{number}")
}

/// Marks the table as complete.
pub(super) fn mark_complete(plan: &DataPlan, number: u32) -> String {
    family::spoken().set_comment(&name(number), &comment(plan, State::Complete))
}

/// Whether the layout is that of `bulk_insert`: two columns, never with rows.
pub(super) fn is_bulk(plan: &DataPlan) -> bool {
    plan.generator == "bulk_insert"
}

/// Rows that each table is loaded with.
pub(super) fn rows(plan: &DataPlan) -> u64 {
    if plan.generator == "sysbench" { plan.rows } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> DataPlan {
        DataPlan { seed: 42, ..crate::workload::data("oltp_read_only", &Default::default()).unwrap() }
    }

    #[test]
    fn a_table_is_known_by_everything_that_its_contents_depend_on() {
        let same = comment(&plan(), State::Complete);
        assert_eq!(kinship(&same, &plan()), Kinship::Same(State::Complete));
        assert_eq!(kinship(&comment(&plan(), State::Loading), &plan()), Kinship::Same(State::Loading));
        for other in [
            DataPlan { seed: 43, ..plan() },
            DataPlan { rows: 9_999, ..plan() },
            DataPlan { engine: Some("MyISAM".to_owned()), ..plan() },
            DataPlan { create_secondary: false, ..plan() },
            DataPlan { auto_inc: false, ..plan() },
            DataPlan { secondary: true, ..plan() },
            DataPlan { k: Distribution::Pareto { h: 0.2 }, ..plan() },
        ] {
            assert_eq!(kinship(&same, &other), Kinship::Other, "{other:?}");
        }
        assert_eq!(kinship("", &plan()), Kinship::Foreign);
        assert_eq!(kinship("pronyx", &plan()), Kinship::Foreign);
        assert_eq!(kinship("VIEW", &plan()), Kinship::Foreign);
        assert_eq!(kinship("prony 9 complete of a later version", &plan()), Kinship::Other);
        assert!(same.len() < 1024, "what a table's comment can be in every server");
    }

    #[test]
    fn only_names_that_a_data_set_can_have_are_its_own() {
        assert_eq!(number("sbtest12"), Some(12));
        for not_ours in ["sbtest", "sbtest0", "sbtest01", "sbtest1x", "xsbtest1", "sbtest99999999999"] {
            assert_eq!(number(not_ours), None, "{not_ours}");
        }
    }
}
