//! Passwords within any text: an address, an option, a statement, a remark.

use super::names_a_password;
use crate::escape::{HIDDEN, without_passwords};
use url::Url;

/// Marks after which a value is drawn or bound, and no password itself: `password = ?`, `{name}`, `@x`.
const PLACEHOLDERS: [char; 3] = ['?', '{', '@'];

/// The text without passwords; `None` if there are none in it.
pub(super) fn clean(text: &str) -> Option<String> {
    let mut clean = clean_url(text).unwrap_or_else(|| without_passwords(text));
    clean = clean_assignments(&clean);
    clean = clean_identified(&clean);
    (clean != text).then_some(clean)
}

/// A text that is an address as a whole, whose password may hold blanks and quotes. `None`: it is none.
fn clean_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.password().is_some_and(|word| !word.is_empty()))?;
    let begin = text.find("://")? + 3;
    let end = text[begin..].find(['/', '?', '#']).map_or(text.len(), |end| begin + end);
    let at = begin + text[begin..end].rfind('@')?;
    let colon = begin + text[begin..at].find(':')?;
    // what is behind the host may be another one's address
    Some(format!("{}:{HIDDEN}{}", &text[..colon], without_passwords(&text[at..]))).filter(|_| url.has_host())
}

/// `password = value`, `"password": "value"` and the like keep their names only, wherever they stand.
fn clean_assignments(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(is_of_name) {
        let length = rest[begin..].find(|c| !is_of_name(c)).unwrap_or(rest.len() - begin);
        let (name, after) = rest[begin..].split_at(length);
        clean.push_str(&rest[..begin + length]);
        rest = after;
        let Some((between, value)) = names_a_password(name).then(|| assigned(after)).flatten() else {
            continue;
        };
        clean.push_str(&after[..between]);
        clean.push_str(HIDDEN);
        rest = &after[between + value..];
    }
    clean.push_str(rest);
    clean
}

/// Where the value begins that is assigned to the name before `after`, and how long it is, quotes left out.
fn assigned(after: &str) -> Option<(usize, usize)> {
    let sign = after.trim_start_matches(['"', '\'', '`', '\\']).trim_start_matches([' ', '\t']);
    let value = sign.strip_prefix(":=").or_else(|| sign.strip_prefix(['=', ':']))?;
    let value = value.trim_start_matches([' ', '\t']);
    let (open, word) = quoted(value);
    // "(using password: YES)" is how servers say that there was one
    let is_said = word.starts_with(PLACEHOLDERS)
        || word == HIDDEN
        || (sign.starts_with(':') && ["YES", "NO"].iter().any(|said| word.starts_with(said)));
    (!word.is_empty() && !is_said).then(|| (after.len() - value.len() + open, word.len()))
}

/// The value at the beginning of a text, and how long its opening quote is.
fn quoted(text: &str) -> (usize, &str) {
    for quote in ["\"\"\"", "'''", "\\\"", "\"", "'", "`"] {
        if let Some(inner) = text.strip_prefix(quote) {
            return (quote.len(), &inner[..end_of(inner, quote)]);
        }
    }
    (0, &text[..text.find(char::is_whitespace).unwrap_or(text.len())])
}

/// Where a quoted value ends; a quote behind a backslash or a doubled one is part of it.
fn end_of(inner: &str, quote: &str) -> usize {
    let mut from = 0;
    while let Some(position) = inner[from..].find(quote).map(|position| from + position) {
        let backslashes = inner[..position].bytes().rev().take_while(|byte| *byte == b'\\').count();
        let after = position + quote.len();
        let is_doubled = quote.len() == 1 && inner[after..].starts_with(quote);
        if backslashes % 2 == 0 && !is_doubled {
            return position;
        }
        from = after + if is_doubled { quote.len() } else { 0 };
    }
    inner.len()
}

/// `IDENTIFIED BY 'password'` keeps its words only.
fn clean_identified(text: &str) -> String {
    // ASCII alone changes, so places stay the same
    let lower = text.to_ascii_lowercase();
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(begin) = lower[from..].find("identified").map(|begin| from + begin) {
        let statement = begin + lower[begin..].find(';').unwrap_or(lower.len() - begin);
        let word =
            [" by ", " as ", " using "].iter().filter_map(|word| lower[begin..statement].find(word)).min();
        let literal = word.and_then(|word| text[begin + word..].find(['\'', '"']));
        let Some((word, literal)) = word.zip(literal) else {
            clean.push_str(&text[from..begin + 1]);
            from = begin + 1;
            continue;
        };
        let (open, value) = quoted(&text[begin + word + literal..]);
        let value_at = begin + word + literal + open;
        clean.push_str(&text[from..value_at]);
        clean.push_str(if value.is_empty() { "" } else { HIDDEN });
        from = value_at + value.len();
    }
    clean.push_str(&text[from..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_password_is_hidden_wherever_it_stands_in_a_text() {
        for (text, wanted) in [
            ("mysql://u:p w'x\"y@h:1/db?a=b", "mysql://u:(hidden)@h:1/db?a=b"),
            ("mysql://u:p@q@h/db?mail=a@b", "mysql://u:(hidden)@h/db?mail=a@b"),
            ("see mysql://u:pw@h and mysql://v:pw2@k", "see mysql://u:(hidden)@h and mysql://v:(hidden)@k"),
            ("SET GLOBAL report_password='p''w', x = 1", "SET GLOBAL report_password='(hidden)', x = 1"),
            ("SET @my_password := \"p\\\"w\"", "SET @my_password := \"(hidden)\""),
            ("{\"password\":\"pw\",\"x\":1}", "{\"password\":\"(hidden)\",\"x\":1}"),
            ("a=1; pkcs11.passphrase=pw; b=2", "a=1; pkcs11.passphrase=(hidden) b=2"),
            ("CREATE USER a IDENTIFIED BY 'pw'", "CREATE USER a IDENTIFIED BY '(hidden)'"),
            (
                "create user a identified with x by 'pw' ; y",
                "create user a identified with x by '(hidden)' ; y",
            ),
            ("mysql://u@h/db?password=pw", "mysql://u@h/db?password=(hidden)"),
        ] {
            assert_eq!(clean(text).as_deref(), Some(wanted), "{text}");
            assert_eq!(clean(wanted), None, "{wanted}");
        }
        for text in [
            "Access denied for user 'u'@'h' (using password: YES)",
            "SELECT id FROM account WHERE password = ? AND token = 1",
            "UPDATE account SET password = {word} WHERE id = 1",
            "Plugin 'mysql_native_password' is not loaded",
            "default_password_lifetime = 3",
            "password",
            "password =",
            "it is identified by its number",
        ] {
            assert_eq!(clean(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_cleaned_and_once_is_enough(
            text in "(password|secret|=|:|'|\"|`|\\\\| |://|@|identified|by |é|x|;){0,24}"
        ) {
            let once = clean(&text).unwrap_or(text);
            let _ = clean(&once);
        }
    }
}
