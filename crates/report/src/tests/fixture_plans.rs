//! Invented runs of plans of several factors. Every combination of the levels is a cell, whose cost
//! is computed by a formula.

use super::fixture::{figure, ratio, veth};
use zc_analysis::{
    AccountRatio, AccountRow, Accounts, CellEstimate, CellVerdict, Comparison, Components,
    Crossover, CrossoverMethod, Estimates, Line, Outcome, Perturbation, Prediction, Residual,
    Series, Sides, SizePoint, Sizes, TimeLine, Undecided,
};
use zc_run::{
    Block, Cell, Factor, FailedTrial, Level, Levels, LinkKind, OffloadSwitch, Placement, Push,
    RecvPath, Run, SendPath, Support, SupportRow, Transfer, Unavailable, Unsoaked,
};

/// A run of `experiment`. `cost` gives the cost of each cell, sender and receiver in ns/KiB. A cell
/// is compared with the one of the first level of the factor `compare` and the same levels of all
/// others.
pub(crate) fn plan(
    experiment: &str,
    factors: &[(Factor, &[&str])],
    compare: Factor,
    cost: impl Fn(&Cell) -> (f64, f64),
) -> (Run, Estimates) {
    plan_by(experiment, factors, &[compare], cost)
}

/// The same, compared in several factors. Paths that encrypt have no cell in the clear, and others
/// have none with a cipher.
fn plan_by(
    experiment: &str,
    factors: &[(Factor, &[&str])],
    compare: &[Factor],
    cost: impl Fn(&Cell) -> (f64, f64),
) -> (Run, Estimates) {
    let (mut run, mut estimates) = veth();
    let model = estimates.cells[2].clone();
    let mut cells = vec![(Vec::<&str>::new(), Cell::of_paths(SendPath::ReadSend, RecvPath::Recv))];
    for (factor, levels) in factors {
        cells = cells
            .into_iter()
            .flat_map(|(names, cell)| {
                levels.iter().map(move |level| {
                    let (mut names, mut cell) = (names.clone(), cell.clone());
                    Level::parse(*factor, level).unwrap().put(&mut cell);
                    names.push(level);
                    (names, cell)
                })
            })
            .collect();
    }
    let mut firsts: Vec<(Vec<&str>, String, (f64, f64))> = Vec::new();
    estimates.cells.clear();
    estimates.verdict.cells.clear();
    run.header.plan.cells.clear();
    let suits = |names: &[&str], cell: &Cell| {
        let levels =
            factors.iter().zip(names).map(|((factor, _), name)| Level::parse(*factor, name));
        levels.flatten().all(|level| level.suits(cell))
    };
    cells.retain(|(names, cell)| suits(names, cell));
    for (names, mut cell) in cells {
        cell.label = names.join(" ");
        cell.transfer = cell.transfer.paired();
        let (sender, receiver) = cost(&cell);
        let both = sender + receiver;
        let others =
            factors.iter().zip(&names).filter(|((factor, _), _)| !compare.contains(factor));
        let keys: Vec<&str> = others.map(|(_, name)| *name).collect();
        let first = firsts.iter().find(|(known, _, _)| *known == keys).cloned();
        let half = 0.008 + (both % 7.0) / 300.0;
        let mut figures = CellEstimate {
            label: cell.label.clone(),
            transfer: cell.transfer,
            levels: cell.levels.clone(),
            by: first.as_ref().map(|(_, label, _)| label.clone()),
            reference: estimates.cells.is_empty(),
            cost_ns_per_kib: Sides {
                sender: Some(figure(sender, half)),
                receiver: Some(figure(receiver, half)),
                both: Some(figure(both, half)),
            },
            ratio: Sides::default(),
            top_speed_bytes_per_s: Some(figure(3.1e12 / both, 0.02)),
            top_speed_by_memcpy: Some(figure(3.1e12 / both / 12.1e9, 0.02)),
            ..model.clone()
        };
        if let Some((_, label, (first_sender, first_receiver))) = first {
            let value = both / (first_sender + first_receiver);
            figures.ratio = Sides {
                sender: Some(ratio(sender / first_sender, half)),
                receiver: Some(ratio(receiver / first_receiver, half)),
                both: Some(ratio(value, half)),
            };
            let comparison = if value < 1.0 - half {
                Comparison::Cheaper { by: 1.0 - value }
            } else if value > 1.0 + half {
                Comparison::Dearer { by: value - 1.0 }
            } else {
                Comparison::Undecided
            };
            estimates.verdict.cells.push(CellVerdict {
                label: cell.label.clone(),
                comparison,
                interval_excludes_one: comparison != Comparison::Undecided,
                failed_zero_copy: false,
            });
            cell.by = Some(label);
        } else {
            firsts.push((keys, cell.label.clone(), (sender, receiver)));
        }
        run.header.plan.cells.push(cell);
        estimates.cells.push(figures);
    }
    estimates.verdict.cheapest.clear();
    estimates.verdict.cheapest_by.clear();
    estimates.verdict.comparisons = estimates.verdict.cells.len();
    let reference = run.header.plan.cells[0].label.clone();
    let control = Cell {
        label: format!("{reference} (A/A)"),
        control: true,
        by: None,
        ..run.header.plan.cells[0].clone()
    };
    let figures = CellEstimate {
        label: control.label.clone(),
        reference: false,
        control: true,
        by: Some(reference.clone()),
        ..estimates.cells[0].clone()
    };
    run.header.plan.cells.push(control);
    estimates.cells.push(figures);
    run.header.plan.experiment = experiment.to_owned();
    run.header.plan.factors = factors.iter().map(|(factor, _)| *factor).collect();
    run.header.plan.reference.clone_from(&reference);
    run.header.unavailable.clear();
    estimates.reference = reference;
    (run, estimates)
}

