//! README and user guide are right: links lead somewhere, studies are accepted, commands are known and work,
//! and the Chinese pages are in step with the English ones. A block's first word is its language; after it,
//! `part`: a piece of a study; `run`: run by a quick test; `long`: run by a long one, with short
//! measurements.

mod support {
    #[expect(dead_code, reason = "other tests look for processes")]
    pub(crate) mod server;
}

use clap::Parser as _;
use load::spec::{Address, Target};
use prony::{
    cli::Arguments,
    plan::Plan,
    study::{self, Adjustments},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::server::mariadb;

/// The server that commands on a running one are written for.
const WRITTEN_URL: &str = "mysql://user@127.0.0.1:3306/test";

/// What long tests make measurements as short as.
const SHORT: [&str; 6] =
    ["--set", "measure.interval=1s", "--set", "measure.warm_up=300ms", "--set", "measure.repeats=2"];

/// What completes a piece of a study, by the beginning of the line that it lacks.
const REST: [(&str, &str); 2] = [
    ("[server.", "[server.of_the_test]\nproduct = \"mariadb\"\n"),
    ("[[stream]]", "[[stream]]\nworkload = \"oltp_read_only\"\nconnections = 4\n"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages in a directory below the root, in the order of their names.
fn pages(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).expect("a directory").flatten();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    pages
}

/// README and guide in English, in the order in which they are read.
fn english() -> Vec<PathBuf> {
    let mut pages = pages("docs/guide");
    let contents = read(&root().join("docs/guide/README.md"));
    let place = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name == "README.md" { Some(0) } else { contents.find(&format!("]({name})")) }
    };
    let strays: Vec<&PathBuf> = pages.iter().filter(|page| place(page).is_none()).collect();
    assert!(strays.is_empty(), "not in the table of contents: {strays:?}");
    pages.sort_by_key(place);
    pages.insert(0, root().join("README.md"));
    pages
}

/// The same page in Chinese.
fn chinese(page: &Path) -> PathBuf {
    if page.parent().is_some_and(|directory| directory.ends_with("guide")) {
        page.with_file_name("zh-CN").join(page.file_name().expect("a name"))
    } else {
        page.with_extension("zh-CN.md")
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A block of code.
#[derive(Debug)]
struct Block {
    language: String,
    /// The word after the language.
    kind: String,
    text: String,
}

impl Block {
    /// The file that its first line names.
    fn file(&self) -> Option<&str> {
        self.text.lines().next()?.strip_prefix("# ").filter(|name| !name.contains(' '))
    }

    /// Its commands, each as words.
    fn commands(&self) -> Vec<Vec<String>> {
        let lines = self.text.lines().map(str::trim);
        let ours = lines.filter(|line| line.starts_with("prony ") || line.contains("/release/prony "));
        ours.map(words).collect()
    }
}

/// Blocks of code of a page, and its other lines.
fn parts(page: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("```") else {
            prose.push(line);
            continue;
        };
        let mut head = head.split(' ').map(str::to_owned);
        let (language, kind) = (head.next().unwrap_or_default(), head.next().unwrap_or_default());
        let inside = lines.by_ref().take_while(|line| *line != "```");
        let text = inside.map(|line| format!("{line}\n")).collect();
        blocks.push(Block { language, kind, text });
    }
    (blocks, prose)
}

/// Words of a line as a shell has them, up to a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') if word.is_empty() => {}
            (None, ' ') if ["#", ">", ">>", "|", "||"].contains(&word.as_str()) => break,
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words
}

/// The text of a study without what may differ between languages: comments and titles.
fn without_words(text: &str) -> Vec<String> {
    let plain = text.lines().map(|line| {
        let mut quoted = false;
        let comment = line.char_indices().find(|(at, letter)| {
            quoted ^= *letter == '"';
            *letter == '#' && !quoted && (*at == 0 || line[..*at].ends_with(' '))
        });
        let code = comment.map_or(line, |(at, _)| &line[..at]).trim_end();
        let key = ["title", "says"].into_iter().find(|key| code.starts_with(&format!("{key} =")));
        key.unwrap_or(code).to_owned()
    });
    plain.filter(|line| !line.is_empty()).collect()
}

fn is_han(letter: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&letter)
}

