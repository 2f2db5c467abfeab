//! A run that was sampled: what each path's cost is made of as stacked bars, and the call stacks of each as an icicle. The
//! tables are those of the other reports.

use super::icicle::{self, Node};
use super::page::Page;
use super::plot::Words;
use super::stacked::{self, Bar};
use crate::profile::cells;
use zc_analysis::profile::{CellProfile, Class, Flame, Part, ProfileEstimates, tree};
use zc_run::{Run, escape};

/// No more icicles than this: each takes some tens of kilobytes.
const ICICLES: usize = 4;

/// The charts of a profile.
pub(super) fn charts(page: &mut Page, run: &Run, profile: &ProfileEstimates) {
    let classes: Vec<String> = Class::ALL.iter().map(|class| class.name().to_owned()).collect();
    let by_class = bars(profile, |cell| cell.classes.iter().map(|each| (each.class.place(), each.part)).collect());
    let words = Words {
        title: "What the CPU time of each path goes to, us/MB".to_owned(),
        note: "A bar is the path's soaked cost, divided as its samples say.".to_owned(),
        seen: String::new(),
    };
    stacked::stacked(page, words, &classes, &by_class);

    let contexts = profile.cells.first().map_or(&[][..], |cell| &cell.contexts);
    let names: Vec<String> = contexts.iter().map(|each| each.context.name().to_owned()).collect();
    let by_context =
        bars(profile, |cell| cell.contexts.iter().enumerate().map(|(place, each)| (place, each.part)).collect());
    let words = Words {
        title: "In whose context it is spent, us/MB".to_owned(),
        note: "What is spent on somebody else's time is in no account of the program's.".to_owned(),
        seen: String::new(),
    };
    stacked::stacked(page, words, &names, &by_context);

    for cell in cells(profile).take(ICICLES) {
        let (Some(root), Some(cost)) = (tree(run, &cell.label), cell.cost_ns_per_kib) else { continue };
        let words = Words {
            title: format!("Call stacks of {}", escape(&cell.label, 60)),
            note: "A box is a function, as wide as the samples in it and in what it called, which hangs below. Letters are those of \
                   the classes above. What idle windows had is not taken off; the narrowest boxes are left out."
                .to_owned(),
            seen: format!("{} samples.", root.samples),
        };
        icicle::icicle(page, &words, &node(&root), cost);
    }
}

/// A bar to a path, made of those of its parts that have a cost; each part with its place in the legend.
fn bars(profile: &ProfileEstimates, parts: impl Fn(&CellProfile) -> Vec<(usize, Part)>) -> Vec<Bar> {
    let bar = |cell: &CellProfile| {
        let with_costs = parts(cell).into_iter().filter_map(|(place, part)| Some((place, part.ns_per_kib?)));
        Bar { label: escape(&cell.label, 40), parts: with_costs.collect() }
    };
    cells(profile).map(bar).collect()
}

fn node(flame: &Flame) -> Node {
    Node {
        name: escape(&flame.name, 80),
        class: flame.class.place(),
        samples: flame.samples,
        called: flame.called.iter().map(node).collect(),
    }
}
