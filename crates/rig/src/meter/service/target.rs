//! The processes of a service, and their CPU time.
//!
//! By number, a service is a process and its descendants. Their CPU time is that of their clocks
//! and of the children that they have waited for (`cutime` and `cstime` of /proc/PID/stat, in ticks
//! of 10 ms): the CPU time of a child goes from the one to the other when it is waited for, so
//! nothing is lost or counted twice. A process whose parent has ended belongs to somebody else.
//!
//! In a cgroup, the kernel counts for all of them, those that have ended included: `usage_usec` of
//! `cpu.stat` in version 2, `cpuacct.usage` in version 1 (Documentation/admin-guide/cgroup-v2.rst,
//! cgroup-v1/cpuacct.rst). The clocks are a check then.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::container::cgroup_paths;
use crate::meter::pid_stat::{PidStat, tree};
use crate::root::read;
use zc_kernel::clock;
use zc_run::{Error, Result, ServiceTarget, Span, escape};

/// A service.
#[derive(Debug)]
pub struct Target {
    which: Which,
    /// Its text in the result.
    told: ServiceTarget,
}

#[derive(Debug)]
enum Which {
    /// The process, and when it started.
    Pid {
        pid: i32,
        started: u64,
    },
    Cgroup {
        folder: PathBuf,
        cpu: Option<Cpu>,
    },
}

/// The file of a cgroup that has its CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cpu {
    /// `usage_usec` of a cpu.stat.
    Stat(PathBuf),
    /// A cpuacct.usage, in ns.
    Usage(PathBuf),
}

/// Its processes at one moment.
#[derive(Debug, Clone)]
pub struct TargetReading {
    /// Their numbers.
    pub pids: Vec<i32>,
    at_ns: u64,
    clocks_ns: u64,
    cgroup_ns: Option<u64>,
    /// What tells a service from one of that name which was started later: the start of its
    /// process, or the inode of its cgroup's folder.
    incarnation: u64,
}

impl TargetReading {
    /// Whether it is still the service of `before`, and not one of the same name that was started
    /// meanwhile, whose counters begin at 0.
    pub fn is_same_as(&self, before: &Self) -> bool {
        self.incarnation == before.incarnation
            && self.cgroup_ns.is_some() == before.cgroup_ns.is_some()
            && self.cgroup_ns >= before.cgroup_ns
    }

    /// CPU time since `before`, by the clocks and by the cgroup.
    pub fn since(&self, before: &Self) -> (Span, Option<Span>) {
        let elapsed_ns = self.at_ns.saturating_sub(before.at_ns);
        let span = |count| Span { elapsed_ns, count };
        let clocks = span(self.clocks_ns.saturating_sub(before.clocks_ns));
        let cgroup = self.cgroup_ns.zip(before.cgroup_ns);
        (clocks, cgroup.map(|(after, before)| span(after.saturating_sub(before))))
    }
}

impl Target {
    /// The process `pid`.
    ///
    /// # Errors
    /// There is no such process, or zc is one of its descendants.
    pub fn of_pid(pid: i32) -> Result<Self> {
        let all = PidStat::all();
        let Some(stat) = all.get(&pid) else {
            return Err(Error::usage("no-such-process", format!("there is no process \"{pid}\""))
                .help("a process id, as pgrep(1) prints it"));
        };
        if stat.is_kernel_thread {
            return Err(Error::usage(
                "kernel-thread",
                format!("\"{pid}\" is a thread of the kernel (\"{}\")", escape(&stat.name, 20)),
            )
            .help("zc soak lists all of the kernel's threads in one row"));
        }
        let told = ServiceTarget::Pid { pid, name: stat.name.clone() };
        let target = Self { which: Which::Pid { pid, started: stat.started }, told };
        not_zc(&tree(pid, &all), &format!("process \"{pid}\""))?;
        Ok(target)
    }

    /// A cgroup, by its folder or by its path below the top of a hierarchy.
    ///
    /// # Errors
    /// There is no such cgroup, it has no process, or zc is in it.
    pub fn of_cgroup(path: &str) -> Result<Self> {
        let mounts = Mounts::read();
        let given = Path::new(path);
        let folder = Some(given.to_owned())
            .filter(|folder| folder.is_absolute() && is_cgroup(folder))
            .or_else(|| mounts.folder(path))
            .ok_or_else(|| {
                Error::usage(
                    "no-such-cgroup",
                    format!("there is no cgroup \"{}\"", escape(path, 200)),
                )
                .help(
                    "a folder with a file cgroup.procs, or its path below /sys/fs/cgroup: \
                     /proc/PID/cgroup has that of a process",
                )
            })?;
        Self::in_folder(path, folder, &mounts)
    }

