//! The nodes of the cluster: which have a label, and whether pods can have them for themselves.

use std::collections::BTreeMap;

use serde::Deserialize;
use zc_run::{Error, Result, escape};

use super::kubectl::Kubectl;
use crate::host_list::is_name;
use crate::kubernetes_options::KubernetesOptions;
use crate::plan::FleetPlan;

/// Output of `kubectl get nodes -o json`, as far as it is read.
#[derive(Debug, Deserialize)]
struct Nodes {
    items: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    metadata: NodeName,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Debug, Deserialize)]
struct NodeName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    allocatable: BTreeMap<String, String>,
}

/// Checks that pods can have hosts for themselves.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): a node is none of the cluster, or does not have
/// exactly one of the resource.
pub fn check_exclusive(plan: &FleetPlan) -> Result<()> {
    let text = Kubectl::for_plan(plan).output(&["get", "nodes", "--output=json"])?;
    let nodes: Nodes = serde_json::from_str(&text).map_err(|error| {
        Error::remote(
            "unexpected-kubectl-output",
            format!("kubectl printed no list of nodes: line {}: {error}", error.line()),
        )
        .help("kubectl get nodes -o json prints one")
    })?;
    exclusive(plan, &nodes)
}

fn exclusive(plan: &FleetPlan, nodes: &Nodes) -> Result<()> {
    let resource = &plan.kubernetes.resource;
    let has =
        |node: &Node| node.status.allocatable.get(resource).map_or("0", String::as_str).to_owned();
    let mut wrong = Vec::new();
    for host in &plan.hosts {
        match nodes.items.iter().find(|node| node.metadata.name == host.name) {
            None => {
                return Err(Error::unsupported(
                    "no-such-node",
                    format!("the cluster has no node \"{}\"", host.name),
                )
                .help("kubectl get nodes lists them; [[hosts]] names them as it does"));
            }
            Some(node) if has(node) != "1" => {
                wrong.push(format!("{} has {}", host.name, has(node)))
            }
            Some(_) => {}
        }
    }
    let Some(first) = wrong.first() else { return Ok(()) };
    let more = match wrong.len() {
        1 => String::new(),
        all => format!(", and so on: {all} nodes"),
    };
    Err(Error::unsupported(
        "nodes-not-exclusive",
        format!(
            "nodes do not have exactly one \"{resource}\" each, so that others could use them \
         meanwhile: {}{more}",
            escape(first, 120)
        ),
    )
    .help(format!(
        "an administrator adds it: kubectl patch node {} --subresource=status --type=merge -p \
         '{{\"status\":{{\"capacity\":{{\"{resource}\":\"1\"}}}}}}'; or shared = true measures \
         beside others, and the report says so",
        first.split(' ').next().unwrap_or("NODE")
    )))
}

/// The nodes that have a label, as `key=value` or `key`.
///
/// # Errors
/// There is no kubectl here, the cluster does not answer, or no node has it.
pub fn nodes_with(options: &KubernetesOptions, label: &str) -> Result<Vec<String>> {
    let call = ["get", "nodes", &format!("--selector={label}"), "--output=name"];
    let text = Kubectl::new(&options.kubectl, options.namespace.as_deref()).output(&call)?;
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("node/"));
    let names: Vec<String> = names.filter(|name| is_name(name)).map(str::to_owned).collect();
    match names.is_empty() {
        false => Ok(names),
        true => Err(Error::input(
            "no-node-with-label",
            format!("no node has the label \"{}\"", escape(label, 80)),
        )
        .help("kubectl get nodes --show-labels lists them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::kubernetes_plan as plan;

    #[test]
    fn a_node_that_others_can_use_meanwhile_is_refused() {
        let plan = plan("");
        let node = |name: &str, has: &str| {
            format!(
                "{{\"metadata\":{{\"name\":\"{name}\"}},\"status\":{{\"allocatable\":{{{has}}}}}}}"
            )
        };
        let check = |has: [&str; 4]| {
            let nodes: Vec<String> = has
                .iter()
                .enumerate()
                .map(|(at, has)| node(&format!("n{}", at + 1), has))
                .collect();
            let text = format!("{{\"items\":[{}]}}", nodes.join(","));
            exclusive(&plan, &serde_json::from_str(&text).unwrap())
        };
        let one = "\"zc/host\":\"1\"";
        check([one; 4]).unwrap();
        let error = check([one, "\"cpu\":\"8\"", one, "\"zc/host\":\"2\""]).unwrap_err();
        assert_eq!(error.id, "nodes-not-exclusive");
        assert!(error.message.contains("n2 has 0") && error.message.contains("2 nodes"), "{error}");
        assert!(error.help.unwrap().contains("kubectl patch node n2 "));
        let missing = exclusive(&plan, &Nodes { items: Vec::new() }).unwrap_err();
        assert_eq!(missing.id, "no-such-node");
    }
}
