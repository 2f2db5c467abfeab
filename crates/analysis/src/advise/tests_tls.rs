//! The estimator where part of a log went over TLS, on synthetic runs whose truth is known.

use super::tests::{MEASURED, READ_SEND, SENDFILE, cores, log_of, near, quiet, run_of, sendfile};
use super::*;
use crate::price::{HOURS_A_MONTH, Price};
use zc_run::{Cipher, Run, SendPath};
use zc_testkit::synthetic::Synthetic;
use zc_testkit::tls::tls_run;

const AES_128: &str = "aes-128-gcm";

/// What encryption costs the sender in user space, by the kernel, and by the kernel from a file, in
/// ns per KiB.
const IN_USER_SPACE: f64 = 250.0;
const BY_THE_KERNEL: f64 = 150.0;
const FROM_THE_FILE: f64 = 170.0;

fn tls_of(world: Synthetic) -> Run {
    let ways = [
        (SendPath::ReadSend, "clear", 500.0),
        (SendPath::Sendfile, "clear", 180.0),
        (SendPath::TlsWrite, AES_128, 500.0 + IN_USER_SPACE),
        (SendPath::TlsWrite, "aes-256-gcm", 600.0 + IN_USER_SPACE),
        (SendPath::TlsWrite, "chacha20-poly1305", 300.0 + IN_USER_SPACE),
        (SendPath::KtlsWrite, AES_128, 500.0 + BY_THE_KERNEL),
        (SendPath::KtlsSendfile, AES_128, 180.0 + FROM_THE_FILE),
    ];
    tls_run(&ways, Synthetic { seed: world.seed + 7, ..world })
}

fn log(over_tls: f64) -> LoggedResponses {
    LoggedResponses { over_tls: OverTls::Stated(over_tls), ..log_of(&MEASURED, 300, 1) }
}

fn asked(log: LoggedResponses, tls: &Run, today: Option<&str>) -> Result<CostAdvice, Unfit> {
    let logged = Logged { all: log, hosts: Vec::new() };
    let question = Question { today, tls: Some((tls, None)), ..Question::default() };
    super::advise(&run_of(quiet(), SENDFILE), &logged, &question)
}

fn kib_per_s() -> f64 {
    MEASURED.iter().map(|(size, per_s)| size * per_s / 1024.0).sum()
}

fn row<'a>(advice: &'a CostAdvice, name: &str) -> &'a PathAdvice {
    advice.paths.iter().find(|path| path.path == name).unwrap()
}

#[test]
fn encryption_is_in_the_costs_and_sendfile_saves_for_what_is_in_the_clear_alone() {
    let advice = asked(log(0.75), &tls_of(quiet()), None).unwrap();
    let tls = advice.tls.as_ref().unwrap();
    assert_eq!((tls.cipher, tls.bytes_share, tls.stated), (Cipher::Aes128Gcm, 0.75, true));
    let [user, kernel, file] = &tls.ways[..] else { panic!("{tls:?}") };
    assert!(near(&user.added_ns_per_kib, IN_USER_SPACE), "{user:?}");
    assert!(near(&kernel.added_ns_per_kib, BY_THE_KERNEL), "{kernel:?}");
    assert!(near(&file.added_ns_per_kib, FROM_THE_FILE), "{file:?}");
    assert_eq!((file.path.as_str(), file.clear.as_str()), ("ktls-sendfile", "sendfile"));
    let encryption = 0.75 * IN_USER_SPACE * kib_per_s() / 1e9;
    assert!(near(&user.cores, encryption), "{user:?}, {encryption}");
    let (today, other) = (cores(READ_SEND, &MEASURED), cores(SENDFILE, &MEASURED));
    assert!(near(&advice.paths[0].cores.value, today + encryption), "{advice:?}");
    // A quarter is in the clear.
    let saved = 0.25 * (today - other);
    let found = sendfile(&advice);
    assert!(near(&found.cores.saved.unwrap(), saved), "{found:?}, {saved}");
    let Some(PathVerdict::Saves { share }) = found.verdict else { panic!("{found:?}") };
    assert!((share - saved / (today + encryption)).abs() < 0.02, "{share}");
    // The kernel's TLS saves its part of the encryption, and with sendfile all of what that saves.
    let part = |ns: f64| 0.75 * ns * kib_per_s() / 1e9;
    let by_kernel = row(&advice, "ktls-write");
    let saved = part(IN_USER_SPACE - BY_THE_KERNEL);
    assert!(near(&by_kernel.cores.saved.unwrap(), saved), "{by_kernel:?} {saved}");
    let from_file = row(&advice, "ktls-sendfile");
    let saved = today - other + part(IN_USER_SPACE - FROM_THE_FILE);
    assert!(near(&from_file.cores.saved.unwrap(), saved), "{from_file:?} {saved}");
    assert!(matches!(from_file.verdict, Some(PathVerdict::Saves { .. })), "{from_file:?}");
}

