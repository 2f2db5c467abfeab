//! When the flows of a trial send, and where a window lies among their bursts. All bursts have the
//! same length; those of different flows are spread evenly over the period, so that a thousand
//! flows do not send at the same moment.
//!
//! A burst is large enough to be worth a wake-up, and holds one message or more: a period in which
//! nothing is sent would be neither traffic nor idle. At a low rate, with many flows or with large
//! messages, bursts are therefore further apart than the plan's burst time.

use zc_run::FixedParams;

/// Smallest burst of a flow, at any rate.
const LEAST_BYTES: usize = 16 << 10;

/// Largest number of messages in a piece, or of calls if these are short: a sender ends, and
/// publishes its counts, only between two pieces.
const MOST_MESSAGES: usize = 256;

/// Limit for the sum of one piece of each flow without pacing: they are still sent after a trial
/// has been stopped.
const MOST_BYTES_OF_ALL: usize = 64 << 20;

/// A piece may be this large with any number of flows.
const LEAST_LARGEST_BYTES: usize = 256 << 10;

/// Fewest bursts of all flows in a window: with one, a file's end decides how many bytes there are.
const LEAST_BURSTS: u64 = 4;

/// Longest period: a trial has to end.
const LONGEST_PERIOD_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bursts {
    /// Rate of one flow; `None` is without pacing.
    rate_bytes_per_s: Option<f64>,
    period_ns: u64,
    flows: u64,
    message_bytes: Option<usize>,
    /// A burst is a whole number of these: messages, calls, or parts of a call.
    unit_bytes: usize,
}

impl Bursts {
    /// Bursts of a cell with these parameters, whose messages have `message_bytes` if it sets a
    /// size.
    pub(super) fn paced(fixed: &FixedParams, message_bytes: Option<usize>) -> Self {
        let rate = fixed.rate_bytes_per_s / fixed.flows.max(1) as f64;
        let least_ns = (LEAST_BYTES as f64 * 1e9 / rate).max(fixed.burst_ns.max(1) as f64);
        // Whole messages or calls; otherwise windows of whole periods would hold varying numbers of
        // them.
        let least_bytes = (rate * least_ns / 1e9).max(LEAST_BYTES as f64);
        // A power of two, so that parts of a call begin at page boundaries.
        let power = 1 << (least_bytes as usize).ilog2();
        let unit_bytes = message_bytes.unwrap_or(fixed.buffer_bytes.min(power)).max(1);
        let unit_ns = unit_bytes as f64 * 1e9 / rate;
        let period_ns = (least_ns / unit_ns).ceil() * unit_ns;
        // A rate of 0 makes this infinite or NaN; both become the longest period.
        let period_ns =
            if period_ns < LONGEST_PERIOD_NS as f64 { period_ns as u64 } else { LONGEST_PERIOD_NS };
        Self {
            rate_bytes_per_s: Some(rate),
            period_ns: period_ns.max(1),
            unit_bytes,
            ..Self::unpaced(fixed, message_bytes)
        }
    }

    /// Bursts of a trial without pacing.
    pub(super) fn unpaced(fixed: &FixedParams, message_bytes: Option<usize>) -> Self {
        let (period_ns, flows) = (fixed.burst_ns.max(1), fixed.flows.max(1) as u64);
        let unit_bytes = message_bytes.unwrap_or(fixed.buffer_bytes).max(1);
        Self { rate_bytes_per_s: None, period_ns, flows, message_bytes, unit_bytes }
    }

    /// Payload bytes per second of one flow; `None` is without pacing.
    pub(super) fn rate_bytes_per_s(&self) -> Option<f64> {
        self.rate_bytes_per_s
    }

    /// Time from one burst of a flow to its next.
    pub(super) fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Time at which the first burst of flow number `flow` is due, in a trial that begins at
    /// `begin_ns`.
    pub(super) fn first_due_ns(&self, begin_ns: u64, flow: usize) -> u64 {
        begin_ns + (u128::from(self.period_ns) * flow as u128 / u128::from(self.flows)) as u64
    }

