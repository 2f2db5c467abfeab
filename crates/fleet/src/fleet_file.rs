//! The file that describes a fleet: its hosts, the pairs of them that measure, and their plans.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as NoName, StrDeserializer};
use serde::{Deserialize, Serialize};
use zc_run::{Error, Result, escape, units};

use crate::host_list::{expand, is_name};
use crate::kubernetes_options::KubernetesOptions;
use crate::one_line;
use crate::programs::Programs;

/// A fleet as its file describes it, with the values that are checked by their types.
/// [`FleetFile::parse`] checks the others.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetFile {
    /// Its name, which is in names of jobs and files.
    pub name: String,
    /// Engine that runs the measurements.
    #[serde(default)]
    pub engine: Engine,
    /// The command zc on the hosts.
    #[serde(default = "zc")]
    pub zc: String,
    /// Seed of the random order; drawn where it is missing.
    pub seed: Option<u64>,
    /// Whether other jobs may use the hosts meanwhile. Figures are then doubtful, and the report
    /// says so.
    #[serde(default)]
    pub shared: bool,
    /// Features and facts of hosts that a report groups by; all features and the kernel where it is
    /// missing.
    pub by: Option<Vec<String>>,
    /// The hosts.
    pub hosts: Vec<HostEntry>,
    /// Choice of the pairs that measure.
    #[serde(default)]
    pub pairs: PairChoice,
    /// The plans that they measure.
    pub plans: Vec<PlanEntry>,
    /// Options of jobs for Slurm.
    #[serde(default)]
    pub slurm: SlurmOptions,
    /// Options of ssh.
    #[serde(default)]
    pub ssh: SshOptions,
    /// Options of pods.
    #[serde(default)]
    pub kubernetes: KubernetesOptions,
}

/// Engine that runs the measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Jobs of two nodes, which nobody else shares.
    #[default]
    Slurm,
    /// One pair after the other, from here.
    Ssh,
    /// Two Jobs for each measurement, pinned to their nodes.
    Kubernetes,
}

impl Engine {
    /// All names, in the order of the type.
    pub const NAMES: [&str; 3] = ["slurm", "ssh", "kubernetes"];

    /// The engine with a name, as in a file.
    pub fn from_name(name: &str) -> Option<Self> {
        let name: StrDeserializer<'_, NoName> = name.into_deserializer();
        Self::deserialize(name).ok()
    }
}

/// Hosts that have something in common.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// Their names: `n[1-4,7]`.
    pub names: Option<String>,
    /// Or all nodes of Slurm with this feature, or of Kubernetes with this label: `key=value`.
    pub with_feature: Option<String>,
    /// Their features: `generation = "rome"`, `card = "cx6"`.
    #[serde(default)]
    pub features: BTreeMap<String, String>,
    /// Resources that only one pair may use at a time: a wire, a switch.
    #[serde(default)]
    pub wires: Vec<String>,
    /// The physical machine that they are guests of: only one pair may use it at a time.
    pub machine: Option<String>,
}

/// Choice of the pairs that measure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairChoice {
    /// The design.
    #[serde(default)]
    pub choose: Choose,
    /// With `partners`: how many each host has.
    pub partners: Option<usize>,
    /// Only pairs whose hosts have the same value of this feature: `rack`.
    pub within: Option<String>,
    /// With `reference`: the host that all others are paired with.
    pub reference: Option<String>,
    /// Whether each pair is measured in both directions, each sending once.
    #[serde(default)]
    pub directions: Directions,
}

/// A design of pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// Every pair of hosts.
    All,
    /// Each host with the same number of others.
    #[default]
    Partners,
    /// Each host with the one that is the reference.
    Reference,
}

/// The directions in which a pair is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// Each host sends to the other.
    #[default]
    Both,
    /// One of them sends, drawn by lot so that each host sends about as often as it receives.
    One,
}

/// A plan to measure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanEntry {
    /// Its name, which is in names of files.
    pub name: String,
    /// A plan of `zc run`, or a file with one; `name` where it is missing.
    pub plan: Option<String>,
    /// More options of `zc run`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Duration of each run: `60s`.
    pub budget: String,
    /// Number of measurements of each direction of each pair.
    #[serde(default = "one")]
    pub repeats: usize,
}

/// Options of jobs for Slurm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlurmOptions {
    /// The partition; Slurm's own default where it is missing.
    pub partition: Option<String>,
    /// Jobs that cannot end within this time from submission are removed: `8h`.
    pub deadline: Option<String>,
    /// More options of sbatch, each as one word: `--account=bench`.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Options of ssh.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SshOptions {
    /// The command, split at spaces, before the name of the host. It is used from here to the host
    /// that sends, and from that to the one that receives.
    pub command: String,
}

impl Default for SshOptions {
    fn default() -> Self {
        Self { command: Programs::default().ssh }
    }
}

