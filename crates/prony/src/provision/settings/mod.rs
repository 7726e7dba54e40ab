//! Settings of a study: words that are translated for each server, what a server then runs with, and
//! restoring what was there before.

pub(in crate::provision) mod globals;
mod names;
pub(in crate::provision) mod read_back;
pub(in crate::provision) mod translate;
pub(in crate::provision) mod words;

use crate::provision::{Error, software::Software};
pub(in crate::provision) use names::{mistyped, nearest, plain_name};
use std::collections::BTreeMap;
use translate::{Refusal, Translated, translate};
use words::Unfit;

/// What `software` is to be told for a study's settings.
pub(in crate::provision) fn translated(
    software: &Software,
    settings: &BTreeMap<String, String>,
) -> Result<Translated, Error> {
    let refused = |refusals| Error::Refused { server: software.to_string(), refusals };
    let told = translate(software.build(), settings).map_err(refused)?;
    let named = told.options.iter().filter(|(option, _)| words::is_plugin(option));
    let missing: Vec<_> = named
        .flat_map(|(option, files)| files.split(';').map(move |file| (option, file)))
        .filter(|(_, file)| software.has_plugin(file) == Some(false))
        .map(|(option, file)| Refusal { asked: format!("{option} = {file}"), reason: Unfit::NoPlugin })
        .collect();
    if missing.is_empty() { Ok(told) } else { Err(refused(missing)) }
}
