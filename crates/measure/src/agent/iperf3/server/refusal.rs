//! A refused request, as the client is sent it and as the server reports it.

/// Why a client's request is refused.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    /// The error number of iperf3 for which its client has a text (`iperf_api.h`).
    pub error: u32,
    /// The errno that the client prints, with errors that have one.
    pub errno: u32,
    /// The reason, which continues a sentence whose subject is the client.
    pub why: String,
}
