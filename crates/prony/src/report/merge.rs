//! Texts that differ in their numbers alone are one text: `16 of 1024 connections ...` and `18 of 1024
//! connections ...` are `16 to 18 of 1024 connections ...`.

/// One text and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Merged<T> {
    /// What it is about, each once.
    pub(super) about: Vec<T>,
    /// In words.
    pub(super) text: String,
}

/// A number as it is written, or from which to which.
#[derive(Debug, Clone, Copy)]
struct Range<'a> {
    low: (f64, &'a str),
    high: (f64, &'a str),
}

/// Texts with the same words but for numbers, put together in the order of first appearance; `to` stands
/// between the ends of a range.
pub(super) fn merge<'a, T: PartialEq>(
    told: impl IntoIterator<Item = (T, &'a str)>,
    to: &str,
) -> Vec<Merged<T>> {
    let mut groups: Vec<(Vec<&str>, Vec<Range<'_>>, Vec<T>)> = Vec::new();
    for (about, text) in told {
        let (words, numbers) = split(text, to);
        match groups.iter_mut().find(|(known, ..)| *known == words) {
            Some((_, ranges, subjects)) => {
                for (range, number) in ranges.iter_mut().zip(&numbers) {
                    range.low = if number.low.0 < range.low.0 { number.low } else { range.low };
                    range.high = if number.high.0 > range.high.0 { number.high } else { range.high };
                }
                if !subjects.contains(&about) {
                    subjects.push(about);
                }
            }
            None => groups.push((words, numbers, vec![about])),
        }
    }
    groups
        .into_iter()
        .map(|(words, ranges, about)| Merged { about, text: join(&words, &ranges, to) })
        .collect()
}

/// The words around the numbers of a text, one more than numbers; `6 to 18` is one range.
fn split<'a>(text: &'a str, to: &str) -> (Vec<&'a str>, Vec<Range<'a>>) {
    let (mut words, mut ranges) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (word, from) = rest.split_at(at);
        let (low, after) = number(from);
        let range_end = after.strip_prefix(to).filter(|end| end.starts_with(|c: char| c.is_ascii_digit()));
        let (high, after) = range_end.map_or((low, after), number);
        words.push(word);
        ranges.push(Range { low, high });
        rest = after;
    }
    words.push(rest);
    (words, ranges)
}

/// The number (`16`, `1,024`, `0.5`) that a text begins with, and what comes behind it.
fn number(text: &str) -> ((f64, &str), &str) {
    let bytes = text.as_bytes();
    let inside = |at: usize| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        digit(at) || (matches!(bytes.get(at), Some(b'.' | b',')) && digit(at + 1))
    };
    let length = (0..bytes.len()).find(|&at| !inside(at)).unwrap_or(bytes.len());
    let (written, rest) = text.split_at(length);
    ((written.replace(',', "").parse().unwrap_or(0.0), written), rest)
}

fn join(words: &[&str], ranges: &[Range<'_>], to: &str) -> String {
    let mut text = words[0].to_owned();
    for (word, range) in words[1..].iter().zip(ranges) {
        text.push_str(range.low.1);
        if range.low.1 != range.high.1 {
            text.push_str(to);
            text.push_str(range.high.1);
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        let merged = merge(
            [(1, "16 of 1024 stood still"), (2, "the client was busy"), (1, "18 of 1024 stood still")],
            " to ",
        );
        assert_eq!(merged[0], Merged { about: vec![1], text: "16 to 18 of 1024 stood still".to_owned() });
        assert_eq!(merged[1], Merged { about: vec![2], text: "the client was busy".to_owned() });
        let again = merge([(1, "16 to 18 of 1,024, 0.5 s"), (2, "7 to 17 of 1,024, 1.25 s")], " to ");
        assert_eq!(again, [Merged { about: vec![1, 2], text: "7 to 18 of 1,024, 0.5 to 1.25 s".to_owned() }]);
        assert_eq!(merge([((), "without a number")], " to ")[0].text, "without a number");
    }
}
