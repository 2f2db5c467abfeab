//! Cores by path: every response of the log counted with its cost, over joint resamples.

use super::advisor::Advisor;
use super::asked::Asked;
use super::figures::Sampled;
use super::log::{Log, observed};
use super::mix::{LoggedResponses, OverTls};
use super::model::{CostAdvice, HostAdvice, Outside, Rate, Rates, TlsAdvice, TlsUnfit, Unfit};
use super::path_costs::PathCosts;
use super::priced::{Priced, PricedPath};
use super::rows::{Curves, Encryption, Rows};
use super::tls::TlsCosts;
use super::verdict::Judged;
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
use crate::price::Price;
use zc_run::{Cipher, Run};
use zc_stats::DEFAULT_RESAMPLES;

/// What is asked about the costs of a log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The path, or configuration, that the server uses; if not given, read+send, or that of the
    /// run's reference where the run has no read+send.
    pub today: Option<&'a str>,
    /// A rate of such requests.
    pub asked: Option<Asked>,
    /// A run of `zc run tls`, and the cipher; if not given, the AES-GCM that costs least.
    pub tls: Option<(&'a Run, Option<Cipher>)>,
    /// Price of a core.
    pub price: Option<&'a Price>,
}

/// Responses of logs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logged {
    /// Those of all logs.
    pub all: LoggedResponses,
    /// The hosts by name, if they were named, each with its own.
    pub hosts: Vec<(String, LoggedResponses)>,
}

/// Estimates the cost of a log's responses by each path of a run, or in each configuration of a
/// server. Takes some ten milliseconds for a log of any length.
///
/// # Errors
/// See [`Unfit`].
pub fn advise(run: &Run, logged: &Logged, question: &Question<'_>) -> Result<CostAdvice, Unfit> {
    advised(run, logged, question, DEFAULT_RESAMPLES)
}

pub(super) fn advised(
    run: &Run,
    logged: &Logged,
    question: &Question<'_>,
    resamples: usize,
) -> Result<CostAdvice, Unfit> {
    let plan = &run.header.plan;
    let Question { asked, price, .. } = *question;
    let responses = &logged.all;
    let priced = Priced::from_run(run)?;
    let groups = &priced.paths;
    let tls = tls_costs(question, logged, &priced, resamples)?;
    let place = priced.today(question.today, tls.as_ref())?;
    if matches!(asked, Some(Asked::Bytes(_))) && bytes(responses) <= 0.0 {
        return Err(Unfit::NoBytes);
    }

    let kept = KeptBlocks::from_run(run);
    let curves = curves(&kept, groups, resamples);
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    // Blocks and slices are drawn independently. The blocks of the run are the same ones for all
    // hosts, as its costs are. So are slices of time where logs have as many: hosts behind one
    // balancer are busy at the same time. Of logs that vary by themselves the sum is the same.
    let resampled = |responses| {
        let log = Log::resample(responses, resamples, !plan.seed);
        let rows = Rows::new(&names, &curves, responses, &log, tls.as_ref());
        (log, rows)
    };
    let hosts: Vec<(Log, Rows)> =
        logged.hosts.iter().map(|(_, responses)| resampled(responses)).collect();
    let (log, Rows { rows, encryption }) = match resampled(responses) {
        one if hosts.is_empty() => one,
        (log, rows) => {
            let of_hosts: Vec<(&Rows, f64)> =
                hosts.iter().map(|(log, rows)| (rows, log.span_s)).collect();
            let (logs, rows) = (hosts.iter().map(|(log, _)| log), Rows::together(rows, &of_hosts));
            (log.together(logs), rows)
        }
    };
    let Some(today) = rows.get(place).and_then(Option::as_ref) else { return Err(Unfit::NoCosts) };
    let sampled_from = |log: &Log| {
        let slices = log.slices.map(|all| all as usize);
        let alone = Sampled::new(kept.level, kept.costs.len(), slices, &kept.wanders);
        tls.as_ref().map_or(alone, |tls| alone.with_tls(tls))
    };
    let sampled = sampled_from(&log);

    let cells = parallel::each(plan.cells.len(), |cell| cells::cell(&kept, cell));
    let controls = Controls::from_blocks(&kept);
    let verdict =
        crate::verdict::verdict(run, &kept, &cells, &controls, &account::blocks(run, kept.account));
    let busiest = busiest(&today.costs);
    let rates = rates(&log, busiest, asked);
    let (smallest, largest) = priced.common_bytes();
    let outside =
        |bytes: usize, is: &dyn Fn(f64) -> bool| outside(bytes, is, responses, &log, &today.costs);
    let beyond = outside(largest, &|size| size > largest as f64);
    let judged = Judged {
        withheld: !verdict.stands(),
        limits: controls.limits(),
        mostly_beyond: beyond.bytes_share > 0.5,
        others: rows.iter().flatten().count().saturating_sub(1),
    };
    let judged_ways = tls.as_ref().map(|tls| judged.also(tls));
    let advisor = Advisor {
        log: &log,
        busiest,
        asked,
        price,
        sampled: &sampled,
        tls: tls.as_ref(),
        encryption: encryption.as_ref(),
        judged: Some(&judged),
        judged_ways: judged_ways.as_ref(),
    };
    let advised = advisor.rows(&rows, place);
    let is_priced = |name: &str| advised.iter().any(|path| path.path == name);
    let without_cost = names.iter().filter(|name| !is_priced(name));
    let without_cost = without_cost.map(|name| (*name).to_owned()).collect();
    let of_host = |((name, _), (log, rows)): (&(String, LoggedResponses), &(Log, Rows))| {
        let today = rows.rows.get(place)?.as_ref()?;
        let sampled = sampled_from(log);
        let busiest = self::busiest(&today.costs);
        let advisor = Advisor {
            log,
            busiest,
            asked: None,
            sampled: &sampled,
            encryption: rows.encryption.as_ref(),
            judged: None,
            ..advisor
        };
        Some(HostAdvice {
            host: name.clone(),
            rates: self::rates(log, busiest, None),
            slices: log.slices,
            tls_bytes_share: tls.as_ref().and_then(|_| log.over_tls.first().copied()),
            paths: advisor.rows(&rows.rows, place),
        })
    };
    let mut saturated_bytes: Vec<usize> = groups
        .iter()
        .flat_map(|group| &group.cells)
        .filter(|(_, cell)| cells[*cell].perturbation.saturated)
        .map(|(bytes, _)| *bytes)
        .collect();
    saturated_bytes.sort_unstable();
    saturated_bytes.dedup();
    Ok(CostAdvice {
        today: today.name.clone(),
        confidence: CONFIDENCE,
        blocks: kept.costs.len(),
        slices: log.slices,
        keepalive: priced.keepalive,
        left_out: priced.left_out.clone(),
        without_cost,
        below: outside(smallest, &|size| size < smallest as f64),
        beyond,
        saturated_bytes,
        withheld: verdict.withheld,
        control_error: verdict.control_error,
        resolution: verdict.resolution,
        rates,
        paths: advised,
        tls: tls.as_ref().zip(encryption.as_ref()).map(|(tls, encryption)| {
            tls_advice(tls, encryption, &advisor, matches!(responses.over_tls, OverTls::Stated(_)))
        }),
        hosts: std::iter::zip(&logged.hosts, &hosts).filter_map(of_host).collect(),
        price_per_core_hour: price.map(|price| price.per_core_hour),
        currency: price.map(|price| price.currency.clone()).unwrap_or_default(),
    })
}

