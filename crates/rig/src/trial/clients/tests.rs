//! Clients over the loopback interface, with both ends on one CPU.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::super::cell_config::CellConfig;
use super::super::flow::Flow;
use super::super::priority::Priority;
use super::super::sending::SendConfig;
use super::super::testing::{files, fixed, loopback, rig};
use super::super::worker::TrialError;
use zc_kernel::clock::monotonic_ns;
use zc_run::{
    Cell, Clients, Factor, FixedParams, Level, Probe, RecvPath, SendPath, Trial, TrialKind,
};

/// The paths that go on with the next client.
const PATHS: [SendPath; 4] =
    [SendPath::ReadSend, SendPath::MmapWrite, SendPath::Sendfile, SendPath::MsgZerocopy];

/// Long enough for a whole proof.
const LONG: Duration = Duration::from_secs(60);

fn at(clients: &str, rate: &str) -> FixedParams {
    let mut fixed = fixed();
    for (factor, text) in [(Factor::Clients, clients), (Factor::ClientRate, rate)] {
        fixed.more.insert(factor.name(), Level::parse(factor, text).unwrap().value);
    }
    fixed
}

fn cell(send: SendPath) -> Cell {
    Cell::of_paths(send, RecvPath::Recv)
}

#[test]
fn every_path_is_proven_for_each_of_several_clients() {
    for align in ["page", "byte"] {
        let mut fixed = at("20", "20Mbit/s");
        fixed.align = align.parse().unwrap();
        // Less than a buffer, so that something is left in it when its client is full.
        fixed.sndbuf_bytes = Some(4 << 10);
        let mut rig = rig(fixed);
        for send in PATHS {
            for recv in [RecvPath::Recv, RecvPath::RecvTrunc] {
                match rig.prove(&Cell::of_paths(send, recv), LONG).unwrap() {
                    Ok(Probe::Proof { bytes, .. }) => assert_eq!(bytes, 373_730, "{send} {recv}"),
                    Ok(other) => panic!("{other:?}"),
                    Err(no) => eprintln!("skipped: {send}: {}", no.reason),
                }
            }
        }
    }
}

fn in_window(trial: &Trial, what: impl Fn(&zc_run::Reading) -> u64) -> u64 {
    what(&trial.closed) - what(&trial.opened)
}

#[test]
fn clients_get_their_bytes_and_not_faster_than_they_are_paced() {
    let mut rig = rig(at("50", "8Mbit/s"));
    for send in PATHS {
        for kind in [TrialKind::Soaked, TrialKind::TopSpeed] {
            let trial =
                rig.run(&cell(send), kind).unwrap_or_else(|error| panic!("{send}: {error}"));
            let received = in_window(&trial, |reading| reading.received.bytes);
            let seconds = in_window(&trial, |reading| reading.soak.at_ns) as f64 / 1e9;
            assert!(received > 0, "{send} {kind:?}");
            // A window may begin with what was late before it: a packet of each client.
            let most = 50.0 * (1e6 * seconds + 65_536.0);
            assert!((received as f64) < most, "{send} {kind:?}: {received} in {seconds} s");
            assert!(trial.closed.tcp.unwrap().segs_out > 50, "{send}: of all connections");
        }
    }
}

#[test]
fn paths_and_ends_that_wait_for_one_connection_are_refused_with_a_remedy() {
    let refused = |fixed: FixedParams, cell: &Cell| {
        rig(fixed).prove(cell, LONG).unwrap().expect_err("it runs")
    };
    let no = refused(at("2", "8Mbit/s"), &cell(SendPath::Splice));
    assert!(no.reason.contains("splice waits for one client"), "{no:?}");
    for (send, recv) in [
        (SendPath::TlsWrite, RecvPath::TlsRecv),
        (SendPath::UdpSend, RecvPath::UdpRecvmsg),
        (SendPath::Sendfile, RecvPath::ZerocopyReceive),
    ] {
        let no = refused(at("2", "8Mbit/s"), &Cell::of_paths(send, recv));
        assert!(no.remedy.is_some(), "{no:?}");
    }
    let burning = Cell { burn_softirq_ns_per_mb: Some(1e6), ..cell(SendPath::Sendfile) };
    assert!(refused(at("2", "8Mbit/s"), &burning).reason.contains("softirqs"));
}

fn flow(send: SendPath, clients: Clients) -> Flow {
    let links = loopback();
    let setup = files();
    let config = Arc::new(CellConfig::resolve(&cell(send), &fixed(), &setup).unwrap());
    let send_config = SendConfig {
        bursts: config.paced(),
        stop_after_bytes: None,
        first_file: 0,
        piece_bytes: 1 << 20,
        checksum: false,
        priority: Priority::Usual,
        to_listener: false,
        sends_nothing: false,
        keying: None,
        is_decrypted: false,
        clients: Some(clients),
    };
    super::open(clients, &config, links.base(), send_config)
        .unwrap_or_else(|error| panic!("{send}: {error:?}"))
}

const FAST: Clients = Clients { count: 10, rate_bytes_per_s: 1e7 };

fn wait_until_bytes_arrive(flow: &Flow) {
    let until = Instant::now() + LONG;
    while flow.counts().1.bytes == 0 {
        assert!(!flow.has_ended() && Instant::now() < until);
        std::thread::yield_now();
    }
}

#[test]
fn a_far_end_that_goes_away_is_an_error_and_no_hang() {
    for send in PATHS {
        let flow = flow(send, FAST);
        flow.begin(monotonic_ns());
        wait_until_bytes_arrive(&flow);
        flow.receiving_socket().unwrap().shut_down().unwrap();
        let Err(TrialError::Broke(error)) = flow.finish() else { panic!("{send} did not notice") };
        let ids = ["receiver-closed-early", "sender-reset", "bytes-lost"];
        assert!(ids.contains(&&*error.id), "{send}: {error:?}");
    }
}

#[test]
fn clients_are_stopped_drained_and_dropped_whenever_that_is() {
    for send in PATHS {
        let (out, ended) = channel();
        std::thread::spawn(move || {
            drop(flow(send, FAST)); // joins its threads
            let slow = flow(send, Clients { count: 10, rate_bytes_per_s: 1e4 });
            slow.begin(monotonic_ns());
            wait_until_bytes_arrive(&slow);
            drop(slow);
            let flow = flow(send, FAST);
            flow.begin(monotonic_ns());
            wait_until_bytes_arrive(&flow);
            flow.stop();
            let (sent, received, _) = flow.finish().unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(sent.bytes, received.bytes, "{send}");
            out.send(())
        });
        assert!(ended.recv_timeout(LONG).is_ok(), "{send}");
    }
}

#[test]
fn more_clients_than_there_may_be_open_files_are_refused_in_a_sentence() {
    // 100,000 of them need 200,000 descriptors; where that many are allowed, ports run out.
    let no = rig(at("100000", "1Mbit/s"));
    let mut no = no;
    match no.run(&cell(SendPath::Sendfile), TrialKind::Soaked) {
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("RLIMIT_NOFILE") || text.contains("ip_local_port_range"),
                "{text}"
            );
        }
        Ok(_) => panic!("there are not so many ports"),
    }
}