    /// The largest piece that a path is given at once: at most `largest` bytes, or one message if
    /// that is larger. With pacing it is about one burst: a larger piece would cover several bursts
    /// and leave the window with few and uneven ones. It is a whole number of messages, so that
    /// short ones occur only at the end of a file.
    pub(super) fn piece_bytes(&self, largest: usize) -> usize {
        // A power of two, so that pieces begin at page boundaries.
        let of_a_flow =
            1 << (MOST_BYTES_OF_ALL / self.flows as usize).max(LEAST_LARGEST_BYTES).ilog2();
        let of_messages = match self.message_bytes {
            Some(message) => message.max(1).saturating_mul(MOST_MESSAGES),
            // A power of two, as above.
            None => 1 << self.unit_bytes.saturating_mul(MOST_MESSAGES).max(LEAST_BYTES).ilog2(),
        };
        let largest = largest.min(of_a_flow).min(of_messages);
        if self.rate_bytes_per_s.is_none() && self.message_bytes.is_none() {
            return largest;
        }
        // The period is a whole number of units, so a burst is a piece.
        let burst_bytes = self.rate_bytes_per_s.map(|rate| rate * self.period_ns as f64 / 1e9);
        let most = (largest / self.unit_bytes).max(1);
        let units =
            burst_bytes.map_or(most, |bytes| (bytes / self.unit_bytes as f64).round() as usize);
        units.clamp(1, most) * self.unit_bytes
    }

    /// The edges of the window that opens `warmup_ns` after the beginning or later. It is a whole
    /// number of periods long, so that every window holds the same number of bursts of each flow.
    /// Its edges lie midway between two bursts, so that each burst is inside or outside as a whole.
    pub(super) fn edges(&self, begin_ns: u64, warmup_ns: u64, window_ns: u64) -> (u64, u64) {
        let whole_periods = |ns: u64| ns.max(1).div_ceil(self.period_ns) * self.period_ns;
        let opens_ns = begin_ns + whole_periods(warmup_ns) + self.period_ns / (2 * self.flows);
        // Messages are whole. Other bursts are shorter where a file ends, and then the next is
        // early.
        let least = if self.message_bytes.is_some() { 1 } else { LEAST_BURSTS };
        let least_ns = least.div_ceil(self.flows) * self.period_ns;
        (opens_ns, opens_ns + whole_periods(window_ns).max(least_ns))
    }

