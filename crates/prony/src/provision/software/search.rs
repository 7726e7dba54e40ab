//! Where the program of a server comes from: the one order in which places are searched, whether the program
//! is needed now or only foreseen.

use super::{
    Software,
    catalogue::{self, Entry},
    fetch,
    installed::installed,
};
use crate::{
    plan::ServerSource,
    provision::{Error, Places, Work},
};

/// A server that fits what is asked for.
enum Candidate<'a> {
    /// Of the user's own entries.
    OfUser(&'a Entry),
    /// Installed on this machine.
    Installed(Box<Software>),
    /// Of the catalogue that comes with Prony.
    Catalogue(&'a Entry),
}

/// A server before it is brought up.
pub(in crate::provision) enum Seen {
    /// Its program is on this machine.
    Here(Box<Software>),
    /// It would be fetched.
    Elsewhere {
        /// `mariadb` or `mysql`.
        product: String,
        /// The version, or its beginning.
        version: String,
    },
}

/// What fits, best first: one of the user's own entries, and then nothing else; what is installed; the
/// catalogue, where a version means the newest that begins with it, and without a version what is in the
/// cache comes first.
fn candidates<'a>(
    all: &'a [Entry],
    product: &str,
    version: Option<&str>,
    places: &Places,
) -> Vec<Candidate<'a>> {
    let (own, ours) = all.split_at(all.len() - catalogue::entries().len());
    if let Some(entry) = catalogue::fitting(own, product, version).first() {
        return vec![Candidate::OfUser(entry)];
    }
    if let Some(software) = installed().into_iter().find(|software| software.fits(product, version)) {
        return vec![Candidate::Installed(Box::new(software))];
    }
    let mut fitting = catalogue::fitting(ours, product, version);
    if version.is_none() {
        fitting.sort_by_key(|entry| !fetch::place(entry, places).is_dir());
    }
    fitting.into_iter().map(Candidate::Catalogue).collect()
}

/// The program of `product` whose version begins with `version`, fetched if need be.
///
/// # Errors
/// [`Error::UnknownServer`], and those of [`fetch::fetch`] of the first choice if no other is available
/// either.
pub(in crate::provision) fn find(
    product: &str,
    version: Option<&str>,
    work: &mut Work<'_>,
) -> Result<Software, Error> {
    let all = catalogue::all(work.places())?;
    let mut failure = None;
    for candidate in candidates(&all, product, version, work.places()) {
        let entry = match candidate {
            Candidate::Installed(software) => return Ok(*software),
            Candidate::OfUser(entry) => return fetch::fetch(entry, work),
            Candidate::Catalogue(entry) => entry,
        };
        match fetch::fetch(entry, work) {
            Ok(software) if software.fits(product, version) => return Ok(software),
            // The registry has moved on from the very version that is asked for.
            Ok(_) => {}
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| unknown(&[product, version.unwrap_or_default()].join(" "), &all)))
}

/// The program that a server of this source is started from.
///
/// # Errors
/// Those of [`find`], [`fetch::fetch`] and [`Software::in_directory`].
pub(in crate::provision) fn of_source(source: &ServerSource, work: &mut Work<'_>) -> Result<Software, Error> {
    match source {
        ServerSource::Product { product, version } => find(product, version.as_deref(), work),
        ServerSource::Path(directory) => {
            Software::in_directory(directory, &format!("directory {}", directory.display()))
        }
        ServerSource::Image(image) => fetch::fetch(&Entry::of_image(image), work),
        ServerSource::Url(_) => unreachable!("a running server is not started"),
    }
}

/// What [`of_source`] would return, as far as known without fetching or asking; `None`: Prony does not start
/// it, or it is in an image that was not yet examined.
///
/// # Errors
/// [`Error::UnknownServer`], [`Error::Catalogue`], and those of [`Software::in_directory`].
pub(in crate::provision) fn foresee(source: &ServerSource, places: &Places) -> Result<Option<Seen>, Error> {
    let here = |software: Software| Seen::Here(Box::new(software));
    let (product, version) = match source {
        ServerSource::Product { product, version } => (product, version.as_deref()),
        ServerSource::Path(directory) => return Ok(Some(here(Software::in_directory(directory, "")?))),
        ServerSource::Image(image) => return Ok(fetch::cached(&Entry::of_image(image), places).map(here)),
        ServerSource::Url(_) => return Ok(None),
    };
    let all = catalogue::all(places)?;
    match candidates(&all, product, version, places).into_iter().next() {
        Some(Candidate::Installed(software)) => Ok(Some(Seen::Here(software))),
        Some(Candidate::OfUser(entry) | Candidate::Catalogue(entry)) => {
            let elsewhere =
                || Seen::Elsewhere { product: entry.product.clone(), version: entry.version.clone() };
            Ok(Some(fetch::cached(entry, places).map_or_else(elsewhere, here)))
        }
        None => Err(unknown(&[product, version.unwrap_or_default()].join(" "), &all)),
    }
}

/// The entry that `name` means: its own name, or product and version as `mysql-5.7`.
///
/// # Errors
/// [`Error::UnknownServer`], [`Error::Catalogue`].
pub(in crate::provision) fn named(name: &str, places: &Places) -> Result<Entry, Error> {
    let all = catalogue::all(places)?;
    catalogue::named(&all, name).cloned().ok_or_else(|| unknown(name, &all))
}

fn unknown(wanted: &str, all: &[Entry]) -> Error {
    let names: Vec<_> = all.iter().map(|entry| entry.name.as_str()).collect();
    Error::UnknownServer { wanted: wanted.trim().to_owned(), known: names.join(", ") }
}
