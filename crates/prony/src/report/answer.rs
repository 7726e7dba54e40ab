//! The beginning of a report: the answer in a few sentences, and one line on how far it can be trusted.

use super::{
    claims,
    document::{Advised, Condition, Finding, FindingKind},
    number,
    words::{Sentence, Words},
};
use crate::{
    analyse::{self, ClaimTally, Confidence, Findings, Reason, Restless},
    fairness::Verdict,
    plan::Metric,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The most reasons in the line on trust; its section has all.
const REASONS_MAX: usize = 3;

/// What a run answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// The study's claims, by what the run says about them.
    pub claims: ClaimTally,
    /// The same in words; empty: the study claims nothing.
    pub claims_text: String,
    /// What to do, and the most important findings, in words; none of them is repeated further down.
    pub sentences: Vec<String>,
    /// How many of them are advice.
    pub advised: usize,
    /// What the first of them is about, in words; empty: the whole run.
    pub about: String,
    /// The metric by which the first of them tells servers apart; null: none.
    pub metric: Option<Metric>,
}

/// How far the figures can be trusted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Trust {
    /// All reasons together.
    pub level: Confidence,
    /// Trials that the figures rest on.
    pub trials: u32,
    /// What speaks against them, the worst and most frequent first.
    pub reasons: Vec<Reason>,
    /// The same in words.
    pub text: String,
}

impl Finding {
    /// The sentence with its subject in one line, as an answer shows it.
    pub(super) fn line(&self) -> String {
        Sentence { about: self.about.clone(), text: self.text.clone() }.line()
    }
}

impl Advised {
    /// The same for advice.
    pub(super) fn line(&self) -> String {
        Sentence { about: self.about.clone(), text: self.text.clone() }.line()
    }
}

impl FindingKind {
    /// Whether it is about how far figures can be trusted, rather than about servers.
    pub(super) fn is_about_trust(self) -> bool {
        match self {
            Self::Doubtful | Self::Unfair | Self::Died | Self::Failed | Self::Incomplete => true,
            Self::Effect
            | Self::Advantage
            | Self::NoDifference
            | Self::NotCompared
            | Self::Peak
            | Self::Overloaded
            | Self::Plans
            | Self::Nothing => false,
        }
    }
}

/// The most sentences in an answer; the rest of the report has more.
const SENTENCES_MAX: usize = 3;

/// The answer, in words: what to do, and the other findings that matter most. `told` are all findings: where
/// none says anything about servers, they say why.
pub(super) fn answer(findings: &Findings, advice: &[Advised], told: &[Finding], words: Words) -> Answer {
    let lines = advice.iter().map(Advised::line);
    let mut sentences: Vec<String> = lines.take(SENTENCES_MAX).collect();
    let advised: Vec<&analyse::Advice> =
        advice.iter().take(SENTENCES_MAX).flat_map(|advised| &advised.grounds).collect();
    let room = SENTENCES_MAX.saturating_sub(sentences.len());
    // where ways to use a server are all compared with each other, the study's claims are its questions
    let decided = findings.claims.iter().filter_map(|judgement| claims::brief(judgement, words));
    let decided: Vec<String> = decided.take(room).collect();
    let axis = &findings.axis;
    let compares_ways = !axis.compared.is_empty() || !axis.servers.factors.is_empty();
    let asks = compares_ways && !decided.is_empty();
    let leading = findings.answer.findings.iter().map(|&index| &findings.findings[index]);
    // the advice itself has the figures for its subject
    let is_new = |finding: &&analyse::Finding| !advised.iter().any(|advice| finding.is_about(advice));
    let leading: Vec<&analyse::Finding> = leading.filter(|one| !asks && is_new(one)).collect();
    let leading = analyse::alike(&leading, analyse::Finding::is_alike);
    sentences.extend(leading.iter().take(room).map(|alike| words.findings(alike, findings).line()));
    if asks || sentences.is_empty() {
        // the study's question gets an answer even if no server is better
        sentences.extend(decided);
    }
    if sentences.is_empty() {
        let is_said =
            |finding: &&Finding| !matches!(finding.kind, FindingKind::Doubtful | FindingKind::Unfair);
        sentences.extend(told.iter().filter(is_said).take(1).map(|finding| finding.text.clone()));
    }
    if let Some(restless) = findings.restless() {
        let place = if restless.answered { sentences.len() } else { advice.len().min(SENTENCES_MAX) };
        sentences.insert(place, words.restless(&restless));
    }
    let first = findings.answer.findings.first().map(|&index| &findings.findings[index]);
    let asked = findings.claims.iter().find(|one| asks && claims::brief(one, words).is_some());
    let (levels, metric) = match (advised.first(), asked) {
        (Some(advice), _) => (Some(advice.levels.clone()), Some(advice.metric)),
        (None, Some(claim)) => (claims::load(claim, axis), Some(claim.claim.metric)),
        (None, None) => {
            let levels = first.and_then(analyse::Finding::levels).cloned();
            (levels, first.and_then(analyse::Finding::metric))
        }
    };
    let about = levels.map_or_else(String::new, |levels| words.subject(&levels));
    let claims = findings.answer.claims;
    let ClaimTally { supported, refuted, open } = claims;
    let all = supported + refuted + open;
    let [all_text, supported, refuted, open] = [all, supported, refuted, open].map(|count| count.to_string());
    let places = [("all", &*all_text), ("supported", &supported), ("refuted", &refuted), ("open", &open)];
    let claims_text = if all == 0 { String::new() } else { words.fill("answer", "claims", &places) };
    Answer { claims, claims_text, sentences, advised: advice.len().min(SENTENCES_MAX), about, metric }
}

