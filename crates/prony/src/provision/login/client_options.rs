//! Option files as MySQL's and MariaDB's clients read them (`~/.my.cnf`): the one place where a file can hold
//! a password.
//!
//! Syntax: <https://dev.mysql.com/doc/refman/8.0/en/option-files.html>. The groups of clients in general and
//! of Prony are read.

use crate::provision::Error;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Groups that concern any client, and Prony's own; a later line wins over an earlier one.
const GROUPS: [&str; 6] = ["client", "client-server", "client-mariadb", "mysql", "mariadb-client", "prony"];
/// Files may include files; beyond this depth they include themselves.
const INCLUDE_DEPTH_MAX: u32 = 8;

/// Options by name, with `-` for `_`; a flag without value has an empty one.
pub(in crate::provision) type Options = BTreeMap<String, String>;

/// The options in `file` and what it includes.
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::OptionFile`] for a line that is none.
pub(in crate::provision) fn read(file: &Path) -> Result<Options, Error> {
    let mut options = Options::new();
    read_into(file, &mut options, 0)?;
    Ok(options)
}

fn read_into(file: &Path, options: &mut Options, depth: u32) -> Result<(), Error> {
    let text = fs::read_to_string(file).map_err(Error::file("read the option file", file))?;
    let mut wanted = false;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |reason: &str| Error::OptionFile {
            file: file.to_owned(),
            line: number,
            reason: reason.to_owned(),
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            if depth == INCLUDE_DEPTH_MAX {
                return Err(wrong("the files include each other too deeply"));
            }
            for included in included(directive)
                .ok_or_else(|| wrong("only !include FILE and !includedir DIRECTORY are supported"))?
            {
                read_into(&included, options, depth + 1)?;
            }
        } else if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split_once(']').ok_or_else(|| wrong("a group's name ends with ]"))?.0.trim();
            wanted = GROUPS.contains(&name);
        } else if wanted {
            let (name, value) = line.split_once('=').unwrap_or((without_comment(line), ""));
            let name = name.trim().replace('_', "-");
            // an option that clients may leave aside
            options.insert(name.strip_prefix("loose-").unwrap_or(&name).to_owned(), value_of(value));
        }
    }
    Ok(())
}

/// Files that a line names. A missing included directory is no mistake: the clients treat it in the same way.
fn included(directive: &str) -> Option<Vec<PathBuf>> {
    let (word, path) = directive.split_once(char::is_whitespace)?;
    let path = PathBuf::from(path.trim());
    match word {
        "include" => Some(vec![path]),
        "includedir" => {
            let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
            let mut files: Vec<_> =
                entries.filter(|path| path.extension().is_some_and(|end| end == "cnf")).collect();
            files.sort();
            Some(files)
        }
        _ => None,
    }
}

fn without_comment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

/// What a value means: in quotes, everything but escapes is literal; outside, `#` begins a comment.
fn value_of(text: &str) -> String {
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.rsplit_once(quote));
    unescaped(quoted.map_or_else(|| without_comment(text).trim(), |(inside, _)| inside))
}

fn unescaped(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('b') => value.push('\u{8}'),
            Some('s') => value.push(' '),
            Some('\\') | None => value.push('\\'),
            Some(other) => value.extend(['\\', other]),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_the_clients_do() {
        let directory = tempfile::tempdir().unwrap();
        let (main, more) = (directory.path().join("my.cnf"), directory.path().join("more.cnf"));
        fs::write(&more, "[client]\nport=3307\n").unwrap();
        let text = format!(
            "# mine\n[mysqld]\nuser = mysql\n[client]\nuser=ada # the countess\npassword = \
             \"a#b\\\\c\"\nssl_mode=REQUIRED\ncompress\n!include {}\n",
            more.display()
        );
        fs::write(&main, text).unwrap();
        let options = read(&main).unwrap();
        let find = |name: &str| options.get(name).map(String::as_str);
        assert_eq!(find("user"), Some("ada"));
        assert_eq!(find("password"), Some("a#b\\c"));
        assert_eq!(find("ssl-mode"), Some("REQUIRED"));
        assert_eq!(find("compress"), Some(""));
        assert_eq!(find("port"), Some("3307"));
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my.cnf");
        fs::write(&file, format!("\n!include {}\n", file.display())).unwrap();
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
