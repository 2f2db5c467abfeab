//! All that saved runs add to a fleet as CSV, for other programs: a line for each run, cell and end. Full
//! precision, no units in the cells, empty where a value is missing. New columns are only added at the end.

use std::collections::BTreeSet;

use super::names::end;
use crate::csv::text;
use zc_analysis::fleet::{CellFigures, End, Grouping, HostFacts, Logarithm, RunFigures};

/// The columns before those of features.
const FIRST: [&str; 19] = [
    "run",
    "started_at",
    "zc_version",
    "experiment",
    "link",
    "near",
    "far",
    "near_kernel",
    "far_kernel",
    "near_cpu",
    "far_cpu",
    "blocks",
    "blocks_kept",
    "whole",
    "withheld",
    "cell",
    "end",
    "us_per_mb",
    "us_per_mb_standard_error",
];

/// The columns behind those, before features.
const RATIO: [&str; 2] = ["ratio", "ratio_standard_error"];

/// The whole file, with its heading. After the columns that each file has come the features of both
/// hosts: `near_generation`, `far_generation`.
pub fn export(runs: &[RunFigures], grouping: &Grouping) -> String {
    let names: BTreeSet<&String> =
        grouping.features.values().flat_map(|features| features.keys()).collect();
    let mut heading: Vec<String> =
        FIRST.iter().chain(&RATIO).map(|name| (*name).to_owned()).collect();
    heading.extend(names.iter().flat_map(|name| [format!("near_{name}"), format!("far_{name}")]));
    let mut lines = vec![heading];
    for run in runs {
        let (near, far) = (Some(&*run.near), run.far.as_deref());
        let of_run = [
            run.name.clone(),
            run.started_at.clone(),
            run.zc_version.clone(),
            run.experiment.clone(),
            run.link.clone(),
            run.near.host.clone(),
            far.map_or_else(String::new, |far| far.host.clone()),
            fact(near, "kernel"),
            fact(far, "kernel"),
            fact(near, "cpu"),
            fact(far, "cpu"),
            run.blocks.to_string(),
            run.blocks_kept.to_string(),
            run.is_whole.to_string(),
            run.withheld.join(" "),
        ];
        let feature = |host: Option<&HostFacts>, name: &String| {
            let features = host.and_then(|host| grouping.features.get(&host.host));
            features.and_then(|features| features.get(name)).cloned().unwrap_or_default()
        };
        let features: Vec<String> =
            names.iter().flat_map(|name| [feature(near, name), feature(far, name)]).collect();
        for cell in &run.cells {
            for (whose, cost) in costs(cell) {
                // The ratio is that of the sender, and of both where ends are not apart.
                let ratio = cell.ratio.filter(|_| whose != End::Receiver);
                let mut line = of_run.to_vec();
                line.extend([cell.label.clone(), end(whose).to_owned()]);
                line.extend(figure(Some(cost)).into_iter().chain(figure(ratio)));
                line.extend(features.iter().cloned());
                lines.push(line);
            }
        }
    }
    text(lines)
}

/// The costs that a cell has. Where ends are apart, that of both is their sum and no line of its own.
fn costs(cell: &CellFigures) -> Vec<(End, Logarithm)> {
    let apart = [(End::Sender, cell.sender), (End::Receiver, cell.receiver)];
    let apart: Vec<(End, Logarithm)> =
        apart.into_iter().filter_map(|(whose, cost)| Some((whose, cost?))).collect();
    match apart.is_empty() {
        true => cell.both.map(|cost| (End::Both, cost)).into_iter().collect(),
        false => apart,
    }
}

fn fact(host: Option<&HostFacts>, name: &str) -> String {
    host.and_then(|host| host.facts.get(name)).cloned().unwrap_or_default()
}

/// The value, and its standard error.
fn figure(logarithm: Option<Logarithm>) -> [String; 2] {
    logarithm.map_or_else(Default::default, |Logarithm { ln, error }| {
        let value = ln.exp();
        [value.to_string(), (value * error).to_string()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn host(name: &str) -> Arc<HostFacts> {
        let facts = [("kernel", "6.12.1"), ("cpu", "EPYC, \"9654\"")];
        let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Arc::new(HostFacts { host: name.to_owned(), facts })
    }

    #[test]
    fn a_line_for_each_run_cell_and_end() {
        let ln = |value: f64, error: f64| Some(Logarithm { ln: value.ln(), error });
        let cell = |label: &str, ratio| CellFigures {
            label: label.to_owned(),
            sender: ln(256.0, 0.5),
            receiver: ln(128.0, 0.25),
            both: ln(384.0, 0.25),
            ratio,
        };
        let run = RunFigures {
            name: "2026-11-24/a.json".to_owned(),
            started_at: "2026-11-24T01:02:03Z".to_owned(),
            zc_version: "0.2.0".to_owned(),
            experiment: "paths".to_owned(),
            link: "remote".to_owned(),
            reference: "read+send".to_owned(),
            near: host("n1"),
            far: Some(host("n2")),
            blocks_kept: 9,
            blocks: 10,
            is_whole: true,
            withheld: vec!["busy-machine".to_owned()],
            cells: vec![cell("read+send", None), cell("sendfile", ln(0.5, 0.125))],
        };
        let mut alone = run.clone();
        alone.far = None;
        alone.cells = vec![CellFigures { sender: None, receiver: None, ..cell("sendfile", None) }];
        let features = [("generation".to_owned(), "gen1".to_owned())].into();
        let grouping = Grouping { by: Vec::new(), features: [("n1".to_owned(), features)].into() };
        insta::assert_snapshot!(export(&[run, alone], &grouping));
    }
}
