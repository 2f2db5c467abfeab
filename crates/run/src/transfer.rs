//! The transfer of a cell, and who sends and receives it: zc's own paths, or programs that are not
//! zc's.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Form, NfsCall, RecvPath, SendPath};

/// What is transferred in the trials of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "SavedTransfer", into = "SavedTransfer")]
pub enum Transfer {
    /// Files over connections, by paths of zc's own.
    Paths {
        /// How zc sends.
        send: SendPath,
        /// How zc receives.
        recv: RecvPath,
    },
    /// Responses of a server other than zc: `zc run server`.
    Server,
    /// READs or WRITEs of NFS: `zc run nfs`.
    Nfs(NfsCall),
}

impl Transfer {
    /// The send path, if zc sends.
    pub fn send_path(self) -> Option<SendPath> {
        match self {
            Self::Paths { send, .. } => Some(send),
            Self::Server | Self::Nfs(_) => None,
        }
    }

    /// The receive path, if zc receives.
    pub fn recv_path(self) -> Option<RecvPath> {
        match self {
            Self::Paths { recv, .. } => Some(recv),
            Self::Server | Self::Nfs(_) => None,
        }
    }

    /// The form of what zc sends, if zc sends.
    pub fn form(self) -> Option<Form> {
        self.send_path().map(SendPath::form)
    }

    /// Whether zc's send path encrypts.
    pub fn encrypts(self) -> bool {
        self.form().is_some_and(Form::is_encrypted)
    }

    /// Whether zc sends datagrams, which may be lost.
    pub fn is_of_datagrams(self) -> bool {
        self.form().is_some_and(Form::is_datagrams)
    }

    /// The same with a receiver that reads what the sender sends: in place of `recv`, the usual one
    /// of that form, if `recv` is for another. A receiver of streams that is not the usual one is
    /// left to records of TLS: they may be dropped unread, and what else it does with them is told.
    #[must_use]
    pub fn paired(self) -> Self {
        let Self::Paths { send, recv } = self else { return self };
        let recv = match (send.form(), recv.form()) {
            (sent, read) if sent == read => recv,
            (Form::Records, Form::Stream) if recv != RecvPath::Recv => recv,
            (sent, _) => sent.usual_receiver(),
        };
        Self::Paths { send, recv }
    }

    /// The call, if it is one of NFS.
    pub fn nfs_call(self) -> Option<NfsCall> {
        match self {
            Self::Nfs(call) => Some(call),
            Self::Paths { .. } | Self::Server => None,
        }
    }

    /// The name of what sends, as saved and shown: a send path, `server`, or a call of NFS.
    pub fn sender(self) -> String {
        match self {
            Self::Paths { send, .. } => send.to_string(),
            Self::Server => SERVER.to_owned(),
            Self::Nfs(call) => call.to_string(),
        }
    }

    /// The receive path that is saved and shown. A client other than zc has a fixed one in its
    /// place.
    pub fn receiver(self) -> RecvPath {
        match self {
            Self::Paths { recv, .. } => recv,
            Self::Server => RecvPath::RecvTrunc,
            Self::Nfs(_) => RecvPath::Recv,
        }
    }
}

/// The saved name of a server that is not zc's.
const SERVER: &str = "server";

/// How a transfer is saved: the names of what sends and of what receives.
#[derive(Serialize, Deserialize, JsonSchema)]
struct SavedTransfer {
    /// Send path, `server` (`zc run server`), or version and operation of NFS (`zc run nfs`).
    send: Sender,
    /// Receive path.
    recv: RecvPath,
}

impl From<Transfer> for SavedTransfer {
    fn from(transfer: Transfer) -> Self {
        let send = match transfer {
            Transfer::Paths { send, .. } => Sender::Path(send),
            Transfer::Server => Sender::Server,
            Transfer::Nfs(call) => Sender::Nfs(call),
        };
        Self { send, recv: transfer.receiver() }
    }
}

impl From<SavedTransfer> for Transfer {
    fn from(SavedTransfer { send, recv }: SavedTransfer) -> Self {
        match send {
            Sender::Path(send) => Self::Paths { send, recv },
            Sender::Server => Self::Server,
            Sender::Nfs(call) => Self::Nfs(call),
        }
    }
}

/// The sending side of a saved transfer.
enum Sender {
    Path(SendPath),
    Server,
    Nfs(NfsCall),
}

impl Serialize for Sender {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Path(path) => path.serialize(out),
            Self::Server => out.serialize_str(SERVER),
            Self::Nfs(call) => call.serialize(out),
        }
    }
}

impl<'de> Deserialize<'de> for Sender {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if name == SERVER {
            return Ok(Self::Server);
        }
        let known = name.parse().map(Self::Path).or_else(|_| name.parse().map(Self::Nfs));
        known.map_err(|_| de::Error::custom(format_args!("unknown send path `{name}`")))
    }
}

impl JsonSchema for Sender {
    fn schema_name() -> Cow<'static, str> {
        "Sender".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<SendPath>(),
            { "description": "Send path of a server other than zc.", "const": SERVER },
            generator.subschema_for::<NfsCall>(),
        ] })
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.sender())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_sender_has_a_receiver_that_reads_what_it_sends() {
        let paired = |send, recv| Transfer::Paths { send, recv }.paired().receiver();
        assert_eq!(paired(SendPath::TlsWrite, RecvPath::Recv), RecvPath::TlsRecv);
        assert_eq!(paired(SendPath::TlsWrite, RecvPath::KtlsRecv), RecvPath::KtlsRecv);
        assert_eq!(paired(SendPath::Sendfile, RecvPath::KtlsRecv), RecvPath::Recv);
        assert_eq!(paired(SendPath::UdpGso, RecvPath::RecvTrunc), RecvPath::UdpRecvmmsg);
        assert_eq!(paired(SendPath::UdpGso, RecvPath::UdpGro), RecvPath::UdpGro);
        assert_eq!(paired(SendPath::QuicLike, RecvPath::UdpGro), RecvPath::QuicRecv);
        assert_eq!(paired(SendPath::TlsWrite, RecvPath::UdpGro), RecvPath::TlsRecv);
        assert_eq!(paired(SendPath::Sendfile, RecvPath::UdpGro), RecvPath::Recv);
        // Nobody decrypts, as the user wants it.
        assert_eq!(paired(SendPath::TlsWrite, RecvPath::RecvTrunc), RecvPath::RecvTrunc);
        assert_eq!(Transfer::Server.paired(), Transfer::Server);
    }

    #[test]
    fn each_kind_of_transfer_is_saved_by_its_names_and_read_again() {
        let own = Transfer::Paths { send: SendPath::Splice, recv: RecvPath::UringRecv };
        let calls = NfsCall::all().map(Transfer::Nfs);
        for transfer in calls.chain([own, Transfer::Server]) {
            let saved = serde_json::to_value(transfer).unwrap();
            assert_eq!(saved["send"], Value::String(transfer.sender()));
            assert_eq!(serde_json::from_value::<Transfer>(saved).unwrap(), transfer);
        }
        let unknown = json!({"send": "nfs-v2", "recv": "recv"});
        assert!(serde_json::from_value::<Transfer>(unknown).is_err());
    }
}
