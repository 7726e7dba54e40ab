//! The options of mysqlslap: one table, from which the command line is read and `--help` is written.

use std::collections::BTreeMap;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Flag,
    /// A value, behind `=` or as the next word.
    Value,
    /// A value behind `=`, or nothing.
    Maybe,
}

use Kind::{Flag, Maybe, Value};

/// Name, letter, kind, default, sentence.
const OPTIONS: &[(&str, &str, Kind, &str, &str)] = &[
    ("auto-generate-sql", "a", Flag, "", "make table and statements"),
    ("auto-generate-sql-add-autoincrement", "", Flag, "", "the table gets an AUTO_INCREMENT column"),
    ("auto-generate-sql-execute-number", "", Value, "0", "statements of each client"),
    ("auto-generate-sql-guid-primary", "", Flag, "", "the table gets a primary key of UUIDs"),
    ("auto-generate-sql-load-type", "", Value, "mixed", "mixed, update, write, key or read"),
    ("auto-generate-sql-secondary-indexes", "", Value, "0", "unique columns beside the primary key"),
    ("auto-generate-sql-unique-query-number", "", Value, "10", "different SELECT and UPDATE statements"),
    ("auto-generate-sql-unique-write-number", "", Value, "10", "different INSERT statements of a load"),
    ("auto-generate-sql-write-number", "", Value, "100", "rows in the table before the load"),
    ("commit", "", Value, "0", "COMMIT after so many statements, autocommit is off then"),
    ("compress", "C", Flag, "", "compress the protocol"),
    ("concurrency", "c", Value, "1", "clients; a list runs one number after another"),
    ("create", "", Value, "", "statements, or a file of them, that make what is queried"),
    (
        "create-schema",
        "",
        Value,
        "mysqlslap",
        "schema that is made, used and dropped; one that exists is never dropped",
    ),
    ("csv", "", Maybe, "", "print lines of CSV, or append them to a file"),
    ("defaults-file", "", Value, "", "option file, in place of ~/.my.cnf"),
    ("delimiter", "F", Value, "\n", "character between statements"),
    ("detach", "", Value, "0", "connect anew after so many statements"),
    ("engine", "e", Value, "", "storage engines; a list runs one after another; engine:option"),
    ("help", "?", Flag, "", "print this text"),
    ("host", "h", Value, "localhost", "host"),
    ("init-command", "", Value, "", "statement that each connection begins with"),
    ("iterations", "i", Value, "1", "repeats of each run"),
    ("no-drop", "", Flag, "", "leave the schema that was made"),
    ("number-char-cols", "x", Value, "1", "VARCHAR columns; N:indexed for indexes"),
    ("number-int-cols", "y", Value, "1", "INT columns; N:indexed for indexes"),
    ("number-of-queries", "", Value, "0", "statements of all clients together"),
    ("only-print", "", Flag, "", "print what would be sent, and send nothing"),
    ("password", "p", Maybe, "", "password"),
    ("port", "P", Value, "3306", "port"),
    ("post-query", "", Value, "", "statements, or a file of them, after each run"),
    ("post-system", "", Value, "", "command after each run"),
    ("pre-query", "", Value, "", "statements, or a file of them, before each run"),
    ("pre-system", "", Value, "", "command before each run"),
    ("protocol", "", Value, "", "tcp or socket"),
    ("query", "q", Value, "", "statements, or a file of them"),
    ("silent", "s", Flag, "", "print nothing"),
    ("socket", "S", Value, "", "Unix socket"),
    ("ssl", "", Maybe, "", "TLS"),
    ("ssl-mode", "", Value, "", "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY"),
    ("ssl-ca", "", Value, "", "certificates of the authorities to trust"),
    ("ssl-cert", "", Value, "", "client certificate"),
    ("ssl-key", "", Value, "", "key of the client certificate"),
    ("user", "u", Value, "", "account"),
    ("verbose", "v", Flag, "", "accepted; there is nothing more to say"),
    ("version", "V", Flag, "", "print the version"),
];

/// Options by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Given(BTreeMap<&'static str, String>);

