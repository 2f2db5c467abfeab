//! The plan of a fleet: every measurement that is to be made, in its order. It is what a folder is
//! about and is read from it again by each command.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use zc_run::{Error, Result};

use crate::fleet_file::{Directions, Engine, FleetFile, Host, PlanEntry, SlurmOptions, is_label};
use crate::kubernetes_options::KubernetesOptions;
use crate::one_line;
use crate::pairs;
use crate::programs::{NamedBy, Programs};

/// The version of the plan's format.
pub const FORMAT: u32 = 2; // since 2 it names no programs

/// The most measurements of a fleet.
const MOST_CELLS: usize = 1_000_000;

/// The whole plan, as it is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// [`FORMAT`] of the zc that planned it.
    pub zc_fleet: u32,
    /// The version of that zc.
    pub zc_version: String,
    /// The fleet's name.
    pub name: String,
    /// The name of all its jobs, which no other folder's have: the fleet's, and a number that is
    /// drawn.
    pub job_name: String,
    /// Seed of the random order.
    pub seed: u64,
    /// Engine that runs it.
    pub engine: Engine,
    /// The command zc on the hosts.
    pub zc: String,
    /// Whether other jobs may use the hosts.
    pub shared: bool,
    /// Facts that a report groups by.
    pub by: Vec<String>,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The plans that are measured.
    pub plans: Vec<Planned>,
    /// The pairs, in the order in which they are submitted.
    pub pairs: Vec<PairJob>,
    /// Options of jobs for Slurm.
    pub slurm: SlurmOptions,
    /// The fleet's file, where it names programs.
    pub programs_by: Option<NamedBy>,
    /// The programs that are used here. They are no part of what is saved.
    #[serde(skip)]
    pub programs: Programs,
    /// Options of pods.
    #[serde(default)]
    pub kubernetes: KubernetesOptions,
}

/// The part that is read of a plan of any format.
#[derive(Debug, Deserialize)]
struct Format {
    zc_fleet: u32,
}

/// The table, as it is saved.
fn without_kubectl(options: KubernetesOptions) -> KubernetesOptions {
    KubernetesOptions { kubectl: Programs::default().kubectl, ..options }
}

/// Path in the folder of a plan of the user's own.
pub fn file_of_plan(name: &str) -> String {
    format!("plans/{name}.toml")
}

/// A plan that is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// The words after `zc run`, budget included, without the options that name its file and the
    /// other host. A plan that is a file is named by its path in the folder.
    pub words: Vec<String>,
    /// The file with its plan, relative to the folder; `None` for a built-in one.
    pub file: Option<String>,
    /// The budget of a run in ns.
    pub budget_ns: u64,
}

/// Two hosts, and all that they measure together: one job, an array with a task for each cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairJob {
    /// The cells, in the order in which they are measured.
    pub cells: Vec<Cell>,
}

/// One measurement: a plan by a pair of hosts in a direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its name, in that of its files: `00042-n1-n2-paths-1`.
    pub id: String,
    /// Index of the host that sends.
    pub near: usize,
    /// Index of the host that receives.
    pub far: usize,
    /// Index of the plan.
    pub plan: usize,
}

/// Time that a run takes beyond its budget: both ends are started, paths proven and probed, and the
/// last block finished.
const BEYOND_BUDGET_NS: u64 = 180_000_000_000;

impl Planned {
    /// The time in ns after which a run is ended: twice its budget, and what is beyond that.
    pub(super) fn most_ns(&self) -> u64 {
        2 * self.budget_ns + BEYOND_BUDGET_NS
    }
}

