//! Invented runs and estimates for the tests of this crate. Every figure is chosen, so a change of
//! arithmetic cannot change a report, and every variant of the types occurs in one of them.

use zc_analysis::{
    AccountKind, BlockAccount, Bounds, CellEstimate, CellVerdict, Cheapest, Comparison, Conditions,
    Control, CostPer, CountedEvents, CpuShare, DropCounts, Estimates, Figure, OtherMethod,
    OtherPrograms, Others, Perturbation, PositiveControl, RatioFigure, RatioMethod, Sides,
    SocketState, Traffic, Unattributed, Verdict, WanderFigures, WhyWallTime,
};
use zc_run::{
    AckOptions, Cell, DeviceFacts, End, FormatVersion, Header, Host, LinkKind, PeerKind, RecvPath,
    RemoteFacts, RemoteMachine, Run, SendPath, Transfer,
};

/// Invented figures of one path.
struct Path {
    send: SendPath,
    /// Sender and receiver, ns/KiB.
    cost: (f64, f64),
    /// Relative half-width of all intervals.
    half: f64,
    is: Comparison,
}

impl Path {
    fn new(send: SendPath, cost: (f64, f64), half: f64, is: Comparison) -> Self {
        Self { send, cost, half, is }
    }
}

/// A quiet veth run with cheaper, dearer, equal and undecided paths, two failed zero-copies, one
/// cell that did not converge, and one that is missing.
pub(crate) fn veth() -> (Run, Estimates) {
    use Comparison::{Cheaper, Dearer, Same, Undecided};
    let paths = [
        Path::new(SendPath::Sendfile, (180.0, 420.0), 0.011, Cheaper { by: 0.333 }),
        Path::new(SendPath::Splice, (186.0, 421.0), 0.014, Cheaper { by: 0.326 }),
        Path::new(SendPath::ReadSend, (450.0, 450.0), 0.009, Undecided),
        Path::new(SendPath::ReadWrite, (452.0, 449.0), 0.012, Same { within: 0.013 }),
        Path::new(SendPath::MmapWrite, (470.0, 452.0), 0.031, Undecided),
        Path::new(SendPath::Vmsplice, (600.0, 451.0), 0.02, Dearer { by: 0.168 }),
        Path::new(SendPath::MsgZerocopy, (455.0, 610.0), 0.02, Dearer { by: 0.183 }),
        Path::new(SendPath::UringSendZcFixed, (440.0, 612.0), 0.018, Dearer { by: 0.169 }),
    ];
    let reference = 900.0;
    let mut cells: Vec<CellEstimate> = paths.iter().map(|path| cell(path, reference)).collect();
    for cell in &mut cells {
        if matches!(
            cell.transfer.send_path(),
            Some(SendPath::MsgZerocopy | SendPath::UringSendZcFixed)
        ) {
            cell.failed_zero_copy = true;
            cell.copied_share = Some(1.0);
        }
        if cell.transfer.send_path() == Some(SendPath::Vmsplice) {
            cell.perturbation.saturated = true;
            cell.perturbation.soaked_by_nominal = Some(0.961);
            cell.traffic.enobufs = 3;
        }
    }
    let mut control =
        cell(&Path::new(SendPath::ReadSend, (451.0, 450.5), 0.012, Undecided), reference);
    control.label = "read+send (A/A)".to_owned();
    control.reference = false;
    control.control = true;
    control.ratio.both = Some(ratio(1.002, 0.012));
    let verdicts =
        paths.iter().filter(|path| path.send != SendPath::ReadSend).map(|path| CellVerdict {
            label: path.send.to_string(),
            comparison: path.is,
            interval_excludes_one: matches!(
                path.is,
                Comparison::Cheaper { .. } | Comparison::Dearer { .. }
            ),
            failed_zero_copy: matches!(
                path.send,
                SendPath::MsgZerocopy | SendPath::UringSendZcFixed
            ),
        });
    let verdict = Verdict {
        withheld: Vec::new(),
        cells: verdicts.collect(),
        cheapest: vec!["sendfile".to_owned(), "splice".to_owned()],
        cheapest_by: vec![Cheapest {
            by: "read+send".to_owned(),
            cells: vec!["sendfile".to_owned(), "splice".to_owned()],
        }],
        comparisons: 7,
        control_error: None,
        ..Verdict::default()
    };
    let mut positive = control.clone();
    positive.label = "read+send (+burn)".to_owned();
    positive.positive_control = true;
    positive.ratio.both = Some(ratio(1.097, 0.012));
    cells.extend([control, positive]);
    let estimates = Estimates {
        requests: Vec::new(),
        replay: None,
        confidence: 0.95,
        interval_level: 0.9736,
        reference: "read+send".to_owned(),
        sides_apart: true,
        sender_alone: false,
        client_alone: false,
        cells,
        rough: Vec::new(),
        cost_ratio_with_soakers: Some(figure(0.96, 0.03)),
        unattributed: Some(Unattributed {
            label: "msg-zerocopy".to_owned(),
            cost_ns_per_kib: figure(0.3, 4.0),
            added: false,
        }),
        account: AccountKind::OwnClocks,
        other_programs: Some(OtherPrograms {
            share: 0.11,
            cpus: 2,
            by_cpu: vec![CpuShare { cpu: 0, share: 0.04 }, CpuShare { cpu: 1, share: 0.22 }],
            windows: 1890,
            windows_left_out: 0,
        }),
        wander: WanderFigures { ratios: Some(0.004), costs: Some(0.03) },
        control: Some(Control {
            label: "read+send (A/A)".to_owned(),
            ratio: Sides { sender: None, receiver: None, both: Some(ratio(1.002, 0.012)) },
            fits: Some(true),
            resolution: Some(0.012),
        }),
        positive_control: Some(PositiveControl {
            label: "read+send (+burn)".to_owned(),
            expected: Some(1.094),
            in_softirqs: Some(0.047),
            found: Some(ratio(1.097, 0.012)),
            fits: Some(true),
            seen: Some(true),
            resolution: Some(0.012),
        }),
        blocks: BlockAccount {
            measured: 150,
            kept: 143,
            dropped: DropCounts {
                steal: 4,
                idle_drift: 2,
                foreign: 0,
                trial_failed: 0,
                unfinished: 1,
            },
        },
        conditions: Conditions {
            memcpy_bytes_per_s: Some(12.1e9),
            memcpy_slowest_bytes_per_s: Some(10.2e9),
            memcpy_fastest_bytes_per_s: Some(13.0e9),
            steal_share: Some(0.0031),
            idle_drift: Some(0.004),
        },
        verdict,
        sizes: Sides::default(),
        components: Sides::default(),
        accounts: None,
    };
    let mut run = run(&paths);
    run.header.link.sides_apart = true;
    (run, estimates)
}

