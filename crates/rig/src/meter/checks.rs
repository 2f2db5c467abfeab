//! Conditions that invalidate or weaken results. Each check is a small function from facts to a
//! warning or `None`; nothing is read here.

use super::conditions::{INIT_ON_ALLOC, IPTABLES, NFTABLES, SECCOMP, TRACKING};
use super::environment::Environment;
use zc_run::{
    CPU_QUOTA, EMULATED, FixedParams, Host, INSTEAD_OF_EMULATED, INSTEAD_OF_THROTTLED, LinkFacts,
    LinkKind, OffloadSwitch, Severity, StatReading, WHY_EMULATED, Warning, units::size_text,
    why_throttled,
};

/// All checks of the sender's machine that are possible before the first block.
pub fn before(
    host: &Host,
    link: &LinkFacts,
    fixed: &FixedParams,
    around: &Environment,
) -> Vec<Warning> {
    let mut warnings = of_machine(host, around, fixed.soaked_cpus.len());
    warnings.extend(
        [
            sharing_cpus(link, fixed, around),
            sides_together(link),
            offloads_off(link),
            netfilter(host, link),
            memlock(host, fixed.buffer_bytes),
            optmem(host),
            fixed.set_congestion().or(around.congestion.as_deref()).and_then(pacing),
        ]
        .into_iter()
        .flatten(),
    );
    warnings
}

/// Checks of the links of cells that ask for another MTU or other offloads than the rest, which
/// travel over `link`.
pub fn of_other_links(link: &LinkFacts, others: &[LinkFacts]) -> Vec<Warning> {
    let together: Vec<&LinkFacts> = others.iter().filter(|other| !other.sides_apart).collect();
    let mut warnings: Vec<Warning> = others.iter().filter_map(offloads_off).collect();
    // If the first link has the warning, it needs no repetition.
    if let (true, Some(first)) = (link.sides_apart, together.first()) {
        let names: Vec<String> = together.iter().map(|other| name_of(other)).collect();
        warnings.extend(sides_together(first).map(|mut warning| {
            let why = first.rps_check.as_deref().unwrap_or("receive packet steering is off");
            let names = names.join("; ");
            warning.text = format!(
                "sender and receiver cannot be told apart in some of the cells ({names}), so only \
                 their sum is given for them: {why}"
            );
            warning
        }));
    }
    warnings
}

/// Name that distinguishes a link from the others of the run.
fn name_of(link: &LinkFacts) -> String {
    let switches: Vec<&str> = link.switched_off.iter().map(|switch| switch.name()).collect();
    let largest =
        link.gso_max_bytes.map(|bytes| format!(" largest packet {}", size_text(bytes.into())));
    let layer = link.layer.as_ref().map(|layer| format!("{} ", layer.name)).unwrap_or_default();
    let largest = largest.unwrap_or_default();
    let name = format!("{layer}MTU {}{largest} {}", link.mtu_bytes, switches.join(","));
    name.trim_end().to_owned()
}

