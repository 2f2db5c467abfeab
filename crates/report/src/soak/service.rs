//! Costs of a running service, as text and as a JSON document.

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::{cpus, figure};
use super::rows::{Rows, places};
use zc_analysis::soak::{CountedBy, PlusMinus, ServiceCost, SharedBy, TakenShare, Unit};
use zc_run::{ServiceTarget, SoakService, SoakerRank, escape};

/// The document of `zc soak --service --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceDocument<'s> {
    /// The service observed.
    pub service: &'s ServiceTarget,
    /// The CPUs that carried a soaker.
    pub cpus: &'s [usize],
    /// The rank of the soakers.
    pub rank: &'s SoakerRank,
    /// Its cost.
    pub cost: &'s ServiceCost,
    /// CPU time that the soakers took from a busy process; null if that is not known.
    pub taken: Option<TakenShare>,
    /// Why there are fewer windows than were asked for; null if there are not.
    pub ended_early: Option<String>,
    /// The readings, with `--raw`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<&'s SoakService>,
}

/// The JSON Schema of [`ServiceDocument`].
pub fn service_schema() -> String {
    crate::json::schema_of::<ServiceDocument<'static>>()
}

/// Cost of a service, and the other users of the machine.
pub fn service(seen: &SoakService, cost: &ServiceCost) -> String {
    let half_width = cost.cpus.unwrap_or(cost.processes.cpus).half_width;
    let places = places(half_width, 2.0).unwrap_or(3);
    let heading = format!(
        "\"{}\" for {:.1} s on {}: {} windows\n",
        name(&seen.target),
        cost.elapsed_s,
        cpus(&seen.start.cpus),
        cost.windows
    );
    let mut rows = Rows::below(heading, places);
    let both = format!(
        "CPUs: its processes and its share of interrupts; mean and 95 % interval of {} windows",
        cost.windows
    );
    rows.headline("service", cost.cpus, cost.withheld.as_deref(), &both);
    rows.plus_minus("  its processes", cost.processes.cpus, &counted(seen, cost, places));
    if let Some(interrupts) = &cost.interrupts {
        let how = match &interrupts.by {
            SharedBy::Segments => "by the segments of its sockets".to_owned(),
            SharedBy::CpuTime { reason } => {
                format!("by CPU time, not by segments: {}", escape(reason, 200))
            }
        };
        let share = format!(
            "{:.0} % of the interrupts and softirqs on the soakers' time, {how}",
            100.0 * interrupts.share
        );
        rows.plus_minus("  its interrupts", times(interrupts.all_cpus, interrupts.share), &share);
    }
    for per in &cost.per {
        let by = match per.by {
            CountedBy::StubStatus => "by stub_status",
            CountedBy::Sockets => "that its sockets sent, by TCP_INFO",
            CountedBy::Interfaces => {
                "that interfaces of its network namespace sent: everybody's, with headers"
            }
        };
        let (count, unit) = match per.unit {
            Unit::Bytes => (per.per_s / 1e6, "MB"),
            _ => (per.per_s, "of them"),
        };
        let told = format!("{} {unit} a second {by}", figure(count, 1));
        rows.per(per.unit, per.cost_ns, &told);
    }
    if let (Some(others), Some(soaked)) = (&cost.others, cost.soaked_cpus) {
        rows.plus_minus("the machine", soaked, "CPUs that the soakers lost");
        for process in &others.processes {
            rows.process(&process.name, process.cpus);
        }
        rows.small("  other processes", others.other_processes, "small ones");
        rows.small("  kernel threads", others.kernel_threads, "by their CPU clocks");
        let rest = cost.interrupts.as_ref().map(|it| times(it.all_cpus, 1.0 - it.share));
        match rest.filter(|rest| rest.half_width.is_some()) {
            Some(rest) => rows.plus_minus("  other interrupts", rest, OTHER_INTERRUPTS),
            None => rows.small("  other interrupts", others.interrupts, OTHER_INTERRUPTS),
        }
        rows.small(
            "  ticks",
            others.ticks,
            "of the timer, on the soakers' time: an idle CPU has none",
        );
        rows.small("  this zc", others.zc, "while it waited");
        rows.small("  stolen", others.stolen, "by the hypervisor");
        rows.left(
            others.missing,
            others.add_up,
            "in no account: processes that ended meanwhile, or noise",
        );
    }
    rows.stat(cost.stat_cpus);
    rows.text()
}

const OTHER_INTERRUPTS: &str = "and softirqs, on the soakers' time";

/// A share of a figure and of its interval.
fn times(figure: PlusMinus, share: f64) -> PlusMinus {
    PlusMinus {
        value: figure.value * share,
        half_width: figure.half_width.map(|half| half * share),
    }
}

