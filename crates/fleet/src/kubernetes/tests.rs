use super::*;
use crate::plan::tests::kubernetes_plan as plan;

fn hosts(plan: &FleetPlan, numbers: &[usize]) -> Vec<String> {
    let cells: Vec<&Cell> = plan.cells().collect();
    let mut hosts: Vec<String> =
        numbers.iter().flat_map(|number| plan.ends(cells[*number])).map(str::to_owned).collect();
    hosts.sort();
    hosts
}

#[test]
fn no_two_measurements_are_submitted_that_share_a_host_or_a_wire() {
    let plan = plan("");
    let all = plan.cells().count();
    let mut now =
        Now { states: vec![CellState::Missing; all], submitted: BTreeSet::new(), left: Vec::new() };
    let free = |plan: &FleetPlan, now: &Now| super::free(plan, now, |_| true);
    let first = free(&plan, &now);
    let used = hosts(&plan, &first);
    assert!(!first.is_empty() && used.windows(2).all(|pair| pair[0] != pair[1]), "{used:?}");
    let at_the_wire = |hosts: &[String]| hosts.iter().any(|host| host == "n1" || host == "n2");
    // The pairs n1-n3 and n2-n4 share a wire, and no host.
    let cells: Vec<&Cell> = plan.cells().collect();
    let cell_between = |one: &str, other: &str| {
        cells.iter().position(|cell| plan.ends(cell) == [one, other]).unwrap()
    };
    now.submitted.insert(cell_between("n1", "n3"));
    assert!(free(&plan, &now).is_empty(), "the wire is in use, and n4 alone is no pair");
    now.submitted = BTreeSet::from([cell_between("n1", "n2")]);
    let beside = free(&plan, &now);
    assert!(!beside.is_empty() && !at_the_wire(&hosts(&plan, &beside)), "{beside:?}");
    assert_eq!(super::free(&plan, &now, |number| !beside.contains(&number)).len(), 1);
    let failed = Cause { what: "it failed".to_owned(), job: "1".to_owned() };
    now = Now { states: now.states, submitted: BTreeSet::new(), left: Vec::new() };
    now.states[first[0]] = CellState::Failed(failed);
    assert_ne!(free(&plan, &now)[0], first[0], "others come first that were never tried");
    now.states = vec![CellState::Done("x".into()); all];
    assert!(free(&plan, &now).is_empty());
}

#[test]
fn with_a_gang_scheduler_all_are_submitted_at_once_that_share_no_wire() {
    let mut plan = plan("gang = true\n");
    let all = plan.cells().count();
    let now =
        Now { states: vec![CellState::Missing; all], submitted: BTreeSet::new(), left: Vec::new() };
    let at_once = free(&plan, &now, |_| true);
    let cells: Vec<&Cell> = plan.cells().collect();
    let with_wire = at_once.iter().filter(|number| !plan.wires(cells[**number]).is_empty());
    assert_eq!(with_wire.count(), 1);
    for host in &mut plan.hosts {
        host.wires.clear();
    }
    assert_eq!(free(&plan, &now, |_| true).len(), all);
}
