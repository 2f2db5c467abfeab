//! An icicle chart: call stacks as boxes that hang from their callers. Widths are inclusive sample
//! counts.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, Caption};
use zc_analysis::Figure;

pub(super) struct Node {
    pub(super) name: String,
    /// The index of its legend entry.
    pub(super) class: usize,
    pub(super) samples: u64,
    /// The largest first.
    pub(super) called: Vec<Node>,
}

/// The height of a box in pixels.
const BOX_HEIGHT: f64 = 18.0;
/// Boxes narrower than this share of the width are left out.
const LEAST_WIDTH: f64 = 0.006;
/// Boxes deeper than this are left out.
const GREATEST_DEPTH: usize = 22;

/// Draws the tree; the width of its root represents `cost`.
pub(super) fn icicle(page: &mut Page, caption: &Caption, root: &Node, cost: Figure) {
    if root.samples == 0 {
        return;
    }
    let mut out = Markup::default();
    let mut drawing = Drawing { out: &mut out, all: root.samples as f64, cost, deepest: 0 };
    drawing.node(page, root, 0.0, 0);
    let height = (drawing.deepest + 1) as f64 * BOX_HEIGHT;
    plot::frame(page, caption, &[], 0, height, &out);
}

struct Drawing<'a> {
    out: &'a mut Markup,
    all: f64,
    cost: Figure,
    deepest: usize,
}

impl Drawing<'_> {
    fn node(&mut self, page: &mut Page, node: &Node, left: f64, depth: usize) {
        let wide = node.samples as f64 / self.all;
        if wide < LEAST_WIDTH || depth >= GREATEST_DEPTH {
            return;
        }
        self.deepest = self.deepest.max(depth);
        // The samples' share of the cost; intervals are in the tables.
        let value = self.cost.value * wide;
        let place = page.costs.place(Figure {
            value,
            interval: None,
            half_width: None,
            blocks: self.cost.blocks,
        });
        let y = depth as f64 * BOX_HEIGHT;
        // Each box is a nested `svg`, which clips the name at its edge.
        self.out.open(
            "svg",
            &[
                ("class", &format!("box {}", plot::tint(node.class))),
                ("x", &percent(left)),
                ("y", &number(y)),
                ("width", &percent(wide)),
                ("height", &number(BOX_HEIGHT - 1.0)),
                ("data-k", &place.to_string()),
                ("data-n", &node.name),
            ],
        );
        self.out.raw("<rect class=\"seg\" width=\"100%\" height=\"100%\"/>");
        if wide > 0.025 {
            let text = format!("{} {}", plot::letter(node.class), node.name);
            self.out.element("text", &[("class", "l"), ("x", "3"), ("y", "13")], &text);
        }
        self.out.close("svg");
        let mut from = left;
        for called in &node.called {
            self.node(page, called, from, depth + 1);
            from += called.samples as f64 / self.all;
        }
    }
}
