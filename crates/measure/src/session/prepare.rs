//! Everything before the first block: the link, the files, the rig, the proofs, the rate.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::meter::{self, InstanceLock, Sampler};
use crate::plan::spec::Cells;
use crate::trial::{self, Rig, RigSetup, Up};
use zc_run::{
    Align, Cell, CopyPages, Error, ErrorKind, Factor, FactorLevels, FileSetFacts, FixedParams,
    FormatVersion, Header, Host, LinkFacts, LinkKind, LinkOptions, Placement, Plan, Probe, Push,
    RecvPath, RemoteFacts, Result, Severity, Support, SupportRow, Timing, Unavailable, Warning,
};

use super::run::Budget;
use super::states::States;
use super::{CpuPair, Progress, RunOptions, rates, remote};

/// Largest piece of a file that is handed to a path at once, so that large files do not defeat the pacer.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes per call of paths that have a buffer, on both sides.
const CALL_BUFFER: usize = 64 << 10;

/// The pacer's period.
const BURST_NS: u64 = 1_000_000;

/// Ready to measure.
pub(super) struct Prepared {
    pub(super) header: Header,
    pub(super) rig: Rig,
    /// Held while the run lasts, so that another zc sees this one.
    pub(super) instance_lock: InstanceLock,
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
    pub(super) instance_lock: InstanceLock,
}

/// Sets the rig up, and looks at the machine. Call it while the process has one thread.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(super) fn set_up(
    options: &RunOptions,
    cells: &[Cell],
    seed: u64,
    mut say: impl FnMut(&str),
) -> Result<Standing> {
    // Both before the link: they belong to the host's own namespaces.
    let instance_lock = InstanceLock::claim();
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
    let mut messages: Vec<usize> =
        cells.iter().filter_map(|cell| cell.levels.message_bytes).collect();
    messages.sort_unstable();
    messages.dedup();
    let buffer_bytes = options.held.message_bytes.unwrap_or(CALL_BUFFER);
    let (setup, files) =
        trial::open_files(&options.files, seed, buffer_bytes, &messages, cpus.sender)?;
    let mut fixed = fixed_params(options, cpus, &up)?;
    let mut timing = timing(options, Some(fixed.link));
    let (mut far, mut remote, mut warnings) = (None, None, up.links.base().warnings().to_vec());
    warnings.extend(short_files(&files, messages.last().copied().unwrap_or_default()));
    if let Some(reached) = reached {
        fixed.receiver_cpu =
            reached.facts.machine.as_ref().map_or(cpus.receiver, |machine| machine.receiver_cpu);
        timing = remote::stretched(timing, options, reached.facts.rtt_ns);
        warnings.extend(reached.warnings);
        (far, remote) = (Some(reached.far), Some(reached.facts));
    }
    if let Some(sampler) = &mut sampler {
        sampler.refresh(); // the link may have brought modules and a BPF program
    }
    let mut rig =
        Rig::new(RigSetup { links: up.links.clone(), setup, fixed, timing, far, sampler })?;
    let mut link = up.links.base().facts().clone();
    link.passed_over = up.passed_over;
    say("looking at the machine");
    warnings.extend(rig.conditions(&host, &link, &instance_lock)?);
    let latencies = rig.wake_latencies()?;
    warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
    let probes = latencies.into_iter().map(|latency| latency.probe()).collect();
    let other_links = up.links.other_facts();
    Ok(Standing { rig, host, link, other_links, remote, files, warnings, probes, instance_lock })
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
        None => {
            trial::LINKS.into_iter().filter(|&kind| kind != LinkKind::Null || !receives).collect()
        }
    };
    let others: Vec<LinkOptions> =
        cells.iter().map(|cell| options.link_options.at(&cell.levels)).collect();
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
    let Standing {
        mut rig,
        host,
        link,
        other_links,
        remote,
        files,
        warnings,
        mut probes,
        instance_lock,
    } = set_up(options, &wanted.cells, seed, |what| progress.preparing(what, budget.left()))?;
    if let Some(states) = states.as_deref_mut() {
        states.know_namespaces(&rig.namespaces());
    }
    let mut steps = Steps { budget, states, stop, progress };
    let (mut cells, mut unavailable) = prove(&mut rig, wanted, &mut probes, &mut steps)?;
    steps.say("touching memory");
    trial::touch_memory(rig.fixed().sender_cpu);
    let (speeds, broken) = rates::top_speeds(&mut rig, &mut cells, &mut steps)?;
    probes.extend(
        speeds
            .iter()
            .map(|(cell, best)| Probe::TopSpeed { cell: cell.clone(), bytes_per_s: *best }),
    );
    unavailable.extend(broken);
    rates::choose(&mut rig, &mut cells, &speeds, options);
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
        format: FormatVersion::current(),
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
    Ok(Prepared { header, rig, instance_lock })
}

