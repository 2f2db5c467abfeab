//! A service that is metered, as metrics: OpenMetrics text 1.0 that is Prometheus text 0.0.4 too,
//! as all of zc's. Figures of the last period are gauges. Totals end in `_total` and have no type:
//! the two formats call a counter's family differently, and rate() needs none.

use super::service::name;
use crate::openmetrics::{Exposition, Interval, Labels, with};
use zc_analysis::soak::{CountedBy, MeterTotals, PlusMinus, ServiceCost, SharedBy, Unit};
use zc_run::{MeterPeriod, ServiceTarget};

/// What is known of a metered service at the end of a period.
#[derive(Debug)]
pub struct MeterFigures<'a> {
    /// The service.
    pub target: &'a ServiceTarget,
    /// The last period and its cost, while the service is being metered.
    pub last: Option<(&'a MeterPeriod, Option<&'a ServiceCost>)>,
    /// Whether it is being metered.
    pub is_metered: bool,
    /// Everything since zc began.
    pub totals: &'a MeterTotals,
    /// Source of the number of requests, as a label; empty without one.
    pub requests_by: &'a str,
    /// When this was written, in seconds since 1970.
    pub at_s: f64,
}

/// The whole exposition.
pub fn meter(figures: &MeterFigures<'_>) -> String {
    let mut out = Exposition::default();
    // All samples have the service's name: several files of one host say what is whose.
    let labels = with(&[], [("service", &*service_label(figures.target))]);
    info(&mut out, &labels, figures);
    let gauge = |out: &mut Exposition, name: &str, unit: &str, help: &str, value: Option<f64>| {
        out.family(name, unit, help);
        out.gauge(name, &labels, value);
    };
    gauge(
        &mut out,
        "zc_service_written_timestamp_seconds",
        "seconds",
        "When these metrics were written, since 1970: their age.",
        Some(figures.at_s),
    );
    let metered = f64::from(u8::from(figures.is_metered));
    gauge(
        &mut out,
        "zc_service_metered",
        "",
        "1 while the service is metered, 0 once it or zc has ended.",
        Some(metered),
    );
    let cost = figures.last.and_then(|(_, cost)| cost);
    let is_withheld = cost.is_none_or(|cost| cost.withheld.is_some());
    let withheld = figures.last.map(|_| f64::from(u8::from(is_withheld)));
    gauge(
        &mut out,
        "zc_service_cost_withheld",
        "",
        "1 where interrupts were not seen in the last period, so that it has no cost.",
        withheld,
    );
    per(&mut out, &labels, cost, Unit::Requests, "request");
    per(&mut out, &labels, cost, Unit::Bytes, "byte");
    interval(
        &mut out,
        &labels,
        (
            "zc_service_cost",
            "cpus",
            "CPUs that the service took, its share of interrupts included.",
        ),
        cost.and_then(|cost| cost.cpus),
        1.0,
    );
    let interrupts = cost.and_then(|cost| cost.interrupts.as_ref());
    gauge(
        &mut out,
        "zc_service_interrupt_share_ratio",
        "ratio",
        "The service's share of all interrupts and softirqs on idle CPU time.",
        interrupts.map(|it| it.share),
    );
    gauge(
        &mut out,
        "zc_service_period_seconds",
        "seconds",
        "Length of the last period.",
        figures.last.map(|(period, _)| period.elapsed_ns as f64 / 1e9),
    );
    totals(&mut out, &labels, figures);
    out.end()
}

/// Name of the service: of a process without its number, which is another one after a restart.
fn service_label(target: &ServiceTarget) -> String {
    match target {
        ServiceTarget::Pid { name, .. } => name.clone(),
        ServiceTarget::Cgroup { .. } => name(target),
    }
}

/// What may change while the service remains the same one.
fn info(out: &mut Exposition, labels: &Labels, figures: &MeterFigures<'_>) {
    const NAME: &str = "zc_service_info";
    let cost = figures.last.and_then(|(_, cost)| cost);
    let interrupts = cost.and_then(|cost| cost.interrupts.as_ref()).map(|it| &it.by);
    let cpu = match figures.target {
        ServiceTarget::Cgroup { cpu: Some(_), .. } => "cgroup",
        _ => "clocks",
    };
    let own = [
        ("cpu_by", cpu),
        ("requests_by", figures.requests_by),
        (
            "interrupts_by",
            match interrupts {
                Some(SharedBy::Segments) => "segments",
                Some(SharedBy::CpuTime { .. }) => "cpu-time",
                None => "",
            },
        ),
        (
            "bytes_by",
            match figures.totals.bytes_by {
                Some(CountedBy::Sockets) => "sockets",
                Some(CountedBy::Interfaces) => "interfaces",
                Some(CountedBy::StubStatus) | None => "",
            },
        ),
    ];
    out.family(NAME, "", "How the figures of a metered service are counted.");
    out.sample(NAME, &with(labels, own), "1");
}

