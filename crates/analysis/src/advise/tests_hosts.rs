//! The estimator on the logs of several hosts, on a synthetic run whose truth is known.

use super::tests::{MEASURED, READ_SEND, SENDFILE, contains, cores, log_of, near, quiet, run_of};
use super::*;
use zc_testkit::synthetic::Synthetic;

/// Two hosts, the second with three times the requests and a log of a third of the time.
fn hosts() -> Vec<(String, LoggedResponses)> {
    let busy = MEASURED.map(|(size, mean)| (size, 3.0 * mean));
    vec![("web1".to_owned(), log_of(&MEASURED, 300, 1)), ("web2".to_owned(), log_of(&busy, 100, 2))]
}

/// All logs in one, as if they had been read one after the other.
fn merged(hosts: &[(String, LoggedResponses)]) -> LoggedResponses {
    let each = || hosts.iter().map(|(_, responses)| responses);
    LoggedResponses {
        slices: each().flat_map(|it| it.slices.clone()).collect(),
        slices_of_span: each().map(|it| it.slices_of_span).sum(),
        ..each().next().unwrap().clone()
    }
}

fn advise_hosts(hosts: Vec<(String, LoggedResponses)>, world: Synthetic) -> CostAdvice {
    let logged = Logged { all: merged(&hosts), hosts };
    super::advise(&run_of(world, SENDFILE), &logged, &Question::default()).unwrap()
}

#[test]
fn hosts_add_up_each_at_its_own_rate() {
    let advice = advise_hosts(hosts(), quiet());
    let truth = |times: f64| times * cores(READ_SEND, &MEASURED);
    let [first, second] = &advice.hosts[..] else { panic!("{advice:?}") };
    assert_eq!((first.host.as_str(), second.host.as_str()), ("web1", "web2"));
    let today = |paths: &[PathAdvice]| paths[0].cores.value;
    assert!(near(&today(&first.paths), truth(1.0)), "{first:?}");
    assert!(near(&today(&second.paths), truth(3.0)), "{second:?}");
    assert!(near(&today(&advice.paths), truth(4.0)), "{advice:?}");
    let saved = |paths: &[PathAdvice]| paths[1].cores.saved.unwrap().value;
    let sum = saved(&first.paths) + saved(&second.paths);
    assert!((saved(&advice.paths) / sum - 1.0).abs() < 1e-9, "{sum} {advice:?}");
    let rate = |rates: &Rates| rates.log.requests_per_s;
    let sum = rate(&first.rates) + rate(&second.rates);
    assert!((rate(&advice.rates) / sum - 1.0).abs() < 1e-9);
    assert!(first.paths.iter().all(|path| path.verdict.is_none()));
    assert!(matches!(advice.paths[1].verdict, Some(PathVerdict::Saves { .. })));
}

/// A fault that is to be seen: hosts whose costs are drawn apart are too sure of their sum.
#[test]
fn the_error_of_the_run_is_in_all_hosts_alike() {
    let steady = || {
        let slice: Vec<(usize, f64)> = MEASURED.iter().map(|(_, mean)| *mean).enumerate().collect();
        LoggedResponses { slices: vec![slice; 300], ..log_of(&MEASURED, 300, 1) }
    };
    let world = Synthetic { noise: 0.1, ..quiet() };
    let four = (0..4).map(|host| (format!("web{host}"), steady())).collect();
    let advice = advise_hosts(four, world);
    let half = |paths: &[PathAdvice]| paths[0].cores.value.half_width.unwrap();
    let times = half(&advice.paths) / half(&advice.hosts[0].paths);
    assert!((times - 4.0).abs() < 0.1, "{times}: twice, if they were drawn apart");
    // Hosts that are busy at the same time vary together.
    let quiet = || Synthetic { noise: 0.001, ..quiet() };
    let four = (0..4).map(|host| (format!("web{host}"), log_of(&MEASURED, 30, 1))).collect();
    let advice = advise_hosts(four, quiet());
    let times = half(&advice.paths) / half(&advice.hosts[0].paths);
    assert!((times - 4.0).abs() < 0.1, "{times}: twice, if slices were drawn apart");
    // Otherwise what a log varies by is each host's own.
    let four = (0..4).map(|host| (format!("web{host}"), log_of(&MEASURED, 30, host))).collect();
    let advice = advise_hosts(four, quiet());
    let times = half(&advice.paths) / half(&advice.hosts[0].paths);
    assert!((1.2..3.0).contains(&times), "{times}: four times, if they were drawn together");
    assert!(contains(&advice.paths[0].cores.value, advice.paths[0].cores.value.value));
}
