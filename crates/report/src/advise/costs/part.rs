//! A share of a log that is neither nothing nor all of it.

use crate::digits::percent;

/// A share that is above 0.
pub(super) fn share(share: f64) -> String {
    match share {
        little if little < 0.0005 => "< 0.1 %".to_owned(),
        much if (0.995..1.0).contains(&much) => "> 99 %".to_owned(),
        share => percent(share),
    }
}
