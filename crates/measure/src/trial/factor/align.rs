//! `align`: where a path's buffer begins. Where files begin is the walk's over them (`trial::sending`, `trial::proof`).

use super::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams};

pub(super) struct Align;

impl Effect for Align {
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.align = fixed.align;
    }
}
