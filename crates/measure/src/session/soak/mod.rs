//! `zc soak`: the soakers alone, without a plan. They measure the load of this machine ([`live`]),
//! a command from beginning to end ([`command`]), or a known load ([`verify`]). The result has
//! counts and no estimates.

mod burner;
mod command;
mod live;
mod setup;
mod taken;
mod verify;

pub use command::{CommandFault, CommandOptions, command};
pub use live::{Heard, LiveOptions, live};
pub use setup::Soaked;
pub use verify::{VerifyOptions, verify};

/// The other end of a helper process: see [`crate::meter::serve`].
pub use crate::meter::serve as helper;
