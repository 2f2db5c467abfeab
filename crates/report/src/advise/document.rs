//! The document that `zc advise` prints.

use schemars::JsonSchema;
use serde::Serialize;

use super::costs::Costs;
use zc_access_log::RequestMix;

/// Output of `zc advise --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Output of zc advise --json")]
pub struct Advice {
    /// The logs that were read.
    pub logs: Vec<AdvisedLog>,
    /// Their request mix.
    pub mix: RequestMix,
    /// The request mix of each host, if hosts were named; not in JSON.
    #[serde(skip)]
    pub host_mixes: Vec<(String, RequestMix)>,
    /// Costs of their requests by each send path; null with `--no-costs`.
    pub costs: Option<Costs>,
}

/// A log that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AdvisedLog {
    /// Its name.
    pub log: String,
    /// The host that it is of, if hosts were named.
    pub host: Option<String>,
    /// Its format.
    pub format: &'static str,
    /// Its compression, `gzip` or `zstd`; null if it is not compressed.
    pub compression: Option<&'static str>,
    /// Its lines, without empty ones.
    pub lines: u64,
    /// Lines with a request.
    pub requests: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The unit of its durations, where that is a setting of the server and was found by the first
    /// lines; null otherwise.
    pub duration_unit: Option<&'static str>,
    /// Whether its durations are left out because their unit cannot be told.
    pub has_doubtful_durations: bool,
    /// Whether its end is missing.
    pub is_cut: bool,
}
