//! Agreement with SciPy and with enumeration. `golden.py` computed the expected values from the
//! data below.

use zc_stats::{
    DEFAULT_RESAMPLES, bca_interval, hodges_lehmann, hodges_lehmann_shift, mann_whitney_p_value,
    median_interval, welch_interval, wilcoxon_interval, wilcoxon_p_value,
};

const A: [f64; 14] = [
    0.479, 0.955, 0.7253, 1.1476, 0.8347, -0.4702, -0.0087, -0.2252, 0.5325, 0.1894, 0.3212,
    -1.9826, -0.6926, 0.8237,
];
const B: [f64; 11] =
    [1.3589, 0.6326, 2.3656, 0.9092, 1.46, 1.1219, 1.0627, 0.8944, 0.3777, 0.6036, 0.2915];
const C: [f64; 9] = [1.8715, 1.1106, 0.7637, 4.1079, 3.123, 1.1221, 0.5634, 0.3853, 1.6317];

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn signed_ranks_agree_with_the_enumeration_of_all_signs() {
    near(hodges_lehmann(&A).unwrap(), 0.29925, 1e-12);
    near(wilcoxon_p_value(&A).unwrap(), 0.193_725_585_937_5, 1e-12);
    for (level, low, high, reached) in [
        (0.90, -0.11695, 0.6381, 0.909_423_828_125),
        (0.95, -0.23945, 0.6781, 0.950_561_523_437_5),
        (0.99, -0.57945, 0.8237, 0.991_455_078_125),
    ] {
        let interval = wilcoxon_interval(&A, level).unwrap();
        near(interval.low, low, 1e-12);
        near(interval.high, high, 1e-12);
        near(interval.achieved_confidence, reached, 1e-12);
    }
}

#[test]
fn two_samples_agree_with_scipy() {
    near(mann_whitney_p_value(&B, &C).unwrap(), 0.260_978_804_477_256_5, 1e-12);
    near(hodges_lehmann_shift(&B, &C).unwrap(), -0.386, 1e-12);
    let welch = welch_interval(&B, &C, 0.95).unwrap();
    near(welch.difference / welch.standard_error, -1.383_942_403_220_723_7, 1e-12);
    near(welch.degrees_of_freedom, 10.870_997_066_168_371, 1e-10);
    near(welch.interval.low, -1.617_630_028_650_706_8, 1e-9);
    near(welch.interval.high, 0.369_785_584_206_262_3, 1e-9);
}

#[test]
fn median_intervals_agree_with_scipy_s_binomial() {
    for (n, depth, reached) in [
        (11, 2, 0.988_281_25),
        (40, 14, 0.961_522_691_715_799_7),
        (300, 133, 0.956_871_500_722_777_4),
    ] {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let interval = median_interval(&values, 0.95).unwrap();
        near(interval.low, f64::from(depth), 0.0);
        near(interval.high, f64::from(n + 1 - depth), 0.0);
        near(interval.achieved_confidence, reached, 1e-12);
    }
}

/// LSAT and GPA of 15 law schools, Efron and Tibshirani (1993), table 3.1; their 90 % BCa interval
/// of the correlation, from few resamples, is (.43, .92).
const SCHOOLS: [(f64, f64); 15] = [
    (576.0, 3.39),
    (635.0, 3.30),
    (558.0, 2.81),
    (578.0, 3.03),
    (666.0, 3.44),
    (580.0, 3.07),
    (555.0, 3.00),
    (661.0, 3.43),
    (651.0, 3.36),
    (605.0, 3.13),
    (653.0, 3.12),
    (575.0, 2.74),
    (545.0, 2.76),
    (572.0, 2.88),
    (594.0, 2.96),
];

fn correlation(drawn: &[usize]) -> Option<f64> {
    let n = drawn.len() as f64;
    let (x, y) = drawn
        .iter()
        .fold((0.0, 0.0), |(x, y), school| (x + SCHOOLS[*school].0, y + SCHOOLS[*school].1));
    let (x, y) = (x / n, y / n);
    let (xx, yy, xy) = drawn.iter().fold((0.0, 0.0, 0.0), |(xx, yy, xy), school| {
        let (dx, dy) = (SCHOOLS[*school].0 - x, SCHOOLS[*school].1 - y);
        (xx + dx * dx, yy + dy * dy, xy + dx * dy)
    });
    Some(xy / (xx * yy).sqrt())
}

#[test]
fn bca_agrees_with_scipy_s_200_000_resamples() {
    for (level, low, high) in [(0.90, 0.429_885, 0.927_467), (0.95, 0.333_471, 0.942_143)] {
        let interval = bca_interval(SCHOOLS.len(), correlation, level, 40_000, 1).unwrap();
        near(interval.low, low, 0.01);
        near(interval.high, high, 0.002);
        // The default number of resamples is close enough.
        let interval =
            bca_interval(SCHOOLS.len(), correlation, level, DEFAULT_RESAMPLES, 1).unwrap();
        near(interval.low, low, 0.05);
        near(interval.high, high, 0.01);
    }
    let mean = |drawn: &[usize]| {
        Some(drawn.iter().map(|index| B[*index]).sum::<f64>() / drawn.len() as f64)
    };
    for (level, low, high) in [(0.90, 0.776_464, 1.348_755), (0.95, 0.739_209, 1.425_564)] {
        let interval = bca_interval(B.len(), mean, level, 40_000, 1).unwrap();
        near(interval.low, low, 0.006);
        near(interval.high, high, 0.006);
    }
}
