//! The estimator on synthetic runs and logs, whose truth is known.

use super::estimate;
use super::*;
use crate::controls::Limits;
use crate::model::figure::Figure;
use zc_run::{Factor, ResponsesPlan, Run, SendPath, Traffic};
use zc_testkit::synthetic::{Synthetic, size_sweep};

/// Without options about TLS and money, and of one log.
pub(super) fn advise(
    run: &Run,
    responses: &LoggedResponses,
    today: Option<&str>,
    asked: Option<Asked>,
) -> Result<CostAdvice, Unfit> {
    advised(run, responses, today, asked, zc_stats::DEFAULT_RESAMPLES)
}

fn advised(
    run: &Run,
    responses: &LoggedResponses,
    today: Option<&str>,
    asked: Option<Asked>,
    resamples: usize,
) -> Result<CostAdvice, Unfit> {
    let logged = Logged { all: responses.clone(), hosts: Vec::new() };
    estimate::advised(run, &logged, &Question { today, asked, ..Question::default() }, resamples)
}

const LENGTHS: [usize; 5] = [64, 1024, 4096, 65_536, 1 << 20];

/// Costs of a request in ns, and of a KiB.
pub(super) type Truth = (f64, f64);

pub(super) const READ_SEND: Truth = (20_000.0, 300.0);
pub(super) const SENDFILE: Truth = (19_000.0, 120.0);

fn ns((request_ns, ns_per_kib): Truth, bytes: f64) -> f64 {
    request_ns + ns_per_kib * bytes / 1024.0
}

/// A run of responses by read+send, and by sendfile at these costs.
pub(super) fn run_of(world: Synthetic, sendfile: Truth) -> Run {
    let paths = [
        (SendPath::ReadSend, READ_SEND.0, READ_SEND.1),
        (SendPath::Sendfile, sendfile.0, sendfile.1),
    ];
    let cells = size_sweep(&paths, &LENGTHS);
    let factors = vec![Factor::Message, Factor::Send];
    let mut run = Synthetic { cells, factors, unsoaked: false, ..world }.run();
    run.header.plan.traffic = Traffic::Responses(ResponsesPlan {
        connections: 4,
        keepalive: true,
        head_bytes: 100,
        replay: None,
    });
    run
}

pub(super) fn quiet() -> Synthetic {
    Synthetic { noise: 0.01, block_drift: 0.0, ..Synthetic::default() }
}

/// Numbers that look random (splitmix64; Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A log of sizes with the mean number of each in a slice of a second, which varies by half.
pub(super) fn log_of(sizes: &[(f64, f64)], slices: usize, seed: u64) -> LoggedResponses {
    let mut random = Random(seed);
    let slices: Vec<Vec<(usize, f64)>> = (0..slices)
        .map(|_| {
            let busy = 0.5 + random.next();
            let mut count = |mean: &f64| (2.0 * mean * busy * random.next()).round();
            sizes.iter().map(|(_, mean)| count(mean)).enumerate().collect()
        })
        .collect();
    LoggedResponses {
        span_s: slices.len() as f64,
        size_bytes: sizes.iter().map(|(size, _)| *size).collect(),
        slices_of_span: slices.len() as u64,
        busy_minutes: Vec::new(),
        over_tls: OverTls::Unknown,
        slices,
    }
}

/// The sizes that were measured, most of them small, as they are sent in a second.
pub(super) const MEASURED: [(f64, f64); 5] =
    [(64.0, 400.0), (1024.0, 600.0), (4096.0, 800.0), (65_536.0, 200.0), (1_048_576.0, 40.0)];

/// The cores that these sizes truly take.
pub(super) fn cores(truth: Truth, sizes: &[(f64, f64)]) -> f64 {
    sizes.iter().map(|(size, per_s)| per_s * ns(truth, *size) / 1e9).sum()
}

pub(super) fn sendfile(advice: &CostAdvice) -> &PathAdvice {
    advice.paths.iter().find(|path| path.path == "sendfile").unwrap()
}

pub(super) fn contains(figure: &Figure, truth: f64) -> bool {
    figure.interval.unwrap().contains(truth)
}

/// Within twice the half-width, which is beyond what chance does once in ten thousand times.
pub(super) fn near(figure: &Figure, truth: f64) -> bool {
    (figure.value - truth).abs() < 2.0 * figure.half_width.unwrap()
}

