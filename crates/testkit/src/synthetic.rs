//! Saved runs of a machine that does not exist, whose true costs are known, for tests of plans,
//! estimates and reports. It does not know how a cost is computed: it only simulates what soakers,
//! clocks and counters would have shown.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use zc_run::{
    AckOptions, Align, Block, Cell, CopyPages, CpuFacts, CpuTicks, End, EndReason, Factor,
    FileSetFacts, FixedParams, FormatVersion, Header, Host, IdleWindow, IpVersion, LinkCounters,
    LinkFacts, LinkKind, MemoryBlock, MemoryLoop, MemoryRun, MemorySet, MemoryVisit, PeerKind,
    Placement, Plan, Probe, Push, Reading, RecvCounts, RecvPath, RemoteFacts, RemoteMachine,
    RemoteWindow, Run, SendPath, Slot, SoakReading, SoakerKind, TcpReading, Timing, Traffic,
    Transfer, Trial, TrialKind, Unsoaked, Usage,
};

/// A cell and the truth about it.
#[derive(Debug, Clone)]
pub struct TrueCell {
    /// The cell in the plan.
    pub cell: Cell,
    /// Time that the sender's CPU loses per KiB, in ns; below 0 only to simulate a cost that is
    /// only noise.
    pub sender_ns_per_kib: f64,
    /// Time that the receiver's CPU loses per KiB, in ns.
    pub receiver_ns_per_kib: f64,
    /// Copied completions divided by completions; `None` for paths without completions.
    pub copied_share: Option<f64>,
    /// Throughput when unpaced.
    pub top_speed_bytes_per_s: f64,
    /// The share of its cost that getrusage reports.
    pub rusage_share: f64,
}

impl TrueCell {
    /// A path under its own name.
    pub fn new(send: SendPath, sender_ns_per_kib: f64, receiver_ns_per_kib: f64) -> Self {
        let transfer = Transfer::Paths { send, recv: RecvPath::Recv };
        Self::with_transfer(transfer, sender_ns_per_kib, receiver_ns_per_kib)
    }

    /// A cell under the name of what sends.
    pub fn with_transfer(
        transfer: Transfer,
        sender_ns_per_kib: f64,
        receiver_ns_per_kib: f64,
    ) -> Self {
        Self {
            cell: Cell::with_transfer(transfer),
            sender_ns_per_kib,
            receiver_ns_per_kib,
            copied_share: None,
            top_speed_bytes_per_s: 2e9,
            rusage_share: 0.8,
        }
    }

    /// A path with messages of one size. Each message costs the sender `call_ns` and each KiB
    /// `ns_per_kib`; the receiver has no cost. Its label is like `sendfile 4096`, and its rate
    /// takes at most a quarter of a CPU.
    pub fn with_size(send: SendPath, size: usize, call_ns: f64, ns_per_kib: f64) -> Self {
        let cost = call_ns * 1024.0 / size as f64 + ns_per_kib;
        let mut new = Self::new(send, cost, 0.0);
        new.cell.label = format!("{send} {size}");
        new.cell.levels.message_bytes = Some(size);
        new.cell.levels.rate_bytes_per_s = Some((0.25e9 * 1024.0 / cost).min(8e8));
        new
    }

    /// A second copy of it: the A/A control of a reference.
    pub fn control(&self) -> Self {
        let mut control = self.clone();
        control.cell.label += " (A/A)";
        control.cell.control = true;
        control
    }

    /// A third copy of it: the positive control, which burns so much more, half of it in softirqs.
    pub fn positive_control(&self, burned_ns_per_kib: f64) -> Self {
        let half_ns_per_mb = burned_ns_per_kib / 2.0 * 1e6 / 1024.0;
        let mut control = self.clone();
        control.cell.label += " (+burn)";
        control.cell.control = true;
        control.cell.burn_units_per_mb = Some(half_ns_per_mb * UNITS_PER_NS);
        control.cell.burn_softirq_ns_per_mb = Some(half_ns_per_mb);
        control
    }
}

