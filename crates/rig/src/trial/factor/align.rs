//! `align`: the alignment of a path's buffer. The walk over the files aligns what is read from them
//! (`trial::sending`, `trial::proof`).

use super::effect::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams};

pub(super) struct Align;

impl Effect for Align {
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.align = fixed.align;
    }
}