#[test]
fn what_is_known_to_be_saved_is_found() {
    let log = log_of(&MEASURED, 300, 1);
    let advice = advise(&run_of(quiet(), SENDFILE), &log, None, None).unwrap();
    assert_eq!((advice.today.as_str(), advice.slices), ("read+send", Some(300)));
    let [today, other] = &advice.paths[..] else { panic!("{advice:?}") };
    assert!(today.today && today.cores.saved.is_none() && today.verdict.is_none());
    let saved = cores(READ_SEND, &MEASURED) - cores(SENDFILE, &MEASURED);
    assert!(near(&today.cores.value, cores(READ_SEND, &MEASURED)), "{today:?}");
    assert!(near(&other.cores.value, cores(SENDFILE, &MEASURED)), "{other:?}");
    assert!(near(&other.cores.saved.unwrap(), saved), "{other:?}");
    let Some(PathVerdict::Saves { share }) = other.verdict else { panic!("{other:?}") };
    assert!((share - saved / cores(READ_SEND, &MEASURED)).abs() < 0.03, "{share}");
}

#[test]
fn compared_with_sendfile_of_today_read_and_send_costs_more() {
    let log = log_of(&MEASURED, 300, 1);
    let advice = advise(&run_of(quiet(), SENDFILE), &log, Some("sendfile"), None).unwrap();
    assert_eq!(advice.today, "sendfile");
    let verdict = advice.paths[0].verdict;
    assert!(matches!(verdict, Some(PathVerdict::CostsMore { .. })), "{verdict:?}");
}

#[test]
fn intervals_hold_the_truth_in_about_95_of_100_cases() {
    let truth =
        [cores(READ_SEND, &MEASURED), cores(READ_SEND, &MEASURED) - cores(SENDFILE, &MEASURED)];
    let cases = 200;
    let mut held = [0; 2];
    for seed in 0..cases {
        let world = Synthetic { blocks: 16, seed, noise: 0.05, block_drift: 0.0, ..quiet() };
        let log = log_of(&MEASURED, 40, !seed);
        let advice = advised(&run_of(world, SENDFILE), &log, None, None, 400).unwrap();
        let figures = [advice.paths[0].cores.value, sendfile(&advice).cores.saved.unwrap()];
        for (held, (figure, truth)) in held.iter_mut().zip(figures.iter().zip(truth)) {
            *held += usize::from(contains(figure, truth));
        }
    }
    // 181 to 199 of 200 intervals at 95 % are within three standard deviations. Intervals that
    // include wander are wider, and all of them may contain the truth.
    assert!(held.iter().all(|held| (181..=200).contains(held)), "{held:?} of {cases}");
}

/// A fault that is to be seen: an estimator that forgets the log, or the run, is too sure.
#[test]
fn an_interval_has_both_the_run_and_the_log_in_it() {
    let width = |noise: f64, log: &LoggedResponses| {
        let world = Synthetic { noise, ..quiet() };
        let advice = advise(&run_of(world, SENDFILE), log, None, None).unwrap();
        advice.paths[0].cores.value.half_width.unwrap()
    };
    let varying = log_of(&MEASURED, 30, 3);
    let steady = LoggedResponses {
        slices: vec![MEASURED.iter().map(|(_, mean)| *mean).enumerate().collect(); 30],
        ..varying.clone()
    };
    let (neither, log, run) = (width(0.001, &steady), width(0.001, &varying), width(0.2, &steady));
    assert!(log > 3.0 * neither && run > 3.0 * neither, "{neither} {log} {run}");
    let both = width(0.2, &varying);
    assert!(both > log && both > run, "{both} {log} {run}");
}

#[test]
fn requests_that_come_in_bursts_are_not_as_many_samples() {
    // The same responses, once evenly and once in a tenth of the time.
    let even: Vec<(usize, f64)> = MEASURED.iter().map(|(_, mean)| *mean).enumerate().collect();
    let burst: Vec<(usize, f64)> = even.iter().map(|(bin, n)| (*bin, 10.0 * n)).collect();
    let log =
        |slices: Vec<Vec<(usize, f64)>>| LoggedResponses { slices, ..log_of(&MEASURED, 300, 1) };
    let run = run_of(quiet(), SENDFILE);
    let half =
        |log| advise(&run, &log, None, None).unwrap().paths[0].cores.value.half_width.unwrap();
    let (even, burst) = (half(log(vec![even; 300])), half(log(vec![burst; 30])));
    assert!(burst > 5.0 * even, "{burst} {even}");
}

#[test]
fn a_difference_that_is_none_is_not_told() {
    let log = log_of(&MEASURED, 300, 1);
    let mut told = 0;
    for seed in 0..40 {
        let world = Synthetic { seed, noise: 0.05, ..quiet() };
        let advice = advised(&run_of(world, READ_SEND), &log, None, None, 400).unwrap();
        let verdict = sendfile(&advice).verdict.unwrap();
        told += usize::from(!matches!(verdict, PathVerdict::Untold { .. }));
    }
    assert!(told <= 6, "{told} of 40");
}

