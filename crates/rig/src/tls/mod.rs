//! Records of TLS without its handshake: both ends of a connection are given the same secret, from
//! which the keys of its first record on are derived.
//!
//! What a handshake costs is a question about connections and not about bytes. Its certificates
//! would be in the window of a trial of many short connections, and the kernel's TLS wants keys
//! from user space in any case.

mod kernel;
mod opener;
mod record;
mod sealer;
mod session;

pub(crate) use kernel::keyed_socket;
pub(crate) use opener::{Opener, not_decrypted};
pub(crate) use record::Layout;
pub(crate) use sealer::Sealer;
pub use session::{TlsKeying, TlsSecret, TlsSession};

#[cfg(test)]
mod tests;
