//! Trials of cells with levels of their own, over the loopback interface.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::cell_config::CellConfig;
use super::limit::Limit;
use super::machine::Machine;
use super::receiving::RecvConfig;
use super::remote_side::{RemoteEnded, RemoteSide, SentFlow};
use super::rig::Rig;
use super::sending::Target;
use super::setup::allowed_cpus;
use super::testing::{files, fixed, loopback, rig, rig_to, rig_with};
use super::window::edge_ns;
use super::worker::TrialError;
use crate::link::Link;
use crate::meter::CpuCounters;
use zc_kernel::stop::Stop;
use zc_run::{
    Align, Cell, Cipher, Datagrams, ErrorKind, Factor, FixedParams, Level, Levels, LinkCounters,
    LinkFacts, LinkKind, Placement, Probe, ProxyPath, Push, RecvPath, Result, SendPath, SoakerKind,
    TlsVersion, Trial, TrialKind,
};

/// Long enough for a whole proof.
const LONG: Duration = Duration::from_secs(60);

fn cell(send: SendPath, levels: Levels) -> Cell {
    Cell { levels, ..Cell::of_paths(send, RecvPath::Recv) }
}

/// A trial's count in its window.
fn in_window(trial: &Trial, what: impl Fn(&zc_run::Reading) -> u64) -> u64 {
    what(&trial.closed) - what(&trial.opened)
}

/// A trial in which `seen` is seen: beside others its threads may sleep through a window.
fn trial_until(
    rig: &mut Rig,
    cell: &Cell,
    kind: TrialKind,
    seen: impl Fn(&Trial) -> bool,
) -> Trial {
    let until = Instant::now() + LONG;
    loop {
        let trial = rig.run(cell, kind).unwrap();
        if seen(&trial) {
            return trial;
        }
        assert!(Instant::now() < until, "not seen in any window of {}: {trial:?}", cell.label);
    }
}

/// A trial in whose window bytes arrive.
fn trial_with_bytes(rig: &mut Rig, cell: &Cell, kind: TrialKind) -> Trial {
    trial_until(rig, cell, kind, |trial| in_window(trial, |reading| reading.received.bytes) > 0)
}

#[test]
fn every_path_is_proven_with_messages_of_every_size_and_at_odd_offsets() {
    let mut rig = rig(fixed());
    for &send in SendPath::ALL {
        for (message, align) in
            [(64, Align::Page), (64, Align::Byte), (8_192, Align::Byte), (4 << 20, Align::Page)]
        {
            let levels =
                Levels { message_bytes: Some(message), align: Some(align), ..Levels::default() };
            match rig
                .prove(&cell(send, levels), LONG)
                .unwrap_or_else(|error| panic!("{send} {message} {align}: {error}"))
            {
                Ok(Probe::Proof { bytes, .. }) => {
                    assert_eq!(bytes, 373_730, "{send} {message} {align}")
                }
                Ok(other) => panic!("{other:?}"),
                Err(no) => eprintln!("skipped: {send}: {}", no.reason),
            }
        }
    }
}

#[test]
fn encrypted_files_are_proven_by_each_cipher_version_and_length_of_records() {
    for cipher in Cipher::ALL.iter().filter(|cipher| **cipher != Cipher::Clear) {
        for version in TlsVersion::NAMES {
            for record in ["16k", "1000"] {
                let mut at = fixed();
                let levels = [
                    (Factor::Cipher, cipher.name()),
                    (Factor::TlsVersion, version),
                    (Factor::Record, record),
                ];
                for (factor, text) in levels {
                    at.more.insert(factor.name(), Level::parse(factor, text).unwrap().value);
                }
                let mut rig = rig(at);
                let cell = cell(SendPath::TlsWrite, Levels::default());
                let proven = rig.prove(&cell, LONG).unwrap();
                let what = format!("{cipher} {version} {record}");
                assert!(matches!(proven, Ok(Probe::Proof { bytes: 373_730, .. })), "{what}");
                trial_until(&mut rig, &cell, TrialKind::TopSpeed, |trial| {
                    in_window(trial, |reading| reading.sent.framing_bytes) > 0
                });
            }
        }
    }
}

