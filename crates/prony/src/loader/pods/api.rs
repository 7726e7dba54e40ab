//! The API of a cluster: one request and its answer, both JSON; and what a refusal means.

use super::{
    Error,
    config::{self, Cluster, Token},
    state,
};
use load::https::Answer;
use serde_json::Value;
use std::{
    fs,
    sync::{Mutex, PoisonError},
};

/// The status of an answer to somebody whom the cluster does not know.
const UNKNOWN: u16 = 401;

/// A namespace of a cluster, and who one is there.
pub(super) struct Api {
    /// It is found out anew where a login has expired.
    cluster: Mutex<Cluster>,
    pub(super) namespace: String,
    /// Whether Prony itself runs there, so that its own pod can own what it creates.
    pub(super) is_own: bool,
}

/// Kinds of what Prony creates or looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Jobs,
    Pods,
    Secrets,
    Services,
    Events,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Pods => "pods",
            Self::Secrets => "secrets",
            Self::Services => "services",
            Self::Events => "events",
        }
    }
}

impl Api {
    /// The cluster that is meant; `namespace` if not the usual one.
    pub(super) fn connect(namespace: Option<&str>) -> Result<Self, Error> {
        let cluster = config::cluster()?;
        let namespace = namespace.unwrap_or(&cluster.namespace).to_owned();
        let is_own = cluster.is_own && namespace == cluster.namespace;
        Ok(Self { cluster: Mutex::new(cluster), namespace, is_own })
    }

    pub(super) fn create(&self, kind: Kind, what: &Value) -> Result<Value, Error> {
        // what the cluster does not know is a mistake, not to be left out in silence
        self.ask(("POST", "create"), kind, "?fieldValidation=Strict", Some(what))
    }

    /// All that a query finds.
    pub(super) fn list(&self, kind: Kind, query: &str) -> Result<Vec<Value>, Error> {
        let mut found = self.ask(("GET", "list"), kind, &format!("?{query}"), None)?;
        Ok(found["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    pub(super) fn patch(&self, kind: Kind, name: &str, with: &Value) -> Result<Value, Error> {
        self.ask(("PATCH", "patch"), kind, &format!("/{name}"), Some(with))
    }

    /// Removes it with all that it owns.
    pub(super) fn delete(&self, kind: Kind, name: &str) -> Result<Value, Error> {
        self.ask(("DELETE", "delete"), kind, &format!("/{name}?propagationPolicy=Background"), None)
    }

    fn ask(
        &self,
        (method, verb): (&'static str, &'static str),
        kind: Kind,
        rest: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let group = if kind == Kind::Jobs { "/apis/batch/v1" } else { "/api/v1" };
        let path = format!("{group}/namespaces/{}/{}{rest}", self.namespace, kind.name());
        let mut cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = ask(&cluster, method, &path, body)?;
        if answer.status == UNKNOWN {
            *cluster = config::cluster()?;
            answer = ask(&cluster, method, &path, body)?;
        }
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return Ok(value);
        }
        let message = value["message"].as_str().map(str::to_owned);
        let message = message.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).trim().to_owned());
        let message = format!("{message} (HTTP {})", answer.status);
        Err(match answer.status {
            UNKNOWN => Error::Unknown { address: cluster.address.clone(), message },
            // quotas and policies answer with the same status, in other words
            403 if message.contains(" cannot ") => {
                Error::Right { verb, what: kind.name(), namespace: self.namespace.clone(), message }
            }
            404 if kind == Kind::Jobs && verb == "delete" => Error::Gone,
            _ => state::refused(kind.name(), &message),
        })
    }
}

fn ask(cluster: &Cluster, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, Error> {
    let mut lines = vec!["Accept: application/json".to_owned()];
    if body.is_some() {
        let patch = if method == "PATCH" { "merge-patch+" } else { "" };
        lines.push(format!("Content-Type: application/{patch}json"));
    }
    let token = match &cluster.token {
        Token::None => None,
        Token::Text(text) => Some(text.clone()),
        Token::File(path) => Some(fs::read_to_string(path).map_err(|error| Error::NoCluster {
            cause: format!("cannot read {}: {error}", path.display()),
        })?),
    };
    lines.extend(token.map(|token| format!("Authorization: Bearer {}", token.trim())));
    let body = body.map(Value::to_string).unwrap_or_default();
    let asked = cluster.endpoint.ask(method, &format!("{}{path}", cluster.prefix), &lines, body.as_bytes());
    asked.map_err(|error| Error::Unreachable { address: cluster.address.clone(), cause: error.to_string() })
}
