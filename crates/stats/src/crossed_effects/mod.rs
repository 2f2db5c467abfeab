//! Random effects of two crossed factors: values that each belong to a unit and to a partner, units
//! that belong to levels, known errors.
//!
//! A fleet of machines is an example: a value is the cost of a host in a session with another host,
//! and each host belongs to a generation.

mod freedom;
mod level;
mod model;
mod reml;
#[cfg(test)]
mod tests;

pub use self::model::{Crossed, CrossedEffects, LevelMean, RandomEffect};

use self::freedom::{Freedom, Names};
use self::level::Level;
use self::reml::{fit, inverse_of, square, start};
use crate::dense::is_squarable;
use crate::mixed_model::{Design, Inverse, PARTNERS, SESSIONS, Solution, UNITS};

/// Fits means of levels, effects of units and of partners, and sessions to values with known
/// errors.
///
/// A value is the mean of its level, plus the effects of its unit and of its partner, plus that of
/// its session (of itself), plus an error of the given standard deviation; all effects are normal
/// and independent. A unit is usually of one level, and then means of levels are means over units.
///
/// **Variances** maximise the restricted likelihood (Patterson and Thompson, Biometrika 58, 1971)
/// by Newton's steps with the average information (Gilmour, Thompson and Cullis, Biometrics 51,
/// 1995), from a start by the analysis of variance, with every step shortened until the likelihood
/// rises. One at 0 is an ordinary outcome. The effect of partners is left out where some value has
/// none and where fewer than two of its degrees of freedom are not those of units; that of sessions
/// where no value is left to estimate it.
///
/// **Means** have the variance of generalised least squares, scaled in the manner of Hartung and
/// Knapp (Knapp and Hartung, Statistics in Medicine 22, 2003). Their factor q is the weighted sum
/// of squares of the units' means around the level's, divided by its degrees of freedom: it is 1 on
/// average, and smaller or larger as the units of this level differ less or more than the variances
/// say. With crossed effects it is the weighted mean of squares of the units' standardised
/// predictors, which is the same where there are no partners. q multiplies the part of the variance
/// that comes from units, sessions and errors, and has k - 1 degrees of freedom with k units. The
/// part that comes from partners is added as it is, with one fewer degrees of freedom than
/// partners: units of a level share them. Student's t has the degrees of freedom of the sum
/// (Satterthwaite). Where units are of several levels, q is 1 and the degrees of freedom are those
/// of all values. With two or three units, q is at least 1 (Röver, Knapp and Friede, BMC Medical
/// Research Methodology 15, 2015): two that happen to be alike would make an interval of no width.
///
/// **The share** of heterogeneity is I^2 (Higgins and Thompson, Statistics in Medicine 21, 2002),
/// with their typical variance of errors.
///
/// Dense algebra over levels and partners: O((levels + partners)^3) for each of some six steps.
/// `None` without a value, for values and errors beyond 1e100 and errors below 0, and where
/// numbers do not suffice.
///
/// ```
/// use zc_stats::Crossed;
/// let of = |value, unit| Crossed { value, error: 0.1, level: 0, unit, partner: None };
/// let values = [of(1.0, 0), of(1.2, 0), of(2.0, 1), of(2.2, 1), of(3.1, 2), of(2.9, 2)];
/// let found = zc_stats::crossed_effects(&values).unwrap();
/// let mean = found.means[0].unwrap();
/// assert!((mean.value - 2.07).abs() < 0.01);
/// assert!(mean.interval(0.95).unwrap().contains(2.0));
/// assert!((found.unit_variance - 0.9).abs() < 0.1);
/// ```
pub fn crossed_effects(values: &[Crossed]) -> Option<CrossedEffects> {
    let valid =
        |each: &Crossed| is_squarable(each.value) && is_squarable(each.error) && each.error >= 0.0;
    if values.is_empty() || !values.iter().all(valid) {
        return None;
    }
    let names = Names::assign(values);
    let freedom = Freedom::count(values, &names);
    let with_partners = freedom.partners >= 2;
    let centre = values.iter().map(|each| each.value).sum::<f64>() / values.len() as f64;
    let place = |each: &Crossed| {
        let partner = each.partner.filter(|_| with_partners);
        (
            names.levels.place(each.level),
            names.units.place(each.unit),
            partner.map(|partner| names.partners.place(partner)),
        )
    };
    let design = Design::new(
        values.iter().map(|each| each.value - centre).collect(),
        values.iter().map(|each| each.error.powi(2)).collect(),
        values.iter().map(place).collect(),
        (
            names.levels.count(),
            names.units.count(),
            if with_partners { names.partners.count() } else { 0 },
        ),
    );
    let with_sessions = if with_partners { freedom.sessions } else { freedom.without_partners };
    let fitted = fit(&design, with_sessions >= 1)?;
    Some(results(values, &names, &design, &fitted, centre, with_sessions >= 1))
}

