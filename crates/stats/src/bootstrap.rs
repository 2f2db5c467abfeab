//! An interval for any statistic at all: the bias-corrected and accelerated bootstrap (BCa), over whole blocks.
//!
//! Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 14.3. Blocks are what is drawn again, with
//! everything in them, because the parts of a block are not independent of each other. The seed is the caller's: the
//! same run gives the same interval.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::normal::{phi, z};
use crate::order::quantile_of_sorted;
use crate::{Interval, Student, alpha};

/// Enough resamples for the ends of a 95 % interval to be sure to a few per cent of its width.
pub const RESAMPLES: usize = 2000;

/// The BCa interval of a statistic over `blocks` blocks. `statistic` gets the indices of the drawn blocks, with
/// repetitions, and says `None` where it has no value.
///
/// `None` with fewer than three blocks, when the statistic has no value on some resample, or when all resamples lie on
/// one side of it. The textbook's interval covers less than its confidence when blocks are few (0.92 for 0.95 with 15):
/// ask for [`few_blocks_confidence`] then. It is for what [`crate::wilcoxon_interval`] and [`crate::median_interval`]
/// cannot serve.
pub fn bca_interval(
    blocks: usize,
    mut statistic: impl FnMut(&[usize]) -> Option<f64>,
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let draws = Draws::new(blocks, resamples, seed)?;
    let mut drawn = Vec::with_capacity(blocks);
    let values = draws.map(|times| {
        drawn.clear();
        drawn.extend(times.iter().enumerate().flat_map(|(block, times)| std::iter::repeat_n(block, *times as usize)));
        statistic(&drawn)
    });
    draws.bca_interval(&values.into_iter().collect::<Option<Vec<f64>>>()?, confidence)
}

/// The draws of a bootstrap, for whoever wants the intervals of many statistics that have much of their work in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    blocks: usize,
    resamples: usize,
    seed: u64,
}

impl Draws {
    /// `None` with fewer than three blocks or two resamples.
    pub fn new(blocks: usize, resamples: usize, seed: u64) -> Option<Self> {
        (blocks >= 3 && resamples >= 2).then_some(Self { blocks, resamples, seed })
    }

    /// Does something with how often each block was drawn, for every draw: first with every block once, which is what was
    /// observed, then with the resamples, then with all blocks but the first, but the second, and so on.
    pub fn map<T>(&self, mut what: impl FnMut(&[u32]) -> T) -> Vec<T> {
        let mut rng = Pcg64::seed_from_u64(self.seed);
        let mut times = vec![1; self.blocks];
        let mut found = Vec::with_capacity(1 + self.resamples + self.blocks);
        found.push(what(&times));
        for _ in 0..self.resamples {
            times.fill(0);
            for _ in 0..self.blocks {
                // Maps 32 random bits to 0..blocks; uneven by less than blocks / 2^32.
                times[((u64::from(rng.next_u32()) * self.blocks as u64) >> 32) as usize] += 1;
            }
            found.push(what(&times));
        }
        times.fill(1);
        for out in 0..self.blocks {
            times[out] = 0;
            found.push(what(&times));
            times[out] = 1;
        }
        found
    }

    /// The BCa interval of a statistic from its values over the draws, as [`Draws::map`] has them: see [`bca_interval`]. `None` too when there are more or
    /// fewer values than draws, or one that is not finite.
    pub fn bca_interval(&self, values: &[f64], confidence: f64) -> Option<Interval> {
        let alpha = alpha(confidence)?;
        if values.len() != 1 + self.resamples + self.blocks || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let (observed, drawn) = (values[0], &values[1..]);
        let (resampled, left_out) = drawn.split_at(self.resamples);
        let mut replicates = resampled.to_vec();
        replicates.sort_unstable_by(f64::total_cmp);

        let below = replicates.partition_point(|value| *value < observed);
        let up_to = replicates.partition_point(|value| *value <= observed);
        let share = (below + up_to) as f64 / 2.0 / self.resamples as f64; // ties count half
        if share <= 0.0 || share >= 1.0 {
            return None;
        }
        let bias = z(share);
        let acceleration = acceleration(left_out);
        let end = |p: f64| {
            let shifted = bias + z(p);
            let denominator = 1.0 - acceleration * shifted;
            // Beyond the pole the correction has no meaning; the extreme replicate is the honest answer.
            let p = if denominator > 0.0 { phi(bias + shifted / denominator) } else { f64::from(u8::from(p > 0.5)) };
            quantile_of_sorted(&replicates, p)
        };
        Some(Interval { low: end(alpha / 2.0)?, high: end(1.0 - alpha / 2.0)?, confidence_reached: confidence })
    }
}

