//! A number never travels without its uncertainty.

use serde::{Deserialize, Serialize};

/// An estimate with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best single value.
    pub value: f64,
    /// Lower end of the interval; NaN-free: where nothing can be said (one trial), `None`.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence level of the interval, 0 to 1.
    pub level: f64,
    /// Independent observations (trials) behind it.
    pub observations: u32,
}
