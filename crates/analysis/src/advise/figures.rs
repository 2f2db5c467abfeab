//! Values over joint resamples of a run's blocks and a log's slices, as figures with intervals.

use zc_stats::{Wander, expanded_confidence, quantile};

use super::tls::TlsCosts;
use crate::costs::Side;
use crate::figures::with_interval;
use crate::model::figure::{Bounds, Figure};
use crate::wanders::Wanders;

/// The least share of resamples that must have a value for an interval.
const LEAST_DEFINED: f64 = 0.95;

/// The samples that the values of a quantity are resampled from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampled {
    /// Confidence level of a single interval.
    pub(super) level: f64,
    /// Kept blocks of the run.
    pub(super) blocks: usize,
    /// The smaller of blocks and slices, which bounds the degrees of freedom.
    pub(super) independent: usize,
    /// Wander of the run's ratios.
    ratios: Option<Wander>,
    /// Wander of the run's costs.
    costs: Option<Wander>,
    /// Wander of the costs and the ratios of the run that has the cost of encryption.
    tls: [Option<Wander>; 2],
}

/// The encryption in a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Encrypted {
    /// What it adds to the cost in the clear.
    pub(super) added: f64,
    /// The whole cost of what is encrypted.
    pub(super) whole: f64,
}

/// A quantity: as observed, and over the resamples in which it is defined.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    pub(super) observed: f64,
    resamples: Vec<f64>,
}

impl Values {
    /// Takes the value of the observed sample first, then that of each resample. `None` where it is
    /// not defined for the observed one.
    pub(super) fn from_resamples(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        let mut values = values.into_iter().map(finite);
        let observed = values.next()??;
        let all: Vec<Option<f64>> = values.collect();
        let mut resamples: Vec<f64> = all.iter().flatten().copied().collect();
        if (resamples.len() as f64) < LEAST_DEFINED * all.len() as f64 {
            resamples.clear();
        }
        Some(Self { observed, resamples })
    }
}

impl Sampled {
    pub(super) fn new(level: f64, blocks: usize, slices: Option<usize>, wanders: &Wanders) -> Self {
        Self {
            level,
            blocks,
            independent: slices.map_or(blocks, |slices| slices.min(blocks)),
            ratios: wanders.ratios(Side::Both),
            costs: wanders.costs(Side::Both),
            tls: [None; 2],
        }
    }

    /// The same where encryption is in the quantities.
    pub(super) fn with_tls(self, tls: &TlsCosts) -> Self {
        Self {
            level: self.level.max(tls.level),
            independent: self.independent.min(tls.blocks),
            tls: [tls.costs, tls.ratios],
            ..self
        }
    }

    /// The blocks of the run that has the cost of encryption, alone.
    pub(super) fn of_tls(tls: &TlsCosts) -> Self {
        Self {
            level: tls.level,
            blocks: tls.blocks,
            independent: tls.blocks,
            ratios: None,
            costs: None,
            tls: [tls.costs, tls.ratios],
        }
    }

    /// A cost, of which `encryption` is what TLS adds. All of it wanders as costs do.
    pub(super) fn cost(&self, values: &Values, encryption: f64) -> Figure {
        let clear = self.costs.map(|wander| scaled(wander, values.observed - encryption));
        let wander = match encryption == 0.0 {
            true => clear,
            false => {
                let encrypted = self.tls[0].map(|wander| scaled(wander, encryption));
                sum([clear, encrypted].into_iter().flatten())
            }
        };
        let figure = self.figure(values, wander, self.level);
        let above_0 = |bounds: Bounds| Bounds { low: bounds.low.max(0.0), ..bounds };
        with_interval(figure.value, figure.interval.map(above_0), figure.blocks)
    }

    /// Saving by a path that costs `path`. With the cost of today's path as C and the ratio as r it
    /// is C (1 - r): it wanders with C as a whole, and with r by as much of the path's own cost.
    /// What another way of encrypting saves does so as well, by the other run's wander.
    pub(super) fn saving(
        &self,
        values: &Values,
        path: f64,
        other_way: Option<Encrypted>,
        level: f64,
    ) -> Figure {
        let Encrypted { added, whole } = other_way.unwrap_or_default();
        let [costs, ratios] = self.tls.map(|wander| wander.filter(|_| other_way.is_some()));
        let parts = [
            self.costs.map(|wander| scaled(wander, values.observed)),
            self.ratios.map(|wander| scaled(wander, path)),
            costs.map(|wander| scaled(wander, added)),
            ratios.map(|wander| scaled(wander, whole)),
        ];
        self.figure(values, sum(parts.into_iter().flatten()), level)
    }

    /// What TLS adds: it wanders as the costs of its run do.
    pub(super) fn encryption(&self, values: &Values) -> Figure {
        let wander = self.tls[0].map(|wander| scaled(wander, values.observed));
        self.figure(values, wander, self.level)
    }

    /// The percentile interval, widened for the wander of the quantity beyond the scatter of the
    /// run's blocks.
    fn figure(&self, values: &Values, wander: Option<Wander>, level: f64) -> Figure {
        let Values { observed, resamples } = values;
        let interval = expanded_confidence(level, self.independent).and_then(|asked| {
            let tail = (1.0 - asked) / 2.0;
            let (low, high) = (quantile(resamples, tail)?, quantile(resamples, 1.0 - tail)?);
            let half = (high - low) / 2.0;
            let factor = wander
                .and_then(|wander| wander.inflation(half, self.independent, level))
                .unwrap_or(1.0);
            let away = |end: f64| observed + factor * (end - observed);
            Some(Bounds {
                low: away(low.min(*observed)),
                high: Some(away(high.max(*observed))),
                confidence: level,
            })
        });
        with_interval(*observed, interval, self.blocks)
    }
}

/// The wander of a logarithm as that of a quantity of this size.
fn scaled(wander: Wander, by: f64) -> Wander {
    Wander { variance: wander.variance * by * by, ..wander }
}

/// Wander of a sum of quantities that wander independently; degrees of freedom by Satterthwaite.
fn sum(parts: impl Iterator<Item = Wander> + Clone) -> Option<Wander> {
    let variance: f64 = parts.clone().map(|part| part.variance).sum();
    let of_estimate: f64 = parts.map(|part| part.variance_of_estimate()).sum();
    (variance > 0.0 && of_estimate > 0.0)
        .then(|| Wander { variance, degrees_of_freedom: 2.0 * variance * variance / of_estimate })
}
