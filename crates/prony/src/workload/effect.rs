//! What a workload does to the data, where it is not a built-in one: by the first words of its statements.

use super::{Effect, find};
use load::spec::{Piece, Statement, Step, Workload};

/// Statements that change no row, by their first word.
const READING: [&str; 22] = [
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "DESC",
    "DESCRIBE",
    "DO",
    "EXPLAIN",
    "FLUSH",
    "HANDLER",
    "KILL",
    "LOCK",
    "RELEASE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "START",
    "TABLE",
    "UNLOCK",
    "USE",
    "VALUES",
];

/// What a workload does to the data; where statements do different things, what changes them most. What is
/// not known by its first word (`CALL`, say) counts as a change.
#[must_use]
pub fn effect(workload: &Workload) -> Effect {
    if let Ok(builtin) = find(&workload.name) {
        return builtin.effect;
    }
    let steps = workload.transactions.iter().flat_map(|transaction| &transaction.steps);
    steps.map(of_step).max().unwrap_or(Effect::Reads)
}

fn of_step(step: &Step) -> Effect {
    match step {
        Step::Draw { .. } => Effect::Reads,
        Step::Statement(statement) => of_statement(statement),
        Step::BulkRow { .. } => Effect::Adds,
    }
}

fn of_statement(statement: &Statement) -> Effect {
    let text: String = statement
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Sql(text) => text.as_str(),
            _ => " ",
        })
        .collect();
    let mut words = without_comments(&text);
    words.make_ascii_uppercase();
    let mut words =
        words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    match words.next() {
        None => Effect::Reads,
        Some("WITH") if !words.any(|word| ["DELETE", "UPDATE", "INSERT", "REPLACE"].contains(&word)) => {
            Effect::Reads
        }
        Some(first) if READING.contains(&first) => Effect::Reads,
        Some("INSERT" | "REPLACE" | "LOAD") => Effect::Adds,
        Some("DELETE" | "TRUNCATE") => Effect::Removes,
        Some(_) => Effect::Changes,
    }
}

fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        // What a server executes all the same begins with an exclamation mark.
        rest = match after.strip_prefix('!') {
            Some(executed) => executed,
            None => after.split_once("*/").map_or("", |(_, rest)| rest),
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Effect {
        of_statement(&Statement {
            kind: "it".to_owned(),
            pieces: vec![Piece::Sql(sql.to_owned())],
            text_only: false,
            keep: Vec::new(),
            expect: load::spec::Expect::default(),
        })
    }

    #[test]
    fn statements_are_known_by_what_they_do() {
        assert_eq!(of("SELECT c FROM sbtest1 WHERE id = 1 FOR UPDATE"), Effect::Reads);
        assert_eq!(of(" /* hint */ update sbtest1 set k = 1"), Effect::Changes);
        assert_eq!(of("insert into t values (1)"), Effect::Adds);
        assert_eq!(of("(SELECT 1)"), Effect::Reads);
        assert_eq!(of("/*!50000 DELETE FROM t */"), Effect::Changes);
        assert_eq!(of("Delete From t"), Effect::Removes);
        assert_eq!(of("CALL pay(1)"), Effect::Changes);
        assert_eq!(of("WITH a AS (SELECT 1) SELECT * FROM a"), Effect::Reads);
        assert_eq!(of("WITH a AS (SELECT 1) DELETE FROM t"), Effect::Changes);
    }
}