/// Cost of a call and of a KiB on a path, ns.
fn path_cost(send: SendPath) -> (f64, f64) {
    match send {
        SendPath::ReadSend => (700.0, 400.0),
        SendPath::Sendfile => (1500.0, 130.0),
        SendPath::MsgZerocopy => (3600.0, 120.0),
        _ => (900.0, 410.0),
    }
}

/// 9 by 4 cells that differ in message and path: all cases of marks, rates by row, a fit and each
/// kind of crossover.
pub(crate) fn sizes() -> (Run, Estimates) {
    let messages = ["256", "1k", "4k", "8k", "16k", "64k", "256k", "1m", "4m"];
    let sends = ["read+send", "sendfile", "msg-zerocopy", "uring-send"];
    let (mut run, mut estimates) = plan(
        "sizes",
        &[(Factor::Message, &messages), (Factor::Send, &sends)],
        Factor::Send,
        |cell| {
            let (call, kib) = path_cost(cell.transfer.send_path().unwrap());
            (call * 1024.0 / cell.levels.message_bytes.unwrap() as f64 + kib, 310.0)
        },
    );
    for (cell, figures) in run.header.plan.cells.iter_mut().zip(&mut estimates.cells) {
        let bytes = cell.levels.message_bytes.unwrap();
        cell.levels.rate_bytes_per_s = Some(if bytes < 4096 { 5e7 } else { 4e8 });
        figures.levels = cell.levels.clone();
        figures.traffic.bytes = if bytes < 4096 { 572_000_000 } else { 4_576_000_000 };
        if bytes == 256 && cell.transfer.send_path() == Some(SendPath::MsgZerocopy) {
            figures.perturbation = Perturbation { saturated: true, ..figures.perturbation };
        }
    }
    let line = |(call, kib): (f64, f64), share| Line {
        call_ns: figure(call, 0.06),
        ns_per_kib: figure(kib + 310.0, 0.02),
        largest_residual: Residual { size_bytes: 4096, share },
    };
    let series = |send: SendPath| Series {
        name: send.to_string(),
        reference: send == SendPath::ReadSend,
        points: vec![SizePoint {
            cell: format!("4m {send}"),
            size_bytes: 4 << 20,
            call_ns: Some(1e6),
        }],
        line: (send != SendPath::UringSend).then(|| line(path_cost(send), 0.043)),
    };
    let crossover =
        |of, outcome| Crossover { of, against: 0, outcome, method: Some(CrossoverMethod::Lines) };
    estimates.sizes.both = Some(Sizes {
        series: [
            SendPath::ReadSend,
            SendPath::Sendfile,
            SendPath::MsgZerocopy,
            SendPath::UringSend,
        ]
        .map(series)
        .to_vec(),
        crossovers: vec![
            crossover(1, Outcome::From { size: 3034.0, low: Some(2800.0), high: 3300.0 }),
            crossover(2, Outcome::From { size: 9318.4, low: None, high: 10_650.0 }),
            crossover(3, Outcome::Undecided { why: Undecided::NowhereCheaper }),
            Crossover { of: 2, against: 1, outcome: Outcome::Never, method: None },
        ],
    });
    (run, estimates)
}