/// A host as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its features.
    pub features: BTreeMap<String, String>,
    /// Resources that only one pair may use at a time: wires, and the machine that it is a guest
    /// of.
    pub wires: BTreeSet<String>,
}

/// The most repeats of a plan.
const MOST_REPEATS: usize = 1000;

fn zc() -> String {
    "zc".to_owned()
}

fn one() -> usize {
    1
}

impl FleetFile {
    /// Parses a file, and checks what does not depend on other files or on a scheduler. `engine` is
    /// in place of the file's own.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it is not TOML, or has an unknown key or an invalid
    /// value. The message has the line, or names the key.
    pub fn parse(text: &str, name: &str, engine: Option<Engine>) -> Result<Self> {
        let wrong = |what: String| {
            Error::input("cannot-read-fleet", format!("cannot read the fleet \"{name}\": {what}"))
                .help("docs/fleet.md describes the file, with an example")
        };
        let mut file: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text.get(..span.start).unwrap_or_default().matches('\n').count() + 1
            });
            wrong(format!("line {line}: {}", escape(error.message(), 200)))
        })?;
        // Whatever fields there are: each may become a part of a script.
        let document = toml::from_str(text).unwrap_or_default();
        one_line::check(&document).map_err(wrong)?;
        file.engine = engine.unwrap_or(file.engine);
        file.check().map_err(wrong)?;
        Ok(file)
    }

    /// The programs that it names.
    pub fn programs(&self) -> Programs {
        let (ssh, kubectl) = (&self.ssh.command, &self.kubernetes.kubectl);
        Programs { ssh: ssh.clone(), kubectl: kubectl.clone() }
    }

    fn check(&self) -> std::result::Result<(), String> {
        if !is_label(&self.name) {
            return Err(format!("name: {LABEL}"));
        }
        if self.hosts.is_empty() || self.plans.is_empty() {
            return Err("it has no [[hosts]], or no [[plans]]".to_owned());
        }
        for entry in &self.hosts {
            if entry.names.is_some() == entry.with_feature.is_some() {
                return Err(
                    "[[hosts]]: either names or with_feature says which they are".to_owned()
                );
            }
            let wires = entry.wires.iter().chain(&entry.machine);
            if let Some(wire) = wires.into_iter().find(|wire| !is_label(wire)) {
                return Err(format!("wires, machine: \"{}\": {LABEL}", escape(wire, 40)));
            }
        }
        let mut names = BTreeSet::new();
        for plan in &self.plans {
            let in_plan = |what: &str| format!("[[plans]] {}: {what}", escape(&plan.name, 40));
            if !is_label(&plan.name) {
                return Err(in_plan(&format!("name: {LABEL}")));
            }
            if !names.insert(&plan.name) {
                return Err(in_plan("two have this name"));
            }
            if !(1..=MOST_REPEATS).contains(&plan.repeats) {
                return Err(in_plan("repeats: 1 to 1000"));
            }
            plan.budget_ns().map_err(|error| in_plan(&format!("budget: {}", error.message)))?;
            let is_ours = |option: &&String| {
                let name = option.split('=').next().unwrap_or_default();
                OURS.contains(&name)
            };
            if let Some(option) = plan.options.iter().find(is_ours) {
                return Err(in_plan(&format!("options: {option} is set by zc fleet itself")));
            }
        }
        if let Some(deadline) = &self.slurm.deadline {
            units::duration(deadline, DEADLINE_NS)
                .map_err(|error| format!("[slurm] deadline: {}", error.message))?;
        }
        if self.zc.split_whitespace().next().is_none() {
            return Err("zc: it is empty".to_owned());
        }
        if self.ssh.command.split_whitespace().next().is_none() {
            return Err("[ssh] command: it is empty".to_owned());
        }
        if self.engine == Engine::Kubernetes {
            self.kubernetes.check(self.shared)?;
        }
        self.pairs.check()
    }

    /// The hosts, in the order of the file. `with_feature` lists the nodes that have a feature.
    ///
    /// # Errors
    /// A list is invalid, a host is in two entries, or there are fewer than two; those of
    /// `with_feature`.
    pub fn hosts(&self, with_feature: impl Fn(&str) -> Result<Vec<String>>) -> Result<Vec<Host>> {
        let mut hosts = Vec::new();
        let mut seen = BTreeSet::new();
        for entry in &self.hosts {
            let names = match (&entry.names, &entry.with_feature) {
                (Some(names), _) => expand(names)?,
                (None, Some(feature)) => with_feature(feature)?,
                (None, None) => Vec::new(),
            };
            for name in names {
                if !is_name(&name) {
                    let message = format!("\"{}\" is no name of a host", escape(&name, 60));
                    return Err(Error::input("invalid-host-name", message)
                        .help("letters, digits, dots, - and _"));
                }
                if !seen.insert(name.clone()) {
                    return Err(Error::input(
                        "duplicate-host",
                        format!("host \"{name}\" is there twice"),
                    )
                    .help("each host is in one [[hosts]] entry"));
                }
                let wires = entry.wires.iter().chain(&entry.machine).cloned().collect();
                hosts.push(Host { name, features: entry.features.clone(), wires });
            }
        }
        match hosts.len() {
            0 | 1 => Err(Error::input("too-few-hosts", "a fleet has at least two hosts")
                .help("one sends and one receives: list them under [[hosts]]")),
            _ => Ok(hosts),
        }
    }

    /// Facts that a report groups by: those of the file, else all features and the kernel.
    pub fn grouped_by(&self, hosts: &[Host]) -> Vec<String> {
        self.by.clone().unwrap_or_else(|| {
            let features: BTreeSet<&String> =
                hosts.iter().flat_map(|host| host.features.keys()).collect();
            features.into_iter().cloned().chain(["kernel".to_owned()]).collect()
        })
    }
}

