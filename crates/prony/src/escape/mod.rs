//! Text that others wrote (a server, a study, a file name, a store) as it is shown: nothing in it acts on the
//! terminal, on the page or on the document that it becomes part of. There is one function for each format.
//! Whoever writes a format passes everything through its function. Nobody escapes text where it comes from,
//! since the same text goes into every format.
//!
//! Characters that act without being seen are shown as JSON would write them, `\u001b`: control characters
//! (C0, DEL, C1), and those that turn, hide or break text (Unicode Technical Report 36, section 2.4). So JSON
//! stays JSON.

mod secret;
pub(crate) mod wrap;

pub use secret::{HIDDEN, without_passwords};

use std::fmt::Write as _;

/// Whether `character` acts without being visible. A line break does not count: what it may do depends on the
/// format.
fn acts(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // soft hyphen, Arabic letter mark, Mongolian vowel separator
        '\u{ad}' | '\u{61c}' | '\u{180e}' => true,
        // spaces without width and marks of direction; breaks of lines and paragraphs; embeddings and
        // overrides
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        // joiners and invisible operators, isolates, a byte order mark, annotations
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // tags, which spell text that nobody sees
        '\u{e0000}'..='\u{e007f}' => true,
        character => character.is_control(),
    }
}

/// Shows a character as JSON would write it.
fn show(character: char, into: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(into, "\\u{unit:04x}");
    }
}

/// As plain text: for a terminal, a log, CSV or JSON that is text already.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) { show(character, &mut shown) } else { shown.push(character) }
    }
    shown
}

/// As plain text of one line: the path of a file in a message.
#[must_use]
pub fn line(text: &str) -> String {
    plain(text).replace('\n', "\\n")
}

/// As text for a terminal that shows colours: colours and bold letters stay.
#[must_use]
pub fn styled(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        shown.push_str(&plain(&rest[..at]));
        rest = &rest[at..];
        let length = style(rest).unwrap_or(0);
        if length == 0 {
            show('\u{1b}', &mut shown);
            rest = &rest[1..];
        } else {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    shown + &plain(rest)
}

/// Bytes of the style that `text` begins with: a sequence that sets colours or weight. Prony writes none that
/// hides text or lets it blink.
fn style(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find('m')?;
    let mut numbers = parameters[..end].split(';');
    while let Some(number) = numbers.next() {
        match number {
            "" | "0" | "1" | "2" | "3" | "4" | "22" | "23" | "24" | "39" | "49" => {}
            // one of 256 colours
            "38" | "48" => {
                (numbers.next()? == "5").then_some(())?;
                numbers.next()?.parse::<u8>().ok()?;
            }
            number => {
                let number: u8 = number.parse().ok()?;
                matches!(number, 30..=37 | 40..=47 | 90..=97 | 100..=107).then_some(())?;
            }
        }
    }
    Some("\u{1b}[".len() + end + 1)
}

/// As text inside an HTML element or a quoted attribute.
#[must_use]
pub fn html(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#x27;"),
            character if acts(character) => show(character, &mut shown),
            character => shown.push(character),
        }
    }
    shown
}

/// As text of one line in Markdown (CommonMark with GitHub's tables, strikethrough, formulas and links): no
/// table is broken, no markup begins, no entity and no address is read out of it.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let line = text.trim_start_matches([' ', '\t', '\n']);
    for (at, character) in line.char_indices() {
        let (before, rest) = line.split_at(at);
        match character {
            '\n' | '\t' => shown.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '#' => {
                shown.extend(['\\', character]);
            }
            ':' if rest.starts_with("://") => shown.push_str("\\:"),
            '.' if before.to_ascii_lowercase().ends_with("www") => {
                shown.push_str("\\.");
            }
            _ if opens_block(before, rest) => shown.extend(['\\', character]),
            character if acts(character) => {
                shown.push('\\');
                show(character, &mut shown);
            }
            character => shown.push(character),
        }
    }
    shown
}

