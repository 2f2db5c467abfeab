//! NFS: a server that exports the file set, or one that is there; a client that reads a file by
//! READs of one size at a rate, or writes it by WRITEs; and what stands between zc and these
//! programs.
//!
//! Both run in network namespaces of the link, and the server in a mount namespace of its own, in
//! which it finds its export, its state and its port mapper: nothing of the host's is touched, and
//! nothing is left when its last process is gone.

mod bytes;
mod calling;
mod calls;
mod copies;
mod exported;
mod ganesha;
mod knfsd;
mod load;
mod mountinfo;
mod mounts;
mod mountstats;
mod pattern;
mod place;
mod port_mapper;
mod program;
mod reader;
mod serve;
mod serving;
mod words;

pub(crate) use bytes::same_bytes;
pub use calling::Calling;
pub use copies::Copies;
pub use exported::{Exported, InMount};
pub use load::{CallsOf, NfsLoad};
pub use mounts::read as read_by_mounts;
pub use pattern::written_crc32;
pub(super) use place::NFS_PORT;
pub use reader::{Reader, ReaderProgram};
pub use serve::{ServerProgram, serve, start_server};
pub use serving::Serving;
pub use words::{Opened, Order, ToOpen};