fn results(
    values: &[Crossed],
    names: &Names,
    design: &Design,
    (solution, inverse): &(Solution<'_>, Inverse),
    centre: f64,
    with_sessions: bool,
) -> CrossedEffects {
    let floor = start(design).1;
    let variance = |which: usize| {
        let found = solution.variances[which];
        if found > floor * 1.01 { found } else { 0.0 }
    };
    let with_partners = design.partners > 0;
    let means = Level::all(design, solution, inverse);
    let rows: Vec<Vec<f64>> = means.iter().map(|level| level.row.clone()).collect();
    let of_levels: Vec<LevelMean> = means
        .iter()
        .map(|level| LevelMean { value: level.mean.value + centre, ..level.mean })
        .collect();
    let units: Vec<RandomEffect> = solution
        .of_units
        .iter()
        .zip(&inverse.of_units)
        .map(|(predicted, error)| effect(*predicted, *error, solution.variances[UNITS]))
        .collect();
    let partners: Vec<RandomEffect> = (0..design.partners)
        .map(|partner| {
            let predicted = solution.effects[design.levels + partner];
            effect(
                predicted,
                inverse.variance_of_partner(solution, partner),
                solution.variances[PARTNERS],
            )
        })
        .collect();
    let covariance = |one: usize, other: usize| {
        let place = |index: usize| names.levels.places.get(index).copied().flatten();
        match (place(one), place(other)) {
            (Some(one), Some(other)) => rows[one][other],
            _ => 0.0,
        }
    };
    let count = names.levels.places.len();
    let [of_units, of_partners, of_sessions] = [UNITS, PARTNERS, SESSIONS].map(variance);
    let sum = of_units
        + if with_partners { of_partners } else { 0.0 }
        + if with_sessions { of_sessions } else { 0.0 };
    CrossedEffects {
        means: names.levels.spread(&of_levels),
        covariance: (0..count)
            .map(|one| (0..count).map(|other| covariance(one, other)).collect())
            .collect(),
        units: names.units.spread(&units),
        partners: if with_partners {
            names.partners.spread(&partners)
        } else {
            vec![None; names.partners.places.len()]
        },
        residuals: solution.residuals.clone(),
        fitted_variances: inverse.variances_of_values(solution),
        own_variances: solution.weights.iter().map(|weight| 1.0 / weight).collect(),
        unit_variance: of_units,
        partner_variance: with_partners.then_some(of_partners),
        session_variance: with_sessions.then_some(of_sessions),
        heterogeneity: heterogeneity(values, sum),
        freedom: freedom_of_sum(solution, sum, floor, [true, with_partners, with_sessions]),
    }
}

/// An effect from its predictor. With z = 1 - error / variance, the share of what was seen that is
/// left of it, the predictor is z times what was seen.
fn effect(predicted: f64, error: f64, variance: f64) -> RandomEffect {
    let share = (1.0 - error / variance).max(f64::EPSILON);
    RandomEffect {
        predicted,
        error: error.max(0.0).sqrt(),
        seen: predicted / share,
        variance: variance / share,
    }
}

/// I squared, with the typical variance of errors of Higgins and Thompson.
fn heterogeneity(values: &[Crossed], sum: f64) -> f64 {
    let weights: Vec<f64> = values.iter().map(|each| each.error.powi(-2)).collect();
    let all: f64 = weights.iter().sum();
    let typical = (weights.len() as f64 - 1.0) * all / (all.powi(2) - square(&weights));
    // One value, or errors of 0.
    let typical = if typical.is_finite() { typical } else { values[0].error.powi(2) };
    if sum + typical > 0.0 { sum / (sum + typical) } else { 0.0 }
}

/// Degrees of freedom of the sum of variances: twice its square by its variance, which is the sum
/// of the inverse of the information.
fn freedom_of_sum(solution: &Solution<'_>, sum: f64, floor: f64, fitted: [bool; 3]) -> f64 {
    let information = solution.information();
    let free = [0, 1, 2].map(|each: usize| fitted[each] && solution.variances[each] > floor * 1.01);
    let most = solution.weights.len() as f64;
    let Some(inverse) = inverse_of(&information, free) else { return most };
    let variance: f64 = inverse.iter().flatten().sum();
    let freedom = 2.0 * sum.powi(2) / variance;
    if freedom.is_nan() { most } else { freedom.clamp(1.0, most) }
}
