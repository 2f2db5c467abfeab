//! The classes that profiles divide a cost into.
//!
//! They are those of Cai et al., "Understanding Host Network Stack Overheads" (SIGCOMM 2021), with
//! additions that distinguish send paths.

use schemars::JsonSchema;
use serde::Serialize;
use zc_run::SampledEvent;

/// Kind of work that the sampled CPU was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Copies of payload.
    Copy,
    /// The Internet checksum.
    Checksum,
    /// Pinning, accounting and completion of pages that are sent without a copy.
    ZeroCopy,
    /// The page cache, pipes and splice.
    PageCache,
    /// Sockets, TCP, IP, netfilter.
    Tcp,
    /// Network devices, drivers, qdiscs, NAPI, GRO, GSO, traffic control.
    Netdev,
    /// Socket buffers (`struct sk_buff`).
    Skb,
    /// Page and slab allocation, page tables, page faults.
    Memory,
    /// Locks and RCU.
    Locks,
    /// Scheduler: wake-ups, sleeps, context switches.
    Sched,
    /// Interrupts and the entry into softirqs.
    Irq,
    /// System call entry and exit.
    Syscall,
    /// Ciphers and TLS.
    Crypto,
    /// Timers and clocks.
    Timers,
    /// Paravirtualisation and exits to a hypervisor.
    Virtualisation,
    /// The idle loop.
    Idle,
    /// User mode of the sender and receiver threads.
    Program,
    /// User mode of other processes.
    Others,
    /// Functions that match no pattern, and calls without a known caller.
    Unknown,
}

impl Class {
    /// All classes, in the order of docs/profile.md.
    pub const ALL: [Self; 19] = [
        Self::Copy,
        Self::Checksum,
        Self::ZeroCopy,
        Self::PageCache,
        Self::Tcp,
        Self::Netdev,
        Self::Skb,
        Self::Memory,
        Self::Locks,
        Self::Sched,
        Self::Irq,
        Self::Syscall,
        Self::Crypto,
        Self::Timers,
        Self::Virtualisation,
        Self::Idle,
        Self::Program,
        Self::Others,
        Self::Unknown,
    ];

    /// The name in tables and charts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "data copy",
            Self::Checksum => "checksum",
            Self::ZeroCopy => "zero-copy bookkeeping",
            Self::PageCache => "page cache and splice",
            Self::Tcp => "TCP/IP",
            Self::Netdev => "network device and qdisc",
            Self::Skb => "skb",
            Self::Memory => "memory management",
            Self::Locks => "locks",
            Self::Sched => "scheduling",
            Self::Irq => "interrupts and softirq entry",
            Self::Syscall => "syscall entry",
            Self::Crypto => "crypto",
            Self::Timers => "timers",
            Self::Virtualisation => "virtualisation",
            Self::Idle => "idle",
            Self::Program => "user mode of zc",
            Self::Others => "user mode of others",
            Self::Unknown => "unknown",
        }
    }

    /// Its name in the JSON output and in `classes.tsv`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Checksum => "checksum",
            Self::ZeroCopy => "zero-copy",
            Self::PageCache => "page-cache",
            Self::Tcp => "tcp",
            Self::Netdev => "netdev",
            Self::Skb => "skb",
            Self::Memory => "memory",
            Self::Locks => "locks",
            Self::Sched => "sched",
            Self::Irq => "irq",
            Self::Syscall => "syscall",
            Self::Crypto => "crypto",
            Self::Timers => "timers",
            Self::Virtualisation => "virtualisation",
            Self::Idle => "idle",
            Self::Program => "program",
            Self::Others => "others",
            Self::Unknown => "unknown",
        }
    }

    /// Whether samples of this event tell what the class costs. A timer that falls where interrupts
    /// are off is sampled where they are enabled again: at the entry into softirqs, for the handler
    /// of the interrupt before it, and behind an interrupt that is sent to another CPU. (Those at
    /// the end of a lock are counted to the caller of the unlocking function.)
    pub fn is_resolved_by(self, event: SampledEvent) -> bool {
        match event {
            SampledEvent::Cycles => true,
            SampledEvent::CpuClock => !matches!(self, Self::Irq | Self::Virtualisation),
        }
    }

    /// The class of a [`key`](Self::key).
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.key() == key)
    }

    /// Its index in [`ALL`](Self::ALL).
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|class| *class == self).unwrap_or(Self::ALL.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_class_has_its_own_name_key_and_index() {
        let names: HashSet<&str> = Class::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), Class::ALL.len());
        for (place, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!((class.place(), Class::from_key(class.key())), (place, Some(class)));
            assert_eq!(serde_json::to_value(class).unwrap(), class.key());
        }
        assert_eq!(Class::from_key("no-such-class"), None);
    }
}
