//! The machine as it is: what a reader needs to interpret or repeat the figures.
//!
//! Read once before a run, in the network namespace of the caller, from /proc and /sys and a few
//! system calls. What is missing is absent in the result, never guessed and never an error. All
//! files are read below a root, so that tests can supply the files of other machines. References:
//! proc(5), Documentation/ABI/testing/sysfs-devices-system-cpu,
//! Documentation/ABI/stable/sysfs-devices-node, sysfs-hypervisor.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::time::{ClockId, clock_getres};

use super::accounting;
use super::conditions::{conditions, config, in_the_path};
use crate::root::read;
use crate::workload;
use zc_run::{CpuFacts, EMULATOR, Host, MemoryFacts};

/// The identity of this boot of this kernel, the same in all its namespaces and containers; `None`
/// where /proc hides it.
pub fn boot_id() -> Option<String> {
    read(Path::new("/"), "proc/sys/kernel/random/boot_id")
}

/// sysctls that influence how bytes are sent, or how well zc can measure it.
const SYSCTLS: [&str; 35] = [
    "kernel.io_uring_disabled",
    "kernel.perf_event_paranoid",
    "kernel.sched_autogroup_enabled",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.skb_defer_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_backlog_ack_defer",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_wmem",
];

/// Facts about this machine. Call it before a user namespace is entered: the limits in it may
/// differ from the host's.
pub fn host() -> Host {
    let mut host = from_files(Path::new("/"), zc_kernel::hypervisor::signature().as_deref());
    let uname = rustix::system::uname();
    host.hostname = uname.nodename().to_string_lossy().into_owned();
    host.kernel_release = uname.release().to_string_lossy().into_owned();
    host.kernel_version = uname.version().to_string_lossy().into_owned();
    let config = config(Path::new("/"), &host.kernel_release);
    let conditions =
        conditions(Path::new("/"), config.as_deref().unwrap_or_default(), &host.kernel_version);
    host.conditions = conditions;
    host.conditions.extend(in_the_path());
    host.machine = uname.machine().to_string_lossy().into_owned();
    host.cpu.allowed = zc_kernel::sched::allowed_cpus().unwrap_or_default();
    host.tick_hz = tick_hz(clock_getres(ClockId::MonotonicCoarse).tv_nsec);
    host.memlock_bytes = zc_kernel::process::memlock_limit_bytes();
    host.nofile = zc_kernel::process::nofile_limit();
    host.euid = zc_kernel::process::euid();
    accounting::fill(&mut host, config.as_deref());
    host
}

/// Whether the CPU of this machine is emulated.
pub fn is_emulated() -> bool {
    let cpuinfo = read(Path::new("/"), "proc/cpuinfo").unwrap_or_default();
    is_tcg(&cpuinfo, zc_kernel::hypervisor::signature().as_deref())
}

/// Facts from files below `root`, and from the hypervisor's signature.
fn from_files(root: &Path, signature: Option<&str>) -> Host {
    let read = |path: &str| read(root, path);
    let cpuinfo = read("proc/cpuinfo").unwrap_or_default();
    Host {
        kernel_command_line: read("proc/cmdline"),
        cpu: cpu_facts(root, &cpuinfo),
        memory: memory_facts(&read("proc/meminfo").unwrap_or_default()),
        hypervisor: hypervisor(root, &cpuinfo, signature),
        irq_time_accounting: read("proc/stat").and_then(|stat| irq_time_by(&stat)),
        clocksource: read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        mitigations: mitigations(root),
        sysctls: sysctls(root),
        ..Host::default()
    }
}

/// CONFIG_HZ: the coarse clocks advance once a tick (clock_getres(2)).
fn tick_hz(resolution_ns: i64) -> Option<u32> {
    let hz = 1_000_000_000_i64.checked_add(resolution_ns / 2)?.checked_div(resolution_ns)?;
    // A clock that does not advance with ticks would have a resolution of 1 ns.
    u32::try_from(hz).ok().filter(|hz| (24..=10_000).contains(hz))
}