impl FleetPlan {
    /// Draws the pairs and the order. `plans` are the words after `zc run` and the file of each
    /// plan of the file, in its order; `draw` is a number of this plan's own, and the seed where
    /// the file has none.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): there is no pair, or there are too many
    /// measurements.
    pub fn draw(
        file: &FleetFile,
        hosts: Vec<Host>,
        plans: Vec<Planned>,
        draw: u64,
    ) -> Result<Self> {
        let seed = file.seed.unwrap_or(draw);
        let mut random = Pcg64::seed_from_u64(seed);
        let chosen = pairs::pairs(&file.pairs, &hosts, &mut random)?;
        let directions = match file.pairs.directions {
            Directions::Both => 2,
            Directions::One => 1,
        };
        let repeats: usize = file.plans.iter().map(|plan| plan.repeats).sum();
        let all = chosen.len().saturating_mul(directions).saturating_mul(repeats);
        if all > MOST_CELLS {
            return Err(Error::input(
                "too-many-measurements",
                format!("that is {all} measurements"),
            )
            .help("fewer partners, plans or repeats: at most 1,000,000"));
        }
        let mut number = 0;
        let pairs = chosen.into_iter().map(|pair| {
            let mut cells = Vec::new();
            for (plan, entry) in file.plans.iter().enumerate() {
                for repeat in 1..=entry.repeats {
                    // In one direction the pair's own order, which is drawn already.
                    for [near, far] in [pair, [pair[1], pair[0]]].into_iter().take(directions) {
                        let words = format!(
                            "{}-{}-{}-{repeat}",
                            hosts[near].name, hosts[far].name, entry.name
                        );
                        cells.push(Cell { id: words, near, far, plan });
                    }
                }
            }
            cells.shuffle(&mut random);
            for cell in &mut cells {
                cell.id = format!("{number:05}-{}", cell.id.replace(':', "_"));
                number += 1;
            }
            PairJob { cells }
        });
        Ok(Self {
            zc_fleet: FORMAT,
            zc_version: env!("CARGO_PKG_VERSION").to_owned(),
            // Two folders of one file have jobs of their own.
            job_name: format!("zc-{}-{:08x}", file.name, draw as u32 ^ (draw >> 32) as u32),
            name: file.name.clone(),
            seed,
            engine: file.engine,
            zc: file.zc.clone(),
            shared: file.shared,
            by: file.grouped_by(&hosts),
            pairs: pairs.collect(),
            hosts,
            plans,
            slurm: file.slurm.clone(),
            programs_by: None,
            programs: file.programs(),
            kubernetes: without_kubectl(file.kubernetes.clone()),
        })
    }

