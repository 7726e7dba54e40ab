//! Says once what holds for several loads: which side of a pair is better, and by how much under each load;
//! of many loads, only the smallest and the largest difference.

use super::{Sentence, Words, ladder::by};
use crate::{
    analyse::{Advice, Axis, Finding, Findings, Rule, Verdict},
    plan::Metric,
    report::number,
};
use stats::Estimate;
use std::collections::BTreeMap;

/// The most loads that a sentence names one by one.
const NAMED_MAX: usize = 3;

/// Two sides and what they differ in.
struct Pair<'a> {
    one: &'a str,
    other: &'a str,
    metric: Metric,
    verdict: Verdict,
    /// Differences up to this share do not matter.
    relevant: f64,
}

/// By how much they differ under one load.
struct Item<'a> {
    levels: &'a BTreeMap<String, String>,
    stretch: (f64, f64),
    ratio: &'a Estimate,
}

impl Words {
    /// The sentence of findings that differ only in their load ([`Finding::is_alike`]).
    pub(in crate::report) fn findings(self, alike: &[&Finding], all: &Findings) -> Sentence {
        let first = alike[0];
        let texts = |item: &dyn Fn(&Finding) -> Option<String>| {
            let mut texts: Vec<String> = alike.iter().filter_map(|finding| item(finding)).collect();
            if let Some(more @ 2..) = texts.len().checked_sub(NAMED_MAX) {
                texts.truncate(NAMED_MAX);
                texts.push(self.fill("sentence", "more", &[("count", &more.to_string())]));
            }
            self.beside(&texts)
        };
        let text = match first {
            _ if alike.len() < 2 => return self.finding(first, all),
            Finding::Effect { server, base, metric, .. }
            | Finding::Advantage { server, base, metric, .. } => {
                let items: Vec<Item<'_>> = alike.iter().filter_map(|finding| item(finding)).collect();
                let (metric, verdict) = (*metric, Verdict::Better);
                let pair = Pair { one: server, other: base, metric, verdict, relevant: 0.0 };
                self.pair(&pair, &items, &all.axis)
            }
            Finding::Peak { server, at, last, .. } => {
                let key = if at.total_cmp(last).is_eq() { "peak_at_end" } else { "peak" };
                let items = texts(&|finding| self.peak_item(finding, key, &all.axis));
                self.fill("several", key, &[("server", server), ("items", &items)])
            }
            Finding::NoDifference { servers, metric, resolution, same, .. } => {
                let key = match (same, *resolution < 1.0) {
                    (Some(_), _) => "same",
                    (None, true) => "no_difference",
                    (None, false) => "no_difference_unknown",
                };
                let items = texts(&|finding| self.unseen_item(finding, key));
                let places = [
                    ("server", &*servers.0),
                    ("base", &servers.1),
                    ("metric", &self.metric(*metric)),
                    ("relevant", &number::percent(same.unwrap_or_default() * 100.0)),
                    ("items", &items),
                ];
                self.fill("several", key, &places)
            }
            _ => return self.finding(first, all),
        };
        Sentence { about: String::new(), text }
    }

    /// The sentence of advice that differs only in its load ([`Advice::is_alike`]); `loads`: how many loads
    /// the run has.
    pub(in crate::report) fn advices(
        self,
        alike: &[&Advice],
        axis: &Axis,
        relevant: f64,
        loads: usize,
    ) -> Sentence {
        let first = alike[0];
        if alike.len() < 2 {
            return self.advice(first, axis, relevant);
        }
        let items = alike.iter().map(|advice| Item {
            levels: &advice.levels,
            stretch: advice.stretch,
            ratio: &advice.ratio,
        });
        let items: Vec<Item<'_>> = items.collect();
        let Advice { one, other, metric, verdict, .. } = first;
        let pair = Pair { one, other, metric: *metric, verdict: *verdict, relevant };
        let latency = match first.rule {
            Rule::Local { latency_ms } => number::milliseconds(latency_ms),
            _ => String::new(),
        };
        let counts = [("count", &*alike.len().to_string()), ("all", &loads.to_string())];
        let some = self.fill("several", "loads", &counts);
        let some = if alike.len() < loads { some } else { String::new() };
        let place = if is_together(&items) { self.place_of(first, axis) } else { String::new() };
        let places = [
            ("one", &**one),
            ("other", other),
            ("latency", &latency),
            ("loads", &some),
            ("where", &place),
            ("items", &self.items(&pair, &items, axis, "first")),
        ];
        let text = self.fill("several", &self.advice_key(first), &places) + &self.advice_end(first);
        Sentence { about: String::new(), text }
    }

