//! Data and functions that tests of several files share.

use rand::RngExt as _;
use rand_pcg::Pcg64;

/// Yields of dyestuff from six batches of five samples: Box and Tiao, "Bayesian Inference in
/// Statistical Analysis" (1973), table 5.1.2.
pub(crate) const DYESTUFF: [[f64; 5]; 6] = [
    [1545.0, 1440.0, 1440.0, 1520.0, 1580.0],
    [1540.0, 1555.0, 1490.0, 1560.0, 1495.0],
    [1595.0, 1550.0, 1605.0, 1510.0, 1560.0],
    [1445.0, 1440.0, 1595.0, 1465.0, 1545.0],
    [1595.0, 1630.0, 1515.0, 1635.0, 1625.0],
    [1520.0, 1455.0, 1450.0, 1480.0, 1445.0],
];

/// A number of the standard normal distribution (Box and Muller).
pub(crate) fn normal(random: &mut Pcg64) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
