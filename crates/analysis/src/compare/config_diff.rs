//! Differences of configuration between two runs, and their consequences.
//!
//! There are two kinds. A difference that makes the cost another quantity *disqualifies*: another
//! link (other code does the work), another rate (batching changes with it), another length of a
//! server's responses, another soaker, another placement (other CPUs are counted), a receiver in
//! only one of the runs. All other differences *explain*: a kernel, a sysctl, an MTU or a buffer
//! may be what the comparison is about, at either end. What differs between any two runs (the seed,
//! the time, the amount of free memory, a round trip and what was chosen by it) is not listed.

use std::collections::BTreeMap;

use super::model::{Aspect, Difference, End, Weight};
use crate::costs::sender_alone;
use zc_run::factor::{self, Side};
use zc_run::units::{duration_text, size_text};
use zc_run::{
    Cell, Factor, Header, Host, LinkFacts, Offloads, ROUND_TRIPS_IN_A_WINDOW,
    ROUND_TRIPS_TO_WARM_UP, ServerPlan,
};

/// Sizes of memory that differ by less than this share are equal: kernels reserve different amounts
/// for themselves.
const MEMORY_WITHIN: f64 = 0.05;

/// A sysctl of three sizes that the kernel derives from its free memory at boot, where nobody sets
/// it (tcp_init_mem in net/ipv4/tcp.c).
const TCP_MEM: &str = "net.ipv4.tcp_mem";

/// Round-trip times that differ by less than this factor are equal: each is the least one of a
/// single connection.
const ROUND_TRIP_WITHIN: f64 = 2.0;

/// The differences between two runs that concern all cells, disqualifying ones first.
pub(super) fn between_runs(old: &Header, new: &Header) -> Vec<Difference> {
    let mut found = Found::default();
    let (fixed, other) = (&old.plan.fixed, &new.plan.fixed);
    found.compare(Aspect::Link, &old.link.kind, &new.link.kind);
    found.compare(Aspect::Soaker, &fixed.soaker, &other.soaker);
    let same_link = old.link.kind == new.link.kind;
    if same_link {
        let receiver =
            |header: &Header| if sender_alone(header) { "not measured" } else { "measured" };
        found.compare(Aspect::Receiver, &receiver(old), &receiver(new));
    }
    machine(&mut found, &old.host, &new.host);
    if same_link {
        link(&mut found, &old.link, &new.link); // otherwise the link explains all of it
    }
    far_machine(&mut found, old, new);
    found.compare(Aspect::SenderCpu, &fixed.sender_cpu, &other.sender_cpu);
    found.compare(Aspect::ReceiverCpu, &fixed.receiver_cpu, &other.receiver_cpu);
    let policy = |is_realtime| if is_realtime { "SCHED_RR" } else { "as zc's" };
    found.compare(Aspect::Scheduling, &policy(fixed.realtime), &policy(other.realtime));
    found.differ(Aspect::SoakedCpus, None, list(&fixed.soaked_cpus), list(&other.soaked_cpus));
    if !same_timing(old, new) {
        found.differ(Aspect::Timing, None, timing(old), timing(new));
    }
    found.differ(Aspect::Files, None, files(old), files(new));
    found.compare(Aspect::Filesystem, &old.plan.files.filesystem, &new.plan.files.filesystem);
    server(&mut found, old.plan.traffic.server(), new.plan.traffic.server());
    found.compare(Aspect::ZcVersion, &old.zc_version, &new.zc_version);
    found.sorted()
}

/// Differences between two machines, or two kernels of one: names, hardware and kernel. Settings,
/// which may differ from hour to hour, are excluded.
pub fn between_machines(old: &Host, new: &Host) -> Vec<Difference> {
    let mut found = Found::default();
    machine(&mut found, old, new);
    let is_of_the_machine = |difference: &Difference| {
        matches!(
            difference.what,
            Aspect::KernelRelease
                | Aspect::Architecture
                | Aspect::Host
                | Aspect::Cpu
                | Aspect::CpusOnline
                | Aspect::Memory
                | Aspect::Hypervisor
        )
    };
    found.differences.retain(is_of_the_machine);
    found.sorted()
}

