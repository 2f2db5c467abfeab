//! Everything before the first block: the link, the files, the rig, the proofs, the rate.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::meter::{self, Alone, Sampler};
use crate::plan::spec::{Cells, Rates};
use crate::record::{
    Cell, Factor, Fault, FaultKind, FileSetFacts, FixedParams, Header, Host, LinkFacts, LinkKind, LinkOptions, No,
    Plan, Probe, RecvPath, RemoteFacts, Result, SCHEMA, Severity, Support, SupportRow, Timing, Warning,
};
use crate::trial::{self, Rig, RigSetup, Up};

use super::run::Budget;
use super::states::States;
use super::{CpuPair, Progress, RunOptions, remote};

/// Largest piece of a file that is handed to a path at once, so that large files do not defeat the pacer.
const PIECE_BYTES: usize = 1 << 20;

/// The pacer's period.
const BURST_NS: u64 = 1_000_000;

/// The rates that zc chooses from: few and far apart, so that runs on one machine have the same rate and compare.
const RATES: [f64; 9] = [1600e6, 800e6, 400e6, 200e6, 100e6, 50e6, 20e6, 10e6, 5e6];

/// How often every path's top speed is measured before the rate is chosen. The best of them counts: what takes a window away,
/// or is slow only at first, makes a path slower and never faster.
const TOP_SPEED_ROUNDS: usize = 3;

/// But no more rounds are begun when so much of the budget is spent: a plan of many cells needs it for its blocks.
const TOP_SPEED_SHARE: f64 = 0.15;

/// A chosen rate is at most this share of the slowest path's top speed: at saturation soakers change the workload. A cost is known
/// the better the more of it there is in a window (at 400 MB/s intervals were a third wider than at 800 MB/s), so no less
/// than needed.
const RATE_SHARE: f64 = 0.6;

/// Ready to measure.
pub(super) struct Prepared {
    pub(super) header: Header,
    pub(super) rig: Rig,
    /// Held while the run lasts, so that another zc sees this one.
    pub(super) alone: Alone,
}

/// A rig that stands, and what was found while it was set up.
pub(super) struct Standing {
    pub(super) rig: Rig,
    pub(super) host: Host,
    pub(super) link: LinkFacts,
    pub(super) other_links: Vec<LinkFacts>,
    pub(super) remote: Option<RemoteFacts>,
    pub(super) files: FileSetFacts,
    pub(super) warnings: Vec<Warning>,
    pub(super) probes: Vec<Probe>,
    pub(super) alone: Alone,
}

/// Sets the rig up, and looks at the machine. Call it while the process has one thread.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(super) fn set_up(options: &RunOptions, cells: &[Cell], seed: u64, mut say: impl FnMut(&str)) -> Result<Standing> {
    // Both before the link: they belong to the host's own namespaces.
    let alone = Alone::claim();
    let host = meter::host();
    let cpus = choose_cpus(options)?;
    let mut sampler = options.sample.then(|| Sampler::open(&trial::allowed_cpus()?)).transpose()?;
    let (up, reached) = match &options.remote {
        Some(end) => {
            say("reaching the far end");
            let reached = remote::reach(end, options, &trial::allowed_cpus()?, cpus.sender)?;
            (trial::towards(reached.address.ip())?, Some(reached))
        }
        None => {
            say("bringing up the link");
            (bring_up(options, cells, cpus)?, None)
        }
    };
    say("reading the files");
    let mut messages: Vec<usize> = cells.iter().filter_map(|cell| cell.levels.message_bytes).collect();
    messages.sort_unstable();
    messages.dedup();
    let (setup, files) = trial::open_files(&options.files, seed, options.buffer_bytes, &messages, cpus.sender)?;
    let mut fixed = fixed_params(options, cpus, &up)?;
    let mut timing = timing(options, Some(fixed.link));
    let (mut far, mut remote, mut warnings) = (None, None, up.links.base().warnings().to_vec());
    warnings.extend(short_files(&files, messages.last().copied().unwrap_or_default()));
    if let Some(reached) = reached {
        fixed.receiver_cpu = reached.facts.machine.as_ref().map_or(cpus.receiver, |machine| machine.receiver_cpu);
        timing = remote::stretched(timing, options, reached.facts.rtt_ns);
        warnings.extend(reached.warnings);
        (far, remote) = (Some(reached.far), Some(reached.facts));
    }
    if let Some(sampler) = &mut sampler {
        sampler.refresh(); // the link may have brought modules and a BPF program
    }
    let mut rig = Rig::new(RigSetup { links: up.links.clone(), setup, fixed, timing, far, sampler })?;
    let mut link = up.links.base().facts().clone();
    link.passed_over = up.passed_over;
    say("looking at the machine");
    warnings.extend(rig.conditions(&host, &link, &alone)?);
    let latencies = rig.wake_latencies()?;
    warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
    let probes = latencies.into_iter().map(|latency| latency.probe()).collect();
    let other_links = up.links.other_facts();
    Ok(Standing { rig, host, link, other_links, remote, files, warnings, probes, alone })
}

