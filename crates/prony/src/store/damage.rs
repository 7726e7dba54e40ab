//! What is wrong with the bytes of a store.

/// Why bytes cannot be read back, and of what they are.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// They are not what zlib made, or more than anything of a run.
    #[error(transparent)]
    Packed(#[from] std::io::Error),
    /// They do not say what they should.
    #[error(transparent)]
    Value(#[from] serde_json::Error),
    /// SQLite finds them broken.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Columns do not hold what their beginning promises.
    #[error("the columns of a table are cut short or mixed up")]
    Columns,
    /// A table is to have more values than so few bytes can hold.
    #[error("{rows} rows of {values} values are more than its bytes can hold")]
    TooMany {
        /// Rows.
        rows: usize,
        /// Values of each.
        values: usize,
    },
    /// A trial has fewer seconds than it should.
    #[error("the seconds of a trial are cut short")]
    Seconds,
    /// A histogram is none.
    #[error("a histogram cannot be read")]
    Histogram,
    /// A histogram is not there.
    #[error("a histogram is missing")]
    NoHistogram,
    /// Reading it ended in a way that nobody foresaw.
    #[error("it cannot be read")]
    Unreadable,
    /// A run would fill the memory.
    #[error("its parts unpack to {mebibytes} MiB, more than any run")]
    TooLarge {
        /// What it comes to, MiB.
        mebibytes: u64,
    },
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// Bytes are not those that were written.
    #[error("the checksum is wrong")]
    Checksum,
    /// A run is not what was written.
    #[error("run {0}: the checksum is wrong, or a part of it is missing")]
    Run(i64),
    /// The list of runs is not what was written.
    #[error("the list of runs: a run is missing")]
    Runs,
    /// It is of a trial.
    #[error("{what} of trial {trial}: {damage}")]
    OfTrial {
        /// Which part of it.
        what: &'static str,
        /// The trial.
        trial: u32,
        /// What is wrong.
        damage: Box<Damage>,
    },
    /// It is of a run.
    #[error("run {run}, {what}: {damage}")]
    OfRun {
        /// The run.
        run: i64,
        /// Which part of it.
        what: String,
        /// What is wrong.
        damage: Box<Damage>,
    },
}

impl Damage {
    /// The same of a part of a trial.
    pub(super) fn of_trial(self, what: &'static str, trial: u32) -> Self {
        Self::OfTrial { what, trial, damage: Box::new(self) }
    }

    /// The same of a part of a run.
    pub(super) fn of_run(self, run: i64, what: impl Into<String>) -> Self {
        Self::OfRun { run, what: what.into(), damage: Box::new(self) }
    }
}
