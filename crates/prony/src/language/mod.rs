//! The languages in which Prony speaks to people, and short texts in both, side by side. Reports have tables
//! of their own (`report/words`).

/// A language that reports are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, simplified.
    Chinese,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// The language that the environment asks for (`LC_ALL`, `LC_MESSAGES`, `LANG`); English where there are
    /// no texts in that language.
    #[must_use]
    pub fn of_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let asked = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set);
        asked.and_then(|asked| asked.parse().ok()).unwrap_or_default()
    }

    /// The one of two texts that is in this language.
    #[must_use]
    pub fn either<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// A language that there are no texts in.
#[derive(Debug, thiserror::Error)]
#[error("there are no reports in '{0}'; there are en and zh")]
pub struct Unknown(String);

impl std::str::FromStr for Language {
    type Err = Unknown;

    /// Takes `en` and `zh`, with or without a region (`zh_CN.UTF-8`).
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        match code.split(['-', '_', '.']).next().unwrap_or_default() {
            "en" => Ok(Self::English),
            "zh" => Ok(Self::Chinese),
            _ => Err(Unknown(code.to_owned())),
        }
    }
}

/// A text with values in a language: English first, then Chinese, as `format!` takes them.
macro_rules! say {
    ($language:expr, $english:literal, $chinese:literal $(, $value:expr)* $(,)?) => {
        match $language {
            $crate::language::Language::English => format!($english $(, $value)*),
            $crate::language::Language::Chinese => format!($chinese $(, $value)*),
        }
    };
}
pub(crate) use say;
