//! Keeps what a target does with sockets to itself, and makes it a process as zc is one.

use std::sync::OnceLock;

use zc_kernel::netlink::Devices;
use zc_kernel::netns::{NetNs, unshare_user};

/// Puts the process into a network namespace of its own, which has nothing but loopback. Call it
/// before the first thread is started.
///
/// # Panics
/// This user may have none: the target would otherwise talk to ports of this host.
pub fn enter() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        // As the standard library does it before `main`, which is libFuzzer's here.
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        if NetNs::unshare().is_err() {
            unshare_user().expect("a user namespace, for a network namespace in it");
            NetNs::unshare().expect("a network namespace");
        }
        let devices = Devices::open().expect("a netlink socket");
        let lo = devices.find("lo").expect("a loopback device");
        devices.bring_up(lo.index).expect("loopback");
    });
}
