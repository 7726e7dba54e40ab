//! Sentences of facts: doubts, failures, trials that were left out.

use super::{Words, number};
use crate::{
    analyse::{LeftOut, Uncounted},
    report::{
        document,
        fact::{Fact, Figure, together},
    },
    run::{Cause, Doubt, Level, NoCrash, NoProfile, TrialFailure, TrialOutcome, What, verdict},
    store::{Difference, Of},
};
use std::collections::BTreeSet;

/// The most trials that a sentence names; beyond that it gives their number.
const TRIALS_NAMED_MAX: usize = 8;

/// Figures whose number decides whether a sentence speaks of one thing or of several. A template whose key
/// ends in `_one` is for one.
const COUNTED: [&str; 3] = ["count", "given_up", "trials"];

/// Figures that are shares, 0 to 1, and are told in per cent.
const SHARES: [&str; 9] =
    ["busy", "by_chance", "change", "error", "ever", "gap", "now", "share", "variation"];

/// Figures that are numbers of processors.
const PROCESSORS: [&str; 5] = ["processors", "servers", "client", "relay", "steal"];

impl Words {
    /// A fact in words.
    pub(in crate::report) fn say(self, fact: &Fact) -> String {
        let one = format!("{}_one", fact.key);
        let is_one = COUNTED.iter().any(|name| fact.is_one(name)) && !self.get(fact.section, &one).is_empty();
        let template = self.get(fact.section, if is_one { &one } else { &fact.key });
        super::filled(template, |place| Some(self.figure(place, fact.figures.get(place)?)))
    }

    fn figure(self, name: &str, figure: &Figure) -> String {
        match figure {
            Figure::Range(low, high) => {
                let (low, high) = (written(name, *low), written(name, *high));
                if low == high { low } else { format!("{low}{}{high}", self.get("sentence", "to")) }
            }
            Figure::Trials(trials) => {
                let number = |trial: &u32| number::count(u64::from(*trial) + 1);
                let mut names: Vec<String> = trials.iter().take(TRIALS_NAMED_MAX).map(number).collect();
                if let Some(more @ 1..) = trials.len().checked_sub(TRIALS_NAMED_MAX) {
                    names.push(self.fill("sentence", "more", &[("count", &more.to_string())]));
                }
                self.listed(&names)
            }
            Figure::Text(text) => text.clone(),
            Figure::Facts(facts) => {
                let texts: Vec<String> = facts.iter().map(|fact| self.say(fact)).collect();
                texts.join(self.get("sentence", "semicolon"))
            }
        }
    }

    /// Why a trial has no result.
    #[must_use]
    pub fn failure(self, failure: &TrialFailure) -> String {
        self.say(&failed(failure))
    }

    /// Why a server has no profile.
    #[must_use]
    pub fn no_profile(self, reason: &NoProfile) -> String {
        self.say(&Fact::of("no_profile", reason))
    }

    /// How a server died, or what else prevented a result.
    #[must_use]
    pub fn cause(self, cause: &Cause) -> String {
        self.say(&Fact::of("cause", cause))
    }

    /// Why a server suffered no crash, or no further one.
    #[must_use]
    pub fn no_crash(self, reason: &NoCrash) -> String {
        self.say(&Fact::of("no_crash", reason))
    }

    /// What had changed when a run was resumed.
    #[must_use]
    pub fn difference(self, difference: &Difference) -> String {
        let Difference { of, what, was, is } = difference;
        let value = |value: &Option<String>| match value {
            Some(value) => value.clone(),
            None => self.get("difference", "absent").to_owned(),
        };
        let (key, server, what) = match of {
            Of::Told => return what.clone(),
            Of::Study => ("study", "", what.as_str()),
            Of::Machine => ("machine", "", self.get("difference", what)),
            Of::Server(name) => ("server", name.as_str(), what.as_str()),
        };
        let places = [("server", server), ("what", what), ("was", &*value(was)), ("is", &*value(is))];
        self.fill("difference", key, &places)
    }

    /// What speaks against a trial, one line each, or why it has no result.
    #[must_use]
    pub fn outcome(self, outcome: &TrialOutcome) -> String {
        match outcome {
            TrialOutcome::Failed(failure) => self.failure(failure),
            TrialOutcome::Measured { doubts, .. } => {
                let lines: Vec<String> = doubts.iter().map(|doubt| self.doubt(doubt).text).collect();
                lines.join("\n")
            }
        }
    }