    /// Reads a saved plan. Whatever becomes words of commands and names of files is checked again:
    /// anyone may have written it.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it is not a plan, is of another format, or has an
    /// invalid name or index.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::input("invalid-fleet-plan", format!("the plan of the fleet {what}"))
        };
        let cannot = |error: &serde_json::Error| {
            wrong(format!("cannot be read: line {}: {error}", error.line()))
        };
        // Only the version of another format can be read.
        let format: Format = serde_json::from_str(text).map_err(|error| cannot(&error))?;
        if format.zc_fleet != FORMAT {
            let message = format!("is of format {}, and this zc knows {FORMAT}", format.zc_fleet);
            return Err(wrong(message).help("use the zc that made the folder"));
        }
        let mut plan: Self = serde_json::from_str(text).map_err(|error| cannot(&error))?;
        plan.kubernetes = without_kubectl(plan.kubernetes);
        let is_host = |host: &Host| {
            crate::host_list::is_name(&host.name) && host.wires.iter().all(|wire| is_label(wire))
        };
        let is_own = |planned: &Planned| {
            let own = file_of_plan(&planned.name);
            planned.file.as_ref().is_none_or(|file| *file == own)
        };
        let is_cell = |cell: &Cell| {
            crate::host_list::is_name(&cell.id.replace('_', "-"))
                && cell.near < plan.hosts.len()
                && cell.far < plan.hosts.len()
                && cell.plan < plan.plans.len()
        };
        let mut ids = BTreeSet::new();
        let labels = plan.plans.iter().map(|planned| &planned.name).chain([&plan.name]);
        let has_all = labels.into_iter().all(|name| is_label(name))
            && plan.has_own_job_name()
            && plan.hosts.iter().all(is_host)
            && plan.plans.iter().all(is_own)
            && plan.cells().all(|cell| is_cell(cell) && ids.insert(&cell.id))
            && plan.pairs.iter().all(|pair| !pair.cells.is_empty())
            && (plan.engine != Engine::Kubernetes || plan.kubernetes.check(plan.shared).is_ok());
        // The cells have only names, which were checked before.
        let texts = serde_json::to_value(Self { pairs: Vec::new(), ..plan.clone() });
        let texts = texts.map_err(|error| cannot(&error))?;
        one_line::check(&texts).map_err(wrong)?;
        match has_all {
            true => Ok(plan),
            false => Err(wrong("has names or indices that are none".to_owned())
                .help("zc fleet plan makes it; nobody edits it")),
        }
    }

    /// Whether its jobs are called as [`FleetPlan::draw`] calls them: jobs of that name are
    /// cancelled.
    fn has_own_job_name(&self) -> bool {
        let drawn = self.job_name.strip_prefix(&format!("zc-{}-", self.name));
        drawn.is_some_and(|drawn| {
            drawn.len() == 8 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }

    /// All measurements, in their order.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.pairs.iter().flat_map(|pair| &pair.cells)
    }

    /// Name of the host that sends, and of the one that receives.
    pub fn ends(&self, cell: &Cell) -> [&str; 2] {
        [cell.near, cell.far].map(|host| self.hosts[host].name.as_str())
    }

    /// Names of both hosts of a pair.
    pub(super) fn hosts_of(&self, pair: &PairJob) -> [&str; 2] {
        pair.cells.first().map_or(["", ""], |cell| self.ends(cell))
    }

    /// Resources of both hosts of a pair that only one pair may use at a time.
    pub(super) fn wires_of(&self, pair: &PairJob) -> BTreeSet<&str> {
        pair.cells.first().map(|cell| self.wires(cell)).unwrap_or_default()
    }

    /// Resources of both ends that only one measurement may use at a time.
    pub(super) fn wires(&self, cell: &Cell) -> BTreeSet<&str> {
        let hosts = [cell.near, cell.far].into_iter();
        hosts.flat_map(|host| &self.hosts[host].wires).map(String::as_str).collect()
    }
}

impl Planned {
    /// The plan of an entry: a built-in one, or a file that is `copied` into the folder.
    ///
    /// # Errors
    /// The budget is invalid.
    pub fn from_entry(entry: &PlanEntry, copied: Option<String>) -> Result<Self> {
        let mut words = Vec::new();
        if copied.is_none() {
            words.push(entry.plan.clone().unwrap_or_else(|| entry.name.clone()));
        }
        words.extend(entry.options.iter().cloned());
        words.extend(["--budget".to_owned(), entry.budget.clone()]);
        Ok(Self { name: entry.name.clone(), words, file: copied, budget_ns: entry.budget_ns()? })
    }
}

