//! Soaked windows with known loads.

use super::*;
use zc_run::{
    BurnShape, Burnt, CommandEnd, CommandRun, CpuTicks, Did, IdleSpan, ProcessKind, ProcessTime,
    ProcessTimes, SoakCommand, SoakEdge, SoakReading, SoakStart, SoakVerify, SoakWindow,
    SoakerKind, SoakerPace, SoakerRank, StatReading, Taken, UnsoakedControl, VerifyVisit,
};

const S: u64 = 1_000_000_000;

/// A window from `at_s` for `seconds`, in which each soaker finished `units[cpu]` units of 1 us,
/// and /proc/stat counted `ticks` in `user` on CPU 0.
fn window(at_s: f64, seconds: f64, units: &[u64], ticks: u64) -> SoakWindow {
    let edge = |at: f64, units: Vec<u64>, ticks| {
        let at_ns = (at * 1e9) as u64;
        let mut cpus = vec![CpuTicks::default(); units.len()];
        cpus[0].user = ticks;
        SoakEdge {
            soaker_cpu_ns: Some(units.iter().sum::<u64>() * 1000),
            soak: SoakReading {
                at_ns,
                stamp_ns: vec![at_ns; units.len()],
                units,
                ..SoakReading::default()
            },
            stat: StatReading { at_ns, cpus, ..StatReading::default() },
            ..SoakEdge::default()
        }
    };
    SoakWindow {
        opened: edge(at_s, vec![0; units.len()], 0),
        closed: edge(at_s + seconds, units.to_vec(), ticks),
    }
}

fn start(idle: Vec<SoakWindow>) -> SoakStart {
    SoakStart {
        cpus: vec![0, 1],
        soaker: SoakerKind::Alu,
        rank: SoakerRank::Autogroup,
        idle,
        pace: vec![
            SoakerPace { units: 500, cpu_ns: 1_000_000 },
            SoakerPace { units: 900, cpu_ns: 900_000 },
        ],
        taken: None,
        emulated: false,
        cpu_quota: None,
        irq_time_accounting: None,
        thread_clock_step_ns: None,
    }
}

/// Ten idle windows of 0.1 s, in each of which both soakers finish `per_window` units.
fn idle(from_s: f64, per_window: [u64; 10]) -> Vec<SoakWindow> {
    (0..10)
        .map(|i| window(from_s + 0.1 * i as f64, 0.1, &[per_window[i], per_window[i]], 0))
        .collect()
}

/// An execution of 4 s that used 1.5 CPU s by its own account.
fn execution(before: [u64; 10], units: [u64; 2], after: [u64; 10]) -> CommandRun {
    CommandRun {
        idle_before: idle(0.0, before),
        window: window(1.0, 4.0, &units, 150),
        end: CommandEnd::Exited { code: 0 },
        user_ns: S,
        system_ns: S / 2,
        zc_ns: 0,
        idle_after: idle(5.0, after),
        processes: ProcessTimes { window_ns: 4 * S, idle_ns: 2 * S, each: vec![] },
        did: None,
    }
}

fn seen(runs: Vec<CommandRun>) -> SoakCommand {
    SoakCommand { command: vec!["true".into()], start: start(vec![]), runs }
}

fn command(before: [u64; 10], units: [u64; 2], after: [u64; 10]) -> CommandCost {
    command_cost(&seen(vec![execution(before, units, after)]), None).unwrap()
}

#[test]
fn a_load_is_the_time_that_the_soakers_did_not_get() {
    let rates = idle_rates(&idle(0.0, [100_000; 10])).unwrap();
    let load = load(&window(1.0, 2.0, &[1_500_000, 2_020_000], 100), &rates).unwrap();
    assert!((load.cpus[0] - 0.25).abs() < 1e-9 && (load.cpus[1] + 0.01).abs() < 1e-9, "{load:?}");
    assert!((load.busy_cpus - 0.24).abs() < 1e-9);
    assert!((load.stat_cpus - 0.5).abs() < 1e-9);
    assert_eq!(load.elapsed_ns, 2 * S);
}

#[test]
fn a_command_costs_what_the_soakers_lost() {
    let cost = command([100_000; 10], [2_000_000, 3_900_000], [100_000; 10]);
    assert!((cost.soaked_cpu_s.unwrap().value - 2.1).abs() < 1e-6, "{cost:?}");
    assert!((cost.user_cpu_s - 1.0).abs() < 1e-9 && (cost.system_cpu_s - 0.5).abs() < 1e-9);
    assert!((cost.stat_cpu_s - 1.5).abs() < 1e-6);
    assert!((cost.beyond_getrusage_s.unwrap().value - 0.6).abs() < 1e-6);
    assert_eq!((cost.executions, cost.failed), (1, 0));
}