/// 3 by 2 by 2 cells that differ in rate, message and path, and what was fitted to them.
pub(crate) fn components() -> (Run, Estimates) {
    let (rates, messages) = (["20MB/s", "200MB/s", "1.6GB/s"], ["16k", "256k"]);
    let sends = ["read+send", "sendfile"];
    let wake_up_ns = 9_000.0;
    let (run, mut estimates) = plan(
        "components",
        &[(Factor::Rate, &rates), (Factor::Message, &messages), (Factor::Send, &sends)],
        Factor::Send,
        |cell| {
            let (call, kib) = path_cost(cell.transfer.send_path().unwrap());
            let wake_ups_per_kib = 1000.0 * 1024.0 / cell.levels.rate_bytes_per_s.unwrap();
            let calls_per_kib = 1024.0 / cell.levels.message_bytes.unwrap() as f64;
            (wake_up_ns * wake_ups_per_kib + call * calls_per_kib + kib, 310.0)
        },
    );
    for cell in &mut estimates.cells {
        let rate = cell.levels.rate_bytes_per_s.unwrap();
        cell.traffic.wake_ups_per_mb = Some(1e9 / rate);
        cell.harness_ns_per_kib = Some(figure(31_000.0 * 1024e3 / rate, 0.02));
    }
    let series = |send: SendPath| {
        let own = estimates
            .cells
            .iter()
            .filter(|cell| cell.transfer.send_path() == Some(send) && !cell.control);
        let (call, kib) = path_cost(send);
        Components {
            name: send.to_string(),
            wake_up_ns: figure(wake_up_ns, 0.09),
            call_ns: Some(figure(call, 0.06)),
            ns_per_kib: figure(kib + 310.0, 0.02),
            predictions: own
                .enumerate()
                .map(|(place, cell)| Prediction {
                    cell: cell.label.clone(),
                    rate_bytes_per_s: cell.levels.rate_bytes_per_s.unwrap(),
                    measured_by_predicted: figure(0.94 + 0.03 * place as f64, 0.04),
                })
                .collect(),
        }
    };
    estimates.components.both = Some([SendPath::ReadSend, SendPath::Sendfile].map(series).to_vec());
    (run, estimates)
}

pub(crate) fn receive() -> (Run, Estimates) {
    let recvs = ["recv", "zerocopy-receive", "recv-trunc", "uring-recv"];
    let (mut run, mut estimates) = plan(
        "receive",
        &[(Factor::RecvBuffer, &["16k", "64k", "1m"]), (Factor::Recv, &recvs)],
        Factor::Recv,
        |cell| {
            let buffer = cell.levels.recv_buffer_bytes.unwrap() as f64;
            let kib = match cell.transfer.receiver() {
                RecvPath::Recv => 300.0,
                RecvPath::ZerocopyReceive => 210.0,
                RecvPath::RecvTrunc => 110.0,
                _ => 301.0,
            };
            (400.0, kib + 900.0 * 1024.0 / buffer)
        },
    );
    for (cell, figures) in run.header.plan.cells.iter_mut().zip(&mut estimates.cells) {
        let buffer = cell.levels.recv_buffer_bytes;
        if let Transfer::Paths { send, recv: RecvPath::ZerocopyReceive } = &mut cell.transfer {
            *send = if buffer == Some(16_384) { SendPath::Sendfile } else { SendPath::MsgZerocopy };
            let share = if *send == SendPath::Sendfile { 0.0 } else { 0.941 };
            figures.traffic.mapped_share = Some(share);
        }
    }
    (run, estimates)
}

