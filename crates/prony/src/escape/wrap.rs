//! How wide text is on a terminal, and how to break it into lines that fit.

use textwrap::{WordSeparator, WrapAlgorithm, core::Word};

/// A space at which no line breaks.
pub(crate) const SPACE: char = '\u{a0}';

/// Columns that a text takes: escape sequences none, wide characters (Chinese, Japanese, Korean) two.
pub(crate) fn columns(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// A text padded with spaces, after it or before it, to `width` columns.
pub(crate) fn padded(text: &str, width: usize, to_the_right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(columns(text)));
    if to_the_right { format!("{spaces}{text}") } else { format!("{text}{spaces}") }
}

/// Lines of at most `width` columns; those after the first begin with `indent`. They break between words,
/// and beside wide characters, but never before a per cent sign.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> Vec<String> {
    let words: Vec<&str> = text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    let text = words.join(" ").replace(" %", "\u{a0}%");
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::Custom(pieces))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(&text, options).into_iter();
    lines.map(|line| line.replace(SPACE, " ")).collect()
}

/// Pieces between which a line may break: words, and wide characters, each with the punctuation that follows.
fn pieces(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let wide = |c: char| columns(c.encode_utf8(&mut [0; 4])) == 2;
    let is_stop = |c: char| "，。；：、）”？！".contains(c);
    let (mut pieces, mut begin, mut before) = (Vec::new(), 0, ' ');
    for (at, character) in line.char_indices() {
        let is_word = before == ' ' && character != ' ';
        let is_beside = before != ' ' && character != ' ' && (wide(character) || wide(before));
        if at > 0 && (is_word || is_beside && before != '（' && !is_stop(character)) {
            pieces.push(Word::from(&line[begin..at]));
            begin = at;
        }
        before = character;
    }
    pieces.push(Word::from(&line[begin..]));
    Box::new(pieces.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_beside_wide_characters() {
        assert_eq!(wrapped("one  two three", "  ", 8), ["one two", "  three"]);
        assert_eq!(wrapped("up to 25 %\nof it", "", 8), ["up to", "25 % of", "it"]);
        assert_eq!(
            wrapped("吞吐量是 1.36 倍，（更高）。", "", 8),
            ["吞吐量是", "1.36", "倍，（更", "高）。"]
        );
        assert_eq!(wrapped("a-very-long-word", "", 4), ["a-very-long-word"], "words are not torn");
        assert_eq!(wrapped("\u{1b}[1mfour\u{1b}[0m four", "", 9).len(), 1, "colours take no room");
        assert_eq!((columns("±–█"), columns("线程（")), (3, 6));
        assert_eq!((padded("线程", 6, false), padded("线程", 6, true)), ("线程  ".into(), "  线程".into()));
    }
}
