//! Sentences about whole ladders: by how much two servers differ over a whole ladder, or that they do not.

use super::{Sentence, Words, titled};
use crate::{
    analyse::{Axis, Finding},
    plan::Metric,
    report::number,
};
use stats::Estimate;

impl Words {
    /// `From 32 connections up, pool delivers 1.29 times the throughput of threads (95 % CI 1.15 to 1.45).`
    pub(super) fn effect(self, finding: &Finding, axis: &Axis) -> String {
        let Finding::Effect { server, base, metric, stretch, whole, ratio, doubling, greatest, .. } = finding
        else {
            return String::new();
        };
        let is_rate = *metric == Metric::Throughput;
        let kind = if is_rate { "throughput" } else { "latency" };
        let reach = if *whole { self.stretch(axis, *stretch) } else { self.upwards(axis, stretch.0) };
        let mut text = self.fill(
            "sentence",
            &format!("effect_{kind}"),
            &[
                ("stretch", &*reach),
                ("server", server),
                ("base", base),
                ("metric", &self.metric(*metric)),
                ("change", &by(ratio.value, is_rate)),
                ("interval", &self.effect_interval(ratio, is_rate)),
            ],
        );
        if let Some(doubling) = doubling {
            let key = if doubling.value > 1.0 { "effect_grows" } else { "effect_falls" };
            let percent = number::percent((doubling.value - 1.0).abs() * 100.0);
            text += &self.fill("sentence", key, &[("percent", &*percent)]);
        }
        if let Some((at, ratio)) = greatest {
            let places = [
                ("where", &*self.stretch(axis, (*at, *at))),
                ("change", &by(ratio.value, is_rate)),
                ("interval", &self.effect_interval(ratio, is_rate)),
            ];
            text += &self.fill("sentence", &format!("effect_greatest_{kind}"), &places);
        }
        titled(&text)
    }

    /// Says that no difference was found, and how much that means.
    pub(super) fn no_difference(self, finding: &Finding, axis: &Axis) -> Sentence {
        let Finding::NoDifference { levels, servers, metric, resolution, rungs, stretch, same } = finding
        else {
            return Sentence { about: String::new(), text: String::new() };
        };
        let (count, all) = rungs;
        let counts = [("count", &*count.to_string()), ("all", &all.to_string())];
        let compared =
            if count < all { self.fill("sentence", "where_both_kept_up", &counts) } else { String::new() };
        let known = resolution.is_finite() && *resolution < 1.0;
        let key = match (same, known) {
            (Some(_), _) => "same",
            (None, true) => "no_difference",
            (None, false) => "no_difference_unknown",
        };
        let over = match stretch {
            Some(stretch) => {
                self.fill("sentence", "over_stretch", &[("stretch", &self.stretch(axis, *stretch))])
            }
            None if *count > 1 => self.get("sentence", "at_any_level").to_owned(),
            None => String::new(),
        };
        let places = [
            ("server", &*servers.0),
            ("base", &servers.1),
            ("metric", &self.metric(*metric)),
            ("compared", &compared),
            ("over", &over),
            ("relevant", &number::percent(same.unwrap_or_default() * 100.0)),
            ("resolution", &number::percent(resolution * 100.0)),
        ];
        Sentence::about(self, levels, self.fill("sentence", key, &places))
    }

    fn upwards(self, axis: &Axis, first: f64) -> String {
        self.places(axis, "up", &number::level(first), "")
    }

    /// The interval of a ratio of rates, or of the percentage by which times are lower.
    pub(super) fn effect_interval(self, ratio: &Estimate, is_rate: bool) -> String {
        let Some((low, high)) = ratio.interval() else {
            return self.get("sentence", "no_interval").to_owned();
        };
        if number::tells_nothing(low, high) {
            return self.too_few(ratio);
        }
        let (key, low, high) = match is_rate {
            true => ("ci", by(low, true), by(high, true)),
            false => ("ci_percent", by(high, false), by(low, false)),
        };
        self.fill("sentence", key, &[("low", &*low), ("high", &high)])
    }
}

/// A ratio of rates as it is; a ratio of times as the percentage by which they are lower.
pub(super) fn by(ratio: f64, is_rate: bool) -> String {
    if is_rate { number::ratio(ratio) } else { number::percent((1.0 - ratio) * 100.0) }
}
