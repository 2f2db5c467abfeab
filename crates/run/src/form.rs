//! The form in which payload travels between two paths: both ends have to know it.

use super::{RecvPath, SendPath};

/// Form of what a send path puts on the wire, and of what a receive path reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A TCP stream in the clear.
    Stream,
    /// A TCP stream of TLS records.
    Records,
    /// UDP datagrams in the clear.
    Datagrams,
    /// UDP datagrams, each of which is encrypted by itself.
    SealedDatagrams,
}

impl Form {
    /// Whether the payload is encrypted.
    pub fn is_encrypted(self) -> bool {
        matches!(self, Self::Records | Self::SealedDatagrams)
    }

    /// Whether it travels in datagrams, which may be lost.
    pub fn is_datagrams(self) -> bool {
        matches!(self, Self::Datagrams | Self::SealedDatagrams)
    }

    /// The send path that is tried with receive paths of this form.
    pub fn usual_sender(self) -> SendPath {
        match self {
            Self::Stream => SendPath::ReadSend,
            Self::Records => SendPath::TlsWrite,
            Self::Datagrams => SendPath::UdpGso,
            Self::SealedDatagrams => SendPath::QuicLike,
        }
    }

    /// The receive path where nothing else is asked for.
    pub fn usual_receiver(self) -> RecvPath {
        match self {
            Self::Stream => RecvPath::Recv,
            Self::Records => RecvPath::TlsRecv,
            Self::Datagrams => RecvPath::UdpRecvmmsg,
            Self::SealedDatagrams => RecvPath::QuicRecv,
        }
    }
}
