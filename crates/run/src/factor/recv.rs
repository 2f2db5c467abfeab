//! `recv`: the receive path. The list of receive paths is here, crates/rig/src/path/recv/ has a
//! file for each.

use super::definition::{Definition, FactorOption, Parameter};
use super::message::CALL_BYTES;
use super::recv_buffer::RecvBufferFactor;
use super::value::Value;
use crate::names::names;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, Form, Levels, LinkFacts, Result, Transfer};

names! {
    /// One way of getting bytes out of a socket.
    RecvPath, "receive path", {
        /// `recv(2)` into a buffer.
        Recv = "recv",
        /// `recv(2)` with `MSG_TRUNC`: the bytes are discarded without a copy. An upper bound, not
        /// a real receiver.
        RecvTrunc = "recv-trunc",
        /// `splice(2)` socket to pipe, pipe to /dev/null.
        Splice = "splice",
        /// `TCP_ZEROCOPY_RECEIVE`, and `recv(2)` for what the kernel does not map.
        ZerocopyReceive = "zerocopy-receive",
        /// `IORING_OP_RECV`.
        UringRecv = "uring-recv",
        /// `IORING_OP_RECV` multishot with a ring of provided buffers.
        UringMultishot = "uring-multishot",
        /// `IORING_OP_RECV` multishot in bundles (`IORING_RECVSEND_BUNDLE`) into incremental
        /// buffers, on a tuned ring.
        UringBundle = "uring-bundle",
        /// The same, with waits of 100 us at least (`min_wait_usec`).
        UringMinWait = "uring-min-wait",
        /// `uring-bundle`, with polls of the network card before each wait
        /// (`IORING_REGISTER_NAPI`).
        UringNapi = "uring-napi",
        /// `recv(2)` into a buffer, TLS records decrypted there in user space.
        TlsRecv = "tls-recv",
        /// `recv(2)` from a socket whose kernel decrypts (kTLS).
        KtlsRecv = "ktls-recv",
        /// A `recvmsg(2)` for each UDP datagram.
        UdpRecvmsg = "udp-recvmsg",
        /// A `recvmmsg(2)` for several datagrams.
        UdpRecvmmsg = "udp-recvmmsg",
        /// A `recvmsg(2)` for several datagrams, which the kernel has joined (`UDP_GRO`).
        UdpGro = "udp-gro",
        /// The same, each decrypted in user space.
        QuicRecv = "quic-recv",
    }
}

impl RecvPath {
    /// Whether the bytes are dropped uncopied, so that its cost is a bound and not a receiver's.
    pub fn drops_bytes(self) -> bool {
        self == Self::RecvTrunc
    }

    /// The form of what it reads.
    pub fn form(self) -> Form {
        match self {
            Self::Recv
            | Self::RecvTrunc
            | Self::Splice
            | Self::ZerocopyReceive
            | Self::UringRecv
            | Self::UringMultishot
            | Self::UringBundle
            | Self::UringMinWait
            | Self::UringNapi => Form::Stream,
            Self::TlsRecv | Self::KtlsRecv => Form::Records,
            Self::UdpRecvmsg | Self::UdpRecvmmsg | Self::UdpGro => Form::Datagrams,
            Self::QuicRecv => Form::SealedDatagrams,
        }
    }

    /// Whether it decrypts what it receives.
    pub fn decrypts(self) -> bool {
        self.form().is_encrypted()
    }

    /// Whether it maps the pages that payload arrived in, so that a share of mapped bytes
    /// (`mapped_bytes`) says something.
    pub fn maps_pages(self) -> bool {
        self == Self::ZerocopyReceive
    }
}

pub(super) struct RecvFactor;

impl Definition for RecvFactor {
    fn name(&self) -> &'static str {
        "recv"
    }

    fn levels(&self) -> &'static str {
        "names of receive paths"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["zerocopy-receive", "recv"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<RecvPath>(text)
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(cell.transfer.receiver().to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        if let Transfer::Paths { recv, .. } = &mut cell.transfer {
            *recv = level.name().unwrap_or(*recv);
        }
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        let help = "Receive path, and the bytes of its buffer if not 64k [default: recv]";
        Some(FactorOption::sent("recv", "NAME[:SIZE]", "paths", help).with_names(RecvPath::NAMES))
    }

    /// `NAME`, or `NAME:SIZE` with a level of the factor `recv-buffer`.
    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let (name, size) =
            text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let path = name.trim().parse::<RecvPath>().map_err(unknown)?;
        let mut levels = vec![(self.name(), Value::Name(path.to_string()))];
        if let Some(size) = size {
            let value =
                Value::size(size, CALL_BYTES).map_err(|error| error.prefixed("--recv: "))?;
            levels.push((RecvBufferFactor.name(), value));
        }
        Ok(levels)
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("recv-path", "receive path")
    }
}
