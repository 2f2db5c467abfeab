//! Runs of fleets that do not exist, made of blocks that were measured: each is a stretch of one
//! recorded run. So it has the outliers of a real machine, what neighbouring blocks and the cells
//! of a block have in common, and the wander by which sessions differ.

use super::figures::{cost, ratio};
use super::model::{CellFigures, Logarithm};
use crate::random::Random;
use crate::ratios::Pair;
use crate::unit::us_per_mb;
use zc_stats::median;

/// Costs of sender and receiver by block (a line) and cell, in ns per KiB.
///
/// `zc run --link veth --paths read+send,sendfile,splice,msg-zerocopy --budget 200s` on the two
/// CPUs of a virtual machine (AMD EPYC, Linux 6.18), 26 November 2026: 541 of 672 blocks count; its
/// own verdicts tell of two states and of a wander of 4 %. See [`tests::costs_of_a_recorded_run`].
const VETH: &str = include_str!("testdata/veth.csv");

/// Measured costs by block, cell and end, each divided by its median.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    blocks: Vec<Vec<[f64; 2]>>,
}

impl Recorded {
    /// The recorded run.
    pub(super) fn veth() -> Self {
        let costs = |line: &str| -> Vec<f64> {
            line.split(',').map(|cost| cost.parse().unwrap()).collect()
        };
        let mut blocks: Vec<Vec<[f64; 2]>> = VETH
            .lines()
            .map(|line| costs(line).chunks(2).map(|of| [of[0], of[1]]).collect())
            .collect();
        for cell in 0..blocks[0].len() {
            for end in 0..2 {
                let all: Vec<f64> = blocks.iter().map(|block| block[cell][end]).collect();
                let middle = median(&all).unwrap();
                blocks.iter_mut().for_each(|block| block[cell][end] /= middle);
            }
        }
        Self { blocks }
    }

    /// Number of recorded cells.
    pub(super) fn cell_count(&self) -> usize {
        self.blocks[0].len()
    }

    /// The cells of a run of `count` blocks at a random moment, with these logarithms of costs (us
    /// per MB) of both ends. The first cell is the reference.
    pub(super) fn cells(
        &self,
        random: &mut Random,
        count: usize,
        costs: &[(&str, [f64; 2])],
    ) -> Vec<CellFigures> {
        self.from(random.below(self.blocks.len()), count, costs)
    }

    fn from(&self, start: usize, count: usize, costs: &[(&str, [f64; 2])]) -> Vec<CellFigures> {
        let blocks = || (start..start + count).map(|at| &self.blocks[at % self.blocks.len()]);
        let scaled = |cell: usize, end: usize| -> Vec<f64> {
            let middle = costs[cell].1[end].exp() / us_per_mb(1.0);
            blocks().map(|block| middle * block[cell][end]).collect()
        };
        let reference = scaled(0, 0);
        let figures = (0..costs.len()).map(|cell| {
            let sender = scaled(cell, 0);
            let pairs = sender.iter().zip(&reference);
            let pairs: Vec<Pair> =
                pairs.map(|(cost, base)| Pair { cost: *cost, base: *base }).collect();
            CellFigures {
                label: costs[cell].0.to_owned(),
                sender: cost(&sender),
                receiver: cost(&scaled(cell, 1)),
                both: None,
                ratio: (cell > 0).then(|| ratio(&pairs)).flatten(),
            }
        });
        figures.collect()
    }

    /// A run of `count` blocks at a random moment, as logarithms relative to what it is made with:
    /// as [`means`](Self::means).
    pub(super) fn moment(&self, random: &mut Random, count: usize) -> Vec<[f64; 3]> {
        self.mean_errors(random.below(self.blocks.len()), count)
    }

    fn mean_errors(&self, start: usize, count: usize) -> Vec<[f64; 3]> {
        let costs = vec![("", [0.0; 2]); self.cell_count()];
        let ln = |figure: Option<Logarithm>| figure.map_or(0.0, |figure| figure.ln);
        let to_logs = |cell: CellFigures| [ln(cell.sender), ln(cell.receiver), ln(cell.ratio)];
        self.from(start, count, &costs).into_iter().map(to_logs).collect()
    }

    /// Mean results of runs of `count` blocks, as logarithms relative to their true values, by
    /// cell: for the sender, the receiver, and the ratio. They are not 0, as a run reports the
    /// median of its blocks, and the machine was in one state for longer than in the other.
    pub(super) fn means(&self, count: usize) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; self.cell_count()];
        for start in 0..self.blocks.len() {
            for (sum, off) in
                sums.iter_mut().flatten().zip(self.mean_errors(start, count).iter().flatten())
            {
                *sum += off / self.blocks.len() as f64;
            }
        }
        sums
    }
}

mod tests {
    use crate::costs::Side;
    use crate::kept::KeptBlocks;

    #[test]
    #[ignore = "prints the file from the run that ZC_RUN names"]
    fn costs_of_a_recorded_run() {
        let path = std::env::var_os("ZC_RUN").expect("ZC_RUN names a saved run");
        let (run, _) = zc_run::read(std::fs::File::open(path).unwrap()).unwrap();
        let measured = run.header.plan.cells.iter().filter(|cell| !cell.control).count();
        for block in KeptBlocks::from_run(&run).costs {
            let cells = block.iter().take(measured).flatten();
            let costs: Vec<String> = cells
                .filter_map(|cost| {
                    let ns_per_kib = |side| cost.ns_per_kib(side);
                    Some(format!(
                        "{:.1},{:.1}",
                        ns_per_kib(Side::Sender)?,
                        ns_per_kib(Side::Receiver)?
                    ))
                })
                .collect();
            if costs.len() == measured {
                println!("{}", costs.join(","));
            }
        }
    }
}
