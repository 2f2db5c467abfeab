//! Everything before the first block: the link, the files, the rig, the proofs, the rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::meter::{self, Alone};
use crate::plan;
use crate::record::{
    Cell, Fault, FaultKind, FixedParams, Header, No, Plan, Probe, Result, SCHEMA, SendPath, Support, SupportRow, Timing,
};
use crate::trial::{self, Rig, RigSetup, Up};

use super::blocks::top_speed;
use super::run::Budget;
use super::{CpuPair, Progress, RunOptions};

/// What costs are compared with.
const REFERENCE: SendPath = SendPath::ReadSend;

/// Largest piece of a file that is handed to a path at once, so that large files do not defeat the pacer.
const PIECE_BYTES: usize = 1 << 20;

/// The pacer's period.
const BURST_NS: u64 = 1_000_000;

/// The rates that zc chooses from: few and far apart, so that runs on one machine have the same rate and compare.
const RATES: [f64; 8] = [800e6, 400e6, 200e6, 100e6, 50e6, 20e6, 10e6, 5e6];

/// A chosen rate is at most this share of the slowest path's top speed: at saturation soakers change the workload.
const RATE_SHARE: f64 = 0.5;

/// Ready to measure.
pub(super) struct Prepared {
    pub(super) header: Header,
    pub(super) rig: Rig,
    /// Held while the run lasts, so that another zc sees this one.
    pub(super) alone: Alone,
}

/// Prepares a run.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(super) fn prepare(
    options: &RunOptions,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    // Both before the link: they belong to the host's own namespaces.
    let alone = Alone::claim();
    let host = meter::host();
    let cpus = choose_cpus(options)?;
    progress.preparing("bringing up the link", budget.left());
    let up = trial::bring_up(options.link, cpus.sender, cpus.receiver)?;
    progress.preparing("reading the files", budget.left());
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let (setup, files) = trial::open_files(&options.files, seed, options.buffer_bytes, cpus.sender)?;
    let fixed = fixed_params(options, cpus, &up)?;
    let timing = timing(options);
    let mut rig = Rig::new(RigSetup { link: Arc::clone(&up.link), setup, fixed, timing })?;
    let mut link = up.link.facts().clone();
    link.passed_over = up.passed_over;
    let mut warnings = up.link.warnings().to_vec();
    warnings.extend(rig.conditions(&host, &link, &alone)?);
    progress.preparing("trying out wake-ups beside soakers", budget.left());
    let latencies = rig.wake_latencies()?;
    warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
    let mut probes: Vec<Probe> = latencies.into_iter().map(|latency| latency.probe()).collect();

    let wanted = plan::cells(options.paths.as_deref().unwrap_or(SendPath::ALL), options.recv, REFERENCE);
    let (cells, unavailable) = prove(&rig, wanted, &mut probes, budget, stop, progress)?;
    choose_rate(&mut rig, options, &cells, &mut probes, budget, stop, progress)?;
    let plan = Plan {
        experiment: "paths".to_owned(),
        reference: REFERENCE.name().to_owned(),
        cells,
        fixed: rig.fixed().clone(),
        timing,
        files,
        seed,
        budget_ns: options.budget_ns,
        target: options.target,
    };
    let header = Header {
        zc_run: SCHEMA,
        zc_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        command: options.command.clone(),
        plan,
        host,
        link,
        unavailable,
        warnings,
        probes,
    };
    Ok(Prepared { header, rig, alone })
}

fn choose_cpus(options: &RunOptions) -> Result<CpuPair> {
    let allowed = trial::allowed_cpus()?;
    let Some(pair) = options.cpus else {
        let (sender, receiver) = trial::choose_cpus(&allowed);
        return Ok(CpuPair { sender, receiver });
    };
    for cpu in [pair.sender, pair.receiver] {
        if !allowed.contains(&cpu) {
            return Err(Fault::usage(format!("CPU {cpu} does not exist here, or this process may not use it"))
                .hint(format!("--cpus takes two of {}", listing(&allowed))));
        }
    }
    Ok(pair)
}

