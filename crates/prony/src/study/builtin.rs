//! The studies that come with Prony, embedded, and finding a study by name or path.

use super::{Adjustments, Mistakes, Study, parse};
use std::{io, path::Path, path::PathBuf};

/// A built-in study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// The file of `studies/` by that name.
macro_rules! builtin_study {
    ($name:literal) => {
        Builtin { name: $name, text: include_str!(concat!("../../../../studies/", $name, ".toml")) }
    };
}

static BUILTINS: &[Builtin] = &[
    builtin_study!("quickstart"),
    builtin_study!("threadpool"),
    builtin_study!("generations"),
    builtin_study!("background-pressure"),
    builtin_study!("many-tables"),
    builtin_study!("connection-modes"),
    builtin_study!("scan-and-index"),
    builtin_study!("instance-sizes"),
    builtin_study!("strong-sync"),
    builtin_study!("durability"),
    builtin_study!("replication"),
    builtin_study!("galera"),
    builtin_study!("versions"),
    builtin_study!("own-schema"),
    builtin_study!("tpcc"),
    builtin_study!("tpch"),
    builtin_study!("neighbours"),
];

impl Builtin {
    /// Its title.
    #[must_use]
    pub fn title(&self) -> String {
        match parse(self.name, self.name, self.text, &Adjustments::default()) {
            Ok(study) => study.title,
            Err(mistakes) => mistakes.to_string(),
        }
    }
}

/// All built-in studies.
#[must_use]
pub fn builtin() -> &'static [Builtin] {
    BUILTINS
}

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a file nor a built-in study.
    #[error("`{name}` is neither a file nor a built-in study{}", hint(.name))]
    NotFound {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the study {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is wrong.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
}

/// Reads the study in the file `name`, or the built-in one of that name.
///
/// # Errors
/// Not there, not readable, or wrong.
pub fn open(name: &str, adjustments: &Adjustments) -> Result<Study, Error> {
    let path = Path::new(name);
    if path.is_file() {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let stem =
            path.file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return Ok(parse(&stem, name, &text, adjustments)?);
    }
    let Some(builtin) = BUILTINS.iter().find(|builtin| builtin.name == name) else {
        return Err(Error::NotFound { name: name.to_owned() });
    };
    Ok(parse(builtin.name, builtin.name, builtin.text, adjustments)?)
}

fn hint(name: &str) -> String {
    let names = BUILTINS.iter().map(|builtin| builtin.name);
    match super::mistake::nearest(name, names) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; `prony list studies` shows the built-in ones".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_built_in_study_says_what_it_claims_in_chinese_too() {
        let names: BTreeSet<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        assert_eq!(names.len(), BUILTINS.len(), "each once");
        let is_chinese = |text: &str| text.chars().any(|letter| letter > '\u{2e7f}');
        for builtin in BUILTINS {
            let study = open(builtin.name, &Adjustments::default()).expect("a good study");
            assert!(is_chinese(&study.title_zh), "{} has no title_zh", builtin.name);
            for claim in &study.claims {
                assert!(is_chinese(&claim.says_zh), "{}: no says_zh: {}", builtin.name, claim.says);
            }
        }
    }
}
