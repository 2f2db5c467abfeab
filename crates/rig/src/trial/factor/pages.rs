//! `pages`: the kind of pages that the resident copy of the files consists of.

use super::effect::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams};

pub(super) struct Pages;

impl Effect for Pages {
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.pages = fixed.pages;
    }
}