    /// The first moment that is whole periods after `edge_ns` and not before `now_ns`: the reader
    /// of the meters may have lost its CPU.
    pub(super) fn not_before(&self, now_ns: u64, edge_ns: u64) -> u64 {
        edge_ns + now_ns.saturating_sub(edge_ns).div_ceil(self.period_ns) * self.period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::Synthetic;

    const MS: u64 = 1_000_000;

    fn fixed(rate_bytes_per_s: f64, flows: usize) -> FixedParams {
        FixedParams { rate_bytes_per_s, flows, ..Synthetic::default().header().plan.fixed }
    }

    #[test]
    fn one_flow_sends_whole_calls_about_as_often_as_the_plan_says() {
        let bursts = Bursts::paced(&fixed(800e6, 1), None);
        // 800 kB are 12.2 calls of 64 KiB.
        assert_eq!((bursts.rate_bytes_per_s(), bursts.period_ns()), (Some(800e6), 13 * 81_920));
        assert_eq!(bursts.first_due_ns(7, 0), 7);
        assert_eq!(bursts.piece_bytes(1 << 20), 13 << 16);
        assert_eq!(Bursts::paced(&fixed(100e6, 1), None).piece_bytes(1 << 20), 128 << 10);
        // Half a call: a power of two.
        assert_eq!(Bursts::paced(&fixed(20e6, 1), None).piece_bytes(1 << 20), 32 << 10);
        let period = bursts.period_ns();
        assert_eq!(
            bursts.edges(100, 8 * period, 12 * period),
            (100 + 8 * period + period / 2, 100 + 20 * period + period / 2)
        );
        assert_eq!(
            bursts.edges(0, 8 * period + 1, 12 * period - 1),
            (9 * period + period / 2, 21 * period + period / 2)
        );
    }

    #[test]
    fn a_window_holds_as_many_bytes_as_the_rate_says_whatever_the_rate() {
        for rate in [1e6, 7e6, 50e6, 100e6, 333e6, 800e6, 1.6e9] {
            let bursts = Bursts::paced(&fixed(rate, 1), None);
            let (opens, closes) = bursts.edges(0, 8 * MS, 12 * MS);
            let bursts_in_it = (closes - opens) / bursts.period_ns();
            let bytes = bursts_in_it as f64 * bursts.piece_bytes(usize::MAX) as f64;
            let expected = rate * (closes - opens) as f64 / 1e9;
            assert!((bytes / expected - 1.0).abs() < 1e-3, "{rate}: {bytes} and {expected}");
        }
    }

    #[test]
    fn a_burst_holds_a_message_and_at_least_16_kib_of_every_flow() {
        for (rate, flows, message) in [
            (800e6, 1, Some(4 << 20)),
            (800e6, 1000, None),
            (800e6, 1000, Some(64)),
            (5e6, 1, None),
            (100e6, 7, Some(100_000)),
        ] {
            let bursts = Bursts::paced(&fixed(rate, flows), message);
            let burst_bytes = bursts.rate_bytes_per_s().unwrap() * bursts.period_ns() as f64 / 1e9;
            let least = message.unwrap_or(0).max(16 << 10) as f64;
            // Periods are whole nanoseconds.
            assert!(
                (burst_bytes - least).abs() <= rate / 1e9,
                "{rate} {flows} {message:?}: {burst_bytes}"
            );
            let (opens, closes) = bursts.edges(0, 8 * MS, 12 * MS);
            assert!(opens >= bursts.period_ns() && closes - opens >= 12 * MS);
            assert_eq!((closes - opens) % bursts.period_ns(), 0);
        }
    }

    #[test]
    fn a_piece_is_whole_messages_and_at_least_one() {
        let piece = |rate, message| {
            Bursts::paced(&fixed(rate, 1), Some(message)).piece_bytes(message.max(1 << 20))
        };
        assert_eq!(piece(800e6, 64), 256 * 64);
        assert_eq!(piece(800e6, 3_000), 256 * 3_000);
        assert_eq!(piece(800e6, 10_000), 80 * 10_000);
        assert_eq!(piece(10e6, 10_000), 2 * 10_000);
        assert_eq!(piece(10e6, 4 << 20), 4 << 20);
        assert_eq!(piece(10e6, 0), 256);
        let unpaced = |message| Bursts::unpaced(&fixed(800e6, 1), message).piece_bytes(1 << 20);
        assert_eq!((unpaced(None), unpaced(Some(600_000))), (1 << 20, 600_000));
        let of_many =
            |flows, message| Bursts::unpaced(&fixed(800e6, flows), message).piece_bytes(1 << 20);
        assert_eq!(
            (of_many(64, None), of_many(100, None), of_many(1_000, None)),
            (1 << 20, 512 << 10, 256 << 10)
        );
        assert_eq!(of_many(1_000, Some(1 << 20)), 1 << 20);
    }

    #[test]
    fn bursts_of_several_flows_are_spread_and_none_lies_on_an_edge() {
        for flows in [2, 3, 1000] {
            let bursts = Bursts::paced(&fixed(800e6, flows), None);
            let period = bursts.period_ns();
            let (opens, closes) = bursts.edges(0, 8 * MS, 12 * MS);
            let mut last = None;
            for flow in 0..flows {
                let due = bursts.first_due_ns(0, flow);
                assert!(due < period && last.is_none_or(|last| due > last), "{flows} {flow}");
                last = Some(due);
                assert!(opens % period != due && closes % period != due);
            }
        }
    }

    #[test]
    fn a_window_over_a_slow_link_holds_several_bursts() {
        // 16 KiB at 0.6 MB/s are 27 ms apart.
        let bursts = |flows, message| Bursts::paced(&fixed(600e3, flows), message);
        let held = |bursts: Bursts| {
            let (opens, closes) = bursts.edges(0, 8 * MS, 12 * MS);
            (closes - opens) / bursts.period_ns()
        };
        assert_eq!((held(bursts(1, None)), held(bursts(3, None))), (4, 2));
        assert_eq!(held(bursts(1, Some(64 << 10))), 1);
    }

    #[test]
    fn a_late_edge_is_moved_by_whole_periods() {
        let bursts = Bursts::paced(&fixed(800e6, 1), None);
        let (opens, _) = bursts.edges(0, 8 * MS, 12 * MS);
        let period = bursts.period_ns();
        assert_eq!((bursts.not_before(0, opens), bursts.not_before(opens, opens)), (opens, opens));
        assert_eq!(bursts.not_before(opens + 1, opens), opens + period);
        assert_eq!(bursts.not_before(opens + 2 * period, opens), opens + 2 * period);
    }

    #[test]
    fn a_rate_of_zero_or_nan_still_has_an_end() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            let bursts = Bursts::paced(&fixed(rate, 1), Some(usize::MAX));
            assert!((1..=LONGEST_PERIOD_NS).contains(&bursts.period_ns()), "{rate}");
            assert!(bursts.piece_bytes(1 << 20) > 0);
            let (opens, closes) = bursts.edges(0, 8 * MS, 12 * MS);
            assert!(opens < closes && closes <= 6 * LONGEST_PERIOD_NS);
        }
    }
}