/// Checks of a machine whose CPUs are soaked, at either end of a link.
pub fn of_machine(host: &Host, around: &Environment, soaked: usize) -> Vec<Warning> {
    [
        virtual_machine(host),
        zeroed_pages(host),
        filtered_calls(host),
        clocksource(host),
        frequency(host),
        cpu_quota(around.cpu_quota, soaked),
        sniffers(around.sniffers),
        another_zc(around.another_zc),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sender and receiver on one machine can share a CPU or a core. The CPU numbers of two machines
/// are unrelated.
fn sharing_cpus(link: &LinkFacts, fixed: &FixedParams, around: &Environment) -> Option<Warning> {
    if link.kind == LinkKind::Remote {
        return None;
    }
    one_cpu(fixed)
        .or_else(|| shared_core(fixed.sender_cpu, fixed.receiver_cpu, &around.siblings_of_sender))
}

/// Warnings from two readings of /proc/stat between which zc was idle and its soakers paused.
pub fn while_idle(opened: &StatReading, closed: &StatReading) -> Vec<Warning> {
    let Some(shares) = Shares::between(opened, closed) else { return Vec::new() };
    [busy(&shares), steal(&shares)].into_iter().flatten().collect()
}

/// A guest does not see the work that its hypervisor does for it, and an emulated CPU has no costs
/// at all.
fn virtual_machine(host: &Host) -> Option<Warning> {
    let hypervisor = host.hypervisor.as_ref()?;
    if host.is_emulated() {
        return Some(
            Warning::new(EMULATED, Severity::Withhold, WHY_EMULATED).remedy(INSTEAD_OF_EMULATED),
        );
    }
    Some(Warning::new(
        "virtual-machine",
        Severity::Note,
        format!(
            "this is a virtual machine ({hypervisor}): costs are those the guest sees, and its \
             neighbours are noise"
        ),
    ))
}

/// Whether a condition of the host has this value.
fn is(host: &Host, condition: &str, value: &str) -> bool {
    host.conditions.get(condition).is_some_and(|is| is == value)
}

/// A kernel that zeroes the pages it allocates makes socket buffers and pipes dearer.
fn zeroed_pages(host: &Host) -> Option<Warning> {
    is(host, INIT_ON_ALLOC, "on").then(|| {
        Warning::new(
            "zeroed-pages",
            Severity::Note,
            "this kernel zeroes every page that it allocates (init_on_alloc): paths that have \
             pages allocated for their bytes cost more than on a kernel that does not",
        )
    })
}

/// A seccomp filter runs at every system call of the process that has one, as in most containers.
fn filtered_calls(host: &Host) -> Option<Warning> {
    is(host, SECCOMP, "filter").then(|| {
        Warning::new(
            "seccomp",
            Severity::Note,
            "every system call of zc passes a seccomp filter, as in a container: paths of many \
             small calls cost more than without it",
        )
    })
}

/// Rules in the host's own network namespace, which packets pass on the links that are in it.
fn netfilter(host: &Host, link: &LinkFacts) -> Option<Warning> {
    let own_namespace = matches!(link.kind, LinkKind::Null | LinkKind::Veth);
    let is_at_work = |name: &&str| host.conditions.get(*name).is_some_and(|is| is != "idle");
    let at_work: Vec<&str> =
        [IPTABLES, NFTABLES, TRACKING].into_iter().filter(is_at_work).collect();
    (!own_namespace && !at_work.is_empty()).then(|| {
        Warning::new(
            "netfilter",
            Severity::Note,
            format!(
                "packets may pass the host's {}, which is in the cost of every path",
                at_work.join(" and ")
            ),
        )
    })
}

/// A clock that takes a microsecond to read adds that to every time stamp.
fn clocksource(host: &Host) -> Option<Warning> {
    let clock = host
        .clocksource
        .as_deref()
        .filter(|clock| matches!(*clock, "hpet" | "acpi_pm" | "jiffies" | "pit"))?;
    Some(
        Warning::new(
            "slow-clock",
            Severity::Doubt,
            format!(
                "the clock source is \"{clock}\", which is slow to read: each packet and each \
                call pays for it"
            ),
        )
        .remedy("find out with \"dmesg | grep -i tsc\" why the tsc was given up"),
    )
}

/// A clock rate that follows the load makes a byte on a busy CPU cheaper than on a half idle one.
fn frequency(host: &Host) -> Option<Warning> {
    let governor = host.cpu.governor.as_deref().filter(|governor| *governor != "performance");
    let boost = host.cpu.boost == Some(true);
    let (text, remedy) = match (governor, boost) {
        (Some(governor), _) => (
            format!("the clock rate of the CPUs follows the load (governor \"{governor}\")"),
            "sudo cpupower frequency-set -g performance",
        ),
        (None, true) => (
            "turbo is on: the clock rate depends on how many CPUs work".to_owned(),
            "turn boost off",
        ),
        (None, false) => return None,
    };
    Some(Warning::new("frequency", Severity::Note, text).remedy(remedy))
}

/// Two hyperthreads of a core slow each other, and neither one's clock shows it.
fn shared_core(
    sender_cpu: usize,
    receiver_cpu: usize,
    siblings_of_sender: &[usize],
) -> Option<Warning> {
    if sender_cpu == receiver_cpu || !siblings_of_sender.contains(&receiver_cpu) {
        return None;
    }
    Some(
        Warning::new(
            "shared-core",
            Severity::Doubt,
            format!(
                "sender CPU {sender_cpu} and receiver CPU {receiver_cpu} are threads of one core \
                 and slow each other"
            ),
        )
        .remedy("--cpus with CPUs of two cores"),
    )
}

fn one_cpu(fixed: &FixedParams) -> Option<Warning> {
    if fixed.sender_cpu != fixed.receiver_cpu {
        return None;
    }
    Some(Warning::new(
        "one-cpu",
        Severity::Doubt,
        format!(
            "sender and receiver share CPU {}: they wait for each other, and their costs cannot be \
             told apart",
            fixed.sender_cpu
        ),
    ))
}

/// Soakers use all of the CPU time that a cgroup may use, and then everything in it is throttled.
fn cpu_quota(quota: Option<f64>, soaked: usize) -> Option<Warning> {
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    let quota = quota.filter(|quota| *quota < soaked as f64)?;
    Some(
        Warning::new(CPU_QUOTA, Severity::Withhold, why_throttled(quota, soaked))
            .remedy(INSTEAD_OF_THROTTLED),
    )
}

/// On veth the costs of the two sides should be separable.
fn sides_together(link: &LinkFacts) -> Option<Warning> {
    if matches!(link.kind, LinkKind::Loopback | LinkKind::Remote) || link.sides_apart {
        return None;
    }
    let why = link.rps_check.as_deref().unwrap_or("receive packet steering is off");
    Some(Warning::new(
        "sides-together",
        Severity::Note,
        format!("sender and receiver cannot be told apart, only their sum is given: {why}"),
    ))
}

/// Without segmentation offload each packet is one MTU, and the comparison is one of the cost of
/// packets.
fn offloads_off(link: &LinkFacts) -> Option<Warning> {
    let offloads = link.offloads.as_ref()?;
    let wanted = [
        "tx-tcp-segmentation",
        "tx-generic-segmentation",
        "tx-scatter-gather",
        "tx-checksum-ip-generic",
    ];
    let asked: Vec<&str> =
        link.switched_off.iter().flat_map(|switch| consequences(*switch)).copied().collect();
    let is_off = |name: &&str| offloads.get(*name) == Some(&false) && !asked.contains(name);
    let off: Vec<&str> = wanted.into_iter().filter(is_off).collect();
    if off.is_empty() {
        return None;
    }
    let text = format!("device \"{}\" has {} off", link.device, off.join(", "));
    let warning = Warning::new("offloads-off", Severity::Doubt, text);
    Some(match link.kind {
        LinkKind::Loopback | LinkKind::Remote => {
            warning.remedy(format!("sudo ethtool -K {} {} on", link.device, off.join(" on ")))
        }
        // A device of zc's own, which no one else can configure.
        LinkKind::Veth | LinkKind::Null => warning,
    })
}

/// Which of these a switch turns off, either directly or because the kernel does not allow one
/// without the other (netdev_fix_features).
fn consequences(switch: OffloadSwitch) -> &'static [&'static str] {
    match switch {
        OffloadSwitch::NoTso => &["tx-tcp-segmentation"],
        OffloadSwitch::NoGso => &["tx-generic-segmentation"],
        OffloadSwitch::NoSg => {
            &["tx-scatter-gather", "tx-tcp-segmentation", "tx-generic-segmentation"]
        }
        OffloadSwitch::NoChecksum => &["tx-checksum-ip-generic", "tx-tcp-segmentation"],
        OffloadSwitch::NoGro => &[],
    }
}

/// Packet sockets that receive a copy of all packets on the link.
pub fn sniffers(count: Option<usize>) -> Option<Warning> {
    let count = count.filter(|count| *count > 0)?;
    Some(
        Warning::new(
            "sniffer",
            Severity::Withhold,
            format!(
                "{count} packet socket{} on the link (/proc/net/packet, protocol 0003): every \
                 packet is cloned for {} and every zero-copy send becomes a copy",
                if count == 1 { " listens in" } else { "s listen in" },
                if count == 1 { "it" } else { "them" },
            ),
        )
        .remedy("find it with \"sudo ss -0 -p\" and stop it"),
    )
}

/// MSG_ZEROCOPY pins the pages of every send in flight, and they count against RLIMIT_MEMLOCK.
fn memlock(host: &Host, buffer_bytes: usize) -> Option<Warning> {
    const ENOUGH: u64 = 32;
    let limit = host.memlock_bytes.filter(|_| host.euid != 0)?;
    let sends = limit / u64::try_from(buffer_bytes).unwrap_or(u64::MAX).max(1);
    if sends >= ENOUGH {
        return None;
    }
    Some(
        Warning::new(
            "memlock",
            Severity::Doubt,
            format!(
                "RLIMIT_MEMLOCK is {limit} bytes: only {sends} zero-copy sends of {buffer_bytes} \
                 bytes can be under way"
            ),
        )
        .remedy("ulimit -l unlimited"),
    )
}

/// Zero-copy sends keep their notifications in option memory.
fn optmem(host: &Host) -> Option<Warning> {
    // 20480 until Linux 6.7, 131072 since.
    const ENOUGH: u64 = 65_536;
    let limit: u64 =
        host.sysctls.get("net.core.optmem_max")?.parse().ok().filter(|limit| *limit < ENOUGH)?;
    Some(
        Warning::new(
            "optmem",
            Severity::Note,
            format!(
                "net.core.optmem_max is {limit} bytes: zero-copy sends may be refused with ENOBUFS"
            ),
        )
        .remedy("sudo sysctl net.core.optmem_max=131072"),
    )
}

/// The name of the warning that a congestion control paces by timers.
pub const PACING: &str = "pacing";

/// BBR sends by timer, and the timers are a cost that no send path causes.
pub fn pacing(congestion: &str) -> Option<Warning> {
    congestion.starts_with("bbr").then(|| {
        Warning::new(
            PACING,
            Severity::Doubt,
            format!(
                "congestion control \"{congestion}\" paces by timers, whose cost is in every figure"
            ),
        )
        .remedy("--congestion cubic")
    })
}

/// Programs of this host send with another congestion control than a run `used` that chose it
/// itself.
pub fn another_congestion(of_host: &str, used: &str) -> Option<Warning> {
    (!of_host.is_empty() && of_host != used).then(|| {
        Warning::new(
            "congestion-default",
            Severity::Note,
            format!(
                "sockets of this host use congestion control \"{of_host}\" unless they ask for \
                 another, and those of this run use \"{used}\""
            ),
        )
        .remedy(format!("--congestion {of_host}"))
    })
}

fn another_zc(another: bool) -> Option<Warning> {
    another.then(|| {
        Warning::new("another-zc", Severity::Withhold, "another zc is at work on this machine")
            .remedy("wait for it: each takes what the other measures")
    })
}

/// The warnings about what has the CPUs besides the traffic.
const OF_OTHERS: [&str; 3] = ["another-zc", "busy-machine", "steal"];

/// Makes notes of the warnings about other programs and the hypervisor, of either end of the link,
/// for a run whose costs leave out what these take.
///
/// A CPU quota stays what it is. Throttled time is in no clock, but interrupts that come meanwhile
/// are in none either, and those of the traffic stop with it, so they cannot be scaled in. Soakers
/// that compete with the traffic change its batches, and a sniffer makes copies of what would be
/// none.
pub fn left_out_of_costs(warnings: &mut [Warning]) {
    for warning in warnings {
        let name = warning.name.strip_prefix("far-").unwrap_or(&warning.name);
        if OF_OTHERS.contains(&name) {
            warning.severity = Severity::Note;
            warning.remedy = None;
            warning.text.push_str(", which is in no cost");
        }
    }
}

/// Shares of the CPU time between two readings, 0 to 1, over all CPUs read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Used by anything, soakers included.
    pub busy: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Number of CPUs read.
    pub cpus: usize,
    /// Time between the readings, in seconds.
    pub elapsed_s: f64,
}

