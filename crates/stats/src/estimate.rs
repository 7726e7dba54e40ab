//! A number never travels without its uncertainty.

use crate::{Spread, repeats_for, spread::student_quantile};
use schemars::JsonSchema;
use serde::Serialize;

/// A number with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of its confidence interval, however wide, and never NaN; null: one trial, nothing is known.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence level of the interval, 0 to 1; what an estimate is in says it for all.
    #[serde(skip)]
    pub level: f64,
    /// Independent observations (trials) behind it.
    #[serde(skip)]
    pub observations: u32,
}

impl Estimate {
    /// A value of which nothing more is known.
    #[must_use]
    pub fn bare(value: f64, level: f64, observations: u32) -> Self {
        Self { value, low: None, high: None, level, observations }
    }

    /// A value with an interval; an end that is not a number leaves the interval out.
    #[must_use]
    pub fn between(value: f64, low: f64, high: f64, level: f64, observations: u32) -> Self {
        if low.is_finite() && high.is_finite() {
            Self { value, low: Some(low), high: Some(high), level, observations }
        } else {
            Self::bare(value, level, observations)
        }
    }

    /// A mean of observations that differ like this, with its interval by Student's t; bare where it is not
    /// known how they differ.
    #[must_use]
    pub fn around(mean: f64, spread: Option<Spread>, observations: u32, level: f64) -> Self {
        let bare = Self::bare(mean, level, observations);
        spread.map_or(bare, |spread| spread.interval(mean, observations, level))
    }

    /// The same of a ratio or a positive quantity, from the mean of its logarithm.
    #[must_use]
    pub fn around_exp(log: f64, spread: Option<Spread>, observations: u32, level: f64) -> Self {
        let bare = Self::bare(log.exp(), level, observations);
        spread.map_or(bare, |spread| spread.interval_of_exp(log, observations, level))
    }

    /// The interval, where there is one.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// Half the interval's width as a share of the value; `None` without an interval or for 0.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval()?;
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }

    /// Repeats after which the interval of a positive quantity probably reaches no further than this factor
    /// to either side, if its observations are repeats that differ as these do; `None`: not known, or no
    /// number that is reasonable.
    #[must_use]
    pub fn repeats_for(&self, factor: f64) -> Option<u32> {
        let (low, high) = self.interval().filter(|(low, _)| *low > 0.0 && self.observations > 1)?;
        let freedom = f64::from(self.observations - 1);
        let quantile = student_quantile(freedom, 0.5 + self.level / 2.0);
        let error = (high / low).ln() / 2.0 / quantile;
        let spread = Spread { variance: error * error * f64::from(self.observations), freedom };
        repeats_for(&spread, self.observations, factor - 1.0, self.level)
    }

    /// One over it, interval and all; for a ratio that is to be told the other way round. `None` for 0.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        if self.value == 0.0 {
            return None;
        }
        let ends = self.interval().filter(|(low, _)| *low > 0.0);
        Some(Self {
            value: 1.0 / self.value,
            low: ends.map(|(_, high)| 1.0 / high),
            high: ends.map(|(low, _)| 1.0 / low),
            ..*self
        })
    }
}
