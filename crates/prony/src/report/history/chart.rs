//! The chart of one series over the runs of a history, as SVG: values with their intervals, levels between
//! changes, and by how much the level changed. Colours are the page's.

use super::{super::number, is_better, span};
use crate::analyse::{History, Series};
use crate::escape;
use std::fmt::Write as _;

/// Width and height, in units of the drawing; letters are 12 to 16 of them high, on a telephone too.
const SIZE: (f64, f64) = (480.0, 210.0);
/// Where values are drawn: left, top, right, bottom.
const AREA: (f64, f64, f64, f64) = (58.0, 22.0, 470.0, 184.0);
/// Runs that are numbered on the axis, at most.
const NUMBERED_MAX: usize = 7;
/// An interval reaches beyond the values by no more than this many times their span: the rest is cut off.
const BEYOND_MAX: f64 = 0.5;
/// Radius of a value's point; smaller where there are many.
const RADIUS: f64 = 3.5;

pub(super) fn draw(history: &History, series: &Series) -> String {
    let scale = Scale::of(history, series);
    let (left, top, right, bottom) = AREA;
    let mut svg = format!(r#"<svg viewBox="0 0 {} {}" role="img" class="history">"#, SIZE.0, SIZE.1);
    put_axes(&mut svg, history, &scale);
    for (from, to, level) in levels(series) {
        let y = scale.y(level);
        let (from, to) = ((scale.x(from) - 4.0).max(left), (scale.x(to) + 4.0).min(right));
        let _ = write!(svg, r#"<path class="level" d="M{from:.1} {y:.1}H{to:.1}"/>"#);
    }
    for change in &series.changes {
        let x = f64::midpoint(scale.x(change.place), scale.x(change.after));
        let tone = if is_better(series, change) { "better" } else { "worse" };
        let anchor = if x > right - 60.0 { "end" } else { "middle" };
        let _ = write!(svg, r#"<path class="change {tone}" d="M{x:.1} {top}V{bottom}"/>"#);
        let _ = write!(
            svg,
            r#"<text class="{tone}" x="{x:.1}" y="{:.1}" text-anchor="{anchor}">{:+.1} %</text>"#,
            top - 8.0,
            100.0 * change.share()
        );
    }
    let radius = (RADIUS * (60.0 / history.runs.len() as f64).sqrt()).clamp(1.5, RADIUS);
    for value in &series.values {
        let (estimate, x) = (&value.estimate, scale.x(value.place));
        if let Some((low, high)) = estimate.interval() {
            let (low, high) = (scale.y(low), scale.y(high));
            let _ = write!(svg, r#"<path class="interval" d="M{x:.1} {low:.1}V{high:.1}"/>"#);
        }
        let run = &history.runs[value.place];
        let labels: String = run.labels.iter().map(|label| format!(", {label}")).collect();
        let title = format!("{} ({}{labels}): {}", run.run, super::date(run), number::estimate(estimate));
        let title = escape::html(&title);
        let class = if value.doubtful { r#" class="doubtful""# } else { "" };
        let _ = write!(
            svg,
            r#"<circle{class} cx="{x:.1}" cy="{:.1}" r="{radius:.1}"><title>{title}</title></circle>"#,
            scale.y(estimate.value)
        );
    }
    svg + "</svg>"
}

/// From runs and values to the drawing.
struct Scale {
    last: f64,
    low: f64,
    high: f64,
    /// Distance of the lines across.
    step: f64,
}

impl Scale {
    fn of(history: &History, series: &Series) -> Self {
        let (low, high) = span(series.values.iter().map(|value| value.estimate.value));
        let room = BEYOND_MAX * (high - low);
        let ends = series.values.iter().filter_map(|value| value.estimate.interval());
        let (lowest, highest) =
            ends.fold((low, high), |(lowest, highest), (low, high)| (lowest.min(low), highest.max(high)));
        let (low, high) = (lowest.max(low - room).max(0.0), highest.min(high + room));
        let step = round_step((high - low) / 3.0);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { last: history.runs.len().saturating_sub(1) as f64, low, high, step }
    }

    fn x(&self, place: usize) -> f64 {
        let inset = 8.0;
        let (left, right) = (AREA.0 + inset, AREA.2 - inset);
        if self.last == 0.0 {
            f64::midpoint(left, right)
        } else {
            left + place as f64 / self.last * (right - left)
        }
    }

    /// What lies outside is at the edge.
    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        AREA.3 - share * (AREA.3 - AREA.1)
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(f64::MIN_POSITIVE).log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * 0.999);
    times.unwrap_or(10.0) * power
}

/// Lines across with their values, numbers of runs below.
fn put_axes(svg: &mut String, history: &History, scale: &Scale) {
    let (left, _, right, bottom) = AREA;
    let lines = ((scale.high - scale.low) / scale.step).round() as usize;
    let decimals = (-scale.step.log10().floor()).clamp(0.0, 6.0) as i32;
    for line in 0..=lines {
        let value = scale.low + line as f64 * scale.step;
        let y = scale.y(value);
        let rounded = (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals);
        let _ = write!(svg, r#"<path class="axis" d="M{left} {y:.1}H{right}"/>"#);
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            left - 6.0,
            y + 4.0,
            number::level(rounded)
        );
    }
    let count = history.runs.len();
    let every = count.div_ceil(NUMBERED_MAX).max(1);
    // the last run has its number: it is the one that is asked about
    for place in (0..count).rev().step_by(every) {
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            scale.x(place),
            bottom + 20.0,
            history.runs[place].run
        );
    }
}

/// First and last place of each level, and its height.
fn levels(series: &Series) -> Vec<(usize, usize, f64)> {
    let (Some(first), Some(last)) = (series.values.first(), series.values.last()) else { return Vec::new() };
    let mut from = first.place;
    let mut levels = Vec::new();
    for change in &series.changes {
        levels.push((from, change.after, change.before_value));
        from = change.place;
    }
    if let Some(change) = series.changes.last() {
        levels.push((from, last.place, change.after_value));
    }
    levels
}
