//! Cores by path: every response of the log counted with its cost, over joint resamples.

use super::figures::{Sampled, Values};
use super::mix::{BusyMinute, Counts, LoggedResponses};
use super::model::{Compared, CostAdvice, Outside, PathAdvice, Rate, Rates, Unfit};
use super::priced::{Priced, PricedPath};
use super::verdict::{self, Judged};
use crate::account;
use crate::block_costs::BlockCosts;
use crate::bootstrap::Bootstrap;
use crate::cells;
use crate::controls::Controls;
use crate::cost_curve::CostCurve;
use crate::costs::Side;
use crate::interim::CONFIDENCE;
use crate::kept::KeptBlocks;
use crate::parallel;
use zc_run::Run;
use zc_stats::DEFAULT_RESAMPLES;

/// With fewer slices of time the log is taken as it is: they say too little about how it varies.
const LEAST_SLICES: u64 = 8;

/// Slices without responses beyond this many times those with some are not drawn: they would change
/// the variance of a sum by less than an eighth.
const MOST_EMPTY: u64 = 8;

/// A rate that cores are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// Estimates the cost of a log's responses by each path of a run, or in each configuration of a
/// server. `today` is the one that the server uses: if not given, read+send, or that of the run's
/// reference where the run has no read+send. Takes some ten milliseconds for a log of any length.
///
/// # Errors
/// See [`Unfit`].
pub fn advise(
    run: &Run,
    responses: &LoggedResponses,
    today: Option<&str>,
    asked: Option<Asked>,
) -> Result<CostAdvice, Unfit> {
    advised(run, responses, today, asked, DEFAULT_RESAMPLES)
}

pub(super) fn advised(
    run: &Run,
    responses: &LoggedResponses,
    today: Option<&str>,
    asked: Option<Asked>,
    resamples: usize,
) -> Result<CostAdvice, Unfit> {
    let plan = &run.header.plan;
    let priced = Priced::from_run(run)?;
    let place = priced.today(today)?;
    let groups = &priced.paths;
    if matches!(asked, Some(Asked::Bytes(_))) && bytes(responses) <= 0.0 {
        return Err(Unfit::NoBytes);
    }

    let kept = KeptBlocks::from_run(run);
    let log = Log::resample(responses, resamples, plan.seed);
    let costs = costs(&kept, groups, resamples);
    let paths: Vec<Option<PathCosts>> =
        costs.iter().map(|curves| PathCosts::from_curves(curves, responses, &log)).collect();
    let Some(of_today) = &paths[place] else { return Err(Unfit::NoCosts) };
    let sampled = Sampled::new(
        kept.level,
        kept.costs.len(),
        log.slices.map(|all| all as usize),
        &kept.wanders,
    );

    let cells = parallel::each(plan.cells.len(), |cell| cells::cell(&kept, cell));
    let controls = Controls::from_blocks(&kept);
    let verdict =
        crate::verdict::verdict(run, &kept, &cells, &controls, &account::blocks(run, kept.account));
    let busiest = busiest(of_today);
    let rates = rates(responses, &log, busiest, asked);
    let (smallest, largest) = priced.common_bytes();
    let outside =
        |bytes: usize, is: &dyn Fn(f64) -> bool| outside(bytes, is, responses, &log, of_today);
    let beyond = outside(largest, &|size| size > largest as f64);
    let judged = Judged {
        withheld: !verdict.stands(),
        limits: controls.limits(),
        mostly_beyond: beyond.bytes_share > 0.5,
        others: paths.iter().flatten().count().saturating_sub(1),
    };
    let of_path = PathAdvisor { log: &log, busiest, asked, sampled: &sampled, judged: &judged };
    let advised =
        std::iter::zip(groups, &paths).enumerate().filter_map(|(path, (group, costs))| {
            of_path.advice(&group.name, costs.as_ref()?, (path != place).then_some(of_today))
        });
    let advised: Vec<PathAdvice> = advised.collect();
    let is_priced = |name: &str| advised.iter().any(|path| path.path == name);
    let names = groups.iter().map(|group| &group.name);
    let without_cost = names.filter(|name| !is_priced(name)).cloned().collect();
    let mut saturated_bytes: Vec<usize> = groups
        .iter()
        .flat_map(|group| &group.cells)
        .filter(|(_, cell)| cells[*cell].perturbation.saturated)
        .map(|(bytes, _)| *bytes)
        .collect();
    saturated_bytes.sort_unstable();
    saturated_bytes.dedup();
    Ok(CostAdvice {
        today: groups[place].name.clone(),
        confidence: CONFIDENCE,
        blocks: kept.costs.len(),
        slices: log.slices,
        keepalive: priced.keepalive,
        left_out: priced.left_out,
        without_cost,
        below: outside(smallest, &|size| size < smallest as f64),
        beyond,
        saturated_bytes,
        withheld: verdict.withheld,
        control_error: verdict.control_error,
        resolution: verdict.resolution,
        rates,
        paths: advised,
    })
}