/// The same paths with messages of many sizes: (path, cost of a call in ns, cost of a KiB in ns).
/// The first path is the reference of the others at each size; the first of its cells is the plan's
/// reference, with a control.
pub fn size_sweep(paths: &[(SendPath, f64, f64)], sizes: &[usize]) -> Vec<TrueCell> {
    let mut cells: Vec<TrueCell> = Vec::new();
    for &size in sizes {
        let own = paths.iter().map(|&(send, call_ns, ns_per_kib)| {
            TrueCell::with_size(send, size, call_ns, ns_per_kib)
        });
        let mut own: Vec<TrueCell> = own.collect();
        // Cells that are compared have the same rate.
        let rates = own.iter().filter_map(|cell| cell.cell.levels.rate_bytes_per_s);
        let rate = rates.reduce(f64::min);
        let by = own.first().map(|first| first.cell.label.clone());
        for cell in &mut own {
            cell.cell.levels.rate_bytes_per_s = rate;
            cell.cell.by.clone_from(&by);
        }
        cells.extend(own);
    }
    if let Some(first) = cells.first_mut() {
        first.cell.by = None;
        let control = first.control();
        cells.push(control);
    }
    cells
}

/// A run to be simulated. Tests change fields of `Synthetic::default()`.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// The first is the reference.
    pub cells: Vec<TrueCell>,
    /// Number of blocks.
    pub blocks: usize,
    /// The seed of all noise.
    pub seed: u64,
    /// Share of the sender's CPU that pacing takes in every paced trial. Unless it is 0, each block
    /// has a paced trial of the reference; below 0 only to simulate a fault of the instrument.
    pub harness_share: f64,
    /// Standard deviation of the logarithm of each trial's cost.
    pub noise: f64,
    /// Standard deviation of the steps of a random walk in the logarithm of all costs, from block
    /// to block.
    pub block_drift: f64,
    /// Standard deviation of each window's idle rates, relative.
    pub idle_noise: f64,
    /// Relative change of the idle rates per second.
    pub idle_drift_per_s: f64,
    /// See `LinkFacts::sides_apart`.
    pub sides_apart: bool,
    /// Payload rate of paced trials.
    pub rate_bytes_per_s: f64,
    /// CPUs with soakers: CPU 0 sends, CPU 1 receives (CPU 0 if it is the only one).
    pub cpus: usize,
    /// Time that CPU 2 loses per KiB, in ns, if there is one.
    pub other_cpus_ns_per_kib: f64,
    /// Share of all CPUs that some other process uses.
    pub foreign_share: f64,
    /// Standard deviation of each window's share of that process, relative.
    pub foreign_noise: f64,
    /// Share of all CPUs that the hypervisor takes.
    pub steal_share: f64,
    /// Whether it takes this in a few windows: of one CPU in ten, ten times the share.
    pub steal_in_bursts: bool,
    /// Whether task clocks contain what it takes (no CONFIG_PARAVIRT_TIME_ACCOUNTING).
    pub steal_in_clocks: bool,
    /// Whether no task clock contains interrupts (CONFIG_IRQ_TIME_ACCOUNTING). The clocks of the
    /// cgroups are in the readings then.
    pub interrupts_apart: bool,
    /// Whether the soakers' own clocks are in the readings, as since format 3.7.
    pub own_clocks: bool,
    /// See `Plan::strict`.
    pub strict: bool,
    /// Whether every fourth block has unsoaked controls and top-speed trials.
    pub unsoaked: bool,
    /// Whether these have an idle clock, and an unsoaked paced trial of the reference beside them.
    pub idle_clock: bool,
    /// The factors that the cells differ in.
    pub factors: Vec<Factor>,
    /// Share of the sender's time that getrusage reports as user mode; `None` for a run without it.
    pub user_share: Option<f64>,
    /// The end of the run.
    pub end: Option<End>,
}

