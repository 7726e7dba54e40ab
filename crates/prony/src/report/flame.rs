//! A profile as a flame graph, in SVG that needs nothing else: each frame is as wide as it was met often, on
//! its caller; the name and the share are told when one points at it (after B. Gregg, *The Flame Graph*, ACM
//! Queue 14, 2016).

use crate::escape;
use std::{collections::BTreeMap, fmt::Write as _};

const WIDTH: f64 = 1180.0;
const ROW: f64 = 17.0;
/// Narrower frames, in pixels, are left out: nobody could see them.
const NARROWEST: f64 = 0.4;
/// Width of a letter, pixels.
const LETTER: f64 = 6.7;

/// A frame with all that it called.
#[derive(Default)]
struct Frame<'a> {
    samples: u64,
    called: BTreeMap<&'a str, Frame<'a>>,
}

impl<'a> Frame<'a> {
    fn of(stacks: &'a BTreeMap<String, u64>) -> Self {
        let mut root = Self::default();
        for (stack, &count) in stacks {
            root.samples += count;
            let mut frame = &mut root;
            for name in stack.split(';') {
                frame = frame.called.entry(name).or_default();
                frame.samples += count;
            }
        }
        root
    }

    /// Rows that are drawn above it.
    fn depth(&self, scale: f64) -> usize {
        let drawn = self.called.values().filter(|frame| frame.samples as f64 * scale >= NARROWEST);
        drawn.map(|frame| 1 + frame.depth(scale)).max().unwrap_or(0)
    }
}

/// The drawing of stacks with how often each was met.
pub(super) fn svg(stacks: &BTreeMap<String, u64>) -> String {
    let root = Frame::of(stacks);
    let scale = WIDTH / root.samples.max(1) as f64;
    let height = root.depth(scale) as f64 * ROW;
    let mut text = format!(
        "<svg class=\"flame\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-size=\"11\" \
         font-family=\"monospace\">\n"
    );
    draw(&root, 0.0, height, scale, root.samples, &mut text);
    text.push_str("</svg>\n");
    text
}

fn draw(frame: &Frame<'_>, left: f64, bottom: f64, scale: f64, all: u64, text: &mut String) {
    let mut x = left;
    for (name, called) in &frame.called {
        let width = called.samples as f64 * scale;
        if width >= NARROWEST {
            let (y, share) = (bottom - ROW, called.samples as f64 / all as f64 * 100.0);
            let fits = (width / LETTER) as usize;
            let shown: String = if fits >= 3 { name.chars().take(fits).collect() } else { String::new() };
            let _ = writeln!(
                text,
                "<g><title>{} {share:.1} %</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" \
                 height=\"16\" rx=\"1\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{}\" \
                 fill=\"#1f2933\">{}</text></g>",
                escape::html(name),
                colour(name),
                x + 2.0,
                y + 12.0,
                escape::html(&shown)
            );
            draw(called, x, y, scale, all, text);
        }
        x += width;
    }
}

/// Warm colours for the server, cold ones for the kernel, grey where no name is known; the same name has
/// always the same.
fn colour(name: &str) -> String {
    let sum = name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let (hue, saturation) = match name {
        _ if name.ends_with("_[k]") => (195 + sum % 40, 55),
        _ if name.starts_with('[') => (40, 8),
        _ => (12 + sum % 42, 82),
    };
    format!("hsl({hue} {saturation}% {}%)", 66 + sum / 64 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_wide_as_they_were_met_often() {
        let stacks = [("m;a;b", 3), ("m;a", 1), ("m;<c>_[k]", 4)];
        let stacks = BTreeMap::from(stacks.map(|(stack, count)| (stack.to_owned(), count)));
        let drawn = svg(&stacks);
        for expected in [
            "<title>m 100.0 %</title><rect x=\"0.0\" y=\"34\" width=\"1180.0\"",
            "<title>a 50.0 %</title>",
            "<title>b 37.5 %</title>",
            "<title>&lt;c&gt;_[k] 50.0 %</title>",
        ] {
            assert!(drawn.contains(expected), "{expected}: {drawn}");
        }
    }
}
