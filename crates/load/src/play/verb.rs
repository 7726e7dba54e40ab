//! What a statement of a script does, by its first word: the kinds under which its statements are counted.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// SELECT, also behind WITH.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// REPLACE.
    Replace,
    /// CALL.
    Call,
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// Anything else.
    Other,
}

impl Verb {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Select,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Replace,
        Self::Call,
        Self::Begin,
        Self::Commit,
        Self::Rollback,
        Self::Other,
    ];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Call => "call",
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Other => "other",
        }
    }

    /// The verb of a statement.
    #[must_use]
    pub fn of(mut sql: &[u8]) -> Self {
        loop {
            sql = sql.trim_ascii_start();
            let comment = sql.strip_prefix(b"/*").and_then(|rest| {
                let end = rest.windows(2).position(|pair| pair == b"*/")?;
                Some(&rest[end + 2..])
            });
            match (comment, sql.strip_prefix(b"(")) {
                (Some(rest), _) | (None, Some(rest)) => sql = rest,
                (None, None) => break,
            }
        }
        let end = sql.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(sql.len());
        let is = |word: &&str| sql[..end].eq_ignore_ascii_case(word.as_bytes());
        match Self::ALL.iter().find(|verb| is(&verb.name())) {
            Some(verb) => *verb,
            None if is(&"with") => Self::Select,
            None if is(&"start") => Self::Begin,
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_word() {
        for (sql, verb) in [
            ("SELECT 1", Verb::Select),
            (" \n(select 1) union (select 2)", Verb::Select),
            ("/* a */ /*b*/ Update t SET a = 1", Verb::Update),
            ("with a as (select 1) select * from a", Verb::Select),
            ("START TRANSACTION", Verb::Begin),
            ("BEGIN", Verb::Begin),
            ("commit", Verb::Commit),
            ("REPLACE INTO t VALUES (1)", Verb::Replace),
            ("SET @a = 1", Verb::Other),
            ("", Verb::Other),
            ("/* open", Verb::Other),
            ("other", Verb::Other),
        ] {
            assert_eq!(Verb::of(sql.as_bytes()), verb, "{sql}");
        }
        for (number, verb) in Verb::ALL.into_iter().enumerate() {
            assert_eq!(verb as usize, number);
        }
    }
}
