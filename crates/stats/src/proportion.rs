//! A share of many, with an interval that also holds where the share is 0.

use crate::Estimate;
use statrs::distribution::{ContinuousCDF, Normal};

/// The share `share` of `tried` with its interval by E. B. Wilson, *Probable inference, the law of
/// succession, and statistical inference*, Journal of the American Statistical Association 22, 1927;
/// `observations` is what the estimate is to say of itself.
#[must_use]
pub fn proportion(share: f64, tried: u64, level: f64, observations: u32) -> Estimate {
    if tried == 0 {
        return Estimate::bare(share, level, observations);
    }
    let tried = tried as f64;
    let z = Normal::standard().inverse_cdf(0.5 + level / 2.0);
    let narrower = 1.0 + z * z / tried;
    let middle = (share + z * z / (2.0 * tried)) / narrower;
    let half = z / narrower * (share * (1.0 - share) / tried + (z / tried / 2.0).powi(2)).sqrt();
    let (low, high) = ((middle - half).clamp(0.0, share), (middle + half).max(share));
    Estimate::between(share, low, high, level, observations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden: 5 and 0 of 100 by Wilson's formula, the quantile by Python's
    /// `statistics.NormalDist().inv_cdf(0.975)`.
    #[test]
    fn as_wilson_has_it() {
        for (share, low, high) in [(0.05, 0.021_543_679, 0.111_750_469), (0.0, 0.0, 0.036_993_498)] {
            let (own_low, own_high) = proportion(share, 100, 0.95, 1).interval().expect("an interval");
            assert!((own_low - low).abs() < 1e-8 && (own_high - high).abs() < 1e-8, "{own_low} {own_high}");
        }
        assert!(proportion(0.0, 0, 0.95, 1).interval().is_none());
    }
}
