//! What comes out of a profile: the types alone. Units are those of `estimate`: costs are ns of soaked CPU time per KiB of payload, shares
//! run from 0 to 1.

use schemars::JsonSchema;
use serde::Serialize;

use super::class::Class;
use super::contexts::Context;
use crate::model::figure::{Bounds, Figure};
use crate::unit::from_ns_per_kib;
use zc_run::{RecvPath, SampledEvent, SendPath};

/// Everything that is computed from the samples of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProfileEstimates {
    /// What made the samples.
    pub event: SampledEvent,
    /// Why not cycles, where it is not.
    pub no_cycles: Option<String>,
    /// Samples per second that were asked for on each CPU.
    pub frequency_hz: u64,
    /// The level at which each interval was computed.
    pub interval_level: f64,
    /// Whether the kernel keeps the time of interrupts and softirqs out of the accounts of the threads that they interrupt; `None`:
    /// not known.
    pub irq_time_accounting: Option<bool>,
    /// One for each cell of the plan, in the plan's order, sampled or not.
    pub cells: Vec<CellProfile>,
}

/// One cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellProfile {
    /// As in the plan.
    pub label: String,
    /// As in the plan.
    pub send: SendPath,
    /// As in the plan.
    pub recv: RecvPath,
    /// True for the plan's own reference alone.
    pub reference: bool,
    /// True for the second copy of the reference.
    pub control: bool,
    /// KeptBlocks blocks with samples and a cost.
    pub blocks: usize,
    /// Samples that found the cost, on the CPUs that it comes from.
    pub samples: u64,
    /// Samples on those CPUs.
    pub samples_of_all: u64,
    /// Samples that were lost.
    pub lost: u64,
    /// The soaked cost: what the shares are shares of. The same as in the table of paths.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Option<Figure>,
    /// The CPU time that the samples found by the one that the soakers lost. What is missing from 1 ran where the event could not see
    /// it, and what is above 1 the soakers did not feel.
    pub seen: Option<f64>,
    /// Every class, in the order of [`Class::ALL`]. They add up to 1.
    pub classes: Vec<ClassPart>,
    /// Every context, in the order of [`Context::ALL`]. They add up to 1.
    pub contexts: Vec<ContextPart>,
    /// What ran while a thread that sends or receives was current: what getrusage is able to see.
    pub own: Part,
    /// What getrusage said in the same windows, by the soaked cost.
    pub getrusage_by_soaked: Option<f64>,
    /// The functions that cost most by themselves, the largest first.
    pub functions: Vec<FunctionPart>,
    /// The largest functions of class [`Class::Unknown`].
    pub unknown: Vec<FunctionPart>,
}

impl CellProfile {
    /// A class of it.
    pub fn class(&self, class: Class) -> Part {
        self.classes
            .iter()
            .find(|each| each.class == class)
            .map_or_else(Part::default, |each| each.part)
    }
}

/// A part of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Of the cost. May be a little below 0: what the idle windows had of it is taken off.
    pub share: f64,
    /// Bootstrap (BCa) over blocks; `None` with too few of them.
    pub interval: Option<Bounds>,
    /// Share times cost. Its interval has the spread of both.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub ns_per_kib: Option<Figure>,
}

/// A class and its part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ClassPart {
    /// Which.
    pub class: Class,
    /// How much.
    #[serde(flatten)]
    pub part: Part,
}

/// A context and its part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ContextPart {
    /// Which.
    pub context: Context,
    /// How much.
    #[serde(flatten)]
    pub part: Part,
}

/// A function and its part.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FunctionPart {
    /// Its name.
    pub function: String,
    /// The class of its largest part: a servant belongs to several.
    pub class: Class,
    /// How much of the cost was spent in it, what it calls not counted.
    #[serde(flatten)]
    pub part: Part,
}