/// The differences between two cells other than those of their runs: by factor, in the order of the
/// factors.
pub(super) fn between_cells(old: (&Header, &Cell), new: (&Header, &Cell)) -> Vec<Difference> {
    let burned = |cell: &Cell| {
        Some(format!("{} per MB", duration_text(cell.burn_softirq_ns_per_mb? as u64)))
    };
    let mut found = Found::default();
    found.optional(Aspect::Burn, burned(old.1), burned(new.1));
    let are_servers = [old.0, new.0].iter().all(|header| header.plan.traffic.server().is_some());
    if are_servers {
        let per_s = |(header, cell): (&Header, &Cell)| {
            Some(format!("{:.0}/s", header.plan.requests_per_s(cell)?))
        };
        found.differ(Aspect::RequestRate, None, per_s(old), per_s(new));
        // A cost per byte is one per request only at one length.
        let length = |(header, cell): (&Header, &Cell)| header.plan.response_bytes(cell);
        found.optional(Aspect::ResponseLength, length(old), length(new));
    }
    let (old, new) = (Side::new(old.0, old.1), Side::new(new.0, new.1));
    // A server's rate is one of requests, and its messages are responses.
    let is_said =
        |factor: &&Factor| matches!(factor, Factor::Rate | Factor::Message) && are_servers;
    let factors = Factor::ALL.iter().filter(|factor| !is_said(factor));
    for factor in factors {
        found.add_factors(factor.definition().differences(&old, &new));
    }
    found.sorted()
}

fn machine(found: &mut Found, old: &Host, new: &Host) {
    found.compare(Aspect::KernelRelease, &old.kernel_release, &new.kernel_release);
    found.compare(Aspect::KernelBuild, &old.kernel_version, &new.kernel_version);
    found.optional(
        Aspect::KernelCommandLine,
        old.kernel_command_line.clone(),
        new.kernel_command_line.clone(),
    );
    found.compare(Aspect::Architecture, &old.machine, &new.machine);
    found.compare(Aspect::Host, &old.hostname, &new.hostname);
    let (cpu, other) = (&old.cpu, &new.cpu);
    found.compare(Aspect::Cpu, &cpu.model, &other.model);
    found.compare(Aspect::CpusOnline, &cpu.online, &other.online);
    found.optional(Aspect::ThreadsPerCore, cpu.threads_per_core, other.threads_per_core);
    found.optional(Aspect::Governor, cpu.governor.clone(), other.governor.clone());
    found.optional(Aspect::Boost, cpu.boost.map(on_or_off), other.boost.map(on_or_off));
    found.optional(
        Aspect::LastLevelCache,
        cpu.llc_bytes.map(size_text),
        other.llc_bytes.map(size_text),
    );
    found.optional(Aspect::NumaNodes, cpu.numa_nodes, other.numa_nodes);
    let (memory, other) = (old.memory.total_bytes, new.memory.total_bytes);
    if !is_same_memory(memory, other) {
        found.differ(Aspect::Memory, None, Some(memory.to_string()), Some(other.to_string()));
    }
    found.optional(Aspect::Hypervisor, old.hypervisor.clone(), new.hypervisor.clone());
    found.optional(Aspect::Tick, old.tick_hz, new.tick_hz);
    found.optional(
        Aspect::IrqTimeAccounting,
        old.irq_time_accounting.map(on_or_off),
        new.irq_time_accounting.map(on_or_off),
    );
    found.optional(Aspect::Clocksource, old.clocksource.clone(), new.clocksource.clone());
    found.maps(Aspect::Mitigation, &old.mitigations, &new.mitigations, false);
    // A run from before format 3.2 has no conditions and fewer sysctls, and what it does not record
    // is no difference.
    let shared = old.conditions.is_empty() != new.conditions.is_empty();
    found.maps(Aspect::Sysctl, &old.sysctls, &new.sysctls, shared);
    found
        .differences
        .retain(|each| each.name.as_deref() != Some(TCP_MEM) || !alike_sizes(&each.old, &each.new));
    found.maps(Aspect::Condition, &old.conditions, &new.conditions, shared);
    let user = |host: &Host| if host.euid == 0 { "root" } else { "a user" };
    found.compare(Aspect::Privilege, &user(old), &user(new));
    found.optional(Aspect::Memlock, old.memlock_bytes, new.memlock_bytes);
}

