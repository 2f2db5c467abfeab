//! Options for measurements as pods of a Kubernetes cluster: the table `[kubernetes]` of a fleet's
//! file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zc_run::{escape, units};

use crate::programs::Programs;

/// The table, with the values that are checked by their types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KubernetesOptions {
    /// The image with zc.
    pub image: String,
    /// The extended resource. Each node has one, and each pod asks for one.
    pub resource: String,
    /// The namespace; that of kubectl's context where it is missing.
    pub namespace: Option<String>,
    /// The command kubectl, split at spaces. It is in no saved plan: see [`Programs`].
    #[serde(skip_serializing)]
    pub kubectl: String,
    /// The scheduler of the pods; the cluster's own where it is missing.
    pub scheduler: Option<String>,
    /// More labels of Jobs and pods, and annotations. `{measurement}` is the name of the two Jobs.
    pub labels: BTreeMap<String, String>,
    /// See `labels`.
    pub annotations: BTreeMap<String, String>,
    /// Taints that the pods tolerate: `key=value:Effect`.
    pub tolerations: Vec<String>,
    /// Further limits of each pod, which are its requests too: `memory = "2Gi"`.
    pub limits: BTreeMap<String, String>,
    /// The port of `zc serve`. Bytes arrive at the next one.
    pub port: u16,
    /// Whether the containers are privileged.
    pub privileged: bool,
    /// Whether the cluster itself starts both pods of a measurement together.
    pub gang: bool,
    /// Time that the sending end waits for the receiving one.
    pub wait: String,
}

impl Default for KubernetesOptions {
    fn default() -> Self {
        Self {
            image: String::new(),
            resource: String::new(),
            namespace: None,
            kubectl: Programs::default().kubectl,
            scheduler: None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            tolerations: Vec::new(),
            limits: BTreeMap::new(),
            port: 2223,
            privileged: true,
            gang: false,
            wait: "5m".to_owned(),
        }
    }
}

/// The bounds of `wait`.
const WAIT_NS: std::ops::RangeInclusive<u64> = 1_000_000_000..=86_400_000_000_000;

/// The prefix that Kubernetes' own names have and no extended resource may have.
const ITS_OWN: &str = "kubernetes.io/";

impl KubernetesOptions {
    /// Checks the values. `shared` is whether other pods may use the nodes.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub(super) fn check(&self, shared: bool) -> std::result::Result<(), String> {
        let refused = |key: &str, what: &str| Err(format!("[kubernetes] {key}: {what}"));
        if self.image.is_empty() || self.image.contains(char::is_whitespace) {
            return refused(
                "image",
                "the name of an image with zc, as in \"registry.example/zc:0.2.0\"",
            );
        }
        let is_extended =
            |name: &str| is_qualified(name) && name.contains('/') && !name.contains(ITS_OWN);
        if !(is_extended(&self.resource) || shared && self.resource.is_empty()) {
            return refused(
                "resource",
                "the extended resource of which each node has one, as in \"zc/host\"; \
                 shared = true measures without",
            );
        }
        if self.kubectl.split_whitespace().next().is_none() {
            return refused("kubectl", "it is empty");
        }
        if let Some(namespace) = self.namespace.as_ref().filter(|name| !is_dns_label(name)) {
            return refused("namespace", &format!("\"{}\" is none", escape(namespace, 70)));
        }
        for (table, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if let Some(key) =
                entries.keys().find(|key| !is_qualified(key) || key.starts_with("zc-"))
            {
                return refused(
                    table,
                    &format!("\"{}\" is no name for one of yours", escape(key, 70)),
                );
            }
        }
        let is_value = |value: &&String| {
            let text = value.replace(MEASUREMENT, "x");
            text.is_empty() || is_name(&text)
        };
        if let Some(value) = self.labels.values().find(|value| !is_value(value)) {
            return refused("labels", &format!("\"{}\" is no value of a label", escape(value, 70)));
        }
        for text in &self.tolerations {
            if toleration(text).is_none() {
                let what = format!("\"{}\": key=value:Effect or key:Effect", escape(text, 70));
                return refused("tolerations", &what);
            }
        }
        if let Some(name) = self.limits.keys().find(|name| !is_qualified(name)) {
            return refused("limits", &format!("\"{}\" is no resource", escape(name, 70)));
        }
        if !(1..=65_534).contains(&self.port) {
            return refused("port", "1 to 65534");
        }
        match units::duration(&self.wait, WAIT_NS) {
            Ok(_) => Ok(()),
            Err(error) => refused("wait", &error.message),
        }
    }

    /// `wait` in ns.
    pub(super) fn wait_ns(&self) -> u64 {
        units::duration(&self.wait, WAIT_NS).unwrap_or(0)
    }
}

