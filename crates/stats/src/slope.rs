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

/// How far points (x, y) are from the straight line through them (least squares) at most, as a share of the
/// greatest |y|; `None` where there are not three places, or all are 0.
#[must_use]
pub fn bend(points: &[(f64, f64)]) -> Option<f64> {
    let mut places: Vec<f64> = points.iter().map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let slope = slope(points).filter(|_| places.len() > 2)?;
    let count = points.len() as f64;
    let (x, y) =
        points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let furthest = points.iter().map(|point| (point.1 - (y + slope * (point.0 - x))).abs());
    let greatest = points.iter().map(|point| point.1.abs()).fold(0.0, f64::max);
    (greatest > 0.0).then(|| furthest.fold(0.0, f64::max) / greatest)
}

/// The coefficient of variation of some positive values: their standard deviation (of a sample) by their
/// mean; `None` where there are not two.
#[must_use]
pub fn variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1 && mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}
