//! What a plan says about a value. Combinations that differ only in it are described together.

/// A phrase about one combination: a value, which may differ in others, and the words around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// Before it.
    pub before: String,
    /// The value, or the whole phrase if nothing in it varies; empty: no phrase.
    pub value: String,
    /// Behind it.
    pub after: String,
}

impl Phrase {
    /// A value with its words.
    #[must_use]
    pub fn new(before: impl Into<String>, value: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before: before.into(), value: value.into(), after: after.into() }
    }

    /// A phrase without a value that varies.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new("", text, "")
    }

    /// A value with its words, where there is one.
    pub fn of(before: &str, value: Option<impl ToString>, after: &str) -> Self {
        value.map_or_else(Self::nothing, |value| Self::new(before, value.to_string(), after))
    }

    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::plain("")
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}{}", self.before, self.value, self.after)
    }
}

/// Some values as one, `separator` between them; `None`: there are none.
pub(super) fn joined(values: &[impl ToString], separator: &str) -> Option<String> {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    (!values.is_empty()).then(|| values.join(separator))
}