#[test]
fn what_is_encrypted_may_be_dropped_and_is_not_taken_by_who_cannot_decrypt() {
    let mut rig = rig(fixed());
    let dropped = Cell::of_paths(SendPath::TlsWrite, RecvPath::RecvTrunc);
    assert!(matches!(rig.prove(&dropped, LONG), Ok(Ok(_))));
    let trial = trial_with_bytes(&mut rig, &dropped, TrialKind::TopSpeed);
    assert!(trial.closed.sent.framing_bytes > 0);
    let splice = Cell::of_paths(SendPath::TlsWrite, RecvPath::Splice);
    let no = rig.prove(&splice, LONG).unwrap().unwrap_err();
    assert_eq!(no.kind.name(), "unsupported");
    assert!(no.reason.contains("splice does not decrypt"), "{no:?}");
}

/// A cell whose levels are these.
fn cell_at(send: SendPath, recv: RecvPath, levels: &[(Factor, &str)]) -> Cell {
    let mut cell = Cell::of_paths(send, recv);
    for (factor, text) in levels {
        Level::parse(*factor, text).unwrap().put(&mut cell);
    }
    cell
}

#[test]
fn every_proxy_is_proven_and_paid_for_at_a_rate() {
    let mut rig = rig(fixed());
    for &proxy in ProxyPath::ALL.iter().filter(|proxy| **proxy != ProxyPath::None) {
        for buffer in ["4k", "64k"] {
            let levels = [(Factor::Proxy, proxy.name()), (Factor::ProxyBuffer, buffer)];
            for recv in [RecvPath::Recv, RecvPath::RecvTrunc] {
                let cell = cell_at(SendPath::Sendfile, recv, &levels);
                match rig.prove(&cell, LONG).unwrap_or_else(|error| panic!("{proxy}: {error}")) {
                    Ok(Probe::Proof { bytes, .. }) => assert_eq!(bytes, 373_730, "{proxy}"),
                    Ok(other) => panic!("{other:?}"),
                    Err(no) => {
                        eprintln!("skipped: {proxy}: {}", no.reason);
                        continue;
                    }
                }
                for kind in [TrialKind::Soaked, TrialKind::TopSpeed] {
                    // A socket map takes what is sent unpaced, and forwards it when it can.
                    let trial = match (proxy, kind) {
                        (ProxyPath::Sockmap, TrialKind::TopSpeed) => rig.run(&cell, kind).unwrap(),
                        _ => trial_with_bytes(&mut rig, &cell, kind),
                    };
                    assert!(trial.whole_bytes > 0, "{proxy} {kind:?}");
                    assert!(trial.opened.receiver.cpu_ns > 0, "{proxy}: no clock of the proxy");
                }
            }
        }
    }
}

#[test]
fn a_proxy_that_cannot_be_is_refused_with_a_remedy() {
    let refused = |fixed: FixedParams, send, recv| {
        let cell = cell_at(send, recv, &[(Factor::Proxy, "splice")]);
        let proven = rig(fixed).prove(&cell, LONG).unwrap();
        proven.unwrap_err()
    };
    let no = refused(fixed(), SendPath::TlsWrite, RecvPath::TlsRecv);
    assert!(no.reason.contains("encrypted") && no.remedy.is_some(), "{no:?}");
    let no = refused(fixed(), SendPath::UdpGso, RecvPath::UdpGro);
    assert!(no.reason.contains("datagrams") && no.remedy.is_some(), "{no:?}");
    let cell = cell_at(SendPath::Sendfile, RecvPath::Recv, &[(Factor::Proxy, "splice")]);
    let config = CellConfig::resolve(&cell, &fixed(), &files()).unwrap();
    for kind in [LinkKind::Null, LinkKind::Remote] {
        let link = OfKind(LinkFacts { kind, ..loopback().base().facts().clone() });
        let Err(TrialError::CannotRun(no)) = config.check(&link) else { panic!("{kind}") };
        assert!(no.remedy.as_deref() == Some("--link veth"), "{no:?}");
    }
}