fn cpu_facts(root: &Path, cpuinfo: &str) -> CpuFacts {
    let cpu = |path: &str| read(root, &format!("sys/devices/system/cpu/{path}"));
    let boost = cpu("cpufreq/boost").map(|on| on == "1");
    let turbo = || cpu("intel_pstate/no_turbo").map(|off| off == "0");
    CpuFacts {
        model: cpu_model(cpuinfo),
        online: cpu("online").map_or(0, |list| cpu_list(&list).len()),
        allowed: Vec::new(),
        threads_per_core: cpu("cpu0/topology/thread_siblings_list")
            .map(|list| cpu_list(&list).len()),
        governor: cpu("cpu0/cpufreq/scaling_governor"),
        boost: boost.or_else(turbo),
        llc_bytes: last_level_cache_bytes(root),
        numa_nodes: numa_nodes(root),
    }
}

/// `model name` on x86; on Arm, whose cpuinfo has no names, the implementer and part by number.
fn cpu_model(cpuinfo: &str) -> String {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let arm = || {
        Some(format!("Arm implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
    };
    field("model name")
        .or_else(arm)
        .or_else(|| field("cpu"))
        .or_else(|| field("uarch"))
        .unwrap_or_default()
}

/// `0-3,8,10-11`, as the kernel prints sets of CPUs (cpuset(7), "List format"). Invalid parts are
/// left out.
pub(super) fn cpu_list(text: &str) -> Vec<usize> {
    // No kernel supports more CPUs; such a list is not understood.
    const MOST: usize = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>())
            && last < MOST
        {
            cpus.extend(first..=last);
        }
    }
    cpus
}

fn last_level_cache_bytes(root: &Path) -> Option<u64> {
    let folder = root.join("sys/devices/system/cpu/cpu0/cache");
    let caches = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let level: u32 = read(&entry.path(), "level")?.parse().ok()?;
        Some((level, cache_bytes(&read(&entry.path(), "size")?)?))
    });
    caches.max().map(|(_, bytes)| bytes)
}

/// `32768K`
fn cache_bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 1 << 20),
            None => (text, 1),
        },
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn numa_nodes(root: &Path) -> Option<usize> {
    let entries = std::fs::read_dir(root.join("sys/devices/system/node")).ok()?.flatten();
    let is_node =
        |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    Some(entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count())
}

fn memory_facts(meminfo: &str) -> MemoryFacts {
    let bytes = |name| workload::meminfo_bytes(meminfo, name).unwrap_or(0);
    MemoryFacts { total_bytes: bytes("MemTotal"), available_bytes: bytes("MemAvailable") }
}

/// The hypervisor: Xen reports itself, others are recognised by the vendor of the firmware or by
/// the clock that they offer. Firmware is QEMU's with KVM and without it, so an emulated CPU is
/// recognised first.
fn hypervisor(root: &Path, cpuinfo: &str, signature: Option<&str>) -> Option<String> {
    if is_tcg(cpuinfo, signature) {
        return Some(EMULATOR.to_owned());
    }
    if let Some(kind) = read(root, "sys/hypervisor/type") {
        return Some(kind);
    }
    let firmware =
        ["sys_vendor", "product_name"].map(|file| read(root, &format!("sys/class/dmi/id/{file}")));
    let firmware = firmware.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let clocks = read(root, "sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let by_firmware = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Google Compute Engine", "kvm"),
        ("Amazon EC2", "kvm"),
        ("VMware", "vmware"),
        ("innotek", "virtualbox"),
        ("Virtual Machine", "hyper-v"),
        ("Parallels", "parallels"),
    ];
    let by_clock = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen")];
    let find = |known: &[(&str, &str)], text: &str| {
        known.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| (*name).to_owned())
    };
    let named = || find(&by_clock, &clocks).or_else(|| find(&by_firmware, &firmware));
    let flagged = cpuinfo.lines().find(|line| line.starts_with("flags")).map(|line| {
        let flags = line.split_once(':').map_or("", |(_, flags)| flags);
        flags.split_whitespace().any(|flag| flag == "hypervisor")
    });
    match flagged {
        // On x86 the flag decides: firmware of EC2's bare metal machines is Amazon's too.
        Some(true) => named().or_else(|| Some("unknown".to_owned())),
        Some(false) => None,
        None => named(),
    }
}