#[test]
fn chinese_pages_are_in_step_with_the_english_ones() {
    let english = english();
    let translated: BTreeSet<PathBuf> = pages("docs/guide/zh-CN").into_iter().collect();
    let of_guide = english[1..].iter().map(|page| chinese(page)).collect::<BTreeSet<PathBuf>>();
    assert_eq!(translated, of_guide);
    for page in english {
        let place = chinese(&page);
        let (text, other) = (read(&page), read(&place));
        let ((blocks, prose), (other_blocks, other_prose)) = (parts(&text), parts(&other));
        let heads = |prose: &[&str]| -> Vec<usize> {
            let heads = prose.iter().filter(|line| line.starts_with('#'));
            heads.map(|line| line.len() - line.trim_start_matches('#').len()).collect()
        };
        assert_eq!(heads(&prose), heads(&other_prose), "headings of {}", place.display());
        let starts = |prose: &[&str], with: &str| prose.iter().filter(|line| line.starts_with(with)).count();
        for kind in ["|", "* ", "!["] {
            assert_eq!(starts(&prose, kind), starts(&other_prose, kind), "`{kind}` in {}", place.display());
        }
        assert_eq!(blocks.len(), other_blocks.len(), "blocks of {}", place.display());
        for (block, other) in blocks.iter().zip(&other_blocks) {
            assert_eq!((&block.language, &block.kind), (&other.language, &other.kind), "{}", place.display());
            if block.language != "text" {
                assert_eq!(without_words(&block.text), without_words(&other.text), "{}", place.display());
            }
        }
        let is_foreign = |line: &&&str| line.len() > 60 && !line.contains(is_han) && !line.starts_with("* ");
        let left: Vec<&&str> = other_prose.iter().filter(is_foreign).collect();
        assert!(left.is_empty(), "not in Chinese in {}: {left:#?}", place.display());
    }
}

