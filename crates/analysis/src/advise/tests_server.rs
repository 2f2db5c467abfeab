//! The estimator on runs of a server that is not zc's, in configurations of it.

use super::tests::advise;
use super::*;
use zc_run::{HostStates, Run, Slot, StateCommand};
use zc_testkit::server::by_length;
use zc_testkit::synthetic::Synthetic;

const LENGTHS: [usize; 4] = [1024, 16_384, 65_536, 1 << 20];

/// Costs of a request in ns, and of a KiB.
const OFF: (f64, f64) = (20_000.0, 300.0);
const ON: (f64, f64) = (21_000.0, 120.0);

fn run_of(configurations: &[(&str, f64, f64)], lengths: &[usize]) -> Run {
    let world = Synthetic { noise: 0.01, block_drift: 0.0, ..Synthetic::default() };
    by_length(configurations, lengths, world)
}

fn off_and_on(lengths: &[usize]) -> Run {
    run_of(&[("off", OFF.0, OFF.1), ("on", ON.0, ON.1)], lengths)
}

/// Sizes, and how many of each are sent in a second. One is between two lengths of the run.
const SENT: [(f64, f64); 4] =
    [(1024.0, 500.0), (32_768.0, 100.0), (65_536.0, 100.0), (1_048_576.0, 20.0)];

fn log() -> LoggedResponses {
    let slice: Vec<(usize, f64)> = SENT.iter().map(|(_, sent)| *sent).enumerate().collect();
    LoggedResponses {
        span_s: 60.0,
        size_bytes: SENT.iter().map(|(size, _)| *size).collect(),
        slices: vec![slice; 60],
        slices_of_span: 60,
        busy_minutes: Vec::new(),
        over_tls: OverTls::Unknown,
    }
}

fn cores((request_ns, ns_per_kib): (f64, f64)) -> f64 {
    let ns = |size: f64| request_ns + ns_per_kib * size / 1024.0;
    SENT.iter().map(|(size, per_s)| per_s * ns(*size) / 1e9).sum()
}

#[test]
fn each_configuration_is_priced_by_the_lengths_at_its_address() {
    let advice = advise(&off_and_on(&LENGTHS), &log(), None, None).unwrap();
    assert_eq!((advice.today.as_str(), advice.keepalive), ("off", true));
    assert_eq!((advice.below.bytes, advice.beyond.bytes), (1024, 1 << 20));
    let [off, on] = &advice.paths[..] else { panic!("{advice:?}") };
    assert_eq!((off.path.as_str(), on.path.as_str()), ("off", "on"));
    for (path, truth) in [(off, OFF), (on, ON)] {
        let found = path.cores.value.value;
        assert!((found / cores(truth) - 1.0).abs() < 0.03, "{found} {}", cores(truth));
    }
    let saved = on.cores.saved.unwrap();
    let truth = cores(OFF) - cores(ON);
    assert!((saved.value - truth).abs() < 2.0 * saved.half_width.unwrap(), "{saved:?} {truth}");
    assert!(matches!(on.verdict, Some(PathVerdict::Saves { .. })), "{on:?}");
    let advice = advise(&off_and_on(&LENGTHS), &log(), Some("on"), None).unwrap();
    assert!(matches!(advice.paths[0].verdict, Some(PathVerdict::CostsMore { .. })));
}

/// A name that zc's own paths have means nothing here.
#[test]
fn the_first_configuration_is_the_one_of_today() {
    let run = run_of(&[("aio", OFF.0, OFF.1), ("read+send", ON.0, ON.1)], &LENGTHS);
    assert_eq!(advise(&run, &log(), None, None).unwrap().today, "aio");
    let no_such = Unfit::NoSuchPath(vec!["aio".to_owned(), "read+send".to_owned()]);
    assert_eq!(advise(&run, &log(), Some("aio-1024"), None), Err(no_such));
}

