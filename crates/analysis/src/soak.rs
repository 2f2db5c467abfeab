//! Windows of `zc soak` to loads and CPU seconds.
//!
//! A load is always a subtraction: the share of a soaker's idle rate that it did not reach. The interval of a command's
//! CPU seconds comes from how much the idle rate scattered and shifted around it; docs/soak.md has the formula.

use serde::Serialize;
use zc_stats::{hodges_lehmann, welch_interval, wilcoxon_interval};

use zc_run::{
    BurnShape, CpuTicks, Severity, SoakCommand, SoakEdge, SoakStart, SoakVerify, SoakWindow, StatReading, Taken,
    VerifyVisit, Warning,
};

/// The confidence of every interval here.
const CONFIDENCE: f64 = 0.95;
/// A tick of /proc/stat (USER_HZ is 100 on every architecture that Linux runs soakers on).
const TICK_NS: f64 = 1e7;
/// What may be busy on a machine that is called quiet: 2 % of its CPUs.
const QUIET: f64 = 0.02;
/// With more than this in use by something else, nothing is said about a command: what else runs, and the command, take from
/// each other what they would both have had.
const HOPELESS: f64 = 0.1;

/// The load of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Length of the window.
    pub elapsed_ns: u64,
    /// Share of each CPU that was not the soaker's. It may be a little below 0: the idle rate scatters.
    pub cpus: Vec<f64>,
    /// The shares added up: CPUs in use.
    pub busy_cpus: f64,
    /// What /proc/stat says to that: CPUs in use, by its columns user, system, irq and softirq.
    pub stat_cpus: f64,
    /// CPUs that the hypervisor took away, by /proc/stat.
    pub steal_cpus: f64,
}

/// What the soakers took from a busy process of another session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TakenShare {
    /// Share of a CPU that the soakers got while a busy thread wanted all of it, by their counters; mean over CPUs.
    pub soakers: f64,
    /// Share of its CPU that the busy thread lost, by its own clock; to whomever.
    pub lost: f64,
    /// And what it lost while the soakers slept.
    pub lost_unsoaked: f64,
    /// Whether it was in another cgroup too.
    pub other_cgroup: bool,
}

/// A value and the half-width of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlusMinus {
    /// The value.
    pub value: f64,
    /// Half-width; null when it cannot be known.
    pub half_width: Option<f64>,
}

/// What the soaked figure says to the command's own accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The machine worked more for it.
    More,
    /// It worked less than the accounts say.
    Less,
    /// The difference is within the interval.
    Same,
    /// There is no interval to judge it by.
    Unknown,
    /// Something else used the machine too much to judge it.
    Withheld,
}

/// What a command cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandCost {
    /// How long it ran.
    pub elapsed_s: f64,
    /// CPU seconds that the machine spent on it, by the soakers.
    pub soaked_cpu_s: PlusMinus,
    /// CPU seconds by getrusage of it and of its descendants that were waited for.
    pub getrusage_cpu_s: f64,
    /// CPU seconds by /proc/stat, all CPUs, user + system + irq + softirq.
    pub stat_cpu_s: f64,
    /// soaked - getrusage.
    pub beyond_getrusage_s: f64,
    /// What to think of that difference.
    pub against_getrusage: Against,
    /// CPU seconds that the hypervisor took away meanwhile. They are in the soaked figure.
    pub steal_s: f64,
    /// Relative change of the idle rate from before to after.
    pub idle_shift: Option<f64>,
    /// How the load spread over the CPUs: share of each.
    pub cpus: Vec<f64>,
}

/// The soakers held against known loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// A row for each load, smooth ones first.
    pub rows: Vec<VerifyRow>,
    /// What a wake-up costs beyond what the thread clock of the woken thread shows: the interrupt of its timer and the
    /// switches, which the kernel charges to whom they interrupt. From the load that only wakes up.
    pub wakeup_cost_ns: Option<PlusMinus>,
    /// Windows that do not count, because something else used more than 2 % of the CPUs in them or beside them. Found by
    /// CPU clocks alone, whatever the soakers counted.
    pub dropped: usize,
}