impl Default for Synthetic {
    fn default() -> Self {
        let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
        let zero_copy =
            |send, ns| TrueCell { copied_share: Some(1.0), ..TrueCell::new(send, ns, 400.0) };
        Self {
            cells: vec![
                reference.clone(),
                reference.control(),
                TrueCell::new(SendPath::ReadWrite, 502.0, 400.0),
                TrueCell::new(SendPath::MmapWrite, 560.0, 400.0),
                TrueCell::new(SendPath::Sendfile, 180.0, 390.0),
                TrueCell::new(SendPath::Splice, 210.0, 390.0),
                zero_copy(SendPath::MsgZerocopy, 640.0),
                TrueCell::new(SendPath::UringSend, 520.0, 400.0),
                zero_copy(SendPath::UringSendZc, 660.0),
                TrueCell::new(SendPath::UringSplice, 240.0, 390.0),
            ],
            blocks: 30,
            seed: 1,
            harness_share: 0.0,
            noise: 0.05,
            block_drift: 0.05,
            idle_noise: 0.003,
            idle_drift_per_s: 0.002,
            sides_apart: true,
            rate_bytes_per_s: 8e8,
            cpus: 2,
            other_cpus_ns_per_kib: 0.0,
            foreign_share: 0.0,
            foreign_noise: 0.0,
            steal_share: 0.0,
            steal_in_bursts: false,
            steal_in_clocks: false,
            interrupts_apart: false,
            own_clocks: true,
            strict: false,
            unsoaked: true,
            idle_clock: false,
            factors: vec![Factor::Send],
            user_share: None,
            end: Some(End {
                ended_at: "2026-11-21T12:01:00Z".to_owned(),
                elapsed_ns: 60_000_000_000,
                reason: EndReason::BudgetSpent,
                interim_analyses_at_blocks: vec![8, 15, 22],
                warnings: Vec::new(),
                latencies: Vec::new(),
                other_programs: Vec::new(),
            }),
        }
    }
}

const IDLE_NS: u64 = 40_000_000;
const WARMUP_NS: u64 = 20_000_000;
const WINDOW_NS: u64 = 80_000_000;
const UNSOAKED_NS: u64 = 100_000_000;
/// Soakers of the machine that does not exist finish a unit in 3 us.
const UNITS_PER_NS: f64 = 1.0 / 3000.0;

/// The run of a boot of a kernel on a quiet machine, with `read+send` and these paths.
pub fn boot(seed: u64, blocks: usize, paths: Vec<TrueCell>) -> Run {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
    let control = reference.control();
    let cells = [vec![reference], paths, vec![control]].concat();
    let quiet = Synthetic { block_drift: 0.0, noise: 0.02, ..Synthetic::default() };
    Synthetic { cells, seed, blocks, ..quiet }.run()
}

/// `sendfile`, if it costs so many times what it costs in boots of an unchanged kernel.
pub fn sendfile(factor: f64) -> TrueCell {
    TrueCell::new(SendPath::Sendfile, 180.0 * factor, 390.0 * factor)
}

/// The same run as two machines would have saved it: the receiver's CPU is in the far machine's
/// readings, by a clock that is far ahead. The run must have two CPUs.
pub fn two_machines(mut run: Run) -> Run {
    let far_cpu = run.header.plan.fixed.soaked_cpus.pop().unwrap_or_default();
    run.header.plan.fixed.link = LinkKind::Remote;
    run.header.link.kind = LinkKind::Remote;
    run.header.remote = Some(RemoteFacts {
        kind: PeerKind::Zc,
        address: "192.0.2.2:2224".to_owned(),
        rtt_ns: 50_000,
        machine: Some(RemoteMachine {
            zc_version: run.header.zc_version.clone(),
            host: Host { hostname: "far".to_owned(), ..run.header.host.clone() },
            same_machine: false,
            receiver_cpu: far_cpu,
            soaked_cpus: vec![far_cpu],
            device: None,
        }),
    });
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let (opened, closed, remote) = match slot {
            Slot::Idle(window) => (&mut window.opened, &mut window.closed, &mut window.remote),
            Slot::Trial(trial) => (&mut trial.opened, &mut trial.closed, &mut trial.remote),
        };
        let (opened, closed) = (split_off(opened), split_off(closed));
        *remote = Some(Box::new(RemoteWindow { opened, closed, receiver: None }));
    }
    run
}