    /// One doubt, with the stream that it concerns.
    #[must_use]
    pub fn doubt(self, doubt: &Doubt) -> document::Doubt {
        let fact = doubted(&doubt.what);
        let text = self.say(&fact);
        let text = match &doubt.stream {
            Some(stream) => self.fill("sentence", "of_stream", &[("stream", stream), ("text", &text)]),
            None => text,
        };
        let stream = doubt.stream.clone();
        document::Doubt { level: doubt.level, id: doubt.id().to_owned(), stream, text, figures: fact }
    }

    /// Doubts of one stream, or of several of its trials: those that differ only in their figures become one.
    pub(in crate::report) fn doubts<'a>(
        self,
        doubts: impl IntoIterator<Item = &'a Doubt>,
    ) -> Vec<document::Doubt> {
        let found = doubts.into_iter().map(|doubt| ((doubt.level, doubt.id()), doubted(&doubt.what)));
        let doubt = |(about, figures): (Vec<(Level, &str)>, Fact)| document::Doubt {
            level: about.iter().map(|(level, _)| *level).max().unwrap_or_default(),
            id: about.first().map_or_else(String::new, |(_, id)| (*id).to_owned()),
            stream: None,
            text: self.say(&figures),
            figures,
        };
        together(found).into_iter().map(|one| doubt((one.about, one.fact))).collect()
    }

    /// The level of a trial with these doubts and the first reason for it, in a few words: `doubtful: other
    /// programs busy`. `None`: nothing speaks against it.
    #[must_use]
    pub fn brief(self, doubts: &[Doubt]) -> Option<String> {
        let level = verdict(doubts);
        if level == Level::Fine {
            return None;
        }
        let mut reasons = doubts.iter().filter(|doubt| doubt.level == level).map(Doubt::id);
        let reason = self.get("brief", reasons.next().unwrap_or_default());
        let places = [("level", self.get("level", level.name())), ("reason", reason)];
        Some(match reasons.count() {
            0 => self.fill("level", "because", &places),
            more => {
                let more = more.to_string();
                self.fill("level", "because_and_more", &[&places[..], &[("more", &more)]].concat())
            }
        })
    }
}

/// A number as it is written in a sentence.
fn written(name: &str, value: f64) -> String {
    if SHARES.contains(&name) {
        return number::percent(value * 100.0);
    }
    match value {
        _ if name == "code" => value.to_string(),
        _ if PROCESSORS.contains(&name) => number::ratio(value),
        whole if whole.fract() == 0.0 => number::level(whole),
        value => number::rate(value),
    }
}

/// A doubt in the form that templates take. Some kinds have a sentence for each of two cases.
pub(in crate::report) fn doubted(what: &What) -> Fact {
    let fact = Fact::of("doubt", what);
    let case = match what {
        What::Outage { recovered: false, .. } => "_open",
        What::Drift { left_out_s: 0, .. } => "_open",
        What::LittlesLaw { gap, .. } if *gap >= 0.0 => "_stalled",
        What::Network { busy, .. } if *busy <= RELAY_BUSY => "_waited",
        What::FellBack { at_end: true, .. } => "_off",
        _ => return fact,
    };
    Fact { key: format!("{}{case}", fact.key), ..fact }
}

/// Share of a processor below which a relay that was late must have been waiting for one.
const RELAY_BUSY: f64 = 0.8;

/// A failure in the form that templates take.
pub(in crate::report) fn failed(failure: &TrialFailure) -> Fact {
    Fact::of("failure", failure)
}

