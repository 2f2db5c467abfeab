//! `pages`: the pages of the resident copy, from which some paths send.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// The pages of the resident copy, from which vmsplice, MSG_ZEROCOPY and io_uring's zero-copy
    /// sends send.
    CopyPages, "kind of pages", {
        /// Pages of 4 KiB wherever the kernel has them: neighbours are not adjacent in physical
        /// memory. Huge pages if the system gives these by default.
        Scattered = "scattered",
        /// Huge pages (MADV_HUGEPAGE).
        Huge = "huge",
    }
}

pub(super) struct PagesFactor;

impl Definition for PagesFactor {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn levels(&self) -> &'static str {
        "`scattered` (of 4 KiB, no two neighbours adjacent in physical memory), `huge` \
         (MADV_HUGEPAGE): what `vmsplice`, \
         `msg-zerocopy` and io_uring's zero-copy sends send from; no effect on other paths"
    }

    fn examples(&self) -> &'static [&'static str] {
        CopyPages::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<CopyPages>(text)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.pages.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.pages = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.pages = own.pages.unwrap_or(at.pages);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Pages from which vmsplice, msg-zerocopy and io_uring's zero-copy sends send: \
                    scattered (of 4 KiB, wherever the kernel has them) or huge \
                    [default: scattered]";
        Some(FactorOption::expert("pages", "KIND", "align", help).with_names(CopyPages::NAMES))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("pages", "pages of the copy:")
    }
}
