//! A reading as format 3 saved it: differences from the previous reading.
//!
//! The machine's counters are differences from the last reading that had them; a flow's counters,
//! from the reading that opened the window, where they are absolute. Every `at_ns` but the
//! reading's first is relative to the first. Trailing zeros of an array are left out, and so are
//! CPUs at the end of a list that have only zeros. An `absolute` reading contains absolute values
//! and complete lists. The first reading of a block is absolute, and so is any with more or fewer
//! CPUs or kinds than the one before.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::delta_array::{DeltaArray, List, ignore_rest, then};
use super::room::Room;
use super::text::Text;
use crate::{
    CpuTicks, LinkCounters, Reading, RecvCounts, SendCounts, SoakReading, SoftirqCounts,
    StatReading, TaskReading, TcpReading,
};

/// All meters at one edge of a window, as differences. In the arrays zeros at the end are left out,
/// and a later minor version may append numbers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DeltaReading<'a> {
    /// The reading differs from nothing: all that earlier ones held is 0, and the lengths of its
    /// lists are those of the lists to come.
    #[serde(default, alias = "anew")] // in format 2
    absolute: bool,
    /// Soakers at work: `[at_ns, [units by CPU], [stamp_ns by CPU], [cpu_ns by CPU], [ksoftirqd_ns
    /// by CPU]]`. `at_ns` is less that of the reading before, stamps less this reading's `at_ns`,
    /// all else less the last reading with soakers at work. Before format 3.7 without the last two.
    #[serde(default)]
    soak: Option<SoakDelta>,
    /// Soakers stopped: `at_ns` less that of the reading before, in place of `soak`.
    #[serde(default, alias = "still")] // in format 2
    stopped: Option<i64>,
    /// `process_cpu_ns`, less the reading before.
    #[serde(default)]
    process: i64,
    /// /proc/stat: `[[at_ns, context_switches, interrupts], [[user, nice, system, idle, iowait,
    /// irq, softirq, steal] by CPU]]`. `at_ns` is less this reading's `at_ns`, all else less the
    /// reading before.
    #[serde(default)]
    stat: StatDelta,
    /// /proc/softirqs: by kind, the counts by CPU, less the reading before. Kinds that did not grow
    /// are left out.
    #[serde(borrow, default)]
    softirqs: Rows<'a>,
    /// Device interrupts by CPU, less the reading before.
    #[serde(default)]
    interrupts: List,
    /// `ksoftirqd_ns`, less the last that was known; absent where it is not known, and since format
    /// 3.7, where `soak` has it by CPU.
    #[serde(default)]
    ksoftirqd: Option<i64>,
    /// `idle_ns`, less the last that was known; absent where it was not read.
    #[serde(default)]
    idle: Option<i64>,
    /// `burned_ns`, less the last that was known; absent where nothing burns.
    #[serde(default)]
    burned: Option<i64>,
    /// `cgroups_ns`, less the last that was known; absent where it was not read.
    #[serde(default)]
    cgroups: Option<i64>,
    /// The sender threads: `[at_ns, cpu_ns, voluntary_switches, involuntary_switches]`. `at_ns` is
    /// less this reading's `at_ns`, all else less the reading that opened the window, which itself
    /// differs from nothing.
    #[serde(default)]
    sender: Option<DeltaArray<4>>,
    /// The receiver threads, as `sender`.
    #[serde(default)]
    receiver: Option<DeltaArray<4>>,
    /// `[bytes, calls, completions, copied, enobufs, short]`, less the reading that opened the
    /// window.
    #[serde(default)]
    sent: Option<DeltaArray<6>>,
    /// `[bytes, calls, mapped_bytes]`, less the reading that opened the window.
    #[serde(default)]
    received: Option<DeltaArray<3>>,
    /// TCP_INFO: `[at_ns, bytes_sent, bytes_acked, bytes_retrans, total_retrans, segs_out, segs_in,
    /// busy_us, rwnd_limited_us, sndbuf_limited_us, snd_mss, snd_cwnd]`, as `sender`.
    #[serde(default)]
    tcp: Option<DeltaArray<12>>,
    /// The sending device: `[at_ns, tx_packets, tx_bytes, rx_packets, rx_bytes, dropped]`. `at_ns`
    /// is less this reading's `at_ns`, all else less the last reading that had it; absent in idle
    /// windows.
    #[serde(default)]
    link: Option<DeltaArray<6>>,
}

/// `[at_ns, [units by CPU], [stamp_ns by CPU], [cpu_ns by CPU], [ksoftirqd_ns by CPU]]`.
#[derive(Debug, Default)]
struct SoakDelta(i64, List, List, List, List);

/// `[[at_ns, context_switches, interrupts], [ticks by CPU]]`.
#[derive(Debug, Default)]
struct StatDelta(DeltaArray<3>, Vec<DeltaArray<8>>);

