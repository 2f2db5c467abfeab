//! `message`: the buffer of paths that have one, and the largest call of those that have none.

use super::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams};

pub(super) struct Message;

impl Effect for Message {
    fn set_up(&self, cell: &Cell, _fixed: &FixedParams, setup: &mut SendSetup) {
        if let Some(message) = cell.levels.message_bytes {
            setup.buffer_bytes = message;
            setup.call_bytes = Some(message);
        }
    }
}
