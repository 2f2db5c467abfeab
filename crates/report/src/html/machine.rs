//! Every recorded fact about machine and link in a folded list, for those who repeat a measurement
//! or explain a difference.

use std::collections::BTreeMap;

use super::markup::Markup;
use crate::digits::bytes;
use zc_run::{DeviceFacts, Host, LinkFacts, Offloads, Run, escape};

/// The longest value printed: a kernel command line has at most 2048 or 4096 bytes.
const LONGEST: usize = 2100;

pub(super) fn details(out: &mut Markup, run: &Run, before: Option<&Run>) {
    out.raw("<details><summary>All recorded facts about machine and link</summary>\n<dl>\n");
    let host = &run.header.host;
    let same = before.is_some_and(|before| alike(&before.header.host, host));
    let mut facts = Vec::new();
    if same {
        facts.push((
            "machine",
            "the same as for the first run of this page, except for its free memory".to_owned(),
        ));
    } else {
        facts.extend(machine(host));
    }
    if !run.header.command.is_empty() {
        facts.push(("command", run.header.command.join(" ")));
    }
    for link in run.header.links() {
        facts.push(("link", self::link(link)));
    }
    let far = run.header.remote.as_ref().and_then(|remote| remote.machine.as_ref());
    facts.extend(
        far.and_then(|far| far.device.as_ref()).map(|device| ("far device", far_device(device))),
    );
    for (name, value) in facts {
        out.element("dt", &[], name).element("dd", &[], &escape(&value, LONGEST)).raw("\n");
    }
    for (title, pairs) in [
        ("sysctls", &host.sysctls),
        ("conditions", &host.conditions),
        ("mitigations", &host.mitigations),
    ] {
        if !pairs.is_empty() && !same {
            out.element("dt", &[], title).raw("<dd><ul>");
            for (name, value) in pairs {
                out.raw("<li>").element("code", &[], &format!("{name} = {value}")).raw("</li>");
            }
            out.raw("</ul></dd>\n");
        }
    }
    out.raw("</dl>\n</details>\n");
}

/// Whether two hosts are equal, except for their available memory.
fn alike(one: &Host, other: &Host) -> bool {
    let mut one = one.clone();
    one.memory.available_bytes = other.memory.available_bytes;
    one == *other
}

fn machine(host: &Host) -> Vec<(&'static str, String)> {
    let cpu = &host.cpu;
    let mut facts = vec![(
        "kernel",
        format!("{} {} {}", host.kernel_release, host.kernel_version, host.machine),
    )];
    facts.extend(host.kernel_command_line.clone().map(|line| ("command line", line)));
    let mut of_cpu = vec![cpu.model.clone(), format!("{} online", cpu.online)];
    of_cpu.push(format!("allowed: {}", numbers(&cpu.allowed)));
    of_cpu.extend(cpu.threads_per_core.map(|threads| format!("{threads} to a core")));
    of_cpu.extend(
        cpu.numa_nodes
            .map(|nodes| format!("{nodes} NUMA node{}", if nodes == 1 { "" } else { "s" })),
    );
    of_cpu.extend(cpu.llc_bytes.map(|size| format!("last-level cache of {}", bytes(size as f64))));
    of_cpu.push(
        cpu.governor
            .as_deref()
            .map_or_else(|| "no cpufreq".to_owned(), |name| format!("governor {name}")),
    );
    of_cpu.extend(cpu.boost.map(|boost| format!("boost {}", on(boost))));
    facts.push(("CPUs", of_cpu.join(", ")));
    let memory = &host.memory;
    facts.push((
        "memory",
        format!(
            "{}, {} available",
            bytes(memory.total_bytes as f64),
            bytes(memory.available_bytes as f64)
        ),
    ));
    facts.push((
        "hypervisor",
        host.hypervisor.clone().unwrap_or_else(|| "none detected".to_owned()),
    ));
    let mut clock: Vec<String> = Vec::new();
    clock.extend(host.tick_hz.map(|hz| format!("tick {hz} Hz")));
    clock
        .extend(host.irq_time_accounting.map(|on| format!("IRQ_TIME_ACCOUNTING {}", self::on(on))));
    let steal = host.paravirt_time_accounting;
    clock.extend(steal.map(|on| format!("PARAVIRT_TIME_ACCOUNTING {}", self::on(on))));
    let each = host.virt_cpu_accounting;
    clock.extend(each.map(|on| format!("VIRT_CPU_ACCOUNTING_GEN {}", self::on(on))));
    clock.extend(host.clocksource.as_deref().map(|name| format!("clock source {name}")));
    facts.extend((!clock.is_empty()).then(|| ("time", clock.join(", "))));
    let limit =
        host.memlock_bytes.map_or_else(|| "unlimited".to_owned(), |limit| bytes(limit as f64));
    let files = host.nofile.map_or_else(String::new, |files| format!(", {files} open files"));
    facts.push(("limits", format!("locked memory {limit}{files}; user id {}", host.euid)));
    facts
}

fn link(link: &LinkFacts) -> String {
    let mut facts = vec![format!("{}, device {}, MTU {}", link.kind, link.device, link.mtu_bytes)];
    facts.extend(of_device(link.offloads.as_ref(), &link.settings));
    facts
        .extend(link.receiver_merges.map(|merges| format!("the receiver's rx-gro {}", on(merges))));
    facts.extend(link.rps.as_deref().map(|rps| format!("RPS by {rps}")));
    facts.extend(link.rps_check.clone());
    facts.extend(
        link.initial_window_packets.map(|packets| format!("initial window of {packets} packets")),
    );
    facts.join("; ")
}

/// The device of the other machine.
fn far_device(device: &DeviceFacts) -> String {
    let mut facts = vec![format!("{}, MTU {}", device.name, device.mtu_bytes)];
    facts.extend(of_device(device.offloads.as_ref(), &device.settings));
    facts.join("; ")
}

/// Offloads that are on and off, and other settings.
fn of_device(offloads: Option<&Offloads>, settings: &BTreeMap<String, String>) -> Vec<String> {
    let switched = |offloads: &Offloads, wanted: bool| {
        let names = offloads.iter().filter(|(_, on)| **on == wanted);
        names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let mut facts = Vec::new();
    if let Some(offloads) = offloads {
        facts.push(format!("on: {}", switched(offloads, true)));
        facts.push(format!("off: {}", switched(offloads, false)));
    }
    facts.extend(settings.iter().map(|(name, value)| format!("{name} {value}")));
    facts
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// `0-3, 8`.
fn numbers(sorted: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in sorted {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let each =
        runs.into_iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_shown_as_ranges() {
        assert_eq!(numbers(&[0, 1, 2, 3, 8]), "0-3, 8");
        assert_eq!(numbers(&[]), "");
        assert_eq!(numbers(&[usize::MAX, 0]), format!("{}, 0", usize::MAX));
    }
}
