//! The kernel's own NFS server: threads of the kernel, one server for each network namespace.
//!
//! It is told what to do in a file system, nfsd, which shows the server of the network namespace
//! that it is mounted in. rpc.mountd, of nfs-utils, tells the kernel which addresses may read what,
//! and speaks the mount protocol of version 3.
//!
//! References: Linux, fs/nfsd/nfsctl.c; nfsd(7), rpc.mountd(8), exportfs(8).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use super::super::kept::IoBytes;
use super::place::{self, MOST_BYTES, MOUNT_PORT, NFS_PORT, cannot};
use super::program::{find, has_file_system};
use zc_kernel::sched;
use zc_kernel::spawn::HeldSignals;
use zc_rig::meter::kernel_threads;
use zc_run::{Error, Result, Unavailable, escape};

/// Its file system, in the kernel and as a folder.
const NFSD: &str = "nfsd";
const AT: &str = "/proc/fs/nfsd";

/// State of nfs-utils: who may read what, and who has mounted it.
const KEPT_AT: &str = "/var/lib/nfs";
const STATE: [&str; 3] = ["etab", "rmtab", "xtab"];
const FOLDERS: [&str; 2] = ["/var/lib/nfs/v4recovery", "/var/lib/nfs/rpc_pipefs"];

/// The shortest time for clients of version 4 to claim what they had, in seconds.
const GRACE: &str = "10";
/// Ends that of the kernel's lock manager.
const LOCK_MANAGER: &str = "/proc/fs/lockd/nlm_end_grace";

/// Counts of the kernel, below the folder of a process.
const COUNTS: &str = "net/rpc/nfsd";

/// Programs of nfs-utils.
const MOUNTD: &str = "rpc.mountd";
const EXPORTFS: &str = "exportfs";

/// Anybody in this network namespace may read, or write as well. The export is the root of version
/// 4's name space. A WRITE that is to be on stable storage is, as far as a file system in memory
/// knows one.
const OPTIONS: &str = "insecure,no_root_squash,no_subtree_check,fsid=0,sync";

/// The kernel's server, as far as this machine has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Knfsd {
    mountd: PathBuf,
    exportfs: PathBuf,
    pub(super) threads: usize,
}

impl Knfsd {
    /// The one of this machine, with so many threads.
    pub(super) fn find(threads: usize) -> std::result::Result<Self, Unavailable> {
        if !has_file_system(NFSD) {
            return Err(Unavailable::unsupported("this kernel has no NFS server (nfsd)")
                .remedy("a kernel with CONFIG_NFSD, or --nfs-server ganesha"));
        }
        let program = |name: &str| {
            find(name).ok_or_else(|| {
                Unavailable::unsupported(format!("there is no {name}"))
                    .remedy("apt-get install nfs-kernel-server")
            })
        };
        Ok(Self { mountd: program(MOUNTD)?, exportfs: program(EXPORTFS)?, threads })
    }

    /// Its description, with the number of threads.
    pub(super) fn version(&self) -> String {
        match self.threads {
            1 => "the kernel's server, 1 thread".to_owned(),
            threads => format!("the kernel's server, {threads} threads"),
        }
    }

    /// Serves the file system at `export` from this mount and network namespace, on `cpu`, until
    /// rpc.mountd ends or this process is told to. If it is killed, the kernel ends the threads
    /// with this mount namespace.
    ///
    /// # Errors
    /// The kernel or a program refuses something; rpc.mountd ends.
    pub(super) fn serve(
        &self,
        export: &str,
        writable: bool,
        cpu: usize,
        signals: &HeldSignals,
    ) -> Result<()> {
        place::folders(FOLDERS)?;
        for name in STATE {
            fs::write(Path::new(KEPT_AT).join(name), "").map_err(cannot(name))?;
        }
        control()?;
        // What a server offers at most otherwise depends on the memory of the machine.
        set("max_block_size", &MOST_BYTES.to_string())?;
        self.export(export, writable)?;
        let mut mountd = Command::new(&self.mountd);
        mountd.args(["-F", "-p", &MOUNT_PORT.to_string()]);
        let ended = place::run(mountd, signals, || self.start_threads(cpu));
        // While the port mapper is there: the kernel takes back what it has registered, and waits
        // for it.
        let stopped = set("threads", "0");
        match ended? {
            Some(status) => {
                Err(Error::failed("nfs-server-ended", format!("rpc.mountd ended: {status}")))
            }
            None => stopped,
        }
    }

