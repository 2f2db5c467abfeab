//! NFS: a server that exports the file set, a client that reads it by READs of one size at a rate, and
//! what stands between zc and these programs.
//!
//! Both run in network namespaces of the link, and the server in a mount namespace of its own, in which
//! it finds its export, its state and its port mapper: nothing of the host's is touched, and nothing is
//! left when its last process is gone.

mod bytes;
mod ganesha;
mod load;
mod port_mapper;
mod reader;
mod serve;

pub(crate) use bytes::same_bytes;
pub use load::{NfsLoad, Reads};
pub use reader::{Opened, Reader, ReaderProgram};
pub use serve::{Exported, serve, start_server, why_no_server};
