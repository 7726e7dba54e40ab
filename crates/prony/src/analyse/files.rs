//! What servers changed when they loaded their data files, and what they warned of.

use crate::{
    run::{FileNote, Note},
    store::RunRecord,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What a server did with a line in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FromFile {
    /// Name of the server.
    pub server: String,
    /// `dump.sql:12`.
    pub place: String,
    /// Table, or table and column.
    pub subject: String,
    /// The aspect that differs: `collation`, `row_format`, ...; `warning`: the server's own words are in
    /// `here`.
    pub aspect: String,
    /// Its value on this server; empty: none.
    pub here: String,
    /// Its value on the other server; empty: none.
    pub there: String,
    /// The other server; `None`: the file itself.
    pub other: Option<String>,
}

/// All differences and warnings of a run, in the order in which servers were loaded.
#[must_use]
pub fn files(record: &RunRecord) -> Vec<FromFile> {
    let mut all: Vec<FromFile> = Vec::new();
    for note in &record.notes {
        let Note::Files { server, what } = note else { continue };
        let server = record.plan.servers[*server].name.clone();
        let name =
            |file: &std::path::Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let one = match what {
            FileNote::Warned(warning) => FromFile {
                server,
                place: format!("{}:{}", name(&warning.file), warning.line),
                subject: String::new(),
                aspect: "warning".to_owned(),
                here: warning.message.clone(),
                there: String::new(),
                other: None,
            },
            FileNote::Differs { difference, other } => FromFile {
                server,
                place: format!("{}:{}", name(&difference.file), difference.line),
                subject: difference.subject.clone(),
                aspect: difference.aspect.key().to_owned(),
                here: difference.here.clone(),
                there: difference.there.clone(),
                other: other.clone(),
            },
        };
        // a resumed run loads again
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}