/// A plan in which one cell is not available and one failed.
pub(crate) fn offloads() -> (Run, Estimates) {
    let levels = ["all", "no-tso", "no-tso+no-gso", "no-sg+no-checksum"];
    let sends = ["read+send", "sendfile", "msg-zerocopy"];
    let (mut run, mut estimates) = plan(
        "offloads",
        &[(Factor::Offloads, &levels), (Factor::Send, &sends)],
        Factor::Offloads,
        |cell| {
            let without = cell.levels.switched_off.as_ref().unwrap();
            let (call, kib) = path_cost(cell.transfer.send_path().unwrap());
            let sums = without.contains(&OffloadSwitch::NoChecksum);
            let cuts = without.contains(&OffloadSwitch::NoGso);
            let kib = if sums && cell.transfer.send_path() != Some(SendPath::ReadSend) {
                kib + 240.0
            } else {
                kib
            };
            (call / 64.0 + kib + if cuts { 380.0 } else { 0.0 }, 310.0)
        },
    );
    let gone = "no-sg+no-checksum msg-zerocopy";
    run.header.plan.cells.retain(|cell| cell.label != gone);
    estimates.cells.retain(|cell| cell.label != gone);
    estimates.verdict.cells.retain(|cell| cell.label != gone);
    run.header.unavailable = vec![SupportRow {
        what: "cell".to_owned(),
        name: gone.to_owned(),
        support: Support::No(
            Unavailable::refused("ethtool refused it: Operation not permitted")
                .remedy("run as root"),
        ),
    }];
    let failed = estimates.cells.iter_mut().find(|cell| cell.label == "no-tso sendfile").unwrap();
    failed.cost_ns_per_kib = Sides::default();
    failed.ratio = Sides::default();
    failed.top_speed_bytes_per_s = None;
    failed.blocks = 0;
    let broke =
        FailedTrial { cell: failed.label.clone(), reason: "the far end hung up".to_owned() };
    run.blocks.push(Block {
        index: 0,
        session: 0,
        began_ns: 0,
        memcpy_bytes_per_s: None,
        slots: Vec::new(),
        failed: vec![broke.clone(), broke],
        samples: None,
        dropped: None,
    });
    (run, estimates)
}

pub(crate) fn cork() -> (Run, Estimates) {
    let pushes = ["plain", "cork", "more", "nodelay"];
    let factors: [(Factor, &[&str]); 2] =
        [(Factor::Message, &["64", "1k", "64k"]), (Factor::Push, &pushes)];
    let (run, mut estimates) = plan("cork", &factors, Factor::Push, |cell| {
        let small = 64.0 / cell.levels.message_bytes.unwrap() as f64;
        match cell.levels.push.unwrap() {
            Push::Cork | Push::More | Push::File => (400.0 + 9000.0 * small, 310.0),
            Push::Plain => (400.0 + 9800.0 * small, 310.0 + 900.0 * small),
            Push::Nodelay => (400.0 + 11_000.0 * small, 310.0 + 8000.0 * small),
        }
    });
    for cell in &mut estimates.cells {
        let small = cell.levels.message_bytes == Some(64);
        cell.traffic.packet_bytes = Some(if small { 1200.0 } else { 41_000.0 });
        cell.traffic.packets_per_s = Some(if small { 330_000.4 } else { 9700.6 });
    }
    (run, estimates)
}

