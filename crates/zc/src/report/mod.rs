//! A saved run as text. Pure: the same document in, the same bytes out; no clock, no terminal, no file.

mod escape;

pub use escape::escape;
