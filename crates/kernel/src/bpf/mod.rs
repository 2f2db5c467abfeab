//! The BPF programs of zc: the null link's, on the egress of a device, the burner of the positive
//! control, on a socket, and the proxy that redirects between two sockets.
//!
//! Each program is a C file in this folder, which describes what it does, and is committed in
//! compiled form. aya loads and attaches them, and is not visible outside this module. Nothing is
//! pinned: file descriptors, the device and sockets keep maps and programs alive, so all are freed
//! when the process and the device's namespace end.
//!
//! # References
//! - bpf(2)
//! - tc-bpf(8)

mod ack_burn;
mod egress;
mod load;
mod mapped;
mod redirect;

pub use ack_burn::{AckBurn, BurnedFlow};
pub use egress::{Cell, Egress, SWALLOWED_PORT};
pub use load::{BpfError, Stage, is_loaded};
pub use redirect::Redirect;
