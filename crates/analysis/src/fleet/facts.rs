//! Named facts about the machines of a run that may explain their costs.
//!
//! No address and no name of another machine is among them. Facts that a machine does not report
//! are absent.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use zc_run::{Header, Host, Offloads};

use super::model::HostFacts;

/// The facts of the machine that sends, and of the one that receives if a zc measured there, each
/// with those of its device.
pub(super) fn both_ends(header: &Header) -> (HostFacts, Option<HostFacts>) {
    let mut near = host_facts(&header.host);
    let link = &header.link;
    add_device(&mut near.facts, link.mtu_bytes, link.offloads.as_ref(), &link.settings);
    let far = header.remote.as_ref().and_then(|remote| remote.machine.as_ref()).map(|machine| {
        let mut far = host_facts(&machine.host);
        if let Some(device) = &machine.device {
            let offloads = device.offloads.as_ref();
            add_device(&mut far.facts, device.mtu_bytes, offloads, &device.settings);
        }
        far
    });
    (near, far)
}

fn host_facts(host: &Host) -> HostFacts {
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    add("kernel", Some(host.kernel_release.clone()));
    add("cpu", Some(host.cpu.model.clone()));
    add("cpus", (host.cpu.online > 0).then(|| host.cpu.online.to_string()));
    add("hypervisor", Some(host.hypervisor.clone().unwrap_or_else(|| "none".to_owned())));
    add("governor", host.cpu.governor.clone());
    add("boost", host.cpu.boost.map(on_or_off));
    add("threads_per_core", host.cpu.threads_per_core.map(|threads| threads.to_string()));
    add("numa_nodes", host.cpu.numa_nodes.map(|nodes| nodes.to_string()));
    add("llc", host.cpu.llc_bytes.map(|bytes| format!("{} KiB", bytes >> 10)));
    add("tick_hz", host.tick_hz.map(|hz| hz.to_string()));
    add("irq_time_accounting", host.irq_time_accounting.map(on_or_off));
    add("paravirt_time_accounting", host.paravirt_time_accounting.map(on_or_off));
    add("virt_cpu_accounting", host.virt_cpu_accounting.map(on_or_off));
    add("clocksource", host.clocksource.clone());
    // The kernel takes some of it for itself, more or less from boot to boot.
    let gib = (host.memory.total_bytes as f64 / f64::from(1 << 30)).round();
    add("memory", (gib > 0.0).then(|| format!("{gib} GiB")));
    for (kind, of_kind) in [
        ("mitigation", &host.mitigations),
        ("sysctl", &host.sysctls),
        ("condition", &host.conditions),
    ] {
        for (name, value) in of_kind {
            add(&format!("{kind} {name}"), Some(value.clone()));
        }
    }
    HostFacts { host: host.hostname.clone(), facts }
}

fn add_device(
    facts: &mut BTreeMap<String, String>,
    mtu_bytes: u32,
    offloads: Option<&Offloads>,
    settings: &BTreeMap<String, String>,
) {
    facts.insert("mtu".to_owned(), mtu_bytes.to_string());
    for (name, is_on) in offloads.into_iter().flatten() {
        facts.insert(format!("offload {name}"), on_or_off(*is_on));
    }
    for (name, value) in settings {
        facts.insert(format!("device {name}"), value.clone());
    }
}

fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// Keeps equal facts once. A machine has some 10 kB of them, and is in many runs.
#[derive(Debug, Default)]
pub struct SharedFacts {
    by_host: HashMap<String, Vec<Arc<HostFacts>>>,
}

impl SharedFacts {
    /// The same run with facts that are shared with runs before it.
    pub fn share(&mut self, mut run: super::model::RunFigures) -> super::model::RunFigures {
        run.near = self.deduplicate(run.near);
        run.far = run.far.map(|far| self.deduplicate(far));
        run
    }

    fn deduplicate(&mut self, facts: Arc<HostFacts>) -> Arc<HostFacts> {
        let known = self.by_host.entry(facts.host.clone()).or_default();
        // A machine that changes has changed since its last runs.
        if let Some(same) = known.iter().rev().find(|each| **each == facts) {
            return Arc::clone(same);
        }
        known.push(Arc::clone(&facts));
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::{Synthetic, two_machines};

    #[test]
    fn facts_have_names_and_no_address() {
        let mut run = two_machines(Synthetic { blocks: 1, ..Synthetic::default() }.run());
        run.header.host.memory.total_bytes = 25_276_502_016;
        run.header.host.mitigations.insert("mds".to_owned(), "Not affected".to_owned());
        run.header.link.settings.insert("driver".to_owned(), "ice".to_owned());
        let (near, far) = both_ends(&run.header);
        let fact = |name: &str| near.facts.get(name).map(String::as_str);
        assert_eq!(fact("memory"), Some("24 GiB"));
        assert_eq!(fact("mitigation mds"), Some("Not affected"));
        assert_eq!(fact("device driver"), Some("ice"));
        assert_eq!(fact("mtu"), Some("1500"));
        assert_eq!(fact("governor"), None);
        let far = far.unwrap();
        assert!(!far.facts.contains_key("mtu"), "an older run has no device of the far end");
        let device = zc_run::DeviceFacts { mtu_bytes: 9000, ..Default::default() };
        let machine = run.header.remote.as_mut().and_then(|remote| remote.machine.as_mut());
        machine.unwrap().device = Some(device);
        let (_, with_device) = both_ends(&run.header);
        assert_eq!(with_device.unwrap().facts["mtu"], "9000");
        let all = near.facts.values().chain(far.facts.values());
        assert!(all.into_iter().all(|value| !value.contains("192.0.2")));
    }

    #[test]
    fn equal_facts_are_kept_once() {
        let figures = |blocks| {
            let run = two_machines(Synthetic { blocks, ..Synthetic::default() }.run());
            super::super::figures(String::new(), &run).unwrap()
        };
        let mut shared = SharedFacts::default();
        let (first, second) = (shared.share(figures(3)), shared.share(figures(3)));
        assert!(Arc::ptr_eq(&first.near, &second.near));
        let mut changed = figures(3);
        Arc::make_mut(&mut changed.near).facts.insert("kernel".to_owned(), "7".to_owned());
        assert!(!Arc::ptr_eq(&first.near, &shared.share(changed).near));
    }
}