/// Files that are too short for the longest message of the plan.
fn short_files(files: &FileSetFacts, longest_bytes: usize) -> Option<Warning> {
    (files.min_bytes < longest_bytes as u64 && files.origin == "given").then(|| {
        let text = format!(
            "the longest message of the plan has {longest_bytes} bytes and the shortest file {}: no message is longer than its file",
            files.min_bytes
        );
        Warning::new("short-files", Severity::Doubt, text).remedy("give longer files, or none")
    })
}

/// The best link inside this machine, or the one that was asked for.
fn bring_up(options: &RunOptions, cells: &[Cell], cpus: CpuPair) -> Result<Up> {
    // A receive path that was asked for is what is to be measured.
    let receives = options.recv != RecvPath::Recv || options.plan.levels(Factor::Recv).is_some();
    let candidates: Vec<LinkKind> = match options.link {
        Some(kind) => vec![kind],
        None => trial::LINKS.into_iter().filter(|&kind| kind != LinkKind::Null || !receives).collect(),
    };
    let others: Vec<LinkOptions> = cells.iter().map(|cell| options.link_options.at(&cell.levels)).collect();
    trial::bring_up(&candidates, cpus.sender, cpus.receiver, &options.link_options, &others)
}

/// Prepares a run.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(super) fn prepare(
    options: &RunOptions,
    budget: &Budget,
    mut states: Option<&mut States>,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    let wanted = options.plan.cells(options.send, options.recv)?;
    let seed = options.seed.unwrap_or_else(rand::random); // saved, so that the run's order can be had again
    let Standing { mut rig, host, link, other_links, remote, files, warnings, mut probes, alone } =
        set_up(options, &wanted.cells, seed, |what| progress.preparing(what, budget.left()))?;
    if let Some(states) = states.as_deref_mut() {
        states.know_namespaces(&rig.namespaces());
    }
    let mut enter = |cell: &Cell| match (states.as_deref_mut(), cell.levels.state) {
        (Some(states), Some(state)) => states.enter(state).map(drop),
        _ => Ok(()),
    };
    let (mut cells, mut unavailable) = prove(&mut rig, wanted, &mut probes, &mut enter, budget, stop, progress)?;
    progress.preparing("touching memory", budget.left());
    trial::touch_memory(rig.fixed().sender_cpu);
    let broken = choose_rates(&mut rig, options, &mut cells, &mut probes, &mut enter, budget, stop, progress)?;
    unavailable.extend(broken);
    let Cells { cells, reference } = cells;
    let plan = Plan {
        experiment: options.plan.name.clone(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing: rig.timing(),
        files,
        seed,
        budget_ns: options.budget_ns,
        target: options.target,
        factors: options.plan.factors.iter().map(|(factor, _)| *factor).collect(),
        unsoaked: options.plan.unsoaked,
        states: options.states.clone(),
    };
    let header = Header {
        zc_run: SCHEMA,
        zc_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        command: options.command.clone(),
        plan,
        host,
        link,
        other_links,
        remote,
        unavailable,
        warnings,
        probes,
        sampling: rig.sampling().cloned(),
    };
    Ok(Prepared { header, rig, alone })
}

