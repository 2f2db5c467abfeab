//! A fleet's Jobs and pods, as `kubectl get -o json` prints them.

use std::collections::BTreeMap;

use serde::Deserialize;
use zc_run::{Error, Result, escape};

use super::names::words;

/// Output of `kubectl get ... -o json`, as far as it is read.
#[derive(Debug, Deserialize)]
struct List {
    items: Vec<Object>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) creation_timestamp: String,
    pub(super) deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    /// Node of a pod.
    pub(super) node_name: Option<String>,
    /// Whether a Job is suspended.
    #[serde(default)]
    pub(super) suspend: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    #[serde(default)]
    pub(super) phase: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) conditions: Vec<Condition>,
    #[serde(default)]
    pub(super) container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContainerStatus {
    #[serde(default)]
    pub(super) state: ContainerState,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ContainerState {
    pub(super) waiting: Option<Reason>,
    pub(super) running: Option<serde::de::IgnoredAny>,
    pub(super) terminated: Option<Terminated>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reason {
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Terminated {
    pub(super) exit_code: i64,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

/// The Jobs and pods of each measurement, by its number.
pub(super) type Measurements = BTreeMap<usize, Measurement>;

/// The Jobs and pods of a measurement.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    pub(super) near: End,
    pub(super) far: End,
}

#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) job: Option<Object>,
    pub(super) pods: Vec<Object>,
}

/// Reads what `kubectl get jobs,pods -o json` prints. Objects without the labels are passed over.
///
/// # Errors
/// [`ErrorKind::Remote`](zc_run::ErrorKind): it is no such list.
pub(super) fn parse(text: &str) -> Result<Measurements> {
    let list: List = serde_json::from_str(text).map_err(|error| {
        Error::remote(
            "unexpected-kubectl-output",
            format!("kubectl printed no list of objects: line {}: {error}", error.line()),
        )
        .help("kubectl get jobs,pods -o json prints one")
    })?;
    let mut all = Measurements::new();
    for object in list.items {
        let label = |key: &str| object.metadata.labels.get(key).map(String::as_str);
        let Some(Ok(number)) = label(words::CELL).map(str::parse) else { continue };
        let is_near = match label(words::END) {
            Some(words::NEAR) => true,
            Some(words::FAR) => false,
            _ => continue,
        };
        let measurement: &mut Measurement = all.entry(number).or_default();
        let end = if is_near { &mut measurement.near } else { &mut measurement.far };
        match object.kind.as_str() {
            "Job" => end.job = Some(object),
            "Pod" => end.pods.push(object),
            _ => {}
        }
    }
    // Pods whose Jobs were deleted end by themselves.
    all.retain(|_, one| one.near.job.is_some() || one.far.job.is_some());
    Ok(all)
}

impl Object {
    pub(super) fn condition(&self, kind: &str, status: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|one| one.kind == kind && one.status == status)
    }

    pub(super) fn container<'a, T>(
        &'a self,
        of: impl Fn(&'a ContainerState) -> Option<&'a T>,
    ) -> Option<&'a T> {
        self.status.container_statuses.iter().find_map(|container| of(&container.state))
    }

    /// Exit code of a pod, and the reason that Kubernetes gives for its end.
    pub(super) fn ended(&self) -> Option<(Option<u8>, Option<String>)> {
        if !matches!(self.status.phase.as_str(), "Succeeded" | "Failed") {
            return None;
        }
        let terminated = self.container(|state| state.terminated.as_ref());
        let code = terminated.and_then(|ended| u8::try_from(ended.exit_code).ok());
        let (reason, message) = (self.status.reason.as_deref(), self.status.message.as_deref());
        let of_container = terminated.and_then(|ended| ended.reason.as_deref());
        let why = match (reason, of_container) {
            (Some("DeadlineExceeded"), _) => {
                let waiting = self.container(|state| state.waiting.as_ref());
                let text = |at: &Reason| one_line(at.reason.as_deref(), at.message.as_deref());
                let before = waiting.map_or_else(String::new, |at| format!(": {}", text(at)));
                Some(format!("took too long (DeadlineExceeded){before}"))
            }
            (Some(reason), _) => {
                Some(format!("was ended by Kubernetes: {}", one_line(Some(reason), message)))
            }
            (None, Some("OOMKilled")) => {
                Some("was killed for lack of memory (OOMKilled)".to_owned())
            }
            (None, Some("Completed" | "Error") | None) => None,
            (None, Some(reason)) => {
                let message = terminated.and_then(|ended| ended.message.as_deref());
                Some(format!("did not start: {}", one_line(Some(reason), message)))
            }
        };
        Some((code, why))
    }
}

/// A reason of Kubernetes with its message, in one line.
pub(super) fn one_line(reason: Option<&str>, message: Option<&str>) -> String {
    let message = message.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = match (reason, message.as_deref().unwrap_or_default()) {
        (Some(reason), "") => reason.to_owned(),
        (Some(reason), message) => format!("{reason}: {message}"),
        (None, "") => "no reason is given".to_owned(),
        (None, message) => message.to_owned(),
    };
    escape(&text, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_refused_and_what_is_not_ours_passed_over() {
        assert_eq!(parse("No resources found").unwrap_err().id, "unexpected-kubectl-output");
        assert!(
            parse("{\"items\":[{\"kind\":\"Job\",\"metadata\":{\"name\":\"x\"}}]}")
                .unwrap()
                .is_empty()
        );
        // The pods of a measurement stay for a while after its Jobs were deleted.
        let running = include_str!("testdata/running.json");
        assert!(running.contains("zc-nightly-00000001-00000-far-"));
        assert_eq!(parse(running).unwrap().into_keys().collect::<Vec<_>>(), [1]);
    }
}