    /// The cgroup of a service of systemd.
    ///
    /// # Errors
    /// There is no such service here, it does not run, or zc is in it.
    pub fn of_service(name: &str) -> Result<Self> {
        let unit = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
        if name.is_empty() || unit.contains('/') {
            return Err(Error::usage(
                "invalid-service-name",
                format!("\"{}\" is no name of a service", escape(name, 60)),
            )
            .help("a unit of systemd, such as nginx.service"));
        }
        let mounts = Mounts::read();
        let path = control_group(&unit).unwrap_or_else(|| format!("system.slice/{unit}"));
        let Some(folder) = mounts.folder(&path) else {
            return Err(Error::usage(
                "service-not-running",
                format!(
                    "the service \"{}\" does not run here: there is no cgroup \"{}\"",
                    escape(name, 60),
                    escape(&path, 100)
                ),
            )
            .help("systemctl status NAME; --cgroup PATH or --pid N name it otherwise"));
        };
        Self::in_folder(name, folder, &mounts)
    }

    /// The cgroup of a container of Docker or Podman, or of a pod of Kubernetes.
    ///
    /// # Errors
    /// There is no such container, it does not run where its cgroup is seen, or zc is in it.
    pub fn of_container(name: &str) -> Result<Self> {
        let mounts = Mounts::read();
        let paths = cgroup_paths(name)?;
        let Some(folder) = paths.iter().find_map(|path| mounts.folder(path)) else {
            return Err(Error::usage(
                "container-not-running",
                format!(
                    "the cgroup of the container \"{}\" is not seen here: \"{}\"",
                    escape(name, 60),
                    escape(paths.first().map_or("", |path| path), 200)
                ),
            )
            .help("zc must run in the host's cgroup namespace, with /sys/fs/cgroup mounted"));
        };
        Self::in_folder(name, folder, &mounts)
    }

    fn in_folder(name: &str, folder: PathBuf, mounts: &Mounts) -> Result<Self> {
        let cpu = mounts.cpu_of(&folder);
        let told = ServiceTarget::Cgroup {
            name: name.to_owned(),
            path: folder.display().to_string(),
            cpu: cpu.as_ref().map(|cpu| cpu.path().display().to_string()),
        };
        let target = Self { which: Which::Cgroup { folder, cpu }, told };
        let what = format!("\"{}\"", escape(name, 200));
        let pids = target.pids(&PidStat::all());
        if pids.is_empty() {
            return Err(Error::usage(
                "cgroup-empty",
                format!("the cgroup of {what} has no process"),
            )
            .help("is it running? --pid N names one of its processes"));
        }
        not_zc(&pids, &what)?;
        Ok(target)
    }

    /// The service, as reported.
    pub fn description(&self) -> &ServiceTarget {
        &self.told
    }

    /// Its processes and their CPU time.
    ///
    /// # Errors
    /// It has ended.
    pub fn read(&self) -> Result<TargetReading> {
        let all = PidStat::all();
        let pids = self.pids(&all);
        if pids.is_empty() {
            return Err(self.ended());
        }
        let cgroup_ns = match &self.which {
            Which::Cgroup { cpu: Some(cpu), .. } => cpu.ns(),
            _ => None,
        };
        let at_ns = clock::monotonic_ns();
        // One that has just ended has no clock; its parent has what it used, at the next reading.
        let clock = |pid: &i32| clock::cpu_ns_of_process(*pid).unwrap_or(0);
        let waited_ns = |pid: &i32| all.get(pid).map_or(0, |stat| stat.waited_ns);
        let clocks_ns = pids.iter().map(|pid| clock(pid) + waited_ns(pid)).sum();
        Ok(TargetReading { pids, at_ns, clocks_ns, cgroup_ns, incarnation: self.incarnation() })
    }

    /// Same as [`read`](Self::read), but without the clocks where the kernel counts for the cgroup:
    /// a reading that takes microseconds, and not some 10 us for each process of the machine.
    ///
    /// # Errors
    /// It has ended.
    pub fn read_account(&self) -> Result<TargetReading> {
        let Which::Cgroup { folder, cpu: Some(cpu) } = &self.which else { return self.read() };
        let pids = processes_of(folder);
        let at_ns = clock::monotonic_ns();
        match cpu.ns() {
            Some(ns) if !pids.is_empty() => Ok(TargetReading {
                pids,
                at_ns,
                clocks_ns: ns,
                cgroup_ns: Some(ns),
                incarnation: self.incarnation(),
            }),
            _ => Err(self.ended()),
        }
    }

    fn ended(&self) -> Error {
        let name = match &self.told {
            ServiceTarget::Pid { pid, name } => {
                format!("process {pid} (\"{}\")", escape(name, 20))
            }
            ServiceTarget::Cgroup { name, .. } => format!("\"{}\"", escape(name, 200)),
        };
        Error::failed("target-ended", format!("{name} ended meanwhile"))
    }