/// A plan over loopback, without separate sides.
pub(crate) fn affinity() -> (Run, Estimates) {
    let factors: [(Factor, &[&str]); 2] = [
        (Factor::Placement, &["free", "separate", "same"]),
        (Factor::Send, &["sendfile", "read+send"]),
    ];
    let (mut run, mut estimates) = plan("affinity", &factors, Factor::Placement, |cell| {
        let by = match cell.levels.placement.unwrap() {
            Placement::Free => 1.05,
            Placement::Separate => 1.0,
            Placement::Same => 0.8,
        };
        (path_cost(cell.transfer.send_path().unwrap()).1 * by, 310.0 * by)
    });
    let plan = &mut run.header.plan;
    (plan.fixed.link, plan.fixed.buffer_bytes, plan.unsoaked) =
        (LinkKind::Loopback, 8192, Unsoaked::TopSpeed);
    estimates.sides_apart = false;
    for cell in &mut estimates.cells {
        cell.cost_ns_per_kib = Sides { both: cell.cost_ns_per_kib.both, ..Sides::default() };
        cell.ratio = Sides { both: cell.ratio.both, ..Sides::default() };
        let same = cell.levels.placement == Some(Placement::Same);
        cell.top_speed_bytes_per_s = Some(figure(if same { 1.9e9 } else { 4.4e9 }, 0.03));
    }
    (run, estimates)
}

/// A plan of four factors with both accounts: one that did not reach its confidence, one from a
/// run with separate user and system time.
pub(crate) fn sockbuf() -> (Run, Estimates) {
    let factors: [(Factor, &[&str]); 4] = [
        (Factor::Offloads, &["all", "no-tso+no-gso"]),
        (Factor::Sockbuf, &["32k", "128k"]),
        (Factor::Message, &["64k", "1m"]),
        (Factor::Send, &["mmap+write", "sendfile"]),
    ];
    let (run, mut estimates) = plan("sockbuf", &factors, Factor::Send, |cell| {
        let cuts = if cell.levels.switched_off.as_ref().is_some_and(|off| off.is_empty()) {
            0.0
        } else {
            380.0
        };
        (path_cost(cell.transfer.send_path().unwrap()).1 + cuts, 310.0)
    });
    let rows = estimates.cells.iter().enumerate().map(|(place, cell)| {
        let us_per_kb = |figure: zc_analysis::Figure| self::figure(figure.value / 1e3, 0.011);
        let cost = cell.cost_ns_per_kib;
        let demand = Sides {
            sender: cost.sender.map(us_per_kb),
            receiver: cost.receiver.map(us_per_kb),
            both: None,
        };
        let percent =
            |ns_per_kib: zc_analysis::Figure| figure(ns_per_kib.value / 20.48 * 0.4, 0.011);
        let cpu = cost.sender.unwrap().value * 0.0039 * 0.9;
        AccountRow {
            cell: cell.label.clone(),
            throughput_mbit_per_s: Some(figure(3200.0, 0.001)),
            top_speed_mbit_per_s: Some(figure(27_000.0, 0.02)),
            utilisation_percent: Sides {
                sender: cost.sender.map(percent),
                receiver: cost.receiver.map(percent),
                both: None,
            },
            demand_us_per_kb: demand,
            demand_within_target: Sides {
                sender: Some(place != 3),
                receiver: Some(true),
                both: None,
            },
            throughput_within_target: Some(true),
            time: (place != 5).then(|| TimeLine {
                user_s: (place != 6).then_some(0.013),
                system_s: (place != 6).then_some(cpu - 0.013),
                elapsed_s: 10.0,
                cpu_s: figure(cpu, 0.02),
                cpu_percent: figure(cpu * 10.0, 0.02),
            }),
        }
    });
    let rows: Vec<AccountRow> = rows.collect();
    let ratios = estimates.cells.chunks_exact(2).enumerate().map(|(place, pair)| AccountRatio {
        above: pair[0].label.clone(),
        below: pair[1].label.clone(),
        demand: Sides {
            sender: Some(ratio(2.0 + place as f64 / 10.0, 0.01)),
            receiver: None,
            both: None,
        },
        time: (place != 1).then(|| ratio(2.1 + place as f64, 0.02)),
        disagree: (place != 1).then_some(place > 0),
    });
    estimates.accounts = Some(Accounts { ratios: ratios.collect(), rows });
    (run, estimates)
}

