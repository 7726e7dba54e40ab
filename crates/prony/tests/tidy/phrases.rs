//! Phrases that no text for users has: the list is in the glossary, beside what to write instead. Looked at
//! are all texts of the program (string literals of every crate, help, words of reports and settings), the
//! built-in studies and the documentation.

use std::fs;

/// What one may look for in vain: `| not | but |`, lower case.
fn banned() -> Vec<(String, String)> {
    let glossary = fs::read_to_string(super::crates().join("../docs/glossary.md")).expect("the glossary");
    let table = glossary.split("| not | but |").nth(1).expect("a table of phrases").lines().skip(2);
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        Some((cells.next()?.to_lowercase(), cells.next()?))
    };
    table.take_while(|line| line.starts_with('|')).filter_map(row).collect()
}

/// The string literals of Rust code, continued lines joined.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, from) = rest.split_at(at);
        let comment = from.starts_with("//");
        let character = ["'\"'", "'\\\"'"].into_iter().find(|quote| from.starts_with(quote));
        let hashes = before.len() - before.trim_end_matches('#').len();
        let raw = before.trim_end_matches('#').ends_with('r') && from.starts_with('"');
        let end = match (comment, character) {
            (true, _) => from.find('\n').unwrap_or(from.len()),
            (_, Some(quote)) => quote.len(),
            _ if raw => {
                let end = format!("\"{}", "#".repeat(hashes));
                let length = from[1..].find(&end).expect("a literal ends");
                found.push(from[1..=length].to_owned());
                1 + length + end.len()
            }
            _ if from.starts_with('"') => {
                let mut escaped = false;
                let length = from[1..].find(|letter| {
                    let ends = letter == '"' && !escaped;
                    escaped = letter == '\\' && !escaped;
                    ends
                });
                let length = length.expect("a literal ends");
                found.push(from[1..=length].replace("\\\n", " "));
                length + 2
            }
            _ => 1,
        };
        rest = &from[end..];
    }
    found
}

/// Words with one space between them, lower case; `|` around them.
fn plain(text: &str) -> String {
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || "'-_".contains(letter)));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" ").to_lowercase())
}

/// Everything that users read, with its place.
fn texts() -> Vec<(String, String)> {
    let mut texts = super::helps(&[]);
    for (path, code) in super::sources() {
        let texts_of = literals(&code).into_iter().filter(|text| text.trim().contains(' '));
        texts.extend(texts_of.map(|text| (path.display().to_string(), text)));
    }
    let root = super::crates().join("..");
    let mut files: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "schemas/study.toml"].map(|it| root.join(it)).into();
    files.push(super::crates().join("prony/src/report/words/en.toml"));
    files.push(super::crates().join("prony/src/provision/settings/words.toml"));
    for directory in ["docs", "docs/guide", "studies"] {
        let entries = fs::read_dir(root.join(directory)).expect("a directory").flatten();
        files.extend(entries.map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    for file in files.iter().filter(|file| !file.ends_with("glossary.md")) {
        texts.push((file.display().to_string(), fs::read_to_string(file).expect("text")));
    }
    texts
}

#[test]
fn texts_have_none_of_the_phrases_that_are_no_english() {
    let banned = banned();
    assert!(banned.len() > 20 && banned.iter().any(|(phrase, _)| phrase == "gone on with"), "{banned:?}");
    let texts = texts();
    assert!(texts.len() > 2500, "all are read: {}", texts.len());
    let mut wrong = Vec::new();
    for (place, text) in texts {
        let text = plain(&text);
        for (phrase, instead) in banned.iter().filter(|(phrase, _)| text.contains(&plain(phrase))) {
            wrong.push(format!("{place} says `{phrase}`; write `{instead}`"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn phrases_are_found_across_lines_and_not_in_comments_or_names() {
    let code = "// \"gone on with\"\nf('\"', \"It was gone on \\\n      with.\", r#\"so \"many\" \"#)";
    assert_eq!(literals(code).len(), 2, "{:?}", literals(code));
    assert!(plain(&literals(code)[0]).contains(&plain("gone on with")));
    assert!(plain(&literals(code)[1]).contains(&plain("so many")));
    assert!(!plain("undergone on without").contains(&plain("gone on with")));
}