/// A known load, and what the soakers and /proc/stat made of it. All are shares of one CPU. Errors are Hodges-Lehmann
/// estimates over windows with Wilcoxon's interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyRow {
    /// How the load was spread.
    pub shape: BurnShape,
    /// What was asked for, in percent.
    pub percent: u32,
    /// Windows.
    pub visits: usize,
    /// By the burner's thread CPU clock; mean.
    pub truth: f64,
    /// By its soaker; mean.
    pub soaked: f64,
    /// soaked - truth, window by window.
    pub error: PlusMinus,
    /// By /proc/stat in the same windows; mean. Beside soakers it is at its best: no CPU idles.
    pub stat: f64,
    /// /proc/stat - truth, window by window.
    pub stat_error: PlusMinus,
    /// By /proc/stat in windows without soakers; mean. Whatever else ran in them is in it: without soakers nobody knows.
    pub stat_unsoaked: f64,
    /// /proc/stat - truth in those, window by window.
    pub stat_unsoaked_error: PlusMinus,
    /// Wake-ups of the burner per second.
    pub wakeups_per_s: f64,
}

/// The idle rate of each soaker, in units per nanosecond. None without windows, or when a soaker stood still in all of them.
pub fn idle_rates(windows: &[SoakWindow]) -> Option<Vec<f64>> {
    let first = windows.first()?;
    let elapsed_ns: f64 = windows.iter().map(elapsed_ns).sum();
    let rates = (0..first.opened.soak.units.len()).map(|cpu| {
        let units: Option<f64> = windows.iter().map(|window| units(window, cpu)).sum();
        units.map(|units| units / elapsed_ns).filter(|rate| *rate > 0.0 && rate.is_finite())
    });
    rates.collect()
}

/// The rate of each soaker while it has its CPU, in units per nanosecond of its own CPU time: what it would count on an idle
/// machine, also when the machine was not idle. It knows nothing of interrupts, which are charged to whom they interrupt:
/// beside a machine with many of them it is a little low. None when a soaker had no CPU time.
pub fn paces(start: &SoakStart) -> Option<Vec<f64>> {
    let each = start.pace.iter().map(|pace| pace.units as f64 / pace.cpu_ns as f64);
    each.map(|rate| (rate > 0.0 && rate.is_finite()).then_some(rate)).collect()
}

/// The load of a window beside idle rates. None when the two are not of the same CPUs.
pub fn load(window: &SoakWindow, rates: &[f64]) -> Option<Load> {
    let elapsed = elapsed_ns(window);
    if elapsed <= 0.0 {
        return None;
    }
    let cpus: Option<Vec<f64>> =
        rates.iter().enumerate().map(|(cpu, rate)| Some(1.0 - units(window, cpu)? / (rate * elapsed))).collect();
    let cpus = cpus?;
    let (stat_cpus, steal_cpus) = stat_cpus(&window.opened.stat, &window.closed.stat, busy_but_nice)?;
    Some(Load { elapsed_ns: elapsed as u64, busy_cpus: cpus.iter().sum(), cpus, stat_cpus, steal_cpus })
}

/// What the soakers took from the stranger.
pub fn taken_share(taken: &Taken, rates: &[f64]) -> Option<TakenShare> {
    let edge = |soak: &zc_run::SoakReading| SoakEdge { soak: soak.clone(), ..SoakEdge::default() };
    let window = SoakWindow { opened: edge(&taken.opened), closed: edge(&taken.closed) };
    let elapsed = elapsed_ns(&window);
    let got: Option<f64> =
        rates.iter().enumerate().map(|(cpu, rate)| Some(units(&window, cpu)? / (rate * elapsed))).sum();
    let lost = |burnt: &[zc_run::Burnt]| {
        let lost: f64 = burnt.iter().map(|each| 1.0 - each.cpu_ns as f64 / each.wall_ns as f64).sum();
        lost / burnt.len() as f64
    };
    let share = TakenShare {
        soakers: got? / rates.len() as f64,
        lost: lost(&taken.soaked),
        lost_unsoaked: lost(&taken.unsoaked),
        other_cgroup: taken.other_cgroup,
    };
    (share.soakers.is_finite() && share.lost.is_finite() && share.lost_unsoaked.is_finite()).then_some(share)
}

