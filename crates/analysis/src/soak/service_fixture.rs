//! A service whose costs are known, for tests.

use zc_run::{
    CpuTicks, ProcessKind, ProcessTime, ServiceTarget, ServiceWindow, SoakEdge, SoakReading,
    SoakService, SoakStart, SoakWindow, SoakerKind, SoakerPace, SoakerRank, Span, StatReading,
    TcpSpan,
};

/// A second in ns.
pub(super) const S: u64 = 1_000_000_000;

/// Windows of 1 s on two CPUs whose soakers do 1 unit in 2000 ns: the service's processes use
/// 0.3 CPUs, another one 0.1, interrupts 0.08 on the soakers' time, and the timer's ticks 0.01.
pub(super) fn seen() -> SoakService {
    let window = |index: u64| {
        // Some noise that averages out.
        let noise = if index.is_multiple_of(2) { 2_000_000 } else { 0 };
        let own_ns = 299_000_000 + noise;
        let soaker_ns = 2 * S - own_ns - 100_000_000;
        let units = (soaker_ns - 80_000_000 - 10_000_000) / 2000;
        // On each CPU two thirds of the units are undisturbed, but for one that shows nothing.
        let edge = |at_ns, units: u64, soaker_ns: u64| SoakEdge {
            soak: SoakReading {
                at_ns,
                units: vec![units / 2, units - units / 2],
                stamp_ns: vec![at_ns; 2],
                cpu_ns: vec![soaker_ns / 2, soaker_ns - soaker_ns / 2],
                ..SoakReading::default()
            },
            undisturbed: [units / 3, if index == 3 { 0 } else { units / 3 }]
                .map(|units| SoakerPace { units, cpu_ns: units * 2000 })
                .to_vec(),
            // The timer ticks 250 times a second on each CPU, in entries of 8 units that take 20 us
            // more.
            ticked: vec![
                SoakerPace { units: at_ns / S * 8 * 250, cpu_ns: at_ns / S * 250 * 36_000 };
                2
            ],
            soaker_cpu_ns: None,
            stat: StatReading { at_ns, cpus: vec![CpuTicks::default(); 2], ..Default::default() },
        };
        ServiceWindow {
            window: SoakWindow { opened: edge(0, 0, 0), closed: edge(S, units, soaker_ns) },
            clocks: Span { elapsed_ns: S, count: own_ns },
            cgroup: None,
            processes: 3,
            others_elapsed_ns: S,
            others: vec![ProcessTime {
                kind: ProcessKind::Other,
                name: "wrk".to_owned(),
                window_ns: 100_000_000,
                idle_ns: 0,
            }],
            zc: Span { elapsed_ns: S, count: 0 },
            tcp: Some(TcpSpan {
                elapsed_ns: S,
                own_segments: 500,
                open_segments: 990,
                all_segments: 1000,
                datagrams: 0,
                own_bytes: 1_000_000,
            }),
            interfaces: Some(Span { elapsed_ns: S, count: 2_000_000 }),
            requests: Some(Span { elapsed_ns: S, count: 1000 + noise / 100_000 }),
        }
    };
    SoakService {
        target: ServiceTarget::Pid { pid: 7, name: "nginx".to_owned() },
        start: SoakStart {
            cpus: vec![0, 1],
            soaker: SoakerKind::Alu,
            rank: SoakerRank::Autogroup,
            idle: Vec::new(),
            pace: vec![SoakerPace::default(); 2],
            taken: None,
            emulated: false,
            cpu_quota: None,
            irq_time_accounting: None,
            thread_clock_step_ns: None,
        },
        windows: (0..10).map(window).collect(),
        no_sockets: None,
    }
}

/// Whether a figure is what was put in.
pub(super) fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-6
}
