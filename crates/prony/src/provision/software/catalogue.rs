//! Which servers are available: data, read from `catalogue.toml`, which is part of the program, and from a
//! file of the same form with the user's own entries.

use super::version;
use crate::provision::{Error, Places, containers};
use serde::Deserialize;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// One server that is available.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Unique; name of its directory in the cache.
    pub name: String,
    /// `mariadb` or `mysql`.
    pub product: String,
    /// Its version, or the beginning of it where the registry moves it on.
    pub version: String,
    /// SPDX expression; empty: nobody said.
    #[serde(default)]
    pub licence: String,
    /// The only kind of processor that it runs on, as `uname -m` says; `None`: whatever this machine has.
    #[serde(default)]
    pub architecture: Option<String>,
    /// What comes over the network, MB (of a million bytes).
    #[serde(default)]
    pub download_mb: u32,
    /// What sets this build apart.
    #[serde(default)]
    pub remark: String,
    /// Where it is.
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
    /// A directory with an unpacked server, which is used in place.
    Directory(PathBuf),
    /// A tar archive or zip.
    Archive(ArchiveSource),
    /// An image of a container; the server runs in it.
    Image(ImageSource),
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

/// A tar archive or zip.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveSource {
    /// Path of the file, or its URL.
    pub at: String,
    /// SHA-256 of the file, lower-case hexadecimal digits.
    pub sha256: String,
}

/// An image of a container.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSource {
    /// As the client takes it: `docker.io/library/mariadb:11.8`.
    pub name: String,
    /// `podman` or `docker`; `None`: the first of these that this machine has.
    pub client: Option<String>,
}

impl ArchiveSource {
    /// Whether [`ArchiveSource::at`] is a URL.
    #[must_use]
    pub fn is_url(&self) -> bool {
        self.at.contains("://")
    }
}

impl Entry {
    /// The entry of an image that a study names.
    #[must_use]
    pub fn of_image(image: &str) -> Self {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '_' };
        Self {
            name: format!("image-{}", image.chars().map(plain).collect::<String>()),
            product: String::new(),
            version: String::new(),
            licence: String::new(),
            architecture: None,
            download_mb: 0,
            remark: String::new(),
            source: Source::Image(ImageSource { name: image.to_owned(), client: None }),
        }
    }

    /// The place that it is had from, in words.
    #[must_use]
    pub fn registry(&self) -> String {
        match &self.source {
            Source::Apt(source) => format!("Debian {}", source.suite),
            Source::Maven(source) => format!("Maven ({})", source.artifact),
            Source::Npm(source) => format!("npm ({})", source.package),
            Source::Directory(directory) => format!("directory {}", directory.display()),
            Source::Archive(source) => source.at.clone(),
            Source::Image(source) => format!("image {}", source.name),
        }
    }

    /// Where a server of this entry is from, for its description.
    #[must_use]
    pub fn origin(&self) -> String {
        let fetched = match self.source {
            Source::Directory(_) | Source::Image(_) => "in",
            _ => "fetched from",
        };
        let remark = if self.remark.is_empty() { String::new() } else { format!(": {}", self.remark) };
        format!("{} {fetched} {}{remark}", self.name, self.registry())
    }

    /// Whether it can run on this machine's kind of processor.
    #[must_use]
    pub fn runs_here(&self) -> bool {
        self.architecture.as_deref().is_none_or(|architecture| architecture == std::env::consts::ARCH)
    }

    /// Whether it is what a study asks for. `version` may be shorter than the entry's (`10`), or longer
    /// (`10.11.19`) where the entry says only a beginning.
    #[must_use]
    pub fn fits(&self, product: &str, version: Option<&str>) -> bool {
        let version_fits_either =
            |wanted| version::fits(&self.version, wanted) || version::fits(wanted, &self.version);
        self.product == product && version.is_none_or(version_fits_either)
    }
}

/// Every server that is available: the user's own entries before those that come with Prony.
///
/// # Errors
/// [`Error::Catalogue`] if the user's file is wrong.
pub fn all(places: &Places) -> Result<Vec<Entry>, Error> {
    let mut all = of_user(&places.own_servers())?;
    all.extend_from_slice(entries());
    Ok(all)
}

