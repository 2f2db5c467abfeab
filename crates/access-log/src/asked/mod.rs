//! A mix of requests that can be sent once more: a cycle of some hundred that has the shares and
//! sizes of a log, or of the web as it usually is.

mod asked_mix;
mod draw;
mod sample;
mod strata;
mod usual;

pub use asked_mix::{Asked, AskedKind, AskedMix, AskedOptions, Cut, LeftOut, Source, Spoken};
pub use draw::MixDraw;
