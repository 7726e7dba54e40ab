//! Sentences of advice: what to do, with the numbers that support it.

use super::{Sentence, Words, ladder::by};
use crate::{
    analyse::{Advice, Axis, AxisKind, Lost, Rule},
    plan::Metric,
    report::number,
};
use stats::Estimate;

impl Words {
    /// `Choose pool from 256 connections up: 1.36 times the throughput of threads (95 % CI 1.31 to 1.41).`
    pub(in crate::report) fn advice(self, advice: &Advice, axis: &Axis, relevant: f64) -> Sentence {
        let Advice { rule, one, other, .. } = advice;
        let latency = match rule {
            Rule::Local { latency_ms } => number::milliseconds(*latency_ms),
            _ => String::new(),
        };
        let places = [
            ("one", &**one),
            ("other", other),
            ("where", &self.place_of(advice, axis)),
            ("gain", &self.gain(advice, relevant)),
            ("latency", &latency),
        ];
        let mut text = self.fill("advice", &self.advice_key(advice), &places) + &self.advice_end(advice);
        if let Some(at) = advice.at.filter(|_| advice.stretch.0 < advice.stretch.1) {
            text += &self.fill("advice", "greatest", &[("where", &self.stretch(axis, (at, at)))]);
        }
        Sentence::about(self, &advice.levels, text)
    }

    /// The key of its rule and outcome.
    pub(super) fn advice_key(self, advice: &Advice) -> String {
        let verdict = advice.verdict.name();
        match advice.rule {
            Rule::Choose { .. } => "choose".to_owned(),
            Rule::Pool => format!("pool_{verdict}"),
            Rule::Upgrade { .. } => format!("upgrade_{verdict}"),
            Rule::Local { .. } => "local".to_owned(),
            Rule::Safety { .. } => format!("safety_{verdict}"),
        }
    }

    /// What a rule adds to its advice.
    pub(super) fn advice_end(self, advice: &Advice) -> String {
        match &advice.rule {
            Rule::Choose { servers: 2.. } => self.fill("advice", "next_best", &[("other", &advice.other)]),
            Rule::Upgrade { also } if !also.is_empty() => {
                let name = |key: &String| match self.get("condition", key) {
                    "" => key.clone(),
                    title => title.to_owned(),
                };
                let names = self.listed(&also.iter().map(name).collect::<Vec<_>>());
                self.fill("advice", "also", &[("settings", &names)])
            }
            Rule::Safety { lost } => self.lost(advice, lost.as_ref()),
            _ => String::new(),
        }
    }

    /// Where it holds; names side by side are no place.
    pub(super) fn place_of(self, advice: &Advice, axis: &Axis) -> String {
        let stretch = self.stretch_of(axis, advice.stretch);
        stretch.map_or_else(String::new, |stretch| self.fill("advice", "where", &[("where", &stretch)]))
    }

    /// A stretch of the axis; `None`: names side by side have none.
    pub(super) fn stretch_of(self, axis: &Axis, stretch: (f64, f64)) -> Option<String> {
        (axis.kind != AxisKind::Names).then(|| self.stretch(axis, stretch))
    }

    /// `1.36 times the throughput of threads (95 % CI 1.31 to 1.41)`.
    fn gain(self, advice: &Advice, relevant: f64) -> String {
        let better = advice.verdict.name();
        let is_rate = advice.metric == Metric::Throughput;
        let kind = if is_rate { "throughput" } else { "latency" };
        // losses are told like gains: what is less is told in per cent
        let is_factor = better == "same" || is_rate == (better == "better");
        let interval = self.effect_interval(&advice.ratio, is_factor);
        let places = [
            ("other", &*advice.other),
            ("metric", &self.metric(advice.metric)),
            ("change", &by(advice.ratio.value, is_factor)),
            ("interval", &interval),
            ("relevant", &number::percent(relevant * 100.0)),
        ];
        self.fill("advice", &format!("gain_{kind}_{better}"), &places)
    }

    /// What crashes showed.
    fn lost(self, advice: &Advice, lost: Option<&Lost>) -> String {
        let Some(lost) = lost else { return self.get("advice", "untested").to_owned() };
        let percent = |share: f64| number::rate(share * 100.0);
        let interval = self.confidence(&lost.other, "ci_percent", percent);
        let places = [
            ("one", &*advice.one),
            ("other", &advice.other),
            ("crashes", &number::count(u64::from(lost.crashes))),
            ("how", self.named("crash", lost.kind)),
            ("share", &percent(lost.other.value)),
            ("interval", &interval),
            ("acknowledged", &number::count(lost.acknowledged)),
            ("most", &percent(lost.one.high.unwrap_or(1.0))),
        ];
        let key = match (lost.one.value > 0.0, lost.other.value > 0.0) {
            (false, true) => "lost",
            (false, false) => "lost_none",
            (true, _) => "lost_too",
        };
        self.fill("advice", key, &places)
    }

    /// The interval of a figure, as `text` writes it.
    pub(in crate::report) fn confidence(
        self,
        estimate: &Estimate,
        key: &str,
        text: impl Fn(f64) -> String,
    ) -> String {
        match estimate.interval() {
            Some((low, high)) => self.fill("sentence", key, &[("low", &text(low)), ("high", &text(high))]),
            None => self.get("sentence", "no_interval").to_owned(),
        }
    }
}
