//! Names that are typed and saved: the macro that makes an enum of them, and the names of links,
//! soakers and memory loops. Names that are levels of a factor are in the factor's file, that of an
//! experiment in the experiment's.

/// The error for an unknown name; lists the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} \"{given}\"")]
pub struct UnknownName {
    /// `send path`, `link` ...
    pub what: &'static str,
    /// The name as typed.
    pub given: String,
    /// The names that exist, in the order of the documentation.
    pub known: Vec<&'static str>,
}

macro_rules! names {
    ($(#[$doc:meta])* $type:ident, $what:literal, {
        $($(#[$vdoc:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $type {
            $($(#[$vdoc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every one that can be typed, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// The name as typed and saved.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(given: &str) -> std::result::Result<Self, $crate::UnknownName> {
                let found = Self::ALL.iter().copied().find(|each| each.name() == given);
                found.ok_or_else(|| $crate::UnknownName {
                    what: $what,
                    given: given.to_owned(),
                    known: Self::NAMES.to_vec(),
                })
            }
        }
    };
}

pub(crate) use names;

names! {
    /// Kind of link, over which the bytes travel.
    LinkKind, "link", {
        /// The host's own `lo`.
        Loopback = "loopback",
        /// Two network namespaces of zc's own and a veth pair between them.
        Veth = "veth",
        /// A veth pair whose sender's end discards packets, and an ACK generator: the sender's cost
        /// alone.
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
    /// Fixed work that the soakers do with otherwise idle CPU time.
    SoakerKind, "soaker", {
        /// A dependency chain in registers: measures CPU time.
        Alu = "alu",
        /// Also dirties cache lines: measures CPU time and memory bandwidth.
        Cache = "cache",
    }
}

names! {
    /// A loop over a working set. With two buffers, the first half of the set is copied to the
    /// second.
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
        /// The same with non-temporal stores.
        FoldedStreaming = "folded-streaming",
        /// Encryption in place, in TLS records of 16 KiB, by AEAD_AES_128_GCM.
        Aes128Gcm = "aes-128-gcm",
        /// The same by AEAD_AES_256_GCM.
        Aes256Gcm = "aes-256-gcm",
        /// The same by AEAD_CHACHA20_POLY1305.
        Chacha20Poly1305 = "chacha20-poly1305",
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
    /// Whether it copies one half of the set to the other, so that a pass counts half of the set's
    /// bytes.
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
            | Self::Aes128Gcm
            | Self::Aes256Gcm
            | Self::Chacha20Poly1305
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
