//! What a cluster says about the pods of a Job, as facts: where they are, what keeps them from beginning,
//! what became of one.

use super::Error;
use load::agent;
use serde_json::Value;
use std::net::Ipv6Addr;

/// What a container waits for that will not come by itself: the cluster's word for it.
const NO_IMAGE: [&str; 5] =
    ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
const NO_CONTAINER: [&str; 4] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"];

/// The text at a path; empty where there is none.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Its number among the pods of the Job.
pub(super) fn index(pod: &Value) -> Option<usize> {
    text(pod, "/metadata/annotations/batch.kubernetes.io~1job-completion-index").parse().ok()
}

/// Its name.
pub(super) fn name(pod: &Value) -> &str {
    text(pod, "/metadata/name")
}

/// Where its agent is called; `None`: it does not run.
pub(super) fn address(pod: &Value) -> Option<String> {
    let runs = pod.pointer("/status/containerStatuses/0/state/running").is_some();
    let ip = text(pod, "/status/podIP");
    if !runs || ip.is_empty() || is_leaving(pod) {
        return None;
    }
    let host = if ip.parse::<Ipv6Addr>().is_ok() { format!("[{ip}]") } else { ip.to_owned() };
    Some(format!("{host}:{}", agent::PORT))
}

fn is_leaving(pod: &Value) -> bool {
    !text(pod, "/metadata/deletionTimestamp").is_empty()
}

/// What the cluster does not let a Job create, from the events of the Job.
pub(super) fn not_created(events: &[Value]) -> Option<Error> {
    let failed = events.iter().rfind(|event| text(event, "/reason") == "FailedCreate")?;
    Some(refused("pods", text(failed, "/message")))
}

/// What a refusal means, as the API words it.
pub(super) fn refused(what: &str, message: &str) -> Error {
    let (what, message) = (what.to_owned(), message.to_owned());
    if message.contains("exceeded quota") || message.contains("failed quota") {
        Error::Quota { message }
    } else if message.contains("violates PodSecurity") {
        Error::Security { message }
    } else {
        Error::Refused { what, message }
    }
}

/// What keeps a container from ever beginning.
pub(super) fn stuck(pod: &Value) -> Option<Error> {
    let status = pod.pointer("/status/containerStatuses/0")?;
    let (reason, message) = (text(status, "/state/waiting/reason"), text(status, "/state/waiting/message"));
    let message = if message.is_empty() { reason } else { message }.to_owned();
    if NO_IMAGE.contains(&reason) {
        return Some(Error::Image { image: text(status, "/image").to_owned(), message });
    }
    NO_CONTAINER.contains(&reason).then(|| Error::Ended { pod: name(pod).to_owned(), message })
}

/// How a pod ended that was to wait for a load; `None`: it has not.
pub(super) fn ended(pod: &Value) -> Option<Error> {
    let has_ended = ["Failed", "Succeeded"].contains(&text(pod, "/status/phase"));
    let message = became(Some(pod)).filter(|_| has_ended)?;
    Some(Error::Ended { pod: name(pod).to_owned(), message })
}

/// Why a pod has no node; `None`: it has one.
pub(super) fn unplaced(pod: &Value) -> Option<String> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    let is_unplaced =
        |one: &&Value| text(one, "/type") == "PodScheduled" && text(one, "/reason") == "Unschedulable";
    conditions.iter().find(is_unplaced).map(|one| text(one, "/message").to_owned())
}

/// What became of a pod whose agent is lost; `None`: nothing that the cluster knows of. `pod` is what the
/// cluster says of it now, if it still knows it.
pub(super) fn became(pod: Option<&Value>) -> Option<String> {
    let Some(pod) = pod else { return Some("the pod was deleted".to_owned()) };
    if text(pod, "/status/reason") == "Evicted" {
        return Some(format!("the pod was evicted: {}", text(pod, "/status/message")));
    }
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    if let Some(one) = conditions.find(|one| text(one, "/type") == "DisruptionTarget") {
        let (reason, message) = (text(one, "/reason"), text(one, "/message"));
        return Some(format!("the pod was evicted ({reason}): {message}"));
    }
    let status = pod.pointer("/status/containerStatuses/0");
    let restarts = status.and_then(|status| status.get("restartCount")?.as_u64()).unwrap_or(0);
    let ended = status.and_then(|status| {
        status.pointer("/state/terminated").or_else(|| status.pointer("/lastState/terminated"))
    });
    if let Some(ended) = ended {
        return Some(how_it_ended(pod, ended, restarts));
    }
    if is_leaving(pod) {
        return Some("the pod was deleted".to_owned());
    }
    let is_down = text(pod, "/status/reason") == "NodeLost" || text(pod, "/status/phase") == "Unknown";
    is_down.then(|| format!("its node {} is not ready", text(pod, "/spec/nodeName")))
}

