//! Hartigans' dip test: are these values from a distribution with one mode?
//!
//! The dip is the smallest distance between the empirical distribution function and any unimodal
//! one, whose function is convex up to its mode and concave from there on (J. A. Hartigan and P. M.
//! Hartigan, Annals of Statistics 13, 1985). It is computed as in P. M. Hartigan's Algorithm AS 217
//! (Applied Statistics 34, 1985): the modal interval shrinks to where the greatest convex minorant
//! and the least concave majorant of what is in it are farthest apart, until they are nearer to one
//! another than what was left outside is to its own.
//!
//! Heights are ranks, so all distances in here are in steps of the empirical function.

use super::order_statistics::sorted;

/// Tail probabilities of [`QUANTILES`].
const TAILS: [f64; 6] = [0.5, 0.1, 0.05, 0.01, 0.001, 0.0001];

/// Quantiles by the size of a sample from the uniform distribution: the dip times the square root
/// of the size exceeds them with the probabilities [`TAILS`], from 400,000 simulated samples
/// (40,000 of the largest). In the limit no other unimodal distribution has larger dips.
const QUANTILES: [(usize, [f64; TAILS.len()]); 9] = [
    (10, [0.309, 0.413, 0.442, 0.505, 0.572, 0.621]),
    (15, [0.324, 0.426, 0.460, 0.527, 0.601, 0.661]),
    (20, [0.328, 0.435, 0.470, 0.540, 0.616, 0.680]),
    (30, [0.337, 0.447, 0.483, 0.556, 0.643, 0.719]),
    (50, [0.346, 0.459, 0.497, 0.573, 0.666, 0.746]),
    (100, [0.355, 0.471, 0.510, 0.590, 0.687, 0.766]),
    (200, [0.362, 0.481, 0.522, 0.604, 0.702, 0.784]),
    (500, [0.368, 0.489, 0.530, 0.613, 0.710, 0.811]),
    (1000, [0.372, 0.493, 0.533, 0.616, 0.719, 0.834]),
];

/// The p-value of the hypothesis that the values are from a distribution with one mode. It is
/// interpolated in a table, and 0.0001 stands for all smaller ones. `None` with fewer than 10
/// values, and where one is not finite.
///
/// ```
/// let two_modes: Vec<f64> = (0..40).map(|n| f64::from(n % 2 * 100 + n)).collect();
/// assert!(zc_stats::unimodality_p_value(&two_modes).unwrap() < 0.001);
/// assert!(zc_stats::unimodality_p_value(&[1.0, 9.0]).is_none());
/// ```
pub fn unimodality_p_value(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let above = QUANTILES.partition_point(|(size, _)| *size <= n);
    let (smaller, at_smaller) = QUANTILES.get(above.checked_sub(1)?)?;
    let (larger, at_larger) = QUANTILES.get(above).unwrap_or(&QUANTILES[above - 1]);
    let size = |n: usize| (n as f64).ln();
    let share = if larger == smaller {
        0.0
    } else {
        (size(n) - size(*smaller)) / (size(*larger) - size(*smaller))
    };
    let scaled = dip(values)? * (n as f64).sqrt();
    let (mut exceeded, mut tail) = (0.0, 1.0);
    for (place, next_tail) in TAILS.into_iter().enumerate() {
        let next = at_smaller[place] + share * (at_larger[place] - at_smaller[place]);
        if scaled < next {
            let way = (scaled - exceeded) / (next - exceeded);
            return Some(tail * f64::powf(next_tail / tail, way));
        }
        (exceeded, tail) = (next, next_tail);
    }
    Some(tail)
}

/// The dip of a sample: at least 1/(2n), at most 1/4. `None` without values, and where one is not
/// finite. O(n^2) at worst.
///
/// ```
/// let one_mode: Vec<f64> = (-20..=20).map(|n| f64::from(n * n * n)).collect();
/// let two_modes: Vec<f64> = one_mode.iter().flat_map(|x| [x / 8e3, x / 8e3 + 9.0]).collect();
/// assert!(zc_stats::dip(&one_mode).unwrap() < 0.03);
/// assert!(zc_stats::dip(&two_modes).unwrap() > 0.1);
/// ```
pub fn dip(values: &[f64]) -> Option<f64> {
    let x = sorted(values).filter(|sorted| sorted.iter().all(|value| value.is_finite()))?;
    // Twice the dip; half a step is the least.
    let mut twice: f64 = 1.0;
    let (mut low, mut high) = (0, x.len() - 1);
    while x[low] < x[high] {
        let minorant = hull(&x, low, high, |turn| turn > 0.0);
        let majorant = hull(&x, low, high, |turn| turn < 0.0);
        let gap = widest_gap(&x, &minorant, &majorant);
        if gap.distance < twice {
            break;
        }
        for ends in segments(&minorant).filter(|(_, to)| *to <= gap.low) {
            twice = twice.max(off_chord(&x, ends, 1.0));
        }
        for ends in segments(&majorant).filter(|(from, _)| *from >= gap.high) {
            twice = twice.max(off_chord(&x, ends, -1.0));
        }
        if (gap.low, gap.high) == (low, high) {
            break;
        }
        (low, high) = (gap.low, gap.high);
    }
    Some(twice / (2.0 * x.len() as f64))
}