/// QEMU's TCG: by the signature on x86; elsewhere by the CPU model `max`, which only TCG has. On
/// Arm a program has nothing but the CPU's numbers to tell it by: `max` has an implementer that is
/// left to software (0) and a part of QEMU's own. TCG in the shape of a CPU that is sold, as `-cpu
/// cortex-a72`, is not recognised there (QEMU, target/arm/tcg/cpu64.c, `aarch64_max_tcg_initfn`).
fn is_tcg(cpuinfo: &str, signature: Option<&str>) -> bool {
    let model = cpu_model(cpuinfo);
    signature == Some("TCGTCGTCGTCG")
        || model.starts_with("QEMU TCG CPU")
        || model == "Arm implementer 0x00 part 0x051"
}

/// Whether interrupt time is accounted separately. Where it is not, ticks almost never find a CPU
/// in a hard interrupt, so the irq column of /proc/stat stays at 0 however long the machine runs.
/// Where it is, every timer interrupt adds to it. This is better than CONFIG_IRQ_TIME_ACCOUNTING,
/// which `tsc=noirqtime` and unstable clocks override.
fn irq_time_by(stat: &str) -> Option<bool> {
    let columns = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        columns.split_whitespace().map_while(|column| column.parse().ok()).collect();
    let (&[user, nice, system], &irq) = (ticks.get(0..3)?.first_chunk()?, ticks.get(5)?);
    // Ticks of 10 ms: half a minute of work has had a thousand interrupts.
    let busy = user.saturating_add(nice).saturating_add(system);
    match irq {
        10.. => Some(true),
        0 if busy >= 3_000 => Some(false),
        _ => None,
    }
}

fn mitigations(root: &Path) -> BTreeMap<String, String> {
    let folder = root.join("sys/devices/system/cpu/vulnerabilities");
    let Ok(entries) = std::fs::read_dir(&folder) else { return BTreeMap::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((name.clone(), read(&folder, &name)?))).collect()
}