fn listing(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn fixed_params(options: &RunOptions, cpus: CpuPair, up: &Up) -> Result<FixedParams> {
    Ok(FixedParams {
        link: up.link.facts().kind,
        rate_bytes_per_s: options.rate_bytes_per_s.unwrap_or(RATES[0]),
        rate_chosen: options.rate_bytes_per_s.is_none(),
        burst_ns: BURST_NS,
        buffer_bytes: options.buffer_bytes,
        recv_buffer_bytes: options.recv_buffer_bytes,
        piece_bytes: PIECE_BYTES,
        flows: options.flows,
        congestion: trial::choose_congestion(options.congestion.as_deref(), &up.link)?,
        sndbuf_bytes: options.sndbuf_bytes,
        rcvbuf_bytes: options.rcvbuf_bytes,
        sender_cpu: cpus.sender,
        receiver_cpu: cpus.receiver,
        soaked_cpus: trial::allowed_cpus()?,
        soaker: options.soaker,
    })
}

fn timing(options: &RunOptions) -> Timing {
    Timing {
        warmup_ns: options.warmup_ns.unwrap_or(30_000_000),
        window_ns: options.window_ns.unwrap_or(80_000_000),
        idle_ns: options.idle_ns.unwrap_or(40_000_000),
        unsoaked_ns: options.window_ns.unwrap_or(50_000_000),
    }
}

/// A seed that differs from run to run; it is saved, so that the run's order can be had again.
fn fresh_seed() -> u64 {
    rand::random()
}

/// Lets every cell send the files once; what cannot run here becomes a row with its reason.
fn prove(
    rig: &Rig,
    wanted: Vec<Cell>,
    probes: &mut Vec<Probe>,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<(Vec<Cell>, Vec<SupportRow>)> {
    let (mut cells, mut unavailable) = (Vec::new(), Vec::new());
    for cell in wanted {
        interrupted(stop)?;
        if cell.control {
            cells.push(cell); // the reference under another name
            continue;
        }
        progress.preparing(&format!("proving the bytes of {}", cell.label), budget.left());
        let no = match rig.prove(&cell) {
            Ok(Ok(probe)) => {
                probes.push(probe);
                cells.push(cell);
                continue;
            }
            Ok(Err(no)) => no,
            Err(fault) if fault.kind == FaultKind::Input => return Err(fault),
            Err(fault) => No::failed(fault.sentence),
        };
        if cell.send == REFERENCE {
            return Err(Fault::failed(format!("the reference path \"{REFERENCE}\" cannot run here: {}", no.reason())));
        }
        unavailable.push(SupportRow { what: "send path".into(), name: cell.label, support: Support::No(no) });
    }
    Ok((cells, unavailable))
}

/// Measures every cell's top speed, and where the user gave no rate takes one that the slowest can well hold.
fn choose_rate(
    rig: &mut Rig,
    options: &RunOptions,
    cells: &[Cell],
    probes: &mut Vec<Probe>,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<()> {
    let mut slowest = f64::INFINITY;
    for cell in cells.iter().filter(|cell| !cell.control) {
        interrupted(stop)?;
        progress.preparing(&format!("top speed of {}", cell.label), budget.left());
        let bytes_per_s = top_speed(rig, cell)?;
        probes.push(Probe::TopSpeed { cell: cell.label.clone(), bytes_per_s });
        slowest = slowest.min(bytes_per_s);
    }
    if options.rate_bytes_per_s.is_none() {
        let fits = RATES.into_iter().find(|rate| *rate <= slowest * RATE_SHARE);
        rig.set_rate(fits.unwrap_or(slowest * RATE_SHARE), true);
    }
    Ok(())
}

fn interrupted(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(Fault::new(FaultKind::Interrupted, "interrupted before anything was measured"));
    }
    Ok(())
}
