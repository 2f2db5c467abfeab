//! NFS: a server that exports the file set, a client that reads it by READs of one size at a rate, and
//! what stands between zc and these programs.
//!
//! Both run in network namespaces of the link, and the server in a mount namespace of its own, in which
//! it finds its export, its state and its port mapper: nothing of the host's is touched, and nothing is
//! left when its last process is gone.

mod bytes;
mod copies;
mod ganesha;
mod knfsd;
mod load;
mod mounts;
mod mountstats;
mod place;
mod port_mapper;
mod program;
mod reader;
mod reading;
mod serve;
mod serving;
mod words;

pub(crate) use bytes::same_bytes;
pub use copies::Copies;
pub use load::{NfsLoad, Reads};
pub use mounts::read as read_by_mounts;
pub use reader::{Reader, ReaderProgram};
pub use serve::{Exported, ServerProgram, serve, start_server};
pub use serving::Serving;
pub use words::Opened;