impl Shares {
    /// `None` if no time has passed on the CPUs.
    #[expect(clippy::cast_precision_loss, reason = "ticks of one window and nanoseconds of it")]
    pub fn between(opened: &StatReading, closed: &StatReading) -> Option<Self> {
        let (mut busy, mut steal, mut all) = (0, 0, 0);
        for (then, now) in opened.cpus.iter().zip(&closed.cpus) {
            // iowait and idle may go backwards (Documentation/filesystems/proc.rst).
            let worked = [
                now.user.saturating_sub(then.user),
                now.nice.saturating_sub(then.nice),
                now.system.saturating_sub(then.system),
                now.irq.saturating_sub(then.irq),
                now.softirq.saturating_sub(then.softirq),
            ];
            let worked: u64 = worked.iter().sum();
            let stolen = now.steal.saturating_sub(then.steal);
            let idle = now.idle.saturating_sub(then.idle) + now.iowait.saturating_sub(then.iowait);
            busy += worked;
            steal += stolen;
            all += worked + stolen + idle;
        }
        (all > 0).then(|| Self {
            busy: busy as f64 / all as f64,
            steal: steal as f64 / all as f64,
            cpus: opened.cpus.len(),
            elapsed_s: closed.at_ns.saturating_sub(opened.at_ns) as f64 / 1e9,
        })
    }
}