/// The share of the CPUs that was in use by something else while the idle rates were taken.
fn busy_share<'a>(idle: impl IntoIterator<Item = &'a SoakWindow>) -> f64 {
    let (mut had_ns, mut used_ns) = (0.0, 0.0);
    for window in idle {
        had_ns += elapsed_ns(window) * window.opened.soak.units.len() as f64;
        // By the soakers' CPU clock, which is exact, and not by /proc/stat, whose tick is a tenth of such a window.
        used_ns += window.closed.soaker_cpu_ns.saturating_sub(window.opened.soaker_cpu_ns) as f64;
    }
    1.0 - used_ns / had_ns
}

/// The warning `busy-machine`, when the machine was not quiet while the idle rates were taken: a soaker that does not get
/// its CPU counts too little, and every load after that is too small.
pub fn not_quiet(start: &SoakStart) -> Option<Warning> {
    let busy = busy_share(&start.idle);
    (busy > QUIET).then(|| {
        Warning::new(
            "busy-machine",
            if busy > HOPELESS { Severity::Withhold } else { Severity::Doubt },
            format!(
                "something else used {:.1} % of the CPUs while the soakers' idle rates were taken: what is more than that \
                 is seen, that itself is not",
                100.0 * busy
            ),
        )
        .remedy("stop what runs beside it")
    })
}

/// What a command cost. None when the readings are not of the same CPUs.
pub fn command_cost(seen: &SoakCommand) -> Option<CommandCost> {
    let before = idle_rates(&seen.start.idle)?;
    // After an interrupt there may be none: then the rate before has to do, and there is no interval.
    let after = idle_rates(&seen.idle_after);
    let rates: Vec<f64> = match &after {
        Some(after) if after.len() == before.len() => before.iter().zip(after).map(|(a, b)| (a + b) / 2.0).collect(),
        _ => before.clone(),
    };
    let load = load(&seen.window, &rates)?;
    let elapsed_s = elapsed_ns(&seen.window) / 1e9;
    let soaked = load.busy_cpus * elapsed_s;
    let half_width = idle_half_width(seen, &rates, &load).map(|cpus| cpus * elapsed_s);
    let getrusage_cpu_s = (seen.user_ns + seen.system_ns) as f64 / 1e9;
    let beyond = soaked - getrusage_cpu_s;
    let stat_elapsed_s = stat_elapsed_ns(&seen.window.opened.stat, &seen.window.closed.stat) / 1e9;
    Some(CommandCost {
        elapsed_s,
        soaked_cpu_s: PlusMinus { value: soaked, half_width },
        getrusage_cpu_s,
        stat_cpu_s: load.stat_cpus * stat_elapsed_s,
        beyond_getrusage_s: beyond,
        against_getrusage: match half_width {
            _ if busy_share(&seen.start.idle).max(busy_share(&seen.idle_after)) > HOPELESS => Against::Withheld,
            None => Against::Unknown,
            Some(half_width) if beyond.abs() <= half_width => Against::Same,
            Some(_) if beyond > 0.0 => Against::More,
            Some(_) => Against::Less,
        },
        steal_s: load.steal_cpus * stat_elapsed_s,
        idle_shift: after
            .map(|after| after.iter().sum::<f64>() / before.iter().sum::<f64>() - 1.0)
            .filter(|shift| shift.is_finite()),
        cpus: load.cpus,
    })
}