fn link(found: &mut Found, old: &LinkFacts, new: &LinkFacts) {
    device(
        found,
        (&old.device, old.mtu_bytes, old.offloads.as_ref(), &old.settings),
        (&new.device, new.mtu_bytes, new.offloads.as_ref(), &new.settings),
    );
    found.optional(
        Aspect::ReceiverMerges,
        old.receiver_merges.map(on_or_off),
        new.receiver_merges.map(on_or_off),
    );
    found.optional(Aspect::Rps, old.rps.clone(), new.rps.clone());
    found.compare(Aspect::Ip, &old.ip, &new.ip);
    found.optional(Aspect::InitialWindow, old.initial_window_packets, new.initial_window_packets);
    let far_end = |link: &LinkFacts| {
        let far = link.far_end?;
        Some(format!(
            "acknowledges every {}, at most every {}, round trip {}",
            size_text(far.ack_every_bytes),
            duration_text(far.ack_interval_ns),
            duration_text(far.rtt_ns)
        ))
    };
    found.optional(Aspect::FarEnd, far_end(old), far_end(new));
}

/// Name, MTU, offloads and other settings of a device.
type Device<'a> = (&'a String, u32, Option<&'a Offloads>, &'a BTreeMap<String, String>);

fn device(found: &mut Found, old: Device<'_>, new: Device<'_>) {
    found.compare(Aspect::Device, old.0, new.0);
    found.compare(Aspect::Factor(factor::MTU), &old.1, &new.1);
    found.add_factors(factor::offload_differences(old.2, new.2));
    // Settings are compared like the conditions of a host.
    let shared = old.3.is_empty() != new.3.is_empty();
    found.maps(Aspect::DeviceSetting, old.3, new.3, shared);
}

/// The other machine, and the way to it. If the far end shares the near one's machine, their common
/// differences are listed once.
fn far_machine(found: &mut Found, old: &Header, new: &Header) {
    let (Some(old), Some(new)) = (&old.remote, &new.remote) else { return };
    let (shorter, longer) = (old.rtt_ns.min(new.rtt_ns), old.rtt_ns.max(new.rtt_ns));
    if longer as f64 > ROUND_TRIP_WITHIN * shorter as f64 {
        let (old, new) = (duration_text(old.rtt_ns), duration_text(new.rtt_ns));
        found.compare(Aspect::RoundTrip, &old, &new);
    }
    let (Some(old), Some(new)) = (&old.machine, &new.machine) else { return };
    let mut far = Found { end: End::Far, differences: Vec::new() };
    machine(&mut far, &old.host, &new.host);
    if let (Some(old), Some(new)) = (&old.device, &new.device) {
        device(
            &mut far,
            (&old.name, old.mtu_bytes, old.offloads.as_ref(), &old.settings),
            (&new.name, new.mtu_bytes, new.offloads.as_ref(), &new.settings),
        );
    }
    far.differ(Aspect::SoakedCpus, None, list(&old.soaked_cpus), list(&new.soaked_cpus));
    far.compare(Aspect::ZcVersion, &old.zc_version, &new.zc_version);
    if old.same_machine && new.same_machine {
        let near = &found.differences;
        far.differences.retain(|far| {
            !near.iter().any(|near| *near == Difference { end: End::Near, ..far.clone() })
        });
    }
    found.differences.append(&mut far.differences);
}

/// Differences between the servers and their loads.
fn server(found: &mut Found, old: Option<&ServerPlan>, new: Option<&ServerPlan>) {
    let (Some(old), Some(new)) = (old, new) else { return };
    found.optional(Aspect::Serve, old.serve.clone(), new.serve.clone());
    found.optional(Aspect::Load, old.load_in_words(), new.load_in_words());
    found.compare(Aspect::Connections, &old.connections, &new.connections);
    let keepalive = |server: &ServerPlan| on_or_off(server.keepalive);
    found.compare(Aspect::Keepalive, &keepalive(old), &keepalive(new));
}

/// Whether two sizes of memory are those of one machine.
fn is_same_memory(old: u64, new: u64) -> bool {
    old.abs_diff(new) as f64 <= MEMORY_WITHIN * old.max(new) as f64
}

