//! The kernel interfaces that zc uses: one interface to a module, one safe function to a system call, one test to a
//! function. The only crate of zc with `unsafe` in it; every block says why it is sound. Errors are `std::io::Error`
//! made in one place (`rustix::io::Errno`, or `io::Error::last_os_error` right after a raw call).
//!
//! What rustix has is used through rustix; what it has not (SCHED_IDLE, thread CPU clocks, MSG_ZEROCOPY completions,
//! TCP_INFO whole, TCP_ZEROCOPY_RECEIVE, vmsplice with its lifetime) is here over libc.
//! And two things are here that are no kernel interfaces: instructions that the compiler does not choose ([`checksum`], [`movsb`]).

pub mod checksum;
pub mod clock;
pub mod errqueue;
pub mod ethtool;
pub mod mapping;
pub mod movsb;
pub mod netlink;
pub mod netns;
pub mod null_link;
pub mod packet;
pub mod pages;
pub mod perf;
pub mod process;
pub mod sched;
pub mod spawn;
pub mod splice;
pub mod tcp;
pub mod uring;
pub mod words;
pub mod zerocopy_receive;
