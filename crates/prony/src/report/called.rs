//! What servers are called in a report: their own names, or, where they are variants of one, the levels in
//! which they differ (`1`, `2`), with the factor's name once as a caption or the head of a column.

use super::{document::Document, words::Words};
use crate::plan::without_levels;
use std::collections::BTreeMap;

impl Document {
    /// What a server is called, by its name.
    pub(super) fn shown<'a>(&'a self, server: &'a str) -> &'a str {
        let known = self.servers.iter().find(|known| known.name == server);
        known.map_or(server, |known| &known.shown)
    }

    /// What a server is called beside the levels of all factors; `None`: nothing more tells it apart.
    pub(super) fn beside_levels<'a>(
        &self,
        server: &'a str,
        levels: &'a BTreeMap<String, String>,
    ) -> Option<&'a str> {
        let is_told =
            self.servers.len() < 2 || self.servers_by.first().is_some_and(|first| first != "server");
        (!is_told).then(|| if self.servers_by.is_empty() { server } else { without_levels(server, levels) })
    }
}

impl Words {
    /// What servers are called, with the factor's name: `sync_binlog: 1 / 2`; `None`: they
    /// have names of their own, or there is only one.
    pub(super) fn caption<'a>(self, by: &[String], names: impl Iterator<Item = &'a str>) -> Option<String> {
        let names: Vec<&str> = names.collect();
        (!by.is_empty() && names.len() > 1)
            .then(|| format!("{}: {}", self.server_head(by), names.join(" / ")))
    }

    /// What servers are told apart by, as the head of a column: variables have the names that servers know.
    pub(super) fn server_head(self, by: &[String]) -> String {
        let word = |factor: &String| match factor.as_str() {
            "server" => self.get("head", "server").to_owned(),
            factor => factor.to_owned(),
        };
        if by.is_empty() {
            self.get("head", "server").to_owned()
        } else {
            by.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    }

    /// The head of what was found, with what servers are called.
    pub(super) fn found_head(self, document: &Document) -> String {
        let names = document.servers.iter().map(|server| server.shown.as_str());
        let caption = self.caption(&document.servers_by, names);
        let head = self.get("head", "found");
        caption.map_or_else(|| head.to_owned(), |caption| format!("{head} ({caption})"))
    }
}
