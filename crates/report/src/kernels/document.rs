//! The document of `zc run --kernel`: what was booted, what came of it, and the comparison.

use schemars::JsonSchema;
use serde::Serialize;
use zc_analysis::compare::Judgement;
use zc_analysis::compare::kernels::{Arm, Kernels};

/// Output of `zc run --kernel ... --json`, and the file `kernels.json` beside the runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Output of zc run --kernel --json")]
pub struct KernelsReport {
    /// The two kernels, the one whose costs are the divisors first.
    pub kernels: [KernelFacts; 2],
    /// What they were booted on.
    pub machine: MachineFacts,
    /// Seed of the order within rounds.
    pub seed: u64,
    /// The words of `zc run` in each boot.
    pub command: Vec<String>,
    /// The folder of the runs.
    pub folder: String,
    /// The boots, in the order in which they were made.
    pub boots: Vec<BootFacts>,
    /// Whether it ended before all boots were made.
    pub interrupted: bool,
    /// How the configurations differ; `None` where one of them was not found.
    pub config: Option<Vec<ConfigOption>>,
    /// The comparison.
    pub comparison: Kernels,
    /// The result of `--fail-if-worse`; null where it was not given.
    pub judgement: Option<Judgement>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KernelFacts {
    /// Its name: `A`.
    pub name: String,
    /// What was named: a file or a folder.
    pub given: String,
    /// Its release: `6.1.0-50-amd64`.
    pub release: String,
    /// Its version: release, builder, number and date.
    pub version: String,
    /// Whether it has modules, besides what is built in.
    pub modules: bool,
}

/// What kernels are booted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum MachineFacts {
    /// Guests of this host.
    Guest(GuestFacts),
    /// Another machine, by its own firmware or by kexec.
    Machine(HostFacts),
}

/// A machine whose kernel is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// The command that reaches it: `ssh root@box`.
    pub reached_by: String,
    /// How a kernel is booted: `kexec`, `reboot`, or a command.
    pub boot: String,
    /// The release of the kernel that it had at the beginning, and is left on.
    pub release: String,
}

/// The machine of the guests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuestFacts {
    /// CPUs of a guest.
    pub cpus: usize,
    /// Its memory in MiB.
    pub memory_mib: u64,
    /// The name of the kernel of a second guest, at the far end of a wire; `None`: there is none.
    pub far_kernel: Option<String>,
    /// Why its CPUs were emulated, as a part of a sentence; `None`: they were the host's, by KVM.
    pub emulated_because: Option<String>,
}

/// A boot.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BootFacts {
    /// Its round, from 1.
    pub round: usize,
    /// Which kernel it was.
    pub arm: Arm,
    /// How long it took, everything included, in seconds.
    pub took_s: f64,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: BootOutcome,
}

/// What came of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum BootOutcome {
    /// A run was saved.
    Measured {
        /// The name of its file in the folder.
        file: String,
        /// Number of its blocks.
        blocks: usize,
    },
    /// There is no run.
    Dropped {
        /// Why, as a part of a sentence.
        why: String,
        /// The last lines of the kernel, or of what ran in it.
        last_lines: Vec<String>,
    },
}

/// An option of the configuration that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigOption {
    /// `CONFIG_NET_RX_BUSY_POLL`.
    pub name: String,
    /// Its value in the first kernel; `None`: it is not set.
    pub old: Option<String>,
    /// Its value in the second kernel.
    pub new: Option<String>,
}

impl KernelsReport {
    /// The name of a boot: `A`, `A again`, `B`.
    pub fn name(&self, arm: Arm) -> String {
        arm.name(self.kernels.each_ref().map(|kernel| kernel.name.as_str()))
    }

    /// How many boots of a kernel were made, and how many of them measured.
    pub fn counts(&self, is_new: bool) -> (usize, usize) {
        let of = || self.boots.iter().filter(|boot| (boot.arm == Arm::New) == is_new);
        let measured = |boot: &&BootFacts| matches!(boot.outcome, BootOutcome::Measured { .. });
        (of().count(), of().filter(measured).count())
    }
}
