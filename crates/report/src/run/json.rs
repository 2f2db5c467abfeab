//! The report as one JSON document. Numbers are numbers, missing values null, and the name of a
//! field contains its unit. The unit of cost is microseconds of CPU time per MB (10^6 bytes),
//! `us_per_mb`, as in the table and in every other machine-readable output but metrics, which are
//! in base units.

use schemars::JsonSchema;
use serde::Serialize;

use crate::json::{schema_of, text};
use zc_analysis::Estimates;
use zc_analysis::profile::{ProfileEstimates, profile};
use zc_run::{End, Header, Run};

/// Output of `--json`: the plan, the facts and the estimates. The raw counters are in the saved
/// run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc show --json")]
pub(crate) struct Document<'a> {
    /// The run, without its blocks.
    run: Facts<'a>,
    /// All estimates of the run.
    estimates: &'a Estimates,
    /// Distribution of the CPU time, if the run was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileEstimates>,
}

/// The saved run without its blocks.
#[derive(Debug, Serialize, JsonSchema)]
struct Facts<'a> {
    /// The header of the saved run, unchanged.
    #[serde(flatten)]
    header: &'a Header,
    /// Number of blocks in the saved run, including dropped ones.
    blocks: usize,
    /// End of the run; null if it was killed.
    end: Option<&'a End>,
}

impl<'a> Document<'a> {
    /// The document of a run.
    pub(crate) fn new(run: &'a Run, estimates: &'a Estimates) -> Self {
        let facts = Facts { header: &run.header, blocks: run.blocks.len(), end: run.end.as_ref() };
        Self { run: facts, estimates, profile: profile(run) }
    }
}

/// The whole document, indented, with a line feed at its end.
pub fn json(run: &Run, estimates: &Estimates) -> String {
    text(&Document::new(run, estimates))
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    schema_of::<Document<'static>>()
}