#[test]
fn a_difference_counts_only_beyond_the_interval() {
    let scatter =
        [99_900, 100_100, 99_950, 100_050, 100_000, 99_900, 100_100, 99_950, 100_050, 100_000];
    let sure = command(scatter, [2_000_000, 3_900_000], scatter);
    assert_eq!(sure.against_getrusage, Against::More);
    assert_eq!(sure.interval_over, IntervalOver::IdleWindows);
    assert!(sure.soaked_cpu_s.unwrap().half_width.unwrap() < 0.02, "{sure:?}");
    let same = command(scatter, [2_500_000, 4_000_000], scatter);
    assert_eq!(same.against_getrusage, Against::Same, "{same:?}");
    let less = command(scatter, [3_500_000, 4_000_000], scatter);
    assert_eq!(less.against_getrusage, Against::Less);
}

#[test]
fn a_shift_of_the_idle_rate_widens_the_interval_of_an_execution_by_half_of_it() {
    let scatter = |base: u64| std::array::from_fn(|i| base + [0, 10][i % 2]);
    let cost = command(scatter(100_000), [2_000_000, 2_000_000], scatter(99_000));
    assert!((cost.idle_shift.unwrap() + 0.01).abs() < 1e-5, "{cost:?}");
    // 1 % of two CPUs that were half idle, for 4 s; half of that.
    let half_width = cost.soaked_cpu_s.unwrap().half_width.unwrap();
    assert!((half_width - 0.02).abs() < 0.002, "{cost:?}");
}

#[test]
fn without_idle_windows_after_it_there_is_a_value_without_an_interval() {
    let mut run = execution([100_000; 10], [3_000_000, 4_000_000], [100_000; 10]);
    run.idle_after = vec![];
    run.end = CommandEnd::Killed { signal: 15 };
    let cost = command_cost(&seen(vec![run]), None).unwrap();
    let soaked = cost.soaked_cpu_s.unwrap();
    assert!((soaked.value - 1.0).abs() < 1e-9);
    assert_eq!((soaked.half_width, cost.interval_over), (None, IntervalOver::Nothing));
    assert_eq!(cost.against_getrusage, Against::Unknown);
}

#[test]
fn an_interval_of_several_executions_is_that_of_their_mean() {
    let quiet = [100_000; 10];
    let runs = [2_000_000, 2_010_000, 1_990_000, 2_020_000, 1_980_000]
        .map(|units| execution(quiet, [units, 3_900_000], quiet));
    let mut all = seen(runs.to_vec());
    let cost = command_cost(&all, None).unwrap();
    let soaked = cost.soaked_cpu_s.unwrap();
    assert!((soaked.value - 2.1).abs() < 1e-6, "{cost:?}");
    // Student's t for 4 degrees of freedom is 2.776, the deviation is 0.01581 CPU s.
    assert!((soaked.half_width.unwrap() - 0.019_63).abs() < 1e-4, "{soaked:?}");
    assert_eq!(cost.interval_over, IntervalOver::Executions);
    // One that failed does not count.
    all.runs.push(CommandRun {
        end: CommandEnd::Exited { code: 1 },
        ..execution(quiet, [0, 0], quiet)
    });
    let with_failed = command_cost(&all, None).unwrap();
    assert_eq!((with_failed.executions, with_failed.failed), (5, 1));
    assert_eq!(with_failed.soaked_cpu_s, cost.soaked_cpu_s);
}

#[test]
fn a_request_costs_an_execution_s_cost_over_its_requests() {
    let quiet = [100_000; 10];
    let run = |units, requests| CommandRun {
        did: Some(Did { count: requests, by: "ab".to_owned() }),
        ..execution(quiet, [units, 3_900_000], quiet)
    };
    // 2.1 and 1.1 CPU s.
    let both = seen(vec![run(2_000_000, 1000.0), run(3_000_000, 500.0)]);
    let found = command_cost(&both, Some(Unit::Requests)).unwrap().per.unwrap();
    assert!((found.cost_ns.value - 2.15e6).abs() < 1.0, "{found:?}");
    assert_eq!((found.count, found.unit, &*found.by), (750.0, Unit::Requests, "ab"));
    assert!(found.cost_ns.half_width.is_some());
    // One that did not print a number.
    let mut uncounted = both.clone();
    uncounted.runs[1].did = None;
    assert_eq!(command_cost(&uncounted, Some(Unit::Requests)).unwrap().per, None);
    assert_eq!(command_cost(&both, None).unwrap().per, None);
}

