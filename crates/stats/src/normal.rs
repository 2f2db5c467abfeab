//! The standard normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// The distribution function Phi(z).
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The quantile function, the inverse of Phi. `p` must be strictly between 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}
