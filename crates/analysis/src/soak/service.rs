//! Cost of a service that is already running, in CPUs (CPU seconds per second): its processes, and
//! its share of the interrupts and softirqs that no process is charged with.
//!
//! Means over windows. Neighbouring windows are alike, so Student's interval is wider by the square
//! root of their autocorrelation time.

use schemars::JsonSchema;
use serde::Serialize;
use zc_stats::{autocorrelation_time, mean_interval};

use super::execution::{CONFIDENCE, mean};
use super::interrupts::{ns_per_unit, ticks_ns};
use super::load::{load, paces};
use super::model::PlusMinus;
use super::others::Others;
use super::per::Unit;
use super::window::{elapsed_ns, soakers_ns, units};
use zc_run::{ServiceWindow, SoakService, Span, TcpSpan};

/// Another process that took less than this part of a CPU has no row of its own.
const SMALLEST_CPUS: f64 = 0.0005;

/// Open sockets that account for less of the namespace's segments do not tell whose they are.
const LEAST_COVERAGE: f64 = 0.9;

/// Soakers that got less of the CPUs had no time that could have been interrupted.
const NO_TIME: f64 = 0.01;

/// Cost of a service.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceCost {
    /// Windows that it is measured in.
    pub windows: usize,
    /// Their length together, in seconds.
    pub elapsed_s: f64,
    /// The service, in CPUs: its processes, and its share of interrupts. `None` where no soaker
    /// shows interrupts.
    pub cpus: Option<PlusMinus>,
    /// Why `cpus` is missing.
    pub withheld: Option<String>,
    /// Its processes.
    pub processes: ServiceProcesses,
    /// Interrupts and softirqs.
    pub interrupts: Option<ServiceInterrupts>,
    /// Everything that the soakers lost, in CPUs.
    pub soaked_cpus: Option<PlusMinus>,
    /// The rest of the machine; `None` where the soaked figure is missing.
    pub others: Option<OtherAccounts>,
    /// Busy CPUs by /proc/stat: user, system, irq and softirq.
    pub stat_cpus: f64,
    /// Requests and bytes of the service, and the cost of one; empty where the cost is missing.
    pub per: Vec<ServicePer>,
}

/// CPU time of the service's processes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceProcesses {
    /// Their CPU time in CPUs, by the cgroup if that counts it, else by the clocks.
    pub cpus: PlusMinus,
    /// Whether `cpus` is by the cgroup.
    pub by_cgroup: bool,
    /// Their CPU time in CPUs, by the clocks alone.
    pub clocks_cpus: f64,
    /// Largest number of processes it had.
    pub most: usize,
}

/// Interrupts and softirqs on the soakers' time: what they were charged with and did not count in,
/// without the timer's ticks. Those on a task's time are in that task's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceInterrupts {
    /// All of them, in CPUs.
    pub all_cpus: PlusMinus,
    /// The service's part of them, in CPUs.
    pub cpus: f64,
    /// Its share, 0 to 1.
    pub share: f64,
    /// Basis of the share.
    pub by: SharedBy,
}

/// Basis on which interrupts are apportioned to the service.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum SharedBy {
    /// Segments of its sockets, among all segments and datagrams of its network namespace.
    Segments,
    /// CPU time of its processes, among that of all processes.
    CpuTime {
        /// Why not by segments: a lower-case sentence.
        reason: String,
    },
}

/// The machine beside the service, in CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherAccounts {
    /// Other processes by name, the largest first.
    pub processes: Vec<NamedCpus>,
    /// Other processes that are not named.
    pub other_processes: f64,
    /// Threads of the kernel.
    pub kernel_threads: f64,
    /// Interrupts and softirqs that are not the service's.
    pub interrupts: f64,
    /// The timer's ticks on the soakers' time. A CPU that is idle has none: they are zc's doing.
    pub ticks: f64,
    /// zc itself.
    pub zc: f64,
    /// Taken by the hypervisor.
    pub stolen: f64,
    /// Remainder of the soaked figure.
    pub missing: f64,
    /// Whether that is within the interval of the soaked figure.
    pub add_up: bool,
}

/// CPUs of the processes of one name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedCpus {
    /// Name of the process, of at most 15 bytes.
    pub name: String,
    /// CPUs.
    pub cpus: f64,
}