/// What encryption costs; `None` where it is not asked, or nobody knows what was encrypted.
///
/// # Errors
/// The run does not tell it, or there is no cost on top of which it comes.
fn tls_costs(
    question: &Question<'_>,
    logged: &Logged,
    priced: &Priced,
    resamples: usize,
) -> Result<Option<TlsCosts>, Unfit> {
    let Some((run, cipher)) = question.tls else { return Ok(None) };
    let tls = TlsCosts::from_run(run, cipher, resamples).map_err(Unfit::Tls)?;
    let base = tls.in_user_space().clear.name();
    if priced.paths.iter().all(|path| path.name != base) {
        return Err(Unfit::Tls(TlsUnfit::NoReadSend));
    }
    let is_known = |responses: &LoggedResponses| {
        let all = (0..responses.slices.len()).map(|slice| (slice, 1.0));
        responses.over_tls.share(all).is_some()
    };
    let hosts = logged.hosts.iter().map(|(_, responses)| responses);
    let are_known = is_known(&logged.all) && hosts.into_iter().all(is_known);
    Ok(Some(tls).filter(|_| are_known))
}

fn tls_advice(
    tls: &TlsCosts,
    encryption: &Encryption,
    advisor: &Advisor<'_>,
    stated: bool,
) -> TlsAdvice {
    let of_run = Sampled::of_tls(tls);
    let ways = tls.ways.iter().enumerate();
    TlsAdvice {
        bytes_share: encryption.bytes.all / advisor.log.bytes[0].max(f64::MIN_POSITIVE),
        stated,
        cipher: tls.cipher,
        blocks: tls.blocks,
        withheld: tls.withheld.clone(),
        ways: ways.filter_map(|(place, way)| advisor.way(place, way, &of_run)).collect(),
        missing: tls.missing.iter().map(ToString::to_string).collect(),
    }
}

fn bytes(responses: &LoggedResponses) -> f64 {
    responses.all().sum(&responses.size_bytes)
}

/// The costs of each path in each resample of the run's blocks, at the level of that resample.
fn curves(kept: &KeptBlocks, groups: &[PricedPath], resamples: usize) -> Curves {
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

/// The place of the minute that costs most.
fn busiest(path: &PathCosts) -> Option<usize> {
    let cost = |minute: &usize| observed(&path.minutes[*minute]).unwrap_or(0.0);
    (0..path.minutes.len()).max_by(|one, other| f64::total_cmp(&cost(one), &cost(other)))
}

fn rates(log: &Log, busiest: Option<usize>, asked: Option<Asked>) -> Rates {
    let (requests, bytes) = (log.requests[0], log.bytes[0]);
    Rates {
        log: Rate { requests_per_s: requests / log.span_s, bytes_per_s: bytes / log.span_s },
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