/// The same run as the null link would have saved it: there is no receiver, and its CPU is not
/// counted.
pub fn null_link(mut run: Run) -> Run {
    run.header.plan.fixed.link = LinkKind::Null;
    run.header.link.kind = LinkKind::Null;
    run.header.link.far_end = Some(AckOptions::default());
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        let Slot::Trial(Trial { opened, closed, .. }) = slot else { continue };
        for reading in [opened, closed] {
            reading.receiver = Default::default();
            reading.received =
                RecvCounts { bytes: reading.received.bytes, ..RecvCounts::default() };
        }
    }
    run
}

/// Removes the last CPU and the receiver from a reading and returns them as another.
fn split_off(near: &mut Reading) -> Reading {
    const AHEAD_NS: u64 = 1 << 50;
    let mut far = near.clone();
    far.soak.at_ns += AHEAD_NS;
    far.stat.at_ns += AHEAD_NS;
    far.soak.units = near.soak.units.pop().into_iter().collect();
    far.soak.stamp_ns = near.soak.stamp_ns.pop().into_iter().collect();
    far.soak.cpu_ns = near.soak.cpu_ns.pop().into_iter().collect();
    far.soak.ksoftirqd_ns = near.soak.ksoftirqd_ns.pop().into_iter().collect();
    far.stat.cpus = near.stat.cpus.pop().into_iter().collect();
    far.interrupts = near.interrupts.pop().into_iter().collect();
    // Each process reports what its soaker and its thread used: half of all, as both CPUs are
    // equally busy.
    near.process_cpu_ns /= 2;
    far.process_cpu_ns = near.process_cpu_ns;
    (far.sent, far.sender) = Default::default();
    near.receiver = Default::default();
    near.received.calls = 0;
    far
}

impl Synthetic {
    /// Simulates the run.
    pub fn run(&self) -> Run {
        let mut machine = Machine::new(self);
        let blocks = (0..self.blocks).map(|index| machine.block(index)).collect();
        Run { header: self.header(), blocks, end: self.end.clone() }
    }

    fn cell(&self, cell: &TrueCell) -> Cell {
        let reference = self.cells.first().filter(|_| self.harness_share != 0.0);
        Cell {
            harness: reference.map(|reference| reference.cell.label.clone()),
            ..cell.cell.clone()
        }
    }

