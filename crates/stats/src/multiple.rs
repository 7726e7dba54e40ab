//! Many comparisons at once: without a correction, one in twenty differs by chance.

/// Holm's step-down correction: p-values that can be compared with one level together, in the order given.
///
/// Source: S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
/// Statistics 6, 1979.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        highest = highest.max((factor * p_values[index]).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03, 0.005, 0.5], method="holm")[1]`
    #[test]
    fn agrees_with_statsmodels() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.5]);
        for (ours, theirs) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.5]) {
            assert!((ours - theirs).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }
}
