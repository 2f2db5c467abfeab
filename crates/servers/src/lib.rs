//! Trials of a server that is not zc's: a load of a fixed rate asks it, in one state after the
//! other, and the window is over that load, which goes on.
//!
//! Differences from a trial of zc's own paths: the server and its connections outlive trials, as
//! they do in service, so a window needs little warming up; the sender's threads are somebody
//! else's; and a call is a request.

#![forbid(unsafe_code)]

mod asked_for;
mod asker;
mod burner;
mod copies;
mod file_origin;
mod found;
mod generator;
mod h2load;
mod kept;
mod mix_files;
mod nfs;
mod own;
mod own_state;
mod rig;
mod served;
mod whole;

pub use asked_for::AskedFor;
pub use asker::{Asker, RemoteLoad};
pub use copies::{Listening, ServerCopy, serve as serve_copies};
pub use file_origin::{FileOrigin, OriginFiles};
pub use found::Found;
pub use generator::{Generator, URL as GENERATOR_URL};
pub use h2load::{H2load, Http2, askable};
pub use kept::keep as keep_server;
pub use mix_files::{MixFiles, mix_of_root, write_mix};
pub use nfs::{
    Calling, CallsOf, Copies as NfsCopies, Exported, InMount, NfsLoad, Opened, Order as NfsOrder,
    Reader, ReaderProgram, ServerProgram as NfsServerProgram, Serving, ToOpen, read_by_mounts,
    serve as serve_nfs, start_server as start_nfs_server, written_crc32,
};
pub use own::{Answer, HEAD_BYTES, OwnServer, why_not};
pub use rig::{OriginOf, ServerRig, ServerSetup};
pub use served::Served;
pub use whole::{Replayed, Whole};
