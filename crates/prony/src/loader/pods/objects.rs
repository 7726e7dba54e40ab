//! What is created in a cluster, as its API takes it: a Job whose pods are load hosts, a headless Service
//! that names them, and a Secret with their certificates. The Job owns the other two, so that they go with
//! it.

use super::super::certificates::Files;
use crate::plan::Kubernetes;
use load::agent;
use serde_json::{Value, json};
use std::time::Duration;

/// How long pods may take to begin; the Job ends itself when they have not, whatever became of Prony.
pub(in crate::loader) const BEGIN_MAX: Duration = Duration::from_secs(300);
/// How long an agent that no run uses goes on.
const UNUSED_MAX: Duration = Duration::from_secs(60);
/// How long a Job that has ended stays.
const KEPT: Duration = Duration::from_secs(30);
/// Lost pods that are replaced, for each that there is.
const REPLACED_MAX: u32 = 20;
/// A user and group that exist nowhere else.
const NOBODY: u32 = 65_532;
/// Where the certificates are in a pod.
const CERTIFICATES: &str = "/etc/prony-agent";
/// Marks what Prony has created.
pub(super) const MARK: &str = "app.kubernetes.io/managed-by=prony";
/// Who has created a Job.
pub(super) const CREATOR: &str = "prony/creator";

/// What all that is created has in common.
pub(super) struct About<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Who asks for it, so that the next one can tell whether that one still lives.
    pub(super) creator: &'a str,
    /// The pod in which Prony runs, name and uid.
    pub(super) own_pod: Option<(String, String)>,
}

fn labels(name: &str) -> Value {
    json!({
        "app.kubernetes.io/name": "prony-agent",
        "app.kubernetes.io/managed-by": "prony",
        "app.kubernetes.io/instance": name,
    })
}

/// A Job of agents that offer load to these targets.
pub(super) fn job(about: &About<'_>, wish: &Kubernetes, targets: &[String]) -> Value {
    let (name, labels) = (about.name, labels(about.name));
    let owners: Vec<Value> = about
        .own_pod
        .iter()
        .map(|(name, uid)| json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid }))
        .collect();
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": { CREATOR: about.creator },
            "ownerReferences": owners,
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": wish.replicas,
            "parallelism": wish.replicas,
            "backoffLimit": wish.replicas.saturating_mul(REPLACED_MAX),
            "activeDeadlineSeconds": (BEGIN_MAX + UNUSED_MAX).as_secs(),
            "ttlSecondsAfterFinished": KEPT.as_secs(),
            "template": { "metadata": { "labels": labels }, "spec": pod(name, wish, targets) },
        },
    })
}

fn pod(name: &str, wish: &Kubernetes, targets: &[String]) -> Value {
    let mut pod = json!({
        "restartPolicy": "Never",
        "subdomain": name,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "fsGroup": NOBODY,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "nodeSelector": wish.node_selector,
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": { "app.kubernetes.io/instance": name } },
        }],
        "containers": [container(wish, targets)],
        "volumes": [{ "name": "certificates", "secret": { "secretName": name, "defaultMode": 0o440 } }],
    });
    for (key, value) in [("tolerations", &wish.tolerations), ("affinity", &wish.affinity)] {
        if let Some(value) = value {
            pod[key] = value.clone();
        }
    }
    pod
}

fn container(wish: &Kubernetes, targets: &[String]) -> Value {
    let unused = format!("{}s", UNUSED_MAX.as_secs());
    json!({
        "name": "agent",
        "image": wish.image,
        "args": ["agent", "--dir", CERTIFICATES, "--allow", targets.join(","), "--end-after", unused],
        "ports": [{ "name": "agent", "containerPort": agent::PORT }],
        "resources": { "requests": wish.resources.requests, "limits": wish.resources.limits },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": [{ "name": "certificates", "mountPath": CERTIFICATES, "readOnly": true }],
    })
}

/// What goes with a Job.
fn metadata(name: &str, job_uid: &str) -> Value {
    json!({
        "name": name,
        "labels": labels(name),
        "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job_uid }],
    })
}

/// The certificates of the agents.
pub(super) fn secret(name: &str, job_uid: &str, files: &Files) -> Value {
    let texts: serde_json::Map<String, Value> =
        files.iter().map(|(file, text)| ((*file).to_owned(), Value::from(text.as_str()))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(name, job_uid),
        "type": "Opaque",
        "immutable": true,
        "stringData": texts,
    })
}

/// What gives each pod its name, `JOB-0.JOB`.
pub(super) fn service(name: &str, job_uid: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, job_uid),
        "spec": {
            "clusterIP": "None",
            "selector": { "app.kubernetes.io/instance": name },
            "ports": [{ "name": "agent", "port": agent::PORT }],
        },
    })
}

/// Takes the limit of time from a Job whose pods have begun.
pub(super) fn without_deadline() -> Value {
    json!({ "spec": { "activeDeadlineSeconds": null } })
}