/// Those of `entries` that fit, best first: the newest where a version is asked for, else by preference.
#[must_use]
pub fn fitting<'a>(entries: &'a [Entry], product: &str, version: Option<&str>) -> Vec<&'a Entry> {
    let mut fitting: Vec<_> = entries.iter().filter(|entry| entry.fits(product, version)).collect();
    if version.is_some() {
        fitting.sort_by(|one, other| newest_first(&one.version, &other.version));
    }
    fitting
}

/// The server that `name` means: an entry's own name, or product and version as `mysql-5.7`, or a product.
#[must_use]
pub fn named<'a>(entries: &'a [Entry], name: &str) -> Option<&'a Entry> {
    let exact = entries.iter().find(|entry| entry.name == name);
    exact.or_else(|| {
        let (product, version) = product_and_version(name);
        fitting(entries, product, version).into_iter().next()
    })
}

/// `mysql-5.7` as product and version.
#[must_use]
pub fn product_and_version(name: &str) -> (&str, Option<&str>) {
    name.split_once('-').map_or((name, None), |(product, version)| (product, Some(version)))
}

/// By numbers; a beginning (`10.11`) stands for the newest of its series.
fn newest_first(one: &str, other: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u32> {
        let numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
        numbers.chain(std::iter::repeat(u32::MAX)).take(VERSION_NUMBERS).collect()
    };
    numbers(other).cmp(&numbers(one))
}

/// More than any server's version has.
const VERSION_NUMBERS: usize = 4;

fn of_user(file: &Path) -> Result<Vec<Entry>, Error> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(Error::file("read", file))?,
    };
    let wrong = |reason: Wrong| Error::Catalogue { file: file.to_owned(), reason };
    let mut own: Own = toml::from_str(&text).map_err(|error| wrong(Wrong::Syntax(Box::new(error))))?;
    check(&own.server, entries()).map_err(wrong)?;
    for entry in &mut own.server {
        // Relative to the file that names it.
        let beside = |path: &Path| file.parent().unwrap_or(Path::new("/")).join(path);
        match &mut entry.source {
            Source::Directory(directory) => *directory = beside(directory),
            Source::Archive(source) if !source.is_url() => {
                source.at = beside(Path::new(&source.at)).display().to_string();
            }
            _ => {}
        }
    }
    Ok(own.server)
}

/// What is wrong with a user's catalogue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Wrong {
    #[error("{0}")]
    Syntax(Box<toml::de::Error>),
    #[error("`{0}` is not a valid name: use letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("there are two servers named `{0}`: choose another name")]
    Twice(String),
    #[error("the product of `{0}` must be mariadb or mysql")]
    Product(String),
    #[error("the version of `{0}` must start with a number")]
    Version(String),
    #[error("the client of `{0}` must be podman or docker")]
    Client(String),
    #[error("the sha256 of `{0}` must be 64 digits 0-9 and a-f, as sha256sum prints them")]
    Checksum(String),
}

/// What the type alone does not see to.
fn check(entries: &[Entry], others: &[Entry]) -> Result<(), Wrong> {
    let mut names: BTreeSet<&str> = others.iter().map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        let name = &entry.name;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(Wrong::Name(name.clone()));
        }
        if !names.insert(name) {
            return Err(Wrong::Twice(name.clone()));
        }
        if !["mariadb", "mysql"].contains(&entry.product.as_str()) {
            return Err(Wrong::Product(name.clone()));
        }
        if !entry.version.starts_with(|letter: char| letter.is_ascii_digit()) {
            return Err(Wrong::Version(name.clone()));
        }
        let sha256 = match &entry.source {
            Source::Maven(source) => Some(&source.sha256),
            Source::Npm(source) => Some(&source.sha256),
            Source::Archive(source) => Some(&source.sha256),
            Source::Apt(_) | Source::Directory(_) | Source::Image(_) => None,
        };
        if let Source::Image(ImageSource { client: Some(client), .. }) = &entry.source
            && !containers::CLIENTS.contains(&client.as_str())
        {
            return Err(Wrong::Client(name.clone()));
        }
        let digits = |text: &String| {
            text.len() == 64
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if !sha256.is_none_or(digits) {
            return Err(Wrong::Checksum(name.clone()));
        }
    }
    Ok(())
}

/// The user's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default)]
    server: Vec<Entry>,
}

/// The file that is part of the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    server: Vec<Entry>,
    galera: GaleraPackages,
    libraries: LibraryPackages,
}

