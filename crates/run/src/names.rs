//! The names of send paths, receive paths, links, soakers, experiments and memory loops, as the user types them and as they are saved.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name that is none of the known ones; lists those that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} \"{given}\"")]
pub struct UnknownName {
    /// `send path`, `link` ...
    pub what: &'static str,
    /// What was typed.
    pub given: String,
    /// The names that exist, in the order of the documentation.
    pub known: Vec<&'static str>,
}

macro_rules! names {
    ($(#[$doc:meta])* $type:ident, $what:literal, { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $type {
            $($(#[$vdoc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every one, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name as typed and saved.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(given: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|each| each.name() == given).ok_or_else(|| UnknownName {
                    what: $what,
                    given: given.to_owned(),
                    known: Self::ALL.iter().map(|each| each.name()).collect(),
                })
            }
        }
    };
}

names! {
    /// One way of getting the bytes of files into a TCP socket. docs/paths/ has a page for each.
    SendPath, "send path", {
        /// `read(2)` into a buffer, `write(2)` out of it.
        ReadWrite = "read+write",
        /// `read(2)` into a buffer, `send(2)` out of it: the reference.
        ReadSend = "read+send",
        /// `write(2)` straight out of the mapped file.
        MmapWrite = "mmap+write",
        /// `sendfile(2)`.
        Sendfile = "sendfile",
        /// `splice(2)` file to pipe, pipe to socket.
        Splice = "splice",
        /// `vmsplice(2)` of user pages into a pipe, `splice(2)` to the socket.
        Vmsplice = "vmsplice",
        /// `send(2)` with `MSG_ZEROCOPY` from a resident copy of the file set.
        MsgZerocopy = "msg-zerocopy",
        /// `send(2)` with `MSG_ZEROCOPY` out of the mapped file.
        MsgZerocopyMmap = "msg-zerocopy-mmap",
        /// `IORING_OP_READ` linked to `IORING_OP_SEND`.
        UringSend = "uring-send",
        /// `IORING_OP_SEND_ZC` from a resident copy of the file set.
        UringSendZc = "uring-send-zc",
        /// `IORING_OP_SEND_ZC` from a resident copy that is registered with the ring.
        UringSendZcFixed = "uring-send-zc-fixed",
        /// `IORING_OP_SPLICE` file to pipe, linked to pipe to socket.
        UringSplice = "uring-splice",
    }
}

names! {
    /// One way of getting bytes out of a TCP socket.
    RecvPath, "receive path", {
        /// `recv(2)` into a buffer.
        Recv = "recv",
        /// `recv(2)` with `MSG_TRUNC`: the bytes are dropped uncopied. An upper bound, not a receiver.
        RecvTrunc = "recv-trunc",
        /// `splice(2)` socket to pipe, pipe to /dev/null.
        Splice = "splice",
        /// `TCP_ZEROCOPY_RECEIVE`, and `recv(2)` for what the kernel will not map.
        ZerocopyReceive = "zerocopy-receive",
        /// `IORING_OP_RECV`.
        UringRecv = "uring-recv",
        /// `IORING_OP_RECV` multishot with a ring of provided buffers.
        UringMultishot = "uring-multishot",
    }
}

names! {
    /// Where the bytes travel.
    LinkKind, "link", {
        /// The host's own `lo`.
        Loopback = "loopback",
        /// Two network namespaces of zc's own and a veth pair between them.
        Veth = "veth",
        /// A veth pair whose sender's end swallows packets, and a far end that acknowledges them: the sender's cost alone.
        Null = "null",
        /// Another machine: `zc run --remote`, `--via`.
        Remote = "remote",
    }
}

names! {
    /// Version of the Internet Protocol.
    IpVersion, "IP version", {
        /// RFC 791.
        V4 = "4",
        /// RFC 8200.
        V6 = "6",
    }
}