/// How far the soaked load of a command may be off, in CPUs, because the idle rate beside it is not known better.
///
/// Each idle window is taken for a load against the mean rates, CPU by CPU weighted with what the command left idle of it
/// (an idle rate that is 1 % off makes no error on a CPU that had no idle time). Three things add up: the interval of the
/// mean of the windows before and after; half of the shift between them, because nobody saw when it happened; and the
/// scatter that a window as long as the command's has itself.
fn idle_half_width(seen: &SoakCommand, rates: &[f64], load: &Load) -> Option<f64> {
    let apparent = |window: &SoakWindow| -> Option<f64> {
        let elapsed = elapsed_ns(window);
        let each = rates.iter().zip(&load.cpus).enumerate();
        each.map(|(cpu, (rate, busy))| {
            Some((1.0 - busy).clamp(0.0, 1.0) * (1.0 - units(window, cpu)? / (rate * elapsed)))
        })
        .sum()
    };
    let before: Vec<f64> = seen.start.idle.iter().map(apparent).collect::<Option<_>>()?;
    let after: Vec<f64> = seen.idle_after.iter().map(apparent).collect::<Option<_>>()?;
    let welch = welch_interval(&before, &after, CONFIDENCE)?;
    // The mean of two means has half of the standard error of their difference, and the same degrees of freedom.
    let half_of_difference = (welch.interval.high - welch.interval.low) / 2.0;
    let mean = half_of_difference / 2.0;
    let t = half_of_difference / welch.standard_error;
    let windows = (before.len() * after.len()) as f64 / (before.len() + after.len()) as f64;
    let variance = welch.standard_error.powi(2) * windows; // of one idle window, were both sides of equal variance
    let idle_ns = elapsed_ns(&seen.start.idle[0]);
    let own = t * (variance * idle_ns / elapsed_ns(&seen.window)).sqrt();
    let half = (mean.powi(2) + own.powi(2)).sqrt() + welch.difference.abs() / 2.0;
    half.is_finite().then_some(half)
}

/// Rows and the cost of a wake-up.
pub fn verified(seen: &SoakVerify) -> Verified {
    let mut cases: Vec<(BurnShape, u32)> = seen.visits.iter().map(|visit| (visit.shape, visit.percent)).collect();
    cases.sort_unstable();
    cases.dedup();
    let null: Option<Vec<Visit>> = visits_of(seen, NULL_LOAD);
    let wakeup_cost_ns = null.and_then(|null| {
        let cost = |visit: &Visit| 1e9 * (visit.soaked - visit.truth) / visit.wakeups_per_s;
        centre(&null.iter().map(cost).collect::<Vec<_>>())
    });
    let rows = cases.into_iter().filter_map(|case| verify_row(seen, case)).collect();
    let dropped = seen.visits.iter().filter(|visit| !counts(visit)).count();
    Verified { rows, wakeup_cost_ns, dropped }
}

/// The load that wakes up most and burns nothing.
const NULL_LOAD: (BurnShape, u32) = (BurnShape::Smooth, 0);

/// The figures of one visit, in shares of the burner's CPU.
struct Visit {
    truth: f64,
    soaked: f64,
    wakeups_per_s: f64,
    stat: f64,
    control_stat: f64,
    control_truth: f64,
}

fn visits_of(seen: &SoakVerify, case: (BurnShape, u32)) -> Option<Vec<Visit>> {
    let visits = seen.visits.iter().filter(|visit| (visit.shape, visit.percent) == case && counts(visit));
    visits.map(|visit| visit_of(visit, seen.burner)).collect()
}

/// Whether nothing else was at work in a window and beside it.
fn counts(visit: &VerifyVisit) -> bool {
    let used_ns = (visit.truth_ns + visit.soaker_cpu_ns) as f64;
    let foreign = 1.0 - used_ns / elapsed_ns(&visit.window);
    foreign <= QUIET && [&visit.idle_before, &visit.idle_after].iter().all(|idle| busy_share([*idle]) <= QUIET)
}