fn choose_cpus(options: &RunOptions) -> Result<CpuPair> {
    let allowed = trial::allowed_cpus()?;
    let Some(pair) = options.cpus else {
        let (sender, receiver) = trial::choose_cpus(&allowed);
        return Ok(CpuPair { sender, receiver });
    };
    // The receiver's may be another machine's.
    let here = if options.remote.is_some() { vec![pair.sender] } else { vec![pair.sender, pair.receiver] };
    for cpu in here {
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
        link: up.links.base().facts().kind,
        rate_bytes_per_s: options.rate_bytes_per_s.unwrap_or(RATES[0]),
        rate_chosen: options.rate_bytes_per_s.is_none() && options.plan.levels(Factor::Rate).is_none(),
        burst_ns: BURST_NS,
        buffer_bytes: options.buffer_bytes,
        recv_buffer_bytes: options.recv_buffer_bytes,
        piece_bytes: PIECE_BYTES,
        flows: options.flows,
        congestion: trial::choose_congestion(options.congestion.as_deref(), up.links.base())?,
        sndbuf_bytes: options.sndbuf_bytes,
        rcvbuf_bytes: options.rcvbuf_bytes,
        sender_cpu: cpus.sender,
        receiver_cpu: cpus.receiver,
        soaked_cpus: trial::allowed_cpus()?,
        soaker: options.soaker,
        push: options.push,
        align: options.align,
        placement: options.placement,
    })
}

/// How long the parts of a trial are. Most of what scatters is drawn anew with every connection (at which congestion window
/// its slow start ended, where the link has no wide one from the beginning; how its batches fall), not in time: windows of
/// 10 ms scatter as those of 40 ms do, so that many short trials know more than few long ones. docs/performance.md has the
/// figures, and how long a path's start is.
///
/// Over the null link they are shorter still: nobody receives, so there is no slow start to wait for and no batching of a receiver's
/// to average over.
///
/// Where windows are sampled they are longer: what is known of a class of functions grows with the time that is looked at, and less of it goes
/// to connecting and warming up.
pub fn timing(options: &RunOptions, link: Option<LinkKind>) -> Timing {
    let (warmup_ns, window_ns, idle_ns) = if options.sample {
        (8_000_000, 50_000_000, 12_000_000)
    } else if link == Some(LinkKind::Null) {
        (4_000_000, 6_000_000, 6_000_000)
    } else {
        (8_000_000, 12_000_000, 8_000_000)
    };
    Timing {
        warmup_ns: options.warmup_ns.unwrap_or(warmup_ns),
        window_ns: options.window_ns.unwrap_or(window_ns),
        idle_ns: options.idle_ns.unwrap_or(idle_ns),
        unsoaked_ns: options.window_ns.unwrap_or(30_000_000),
    }
}