/// The last values of a machine in a block, to which the next reading's differences are added.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    at_ns: u64,
    units: Vec<u64>,
    cpu_ns: Vec<u64>,
    ksoftirqd_by_cpu_ns: Vec<u64>,
    process_cpu_ns: u64,
    stat: [u64; 2],
    cpus: Vec<[u64; 8]>,
    softirqs: SoftirqCounts,
    interrupts: Vec<u64>,
    ksoftirqd_ns: u64,
    idle_ns: u64,
    burned_ns: u64,
    cgroups_ns: u64,
    link: [u64; 5],
    /// The values at the opening of the window.
    flows: Flows,
    /// Kinds of softirqs to share.
    known: SoftirqCounts,
}

/// The values of a trial's flows, without the times.
#[derive(Debug, Default, Clone, Copy)]
struct Flows {
    sender: [u64; 3],
    receiver: [u64; 3],
    sent: [u64; 6],
    received: [u64; 3],
    tcp: [u64; 11],
}

impl Decoder {
    /// A decoder that shares the kinds of softirqs of other readings.
    pub(super) fn sharing(known: &SoftirqCounts) -> Self {
        Self { known: known.clone(), ..Self::default() }
    }

    /// The kinds of softirqs, to be shared with later readings.
    pub(super) fn softirqs(self) -> SoftirqCounts {
        if self.softirqs.kinds().is_empty() { self.known } else { self.softirqs }
    }

    /// Decodes the reading at the opening of a window.
    ///
    /// # Errors
    /// It has more CPUs or kinds than the one before, and is not `absolute`.
    pub(super) fn opened(
        &mut self,
        edge: &DeltaReading<'_>,
        room: &mut Room,
    ) -> Result<Reading, String> {
        self.flows = Flows::default();
        let reading = self.read(edge, room)?;
        self.flows = Flows::from_reading(&reading);
        Ok(reading)
    }

    /// The reading at its close.
    ///
    /// # Errors
    /// Same as for [`opened`](Self::opened).
    pub(super) fn closed(
        &mut self,
        edge: &DeltaReading<'_>,
        room: &mut Room,
    ) -> Result<Reading, String> {
        self.read(edge, room)
    }

    fn read(&mut self, edge: &DeltaReading<'_>, room: &mut Room) -> Result<Reading, String> {
        if edge.absolute {
            let zeros = |of: fn(&SoakDelta) -> &List| {
                vec![0; edge.soak.as_ref().map_or(0, |soak| of(soak).len())]
            };
            *self = Self {
                units: zeros(|soak| &soak.1),
                cpu_ns: zeros(|soak| &soak.3),
                ksoftirqd_by_cpu_ns: zeros(|soak| &soak.4),
                cpus: vec![[0; 8]; edge.stat.1.len()],
                softirqs: edge.softirqs.zeros()?.sharing(&self.known),
                interrupts: vec![0; edge.interrupts.len()],
                flows: self.flows,
                known: std::mem::take(&mut self.known),
                ..Self::default()
            };
        }
        room.take(self.numbers(edge))?;
        let own_at = edge.soak.as_ref().map(|SoakDelta(at, ..)| *at).or(edge.stopped).unwrap_or(0);
        self.at_ns = then(self.at_ns, own_at);
        let at = |less: i64| then(self.at_ns, less);
        let soak = match &edge.soak {
            None => SoakReading { at_ns: self.at_ns, ..SoakReading::default() },
            Some(SoakDelta(_, units, stamps, cpu_ns, ksoftirqd_ns)) => {
                grow(&mut self.units, units)?;
                grow(&mut self.cpu_ns, cpu_ns)?;
                grow(&mut self.ksoftirqd_by_cpu_ns, ksoftirqd_ns)?;
                SoakReading {
                    at_ns: self.at_ns,
                    units: self.units.clone(),
                    stamp_ns: stamps.iter().map(|&stamp| at(stamp)).collect(),
                    cpu_ns: self.cpu_ns.clone(),
                    ksoftirqd_ns: self.ksoftirqd_by_cpu_ns.clone(),
                }
            }
        };
        let StatDelta(DeltaArray([stat_at, switched, interrupted]), cpus) = &edge.stat;
        self.stat = DeltaArray([*switched, *interrupted]).then(self.stat);
        if cpus.len() > self.cpus.len() {
            return Err(more_than_before());
        }
        for (count, more) in self.cpus.iter_mut().zip(cpus) {
            *count = more.then(*count);
        }
        edge.softirqs.add_to(&mut self.softirqs)?;
        grow(&mut self.interrupts, &edge.interrupts)?;
        self.process_cpu_ns = then(self.process_cpu_ns, edge.process);
        let ksoftirqd_ns = edge.ksoftirqd.map(|more| then(self.ksoftirqd_ns, more));
        self.ksoftirqd_ns = ksoftirqd_ns.unwrap_or(self.ksoftirqd_ns);
        let idle_ns = edge.idle.map(|more| then(self.idle_ns, more));
        self.idle_ns = idle_ns.unwrap_or(self.idle_ns);
        let burned_ns = edge.burned.map(|more| then(self.burned_ns, more));
        self.burned_ns = burned_ns.unwrap_or(self.burned_ns);
        let cgroups_ns = edge.cgroups.map(|more| then(self.cgroups_ns, more));
        self.cgroups_ns = cgroups_ns.unwrap_or(self.cgroups_ns);
        let link = edge.link.map(|link| untimed(link, self.link));
        self.link = link.map_or(self.link, |(_, counts)| counts);
        let task = |task: Option<DeltaArray<4>>, before: [u64; 3]| {
            task.map_or_else(TaskReading::default, |task| {
                let (less, [cpu_ns, voluntary_switches, involuntary_switches]) =
                    untimed(task, before);
                TaskReading { at_ns: at(less), cpu_ns, voluntary_switches, involuntary_switches }
            })
        };
        let flows = &self.flows;
        Ok(Reading {
            soak,
            process_cpu_ns: self.process_cpu_ns,
            sender: task(edge.sender, flows.sender),
            receiver: task(edge.receiver, flows.receiver),
            sent: edge.sent.map_or_else(SendCounts::default, |sent| sent_of(sent.then(flows.sent))),
            received: edge.received.map_or_else(RecvCounts::default, |received| {
                received_of(received.then(flows.received))
            }),
            tcp: edge
                .tcp
                .map(|tcp| untimed(tcp, flows.tcp))
                .map(|(less, counts)| tcp_of(at(less), counts)),
            delivered: None,
            stat: StatReading {
                at_ns: at(*stat_at),
                cpus: self.cpus.iter().map(ticks_of).collect(),
                context_switches: self.stat[0],
                interrupts: self.stat[1],
            },
            softirqs: self.softirqs.clone(),
            interrupts: self.interrupts.clone(),
            link: link.map(|(less, counts)| link_of(at(less), counts)),
            ksoftirqd_ns,
            idle_ns,
            burned_ns,
            burned_units: None,
            counted: Vec::new(),
            cgroups_ns,
        })
    }