/// Cost of a request or a byte of the service.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServicePer {
    /// Unit that is counted.
    pub unit: Unit,
    /// Source of the count.
    pub by: CountedBy,
    /// Number per second.
    pub per_s: f64,
    /// CPU time of one in ns.
    pub cost_ns: PlusMinus,
}

/// Source of a count of requests or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// nginx's stub_status.
    StubStatus,
    /// TCP_INFO of its sockets: payload bytes sent.
    Sockets,
    /// The interfaces of its network namespace: bytes sent by everybody in it, headers included.
    Interfaces,
}

/// The figures of one window, in CPUs.
struct Figures {
    own: f64,
    clocks: f64,
    soaked: Option<f64>,
    interrupts: Option<f64>,
    ticks: f64,
    stat: f64,
    stolen: f64,
    zc: f64,
}

/// The cost of a service. `None` without windows, and when their readings are not of the same CPUs.
pub fn service_cost(seen: &SoakService) -> Option<ServiceCost> {
    let rates = rates(seen);
    let windows = seen.windows.iter().zip(&rates);
    let each: Vec<Figures> =
        windows.map(|(window, rates)| figures(window, rates.as_deref())).collect::<Option<_>>()?;
    if each.is_empty() {
        return None;
    }
    let values = |figure: &dyn Fn(&Figures) -> f64| each.iter().map(figure).collect::<Vec<_>>();
    let without_costs = seen.start.without_costs();
    let known = |figure: fn(&Figures) -> Option<f64>| -> Option<Vec<f64>> {
        each.iter().map(figure).collect::<Option<_>>().filter(|_| without_costs.is_none())
    };
    let soaked: Option<Vec<f64>> = known(|it| it.soaked);
    let interrupts: Option<Vec<f64>> = known(|it| it.interrupts);
    let own = values(&|it| it.own);
    let others = others(&seen.windows);
    let (share, by) = share(seen, mean(&own), others.processes());
    let costs: Vec<f64> = match &interrupts {
        Some(interrupts) => own.iter().zip(interrupts).map(|(own, it)| own + share * it).collect(),
        None => own.clone(),
    };
    let soaked_cpus = soaked.as_deref().map(mean_of_series);
    let all_interrupts = interrupts.as_deref().map(mean_of_series);
    let by_cgroup = seen.windows.iter().all(|window| window.cgroup.is_some());
    let zc = mean(&values(&|it| it.zc));
    let ticks = mean(&values(&|it| it.ticks));
    let stolen = mean(&values(&|it| it.stolen));
    Some(ServiceCost {
        windows: each.len(),
        elapsed_s: seen.windows.iter().map(|it| elapsed_ns(&it.window)).sum::<f64>() / 1e9,
        cpus: all_interrupts.map(|_| mean_of_series(&costs)),
        withheld: all_interrupts.is_none().then(|| {
            if let Some((why, _)) = without_costs {
                return why;
            }
            "how fast the soakers count was not seen, and without that no interrupt is".to_owned()
        }),
        processes: ServiceProcesses {
            cpus: mean_of_series(&own),
            by_cgroup,
            clocks_cpus: mean(&values(&|it| it.clocks)),
            most: seen.windows.iter().map(|window| window.processes).max().unwrap_or(0),
        },
        others: soaked_cpus.zip(all_interrupts).map(|(soaked, interrupts)| {
            let had = mean(&own) + others.processes() + others.kernel_threads + interrupts.value;
            let missing = soaked.value - had - ticks - zc - stolen;
            let (largest, other_processes) = others.largest(SMALLEST_CPUS);
            let named = |(name, cpus): (&str, f64)| NamedCpus { name: name.to_owned(), cpus };
            OtherAccounts {
                processes: largest.into_iter().map(named).collect(),
                other_processes,
                kernel_threads: others.kernel_threads,
                interrupts: (1.0 - share) * interrupts.value,
                ticks,
                zc,
                stolen,
                missing,
                add_up: soaked.half_width.is_some_and(|half| missing.abs() <= half),
            }
        }),
        interrupts: all_interrupts.map(|all_cpus| ServiceInterrupts {
            all_cpus,
            cpus: share * all_cpus.value,
            share,
            by,
        }),
        soaked_cpus,
        stat_cpus: mean(&values(&|it| it.stat)),
        per: if all_interrupts.is_some() { costs_per_unit(seen, &costs) } else { Vec::new() },
    })
}