    fn incarnation(&self) -> u64 {
        match &self.which {
            Which::Pid { started, .. } => *started,
            Which::Cgroup { folder, .. } => std::fs::metadata(folder).map_or(0, |it| it.ino()),
        }
    }

    fn pids(&self, all: &HashMap<i32, PidStat>) -> Vec<i32> {
        match &self.which {
            Which::Pid { pid, started } => match all.get(pid) {
                Some(stat) if stat.started == *started && !stat.is_zombie => tree(*pid, all),
                _ => Vec::new(),
            },
            Which::Cgroup { folder, .. } => processes_of(folder),
        }
    }
}

fn is_cgroup(folder: &Path) -> bool {
    folder.join("cgroup.procs").is_file()
}

/// zc cannot be beside itself.
fn not_zc(pids: &[i32], what: &str) -> Result<()> {
    if pids.contains(&(std::process::id() as i32)) {
        return Err(Error::usage("zc-in-target", format!("zc itself is in {what}"))
            .help("start zc elsewhere, or name a process or a cgroup that it is not in"));
    }
    Ok(())
}

/// The cgroup of a unit by systemctl(1), if that is here and knows it.
fn control_group(unit: &str) -> Option<String> {
    let output = Command::new("systemctl")
        .args(["show", "--property=ControlGroup", "--value", "--", unit])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    path.starts_with('/').then_some(path)
}

/// Processes of a cgroup and of those below it.
fn processes_of(folder: &Path) -> Vec<i32> {
    let mut pids = Vec::new();
    add_processes_of(folder, &mut pids);
    pids
}

fn add_processes_of(folder: &Path, pids: &mut Vec<i32>) {
    let text = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // Those of other namespaces of process ids are 0.
    pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        add_processes_of(&entry.path(), pids);
    }
}

impl Cpu {
    fn path(&self) -> &Path {
        let (Self::Stat(path) | Self::Usage(path)) = self;
        path
    }

    fn ns(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.path()).ok()?;
        match self {
            Self::Usage(_) => text.trim().parse().ok(),
            Self::Stat(_) => {
                let usec = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
                usec.trim().parse::<u64>().ok()?.checked_mul(1000)
            }
        }
    }
}