#[test]
fn where_all_is_over_tls_in_user_space_no_path_saves() {
    let advice = asked(log(1.0), &tls_of(quiet()), None).unwrap();
    let found = sendfile(&advice);
    assert_eq!(found.verdict, Some(PathVerdict::NothingToSave));
    assert_eq!(found.cores.saved.unwrap().value, 0.0);
    assert!(matches!(row(&advice, "ktls-sendfile").verdict, Some(PathVerdict::Saves { .. })));
    // A server that has the kernel's TLS already would lose it.
    let advice = asked(log(1.0), &tls_of(quiet()), Some("ktls-sendfile")).unwrap();
    assert_eq!(advice.today, "ktls-sendfile");
    let found = sendfile(&advice).verdict;
    assert!(matches!(found, Some(PathVerdict::CostsMore { .. })), "{found:?}");
}

#[test]
fn without_tls_the_figures_are_those_of_the_run_of_responses() {
    let none = asked(log(0.0), &tls_of(quiet()), None).unwrap();
    let clear = super::tests::advise(&run_of(quiet(), SENDFILE), &log(0.0), None, None).unwrap();
    assert!(clear.tls.is_none());
    for (one, other) in std::iter::zip(&none.paths, &clear.paths) {
        assert_eq!(one.path, other.path);
        let (one, other) = (one.cores.value.value, other.cores.value.value);
        assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    }
    // Nobody says it: encryption is in nothing.
    let unknown = LoggedResponses { over_tls: OverTls::Unknown, ..log(0.0) };
    let unknown = asked(unknown, &tls_of(quiet()), None).unwrap();
    assert_eq!((unknown.tls, unknown.paths.len()), (None, 2));
}

#[test]
fn the_interval_has_the_other_run_and_the_slices_of_the_log_in_it() {
    let half = |log: LoggedResponses, noise: f64| {
        let tls = tls_of(Synthetic { noise, ..quiet() });
        asked(log, &tls, None).unwrap().tls.unwrap().ways[0].cores.half_width.unwrap()
    };
    let steady = LoggedResponses {
        slices: vec![MEASURED.iter().map(|(_, mean)| *mean).enumerate().collect(); 300],
        ..log(0.5)
    };
    let (quiet, noisy) = (half(steady.clone(), 0.001), half(steady.clone(), 0.1));
    assert!(noisy > 5.0 * quiet, "{noisy} {quiet}");
    // The same share, and once in some slices alone.
    let told = |with: f64| TlsBytes { with, told: 100.0 };
    let slices: Vec<TlsBytes> =
        (0..300).map(|at| told(if at % 10 < 5 { 100.0 } else { 0.0 })).collect();
    let in_bursts = LoggedResponses { over_tls: OverTls::Logged(slices), ..steady.clone() };
    let even = LoggedResponses { over_tls: OverTls::Logged(vec![told(50.0); 300]), ..steady };
    let (even, bursts) = (half(even, 0.001), half(in_bursts, 0.001));
    assert!((even / quiet - 1.0).abs() < 0.1 && bursts > 3.0 * even, "{even} {bursts} {quiet}");
}

