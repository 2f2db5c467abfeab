//! Responses that a load received in a phase.

use zc_load::{Latencies, Phase};

/// Results of a phase of requests.
#[derive(Debug, Clone)]
pub struct AskedFor {
    /// Responses per second, where nothing else tells how many came in a window.
    pub responses_per_s: Option<f64>,
    /// Whole responses, with the last one.
    pub responses: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// Description of their fault; `None`: no fault.
    pub fault: Option<String>,
    /// From when each was due; of h2load, from when it was sent.
    pub latency: Latencies,
}

impl From<Phase> for AskedFor {
    fn from(phase: Phase) -> Self {
        Self {
            responses_per_s: None,
            responses: phase.drained.responses,
            body_bytes: phase.drained.body_bytes,
            fault: phase.fault(),
            latency: phase.latency,
        }
    }
}
