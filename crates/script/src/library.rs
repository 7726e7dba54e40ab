//! The scripts that a script loads: given beforehand, or read from files and noted, so that they can be given
//! the next time.

use crate::world::lock;
use std::sync::{Arc, Mutex};

/// Most bytes of the text of one script.
pub(crate) const TEXT_MAX: u64 = 16 << 20;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Library {
    /// Part of the program.
    pub(crate) modules: &'static [(&'static str, &'static str)],
    /// By the name by which each was asked for.
    told: Arc<[(String, String)]>,
    noted: Arc<Mutex<Vec<(String, String)>>>,
}

impl Library {
    pub(crate) fn new(
        modules: &'static [(&'static str, &'static str)],
        told: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self { modules, told: told.into_iter().collect(), noted: Arc::default() }
    }

    /// Place and text of what a script asks for by `name`; `find` says where its file is.
    pub(crate) fn read(
        &self,
        name: &str,
        find: impl FnOnce() -> mlua::Result<Option<String>>,
    ) -> mlua::Result<Option<(String, Vec<u8>)>> {
        if let Some((_, text)) = self.told.iter().find(|(known, _)| known == name) {
            return Ok(Some((name.to_owned(), text.clone().into_bytes())));
        }
        let Some(place) = find()? else { return Ok(None) };
        let is_small = std::fs::metadata(&place).is_ok_and(|file| file.len() <= TEXT_MAX);
        let Some(text) = is_small.then(|| std::fs::read(&place).ok()).flatten() else { return Ok(None) };
        let text = plain(text);
        // what is no text cannot be told, and is read again each time
        if let Ok(words) = String::from_utf8(text.clone()) {
            let mut noted = lock(&self.noted);
            if !noted.iter().any(|(known, _)| known == name) {
                noted.push((name.to_owned(), words));
            }
        }
        Ok(Some((place, text)))
    }

    /// What was read from files so far.
    pub(crate) fn noted(&self) -> Vec<(String, String)> {
        lock(&self.noted).clone()
    }
}

/// A script's text for Lua: a first line that names an interpreter is none of it.
pub(crate) fn plain(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(b"#") {
        text.splice(..0, *b"--");
    }
    text
}