#[test]
fn the_accounts_name_who_had_what_the_soakers_lost() {
    // Each soaker could have counted 4 million units of 1 us. The command had 1.5 CPU s of the 2.1
    // that are missing, nginx 0.3 more than it has of itself, and the kernel 0.1.
    let mut run = execution([100_000; 10], [2_000_000, 3_900_000], [100_000; 10]);
    // 0.15 CPU s of what the soakers were charged with they did not count in.
    *run.window.closed.soaker_cpu_ns.as_mut().unwrap() += 3 * S / 20;
    let process = |kind, name: &str, window_ns, idle_ns| ProcessTime {
        kind,
        name: name.to_owned(),
        window_ns,
        idle_ns,
    };
    run.processes.each = vec![
        process(ProcessKind::Other, "nginx", S / 2, S / 10),
        process(ProcessKind::KernelThread, "kworker/0:1", S / 10, 0),
        process(ProcessKind::Other, "cron", S / 1000, 0),
    ];
    let accounts = command_cost(&seen(vec![run]), None).unwrap().accounts.unwrap();
    let close = |value: f64, truth: f64| (value - truth).abs() < 1e-6;
    assert_eq!(accounts.processes.len(), 1, "{accounts:?}");
    assert!(accounts.processes[0].name == "nginx" && close(accounts.processes[0].cpu_s, 0.3));
    assert!(close(accounts.kernel_threads_s, 0.1) && close(accounts.other_processes_s, 0.001));
    assert!(close(accounts.command_s, 1.5) && close(accounts.interrupts_s, 0.15), "{accounts:?}");
    assert!(close(accounts.unattributed_s.unwrap().value, 0.049), "{accounts:?}");
    assert!(!accounts.add_up && accounts.others_are_in);
}

#[test]
fn a_command_on_an_emulated_machine_has_no_cost() {
    let mut seen = seen(vec![execution([100_000; 10], [2_000_000, 3_900_000], [100_000; 10])]);
    assert!(command_cost(&seen, None).unwrap().soaked_cpu_s.is_some());
    seen.start.emulated = true;
    let cost = command_cost(&seen, None).unwrap();
    assert_eq!((cost.soaked_cpu_s, cost.beyond_getrusage_s, cost.accounts), (None, None, None));
    assert_eq!(cost.withheld.as_deref(), Some(zc_run::WHY_EMULATED));
}

#[test]
fn a_figure_that_cannot_be_is_withheld() {
    let scatter: [u64; 10] = std::array::from_fn(|i| 99_990 + [0, 20][i % 2]);
    // More units than on the idle machine.
    let negative = command(scatter, [4_400_000, 4_400_000], scatter);
    assert_eq!((negative.soaked_cpu_s, negative.accounts.is_some()), (None, false));
    assert!(negative.withheld.unwrap().contains("more beside the command"));
    assert_eq!(command([100_000; 10], [4_000_000; 2], [100_000; 10]).withheld, None);
}

#[test]
fn the_soakers_share_on_busy_cpus_is_what_they_took() {
    let burnt = |cpu_ns| Burnt { wall_ns: S, cpu_ns };
    let reading = |at_ns, units: u64| {
        let (units, stamp_ns) = (vec![units; 2], vec![at_ns; 2]);
        SoakReading { at_ns, units, stamp_ns, ..SoakReading::default() }
    };
    let taken = Taken {
        other_cgroup: true,
        soaked: vec![burnt(S - S / 200); 2],
        unsoaked: vec![burnt(S - S / 1000); 2],
        opened: reading(0, 0),
        closed: reading(S, 3000),
    };
    let share = taken_share(&taken, &[1e-3, 1e-3]).unwrap();
    assert!((share.soakers - 0.003).abs() < 1e-12);
    assert!((share.lost - 0.005).abs() < 1e-12 && (share.lost_unsoaked - 0.001).abs() < 1e-12);
    assert_eq!(taken_share(&Taken { soaked: vec![], ..taken }, &[1e-3, 1e-3]), None);
}

#[test]
fn the_pace_of_a_soaker_is_relative_to_its_own_cpu_time() {
    let mut start = start(vec![]);
    assert_eq!(paces(&start), Some(vec![5e-4, 1e-3]));
    start.pace[1].cpu_ns = 0;
    assert_eq!(paces(&start), None);
}

