//! `message`: the size of the buffer, or for paths without a buffer the largest call.

use super::effect::Effect;
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
