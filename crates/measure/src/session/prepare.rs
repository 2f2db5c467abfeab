//! Preparation of a run before the first block: the link, the files, the rig, the proofs, the rate.

use std::path::PathBuf;
use std::time::Duration;

use super::budget::Budget;
use super::options::{CpuPair, RunOptions};
use super::prepared::Prepared;
use super::progress::Progress;
use super::proving::prove;
use super::states::States;
use super::steps::{Steps, go_on};
use super::{clients, harness, positive, rates, remote, seed};
use crate::plan::spec::Cells;
use zc_kernel::stop::Stop;
use zc_remote::carry::Carried;
use zc_rig::meter::{self, CpuCounters, InstanceLock, Sampler, checks};
use zc_rig::trial::{self, Rig, RigSetup, Up};
use zc_run::nearest::unknown_among;
use zc_run::{
    Align, Cell, CopyPages, Error, Factor, FactorLevels, FileSetFacts, FixedParams, Header, Host,
    HostState, LinkFacts, LinkKind, LinkOptions, PeerKind, Placement, Plan, Probe, Push, RecvPath,
    RemoteFacts, Result, Severity, SoakerKind, Timing, Traffic, Warning,
};

/// Largest piece of a file that a path is given at once, so that large files do not defeat the
/// pacer.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes per call of paths that have a buffer, on both sides.
pub(super) const CALL_BUFFER: usize = 64 << 10;

/// Period of the pacer.
const BURST_NS: u64 = 1_000_000;

/// A rig, and the facts found while it was set up.
pub(super) struct Standing {
    pub(super) rig: Rig,
    /// Namespaces of the sender and the receiver of each link that has its own.
    pub(super) namespaces: Vec<[PathBuf; 2]>,
    pub(super) host: Host,
    pub(super) link: LinkFacts,
    pub(super) other_links: Vec<LinkFacts>,
    pub(super) remote: Option<RemoteFacts>,
    pub(super) files: FileSetFacts,
    pub(super) warnings: Vec<Warning>,
    pub(super) probes: Vec<Probe>,
    pub(super) instance_lock: InstanceLock,
}

