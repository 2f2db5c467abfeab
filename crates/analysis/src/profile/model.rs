//! The result types of a profile. Units are those of `estimate`: costs are ns of soaked CPU time
//! per KiB of payload, shares run from 0 to 1.

use schemars::JsonSchema;
use serde::Serialize;

use super::class::Class;
use super::contexts::Context;
use crate::model::figure::{Bounds, Figure};
use crate::unit::from_ns_per_kib;
use zc_run::{SampledEvent, Transfer};

/// All estimates from the samples of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProfileEstimates {
    /// Event that triggered the samples.
    pub event: SampledEvent,
    /// Why the event is not cycles, where it is another one.
    pub no_cycles: Option<String>,
    /// Requested samples per second and CPU.
    pub frequency_hz: u64,
    /// Confidence level of each single interval.
    pub interval_level: f64,
    /// Whether the kernel accounts the time of interrupts and softirqs separately from that of the
    /// threads that they interrupt; `None` if unknown.
    pub irq_time_accounting: Option<bool>,
    /// One for each cell of the plan, in the plan's order, sampled or not.
    pub cells: Vec<CellProfile>,
}

/// The profile of one cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellProfile {
    /// Label in the plan.
    pub label: String,
    /// What was transferred, and by what.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// True for the reference of the plan.
    pub reference: bool,
    /// True for the A/A control, the second copy of the reference.
    pub control: bool,
    /// Number of kept blocks with samples and a cost.
    pub blocks: usize,
    /// Samples of the cost, on the CPUs that it comes from.
    pub samples: u64,
    /// All samples on those CPUs.
    pub samples_of_all: u64,
    /// Number of lost samples.
    pub lost: u64,
    /// Soaked cost, which the shares divide. The same as in the table of paths.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Option<Figure>,
    /// CPU time by the samples divided by that lost by the soakers. Below 1, the event cannot
    /// observe some of the cost; above 1, the soakers did not lose some of the sampled time.
    pub seen: Option<f64>,
    /// All classes, in the order of [`Class::ALL`]. They add up to 1.
    pub classes: Vec<ClassPart>,
    /// All contexts, in the order of [`Context::ALL`]. They add up to 1.
    pub contexts: Vec<ContextPart>,
    /// Part that ran while a sending or receiving thread was current, and that getrusage can count.
    pub own: Part,
    /// Cost by getrusage in the same windows, divided by the soaked cost.
    pub getrusage_by_soaked: Option<f64>,
    /// Functions with the largest cost of their own, the largest first.
    pub functions: Vec<FunctionPart>,
    /// Largest functions of class [`Class::Unknown`].
    pub unknown: Vec<FunctionPart>,
}

impl CellProfile {
    /// Part of the cost in one class; zero if there is none.
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
    /// Share of the cost. It may be slightly below 0, because the part in idle windows is
    /// subtracted.
    pub share: f64,
    /// BCa bootstrap interval over blocks; `None` with too few blocks.
    pub interval: Option<Bounds>,
    /// Share times cost. Its interval includes the variation of both.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub ns_per_kib: Option<Figure>,
}

/// Part of a class in the cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ClassPart {
    /// The class.
    pub class: Class,
    /// Its part of the cost.
    #[serde(flatten)]
    pub part: Part,
}

/// Part of a context in the cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ContextPart {
    /// The context.
    pub context: Context,
    /// Its part of the cost.
    #[serde(flatten)]
    pub part: Part,
}

/// Part of a function in the cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FunctionPart {
    /// Name of the function.
    pub function: String,
    /// Class of its largest part; a function with many kinds of callers has several classes.
    pub class: Class,
    /// Cost spent in the function itself, without its callees.
    #[serde(flatten)]
    pub part: Part,
}
