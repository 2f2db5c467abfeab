//! Request mix of a server as the estimator takes it: counts by size and slice of time.

/// Responses by size and slice of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoggedResponses {
    /// The time that they cover, in s; above 0.
    pub span_s: f64,
    /// The mean size of each bin of sizes, in bytes, by rising size.
    pub size_bytes: Vec<f64>,
    /// The slices of time that have responses: of each, bins and numbers of responses.
    pub slices: Vec<Vec<(usize, f64)>>,
    /// All slices of the time, those without responses included.
    pub slices_of_span: u64,
    /// Minutes that may be the busiest: the one with most requests, the one with most bytes.
    pub busy_minutes: Vec<BusyMinute>,
    /// The share of them that went over TLS.
    pub over_tls: OverTls,
}

/// How many of the responses went over TLS.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum OverTls {
    /// It is not known.
    #[default]
    Unknown,
    /// This share of the bytes of each slice.
    Stated(f64),
    /// As the log says it, by slice.
    Logged(Vec<TlsBytes>),
}

/// Bytes of responses in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TlsBytes {
    /// Those over TLS.
    pub with: f64,
    /// All of which the log says whether they were.
    pub told: f64,
}

impl OverTls {
    /// The share of the bytes of some slices, each as often as its weight says. `None` where it is
    /// not known of any byte.
    pub(super) fn share(&self, weights: impl Iterator<Item = (usize, f64)>) -> Option<f64> {
        let slices = match self {
            Self::Unknown => return None,
            Self::Stated(share) => return Some(*share),
            Self::Logged(slices) => slices,
        };
        let (with, told) = weights
            .filter_map(|(slice, weight)| Some((slices.get(slice)?, weight)))
            .fold((0.0, 0.0), |(with, told), (slice, weight)| {
                (with + weight * slice.with, told + weight * slice.told)
            });
        (told > 0.0).then(|| with / told)
    }
}

/// A minute whose number of responses and bytes are known. Their sizes are known from the slices of
/// time that it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyMinute {
    /// Its beginning, in s since 1970.
    pub begin_unix_s: i64,
    /// Its responses.
    pub requests: f64,
    /// Their bytes.
    pub bytes: f64,
    /// The places of the slices that it is in.
    pub slices: Vec<usize>,
}

/// Numbers of responses by bin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counts(pub(super) Vec<f64>);

impl LoggedResponses {
    /// The responses of some slices, each as often as its weight says.
    pub(super) fn counts(&self, weights: impl Iterator<Item = (usize, f64)>) -> Counts {
        let mut counts = vec![0.0; self.size_bytes.len()];
        for (slice, weight) in weights.filter(|(_, weight)| *weight > 0.0) {
            for (bin, responses) in self.slices.get(slice).into_iter().flatten() {
                if let Some(count) = counts.get_mut(*bin) {
                    *count += weight * responses;
                }
            }
        }
        Counts(counts)
    }

    /// All responses.
    pub(super) fn all(&self) -> Counts {
        self.counts((0..self.slices.len()).map(|slice| (slice, 1.0)))
    }
}

impl Counts {
    pub(super) fn requests(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The sum of a quantity over all responses, given its value for one response of each bin.
    pub(super) fn sum(&self, of_bin: &[f64]) -> f64 {
        std::iter::zip(&self.0, of_bin).map(|(count, each)| count * each).sum()
    }

    /// The same over the bins that `of` picks.
    pub(super) fn sum_where(&self, of_bin: &[f64], of: impl Fn(usize) -> bool) -> f64 {
        let bins = std::iter::zip(&self.0, of_bin).enumerate();
        bins.filter(|(bin, _)| of(*bin)).map(|(_, (count, each))| count * each).sum()
    }
}
