//! `components` and `pacing`: what wake-ups, calls and bytes cost, and how well that tells the cost
//! at a rate that was left out.

use super::section::Section;
use crate::digits::{rate, ratio, significant, us_per_mb, with_half_width};
use crate::run::pivot_tables::NONE;
use crate::run::rows::cost;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{Components, Estimates, Figure, Prediction};
use zc_run::escape;

pub(super) fn section(estimates: &Estimates) -> Section {
    Section { parts: parts(estimates), conclusion: conclusion(estimates) }
}

/// The coefficients of each series, and what the other rates predict of each rate.
fn parts(estimates: &Estimates) -> Vec<Part> {
    let series = series(estimates);
    let tables = [coefficients(series), predictions(series)];
    let mut parts: Vec<Part> = tables.into_iter().flatten().collect();
    if !parts.is_empty() {
        parts.extend(harness(estimates).map(|sentence| Part::Text(vec![sentence])));
    }
    parts
}

/// The coefficients, and how well costs at other rates are predicted, in sentences.
fn conclusion(estimates: &Estimates) -> Option<String> {
    let each = series(estimates).iter().map(|series| {
        let call = series.call_ns.map_or_else(String::new, |call| {
            format!(", {} us a call", significant(call.value / 1e3))
        });
        format!(
            "{} {} us a wake-up{call} and {} us/MB",
            escape(&series.name, 60),
            significant(series.wake_up_ns.value / 1e3),
            significant(us_per_mb(series.ns_per_kib.value))
        )
    });
    let each: Vec<String> = each.collect();
    let cost = (!each.is_empty()).then(|| format!("Cost: {}.", each.join("; ")))?;
    Some(match predicted(estimates) {
        Some(predicted) => format!("{cost} {predicted}"),
        None => cost,
    })
}

/// Accuracy of predicted costs at other rates.
fn predicted(estimates: &Estimates) -> Option<String> {
    let predictions = || series(estimates).iter().flat_map(|series| &series.predictions);
    let count = predictions().count();
    let holds = |prediction: &&Prediction| {
        let interval = prediction.measured_by_predicted.interval;
        interval.is_some_and(|ends| ends.low <= 1.0 && ends.high.is_none_or(|high| high >= 1.0))
    };
    let hold = predictions().filter(holds).count();
    let worst = predictions().max_by(|one, other| log_error(one).total_cmp(&log_error(other)))?;
    Some(format!(
        "Costs at a rate are predicted by those at other rates within their intervals in {hold} of \
         {count} cells; the farthest off costs {} ({}) of what is predicted.",
        ratio_text(&worst.measured_by_predicted),
        escape(&worst.cell, 60),
    ))
}

/// Components of both sides.
fn series(estimates: &Estimates) -> &[Components] {
    estimates.components.both.as_deref().unwrap_or_default()
}

fn coefficients(series: &[Components]) -> Option<Part> {
    let columns = vec![
        Column::left("", ""),
        Column::right("a wake-up", "us"),
        Column::right("a call", "ns"),
        Column::right("a byte", "us/MB"),
    ];
    let rows: Vec<Vec<String>> = series
        .iter()
        .map(|series| {
            let wake_up = series.wake_up_ns;
            let call = series.call_ns.map(|call| with_half_width(call.value, call.half_width));
            vec![
                escape(&series.name, 60),
                with_half_width(wake_up.value / 1e3, wake_up.half_width.map(|half| half / 1e3)),
                call.unwrap_or_else(|| NONE.to_owned()),
                cost(Some(series.ns_per_kib)),
            ]
        })
        .collect();
    let caption = "Cost as a x wake-ups + b x calls + c x bytes";
    (!rows.is_empty()).then(|| Part::Table {
        caption: caption.to_owned(),
        keys: 1,
        grid: Grid::new(columns, rows),
    })
}

/// One column for each rate, with the message that is farthest off.
fn predictions(series: &[Components]) -> Option<Part> {
    let mut rates: Vec<f64> = Vec::new();
    for prediction in series.iter().flat_map(|series| &series.predictions) {
        if !rates.contains(&prediction.rate_bytes_per_s) {
            rates.push(prediction.rate_bytes_per_s);
        }
    }
    let farthest = |series: &Components, rate: f64| {
        let at_rate = series.predictions.iter().filter(|each| each.rate_bytes_per_s == rate);
        at_rate
            .max_by(|one, other| log_error(one).total_cmp(&log_error(other)))
            .map_or_else(|| NONE.to_owned(), |each| ratio_text(&each.measured_by_predicted))
    };
    let mut columns = vec![Column::left("", "")];
    columns.extend(rates.iter().map(|each| Column::right(rate(*each), "")));
    let rows = series.iter().map(|series| {
        let mut row = vec![escape(&series.name, 60)];
        row.extend(rates.iter().map(|rate| farthest(series, *rate)));
        row
    });
    let caption = "Cost at each rate divided by what the other rates predict, of the message \
        farthest off";
    (!rates.is_empty()).then(|| Part::Table {
        caption: caption.to_owned(),
        keys: 1,
        grid: Grid::new(columns, rows.collect()),
    })
}

/// Logarithmic error of a prediction, either way.
fn log_error(prediction: &Prediction) -> f64 {
    prediction.measured_by_predicted.value.ln().abs()
}

fn ratio_text(figure: &Figure) -> String {
    ratio(figure.value, figure.half_width.map(|half| half / figure.value))
}

/// Cost of a wake-up of the reference's pacing that sends nothing: it is in none of the
/// coefficients.
fn harness(estimates: &Estimates) -> Option<String> {
    let reference = estimates.cells.iter().find(|cell| cell.reference)?;
    let wake_ups_per_kib = reference.traffic.wake_ups_per_mb? * 1024e-6;
    let harness = reference.harness_ns_per_kib?;
    let us = |ns_per_kib: f64| ns_per_kib / wake_ups_per_kib / 1e3;
    Some(us(harness.value)).filter(|us| us.is_finite()).map(|value| {
        format!(
            "A wake-up that sends nothing, paced as {}, costs {} us, zc's meters included; that is \
             in no figure here.",
            escape(&reference.label, 60),
            with_half_width(value, harness.half_width.map(us)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_half_of_the_prediction_is_as_far_off_as_one_that_is_twice_as_much() {
        let prediction = |value| Prediction {
            cell: String::new(),
            rate_bytes_per_s: 1e6,
            measured_by_predicted: Figure { value, interval: None, half_width: None, blocks: 1 },
        };
        assert!((log_error(&prediction(0.5)) - log_error(&prediction(2.0))).abs() < 1e-12);
    }
}