/// The confidence to ask [`bca_interval`] for so that it covers about `confidence` when there are few blocks.
///
/// A bootstrap takes the spread of n values with n below, not n - 1, and normal quantiles where Student's belong. For a
/// mean both are put right by asking for quantiles at Phi(-sqrt(n / (n - 1)) t(alpha / 2, n - 1)) instead of alpha / 2
/// (Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 2015). `None`
/// with fewer than three blocks or when `confidence` is not between 0 and 1.
pub fn few_blocks_confidence(confidence: f64, blocks: usize) -> Option<f64> {
    if blocks < 3 {
        return None;
    }
    let n = blocks as f64;
    let reach = Student::new(n - 1.0)?.reach(confidence)?;
    let widened = 1.0 - 2.0 * phi(-(n / (n - 1.0)).sqrt() * reach);
    (widened < 1.0).then_some(widened)
}

/// The acceleration: a sixth of the skewness of the jackknife values.
fn acceleration(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (squares, cubes) = values.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let distance = mean - value;
        (squares + distance * distance, cubes + distance * distance * distance)
    });
    let scale = 6.0 * f64::powf(squares, 1.5);
    if scale > 0.0 { cubes / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spatial test scores of 26 impaired children, Efron and Tibshirani (1993), table 14.1.
    const SPATIAL: [f64; 26] = [
        48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0, 34.0, 4.0, 32.0,
        24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
    ];

    /// The plug-in variance, with n below.
    fn variance(drawn: &[usize]) -> Option<f64> {
        let n = drawn.len() as f64;
        let mean = drawn.iter().map(|index| SPATIAL[*index]).sum::<f64>() / n;
        Some(drawn.iter().map(|index| (SPATIAL[*index] - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn efron_and_tibshirani_s_example() {
        // Their table 14.2: variance 171.5, acceleration 0.061, BCa 90 % interval (115.8, 259.6) of B = 2000.
        let all: Vec<usize> = (0..SPATIAL.len()).collect();
        assert!((variance(&all).unwrap() - 171.5).abs() < 0.05);
        let without = |out: usize| variance(&all.iter().copied().filter(|block| *block != out).collect::<Vec<_>>());
        let left_out: Vec<f64> = all.iter().filter_map(|out| without(*out)).collect();
        assert!((acceleration(&left_out) - 0.061).abs() < 0.0005);
        let interval = bca_interval(SPATIAL.len(), variance, 0.90, 20_000, 1).unwrap();
        assert!((interval.low - 115.8).abs() < 3.0 && (interval.high - 259.6).abs() < 6.0, "{interval:?}");
    }

    #[test]
    fn the_seed_decides() {
        let once = bca_interval(26, variance, 0.95, 500, 7);
        assert_eq!(once, bca_interval(26, variance, 0.95, 500, 7));
        assert_ne!(once, bca_interval(26, variance, 0.95, 500, 8));
    }

    #[test]
    fn many_statistics_may_share_their_draws() {
        let draws = Draws::new(26, 500, 7).unwrap();
        let drawn = draws.map(|times| times.iter().sum::<u32>());
        assert_eq!(drawn.len(), 1 + 500 + 26);
        assert!(drawn[..501].iter().all(|sum| *sum == 26) && drawn[501..].iter().all(|sum| *sum == 25));
        let sum =
            |times: &[u32]| -> f64 { std::iter::zip(times, SPATIAL).map(|(n, value)| f64::from(*n) * value).sum() };
        let mean = |times: &[u32]| sum(times) / f64::from(times.iter().sum::<u32>());
        let shared = draws.bca_interval(&draws.map(mean), 0.95);
        let mean = |drawn: &[usize]| Some(drawn.iter().map(|index| SPATIAL[*index]).sum::<f64>() / drawn.len() as f64);
        let (shared, alone) = (shared.unwrap(), bca_interval(26, mean, 0.95, 500, 7).unwrap());
        assert!((shared.low - alone.low).abs() < 1e-9 && (shared.high - alone.high).abs() < 1e-9);
        assert_eq!(draws.bca_interval(&[1.0], 0.95), None);
        assert_eq!(draws.bca_interval(&[f64::NAN; 527], 0.95), None);
        assert_eq!(Draws::new(2, 500, 7), None);
    }

    #[test]
    fn few_blocks_ask_for_more_and_many_for_the_same() {
        // t(0.975, 14) = 2.14479; 2.14479 * sqrt(15 / 14) = 2.22006; Phi(2.22006) = 0.98679.
        assert!((few_blocks_confidence(0.95, 15).unwrap() - 0.97358).abs() < 1e-4);
        assert!((few_blocks_confidence(0.95, 100_000).unwrap() - 0.95).abs() < 1e-4);
        assert_eq!(few_blocks_confidence(0.95, 2), None);
        assert_eq!(few_blocks_confidence(1.5, 20), None);
    }

    #[test]
    fn what_has_no_value_has_no_interval() {
        assert_eq!(bca_interval(2, |_| Some(1.0), 0.95, 100, 1), None);
        assert_eq!(bca_interval(10, |_| None, 0.95, 100, 1), None);
        assert_eq!(bca_interval(10, |_| Some(f64::NAN), 0.95, 100, 1), None);
        let constant = bca_interval(10, |_| Some(4.0), 0.95, 100, 1).unwrap();
        assert_eq!((constant.low, constant.high), (4.0, 4.0));
    }
}
