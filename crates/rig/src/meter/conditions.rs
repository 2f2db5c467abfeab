//! Settings of the kernel that are no sysctl, the microcode, and programs and rules that packets
//! pass on this host: each changes what a byte costs, so two runs are comparable only where they
//! are the same.
//!
//! A value that cannot be read is absent, never guessed. References:
//! Documentation/admin-guide/mm/transhuge.rst, Documentation/admin-guide/pm/cpuidle.rst,
//! Documentation/admin-guide/kernel-parameters.txt (`init_on_alloc`, `preempt`, `swiotlb`),
//! Documentation/ABI/testing/sysfs-kernel-iommu_groups, proc_pid_status(5),
//! Documentation/admin-guide/LSM/index.rst, Documentation/arch/x86/microcode.rst.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::Path;

use crate::root::read;
use crate::workload;
use zc_kernel::cgroup_bpf::{self, Hook};
use zc_kernel::nftables;

/// Names of the conditions that a check asks for.
pub(super) const INIT_ON_ALLOC: &str = "init_on_alloc";
pub(super) const SECCOMP: &str = "seccomp";
pub(super) const IPTABLES: &str = "iptables";
pub(super) const NFTABLES: &str = "nftables";
pub(super) const CGROUP_BPF: &str = "BPF programs of the cgroup";
pub(super) const TRACKING: &str = "connection tracking";