/// Lets every cell send the files once; what cannot run here becomes a row with its reason.
fn prove(
    rig: &mut Rig,
    wanted: Cells,
    probes: &mut Vec<Probe>,
    enter: &mut dyn FnMut(&Cell) -> Result<()>,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<(Cells, Vec<SupportRow>)> {
    let Cells { cells: wanted, reference } = wanted;
    let (mut cells, mut unavailable) = (wanted.clone(), Vec::new());
    for cell in by_state(&wanted) {
        interrupted(stop)?;
        if cell.control {
            continue; // the reference under another name
        }
        enter(cell)?;
        progress.preparing(&format!("proving the bytes of {}", cell.label), budget.left());
        match try_out(rig, cell)? {
            Ok(probe) => probes.push(probe),
            Err(no) => {
                unavailable.push(cannot_run(cell.label.clone(), &reference, no)?);
                cells.retain(|other| other.label != cell.label);
            }
        }
    }
    Ok((Cells { cells, reference }, unavailable))
}

/// The cells so that the host changes its state as seldom as can be, else in the plan's order.
fn by_state(cells: &[Cell]) -> Vec<&Cell> {
    let mut ordered: Vec<&Cell> = cells.iter().collect();
    ordered.sort_by_key(|cell| cell.levels.state);
    ordered
}

/// Proves one cell; one that breaks while it is tried out cannot be had either, and says how it broke.
///
/// # Errors
/// The files are not what they were.
pub(super) fn try_out(rig: &mut Rig, cell: &Cell) -> Result<std::result::Result<Probe, No>> {
    match rig.prove(cell) {
        Err(fault) if fault.kind != FaultKind::Input => Ok(Err(No::failed(fault.sentence))),
        proven => proven,
    }
}

/// The row of a cell that cannot run here.
///
/// # Errors
/// It is the reference.
fn cannot_run(label: String, reference: &str, no: No) -> Result<SupportRow> {
    if label == reference {
        let fault = Fault::failed(format!("the reference \"{reference}\" cannot run here: {}", no.reason()));
        return Err(match no.remedy_text() {
            Some(remedy) => fault.hint(remedy),
            None => fault,
        });
    }
    Ok(SupportRow { what: "cell".into(), name: label, support: Support::No(no) })
}

/// Measures every cell's top speed, and where the user gave no rate takes one that the slowest can well hold: of all cells, or
/// of those that are compared with one another.
#[allow(clippy::too_many_arguments)] // what is measured, where it goes, and what may end it
fn choose_rates(
    rig: &mut Rig,
    options: &RunOptions,
    cells: &mut Cells,
    probes: &mut Vec<Probe>,
    enter: &mut dyn FnMut(&Cell) -> Result<()>,
    budget: &Budget,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Vec<SupportRow>> {
    let Cells { cells, reference } = cells;
    let mut speeds: HashMap<String, f64> = HashMap::new();
    let mut why_none: HashMap<String, String> = HashMap::new();
    for round in 0..TOP_SPEED_ROUNDS {
        if round > 0 && budget.spent_share() > TOP_SPEED_SHARE {
            break;
        }
        for cell in by_state(cells).into_iter().filter(|cell| !cell.control) {
            interrupted(stop)?;
            enter(cell)?;
            progress.preparing(&format!("top speed of {}", cell.label), budget.left());
            match rig.top_speed(cell) {
                Ok(speed) => {
                    let best = speeds.entry(cell.label.clone()).or_default();
                    *best = best.max(speed);
                }
                Err(fault) if fault.kind.ends_a_run() => return Err(fault),
                Err(fault) => {
                    why_none.insert(cell.label.clone(), fault.sentence);
                }
            }
        }
    }
    // A rate that a cell without a top speed could hold would be none.
    let has_none = |cell: &Cell| !cell.control && speeds.get(&cell.label).is_none_or(|best| *best == 0.0);
    let mut broken = Vec::new();
    for cell in cells.extract_if(.., |cell| has_none(cell)) {
        let why = why_none.remove(&cell.label);
        let why =
            why.unwrap_or_else(|| "nothing arrived in the windows in which its top speed was measured".to_owned());
        broken.push(cannot_run(cell.label, reference, No::failed(why))?);
    }
    let best: Vec<f64> = cells.iter().map(|cell| speeds.get(&cell.label).copied().unwrap_or_default()).collect();
    let asked: Vec<usize> = (0..cells.len()).filter(|&cell| !cells[cell].control).collect();
    let probe = |&place: &usize| Probe::TopSpeed { cell: cells[place].label.clone(), bytes_per_s: best[place] };
    probes.extend(asked.iter().map(probe));
    if options.rate_bytes_per_s.is_some() || options.plan.levels(Factor::Rate).is_some() {
        return Ok(broken);
    }
    let by = |cell: &Cell| cell.by.clone().unwrap_or_else(|| reference.clone());
    let slowest = |group: Option<&str>| {
        let of_group = asked.iter().filter(|&&place| group.is_none_or(|group| by(&cells[place]) == group));
        of_group.map(|&place| best[place]).fold(f64::INFINITY, f64::min)
    };
    match options.plan.rates {
        Rates::One => rig.set_rate(fitting(slowest(None)), true),
        Rates::ByLevel => {
            let rates: Vec<f64> = cells.iter().map(|cell| fitting(slowest(Some(&by(cell))))).collect();
            if let Some(place) = cells.iter().position(|cell| cell.label == *reference) {
                rig.set_rate(rates[place], true);
            }
            for (cell, rate) in cells.iter_mut().zip(rates) {
                cell.levels.rate_bytes_per_s = Some(rate);
            }
        }
    }
    Ok(broken)
}

/// The highest of the rates that leaves the slowest cell its room.
fn fitting(slowest_bytes_per_s: f64) -> f64 {
    let most = slowest_bytes_per_s * RATE_SHARE;
    RATES.into_iter().find(|rate| *rate <= most).unwrap_or(most)
}

fn interrupted(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(Fault::new(FaultKind::Interrupted, "interrupted before anything was measured"));
    }
    Ok(())
}
