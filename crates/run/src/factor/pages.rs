//! `pages`: the pages that paths send from whose bytes are in memory already.

use super::{Definition, Factor, FactorOption, Parameter, Value};
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// The pages that paths send from whose bytes are in memory already: vmsplice, MSG_ZEROCOPY, io_uring's zero-copy sends.
    CopyPages, "kind of pages", {
        /// Of 4 KiB, wherever the kernel had one: no two neighbours lie beside each other in physical memory. Where the system gives
        /// huge pages to all who ask for nothing, those.
        Scattered = "scattered",
        /// Huge pages (MADV_HUGEPAGE).
        Huge = "huge",
    }
}

/// The factor.
pub(super) struct PagesFactor;

impl Definition for PagesFactor {
    fn factor(&self) -> Factor {
        Factor::Pages
    }

    fn name(&self) -> &'static str {
        "pages"
    }

    fn levels(&self) -> &'static str {
        "`scattered` (of 4 KiB, no two neighbours adjacent in physical memory), `huge` (MADV_HUGEPAGE): what `vmsplice`, \
         `msg-zerocopy` and io_uring's zero-copy sends send from; no effect on other paths"
    }

    fn examples(&self) -> &'static [&'static str] {
        CopyPages::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<CopyPages>(text)
    }

    fn of(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.pages.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.pages = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.pages = own.pages.unwrap_or(at.pages);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "What vmsplice, msg-zerocopy and io_uring's zero-copy sends send from: scattered (pages of 4 KiB, \
                    wherever the kernel has them) or huge [default: scattered]";
        Some(FactorOption::expert("pages", "KIND", "align", help).of(CopyPages::NAMES))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("pages", "pages of the copy:")
    }
}
