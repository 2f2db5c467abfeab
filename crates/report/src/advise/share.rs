//! Shares of a whole.

use crate::digits::percent;

/// `12 %`; what is little and not nothing, and what is nearly all, is not rounded to these.
pub(super) fn share(part: u64, of: u64) -> String {
    match part as f64 / of as f64 {
        little if little > 0.0 && little < 0.0005 => "< 0.1 %".to_owned(),
        much if much >= 0.995 && part < of => "> 99 %".to_owned(),
        share if share.is_finite() => percent(share),
        _ => "-".to_owned(),
    }
}
