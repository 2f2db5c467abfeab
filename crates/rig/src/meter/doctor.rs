//! Which meters are available to this user, each tried: a "no" carries its kind, its reason and its
//! remedy.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::cgroups::TopCgroups;
use super::sampler::Sampler;
use crate::root::read;
use zc_run::{CGROUP_CLOCKS, Support, SupportRow, Unavailable};

type Verdict = Result<(), Unavailable>;

/// Tries every meter; one row for each.
pub fn meters() -> Vec<SupportRow> {
    let root = Path::new("/");
    [
        ("soakers (SCHED_IDLE)", soakers()),
        ("softirqs", counters(root, "proc/softirqs", "NET_RX:")),
        ("interrupts", counters(root, "proc/interrupts", "CPU0")),
        ("cpu ticks", counters(root, "proc/stat", "cpu0 ")),
        ("TCP_INFO", tcp_info()),
        ("hardware counters", hardware_counters(root, zc_kernel::process::euid())),
        ("samples (zc profile)", samples()),
        ("autogroup", autogroup(root)),
        ("cgroup cpu.idle", cgroup_idle(root)),
        (CGROUP_CLOCKS, cgroup_clocks()),
    ]
    .into_iter()
    .map(|(name, verdict)| SupportRow {
        what: "meter".to_owned(),
        name: name.to_owned(),
        support: verdict.map_or_else(Support::No, |()| Support::Yes),
    })
    .collect()
}

/// Whether the clocks of the top-level cgroups tell what all programs use.
fn cgroup_clocks() -> Verdict {
    match TopCgroups::open().and_then(|mut cgroups| cgroups.cpu_ns()) {
        Some(_) => Ok(()),
        None => Err(Unavailable::unsupported(
            "no top-level cgroups of version 2 that hold all programs can be seen here",
        )),
    }
}

/// Whether a thread may lower itself to SCHED_IDLE; tried on a thread that then ends.
fn soakers() -> Verdict {
    let tried = std::thread::Builder::new()
        .spawn(|| zc_kernel::sched::set_idle(0))
        .map(std::thread::JoinHandle::join);
    match tried {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(Unavailable::refused(format!(
            "a thread may not lower itself to SCHED_IDLE: {error}"
        ))
        .remedy("run without seccomp")),
        Ok(Err(_)) => Err(Unavailable::failed("the thread that tried it panicked")),
        Err(error) => Err(Unavailable::failed(format!("no thread could be started: {error}"))),
    }
}