fn how_it_ended(pod: &Value, ended: &Value, restarts: u64) -> String {
    let again = if restarts > 0 { " and was restarted" } else { "" };
    if text(ended, "/reason") == "OOMKilled" {
        let limit = text(pod, "/spec/containers/0/resources/limits/memory");
        return format!(
            "its container was killed{again}: it used more than its memory limit, {limit}; raise `memory` in \
             `resources`"
        );
    }
    let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
    let said = text(ended, "/message").trim();
    let said = if said.is_empty() { text(ended, "/reason") } else { said };
    format!("its container ended with exit code {code}{again}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: Value) -> Value {
        json!({
            "metadata": {
                "name": "prony-x-2-abcde",
                "annotations": { "batch.kubernetes.io/job-completion-index": "2" },
            },
            "spec": { "nodeName": "n1", "containers": [{ "resources": { "limits": { "memory": "64Mi" } } }] },
            "status": status,
        })
    }

    fn running(ip: &str) -> Value {
        pod(json!({ "phase": "Running", "podIP": ip, "containerStatuses": [{ "state": { "running": {} } }] }))
    }

    #[test]
    fn a_pod_that_runs_has_a_number_and_an_address() {
        assert_eq!(index(&running("10.0.0.7")), Some(2));
        assert_eq!(address(&running("10.0.0.7")).as_deref(), Some("10.0.0.7:7433"));
        assert_eq!(address(&running("fd00::7")).as_deref(), Some("[fd00::7]:7433"));
        let mut leaving = running("10.0.0.7");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(address(&leaving), None);
        assert_eq!(became(Some(&leaving)).as_deref(), Some("the pod was deleted"));
        assert_eq!(address(&pod(json!({ "phase": "Pending" }))), None);
        assert_eq!(became(Some(&running("10.0.0.7"))), None);
    }

    #[test]
    fn what_became_of_a_pod_is_told() {
        let ended = |reason: &str, code: i64, message: &str| {
            let state = json!({ "terminated": { "reason": reason, "exitCode": code, "message": message } });
            pod(json!({ "phase": "Failed", "containerStatuses": [{ "state": state, "restartCount": 0 }] }))
        };
        let disrupted =
            json!([{ "type": "DisruptionTarget", "reason": "EvictionByEvictionAPI", "message": "m" }]);
        for (pod, words) in [
            (None, "the pod was deleted"),
            (Some(ended("OOMKilled", 137, "")), "more than its memory limit, 64Mi"),
            (Some(ended("Error", 2, "no certificates\n")), "exit code 2: no certificates"),
            (Some(pod(json!({ "reason": "Evicted", "message": "low on memory" }))), "was evicted: low on"),
            (
                Some(pod(json!({ "phase": "Running", "conditions": disrupted }))),
                "evicted (EvictionByEvictionAPI)",
            ),
            (Some(pod(json!({ "phase": "Unknown" }))), "its node n1 is not ready"),
        ] {
            let told = became(pod.as_ref()).unwrap_or_else(|| panic!("{words}"));
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_keeps_a_pod_from_beginning_is_told_by_its_kind() {
        let waiting = |reason: &str| {
            let state = json!({ "waiting": { "reason": reason, "message": "not found" } });
            pod(json!({ "phase": "Pending", "containerStatuses": [{ "image": "no/such", "state": state }] }))
        };
        let no_image = stuck(&waiting("ImagePullBackOff"));
        assert!(matches!(no_image, Some(Error::Image { image, .. }) if image == "no/such"));
        assert!(matches!(stuck(&waiting("CreateContainerError")), Some(Error::Ended { .. })));
        assert!(stuck(&waiting("ContainerCreating")).is_none());
        let event = |message: &str| json!({ "reason": "FailedCreate", "message": message });
        let quota = event("Error creating: pods \"p\" is forbidden: exceeded quota: q, requested: cpu=1");
        assert!(matches!(not_created(&[quota]), Some(Error::Quota { .. })));
        let security = event("pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\"");
        assert!(matches!(not_created(&[security]), Some(Error::Security { .. })));
        assert!(not_created(&[json!({ "reason": "SuccessfulCreate", "message": "Created pod" })]).is_none());
    }
}
