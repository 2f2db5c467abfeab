//! Inputs and estimates of the fit.

use crate::StudentT;
use crate::interval::{Interval, alpha};

/// A value, and what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossed {
    /// The value.
    pub value: f64,
    /// Its known standard error.
    pub error: f64,
    /// Index of its level.
    pub level: usize,
    /// Index of its unit.
    pub unit: usize,
    /// Index of its partner; the effect of partners is fitted only where each value has one.
    pub partner: Option<usize>,
}

/// Estimates of [`crossed_effects`](super::crossed_effects()).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CrossedEffects {
    /// The mean of each level; `None` for a level without a value.
    pub means: Vec<Option<LevelMean>>,
    /// Covariance of the levels' means by the model alone; 0 for a level without a value.
    pub covariance: Vec<Vec<f64>>,
    /// The effect of each unit; `None` for one without a value.
    pub units: Vec<Option<RandomEffect>>,
    /// The effect of each partner; `None` for all where it was not fitted.
    pub partners: Vec<Option<RandomEffect>>,
    /// Each value less the effects that were fitted to it.
    pub residuals: Vec<f64>,
    /// Variance of the error of what was fitted to each value.
    pub fitted_variances: Vec<f64>,
    /// Variance of each value's session and own error.
    pub own_variances: Vec<f64>,
    /// Variance between units of a level, 0 where what is below explains it all. With one value to
    /// a unit it contains that between sessions.
    pub unit_variance: f64,
    /// Variance by partner; `None` where the values do not separate it from that of units.
    pub partner_variance: Option<f64>,
    /// Variance between sessions (values of one unit and partner), beyond their errors; `None`
    /// where the values do not determine it.
    pub session_variance: Option<f64>,
    /// The share of the variance of values that their own errors do not explain.
    pub heterogeneity: f64,
    /// Degrees of freedom of the sum of the variances of units, partners and sessions.
    pub freedom: f64,
}

/// The mean of a level over its units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelMean {
    /// The mean.
    pub value: f64,
    /// Its units.
    pub units: usize,
    /// Its variance; `None` with fewer than two units.
    pub(super) variance: Option<f64>,
    /// Degrees of freedom of that.
    pub(super) freedom: f64,
    /// Its variance by the model alone.
    pub(super) by_model: f64,
}

impl LevelMean {
    /// Its standard error, scaled as [`crossed_effects`](super::crossed_effects()) says; `None`
    /// with fewer than two units.
    pub fn error(&self) -> Option<f64> {
        self.variance.map(f64::sqrt)
    }

    /// Its interval. `None` with fewer than two units, and unless `confidence` is strictly between
    /// 0 and 1.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        around(self.value, self.variance?, self.freedom, confidence)
    }
}

/// The effect of a unit or of a partner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffect {
    /// The best linear unbiased predictor: the observed effect, shrunk towards 0 the more, the less
    /// was observed.
    pub predicted: f64,
    /// Standard error of the predictor.
    pub error: f64,
    /// The observed effect, without shrinkage: its mean less that of its level, with itself left
    /// out.
    pub seen: f64,
    /// Variance of `seen` if it is like the others.
    pub variance: f64,
}

impl CrossedEffects {
    /// The interval in which the value of one more unit of a level lies, with one more partner in
    /// one more session, without an error of its own (Higgins, Thompson and Spiegelhalter, Journal
    /// of the Royal Statistical Society A 172, 2009). The degrees of freedom of Student's t are
    /// those of the sum of the variances, by its information. `None` where the level's mean has no
    /// interval.
    pub fn one_more(&self, level: usize, confidence: f64) -> Option<Interval> {
        let mean = (*self.means.get(level)?)?;
        let scatter = self.unit_variance
            + self.partner_variance.unwrap_or(0.0)
            + self.session_variance.unwrap_or(0.0);
        let (scaled, sum) = (mean.variance?, scatter + mean.variance?);
        let of_sum = scatter.powi(2) / self.freedom + scaled.powi(2) / mean.freedom;
        let freedom = if of_sum > 0.0 { sum.powi(2) / of_sum } else { 1.0 };
        around(mean.value, sum, freedom, confidence)
    }

    /// The difference of the means of two levels, and its standard error by the model alone. `None`
    /// where one has no value.
    pub fn difference(&self, of: usize, from: usize) -> Option<(f64, f64)> {
        let (above, below) = ((*self.means.get(of)?)?, (*self.means.get(from)?)?);
        let variance = above.by_model + below.by_model - 2.0 * self.covariance[of][from];
        Some((above.value - below.value, variance.max(0.0).sqrt()))
    }
}

fn around(value: f64, variance: f64, freedom: f64, confidence: f64) -> Option<Interval> {
    alpha(confidence)?;
    let half = StudentT::new(freedom)?.critical_value(confidence)? * variance.sqrt();
    half.is_finite().then_some(Interval {
        low: value - half,
        high: value + half,
        achieved_confidence: confidence,
    })
}