    /// The header of the run.
    pub fn header(&self) -> Header {
        let receiver_cpu = usize::from(self.cpus > 1);
        Header {
            format: FormatVersion::current(),
            zc_version: "0.1.0".to_owned(),
            started_at: "2026-11-21T12:00:00Z".to_owned(),
            command: vec!["zc".to_owned(), "run".to_owned()],
            plan: Plan {
                experiment: "paths".to_owned(),
                reference: self
                    .cells
                    .first()
                    .map(|first| first.cell.label.clone())
                    .unwrap_or_default(),
                cells: self.cells.iter().map(|cell| self.cell(cell)).collect(),
                fixed: FixedParams {
                    link: LinkKind::Veth,
                    rate_bytes_per_s: self.rate_bytes_per_s,
                    rate_chosen: true,
                    burst_ns: 1_000_000,
                    buffer_bytes: 65_536,
                    recv_buffer_bytes: 65_536,
                    piece_bytes: 1 << 20,
                    flows: 1,
                    congestion: "cubic".to_owned(),
                    sndbuf_bytes: None,
                    rcvbuf_bytes: None,
                    sender_cpu: 0,
                    receiver_cpu,
                    soaked_cpus: (0..self.cpus).collect(),
                    soaker: SoakerKind::Alu,
                    push: Push::Plain,
                    align: Align::Page,
                    pages: CopyPages::Scattered,
                    realtime: false,
                    placement: Placement::Separate,
                    more: Default::default(),
                },
                timing: Timing {
                    warmup_ns: WARMUP_NS,
                    window_ns: WINDOW_NS,
                    idle_ns: IDLE_NS,
                    unsoaked_ns: UNSOAKED_NS,
                },
                files: FileSetFacts {
                    origin: "generated".to_owned(),
                    files: 63,
                    total_bytes: 22_050_000,
                    min_bytes: 1_024,
                    max_bytes: 4_194_304,
                    filesystem: "ext4".to_owned(),
                    skipped: Vec::new(),
                },
                seed: self.seed,
                budget_ns: 60_000_000_000,
                target: 0.025,
                strict: self.strict,
                quick: false,
                factors: self.factors.clone(),
                unsoaked: Unsoaked::InTurn,
                states: None,
                traffic: Traffic::Stream,
            },
            host: Host {
                hostname: "synthetic".to_owned(),
                kernel_release: "6.18.44".to_owned(),
                machine: "x86_64".to_owned(),
                irq_time_accounting: Some(self.interrupts_apart),
                paravirt_time_accounting: Some(!self.steal_in_clocks),
                cpu: CpuFacts { online: self.cpus, ..CpuFacts::default() },
                ..Host::default()
            },
            link: LinkFacts {
                kind: LinkKind::Veth,
                device: "zc0".to_owned(),
                mtu_bytes: 1500,
                offloads: None,
                settings: Default::default(),
                receiver_merges: None,
                sides_apart: self.sides_apart,
                rps: self.sides_apart.then(|| "sysfs".to_owned()),
                rps_check: None,
                ip: IpVersion::V4,
                switched_off: Default::default(),
                gso_max_bytes: None,
                layer: None,
                initial_window_packets: None,
                far_end: None,
                passed_over: Vec::new(),
            },
            other_links: Vec::new(),
            remote: None,
            unavailable: Vec::new(),
            warnings: Vec::new(),
            sampling: None,
            state_readings: Vec::new(),
            probes: self
                .cells
                .iter()
                .map(|cell| Probe::Proof {
                    cell: cell.cell.label.clone(),
                    bytes: 22_050_000,
                    crc32: 0x1234_5678,
                })
                .collect(),
        }
    }
}

/// The state of the simulated machine: its meters, and its random numbers.
struct Machine<'a> {
    world: &'a Synthetic,
    rng: Pcg64,
    now: Reading,
    units: Vec<f64>,
    /// CPU time of the soakers.
    soaker_ns: Vec<f64>,
    ticks: Vec<Ticks>,
    process_cpu_ns: f64,
    /// CPU time of other programs.
    foreign_ns: f64,
    idle_ns: f64,
    /// Logarithm of the current factor of all costs.
    walk: f64,
}

/// CPU time that traffic takes on a CPU in a window.
#[derive(Clone, Copy, Default)]
struct Busy {
    all_ns: f64,
    /// The part of it that is in the clocks of its threads.
    tasks_ns: f64,
}

impl Busy {
    fn add(&mut self, all_ns: f64, tasks_ns: f64) {
        self.all_ns += all_ns;
        self.tasks_ns += tasks_ns;
    }
}

/// Fractions of ticks so far: busy, a soaker's, idle, stolen.
#[derive(Clone, Copy, Default)]
struct Ticks {
    busy: f64,
    soaker: f64,
    idle: f64,
    steal: f64,
}

