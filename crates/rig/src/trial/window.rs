//! The edges of a window: which meter is read when.
//!
//! The cost comes from the soakers' counters, so they are read at exactly the moments that bound
//! the window. Reading /proc takes a good part of a millisecond of CPU: it is done [`APART_NS`]
//! before the window opens and right after it has closed, so that this work is outside of the
//! window. Each reading carries its own time.

use super::flow::Flow;
use super::sockets;
use crate::meter::{TaskMeter, workers_of};
use zc_kernel::clock::monotonic_ns;
use zc_run::{
    Error, ErrorKind, LinkCounters, Reading, RecvCounts, Result, SendCounts, SocketFacts,
    TcpReading,
};

/// Time between a trial and the next window: the threads have ended, but frees, timers and RCU
/// callbacks are still due.
pub(super) const SETTLE_NS: u64 = 3_000_000;

/// Added for each further flow: two threads and two sockets that have ended.
const SETTLE_NS_PER_FLOW: u64 = 50_000;

/// Time that a trial of `flows` flows takes to settle.
pub fn settle_ns(flows: usize) -> u64 {
    SETTLE_NS + SETTLE_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

/// The slow meters are read this long before a window of one flow opens.
pub(super) const APART_NS: u64 = 3_000_000;

/// The shortest warm-up of one flow: the slow meters are read in its second half.
pub const LEAST_WARMUP_NS: u64 = 2 * APART_NS;

/// Added for each further flow: a file of /proc is read for each of its threads, in some 20 us.
const APART_NS_PER_FLOW: u64 = 80_000;

/// The slow meters are read this long before a window of `flows` flows opens.
pub(super) fn apart_ns(flows: usize) -> u64 {
    APART_NS + APART_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

/// Limit for reading the counters of all flows at an edge of a window. The first flow takes some 30
/// us, each further one 1 us.
pub fn edge_ns(flows: usize) -> u64 {
    EDGE_NS + EDGE_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

const EDGE_NS: u64 = 200_000;
const EDGE_NS_PER_FLOW: u64 = 10_000;

/// Added for each further flow to a window at top speed, so that reading its counters is a small
/// part of it.
pub(super) const UNSOAKED_NS_PER_FLOW: u64 = 200_000;

/// A window with the idle clock, which has steps of 10 ms, is this many times as long as one at top
/// speed.
pub(super) const IDLE_CLOCK_TIMES: u64 = 2;

/// Time for which an edge waits for a step of the idle clock, which comes every 10 ms of idle time
/// of all CPUs together: with less than a sixth of a CPU idle there may be none.
const STEP_NS: u64 = 60_000_000;

/// Looks at the idle clock, one every `period_ns`, to find a step of it.
pub(super) fn looks(period_ns: u64) -> u64 {
    STEP_NS.div_ceil(period_ns.max(1)).max(2)
}

/// Attempts at reading an edge.
const EDGE_TRIES: usize = 20;

/// Reads what bounds a window at `at_ns` or, if the reader got its CPU too late, as soon as it has
/// it; returns that time. If the reading took longer than `most_ns`, the reader lost its CPU in the
/// middle, and the counters are not of one moment: it tries again at the time that `again` has for
/// the present one. If that has none, it takes them all the same, and returns when all were read: a
/// window that opens then is none of which the reader slept through the most.
pub fn edge(
    at_ns: u64,
    most_ns: u64,
    sleep_until: impl Fn(u64) -> Result<()>,
    again: impl Fn(u64) -> Option<u64>,
    mut read: impl FnMut(),
) -> Result<u64> {
    let mut at_ns = at_ns;
    for _ in 0..EDGE_TRIES {
        sleep_until(at_ns)?;
        let from_ns = monotonic_ns();
        read();
        let now_ns = monotonic_ns();
        if now_ns - from_ns <= most_ns {
            return Ok(if from_ns - at_ns <= most_ns { at_ns } else { from_ns });
        }
        match again(now_ns) {
            Some(later_ns) => at_ns = later_ns,
            None => return Ok(now_ns),
        }
    }
    Err(Error::new(
        ErrorKind::NothingKept,
        "counters-not-simultaneous",
        "the counters could not be read in one moment: something else had the CPU, again and again",
    )
    .help("wait for a quiet machine: --wait-until-quiet 10min"))
}

/// With more flows than this, trials at top speed lower the priority of the flows' threads below
/// that of the reader of the meters.
pub(super) const MANY_FLOWS: usize = 16;

/// Sums the counts of all flows.
pub(super) fn flow_counts(flows: &[Flow], into: &mut Reading) {
    let (mut sent, mut received) = (SendCounts::default(), RecvCounts::default());
    for flow in flows {
        let (one_sent, one_received) = flow.counts();
        sent.add(&one_sent);
        received.add(&one_received);
    }
    into.sent = sent;
    into.received = received;
}

/// Adds the packets and payload that the ACK generator noted to the counters of the device, which
/// did not see them.
pub(super) fn add_noted(flows: &[Flow], into: &mut LinkCounters) {
    for noted in flows.iter().filter_map(Flow::noted) {
        into.tx_packets += noted.packets;
        into.tx_bytes += noted.bytes;
    }
}

/// TCP_INFO of the sending sockets, summed; `None` when the kernel did not answer for one of them,
/// or none is of TCP.
pub(super) fn tcp_reading(flows: &[Flow]) -> Option<TcpReading> {
    let mut sum = TcpReading { at_ns: zc_kernel::clock::monotonic_ns(), ..TcpReading::default() };
    for (index, socket) in flows.iter().flat_map(|flow| flow.socket().streams()).enumerate() {
        let info = zc_kernel::tcp::info(socket).ok()?;
        sum.bytes_sent += info.bytes_sent;
        sum.bytes_acked += info.bytes_acked;
        sum.bytes_retrans += info.bytes_retrans;
        sum.total_retrans += u64::from(info.total_retrans);
        sum.segs_out += u64::from(info.segs_out);
        sum.segs_in += u64::from(info.segs_in);
        sum.busy_us += info.busy_time_us;
        sum.rwnd_limited_us += info.rwnd_limited_us;
        sum.sndbuf_limited_us += info.sndbuf_limited_us;
        if index == 0 {
            sum.snd_mss = info.snd_mss;
            sum.snd_cwnd = info.snd_cwnd;
        }
    }
    (sum.snd_mss > 0).then_some(sum)
}

/// Current parameters of the sockets of all flows; `None` where the kernel does not say.
pub(super) fn socket_facts(flows: &[Flow]) -> Option<SocketFacts> {
    let senders: Vec<_> = flows.iter().map(Flow::socket).collect();
    sockets::facts(&senders, flows.first()?.receiving_socket())
}

/// The threads of a trial's flows, with the workers that io_uring made for them.
#[derive(Default)]
pub(super) struct Threads {
    senders: TaskMeter,
    receivers: TaskMeter,
    /// Threads of this process when they were metered.
    process_threads: Option<usize>,
}

impl Threads {
    pub(super) fn open(senders: &[i32], receivers: &[i32]) -> Result<Self> {
        let process_threads = zc_kernel::process::threads().ok();
        Ok(Self {
            senders: TaskMeter::open(senders)?,
            receivers: TaskMeter::open(receivers)?,
            process_threads,
        })
    }

    pub(super) fn from_flows(flows: &[Flow]) -> Result<Self> {
        let senders: Vec<i32> = flows.iter().flat_map(Flow::tids_of_senders_side).collect();
        let receivers: Vec<i32> = flows.iter().filter_map(Flow::tid_of_receivers_side).collect();
        Self::open(&senders, &receivers)
    }

    /// Adds the workers that io_uring has made since. They are found by the names of all threads,
    /// which takes long with thousands of threads; so it is done only if the process has more
    /// threads now.
    pub(super) fn add_workers(&mut self) -> Result<()> {
        if self.process_threads.is_some()
            && zc_kernel::process::threads().ok() == self.process_threads
        {
            return Ok(());
        }
        for meter in [&mut self.senders, &mut self.receivers] {
            meter.add(&workers_of(&meter.tids()))?;
        }
        Ok(())
    }

    /// CPU time of either side. A thread that has ended adds nothing; `Flow::has_ended` reports it.
    pub(super) fn read_cpu(&self, into: &mut Reading) {
        for (meter, side) in
            [(&self.senders, &mut into.sender), (&self.receivers, &mut into.receiver)]
        {
            let reading = meter.read_cpu().unwrap_or_default();
            (side.at_ns, side.cpu_ns) = (reading.at_ns, reading.cpu_ns);
        }
    }

    /// Context switches of either side; read with the slow meters.
    pub(super) fn read_switches(&self, into: &mut Reading) {
        for (meter, side) in
            [(&self.senders, &mut into.sender), (&self.receivers, &mut into.receiver)]
        {
            let _ = meter.read_switches(side); // as above
        }
    }

    /// Thread ids of senders and of receivers.
    pub(super) fn tids(&self) -> (Vec<i32>, Vec<i32>) {
        (self.senders.tids(), self.receivers.tids())
    }

    /// CPU time of all threads.
    pub(super) fn cpu_ns(&self) -> u64 {
        let cpu_ns = |meter: &TaskMeter| meter.read_cpu().map_or(0, |reading| reading.cpu_ns);
        cpu_ns(&self.senders) + cpu_ns(&self.receivers)
    }
}

#[cfg(test)]
mod tests {
    use zc_kernel::clock::sleep_until;

    use super::*;

    /// Reads an edge that is due now, in `takes_ns`. Returns when it was due, what [`edge`]
    /// returned, and when the reading was over.
    fn read_in(takes_ns: u64, most_ns: u64) -> (u64, u64, u64) {
        let due_ns = monotonic_ns();
        let mut read_ns = 0;
        let read = || {
            sleep_until(monotonic_ns() + takes_ns);
            read_ns = monotonic_ns();
        };
        let slept = |at_ns| {
            sleep_until(at_ns);
            Ok(())
        };
        let edge_ns = edge(due_ns, most_ns, slept, |_| None, read).unwrap();
        (due_ns, edge_ns, read_ns)
    }

    #[test]
    fn an_edge_that_takes_too_long_and_is_not_read_again_is_when_it_was_read() {
        let (_, edge_ns, read_ns) = read_in(2_000_000, 1_000_000);
        assert!(edge_ns >= read_ns, "{edge_ns} {read_ns}");
    }

    #[test]
    fn an_edge_that_is_read_at_once_is_when_it_was_due() {
        let (due_ns, edge_ns, _) = read_in(0, u64::MAX / 2);
        assert_eq!(edge_ns, due_ns);
    }
}
