//! Estimates of one cell of the plan: its cost, the ratio to its baseline, its top speed and its
//! counters.

use zc_stats::{Wander, huber_location, median};

use crate::account_kind::AccountKind;
use crate::costs::{Side, TrialCost};
use crate::events;
use crate::figures::{cost_figure, figure, finite, gbit_per_core, per, ratio_figure};
use crate::kept::KeptBlocks;
use crate::model::cell::{CellEstimate, Perturbation, RATE_HELD};
use crate::model::figure::{Figure, RatioFigure, Sides};
use crate::others;
use crate::ratios::{Pair, pairs, ratio};
use crate::requests;
use crate::sockets;
use crate::states::two_states;
use crate::traffic;
use crate::window::{elapsed_ns, throughput};
use zc_run::{Cell, Trial, TrialKind};

pub(super) fn cell(kept: &KeptBlocks, place: usize) -> CellEstimate {
    let cell = &kept.header.plan.cells[place];
    let is_reference = kept.reference == Some(place);
    let costs = |of: &dyn Fn(&TrialCost) -> Option<f64>| -> Vec<f64> {
        kept.costs.iter().filter_map(|block| of(block.get(place)?.as_ref()?)).collect()
    };
    let figure_of = |side, of: &dyn Fn(&TrialCost) -> Option<f64>| {
        cost_figure(&costs(of), kept.wanders.costs(side), kept.level)
    };
    let net = |side| figure_of(side, &|cost| cost.ns_per_kib(side));
    let cost = sides(net);
    let gross = sides(|side| figure_of(side, &|cost| cost.gross_ns_per_kib(side)));
    let harness = costs(&|cost| cost.harness_ns_per_kib(Side::Both));
    let both = costs(&|cost| cost.ns_per_kib(Side::Both));
    let copied_share = copied_share(kept, &cell.label);
    let traffic = traffic::traffic(kept, cell);
    CellEstimate {
        label: cell.label.clone(),
        transfer: cell.transfer,
        levels: cell.levels.clone(),
        by: kept.index.baseline(place).map(|base| kept.header.plan.cells[base].label.clone()),
        reference: is_reference,
        control: cell.control,
        positive_control: cell.control && !cell.is_aa_control(),
        blocks: both.len(),
        cost_ns_per_kib: cost,
        mean_cost_ns_per_kib: sides(|side| kept.total_cost(place, |cost| cost.ns(side))),
        gross_cost_ns_per_kib: gross,
        harness_ns_per_kib: figure(&harness, kept.level),
        other_cpus_ns_per_kib: net(Side::OtherCpus),
        ratio: ratios(kept, place),
        two_states: two_states(kept, &to_base_pairs(kept, place, Side::Both)),
        at_noise_floor: cost.both.as_ref().is_some_and(reaches_zero),
        below_zero: kept.below_zero(&both).is_some(),
        blocks_not_positive: both.iter().filter(|cost| **cost <= 0.0).count(),
        gbit_per_core: Sides {
            sender: cost.sender.as_ref().and_then(gbit_per_core),
            receiver: None,
            both: cost.both.as_ref().and_then(gbit_per_core),
        },
        top_speed_bytes_per_s: top_speed(kept, cell),
        top_speed_by_memcpy: top_speed_by_memcpy(kept, cell),
        perturbation: perturbation(kept, cell),
        copied_share,
        failed_zero_copy: is_failed_zero_copy(copied_share),
        cost_per: traffic::cost_per(kept, &cost, &traffic),
        sockets: sockets::state(kept, cell),
        events: events::events(kept, cell),
        traffic,
        others: others::others(kept, place, &gross),
        // By all cells together: `estimate` sets it.
        idle_host_ns_per_kib: None,
    }
}

fn sides<T>(of: impl Fn(Side) -> Option<T>) -> Sides<T> {
    Sides { sender: of(Side::Sender), receiver: of(Side::Receiver), both: of(Side::Both) }
}

fn reaches_zero(cost: &Figure) -> bool {
    cost.interval.map_or(cost.value, |interval| interval.low) <= 0.0
}

/// The cost of a cell divided by that of its baseline.
pub(super) fn ratios(kept: &KeptBlocks, place: usize) -> Sides<RatioFigure> {
    sides(|side| to_base(kept, place, side))
}

fn to_base(kept: &KeptBlocks, place: usize, side: Side) -> Option<RatioFigure> {
    let together = kept.index.wanders_with_its_baseline(place);
    ratio_of(kept, &to_base_pairs(kept, place, side), side, together)
}

/// The cost of a cell divided by that of any other one, where such ratios wander by so much.
pub(super) fn ratio_by(
    kept: &KeptBlocks,
    place: usize,
    by: usize,
    wander: Option<Wander>,
) -> Option<RatioFigure> {
    widened(kept, &pairs(&kept.costs, place, &[by], Side::Both), wander)
}

/// The ratio of pairs of costs, which wander `together` or not.
fn ratio_of(kept: &KeptBlocks, pairs: &[Pair], side: Side, together: bool) -> Option<RatioFigure> {
    widened(kept, pairs, kept.wanders.ratios(side).filter(|_| !together))
}

/// The ratio of pairs of costs, whose interval is widened by so much wander.
fn widened(kept: &KeptBlocks, pairs: &[Pair], wander: Option<Wander>) -> Option<RatioFigure> {
    ratio(pairs, kept.level, wander).map(|ratio| ratio_figure(&ratio, kept.header.plan.target))
}

fn to_base_pairs(kept: &KeptBlocks, place: usize, side: Side) -> Vec<Pair> {
    pairs(&kept.costs, place, &kept.index.divisors(place), side)
}

