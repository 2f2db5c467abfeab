//! Kernel interfaces that zc uses: one module per interface, one safe function per system call, one
//! test per function. This is the only crate of zc with `unsafe`, and every block argues why it is
//! sound.
//!
//! Errors are `std::io::Error`. They are made from `rustix::io::Errno`, or by
//! `io::Error::last_os_error` right after a raw call. Every public function lists the errno values
//! to expect, links its manual page, and can be found in rustdoc by the name of its system call.
//!
//! Calls go through rustix where rustix has them. The rest goes through libc: SCHED_IDLE, CPU
//! clocks of threads, MSG_ZEROCOPY completions, the whole of TCP_INFO, TCP_ZEROCOPY_RECEIVE. Three
//! modules wrap CPU instructions: [`checksum`] and [`movsb`], which a compiler does not choose
//! reliably, and [`hypervisor`].

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]

mod attributes;
pub mod bpf;
pub mod cgroup_bpf;
pub mod checksum;
pub mod clock;
pub mod descriptors;
pub mod device_settings;
pub mod driver_info;
pub mod errqueue;
pub mod ethtool;
mod generic_netlink;
pub mod hypervisor;
pub mod inet_diag;
pub mod ktls;
pub mod mapping;
pub mod movsb;
pub mod mptcp;
pub mod named_file;
pub mod names;
pub mod netlink;
mod netlink_channel;
pub mod netns;
pub mod new_file;
pub mod nftables;
pub mod open_folder;
pub mod packet;
pub mod pages;
pub mod perf;
pub mod perf_counts;
pub mod perf_records;
pub mod privileges;
pub mod process;
pub mod random;
pub mod realtime;
pub mod sched;
mod sockopt;
pub mod source_filter;
pub mod spawn;
pub mod splice;
pub mod stack;
pub mod stop;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod udp;
pub mod upper_devices;
pub mod uring;
pub mod wireguard;
pub mod words;
pub mod writeback;
pub mod xfrm;
pub mod zerocopy_receive;
