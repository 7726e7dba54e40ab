//! Points at settings of a study that prove wrong only once their servers are known. The caller knows the
//! servers; this module knows where the study says what.

use super::{
    Adjustments,
    mistake::{Collector, Mistakes, Place, Source},
    tree::{self, Node, Table, Value},
};
use crate::escape::without_passwords;

/// A setting that servers do not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Names of the servers as a plan has them: the study's name, varied settings behind it.
    pub servers: Vec<String>,
    /// The setting.
    pub name: String,
    /// Its value; empty: it has none.
    pub value: String,
    /// What is wrong, as one line.
    pub title: String,
    /// What is expected there, or why it is impossible.
    pub label: String,
}

/// All of them, at least one, as mistakes of the study with this text; messages call it `path`.
#[must_use]
pub fn settings_refused(path: &str, text: &str, adjustments: &Adjustments, refused: &[Refused]) -> Mistakes {
    let mut sources = vec![Source { name: path.to_owned(), text: text.to_owned() }];
    let set =
        adjustments.set.iter().map(|set| Source { name: "--set".to_owned(), text: without_passwords(set) });
    sources.extend(set);
    located(sources, Collector::default(), refused)
}

impl Mistakes {
    /// These, and what servers refuse in the same study.
    #[must_use]
    pub fn with_refused(self, refused: &[Refused]) -> Self {
        let (sources, list, servers) = self.into_parts();
        let mut mistakes = Collector::default();
        mistakes.extend(list);
        servers.iter().for_each(|server| mistakes.saw(server));
        located(sources, mistakes, refused)
    }
}

fn located(sources: Vec<Source>, mut mistakes: Collector, refused: &[Refused]) -> Mistakes {
    let file = tree::parse(&sources[0].text, 0, &mut Collector::default()).unwrap_or_default();
    for one in refused {
        match of_command_line(&sources, one).or_else(|| of_file(&file, one)) {
            Some(place) => mistakes.at(&place, one.title.clone(), one.label.clone()),
            None => mistakes.missing(one.title.clone(), one.label.clone()),
        }
    }
    mistakes.finish(sources).expect_err("a refusal is a mistake")
}

/// The last `--set` that has the setting.
fn of_command_line(sources: &[Source], refused: &Refused) -> Option<Place> {
    sources.iter().enumerate().skip(1).rev().find_map(|(source, set)| {
        let (key, _) = set.text.split_once('=')?;
        is_of(key.trim(), refused).then_some(Place { source, span: 0..set.text.len() })
    })
}

/// Where the file has it, preferably with this value and for this server alone.
fn of_file(file: &Table, refused: &Refused) -> Option<Place> {
    let mut found = Vec::new();
    collect("", file, &mut found);
    let rank = |(path, node): (&String, &Node)| {
        let levels = match &node.value {
            Value::Array(levels) => levels.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let level = levels.iter().find(|level| is_value(level, &refused.value));
        let place = level.map_or(&node.place, |level| &level.place);
        ((level.is_some(), path.starts_with("server.")), place.clone())
    };
    let of_it = found.iter().filter(|(path, _)| is_of(path, refused)).map(|(path, node)| rank((path, node)));
    of_it.max_by_key(|(rank, _)| *rank).map(|(_, place)| place)
}

/// Whether a path of the study is this setting of one of these servers.
fn is_of(path: &str, refused: &Refused) -> bool {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let Some((section, name)) = path.rsplit_once('.').or(Some(("", path))) else { return false };
    let of_servers = section.rfind("server.").is_none_or(|at| {
        let server = section[at + "server.".len()..].trim_end_matches(".settings");
        refused.servers.iter().any(|of| of == server || of.starts_with(&format!("{server} ")))
    });
    plain(name) == plain(&refused.name) && of_servers
}

fn is_value(node: &Node, value: &str) -> bool {
    match &node.value {
        Value::Flag(flag) => value == if *flag { "ON" } else { "OFF" },
        _ => node.label() == value,
    }
}

/// Every leaf with its path, those of lists of tables included.
fn collect<'a>(prefix: &str, table: &'a Table, found: &mut Vec<(String, &'a Node)>) {
    for entry in &table.0 {
        let path = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        match &entry.node.value {
            Value::Table(inner) => collect(&path, inner, found),
            Value::Array(nodes) if nodes.iter().any(|node| node.table().is_some()) => {
                nodes.iter().filter_map(Node::table).for_each(|inner| collect(&path, inner, found));
            }
            _ => found.push((path, &entry.node)),
        }
    }
}