/// The same of as many sizes with white space between them.
fn alike_sizes(old: &Option<String>, new: &Option<String>) -> bool {
    let sizes = |text: &Option<String>| -> Option<Vec<u64>> {
        text.as_deref()?.split_whitespace().map(|size| size.parse().ok()).collect()
    };
    let (Some(old), Some(new)) = (sizes(old), sizes(new)) else { return false };
    old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| is_same_memory(*old, *new))
}

/// Whether two runs were timed alike, apart from what the round trip adds: it is measured, and no
/// two measurements are the same.
fn same_timing(old: &Header, new: &Header) -> bool {
    let parts = |header: &Header| {
        let timing = &header.plan.timing;
        let rtt_ns = header.remote.as_ref().map_or(0, |remote| remote.rtt_ns);
        let shortest_ns = ROUND_TRIPS_IN_A_WINDOW.saturating_mul(rtt_ns);
        let added_ns = ROUND_TRIPS_TO_WARM_UP.saturating_mul(rtt_ns);
        [
            (timing.warmup_ns, timing.warmup_ns.checked_sub(added_ns)),
            (
                timing.window_ns,
                Some(if timing.window_ns == shortest_ns { 0 } else { timing.window_ns }),
            ),
            (timing.idle_ns, Some(timing.idle_ns)),
        ]
    };
    let same = |((old, plain_old), (new, plain_new)): ((u64, Option<u64>), (u64, Option<u64>))| {
        old == new || (plain_old.is_some() && plain_old == plain_new)
    };
    parts(old).into_iter().zip(parts(new)).all(same)
}

fn timing(header: &Header) -> Option<String> {
    let timing = &header.plan.timing;
    let parts = [timing.warmup_ns, timing.window_ns, timing.idle_ns].map(duration_text);
    Some(format!("warm-up {}, window {}, idle {}", parts[0], parts[1], parts[2]))
}

fn files(header: &Header) -> Option<String> {
    let files = &header.plan.files;
    Some(format!("{} {} files, {} bytes", files.files, files.origin, files.total_bytes))
}

fn list(cpus: &[usize]) -> Option<String> {
    Some(cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn weight(end: End, what: Aspect) -> Weight {
    match what {
        _ if end == End::Far => Weight::Explains,
        Aspect::Link
        | Aspect::Soaker
        | Aspect::Receiver
        | Aspect::RequestRate
        | Aspect::ResponseLength => Weight::Disqualifies,
        Aspect::Factor(parameter) if parameter.disqualifies => Weight::Disqualifies,
        _ => Weight::Explains,
    }
}

struct Found {
    /// The end whose machine is looked at.
    end: End,
    differences: Vec<Difference>,
}

impl Default for Found {
    fn default() -> Self {
        Self { end: End::Near, differences: Vec::new() }
    }
}

impl Found {
    fn compare<T: ToString + PartialEq>(&mut self, what: Aspect, old: &T, new: &T) {
        self.differ(what, None, Some(old.to_string()), Some(new.to_string()));
    }

    fn optional<T: ToString>(&mut self, what: Aspect, old: Option<T>, new: Option<T>) {
        self.differ(what, None, old.map(|old| old.to_string()), new.map(|new| new.to_string()));
    }

    fn add_factors(&mut self, differences: Vec<factor::Difference>) {
        for each in differences {
            self.differ(Aspect::Factor(each.what), each.name.as_ref(), each.old, each.new);
        }
    }

    /// Records each name whose value differs; with `shared`, only of those that both have.
    fn maps(
        &mut self,
        what: Aspect,
        old: &BTreeMap<String, String>,
        new: &BTreeMap<String, String>,
        shared: bool,
    ) {
        let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let is_shared = |name: &&String| old.contains_key(*name) && new.contains_key(*name);
        for name in names.into_iter().filter(|name| !shared || is_shared(name)) {
            self.differ(what, Some(name), old.get(name).cloned(), new.get(name).cloned());
        }
    }

    fn differ(
        &mut self,
        what: Aspect,
        name: Option<&String>,
        old: Option<String>,
        new: Option<String>,
    ) {
        if old != new {
            let (end, name) = (self.end, name.cloned());
            self.differences.push(Difference {
                end,
                what,
                name,
                old,
                new,
                weight: weight(end, what),
            });
        }
    }

    /// Disqualifying differences first, otherwise in the order in which they were found.
    fn sorted(mut self) -> Vec<Difference> {
        self.differences.sort_by_key(|each| each.weight);
        self.differences
    }
}