/// A seed that nobody has chosen, short enough to be typed.
pub fn drawn_seed() -> u64 {
    // The standard library seeds its hash tables with random numbers.
    RandomState::new().hash_one(()) & u64::from(u32::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A plan of four hosts of two generations, two of them at one wire.
    pub(crate) fn four_hosts(more: &str) -> FleetPlan {
        let text = format!(
            "name = \"nightly\"\nseed = 7\n{more}\n\
             [[hosts]]\nnames = \"n[1-2]\"\nfeatures = {{ generation = \"gen1\" }}\n\
             wires = [\"sw1\"]\n\
             [[hosts]]\nnames = \"n[3-4]\"\nfeatures = {{ generation = \"gen2\" }}\n\
             [[plans]]\nname = \"paths\"\noptions = [\"--paths\", \"sendfile\"]\nbudget = \"8s\"\n"
        );
        let file = FleetFile::parse(&text, "fleet.toml", None).unwrap();
        let hosts = file.hosts(|_| unreachable!()).unwrap();
        let plans =
            file.plans.iter().map(|plan| Planned::from_entry(plan, None).unwrap()).collect();
        FleetPlan::draw(&file, hosts, plans, 1).unwrap()
    }

    /// A plan of four hosts, two of them at one wire, with more lines of `[kubernetes]`.
    pub(crate) fn kubernetes_plan(more: &str) -> FleetPlan {
        let text = format!(
            "name = \"nightly\"\nengine = \"kubernetes\"\nseed = 7\n\
             [kubernetes]\nimage = \"registry.example/zc:0.2.0\"\nresource = \"zc/host\"\n{more}\
             [[hosts]]\nnames = \"n[1-2]\"\nwires = [\"sw1\"]\n\
             [[hosts]]\nnames = \"n[3-4]\"\n\
             [[plans]]\nname = \"paths\"\noptions = [\"--paths\", \"sendfile\"]\nbudget = \"8s\"\n"
        );
        let file = FleetFile::parse(&text, "fleet.toml", None).unwrap();
        let hosts = file.hosts(|_| unreachable!()).unwrap();
        let plans =
            file.plans.iter().map(|plan| Planned::from_entry(plan, None).unwrap()).collect();
        FleetPlan::draw(&file, hosts, plans, 1).unwrap()
    }

    #[test]
    fn each_pair_measures_each_plan_in_both_directions() {
        let plan = four_hosts("");
        assert_eq!(plan.pairs.len(), 6, "four hosts have at most three partners each");
        for pair in &plan.pairs {
            let [one, other] = [&pair.cells[0], &pair.cells[1]];
            assert_eq!((one.near, one.far), (other.far, other.near));
            assert_eq!(pair.cells.len(), 2);
        }
        assert_eq!(plan.by, ["generation", "kernel"]);
        assert_eq!(plan.job_name, "zc-nightly-00000001");
        let ids: BTreeSet<&String> = plan.cells().map(|cell| &cell.id).collect();
        assert_eq!(ids.len(), 12);
    }

    #[test]
    fn a_saved_plan_names_no_programs() {
        let plan = kubernetes_plan("kubectl = \"k3s kubectl\"\n");
        assert_eq!(plan.programs.kubectl, "k3s kubectl");
        let mut saved = serde_json::to_value(&plan).unwrap();
        assert!(!saved.to_string().contains("k3s") && !saved.to_string().contains("ssh"));
        saved["kubernetes"]["kubectl"] = "/tmp/x".into();
        saved["ssh"] = serde_json::json!({ "command": "/tmp/x" });
        saved["programs"] = serde_json::json!({ "ssh": "/tmp/x", "kubectl": "/tmp/x" });
        let read = FleetPlan::parse(&saved.to_string()).unwrap();
        assert_eq!(read.programs, Programs::default());
        assert!(!format!("{read:?}").contains("/tmp/x"), "{read:?}");
    }

    #[test]
    fn a_saved_plan_is_read_again_and_a_changed_one_is_checked() {
        let plan = four_hosts("");
        let saved = serde_json::to_value(&plan).unwrap();
        assert_eq!(FleetPlan::parse(&saved.to_string()).unwrap(), plan);
        for (at, value) in [
            ("/hosts/0/name", serde_json::json!("-oProxyCommand=x")),
            ("/pairs/0/cells/0/id", serde_json::json!("../../x")),
            ("/pairs/0/cells/0/near", serde_json::json!(4)),
            ("/pairs/0/cells", serde_json::json!([])),
            ("/zc_fleet", serde_json::json!(1)),
            ("/name", serde_json::json!("../x")),
            ("/plans/0/name", serde_json::json!("a b")),
            ("/plans/0/file", serde_json::json!("/etc/shadow")),
            ("/plans/0/words/0", serde_json::json!("paths\n#SBATCH --uid=0")),
            ("/job_name", serde_json::json!("zc-nightly-00000001,other")),
            ("/hosts/0/wires", serde_json::json!(["a,b"])),
            ("/slurm/options", serde_json::json!(["a\rb"])),
            ("/zc", serde_json::json!("zc\n")),
        ] {
            let mut changed = saved.clone();
            *changed.pointer_mut(at).unwrap() = value;
            assert!(FleetPlan::parse(&changed.to_string()).is_err(), "{at}");
        }
    }
}