    /// `pool delivers more throughput than threads from 8 to 64 connections: 1.30 times with oltp_read_only
    /// (95 % CI 1.14 to 1.48) and 1.34 times with update_non_index (95 % CI 1.17 to 1.54).`
    fn pair(self, pair: &Pair<'_>, items: &[Item<'_>], axis: &Axis) -> String {
        let kind = if pair.metric == Metric::Throughput { "throughput" } else { "latency" };
        let stretch = self.stretch_of(axis, items[0].stretch).filter(|_| is_together(items));
        let place = stretch.map(|stretch| self.fill("several", "where", &[("where", &stretch)]));
        let places = [
            ("server", pair.one),
            ("base", pair.other),
            ("metric", &self.metric(pair.metric)),
            ("where", &place.unwrap_or_default()),
            ("items", &self.items(pair, items, axis, "item")),
        ];
        self.fill("several", kind, &places)
    }

    /// Load by load; the first one is written with the template `key`.
    fn items(self, pair: &Pair<'_>, items: &[Item<'_>], axis: &Axis, key: &str) -> String {
        let is_rate = pair.metric == Metric::Throughput;
        let kind = if is_rate { "throughput" } else { "latency" };
        let verdict = pair.verdict.name();
        // losses are told like gains: what is less is told in per cent
        let is_factor = verdict == "same" || is_rate == (verdict == "better");
        let together = is_together(items);
        let text = |(key, item): (&str, &Item<'_>)| {
            let stretch = self.stretch_of(axis, item.stretch).filter(|_| !together);
            let place = stretch.map(|stretch| self.fill("several", "item_where", &[("where", &stretch)]));
            let places = [
                ("about", &*self.load(item.levels)),
                ("base", pair.other),
                ("metric", &self.metric(pair.metric)),
                ("relevant", &number::percent(pair.relevant * 100.0)),
                ("where", &place.unwrap_or_default()),
                ("change", &by(item.ratio.value, is_factor)),
                ("interval", &self.effect_interval(item.ratio, is_factor)),
            ];
            self.fill("several", &format!("{key}_{kind}_{verdict}"), &places)
        };
        let keys = std::iter::once(key).chain(std::iter::repeat("item"));
        if items.len() <= NAMED_MAX {
            return self.beside(&keys.zip(items).map(text).collect::<Vec<_>>());
        }
        let size = |item: &&Item<'_>| item.ratio.value.ln().abs();
        let least = items.iter().min_by(|a, b| size(a).total_cmp(&size(b)));
        let most = items.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        let ends: Vec<String> = keys.zip(least.into_iter().chain(most)).map(text).collect();
        let places = [("least", &*ends[0]), ("most", &ends[1]), ("count", &items.len().to_string())];
        self.fill("several", "between", &places)
    }

    /// The name of a load in a list; one made of several levels is put in quotation marks.
    fn load(self, levels: &BTreeMap<String, String>) -> String {
        self.marked(&self.subject(levels))
    }

    /// Figures of several loads side by side.
    fn beside(self, texts: &[String]) -> String {
        let Some((last, before)) = texts.split_last().filter(|(_, before)| !before.is_empty()) else {
            return texts.concat();
        };
        let before = before.join(self.get("several", "comma"));
        format!("{before}{}{last}", self.get("several", "and"))
    }

    fn peak_item(self, finding: &Finding, key: &str, axis: &Axis) -> Option<String> {
        let Finding::Peak { levels, at, throughput, last, throughput_last, enough, .. } = finding else {
            return None;
        };
        let loss = (1.0 - throughput_last.value / throughput.value).max(0.0) * 100.0;
        let knee = self.fill("several", "knee", &[("where", &self.stretch(axis, (*enough, *enough)))]);
        let places = [
            ("about", &*self.load(levels)),
            ("knee", if enough < at { &knee } else { "" }),
            ("throughput", &number::rate(throughput.value)),
            ("where", &self.stretch(axis, (*at, *at))),
            ("where_last", &self.stretch(axis, (*last, *last))),
            ("loss", &number::percent(loss)),
        ];
        Some(self.fill("several", &format!("item_{key}"), &places))
    }

    fn unseen_item(self, finding: &Finding, key: &str) -> Option<String> {
        let Finding::NoDifference { levels, resolution, .. } = finding else { return None };
        let places = [("about", &*self.load(levels)), ("resolution", &number::percent(resolution * 100.0))];
        Some(self.fill("several", &format!("item_{key}"), &places))
    }
}