    /// Lengths of the lists of the soakers.
    fn soakers(&self) -> [usize; 3] {
        [self.units.len(), self.cpu_ns.len(), self.ksoftirqd_by_cpu_ns.len()]
    }

    /// Number of numbers in the lists of the next reading.
    fn numbers(&self, edge: &DeltaReading<'_>) -> usize {
        let soak = edge
            .soak
            .as_ref()
            .map_or(0, |soak| self.soakers().iter().sum::<usize>().saturating_add(soak.2.len()));
        soak.saturating_add(8 * self.cpus.len())
            .saturating_add(self.softirqs.counts().len())
            .saturating_add(self.interrupts.len())
    }
}

impl Flows {
    fn from_reading(reading: &Reading) -> Self {
        Self {
            sender: of_task(&reading.sender),
            receiver: of_task(&reading.receiver),
            sent: of_sent(&reading.sent),
            received: of_received(&reading.received),
            tcp: reading.tcp.as_ref().map_or([0; 11], of_tcp),
        }
    }
}

fn more_than_before() -> String {
    "a reading of more CPUs or kinds than the one before it".to_owned()
}

/// Adds the differences to the counts; counts without a difference stay as they are.
fn grow(counts: &mut [u64], by: &[i64]) -> Result<(), String> {
    if by.len() > counts.len() {
        return Err(more_than_before());
    }
    for (count, more) in counts.iter_mut().zip(by) {
        *count = then(*count, *more);
    }
    Ok(())
}

/// Decodes a time and counts from one array.
fn untimed<const M: usize, const N: usize>(
    numbers: DeltaArray<M>,
    before: [u64; N],
) -> (i64, [u64; N]) {
    let counts = std::array::from_fn(|place| then(before[place], numbers.0[place + 1]));
    (numbers.0[0], counts)
}

fn ticks_of(&[user, nice, system, idle, iowait, irq, softirq, steal]: &[u64; 8]) -> CpuTicks {
    CpuTicks { user, nice, system, idle, iowait, irq, softirq, steal }
}

fn of_task(task: &TaskReading) -> [u64; 3] {
    let TaskReading { at_ns: _, cpu_ns, voluntary_switches, involuntary_switches } = *task;
    [cpu_ns, voluntary_switches, involuntary_switches]
}