fn bytes(responses: &LoggedResponses) -> f64 {
    responses.all().sum(&responses.size_bytes)
}

/// The log, and its resamples.
struct Log<'l> {
    /// Counts of the whole log, then of its resamples.
    counts: Vec<Counts>,
    /// Slices with responses; `None` if the log is taken as it is.
    slices: Option<u64>,
    span_s: f64,
    bytes: Vec<f64>,
    requests: Vec<f64>,
    /// The minutes that may be the busiest.
    minutes: &'l [BusyMinute],
    /// The responses of the slices that each of them is in.
    around: Vec<Counts>,
}

impl<'l> Log<'l> {
    fn resample(responses: &'l LoggedResponses, resamples: usize, seed: u64) -> Self {
        let present = responses.slices.len() as u64;
        let most = present.saturating_mul(1 + MOST_EMPTY);
        let all = responses.slices_of_span.clamp(present, most.max(present));
        // Blocks and slices are drawn independently.
        let draws = zc_stats::Bootstrap::new(all as usize, resamples, !seed);
        let draws = draws.filter(|_| present >= LEAST_SLICES);
        let counts: Vec<Counts> = match &draws {
            Some(draws) => draws.map_resamples(|times| {
                let weights = times.iter().map(|times| f64::from(*times));
                responses.counts(weights.take(responses.slices.len()).enumerate())
            }),
            None => vec![responses.all()],
        };
        let of_minute = |slices: &[usize]| responses.counts(slices.iter().map(|at| (*at, 1.0)));
        Self {
            bytes: counts.iter().map(|counts| counts.sum(&responses.size_bytes)).collect(),
            requests: counts.iter().map(Counts::requests).collect(),
            counts,
            slices: draws.is_some().then_some(present),
            span_s: responses.span_s,
            minutes: &responses.busy_minutes,
            around: responses.busy_minutes.iter().map(|it| of_minute(&it.slices)).collect(),
        }
    }

    /// The place of a resample in a sequence of the log's.
    fn at<'t, T>(&self, of: &'t [T], resample: usize) -> &'t T {
        if self.slices.is_some() { &of[resample] } else { &of[0] }
    }
}

/// The costs of each path in each resample of the run's blocks, at the level of that resample.
fn costs(
    kept: &KeptBlocks,
    groups: &[PricedPath],
    resamples: usize,
) -> Vec<Vec<Option<(CostCurve, f64)>>> {
    let boot = Bootstrap::new(kept, resamples);
    let costs = BlockCosts::normalize(kept, Side::Both, &boot);
    groups
        .iter()
        .map(|group| {
            let curve = |times: &[u32]| {
                let point = |(bytes, cell): &(usize, usize)| {
                    let ns_per_kib = costs.drawn(*cell, times)?;
                    Some((*bytes as f64, ns_per_kib * *bytes as f64 / 1024.0))
                };
                CostCurve::new(&group.cells.iter().map(point).collect::<Option<Vec<_>>>()?)
            };
            // A level that all costs have in common moves the curve, and does not bend it.
            let curves = boot.map_resamples(curve).into_iter();
            curves.zip(costs.relative_levels()).map(|(curve, level)| curve.zip(level)).collect()
        })
        .collect()
}