#[test]
fn a_path_takes_the_levels_of_datagrams_that_it_can_and_a_stream_has_none() {
    let datagrams = |send, levels: &[(Factor, &str)]| {
        let cell = cell_at(send, RecvPath::Recv, levels);
        fixed().at(&cell.levels).datagrams(cell.transfer)
    };
    let of = |payload_bytes, of_a_call| Some(Datagrams { payload_bytes, of_a_call });
    let four = [(Factor::Segments, "4"), (Factor::Datagram, "1452")];
    assert_eq!(datagrams(SendPath::UdpGso, &four), of(1_452, 4));
    assert_eq!(datagrams(SendPath::UdpSend, &four), of(1_452, 1));
    assert_eq!(datagrams(SendPath::QuicLike, &[]), of(1_200, 16));
    assert_eq!(datagrams(SendPath::ReadSend, &four), None);
}

#[test]
fn datagrams_are_proven_by_each_receiver_and_payload() {
    let mut rig = rig(fixed());
    for &send in SendPath::ALL.iter().filter(|send| send.form().is_datagrams()) {
        for &recv in RecvPath::ALL.iter().filter(|recv| recv.form() == send.form()) {
            for payload in ["64", "1452"] {
                // A packet has few fragments, which limits the parts of a message.
                let levels = [(Factor::Datagram, payload), (Factor::Segments, "4")];
                let cell = cell_at(send, recv, &levels);
                match rig.prove(&cell, LONG).unwrap_or_else(|error| panic!("{send}: {error}")) {
                    Ok(Probe::Proof { bytes, .. }) => {
                        assert_eq!(bytes, 373_730, "{send} {recv} {payload}")
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(no) => eprintln!("skipped: {send} {recv}: {}", no.reason),
                }
            }
        }
    }
}

#[test]
fn datagrams_that_are_lost_are_counted_and_end_no_trial() {
    // A receive buffer for a few datagrams, and a sender that does not wait.
    let mut rig = rig(FixedParams { rcvbuf_bytes: Some(4_096), ..fixed() });
    for send in [SendPath::UdpSend, SendPath::UdpSendmmsg] {
        let cell = cell_at(send, RecvPath::UdpRecvmsg, &[]);
        let trial = trial_until(&mut rig, &cell, TrialKind::TopSpeed, |trial| {
            let arrived = in_window(trial, |reading| reading.received.bytes);
            arrived > 0 && arrived < in_window(trial, |reading| reading.sent.bytes)
        });
        let lost = trial.whole_lost_bytes.expect("datagrams may be lost");
        assert!(lost > 0 && lost < trial.whole_bytes, "{send}: {lost} of {}", trial.whole_bytes);
    }
    let stream = rig.run(&cell(SendPath::ReadSend, Levels::default()), TrialKind::TopSpeed);
    assert_eq!(stream.unwrap().whole_lost_bytes, None);
}

#[test]
fn datagrams_that_a_link_or_a_socket_cannot_have_are_refused_with_the_reason() {
    let mut rig = rig(fixed());
    for (levels, reason) in [
        (&[(Factor::Push, "cork")][..], "TCP_CORK is an option of TCP"),
        (&[(Factor::Push, "more")], "MSG_MORE would join"),
        (&[(Factor::Datagram, "65507"), (Factor::Segments, "2")], "2 datagrams of 65507 bytes"),
    ] {
        let cell = cell_at(SendPath::UdpGso, RecvPath::UdpGro, levels);
        let no = rig.prove(&cell, LONG).unwrap().unwrap_err();
        assert!(no.reason.starts_with(reason), "{}", no.reason);
    }
    // No receiver waits for ever for the sender that did not come up.
    let until = Instant::now() + LONG;
    while receivers() > 0 {
        assert!(Instant::now() < until, "a receiver was left behind");
        std::thread::sleep(Duration::from_millis(1));
    }
    let burning = Cell {
        burn_softirq_ns_per_mb: Some(1.0),
        ..cell_at(SendPath::UdpGso, RecvPath::UdpGro, &[])
    };
    rig.prove(&burning, LONG).unwrap().unwrap_err();
}

/// Receivers' threads of this process, by their names.
fn receivers() -> usize {
    let names = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    names.filter(|name| name.starts_with("zc-recv-")).count()
}

#[test]
fn datagrams_longer_than_the_mtu_and_those_to_another_machine_are_refused() {
    use crate::trial::datagrams::refuse;
    let cell = cell_at(SendPath::UdpSend, RecvPath::UdpRecvmsg, &[]);
    let links = loopback();
    let facts = LinkFacts { mtu_bytes: 1500, ..links.base().facts().clone() };
    let no = |payload_bytes, facts: &LinkFacts| {
        refuse(Datagrams { payload_bytes, of_a_call: 1 }, &cell, &fixed(), facts)
    };
    assert_eq!(no(1_472, &facts), None);
    let too_long = no(1_473, &facts).unwrap();
    assert!(too_long.reason.contains("1473 bytes") && too_long.reason.contains("1500"));
    assert_eq!(too_long.remedy.as_deref(), Some("--datagram 1472, or a larger --mtu"));
    let remote = no(100, &LinkFacts { kind: LinkKind::Remote, ..facts }).unwrap();
    assert!(remote.reason.contains("another machine"));
}

#[test]
fn each_small_message_is_one_call() {
    let mut rig = rig(FixedParams { rate_bytes_per_s: 4e6, ..fixed() });
    for (send, calls_each) in [
        (SendPath::ReadSend, 2),
        (SendPath::MmapWrite, 1),
        (SendPath::Sendfile, 1),
        (SendPath::Splice, 2),
    ] {
        let levels = Levels { message_bytes: Some(64), ..Levels::default() };
        let cell = cell(send, levels);
        let sent = trial_with_bytes(&mut rig, &cell, TrialKind::UnsoakedControl).closed.sent;
        assert!(sent.calls * 64 >= sent.bytes * calls_each, "{send}: {sent:?}");
    }
}

#[test]
fn an_unsoaked_paced_trial_sends_nothing_between_two_steps_of_the_idle_clock() {
    let mut rig = rig(fixed());
    let cell = cell(SendPath::ReadSend, Levels::default());
    let trial = rig.run(&cell, TrialKind::UnsoakedPaced).unwrap();
    assert_eq!((trial.whole_bytes, trial.closed.received.bytes), (0, 0));
    assert!(trial.closed.soak.units.is_empty(), "no soakers");
    match (trial.opened.idle_ns, trial.closed.idle_ns) {
        (Some(opened), Some(closed)) => {
            assert!(closed > opened && (closed - opened).is_multiple_of(10_000_000));
        }
        _ => eprintln!("skipped: no idle clock here, or no CPU that idles"),
    }
    let unpaced = rig.run(&cell, TrialKind::TopSpeed).unwrap();
    assert_eq!((unpaced.opened.idle_ns, unpaced.closed.idle_ns), (None, None));
}

/// Another end that swallows bytes, and takes longer to answer than a window lasts: so does reading
/// /proc on a slow machine.
struct Slow(TcpListener);

impl RemoteSide for Slow {
    fn expect(
        &mut self,
        flows: usize,
        _: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError> {
        Ok(vec![Target::plain(self.0.local_addr().unwrap()); flows])
    }

    fn await_flows(&mut self) -> std::result::Result<(), TrialError> {
        let (mut flow, _) = self.0.accept().unwrap();
        std::thread::spawn(move || std::io::copy(&mut flow, &mut std::io::sink()));
        Ok(())
    }

    fn open_window(&mut self, opens_in_ns: u64, lasts_ns: u64) -> Result<()> {
        std::thread::sleep(Duration::from_nanos(opens_in_ns + 2 * lasts_ns));
        Ok(())
    }

    fn finish(
        &mut self,
        _: &[SentFlow<'_>],
        _: f64,
    ) -> std::result::Result<RemoteEnded, TrialError> {
        Ok(RemoteEnded::default())
    }

    fn give_up(&mut self) {}
}

#[test]
fn a_window_that_opens_late_lasts_as_long_and_bytes_arrive_in_it() {
    let slow = Slow(TcpListener::bind("127.0.0.1:0").unwrap());
    let mut rig = rig_to(fixed(), Some(Box::new(slow)));
    let ms = 1_000_000;
    let idle = rig.idle().unwrap();
    let lasted_ns = idle.closed.soak.at_ns.saturating_sub(idle.opened.soak.at_ns);
    assert!(lasted_ns >= 4 * ms, "{idle:?}");
    let cell = cell(SendPath::ReadSend, Levels::default());
    for (kind, lasts_ns) in [(TrialKind::TopSpeed, 10 * ms), (TrialKind::Soaked, 10 * ms)] {
        // On a machine so slow that TCP sends again, there may be a window in which nothing
        // arrives.
        let arrives = (0..20).any(|_| {
            let trial = rig.run(&cell, kind).unwrap();
            // The edge may have been late by so much, and have taken as long to be read.
            let least_ns = lasts_ns - 2 * edge_ns(1);
            let lasted_ns = trial.closed.soak.at_ns.saturating_sub(trial.opened.soak.at_ns);
            assert!(lasted_ns >= least_ns, "{trial:?}");
            in_window(&trial, |reading| reading.received.bytes) > 0
        });
        assert!(arrives, "nothing arrives in any of 20 windows at {kind:?}");
    }
}

#[test]
fn a_window_of_the_far_end_that_opens_late_lasts_as_long() {
    let mut machine = Machine::new(&fixed().soaked_cpus, SoakerKind::Alu).unwrap();
    let lasts_ns = 5_000_000;
    // It was to open and to close before it was asked for.
    let long_ago_ns = zc_kernel::clock::monotonic_ns() - 10 * lasts_ns;
    let window = machine.watch(None, long_ago_ns, lasts_ns, &|| Ok(())).unwrap();
    assert!(window.closed.soak.at_ns - window.opened.soak.at_ns >= lasts_ns, "{window:?}");
}

#[test]
fn every_way_to_push_is_proven_where_the_path_has_it() {
    let mut rig = rig(fixed());
    for &send in SendPath::ALL {
        for &push in Push::ALL {
            let levels =
                Levels { push: Some(push), message_bytes: Some(1_000), ..Levels::default() };
            let Err(no) = rig
                .prove(&cell(send, levels), LONG)
                .unwrap_or_else(|error| panic!("{send} {push}: {error}"))
            else {
                continue;
            };
            eprintln!("skipped: {send} {push}: {}", no.reason);
            let has_no_flags =
                matches!(send, SendPath::ReadWrite | SendPath::MmapWrite | SendPath::Sendfile);
            assert!(
                !has_no_flags
                    || (matches!(push, Push::More | Push::File) && no.kind.name() == "unsupported"),
                "{send} {push}: {}",
                no.reason
            );
        }
    }
}

#[test]
fn a_cork_makes_full_packets_of_small_messages_and_nodelay_does_not() {
    let mut rig = rig(FixedParams { rate_bytes_per_s: 2e6, ..fixed() });
    let mut segments_per_mb = |push| {
        let levels = Levels { push: Some(push), message_bytes: Some(64), ..Levels::default() };
        let cell = cell(SendPath::ReadSend, levels);
        let (mut segments, mut bytes) = (0, 0);
        // On a busy machine a window may pass without a burst.
        while bytes < 20_000 {
            let trial = rig.run(&cell, TrialKind::UnsoakedControl).unwrap();
            segments += in_window(&trial, |reading| reading.tcp.unwrap().segs_out);
            bytes += in_window(&trial, |reading| reading.sent.bytes);
        }
        segments as f64 * 1e6 / bytes as f64
    };
    let nodelay = segments_per_mb(Push::Nodelay);
    for push in [Push::Cork, Push::More, Push::File] {
        let corked = segments_per_mb(push);
        assert!(nodelay > 2.0 * corked, "{nodelay} {push} {corked}");
    }
}

#[test]
fn a_cell_runs_with_its_own_buffers_congestion_control_rate_and_placement() {
    let soaked_cpus = allowed_cpus().unwrap();
    let mut rig = rig(FixedParams { soaked_cpus, ..fixed() });
    for placement in Placement::ALL {
        let levels = Levels {
            recv_buffer_bytes: Some(3_000),
            sockbuf_bytes: Some(32 << 10),
            congestion: Some("reno".to_owned()),
            placement: Some(*placement),
            rate_bytes_per_s: Some(20e6),
            ..Levels::default()
        };
        let trial = rig.run(&cell(SendPath::Sendfile, levels), TrialKind::Soaked).unwrap();
        let received = trial.closed.received;
        assert!(received.bytes > 0 && received.bytes <= received.calls * 3_000, "{received:?}");
        let used = trial.whole_sender_usage.unwrap();
        assert!(used.elapsed_ns > 0, "{used:?}");
    }
}

#[test]
fn a_missing_congestion_control_is_an_error_of_the_cell() {
    let levels = Levels { congestion: Some("nonesuch".to_owned()), ..Levels::default() };
    let error = rig(fixed()).prove(&cell(SendPath::Sendfile, levels), LONG).unwrap_err();
    assert_eq!(error.id, "congestion-control-unavailable", "{error}");
}

#[test]
fn a_thousand_flows_are_one_trial_and_leave_no_port_behind() {
    let mut rig = rig(FixedParams { rate_bytes_per_s: 100e6, ..fixed() });
    let levels = Levels { flows: Some(1_000), ..Levels::default() };
    let began = std::time::Instant::now();
    let cell = cell(SendPath::ReadSend, levels);
    let trial = match rig.run(&cell, TrialKind::UnsoakedControl) {
        Ok(trial) => trial,
        Err(error) if error.id == "too-many-open-files" => {
            return eprintln!("skipped: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    eprintln!("a trial of 1,000 flows took {:?}", began.elapsed());
    assert!(trial.closed.soak.at_ns > trial.opened.soak.at_ns);
    assert!(trial.whole_bytes >= trial.closed.received.bytes);
    trial_with_bytes(&mut rig, &cell, TrialKind::UnsoakedControl);
}

/// A link of which only the kind matters.
struct OfKind(LinkFacts);

impl Link for OfKind {
    fn facts(&self) -> &LinkFacts {
        &self.0
    }

    fn enter_sender(&self) -> Result<()> {
        Ok(())
    }

    fn enter_receiver(&self) -> Result<()> {
        Ok(())
    }

    fn receiver_address(&self) -> std::net::IpAddr {
        std::net::Ipv4Addr::LOCALHOST.into()
    }

    fn sender_address(&self) -> std::net::IpAddr {
        self.receiver_address()
    }

    fn counters(&self) -> Result<LinkCounters> {
        Ok(LinkCounters::default())
    }
}

#[test]
fn what_a_link_cannot_do_is_reported_with_a_remedy() {
    let of_kind = |kind| OfKind(LinkFacts { kind, ..loopback().base().facts().clone() });
    let placed = |placement| Levels { placement: Some(placement), ..Levels::default() };
    let sockbuf = Levels { sockbuf_bytes: Some(65_536), ..Levels::default() };
    for (kind, levels, can) in [
        (LinkKind::Null, placed(Placement::Same), false),
        (LinkKind::Null, placed(Placement::Free), false),
        (LinkKind::Null, placed(Placement::Separate), true),
        (LinkKind::Null, sockbuf.clone(), true),
        (LinkKind::Remote, placed(Placement::Same), false),
        (LinkKind::Remote, sockbuf.clone(), false),
        (LinkKind::Loopback, placed(Placement::Same), true),
        (LinkKind::Veth, placed(Placement::Free), true),
    ] {
        match CellConfig::resolve(&cell(SendPath::Sendfile, levels.clone()), &fixed(), &files())
            .unwrap()
            .check(&of_kind(kind))
        {
            Ok(()) => assert!(can, "{kind} {levels:?}"),
            Err(TrialError::CannotRun(no)) => {
                assert!(
                    !can && no.kind.name() == "unsupported" && no.remedy.as_deref().is_some(),
                    "{kind} {levels:?}: {}",
                    no.reason
                );
            }
            Err(TrialError::Broke(error)) => panic!("{error}"),
        }
    }
}

#[test]
fn what_is_drawn_anew_sends_the_same_bytes_past_other_soakers() {
    let mut rig = rig(fixed());
    let sendfile = cell(SendPath::Sendfile, Levels::default());
    let proven = |rig: &mut Rig| match rig.prove(&sendfile, LONG).unwrap() {
        Ok(Probe::Proof { bytes, .. }) => bytes,
        other => panic!("{other:?}"),
    };
    let before = (proven(&mut rig), rig.soaker_tids().to_vec());
    rig.redraw().unwrap();
    assert_eq!(proven(&mut rig), before.0);
    assert!(rig.soaker_tids().iter().all(|tid| !before.1.contains(tid)));
}

#[test]
fn a_buffer_that_the_kernel_cuts_cannot_run_and_says_which_sysctl_cuts_it() {
    let limit = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit >= 1 << 30 {
        return eprintln!("skipped: net.core.wmem_max cuts nothing here");
    }
    let mut rig = rig(FixedParams { sndbuf_bytes: Some(limit + 1), ..fixed() });
    let cell = cell(SendPath::ReadSend, Levels::default());
    let no = rig.prove(&cell, LONG).unwrap().unwrap_err();
    assert!(no.reason.starts_with("SO_SNDBUF of "), "{}", no.reason);
    assert!(no.remedy.unwrap().contains("net.core.wmem_max"));
}

#[test]
fn events_are_counted_in_the_window_that_the_soakers_bound() {
    let fixed = fixed();
    let cpus = fixed.soaked_cpus.clone();
    let Some(counters) = CpuCounters::of_software(&cpus) else { return };
    let mut rig = rig_with(fixed, None, Some(counters));
    rig.soak(true).unwrap();
    let idle = rig.idle().unwrap();
    let trial = rig.run(&cell(SendPath::ReadSend, Levels::default()), TrialKind::Soaked).unwrap();
    for (opened, closed) in [(&idle.opened, &idle.closed), (&trial.opened, &trial.closed)] {
        assert_eq!((opened.counted.len(), closed.counted.len()), (cpus.len(), cpus.len()));
        for (from, to) in std::iter::zip(&opened.counted, &closed.counted) {
            // The clock of a CPU, which stands in for its cycles here, whatever runs there.
            let clock_ns = to.cycles - from.cycles;
            let enabled_ns = to.enabled_ns - from.enabled_ns;
            assert!(clock_ns.abs_diff(enabled_ns) < enabled_ns / 4, "{clock_ns} of {enabled_ns}");
            assert_eq!(enabled_ns, to.running_ns - from.running_ns);
        }
    }
}

#[test]
fn a_trial_records_what_its_sockets_used() {
    let (mut rig, cell) = (
        rig(FixedParams { sndbuf_bytes: Some(65_536), ..fixed() }),
        cell(SendPath::ReadSend, Levels::default()),
    );
    let sockets = rig.run(&cell, TrialKind::UnsoakedControl).unwrap().sockets.unwrap();
    assert_eq!((sockets.congestion.as_str(), sockets.sndbuf_bytes), ("reno", 131_072));
    assert!(sockets.rcvbuf_bytes.unwrap() > 0 && sockets.rcv_ssthresh_bytes.unwrap() > 0);
    // A state that would have given them another is one that they do not have.
    let state = zc_run::HostState::b();
    let in_b =
        Cell { levels: Levels { state: Some(state.clone()), ..Levels::default() }, ..cell.clone() };
    let of_host = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    rig.leave_congestion_to([(state.clone(), of_host.trim().to_owned())].into());
    let sockets = rig.run(&in_b, TrialKind::UnsoakedControl).unwrap().sockets.unwrap();
    assert_eq!(sockets.congestion, of_host.trim());
    rig.leave_congestion_to([(state, "another".to_owned())].into());
    let no = rig.prove(&in_b, LONG).unwrap().unwrap_err();
    assert!(no.reason.ends_with("and \"another\" was asked for"), "{}", no.reason);
}

#[test]
fn a_trial_records_what_tcp_got() {
    let mut rig = rig(fixed());
    let mut run = |cell: &Cell| trial_with_bytes(&mut rig, cell, TrialKind::UnsoakedControl);
    let trial = run(&cell(SendPath::ReadSend, Levels::default()));
    let [opened, closed] = [&trial.opened, &trial.closed].map(|edge| edge.delivered.unwrap());
    assert!(closed.at_ns > opened.at_ns && closed.packets >= opened.packets);
    // Of this connection alone.
    assert!((1..=trial.whole_bytes).contains(&closed.bytes), "{closed:?}");
    assert!(closed.segs_in > 0 && closed.segs_in < closed.bytes, "{closed:?}");
    assert!(closed.all_segs_in.unwrap() >= closed.segs_in, "{closed:?}");
    // Behind a proxy two connections are received, and one of them is not metered.
    let proxied = cell_at(SendPath::Sendfile, RecvPath::Recv, &[(Factor::Proxy, "splice")]);
    let trial = run(&proxied);
    assert_eq!((trial.opened.delivered, trial.closed.delivered), (None, None));
}

/// Bytes that a proof of this cell sent within `time`.
fn proven_in(rig: &mut Rig, cell: &Cell, time: Duration) -> u64 {
    match rig.prove(cell, time).unwrap() {
        Ok(Probe::Proof { bytes, .. }) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_proof_sends_what_its_time_has_room_for() {
    let all = files().files.total_bytes();
    // Calls of a byte: all of them take a good part of a second, and the first ones little.
    let mut rig = rig(FixedParams { buffer_bytes: 1, ..fixed() });
    let few = proven_in(&mut rig, &cell(SendPath::ReadSend, Levels::default()), Duration::ZERO);
    assert_eq!(few, 16 << 10);
    assert_eq!(proven_in(&mut rig, &cell(SendPath::Sendfile, Levels::default()), LONG), all);
}

#[test]
fn no_trial_outlasts_its_limit_and_what_it_was_is_said() {
    let sendfile = cell(SendPath::Sendfile, Levels::default());
    let over = Limit::new(Instant::now(), &Stop::default());
    let stopped = Limit::new(Instant::now() + LONG, &Stop::already());
    for (limit, kind) in [(over, ErrorKind::NothingKept), (stopped, ErrorKind::Interrupted)] {
        let mut rig = rig(fixed());
        // A window of an hour.
        rig.set_timing(zc_run::Timing { window_ns: 3_600_000_000_000, ..rig.timing() });
        rig.limit_to(limit);
        assert_eq!(rig.run(&sendfile, TrialKind::Soaked).unwrap_err().kind, kind);
        rig.limit_to(Limit::default());
        rig.set_timing(zc_run::Timing { window_ns: 1_000_000, ..rig.timing() });
        rig.run(&sendfile, TrialKind::Soaked).unwrap();
    }
}
