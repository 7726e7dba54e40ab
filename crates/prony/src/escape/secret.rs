//! Passwords in addresses.

/// What stands instead of a password.
pub const HIDDEN: &str = "(hidden)";

/// The text with every `scheme://user:password@host` in it as `scheme://user:(hidden)@host`.
#[must_use]
pub fn without_passwords(text: &str) -> String {
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
    clean
}
