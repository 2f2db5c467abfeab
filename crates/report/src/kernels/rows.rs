//! The figures and the verdict of a cell under two kernels.

use crate::digits::{percent, ratio, with_half_width};
use zc_analysis::compare::kernels::{BootCost, BootRatio, KernelCell};
use zc_analysis::compare::{ChangeVerdict, JudgedBy};

pub(super) fn cost(cost: Option<&BootCost>) -> String {
    cost.map_or_else(String::new, |cost| {
        let half = cost
            .low
            .zip(cost.high)
            .map(|(low, high)| (high - cost.us_per_mb).max(cost.us_per_mb - low));
        with_half_width(cost.us_per_mb, half)
    })
}

pub(super) fn times(figure: Option<&BootRatio>) -> String {
    figure.map_or_else(String::new, |figure| ratio(figure.ratio, figure.half_width()))
}

pub(crate) fn word(cell: &KernelCell) -> String {
    let relative = match cell.judged_by {
        Some(JudgedBy::Relative) => ", relative",
        _ => "",
    };
    match cell.verdict {
        ChangeVerdict::Better { by } => format!("better, {} less{relative}", percent(by)),
        ChangeVerdict::Worse { by } => format!("worse, {} more{relative}", percent(by)),
        ChangeVerdict::Same { within } => format!("same within {}", percent(within)),
        ChangeVerdict::Undecided if cell.judged_by.is_none() => "no figure".to_owned(),
        ChangeVerdict::Undecided => "undecided".to_owned(),
        ChangeVerdict::Withheld => "withheld".to_owned(),
    }
}