/// `None` for paced clients, who get no more than their rate in any trial.
pub(super) fn top_speed(kept: &KeptBlocks, cell: &Cell) -> Option<Figure> {
    let speeds: Vec<f64> =
        at_top_speed(kept, cell).filter_map(|(_, trial)| throughput(trial)).collect();
    figure(&speeds, kept.level)
}

fn top_speed_by_memcpy(kept: &KeptBlocks, cell: &Cell) -> Option<Figure> {
    let shares = at_top_speed(kept, cell).filter_map(|(block, trial)| {
        per(throughput(trial)?, kept.blocks[block].memcpy_bytes_per_s?)
    });
    figure(&shares.collect::<Vec<_>>(), kept.level)
}

fn at_top_speed<'a>(
    kept: &KeptBlocks<'a>,
    cell: &Cell,
) -> impl Iterator<Item = (usize, &'a Trial)> {
    let is_paced = kept.header.plan.fixed.at(&cell.levels).clients().is_some();
    kept.trials(&cell.label, TrialKind::TopSpeed).filter(move |_| !is_paced)
}

pub(super) fn perturbation(kept: &KeptBlocks, cell: &Cell) -> Perturbation {
    let in_one_block: Vec<f64> = kept
        .twins(&cell.label)
        .filter_map(|(soaked, control)| per(throughput(soaked)?, throughput(control)?))
        .collect();
    let speed = |kind| {
        let trials = kept.trials(&cell.label, kind);
        median(&trials.filter_map(|(_, trial)| throughput(trial)).collect::<Vec<_>>())
    };
    let soaked_by_nominal = reached(kept, cell, |_, _| Some(1.0));
    let soaked_by_possible = reached(kept, cell, |block, place| possible(kept, block, place));
    Perturbation {
        // Controls in other blocks than the soaked trials are compared as a whole.
        soaked_by_unsoaked_control: median(&in_one_block)
            .or_else(|| per(speed(TrialKind::Soaked)?, speed(TrialKind::UnsoakedControl)?)),
        soaked_by_nominal,
        soaked_by_possible,
        saturated: soaked_by_possible.is_some_and(|share| share < RATE_HELD),
    }
}

/// The share of its nominal rate that a cell reached in soaked windows, by the part of the rate
/// that was `possible` in them on average beside other programs. A window may contain one burst
/// more or less, which would move a median. And a host may take the CPUs of a guest for the length
/// of many bursts, which says nothing of the other windows and would move the mean. So windows
/// count by no more than a burst beyond the typical one.
///
/// If others use a share `s` of a CPU, `1 - s` is left: traffic that reaches that much of its rate
/// is held back by them. Where less was possible than it reached, it reached all of it.
///
/// A window over a whole mix of requests ends with its last response, so that its length does not
/// tell whether the rate was kept: the server's top speed does.
fn reached(
    kept: &KeptBlocks,
    cell: &Cell,
    possible: impl Fn(usize, usize) -> Option<f64>,
) -> Option<f64> {
    let plan = &kept.header.plan;
    let fixed = plan.fixed.at(&cell.levels);
    if plan.traffic.server().is_some_and(|server| server.mix.is_some()) {
        let top_speed = *requests::top_speeds(kept.header).get(cell.label.as_str())?;
        return per(top_speed, fixed.rate_bytes_per_s).map(|share| share.min(1.0));
    }
    let place = kept.index.place(&cell.label)?;
    let (mut shares, mut lengths, mut sum_possible) = (Vec::new(), Vec::new(), 0.0);
    for (block, trial) in kept.trials(&cell.label, TrialKind::Soaked) {
        let share = throughput(trial).and_then(|speed| per(speed, fixed.rate_bytes_per_s));
        let Some(((share, length_ns), possible)) =
            share.zip(elapsed_ns(trial)).zip(possible(block, place))
        else {
            continue;
        };
        shares.push(share);
        lengths.push(length_ns as f64);
        sum_possible += possible;
    }
    let burst = per(fixed.burst_ns as f64, median(&lengths)?)?;
    let (share, possible) = (huber_location(&shares, burst)?, sum_possible / shares.len() as f64);
    let share =
        if possible < 1.0 { per(share, possible).map_or(1.0, |by| by.min(1.0)) } else { share };
    finite(share)
}

/// The share of its rate that the traffic of a soaked window, by the indices of its block and its
/// cell, had CPU time for. `None` where soakers hardly ran and do not show what others used.
fn possible(kept: &KeptBlocks, block: usize, place: usize) -> Option<f64> {
    match kept.costs[block][place].as_ref() {
        Some(cost) => Some(1.0 - cost.others_share),
        None if kept.account == AccountKind::OwnClocks => None,
        None => Some(1.0),
    }
}

/// Whether the kernel copied most of what was to be sent without a copy.
pub(super) fn is_failed_zero_copy(copied_share: Option<f64>) -> bool {
    copied_share.is_some_and(|share| share > 0.5)
}

/// Over whole trials, including warm-up and drain: a completion may arrive after the window in
/// which its bytes were sent.
pub(super) fn copied_share(kept: &KeptBlocks, label: &str) -> Option<f64> {
    let (copied, all) = kept
        .trials(label, TrialKind::Soaked)
        .filter(|(_, trial)| elapsed_ns(trial).is_some())
        .fold((0.0, 0.0), |(copied, all), (_, trial)| {
            (copied + trial.whole_copied as f64, all + trial.whole_completions as f64)
        });
    per(copied, all)
}