/// A trial that was left out, in the form that templates take.
pub(in crate::report) fn left_out(left_out: &LeftOut) -> Fact {
    let trials = |trial: u32| Figure::Trials(BTreeSet::from([trial]));
    let fact = |key: &str| Fact::new("left_out", key).with("trials", trials(left_out.trial));
    match &left_out.why {
        Uncounted::Failed(failure) => fact("failed").with("reason", Figure::Facts(vec![failed(failure)])),
        Uncounted::Interrupted => fact("interrupted"),
        Uncounted::NothingMeasured => fact("nothing_measured"),
        Uncounted::Invalid { doubts, repeated_as } => {
            let doubts = doubts.iter().map(|doubt| doubted(&doubt.what)).collect();
            let invalid = |key: &str| fact(key).with("doubts", Figure::Facts(doubts));
            match repeated_as {
                Some(again) => invalid("invalid_repeated").with("again", trials(*again)),
                None => invalid("invalid"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use serde_json::Value;
    use std::collections::BTreeMap;

    /// Variants of an enum, each with its fields, taken from its schema so that none can be forgotten.
    fn variants(schema: &schemars::Schema) -> BTreeMap<String, BTreeSet<String>> {
        let names = |fields: &Value| -> BTreeSet<String> {
            fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        let of_variant = |variant: &Value| -> Vec<(String, BTreeSet<String>)> {
            if let Some(name) = variant["const"].as_str() {
                return vec![(name.to_owned(), BTreeSet::new())];
            }
            if let Some(all) = variant["enum"].as_array() {
                return all
                    .iter()
                    .map(|name| (name.as_str().expect("a name").to_owned(), [].into()))
                    .collect();
            }
            let fields = &variant["properties"];
            if let Some(kind) = fields["kind"]["const"].as_str() {
                return vec![(kind.to_owned(), names(fields))];
            }
            let (name, inner) =
                fields.as_object().and_then(|fields| fields.iter().next()).expect("a variant");
            let own = names(&inner["properties"]);
            vec![(name.clone(), if own.is_empty() { ["text".to_owned()].into() } else { own })]
        };
        let value = serde_json::to_value(schema).expect("JSON");
        value["oneOf"].as_array().expect("variants").iter().flat_map(of_variant).collect()
    }

    fn places(text: &str) -> BTreeSet<String> {
        text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
    }

    /// Each variant has a template in every language, its fields fill all places of that template, and every
    /// template belongs to a variant.
    fn every_variant_has_words(section: &str, variants: &BTreeMap<String, BTreeSet<String>>) {
        for language in [Language::English, Language::Chinese] {
            let table = &Words::of(language).table[section];
            for (name, fields) in variants {
                let own = table.iter().filter(|(key, _)| of(variants, key) == Some(name));
                assert!(table.contains_key(name), "{section}.{name} is missing: {language:?}");
                for (key, template) in own {
                    assert!(!template.is_empty() && places(template).is_subset(fields), "{section}.{key}");
                }
            }
            for key in table.keys() {
                assert!(of(variants, key).is_some(), "{section}.{key} is for nothing: {language:?}");
            }
        }
    }

    /// The variant that a key belongs to: `outage` for `outage_open_one`.
    fn of<'a>(variants: &'a BTreeMap<String, BTreeSet<String>>, key: &str) -> Option<&'a String> {
        let names = variants.keys().filter(|name| key.strip_prefix(&***name).is_some_and(is_case));
        names.max_by_key(|name| name.len())
    }

    fn is_case(rest: &str) -> bool {
        ["", "_one", "_open", "_open_one", "_stalled", "_waited", "_off", "_off_one", "_all", "_done", "_of"]
            .contains(&rest)
    }

    #[test]
    fn every_doubt_and_every_failure_can_be_said_in_every_language() {
        let doubts = variants(&schemars::schema_for!(What));
        assert!(doubts.len() > 30 && doubts["starved"].contains("of"), "{doubts:?}");
        every_variant_has_words("doubt", &doubts);
        every_variant_has_words("brief", &doubts);
        let failures = variants(&schemars::schema_for!(TrialFailure));
        assert!(failures.len() > 10 && failures["given_up"].contains("attempts"), "{failures:?}");
        every_variant_has_words("failure", &failures);
        every_variant_has_words("no_profile", &variants(&schemars::schema_for!(NoProfile)));
        every_variant_has_words("no_crash", &variants(&schemars::schema_for!(NoCrash)));
        every_variant_has_words("cause", &variants(&schemars::schema_for!(Cause)));
        every_variant_has_words("step", &variants(&schemars::schema_for!(crate::provision::Step)));
    }

    #[test]
    fn every_reason_to_leave_a_trial_out_can_be_said_in_every_language() {
        let busy = Doubt::new(Level::Invalid, What::WorkerBusy { busy: 0.97 });
        let invalid = |repeated_as| Uncounted::Invalid { doubts: vec![busy.clone()], repeated_as };
        let all = [
            Uncounted::Failed(TrialFailure::NothingToSearch),
            Uncounted::Interrupted,
            Uncounted::NothingMeasured,
            invalid(None),
            invalid(Some(20)),
        ];
        for why in &all {
            // a new one must be added above, or this does not compile
            match why {
                Uncounted::Failed(_) | Uncounted::Interrupted => {}
                Uncounted::NothingMeasured | Uncounted::Invalid { .. } => {}
            }
        }
        for (language, expected) in [
            (Language::English, ["trial 3: ", "trials 3, 5 and 9: "]),
            (Language::Chinese, ["试验 3：", "试验 3、5 和 9："]),
        ] {
            let words = Words::of(language);
            for why in &all {
                let fact = |trial| ((), left_out(&LeftOut { trial, why: why.clone() }));
                let one = words.say(&fact(2).1);
                assert!(one.starts_with(expected[0]) && !one.contains('{'), "{one}");
                let [many] = &together([2, 4, 8].map(fact))[..] else { panic!("{why:?}") };
                let many = words.say(&many.fact);
                assert!(many.starts_with(expected[1]) && !many.contains('{'), "{many}");
            }
        }
        let words = Words::default();
        let repeated = |trial, again, busy| {
            let doubts = vec![Doubt::new(Level::Invalid, What::WorkerBusy { busy })];
            let why = Uncounted::Invalid { doubts, repeated_as: Some(again) };
            ((), left_out(&LeftOut { trial, why }))
        };
        let both = together([repeated(2, 20, 0.93), repeated(4, 21, 0.98)]);
        let text = words.say(&both[0].fact);
        let said = ["trials 3 and 5: invalid (", "used 93 to 98 % of a", "repeated as trials 21 and 22"];
        assert!(said.iter().all(|words| text.contains(words)), "{text}");
    }

    #[test]
    fn the_case_and_the_count_decide_which_sentence_it_is() {
        let words = Words::default();
        let say = |what: &What| words.say(&doubted(what));
        let outage = |count, recovered| say(&What::Outage { seconds: 2.5, count, recovered });
        assert_eq!(outage(1, true), "nothing succeeded for 2.50 s in 1 outage");
        assert_eq!(outage(3, true), "nothing succeeded for 2.50 s in 3 outages");
        assert!(outage(1, false).ends_with("in 1 outage, which lasted to the end"));
        let drift = |left_out_s| say(&What::Drift { change: -0.2, left_out_s, steady: None });
        assert!(drift(0).contains("changed by -20 %") && drift(7).contains("the first 7 s"));
        let network = |busy| say(&What::Network { busy, late_mean_us: 20.0, late_p99_us: 90.0 });
        assert!(network(0.9).contains("offer less") && network(0.5).contains("it waited for one"));
        let law = |gap| say(&What::LittlesLaw { gap, error: 0.01, in_flight: 7.2, connections: 8 });
        assert!(law(-0.1).contains("off by -10 %") && law(-0.1).contains("client itself"));
        assert!(law(0.1).contains("all connections stalled"));
        let back =
            |given_up, at_end| say(&What::FellBack { unacknowledged: 1, commits: 9, given_up, at_end });
        assert!(
            back(1, false).contains(
                "asynchronous \
                                     once:"
            ) && back(2, true).contains(
                "asynchronous 2 times and \
                still was"
            )
        );
    }

    #[test]
    fn doubts_that_differ_in_their_figures_alone_are_one_with_ranges() {
        let starved = |connections| Doubt::new(Level::Suspicious, What::Starved { connections, of: 1024 });
        let worse = Doubt { level: Level::Invalid, ..starved(18) };
        let told = Words::default().doubts(&[starved(16), Doubt::told("16 were away"), worse]);
        assert_eq!((told.len(), told[0].level, &*told[0].id), (2, Level::Invalid, "starved"));
        assert!(told[0].text.starts_with("16 to 18 of 1,024 connections"), "{}", told[0].text);
        let one = Words::default().doubt(&starved(3).of_stream("probe"));
        assert!(one.text.starts_with("stream probe: 3 of 1,024"), "{}", one.text);
        assert_eq!(
            serde_json::to_value(&one).expect("JSON")["figures"],
            serde_json::json!({"connections": 3.0, "of": 1024.0})
        );
    }

    #[test]
    fn the_worst_reason_is_told_in_a_few_words() {
        let brief = |doubts: &[Doubt]| Words::default().brief(doubts);
        assert_eq!(brief(&[]), None);
        let other = Doubt::new(Level::Suspicious, What::OtherLoad { processors: 1.0 });
        let steal = Doubt::new(Level::Suspicious, What::Steal { processors: 1.0 });
        let nothing = Doubt::new(Level::Invalid, What::NothingFinished);
        assert_eq!(brief(std::slice::from_ref(&other)).as_deref(), Some("doubtful: other programs busy"));
        assert_eq!(
            brief(&[other.clone(), steal.clone()]).as_deref(),
            Some("doubtful: other programs busy, 1 more")
        );
        assert_eq!(brief(&[other, nothing, steal]).as_deref(), Some("invalid: no transaction finished"));
    }
}
