//! Explains why namespaces or veth devices are unavailable: each way in which a distribution, a
//! container or an administrator denies them has its own reason and remedy.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use zc_kernel::bpf::{BpfError, Stage as BpfStage};
use zc_run::Unavailable;

/// The step that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// unshare(CLONE_NEWUSER), and writing /proc/self/uid_map and its like.
    UserNamespace,
    /// unshare(CLONE_NEWNET).
    NetworkNamespace,
    /// Making the veth pair.
    Veth,
    /// Giving it addresses of IPv6.
    Ipv6,
    /// Giving it an MTU of this many bytes.
    Mtu(u32),
    /// Putting a bridge above it.
    Bridge,
}

/// The host's policies about namespaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Policies {
    /// /proc/sys/user/max_user_namespaces.
    pub(super) max_user_namespaces: Option<u64>,
    /// /proc/sys/user/max_net_namespaces.
    pub(super) max_net_namespaces: Option<u64>,
    /// /proc/sys/kernel/unprivileged_userns_clone (Debian's and Arch's patch).
    pub(super) userns_clone: Option<u64>,
    /// /proc/sys/kernel/apparmor_restrict_unprivileged_userns (Ubuntu 23.10 and later).
    pub(super) apparmor_restricts: Option<u64>,
    /// This process has a seccomp filter (`Seccomp: 2` in /proc/self/status), most likely that of a
    /// container.
    pub(super) seccomp: bool,
    /// /proc/self/ns/user exists: the kernel has CONFIG_USER_NS.
    pub(super) user_namespaces: bool,
}

