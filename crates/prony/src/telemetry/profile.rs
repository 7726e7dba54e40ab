//! The output of `perf script`, folded: one line for each different stack, with its number of samples. The
//! form is that of Brendan Gregg's flame graphs: frames from the root to the leaf, joined by semicolons.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Frames of a stack that are kept, counted from the root.
const DEPTH_MAX: usize = 96;
/// Different stacks that are kept, the most frequent ones.
const STACKS_MAX: usize = 2000;

/// Where a process spent its processor time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// How often each stack was met: `mariadbd;do_command;...;futex_wait_[k]`. Frames of the kernel end in
    /// `_[k]`; of a frame without a symbol only the file is known, in brackets.
    pub stacks: BTreeMap<String, u64>,
}

impl Profile {
    /// From the output of `perf script`.
    #[must_use]
    pub fn of_script(text: &str) -> Self {
        let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
        for sample in text.split("\n\n") {
            let mut lines = sample.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            let Some(process) = lines.next().and_then(process) else { continue };
            let mut frames: Vec<String> = lines.filter_map(frame).collect();
            frames.push(process);
            frames.reverse();
            frames.truncate(DEPTH_MAX);
            *stacks.entry(frames.join(";")).or_default() += 1;
        }
        if stacks.len() > STACKS_MAX {
            let mut counts: Vec<u64> = stacks.values().copied().collect();
            counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
            let least = counts[STACKS_MAX];
            stacks.retain(|_, count| *count > least);
        }
        Self { stacks }
    }

    /// How often the process was met at work.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }
}

/// Its name, from `NAME  PID [CPU] TIME: PERIOD EVENT:`; the name may have spaces in it.
fn process(line: &str) -> Option<String> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    let end = words.iter().position(|word| is_number(word))?;
    (end > 0).then(|| clean(&words[..end].join(" ")))
}

/// From `ADDRESS SYMBOL+0xOFFSET (FILE)`.
fn frame(line: &str) -> Option<String> {
    let (_, rest) = line.trim().split_once(' ')?;
    let (symbol, file) = rest.rsplit_once(" (")?;
    let file = file.trim_end_matches(')');
    let symbol = symbol.rsplit_once("+0x").map_or(symbol, |(symbol, _)| symbol);
    if symbol == "[unknown]" {
        let name = file.rsplit('/').next().unwrap_or(file);
        return Some(clean(&format!("[{}]", name.trim_matches(['[', ']']))));
    }
    let end = if file.starts_with("[kernel") || file.ends_with(".ko]") { "_[k]" } else { "" };
    Some(clean(symbol) + end)
}

fn clean(name: &str) -> String {
    name.replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `perf` 6.1 printed it for a MariaDB at work.
    const SCRIPT: &str = include_str!("../../tests/support/perf-script.txt");

    #[test]
    fn stacks_are_folded_from_the_root() {
        let profile = Profile::of_script(SCRIPT);
        assert!(profile.samples() >= 20, "{}", profile.samples());
        let is_known = |stack: &&String| stack.starts_with("mariadbd;start_thread;");
        assert!(profile.stacks.keys().filter(is_known).count() > 5, "{profile:?}");
        assert!(profile.stacks.keys().any(|stack| stack.contains(";do_command;dispatch_command;")));
        assert!(profile.stacks.keys().any(|stack| stack.ends_with("_[k]")));
        assert!(profile.stacks.keys().any(|stack| stack.contains(";[mariadbd];")));
    }

    #[test]
    fn odd_names_are_read() {
        let text = "io worker 12/13 [001] 7.5: 1 cycles:\n\t ff a::b<int (*)(int;)>(c)+0x1f (/lib/x \
                    y.so)\n\nbroken\n\n\t\n";
        let profile = Profile::of_script(text);
        assert_eq!(profile.stacks, [("io worker;a::b<int (*)(int:)>(c)".to_owned(), 1)].into());
    }
}