/// Placeholder for the common name of a measurement's two Jobs in values of labels and annotations.
pub(super) const MEASUREMENT: &str = "{measurement}";

/// A taint that is tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Toleration<'a> {
    pub(super) key: &'a str,
    /// `None`: any value.
    pub(super) value: Option<&'a str>,
    pub(super) effect: &'a str,
}

/// Reads `key=value:Effect` or `key:Effect`.
pub(super) fn toleration(text: &str) -> Option<Toleration<'_>> {
    let (taint, effect) = text.rsplit_once(':')?;
    let (key, value) =
        taint.split_once('=').map_or((taint, None), |(key, value)| (key, Some(value)));
    let is_effect = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
    let is_value = |value: &str| value.is_empty() || is_name(value);
    (is_effect && is_qualified(key) && value.is_none_or(is_value)).then_some(Toleration {
        key,
        value,
        effect,
    })
}

/// A name of labels, taints and resources, with a prefix or without.
pub(super) fn is_qualified(text: &str) -> bool {
    let (prefix, name) =
        text.rsplit_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_domain = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_dns_label);
    is_name(name) && prefix.is_none_or(is_domain)
}

/// 1 to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(super) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_end = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(is_inner)
        && is_end(text.bytes().next())
        && is_end(text.bytes().next_back())
}

/// RFC 1123, as Kubernetes has it: lower case.
pub(super) fn is_dns_label(text: &str) -> bool {
    is_name(text)
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> KubernetesOptions {
        toml::from_str(&format!("image = \"zc:1\"\nresource = \"zc/host\"\n{text}")).unwrap()
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        assert_eq!(options("").check(false), Ok(()));
        let full = "tolerations = [\"dedicated=bench:NoSchedule\", \"a/b:NoExecute\"]\n\
                    port = 3000\n\
                    labels = { \"kueue.x-k8s.io/queue-name\" = \"bench\", \
                    group = \"{measurement}\" }\n\
                    limits = { memory = \"2Gi\" }\nnamespace = \"bench\"\nwait = \"1h\"\n";
        assert_eq!(options(full).check(false), Ok(()));
        for (text, says) in [
            ("kubectl = \" \"", "[kubernetes] kubectl: it is empty"),
            ("namespace = \"A b\"", "[kubernetes] namespace: \"A b\" is none"),
            ("tolerations = [\"a=b\"]", "[kubernetes] tolerations: \"a=b\": key=value:Effect"),
            ("tolerations = [\"a=b:Never\"]", "[kubernetes] tolerations: \"a=b:Never\""),
            ("labels = { zc-fleet = \"x\" }", "[kubernetes] labels: \"zc-fleet\" is no name"),
            ("labels = { a = \"x y\" }", "[kubernetes] labels: \"x y\" is no value"),
            ("annotations = { \"a b\" = \"x y\" }", "[kubernetes] annotations: \"a b\" is no name"),
            ("limits = { \"-\" = \"1\" }", "[kubernetes] limits: \"-\" is no resource"),
            ("port = 0", "[kubernetes] port: 1 to 65534"),
            ("wait = \"5\"", "[kubernetes] wait: duration \"5\" has no unit"),
        ] {
            let error = options(text).check(false).unwrap_err();
            assert!(error.starts_with(says), "{text}: {error}");
        }
        let without = KubernetesOptions { image: String::new(), ..options("") };
        assert!(without.check(false).unwrap_err().starts_with("[kubernetes] image: "));
        for resource in ["", "host", "kubernetes.io/x", "zc/"] {
            let wrong = KubernetesOptions { resource: resource.to_owned(), ..options("") };
            assert!(wrong.check(false).unwrap_err().starts_with("[kubernetes] resource: "));
        }
        let without = KubernetesOptions { resource: String::new(), ..options("") };
        assert_eq!(without.check(true), Ok(()), "nothing is exclusive then");
    }
}
