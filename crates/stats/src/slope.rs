//! A straight line through points.

/// Slope of the line through `points` (x, y) by least squares; `None` where there are not two places.
#[must_use]
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) =
        points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (squares > 0.0).then(|| products / squares)
}