fn per(
    out: &mut Exposition,
    labels: &Labels,
    cost: Option<&ServiceCost>,
    unit: Unit,
    one: &'static str,
) {
    let found = cost.and_then(|cost| cost.per.iter().find(|per| per.unit == unit));
    let name = format!("seconds_per_{one}");
    let help = format!("CPU time of the service for a {one}, its share of interrupts included.");
    let cost_ns = found.map(|per| per.cost_ns);
    interval(out, labels, ("zc_service_cost", &name, &help), cost_ns, 1e-9);
}

fn interval(
    out: &mut Exposition,
    labels: &Labels,
    about: (&str, &str, &str),
    value: Option<PlusMinus>,
    factor: f64,
) {
    let end = |sign: f64| value.and_then(|it| Some(it.value + sign * it.half_width?));
    let each: Interval = (labels.clone(), [value.map(|it| it.value), end(-1.0), end(1.0)]);
    out.intervals(about, factor, &[each]);
}

fn totals(out: &mut Exposition, labels: &Labels, figures: &MeterFigures<'_>) {
    let totals = figures.totals;
    let asked = !figures.requests_by.is_empty();
    for (name, help, value) in [
        (
            "zc_service_cpu_seconds_total",
            "CPU time of the service's processes.",
            Some(totals.processes_s),
        ),
        (
            "zc_service_interrupt_cpu_seconds_total",
            "Interrupts and softirqs beside its processes: its estimated share.",
            Some(totals.interrupts_s),
        ),
        ("zc_service_requests_total", "Requests of the service.", asked.then_some(totals.requests)),
        (
            "zc_service_sent_bytes_total",
            "Bytes that the service sent: an estimate where bytes_by of zc_service_info is sockets.",
            Some(totals.bytes),
        ),
        (
            "zc_service_windows_total",
            "Windows in which interrupts were measured.",
            Some(totals.windows as f64),
        ),
        (
            "zc_service_windows_dropped_total",
            "Windows that do not count, as the service was started anew.",
            Some(totals.dropped as f64),
        ),
        (
            "zc_meter_cpu_seconds_total",
            "CPU time that the meter took, without its soakers.",
            Some(totals.zc_s),
        ),
        (
            "zc_meter_soaker_cpu_seconds_total",
            "CPU time of the meter's soakers, at the lowest class: what nobody else wanted.",
            Some(totals.soakers_s),
        ),
        (
            "zc_meter_soaked_seconds_total",
            "Time in which the meter's soakers were awake and kept the CPUs from sleeping.",
            Some(totals.soaked_s),
        ),
    ] {
        out.total(name, help);
        out.gauge(name, labels, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::service::tests::{cost, seen};

    fn target() -> ServiceTarget {
        ServiceTarget::Cgroup {
            name: "nginx".into(),
            path: "/sys/fs/cgroup/system.slice/nginx.service".into(),
            cpu: Some("/sys/fs/cgroup/system.slice/nginx.service/cpu.stat".into()),
        }
    }

    fn period() -> MeterPeriod {
        MeterPeriod {
            seen: seen(target()),
            dropped: 0,
            elapsed_ns: 60_000_000_000,
            soaked_ns: 1_440_000_000,
            soakers_cpu_ns: 2_500_000_000,
            zc_cpu_ns: 100_000_000,
            no_requests: None,
        }
    }

    const TOTALS: MeterTotals = MeterTotals {
        processes_s: 24.0,
        interrupts_s: 1.8,
        requests: 601_380.0,
        bytes: 2.5e9,
        bytes_by: Some(CountedBy::Interfaces),
        windows: 12,
        dropped: 0,
        zc_s: 0.1,
        soakers_s: 2.5,
        soaked_s: 1.44,
    };

    #[test]
    fn a_period_of_a_service_makes_metrics() {
        let (period, cost) = (period(), cost());
        insta::assert_snapshot!(meter(&MeterFigures {
            target: &period.seen.target,
            last: Some((&period, Some(&cost))),
            is_metered: true,
            totals: &TOTALS,
            requests_by: "log",
            at_s: 1_796_000_000.5,
        }));
    }

    #[test]
    fn without_a_cost_there_is_none_and_the_totals_stay() {
        let period = period();
        let withheld = ServiceCost {
            cpus: None,
            withheld: Some("the soakers got no CPU time".into()),
            interrupts: None,
            per: Vec::new(),
            ..cost()
        };
        for (last, metered) in [(Some((&period, Some(&withheld))), true), (None, false)] {
            let text = meter(&MeterFigures {
                target: &period.seen.target,
                last,
                is_metered: metered,
                totals: &TOTALS,
                requests_by: "",
                at_s: 1_796_000_000.0,
            });
            assert!(!text.contains("\nzc_service_cost_seconds_per_request{"), "{text}");
            assert!(!text.contains("\nzc_service_cost_cpus{"), "{text}");
            assert!(!text.contains("\nzc_service_requests_total{"), "nobody counts them: {text}");
            assert!(text.contains("\nzc_service_cpu_seconds_total{service=\"nginx\"} 24.0\n"));
            let value = f64::from(u8::from(metered));
            let line = format!("\nzc_service_metered{{service=\"nginx\"}} {value:?}\n");
            assert!(text.contains(&line), "{text}");
            assert_eq!(
                text.contains("\nzc_service_cost_withheld{service=\"nginx\"} 1.0\n"),
                metered
            );
        }
    }
}