fn of_sent(sent: &SendCounts) -> [u64; 6] {
    // Format 3 knew of no TLS.
    let SendCounts { bytes, calls, completions, copied, enobufs, short, framing_bytes: _ } = *sent;
    [bytes, calls, completions, copied, enobufs, short]
}

fn sent_of([bytes, calls, completions, copied, enobufs, short]: [u64; 6]) -> SendCounts {
    SendCounts { bytes, calls, completions, copied, enobufs, short, ..SendCounts::default() }
}

fn of_received(received: &RecvCounts) -> [u64; 3] {
    let RecvCounts { bytes, calls, mapped_bytes } = *received;
    [bytes, calls, mapped_bytes]
}

fn received_of([bytes, calls, mapped_bytes]: [u64; 3]) -> RecvCounts {
    RecvCounts { bytes, calls, mapped_bytes }
}

fn link_of(
    at_ns: u64,
    [tx_packets, tx_bytes, rx_packets, rx_bytes, dropped]: [u64; 5],
) -> LinkCounters {
    LinkCounters { at_ns, tx_packets, tx_bytes, rx_packets, rx_bytes, dropped }
}

fn of_tcp(tcp: &TcpReading) -> [u64; 11] {
    let TcpReading {
        at_ns: _,
        bytes_sent,
        bytes_acked,
        bytes_retrans,
        total_retrans,
        segs_out,
        segs_in,
        busy_us,
        rwnd_limited_us,
        sndbuf_limited_us,
        snd_mss,
        snd_cwnd,
    } = *tcp;
    let (snd_mss, snd_cwnd) = (u64::from(snd_mss), u64::from(snd_cwnd));
    [
        bytes_sent,
        bytes_acked,
        bytes_retrans,
        total_retrans,
        segs_out,
        segs_in,
        busy_us,
        rwnd_limited_us,
        sndbuf_limited_us,
        snd_mss,
        snd_cwnd,
    ]
}

fn tcp_of(at_ns: u64, counts: [u64; 11]) -> TcpReading {
    let [
        bytes_sent,
        bytes_acked,
        bytes_retrans,
        total_retrans,
        segs_out,
        segs_in,
        busy_us,
        rwnd_limited_us,
        sndbuf_limited_us,
        snd_mss,
        snd_cwnd,
    ] = counts;
    TcpReading {
        at_ns,
        bytes_sent,
        bytes_acked,
        bytes_retrans,
        total_retrans,
        segs_out,
        segs_in,
        busy_us,
        rwnd_limited_us,
        sndbuf_limited_us,
        // Both are 32 bits in TCP_INFO.
        snd_mss: snd_mss as u32,
        snd_cwnd: snd_cwnd as u32,
    }
}

/// Softirqs: for each kind, the differences on each CPU.
#[derive(Debug, Default)]
struct Rows<'a>(Vec<(Text<'a>, List)>);

impl Rows<'_> {
    /// Zeros for the kinds and CPUs of an absolute reading.
    fn zeros(&self) -> Result<SoftirqCounts, String> {
        let rows = self.0.iter().map(|(kind, counts)| (kind.0.to_string(), vec![0; counts.len()]));
        Ok(rows.collect::<BTreeMap<_, _>>().try_into()?)
    }

    fn add_to(&self, softirqs: &mut SoftirqCounts) -> Result<(), String> {
        self.0
            .iter()
            .try_for_each(|(kind, more)| grow(softirqs.get_mut(&kind.0).unwrap_or_default(), more))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Rows<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Kinds;
        impl<'de> Visitor<'de> for Kinds {
            type Value = Rows<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("softirqs by kind")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rows<'de>, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = map.next_entry()? {
                    rows.push(row);
                }
                Ok(Rows(rows))
            }
        }
        from.deserialize_map(Kinds)
    }
}

impl<'de> Deserialize<'de> for SoakDelta {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = SoakDelta;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a time, and units, stamps and clocks by CPU")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SoakDelta, A::Error> {
                let at = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let units =
                    seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                let stamps =
                    seq.next_element()?.ok_or_else(|| A::Error::invalid_length(2, &self))?;
                let cpu_ns = seq.next_element()?.unwrap_or_default();
                let ksoftirqd_ns = seq.next_element()?.unwrap_or_default();
                ignore_rest(&mut seq)?;
                Ok(SoakDelta(at, units, stamps, cpu_ns, ksoftirqd_ns))
            }
        }
        from.deserialize_seq(Parts)
    }
}

impl<'de> Deserialize<'de> for StatDelta {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = StatDelta;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("counts of the machine, and ticks by CPU")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<StatDelta, A::Error> {
                let counts =
                    seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let cpus = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                ignore_rest(&mut seq)?;
                Ok(StatDelta(counts, cpus))
            }
        }
        from.deserialize_seq(Parts)
    }
}