/// A plan of three factors.
pub(crate) fn mtu() -> (Run, Estimates) {
    let factors: [(Factor, &[&str]); 3] = [
        (Factor::Align, &["page", "byte"]),
        (Factor::Mtu, &["1500", "3856", "9000", "16144", "16436"]),
        (Factor::Send, &["read+send", "sendfile"]),
    ];
    plan("mtu", &factors, Factor::Mtu, |cell| {
        let packets = 300_000.0 / f64::from(cell.levels.mtu_bytes.unwrap());
        (path_cost(cell.transfer.send_path().unwrap()).1 + packets, 310.0 + packets)
    })
}

/// The plan `tls` on a kernel that encrypts.
pub(crate) fn tls() -> (Run, Estimates) {
    let sends = ["read+send", "sendfile", "tls-write", "ktls-write", "ktls-sendfile"];
    let ciphers = ["clear", "aes-128-gcm", "chacha20-poly1305"];
    let factors: [(Factor, &[&str]); 2] = [(Factor::Send, &sends), (Factor::Cipher, &ciphers)];
    plan_by("tls", &factors, &[Factor::Send, Factor::Cipher], |cell| {
        let cipher = match cell.label.as_str() {
            label if label.ends_with("clear") => 0.0,
            label if label.ends_with("aes-128-gcm") => 250.0,
            _ => 600.0,
        };
        let path = match cell.transfer.send_path().unwrap() {
            SendPath::ReadSend | SendPath::TlsWrite => 250.0,
            SendPath::Sendfile => 90.0,
            SendPath::KtlsWrite => 180.0,
            _ => 175.0,
        };
        (path + cipher, 310.0 + cipher)
    })
}

/// The plan `udp`, in which a receiver loses some of what single datagrams bring.
pub(crate) fn udp() -> (Run, Estimates) {
    let sends = ["read+send", "sendfile", "udp-send", "udp-gso", "udp-gso-zerocopy", "quic-like"];
    let segments = ["1", "4", "44"];
    let factors: [(Factor, &[&str]); 2] = [(Factor::Send, &sends), (Factor::Segments, &segments)];
    let (run, mut estimates) =
        plan_by("udp", &factors, &[Factor::Send, Factor::Segments], |cell| {
            let of_a_call = match cell.label.rsplit(' ').next() {
                Some("4") => 4.0,
                Some("44") => 44.0,
                _ => 1.0,
            };
            let path = match cell.transfer.send_path().unwrap() {
                SendPath::ReadSend => 250.0,
                SendPath::Sendfile => 90.0,
                SendPath::UdpGsoZerocopy => 80.0 + 900.0 / of_a_call,
                SendPath::QuicLike => 600.0 + 900.0 / of_a_call,
                _ => 200.0 + 900.0 / of_a_call,
            };
            (path, 310.0)
        });
    for (cell, planned) in estimates.cells.iter_mut().zip(&run.header.plan.cells) {
        let lost = if planned.label == "udp-send 1" { 0.125 } else { 0.0 };
        cell.traffic.lost_share = planned.transfer.is_of_datagrams().then_some(lost);
    }
    (run, estimates)
}

/// The plan `proxy`, in which splice pays from 16k on.
pub(crate) fn proxy() -> (Run, Estimates) {
    let proxies = ["recv+send", "splice", "uring-splice", "sockmap"];
    let buffers = ["64k", "4k", "16k", "256k", "none"];
    let factors: [(Factor, &[&str]); 2] =
        [(Factor::Proxy, &proxies), (Factor::ProxyBuffer, &buffers)];
    plan_by("proxy", &factors, &[Factor::Proxy, Factor::ProxyBuffer], |cell| {
        let (proxy, buffer) = cell.label.split_once(' ').unwrap();
        let of_a_call = match buffer {
            "4k" => 300.0,
            "16k" => 75.0,
            "64k" => 19.0,
            _ => 5.0,
        };
        let own = match proxy {
            "recv+send" => 500.0 + of_a_call,
            "splice" => 280.0 + 2.0 * of_a_call,
            "uring-splice" => 350.0 + 4.0 * of_a_call,
            _ => 240.0,
        };
        (400.0, own)
    })
}

