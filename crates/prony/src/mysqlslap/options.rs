//! The options of mysqlslap: one table, from which the command line is read and `--help` is written.

use super::error::Error;
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
    ("auto-generate-sql", "a", Flag, "", "generate the table and the statements"),
    ("auto-generate-sql-add-autoincrement", "", Flag, "", "the table gets an AUTO_INCREMENT column"),
    ("auto-generate-sql-execute-number", "", Value, "0", "statements of each client"),
    ("auto-generate-sql-guid-primary", "", Flag, "", "the table gets a primary key of UUIDs"),
    ("auto-generate-sql-load-type", "", Value, "mixed", "mixed, update, write, key or read"),
    ("auto-generate-sql-secondary-indexes", "", Value, "0", "unique columns in addition to the primary key"),
    ("auto-generate-sql-unique-query-number", "", Value, "10", "different SELECT and UPDATE statements"),
    ("auto-generate-sql-unique-write-number", "", Value, "10", "different INSERT statements"),
    ("auto-generate-sql-write-number", "", Value, "100", "rows in the table before the load"),
    ("commit", "", Value, "0", "COMMIT after this many statements, with autocommit off"),
    ("compress", "C", Flag, "", "compress the protocol"),
    ("concurrency", "c", Value, "1", "clients; a list runs one number after another"),
    ("create", "", Value, "", "statements, or a file of them, that create what is queried"),
    (
        "create-schema",
        "",
        Value,
        "mysqlslap",
        "schema to create, use and drop; an existing one is never dropped",
    ),
    ("csv", "", Maybe, "", "print lines of CSV, or append them to a file"),
    ("default-auth", "", Value, "", "accepted; the server says how to log in"),
    ("defaults-file", "", Value, "", "option file instead of ~/.my.cnf"),
    ("delimiter", "F", Value, "\n", "character between statements"),
    ("detach", "", Value, "0", "reconnect after this many statements"),
    ("engine", "e", Value, "", "storage engines; a list runs one after another; engine:option"),
    ("help", "?", Flag, "", "print this text"),
    ("host", "h", Value, "localhost", "host"),
    ("init-command", "", Value, "", "statement that each connection executes first"),
    ("iterations", "i", Value, "1", "repeats of each run"),
    ("no-defaults", "", Flag, "", "read no option file"),
    ("no-drop", "", Flag, "", "do not drop the created schema"),
    ("number-char-cols", "x", Value, "1", "VARCHAR columns; N:indexed for indexes"),
    ("number-int-cols", "y", Value, "1", "INT columns; N:indexed for indexes"),
    ("number-of-queries", "", Value, "0", "statements of all clients together"),
    ("only-print", "", Flag, "", "print what would be sent, and send nothing"),
    ("password", "p", Maybe, "", "password"),
    ("plugin-dir", "", Value, "", "accepted; has no effect"),
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
    ("ssl-ca", "", Value, "", "CA certificates to trust"),
    ("ssl-cert", "", Value, "", "client certificate"),
    ("ssl-key", "", Value, "", "key of the client certificate"),
    ("user", "u", Value, "", "account"),
    ("verbose", "v", Flag, "", "accepted; has no effect"),
    ("version", "V", Flag, "", "print the version"),
];

/// Options by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Given(BTreeMap<&'static str, String>);

impl Given {
    /// Reads the words behind the program's name, and the option file.
    pub(super) fn read(words: &[String]) -> Result<Self, Error> {
        let mut given = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            given.word(word, &mut || words.next().cloned())?;
        }
        let home = std::env::var("HOME").unwrap_or_default();
        let named = given.0.get("defaults-file").cloned();
        let file = named.clone().unwrap_or_else(|| format!("{home}/.my.cnf"));
        if given.has("no-defaults") {
            return Ok(given);
        }
        match std::fs::read_to_string(&file) {
            Ok(text) => given.file(&text),
            Err(error) if named.is_some() => return Err(Error::Read(file, error)),
            Err(_) => {}
        }
        Ok(given)
    }

    fn word(&mut self, word: &str, next: &mut dyn FnMut() -> Option<String>) -> Result<(), Error> {
        let unknown = || Error::Unknown(word.to_owned());
        let (found, attached) = if let Some(option) = word.strip_prefix("--") {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let name = name.replace('_', "-");
            // MySQL's programs reset a switch like this
            if let Some(off) = OPTIONS.iter().find(|option| name.strip_prefix("skip-") == Some(option.0)) {
                self.0.remove(off.0);
                return Ok(());
            }
            let exact = OPTIONS.iter().find(|option| option.0 == name);
            let mut like = OPTIONS.iter().filter(|option| option.0.starts_with(&name));
            // as in all of MySQL's programs, an unambiguous prefix is enough
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
            (Value, None) => next().ok_or_else(|| Error::NoValue(word.to_owned()))?,
            (_, attached) => attached.unwrap_or_default(),
        };
        self.0.insert(name, value);
        Ok(())
    }

    /// Reads the groups for clients of an option file; the command line takes precedence.
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

    pub(super) fn number(&self, name: &str) -> Result<u64, Error> {
        let text = self.text(name);
        text.parse().map_err(|_| Error::value(name, "a number", text))
    }

    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        self.text(name).split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    }
}

/// What `--help` prints.
pub(super) fn usage() -> String {
    let mut text = "Run a load with many clients and report how long it took.\nUsage: mysqlslap \
         [OPTIONS]\n\n"
        .to_owned();
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

    fn read(words: &[&str]) -> Result<Given, Error> {
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
        assert_eq!(given.list("concurrency"), ["4", "8"]);
        assert_eq!(given.number("iterations").expect("a number"), 2);
        assert_eq!((given.text("engine"), given.text("password")), ("innodb", "secret"));
        assert!(!read(&["--ssl", "--skip-ssl", "--no-defaults"]).expect("options").has("ssl"));
        let refused = read(&["--nonsense"]).expect_err("no such option").to_string();
        assert_eq!(refused, "unknown option '--nonsense'");
        assert!(read(&["--auto-generate-sql-u=3"]).is_err(), "two options begin so");
    }
}
