//! Costs by own clocks, where other programs have a part of the CPUs.

use super::*;
use zc_run::{
    CommandEnd, CommandRun, CpuTicks, ProcessKind, ProcessTime, ProcessTimes, SoakCommand,
    SoakEdge, SoakReading, SoakStart, SoakWindow, SoakerKind, SoakerPace, SoakerRank, StatReading,
};

const S: f64 = 1e9;

/// Work of the soakers of two CPUs in a window; they do a unit in 1 us.
#[derive(Clone, Copy)]
struct Did {
    seconds: f64,
    /// Their CPU time by their own clocks, together.
    had_s: f64,
    /// The share of that which interrupts took.
    interrupted: f64,
    /// Factor by which a unit takes longer.
    slower: f64,
    /// The share of the units that nothing interrupted.
    undisturbed: f64,
}

const IDLE: Did =
    Did { seconds: 0.1, had_s: 0.2, interrupted: 0.01, slower: 1.0, undisturbed: 0.9 };

/// The window of an execution of 1.5 CPU s in which others had 2 CPU s, and interrupts took another
/// 1 %.
const BESIDE_OTHERS: Did =
    Did { seconds: 4.0, had_s: 4.5, interrupted: 0.02, slower: 1.0, undisturbed: 0.8 };

fn window(did: Did) -> SoakWindow {
    let at_ns = (did.seconds * S) as u64;
    let ns_per_unit = 1000.0 * did.slower;
    let had_ns = did.had_s * S / 2.0;
    let units = had_ns * (1.0 - did.interrupted) / ns_per_unit;
    let undisturbed = SoakerPace {
        units: (did.undisturbed * units) as u64,
        cpu_ns: (did.undisturbed * units * ns_per_unit) as u64,
    };
    let edge = |by: u64| SoakEdge {
        soak: SoakReading {
            at_ns: by * at_ns,
            units: vec![by * units as u64; 2],
            stamp_ns: vec![by * at_ns; 2],
            cpu_ns: vec![by * had_ns as u64; 2],
            ksoftirqd_ns: vec![by * at_ns / 1000; 2],
        },
        undisturbed: vec![
            SoakerPace {
                units: by * undisturbed.units,
                cpu_ns: by * undisturbed.cpu_ns
            };
            2
        ],
        stat: StatReading {
            at_ns: by * at_ns,
            cpus: vec![CpuTicks::default(); 2],
            ..StatReading::default()
        },
        ..SoakEdge::default()
    };
    SoakWindow { opened: edge(0), closed: edge(1) }
}

fn execution(idle: Did, did: Did) -> CommandRun {
    CommandRun {
        idle_before: vec![window(idle); 5],
        window: window(did),
        end: CommandEnd::Exited { code: 0 },
        user_ns: 1_000_000_000,
        system_ns: 500_000_000,
        zc_ns: 0,
        idle_after: vec![window(idle); 5],
        processes: ProcessTimes { window_ns: 4_000_000_000, idle_ns: 1_000_000_000, each: vec![] },
        did: None,
    }
}

fn seen(runs: Vec<CommandRun>) -> SoakCommand {
    let start = SoakStart {
        cpus: vec![0, 1],
        soaker: SoakerKind::Alu,
        rank: SoakerRank::Autogroup,
        idle: vec![],
        pace: vec![SoakerPace::default(); 2],
        taken: None,
        emulated: false,
        cpu_quota: None,
        irq_time_accounting: Some(false),
        thread_clock_step_ns: Some(50),
    };
    SoakCommand { command: vec!["true".into()], start, runs }
}

fn cost(idle: Did, did: Did) -> CommandCost {
    command_cost(&seen(vec![execution(idle, did)]), None).unwrap()
}

#[track_caller]
fn assert_close(found: Option<PlusMinus>, expected: f64) {
    let found = found.unwrap().value;
    assert!((found - expected).abs() < 1e-4, "{found} {expected}");
}

#[test]
fn what_others_take_is_not_in_a_cost_and_interrupts_on_their_time_are() {
    let idle = Did { had_s: 0.15, ..IDLE };
    let found = cost(idle, BESIDE_OTHERS);
    assert_eq!((found.by, found.withheld.as_deref()), (CostBy::OwnClocks, None));
    // A hundredth of what the soakers had, and of what others had but for ksoftirqd.
    let interrupts_s = 0.01 * (4.5 + 2.0 - 0.008);
    assert_close(found.cpu_s, 1.5 + interrupts_s);
    assert_close(found.beyond_getrusage_s, interrupts_s);
    let accounts = found.accounts.unwrap();
    assert!(!accounts.interrupts_unseen && accounts.ksoftirqd_s.abs() < 1e-9, "{accounts:?}");
    // By wall time it is much more.
    assert!(found.soaked_cpu_s.unwrap().value > 1.5 + 0.1, "{:?}", found.soaked_cpu_s);
}

