//! The confidence interval that the estimators of this crate return, and what they share in
//! computing one.

/// A two-sided confidence interval and the confidence that it has.
///
/// Either end may be infinite: nothing in the sample bounds the estimate on that side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence of this interval, between 0 and 1. Never below the requested one; above it where
    /// the null distribution is discrete and no interval has exactly the requested confidence.
    pub achieved_confidence: f64,
}

impl Interval {
    /// Whether `low <= value <= high`.
    ///
    /// ```
    /// let interval = zc_stats::Interval { low: 0.9, high: 1.1, achieved_confidence: 0.95 };
    /// assert!(interval.contains(1.1) && !interval.contains(1.2));
    /// ```
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The two-sided error probability 1 - `confidence`; `None` unless `confidence` is strictly between
/// 0 and 1.
pub(crate) fn alpha(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(1.0 - confidence)
}

/// Tolerance for comparing a tail probability with its limit: 1 - 0.95 is 0.050000000000000044.
pub(crate) const ROUNDING: f64 = 1e-12;