/// The hierarchies of cgroups: where each is mounted.
#[derive(Debug)]
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn read() -> Self {
        Self::parse(&read(Path::new("/"), "proc/self/mountinfo").unwrap_or_default())
    }

    /// proc_pid_mountinfo(5): `36 25 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`. Version
    /// 2 first.
    fn parse(mountinfo: &str) -> Self {
        let mount = |line: &str| {
            let (place, kind) = line.split_once(" - ")?;
            let kind = kind.split(' ').next()?.to_owned();
            Some((kind, PathBuf::from(place.split(' ').nth(4)?)))
        };
        let found: Vec<(String, PathBuf)> = mountinfo.lines().filter_map(mount).collect();
        let of = |wanted: &'static str| {
            let own = found.iter().filter(move |(kind, _)| kind == wanted);
            own.map(|(_, place)| place.clone())
        };
        Self(of("cgroup2").chain(of("cgroup")).collect())
    }

    /// The folder of the cgroup with this path below the top, in the first hierarchy that has it.
    fn folder(&self, path: &str) -> Option<PathBuf> {
        let below = Path::new(path.trim_start_matches('/'));
        self.0.iter().map(|top| top.join(below)).find(|folder| is_cgroup(folder))
    }

    /// The file with the CPU time of a cgroup: its own, or that of the same path in the hierarchy
    /// that counts it, if the same processes are there.
    fn cpu_of(&self, folder: &Path) -> Option<Cpu> {
        let of = |folder: &Path| {
            let stat = Cpu::Stat(folder.join("cpu.stat"));
            let usage = Cpu::Usage(folder.join("cpuacct.usage"));
            [stat, usage].into_iter().find(|cpu| cpu.ns().is_some())
        };
        of(folder).or_else(|| {
            let top = self
                .0
                .iter()
                .filter(|top| folder.starts_with(top))
                .max_by_key(|top| top.components().count())?;
            let below = folder.strip_prefix(top).ok()?;
            let members = |folder: &Path| processes_of(folder).into_iter().collect::<HashSet<_>>();
            let own = members(folder);
            let mut others = self.0.iter().map(|top| top.join(below));
            others.find_map(|other| of(&other).filter(|_| members(&other) == own))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    #[test]
    fn what_children_use_that_come_and_go_is_counted_once() {
        // The shell's children burn, are waited for, and are gone.
        let script = "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); \
                      done'; done; echo done; read line";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let target = Target::of_pid(child.id() as i32).unwrap();
        let before = target.read().unwrap();
        let mut line = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let (clocks, cgroup) = target.read().unwrap().since(&before);
        assert_eq!(cgroup, None);
        drop(child.stdin.take());
        let usage = zc_kernel::spawn::wait_with_usage(child).unwrap();
        let all_ns = usage.user_ns + usage.system_ns;
        // Before it, the shell was started; ticks are of 10 ms, two kinds of them.
        let until_ns = before.clocks_ns + clocks.count;
        assert!(clocks.count <= all_ns + 1_000_000, "{clocks:?} {all_ns}");
        assert!(all_ns > 120_000_000, "too little to tell: {all_ns}");
        assert!(until_ns + 60_000_000 >= all_ns, "{before:?} {clocks:?} {all_ns}");
        assert_eq!(target.read().unwrap_err().id, "target-ended");
    }

    #[test]
    fn a_service_that_was_started_anew_is_another_one() {
        let reading = |incarnation, cgroup_ns| TargetReading {
            pids: vec![7],
            at_ns: 0,
            clocks_ns: 0,
            cgroup_ns,
            incarnation,
        };
        let before = reading(5, Some(10));
        assert!(reading(5, Some(10)).is_same_as(&before));
        assert!(!reading(6, Some(20)).is_same_as(&before), "a folder of that name");
        assert!(!reading(5, Some(9)).is_same_as(&before), "its account began anew");
        assert!(!reading(5, None).is_same_as(&before));
        assert!(reading(5, None).is_same_as(&reading(5, None)), "a process");
    }

    #[test]
    fn the_account_of_a_cgroup_is_read_until_it_has_no_process() {
        let folder = root(&[
            ("cgroup.procs", "7\n"),
            ("worker/cgroup.procs", "8\n"),
            ("cpu.stat", "usage_usec 12\n"),
        ]);
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let cpu = Cpu::Stat(folder.path().join("cpu.stat"));
        let target = Target {
            which: Which::Cgroup { folder: folder.path().to_owned(), cpu: Some(cpu) },
            told: ServiceTarget::Cgroup { name: "a".to_owned(), path: String::new(), cpu: None },
        };
        let before = target.read_account().unwrap();
        assert_eq!(before.pids, [7, 8]);
        put("cpu.stat", "usage_usec 15\n");
        let after = target.read_account().unwrap();
        assert!(after.is_same_as(&before));
        assert_eq!(after.since(&before).1.unwrap().count, 3000);
        put("cgroup.procs", "");
        put("worker/cgroup.procs", "");
        assert_eq!(target.read_account().unwrap_err().id, "target-ended");
    }

    #[test]
    fn who_is_not_there_is_told() {
        let wrong = |result: Result<Target>| result.unwrap_err().id;
        assert_eq!(wrong(Target::of_pid(i32::MAX)), "no-such-process");
        assert_eq!(wrong(Target::of_pid(std::process::id() as i32)), "zc-in-target");
        assert_eq!(wrong(Target::of_cgroup("/zc/no-such")), "no-such-cgroup");
        assert_eq!(wrong(Target::of_service("zc-no-such")), "service-not-running");
        assert_eq!(wrong(Target::of_service("../x")), "invalid-service-name");
    }

    #[test]
    fn a_cgroup_has_its_cpu_time_in_one_of_the_hierarchies() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("systemd/system.slice/a.service/cgroup.procs", "12\n13\n");
        put("cpu,cpuacct/system.slice/a.service/cgroup.procs", "13\n12\n");
        put("cpu,cpuacct/system.slice/a.service/cpuacct.usage", "5000\n");
        put("unified/system.slice/b.service/cgroup.procs", "7\n");
        put("unified/system.slice/b.service/cpu.stat", "usage_usec 12\nuser_usec 5\n");
        let line = |place: &str, kind: &str| {
            format!("1 2 0:1 / {}/{place} rw - {kind} {kind} rw\n", root.path().display())
        };
        let mounts = Mounts::parse(
            &(line("systemd", "cgroup")
                + &line("cpu,cpuacct", "cgroup")
                + &line("unified", "cgroup2")
                + "3 4 0:2 / /tmp rw - tmpfs tmpfs rw\n"),
        );
        assert_eq!(mounts.0.len(), 3);
        assert!(mounts.0[0].ends_with("unified"), "{mounts:?}");
        let ns = |path: &str| mounts.cpu_of(&root.path().join(path)).and_then(|cpu| cpu.ns());
        assert_eq!(ns("systemd/system.slice/a.service"), Some(5000));
        assert_eq!(ns("unified/system.slice/b.service"), Some(12_000));
        // Others have that path in another hierarchy.
        put("cpu,cpuacct/system.slice/a.service/cgroup.procs", "99\n");
        assert_eq!(ns("systemd/system.slice/a.service"), None);
    }
}