/// What a heading is called in links, as GitHub has it.
fn anchor(heading: &str) -> String {
    let plain = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = plain.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut all = pages("");
    for directory in ["docs", "docs/guide", "docs/guide/zh-CN"] {
        all.extend(pages(directory));
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in all {
        let text = read(&page);
        let (_, prose) = parts(&text);
        let prose = prose.join("\n");
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.contains(char::is_whitespace)) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let is_there = target.exists()
                && (heading.is_empty()
                    || parts(&read(&target))
                        .1
                        .iter()
                        .any(|line| line.starts_with('#') && anchor(line) == heading));
            if !is_there {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 60 && wrong.is_empty(), "of {count} links: {wrong:#?}");
}

#[test]
fn every_study_of_the_guide_is_accepted() {
    let (mut whole, mut pieces) = (0, 0);
    for page in english() {
        for block in parts(&read(&page)).0.iter().filter(|block| block.language == "toml") {
            let place = format!("{}: {}", page.display(), block.text);
            let name = block.file().unwrap_or_else(|| panic!("no file name: {place}"));
            let mut text = block.text.clone();
            if block.kind == "part" {
                pieces += 1;
                for (lacking, rest) in REST {
                    if !block.text.lines().any(|line| line.starts_with(lacking)) {
                        text.push_str(rest);
                    }
                }
            } else {
                whole += 1;
                assert!(block.kind.is_empty(), "{place}");
            }
            let study = study::parse(name.trim_end_matches(".toml"), name, &text, &Adjustments::default());
            let plan = Plan::from_study(&study.unwrap_or_else(|mistakes| panic!("{place}{mistakes}")));
            assert!(!plan.trials.is_empty(), "{place}");
        }
    }
    assert!(whole >= 7 && pieces >= 7, "{whole} and {pieces} are found");
}

#[test]
fn every_command_of_the_guide_is_known() {
    let makefile = read(&root().join("Makefile"));
    let mut count = 0;
    for page in english() {
        for block in parts(&read(&page)).0.iter().filter(|block| block.language != "text") {
            for mut words in block.commands() {
                words[0] = "prony".to_owned();
                count += 1;
                let known = Arguments::try_parse_from(&words);
                assert!(known.is_ok(), "{}: {words:?}: {}", page.display(), known.expect_err("unknown"));
            }
            let targets = block.text.lines().filter_map(|line| line.strip_prefix("make "));
            for target in targets.filter_map(|line| line.split_whitespace().next()) {
                assert!(makefile.contains(&format!("\n{target}:")), "{}: make {target}", page.display());
            }
        }
    }
    assert!(count > 40, "{count} are found");
}

#[test]
fn the_workflow_of_the_guide_is_the_file_beside_it() {
    let page = read(&root().join("docs/guide/recipes.md"));
    let (blocks, _) = parts(&page);
    let workflow = blocks.iter().find(|block| block.language == "yaml").expect("a workflow");
    assert_eq!(workflow.text, read(&root().join("docs/guide/ci/performance.yml")));
    assert!(workflow.commands().len() >= 6, "{:?}", workflow.commands());
}

/// A server on which the guide's commands work, and its address in their words.
fn url(target: &Target) -> String {
    let Address::Tcp { host, port } = &target.address else { panic!("{:?} is not TCP", target.address) };
    format!("mysql://{}:{}@{host}:{port}/guide", target.user, target.password.reveal())
}

/// Runs those commands of all pages that `is_run` wants, page after page in one directory with the pages'
/// studies. Returns how many there were.
fn carried_out(is_run: fn(&Block, &[String]) -> bool, further: &[&str]) -> usize {
    let home = tempfile::tempdir().expect("a directory");
    let (_state, server) = mariadb(&[]);
    let mut count = 0;
    for page in english() {
        for block in parts(&read(&page)).0 {
            if let Some(file) = block.file().filter(|_| block.language == "toml") {
                fs::write(home.path().join(file), &block.text).expect("a study");
            }
            for words in block.commands().into_iter().filter(|words| is_run(&block, words)) {
                let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
                for word in &words[1..] {
                    command.arg(word.replace(WRITTEN_URL, &url(server.target())));
                }
                if words[1] == "run" {
                    command.args(further);
                }
                command.env("XDG_DATA_HOME", home.path()).env("XDG_STATE_HOME", home.path());
                for name in ["PRONY_URL", "PRONY_PASSWORD", "PRONY_STORE"] {
                    command.env_remove(name);
                }
                let output = command.current_dir(home.path()).output().expect("prony starts");
                let said = String::from_utf8_lossy(&output.stderr);
                let place = format!("{}: {}", page.display(), words.join(" "));
                // a load's figures may be invalid on a busy machine, which the exit code says
                let is_right = output.status.success()
                    || (words[1] == "load" && output.status.code() == Some(1) && !output.stdout.is_empty());
                assert!(is_right, "{place}: {:?} {said}", output.status);
                assert!(words[1] != "run" || said.contains("prony-") || !output.stdout.is_empty(), "{place}");
                count += 1;
            }
        }
    }
    count
}

#[test]
fn quick_commands_of_the_guide_work() {
    let is_quick = |block: &Block, words: &[String]| block.kind == "run" || words[1] == "plan";
    assert!(carried_out(is_quick, &[]) >= 12);
}

#[test]
#[ignore = "long: runs the guide's studies, with short measurements"]
fn long_commands_of_the_guide_work() {
    let is_long = |block: &Block, _: &[String]| block.kind == "long";
    assert!(carried_out(is_long, &SHORT) >= 10);
}
