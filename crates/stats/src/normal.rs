//! The normal distribution, as far as it is needed here.

use statrs::distribution::{ContinuousCDF, Normal};

/// Probability below `z`.
pub(crate) fn phi(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The value that `p` lies below; `p` strictly between 0 and 1.
pub(crate) fn z(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}