impl<'a> Machine<'a> {
    fn new(world: &'a Synthetic) -> Self {
        let mut now = Reading { tcp: None, link: None, ..Reading::default() };
        now.soak.at_ns = 1_000_000_000;
        Self {
            world,
            rng: Pcg64::seed_from_u64(world.seed),
            now,
            units: vec![0.0; world.cpus],
            soaker_ns: vec![0.0; world.cpus],
            ticks: vec![Ticks::default(); world.cpus],
            process_cpu_ns: 0.0,
            foreign_ns: 0.0,
            idle_ns: 0.0,
            walk: 0.0,
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u32() as f64 + 0.5) / 4_294_967_296.0
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn block(&mut self, index: usize) -> Block {
        let began_ns = self.now.soak.at_ns;
        self.walk += self.world.block_drift * self.normal();
        let mut order: Vec<usize> = (0..self.world.cells.len()).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, (self.uniform() * (place + 1) as f64) as usize);
        }
        let mut slots = vec![self.idle()];
        for cell in &order {
            slots.push(self.trial(*cell, TrialKind::Soaked));
            slots.push(self.idle());
        }
        if self.world.harness_share != 0.0 {
            slots.push(self.trial(0, TrialKind::Paced));
            slots.push(self.idle());
        }
        if self.world.unsoaked && index.is_multiple_of(4) {
            if self.world.idle_clock {
                slots.push(self.trial(0, TrialKind::UnsoakedPaced));
            }
            for cell in &order {
                slots.push(self.trial(*cell, TrialKind::UnsoakedControl));
                slots.push(self.trial(*cell, TrialKind::TopSpeed));
            }
            slots.push(self.idle());
        }
        let memcpy_bytes_per_s = Some(1e10 * (-self.walk).exp());
        Block {
            index,
            session: 0,
            began_ns,
            memcpy_bytes_per_s,
            slots,
            failed: Vec::new(),
            samples: None,
            dropped: None,
        }
    }

    fn idle(&mut self) -> Slot {
        let opened = self.reading(true);
        self.pass(IDLE_NS, &vec![Busy::default(); self.world.cpus], true);
        Slot::Idle(IdleWindow { opened, closed: self.reading(true), remote: None })
    }

    fn trial(&mut self, cell: usize, kind: TrialKind) -> Slot {
        let world = self.world;
        let truth = &world.cells[cell];
        let soaked = kind.is_soaked();
        let rate = match kind {
            TrialKind::TopSpeed => {
                truth.top_speed_bytes_per_s * (world.noise * self.normal()).exp()
            }
            TrialKind::Paced | TrialKind::UnsoakedPaced => 0.0,
            _ => truth.cell.levels.rate_bytes_per_s.unwrap_or(world.rate_bytes_per_s),
        };
        let length = if soaked { WINDOW_NS } else { UNSOAKED_NS };
        let bytes = rate * length as f64 / 1e9;
        let factor = (self.walk + world.noise * self.normal()).exp();
        // Burned CPU time is the same, whatever memory and neighbours do.
        let burned_ns =
            truth.cell.burn_units_per_mb.unwrap_or_default() / UNITS_PER_NS * bytes / 1e6;
        let softirqs_ns = truth.cell.burn_softirq_ns_per_mb.map(|per_mb| per_mb * bytes / 1e6);
        let burned_ns = burned_ns + softirqs_ns.unwrap_or_default();
        let (sender_ns, receiver_ns) = (
            truth.sender_ns_per_kib * factor * bytes / 1024.0 + burned_ns,
            truth.receiver_ns_per_kib * factor * bytes / 1024.0,
        );
        let mut busy = vec![Busy::default(); world.cpus];
        let harness = if kind == TrialKind::TopSpeed { 0.0 } else { world.harness_share };
        let task_ns = |ns: f64| (ns * truth.rusage_share).max(0.0);
        busy[0].add(sender_ns + harness * length as f64, task_ns(sender_ns));
        busy[usize::from(world.cpus > 1)].add(receiver_ns, task_ns(receiver_ns));
        if let Some(third) = busy.get_mut(2) {
            third.add(world.other_cpus_ns_per_kib * bytes / 1024.0, 0.0);
        }

        self.pass(WARMUP_NS, &vec![Busy::default(); world.cpus], soaked);
        self.now.tcp.get_or_insert_default();
        self.now.link.get_or_insert_default();
        let mut opened = self.reading(soaked);
        opened.burned_ns = softirqs_ns.map(|_| 0);
        self.pass(length, &busy, soaked);
        let whole = bytes as u64;
        let now = &mut self.now;
        now.sent.bytes += whole;
        now.received.bytes += whole;
        // Calls of this size, or a read() and a send() for each 64 KiB.
        now.sent.calls += match truth.cell.levels.message_bytes {
            Some(bytes) => whole / bytes.max(1) as u64,
            None => whole / 65_536 * 2,
        };
        now.received.calls += whole / 65_536;
        now.sender.cpu_ns += task_ns(sender_ns) as u64;
        now.receiver.cpu_ns += task_ns(receiver_ns) as u64;
        now.sender.voluntary_switches += length / 1_000_000;
        now.receiver.voluntary_switches += length / 500_000;
        let (mut completions, mut copied) = (0, 0);
        if let Some(share) = truth.copied_share {
            completions = whole / 65_536;
            copied = (completions as f64 * share) as u64;
            now.sent.completions += completions;
            now.sent.copied += copied;
        }
        if let Some(tcp) = &mut now.tcp {
            tcp.bytes_sent += whole;
            tcp.bytes_acked += whole;
            tcp.busy_us += length / 1000;
            tcp.sndbuf_limited_us += length / 10_000;
        }
        if let Some(link) = &mut now.link {
            link.tx_packets += whole / 30_000;
            link.tx_bytes += whole + whole / 30_000 * 66;
            link.rx_packets += whole / 60_000;
            link.rx_bytes += whole / 60_000 * 66;
        }
        let mut closed = self.reading(soaked);
        closed.burned_ns = softirqs_ns.map(|ns| ns as u64);
        (self.now.tcp, self.now.link) = (None::<TcpReading>, None::<LinkCounters>);
        Slot::Trial(Trial {
            cell: truth.cell.label.clone(),
            kind,
            opened,
            closed,
            whole_bytes: whole,
            whole_completions: completions,
            whole_lost_bytes: None,
            whole_copied: copied,
            fragments: None,
            whole_sender_usage: world.user_share.map(|share| {
                let ns = (sender_ns * truth.rusage_share).max(0.0);
                Usage {
                    user_ns: (ns * share) as u64,
                    system_ns: (ns * (1.0 - share)) as u64,
                    elapsed_ns: length,
                }
            }),
            sockets: None,
            remote: None,
            remote_report: None,
        })
    }

    /// Advances time, of which the traffic takes its part on each CPU.
    fn pass(&mut self, length: u64, busy: &[Busy], soaked: bool) {
        let world = self.world;
        let at = (self.now.soak.at_ns + length / 2) as f64 / 1e9;
        let length_ns = length as f64;
        for (cpu, &Busy { all_ns: busy, tasks_ns }) in busy.iter().enumerate() {
            let noise = self.normal();
            let foreign = match world.foreign_noise {
                0.0 => 1.0,
                noise => (1.0 + noise * self.normal()).max(0.0),
            };
            let stolen = match world.steal_in_bursts {
                false => 1.0,
                true => {
                    if self.uniform() < 0.1 {
                        10.0
                    } else {
                        0.0
                    }
                }
            };
            let foreign_ns = world.foreign_share * foreign * length_ns;
            let stolen_ns = world.steal_share * stolen * length_ns;
            let left_ns = (length_ns - busy - foreign_ns - stolen_ns).clamp(0.0, 2.0 * length_ns);
            let ticks = &mut self.ticks[cpu];
            ticks.steal += stolen_ns / 1e7;
            if soaked {
                let idle_rate = UNITS_PER_NS
                    * (1.0 + world.idle_drift_per_s * at)
                    * (1.0 + world.idle_noise * noise);
                self.units[cpu] += left_ns * idle_rate;
                // Interrupts are in the clocks of those who had the CPU, in proportion to their
                // time.
                let had_ns = length_ns - stolen_ns - tasks_ns;
                let others_ns = foreign_ns / (1.0 - (busy - tasks_ns) / had_ns);
                if world.interrupts_apart {
                    self.soaker_ns[cpu] += left_ns;
                    self.process_cpu_ns += left_ns + tasks_ns;
                } else {
                    // All that is stolen is stolen from a soaker.
                    let in_clock_ns = if world.steal_in_clocks { stolen_ns } else { 0.0 };
                    self.soaker_ns[cpu] += had_ns - others_ns + in_clock_ns;
                    self.process_cpu_ns += length_ns - foreign_ns - stolen_ns + in_clock_ns;
                }
                self.foreign_ns += foreign_ns;
                ticks.busy += (busy + foreign_ns).max(0.0) / 1e7;
                ticks.soaker += left_ns / 1e7;
            } else {
                self.process_cpu_ns += busy.max(0.0);
                ticks.busy += (busy + foreign_ns).max(0.0) / 1e7;
                ticks.idle += left_ns / 1e7;
                self.idle_ns += left_ns;
            }
        }
        self.now.soak.at_ns += length;
        self.now.interrupts = vec![self.now.soak.at_ns / 4_000_000; world.cpus];
    }

    fn reading(&self, soaked: bool) -> Reading {
        let at_ns = self.now.soak.at_ns;
        let world_has_clock = self.world.idle_clock;
        let units = if soaked {
            self.units.iter().map(|units| *units as u64).collect()
        } else {
            Vec::new()
        };
        let by_cpu = |of: &dyn Fn(usize) -> u64| (0..units.len()).map(of).collect::<Vec<_>>();
        let stamp_ns = by_cpu(&|_| at_ns);
        let (cpu_ns, ksoftirqd_ns) = match self.world.own_clocks {
            true => (by_cpu(&|cpu| self.soaker_ns[cpu] as u64), by_cpu(&|_| 0)),
            false => (Vec::new(), Vec::new()),
        };
        let mut reading = self.now.clone();
        reading.soak = SoakReading { at_ns, units, stamp_ns, cpu_ns, ksoftirqd_ns };
        reading.process_cpu_ns = self.process_cpu_ns as u64;
        let cgroups_ns = (self.process_cpu_ns + self.foreign_ns) as u64;
        reading.cgroups_ns = self.world.interrupts_apart.then_some(cgroups_ns);
        reading.idle_ns =
            (world_has_clock && !soaked).then_some(self.idle_ns as u64 / 10_000_000 * 10_000_000);
        reading.stat.at_ns = at_ns;
        reading.stat.cpus = self
            .ticks
            .iter()
            .map(|ticks| CpuTicks {
                user: ticks.busy as u64,
                nice: ticks.soaker as u64,
                idle: ticks.idle as u64,
                steal: ticks.steal as u64,
                ..CpuTicks::default()
            })
            .collect();
        (reading.sender.at_ns, reading.receiver.at_ns) = (at_ns, at_ns);
        if let Some(tcp) = &mut reading.tcp {
            tcp.at_ns = at_ns;
        }
        if let Some(link) = &mut reading.link {
            link.at_ns = at_ns;
        }
        reading
    }
}