fn choose_cpus(options: &RunOptions) -> Result<CpuPair> {
    let allowed = trial::allowed_cpus()?;
    let Some(pair) = options.cpus else {
        let (sender, receiver) = trial::choose_cpus(&allowed);
        return Ok(CpuPair { sender, receiver });
    };
    // The receiver's may be another machine's.
    let here =
        if options.remote.is_some() { vec![pair.sender] } else { vec![pair.sender, pair.receiver] };
    for cpu in here {
        if !allowed.contains(&cpu) {
            return Err(Error::usage(format!(
                "CPU {cpu} does not exist here, or this process may not use it"
            ))
            .help(format!("--cpus takes two of {}", listing(&allowed))));
        }
    }
    Ok(pair)
}

fn listing(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn fixed_params(options: &RunOptions, cpus: CpuPair, up: &Up) -> Result<FixedParams> {
    let held = &options.held;
    let usual = FixedParams {
        link: up.links.base().facts().kind,
        rate_bytes_per_s: rates::HIGHEST,
        rate_chosen: held.rate_bytes_per_s.is_none() && options.plan.levels(Factor::Rate).is_none(),
        burst_ns: BURST_NS,
        buffer_bytes: CALL_BUFFER,
        recv_buffer_bytes: CALL_BUFFER,
        piece_bytes: PIECE_BYTES,
        flows: 1,
        congestion: trial::choose_congestion(held.congestion.as_deref(), up.links.base())?,
        sndbuf_bytes: None,
        rcvbuf_bytes: None,
        sender_cpu: cpus.sender,
        receiver_cpu: cpus.receiver,
        soaked_cpus: trial::allowed_cpus()?,
        soaker: options.soaker,
        push: Push::Plain,
        align: Align::Page,
        pages: CopyPages::Scattered,
        placement: Placement::Separate,
        more: FactorLevels::default(),
    };
    // As the plan of a run has them: what follows from a cell's message and placement is worked out for the cell.
    Ok(FixedParams {
        piece_bytes: PIECE_BYTES,
        rcvbuf_bytes: options.rcvbuf_bytes,
        receiver_cpu: cpus.receiver,
        ..usual.at(held)
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

/// What the steps before the first block go by, and what may end them.
pub(super) struct Steps<'a> {
    pub(super) budget: &'a Budget,
    /// Of a run that changes the host.
    states: Option<&'a mut States>,
    stop: &'a AtomicBool,
    progress: &'a mut dyn Progress,
}

impl Steps<'_> {
    /// Says what comes next.
    fn say(&mut self, what: &str) {
        self.progress.preparing(what, self.budget.left());
    }

    /// The next of all cells, control aside, is to be tried: brings the host into its state and says so.
    ///
    /// # Errors
    /// Somebody wants it to end, or the host cannot be brought there.
    pub(super) fn enter(&mut self, cell: &Cell, what: &str) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Interrupted,
                "interrupted before anything was measured",
            ));
        }
        if let (Some(states), Some(state)) = (self.states.as_deref_mut(), cell.levels.state) {
            states.enter(state)?;
        }
        self.say(&format!("{what} {}", cell.label));
        Ok(())
    }
}

/// Lets every cell send the files once; what cannot run here becomes a row with its reason.
fn prove(
    rig: &mut Rig,
    wanted: Cells,
    probes: &mut Vec<Probe>,
    steps: &mut Steps,
) -> Result<(Cells, Vec<SupportRow>)> {
    let Cells { cells: wanted, reference } = wanted;
    let (mut cells, mut unavailable) = (wanted.clone(), Vec::new());
    for cell in to_try(&wanted) {
        steps.enter(cell, "proving the bytes of")?;
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

/// The cells without the control, which is the reference under another name: so that the host changes its state as seldom as can be, else
/// in the plan's order.
pub(super) fn to_try(cells: &[Cell]) -> Vec<&Cell> {
    let mut ordered: Vec<&Cell> = cells.iter().filter(|cell| !cell.control).collect();
    ordered.sort_by_key(|cell| cell.levels.state);
    ordered
}

/// Proves one cell; one that breaks while it is tried out cannot be had either, and says how it broke.
///
/// # Errors
/// The files are not what they were.
pub(super) fn try_out(
    rig: &mut Rig,
    cell: &Cell,
) -> Result<std::result::Result<Probe, Unavailable>> {
    match rig.prove(cell) {
        Err(error) if error.kind != ErrorKind::Input => Ok(Err(Unavailable::failed(error.message))),
        proven => proven,
    }
}

/// The row of a cell that cannot run here.
///
/// # Errors
/// It is the reference.
pub(super) fn cannot_run(label: String, reference: &str, no: Unavailable) -> Result<SupportRow> {
    if label == reference {
        return Err(no.into_error(format!("the reference \"{reference}\" cannot run here")));
    }
    Ok(SupportRow { what: "cell".into(), name: label, support: Support::No(no) })
}
