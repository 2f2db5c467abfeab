//! The state of a page under construction: markup, costs and ids.

use super::markup::Markup;
use super::units::{Costs, Unit};
use crate::terminal::note::Note;
use zc_analysis::Figure;

/// A page under construction.
pub(crate) struct Page {
    pub(crate) out: Markup,
    pub(crate) costs: Costs,
    ids: usize,
}

impl Page {
    pub(crate) fn new(units: Vec<Unit>) -> Self {
        Self { out: Markup::default(), costs: Costs::new(units), ids: 0 }
    }

    /// An id that is unique on the page.
    pub(crate) fn id(&mut self) -> String {
        self.ids += 1;
        format!("z{}", self.ids)
    }

    /// A cost whose text changes with the unit: its index, and its text in the page's first unit.
    pub(crate) fn cost(&mut self, cost: Figure) -> (String, String) {
        let place = self.costs.place(cost);
        (place.to_string(), self.costs.text(place).to_owned())
    }

    /// The meaning of each unit, as a list under a heading of its own.
    pub(crate) fn about_units(&mut self) {
        self.out.raw("<h3>Units of cost</h3>\n<dl>\n");
        for unit in self.costs.units().to_vec() {
            self.out.element("dt", &[], &unit.name).element("dd", &[], &unit.about).raw("\n");
        }
        self.out.raw("</dl>\n");
    }

    /// Notes as a list of their labels, each with its text.
    pub(crate) fn notes(&mut self, notes: &[Note]) {
        self.out.raw("<dl>\n");
        for Note { label, text } in notes {
            self.out.element("dt", &[], label).element("dd", &[], text).raw("\n");
        }
        self.out.raw("</dl>\n");
    }

    /// Text in which every mention of the page's first unit changes with the unit.
    pub(crate) fn with_unit(&mut self, text: &str) {
        let unit = self.costs.first().to_owned();
        for (place, part) in text.split(unit.as_str()).enumerate() {
            if place > 0 {
                self.out.element("span", &[("class", "u")], &unit);
            }
            self.out.text(part);
        }
    }
}
