//! What the statements of a workload write, and into which tables: the one judge of that. What cannot be told
//! from the text (a procedure call, an unknown statement) is reported as such: whoever guards tables refuses
//! it, and whoever restores data takes it for a change.
//!
//! It errs on the safe side: of several tables that one UPDATE or DELETE joins, all count as written.

use super::{
    Effect, Name, Writes, find, names,
    tokens::{NUMBER, Token, VALUE, tokens},
};
use crate::layout::tpcc;
use load::spec::{Piece, Step, Stream, Workload};

/// Statements that write into no table, by their first word.
const READING: [&str; 22] = [
    "CHECK",
    "CHECKSUM",
    "COMMIT",
    "DESC",
    "DESCRIBE",
    "DO",
    "EXPLAIN",
    "FLUSH",
    "HANDLER",
    "HELP",
    "KILL",
    "LOCK",
    "RELEASE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SHOW",
    "TABLE",
    "UNLOCK",
    "VALUE",
    "VALUES",
    "XA",
];
/// Words that stand between a verb and the table that it is about.
const MODIFIERS: [&str; 10] = [
    "DELAYED",
    "FROM",
    "HIGH_PRIORITY",
    "IGNORE",
    "INTO",
    "LOCAL",
    "LOW_PRIORITY",
    "NO_WRITE_TO_BINLOG",
    "QUICK",
    "TABLE",
];

/// What streams that run together write into.
#[must_use]
pub fn written_by(streams: &[Stream]) -> Writes {
    let working = streams.iter().filter(|stream| stream.connections > 0);
    working.map(|stream| writes(&stream.workload)).fold(Writes::default(), Writes::and)
}

/// What `workload` writes into.
pub(super) fn writes(workload: &Workload) -> Writes {
    if let Some(script) = workload.script() {
        let mut writes = Writes::default();
        writes.untold.insert(format!("what the script {} sends", script.file));
        return writes;
    }
    texts(workload).map(|text| of_text(&text, workload.tables).1).fold(Writes::default(), Writes::and)
}

/// What a workload does to the data; where statements do different things, the one that changes most.
/// Anything unknown (`CALL`, say) counts as a change.
#[must_use]
pub fn effect(workload: &Workload) -> Effect {
    match find(&workload.name) {
        Ok(builtin) => builtin.effect,
        Err(_) if workload.script().is_some() => Effect::Changes,
        Err(_) => texts(workload).map(|text| of_text(&text, 1).0).max().unwrap_or(Effect::Reads),
    }
}

/// Whether a statement changes nothing and returns rows.
#[must_use]
pub fn only_reads(text: &str) -> bool {
    let Ok(tokens) = tokens(text, true) else { return false };
    let first = tokens.iter().find(|token| **token != Token::Sign('('));
    let is_query = first.is_some_and(|first| first.is("SELECT") || first.is("WITH"));
    is_query && of_text(text, 1).0 == Effect::Reads
}

/// Whether a workload makes tables, so that what there is depends on what it has done.
#[must_use]
pub fn makes_tables(workload: &Workload) -> bool {
    texts(workload).any(|text| names::made(&text).is_some())
}

/// The text of each statement.
pub(super) fn texts(workload: &Workload) -> impl Iterator<Item = String> {
    workload.steps().filter_map(|step| match step {
        Step::Draw { .. } | Step::Repeat { .. } | Step::If { .. } => None,
        Step::Statement(statement) => Some(text(&statement.pieces)),
        Step::BulkRow { head, .. } => Some(text(head)),
    })
}

/// The text of a statement, with signs where tables' numbers and values are put in.
pub(super) fn text(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Sql(text) => text.clone(),
        Piece::Table(_) => NUMBER.to_string(),
        Piece::Parameter(_) | Piece::Inline(_) => VALUE.to_string(),
    };
    pieces.iter().map(piece).collect()
}

/// Tables that a call of one of Prony's own procedures writes into.
pub(super) fn called(text: &str) -> Option<&'static [&'static str]> {
    let name = text.trim_start().strip_prefix("CALL ")?.split('(').next()?;
    tpcc::written_by(name.trim())
}