/// A run of the experiment `memory`, with a set in the first cache and one in no cache. Each loop
/// has its speed in `speeds` (bytes per second), except for a factor of the whole block and noise
/// of up to 1 %. A fifth of the time the thread did not have its CPU.
pub fn memory_run(blocks: usize, speeds: &[(MemoryLoop, [f64; 2])]) -> MemoryRun {
    let set = |bytes, level, folded| MemorySet { bytes, level, beyond_l2: level.is_none(), folded };
    let sets = vec![
        set(24 << 10, Some(1), MemoryLoop::FoldedAvx2),
        set(128 << 20, None, MemoryLoop::FoldedStreaming),
    ];
    let blocks = (0..blocks).map(|block| {
        let slow = 1.0 + 0.1 * (block % 3) as f64;
        let visits = speeds.iter().enumerate().flat_map(|(place, (name, speeds))| {
            let own = 1.0 + 0.002 * ((place * 7 + block * 3) % 5) as f64;
            speeds.iter().enumerate().map(move |(set, speed)| MemoryVisit {
                set,
                name: *name,
                passes: 1,
                bytes: 1_000_000,
                elapsed_ns: (1.25e15 / speed * slow * own) as u64,
                cpu_ns: (1e15 / speed * slow * own) as u64,
            })
        });
        MemoryBlock { visits: visits.collect() }
    });
    MemoryRun {
        zc_version: "0.1.0".to_owned(),
        host: Default::default(),
        cpu: 1,
        caches: Vec::new(),
        caches_known: true,
        huge_pages: None,
        seed: 1,
        budget_ns: 20_000_000_000,
        sets,
        left_out: Vec::new(),
        unavailable: Vec::new(),
        blocks: blocks.collect(),
    }
}
