//! What is being written: the page so far, the costs that stand on it, and the names of its places.

use super::markup::Markup;
use super::units::{Costs, Unit};
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

    /// A name that no other place of the page has.
    pub(crate) fn id(&mut self) -> String {
        self.ids += 1;
        format!("z{}", self.ids)
    }

    /// A cost that changes its text with the unit: its place, and the text to begin with.
    pub(crate) fn cost(&mut self, cost: Figure) -> (String, String) {
        let place = self.costs.place(cost);
        (place.to_string(), self.costs.text(place).to_owned())
    }

    /// Text in which every mention of the unit that the page is written in changes with it.
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