#[test]
fn intervals_of_what_the_kernel_saves_hold_the_truth_in_about_95_of_100_cases() {
    let truth = 0.5 * (IN_USER_SPACE - BY_THE_KERNEL) * kib_per_s() / 1e9;
    let (cases, mut held) = (100, 0);
    for seed in 0..cases {
        let world = Synthetic { blocks: 16, seed, noise: 0.05, block_drift: 0.0, ..quiet() };
        let log =
            LoggedResponses { over_tls: OverTls::Stated(0.5), ..log_of(&MEASURED, 40, !seed) };
        let logged = Logged { all: log, hosts: Vec::new() };
        let tls = tls_of(world.clone());
        let question = Question { tls: Some((&tls, None)), ..Question::default() };
        let run = run_of(world, SENDFILE);
        let advice = super::estimate::advised(&run, &logged, &question, 400).unwrap();
        let saved = row(&advice, "ktls-write").cores.saved.unwrap();
        held += usize::from(super::tests::contains(&saved, truth));
    }
    // 88 to 100 of 100 intervals at 95 % are within three standard deviations.
    assert!(held >= 88, "{held} of {cases}");
}

#[test]
fn a_run_that_does_not_tell_what_encryption_costs_is_refused() {
    let refused = |tls: &Run, cipher| {
        let logged = Logged { all: log(0.5), hosts: Vec::new() };
        let question = Question { tls: Some((tls, cipher)), ..Question::default() };
        super::advise(&run_of(quiet(), SENDFILE), &logged, &question).unwrap_err()
    };
    let stream = Synthetic::default().run();
    assert_eq!(refused(&stream, None), Unfit::Tls(TlsUnfit::NotOfTls));
    let one = [(SendPath::ReadSend, "clear", 500.0), (SendPath::TlsWrite, AES_128, 700.0)];
    let one = tls_run(&one, quiet());
    let known = vec![Cipher::Aes128Gcm];
    let unknown = refused(&one, Some(Cipher::Chacha20Poly1305));
    assert_eq!(unknown, Unfit::Tls(TlsUnfit::NoSuchCipher(known)));
    let mut few = tls_of(quiet());
    few.blocks.truncate(2);
    assert_eq!(refused(&few, None), Unfit::Tls(TlsUnfit::TooFewBlocks(2)));
    few.blocks.clear();
    assert_eq!(refused(&few, None), Unfit::Tls(TlsUnfit::NoCosts));
    let mut together = tls_of(quiet());
    together.header.link.sides_apart = false;
    assert_eq!(refused(&together, None), Unfit::Tls(TlsUnfit::SidesTogether));
    // Of one that is named it is that.
    let logged = Logged { all: log(1.0), hosts: Vec::new() };
    let tls = tls_of(quiet());
    let chacha = Some(Cipher::Chacha20Poly1305);
    let question = Question { tls: Some((&tls, chacha)), ..Question::default() };
    let advice = super::advise(&run_of(quiet(), SENDFILE), &logged, &question).unwrap();
    let told = advice.tls.unwrap();
    assert_eq!(Some(told.cipher), chacha);
    assert_eq!(told.missing, ["ktls-write", "ktls-sendfile"]);
}

#[test]
fn a_month_costs_the_price_of_its_hours() {
    let price = Price { per_core_hour: 0.04, currency: "$".to_owned() };
    let logged = Logged { all: log(0.0), hosts: Vec::new() };
    let question = |asked| Question { asked, price: Some(&price), ..Question::default() };
    let run = run_of(quiet(), SENDFILE);
    let advice = super::advise(&run, &logged, &question(None)).unwrap();
    assert_eq!((advice.price_per_core_hour, advice.currency.as_str()), (Some(0.04), "$"));
    let near = |money: f64, cores: f64| {
        assert!((money - 0.04 * HOURS_A_MONTH * cores).abs() < 1e-9, "{money} {cores}");
    };
    for path in &advice.paths {
        near(path.money_per_month.unwrap().value.value, path.cores.value.value);
    }
    let (money, cores) = (sendfile(&advice).money_per_month, sendfile(&advice).cores);
    near(money.unwrap().saved.unwrap().value, cores.saved.unwrap().value);
    let advice = super::advise(&run, &logged, &question(Some(Asked::Requests(5e4)))).unwrap();
    let asked = advice.paths[0].asked_cores.unwrap();
    near(advice.paths[0].money_per_month.unwrap().value.value, asked.value.value);
}