/// The plan `clients`, in which sendfile pays from 5Mbit/s per client on, and no cell takes more
/// than 5Gbit/s.
pub(crate) fn clients() -> (Run, Estimates) {
    let factors: [(Factor, &[&str]); 3] = [
        (Factor::Clients, &["100", "1000"]),
        (Factor::ClientRate, &["1Mbit/s", "5Mbit/s", "20Mbit/s", "50Mbit/s"]),
        (Factor::Send, &["read+send", "sendfile", "msg-zerocopy"]),
    ];
    let (mut run, mut estimates) = plan("clients", &factors, Factor::Send, |cell| {
        let clients = cell.levels.clients(&Levels::default()).unwrap();
        let (call, kib) = path_cost(cell.transfer.send_path().unwrap());
        let calls_per_kib = 1024.0 / packet_bytes(clients.rate_bytes_per_s);
        let cold = clients.count as f64 / 20.0;
        (1000.0 + cold + call * calls_per_kib + kib, 310.0)
    });
    let is_beyond = |cell: &Cell| {
        cell.levels.clients(&Levels::default()).unwrap().total_bytes_per_s() > 5e9 / 8.0
    };
    let beyond: Vec<String> = run
        .header
        .plan
        .cells
        .iter()
        .filter(|cell| is_beyond(cell))
        .map(|cell| cell.label.clone())
        .collect();
    run.header.plan.cells.retain(|cell| !beyond.contains(&cell.label));
    estimates.cells.retain(|cell| !beyond.contains(&cell.label));
    estimates.verdict.cells.retain(|cell| !beyond.contains(&cell.label));
    estimates.verdict.comparisons = estimates.verdict.cells.len();
    (run.header.plan.fixed.rate_chosen, run.header.plan.fixed.buffer_bytes) = (false, 32 << 10);
    for cell in &mut estimates.cells {
        let rate = cell.levels.clients(&Levels::default()).unwrap().rate_bytes_per_s;
        (cell.top_speed_bytes_per_s, cell.top_speed_by_memcpy) = (None, None);
        cell.traffic.packet_bytes = Some(packet_bytes(rate) + 66.0);
        cell.traffic.send_calls_per_mb = Some(1e6 / packet_bytes(rate));
        cell.harness_ns_per_kib = None;
    }
    (run, estimates)
}

/// A millisecond of a client's rate, in segments of 1448 bytes of which there are at least two.
fn packet_bytes(rate_bytes_per_s: f64) -> f64 {
    (rate_bytes_per_s / 1e3 / 1448.0).floor().max(2.0) * 1448.0
}

/// A user-defined plan of 60 cells with two factors and the send path.
pub(crate) fn sixty() -> (Run, Estimates) {
    let sends: Vec<&str> = SendPath::basic().map(|send| send.name()).collect();
    let flows = ["1", "10", "100", "500", "1000"];
    plan("mine", &[(Factor::Flows, &flows), (Factor::Send, &sends)], Factor::Flows, |cell| {
        (
            path_cost(cell.transfer.send_path().unwrap()).1
                + cell.levels.flows.unwrap() as f64 / 5.0,
            310.0,
        )
    })
}

/// The plan `links` on a kernel that has some of the layers.
pub(crate) fn links() -> (Run, Estimates) {
    let factors: [(Factor, &[&str]); 2] = [
        (Factor::Layer, &["plain", "bridge", "vxlan", "esp"]),
        (Factor::Send, &["read+send", "sendfile"]),
    ];
    plan("links", &factors, Factor::Layer, |cell| {
        let layer = match cell.levels.more.get("layer").map(ToString::to_string).as_deref() {
            Some("vxlan") => 60.0,
            Some("esp") => 700.0,
            _ => 0.0,
        };
        (path_cost(cell.transfer.send_path().unwrap()).1 + layer, 310.0 + layer)
    })
}