/// Debian's packages of Galera's library.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provision) struct GaleraPackages {
    /// Suites that have it, the preferred one first.
    pub(in crate::provision) suites: Vec<String>,
    /// MB.
    pub(in crate::provision) download_mb: u32,
    packages: BTreeMap<String, String>,
}

impl GaleraPackages {
    /// The package of a series, `3` or `4`.
    pub(in crate::provision) fn package(&self, series: &str) -> &str {
        self.packages.get(series).map_or("galera-4", String::as_str)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryPackages {
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

/// Every server that comes with Prony, preferred ones first.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &catalogue().server
}

/// Galera's library.
pub(in crate::provision) fn galera() -> &'static GaleraPackages {
    &catalogue().galera
}

/// The package of Debian that has the shared library `name`.
pub(in crate::provision) fn library_package(name: &str) -> Option<&'static str> {
    catalogue().libraries.packages.get(name).map(String::as_str)
}

/// The suite of Debian that libraries are taken from.
pub(in crate::provision) fn library_suite() -> &'static str {
    &catalogue().libraries.suite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_right_and_every_entry_is_found_by_its_own_product_and_version() {
        assert_eq!(check(entries(), &[]), Ok(()));
        for entry in entries() {
            assert!(entry.fits(&entry.product, Some(&entry.version)), "{}", entry.name);
            assert!(!entry.licence.is_empty() && !entry.remark.is_empty() && entry.download_mb > 0);
        }
    }

    #[test]
    fn a_series_means_its_newest_and_a_product_alone_the_preferred_one() {
        let newest =
            |product: &str, version| fitting(entries(), product, version).first().map(|e| e.name.as_str());
        for (series, name) in [
            ("5.5", "mysql-5.5.34"),
            ("5.6", "mysql-5.6.24"),
            ("5.7", "mysql-5.7.22"),
            ("8.0", "mysql-8.0.33"),
            ("9", "mysql-9.7-debian"),
        ] {
            assert_eq!(newest("mysql", Some(series)), Some(name));
        }
        for (series, name) in [
            ("10.1", "mariadb-10.1.23"),
            ("10.2", "mariadb-10.2.11"),
            ("10.5", "mariadb-10.5-debian"),
            ("10", "mariadb-10.11-debian"),
            ("11.4", "mariadb-11.4.5"),
            ("11", "mariadb-11.8-debian"),
        ] {
            assert_eq!(newest("mariadb", Some(series)), Some(name));
        }
        assert_eq!(newest("mariadb", None), Some("mariadb-10.11-debian"));
        assert_eq!(named(entries(), "mysql-5.7").map(|entry| entry.name.as_str()), Some("mysql-5.7.22"));
        assert_eq!(named(entries(), "mysql-5.7.19").map(|entry| entry.name.as_str()), Some("mysql-5.7.19"));
        assert_eq!(named(entries(), "postgres"), None);
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

    #[test]
    fn users_add_entries_of_the_same_form_and_learn_what_is_wrong_with_them() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("servers.toml");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            of_user(&file)
        };
        let entry = |name: &str, from: &str| {
            format!(
                "[[server]]\nname = \"{name}\"\nproduct = \"mysql\"\nversion = \"8.4.2\"\nfrom = {{ {from} \
                 }}\n"
            )
        };
        let sum = "0".repeat(64);
        let archive = format!("archive = {{ at = \"mysql.tar.xz\", sha256 = \"{sum}\" }}");
        let own = read(&(entry("mine", "directory = \"/opt/mysql\"") + &entry("packed", &archive))).unwrap();
        assert_eq!(own[0].source, Source::Directory("/opt/mysql".into()));
        let at = home.path().join("mysql.tar.xz").display().to_string();
        assert_eq!(own[1].source, Source::Archive(ArchiveSource { at, sha256: sum }));
        for (wrong, words) in [
            (entry("mysql-5.7.22", "directory = \"/opt/mysql\""), "two servers named"),
            (entry("../up", "directory = \"/opt/mysql\""), "is not a valid name"),
            (entry("mine", "archive = { at = \"x\", sha256 = \"12\" }"), "as sha256sum prints them"),
            (entry("mine", "directoy = \"/opt/mysql\""), "unknown variant `directoy`"),
        ] {
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("servers.toml"), "{error}");
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(of_user(&file).unwrap(), []);
    }
}