/// What one statement does and writes into: with what stands in comments that only some servers execute, and
/// without.
fn of_text(text: &str, tables: u32) -> (Effect, Writes) {
    let (mut effect, mut writes) = (Effect::Reads, Writes::default());
    if let Some(tables) = called(text) {
        let effect = if tables.is_empty() { Effect::Reads } else { Effect::Changes };
        let table = |name: &&str| Name { database: None, name: (*name).to_owned() };
        writes.tables.extend(tables.iter().map(table));
        return (effect, writes);
    }
    for executed in [true, false] {
        let told = tokens(text, executed).ok().and_then(|tokens| {
            let (own, mut names) = targets(&tokens)?;
            let counted_on = sequences(&tokens)?;
            effect = effect.max(own);
            if !counted_on.is_empty() {
                effect = effect.max(Effect::Changes);
            }
            names.extend(counted_on);
            writes.calls.extend(calls(&tokens));
            Some(names)
        });
        match told {
            Some(names) => {
                writes.tables.extend(names.into_iter().flat_map(|name| numbered(name, tables)));
            }
            None => {
                effect = effect.max(Effect::Changes);
                let shown = text.replace(NUMBER, "{table}").replace(VALUE, "?");
                writes.untold.insert(shown.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    (effect, writes)
}

/// The name with each number of a table in it.
fn numbered(name: Name, tables: u32) -> Vec<Name> {
    if !name.name.contains(NUMBER) {
        return vec![name];
    }
    let with = |number: u32| Name { name: name.name.replace(NUMBER, &number.to_string()), ..name.clone() };
    (1..=tables.max(1)).map(with).collect()
}

/// Names before an opening parenthesis.
fn calls(tokens: &[Token]) -> Vec<Name> {
    let mut calls = Vec::new();
    for at in 0..tokens.len() {
        let mut cursor = Cursor { tokens, at };
        if at > 0 && tokens[at - 1] == Token::Sign('.') {
            continue;
        }
        if let Some(name) = cursor.name().filter(|_| cursor.peek() == Some(&Token::Sign('('))) {
            calls.push(name);
        }
    }
    calls
}

/// Sequences that are counted on, which is a write. `None`: it cannot be told which.
fn sequences(tokens: &[Token]) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    for at in 0..tokens.len() {
        let mut cursor = Cursor { tokens, at };
        if cursor.word(&["NEXTVAL", "SETVAL"]) {
            if !cursor.sign('(') || (at > 0 && tokens[at - 1] == Token::Sign('.')) {
                return None;
            }
            names.push(cursor.name()?);
        } else if cursor.word(&["NEXT"]) && cursor.word(&["VALUE"]) && cursor.word(&["FOR"]) {
            names.push(cursor.name()?);
        }
    }
    Some(names)
}

/// What a statement does, and the tables that it may write into; `None`: it cannot be told.
fn targets(tokens: &[Token]) -> Option<(Effect, Vec<Name>)> {
    let mut cursor = Cursor { tokens, at: 0 };
    if let Some(end) = tokens.iter().position(|token| *token == Token::Sign(';')) {
        // Behind it another statement would begin.
        return if end + 1 == tokens.len() { targets(&tokens[..end]) } else { None };
    }
    while cursor.sign('(') {}
    let reads = || Some((Effect::Reads, Vec::new()));
    let Some(verb) = cursor.any_word() else { return tokens.is_empty().then(reads).flatten() };
    let has = |word: &str| tokens.iter().any(|token| token.is(word));
    let one = |mut cursor: Cursor<'_>| cursor.modifiers().name().map(|name| vec![name]);
    let names = match verb.as_str() {
        "SELECT" if has("OUTFILE") || has("DUMPFILE") => None,
        "EXPLAIN" | "DESC" | "DESCRIBE" if has("ANALYZE") => return cursor.behind_explain(),
        "ANALYZE" if cursor.clone().modifiers().at == cursor.at => return cursor.behind_explain(),
        "ANALYZE" => return reads(),
        "BEGIN" => return (cursor.word(&["WORK"]) || cursor.at_end()).then(reads).flatten(),
        "START" => return cursor.word(&["TRANSACTION"]).then(reads).flatten(),
        "SET" if cursor.word(&["STATEMENT"]) => return cursor.behind("FOR").and_then(targets),
        "SET" => {
            let for_others = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD"].into_iter().any(has);
            return if for_others { None } else { reads() };
        }
        "WITH" => return cursor.main_verb().and_then(targets),
        verb if READING.contains(&verb) => return reads(),
        "INSERT" | "REPLACE" | "TRUNCATE" => one(cursor),
        "UPDATE" => cursor.modifiers().joined(&["SET"]),
        "DELETE" => cursor.modifiers().deleted(),
        "LOAD" => cursor.behind("INTO").and_then(|tokens| one(Cursor { tokens, at: 0 })),
        "OPTIMIZE" | "REPAIR" => cursor.modifiers().listed(),
        "CREATE" | "ALTER" | "DROP" => cursor.defined(has("RENAME") || has("EXCHANGE") || has("UNION")),
        _ => None,
    }?;
    let effect = match verb.as_str() {
        // a table that only this connection sees
        _ if names.is_empty() => Effect::Reads,
        "INSERT" | "REPLACE" | "LOAD" => Effect::Adds,
        "DELETE" | "TRUNCATE" | "DROP" => Effect::Removes,
        _ => Effect::Changes,
    };
    Some((effect, names))
}

/// A place in a statement.
#[derive(Clone)]
struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// Takes one of these keywords.
    fn word(&mut self, keywords: &[&str]) -> bool {
        let is_one = self.peek().is_some_and(|token| keywords.iter().any(|word| token.is(word)));
        self.at += usize::from(is_one);
        is_one
    }

    fn sign(&mut self, sign: char) -> bool {
        let is_it = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_it);
        is_it
    }

    /// Takes a word, which it gives in capitals.
    fn any_word(&mut self) -> Option<String> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        self.at += 1;
        Some(word.to_ascii_uppercase())
    }

    fn modifiers(&mut self) -> &mut Self {
        while self.word(&MODIFIERS) {}
        self
    }

    /// Takes a name with or without its database.
    fn name(&mut self) -> Option<Name> {
        let first = self.part()?;
        if !self.sign('.') {
            return Some(Name { database: None, name: first });
        }
        Some(Name { database: Some(first), name: self.part()? })
    }

    fn part(&mut self) -> Option<String> {
        let (Token::Word(part) | Token::Quoted(part)) = self.peek()? else { return None };
        self.at += 1;
        Some(part.clone())
    }

    /// Names with commas between them.
    fn listed(&mut self) -> Option<Vec<Name>> {
        self.word(&["TABLES"]);
        let mut names = vec![self.name()?];
        while self.sign(',') {
            names.push(self.name()?);
        }
        Some(names)
    }

    /// What stands behind the next keyword `word`, parentheses skipped.
    fn behind(&mut self, word: &str) -> Option<&'a [Token]> {
        while !self.at_end() {
            if self.word(&[word]) {
                return Some(&self.tokens[self.at..]);
            }
            self.skip();
        }
        None
    }

    /// The statement behind the common table expressions.
    fn main_verb(&mut self) -> Option<&'a [Token]> {
        while !self.at_end() {
            if self.clone().word(&["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "TABLE", "VALUES"]) {
                return Some(&self.tokens[self.at..]);
            }
            self.skip();
        }
        None
    }

    /// What is explained and executed for it.
    fn behind_explain(&mut self) -> Option<(Effect, Vec<Name>)> {
        while !self.at_end() {
            if self.clone().word(&["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE"]) {
                return targets(&self.tokens[self.at..]);
            }
            self.at += 1;
        }
        None
    }

    /// Takes one part, or all that stands in parentheses.
    fn skip(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.peek() {
            self.at += 1;
            match token {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') => depth -= 1,
                _ => {}
            }
            if depth <= 0 {
                return;
            }
        }
    }

    /// Every table of a join, up to one of the keywords `ends`.
    fn joined(&mut self, ends: &[&str]) -> Option<Vec<Name>> {
        let (mut names, mut expected) = (Vec::new(), true);
        while !self.at_end() && !self.clone().word(ends) {
            if !expected {
                expected = self.clone().sign(',') || self.clone().word(&["JOIN", "STRAIGHT_JOIN"]);
                self.skip();
            } else if self.sign('(') {
                if self.clone().word(&["SELECT", "WITH", "TABLE", "VALUES"]) {
                    // a derived table; nothing can be written into it
                    self.at -= 1;
                    self.skip();
                    expected = false;
                }
            } else {
                names.push(self.name()?);
                expected = false;
            }
        }
        (!names.is_empty()).then_some(names)
    }

    /// The tables of a DELETE, whose modifiers are behind us. Where it names several, they may be aliases of
    /// those that it joins, so that all of these count.
    fn deleted(&mut self) -> Option<Vec<Name>> {
        const ENDS: [&str; 5] = ["WHERE", "ORDER", "LIMIT", "RETURNING", "PARTITION"];
        let is_behind_from = self.tokens[self.at - 1].is("FROM");
        match self.clone().behind(if is_behind_from { "USING" } else { "FROM" }) {
            Some(tokens) => Cursor { tokens, at: 0 }.joined(&ENDS),
            None if is_behind_from => self.joined(&ENDS),
            None => None,
        }
    }

    /// What CREATE, ALTER and DROP are about; `moved`: possibly more than they name first.
    fn defined(&mut self, moved: bool) -> Option<Vec<Name>> {
        while self.word(&["OR", "REPLACE", "ONLINE", "OFFLINE", "IGNORE", "UNIQUE", "FULLTEXT", "SPATIAL"]) {}
        let is_temporary = self.word(&["TEMPORARY"]);
        if self.word(&["INDEX"]) {
            return self.behind("ON").and_then(|tokens| Cursor { tokens, at: 0 }.listed());
        }
        if moved || !self.word(&["TABLE", "TABLES"]) {
            return None;
        }
        while self.word(&["IF", "NOT", "EXISTS"]) {}
        let names = self.listed()?;
        Some(if is_temporary { Vec::new() } else { names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `db.name`s, or `?` where it cannot be told.
    fn of(sql: &str) -> String {
        let (effect, writes) = of_text(&sql.replace("{table}", &NUMBER.to_string()), 2);
        let is_written = !writes.tables.is_empty() || !writes.untold.is_empty();
        assert_eq!(effect != Effect::Reads, is_written, "{sql}: what it does and into what, as one says it");
        let name = |name: &Name| {
            [name.database.as_deref(), Some(name.name.as_str())]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(".")
        };
        let untold = writes.untold.iter().map(|_| "?".to_owned());
        writes.tables.iter().map(name).chain(untold).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn statements_that_only_read_write_nowhere() {
        for sql in [
            "SELECT c FROM t WHERE id = 1 FOR UPDATE",
            "(SELECT 1) UNION (SELECT 'DELETE FROM t')",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "SELECT /*!40001 SQL_NO_CACHE */ replace(a, 'b', 'c') FROM t",
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "COMMIT",
            "SET @a = 1",
            "SET SESSION sort_buffer_size = 1",
            "EXPLAIN UPDATE t SET a = 1",
            "ANALYZE TABLE t",
            "CREATE TEMPORARY TABLE t (a INT)",
            "-- nothing",
            "",
        ] {
            assert_eq!(of(sql), "", "{sql}");
        }
    }

    #[test]
    fn the_tables_that_a_statement_writes_into_are_found() {
        for (sql, tables) in [
            ("INSERT INTO sbtest{table} (a) VALUES (1)", "sbtest1 sbtest2"),
            ("insert low_priority ignore `a b`.`c``d` set x = 1", "a b.c`d"),
            ("REPLACE t SELECT * FROM other", "t"),
            ("UPDATE t SET a = (SELECT 1 FROM u)", "t"),
            ("UPDATE a.t AS x JOIN (SELECT 1) y, u SET x.a = 1", "u a.t"),
            ("UPDATE a JOIN b ON f(a.x, b.y) AND a.z SET a.x = 1", "a b"),
            ("DELETE FROM t WHERE a IN (SELECT a FROM u)", "t"),
            ("DELETE QUICK x FROM t AS x INNER JOIN u USING (id) WHERE 1", "t u"),
            ("DELETE FROM x USING t AS x JOIN u", "t u"),
            ("TRUNCATE TABLE t", "t"),
            ("LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t FIELDS TERMINATED BY ','", "t"),
            ("DROP TABLE IF EXISTS a, b.c", "a b.c"),
            ("ALTER TABLE t ADD COLUMN a INT", "t"),
            ("CREATE UNIQUE INDEX i ON t (a)", "t"),
            ("/* hint */ # more\n -- and more\n delete from t", "t"),
            ("/*!99999 SELECT 1, */ DELETE FROM t", "t"),
            ("/*!50000 DELETE FROM t */", "t"),
            ("WITH a AS (SELECT 1) DELETE FROM t WHERE b = 1", "t"),
            ("SET STATEMENT max_statement_time = 1 FOR DELETE FROM t", "t"),
            ("ANALYZE FORMAT=JSON DELETE FROM t", "t"),
            ("EXPLAIN ANALYZE DELETE FROM t", "t"),
            ("SELECT NEXTVAL(s)", "s"),
            ("INSERT INTO t VALUES (NEXT VALUE FOR d.s)", "t d.s"),
            ("OPTIMIZE TABLE a, b", "a b"),
        ] {
            assert_eq!(of(sql), tables, "{sql}");
        }
    }

    #[test]
    fn statements_are_known_by_what_they_do_wherever_their_verb_stands() {
        for (sql, effect) in [
            ("SELECT c FROM t WHERE id = 1 FOR UPDATE", Effect::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Effect::Reads),
            ("EXPLAIN DELETE FROM t", Effect::Reads),
            ("SET STATEMENT max_statement_time = 1 FOR SELECT 1", Effect::Reads),
            (" /* hint */ update t set k = 1", Effect::Changes),
            ("SELECT NEXTVAL(s)", Effect::Changes),
            ("CALL pay(1)", Effect::Changes),
            ("insert into t values (1)", Effect::Adds),
            ("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", Effect::Adds),
            ("Delete From t", Effect::Removes),
            ("/*!50000 DELETE FROM t */", Effect::Removes),
            ("SET STATEMENT max_statement_time = 1 FOR DELETE FROM t", Effect::Removes),
            ("ANALYZE DELETE FROM t", Effect::Removes),
            ("ANALYZE FORMAT=JSON DELETE FROM t", Effect::Removes),
            ("WITH a AS (SELECT 1) DELETE FROM t", Effect::Removes),
        ] {
            assert_eq!(of_text(sql, 1).0, effect, "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_said_to_be_so() {
        for sql in [
            "CALL pay(1)",
            "EXECUTE p",
            "PREPARE p FROM 'DELETE FROM t'",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "SELECT 1; DELETE FROM t",
            "RENAME TABLE a TO b",
            "ALTER TABLE a RENAME TO b",
            "DROP DATABASE d",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "SET GLOBAL max_connections = 1",
            "SET @@global.max_connections = 1",
            "USE other",
            "SELECT 1 INTO OUTFILE '/tmp/x'",
            "GRANT ALL ON *.* TO x",
            "SELECT 'not closed",
        ] {
            assert!(of(sql).ends_with('?'), "{sql}: {}", of(sql));
        }
    }

    #[test]
    fn what_is_called_is_named() {
        let writes = of_text("SELECT pay(1), d.pay (2), `p`(3) FROM t WHERE a IN (1)", 1).1;
        let names: Vec<&str> = writes.calls.iter().map(|name| name.name.as_str()).collect();
        assert_eq!(names, ["IN", "p", "pay", "pay"]);
        assert!(writes.calls.contains(&Name { database: Some("d".into()), name: "pay".into() }));
    }

    #[test]
    fn built_in_workloads_write_into_their_own_tables_alone() {
        let forms = crate::workload::list().iter().map(|builtin| (builtin, false));
        let calls = crate::layout::tpcc::BUILTINS.iter().map(|builtin| (builtin, true));
        for (builtin, procedures) in forms.chain(calls) {
            let options = crate::workload::Options { tables: 2, procedures, ..Default::default() };
            let made = crate::workload::builtin(builtin.name, &options).expect("a workload");
            let writes = writes(&made);
            let names: Vec<&str> = writes.tables.iter().map(|name| name.name.as_str()).collect();
            let expected: &[&str] = match builtin.effect {
                crate::workload::Effect::Reads => &[],
                _ if crate::workload::is_tpcc(builtin.name) => &[
                    "customer",
                    "district",
                    "history",
                    "new_order",
                    "order_line",
                    "orders",
                    "stock",
                    "warehouse",
                ],
                _ if crate::layout::neighbours::find(builtin.name).is_some() => &["prony_neighbour"],
                _ => &["sbtest1", "sbtest2"],
            };
            assert_eq!(names, expected, "{}", builtin.name);
            assert!(writes.untold.is_empty(), "{:?}", writes.untold);
        }
    }
}