#[test]
fn cores_at_a_rate_are_those_of_the_log_in_proportion() {
    let log = log_of(&MEASURED, 300, 1);
    let run = run_of(quiet(), SENDFILE);
    let at = |asked| advise(&run, &log, None, Some(asked)).unwrap();
    let of_log = at(Asked::Requests(1.0)).rates.log;
    let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    for asked in
        [Asked::Requests(of_log.requests_per_s * 3.0), Asked::Bytes(of_log.bytes_per_s * 3.0)]
    {
        let advice = at(asked);
        near(advice.rates.asked.unwrap().requests_per_s, 3.0 * of_log.requests_per_s);
        near(advice.rates.asked.unwrap().bytes_per_s, 3.0 * of_log.bytes_per_s);
        for path in &advice.paths {
            near(path.asked_cores.unwrap().value.value, 3.0 * path.cores.value.value);
            near(
                path.us_per_mb.unwrap().value.value,
                path.cores.value.value / of_log.bytes_per_s * 1e12,
            );
            near(
                path.us_per_request.value.value,
                path.cores.value.value / of_log.requests_per_s * 1e6,
            );
        }
    }
}

#[test]
fn the_busiest_minute_is_the_one_that_costs_most() {
    let mut log = log_of(&MEASURED, 300, 1);
    let minute = |begin_unix_s, requests, bytes| BusyMinute {
        begin_unix_s,
        requests,
        bytes,
        slices: (60..120).collect(),
    };
    log.busy_minutes = vec![minute(60, 1e6, 1e9), minute(120, 1e5, 1e12)];
    let advice = advise(&run_of(quiet(), SENDFILE), &log, None, None).unwrap();
    assert_eq!(advice.rates.busiest_unix_s, Some(120));
    // The cost of a response is a straight line over its size here.
    let truth = (1e5 * READ_SEND.0 + 1e12 / 1024.0 * READ_SEND.1) / 60e9;
    let found = advice.paths[0].busiest_cores.unwrap().value.value;
    assert!((found / truth - 1.0).abs() < 0.03, "{found} {truth}");
}

#[test]
fn responses_beyond_the_lengths_are_counted_and_said() {
    let sizes = [(0.0, 100.0), (65_536.0, 100.0), (67_108_864.0, 1.0)];
    let log = log_of(&sizes, 300, 1);
    let advice = advise(&run_of(quiet(), SENDFILE), &log, None, None).unwrap();
    let Outside { bytes, requests_share, bytes_share, cost_share } = advice.beyond;
    assert_eq!(bytes, 1 << 20);
    assert!(requests_share < 0.02 && bytes_share > 0.8, "{:?}", advice.beyond);
    assert!(cost_share > 0.5 && cost_share < bytes_share, "{:?}", advice.beyond);
    assert_eq!((advice.below.bytes, advice.below.bytes_share), (64, 0.0));
    assert!((advice.below.requests_share - 0.5).abs() < 0.1, "{:?}", advice.below);
    // The line goes on.
    let truth: f64 =
        log.all().0.iter().zip(sizes).map(|(n, (size, _))| n * ns(READ_SEND, size)).sum();
    let found = advice.paths[0].cores.value.value * log.span_s * 1e9;
    assert!((found / truth - 1.0).abs() < 0.03, "{found} {truth}");
    assert!(matches!(sendfile(&advice).verdict, Some(PathVerdict::Saves { .. })));
}

#[test]
fn where_only_what_was_not_measured_saves_nothing_is_told() {
    // By sendfile a request costs more and a byte less, and nearly all bytes are beyond.
    let dear = (40_000.0, 120.0);
    let log = log_of(&[(64.0, 500.0), (67_108_864.0, 10.0)], 300, 1);
    let advice = advise(&run_of(quiet(), dear), &log, None, None).unwrap();
    assert!(sendfile(&advice).cores.saved.unwrap().interval.unwrap().low > 0.0, "{advice:?}");
    let why = PathVerdict::Untold { why: Untold::Beyond };
    assert_eq!(sendfile(&advice).verdict, Some(why));
}

#[test]
fn a_run_whose_verdicts_are_withheld_gives_none_here() {
    let log = log_of(&MEASURED, 300, 1);
    let mut run = run_of(quiet(), SENDFILE);
    run.header.plan.cells.retain(|cell| !cell.control);
    let advice = advise(&run, &log, None, None).unwrap();
    assert!(!advice.withheld.is_empty());
    let why = PathVerdict::Untold { why: Untold::Withheld };
    assert_eq!(sendfile(&advice).verdict, Some(why));
}

