//! Removes passwords from everything that is about to be stored. A study may name a server as
//! `mysql://user:password@host`, and the study's text is stored with the run; some servers show passwords
//! among their variables.

mod study;
mod text;

use crate::escape::HIDDEN;
use serde_json::{Map, Value};

/// Fields with the values of what an object names.
const HOLDS_LEVELS: [&str; 3] = ["levels", "value", "values"];

/// The field that holds a study as it was read.
const STUDY_TEXT: &str = "study_text";

/// Removes passwords from every text in `value`, in place.
pub(super) fn remove(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(clean) = text::clean(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        Value::Object(fields) => {
            let has_levels = is_of_a_password(fields);
            for (name, field) in fields {
                let is_password = names_a_password(name) || (has_levels && HOLDS_LEVELS.contains(&&**name));
                match field {
                    Value::String(text) if name == STUDY_TEXT => *text = study::clean(text),
                    Value::String(_) | Value::Array(_) if is_password => hide(field),
                    field => remove(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Hides a text, or each text of a list. Tables go by the names in them.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) if !text.is_empty() => *text = HIDDEN.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(hide),
        other => remove(other),
    }
}

/// Whether an object says by its field `name` that it is about a password, as a factor does whose levels are
/// passwords.
fn is_of_a_password(fields: &Map<String, Value>) -> bool {
    fields.get("name").and_then(Value::as_str).is_some_and(names_a_password)
}

/// Whether a setting of this name holds a password (`report_password`, `wsrep_sst_auth`), unlike
/// `default_password_lifetime` and the names of plug-ins.
fn names_a_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_plugin = ["native_password", "sha2_password", "sha256_password", "old_password", "clear_password"]
        .iter()
        .any(|end| name.ends_with(end));
    let ends = ["password", "passwd", "pwd", "passphrase", "secret", "sst_auth"];
    !is_plugin && ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_go_and_everything_else_stays() {
        let mut plan = json!({"name": "secret", "study_text": "a = { password = 'pw11' }"});
        remove(&mut plan);
        assert_eq!(plan["study_text"], "a = { password = \"(hidden)\" }", "{plan}");
        let mut value = json!({
            "url": "mysql://root:s3:cr@t@db.example:3306/test",
            "study_text": "title = \"a = b\"\nurl = 'mysql://u:pw1@h/x' # mysql://u@h\npassword = \"pw2\"\n",
            "variables": {"report_password": "pw3", "default_password_lifetime": "0", "old_passwords": "OFF",
                          "wsrep_sst_auth": "u:pw4", "tls": "http://a/b:c"},
            "doubts": ["cannot reach mysql://u:pw5@h"],
            "factors": [{"name": "a.settings.report_password", "levels": ["pw6", "pw7"]},
                        {"name": "a.settings.x", "levels": ["1", "report_password=pw8, y=1"]}],
            "levels": {"a.settings.report_password": "pw6"},
            "secret": ["pw9", {"passwd": "pw10"}, 7],
            "servers": {"name": "secret", "random": "uniform",
                        "values": {"password": {"random": "uniform"}}},
        });
        remove(&mut value);
        assert_eq!(
            value,
            json!({
                "url": "mysql://root:(hidden)@db.example:3306/test",
                "study_text": "title = \"a = b\"\nurl = 'mysql://u:(hidden)@h/x' # mysql://u@h\n\
                               password = \"(hidden)\"\n",
                "variables": {"report_password": "(hidden)", "default_password_lifetime": "0",
                              "old_passwords": "OFF", "wsrep_sst_auth": "(hidden)", "tls": "http://a/b:c"},
                "doubts": ["cannot reach mysql://u:(hidden)@h"],
                "factors": [{"name": "a.settings.report_password", "levels": ["(hidden)", "(hidden)"]},
                            {"name": "a.settings.x", "levels": ["1", "report_password=(hidden) y=1"]}],
                "levels": {"a.settings.report_password": "(hidden)"},
                "secret": ["(hidden)", {"passwd": "(hidden)"}, 7],
                "servers": {"name": "secret", "random": "uniform",
                            "values": {"password": {"random": "uniform"}}},
            })
        );
    }
}
