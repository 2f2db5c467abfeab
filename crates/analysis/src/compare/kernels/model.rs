//! The comparison of two kernels as data.

use schemars::JsonSchema;
use serde::Serialize;
use zc_stats::StudentT;

use crate::compare::effect::CONFIDENCE;
use crate::compare::model::{ChangeVerdict, Difference, JudgedBy};
use crate::model::verdict::Withheld;

/// Which kernel a boot is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The first kernel, whose costs are the divisors.
    Old,
    /// The first kernel again under its own name: the control.
    OldAgain,
    /// The second kernel.
    New,
}

impl Arm {
    /// The name of a boot of kernels with these names: `A`, `A again`, `B`.
    pub fn name(self, [old, new]: [&str; 2]) -> String {
        match self {
            Self::Old => old.to_owned(),
            Self::OldAgain => format!("{old} again"),
            Self::New => new.to_owned(),
        }
    }
}

/// Two kernels, compared by boots.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Kernels {
    /// Rounds in which both kernels have figures.
    pub rounds: usize,
    /// Rounds in which the first kernel has figures of both of its boots.
    pub control_rounds: usize,
    /// Whether the CPUs are emulated, so that nothing has a cost.
    pub emulated: bool,
    /// Whether the bytes went to another guest on a wire, which has the first kernel in every boot:
    /// costs are those of the sending guest then.
    pub wire: bool,
    /// Whether costs are net of zc's own harness.
    pub net: bool,
    /// Simultaneous confidence level of all verdicts, and that of each interval: 0.95.
    pub confidence: f64,
    /// What else differs between the first measured boots of both kernels.
    pub differences: Vec<Difference>,
    /// Why verdicts are withheld: cells in which the first kernel differs from itself.
    pub control_differs: Vec<String>,
    /// Measured boots that are in no figure.
    pub left_out: Vec<LeftOutBoot>,
    /// The cells of both, in the order of the plan.
    pub cells: Vec<KernelCell>,
}

impl Kernels {
    /// Whether a cell could be measured under the first kernel alone. Without a measured boot of
    /// the second kernel none is lost: nobody knows.
    pub fn is_lost(&self, cell: &KernelCell) -> bool {
        let is_measured = self.cells.iter().any(|each| each.new_bytes.is_some());
        is_measured && cell.old_bytes.is_some() && cell.new_bytes.is_none()
    }
}

/// A measured boot that is in no figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LeftOutBoot {
    /// The round, from 1.
    pub round: usize,
    /// Which boot of it.
    pub arm: Arm,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why a measured boot is in no figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum WhyLeftOut {
    /// Too few of its blocks count.
    TooFewBlocks {
        /// Number of kept blocks.
        kept: usize,
        /// Number needed.
        needed: usize,
    },
    /// It was measured over another link, or differs in another way that forbids comparing.
    Differs {
        /// Differences from the first boot.
        differences: Vec<Difference>,
    },
    /// Its verdicts would be withheld.
    Withheld {
        /// Reason.
        reason: Withheld,
    },
}

/// A cell under two kernels.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KernelCell {
    /// Its label.
    pub label: String,
    /// Bytes that it sent in all boots of the first kernel; `None`: it could not be measured there.
    pub old_bytes: Option<u64>,
    /// Bytes that it sent in all boots of the second kernel.
    pub new_bytes: Option<u64>,
    /// What it costs under the first kernel.
    pub old_cost: Option<BootCost>,
    /// What it costs under the second kernel.
    pub new_cost: Option<BootCost>,
    /// The second kernel's cost divided by the first one's.
    pub cost: Option<BootRatio>,
    /// The same of costs divided by the geometric mean of the other cells' in the same blocks, but
    /// for those that differ; `None` for the first of two cells, and for a single one.
    pub relative: Option<BootRatio>,
    /// The first kernel's cost in its second boots divided by that in its first ones: 1, but for
    /// chance.
    pub same: Option<BootRatio>,
    /// What receiving the same bytes cost the far guest on a wire; `None` on any other link.
    pub far: Option<FarCost>,
    /// The ratio that the verdict is about; `None` without a figure.
    pub judged_by: Option<JudgedBy>,
    /// The verdict, corrected for both ratios of all cells.
    #[serde(rename = "word")]
    pub verdict: ChangeVerdict,
}

impl KernelCell {
    /// The ratio that the verdict is about.
    pub fn judged(&self) -> Option<&BootRatio> {
        match self.judged_by? {
            JudgedBy::Cost => self.cost.as_ref(),
            JudgedBy::Relative => self.relative.as_ref(),
        }
    }
}

/// What a cell costs the far guest on a wire, which has the first kernel in every boot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FarCost {
    /// In boots of the first kernel.
    pub old_cost: Option<BootCost>,
    /// In boots of the second kernel.
    pub new_cost: Option<BootCost>,
    /// The latter divided by the former.
    pub cost: BootRatio,
}

/// A cost by boots: the geometric mean with Student's t interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BootCost {
    /// Microseconds per MB.
    pub us_per_mb: f64,
    /// Lower end of its 95 % interval; `None` of one boot.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Number of boots.
    pub boots: usize,
}

/// A ratio by rounds: the geometric mean with Student's t interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BootRatio {
    /// Above 1: dearer.
    pub ratio: f64,
    /// Lower end of its 95 % interval; `None` of one round.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Two-sided p-value of the hypothesis of no difference, not corrected for other cells.
    pub p_value: Option<f64>,
    /// Number of rounds.
    pub rounds: usize,
}

impl BootRatio {
    /// The larger distance of its interval's ends from 1, as a share.
    pub fn within(&self) -> Option<f64> {
        Some((self.high? - 1.0).max(1.0 / self.low? - 1.0))
    }

    /// One-sided p-values of the hypotheses that the ratio is not above, and not below, a bound;
    /// `None` without an interval. The interval is Student's about the logarithm.
    pub(super) fn one_sided_p_values(&self, bound: f64) -> Option<(f64, f64)> {
        let student = StudentT::new(self.rounds as f64 - 1.0)?;
        let half = (self.high? / self.low?).ln() / 2.0;
        let off = (self.ratio / bound).ln() * student.critical_value(CONFIDENCE)? / half;
        off.is_finite().then(|| (student.survival(off), student.survival(-off)))
    }

    /// The larger of high/ratio - 1 and 1 - low/ratio.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? / self.ratio - 1.0).max(1.0 - self.low? / self.ratio))
    }
}
