//! Totals of a service that is metered, period after period. What a request of a period costs is
//! [`service_cost`](super::service_cost) of its slots: their counts are rates, and each is by its
//! own span of time.

use super::per::Unit;
use super::service::{CountedBy, ServiceCost};
use zc_run::MeterPeriod;

/// What a service had and did since it is metered, and what the meter took itself. A slot in which
/// the service was started anew is in none but the last four.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MeterTotals {
    /// CPU time of its processes, in seconds.
    pub processes_s: f64,
    /// CPU time of its share of interrupts and softirqs: an estimate. Periods in which that is not
    /// known have none.
    pub interrupts_s: f64,
    /// Requests.
    pub requests: f64,
    /// Bytes of payload that its sockets sent, or bytes that the interfaces of its network
    /// namespace sent, by what [`MeterTotals::bytes_by`] says.
    pub bytes: f64,
    /// Source of the bytes of the last period; `None` if they are not known.
    pub bytes_by: Option<CountedBy>,
    /// Windows that were measured in.
    pub windows: usize,
    /// Slots without one.
    pub dropped: usize,
    /// CPU time of zc itself, in seconds.
    pub zc_s: f64,
    /// CPU time of the soakers, which only get what nobody else wants, in seconds.
    pub soakers_s: f64,
    /// Time in which they were awake, in seconds.
    pub soaked_s: f64,
}

impl MeterTotals {
    /// Adds a period and what was estimated of it.
    pub fn add(&mut self, period: &MeterPeriod, cost: Option<&ServiceCost>) {
        let windows = &period.seen.windows;
        let s = |ns: u64| ns as f64 / 1e9;
        let counted_s: f64 = windows.iter().map(|it| s(it.clocks.elapsed_ns)).sum();
        let used = windows.iter().map(|it| s(it.cgroup.unwrap_or(it.clocks).count));
        self.processes_s += used.sum::<f64>();
        let interrupts = cost.and_then(|cost| cost.interrupts.as_ref());
        // Noise around nothing can be below 0, and a total does not go back.
        self.interrupts_s += interrupts.map_or(0.0, |it| it.cpus.max(0.0) * counted_s);
        let requests = windows.iter().filter_map(|it| it.requests.as_ref());
        self.requests += requests.map(|it| it.count as f64).sum::<f64>();
        let per = cost.map_or(&[][..], |cost| &cost.per);
        let bytes = per.iter().find(|per| per.unit == Unit::Bytes);
        self.bytes += bytes.map_or(0.0, |bytes| bytes.per_s * counted_s);
        self.bytes_by = bytes.map(|bytes| bytes.by);
        self.windows += windows.len();
        self.dropped += period.dropped;
        self.zc_s += s(period.zc_cpu_ns);
        self.soakers_s += s(period.soakers_cpu_ns);
        self.soaked_s += s(period.soaked_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::service::service_cost;
    use super::super::service_fixture::{S, near, seen};
    use super::*;
    use zc_run::Span;

    /// Slots of 5 s with the windows of 1 s of the fixture: 0.3 CPUs of the processes, 0.08 of
    /// interrupts, half of them the service's, 1,010 requests a second.
    fn period() -> MeterPeriod {
        let five = |span: Span| Span { elapsed_ns: 5 * S, count: 5 * span.count };
        let mut seen = seen();
        for window in &mut seen.windows {
            window.clocks = five(window.clocks);
            window.requests = window.requests.map(five);
            window.interfaces = window.interfaces.map(five);
        }
        MeterPeriod {
            seen,
            dropped: 1,
            elapsed_ns: 55 * S,
            soaked_ns: 11 * S,
            soakers_cpu_ns: 20 * S,
            zc_cpu_ns: S / 10,
            no_requests: None,
        }
    }

    #[test]
    fn counts_of_slots_and_shares_of_windows_make_the_same_cost() {
        let period = period();
        let cost = service_cost(&period.seen).unwrap();
        let request = cost.per.iter().find(|per| per.unit == Unit::Requests).unwrap();
        assert!(near(request.cost_ns.value, 0.34e9 / 1010.0), "{request:?}");
        let mut totals = MeterTotals::default();
        totals.add(&period, Some(&cost));
        totals.add(&period, None);
        assert!(near(totals.processes_s, 2.0 * 15.0), "{totals:?}");
        assert!(near(totals.interrupts_s, 0.04 * 50.0), "{totals:?}");
        assert!(near(totals.requests, 2.0 * 50_500.0), "{totals:?}");
        assert!(near(totals.bytes, 5e7), "{totals:?}");
        assert_eq!((totals.windows, totals.dropped), (20, 2));
        assert!(near(totals.zc_s, 0.2) && near(totals.soaked_s, 22.0), "{totals:?}");
        assert_eq!(totals.bytes_by, None, "of a period without an estimate");
    }

    #[test]
    fn sockets_that_were_read_in_some_windows_tell_the_share_of_all() {
        let mut period = period();
        for window in period.seen.windows.iter_mut().skip(2) {
            window.tcp = None;
        }
        let cost = service_cost(&period.seen).unwrap();
        assert!(near(cost.interrupts.as_ref().unwrap().share, 0.5), "{cost:?}");
        // Their bytes are of two windows, and what they cost of ten.
        let bytes = cost.per.iter().find(|per| per.unit == Unit::Bytes).unwrap();
        assert_eq!(bytes.by, CountedBy::Interfaces);
    }
}