#[test]
fn a_configuration_with_one_length_is_left_out_and_named() {
    let mut run = run_of(&[("a", OFF.0, OFF.1), ("b", ON.0, ON.1)], &LENGTHS);
    // Responses that only one state of b answered.
    let server = run.header.plan.traffic.server_mut().unwrap();
    server.states.retain(|it| it.state.name() == "b-1024" || it.state.name().starts_with('a'));
    let advice = advise(&run, &log(), None, None).unwrap();
    assert_eq!(advice.left_out, ["b-1024"]);
    assert_eq!(advice.paths.len(), 1);
}

/// The run is like one on a machine whose neighbours left too few blocks.
#[test]
fn a_configuration_without_a_cost_is_named() {
    let mut run = run_of(&[("a", OFF.0, OFF.1), ("b", ON.0, ON.1)], &LENGTHS);
    let is_of_it = |slot: &Slot| matches!(slot, Slot::Trial(trial) if trial.cell == "b-1024");
    run.blocks.iter_mut().for_each(|block| block.slots.retain(|slot| !is_of_it(slot)));
    let advice = advise(&run, &log(), None, None).unwrap();
    assert_eq!(advice.without_cost, ["b"]);
    assert!(advice.left_out.is_empty() && advice.paths.len() == 1);
}

#[test]
fn lengths_that_only_some_have_are_outside() {
    let mut run = off_and_on(&LENGTHS);
    let server = run.header.plan.traffic.server_mut().unwrap();
    server.states.retain(|it| it.state.name() != "on-1048576" && it.state.name() != "off-1024");
    let advice = advise(&run, &log(), None, None).unwrap();
    assert_eq!((advice.below.bytes, advice.beyond.bytes), (16_384, 65_536));
    assert!(advice.below.requests_share > 0.5 && advice.beyond.bytes_share > 0.5, "{advice:?}");
}

#[test]
fn runs_that_do_not_tell_lengths_are_refused() {
    let log = log();
    assert_eq!(advise(&off_and_on(&[65_536]), &log, None, None), Err(Unfit::OneLength));
    // A server at one address, whose configurations are paths.
    let mut run = off_and_on(&[1024, 65_536]);
    let server = run.header.plan.traffic.server_mut().unwrap();
    server.states.iter_mut().for_each(|state| state.url = "http://localhost/x".to_owned());
    let same = Unfit::SameLength(["off-1024", "on-1024"].map(str::to_owned));
    assert_eq!(advise(&run, &log, None, None), Err(same));
    // States that are commands do not say which of them are one configuration.
    let mut run = off_and_on(&LENGTHS);
    let states = run.header.plan.traffic.server().unwrap().states.iter();
    let command = |state: &zc_run::ServerState| StateCommand {
        state: state.state.clone(),
        command: "true".to_owned(),
    };
    run.header.plan.states = Some(HostStates {
        commands: states.map(command).collect(),
        restore: None,
        settle_ns: 0,
        limit_ns: 0,
        verify: None,
    });
    assert_eq!(advise(&run, &log, None, None), Err(Unfit::OneLength));
    let empty = Run { blocks: Vec::new(), ..off_and_on(&LENGTHS) };
    assert_eq!(advise(&empty, &log, None, None), Err(Unfit::NoCosts));
}

/// In the run each length is compared with that of the first configuration, not with the reference,
/// which has another one.
#[test]
fn a_request_saves_against_one_of_its_own_length() {
    let estimates = crate::estimate(&off_and_on(&LENGTHS));
    let row = |label: &str| estimates.requests.iter().find(|it| it.label == label).unwrap();
    let (off, on) = (row("off-1048576"), row("on-1048576"));
    assert_eq!(off.saved_us_per_request, None);
    let us = |(request_ns, ns_per_kib): (f64, f64)| (request_ns + 1024.0 * ns_per_kib) / 1e3;
    let saved = on.saved_us_per_request.unwrap().value;
    assert!((saved / (us(OFF) - us(ON)) - 1.0).abs() < 0.05, "{saved}");
    assert_eq!(estimates.verdict.comparisons, LENGTHS.len());
    assert!(estimates.verdict.stands(), "{:?}", estimates.verdict);
    assert!(estimates.cells.iter().all(|cell| !cell.perturbation.saturated));
}
