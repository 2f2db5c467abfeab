//! The charts of a sampled run: the cost of each path as a stacked bar, and its call stacks as an
//! icicle chart.

use super::icicle::{self, Node};
use super::page::Page;
use super::plot::Caption;
use super::stacked::{self, Bar};
use crate::profile::cells;
use zc_analysis::profile::{CellProfile, Class, Flame, Part, ProfileEstimates, tree};
use zc_run::{Run, escape};

/// The largest number of icicle charts; each takes some tens of kilobytes.
const ICICLES: usize = 4;

/// The charts of a profile.
pub(super) fn charts(page: &mut Page, run: &Run, profile: &ProfileEstimates) {
    let classes: Vec<String> = Class::ALL.iter().map(|class| class.name().to_owned()).collect();
    let by_class = bars(profile, |cell| {
        cell.classes.iter().map(|each| (each.class.place(), each.part)).collect()
    });
    let caption = Caption {
        title: "What the CPU time of each path goes to, us/MB".to_owned(),
        note: "A bar is the path's soaked cost, divided as its samples say.".to_owned(),
        description: String::new(),
    };
    stacked::stacked(page, caption, &classes, &by_class, None);

    let contexts = profile.cells.first().map_or(&[][..], |cell| &cell.contexts);
    let names: Vec<String> = contexts.iter().map(|each| each.context.name().to_owned()).collect();
    let by_context = bars(profile, |cell| {
        cell.contexts.iter().enumerate().map(|(place, each)| (place, each.part)).collect()
    });
    let caption = Caption {
        title: "In which context it is spent, us/MB".to_owned(),
        note: "CPU time charged to other tasks is in none of the program's accounts.".to_owned(),
        description: String::new(),
    };
    stacked::stacked(page, caption, &names, &by_context, None);

    for cell in cells(profile).take(ICICLES) {
        let (Some(root), Some(cost)) = (tree(run, &cell.label), cell.cost_ns_per_kib) else {
            continue;
        };
        let caption = Caption {
            title: format!("Call stacks of {}", escape(&cell.label, 60)),
            note: "A box is a function, as wide as the samples in it and in what it called, which \
                   hangs below. Letters are those of \
                   the classes above. Samples of idle windows are not subtracted; the narrowest \
                   boxes are left out."
                .to_owned(),
            description: format!("{} samples.", root.samples),
        };
        icicle::icicle(page, &caption, &node(&root), cost);
    }
}

/// One bar per path, made of the parts that have a cost, each with its legend index.
fn bars(
    profile: &ProfileEstimates,
    parts: impl Fn(&CellProfile) -> Vec<(usize, Part)>,
) -> Vec<Bar> {
    let bar = |cell: &CellProfile| {
        let with_costs =
            parts(cell).into_iter().filter_map(|(place, part)| Some((place, part.ns_per_kib?)));
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
