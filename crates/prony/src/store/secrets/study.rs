//! Passwords in the text of a study, found by its values as they were parsed: however TOML allows one to be
//! written, its place in the text is known.

use super::{HOLDS_LEVELS, names_a_password, text};
use crate::escape::HIDDEN;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

/// The text without passwords, including those in comments. Otherwise it says the same TOML.
pub(super) fn clean(text: &str) -> String {
    let Ok(document) = Document::parse(text) else { return clean_lines(text) };
    let mut found = Found { text, values: Vec::new() };
    found.table(document.as_table());
    let mut values = found.values;
    values.sort_by_key(|(place, _)| place.start);
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for (place, value) in values {
        clean.push_str(&clean_comments(&text[at..place.start]));
        clean.push_str(&value);
        at = place.end;
    }
    clean.push_str(&clean_comments(&text[at..]));
    clean
}

/// Every value that is no table and no list, with what is to stand in its place.
struct Found<'a> {
    text: &'a str,
    values: Vec<(Range<usize>, String)>,
}

impl Found<'_> {
    /// The name of a table says nothing about its contents: a server may be named `secret`.
    fn table(&mut self, table: &dyn TableLike) {
        let of_a_password = table.get("name").and_then(Item::as_str).is_some_and(names_a_password);
        for (key, item) in table.iter() {
            let hidden = names_a_password(key) || (of_a_password && HOLDS_LEVELS.contains(&key));
            self.item(item, hidden);
        }
    }

    fn item(&mut self, item: &Item, hidden: bool) {
        match item {
            Item::None => {}
            Item::Value(value) => self.value(value, hidden),
            Item::Table(table) => self.table(table),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| self.table(table)),
        }
    }

    fn value(&mut self, value: &Value, hidden: bool) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.value(value, hidden)),
            Value::InlineTable(table) => self.table(table),
            leaf => {
                // a value that was parsed has its place
                let Some(place) = leaf.span() else { return };
                let raw = &self.text[place.clone()];
                let clean = match leaf.as_str() {
                    Some("") => None,
                    Some(word) if hidden => (word != HIDDEN).then(|| HIDDEN.to_owned()),
                    Some(word) => text::clean(word),
                    None => hidden.then(|| HIDDEN.to_owned()),
                };
                let kept = clean.map_or_else(|| raw.to_owned(), |clean| written(raw, &clean));
                self.values.push((place, kept));
            }
        }
    }
}

/// `clean` as TOML: as `raw` was written, where that can be.
fn written(raw: &str, clean: &str) -> String {
    let means = |text: &str| text.parse::<Value>().is_ok_and(|value| value.as_str() == Some(clean));
    let alike = text::clean(raw).filter(|alike| means(alike));
    alike.unwrap_or_else(|| Value::from(clean).to_string().trim().to_owned())
}

/// Between values there are keys, signs and comments; a comment may hold a line that was in use once.
fn clean_comments(between: &str) -> String {
    let clean = |line: &str| {
        let begin = line.find('#').unwrap_or(line.len());
        let (code, comment) = line.split_at(begin);
        format!("{code}{}", text::clean(comment).unwrap_or_else(|| comment.to_owned()))
    };
    between.split_inclusive('\n').map(clean).collect()
}

/// Of a text that is no TOML, which no run of Prony's own has.
fn clean_lines(text: &str) -> String {
    let clean = |line: &str| text::clean(line).unwrap_or_else(|| line.to_owned());
    text.split_inclusive('\n').map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which TOML lets a text be written, with a password that must go.
    const FORMS: &str = r####"
title = "passwords # = everywhere"
password = "PW01"
"report_password" = 'PW02'
"my_pass\u0077ord" = "PW03"
a.b.password = "PW04"          # not PW, but mysql://u:PW05@h
inline = { x = 1, report_password = "PW06", y = { secret = 'PW07' } }
list = ["mysql://u:PW08@h/x", { password = "PW09" }, ["--password=PW10"], """
mysql://u:PW11@h"""]
escaped = "mysql:\u002f\u002fu:PW12@h"
spaced = "mysql://u:PW13 PW14@h"
quoted = "mysql://u:PW15'PW16@h"
many = """
SET GLOBAL report_password = 'PW17';
CREATE USER x IDENTIFIED BY 'PW18'"""
plain = '''a
wsrep_sst_auth=u:PW19
'''
keys = ["ssl; socket.passphrase=PW20; y=1"]
number.secret = 424242
passwords_in.secret = ["PW21", { deep_secret = "PW22" }]
split = """mysql://\
    u:PW23@h"""
# password = "PW24"
# password: PW25
# url = "mysql://u:PW26@h"
[server.a]
url = "mysql://u:PW27@h/x?y=a@b"
settings = { "report_password" = """PW28
PW29""", x = 'keep' }
[server.secret] # keep it, but not password=PW30
product = "mysql"
[[factor]]
name = "report_password"
levels = ["PW31", "PW32"] # comment with PW_kept
[server."quoted.password"]
deep.passwd = 'PW33'
[last] # secret=PW34
x = { password = "PW35" } # password = PW36"####;

    #[test]
    fn no_form_of_toml_hides_a_password() {
        let clean = clean(FORMS);
        for number in 1..=36 {
            let password = format!("PW{number:02}");
            assert!(FORMS.contains(&password) && !clean.contains(&password), "{password} stays in {clean}");
        }
        assert!(!clean.contains("424242"), "{clean}");
        for kept in [
            "title = \"passwords # = everywhere\"\n",
            "x = 'keep'",
            "PW_kept",
            "product = \"mysql\"",
            "@h/x?y=a@b",
            "not PW,",
        ] {
            assert!(clean.contains(kept), "{kept} is not in {clean}");
        }
    }

    #[test]
    fn what_is_kept_is_the_same_toml_and_clean() {
        let once = clean(FORMS);
        let keys = |text: &str| {
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
            table.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(FORMS), keys(&once));
        assert_eq!(clean(&once), once);
        let plain = "# nothing\n[a]\nb = \"c\" # d = e\n\n[x.y] # z\nf = [1, 2,\n  3]\n";
        assert_eq!(clean(plain), plain);
    }

    #[test]
    fn a_text_that_is_no_toml_is_cleaned_as_well() {
        assert_eq!(clean("a == \npassword = \"x y\"\n"), "a == \npassword = \"(hidden)\"\n");
    }
}
