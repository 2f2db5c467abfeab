//! READs of NFS as the messages of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SendPath;
use super::names::names;

names! {
    /// The server of `zc run nfs`.
    NfsServer, "NFS server", {
        /// The kernel's own.
        Knfsd = "knfsd",
        /// nfs-ganesha, in user space.
        Ganesha = "ganesha",
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

/// READs: a client asks a server for parts of one file, one call of the sender's to a READ, and bytes
/// of data as payload. The server is the sender, the client the receiver, and each has a CPU of its own,
/// with its softirqs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NfsPlan {
    /// Who serves.
    pub server: NfsServer,
    /// The server's program and version, as it names itself.
    pub server_version: String,
    /// Who reads.
    pub client: NfsClient,
    /// READs at a time, at most.
    pub depth: usize,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// CRC-32 of the file, as the client read it before the first block: that of the files which were
    /// to be served.
    pub crc32: u32,
    /// Connections of each mount of the kernel's client (`nconnect`).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub connections: usize,
    /// What client and server agreed on, for each version, and for each size of a READ where the client
    /// has a mount for each.
    pub mounts: Vec<NfsMount>,
}

/// What client and server agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsMount {
    /// The version, which is the send path of its cells.
    pub version: SendPath,
    /// The size of a READ that was asked for, in bytes; `None`: the client sends READs of any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsize: Option<u64>,
    /// Where the file is, and how it is mounted, as the client was told.
    pub url: String,
    /// The longest READ, in bytes, that the server allows, or that client and server agreed on.
    pub largest_read: u64,
    /// Of the READs by which the whole file was read once, before the first block, those that the kernel's
    /// server spliced from the page cache; `None`: it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spliced: Option<u64>,
    /// And those that it copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<u64>,
}

impl NfsMount {
    /// What is to be opened, before it is.
    pub fn to_be(version: SendPath, rsize: Option<u64>, url: String) -> Self {
        Self { version, rsize, url, largest_read: 0, spliced: None, copied: None }
    }

    /// Whether the client reads by READs of so many bytes there, if the server lets it.
    pub fn is_for(&self, version: SendPath, bytes: usize) -> bool {
        self.version == version && self.rsize.is_none_or(|rsize| rsize == bytes as u64)
    }
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &usize) -> bool {
    *number == 1
}

impl SendPath {
    /// The version of NFS that this is; `None` for another path.
    pub fn nfs_version(self) -> Option<&'static str> {
        match self {
            Self::Nfs3 => Some("3"),
            Self::Nfs40 => Some("4.0"),
            Self::Nfs41 => Some("4.1"),
            Self::Nfs42 => Some("4.2"),
            _ => None,
        }
    }

    /// Every version of NFS, ascending.
    pub const NFS: [Self; 4] = [Self::Nfs3, Self::Nfs40, Self::Nfs41, Self::Nfs42];
}