/// Whether all are about the same places.
fn is_together(items: &[Item<'_>]) -> bool {
    items.iter().all(|item| item.stretch == items[0].stretch)
}

fn item(finding: &Finding) -> Option<Item<'_>> {
    match finding {
        Finding::Effect { levels, stretch, ratio, .. }
        | Finding::Advantage { levels, stretch, ratio, .. } => {
            Some(Item { levels, stretch: *stretch, ratio })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse::AxisKind, plan::ServerNames, report::Language};

    fn advice(load: &str, ratio: f64, rule: Rule, verdict: Verdict, metric: Metric) -> Advice {
        Advice {
            rule,
            levels: [("workload".to_owned(), load.to_owned())].into(),
            one: "pool".to_owned(),
            other: "threads".to_owned(),
            metric,
            stretch: (8.0, if load == "update" { 512.0 } else { 64.0 }),
            together: true,
            ratio: Estimate::between(ratio, ratio * 0.9, ratio * 1.1, 0.95, 3),
            at: None,
            verdict,
        }
    }

    fn axis() -> Axis {
        let factors = vec!["connections".to_owned()];
        Axis { kind: AxisKind::Connections, factors, compared: Vec::new(), servers: ServerNames::default() }
    }

    #[test]
    fn every_rule_speaks_of_several_loads_in_every_language() {
        let rules = [
            Rule::Choose { servers: 2 },
            Rule::Pool,
            Rule::Upgrade { also: vec!["redo_capacity".to_owned()] },
            Rule::Local { latency_ms: 0.4 },
            Rule::Safety { lost: None },
        ];
        for language in Language::ALL {
            let words = Words::of(language);
            for rule in &rules {
                for verdict in [Verdict::Better, Verdict::Worse, Verdict::Same] {
                    for metric in [Metric::Throughput, Metric::Quantile(95_000)] {
                        let of = |load, ratio| advice(load, ratio, rule.clone(), verdict, metric);
                        let (one, other) = (of("read", 1.3), of("update", 1.6));
                        assert!(one.is_alike(&other));
                        let said = words.advices(&[&one, &other], &axis(), 0.03, 3);
                        let all = ["read", "update", "pool", "threads"];
                        let text = &said.text;
                        let is_pool = *rule == Rule::Pool;
                        assert!(
                            all.iter().all(|name| text.contains(name) || is_pool && *name == "pool"),
                            "{text}"
                        );
                        assert!(!text.contains('{') && said.about.is_empty(), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn of_many_loads_the_least_and_the_most_are_told() {
        let of = |load, ratio| advice(load, ratio, Rule::Pool, Verdict::Better, Metric::Throughput);
        let all = [of("a", 1.5), of("b", 1.2), of("c", 1.9), of("d", 1.6)];
        let words = Words::of(Language::English);
        let said = words.advices(&all.each_ref(), &axis(), 0.03, 6).text;
        assert_eq!(
            said,
            "Switch the thread pool on for 4 of 6 loads from 8 to 64 connections: from 1.20 times the \
             throughput of threads with b (95 % CI 1.08 to 1.32) to 1.90 times with c (95 % CI 1.71 to \
             2.09), over 4 loads."
        );
    }
}
