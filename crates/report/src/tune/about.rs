//! What was tuned, as who calls the report has it.

use schemars::JsonSchema;
use serde::Serialize;

/// What was tuned, in words from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct About {
    /// The server: `nginx 1.22.1 of /etc/nginx/nginx.conf`.
    pub server: String,
    /// The site that was asked, and why this one.
    pub site: String,
    /// The requests, in a sentence.
    pub mix: String,
    /// Whether they are those of a log, so that the mix is the user's.
    pub has_log: bool,
    /// What else is to be known of what was measured: what was left out, what was stood in for.
    pub said: Vec<String>,
}