/// The rates of the soakers of each window in units per ns, if nothing interrupted them. A CPU that
/// showed none in a window has that of its other windows; one that never did, that of the other
/// CPUs, or of its pace.
fn rates(seen: &SoakService) -> Vec<Option<Vec<f64>>> {
    let cpus = seen.start.cpus.len();
    let paces = paces(&seen.start);
    let each: Vec<Vec<Option<f64>>> = seen
        .windows
        .iter()
        .map(|it| (0..cpus).map(|cpu| Some(1.0 / ns_per_unit(&it.window, cpu)?)).collect())
        .collect();
    let mean_of = |speeds: &mut dyn Iterator<Item = f64>| {
        let all: Vec<f64> = speeds.collect();
        (!all.is_empty()).then(|| mean(&all))
    };
    let all = mean_of(&mut each.iter().flatten().copied().flatten());
    let usual: Vec<Option<f64>> = (0..cpus)
        .map(|cpu| {
            let own = mean_of(&mut each.iter().filter_map(|window| window[cpu]));
            own.or(all).or_else(|| paces.as_ref().map(|paces| paces[cpu]))
        })
        .collect();
    let window = |window: &Vec<Option<f64>>| {
        std::iter::zip(window, &usual).map(|(own, usual)| own.or(*usual)).collect()
    };
    each.iter().map(window).collect()
}

fn figures(it: &ServiceWindow, rates: Option<&[f64]>) -> Option<Figures> {
    let elapsed = elapsed_ns(&it.window);
    if elapsed <= 0.0 {
        return None;
    }
    // /proc/stat is known without rates too.
    let unknown = vec![1.0; it.window.opened.soak.units.len()];
    let load = load(&it.window, rates.unwrap_or(&unknown))?;
    let charged_ns = soakers_ns(&it.window);
    let had_ns = elapsed * it.window.opened.soak.units.len() as f64;
    let (soaked, interrupts, ticks) = match rates {
        Some(rates) => {
            let each = rates.iter().enumerate();
            let counted_ns: f64 = (each.clone())
                .map(|(cpu, rate)| Some(units(&it.window, cpu)? / rate))
                .sum::<Option<_>>()?;
            let ticks_ns: f64 = each.map(|(cpu, rate)| ticks_ns(&it.window, cpu, 1.0 / rate)).sum();
            let interrupts_ns = charged_ns - counted_ns - ticks_ns;
            (Some(load.busy_cpus), Some(interrupts_ns / elapsed), ticks_ns / elapsed)
        }
        // Who has no time is not interrupted: on CPUs without idle time, all interrupts are in the
        // time of the processes.
        None if charged_ns < NO_TIME * had_ns => {
            (Some((had_ns - charged_ns) / elapsed), Some(0.0), 0.0)
        }
        None => (None, None, 0.0),
    };
    let clocks = rate(&it.clocks)?;
    Some(Figures {
        own: match &it.cgroup {
            Some(cgroup) => rate(cgroup)?,
            None => clocks,
        },
        clocks,
        soaked,
        interrupts,
        ticks,
        stat: load.stat_cpus,
        stolen: load.steal_cpus,
        zc: rate(&it.zc)?,
    })
}

/// Count per ns.
fn rate(span: &Span) -> Option<f64> {
    let rate = span.count as f64 / span.elapsed_ns as f64;
    rate.is_finite().then_some(rate)
}

fn mean_of_series(values: &[f64]) -> PlusMinus {
    let interval = mean_interval(values, CONFIDENCE);
    let alike = autocorrelation_time(values).unwrap_or(1.0).sqrt();
    let half_width = interval.map(|interval| alike * (interval.high - interval.low) / 2.0);
    PlusMinus { value: mean(values), half_width }
}

/// Means over windows, in CPUs.
fn others(windows: &[ServiceWindow]) -> Others<'_> {
    let mut others = Others::default();
    for window in windows {
        for process in &window.others {
            let cpus = process.window_ns as f64 / window.others_elapsed_ns.max(1) as f64;
            others.add(process, cpus / windows.len() as f64);
        }
    }
    others
}