#[test]
fn a_cpu_that_is_slower_beside_the_command_is_no_cost() {
    let quick = cost(IDLE, Did { had_s: 6.5, ..BESIDE_OTHERS });
    let slow = cost(IDLE, Did { had_s: 6.5, slower: 1.02, ..BESIDE_OTHERS });
    assert_close(slow.cpu_s, quick.cpu_s.unwrap().value);
    // By wall time it is. (That has interrupts as a part of what is left by those of idle windows.)
    let by_wall = |slower: f64| 6.5 * (1.0 - 0.98 / 0.99 / slower);
    assert_close(quick.accounts.unwrap().unattributed_s, by_wall(1.0) - 0.065);
    assert_close(slow.accounts.unwrap().unattributed_s, by_wall(1.02) - 0.065);
}

#[test]
fn where_hardly_a_unit_is_free_of_interrupts_units_are_as_fast_as_when_idle() {
    let dense = Did { had_s: 6.5, interrupted: 0.5, undisturbed: 0.1, ..BESIDE_OTHERS };
    assert_close(cost(IDLE, dense).cpu_s, 1.5 + 6.5 * 0.49);
}

#[test]
fn soakers_that_hardly_ran_leave_the_command_s_clocks() {
    let none = Did { had_s: 0.0, undisturbed: 0.0, ..IDLE };
    for idle in [IDLE, none] {
        let found = cost(idle, Did { had_s: 0.01, ..BESIDE_OTHERS });
        assert_close(found.cpu_s, 1.500_15);
        assert!(found.accounts.unwrap().interrupts_unseen);
    }
    // A command that leaves nothing over leaves nothing to be unseen.
    let mut alone = execution(IDLE, Did { had_s: 0.01, ..BESIDE_OTHERS });
    (alone.user_ns, alone.system_ns) = (7_000_000_000, 970_000_000);
    let found = command_cost(&seen(vec![alone]), None).unwrap();
    assert!(!found.accounts.unwrap().interrupts_unseen);
}

#[test]
fn other_tasks_are_in_the_cost_where_they_worked_for_it() {
    let server = |used_ns: [u64; 4], idle_ns| {
        let runs = used_ns.map(|used_ns| {
            let mut run = execution(IDLE, BESIDE_OTHERS);
            run.processes.each = vec![
                ProcessTime {
                    kind: ProcessKind::Other,
                    name: "nginx".to_owned(),
                    window_ns: used_ns,
                    idle_ns,
                },
                // Has an account of its own.
                ProcessTime {
                    kind: ProcessKind::KernelThread,
                    name: "ksoftirqd/0".to_owned(),
                    window_ns: 900_000_000,
                    idle_ns: 0,
                },
            ];
            run
        });
        command_cost(&seen(runs.to_vec()), None).unwrap()
    };
    let without = server([0; 4], 0).cpu_s.unwrap().value;
    let worked = server([800_000_000, 810_000_000, 790_000_000, 800_000_000], 0);
    assert!(worked.accounts.unwrap().others_are_in);
    assert_close(worked.cpu_s, without + 0.8);
    // The server uses as much as in the idle windows, sometimes more and sometimes less.
    let beside = server([800_000_000, 900_000_000, 700_000_000, 850_000_000], 200_000_000);
    assert!(!beside.accounts.unwrap().others_are_in);
    assert_close(beside.cpu_s, without);
    // One execution: more than twice as much.
    let alone = |used_ns| {
        let mut run = execution(IDLE, BESIDE_OTHERS);
        run.processes.each = vec![ProcessTime {
            kind: ProcessKind::Other,
            name: "nginx".to_owned(),
            window_ns: used_ns,
            idle_ns: 100_000_000,
        }];
        command_cost(&seen(vec![run]), None).unwrap().accounts.unwrap().others_are_in
    };
    assert_eq!((alone(700_000_000), alone(900_000_000)), (false, true));
}

#[test]
fn where_tasks_clocks_leave_interrupts_out_wall_time_tells_the_cost() {
    let mut seen = seen(vec![execution(IDLE, BESIDE_OTHERS)]);
    assert_eq!(command_cost(&seen, None).unwrap().by, CostBy::OwnClocks);
    seen.start.irq_time_accounting = Some(true);
    assert!(!own_clocks_tell(&seen.start));
    let found = command_cost(&seen, None).unwrap();
    assert_eq!(found.by, CostBy::WallTime);
    assert_eq!(found.cpu_s, found.soaked_cpu_s);
    seen.start.irq_time_accounting = None;
    seen.start.thread_clock_step_ns = Some(4_000_000);
    assert!(!own_clocks_tell(&seen.start), "thread clocks that tick");
    seen.start.thread_clock_step_ns = None;
    assert!(own_clocks_tell(&seen.start));
    // A window without the soakers' own clocks has none either.
    seen.runs[0].window.closed.undisturbed.clear();
    assert_eq!(command_cost(&seen, None).unwrap().by, CostBy::WallTime);
}