fn visit_of(visit: &VerifyVisit, cpu: usize) -> Option<Visit> {
    let rates = idle_rates(&[visit.idle_before.clone(), visit.idle_after.clone()])?;
    let load = load(&visit.window, &rates)?;
    let elapsed = load.elapsed_ns as f64;
    let control = &visit.unsoaked_control;
    Some(Visit {
        truth: visit.truth_ns as f64 / elapsed,
        soaked: *load.cpus.get(cpu)?,
        wakeups_per_s: 1e9 * visit.switches as f64 / elapsed,
        control_stat: stat_of(&control.opened, &control.closed, cpu, busy)?,
        control_truth: control.truth_ns as f64 / stat_elapsed_ns(&control.opened, &control.closed),
        stat: stat_of(&visit.window.opened.stat, &visit.window.closed.stat, cpu, busy_but_nice)?,
    })
}

fn verify_row(seen: &SoakVerify, case: (BurnShape, u32)) -> Option<VerifyRow> {
    let visits = visits_of(seen, case)?;
    let of = |figure: &dyn Fn(&Visit) -> f64| visits.iter().map(figure).collect::<Vec<_>>();
    Some(VerifyRow {
        shape: case.0,
        percent: case.1,
        visits: visits.len(),
        truth: mean(&of(&|visit| visit.truth))?,
        soaked: mean(&of(&|visit| visit.soaked))?,
        error: centre(&of(&|visit| visit.soaked - visit.truth))?,
        stat: mean(&of(&|visit| visit.stat))?,
        stat_error: centre(&of(&|visit| visit.stat - visit.truth))?,
        stat_unsoaked: mean(&of(&|visit| visit.control_stat))?,
        stat_unsoaked_error: centre(&of(&|visit| visit.control_stat - visit.control_truth))?,
        wakeups_per_s: mean(&of(&|visit| visit.wakeups_per_s))?,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Where the values lie, whatever a few of them do: there are neighbours on most machines.
fn centre(values: &[f64]) -> Option<PlusMinus> {
    let half_width = wilcoxon_interval(values, CONFIDENCE).map(|interval| (interval.high - interval.low) / 2.0);
    let value = hodges_lehmann(values).filter(|value| value.is_finite())?;
    Some(PlusMinus { value, half_width: half_width.filter(|half| half.is_finite()) })
}

fn elapsed_ns(window: &SoakWindow) -> f64 {
    window.closed.soak.at_ns.saturating_sub(window.opened.soak.at_ns) as f64
}

/// Units that a soaker finished in a window.
fn units(window: &SoakWindow, cpu: usize) -> Option<f64> {
    let (opened, closed) = (window.opened.soak.units.get(cpu)?, window.closed.soak.units.get(cpu)?);
    Some(closed.saturating_sub(*opened) as f64)
}

fn stat_elapsed_ns(opened: &StatReading, closed: &StatReading) -> f64 {
    closed.at_ns.saturating_sub(opened.at_ns) as f64
}

/// Ticks in use, soakers left out: they are at nice 19, and so is nothing else that matters, it is hoped. A niced command is
/// not seen by this.
fn busy_but_nice(ticks: &CpuTicks) -> u64 {
    ticks.user + ticks.system + ticks.irq + ticks.softirq
}

/// Ticks in use.
fn busy(ticks: &CpuTicks) -> u64 {
    busy_but_nice(ticks) + ticks.nice
}

/// The share of a CPU that /proc/stat shows in use.
fn stat_of(opened: &StatReading, closed: &StatReading, cpu: usize, busy: fn(&CpuTicks) -> u64) -> Option<f64> {
    let ticks = busy(closed.cpus.get(cpu)?).saturating_sub(busy(opened.cpus.get(cpu)?));
    let share = ticks as f64 * TICK_NS / stat_elapsed_ns(opened, closed);
    share.is_finite().then_some(share)
}

/// CPUs in use and CPUs stolen, by /proc/stat.
fn stat_cpus(opened: &StatReading, closed: &StatReading, busy: fn(&CpuTicks) -> u64) -> Option<(f64, f64)> {
    let sum = |of: fn(&CpuTicks) -> u64| -> Option<f64> {
        (0..opened.cpus.len()).map(|cpu| stat_of(opened, closed, cpu, of)).sum()
    };
    Some((sum(busy)?, sum(|ticks| ticks.steal)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Burnt, CommandEnd, SoakReading, SoakerKind, SoakerPace, SoakerRank, UnsoakedControl, VerifyVisit};

    const S: u64 = 1_000_000_000;

    /// A window from `at` for `seconds`, in which each soaker ran `units[cpu]` units of 1 us, and /proc/stat counted
    /// `ticks` in `user` on CPU 0.
    fn window(at_s: f64, seconds: f64, units: &[u64], ticks: u64) -> SoakWindow {
        let edge = |at: f64, units: Vec<u64>, ticks| {
            let at_ns = (at * 1e9) as u64;
            let mut cpus = vec![CpuTicks::default(); units.len()];
            cpus[0].user = ticks;
            SoakEdge {
                soaker_cpu_ns: units.iter().sum::<u64>() * 1000,
                soak: SoakReading { at_ns, stamp_ns: vec![at_ns; units.len()], units },
                stat: StatReading { at_ns, cpus, ..StatReading::default() },
            }
        };
        SoakWindow { opened: edge(at_s, vec![0; units.len()], 0), closed: edge(at_s + seconds, units.to_vec(), ticks) }
    }

    fn start(idle: Vec<SoakWindow>) -> SoakStart {
        SoakStart {
            cpus: vec![0, 1],
            soaker: SoakerKind::Alu,
            rank: SoakerRank::Autogroup,
            idle,
            pace: vec![SoakerPace { units: 500, cpu_ns: 1_000_000 }, SoakerPace { units: 900, cpu_ns: 900_000 }],
            taken: None,
        }
    }

    /// Ten idle windows of 0.1 s whose rates are those of `per_window` on both CPUs.
    fn idle(from_s: f64, per_window: [u64; 10]) -> Vec<SoakWindow> {
        (0..10).map(|i| window(from_s + 0.1 * i as f64, 0.1, &[per_window[i], per_window[i]], 0)).collect()
    }

    fn command(before: [u64; 10], units: [u64; 2], after: [u64; 10]) -> CommandCost {
        let seen = SoakCommand {
            command: vec!["true".into()],
            start: start(idle(0.0, before)),
            window: window(1.0, 4.0, &units, 150),
            end: CommandEnd::Exited { code: 0 },
            user_ns: S,
            system_ns: S / 2,
            idle_after: idle(5.0, after),
        };
        command_cost(&seen).unwrap()
    }

    #[test]
    fn a_load_is_what_the_soakers_did_not_get() {
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
        assert!((cost.soaked_cpu_s.value - 2.1).abs() < 1e-6, "{cost:?}");
        assert!((cost.getrusage_cpu_s - 1.5).abs() < 1e-9);
        assert!((cost.stat_cpu_s - 1.5).abs() < 1e-6);
        assert!((cost.beyond_getrusage_s - 0.6).abs() < 1e-6);
    }

    #[test]
    fn a_difference_counts_only_beyond_the_interval() {
        let scatter = [99_900, 100_100, 99_950, 100_050, 100_000, 99_900, 100_100, 99_950, 100_050, 100_000];
        let sure = command(scatter, [2_000_000, 3_900_000], scatter);
        assert_eq!(sure.against_getrusage, Against::More);
        assert!(sure.soaked_cpu_s.half_width.unwrap() < 0.02, "{sure:?}");
        let same = command(scatter, [2_500_000, 4_000_000], scatter);
        assert_eq!(same.against_getrusage, Against::Same, "{same:?}");
        let less = command(scatter, [3_500_000, 4_000_000], scatter);
        assert_eq!(less.against_getrusage, Against::Less);
    }

    #[test]
    fn a_shift_of_the_idle_rate_widens_the_interval_by_half_of_it() {
        let scatter = |base: u64| std::array::from_fn(|i| base + [0, 10][i % 2]);
        let cost = command(scatter(100_000), [2_000_000, 2_000_000], scatter(99_000));
        assert!((cost.idle_shift.unwrap() + 0.01).abs() < 1e-5, "{cost:?}");
        // 1 % of two CPUs that were half idle, for 4 s; half of that.
        assert!((cost.soaked_cpu_s.half_width.unwrap() - 0.02).abs() < 0.002, "{cost:?}");
    }

    #[test]
    fn without_idle_windows_after_it_there_is_a_value_without_an_interval() {
        let seen = SoakCommand {
            command: vec![],
            start: start(idle(0.0, [100_000; 10])),
            window: window(1.0, 1.0, &[1_000_000, 500_000], 0),
            end: CommandEnd::Killed { signal: 15 },
            user_ns: 0,
            system_ns: 0,
            idle_after: vec![],
        };
        let cost = command_cost(&seen).unwrap();
        assert!((cost.soaked_cpu_s.value - 0.5).abs() < 1e-9);
        assert_eq!(cost.soaked_cpu_s.half_width, None);
        assert_eq!(cost.against_getrusage, Against::Unknown);
    }

    #[test]
    fn what_was_taken_is_the_soakers_share_while_others_were_busy() {
        let burnt = |cpu_ns| Burnt { wall_ns: S, cpu_ns };
        let reading = |at_ns, units: u64| SoakReading { at_ns, units: vec![units; 2], stamp_ns: vec![at_ns; 2] };
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
    fn a_soaker_s_pace_is_by_its_own_cpu_time() {
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
    fn on_a_busy_machine_nothing_is_said_about_a_difference() {
        for (before, after) in [(80_000, 99_000), (99_000, 80_000)] {
            let cost = command([before; 10], [2_000_000, 2_000_000], [after; 10]);
            assert_eq!(cost.against_getrusage, Against::Withheld, "{cost:?}");
        }
    }

    #[test]
    fn a_known_load_gives_an_error_and_one_that_only_wakes_up_the_cost_of_that() {
        // 200 ms of which the burner had `truth` and the soaker `units` of 1 us; 200 wake-ups.
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
            },
        };
        // Each wake-up costs 10 us that the thread clock does not show; eight visits, with a scatter of 0 to 7 units.
        let visits =
            (0..8).flat_map(|i| [visit(50, 100_000_000, 98_000 + i), visit(0, 1_000_000, 197_000 + i)]).collect();
        let seen = SoakVerify { cpus: vec![0, 1], burner: 1, soaker: SoakerKind::Alu, visits };
        let verified = verified(&seen);
        let cost = verified.wakeup_cost_ns.unwrap();
        assert!((cost.value - 10_000.0).abs() < 50.0 && cost.half_width.unwrap() < 50.0, "{cost:?}");
        let rows = verified.rows;
        assert_eq!(rows.iter().map(|row| (row.percent, row.visits)).collect::<Vec<_>>(), [(0, 8), (50, 8)]);
        assert!((rows[1].truth - 0.5).abs() < 1e-9 && (rows[1].error.value - 0.01).abs() < 1e-4, "{:?}", rows[1]);
        assert!(
            (rows[1].stat_error.value + 0.5).abs() < 1e-9 && (rows[1].stat_unsoaked_error.value + 0.5).abs() < 1e-9
        );
        assert!((rows[1].wakeups_per_s - 1000.0).abs() < 1e-6);
        let mut busy = seen.clone();
        busy.visits[0].soaker_cpu_ns -= 10_000_000;
        busy.visits[3].idle_after.closed.soaker_cpu_ns -= 10_000_000;
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
}
