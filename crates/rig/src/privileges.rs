//! The rights that zc gives up before it reads what others wrote: a far end's messages, a
//! stranger's saved run.
//!
//! Rights belong to threads (see `zc_kernel::privileges`), so all of this is for a process that has
//! one. Root keeps being root: without capabilities it may still write what is root's own. Where
//! nothing needs that, [`made_apart`] reads as nobody.

use std::io::{self, Write as _};
use std::process::ExitStatus;

use zc_kernel::privileges::{
    CapabilitySet, become_nobody, bound_capabilities, capabilities_beyond_ambient,
    keep_capabilities,
};
use zc_kernel::process::{end_with_parent, read_from_child};
use zc_run::{Error, ErrorKind, Result, in_words};

pub use zc_kernel::privileges::{has_capabilities, no_new_privileges};

/// The work a process does from now on, which decides the capabilities that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Serves clients of zc.
    Serving,
    /// Serves a client of zc, and is a client of NFS for it.
    ServingByNfs,
    /// Measures towards a far end.
    TowardsFarEnd {
        /// Commands of the user are started meanwhile, which may need all rights of the user.
        starts_commands: bool,
        /// The flows have real-time threads.
        realtime: bool,
    },
    /// Discards what clients send, as `zcs` does.
    Discarding,
    /// Asks servers for what it discards, as `zc http` does.
    Requesting,
}

impl Work {
    fn capabilities(self) -> CapabilitySet {
        match self {
            Self::Serving => CapabilitySet::from_iter([
                // Who may connect to the data port (SO_ATTACH_FILTER asks for it on some kernels),
                // the congestion control that an iperf3 client asks for, and what packets pass on
                // this host: tables of nftables, BPF programs of the cgroup.
                CapabilitySet::NET_ADMIN,
                // A data port below 1024.
                CapabilitySet::NET_BIND_SERVICE,
                // Rings of io_uring and the pages that they pin, beyond RLIMIT_MEMLOCK.
                CapabilitySet::IPC_LOCK,
                // Pipes of the path `splice`, beyond fs.pipe-max-size and fs.pipe-user-pages-soft.
                CapabilitySet::SYS_RESOURCE,
                // The count of BPF programs: kernels before 5.19 answer bpf(2) to no other user.
                CapabilitySet::BPF,
            ]),
            // To mount, in a mount namespace of its own.
            Self::ServingByNfs => Self::Serving.capabilities() | CapabilitySet::SYS_ADMIN,
            Self::TowardsFarEnd { realtime, .. } => {
                let policy =
                    if realtime { CapabilitySet::SYS_NICE } else { CapabilitySet::empty() };
                policy
                    | CapabilitySet::from_iter([
                        // A congestion control that is not allowed to every user, and what packets
                        // pass on this host.
                        CapabilitySet::NET_ADMIN,
                        // Pages that MSG_ZEROCOPY and io_uring pin, beyond RLIMIT_MEMLOCK.
                        CapabilitySet::IPC_LOCK,
                        // Pipes, as above.
                        CapabilitySet::SYS_RESOURCE,
                        // The program that burns a known cost in softirqs (the positive control);
                        // before Linux 5.8 it takes CAP_SYS_ADMIN.
                        CapabilitySet::BPF,
                        CapabilitySet::PERFMON,
                        // The files that are sent, and the folder of the result, are the user's to
                        // choose.
                        CapabilitySet::DAC_OVERRIDE,
                        CapabilitySet::DAC_READ_SEARCH,
                    ])
            }
            Self::Discarding => CapabilitySet::from_iter([
                CapabilitySet::NET_BIND_SERVICE, // a port below 1024
                CapabilitySet::SYS_RESOURCE,     // pipes, as above
            ]),
            Self::Requesting => CapabilitySet::empty(),
        }
    }
}

/// Gives up all capabilities but those that `work` needs. Programs that are executed afterwards
/// cannot get others either, unless commands of the user are to be started: as root these have all
/// again.
///
/// # Errors
/// [`ErrorKind::Unsupported`]: a seccomp filter forbids it.
pub fn keep_for(work: Work) -> Result<()> {
    let keep = work.capabilities();
    let bounded = match work {
        Work::TowardsFarEnd { starts_commands: true, .. } => Ok(()),
        _ => bound_capabilities(keep),
    };
    bounded.and_then(|()| keep_capabilities(keep)).map_err(cannot_give_up)
}

/// That this process may not have the policy SCHED_RR, because of `error`.
pub fn no_round_robin(error: &io::Error) -> Error {
    let help = if error.kind() == io::ErrorKind::PermissionDenied {
        "be root, or have CAP_SYS_NICE or a limit of real-time priorities (ulimit -r 1); root may \
         lack it in a container, or in a cgroup without a share of real time (cpu.rt_runtime_us)"
    } else {
        "a seccomp filter (of a container?) forbids sched_setscheduler; run outside of it"
    };
    let why = in_words(error);
    Error::unsupported(
        "realtime-not-permitted",
        format!("cannot have the scheduling policy \"SCHED_RR\": {why}"),
    )
    .help(help)
}

/// Whether the file of this program gave it capabilities that its user, who is not root, does not
/// have.
pub fn has_capabilities_of_its_file() -> bool {
    let beyond = capabilities_beyond_ambient();
    !rustix::process::getuid().is_root() && beyond.is_ok_and(|beyond| !beyond.is_empty())
}

/// Runs `make` in a child process without any rights: of the user `nobody`, where there is one, and
/// without capabilities. `make` gets the error if they could not be given up. Returns the bytes
/// that it made, and how the child ended.
///
/// # Errors
/// There can be no child: the process has other threads, or may have no further one.
pub fn made_apart(make: impl FnOnce(Result<()>) -> Vec<u8>) -> io::Result<(Vec<u8>, ExitStatus)> {
    read_from_child(|mut pipe| {
        let without_rights = give_up_all();
        // After the change of the user, which would undo it. Where it fails, the child ends when it
        // writes.
        let _ = end_with_parent();
        u8::from(pipe.write_all(&make(without_rights)).is_err())
    })
}

/// Gives up all capabilities, and the user where there is `nobody`.
///
/// # Errors
/// Same as [`keep_for`].
pub fn give_up_all() -> Result<()> {
    bound_capabilities(CapabilitySet::empty()).map_err(cannot_give_up)?;
    become_nobody();
    keep_capabilities(CapabilitySet::empty()).map_err(cannot_give_up)
}

fn cannot_give_up(error: io::Error) -> Error {
    Error::os("give up capabilities", error)
        .kind(ErrorKind::Unsupported)
        .help("a seccomp filter (of a container?) forbids capset(2) or prctl(2)")
}
