//! JSON schemas of values without keys of a table: settings, levels, lists.

use serde_json::{Value, json};

/// Settings of a server.
pub(super) fn settings() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
}

/// Factors with the levels that are meant.
pub(super) fn selection() -> Value {
    let level = json!({ "type": ["string", "number", "boolean", "array", "object"] });
    json!({ "type": "object", "additionalProperties": level })
}

/// Keys with their levels.
pub(super) fn vary() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": ["array", "object"] } })
}

/// Levels, the best first.
pub(super) fn order() -> Value {
    json!({ "type": "array", "minItems": 2 })
}

/// Tables by name.
pub(super) fn named_tables() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "object" } })
}

/// Factors by name, each with levels by name.
pub(super) fn factors() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "object", "minProperties": 1,
        "additionalProperties": { "type": "object" } } })
}