names! {
    /// An offload that the card of a link is to be without. What else the kernel then switches off, because it depends on it, is
    /// in [`LinkFacts::offloads`](super::LinkFacts::offloads).
    OffloadSwitch, "offload", {
        /// The card cuts no segments: TCP's packets of up to 64 KiB are cut in software, right above the driver.
        NoTso = "no-tso",
        /// The kernel does not cut segments in software.
        NoGso = "no-gso",
        /// The card takes no packet that is in several pieces of memory: packets are linearised.
        NoSg = "no-sg",
        /// The card sums no checksums.
        NoChecksum = "no-checksum",
        /// The receiver's card does not merge segments that follow one another.
        NoGro = "no-gro",
    }
}

names! {
    /// What the cells of a plan may differ in.
    Factor, "factor", {
        /// The send path.
        Send = "send",
        /// The receive path.
        Recv = "recv",
        /// Bytes per call of the send path.
        Message = "message",
        /// Bytes per call of the receive path.
        RecvBuffer = "recv-buffer",
        /// SO_SNDBUF of the sender and SO_RCVBUF of the receiver.
        Sockbuf = "sockbuf",
        /// What is asked of TCP about packets that are not full.
        Push = "push",
        /// Where on its page a message begins.
        Align = "align",
        /// The pages that paths send from whose bytes are in memory already.
        Pages = "pages",
        /// MTU of the link.
        Mtu = "mtu",
        /// What the link's network card is to be without.
        Offloads = "offloads",
        /// TCP congestion control.
        Congestion = "congestion",
        /// Connections at a time.
        Flows = "flows",
        /// Which CPUs the two sides are pinned to.
        Placement = "placement",
        /// The rate at which cost is measured.
        Rate = "rate",
        /// The state that a command has put the host into.
        State = "state",
    }
}

names! {
    /// One of the two states that a host is put into in turns, by a command each.
    HostState, "host state", {
        /// That of the first command.
        A = "A",
        /// That of the second command.
        B = "B",
    }
}

names! {
    /// What is asked of TCP about packets that are not full.
    Push, "push", {
        /// Nothing: Nagle's algorithm (RFC 896) holds a packet that is not full while another one is under way.
        Plain = "plain",
        /// TCP_CORK, from the first byte to the last: only full packets, or after 200 ms (tcp(7)).
        Cork = "cork",
        /// MSG_MORE on every send(2), SPLICE_F_MORE on every splice(2): as if corked for one call. Other calls cannot say it.
        More = "more",
        /// TCP_NODELAY: no packet waits.
        Nodelay = "nodelay",
    }
}

names! {
    /// Where on its page a message begins.
    Align, "alignment", {
        /// At its beginning, as far as the files do.
        Page = "page",
        /// One byte later: buffers begin so, and files are sent from their second byte on.
        Byte = "byte",
    }
}

names! {
    /// The pages that paths send from whose bytes are in memory already: vmsplice, MSG_ZEROCOPY, io_uring's zero-copy sends.
    CopyPages, "kind of pages", {
        /// Of 4 KiB, wherever the kernel had one: no two neighbours lie beside each other in physical memory. Where the system gives
        /// huge pages to all who ask for nothing, those.
        Scattered = "scattered",
        /// Huge pages (MADV_HUGEPAGE).
        Huge = "huge",
    }
}

names! {
    /// Which CPUs the two sides are pinned to.
    Placement, "placement", {
        /// A CPU each.
        Separate = "separate",
        /// Both to the sender's.
        Same = "same",
        /// To none: the scheduler puts them where it likes, among the CPUs that carry soakers.
        Free = "free",
    }
}

names! {
    /// What the soakers do with the time nobody else wants.
    SoakerKind, "soaker", {
        /// A dependency chain in registers: prices CPU time.
        Alu = "alu",
        /// Dirties cache lines too: prices CPU time and memory bandwidth.
        Cache = "cache",
    }
}