/// The vertices, from `low` to `high`, of a hull of the points (value, rank) that turns only as
/// `turns` says: left (above 0) for the convex minorant, right for the concave majorant.
fn hull(x: &[f64], low: usize, high: usize, turns: impl Fn(f64) -> bool) -> Vec<usize> {
    let mut vertices: Vec<usize> = Vec::new();
    for next in low..=high {
        while let [.., before, last] = vertices[..] {
            let run = (x[last] - x[before], x[next] - x[last]);
            let rise = ((last - before) as f64, (next - last) as f64);
            if turns(run.0 * rise.1 - run.1 * rise.0) {
                break;
            }
            vertices.pop();
        }
        vertices.push(next);
    }
    vertices
}

fn segments(vertices: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    vertices.windows(2).map(|ends| (ends[0], ends[1]))
}

/// Largest distance of the two hulls, and where it is: the modal interval that is left.
struct Gap {
    distance: f64,
    low: usize,
    high: usize,
}

/// The widest gap lies at a vertex of either hull; of several the rightmost. Without a vertex
/// between the ends there is none.
fn widest_gap(x: &[f64], minorant: &[usize], majorant: &[usize]) -> Gap {
    let inner = |vertices: &[usize]| vertices[1..vertices.len() - 1].to_vec();
    let at_minorant = inner(minorant).into_iter().map(|low| {
        let (from, high) = around(majorant, low);
        Gap { distance: chord(x, (from, high), low) - low as f64 + 1.0, low, high }
    });
    let at_majorant = inner(majorant).into_iter().map(|high| {
        let (low, to) = around(minorant, high);
        Gap { distance: high as f64 - chord(x, (low, to), high) + 1.0, low, high }
    });
    let none = Gap { distance: 0.0, low: 0, high: 0 };
    at_minorant.chain(at_majorant).fold(none, |widest, gap| {
        let wider = gap.distance > widest.distance
            || (gap.distance == widest.distance && gap.high >= widest.high);
        if wider { gap } else { widest }
    })
}

/// The segment of a hull that a point is on.
fn around(vertices: &[usize], point: usize) -> (usize, usize) {
    let to = vertices.partition_point(|vertex| *vertex < point).max(1);
    (vertices[to - 1], vertices[to])
}

/// The height of a chord at a point.
fn chord(x: &[f64], (from, to): (usize, usize), at: usize) -> f64 {
    let share = (x[at] - x[from]) / (x[to] - x[from]);
    from as f64 + if share.is_finite() { share * (to - from) as f64 } else { 0.0 }
}

/// Distance of the empirical function from a chord of the minorant (`side` 1) or of the majorant
/// (-1); at least a step.
fn off_chord(x: &[f64], (from, to): (usize, usize), side: f64) -> f64 {
    if to - from < 2 || x[from] == x[to] {
        return 1.0;
    }
    let off = |at: usize| side * (at as f64 - chord(x, (from, to), at)) + 1.0;
    (from..=to).map(off).fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn dips_are_those_of_other_programs() {
        // Quality of statistics departments, from Hartigan and Hartigan 1985; the dip by diptest
        // 0.12 (Python).
        let faculty = [
            30., 33., 35., 36., 37., 37., 39., 39., 39., 39., 39., 40., 40., 40., 40., 41., 42.,
            43., 43., 43., 44., 44., 45., 45., 46., 47., 47., 47., 48., 48., 48., 49., 50., 50.,
            51., 52., 52., 53., 53., 53., 53., 53., 54., 54., 57., 57., 59., 60., 60., 60., 61.,
            61., 61., 61., 62., 62., 62., 62., 63., 66., 70., 72., 72.,
        ];
        assert!((dip(&faculty).unwrap() - 0.059_523_809_523_809_52).abs() < 1e-15);
        assert_eq!(dip(&[1.0, 2.0, 3.0, 4.0]), Some(0.125), "the least that there is");
        assert_eq!(dip(&[0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), Some(0.25), "the most");
        assert_eq!((dip(&[]), dip(&[1.0, f64::NAN]), dip(&[f64::INFINITY])), (None, None, None));
        assert_eq!(dip(&[3.0; 7]), Some(1.0 / 14.0));
    }

    #[test]
    fn one_mode_is_rarely_taken_for_two_and_two_are_found() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let (mut uniform, mut normal, mut two) = (0, 0, 0);
        let mut other = Pcg64::seed_from_u64(2);
        for _ in 0..2000 {
            let is_below = |values: &[f64]| unimodality_p_value(values).unwrap() < 0.05;
            let flat: Vec<f64> = (0..70).map(|_| other.random()).collect();
            let bell: Vec<f64> = (0..70).map(|_| noise()).collect();
            let pair: Vec<f64> =
                bell.iter().enumerate().map(|(n, x)| x + f64::from(n % 3 == 0) * 9.0).collect();
            uniform += usize::from(is_below(&flat));
            normal += usize::from(is_below(&bell));
            two += usize::from(is_below(&pair));
        }
        assert!((60..140).contains(&uniform), "{uniform} of 2000, at 5 %");
        assert!(normal < 20, "{normal} of 2000");
        assert!(two > 1980, "{two} of 2000");
    }

    #[test]
    fn the_p_value_falls_as_the_dip_grows() {
        let apart = |by: f64| {
            let values: Vec<f64> = (0..60).map(|n| f64::from(n % 2) * by + f64::from(n)).collect();
            unimodality_p_value(&values).unwrap()
        };
        let found: Vec<f64> = (0..20).map(|step| apart(f64::from(step) * 8.0)).collect();
        assert!(found[0] > 0.8 && found[19] == 0.0001, "{found:?}");
        assert!(found.windows(2).all(|pair| pair[1] <= pair[0] + 0.05), "{found:?}");
    }
}
