//! The ways in which another machine can take the bytes of a run.

use std::net::SocketAddr;

use zc_remote::carry::Carry;
use zc_remote::secret::Secret;

/// The machine that receives the bytes.
#[derive(Debug, Clone)]
pub enum RemoteEnd {
    /// `zc serve` listens there.
    Zc {
        /// Name or address.
        host: String,
        /// Port of its control connection.
        port: u16,
        /// Secret for the handshake.
        secret: Secret,
    },
    /// A command connects stdin and stdout to a shell there.
    Via {
        /// `ssh HOST` ...
        command: String,
        /// Address for data connections, whatever its port; `None` tries those that the server
        /// reports.
        address: Option<SocketAddr>,
        /// Action when the other machine has no zc.
        carry: Carry,
    },
    /// An iperf3 server listens there.
    Iperf3 {
        /// Name or address.
        host: String,
        /// Port that it listens on.
        port: u16,
    },
    /// A discard port there receives and ignores bytes.
    Discard {
        /// Name or address.
        host: String,
        /// Port that it listens on.
        port: u16,
    },
}

impl RemoteEnd {
    /// Host and port on which it listens; `None` behind a command.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        match self {
            Self::Zc { host, port, .. }
            | Self::Iperf3 { host, port }
            | Self::Discard { host, port } => Some((host, *port)),
            Self::Via { .. } => None,
        }
    }
}
