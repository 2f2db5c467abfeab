//! Reads what formats 2 and 3 saved: one JSON document with one block per line, whose readings are
//! differences from one another.
//!
//! ```text
//! {"zc_run":3,"zc_run_minor":0,...,"blocks":[
//! {"index":0,...},
//! {"index":1,...}
//! ],"end":null}
//! ```
//!
//! [`delta_reading`] has the rules for readings. A line can be read by itself: the first reading of
//! a block is absolute. Nothing writes these formats any more; `zc convert` writes such a run as
//! the current one.

mod block;
mod delta_array;
mod delta_reading;
mod document;
mod room;
mod text;

pub(super) use block::read_block;
pub(super) use document::{BLOCKS, closed_head, read_document, read_header, read_tail};