#[test]
fn a_control_that_misses_leaves_small_savings_open() {
    let judged = |error| verdict_of(Limits { error, resolution: 1.0 });
    assert!(matches!(judged(1.01), PathVerdict::Saves { .. }));
    assert_eq!(judged(4.0), PathVerdict::Untold { why: Untold::ControlError });
}

#[test]
fn controls_that_could_not_have_seen_a_saving_leave_it_open() {
    // Controls that resolve 1/0.6 resolve a cost of 0.6 times today's.
    let judged = |resolution| verdict_of(Limits { error: 1.0, resolution });
    assert!(matches!(judged(1.65), PathVerdict::Saves { .. }));
    let untold = PathVerdict::Untold { why: Untold::ControlTooWide };
    assert_eq!([judged(1.7), judged(f64::INFINITY)], [untold, untold]);
}

fn verdict_of(limits: Limits) -> PathVerdict {
    use super::figures::{Sampled, Values};
    use super::verdict::{Judged, Saving, verdict};
    let sampled = Sampled::new(0.95, 30, Some(30), &Default::default());
    let values =
        Values::from_resamples((0..200).map(|at| Some(0.4 + f64::from(at % 10 - 5) / 1e3)));
    let judged = Judged { withheld: false, limits, mostly_beyond: false, others: 1 };
    let saving = Saving {
        saved: values.as_ref(),
        within: None,
        today: 1.0,
        path: 0.6,
        encrypted: None,
        all_of_today: 1.0,
    };
    verdict(&judged, &sampled, &saving)
}

#[test]
fn few_blocks_and_few_slices_are_said() {
    let log = log_of(&MEASURED, 300, 1);
    let two = Synthetic { blocks: 2, ..quiet() };
    let advice = advise(&run_of(two, SENDFILE), &log, None, None).unwrap();
    assert_eq!(advice.paths[0].cores.value.interval, None);
    assert!(matches!(sendfile(&advice).verdict, Some(PathVerdict::Untold { .. })));
    let advice = advise(&run_of(quiet(), SENDFILE), &log_of(&MEASURED, 3, 1), None, None).unwrap();
    assert_eq!(advice.slices, None, "the log is taken as it is");
    assert!(advice.paths[0].cores.value.interval.is_some());
}

#[test]
fn what_does_not_fit_is_refused() {
    let log = log_of(&MEASURED, 10, 1);
    let run = run_of(quiet(), SENDFILE);
    let paths = vec!["read+send".to_owned(), "sendfile".to_owned()];
    assert_eq!(advise(&run, &log, Some("splice"), None), Err(Unfit::NoSuchPath(paths)));
    let none = LoggedResponses { size_bytes: vec![0.0], ..log_of(&[(0.0, 5.0)], 10, 1) };
    assert_eq!(advise(&run, &none, None, Some(Asked::Bytes(1e9))), Err(Unfit::NoBytes));
    let advice = advise(&run, &none, None, None).unwrap();
    assert!(advice.paths.iter().all(|path| path.us_per_mb.is_none()));
    let mut stream = run.clone();
    stream.header.plan.traffic = Traffic::Stream;
    assert_eq!(advise(&stream, &log, None, None), Err(Unfit::NoResponses));
    let mut one = run.clone();
    one.header.plan.factors = vec![Factor::Send];
    assert_eq!(advise(&one, &log, None, None), Err(Unfit::OneLength));
    let mut empty = run;
    empty.blocks.clear();
    assert_eq!(advise(&empty, &log, None, None), Err(Unfit::NoCosts));
}

#[test]
fn the_same_run_and_log_give_the_same_figures() {
    let (run, log) = (run_of(quiet(), SENDFILE), log_of(&MEASURED, 300, 1));
    assert_eq!(advise(&run, &log, None, None), advise(&run, &log, None, None));
}

/// A log with one response a year apart has millions of empty slices, and is not walked through.
#[test]
fn a_log_of_a_few_responses_in_a_lifetime_takes_no_longer() {
    let log = LoggedResponses {
        span_s: 3e9,
        slices_of_span: u64::MAX,
        slices: vec![vec![(0, 1.0)]; 3],
        size_bytes: vec![1e19],
        busy_minutes: Vec::new(),
        over_tls: OverTls::Unknown,
    };
    let advice = advise(&run_of(quiet(), SENDFILE), &log, None, Some(Asked::Bytes(1e9))).unwrap();
    assert!(advice.paths[0].cores.value.value > 0.0);
    assert!(advice.paths.iter().all(|path| path.asked_cores.is_some()));
}
