//! `[load] kubernetes`: load hosts that Prony starts for a run, as pods of a Kubernetes cluster. What a
//! cluster reads in its own words (affinity, tolerations) is written in these and passed on; the cluster says
//! what is wrong with it.

use super::{
    keys::{self, Key, Put, key, section},
    kinds::{Count, Form, Pattern, Text},
    mistake::{Collector, Mistakes, Place, Source},
    tree::{self, Node, Table, Value},
    wrong::Wrong,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Most pods of a load.
const REPLICAS_MAX: u32 = 1_000;

/// `[load] kubernetes`
pub(super) const KUBERNETES: &[Key<Kubernetes>] = &[
    key(
        "replicas",
        &Put(Count(1, REPLICAS_MAX), |pods: &mut Kubernetes, value| pods.replicas = value),
        Some("1"),
        "",
        "Pods that share the load.",
    ),
    key(
        "image",
        &Put(Text, |pods: &mut Kubernetes, value| pods.image = value),
        None,
        r#""registry.example.com/prony:0.1.0""#,
        "Image of the pods: Prony of this exact version, as `make package` makes it.",
    ),
    key(
        "namespace",
        &Put(Text, |pods: &mut Kubernetes, value| pods.namespace = Some(value)),
        None,
        r#""load""#,
        "Namespace of the pods [default: that of the kubeconfig's context, or of Prony's own pod].",
    ),
    key(
        "resources",
        &Put(RESOURCES, |pods: &mut Kubernetes, value| pods.resources = value),
        Some(r#"{ cpu = "1", memory = "512Mi" }"#),
        "",
        "Resources of each pod, requests and limits alike; `{ requests = {...}, limits = {...} }` sets them \
         separately.",
    ),
    key(
        "node_selector",
        &Put(LABELS, |pods: &mut Kubernetes, value| pods.node_selector = value),
        None,
        r#"{ pool = "load" }"#,
        "Labels of the nodes that the pods may run on.",
    ),
    key(
        "tolerations",
        &Put(LIST, |pods: &mut Kubernetes, value| pods.tolerations = Some(value)),
        None,
        r#"[{ key = "load", operator = "Exists" }]"#,
        "Taints of nodes that the pods tolerate, in Kubernetes' words.",
    ),
    key(
        "affinity",
        &Put(TABLE, |pods: &mut Kubernetes, value| pods.affinity = Some(value)),
        None,
        "{ nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution = [] } }",
        "Affinity of the pods, in Kubernetes' words [default: none; pods are spread over nodes where that is \
         possible].",
    ),
];

const RESOURCES: Form<Resources> = Form(resources, Pattern::Schema(r#"{ "type": "object" }"#));
const LABELS: Form<BTreeMap<String, String>> =
    Form(labels, Pattern::Schema(r#"{ "type": "object", "additionalProperties": { "type": "string" } }"#));
const LIST: Form<Json> = Form(
    |node| Some(json(node)).filter(Json::is_array).ok_or(Wrong::Expected("a list of tables")),
    Pattern::Schema(r#"{ "type": "array", "items": { "type": "object" } }"#),
);
const TABLE: Form<Json> = Form(
    |node| Some(json(node)).filter(Json::is_object).ok_or(Wrong::Expected("a table")),
    Pattern::Schema(r#"{ "type": "object" }"#),
);

/// Pods that share a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// How many.
    pub replicas: u32,
    /// Of which image.
    pub image: String,
    /// Where; `None`: in the namespace of whoever asks.
    pub namespace: Option<String>,
    /// What each may use.
    pub resources: Resources,
    /// Labels of their nodes.
    pub node_selector: BTreeMap<String, String>,
    /// As Kubernetes reads it.
    pub tolerations: Option<Json>,
    /// As Kubernetes reads it.
    pub affinity: Option<Json>,
}

/// What a pod may use, in Kubernetes' quantities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// What it has at least.
    pub requests: BTreeMap<String, String>,
    /// What it has at most.
    pub limits: BTreeMap<String, String>,
}

impl Resources {
    /// Requests and limits alike: then nobody else's load changes what it has.
    fn alike(both: BTreeMap<String, String>) -> Self {
        Self { requests: both.clone(), limits: both }
    }
}

impl Default for Kubernetes {
    fn default() -> Self {
        let resource = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            replicas: 1,
            image: String::new(),
            namespace: None,
            resources: Resources::alike([("cpu", "1"), ("memory", "512Mi")].map(resource).into()),
            node_selector: BTreeMap::new(),
            tolerations: None,
            affinity: None,
        }
    }
}

impl Kubernetes {
    /// Whether the same pods serve both, however many each needs.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        Self { replicas: other.replicas, ..self.clone() } == *other
    }
}

/// Reads what a flag says, as it would stand between the braces of `kubernetes = {...}`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn pods(text: &str) -> Result<Kubernetes, Mistakes> {
    let text = format!("kubernetes = {{ {text} }}");
    let mut mistakes = Collector::default();
    let table = tree::parse(&text, 0, &mut mistakes).unwrap_or_default();
    let found = kubernetes(&table, &mut mistakes).map(|(pods, _)| pods);
    mistakes.finish(vec![Source { name: "--kubernetes".to_owned(), text }])?;
    Ok(found.unwrap_or_default())
}

/// Reads the table, where there is one; with it, the place of the key.
pub(super) fn kubernetes<'a>(load: &'a Table, mistakes: &mut Collector) -> Option<(Kubernetes, &'a Place)> {
    let node = load.get("kubernetes")?;
    let table = section(Some(node), "kubernetes", mistakes)?;
    let (pods, _): (Kubernetes, _) = keys::read(table, KUBERNETES, mistakes);
    if table.get("image").is_none() {
        let label = "add `image`: where the cluster pulls Prony from";
        mistakes.at(&node.place, "`kubernetes` has no `image`", label);
    }
    Some((pods, &node.place))
}

fn resources(node: &Node) -> Result<Resources, Wrong> {
    let wanted = Wrong::Expected("{ cpu = \"1\", memory = \"512Mi\" }");
    let table = node.table().ok_or(wanted)?;
    let part = |name: &str| table.get(name).map(labels).transpose();
    match (part("requests")?, part("limits")?) {
        (None, None) => Ok(Resources::alike(labels(node)?)),
        (None, Some(both)) | (Some(both), None) => Ok(Resources::alike(both)),
        (Some(requests), Some(limits)) => Ok(Resources { requests, limits }),
    }
}

/// Names and words; numbers are words, too, as in Kubernetes' own files.
fn labels(node: &Node) -> Result<BTreeMap<String, String>, Wrong> {
    let wanted = || Wrong::Expected("names with text: { name = \"value\" }");
    let table = node.table().ok_or_else(wanted)?;
    let label = |entry: &tree::Entry| match &entry.node.value {
        Value::Text(_) | Value::Integer(_) | Value::Real(_) | Value::Flag(_) => {
            Ok((entry.key.clone(), entry.node.label()))
        }
        _ => Err(wanted()),
    };
    table.0.iter().map(label).collect()
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) => Json::from(text.as_str()),
        Value::Integer(number) => Json::from(*number),
        Value::Real(number) => Json::from(*number),
        Value::Flag(flag) => Json::from(*flag),
        Value::Array(nodes) => nodes.iter().map(json).collect(),
        Value::Table(table) => {
            let entries = table.0.iter().map(|entry| (entry.key.clone(), json(&entry.node)));
            Json::Object(entries.collect::<Map<_, _>>())
        }
        Value::Date => Json::Null,
    }
}
