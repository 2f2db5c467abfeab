//! The manifests of a fleet: a list of two Jobs for each measurement, and what all of them use.
//! They are JSON, which kubectl takes as well as YAML.

use serde_json::{Map, Value, json};

use super::names::{Names, words};
use crate::kubernetes_options::{MEASUREMENT, toleration};
use crate::plan::{Cell, FleetPlan};

const SECOND_NS: u64 = 1_000_000_000;

/// Folders in containers of the token, and of the plans that are files.
const TOKEN: &str = "/etc/zc";
const PLANS: &str = "/etc/zc-plans";

/// Objects that all measurements share: the service by which the end that sends finds the other
/// one, the token, and the plans that are files, by the names of their plans.
pub(super) fn shared_objects(plan: &FleetPlan, token: &str, plans: &[(String, String)]) -> Value {
    let names = Names::for_plan(plan);
    let metadata = json!({ "name": names.fleet, "labels": { words::FLEET: names.fleet } });
    let mut items = vec![
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "clusterIP": "None",
                "selector": { words::FLEET: names.fleet, words::END: words::FAR },
                // Names are there before anybody listens: the end that sends tries until somebody
                // does.
                "publishNotReadyAddresses": true,
                "ports": [{ "name": "control", "port": plan.kubernetes.port }],
            },
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": { "token": token },
        }),
    ];
    if !plans.is_empty() {
        let data: Map<String, Value> =
            plans.iter().map(|(name, text)| (file_name(name), text.as_str().into())).collect();
        items.push(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": data,
        }));
    }
    list(items)
}

/// The two ends of a measurement. The one that receives comes first, so that it is there sooner.
pub(super) fn cell_jobs(plan: &FleetPlan, number: usize, cell: &Cell) -> Value {
    let names = Names::for_plan(plan);
    let [near, far] = plan.ends(cell);
    let options = &plan.kubernetes;
    let planned = &plan.plans[cell.plan];
    let serve = ["serve", "--listen", &format!("0.0.0.0:{}", options.port), "--once"]
        .map(str::to_owned)
        .to_vec();
    let mut run = vec!["run".to_owned()];
    if planned.file.is_some() {
        run.extend(["--plan".to_owned(), format!("{PLANS}/{}", file_name(&planned.name))]);
    }
    run.extend(planned.words.iter().cloned());
    let remote = format!("{}.{}:{}", names.host(number), names.fleet, options.port);
    run.extend(["--remote".to_owned(), remote]);
    run.extend(["--wait-for-remote", &options.wait, "--out", "-"].map(str::to_owned));
    let end = |end, node, args| End { plan, names: &names, number, cell, end, node, args };
    list(vec![end(words::FAR, far, serve).job(), end(words::NEAR, near, run).job()])
}

fn list(items: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn file_name(plan: &str) -> String {
    format!("{plan}.toml")
}

/// An end of a measurement.
struct End<'a> {
    plan: &'a FleetPlan,
    names: &'a Names,
    number: usize,
    cell: &'a Cell,
    end: &'static str,
    node: &'a str,
    args: Vec<String>,
}

