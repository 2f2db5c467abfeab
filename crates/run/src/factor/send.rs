//! `send`: the send path. The list of send paths is here, crates/rig/src/path/send/ has a file
//! for each.

use super::definition::{Definition, Difference, FactorOption, Side};
use super::value::Value;
use crate::names::names;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, Form, Levels, LinkFacts, Result, Transfer};

names! {
    /// One way of getting the bytes of files into a socket. docs/paths/ has a page for each.
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
        /// `IORING_OP_READ` of many buffers linked to an `IORING_OP_SEND` of each, on a tuned ring.
        UringSendBatch = "uring-send-batch",
        /// `IORING_OP_READ` of many provided buffers linked to one `IORING_OP_SEND` of all of them
        /// (`IORING_RECVSEND_BUNDLE`), on a tuned ring.
        UringSendBundle = "uring-send-bundle",
        /// Linked `IORING_OP_SEND_ZC` of 256 KiB from a registered resident copy, on a tuned ring.
        UringSendZcBatch = "uring-send-zc-batch",
        /// `IORING_OP_SENDMSG_ZC` of many parts of a registered resident copy, on a tuned ring.
        UringSendmsgZc = "uring-sendmsg-zc",
        /// `read(2)` into a buffer, TLS records encrypted there in user space, `send(2)` out of it.
        TlsWrite = "tls-write",
        /// `read(2)` into a buffer, `send(2)` out of it to a socket whose kernel encrypts (kTLS).
        KtlsWrite = "ktls-write",
        /// `sendfile(2)` to a socket whose kernel encrypts.
        KtlsSendfile = "ktls-sendfile",
        /// `splice(2)` file to pipe, pipe to a socket whose kernel encrypts.
        KtlsSplice = "ktls-splice",
        /// `sendfile(2)` to a socket whose network card encrypts, out of the page cache
        /// (`TLS_TX_ZEROCOPY_RO`).
        KtlsSendfileZc = "ktls-sendfile-zc",
        /// `read(2)` into a buffer, a `send(2)` for each UDP datagram of it.
        UdpSend = "udp-send",
        /// The same with a `sendmmsg(2)` for several datagrams.
        UdpSendmmsg = "udp-sendmmsg",
        /// The same with a `send(2)` for several datagrams, which the kernel cuts (`UDP_SEGMENT`).
        UdpGso = "udp-gso",
        /// A `send(2)` with `MSG_ZEROCOPY` for each datagram, from a resident copy of the file set.
        UdpZerocopy = "udp-zerocopy",
        /// The same for several datagrams, which the kernel cuts (`UDP_SEGMENT`).
        UdpGsoZerocopy = "udp-gso-zerocopy",
        /// `IORING_OP_READ` of a buffer, linked to an `IORING_OP_SEND` for each datagram of it.
        UdpUring = "udp-uring",
        /// `IORING_OP_SEND_ZC` of several datagrams, which the kernel cuts, from a resident copy
        /// that is registered with the ring.
        UdpUringZc = "udp-uring-zc",
        /// The same by `IORING_OP_SENDMSG_ZC`, a part of the message for each datagram.
        UdpUringVectored = "udp-uring-vectored",
        /// Datagrams as QUIC has them: each is encrypted in user space, and the kernel cuts what
        /// one `send(2)` gives it (`UDP_SEGMENT`).
        QuicLike = "quic-like",
    }
}

impl SendPath {
    /// The form in which its payload travels.
    pub fn form(self) -> Form {
        match self {
            Self::ReadWrite
            | Self::ReadSend
            | Self::MmapWrite
            | Self::Sendfile
            | Self::Splice
            | Self::Vmsplice
            | Self::MsgZerocopy
            | Self::MsgZerocopyMmap
            | Self::UringSend
            | Self::UringSendZc
            | Self::UringSendZcFixed
            | Self::UringSplice
            | Self::UringSendBatch
            | Self::UringSendBundle
            | Self::UringSendZcBatch
            | Self::UringSendmsgZc => Form::Stream,
            Self::TlsWrite
            | Self::KtlsWrite
            | Self::KtlsSendfile
            | Self::KtlsSplice
            | Self::KtlsSendfileZc => Form::Records,
            Self::UdpSend
            | Self::UdpSendmmsg
            | Self::UdpGso
            | Self::UdpZerocopy
            | Self::UdpGsoZerocopy
            | Self::UdpUring
            | Self::UdpUringZc
            | Self::UdpUringVectored => Form::Datagrams,
            Self::QuicLike => Form::SealedDatagrams,
        }
    }

    /// Whether one call of it takes several datagrams.
    pub fn joins_datagrams(self) -> bool {
        self.form().is_datagrams() && !matches!(self, Self::UdpSend | Self::UdpZerocopy)
    }

    /// Whether it uses io_uring as its authors advise, on a ring tuned for it. The other paths of
    /// io_uring are what a program has first.
    pub fn is_tuned(self) -> bool {
        matches!(
            self,
            Self::UringSendBatch
                | Self::UringSendBundle
                | Self::UringSendZcBatch
                | Self::UringSendmsgZc
        )
    }

    /// The paths of `all` in plans: those of streams in the clear that are not variants of another
    /// one. Each path makes every interval of the same time wider, and `zc run uring` compares the
    /// variants of io_uring.
    pub fn basic() -> impl Iterator<Item = Self> {
        Self::in_the_clear().filter(|path| !path.is_tuned())
    }

    /// The paths of streams in the clear.
    pub fn in_the_clear() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|path| path.form() == Form::Stream)
    }
}

/// The word for all basic paths in a plan.
const ALL: &str = "all";

pub(super) struct SendFactor;

impl Definition for SendFactor {
    fn name(&self) -> &'static str {
        "send"
    }

    fn levels(&self) -> &'static str {
        "names of send paths; `\"all\"` is every one that sends a stream in the clear, without the \
         variants of `zc run uring`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["sendfile", "read+send"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<SendPath>(text)
    }

    fn group(&self, text: &str) -> Option<Vec<Value>> {
        (text == ALL).then(|| SendPath::basic().map(|path| Value::Name(path.to_string())).collect())
    }

    fn usual_reference(&self) -> Option<Value> {
        Some(Value::Name(SendPath::ReadSend.to_string()))
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(cell.transfer.sender())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        if let Transfer::Paths { send, .. } = &mut cell.transfer {
            *send = level.name().unwrap_or(*send);
        }
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        let help = "Send paths to compare, separated by commas; read+send is always among them \
            [default: the plan's]";
        Some(
            FactorOption::sent("paths", "NAMES", "files", help)
                .with_names(SendPath::NAMES)
                .several(),
        )
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let mut levels = Vec::new();
        for name in text.split(',') {
            let path = name.trim().parse::<SendPath>().map_err(unknown)?;
            let level = (self.name(), Value::Name(path.to_string()));
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        Ok(levels)
    }

    /// Cells of different paths are compared on purpose.
    fn differences(&self, _old: &Side<'_>, _new: &Side<'_>) -> Vec<Difference> {
        Vec::new()
    }
}
