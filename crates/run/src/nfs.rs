//! READs and WRITEs of NFS as the messages of a run.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::names::{UnknownName, names};

names! {
    /// The server of `zc run nfs`.
    NfsServer, "NFS server", {
        /// The kernel's own.
        Knfsd = "knfsd",
        /// nfs-ganesha, in user space.
        Ganesha = "ganesha",
        /// A server that ran already.
        External = "external",
    }
}

names! {
    /// The client of `zc run nfs`.
    NfsClient, "NFS client", {
        /// A mount of the kernel's.
        Kernel = "kernel",
        /// libnfs, in user space.
        User = "user",
    }
}

names! {
    /// Transport of NFS.
    NfsTransport, "transport of NFS", {
        /// TCP.
        Tcp = "tcp",
        /// UDP, as in 2001.
        Udp = "udp",
        /// RDMA.
        Rdma = "rdma",
    }
}

/// Operation that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NfsOperation {
    /// READs.
    Read,
    /// WRITEs that the server may keep in memory (UNSTABLE), and a COMMIT after the last of them.
    Write,
    /// WRITEs that are on stable storage when they are answered (FILE_SYNC).
    WriteSync,
}

impl NfsOperation {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::WriteSync];

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write | Self::WriteSync => "WRITE",
        }
    }
}

names! {
    /// Version of NFS.
    NfsVersion, "version of NFS", {
        /// RFC 1813.
        V3 = "3",
        /// RFC 7530.
        V40 = "4.0",
        /// RFC 8881.
        V41 = "4.1",
        /// RFC 7862.
        V42 = "4.2",
    }
}

/// One kind of call that a client makes: the version and the operation. Its name, as typed, shown
/// and saved, is `nfs-v4.2`, `nfs-v4.2-write` or `nfs-v4.2-write-sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NfsCall {
    /// Version of the protocol.
    pub version: NfsVersion,
    /// Operation that is requested.
    pub operation: NfsOperation,
}

impl NfsCall {
    /// Every kind of call.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_operation =
            |operation| NfsVersion::ALL.iter().map(move |&version| Self { version, operation });
        NfsOperation::ALL.into_iter().flat_map(of_operation)
    }
}

impl fmt::Display for NfsCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation {
            NfsOperation::Read => "",
            NfsOperation::Write => "-write",
            NfsOperation::WriteSync => "-write-sync",
        };
        f.pad(&format!("nfs-v{}{operation}", self.version))
    }
}

impl FromStr for NfsCall {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        Self::all().find(|call| call.to_string() == given).ok_or_else(|| UnknownName {
            what: "call of NFS",
            given: given.to_owned(),
            known: Vec::new(),
        })
    }
}

impl From<NfsCall> for String {
    fn from(call: NfsCall) -> Self {
        call.to_string()
    }
}

impl TryFrom<String> for NfsCall {
    type Error = UnknownName;

    fn try_from(given: String) -> Result<Self, UnknownName> {
        given.parse()
    }
}

impl JsonSchema for NfsCall {
    fn schema_name() -> Cow<'static, str> {
        "NfsCall".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = Self::all().map(|call| call.to_string()).collect();
        let description = "Version of NFS, and operation: READs, WRITEs that the server may keep \
                           in memory, or WRITEs that are on stable storage when they are answered.";
        json_schema!({ "description": description, "type": "string", "enum": names })
    }
}

/// READs or WRITEs: a client reads parts of one file from a server or writes them to it. Each is
/// one call of the sender's, with its bytes of data as payload. The server has the sender's CPU and
/// the client the receiver's, with the softirqs of each, whichever way the data goes. A server that
/// is there already is elsewhere, and the client has this machine; or the client is elsewhere, and
/// the server has this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NfsPlan {
    /// Kind of the server.
    pub server: NfsServer,
    /// The server's program and version, as it names itself; for a server that ran already, its
    /// address.
    pub server_version: String,
    /// Whether a server that was there is on this machine, and what it costs in every cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_machine: bool,
    /// Kind of the client.
    pub client: NfsClient,
    /// The command that leads to the machine of the client, if that is not this one. Then every
    /// cost is the server's, and the calls of a window are its length times the rate at which they
    /// were answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_at: Option<String>,
    /// Whether readings have the CPU clocks of all who work for the calls on this machine: of a
    /// server that was there, whose processes were found by the sockets that listen on its port, or
    /// its threads of the kernel by their name; of the kernel's client the kernel's workers (since
    /// format 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_clocks: bool,
    /// READs or WRITEs at a time, at most.
    pub depth: usize,
    /// Length in bytes of the file, or of its part that is read.
    pub file_bytes: u64,
    /// CRC-32 of these bytes, as the client read them before the first block: that of the files
    /// which were to be served, or of what the client had written there.
    pub crc32: u32,
    /// Parameters that client and server agreed on, for each version, and for each size and number
    /// of connections where the client has a mount for each.
    pub mounts: Vec<NfsMount>,
}

impl NfsPlan {
    /// Whether every cost is the client's: the server is on another machine, where nothing
    /// measures.
    pub fn is_of_the_client(&self) -> bool {
        let is_there = self.server == NfsServer::External;
        is_there && !self.shares_machine && self.client_at.is_none()
    }

    /// Whether every cost is the server's: the client is on another machine, where nothing
    /// measures.
    pub fn is_of_the_server(&self) -> bool {
        self.client_at.is_some() && !self.shares_machine
    }
}

/// A mount, with the parameters that client and server agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsMount {
    /// Version and operation of the calls that are made there.
    #[serde(rename = "path")]
    pub call: NfsCall,
    /// The size of a READ or WRITE that was asked for, in bytes; `None`: the client sends them of
    /// any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Connections to the server (`nconnect`).
    pub connections: usize,
    /// URL of the file and mount options, as given to the client.
    pub url: String,
    /// The longest READ or WRITE, in bytes, that the server allows, or that client and server
    /// agreed on.
    pub largest: u64,
    /// READs that the kernel's server spliced from the page cache, among those by which the whole
    /// file was read once, before the first block; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spliced: Option<u64>,
    /// READs among the same that it copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<u64>,
}

impl NfsMount {
    /// A mount that is yet to be opened.
    pub fn to_be(call: NfsCall, size: Option<u64>, connections: usize, url: String) -> Self {
        Self { call, size, connections, url, largest: 0, spliced: None, copied: None }
    }

    /// Whether the client sends READs or WRITEs of so many bytes there, if the server lets it.
    pub fn is_for(&self, call: NfsCall, bytes: usize, connections: usize) -> bool {
        (self.call, self.connections) == (call, connections)
            && self.size.is_none_or(|size| size == bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_of_the_end_that_is_on_this_machine() {
        let whose = |server, shares_machine, client_at: Option<&str>| {
            let plan = NfsPlan {
                server,
                server_version: String::new(),
                shares_machine,
                client: NfsClient::User,
                client_at: client_at.map(str::to_owned),
                all_clocks: false,
                depth: 1,
                file_bytes: 0,
                crc32: 0,
                mounts: Vec::new(),
            };
            (plan.is_of_the_client(), plan.is_of_the_server())
        };
        let far = Some("ssh far");
        assert_eq!(whose(NfsServer::External, false, None), (true, false));
        assert_eq!(whose(NfsServer::External, false, far), (false, true));
        for (server, shares_machine, client_at) in [
            (NfsServer::External, true, None),
            (NfsServer::External, true, far),
            (NfsServer::Ganesha, false, None),
        ] {
            assert_eq!(whose(server, shares_machine, client_at), (false, false));
        }
    }
}