/// TCP of all windows together in which it was read. `None` where it was in none.
fn tcp(windows: &[ServiceWindow]) -> Option<TcpSpan> {
    let mut all = TcpSpan::default();
    let mut known = windows.iter().filter_map(|window| window.tcp.as_ref()).peekable();
    known.peek()?;
    for tcp in known {
        all.elapsed_ns += tcp.elapsed_ns;
        all.own_segments += tcp.own_segments;
        all.open_segments += tcp.open_segments;
        all.all_segments += tcp.all_segments;
        all.datagrams += tcp.datagrams;
        all.own_bytes += tcp.own_bytes;
    }
    Some(all)
}

/// The share of its namespace's segments that open sockets account for.
fn coverage(tcp: &TcpSpan) -> f64 {
    tcp.open_segments as f64 / tcp.all_segments as f64
}

fn share(seen: &SoakService, own_cpus: f64, others_cpus: f64) -> (f64, SharedBy) {
    let by_cpu_time = |reason: String| {
        let share = own_cpus / (own_cpus + others_cpus);
        (if share.is_finite() { share } else { 0.0 }, SharedBy::CpuTime { reason })
    };
    let Some(tcp) = tcp(&seen.windows) else {
        let reason = seen.no_sockets.clone();
        return by_cpu_time(reason.unwrap_or_else(|| "its sockets are not known".to_owned()));
    };
    let all = tcp.all_segments.max(tcp.open_segments) + tcp.datagrams;
    if all == 0 {
        return (0.0, SharedBy::Segments);
    }
    let covered = coverage(&tcp);
    if covered < LEAST_COVERAGE {
        return by_cpu_time(format!(
            "{:.0} % of the segments were those of connections that ended meanwhile, and of \
             nobody's that is known",
            100.0 * (1.0 - covered)
        ));
    }
    (tcp.own_segments as f64 / all as f64, SharedBy::Segments)
}

