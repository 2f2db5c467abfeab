//! Variation of this machine's costs from run to run while nothing is changed, from several runs of
//! one state.
//!
//! Two runs show it by their own wander, but not well: a minute has few stretches to compare.
//! Several runs show it better. Each run gives one value for each cell, with the standard error
//! that its blocks show, and [`zc_stats::variance_component`] estimates by how much more the values
//! differ. Two deviations are estimated: that of *costs*, and that of the part of a cost that is
//! the path's own, from costs relative to those of all other cells in the same blocks. Both are as
//! a comparison uses them.

use std::f64::consts::SQRT_2;

use schemars::JsonSchema;
use serde::Serialize;
use zc_stats::variance_component;

use super::accounts::differ;
use super::config_diff;
use super::effect::{CONFIDENCE, MIN_BLOCKS, NON_FINITE_LIMIT, level, standard_error};
use super::model::{Aspect, CalibrationBasis, Deviation, Difference, SelectionFacts, Weight};
use super::normalization::{contrast, cost_log, cost_logs, same_cells};
use super::selection::{Selection, facts, same_run};
use super::spread::{Spread, variances_in_a_relative_cost};
use super::trust::bars;
use crate::costs::Side;
use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::model::verdict::Withheld;
use zc_run::{Header, Run};

/// Fewest runs of a calibration. With three, an interval has two degrees of freedom and is twice as
/// wide as with many.
const MIN_RUNS: usize = 3;

/// Share of the changes of a given size that a comparison is to find.
const POWER: f64 = 0.8;

/// Variation of a machine's costs from run to run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    /// The runs, in the order given.
    pub runs: Vec<SelectionFacts>,
    /// Runs that were given and not used.
    pub left_out: Vec<LeftOut>,
    /// Link of all of them.
    pub link: String,
    /// Whether costs are net of zc's own harness.
    pub net: bool,
    /// Differences of the runs from the first of them. The deviations contain their effect.
    pub differences: Vec<Difference>,
    /// Deviation between runs of the logarithm of a cost.
    pub cost: Deviation,
    /// Deviation between runs of the part of that logarithm which is the path's own; `None` with
    /// fewer than two cells.
    pub path: Option<Deviation>,
    /// The cells that all runs have, in the order of the first plan.
    pub cells: Vec<CalibratedCell>,
    #[serde(skip)]
    header: Header,
}

/// A cell of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CalibratedCell {
    /// Its label.
    pub label: String,
    /// Spread of its cost.
    pub cost: CellSpread,
    /// Spread of its cost relative to that of the other cells; `None` where there are none.
    pub relative: Option<CellSpread>,
}

/// Spread of one figure of a cell from run to run: standard deviations as shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CellSpread {
    /// Observed between the runs.
    pub seen: f64,
    /// Explained by the blocks of the runs.
    pub explained: f64,
    /// The smallest change that a comparison of this cell alone, between two such runs, finds in
    /// four of five cases.
    pub finds: f64,
}

/// A run that was given and not used.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Name given by the user.
    pub name: String,
    /// Why.
    pub why: Unusable,
}

/// Why a run is no part of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Unusable {
    /// It is what is compared.
    Compared,
    /// It is the same run as another one.
    SameAs {
        /// Name of that, as given by the user.
        name: String,
    },
    /// Too few blocks were kept.
    TooFewBlocks {
        /// Number of kept blocks.
        kept: usize,
        /// Number needed.
        needed: usize,
    },
    /// A comparison would withhold its verdicts.
    Withheld {
        /// Reason.
        reason: Withheld,
    },
}

/// Why runs are no calibration.
#[derive(Debug, Clone, PartialEq)]
pub enum Uncalibrated {
    /// Too few of them can be used.
    TooFewRuns {
        /// Number of those that can.
        usable: usize,
        /// Number needed.
        needed: usize,
        /// The others.
        left_out: Vec<LeftOut>,
    },
    /// Two of them measured different things.
    Differ {
        /// Names of the two.
        names: (String, String),
        /// Differences between the two.
        differences: Vec<Difference>,
    },
    /// No cell has costs in all of them.
    NoCommonCell,
}

