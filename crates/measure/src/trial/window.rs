//! The edges of a window: which meter is read when.
//!
//! The soakers' counters are what the cost comes from, so they are read at exactly the moments that bound the window. The
//! readers of /proc take a good part of a millisecond of CPU: they run `APART` before the window opens and right after it
//! has closed, so that the work of reading is not in it. Each reading carries the time at which it was taken.

use crate::meter::{TaskMeter, workers_of};
use zc_run::{LinkCounters, Reading, RecvCounts, Result, SendCounts, TcpReading};

use super::flow::Flow;

/// After a trial, before the next window: its threads have ended, but frees, timers and RCU callbacks are still due.
pub(super) const SETTLE_NS: u64 = 3_000_000;

/// What another flow adds to that: two threads and two sockets that have ended.
const SETTLE_NS_PER_FLOW: u64 = 50_000;

/// How long a trial of so many flows takes to settle.
pub(super) fn settle_ns(flows: usize) -> u64 {
    SETTLE_NS + SETTLE_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

/// How long before the window opens the slow meters are read, of one flow.
pub(super) const APART_NS: u64 = 3_000_000;

/// What another flow adds to that: a file of /proc is read for each of its threads, in some 20 us.
const APART_NS_PER_FLOW: u64 = 80_000;

/// How long before the window opens the slow meters of so many flows are read.
pub(super) fn apart_ns(flows: usize) -> u64 {
    APART_NS + APART_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

/// What reading the counters of a flow may take at an edge of a window, and some of its own for every further one. They are read in
/// some 30 us, and 1 us.
pub(super) fn edge_ns(flows: usize) -> u64 {
    EDGE_NS + EDGE_NS_PER_FLOW * flows.saturating_sub(1) as u64
}

const EDGE_NS: u64 = 200_000;
const EDGE_NS_PER_FLOW: u64 = 10_000;

/// What another flow adds to a window at top speed, so that reading its counters is a small part of it.
pub(super) const UNSOAKED_NS_PER_FLOW: u64 = 200_000;

/// How often an edge is read, at most.
pub(super) const EDGE_TRIES: usize = 20;

/// With more flows than that their threads give way to the one that reads the meters, where there are no soakers.
pub(super) const MANY_FLOWS: usize = 16;

/// What the flows did so far, added up.
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

/// Adds what ended at the far end of the null link, packets and payload, to the counters of the device, which never saw it.
pub(super) fn add_noted(flows: &[Flow], into: &mut LinkCounters) {
    for noted in flows.iter().filter_map(Flow::noted) {
        into.tx_packets += noted.packets;
        into.tx_bytes += noted.bytes;
    }
}

/// TCP_INFO of the sending sockets, added up; null when the kernel did not answer for one of them.
pub(super) fn tcp_reading(flows: &[Flow]) -> Option<TcpReading> {
    let mut sum = TcpReading { at_ns: zc_kernel::clock::monotonic_ns(), ..TcpReading::default() };
    for (index, flow) in flows.iter().enumerate() {
        let info = zc_kernel::tcp::info(flow.socket()).ok()?;
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
    Some(sum)
}

/// The threads of a trial's flows, the workers that io_uring made for them included.
#[derive(Default)]
pub(super) struct Threads {
    senders: TaskMeter,
    receivers: TaskMeter,
    /// Of this process, as they were metered.
    process_has: Option<usize>,
}

impl Threads {
    pub(super) fn open(senders: &[i32], receivers: &[i32]) -> Result<Self> {
        let process_has = zc_kernel::process::threads().ok();
        Ok(Self {
            senders: TaskMeter::open(senders)?,
            receivers: TaskMeter::open(receivers)?,
            process_has,
        })
    }

    pub(super) fn of(flows: &[Flow]) -> Result<Self> {
        let senders: Vec<i32> = flows.iter().map(Flow::sender_tid).collect();
        let receivers: Vec<i32> = flows.iter().filter_map(Flow::receiver_tid).collect();
        Self::open(&senders, &receivers)
    }

    /// Meters the workers too that io_uring has made since. They are found by the names of all threads, which takes its time where
    /// there are thousands; so only where the process has more threads now.
    pub(super) fn add_workers(&mut self) -> Result<()> {
        if self.process_has.is_some() && zc_kernel::process::threads().ok() == self.process_has {
            return Ok(());
        }
        for meter in [&mut self.senders, &mut self.receivers] {
            meter.add(&workers_of(&meter.tids()))?;
        }
        Ok(())
    }

    /// CPU time of either side; what has ended adds nothing, and `Flow::has_ended` tells of it.
    pub(super) fn read_cpu(&self, into: &mut Reading) {
        for (meter, side) in
            [(&self.senders, &mut into.sender), (&self.receivers, &mut into.receiver)]
        {
            let reading = meter.read_cpu().unwrap_or_default();
            (side.at_ns, side.cpu_ns) = (reading.at_ns, reading.cpu_ns);
        }
    }

    /// Context switches of either side, beside the slow meters.
    pub(super) fn read_switches(&self, into: &mut Reading) {
        for (meter, side) in
            [(&self.senders, &mut into.sender), (&self.receivers, &mut into.receiver)]
        {
            let _ = meter.read_switches(side); // as above
        }
    }

    /// Those that send and those that receive.
    pub(super) fn tids(&self) -> (Vec<i32>, Vec<i32>) {
        (self.senders.tids(), self.receivers.tids())
    }

    /// CPU time of all of them.
    pub(super) fn cpu_ns(&self) -> u64 {
        let cpu_ns = |meter: &TaskMeter| meter.read_cpu().map_or(0, |reading| reading.cpu_ns);
        cpu_ns(&self.senders) + cpu_ns(&self.receivers)
    }
}
