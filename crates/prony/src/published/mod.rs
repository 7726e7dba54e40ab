//! What published evaluations measured, as reference data beside what is measured here: files of figures
//! (`studies/published/*.csv`) with their conditions, their source and a mapping to the levels of a study
//! (`studies/published/STUDY.toml`). Absolute figures of other machines say nothing about this one; ratios
//! and shapes do, and claims taken from an evaluation must hold on its own figures.
//!
//! Figures are checked when they are read: a rate times its time is the number of rows that were asked for,
//! and a closed loop keeps Little's law. Figures that break these rules are reported, with their row, and
//! never corrected.

mod check;
mod claims;

#[cfg(test)]
mod tests;

pub use check::{Law, Remark};
pub use claims::{Held, judge};

use crate::{
    plan::{Metric, Plan},
    study,
};
use check::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The published figures of one study.
#[derive(Debug, Clone)]
pub struct Published {
    /// Whose evaluation it was, and of what.
    pub source: String,
    /// Machine, servers, data and load, one sentence each.
    pub conditions: Vec<String>,
    /// Levels of the study whose server or setting stands for another one that was measured: which one.
    pub stands_for: BTreeMap<String, String>,
    /// The factor whose levels are compared with each other, and the level that others are divided by.
    pub compared: (String, String),
    /// Every figure, in the order of files, rows and columns.
    pub figures: Vec<Figure>,
    /// What does not agree with itself.
    pub remarks: Vec<Remark>,
}

/// One published number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// For each factor of the study that the evaluation knows, the level.
    pub levels: BTreeMap<String, String>,
    /// As a claim names it: `throughput` and `statements` (per second), `p95` and others in ms, `active` in
    /// s, `cpu_idle` as a share.
    pub metric: Metric,
    /// Its value.
    pub value: f64,
    /// Where it stands.
    pub at: Place,
}

/// A cell of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The file, below `studies/published`.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// The column's name.
    pub column: String,
}

/// Why reference data cannot be read. They are part of the program, so that only a developer sees this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mapping of a study is wrong.
    #[error("studies/published/{study}.toml: {error}")]
    Mapping {
        /// Its study.
        study: String,
        /// What is wrong.
        error: toml::de::Error,
    },
    /// A file that the mapping names is not part of the program.
    #[error("studies/published/{study}.toml names {file}, which is not among the files of figures")]
    NoFile {
        /// The study.
        study: String,
        /// The file.
        file: String,
    },
    /// A file is no table.
    #[error("studies/published/{file}: {error}")]
    Table {
        /// The file.
        file: String,
        /// What is wrong.
        error: csv::Error,
    },
    /// A column that the mapping names is missing.
    #[error("studies/published/{file} has no column `{column}`")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A cell that should be a number.
    #[error("studies/published/{}, line {}, {}: `{text}` is not a number", at.file, at.line, at.column)]
    NoNumber {
        /// Which.
        at: Place,
        /// What stands there.
        text: String,
    },
}

/// The file of `studies/published` by that name.
macro_rules! published {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../studies/published/", $name)))
    };
}

/// Every file; mappings bear the name of their study.
static FILES: &[(&str, &str)] = &[
    published!("background-pressure.csv"),
    published!("background-pressure.toml"),
    published!("connection-modes.csv"),
    published!("connection-modes.toml"),
    published!("generations-keynote.csv"),
    published!("generations.toml"),
    published!("instance-sizes.csv"),
    published!("instance-sizes.toml"),
    published!("many-tables.csv"),
    published!("many-tables.toml"),
    published!("scan-and-index.csv"),
    published!("scan-and-index.toml"),
    published!("strong-sync.csv"),
    published!("strong-sync.toml"),
    published!("threadpool-read-only-response.csv"),
    published!("threadpool-throughput.csv"),
    published!("threadpool-update-response.csv"),
    published!("threadpool.toml"),
];

fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Names of the studies that have published figures.
pub fn studies() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(name, _)| name.strip_suffix(".toml"))
}

/// The published figures of the built-in study that a plan was made from; `None`: it is another, or has none.
#[must_use]
pub fn of_plan(plan: &Plan) -> Option<Published> {
    // a file of the user's own may bear the name of a study that Prony brings along
    let is_builtin = study::builtin().iter().any(|known| known.text == plan.study_text);
    is_builtin.then(|| of(&plan.name).ok().flatten()).flatten()
}