#[test]
fn a_machine_that_is_in_use_is_not_quiet() {
    assert_eq!(not_quiet(&start(idle(0.0, [99_500; 10]))), None);
    let warning = not_quiet(&start(idle(0.0, [90_000; 10]))).unwrap();
    assert_eq!(warning.name, "busy-machine");
    assert!(warning.text.contains("10.0 %"), "{}", warning.text);
}

#[test]
fn on_a_busy_machine_a_difference_is_not_judged() {
    for (before, after) in [(80_000, 99_000), (99_000, 80_000)] {
        let cost = command([before; 10], [2_000_000, 2_000_000], [after; 10]);
        assert_eq!(cost.against_getrusage, Against::Withheld, "{cost:?}");
        assert_eq!(cost.soaked_cpu_s, None);
        assert!(cost.withheld.unwrap().contains("something else used"));
    }
}

#[test]
fn known_loads_give_the_error_and_the_cost_of_a_wake_up() {
    // 200 ms, of which the burner ran for `truth_ns` and the soaker finished `units` of 1 us; 200
    // wake-ups.
    let visit = |percent, truth_ns, units| VerifyVisit {
        shape: BurnShape::Smooth,
        percent,
        idle_before: window(0.0, 0.1, &[100_000, 100_000], 0),
        window: window(0.1, 0.2, &[200_000, units], 0),
        truth_ns,
        soaker_cpu_ns: 200_000_000 - truth_ns,
        switches: 200,
        idle_after: window(0.3, 0.1, &[100_000, 100_000], 0),
        unsoaked_control: UnsoakedControl {
            opened: window(0.0, 0.1, &[0, 0], 0).opened.stat,
            closed: window(0.0, 0.1, &[0, 0], 0).closed.stat,
            truth_ns: 50_000_000,
            idle: Some(IdleSpan { elapsed_ns: S, idle_ns: 13 * S / 10, truth_ns: truth_ns * 6 }),
            idle_at_rest: Some(IdleSpan { elapsed_ns: S / 2, idle_ns: 95 * S / 100, truth_ns: 0 }),
        },
    };
    // Each wake-up costs 10 us that the thread clock does not contain; eight visits, with a scatter
    // of 0 to 7 units.
    let visits = (0..8)
        .flat_map(|i| [visit(50, 100_000_000, 98_000 + i), visit(0, 1_000_000, 197_000 + i)])
        .collect();
    let seen = SoakVerify { cpus: vec![0, 1], burner: 1, soaker: SoakerKind::Alu, visits };
    let verified = verified(&seen);
    let cost = verified.wakeup_cost_ns.unwrap();
    assert!((cost.value - 10_000.0).abs() < 50.0 && cost.half_width.unwrap() < 50.0, "{cost:?}");
    let rows = verified.rows;
    assert_eq!(
        rows.iter().map(|row| (row.percent, row.visits)).collect::<Vec<_>>(),
        [(0, 8), (50, 8)]
    );
    assert!(
        (rows[1].truth - 0.5).abs() < 1e-9 && (rows[1].error.value - 0.01).abs() < 1e-4,
        "{:?}",
        rows[1]
    );
    assert!(
        (rows[1].stat_error.value + 0.5).abs() < 1e-9
            && (rows[1].stat_unsoaked_error.value + 0.5).abs() < 1e-9
    );
    // 1.9 CPUs are idle at rest, and 1.3 under a load of 0.6.
    assert!((rows[1].by_idle.unwrap() - 0.6).abs() < 1e-9);
    assert!(rows[1].by_idle_error.unwrap().value.abs() < 1e-9);
    assert!((rows[1].wakeups_per_s - 1000.0).abs() < 1e-6);
    let mut busy = seen.clone();
    busy.visits[0].soaker_cpu_ns -= 10_000_000;
    *busy.visits[3].idle_after.closed.soaker_cpu_ns.as_mut().unwrap() -= 10_000_000;
    let busy = super::verified(&busy);
    assert_eq!((busy.dropped, busy.rows[0].visits, busy.rows[1].visits), (2, 7, 7));
    let few = SoakVerify { visits: seen.visits[..4].to_vec(), ..seen };
    assert_eq!(super::verified(&few).rows[0].error.half_width, None);
}

#[test]
fn readings_of_other_cpus_or_of_no_time_are_none() {
    assert_eq!(idle_rates(&[]), None);
    assert_eq!(idle_rates(&[window(0.0, 1.0, &[0], 0)]), None);
    assert_eq!(idle_rates(&[window(0.0, 0.0, &[1], 0)]), None);
    assert_eq!(load(&window(0.0, 1.0, &[1], 0), &[1.0, 1.0]), None);
    assert_eq!(load(&window(0.0, 0.0, &[1], 0), &[1.0]), None);
}
