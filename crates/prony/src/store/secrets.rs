//! Takes passwords out of whatever is about to be kept. A study may name a server as
//! `mysql://user:password@host`, and the study's text is stored with the run; some servers show passwords
//! among their variables.

use serde_json::Value;

/// What stands in place of a password.
const HIDDEN: &str = "(hidden)";

/// Removes passwords from every text in `value`, in place.
pub(super) fn remove(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(clean) = clean(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if names_a_password(name) && !text.is_empty() => {
                        *text = HIDDEN.to_owned();
                    }
                    other => remove(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a setting of this name holds a password (`report_password`, `wsrep_sst_auth`), unlike
/// `default_password_lifetime`.
fn names_a_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "secret", "sst_auth"].iter().any(|end| name.ends_with(end))
}

/// The text without passwords; `None` if there are none in it.
fn clean(text: &str) -> Option<String> {
    let without_urls = clean_urls(text);
    let lines = without_urls.as_deref().unwrap_or(text);
    clean_assignments(lines).or(without_urls)
}

/// `scheme://user:password@host` becomes `scheme://user:(hidden)@host`.
fn clean_urls(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(position) = rest.find("://") {
        let (before, authority) = rest.split_at(position + 3);
        clean.push_str(before);
        // A password may hold almost anything, so it ends at the last `@` before a sure end of the address.
        let end = authority
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`'))
            .unwrap_or(authority.len());
        rest = authority;
        let Some(at) = authority[..end].rfind('@') else { continue };
        let Some(colon) = authority[..at].find(':') else { continue };
        clean.push_str(&authority[..=colon]);
        clean.push_str(HIDDEN);
        rest = &authority[at..];
    }
    clean.push_str(rest);
    (clean != text).then_some(clean)
}

/// `password = "..."` in a study's text keeps its name only.
fn clean_assignments(text: &str) -> Option<String> {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.split_once('=') {
            Some((name, value))
                if names_a_password(name.trim().trim_matches('"')) && !value.trim().is_empty() =>
            {
                clean.push_str(name);
                clean.push_str("= \"");
                clean.push_str(HIDDEN);
                clean.push('"');
                clean.push_str(if line.ends_with('\n') { "\n" } else { "" });
            }
            _ => clean.push_str(line),
        }
    }
    (clean != text).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_go_and_everything_else_stays() {
        let mut value = json!({
            "url": "mysql://root:s3:cr@t@db.example:3306/test",
            "study_text": "title = \"a = b\"\nurl = 'mysql://u:pw1@h/x' # and mysql://u@h\n\
                           password = \"pw2\"\n",
            "variables": {"report_password": "pw3", "default_password_lifetime": "0", "old_passwords": "OFF",
                          "wsrep_sst_auth": "u:pw4", "tls": "http://a/b:c"},
            "doubts": ["cannot reach mysql://u:pw5@h"],
        });
        remove(&mut value);
        assert_eq!(
            value,
            json!({
                "url": "mysql://root:(hidden)@db.example:3306/test",
                "study_text": "title = \"a = b\"\nurl = 'mysql://u:(hidden)@h/x' # and mysql://u@h\n\
                               password = \"(hidden)\"\n",
                "variables": {"report_password": "(hidden)", "default_password_lifetime": "0",
                              "old_passwords": "OFF", "wsrep_sst_auth": "(hidden)", "tls": "http://a/b:c"},
                "doubts": ["cannot reach mysql://u:(hidden)@h"],
            })
        );
    }
}