/// A file of /proc that must contain `mark`.
fn counters(root: &Path, path: &str, mark: &str) -> Verdict {
    match std::fs::read_to_string(root.join(path)) {
        Ok(text) if text.contains(mark) => Ok(()),
        Ok(_) => Err(Unavailable::unsupported(format!(
            "/{path} has no {}",
            mark.trim_end_matches([':', ' '])
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Unavailable::unsupported(format!("/{path} is not there"))
                .remedy("sudo mount -t proc proc /proc"))
        }
        Err(error) => {
            Err(Unavailable::refused(format!("/{path} cannot be read: {error}"))
                .remedy("run as root"))
        }
    }
}

/// The fields that zc reads go up to tcpi_sndbuf_limited (Linux 4.10).
fn tcp_info() -> Verdict {
    const NEEDED: usize = 192;
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .map_err(|error| Unavailable::failed(format!("no TCP socket could be opened: {error}")))?;
    match zc_kernel::tcp::info(&socket) {
        Ok(info) if info.known_bytes >= NEEDED => Ok(()),
        Ok(info) => Err(Unavailable::unsupported(format!(
            "this kernel fills {} bytes of TCP_INFO, and what a flow waited for begins at {NEEDED}",
            info.known_bytes
        ))),
        Err(error) => Err(Unavailable::failed(format!("getsockopt(TCP_INFO): {error}"))),
    }
}

/// Cycles and instructions of the whole CPU (perf_event_open(2);
/// Documentation/admin-guide/perf-security.rst).
fn hardware_counters(root: &Path, euid: u32) -> Verdict {
    let Some(paranoid) = read(root, "proc/sys/kernel/perf_event_paranoid") else {
        return Err(Unavailable::unsupported(
            "this kernel was built without performance events (CONFIG_PERF_EVENTS)",
        ));
    };
    let devices = std::fs::read_dir(root.join("sys/bus/event_source/devices"))
        .into_iter()
        .flatten()
        .flatten();
    // `cpu` on x86, `cpu_core` and `cpu_atom` on hybrids, `armv8_pmuv3_0` and its like on Arm.
    let of_cpus = |name: &str| name.starts_with("cpu") || name.starts_with("armv");
    if !devices.into_iter().any(|entry| entry.file_name().to_str().is_some_and(of_cpus)) {
        return Err(Unavailable::unsupported(
            "the CPU shows no hardware counters, as in most virtual machines",
        ));
    }
    match paranoid.parse::<i32>() {
        Ok(level) if level > 0 && euid != 0 => Err(Unavailable::refused(format!(
            "counting a whole CPU is for root where kernel.perf_event_paranoid is {level}"
        ))
        .remedy("sudo sysctl kernel.perf_event_paranoid=0")),
        Ok(_) => Ok(()),
        Err(_) => {
            Err(Unavailable::unknown(format!("kernel.perf_event_paranoid is \"{paranoid}\"")))
        }
    }
}

/// Whether all CPUs can be sampled, with the names of the kernel's functions.
fn samples() -> Verdict {
    let cpus = zc_kernel::sched::allowed_cpus().map_err(|error| {
        Unavailable::failed(format!("the CPUs of this process are not known: {error}"))
    })?;
    Sampler::open(&cpus).map(|_| ()).map_err(|error| {
        let no = Unavailable::refused(error.message);
        error.help.into_iter().fold(no, Unavailable::remedy)
    })
}

/// Whether the soakers' session can be ranked below other sessions (sched(7), "The autogroup
/// feature").
fn autogroup(root: &Path) -> Verdict {
    match read(root, "proc/sys/kernel/sched_autogroup_enabled").as_deref() {
        None => Err(Unavailable::unsupported(
            "this kernel was built without autogroups (CONFIG_SCHED_AUTOGROUP)",
        )),
        Some("0") => {
            Err(Unavailable::unsupported("autogroups are off, and nothing has to be lowered"))
        }
        Some(_) => {
            match std::fs::OpenOptions::new().write(true).open(root.join("proc/self/autogroup")) {
                Ok(_) => Ok(()),
                Err(error) => Err(Unavailable::refused(format!(
                    "/proc/self/autogroup cannot be written: {error}"
                ))),
            }
        }
    }
}

/// Whether a cgroup can be made idle (Documentation/admin-guide/cgroup-v2.rst, "cpu.idle", Linux
/// 5.15).
fn cgroup_idle(root: &Path) -> Verdict {
    let own = read(root, "proc/self/cgroup").unwrap_or_default();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Err(Unavailable::unsupported("cgroups of version 2 are not in use"));
    };
    let folders = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        .map(|top| root.join(top).join(path.trim_start_matches('/')));
    let Some(folder) = folders.iter().find(|folder| folder.join("cgroup.controllers").exists())
    else {
        return Err(Unavailable::unsupported("cgroups of version 2 are not mounted"));
    };
    let controllers = read(folder, "cgroup.controllers").unwrap_or_default();
    if !controllers.split_whitespace().any(|controller| controller == "cpu") {
        return Err(Unavailable::unsupported("the cgroup of this process has no cpu controller"));
    }
    let idle = folder.join("cpu.idle");
    if path != "/" && !idle.exists() {
        return Err(Unavailable::unsupported("cpu.idle is not there: it came with Linux 5.15"));
    }
    // The group to be made idle would be a child of this one.
    if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(Unavailable::refused("this process may not create a cgroup below its own")
            .remedy("systemd-run --user --scope -p Delegate=yes zc soak"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    fn word(verdict: Verdict) -> &'static str {
        verdict.map_or_else(|no| no.kind.name(), |()| "yes")
    }

    #[test]
    fn every_meter_has_a_row_on_this_machine() {
        let rows = meters();
        assert_eq!(rows.len(), 10);
        assert!(rows.iter().all(|row| row.what == "meter"));
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row("softirqs").support, Support::Yes);
        assert_eq!(row("TCP_INFO").support, Support::Yes);
    }

    #[test]
    fn counters_that_are_not_there_are_unsupported() {
        let root =
            root(&[("proc/softirqs", "      CPU0\n  NET_RX:  1\n"), ("proc/stat", "ctxt 1\n")]);
        assert_eq!(word(counters(root.path(), "proc/softirqs", "NET_RX:")), "yes");
        assert_eq!(
            counters(root.path(), "proc/stat", "cpu0 ").unwrap_err().reason,
            "/proc/stat has no cpu0"
        );
        assert_eq!(word(counters(root.path(), "proc/interrupts", "CPU0")), "unsupported");
    }

    #[test]
    fn hardware_counters_are_missing_in_guests_and_refused_by_perf_event_paranoid() {
        let paranoid = ("proc/sys/kernel/perf_event_paranoid", "2\n");
        let guest = root(&[paranoid, ("sys/bus/event_source/devices/software/type", "1\n")]);
        assert_eq!(word(hardware_counters(guest.path(), 0)), "unsupported");
        let server = root(&[paranoid, ("sys/bus/event_source/devices/cpu/type", "4\n")]);
        assert_eq!(word(hardware_counters(server.path(), 1000)), "refused");
        assert_eq!(word(hardware_counters(server.path(), 0)), "yes");
        assert_eq!(word(hardware_counters(root(&[]).path(), 0)), "unsupported");
    }

    #[test]
    fn autogroups_are_available_where_they_are_on_and_writable() {
        let enabled = "proc/sys/kernel/sched_autogroup_enabled";
        let on = root(&[(enabled, "1\n"), ("proc/self/autogroup", "/autogroup-1 nice 0\n")]);
        assert_eq!(word(autogroup(on.path())), "yes");
        assert_eq!(word(autogroup(root(&[(enabled, "0\n")]).path())), "unsupported");
        assert_eq!(word(autogroup(root(&[]).path())), "unsupported");
    }

    #[test]
    fn cgroups_of_version_1_have_no_cpu_idle() {
        assert_eq!(
            word(cgroup_idle(root(&[("proc/self/cgroup", "1:cpu:/\n")]).path())),
            "unsupported"
        );
        let without_cpu = [
            ("proc/self/cgroup", "0::/me\n"),
            ("sys/fs/cgroup/me/cgroup.controllers", "memory pids\n"),
        ];
        assert_eq!(word(cgroup_idle(root(&without_cpu).path())), "unsupported");
        let with_cpu = [
            ("proc/self/cgroup", "0::/me\n"),
            ("sys/fs/cgroup/me/cgroup.controllers", "cpu memory\n"),
            ("sys/fs/cgroup/me/cpu.idle", "0\n"),
        ];
        assert_eq!(word(cgroup_idle(root(&with_cpu).path())), "yes");
    }
}