/// Name of a service, for people.
pub(super) fn name(target: &ServiceTarget) -> String {
    match target {
        ServiceTarget::Pid { pid, name } => format!("{} ({pid})", escape(name, 20)),
        ServiceTarget::Cgroup { name, .. } => escape(name, 200),
    }
}

/// The clocks that counted the CPU time of its processes.
fn counted(seen: &SoakService, cost: &ServiceCost, places: usize) -> String {
    let most = cost.processes.most;
    let processes = if most == 1 { "1 process".to_owned() } else { format!("{most} processes") };
    match &seen.target {
        ServiceTarget::Cgroup { cpu: Some(cpu), .. } if cost.processes.by_cgroup => format!(
            "by {}; {} by the CPU clocks of up to {processes}",
            escape(cpu, 200),
            figure(cost.processes.clocks_cpus, places)
        ),
        _ => format!(
            "by the CPU clocks of up to {processes}, with children that ended and were waited for"
        ),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use zc_analysis::soak::{
        NamedCpus, OtherAccounts, PlusMinus, ServiceInterrupts, ServicePer, ServiceProcesses,
    };
    use zc_run::{SoakStart, SoakerKind};

    pub(in crate::soak) fn seen(target: ServiceTarget) -> SoakService {
        SoakService {
            target,
            start: SoakStart {
                cpus: vec![0, 1],
                soaker: SoakerKind::Alu,
                rank: SoakerRank::Autogroup,
                idle: Vec::new(),
                pace: Vec::new(),
                taken: None,
                emulated: false,
                cpu_quota: None,
                irq_time_accounting: None,
                thread_clock_step_ns: None,
            },
            windows: Vec::new(),
            no_sockets: None,
        }
    }

    pub(in crate::soak) fn cost() -> ServiceCost {
        let plus_minus = |value, half| PlusMinus { value, half_width: Some(half) };
        ServiceCost {
            windows: 30,
            elapsed_s: 30.0,
            cpus: Some(plus_minus(0.431, 0.0052)),
            withheld: None,
            processes: ServiceProcesses {
                cpus: plus_minus(0.4012, 0.0041),
                by_cgroup: true,
                clocks_cpus: 0.4009,
                most: 3,
            },
            interrupts: Some(ServiceInterrupts {
                all_cpus: plus_minus(0.06, 0.003),
                cpus: 0.0298,
                share: 0.497,
                by: SharedBy::Segments,
            }),
            soaked_cpus: Some(plus_minus(0.592, 0.009)),
            others: Some(OtherAccounts {
                processes: vec![NamedCpus { name: "wrk".into(), cpus: 0.12 }],
                other_processes: 0.0001,
                kernel_threads: 0.0012,
                interrupts: 0.0302,
                ticks: 0.0071,
                zc: 0.0,
                stolen: 0.0,
                missing: 0.0024,
                add_up: false,
            }),
            stat_cpus: 0.57,
            per: vec![
                ServicePer {
                    unit: Unit::Requests,
                    by: CountedBy::StubStatus,
                    per_s: 10_023.0,
                    cost_ns: plus_minus(43_010.0, 520.0),
                },
                ServicePer {
                    unit: Unit::Bytes,
                    by: CountedBy::Interfaces,
                    per_s: 41.2e6,
                    cost_ns: plus_minus(10.46, 0.12),
                },
            ],
        }
    }

    #[test]
    fn a_service_s_cost_stands_before_the_rest_of_the_machine() {
        let target = ServiceTarget::Cgroup {
            name: "nginx.service".into(),
            path: "/sys/fs/cgroup/system.slice/nginx.service".into(),
            cpu: Some("/sys/fs/cgroup/system.slice/nginx.service/cpu.stat".into()),
        };
        insta::assert_snapshot!(service(&seen(target), &cost()));
        let pid = ServiceTarget::Pid { pid: 7, name: "a\nb".into() };
        let withheld = ServiceCost {
            cpus: None,
            withheld: Some("the soakers got no CPU time".into()),
            interrupts: None,
            soaked_cpus: None,
            others: None,
            per: Vec::new(),
            ..cost()
        };
        insta::assert_snapshot!(service(&seen(pid), &withheld));
    }

    #[test]
    fn why_interrupts_are_not_shared_out_by_segments_is_told() {
        let mut cost = cost();
        let reason = "its sockets are not known".to_owned();
        cost.interrupts.as_mut().unwrap().by = SharedBy::CpuTime { reason };
        let pid = ServiceTarget::Pid { pid: 7, name: "nginx".into() };
        let text = service(&seen(pid), &cost);
        assert!(text.contains("by CPU time, not by segments: its sockets are not known"), "{text}");
    }

    #[test]
    fn the_schema_names_what_the_document_has() {
        let schema = service_schema();
        for name in ["\"ended_early\"", "\"soaked_cpus\"", "\"cost_ns\"", "\"stub-status\""] {
            assert!(schema.contains(name), "{name}");
        }
    }
}