impl Given {
    /// Reads the words behind the program's name, and the option file.
    pub(super) fn read(words: &[String]) -> Result<Self, String> {
        let mut given = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            given.word(word, &mut || words.next().cloned())?;
        }
        let home = std::env::var("HOME").unwrap_or_default();
        let named = given.0.get("defaults-file").cloned();
        let file = named.clone().unwrap_or_else(|| format!("{home}/.my.cnf"));
        match std::fs::read_to_string(&file) {
            Ok(text) => given.file(&text),
            Err(error) if named.is_some() => return Err(format!("cannot read {file}: {error}")),
            Err(_) => {}
        }
        Ok(given)
    }

    fn word(&mut self, word: &str, next: &mut dyn FnMut() -> Option<String>) -> Result<(), String> {
        let unknown = || format!("unknown option '{word}'");
        let (found, attached) = if let Some(option) = word.strip_prefix("--") {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let name = name.replace('_', "-");
            let exact = OPTIONS.iter().find(|option| option.0 == name);
            let mut like = OPTIONS.iter().filter(|option| option.0.starts_with(&name));
            // as everywhere in MySQL, a beginning that only one option has is enough
            let found = exact.or_else(|| like.next().filter(|_| like.next().is_none()));
            (found, value.map(str::to_owned))
        } else {
            let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty()).ok_or_else(unknown)?;
            let (letter, rest) = letters.split_at(letters.chars().next().map_or(0, char::len_utf8));
            let found = OPTIONS.iter().find(|option| option.1 == letter);
            (found, Some(rest.to_owned()).filter(|rest| !rest.is_empty()))
        };
        let (name, _, kind, ..) = found.ok_or_else(unknown)?;
        let value = match (kind, attached) {
            (Value, None) => next().ok_or_else(|| format!("option '{word}' requires an argument"))?,
            (_, attached) => attached.unwrap_or_default(),
        };
        self.0.insert(name, value);
        Ok(())
    }

    /// Groups of an option file that are for clients; the command line comes first.
    fn file(&mut self, text: &str) {
        let mut wanted = false;
        for line in text.lines().map(str::trim) {
            if let Some(group) = line.strip_prefix('[') {
                let names = ["client", "client-server", "client-mariadb", "mysqlslap", "mariadb-slap"];
                wanted = names.contains(&group.trim_end_matches(']'));
            } else if wanted && !line.is_empty() && !line.starts_with(['#', ';']) {
                let (name, value) = line.split_once('=').unwrap_or((line, ""));
                let name = name.trim().replace('_', "-");
                let value = value.trim().trim_matches(['"', '\'']);
                if let Some(option) = OPTIONS.iter().find(|option| option.0 == name) {
                    self.0.entry(option.0).or_insert_with(|| value.to_owned());
                }
            }
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        let default = || OPTIONS.iter().find(|option| option.0 == name).map_or("", |option| option.3);
        self.0.get(name).map_or_else(default, String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name);
        text.parse().map_err(|_| format!("the option '{name}' takes a number, not '{text}'"))
    }

    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        self.text(name).split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    }
}

/// What `--help` prints.
pub(super) fn usage() -> String {
    let mut text =
        "Run a load from many clients, and say how long it took.\nUsage: mysqlslap [OPTIONS]\n\n".to_owned();
    for (name, letter, kind, default, about) in OPTIONS {
        let short = if letter.is_empty() { "   ".to_owned() } else { format!("-{letter},") };
        let value = match kind {
            Flag => "",
            Value => "=value",
            Maybe => "[=value]",
        };
        let shown = if default.trim().is_empty() { String::new() } else { format!(" [{default}]") };
        text.push_str(&format!("  {short} --{:<46} {about}{shown}\n", format!("{name}{value}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Given, String> {
        let mut words = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        words.push("--defaults-file=/dev/null".to_owned());
        Given::read(&words)
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        let given =
            read(&["-a", "-c", "4,8", "-i2", "--number-of-queries", "100", "--eng=innodb", "-psecret"]);
        let given = given.expect("options");
        assert!(given.has("auto-generate-sql"));
        assert_eq!((given.list("concurrency"), given.number("iterations")), (vec!["4", "8"], Ok(2)));
        assert_eq!((given.text("engine"), given.text("password")), ("innodb", "secret"));
        assert_eq!(read(&["--nonsense"]).map(drop), Err("unknown option '--nonsense'".to_owned()));
        assert!(read(&["--auto-generate-sql-u=3"]).is_err(), "two options begin so");
    }
}