/// The published figures of a study; `None`: it has none.
///
/// # Errors
/// Where the reference data contradict their mapping: a defect of the program, which a test finds.
pub fn of(study: &str) -> Result<Option<Published>, Error> {
    let Some(text) = file(&format!("{study}.toml")) else { return Ok(None) };
    let mapping: Mapping =
        toml::from_str(text).map_err(|error| Error::Mapping { study: study.to_owned(), error })?;
    let Mapping { source, conditions, stands_for, compared, table } = mapping;
    let (mut figures, mut remarks) = (Vec::new(), Vec::new());
    for table in &table {
        let sheet = Sheet::read(study, &table.file)?;
        figures.extend(table.figures(&sheet)?);
        for check in &table.check {
            remarks.extend(check.remarks(&sheet)?);
        }
    }
    Ok(Some(Published { source, conditions, stands_for, compared, figures, remarks }))
}

/// `studies/published/STUDY.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mapping {
    source: String,
    conditions: Vec<String>,
    #[serde(default)]
    stands_for: BTreeMap<String, String>,
    compared: (String, String),
    table: Vec<Table>,
}

/// One file and what its columns are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    file: String,
    /// Levels that all of its figures have.
    #[serde(default)]
    at: BTreeMap<String, String>,
    /// For each factor, the column in which its level stands.
    #[serde(default)]
    levels: BTreeMap<String, String>,
    /// For each factor, what its levels are called in the study where that differs.
    #[serde(default)]
    names: BTreeMap<String, BTreeMap<String, String>>,
    figure: Vec<Column>,
    #[serde(default)]
    check: Vec<Check>,
}

/// A column of figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    column: String,
    metric: Metric,
    /// Whether it is a share, written in per cent.
    #[serde(default)]
    percent: bool,
    /// Levels that the figures of this column have.
    #[serde(default)]
    at: BTreeMap<String, String>,
}

impl Table {
    fn figures(&self, sheet: &Sheet) -> Result<Vec<Figure>, Error> {
        let mut figures = Vec::new();
        for row in &sheet.rows {
            let mut levels = self.at.clone();
            for (factor, column) in &self.levels {
                let text = sheet.text(row, column)?;
                let name = self.names.get(factor).and_then(|names| names.get(text));
                levels.insert(factor.clone(), name.map_or(text, String::as_str).to_owned());
            }
            for Column { column, metric, percent, at } in &self.figure {
                let levels = levels.clone().into_iter().chain(at.clone()).collect();
                if let Some(value) = sheet.number(row, column)? {
                    let at = sheet.place(row, column);
                    let value = if *percent { value / 100.0 } else { value };
                    figures.push(Figure { levels, metric: *metric, value, at });
                }
            }
        }
        Ok(figures)
    }
}

/// A file of figures.
#[derive(Debug)]
struct Sheet {
    file: String,
    columns: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl Sheet {
    fn read(study: &str, name: &str) -> Result<Self, Error> {
        let missing = || Error::NoFile { study: study.to_owned(), file: name.to_owned() };
        let text = file(name).ok_or_else(missing)?;
        let failed = |error| Error::Table { file: name.to_owned(), error };
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let columns = reader.headers().map_err(failed)?.clone();
        let rows = reader.records().collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { file: name.to_owned(), columns, rows })
    }

    fn text<'a>(&self, row: &'a csv::StringRecord, column: &str) -> Result<&'a str, Error> {
        let index = self.columns.iter().position(|known| known == column);
        let missing = || Error::NoColumn { file: self.file.clone(), column: column.to_owned() };
        index.and_then(|index| row.get(index)).ok_or_else(missing)
    }

    /// `None`: the cell is empty.
    fn number(&self, row: &csv::StringRecord, column: &str) -> Result<Option<f64>, Error> {
        let text = self.text(row, column)?;
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |_| Error::NoNumber { at: self.place(row, column), text: text.to_owned() };
        text.parse().map(Some).map_err(wrong)
    }

    fn place(&self, row: &csv::StringRecord, column: &str) -> Place {
        let line = row.position().map_or(0, csv::Position::line);
        Place { file: self.file.clone(), line, column: column.to_owned() }
    }
}