/// Options of `zc run` that zc fleet sets itself.
const OURS: [&str; 9] = [
    "--out",
    "--via",
    "--remote",
    "--wait-for-remote",
    "--budget",
    "--token",
    "--token-file",
    "--plan",
    "--json",
];

/// The bounds of a run's budget, and of a deadline.
const BUDGET_NS: std::ops::RangeInclusive<u64> = 1_000_000_000..=86_400_000_000_000;
const DEADLINE_NS: std::ops::RangeInclusive<u64> = 60_000_000_000..=2_592_000_000_000_000;

impl PlanEntry {
    /// The budget of a run in ns.
    ///
    /// # Errors
    /// It is no duration, or not between a second and a day.
    pub fn budget_ns(&self) -> Result<u64> {
        units::duration(&self.budget, BUDGET_NS)
    }
}

impl SlurmOptions {
    /// The deadline in seconds from now.
    pub(super) fn deadline_s(&self) -> Option<u64> {
        let deadline = self.deadline.as_deref()?;
        units::duration(deadline, DEADLINE_NS).ok().map(|ns| ns / 1_000_000_000)
    }
}

impl PairChoice {
    fn check(&self) -> std::result::Result<(), String> {
        match self.choose {
            Choose::Reference if self.reference.is_none() => {
                Err("[pairs] reference: which host it is".to_owned())
            }
            Choose::All | Choose::Partners if self.reference.is_some() => {
                Err("[pairs] reference: only with choose = \"reference\"".to_owned())
            }
            Choose::All | Choose::Reference if self.partners.is_some() => {
                Err("[pairs] partners: only with choose = \"partners\"".to_owned())
            }
            _ if self.partners == Some(0) => Err("[pairs] partners: at least 1".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The requirement of [`is_label`], for messages.
const LABEL: &str = "letters, digits, - and _ only, at most 40 of them";

/// Whether a text may be a part of names of jobs, licences and files.
pub(super) fn is_label(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=40).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "name = \"f\"\n[[hosts]]\nnames = \"n[1-2]\"\n\
                         [[plans]]\nname = \"paths\"\nbudget = \"8s\"\n";

    #[test]
    fn the_least_that_a_file_has_is_a_name_hosts_and_a_plan() {
        let file = FleetFile::parse(LEAST, "f.toml", None).unwrap();
        assert_eq!(file.engine, Engine::Slurm);
        let hosts = file.hosts(|_| unreachable!()).unwrap();
        assert_eq!(hosts.iter().map(|host| &host.name).collect::<Vec<_>>(), ["n1", "n2"]);
        assert_eq!(file.grouped_by(&hosts), ["kernel"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_or_its_key() {
        let with = |more: &str| format!("{LEAST}{more}");
        let texts = [
            "nam = 1".to_owned(),
            with("colour = \"red\"\n"),
            LEAST.replace("\"f\"", "\"a b\""),
            LEAST.replace("8s", "8"),
            with("options = [\"--out=x\"]\n"),
            with("repeats = 0\n"),
            with("[pairs]\nchoose = \"reference\"\n"),
            with("[pairs]\npartners = 0\n"),
            with("[slurm]\ndeadline = \"1s\"\n"),
            with("[[hosts]]\nnames = \"m\"\nwires = [\"a b\"]\n"),
            format!("engine = \"kubernetes\"\n{LEAST}"),
        ];
        let said = texts.map(|text| FleetFile::parse(&text, "f.toml", None).unwrap_err().message);
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn a_host_that_is_there_twice_is_refused() {
        let twice = format!("{LEAST}[[hosts]]\nnames = \"n2\"\n");
        let file = FleetFile::parse(&twice, "f.toml", None).unwrap();
        let error = file.hosts(|_| unreachable!()).unwrap_err();
        assert_eq!(error.id, "duplicate-host");
        let one = LEAST.replace("n[1-2]", "n1");
        assert!(FleetFile::parse(&one, "f.toml", None).unwrap().hosts(|_| unreachable!()).is_err());
    }
}