fn busy(shares: &Shares) -> Option<Warning> {
    if shares.busy <= 0.05 {
        return None;
    }
    Some(
        Warning::new(
            "busy-machine",
            Severity::Doubt,
            format!(
                "something else used {:.0} % of the {} CPUs in the {:.1} s before the run",
                shares.busy * 100.0,
                shares.cpus,
                shares.elapsed_s
            ),
        )
        .remedy("find it with \"top\" and wait for its end"),
    )
}

fn steal(shares: &Shares) -> Option<Warning> {
    if shares.steal <= 0.01 {
        return None;
    }
    Some(Warning::new(
        "steal",
        Severity::Doubt,
        format!(
            "the hypervisor took {:.1} % of the CPUs in the {:.1} s before the run",
            shares.steal * 100.0,
            shares.elapsed_s
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{CpuFacts, CpuTicks, IpVersion, Offloads};
    use zc_testkit::synthetic::Synthetic;

    fn fixed() -> FixedParams {
        let usual = Synthetic::default().header().plan.fixed;
        FixedParams { rate_bytes_per_s: 4e8, rate_chosen: false, ..usual }
    }

    fn link() -> LinkFacts {
        LinkFacts {
            kind: LinkKind::Veth,
            device: "zc0".to_owned(),
            mtu_bytes: 1500,
            offloads: Some(Offloads::from([("tx-tcp-segmentation".to_owned(), true)])),
            settings: Default::default(),
            receiver_merges: None,
            sides_apart: true,
            rps: Some("rps_default_mask".to_owned()),
            rps_check: None,
            ip: IpVersion::V4,
            switched_off: Default::default(),
            gso_max_bytes: None,
            layer: None,
            initial_window_packets: None,
            far_end: None,
            passed_over: Vec::new(),
        }
    }

    fn name(warning: Option<Warning>) -> Option<String> {
        warning.map(|warning| warning.name)
    }

    #[test]
    fn a_quiet_bare_machine_gets_no_warning() {
        let host = Host { memlock_bytes: Some(8 << 20), euid: 1000, ..Host::default() };
        let around = Environment {
            siblings_of_sender: vec![0, 2],
            sniffers: Some(0),
            ..Environment::default()
        };
        assert_eq!(before(&host, &link(), &fixed(), &around), []);
    }

    #[test]
    fn a_guest_is_noted() {
        let host = Host { hypervisor: Some("kvm".to_owned()), ..Host::default() };
        let warning = virtual_machine(&host).unwrap();
        assert_eq!(warning.severity, Severity::Note);
        assert!(warning.text.contains("(kvm)"));
    }

    #[test]
    fn on_an_emulated_cpu_costs_are_withheld() {
        let host = Host { hypervisor: Some(zc_run::EMULATOR.to_owned()), ..Host::default() };
        let warnings = of_machine(&host, &Environment::default(), 2);
        let names: Vec<(&str, Severity)> =
            warnings.iter().map(|warning| (warning.name.as_str(), warning.severity)).collect();
        assert_eq!(names, [(EMULATED, Severity::Withhold)]);
    }

    #[test]
    fn what_makes_each_page_call_or_packet_dearer_is_noted() {
        let mut host = Host::default();
        let link = |kind| LinkFacts { kind, ..link() };
        assert_eq!((zeroed_pages(&host), filtered_calls(&host)), (None, None));
        assert_eq!(netfilter(&host, &link(LinkKind::Loopback)), None);
        host.conditions.insert("connection tracking".to_owned(), "idle".to_owned());
        assert_eq!(netfilter(&host, &link(LinkKind::Loopback)), None);
        for (name, value) in
            [("init_on_alloc", "on"), ("seccomp", "filter"), ("nftables", "ip nat")]
        {
            host.conditions.insert(name.to_owned(), value.to_owned());
        }
        assert!(zeroed_pages(&host).is_some() && filtered_calls(&host).is_some());
        let packets = netfilter(&host, &link(LinkKind::Remote)).unwrap();
        assert!(packets.text.contains("the host's nftables"), "{}", packets.text);
        assert_eq!(netfilter(&host, &link(LinkKind::Veth)), None, "a namespace of zc's own");
    }

    #[test]
    fn a_slow_clock_is_a_doubt() {
        let host = |clock: &str| Host { clocksource: Some(clock.to_owned()), ..Host::default() };
        assert_eq!(name(clocksource(&host("hpet"))).as_deref(), Some("slow-clock"));
        assert_eq!(clocksource(&host("tsc")), None);
        assert_eq!(clocksource(&Host::default()), None);
    }

    #[test]
    fn a_governor_other_than_performance_and_turbo_are_noted() {
        let host = |governor: Option<&str>, boost| Host {
            cpu: CpuFacts { governor: governor.map(str::to_owned), boost, ..CpuFacts::default() },
            ..Host::default()
        };
        assert!(frequency(&host(Some("powersave"), None)).unwrap().text.contains("powersave"));
        assert!(frequency(&host(Some("performance"), Some(true))).unwrap().text.contains("turbo"));
        assert_eq!(frequency(&host(Some("performance"), Some(false))), None);
        assert_eq!(frequency(&host(None, None)), None);
    }

    #[test]
    fn threads_of_one_core_slow_each_other() {
        assert_eq!(name(shared_core(0, 1, &[0, 1])).as_deref(), Some("shared-core"));
        assert_eq!(shared_core(0, 1, &[0, 40]), None);
        // That case is `one-cpu`.
        assert_eq!(shared_core(0, 0, &[0, 40]), None);
    }

    #[test]
    fn one_cpu_for_both_sides_is_a_doubt() {
        assert_eq!(
            name(one_cpu(&FixedParams { receiver_cpu: 0, ..fixed() })).as_deref(),
            Some("one-cpu")
        );
        assert_eq!(one_cpu(&fixed()), None);
    }

    #[test]
    fn a_quota_below_the_soaked_cpus_withholds() {
        assert_eq!(cpu_quota(Some(1.5), 2).unwrap().severity, Severity::Withhold);
        assert_eq!(cpu_quota(Some(2.0), 2), None);
        assert_eq!(cpu_quota(None, 2), None);
    }

    #[test]
    fn sides_that_cannot_be_separated_are_reported_with_the_reason() {
        let together =
            LinkFacts { sides_apart: false, rps_check: Some("because".to_owned()), ..link() };
        assert!(sides_together(&together).unwrap().text.ends_with("because"));
        assert_eq!(sides_together(&LinkFacts { kind: LinkKind::Loopback, ..together }), None);
    }

    #[test]
    fn links_whose_sides_are_together_share_one_warning() {
        let lesser = |switched_off: &[OffloadSwitch]| LinkFacts {
            switched_off: switched_off.iter().copied().collect(),
            sides_apart: false,
            rps_check: Some("because".to_owned()),
            ..link()
        };
        let others = [
            lesser(&[OffloadSwitch::NoTso]),
            link(),
            lesser(&[OffloadSwitch::NoSg, OffloadSwitch::NoGso]),
        ];
        let found = of_other_links(&link(), &others);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("(MTU 1500 no-tso; MTU 1500 no-gso,no-sg)"), "{found:?}");
        assert!(found[0].text.ends_with(": because"), "{found:?}");
        assert_eq!(
            of_other_links(&LinkFacts { sides_apart: false, ..link() }, &others),
            [],
            "the first link has the warning"
        );
        assert_eq!(of_other_links(&link(), &[link()]), []);
    }

    #[test]
    fn offloads_that_are_off_are_named_with_the_command() {
        let mut link = link();
        assert_eq!(offloads_off(&link), None);
        link.offloads = Some(Offloads::from([("tx-tcp-segmentation".to_owned(), false)]));
        assert_eq!(offloads_off(&link).unwrap().remedy, None);
        let lo = LinkFacts { kind: LinkKind::Loopback, device: "lo".to_owned(), ..link.clone() };
        let warning = offloads_off(&lo).unwrap();
        assert_eq!(warning.remedy.as_deref(), Some("sudo ethtool -K lo tx-tcp-segmentation on"));
        assert_eq!(offloads_off(&link).unwrap().severity, Severity::Doubt);
        link.switched_off = [OffloadSwitch::NoTso].into();
        assert_eq!(offloads_off(&link), None, "it was asked for");
        link.switched_off = [OffloadSwitch::NoGso].into();
        assert!(offloads_off(&link).is_some(), "something else was asked for");
        link.offloads = None;
        assert_eq!(offloads_off(&link), None);
    }

    #[test]
    fn a_sniffer_withholds_verdicts() {
        assert!(sniffers(Some(1)).unwrap().text.starts_with("1 packet socket listens in on"));
        assert!(sniffers(Some(2)).unwrap().text.starts_with("2 packet sockets listen in on"));
        assert_eq!(sniffers(Some(0)), None);
        assert_eq!(sniffers(None), None);
    }

    #[test]
    fn memlock_counts_in_sends_and_not_for_root() {
        let host = |memlock_bytes, euid| Host { memlock_bytes, euid, ..Host::default() };
        assert!(
            memlock(&host(Some(65_536), 1000), 65_536)
                .unwrap()
                .text
                .contains("only 1 zero-copy send")
        );
        assert_eq!(memlock(&host(Some(8 << 20), 1000), 65_536), None);
        assert_eq!(memlock(&host(Some(65_536), 0), 65_536), None);
        assert_eq!(memlock(&host(None, 1000), 65_536), None);
        assert_eq!(memlock(&host(Some(8 << 20), 1000), 0), None);
    }

    #[test]
    fn the_option_memory_of_old_kernels_is_noted() {
        let host = |value: &str| Host {
            sysctls: [("net.core.optmem_max".to_owned(), value.to_owned())].into(),
            ..Host::default()
        };
        assert_eq!(name(optmem(&host("20480"))).as_deref(), Some("optmem"));
        assert_eq!(optmem(&host("131072")), None);
        assert_eq!(optmem(&host("?")), None);
    }

    #[test]
    fn bbr_is_a_doubt_and_cubic_is_not() {
        assert_eq!(name(pacing("bbr")).as_deref(), Some("pacing"));
        assert_eq!(pacing("cubic"), None);
    }

    #[test]
    fn a_second_zc_withholds_verdicts() {
        assert_eq!(another_zc(true).unwrap().severity, Severity::Withhold);
        assert_eq!(another_zc(false), None);
    }

    #[test]
    fn what_costs_leave_out_is_noted_and_what_makes_them_wrong_stays() {
        let cases = [
            ("another-zc", Severity::Withhold, Severity::Note),
            ("far-another-zc", Severity::Withhold, Severity::Note),
            ("busy-machine", Severity::Doubt, Severity::Note),
            ("far-busy-machine", Severity::Doubt, Severity::Note),
            ("steal", Severity::Doubt, Severity::Note),
            // Throttled interrupts are in no clock.
            (CPU_QUOTA, Severity::Withhold, Severity::Withhold),
            (EMULATED, Severity::Withhold, Severity::Withhold),
            // These change what the traffic does.
            ("sniffer", Severity::Withhold, Severity::Withhold),
            ("soakers-compete", Severity::Doubt, Severity::Doubt),
            ("soaker-delays-wakeups", Severity::Doubt, Severity::Doubt),
            ("shared-core", Severity::Doubt, Severity::Doubt),
            ("one-cpu", Severity::Doubt, Severity::Doubt),
            ("slow-clock", Severity::Doubt, Severity::Doubt),
            ("virtual-machine", Severity::Note, Severity::Note),
        ];
        for (name, before, after) in cases {
            let mut warnings = [Warning::new(name, before, "something").remedy("wait")];
            left_out_of_costs(&mut warnings);
            assert_eq!(warnings[0].severity, after, "{name}");
            assert_eq!(
                warnings[0].remedy.is_none(),
                OF_OTHERS.contains(&name.trim_start_matches("far-"))
            );
        }
    }

    fn stat(at_ns: u64, user: u64, idle: u64, steal: u64) -> StatReading {
        let cpus = vec![CpuTicks { user, idle, steal, ..CpuTicks::default() }; 2];
        StatReading { at_ns, cpus, ..StatReading::default() }
    }

    #[test]
    fn foreign_load_and_steal_are_shares_of_all_time() {
        let found = while_idle(&stat(0, 0, 0, 0), &stat(500_000_000, 10, 38, 2));
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].text,
            "something else used 20 % of the 2 CPUs in the 0.5 s before the run"
        );
        assert_eq!(
            found[1].text,
            "the hypervisor took 4.0 % of the CPUs in the 0.5 s before the run"
        );
        assert_eq!(while_idle(&stat(0, 0, 0, 0), &stat(1, 1, 99, 0)), []);
    }

    #[test]
    fn counters_that_did_not_move_or_went_back_say_nothing() {
        assert_eq!(while_idle(&stat(0, 5, 5, 5), &stat(1, 5, 5, 5)), []);
        assert_eq!(while_idle(&stat(9, 5, 5, 5), &stat(1, 1, 1, 1)), []);
    }
}