/// Estimates by how much costs differ between runs of one state. Runs in `compared` are left out.
///
/// # Errors
/// The runs are too few, or not of one kind.
pub fn calibrate(
    runs: &[Selection<'_>],
    compared: &[Selection<'_>],
) -> Result<Calibration, Uncalibrated> {
    let (mut used, mut left_out) = usable(runs, compared, KeptBlocks::from_run);
    if differ(used.iter().map(|(_, kept)| kept.account)) {
        (used, left_out) =
            usable(runs, compared, |run| KeptBlocks::from_run(run).at_wall_time(run));
    }
    if used.len() < MIN_RUNS {
        let (usable, needed) = (used.len(), MIN_RUNS);
        return Err(Uncalibrated::TooFewRuns { usable, needed, left_out });
    }
    let (used, mut kept): (Vec<&Selection<'_>>, Vec<KeptBlocks<'_>>) = used.into_iter().unzip();
    let differences = differences(&used)?;
    let facts = used.iter().zip(&kept).map(|(run, kept)| facts(run, kept)).collect();
    let net = kept.iter().all(KeptBlocks::is_net);
    if !net {
        kept = kept.into_iter().map(KeptBlocks::gross).collect();
    }
    let cells = common_cells(&kept);
    let costs = Levels::estimate(&kept, &cells, |kept, cell, _| cost_logs(kept, cell, Side::Both));
    let relative = Levels::estimate(&kept, &cells, |kept, cell, others| {
        contrast(kept, &[cell], others, Side::Both)
    });
    let others = cells.len().saturating_sub(1);
    let cost = costs.deviation(1.0).ok_or(Uncalibrated::NoCommonCell)?;
    let path =
        (others > 0).then(|| relative.deviation(variances_in_a_relative_cost(others))).flatten();
    let header = used[0].run.header.clone();
    let cells = cells
        .iter()
        .enumerate()
        .filter(|(_, places)| !header.plan.cells[places[0]].control)
        .filter_map(|(at, places)| {
            let path = path.as_ref().map(|path| Spread::from(&path.component));
            Some(CalibratedCell {
                label: header.plan.cells[places[0]].label.clone(),
                cost: costs.spread(at, Spread::from(&cost.component))?,
                relative: path.and_then(|path| {
                    relative.spread(at, path.times(variances_in_a_relative_cost(others)))
                }),
            })
        })
        .collect();
    Ok(Calibration {
        runs: facts,
        left_out,
        link: header.link.kind.to_string(),
        net,
        differences,
        cost,
        path,
        cells,
        header,
    })
}

impl Calibration {
    /// Differences that make a run's costs incomparable with the calibrated ones: another link,
    /// another machine.
    pub fn unlike(&self, run: &Selection<'_>) -> Vec<Difference> {
        let differences = config_diff::between_runs(&self.header, &run.run.header);
        let is_another = |each: &Difference| {
            each.weight == Weight::Disqualifies
                || matches!(each.what, Aspect::Cpu | Aspect::Hypervisor | Aspect::Architecture)
        };
        differences.into_iter().filter(is_another).collect()
    }

    pub(super) fn basis(&self) -> CalibrationBasis {
        let Self { net, cost, path, .. } = *self;
        CalibrationBasis { runs: self.runs.len(), net, cost, path }
    }
}

/// The runs that can be used, with their blocks, and those that cannot.
fn usable<'a>(
    runs: &'a [Selection<'a>],
    compared: &[Selection<'_>],
    blocks: fn(&'a Run) -> KeptBlocks<'a>,
) -> (Vec<(&'a Selection<'a>, KeptBlocks<'a>)>, Vec<LeftOut>) {
    let mut used: Vec<(&Selection<'_>, KeptBlocks<'_>)> = Vec::new();
    let mut left_out = Vec::new();
    for run in runs {
        let known = used.iter().find(|(other, _)| same_run(other, run));
        let kept = if compared.iter().any(|other| same_run(other, run)) {
            Err(Unusable::Compared)
        } else if let Some((other, _)) = known {
            Err(Unusable::SameAs { name: other.name.clone() })
        } else {
            usable_blocks(run, blocks(run.run))
        };
        match kept {
            Ok(kept) => used.push((run, kept)),
            Err(why) => left_out.push(LeftOut { name: run.name.clone(), why }),
        }
    }
    (used, left_out)
}

fn usable_blocks<'a>(
    run: &Selection<'a>,
    kept: KeptBlocks<'a>,
) -> Result<KeptBlocks<'a>, Unusable> {
    if kept.blocks.len() < MIN_BLOCKS {
        return Err(Unusable::TooFewBlocks { kept: kept.blocks.len(), needed: MIN_BLOCKS });
    }
    match bars(run, &kept) {
        Some(reason) => Err(Unusable::Withheld { reason }),
        None => Ok(kept),
    }
}

/// Differences of the runs from the first.
fn differences(used: &[&Selection<'_>]) -> Result<Vec<Difference>, Uncalibrated> {
    let mut all: Vec<Difference> = Vec::new();
    let first = used[0];
    for run in &used[1..] {
        let found = config_diff::between_runs(&first.run.header, &run.run.header);
        if found.iter().any(|each| each.weight == Weight::Disqualifies) {
            return Err(Uncalibrated::Differ {
                names: (first.name.clone(), run.name.clone()),
                differences: found,
            });
        }
        for each in found {
            if !all.contains(&each) {
                all.push(each);
            }
        }
    }
    Ok(all)
}

/// The index of each cell that all runs have and whose costs are above the noise floor, in the plan
/// of each run.
fn common_cells(kept: &[KeptBlocks<'_>]) -> Vec<Vec<usize>> {
    let pairs: Vec<Vec<(usize, usize)>> =
        kept.iter().map(|other| same_cells(&kept[0], other)).collect();
    let is_measured = |kept: &KeptBlocks<'_>, cell: usize| {
        let is_finite =
            |block: &usize| cost_log(kept, *block, cell, Side::Both).is_some_and(f64::is_finite);
        let finite = (0..kept.costs.len()).filter(is_finite).count();
        finite as f64 >= (1.0 - NON_FINITE_LIMIT) * kept.costs.len() as f64
    };
    let in_all = |cell: usize| -> Option<Vec<usize>> {
        pairs
            .iter()
            .zip(kept)
            .map(|(places, kept)| {
                let (_, other) = *places.iter().find(|(place, _)| *place == cell)?;
                is_measured(kept, other).then_some(other)
            })
            .collect()
    };
    (0..kept[0].header.plan.cells.len()).filter_map(in_all).collect()
}

/// The location of a logarithm and its standard error, by cell, then by run.
struct Levels(Vec<Vec<(f64, f64)>>);

impl Levels {
    /// `logs`: those of a cell in one run, given the other cells.
    fn estimate(
        kept: &[KeptBlocks<'_>],
        cells: &[Vec<usize>],
        logs: impl Fn(&KeptBlocks<'_>, usize, &[usize]) -> Vec<f64>,
    ) -> Self {
        let row = |at: usize| -> Vec<(f64, f64)> {
            let of_run = |(run, kept): (usize, &KeptBlocks<'_>)| {
                let others: Vec<usize> = (0..cells.len())
                    .filter(|other| *other != at)
                    .map(|other| cells[other][run])
                    .collect();
                let mut logs = logs(kept, cells[at][run], &others);
                // By noise, another cell cost nothing in such a block.
                logs.retain(|log| *log < f64::INFINITY);
                level(&logs)
            };
            kept.iter().enumerate().map(of_run).collect::<Option<_>>().unwrap_or_default()
        };
        Self((0..cells.len()).map(row).collect())
    }

    /// Deviation between runs of a part of these whose variance is smaller by the factor `scale`.
    fn deviation(&self, scale: f64) -> Option<Deviation> {
        let scaled: Vec<Vec<(f64, f64)>> = self
            .0
            .iter()
            .filter(|row| !row.is_empty())
            .map(|row| {
                row.iter()
                    .map(|(value, error)| (value / scale.sqrt(), error / scale.sqrt()))
                    .collect()
            })
            .collect();
        let component = variance_component(&scaled)?;
        let interval = component.deviation_interval(CONFIDENCE)?;
        Some(Deviation {
            between_runs: component.variance.sqrt(),
            low: interval.low,
            high: interval.high,
            degrees_of_freedom: component.degrees_of_freedom,
            component,
        })
    }

    /// Spread of one cell. `between`: its assumed spread between runs.
    fn spread(&self, at: usize, between: Spread) -> Option<CellSpread> {
        let own = variance_component(std::slice::from_ref(&self.0[at]))?;
        let row = &self.0[at];
        let explained =
            (row.iter().map(|(_, error)| error.powi(2)).sum::<f64>() / row.len() as f64).sqrt();
        // The blocks of two runs are so many that their standard errors are known.
        let (error, student) = standard_error(explained * SQRT_2, f64::INFINITY, between)?;
        let reach =
            student.critical_value(CONFIDENCE)? + student.critical_value(2.0 * POWER - 1.0)?;
        Some(CellSpread {
            seen: own.total.sqrt(),
            explained,
            finds: finite((error * reach).exp_m1())?,
        })
    }
}