/// Cost of a path's responses, in ns, in each resample.
struct PathCosts {
    /// All responses of the log.
    all: Vec<Option<f64>>,
    /// Responses of the log no longer than the longest measured.
    within: Vec<Option<f64>>,
    /// Responses of each minute that may be the busiest.
    minutes: Vec<Vec<Option<f64>>>,
    /// A response of each bin, as observed.
    of_bin: Vec<f64>,
}

impl PathCosts {
    /// `None` without a cost in the observed sample.
    fn from_curves(
        curves: &[Option<(CostCurve, f64)>],
        responses: &LoggedResponses,
        log: &Log,
    ) -> Option<Self> {
        let sizes = &responses.size_bytes;
        let (mut all, mut within) = (Vec::new(), Vec::new());
        let mut minutes = vec![Vec::new(); log.minutes.len()];
        let mut of_bin = None;
        for (resample, curve) in curves.iter().enumerate() {
            let Some((curve, level)) = curve else {
                // Without the observed one there is nothing to be said.
                of_bin.as_ref()?;
                all.push(None);
                within.push(None);
                minutes.iter_mut().for_each(|minute| minute.push(None));
                continue;
            };
            let ns: Vec<f64> = sizes.iter().map(|size| level * curve.at(*size)).collect();
            let counts = log.at(&log.counts, resample);
            all.push(Some(counts.sum(&ns)));
            let is_within = |bin: usize| sizes.get(bin).is_some_and(|size| curve.covers(*size));
            within.push(Some(counts.sum_where(&ns, is_within)));
            let request_ns = level * curve.at(0.0);
            for (at, minute) in log.minutes.iter().enumerate() {
                let ns = in_minute(minute, &log.around[at], &ns, sizes, request_ns);
                minutes[at].push(Some(ns));
            }
            of_bin.get_or_insert(ns);
        }
        Some(Self { all, within, minutes, of_bin: of_bin? })
    }
}

/// Cost of the responses of a minute. Its number of responses and their bytes are exact; their
/// sizes are those of the slices that it is in. So each response costs `request_ns`, and each byte
/// as much more as a byte of the slices does on average.
fn in_minute(
    minute: &BusyMinute,
    of_slices: &Counts,
    ns: &[f64],
    sizes: &[f64],
    request_ns: f64,
) -> f64 {
    let for_bytes_ns = of_slices.sum(ns) - request_ns * of_slices.requests();
    let slices_bytes = of_slices.sum(sizes);
    let per_byte = if slices_bytes > 0.0 { for_bytes_ns.max(0.0) / slices_bytes } else { 0.0 };
    minute.requests * request_ns + minute.bytes * per_byte
}

/// The place of the minute that costs most.
fn busiest(path: &PathCosts) -> Option<usize> {
    let observed = |minute: &usize| path.minutes[*minute].first().copied().flatten().unwrap_or(0.0);
    (0..path.minutes.len()).max_by(|one, other| f64::total_cmp(&observed(one), &observed(other)))
}

fn rates(
    responses: &LoggedResponses,
    log: &Log,
    busiest: Option<usize>,
    asked: Option<Asked>,
) -> Rates {
    let (requests, bytes) = (log.requests[0], log.bytes[0]);
    Rates {
        log: Rate {
            requests_per_s: requests / responses.span_s,
            bytes_per_s: bytes / responses.span_s,
        },
        busiest: busiest.map(|at| Rate {
            requests_per_s: log.minutes[at].requests / 60.0,
            bytes_per_s: log.minutes[at].bytes / 60.0,
        }),
        busiest_unix_s: busiest.map(|at| log.minutes[at].begin_unix_s),
        asked: asked.map(|asked| match asked {
            Asked::Requests(per_s) => {
                Rate { requests_per_s: per_s, bytes_per_s: per_s * bytes / requests }
            }
            Asked::Bytes(per_s) => {
                Rate { requests_per_s: per_s * requests / bytes, bytes_per_s: per_s }
            }
        }),
    }
}