impl End<'_> {
    fn job(self) -> Value {
        let name = self.names.job(self.number, self.end);
        let labels = self.labels();
        let annotations = self.annotations();
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "labels": labels, "annotations": annotations },
            "spec": {
                // A measurement that failed is submitted anew, both ends of it.
                "backoffLimit": 0,
                "template": {
                    "metadata": { "labels": labels, "annotations": annotations },
                    "spec": self.pod(),
                },
            },
        })
    }

    fn labels(&self) -> Map<String, Value> {
        let more = self.plan.kubernetes.labels.iter();
        let own = [
            (words::FLEET, self.names.fleet.clone()),
            (words::CELL, Names::padded(self.number)),
            (words::END, self.end.to_owned()),
        ];
        let own = own.map(|(key, value)| (key.to_owned(), value.into()));
        more.map(|(key, value)| (key.clone(), self.filled(value))).chain(own).collect()
    }

    fn annotations(&self) -> Map<String, Value> {
        let more = self.plan.kubernetes.annotations.iter();
        let own = (words::MEASUREMENT.to_owned(), self.cell.id.clone().into());
        more.map(|(key, value)| (key.clone(), self.filled(value))).chain([own]).collect()
    }

    fn filled(&self, value: &str) -> Value {
        value.replace(MEASUREMENT, &self.names.measurement(self.number)).into()
    }

    fn pod(self) -> Value {
        let FleetPlan { kubernetes: options, zc, .. } = self.plan;
        let planned = &self.plan.plans[self.cell.plan];
        let has_plan = self.end == words::NEAR && planned.file.is_some();
        let most_ns = options.wait_ns() + planned.most_ns();
        let mut spec = json!({
            "restartPolicy": "Never",
            // The deadline is the pod's and not its Job's: it counts from the start of the pod,
            // and the pod stays, with its log.
            "activeDeadlineSeconds": most_ns.div_ceil(SECOND_NS),
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // The node's own card: any other network of pods would be measured with it.
            "hostNetwork": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "nodeSelector": { "kubernetes.io/hostname": self.node },
            "containers": [self.container(has_plan)],
            "volumes": [{
                "name": "token",
                "secret": { "secretName": self.names.fleet, "defaultMode": 0o400 },
            }],
        });
        let mut set = |key: &str, value: Value| spec[key] = value;
        if self.end == words::FAR {
            set("hostname", self.names.host(self.number).into());
            set("subdomain", self.names.fleet.clone().into());
        }
        if let Some(scheduler) = &options.scheduler {
            set("schedulerName", scheduler.clone().into());
        }
        let tolerations: Vec<Value> = options
            .tolerations
            .iter()
            .filter_map(|text| {
                let taint = toleration(text)?;
                Some(match taint.value {
                    Some(value) => json!({
                        "key": taint.key,
                        "operator": "Equal",
                        "value": value,
                        "effect": taint.effect,
                    }),
                    None => {
                        json!({ "key": taint.key, "operator": "Exists", "effect": taint.effect })
                    }
                })
            })
            .collect();
        if !tolerations.is_empty() {
            set("tolerations", tolerations.into());
        }
        let mut add =
            |list: &str, value: Value| spec[list].as_array_mut().map(|all| all.push(value));
        if has_plan {
            add("volumes", json!({ "name": "plans", "configMap": { "name": self.names.fleet } }));
        }
        if zc != "zc" {
            spec["containers"][0]["command"] = zc.split_whitespace().collect();
        }
        spec
    }

    fn container(&self, has_plan: bool) -> Value {
        let options = &self.plan.kubernetes;
        let token = format!("{TOKEN}/token");
        let args = self.args.iter().cloned().chain(["--token-file".to_owned(), token]);
        let mut mounts = vec![json!({ "name": "token", "mountPath": TOKEN, "readOnly": true })];
        if has_plan {
            mounts.push(json!({ "name": "plans", "mountPath": PLANS, "readOnly": true }));
        }
        // The token is root's, and zc gives up what root may do before it reads what another wrote.
        let security = match options.privileged {
            true => json!({ "runAsUser": 0, "privileged": true }),
            false => json!({
                "runAsUser": 0,
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
                "seccompProfile": { "type": "RuntimeDefault" },
            }),
        };
        let mut limits: Map<String, Value> =
            options.limits.iter().map(|(name, much)| (name.clone(), much.clone().into())).collect();
        if !self.plan.shared {
            limits.insert(options.resource.clone(), "1".into());
        }
        let mut container = json!({
            "name": "zc",
            "image": options.image,
            "args": args.collect::<Vec<_>>(),
            "securityContext": security,
            "volumeMounts": mounts,
        });
        if !limits.is_empty() {
            container["resources"] = json!({ "requests": limits, "limits": limits });
        }
        if self.end == words::FAR {
            // No two of a node have the same port, whatever they are.
            container["ports"] = json!([{
                "name": "control",
                "containerPort": options.port,
                "hostPort": options.port,
            }]);
        }
        container
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::kubernetes_plan as plan;

    #[test]
    fn the_manifests_of_a_fleet_and_of_a_measurement() {
        let plan = plan("");
        let shown = |value: &Value| format!("{value:#}\n");
        insta::assert_snapshot!(shown(&shared_objects(
            &plan,
            "abcdefghjkmnpqrstvwxyz0123456789",
            &[]
        )));
        insta::assert_snapshot!(shown(&cell_jobs(&plan, 0, plan.cells().next().unwrap())));
    }

    #[test]
    fn all_options_are_in_the_manifests() {
        let mut plan = plan(
            "namespace = \"bench\"\nscheduler = \"gangs\"\nprivileged = false\nport = 3000\n\
             wait = \"1h\"\nlabels = { group = \"{measurement}\" }\n\
             annotations = { \"a/b\" = \"of {measurement}\" }\n\
             tolerations = [\"dedicated=bench:NoSchedule\", \"a/b:NoExecute\"]\n\
             limits = { memory = \"2Gi\" }\n",
        );
        plan.plans[0].file = Some("plans/paths.toml".to_owned());
        plan.zc = "/opt/zc --quiet".to_owned();
        insta::assert_snapshot!(format!(
            "{:#}\n",
            cell_jobs(&plan, 0, plan.cells().next().unwrap())
        ));
        let plans = [("paths".to_owned(), "title = \"it's\"\n".to_owned())];
        let fleet = shared_objects(&plan, "x", &plans);
        assert_eq!(fleet["items"][2]["data"]["paths.toml"], "title = \"it's\"\n");
        plan.shared = true;
        let shared = cell_jobs(&plan, 0, plan.cells().next().unwrap());
        let container = &shared["items"][0]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"], json!({ "memory": "2Gi" }));
    }
}