/// How far it can be trusted, in words.
pub(super) fn trust(findings: &Findings, conditions: &[Condition], words: Words) -> Trust {
    let mut trust: analyse::Trust = findings.trust.clone();
    if conditions.iter().any(|one| one.verdict == Verdict::Different) {
        trust.limit("unfair", trust.trials, trust.trials);
    }
    let text = words.trust(&trust);
    let analyse::Trust { level, trials, reasons } = trust;
    Trust { level, trials, reasons, text }
}

impl Words {
    /// Says that other programs kept the machine busy, and what helps.
    fn restless(self, restless: &Restless) -> String {
        let [count, all] =
            [restless.reason.trials, restless.reason.of].map(|count| number::count(u64::from(count)));
        let places = [("count", &*count), ("all", &all), ("repeats", &restless.repeats.to_string())];
        let key = if restless.answered { "restless_answered" } else { "restless" };
        self.fill("answer", key, &places)
    }

    /// How far figures can be trusted, in one line.
    fn trust(self, trust: &analyse::Trust) -> String {
        let mut reasons: Vec<String> =
            trust.reasons.iter().take(REASONS_MAX).map(|reason| self.reason(reason)).collect();
        if let Some(more @ 1..) = trust.reasons.len().checked_sub(REASONS_MAX) {
            let key =
                if more == 1 && !self.get("trust", "more_one").is_empty() { "more_one" } else { "more" };
            reasons.push(self.fill("trust", key, &[("count", &more.to_string())]));
        }
        let key = match (trust.level, reasons.is_empty()) {
            (Confidence::Good, true) => "good",
            (Confidence::Good, false) => "good_but",
            (Confidence::Limited, _) => "limited",
            (Confidence::Low, false) => "low",
            (Confidence::Low, true) => "nothing",
        };
        let trials = number::count(u64::from(trust.trials));
        let reasons = reasons.join(self.get("sentence", "semicolon"));
        self.fill("trust", key, &[("trials", &trials), ("reasons", &reasons)])
    }

    /// `other programs busy in 15 of 48 trials`.
    fn reason(self, reason: &Reason) -> String {
        let own = self.get("trust", &reason.id);
        let key = if own.is_empty() { "reason" } else { &reason.id };
        let [count, all] = [reason.trials, reason.of].map(|count| number::count(u64::from(count)));
        let what = self.get("brief", &reason.id);
        self.fill("trust", key, &[("what", what), ("count", &count), ("all", &all)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;

    fn trust(level: Confidence, reasons: &[(&str, u32)]) -> analyse::Trust {
        let reason = |(id, trials): &(&str, u32)| Reason { id: (*id).to_owned(), trials: *trials, of: 48 };
        analyse::Trust { level, trials: 48, reasons: reasons.iter().map(reason).collect() }
    }

    #[test]
    fn one_line_says_how_far_figures_can_be_trusted_and_why() {
        let limited = trust(Confidence::Limited, &[("other_load", 15), ("failed", 2)]);
        let many = [("other_load", 15), ("steal", 9), ("drift", 4), ("clock", 2), ("unfair", 48)];
        for language in Language::ALL {
            let words = Words::of(language);
            let text = words.trust(&limited);
            assert!(text.contains("15") && text.contains("48") && text.contains('2'), "{text}");
            let text = words.trust(&trust(Confidence::Low, &many));
            assert!(!text.contains('{') && !text.contains(words.get("brief", "clock")), "{text}");
            for level in [Confidence::Good, Confidence::Low] {
                let text = words.trust(&trust(level, &[]));
                assert!(!text.is_empty() && !text.contains('{'), "{text}");
            }
        }
        let text = Words::of(Language::English).trust(&limited);
        assert!(text.contains("limited") && text.contains("in 15 of 48 trials"), "{text}");
    }
}