impl Policies {
    /// Reads them below `root` (`/`). Call it before entering a user namespace, which has limits of
    /// its own.
    pub(super) fn read(root: &Path) -> Self {
        let number =
            |path: &str| std::fs::read_to_string(root.join(path)).ok()?.trim().parse().ok();
        let status = std::fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
        Self {
            max_user_namespaces: number("proc/sys/user/max_user_namespaces"),
            max_net_namespaces: number("proc/sys/user/max_net_namespaces"),
            userns_clone: number("proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            seccomp: status
                .lines()
                .any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2")),
            user_namespaces: root.join("proc/self/ns/user").symlink_metadata().is_ok(),
        }
    }
}

/// The reason and the remedy for `error` at `stage`.
pub(super) fn explain(stage: Stage, error: &io::Error, policies: &Policies) -> Unavailable {
    let errno = Errno::from_io_error(error);
    match stage {
        Stage::Veth if errno == Some(Errno::OPNOTSUPP) => {
            Unavailable::unsupported("this kernel has no veth devices (CONFIG_VETH)")
                .remedy("sudo modprobe veth")
        }
        Stage::Ipv6 => {
            Unavailable::unsupported(format!("this kernel has no IPv6: {error}")).remedy("--ip 4")
        }
        Stage::Mtu(bytes) => Unavailable::unsupported(format!(
            "the devices of the link cannot have an MTU of \
                {bytes}: {error}"
        )),
        Stage::Bridge => Unavailable::unsupported(format!(
            "switching offloads off on the null link takes a bridge, which this kernel does not \
             have (CONFIG_BRIDGE): {error}"
        ))
        .remedy("sudo modprobe bridge, or --link veth"),
        Stage::Veth if !denied(errno) => Unavailable::failed(format!(
            "the veth pair could not be \
            made: {error}"
        )),
        _ if matches!(errno, Some(Errno::NOSPC | Errno::USERS)) => at_the_limit(stage, policies),
        _ if matches!(errno, Some(Errno::INVAL | Errno::NOSYS)) => {
            let option =
                if stage == Stage::UserNamespace { "CONFIG_USER_NS" } else { "CONFIG_NET_NS" };
            Unavailable::unsupported(format!(
                "this kernel was built without the namespaces that the link needs ({option})"
            ))
        }
        _ if denied(errno) => denied_by(policies),
        _ => Unavailable::failed(format!("namespaces could not be made: {error}")),
    }
}

/// The reason and the remedy for a BPF program that could not be loaded or attached.
pub fn explain_bpf(error: &BpfError) -> Unavailable {
    let errno = Errno::from_io_error(&error.error);
    match (error.stage, errno) {
        (_, Some(Errno::NOSYS)) => Unavailable::unsupported(
            "this kernel was built without BPF \
            (CONFIG_BPF_SYSCALL)",
        ),
        // The verifier's log ends with how much it looked at (bpf(2), "EACCES").
        (BpfStage::Load, Some(Errno::ACCESS)) if error.detail.contains("processed ") => {
            Unavailable::failed(format!(
                "the verifier of this kernel rejects the BPF program: {error}"
            ))
        }
        (_, errno) if denied(errno) => Unavailable::refused(
            "the kernel does not let this process use BPF (a container without CAP_BPF and \
             CAP_NET_ADMIN, a seccomp filter, or lockdown)",
        )
        .remedy("run as root outside of the container, or start it with --privileged"),
        (BpfStage::Map | BpfStage::Load, Some(Errno::INVAL)) => {
            Unavailable::unsupported(format!("this kernel does not take the BPF program: {error}"))
        }
        (BpfStage::Attach, Some(Errno::OPNOTSUPP | Errno::NOENT | Errno::INVAL)) => {
            Unavailable::unsupported(
                "this kernel has no clsact queueing discipline with BPF filters \
             (CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF)",
            )
            .remedy("sudo modprobe -a sch_ingress cls_bpf")
        }
        (BpfStage::Mmap, _) => Unavailable::unsupported(format!(
            "this kernel cannot map BPF maps into a process \
                (before Linux 5.5): {}",
            error.error
        )),
        _ => Unavailable::failed(format!("the BPF program could not be set to work: {error}")),
    }
}

fn denied(errno: Option<Errno>) -> bool {
    matches!(errno, Some(Errno::PERM | Errno::ACCESS))
}

fn at_the_limit(stage: Stage, policies: &Policies) -> Unavailable {
    let (what, limit) = match stage {
        Stage::UserNamespace => ("user", policies.max_user_namespaces),
        _ => ("net", policies.max_net_namespaces),
    };
    let limit = limit.map_or_else(|| "its limit".to_owned(), |limit| limit.to_string());
    Unavailable::refused(format!(
        "no more {what} namespaces may be made: user.max_{what}_namespaces is {limit}"
    ))
    .remedy(format!("sudo sysctl user.max_{what}_namespaces=1000"))
}

fn denied_by(policies: &Policies) -> Unavailable {
    if policies.apparmor_restricts.is_some_and(|value| value != 0) {
        return Unavailable::refused(
            "AppArmor keeps unprivileged programs from using user namespaces \
             (kernel.apparmor_restrict_unprivileged_userns)",
        )
        .remedy("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0");
    }
    if policies.userns_clone == Some(0) {
        return Unavailable::refused(
            "unprivileged user namespaces are off (kernel.unprivileged_userns_clone is 0)",
        )
        .remedy("sudo sysctl kernel.unprivileged_userns_clone=1");
    }
    if policies.max_user_namespaces == Some(0) {
        return at_the_limit(Stage::UserNamespace, policies);
    }
    if policies.seccomp {
        return Unavailable::refused(
            "a seccomp filter keeps this process from making namespaces, \
            as in a container",
        )
        .remedy(
            "start the container with --cap-add=SYS_ADMIN --cap-add=NET_ADMIN --security-opt \
             seccomp=unconfined, \
             or run outside of it",
        );
    }
    if !policies.user_namespaces {
        return Unavailable::unsupported(
            "this kernel was built without user namespaces (CONFIG_USER_NS), and this is not root",
        )
        .remedy("run as root");
    }
    Unavailable::refused("making namespaces is not permitted here (a security module, or a chroot)")
        .remedy("run as root")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_host() -> Policies {
        Policies {
            max_user_namespaces: Some(100),
            max_net_namespaces: Some(100),
            user_namespaces: true,
            ..<_>::default()
        }
    }

    fn perm() -> io::Error {
        Errno::PERM.into()
    }

    #[test]
    fn a_program_that_the_verifier_rejects_is_not_taken_for_a_missing_right() {
        let explained = |detail: &str| {
            let error = Errno::ACCESS.into();
            explain_bpf(&BpfError { stage: BpfStage::Load, error, detail: detail.to_owned() })
        };
        let log = "the BPF_PROG_LOAD syscall failed: R3 min value is outside; processed 113 insns";
        let no = explained(log);
        assert_eq!(no.kind.name(), "failed");
        assert!(no.reason.contains("verifier") && no.reason.contains("R3 min value"), "{no:?}");
        assert_eq!(explained("the BPF_PROG_LOAD syscall failed").kind.name(), "refused");
    }

    #[test]
    fn ubuntu_debian_and_a_container_have_different_remedies() {
        let ubuntu = Policies { apparmor_restricts: Some(1), ..open_host() };
        let no = explain(Stage::UserNamespace, &perm(), &ubuntu);
        assert_eq!(no.kind.name(), "refused");
        assert_eq!(
            no.remedy.as_deref(),
            Some("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
        );

        let debian = Policies { userns_clone: Some(0), ..open_host() };
        let no = explain(Stage::UserNamespace, &perm(), &debian);
        assert_eq!(no.remedy.as_deref(), Some("sudo sysctl kernel.unprivileged_userns_clone=1"));

        let container = Policies { seccomp: true, apparmor_restricts: Some(0), ..open_host() };
        let no = explain(Stage::UserNamespace, &perm(), &container);
        assert!(no.reason.contains("seccomp"), "{no:?}");
    }

    #[test]
    fn a_limit_of_zero_is_named_with_its_sysctl() {
        let closed = Policies { max_user_namespaces: Some(0), ..open_host() };
        let no = explain(Stage::UserNamespace, &Errno::NOSPC.into(), &closed);
        assert_eq!(no.kind.name(), "refused");
        assert!(no.reason.ends_with("user.max_user_namespaces is 0"), "{no:?}");
        assert_eq!(no.remedy.as_deref(), Some("sudo sysctl user.max_user_namespaces=1000"));
    }

    #[test]
    fn a_kernel_without_veth_is_unsupported_and_not_refused() {
        let no = explain(Stage::Veth, &Errno::OPNOTSUPP.into(), &open_host());
        assert_eq!(
            (no.kind.name(), no.remedy.as_deref()),
            ("unsupported", Some("sudo modprobe veth"))
        );
    }

    #[test]
    fn an_unexpected_error_is_a_failure_with_its_text() {
        let no = explain(Stage::Veth, &Errno::NOMEM.into(), &open_host());
        assert_eq!(no.kind.name(), "failed");
    }

    #[test]
    fn policies_are_read_below_a_root() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/sys/user/max_user_namespaces", "15000\n"),
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
            ("proc/self/status", "Name:\tzc\nSeccomp:\t2\nSeccomp_filters:\t1\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let expected = Policies {
            max_user_namespaces: Some(15000),
            apparmor_restricts: Some(1),
            seccomp: true,
            ..Policies::default()
        };
        assert_eq!(Policies::read(root.path()), expected);
    }
}
