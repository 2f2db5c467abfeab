//! The system calls that a container forbids, as a seccomp(2) filter of the calling thread and of
//! the processes that it starts.
//!
//! It is the default profile of Docker (its profiles/seccomp/default.json, as of version 25) for a
//! container without further capabilities, turned around: of the calls that the profile does not
//! allow these are the ones that zc could make. Calls that the profile would refuse with ENOSYS are
//! refused with EPERM too, which is the harder case.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const CALLS: [i64; 22] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
    libc::SYS_move_pages,
    libc::SYS_kcmp,
    libc::SYS_clock_settime,
    libc::SYS_pivot_root,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_open_by_handle_at,
];

/// Flags of clone(2) that create a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Forbids them to this thread and to what it starts, for ever.
///
/// # Errors
/// This kernel has no filters.
pub(super) fn as_in_a_container() -> Result<(), Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = NAMESPACES.map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
            .and_then(|is_set| SeccompRule::new(vec![is_set]))
    });
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    let families = [libc::AF_VSOCK, libc::AF_ALG].map(|family| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, family)
            .and_then(|is_it| SeccompRule::new(vec![is_it]))
    });
    rules.insert(libc::SYS_socket, families.into_iter().collect::<Result<_, _>>()?);
    forbid(rules)
}

/// Forbids one call in the same way.
///
/// # Errors
/// This kernel has no filters.
pub(super) fn one(call: i64) -> Result<(), Box<dyn std::error::Error>> {
    forbid([(call, Vec::new())].into())
}

fn forbid(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), Box<dyn std::error::Error>> {
    let forbidden = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, forbidden, arch)?;
    Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
}