/// The run of [`veth`] over loopback, without separate sides.
pub(crate) fn loopback() -> (Run, Estimates) {
    let (mut run, mut estimates) = veth();
    run.header.plan.fixed.link = LinkKind::Loopback;
    run.header.link.kind = LinkKind::Loopback;
    run.header.link.device = "lo".to_owned();
    run.header.link.mtu_bytes = 65_536;
    run.header.link.sides_apart = false;
    run.header.link.passed_over =
        vec!["veth: user namespaces are switched off (user.max_user_namespaces = 0)".to_owned()];
    estimates.sides_apart = false;
    for cell in &mut estimates.cells {
        cell.cost_ns_per_kib.sender = None;
        cell.cost_ns_per_kib.receiver = None;
        cell.ratio.sender = None;
        cell.ratio.receiver = None;
    }
    (run, estimates)
}

/// The run of [`veth`] between two machines.
pub(crate) fn remote() -> (Run, Estimates) {
    let (mut run, estimates) = veth();
    run.header.plan.fixed.link = LinkKind::Remote;
    run.header.link.kind = LinkKind::Remote;
    run.header.link.device = "eth0".to_owned();
    run.header.link.settings = [("driver", "virtio_net"), ("qdisc", "mq of fq_codel")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    run.header.remote = Some(RemoteFacts {
        kind: PeerKind::Zc,
        address: "192.0.2.2:2224".to_owned(),
        rtt_ns: 48_000,
        machine: Some(RemoteMachine {
            zc_version: "0.1.0".to_owned(),
            host: Host { hostname: "far".to_owned(), ..run.header.host.clone() },
            same_machine: false,
            receiver_cpu: 3,
            soaked_cpus: vec![0, 1, 2, 3],
            device: Some(DeviceFacts {
                name: "eth1".to_owned(),
                mtu_bytes: 1500,
                offloads: Some([("rx-gro".to_owned(), true), ("tx-udp".to_owned(), false)].into()),
                settings: [("interrupts on CPUs", "0 3"), ("receive packet steering", "off")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            }),
        }),
    });
    (run, estimates)
}

/// The run of [`remote`] to an iperf3 server, which does not measure.
pub(crate) fn iperf3() -> (Run, Estimates) {
    let (mut run, mut estimates) = remote();
    let facts = run.header.remote.as_mut().unwrap();
    (facts.kind, facts.machine) = (PeerKind::Iperf3, None);
    "192.0.2.2:5201".clone_into(&mut facts.address);
    estimates.sender_alone = true;
    for cell in &mut estimates.cells {
        cell.cost_ns_per_kib =
            Sides { receiver: None, both: cell.cost_ns_per_kib.sender, ..cell.cost_ns_per_kib };
        cell.gross_cost_ns_per_kib = cell.cost_ns_per_kib;
        let mean = &mut cell.mean_cost_ns_per_kib;
        (mean.receiver, mean.both) = (None, mean.sender);
        cell.traffic.recv_calls_per_mb = None;
        cell.others.far_process_ns_per_kib = Some(150.0 + cell.label.len() as f64);
    }
    (run, estimates)
}

/// The run of [`veth`] over the null link, without a receiver and without copied zero-copy sends.
pub(crate) fn null() -> (Run, Estimates) {
    let (mut run, mut estimates) = veth();
    run.header.plan.fixed.link = LinkKind::Null;
    run.header.link.kind = LinkKind::Null;
    run.header.link.far_end = Some(AckOptions::default());
    estimates.sender_alone = true;
    estimates.account = AccountKind::WallTime { because: WhyWallTime::NoClocks };
    (estimates.other_programs, estimates.unattributed) = (None, None);
    for cell in &mut estimates.cells {
        cell.cost_ns_per_kib =
            Sides { receiver: None, both: cell.cost_ns_per_kib.sender, ..cell.cost_ns_per_kib };
        cell.harness_ns_per_kib = Some(figure(20.0, 0.05));
        cell.idle_host_ns_per_kib =
            cell.cost_ns_per_kib.both.map(|cost| figure(cost.value * 0.9, 0.06));
        for gross in [&mut cell.gross_cost_ns_per_kib.sender, &mut cell.gross_cost_ns_per_kib.both]
        {
            *gross = cell.cost_ns_per_kib.sender.map(|cost| figure(cost.value + 20.0, 0.02));
        }
        cell.gross_cost_ns_per_kib.receiver = None;
        let mean = &mut cell.mean_cost_ns_per_kib;
        (mean.receiver, mean.both) = (None, mean.sender);
        cell.ratio = Sides { receiver: None, both: cell.ratio.sender, ..cell.ratio };
        cell.traffic.recv_calls_per_mb = None;
        cell.failed_zero_copy = false;
        cell.copied_share = cell.copied_share.map(|_| 0.0);
        for method in [
            &mut cell.others.getrusage_soaked,
            &mut cell.others.getrusage_unsoaked_control,
            &mut cell.others.proc_stat,
        ] {
            method.cost_ns_per_kib = Sides {
                receiver: None,
                both: method.cost_ns_per_kib.sender,
                ..method.cost_ns_per_kib
            };
            method.by_soaked.receiver = None;
        }
    }
    for verdict in &mut estimates.verdict.cells {
        verdict.failed_zero_copy = false;
        let cell = estimates.cells.iter().find(|cell| cell.label == verdict.label);
        let ratio = cell.and_then(|cell| cell.ratio.both).map_or(1.0, |ratio| ratio.value);
        if matches!(verdict.comparison, Comparison::Cheaper { .. } | Comparison::Dearer { .. }) {
            verdict.comparison = if ratio < 1.0 {
                Comparison::Cheaper { by: 1.0 - ratio }
            } else {
                Comparison::Dearer { by: ratio - 1.0 }
            };
        }
    }
    (run, estimates)
}

/// A run that was killed before its first block.
pub(crate) fn without_blocks() -> (Run, Estimates) {
    let (mut run, mut estimates) = veth();
    run.end = None;
    run.header.warnings.clear();
    for cell in &mut estimates.cells {
        *cell = CellEstimate {
            cost_ns_per_kib: Sides::default(),
            ratio: Sides::default(),
            gbit_per_core: Sides::default(),
            top_speed_bytes_per_s: None,
            top_speed_by_memcpy: None,
            perturbation: Perturbation::default(),
            copied_share: None,
            failed_zero_copy: false,
            traffic: Traffic::default(),
            others: Others::default(),
            blocks: 0,
            ..cell.clone()
        };
    }
    estimates.control = None;
    estimates.positive_control = None;
    estimates.blocks = BlockAccount::default();
    estimates.conditions = Conditions::default();
    estimates.verdict = Verdict {
        withheld: vec![
            zc_analysis::Withheld::NoReference,
            zc_analysis::Withheld::TooFewBlocks { kept: 0, needed: 7 },
        ],
        cells: Vec::new(),
        cheapest: Vec::new(),
        cheapest_by: Vec::new(),
        comparisons: 0,
        control_error: None,
        ..Verdict::default()
    };
    (run, estimates)
}

pub(crate) fn figure(value: f64, half: f64) -> Figure {
    Figure {
        value,
        interval: Some(Bounds {
            low: value * (1.0 - half),
            high: Some(value * (1.0 + half)),
            confidence: 0.975,
        }),
        half_width: Some(value * half),
        blocks: 143,
    }
}

pub(crate) fn ratio(value: f64, half: f64) -> RatioFigure {
    RatioFigure {
        value,
        interval: Some(Bounds {
            low: value * (1.0 - half),
            high: Some(value * (1.0 + half)),
            confidence: 0.975,
        }),
        half_width: Some(half),
        converged: half <= 0.025,
        method: RatioMethod::HodgesLehmann,
        p_value: Some(0.001),
        blocks: 143,
        wander_inflation: 1.0,
        not_enough_blocks: false,
    }
}

fn cell(path: &Path, reference: f64) -> CellEstimate {
    let (sender, receiver) = path.cost;
    let both = sender + receiver;
    let is_reference = path.send == SendPath::ReadSend;
    let sides = |half| Sides {
        sender: Some(figure(sender, half)),
        receiver: Some(figure(receiver, half)),
        both: Some(figure(both, half)),
    };
    let other = |by: f64| OtherMethod {
        cost_ns_per_kib: Sides {
            sender: Some(sender * by),
            receiver: Some(receiver * by),
            both: Some(both * by),
        },
        by_soaked: Sides { sender: Some(by), receiver: Some(by), both: Some(by) },
        bytes: 4_576_000_000,
    };
    let wanted = |value| if is_reference { None } else { Some(ratio(value, path.half)) };
    CellEstimate {
        label: path.send.to_string(),
        transfer: Transfer::Paths { send: path.send, recv: RecvPath::Recv },
        levels: Default::default(),
        by: (!is_reference).then(|| "read+send".to_owned()),
        reference: is_reference,
        control: false,
        positive_control: false,
        two_states: None,
        blocks: 143,
        cost_ns_per_kib: sides(path.half),
        gross_cost_ns_per_kib: sides(path.half),
        harness_ns_per_kib: None,
        idle_host_ns_per_kib: None,
        mean_cost_ns_per_kib: Sides {
            sender: Some(sender * 1.04),
            receiver: Some(receiver * 1.04),
            both: Some(both * 1.04),
        },
        other_cpus_ns_per_kib: None,
        ratio: Sides {
            sender: wanted(sender / 450.0),
            receiver: wanted(receiver / 450.0),
            both: wanted(both / reference),
        },
        at_noise_floor: false,
        below_zero: false,
        blocks_not_positive: 0,
        gbit_per_core: Sides {
            sender: None,
            receiver: None,
            both: Some(figure(8192.0 / both, path.half)),
        },
        top_speed_bytes_per_s: Some(figure(3.1e12 / both, 0.03)),
        top_speed_by_memcpy: Some(figure(3.1e12 / both / 12.1e9, 0.03)),
        perturbation: Perturbation {
            soaked_by_unsoaked_control: Some(1.0 - path.half / 10.0),
            soaked_by_nominal: Some(0.9995),
            soaked_by_possible: Some(0.9995),
            saturated: false,
        },
        copied_share: None,
        failed_zero_copy: false,
        traffic: Traffic {
            bytes: 4_576_000_000,
            elapsed_ns: 11_440_000_000,
            wake_ups_per_mb: Some(2.5),
            send_calls_per_mb: Some(15.3),
            recv_calls_per_mb: Some(22.1),
            packet_bytes: Some(41_234.5),
            packets_per_s: Some(9700.6),
            rx_packet_bytes: Some(66.0),
            rx_packets_per_s: Some(4850.3),
            interrupts_per_s: Some(512.3),
            switches_per_mb: Some(0.731),
            retransmits: Some(0),
            enobufs: 0,
            short_share: Some(0.0),
            ..Traffic::default()
        },
        cost_per: CostPer::default(),
        sockets: SocketState::default(),
        events: CountedEvents::default(),
        others: Others {
            getrusage_soaked: other(1.0 - path.half * 5.0),
            getrusage_unsoaked_control: other(0.97),
            proc_stat: other(0.8 + path.half * 10.0),
            far_process_ns_per_kib: None,
        },
    }
}

/// The run of testdata/run.json, with a cell per path and the control.
fn run(paths: &[Path]) -> Run {
    #[derive(serde::Deserialize)]
    struct File {
        header: Header,
        end: End,
    }
    let File { mut header, end } =
        serde_json::from_str(include_str!("../../testdata/run.json")).unwrap();
    header.format = FormatVersion::current();
    let cells = paths.iter().map(|path| Cell::of_paths(path.send, RecvPath::Recv));
    header.plan.cells = cells.collect();
    header.plan.cells.push(Cell {
        label: "read+send (A/A)".to_owned(),
        control: true,
        ..Cell::of_paths(SendPath::ReadSend, RecvPath::Recv)
    });
    Run { header, blocks: Vec::new(), end: Some(end) }
}