    fn start_threads(&self, cpu: usize) -> Result<()> {
        set("nfsv4gracetime", GRACE)?;
        let others = kernel_threads(NFSD);
        set("portlist", &format!("tcp {NFS_PORT}"))?;
        set("threads", &self.threads.to_string())?;
        for thread in kernel_threads(NFSD).into_iter().filter(|each| !others.contains(each)) {
            sched::pin_thread(thread, &[cpu]).map_err(cannot("its threads on their CPU"))?;
        }
        end_grace();
        Ok(())
    }

    fn export(&self, export: &str, writable: bool) -> Result<()> {
        let access = if writable { "rw" } else { "ro" };
        let said = Command::new(&self.exportfs)
            .args(["-o", &format!("{access},{OPTIONS}")])
            .arg(format!("*:{export}"))
            .output()
            .map_err(|error| Error::os("start exportfs", error))?;
        match said.status.success() {
            true => Ok(()),
            false => Err(Error::failed(
                "nfs-server-ended",
                format!(
                    "exportfs ended: {}: {}",
                    said.status,
                    escape(String::from_utf8_lossy(&said.stderr).trim(), 300)
                ),
            )),
        }
    }
}

/// The threads of a server of zc's that is on this CPU alone. (One of the host's may run on
/// others.)
pub(super) fn threads_on(cpu: usize) -> Vec<i32> {
    let on_it = |thread: &i32| sched::allowed_cpus_of(*thread).is_ok_and(|cpus| cpus == [cpu]);
    kernel_threads(NFSD).into_iter().filter(on_it).collect()
}

/// Bytes that the server of a process's network namespace has read for READs and written for WRITEs
/// so far. Before Linux 6.9 the kernel counts those of all its servers together, and shows them to
/// its first network namespace. `None`: it does not show them.
pub(super) fn bytes(pid: i32) -> Option<IoBytes> {
    let places = [format!("/proc/{pid}/{COUNTS}"), format!("/proc/self/{COUNTS}")];
    places.iter().find_map(|place| fs::read_to_string(place).ok()).as_deref().and_then(bytes_of)
}

/// The line `io READ-BYTES WRITTEN-BYTES` of the counts.
fn bytes_of(counts: &str) -> Option<IoBytes> {
    let line = counts.lines().find_map(|line| line.strip_prefix("io "))?;
    let mut numbers = line.split(' ').map(|number| number.parse().ok());
    Some(IoBytes { read: numbers.next()??, written: numbers.next()?? })
}

/// Mounts the file system by which the server of this network namespace is controlled.
fn control() -> Result<()> {
    mount(NFSD, AT, NFSD, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
        .map_err(|errno| cannot(AT)(errno.into()))
}

/// Ends the time in which clients claim again what they had before the server was started: nobody
/// has anything, and until then no file can be opened by version 4. The kernel's lock manager has
/// such a time of its own. Where nobody keeps a list of clients, a kernel may refuse to end the
/// first (Debian's 6.1.0-50: EBUSY), which takes [`GRACE`] then. Before Linux 3.18 there is no such
/// file.
fn end_grace() {
    drop(set("v4_end_grace", "Y"));
    drop(fs::write(LOCK_MANAGER, "Y"));
}

fn set(name: &str, value: &str) -> Result<()> {
    fs::write(Path::new(AT).join(name), value)
        .map_err(|error| Error::os(format!("set \"{name}\" of the kernel's NFS server"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_reads_and_writes_are_those_of_the_line_io() {
        let counts = "rc 0 0 17\nfh 0 0 0 0 0\nio 8388608 12\nth 4 0\nproc3 22 1 2\n";
        assert_eq!(bytes_of(counts), Some(IoBytes { read: 8_388_608, written: 12 }));
        for wrong in ["", "io", "io 1", "io x y", "ios 3 4"] {
            assert_eq!(bytes_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_has_no_threads() {
        if !Path::new("/proc/fs/nfsd").exists() {
            assert!(threads_on(0).is_empty());
        }
    }
}
