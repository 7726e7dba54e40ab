//! What to measure next, in words and as a command that is ready to run.

use super::{number, words::Words};
use crate::{
    analyse::{self, Why},
    plan::Plan,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Another run of the study that answers what this one leaves open.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Next {
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The command to run.
    pub command: String,
    /// How long it takes, in words; empty: unknown.
    pub takes: String,
    /// The figures that it rests on.
    pub grounds: analyse::Next,
}

/// What to measure next, with the command for the plan's study.
pub(super) fn next(next: &analyse::Next, plan: &Plan, words: Words) -> Next {
    // a key that is set again replaces its earlier value
    let is_anew = |set: &str| next.set.iter().any(|new| key_of(new) == key_of(set));
    let mut options: Vec<String> = Vec::new();
    for option in plan.repeat_options() {
        if options.last().is_some_and(|last| last == "--set") && is_anew(&option) {
            options.pop();
        } else {
            options.push(option);
        }
    }
    options.extend(next.set.iter().flat_map(|one| ["--set".to_owned(), one.clone()]));
    let options: Vec<String> = options.iter().map(|option| word(option)).collect();
    let minutes = |seconds: f64| number::count((seconds / 60.0).ceil().max(1.0) as u64);
    let takes = next.seconds.map(|seconds| words.fill("next", "takes", &[("minutes", &minutes(seconds))]));
    Next {
        reasons: next.reasons.iter().map(|why| reason(why, words)).collect(),
        command: format!("prony run {} {}", word(&plan.name), options.join(" ")),
        takes: takes.unwrap_or_default(),
        grounds: next.clone(),
    }
}

/// The key of `KEY=VALUE`.
fn key_of(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key).trim()
}

/// A text quoted so that a shell reads it back unchanged.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,%+@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn reason(why: &Why, words: Words) -> String {
    let fill = |key: &str, places: &[(&str, &str)]| words.fill("next", key, places);
    match why {
        Why::Unclear { comparisons, all, now, repeats } => {
            let [comparisons, all] = [comparisons, all].map(|count| number::count(*count as u64));
            let places = [
                ("comparisons", &*comparisons),
                ("all", &all),
                ("now", &now.to_string()),
                ("repeats", &repeats.to_string()),
            ];
            fill("unclear", &places)
        }
        Why::OpenClaims { claims, now, repeats } => {
            let places = [
                ("claims", &*claims.to_string()),
                ("now", &now.to_string()),
                ("repeats", &repeats.to_string()),
            ];
            fill("open_claims", &places)
        }
        Why::Rising { servers, factor, from, to } => {
            let places = [
                ("servers", &*words.listed(servers)),
                ("factor", &words.factor(factor)),
                ("from", &number::level(*from)),
                ("to", &number::level(*to)),
            ];
            fill("rising", &places)
        }
        Why::Disturbed { id, trials, of, now_s, interval_s } => {
            let places = [
                ("what", words.get("brief", id)),
                ("trials", &trials.to_string()),
                ("all", &of.to_string()),
                ("now", &number::level(*now_s)),
                ("interval", &number::level(*interval_s)),
            ];
            fill("disturbed", &places)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn options_are_words_of_a_shell() {
        assert_eq!(word("measure.repeats=8"), "measure.repeats=8");
        assert_eq!(word("connections=[8, 64]"), "'connections=[8, 64]'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
    }
}
