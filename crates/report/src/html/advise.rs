//! The page of `zc advise`.

use crate::advise::Advice;

/// The whole page.
pub fn advise(advice: &Advice) -> String {
    let _ = advice;
    String::new()
}
