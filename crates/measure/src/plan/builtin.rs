//! The built-in plans, as files that a user could write: `zc plan NAME` prints them.

use super::spec::Spec;
use super::toml::parse;
use zc_run::{Experiment, Result};

/// The file of a built-in plan; `None` for an experiment without one, because zc's paths send
/// nothing in it.
pub fn text(experiment: Experiment) -> Option<&'static str> {
    Some(match experiment {
        Experiment::Paths => include_str!("builtin/paths.toml"),
        Experiment::Receive => include_str!("builtin/receive.toml"),
        Experiment::Sizes => include_str!("builtin/sizes.toml"),
        Experiment::Offloads => include_str!("builtin/offloads.toml"),
        Experiment::Cork => include_str!("builtin/cork.toml"),
        Experiment::Affinity => include_str!("builtin/affinity.toml"),
        Experiment::Pages => include_str!("builtin/pages.toml"),
        Experiment::Sockbuf => include_str!("builtin/sockbuf.toml"),
        Experiment::Mtu => include_str!("builtin/mtu.toml"),
        Experiment::Flows => include_str!("builtin/flows.toml"),
        Experiment::Congestion => include_str!("builtin/congestion.toml"),
        Experiment::Pacing => include_str!("builtin/pacing.toml"),
        Experiment::Components => include_str!("builtin/components.toml"),
        Experiment::Requests => include_str!("builtin/requests.toml"),
        Experiment::Replay => include_str!("builtin/replay.toml"),
        Experiment::Memory | Experiment::Server | Experiment::Nfs => return None,
    })
}

/// A built-in plan.
///
/// # Errors
/// None in practice: each plan is tested. A plan that could not be read would be the error.
pub fn builtin(experiment: Experiment) -> Option<Result<Spec>> {
    text(experiment).map(|text| parse(text, experiment.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{RecvPath, SendPath};

    #[test]
    fn every_built_in_plan_is_valid_and_has_the_name_of_its_experiment() {
        for &experiment in Experiment::ALL {
            let Some(spec) = builtin(experiment) else {
                assert!(matches!(
                    experiment,
                    Experiment::Memory | Experiment::Server | Experiment::Nfs
                ));
                continue;
            };
            let spec = spec.unwrap();
            assert_eq!(spec.name, experiment.name());
            assert!(spec.question.ends_with('?'), "{experiment} asks nothing");
            assert!(spec.budget_ns.is_some(), "{experiment} has no budget");
            let cells = spec.cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
            assert!(cells.cells.iter().any(|cell| cell.label == cells.reference), "{experiment}");
            let known = |label: &str| cells.cells.iter().any(|cell| cell.label == label);
            assert!(
                cells.cells.iter().filter_map(|cell| cell.by.as_deref()).all(known),
                "{experiment}"
            );
        }
    }
}