/// Progress of setting up the rig.
pub(super) enum Step<'a> {
    /// A step begins.
    Begun(&'a str),
    /// A program is about to be sent to the other machine.
    Carrying(&'a Carried),
}

/// Sets up the rig, and examines the machine. Call it while the process has one thread.
///
/// # Errors
/// Bad input, or nothing can be measured here, or `stop` was set.
pub(super) fn set_up(
    options: &RunOptions,
    cells: &[Cell],
    seed: u64,
    stop: &Stop,
    mut tell: impl FnMut(Step<'_>),
) -> Result<Standing> {
    trial::check_memory()?;
    // They come before the link: they belong to the host's own namespaces.
    let instance_lock = InstanceLock::claim();
    let host = meter::host();
    let cpus = choose_cpus(options.blocks.cpus, options.remote.is_none())?;
    let mut sampler = options.sample.then(|| Sampler::open(&trial::allowed_cpus()?)).transpose()?;
    let of_flows = [cpus.sender, cpus.receiver];
    let counters = options.counters.then(|| CpuCounters::open(&of_flows)).transpose()?;
    let (up, reached) = match &options.remote {
        Some(end) => {
            tell(Step::Begun("connecting to the other machine"));
            let mut carrying = |carried: &Carried| tell(Step::Carrying(carried));
            let soaked_cpus = trial::allowed_cpus()?;
            let reached =
                remote::reach(end, options, &soaked_cpus, cpus.sender, stop, &mut carrying)?;
            (trial::towards(reached.address)?, Some(reached))
        }
        None => {
            tell(Step::Begun("bringing up the link"));
            (bring_up(options, cells, cpus)?, None)
        }
    };
    tell(Step::Begun("reading the files"));
    let mut messages: Vec<usize> =
        cells.iter().filter_map(|cell| cell.levels.message_bytes).collect();
    messages.sort_unstable();
    messages.dedup();
    let buffer_bytes = options.held.message_bytes.unwrap_or(CALL_BUFFER);
    let (setup, files) =
        trial::open_files(&options.files, seed, buffer_bytes, &messages, cpus.sender)?;
    let mut fixed = fixed_params(options, cpus, &up)?;
    let mut timing = timing(options, Some(fixed.link));
    let (mut server, mut remote, mut warnings) = (None, None, up.links.base().warnings().to_vec());
    warnings.extend(short_files(&files, messages.last().copied().unwrap_or_default()));
    if let Some(reached) = reached {
        fixed.receiver_cpu =
            reached.facts.machine.as_ref().map_or(cpus.receiver, |machine| machine.receiver_cpu);
        timing = remote::stretched(timing, options, reached.facts.rtt_ns);
        warnings.extend(reached.warnings);
        (server, remote) = (Some(reached.server), Some(reached.facts));
    }
    if let Some(sampler) = &mut sampler {
        sampler.refresh(); // the link may have brought modules and a BPF program
    }
    let mut rig = Rig::new(RigSetup {
        links: up.links.clone(),
        setup,
        fixed,
        timing,
        remote: server,
        sampler,
        counters,
    })?;
    rig.read_cgroups_under(&host);
    let mut link = up.links.base().facts().clone();
    link.passed_over = up.passed_over;
    tell(Step::Begun("looking at the machine"));
    let far_end = remote.as_ref().and_then(|remote| remote.machine.as_ref());
    let far_end = far_end.filter(|machine| machine.same_machine);
    let another_zc =
        instance_lock.sees_another(far_end.map_or(&[], |machine| machine.soaked_cpus.as_slice()));
    warnings.extend(rig.conditions(&host, &link, another_zc)?);
    let latencies = rig.wake_latencies()?;
    warnings.extend(latencies.iter().filter_map(|latency| latency.warning()));
    let probes = latencies.into_iter().map(|latency| latency.probe()).collect();
    let (other_links, namespaces) = (up.links.other_facts(), up.links.namespaces());
    Ok(Standing {
        rig,
        namespaces,
        host,
        link,
        other_links,
        remote,
        files,
        warnings,
        probes,
        instance_lock,
    })
}

/// A warning if files are shorter than the longest message of the plan.
fn short_files(files: &FileSetFacts, longest_bytes: usize) -> Option<Warning> {
    (files.min_bytes < longest_bytes as u64 && files.origin == "given").then(|| {
        let text = format!(
            "the longest message of the plan has {longest_bytes} bytes and the shortest file {}: \
             no message is longer than its file",
            files.min_bytes
        );
        Warning::new("short-files", Severity::Doubt, text).remedy("give longer files, or none")
    })
}

/// Brings up the best link inside this machine, or the one that was asked for.
fn bring_up(options: &RunOptions, cells: &[Cell], cpus: CpuPair) -> Result<Up> {
    // A receive path that was asked for is to be measured, which needs a link with a receiver.
    let receives = options.recv != RecvPath::Recv || options.plan.levels(Factor::Recv).is_some();
    // And so do layers, which a receiver takes off again.
    let layered =
        !options.link_options.layer.is_plain() || options.plan.levels(Factor::Layer).is_some();
    let needs_receiver = receives || layered;
    let candidates: Vec<LinkKind> = match options.link {
        Some(kind) => vec![kind],
        None => {
            let fits = |kind: &LinkKind| *kind != LinkKind::Null || !needs_receiver;
            trial::LINKS.into_iter().filter(fits).collect()
        }
    };
    let others: Vec<LinkOptions> =
        cells.iter().map(|cell| options.link_options.at(&cell.levels)).collect();
    trial::bring_up(&candidates, cpus.sender, cpus.receiver, &options.link_options, &others)
}

/// Prepares a run up to its first block.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(super) fn prepare(
    options: &RunOptions,
    budget: &Budget,
    mut states: Option<&mut States>,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    let mut wanted = options.plan.cells(options.send, options.recv)?;
    clients::check(options, &wanted.cells)?;
    set_burns(&mut wanted, options)?;
    // Saved, so that the order of the run can be repeated.
    let seed = seed::or_fresh(options.blocks.seed)?;
    let Standing {
        mut rig,
        namespaces,
        host,
        link,
        other_links,
        remote,
        files,
        mut warnings,
        mut probes,
        instance_lock,
    } = set_up(options, &wanted.cells, seed, stop, |step| match step {
        Step::Begun(what) => progress.preparing(what, budget.left()),
        Step::Carrying(carried) => progress.carrying(carried),
    })?;
    rig.limit_to(budget.limit(stop));
    let mut state_readings = Vec::new();
    if let Some(states) = states.as_deref_mut() {
        progress.preparing("trying the states", budget.left());
        states.set_traffic(&namespaces, &link.device)?;
        state_readings = states.prove(|| go_on(stop))?;
        if !asks_for_congestion(options)
            && let Some(of_states) = states.congestion()
        {
            warnings.extend(of_states.iter().find_map(|(state, name)| paced(state, name)));
            rig.leave_congestion_to(of_states);
        }
        let of_cell = |cell: &Cell| (cell.label.clone(), rig.fixed().at(&cell.levels));
        states.check_options(wanted.cells.iter().map(of_cell))?;
    }
    if !asks_for_congestion(options)
        && let Some(used) = rig.fixed().set_congestion()
    {
        let of_host = host.sysctls.get("net.ipv4.tcp_congestion_control");
        warnings.extend(of_host.and_then(|of_host| checks::another_congestion(of_host, used)));
    }
    let mut steps = Steps { budget, states, stop, progress };
    let (mut cells, mut unavailable) = prove(&mut rig, wanted, &mut probes, &mut steps)?;
    steps.say("touching memory");
    trial::touch_memory(rig.fixed().sender_cpu, Duration::from_nanos(options.blocks.budget_ns));
    let (mut speeds, broken) =
        rates::top_speeds(&mut rig, &mut cells, options.blocks.window_ns.is_none(), &mut steps)?;
    probes.extend(
        speeds
            .iter()
            .map(|(cell, best)| Probe::TopSpeed { cell: cell.clone(), bytes_per_s: *best }),
    );
    unavailable.extend(broken);
    unavailable.extend(clients::leave_out_full(rig.fixed(), &mut cells, &mut speeds)?);
    warnings.extend(rates::choose(&mut rig, &mut cells, &speeds, options));
    // Samples show the harness among the classes; other servers than zc take a connection without
    // bytes for an error.
    let is_zc = |remote: &RemoteFacts| remote.kind == PeerKind::Zc;
    if !options.sample && remote.as_ref().is_none_or(is_zc) {
        harness::assign(&rig, &mut cells);
        let measured_at_both_ends = match &remote {
            None => link.kind != LinkKind::Null,
            Some(remote) => remote.machine.is_some(),
        };
        positive::add(&mut rig, &mut cells, &speeds, measured_at_both_ends);
    }
    let Cells { cells, reference } = cells;
    let plan = Plan {
        experiment: options.plan.name.clone(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing: rig.timing(),
        files,
        seed,
        budget_ns: options.blocks.budget_ns,
        target: options.blocks.target,
        strict: options.blocks.strict,
        quick: options.quick,
        factors: options.plan.factors.iter().map(|(factor, _)| *factor).collect(),
        unsoaked: options.plan.unsoaked,
        states: options.states.clone(),
        traffic: Traffic::Stream,
    };
    let header = Header {
        other_links,
        remote,
        unavailable,
        warnings,
        probes,
        sampling: rig.sampling().cloned(),
        state_readings,
        ..Header::new(started_at, options.blocks.command.clone(), plan, host, link)
    };
    Ok(Prepared { header, bench: Box::new(rig), instance_lock })
}

/// Says that sockets are paced by timers in a state: it is what is compared there.
fn paced(state: &HostState, congestion: &str) -> Option<Warning> {
    let text = format!(
        "congestion control \"{congestion}\" paces by timers, whose cost is in the figures of \
         state {state}"
    );
    let paces = checks::pacing(congestion)?;
    Some(Warning { severity: Severity::Note, text, remedy: None, ..paces })
}

/// Whether the user chooses the congestion control.
fn asks_for_congestion(options: &RunOptions) -> bool {
    options.held.congestion.is_some() || options.plan.levels(Factor::Congestion).is_some()
}

/// Gives cells the cost that they are to have on top.
fn set_burns(Cells { cells, reference }: &mut Cells, options: &RunOptions) -> Result<()> {
    for (label, ns_per_mb) in &options.burns {
        if label == reference {
            return Err(Error::usage(
                "burn-in-reference",
                format!(
                    "--burn: \"{reference}\" is the reference, with which the others are compared"
                ),
            )
            .help("name another cell"));
        }
        let Some(place) = cells.iter().position(|cell| !cell.control && cell.label == *label)
        else {
            let known: Vec<&str> =
                cells.iter().filter(|cell| !cell.control).map(|cell| cell.label.as_str()).collect();
            return Err(unknown_among("cell", label, &known).prefixed("--burn: "));
        };
        cells[place].burn_softirq_ns_per_mb = Some(*ns_per_mb as f64);
    }
    Ok(())
}

/// The CPUs of the two sides: those that the user chose, which must exist.
pub(super) fn choose_cpus(chosen: Option<CpuPair>, both_here: bool) -> Result<CpuPair> {
    let allowed = trial::allowed_cpus()?;
    let Some(pair) = chosen else {
        let (sender, receiver) = trial::choose_cpus(&trial::calm_cpus(allowed)?);
        return Ok(CpuPair { sender, receiver });
    };
    // The receiver's CPU may be on the other machine.
    let here = if both_here { vec![pair.sender, pair.receiver] } else { vec![pair.sender] };
    for cpu in here {
        if !allowed.contains(&cpu) {
            return Err(Error::usage(
                "no-such-cpu",
                format!("CPU {cpu} does not exist here, or this process may not use it"),
            )
            .help(format!("--cpus takes two of {}", listing(&allowed))));
        }
    }
    Ok(pair)
}

fn listing(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn fixed_params(options: &RunOptions, cpus: CpuPair, up: &Up) -> Result<FixedParams> {
    let wanted = &options.held;
    let chosen = wanted.rate_bytes_per_s.is_none() && options.plan.levels(Factor::Rate).is_none();
    let congestion = trial::choose_congestion(wanted.congestion.as_deref(), up.links.base())?;
    let usual = FixedParams {
        rate_chosen: chosen,
        ..usual(up.links.base().facts().kind, cpus, options.blocks.soaker, congestion)?
    };
    // The plan of a run has the fixed values; those that follow from a cell's message and placement
    // are computed for each cell.
    Ok(FixedParams {
        piece_bytes: PIECE_BYTES,
        rcvbuf_bytes: options.rcvbuf_bytes,
        realtime: options.realtime,
        receiver_cpu: cpus.receiver,
        ..usual.at(wanted)
    })
}

/// Parameters held fixed unless others are requested.
///
/// # Errors
/// The CPUs of this process are not known.
pub(super) fn usual(
    link: LinkKind,
    cpus: CpuPair,
    soaker: SoakerKind,
    congestion: String,
) -> Result<FixedParams> {
    Ok(FixedParams {
        link,
        rate_bytes_per_s: rates::HIGHEST,
        rate_chosen: true,
        burst_ns: BURST_NS,
        buffer_bytes: CALL_BUFFER,
        recv_buffer_bytes: CALL_BUFFER,
        piece_bytes: PIECE_BYTES,
        flows: 1,
        congestion,
        sndbuf_bytes: None,
        rcvbuf_bytes: None,
        sender_cpu: cpus.sender,
        receiver_cpu: cpus.receiver,
        soaked_cpus: trial::allowed_cpus()?,
        soaker,
        push: Push::Plain,
        align: Align::Page,
        pages: CopyPages::Scattered,
        realtime: false,
        placement: Placement::Separate,
        more: FactorLevels::default(),
    })
}

/// Round trips in which slow start goes from 10 packets to 4 MiB, the largest send buffer, and some
/// more.
const SLOW_START_ROUNDS: u64 = 12;

/// Lengths of the parts of a trial. Most of the scatter is drawn anew with every connection (at
/// which congestion window its slow start ended, unless the link has a wide one from the beginning;
/// how its batches fall), not in time. Windows of 10 ms scatter as those of 40 ms do, so many short
/// trials give more information than few long ones. docs/performance.md has the figures, and how
/// long a path takes to start.
///
/// Over the link `null` they are shorter still: there is no receiver, so no slow start to wait for
/// and no receive batching to average over.
///
/// Sampled windows are longer: knowledge of a class of functions grows with the time sampled, and
/// less of it goes to connecting and warming up.
pub fn timing(options: &RunOptions, link: Option<LinkKind>) -> Timing {
    let (warmup_ns, window_ns, idle_ns) = if options.sample {
        (8_000_000, 50_000_000, 12_000_000)
    } else if link == Some(LinkKind::Null) {
        (trial::LEAST_WARMUP_NS, 9_000_000, 6_000_000)
    } else {
        (8_000_000, 12_000_000, 8_000_000)
    };
    let rtt_ns = options.link_options.far_end.rtt_ns;
    let warmup_ns = warmup_ns + SLOW_START_ROUNDS * rtt_ns;
    let window = |plain_ns: u64| {
        options.blocks.window_ns.unwrap_or(plain_ns.max(zc_run::ROUND_TRIPS_IN_A_WINDOW * rtt_ns))
    };
    Timing {
        // What is saved is what is done.
        warmup_ns: options.blocks.warmup_ns.unwrap_or(warmup_ns).max(trial::LEAST_WARMUP_NS),
        window_ns: window(window_ns),
        idle_ns: options.blocks.idle_ns.unwrap_or(idle_ns),
        unsoaked_ns: window(30_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::BlockOptions;
    use super::*;
    use crate::plan::Spec;

    #[test]
    fn trials_over_a_long_round_trip_have_room_for_its_acknowledgements() {
        let mut options = RunOptions::plain(Spec::default(), BlockOptions::plain(PathBuf::new()));
        let of = |options: &RunOptions| timing(options, Some(LinkKind::Null));
        let near = of(&options);
        assert_eq!((near.window_ns, near.unsoaked_ns), (9_000_000, 30_000_000));
        options.link_options.far_end.rtt_ns = 50_000_000;
        let far = of(&options);
        assert_eq!((far.window_ns, far.unsoaked_ns), (200_000_000, 200_000_000));
        assert_eq!(far.warmup_ns, near.warmup_ns + 600_000_000);
        options.blocks.window_ns = Some(20_000_000);
        assert_eq!(of(&options).window_ns, 20_000_000);
    }
}