fn costs_per_unit(seen: &SoakService, costs: &[f64]) -> Vec<ServicePer> {
    let windows = &seen.windows;
    let rates = |span: fn(&ServiceWindow) -> Option<f64>| -> Option<Vec<f64>> {
        windows.iter().map(span).collect()
    };
    let requests = rates(|it| rate(it.requests.as_ref()?))
        .map(|all| (Unit::Requests, CountedBy::StubStatus, all));
    let sockets = rates(|it| {
        let tcp = it.tcp.as_ref()?;
        Some(tcp.own_bytes as f64 / tcp.elapsed_ns as f64)
    });
    let sockets = sockets.filter(|all| {
        mean(all) > 0.0 && tcp(windows).is_some_and(|tcp| coverage(&tcp) >= LEAST_COVERAGE)
    });
    let bytes = match sockets {
        Some(all) => Some((Unit::Bytes, CountedBy::Sockets, all)),
        None => rates(|it| rate(it.interfaces.as_ref()?))
            .map(|all| (Unit::Bytes, CountedBy::Interfaces, all)),
    };
    let cost = |(unit, by, counts): (Unit, CountedBy, Vec<f64>)| {
        let (cost, count) = (mean(costs), mean(&counts));
        let ratio = cost / count;
        // The ratio of the means; its scatter is that of what each window has beyond it.
        let each: Vec<f64> = std::iter::zip(costs, &counts)
            .map(|(cost, number)| ratio + (cost - ratio * number) / count)
            .collect();
        (count > 0.0).then(|| ServicePer {
            unit,
            by,
            per_s: 1e9 * count,
            cost_ns: mean_of_series(&each),
        })
    };
    requests.into_iter().chain(bytes).filter_map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::super::service_fixture::{S, near, seen};
    use super::*;
    use zc_run::SoakerPace;

    #[test]
    fn processes_and_a_share_of_interrupts_are_the_service_s() {
        let cost = service_cost(&seen()).unwrap();
        let cpus = cost.cpus.unwrap();
        assert!(near(cpus.value, 0.3 + 0.08 / 2.0), "{cpus:?}");
        assert!(cpus.half_width.unwrap() > 0.0 && cpus.half_width.unwrap() < 0.01, "{cpus:?}");
        assert!(near(cost.processes.cpus.value, 0.3));
        let interrupts = cost.interrupts.unwrap();
        assert_eq!((interrupts.share, interrupts.by), (0.5, SharedBy::Segments));
        assert!(near(interrupts.all_cpus.value, 0.08) && near(interrupts.cpus, 0.04));
        let others = cost.others.unwrap();
        assert!(near(others.interrupts, 0.04) && near(others.missing, 0.0) && others.add_up);
        assert!(near(others.ticks, 0.01), "{others:?}");
        assert_eq!(others.processes[0].name, "wrk");
        assert!(near(cost.soaked_cpus.unwrap().value, 0.49), "{:?}", cost.soaked_cpus);
        let requests = &cost.per[0];
        assert_eq!((requests.unit, requests.by), (Unit::Requests, CountedBy::StubStatus));
        assert!(near(requests.cost_ns.value, 0.34e9 / 1010.0), "{requests:?}");
        let bytes = &cost.per[1];
        assert_eq!((bytes.unit, bytes.by), (Unit::Bytes, CountedBy::Sockets));
        assert!(near(bytes.cost_ns.value, 340.0), "{bytes:?}");
    }

    #[test]
    fn connections_that_ended_leave_their_segments_to_nobody() {
        let mut seen = seen();
        for window in &mut seen.windows {
            window.tcp.as_mut().unwrap().open_segments = 400;
        }
        let cost = service_cost(&seen).unwrap();
        let interrupts = cost.interrupts.unwrap();
        assert!(near(interrupts.share, 0.75), "{interrupts:?}");
        let SharedBy::CpuTime { reason } = interrupts.by else { panic!("by segments") };
        assert!(reason.starts_with("60 % of the segments"), "{reason}");
        assert_eq!(cost.per[1].by, CountedBy::Interfaces);
    }

    #[test]
    fn a_cgroup_s_own_account_is_taken_where_there_is_one() {
        let mut seen = seen();
        for window in &mut seen.windows {
            window.cgroup = Some(Span { elapsed_ns: S, count: 310_000_000 });
        }
        let cost = service_cost(&seen).unwrap();
        assert!(cost.processes.by_cgroup && near(cost.processes.cpus.value, 0.31));
        assert!(near(cost.processes.clocks_cpus, 0.3));
    }

    #[test]
    fn a_service_on_an_emulated_machine_has_no_cost() {
        let mut seen = seen();
        seen.start.emulated = true;
        let cost = service_cost(&seen).unwrap();
        assert!(cost.cpus.is_none() && cost.interrupts.is_none() && cost.others.is_none());
        assert!(cost.soaked_cpus.is_none() && cost.per.is_empty());
        assert_eq!(cost.withheld.as_deref(), Some(zc_run::WHY_EMULATED));
        seen.start.emulated = false;
        seen.start.cpu_quota = Some(0.2);
        let cost = service_cost(&seen).unwrap();
        assert_eq!((cost.cpus, cost.others), (None, None));
        assert!(cost.withheld.unwrap().starts_with("this cgroup may use 0.20 CPUs and"));
    }

    #[test]
    fn without_a_soaker_s_speed_its_processes_are_all_that_is_told() {
        let mut seen = seen();
        for window in &mut seen.windows {
            window.window.closed.undisturbed = vec![SoakerPace::default(); 2];
        }
        let cost = service_cost(&seen).unwrap();
        assert!(cost.cpus.is_none() && cost.others.is_none() && cost.withheld.is_some());
        assert!(cost.per.is_empty());
        assert!(near(cost.processes.cpus.value, 0.3));
        // Without time there is nothing that could have been interrupted.
        for window in &mut seen.windows {
            window.window.closed.soak.cpu_ns = vec![500_000; 2];
        }
        let cost = service_cost(&seen).unwrap();
        assert!(near(cost.cpus.unwrap().value, 0.3) && cost.withheld.is_none());
        assert!(near(cost.soaked_cpus.unwrap().value, 1.999), "{:?}", cost.soaked_cpus);
        seen.windows.clear();
        assert!(service_cost(&seen).is_none());
    }
}