fn sysctls(root: &Path) -> BTreeMap<String, String> {
    let value = |name: &str| read(root, &format!("proc/sys/{}", name.replace('.', "/")));
    SYSCTLS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), value(name)?.replace('\t', " "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    const XEON: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) \
                        Gold 6230 CPU @ 2.10GHz\n\
                        flags\t\t: fpu vme de pse tsc msr ht syscall nx\nprocessor\t: 1\n";
    const GUEST: &str =
        "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu vme hypervisor lahf_lm\n";
    const GRAVITON: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm\nCPU \
                            implementer\t: 0x41\n\
                            CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU \
                            revision\t: 1\n";

    #[test]
    fn this_machine_has_cpus_memory_and_a_kernel() {
        let host = host();
        assert!(host.cpu.online >= 1);
        assert!(!host.cpu.allowed.is_empty());
        assert!(host.memory.total_bytes > host.memory.available_bytes);
        assert!(!host.kernel_release.is_empty());
        assert!(host.sysctls.contains_key("net.ipv4.tcp_wmem"), "{:?}", host.sysctls);
    }

    #[test]
    fn a_server_of_two_sockets_is_read_from_its_files() {
        let root = root(&[
            ("proc/cpuinfo", XEON),
            (
                "proc/meminfo",
                "MemTotal:       197590356 kB\nMemFree:        1 kB\nMemAvailable:   180000000 \
                 kB\n",
            ),
            ("proc/cmdline", "BOOT_IMAGE=/vmlinuz-6.12.0 root=/dev/sda1 ro\n"),
            ("sys/devices/system/cpu/online", "0-79\n"),
            ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,40\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
            ("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
            ("sys/devices/system/cpu/cpu0/cache/index3/size", "28160K\n"),
            ("sys/devices/system/node/node0/cpulist", "0-19,40-59\n"),
            ("sys/devices/system/node/node1/cpulist", "20-39,60-79\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
        ]);
        let host = from_files(root.path(), None);
        assert_eq!(host.cpu.model, "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz");
        assert_eq!(
            (host.cpu.online, host.cpu.threads_per_core, host.cpu.numa_nodes),
            (80, Some(2), Some(2))
        );
        assert_eq!((host.cpu.governor.as_deref(), host.cpu.boost), (Some("powersave"), Some(true)));
        assert_eq!(host.cpu.llc_bytes, Some(28_160 * 1024));
        assert_eq!(host.memory.total_bytes, 197_590_356 * 1024);
        assert_eq!(host.memory.available_bytes, 180_000_000 * 1024);
        // Bare metal of a cloud provider.
        assert_eq!(host.hypervisor, None);
        assert_eq!(host.mitigations["meltdown"], "Not affected");
        assert_eq!(host.sysctls["net.ipv4.tcp_wmem"], "4096 16384 4194304");
        assert_eq!(
            host.kernel_command_line.as_deref(),
            Some("BOOT_IMAGE=/vmlinuz-6.12.0 root=/dev/sda1 ro")
        );
    }

    #[test]
    fn an_empty_machine_is_all_absent_and_no_error() {
        let root = root(&[]);
        let host = from_files(root.path(), None);
        assert_eq!(host, Host::default());
    }

    #[test]
    fn an_emulated_cpu_is_told_from_a_virtual_one_of_the_same_firmware() {
        let qemu = root(&[("sys/class/dmi/id/sys_vendor", "QEMU\n")]);
        let of = |cpuinfo, signature| hypervisor(qemu.path(), cpuinfo, signature);
        // Any model of CPU, by the signature.
        assert_eq!(of(GUEST, Some("TCGTCGTCGTCG")).as_deref(), Some(EMULATOR));
        assert_eq!(of(GUEST, Some("KVMKVMKVM")).as_deref(), Some("kvm"));
        assert_eq!(of(GUEST, None).as_deref(), Some("kvm"));
        let named = GUEST.replace("AMD EPYC", "QEMU TCG CPU version 2.5+");
        assert_eq!(of(&named, None).as_deref(), Some(EMULATOR));
        let max = GRAVITON.replace("0x41", "0x00").replace("0xd0c", "0x051");
        assert_eq!(of(&max, None).as_deref(), Some(EMULATOR));
        assert_eq!(
            of(GRAVITON, None).as_deref(),
            Some("kvm"),
            "a CPU that is sold, emulated or not"
        );
    }

    #[test]
    fn guests_are_recognised_by_clock_or_firmware() {
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let kvm = root(&[(clocks, "kvm-clock tsc acpi_pm \n")]);
        assert_eq!(hypervisor(kvm.path(), GUEST, None).as_deref(), Some("kvm"));
        let azure = root(&[
            ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
            ("sys/class/dmi/id/product_name", "Virtual Machine\n"),
        ]);
        assert_eq!(hypervisor(azure.path(), GUEST, None).as_deref(), Some("hyper-v"));
        let xen = root(&[("sys/hypervisor/type", "xen\n")]);
        assert_eq!(hypervisor(xen.path(), "", None).as_deref(), Some("xen"));
        assert_eq!(hypervisor(root(&[]).path(), GUEST, None).as_deref(), Some("unknown"));
    }

    #[test]
    fn arm_cpus_are_named_by_number() {
        assert_eq!(cpu_model(GRAVITON), "Arm implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model("nonsense"), "");
    }

    #[test]
    fn cpu_lists_have_ranges_and_holes() {
        assert_eq!(cpu_list("0-2,5,8-9\n"), [0, 1, 2, 5, 8, 9]);
        assert_eq!(cpu_list(""), [0; 0]);
        assert_eq!(cpu_list("1-x,4,9-99999999999999,7-3"), [4]);
    }

    #[test]
    fn the_tick_rate_comes_from_the_coarse_clock() {
        assert_eq!(tick_hz(4_000_000), Some(250));
        assert_eq!(tick_hz(3_333_333), Some(300));
        assert_eq!(tick_hz(1_000_000), Some(1000));
        assert_eq!(tick_hz(1), None);
        assert_eq!(tick_hz(0), None);
    }

    #[test]
    fn interrupt_time_is_counted_where_its_column_moves() {
        assert_eq!(
            irq_time_by("cpu  106461 82186 22873 308300 1752 0 240 88 0 0\ncpu0 1 2\n"),
            Some(false)
        );
        assert_eq!(irq_time_by("cpu  106461 82186 22873 308300 1752 911 240 88 0 0\n"), Some(true));
        assert_eq!(irq_time_by("cpu  50 0 20 900 2 0 1 0 0 0\n"), None);
        assert_eq!(irq_time_by("cpu  50\n"), None);
        assert_eq!(irq_time_by(""), None);
    }

    #[test]
    fn cache_sizes_come_in_kib() {
        assert_eq!(cache_bytes("32768K"), Some(32 << 20));
        assert_eq!(cache_bytes("1M"), Some(1 << 20));
        assert_eq!(cache_bytes("lots"), None);
    }
}
