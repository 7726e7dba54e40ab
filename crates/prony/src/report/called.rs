//! Names of servers in a report: their own, or, for variants of one server, the levels in which they differ
//! (`1`, `2`), with the factor's name once, as a caption or a column head.

use super::{document::Document, words::Words};
use crate::plan::without_levels;
use std::collections::BTreeMap;

/// The most names that fit into a caption.
const CAPTION_MAX: usize = 4;

impl Document {
    /// The name that is shown for a server, by its own name.
    pub(super) fn shown<'a>(&'a self, server: &'a str) -> &'a str {
        let known = self.servers.iter().find(|known| known.name == server);
        known.map_or(server, |known| &known.shown)
    }

    /// The name of a server, for use beside the levels of all factors; `None`: the levels are enough.
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
    /// The names of the servers with the factor's name: `sync_binlog: 1 / 2`; `None`: they have their own
    /// names, or there is only one server.
    pub(super) fn caption<'a>(self, by: &[String], names: impl Iterator<Item = &'a str>) -> Option<String> {
        let names: Vec<&str> = names.collect();
        let head = self.server_head(by);
        // when there are many names, or names made of several levels, they are left to the table and the
        // legend
        let is_short = names.len() <= CAPTION_MAX && !names.iter().any(|name| name.contains(", "));
        let caption = if is_short { format!("{head}: {}", names.join(" / ")) } else { head };
        (!by.is_empty() && names.len() > 1).then_some(caption)
    }

    /// What distinguishes the servers, as a column head; variables are spelled as the servers spell them.
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

    /// The head of the findings, with the names of the servers.
    pub(super) fn found_head(self, document: &Document) -> String {
        let names = document.servers.iter().map(|server| server.shown.as_str());
        let caption = self.caption(&document.servers_by, names);
        let head = self.get("head", "found");
        caption.map_or_else(|| head.to_owned(), |caption| format!("{head} ({caption})"))
    }
}