/// Whether `rest`, with nothing but `before` in its line, begins a list or a rule.
fn opens_block(before: &str, rest: &str) -> bool {
    let mut characters = rest.chars();
    let (first, next) = (characters.next(), characters.next());
    let ends = next.is_none_or(|next| next.is_whitespace());
    match first {
        Some('-' | '+' | '=') if before.chars().all(|earlier| Some(earlier) == first) => {
            // `---` and `===` are a rule, or make a heading of what stands above
            ends || rest.chars().all(|each| Some(each) == first || each.is_whitespace())
        }
        Some('.' | ')') => ends && !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, TagEnd};

    /// Text as somebody would write it who means no good: markup, control characters, and the rest.
    fn foreign() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -~]{0,6}",
            "\\PC{0,3}",
            any::<char>().prop_map(String::from),
            prop::sample::select(vec![
                "\u{1b}[2J",
                "\u{1b}[8m",
                "\u{1b}]0;title\u{7}",
                "\u{1b}[1m",
                "\u{9b}31m",
                "\0",
                "\u{7f}",
                "\r\n",
                "\n\n",
                "\u{202e}",
                "\u{2066}",
                "\u{feff}",
                "\u{e0041}",
                "# ",
                "1. ",
                "2) ",
                "- ",
                "* ",
                "+ ",
                "---",
                "===",
                "```",
                "~~~",
                "~~x~~",
                "**x**",
                "_x_",
                "`x`",
                "|",
                "a|b",
                "[x](y)",
                "![x](y)",
                "<b>",
                "</script>",
                "<!--",
                "&lt;",
                "&#x202e;",
                "&amp",
                "$x$",
                "http://x.y",
                "www.x.y",
                "a@b.c",
                "\\",
                "> ",
                ">",
                "\t",
                "    x",
                "[^1]",
                "[x]: y",
                "'",
                "\"",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    fn is_quiet(text: &str) -> bool {
        !text.chars().any(acts)
    }

    proptest! {
        #[test]
        fn plain_text_holds_nothing_that_acts_and_json_stays_json(text in foreign()) {
            let shown = plain(&text);
            prop_assert!(is_quiet(&shown), "{shown:?}");
            prop_assert_eq!(&plain(&shown), &shown);
            if is_quiet(&text) {
                prop_assert_eq!(&shown, &text);
            }
            let json = plain(&serde_json::to_string(&text).expect("a text is JSON"));
            prop_assert_eq!(serde_json::from_str::<String>(&json).expect("still JSON"), text);
        }

        #[test]
        fn styled_text_holds_nothing_that_acts_but_colours_and_weights(text in foreign()) {
            let shown = styled(&format!("\u{1b}[1m{text}\u{1b}[0m\u{1b}[38;5;9mx\u{1b}[39m"));
            let mut rest = shown.strip_prefix("\u{1b}[1m").expect("our own style stays");
            prop_assert!(shown.ends_with("\u{1b}[0m\u{1b}[38;5;9mx\u{1b}[39m"), "{shown:?}");
            while let Some(at) = rest.find('\u{1b}') {
                prop_assert!(is_quiet(&rest[..at]), "{shown:?}");
                let length = style(&rest[at..]);
                prop_assert!(length.is_some(), "{shown:?}");
                rest = &rest[at + length.unwrap_or(1)..];
            }
            prop_assert!(is_quiet(rest) && !shown.contains("\u{1b}[8m"), "{shown:?}");
        }

        #[test]
        fn html_holds_nothing_but_text(text in foreign()) {
            let shown = html(&text);
            prop_assert!(is_quiet(&shown) && !shown.contains(['<', '>', '"', '\'']), "{shown:?}");
            let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
            let read = entities.iter().fold(shown, |text, (entity, letter)| text.replace(entity, letter));
            prop_assert_eq!(read, plain(&text));
        }

        #[test]
        fn markdown_is_read_as_the_text_that_it_was_wherever_it_stands(text in foreign()) {
            let shown = markdown(&text);
            prop_assert!(is_quiet(&shown) && !shown.contains('\n'), "{shown:?}");
            let expected = words(&plain(&text));
            for (before, after, ends) in [
                ("- ", "\n", &[TagEnd::Item, TagEnd::List(false)][..]),
                ("# x ", "\n", &[TagEnd::Heading(pulldown_cmark::HeadingLevel::H1)]),
                ("x\n\n", "\n\nx\n", &[TagEnd::Paragraph, TagEnd::Paragraph, TagEnd::Paragraph]),
                ("| a | b |\n|---|---|\n| x ", " | y |\n", &[
                    TagEnd::TableCell, TagEnd::TableCell, TagEnd::TableHead,
                    TagEnd::TableCell, TagEnd::TableCell, TagEnd::TableRow, TagEnd::Table,
                ]),
            ] {
                let document = format!("{before}{shown}{after}");
                let (mut read, mut ended) = (String::new(), Vec::new());
                // what GitHub knows beyond CommonMark
                let options = Options::ENABLE_GFM
                    | Options::ENABLE_TABLES
                    | Options::ENABLE_STRIKETHROUGH
                    | Options::ENABLE_TASKLISTS
                    | Options::ENABLE_FOOTNOTES
                    | Options::ENABLE_MATH;
                for event in Parser::new_ext(&document, options) {
                    match event {
                        Event::Text(text) => read.push_str(&text),
                        Event::Start(_) => {}
                        // the next block's text is no part of the word before
                        Event::End(end) => {
                            read.push(' ');
                            ended.push(end);
                        }
                        other => prop_assert!(false, "{document:?} has {other:?}"),
                    }
                }
                let own = match before {
                    "- " => expected.clone(),
                    "# x " => words(&format!("x {expected}")),
                    "x\n\n" => words(&format!("x {expected} x")),
                    _ => words(&format!("a b x {expected} y")),
                };
                prop_assert_eq!(words(&read), own, "{:?}", document);
                if !expected.is_empty() {
                    prop_assert_eq!(&ended[..], ends, "{:?}", document);
                }
            }
        }
    }

    /// The text with one space where there are several, or a line ends.
    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_acts_is_shown_as_json_writes_it() {
        let text = "ESC[2J \u{1b}[2J, BEL \u{7}, NUL \0, C1 \u{9b}, override \u{202e}, tag \u{e0041}";
        let shown = r"ESC[2J \u001b[2J, BEL \u0007, NUL \u0000, C1 \u009b, override \u202e, tag \udb40\udc41";
        assert_eq!(plain(text), shown);
        assert_eq!(styled("\u{1b}[1mx\u{1b}[0m\u{1b}[8my"), "\u{1b}[1mx\u{1b}[0m\\u001b[8my");
        assert_eq!(line("a\nb\r"), r"a\nb\u000d");
        assert_eq!(html("<b>\u{7}"), r"&lt;b&gt;\u0007");
        assert_eq!(markdown("1. a_b [x](y)\n# | \u{7}"), r"1\. a\_b \[x\](y) \# \| \\u0007");
        assert_eq!(markdown("-5.2 and 1.35, p95 < 20 ms"), r"-5.2 and 1.35, p95 \< 20 ms");
    }
}
