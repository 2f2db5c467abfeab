//! veth

use super::{Link, Sides};
use crate::record::No;

pub(super) fn bring_up(_sides: Sides) -> Result<Box<dyn Link>, No> {
    Err(No::unsupported("not written yet"))
}