names! {
    /// What `zc run` can find out.
    Experiment, "experiment", {
        /// What each send path costs.
        Paths = "paths",
        /// What each receive path costs, by its buffer.
        Receive = "receive",
        /// What each send path costs by the size of its calls, and from which size on it pays.
        Sizes = "sizes",
        /// What the offloads of a network card save.
        Offloads = "offloads",
        /// What TCP_CORK, MSG_MORE and TCP_NODELAY do to small writes.
        Cork = "cork",
        /// What the choice of CPUs does.
        Affinity = "affinity",
        /// What huge pages save the paths that send from memory.
        Pages = "pages",
        /// What socket buffers, message sizes and TSO do, by netperf's account and by time(1)'s.
        Sockbuf = "sockbuf",
        /// What a larger MTU saves.
        Mtu = "mtu",
        /// What many connections cost.
        Flows = "flows",
        /// What congestion controls cost.
        Congestion = "congestion",
        /// How cost depends on the rate.
        Pacing = "pacing",
        /// How fast this machine's memory is: the limit of every path that copies.
        Memory = "memory",
    }
}

names! {
    /// A walk over a working set. Where there are two buffers, the first half of the set is copied to the second.
    MemoryLoop, "memory loop", {
        /// Every 64-bit word is added up.
        Read = "read",
        /// Every 64-bit word is stored.
        Write = "write",
        /// memcpy(3) of the C library.
        Memcpy = "memcpy",
        /// The copy instruction of x86-64, which the kernel copies with.
        RepMovsb = "rep-movsb",
        /// The Internet checksum (RFC 1071) alone.
        Checksum = "checksum",
        /// The checksum in one pass, memcpy(3) in a second one.
        ChecksumThenCopy = "checksum+memcpy",
        /// Checksum and copy in one pass, in portable code.
        FoldedPortable = "folded-portable",
        /// Checksum and copy in one pass, in AVX2 vectors.
        FoldedAvx2 = "folded-avx2",
        /// The same with stores past the caches.
        FoldedStreaming = "folded-streaming",
        /// lmbench: a word of four bytes in every 16 is read.
        LmbenchRd = "rd",
        /// lmbench: a word of four bytes in every 16 is written.
        LmbenchWr = "wr",
        /// lmbench: a word of four bytes in every 16 is read and then written.
        LmbenchRdwr = "rdwr",
        /// lmbench: a word of four bytes in every 16 is copied.
        LmbenchCp = "cp",
        /// lmbench: every word of four bytes is read.
        LmbenchFrd = "frd",
        /// lmbench: every word of four bytes is written.
        LmbenchFwr = "fwr",
        /// lmbench: every word of four bytes is copied.
        LmbenchFcp = "fcp",
        /// lmbench: bzero(3).
        LmbenchBzero = "bzero",
        /// lmbench: bcopy(3).
        LmbenchBcopy = "bcopy",
    }
}

impl MemoryLoop {
    /// Whether it goes from one half of the set to the other, so that a pass counts half of the set's bytes.
    pub fn has_two_buffers(self) -> bool {
        match self {
            Self::Memcpy
            | Self::RepMovsb
            | Self::ChecksumThenCopy
            | Self::FoldedPortable
            | Self::FoldedAvx2
            | Self::FoldedStreaming
            | Self::LmbenchCp
            | Self::LmbenchFcp
            | Self::LmbenchBcopy => true,
            Self::Read
            | Self::Write
            | Self::Checksum
            | Self::LmbenchRd
            | Self::LmbenchWr
            | Self::LmbenchRdwr
            | Self::LmbenchFrd
            | Self::LmbenchFwr
            | Self::LmbenchBzero => false,
        }
    }

    /// Whether it is one of lmbench's, under lmbench's name.
    pub fn is_lmbench(self) -> bool {
        matches!(
            self,
            Self::LmbenchRd
                | Self::LmbenchWr
                | Self::LmbenchRdwr
                | Self::LmbenchCp
                | Self::LmbenchFrd
                | Self::LmbenchFwr
                | Self::LmbenchFcp
                | Self::LmbenchBzero
                | Self::LmbenchBcopy
        )
    }
}
