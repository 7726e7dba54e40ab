//! Doubts that differ in their numbers alone are one doubt: `16 of 1024 connections ...` and `18 of 1024 connections ...` are
//! `16 to 18 of 1024 connections ...`.

/// One doubt and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Doubt<T> {
    /// What it is about, each once.
    pub(super) about: Vec<T>,
    /// In words.
    pub(super) text: String,
}

/// Doubts with the same words but for whole numbers, put together in the order of first appearance.
pub(super) fn merge<'a, T: PartialEq>(told: impl IntoIterator<Item = (T, &'a str)>) -> Vec<Doubt<T>> {
    let mut groups: Vec<(Vec<&str>, Vec<(u64, u64)>, Vec<T>)> = Vec::new();
    for (about, text) in told {
        let (words, numbers) = split(text);
        match groups.iter_mut().find(|(known, ..)| *known == words) {
            Some((_, ranges, subjects)) => {
                for (range, number) in ranges.iter_mut().zip(&numbers) {
                    *range = (range.0.min(*number), range.1.max(*number));
                }
                if !subjects.contains(&about) {
                    subjects.push(about);
                }
            }
            None => {
                let ranges = numbers.into_iter().map(|number| (number, number)).collect();
                groups.push((words, ranges, vec![about]));
            }
        }
    }
    groups.into_iter().map(|(words, ranges, about)| Doubt { about, text: join(&words, &ranges) }).collect()
}

/// The words around the whole numbers of a text, one more than numbers. A number that does not fit stays a word.
fn split(text: &str) -> (Vec<&str>, Vec<u64>) {
    let (mut words, mut numbers) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let first = at + found;
        let length = text[first..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - first);
        at = first + length;
        if let Ok(number) = text[first..at].parse() {
            words.push(&text[start..first]);
            numbers.push(number);
            start = at;
        }
    }
    words.push(&text[start..]);
    (words, numbers)
}

fn join(words: &[&str], ranges: &[(u64, u64)]) -> String {
    let mut text = words[0].to_owned();
    for (word, (low, high)) in words[1..].iter().zip(ranges) {
        text.push_str(&if low == high { low.to_string() } else { format!("{low} to {high}") });
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        let merged =
            merge([(1, "16 of 1024 stood still"), (2, "the client was busy"), (1, "18 of 1024 stood still")]);
        assert_eq!(merged[0], Doubt { about: vec![1], text: "16 to 18 of 1024 stood still".to_owned() });
        assert_eq!(merged[1], Doubt { about: vec![2], text: "the client was busy".to_owned() });
        let whole = "no number, 99999999999999999999999 aside";
        assert_eq!(merge([((), whole)])[0].text, whole);
    }
}
