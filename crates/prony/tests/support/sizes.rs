//! Throughputs of a report of the study `instance-sizes`, and whether those of two loads are the same.

use serde_json::Value;

/// A size of a server, how it was tuned, and its throughput with its interval: low, value, high.
pub(crate) type Size = (String, String, [f64; 3]);

/// Throughputs of those points of a report that are `wanted`.
pub(crate) fn sizes(report: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<Size> {
    let points = report["points"].as_array().expect("points").iter().filter(|point| wanted(point));
    let of = |point: &Value| {
        let level = |name: &str| point["levels"][name].as_str().unwrap_or_default().to_owned();
        let value = |key: &str| point["throughput"][key].as_f64().unwrap_or_else(|| panic!("{point}"));
        (level("size"), level("tuning"), ["low", "value", "high"].map(value))
    };
    points.map(of).collect()
}

/// Fails where a size has another throughput with one of two loads: intervals must meet, or, where they are
/// very narrow, be a tenth apart at most.
pub(crate) fn assert_alike(ones: &[Size], others: &[Size]) {
    assert!(ones.len() == 4 && others.len() == 4, "{ones:?} {others:?}");
    for one @ (size, tuning, [low, value, high]) in ones {
        let is_same = |other: &&Size| (&other.0, &other.1) == (size, tuning);
        let other = others.iter().find(is_same).unwrap_or_else(|| panic!("{size} {tuning}: {others:?}"));
        let [other_low, other_value, other_high] = other.2;
        let apart = (low - other_high).max(other_low - high) / value.min(other_value);
        assert!(apart < 0.1, "{one:?} {other:?}");
    }
}