/// The conditions by name, read below `root`, under a kernel of this configuration and build.
pub(super) fn conditions(root: &Path, config: &str, build: &str) -> BTreeMap<String, String> {
    let read = |path: &str| read(root, path).filter(|text| !text.is_empty());
    let chosen = |path: &str| read(path).and_then(|text| bracketed(&text));
    let kernel = Kernel { config, command_line: read("proc/cmdline").unwrap_or_default() };
    let thp = "sys/kernel/mm/transparent_hugepage";
    let idle = "sys/devices/system/cpu/cpuidle";
    let found = [
        ("transparent hugepages", chosen(&format!("{thp}/enabled"))),
        ("transparent hugepages of tmpfs", chosen(&format!("{thp}/shmem_enabled"))),
        (INIT_ON_ALLOC, kernel.switch(INIT_ON_ALLOC, "CONFIG_INIT_ON_ALLOC_DEFAULT_ON")),
        ("init_on_free", kernel.switch("init_on_free", "CONFIG_INIT_ON_FREE_DEFAULT_ON")),
        (
            "preemption",
            chosen("sys/kernel/debug/sched/preempt").or_else(|| kernel.preemption(build)),
        ),
        ("idle driver", read(&format!("{idle}/current_driver"))),
        ("idle governor", read(&format!("{idle}/current_governor_ro"))),
        ("IOMMU", iommu(root)),
        ("swiotlb", kernel.argument("swiotlb")),
        ("microcode", read("proc/cpuinfo").and_then(|cpus| microcode(&cpus))),
        ("security modules", read("sys/kernel/security/lsm")),
        (SECCOMP, read("proc/self/status").and_then(|status| seccomp(&status))),
        (
            "limit of memory cgroup",
            workload::cgroup_limit_below(root).map(|bytes| format!("{bytes} B")),
        ),
        (IPTABLES, read("proc/net/ip_tables_names").map(|names| names.replace('\n', " "))),
        (TRACKING, read("proc/sys/net/netfilter/nf_conntrack_count").map(|count| tracking(&count))),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Rules and programs that packets pass in this network namespace and cgroup. The kernel shows them
/// to root alone.
pub(super) fn in_the_path() -> BTreeMap<String, String> {
    let tables = nftables::tables_at_hooks().ok().filter(|tables| !tables.is_empty());
    let found =
        [(NFTABLES, tables.map(|tables| tables.join(", "))), (CGROUP_BPF, cgroup_programs())];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// `2 at egress, 1 at socket operations`; `None` without a program.
fn cgroup_programs() -> Option<String> {
    let cgroup = File::open(workload::cgroup2_below(Path::new("/"))?).ok()?;
    let hooks = [
        (Hook::Ingress, "ingress"),
        (Hook::Egress, "egress"),
        (Hook::SocketOperations, "socket operations"),
    ];
    let counted = hooks.into_iter().filter_map(|(hook, name)| {
        let programs = cgroup_bpf::programs(cgroup.as_fd(), hook).ok()?;
        (programs > 0).then(|| format!("{programs} at {name}"))
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| counted.join(", "))
}

/// Build configuration and command line of a kernel.
struct Kernel<'c> {
    config: &'c str,
    command_line: String,
}

impl Kernel<'_> {
    /// The value of the last `name=value` on the command line.
    fn argument(&self, name: &str) -> Option<String> {
        let words = self.command_line.split_whitespace();
        words.rev().find_map(|word| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    }

    /// Whether an option was built in; `None` if the configuration cannot be read.
    fn has(&self, option: &str) -> Option<bool> {
        (!self.config.is_empty()).then(|| is_built_in(self.config, option))
    }

    /// A parameter that is `1`, `0`, or as it was built.
    fn switch(&self, parameter: &str, option: &str) -> Option<String> {
        let on = match self.argument(parameter).as_deref() {
            Some("1" | "y" | "on") => true,
            Some("0" | "n" | "off") => false,
            _ => self.has(option)?,
        };
        Some(if on { "on" } else { "off" }.to_owned())
    }

    /// The preemption model where debugfs cannot be read.
    fn preemption(&self, build: &str) -> Option<String> {
        const MODELS: [(&str, &str); 5] = [
            ("CONFIG_PREEMPT_RT", "rt"),
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT", "full"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT_NONE", "none"),
        ];
        if build.split(' ').any(|word| word == "PREEMPT_RT") {
            return Some("rt".to_owned());
        }
        let built = || MODELS.iter().find(|(option, _)| self.has(option) == Some(true));
        self.argument("preempt").or_else(|| Some(built()?.1.to_owned()))
    }
}

/// Whether a configuration has an option built in.
pub(super) fn is_built_in(config: &str, option: &str) -> bool {
    config.lines().any(|line| line.strip_prefix(option) == Some("=y"))
}

/// The kernel's configuration, from the places where distributions put it.
pub(super) fn config(root: &Path, release: &str) -> Option<String> {
    let plain = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    plain.iter().find_map(|path| read(root, path)).or_else(|| {
        let mut text = String::new();
        let file = File::open(root.join("proc/config.gz")).ok()?;
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).ok()?;
        Some(text)
    })
}

/// The word in brackets, or in parentheses: `always [madvise] never`, `none voluntary (full)`.
fn bracketed(text: &str) -> Option<String> {
    let word = text.split_whitespace().find(|word| word.starts_with(['[', '(']))?;
    Some(word.trim_matches(['[', ']', '(', ')']).to_owned())
}

/// Translation of devices' addresses: the types of all IOMMU groups. `None` without a group.
fn iommu(root: &Path) -> Option<String> {
    let groups = std::fs::read_dir(root.join("sys/kernel/iommu_groups")).ok()?.flatten();
    let mut types: Vec<String> = groups.filter_map(|group| read(&group.path(), "type")).collect();
    types.sort();
    types.dedup();
    (!types.is_empty()).then(|| types.join(", "))
}

/// The revision of the first CPU's microcode: `0x2b000603`. Only x86 shows one.
fn microcode(cpuinfo: &str) -> Option<String> {
    let of =
        |line: &str| Some(line.strip_prefix("microcode")?.split_once(':')?.1.trim().to_owned());
    cpuinfo.lines().find_map(of).filter(|revision| !revision.is_empty())
}

/// Whether each of this process's system calls passes a filter.
fn seccomp(status: &str) -> Option<String> {
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim();
    Some(match mode {
        "0" => "off".to_owned(),
        "2" => "filter".to_owned(),
        other => format!("mode {other}"),
    })
}

/// Without a rule that needs it, no connection is tracked, and packets do not pass the tracker.
fn tracking(connections: &str) -> String {
    if connections == "0" { "idle" } else { "on" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    fn under(root: &Path, release: &str, build: &str) -> BTreeMap<String, String> {
        conditions(root, &config(root, release).unwrap_or_default(), build)
    }

    fn conditions_from(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        under(root(files).path(), "6.8.0-50-generic", "#51 SMP PREEMPT_DYNAMIC")
    }

    #[test]
    fn a_server_s_conditions_are_read_from_its_files() {
        let found = conditions_from(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] force\n"),
            (
                "boot/config-6.8.0-50-generic",
                "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n# CONFIG_INIT_ON_FREE_DEFAULT_ON is not set\n\
                 CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
            ),
            ("proc/cmdline", "ro quiet init_on_free=1 swiotlb=force\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n"),
            ("sys/kernel/iommu_groups/0/type", "DMA-FQ\n"),
            ("sys/kernel/iommu_groups/1/type", "identity\n"),
            ("sys/kernel/iommu_groups/2/type", "DMA-FQ\n"),
            ("sys/kernel/security/lsm", "lockdown,capability,apparmor\n"),
            ("proc/self/status", "Name:\tzc\nSeccomp:\t2\nSeccomp_filters:\t1\n"),
            (
                "proc/cpuinfo",
                "processor\t: 0\nmicrocode\t: 0x2b000603\n\nprocessor\t: 1\nmicrocode\t: 0x1\n",
            ),
            ("proc/net/ip_tables_names", "nat\nfilter\n"),
            ("proc/sys/net/netfilter/nf_conntrack_count", "42\n"),
        ]);
        let expected = [
            ("IOMMU", "DMA-FQ, identity"),
            ("connection tracking", "on"),
            ("idle driver", "intel_idle"),
            ("idle governor", "menu"),
            ("init_on_alloc", "on"),
            ("init_on_free", "on"),
            ("iptables", "nat filter"),
            ("microcode", "0x2b000603"),
            ("preemption", "voluntary"),
            ("seccomp", "filter"),
            ("security modules", "lockdown,capability,apparmor"),
            ("swiotlb", "force"),
            ("transparent hugepages", "madvise"),
            ("transparent hugepages of tmpfs", "never"),
        ];
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        assert_eq!(conditions_from(&[]), BTreeMap::new());
        let found = conditions_from(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "rubbish"),
            ("proc/net/ip_tables_names", ""),
            ("proc/cmdline", "init_on_alloc=maybe"),
            ("proc/self/status", "Name:\tzc\n"),
            ("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nmicrocode\t:\n"),
        ]);
        assert_eq!(found, BTreeMap::new());
        let idle = conditions_from(&[("proc/sys/net/netfilter/nf_conntrack_count", "0\n")]);
        assert_eq!(idle.get("connection tracking").map(String::as_str), Some("idle"));
    }

    #[test]
    fn the_command_line_and_debugfs_decide_over_what_was_built() {
        let config = ("lib/modules/6.8.0-50-generic/config", "CONFIG_PREEMPT_NONE=y\n");
        let preemption = |more: &[(&str, &str)]| {
            conditions_from(&[&[config], more].concat())
                .get("preemption")
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(preemption(&[]), "none");
        let argument = ("proc/cmdline", "preempt=none preempt=full");
        assert_eq!(preemption(&[argument]), "full");
        let debugfs = ("sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
        assert_eq!(preemption(&[argument, debugfs]), "lazy");
        let found = under(root(&[]).path(), "6.1", "#1 SMP PREEMPT_RT Debian");
        assert_eq!(found.get("preemption").map(String::as_str), Some("rt"));
        let off = conditions_from(&[config, ("proc/cmdline", "init_on_alloc=0")]);
        assert_eq!(off.get("init_on_alloc").map(String::as_str), Some("off"));
        assert_eq!(off.get("init_on_free").map(String::as_str), Some("off"));
    }

    #[test]
    fn a_compressed_configuration_is_read_too() {
        let folder = root(&[]);
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let file = std::fs::File::create(folder.path().join("proc/config.gz")).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, b"CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n").unwrap();
        gzip.finish().unwrap();
        let found = under(folder.path(), "6.18", "");
        assert_eq!(found.get("init_on_alloc").map(String::as_str), Some("on"));
    }
}
