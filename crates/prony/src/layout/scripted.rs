//! What the `prepare` command of a Lua script creates. Only the script knows its tables; a small table of
//! Prony's beside them says that they are there and what they were made from.

use super::{Column, Contents, Layout, Rows, Sent, Table, Undrawn};
use crate::language::{Language, say};
use load::spec::{Distribution, Draw, Script};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The table that tells of the others.
const TABLE: &str = "prony_script";

/// A data set of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The script, with the options that its `prepare` command is called with.
    pub script: Script,
    /// Seed of what it draws.
    pub seed: u64,
}

/// The one row of the table: 1.
#[derive(Debug)]
struct One;

impl Contents for One {
    fn write(&self, _: u64, rows: &mut Rows) {
        rows.integer(1);
    }
}

impl Data {
    /// What the tables depend on, in short.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        // a script is plain values, which JSON can write
        hash.update(serde_json::to_vec(&self.script).unwrap_or_default());
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Layout for Data {
    fn tables(&self) -> Vec<Table> {
        vec![Table {
            name: TABLE.to_owned(),
            rows: 1,
            columns: vec![Column { name: "id".to_owned(), sent: Sent::Int }],
            definition: "id INT NOT NULL, PRIMARY KEY (id)".to_owned(),
            engine: None,
            number: "id".to_owned(),
            indexes: Vec::new(),
            has_statistics: false,
            scans: Vec::new(),
            identity: format!("script table={TABLE} of={} seed={}", self.digest(), self.seed),
            charset: "utf8",
            row_bytes: 32,
            contents: Box::new(One),
        }]
    }

    fn about(&self, language: Language) -> String {
        let file = &self.script.file;
        say!(language, "what `prepare` of {file} makes", "{file} 的 `prepare` 所建的数据")
    }

    fn has_table(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(TABLE)
    }

    fn table_names(&self) -> Vec<String> {
        vec![TABLE.to_owned()]
    }

    fn columns(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn draw(&self, _: &str, _: &str, _: Distribution) -> Result<Draw, Undrawn> {
        Err(Undrawn::NoTable)
    }

    fn rows(&self) -> u64 {
        1
    }

    fn size_bytes(&self) -> u64 {
        0
    }

    fn has_unnamed(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Cell, Kinship, State};
    use load::spec::script::Value;

    #[test]
    fn tables_of_other_options_or_another_text_are_others() {
        let data = |scale: f64, text: &str| {
            let mut script = Script { file: "a.lua".to_owned(), text: text.to_owned(), ..Script::default() };
            script.set_option("scale", Value::Number(scale));
            Data { script, seed: 1 }.tables().remove(0)
        };
        let one = data(1.0, "x");
        assert_eq!(one.kinship(&data(1.0, "x").comment(State::Complete)), Kinship::Same(State::Complete));
        for other in [data(2.0, "x"), data(1.0, "y")] {
            assert_eq!(one.kinship(&other.comment(State::Complete)), Kinship::Other);
        }
        assert_eq!(one.kinship("somebody's"), Kinship::Foreign);
        let mut rows = Rows::default();
        one.contents.write(1, &mut rows);
        assert_eq!(rows.cells().collect::<Vec<_>>(), [Cell::Integer(1)]);
    }
}
