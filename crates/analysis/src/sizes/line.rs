//! The line of a series: cost of a call = a + b x size, with bootstrap intervals over whole blocks.
//!
//! The lines are fitted to costs without their block's level ([`crate::block_costs`]), and a line's
//! a and b are multiplied by the level over all resampled blocks. The intersection of lines does
//! not depend on it.

use zc_stats::nonnegative_fit;

use super::series::SeriesCells;
use crate::block_costs::BlockCosts;
use crate::bootstrap::Bootstrap;
use crate::model::sizes::{Line, Residual};

/// A measured point of a series.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) size: usize,
    /// Index of its cell in the plan.
    pub(super) place: usize,
    /// Cost of a call, ns.
    pub(super) call_ns: f64,
}

impl Point {
    fn kib(&self) -> f64 {
        self.size as f64 / 1024.0
    }
}

/// A line: cost of a call and of a KiB, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FittedLine {
    pub(super) call_ns: f64,
    pub(super) ns_per_kib: f64,
}

impl FittedLine {
    /// Cost of a call with `size` bytes, ns.
    pub(super) fn at(&self, size: f64) -> f64 {
        self.call_ns + self.ns_per_kib * size / 1024.0
    }
}

/// A series with its points and lines.
pub(super) struct Fitted {
    /// Points with a cost above 0, by rising size.
    pub(super) points: Vec<Point>,
    /// Its line by resample, all at the level of the observed sample.
    pub(super) lines: Vec<Option<FittedLine>>,
}

impl Fitted {
    pub(super) fn fit(members: &SeriesCells, costs: &BlockCosts, boot: &Bootstrap) -> Self {
        let all = vec![1; boot.blocks];
        let point = |(size, place): &(usize, usize)| {
            let cost = costs.drawn(*place, &all)?;
            (cost > 0.0).then_some(Point {
                size: *size,
                place: *place,
                call_ns: cost * *size as f64 / 1024.0,
            })
        };
        let points: Vec<Point> = members.cells.iter().filter_map(point).collect();
        let line = |times: &[u32]| {
            // Weights are those of the observed sample, so that chance in one resample does not
            // decide which points count.
            let drawn = |point: &Point| {
                let cost = costs.drawn(point.place, times)?;
                Some(([1.0, point.kib()], cost * point.kib(), point.call_ns.powi(-2)))
            };
            let drawn: Vec<_> = points.iter().map(drawn).collect::<Option<_>>()?;
            let [call_ns, ns_per_kib] = nonnegative_fit(&drawn)?;
            Some(FittedLine { call_ns, ns_per_kib })
        };
        let lines = boot.map(line);
        Self { points, lines }
    }

    pub(super) fn point(&self, size: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.size == size)
    }

    pub(super) fn line(&self, costs: &BlockCosts, boot: &Bootstrap) -> Option<Line> {
        let line = self.lines[0]?;
        let figure = |part: fn(&FittedLine) -> f64| {
            costs.coefficient(self.lines.iter().map(|line| line.as_ref().map(part)), boot)
        };
        let residual = |point: &Point| Residual {
            size_bytes: point.size,
            share: point.call_ns / line.at(point.size as f64) - 1.0,
        };
        let residuals =
            self.points.iter().map(residual).filter(|residual| residual.share.is_finite());
        Some(Line {
            call_ns: figure(|line| line.call_ns)?,
            ns_per_kib: figure(|line| line.ns_per_kib)?,
            largest_residual: residuals
                .max_by(|one, other| one.share.abs().total_cmp(&other.share.abs()))?,
        })
    }
}