/// Shares of what is outside the lengths that were measured.
fn outside(
    bytes: usize,
    is: &dyn Fn(f64) -> bool,
    responses: &LoggedResponses,
    log: &Log,
    today: &PathCosts,
) -> Outside {
    let sizes = &responses.size_bytes;
    let counts = &log.counts[0];
    let share = |of_bin: &[f64]| {
        let all = counts.sum(of_bin);
        let some = counts.sum_where(of_bin, |bin| sizes.get(bin).is_some_and(|size| is(*size)));
        if all > 0.0 { some / all } else { 0.0 }
    };
    Outside {
        bytes,
        requests_share: share(&vec![1.0; sizes.len()]),
        bytes_share: share(sizes),
        cost_share: share(&today.of_bin),
    }
}

/// Inputs common to all paths.
struct PathAdvisor<'a> {
    log: &'a Log<'a>,
    /// The place of the busiest minute.
    busiest: Option<usize>,
    asked: Option<Asked>,
    sampled: &'a Sampled,
    judged: &'a Judged,
}

/// Costs of some responses, in ns, by resample.
type OfPath<'f> = &'f dyn Fn(&PathCosts) -> &[Option<f64>];

impl PathAdvisor<'_> {
    /// A path's quantities, each as it is and by how much it is less than today's. `today` is
    /// `None` for the path of today.
    fn advice(
        &self,
        name: &str,
        path: &PathCosts,
        today: Option<&PathCosts>,
    ) -> Option<PathAdvice> {
        let Self { log, sampled, .. } = self;
        let compared = |of: OfPath<'_>, by: &dyn Fn(usize) -> f64| {
            let value = values(of(path), by)?;
            let saved = today.and_then(|today| saved(of(today), of(path), by));
            let saved = saved.map(|it| sampled.saving(&it, value.observed, sampled.level));
            Some(Compared { value: sampled.cost(&value), saved })
        };
        let all: OfPath<'_> = &|path| &path.all;
        let of_span = |_| 1e-9 / log.span_s;
        let per_request = |at| 1.0 / log.at(&log.requests, at);
        let per_byte = |at| 1.0 / log.at(&log.bytes, at);
        let verdict = today.map(|today| {
            let saving = |of: OfPath<'_>| saved(of(today), of(path), &of_span);
            let cost = |of| values(of, &of_span).map(|values| values.observed);
            verdict::verdict(
                self.judged,
                sampled,
                saving(all).as_ref(),
                saving(&|path| &path.within).as_ref(),
                [cost(&today.all).unwrap_or(0.0), cost(&path.all).unwrap_or(0.0)],
            )
        });
        Some(PathAdvice {
            path: name.to_owned(),
            today: today.is_none(),
            us_per_request: compared(all, &|at| per_request(at) / 1e3)?,
            us_per_mb: compared(all, &|at| per_byte(at) * 1e3),
            cores: compared(all, &of_span)?,
            busiest_cores: self
                .busiest
                .and_then(|minute| compared(&|path| &path.minutes[minute], &|_| 1.0 / 60e9)),
            asked_cores: self.asked.and_then(|asked| match asked {
                Asked::Requests(per_s) => compared(all, &|at| per_request(at) * per_s / 1e9),
                Asked::Bytes(per_s) => compared(all, &|at| per_byte(at) * per_s / 1e9),
            }),
            verdict,
        })
    }
}

/// Costs times a factor that depends on the resample.
fn values(ns: &[Option<f64>], by: &dyn Fn(usize) -> f64) -> Option<Values> {
    Values::from_resamples(ns.iter().enumerate().map(|(at, ns)| Some((*ns)? * by(at))))
}

/// Today's costs minus one path's, in the same resamples.
fn saved(today: &[Option<f64>], path: &[Option<f64>], by: &dyn Fn(usize) -> f64) -> Option<Values> {
    let pairs = std::iter::zip(today, path).enumerate();
    Values::from_resamples(pairs.map(|(at, (today, path))| Some(((*today)? - (*path)?) * by(at))))
}
