//! Tests of links against the kernel. Each case runs in a process of its own with a single thread,
//! because only such a process can make a user namespace. As root every case runs twice, once as
//! root and once as `nobody` (`as_nobody::NAME`). The harness runs them one after the other, limits
//! their time, and reports a skipped case as ignored.

#![expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use zc_kernel::spawn;
use zc_kernel::tcp::Unconnected;
use zc_kernel::uring::{ZeroCopy, ZeroCopySends};
use zc_rig::link::{Link, NotedFlow, Sides, Steering, bring_up, bring_up_with, try_out};
use zc_run::{
    AckOptions, FragmentCounts, IpVersion, LinkKind, LinkOptions, OffloadSwitch, Support,
    UnavailableKind,
};

/// Result of a case that does not panic.
enum End {
    Passed,
    Skipped(String),
}

type Case = fn() -> End;

const CASES: &[(&str, Case)] = &[
    ("loopback_counts_what_is_sent", loopback_counts_what_is_sent),
    ("veth_carries_tcp_and_counts_it", veth_carries_tcp_and_counts_it),
    (
        "segments_that_are_one_packet_to_tcp_are_counted_once_without_privileges",
        several::merged_segments_are_one_packet,
    ),
    (
        "a_connection_over_veth_begins_with_the_window_that_the_facts_name",
        veth_begins_with_a_wide_window,
    ),
    ("each_side_receives_on_its_own_cpu", each_side_receives_on_its_own_cpu),
    ("sysfs_steers_as_well_as_the_default_mask", sysfs_steers_as_well_as_the_default_mask),
    ("a_link_without_steering_is_found_out", a_link_without_steering_is_found_out),
    ("one_cpu_is_enough_for_a_link_but_not_to_tell_the_sides_apart", one_cpu_is_enough),
    ("a_cpu_that_does_not_exist_is_no_link_failure", a_cpu_that_does_not_exist),
    ("the_caller_stays_where_and_who_it_is", the_caller_stays_where_and_who_it_is),
    ("a_link_can_be_tried_out_and_then_brought_up", a_link_can_be_tried_out),
    ("a_dropped_link_leaves_nothing", a_dropped_link_leaves_nothing),
    ("a_killed_process_leaves_nothing", a_killed_process_leaves_nothing),
    ("a_process_with_threads_needs_root", a_process_with_threads_needs_root),
    ("a_limit_of_no_user_namespaces_is_named", a_limit_of_no_user_namespaces_is_named),
    ("tcp_settings_are_those_of_the_host", tcp_settings_are_those_of_the_host),
    (
        "null_notes_and_acknowledges_what_is_sent_by_several_flows",
        null_notes_what_several_flows_send,
    ),
    ("null_notes_datagrams_and_answers_none", null_notes_datagrams_and_answers_none),
    ("null_agrees_to_what_a_syn_asks_for", null_agrees_to_what_a_syn_asks_for),
    ("null_leaves_zero_copy_sends_uncopied", null_leaves_zero_copy_sends_uncopied),
    (
        "null_tells_a_send_of_io_uring_that_joined_a_packet_from_one_that_was_copied",
        null_tells_joined_from_copied,
    ),
    ("null_counts_past_four_gib_in_one_flow", null_counts_past_four_gib),
    ("null_acknowledges_as_often_as_it_is_asked_to", null_acknowledges_as_often_as_it_is_asked_to),
    (
        "null_counts_the_fragments_of_packets_where_it_is_asked_to",
        null_counts_the_fragments_of_packets_where_it_is_asked_to,
    ),
    ("null_makes_up_a_round_trip_time", null_makes_up_a_round_trip_time),
    ("null_answers_again_what_is_asked_again_because_an_answer_got_lost", null_answers_again),
    ("every_link_carries_tcp_over_ipv6", every_link_carries_ipv6),
    (
        "null_sees_packets_as_the_card_would_without_its_offloads",
        null_sees_packets_of_a_lesser_card,
    ),
    ("a_sniffer_makes_copies_where_packets_reach_it", a_sniffer_makes_copies),
    ("veth_is_the_card_that_was_asked_for", veth_is_the_card_that_was_asked_for),
    ("several_links_carry_each_its_own", several::each_carries_its_own),
    ("a_far_end_without_flows_takes_no_cpu_time", several::a_far_end_without_flows_rests),
    ("links_of_null_that_are_compared_have_the_same_card", several::links_of_null_have_one_card),
    ("loopback_is_no_other_device_for_some_cells", several::loopback_is_left_alone),
    (
        "each_offload_switch_changes_what_packets_look_like_on_veth",
        several::each_switch_changes_packets,
    ),
    ("the_bytes_of_every_path_are_proven_at_every_mtu", several::every_path_is_proven_at_every_mtu),
    ("null_notes_packets_of_every_size", gso_max::null_notes_packets_of_every_size),
    ("null_has_packets_of_every_size_behind_a_bridge", gso_max::null_has_them_behind_a_bridge_too),
    ("veth_carries_packets_of_every_size", gso_max::veth_carries_packets_of_every_size),
    ("every_layer_carries_bytes_and_counts_them", layers::each_carries_and_counts),
    (
        "the_bytes_of_every_path_are_proven_over_every_layer",
        layers::every_path_is_proven_over_every_layer,
    ),
    ("bytes_that_go_past_a_layer_are_found", layers::bytes_past_a_layer_are_found),
    ("null_has_no_layers_and_says_so", layers::null_has_no_layers),
    ("packets_of_paced_clients_are_small", clients::packets_are_small),
    ("clients_beyond_the_ports_there_are_are_told_of", clients::ports_run_out_in_a_sentence),
    (
        "null_refuses_large_packets_over_ipv6_and_says_why",
        gso_max::null_refuses_large_packets_over_ipv6,
    ),
    (
        "the_bytes_of_every_path_are_proven_at_every_largest_packet",
        gso_max::every_path_is_proven_at_every_size,
    ),
    ("null_passes_what_goes_to_other_ports", null_passes_other_ports),
    ("null_sees_a_flow_that_is_reset", null_sees_a_reset),
    ("null_needs_a_second_cpu_and_root_and_says_so", null_needs_two_cpus_and_root),
    ("null_leaves_no_program_and_no_namespace_behind", null_leaves_nothing),
    ("a_killed_process_leaves_no_program_of_null", a_killed_null_leaves_nothing),
];

/// Cases that take minutes: `cargo test --test link -- --ignored`.
const LONG_CASES: &[(&str, Case)] =
    &[("null_counts_past_a_hundred_gib_in_one_flow", null_counts_past_a_hundred_gib)];

/// Much longer than any step takes on a working machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Much longer than a case takes. One of [`LONG_CASES`] takes minutes.
const LIMIT: Duration = Duration::from_secs(120);
const LONG_LIMIT: Duration = Duration::from_secs(1800);
const CASE: &str = "ZC_TEST_CASE";
const SKIPPED: u8 = 77;
// `nobody` and its group on every distribution that zc is likely to meet.
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    if let Ok(wanted) = std::env::var(CASE) {
        return run_here(&wanted);
    }
    let mut arguments = Arguments::from_args();
    // One at a time, because cases measure. The harness's threads are not in a case's process.
    arguments.test_threads = Some(1);
    let users: &[Option<u32>] =
        if zc_kernel::process::euid() == 0 { &[None, Some(NOBODY)] } else { &[None] };
    let cases = CASES
        .iter()
        .map(|case| (case, LIMIT))
        .chain(LONG_CASES.iter().map(|case| (case, LONG_LIMIT)));
    let trials = cases.flat_map(|(&(name, _), limit)| {
        users.iter().map(move |&user| {
            let who = if user.is_some() { "as_nobody::" } else { "" };
            let trial = Trial::ignorable_test(format!("{who}{name}"), move || {
                run_in_a_process(name, user, limit)
            });
            trial.with_ignored_flag(limit == LONG_LIMIT)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Runs a case and passes on its output.
fn run_in_a_process(name: &str, user: Option<u32>, limit: Duration) -> Result<Completion, Failed> {
    let mut child = match child(name, user).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) if user.is_some() && error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Ok(skipped(&format!("{name}: nobody may not read this folder")));
        }
        Err(error) => return Err(format!("it cannot be started: {error}").into()),
    };
    let mut stderr = child.stderr.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let process = spawn::pidfd(child.id().cast_signed())?;
    let has_ended =
        spawn::wait_readable(&[std::os::fd::AsFd::as_fd(&process)], Some(limit))? == [true];
    if !has_ended {
        child.kill()?;
    }
    let status = child.wait()?;
    if !has_ended {
        // Its children may live on with its stderr open, so there may be no end of file.
        return Err(format!("it had not ended within {limit:?} and was killed").into());
    }
    let said = reader.join().expect("reading does not panic")?;
    match status.code() {
        Some(0) => Ok(Completion::Completed),
        Some(code) if code == i32::from(SKIPPED) => {
            let why = said.lines().rev().find_map(|line| line.strip_prefix("skipped: "));
            Ok(skipped(why.unwrap_or("without a reason")))
        }
        _ => Err(format!("{status}\n{said}").into()),
    }
}

/// Reports a skip on stderr, as all other tests do, and as ignored.
fn skipped(why: &str) -> Completion {
    eprintln!("skipped: {why}");
    Completion::ignored_with(why)
}

fn child(case: &str, user: Option<u32>) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    command.env(CASE, case).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}

fn run_here(wanted: &str) -> ExitCode {
    match wanted {
        "hold" => hold(),
        "hold-null" => hold_null(),
        "in_a_namespace_without_namespaces" => in_a_namespace_without_namespaces(),
        _ => {}
    }
    let Some((_, case)) = CASES.iter().chain(LONG_CASES).find(|(name, _)| *name == wanted) else {
        panic!("no case \"{wanted}\"");
    };
    match case() {
        End::Passed => ExitCode::SUCCESS,
        End::Skipped(why) => {
            eprintln!("skipped: {wanted}: {why}");
            ExitCode::from(SKIPPED)
        }
    }
}

/// Two CPUs, or the reason to skip.
fn two_cpus() -> Result<Sides, End> {
    match zc_kernel::sched::allowed_cpus().expect("the own affinity can be read")[..] {
        [sender_cpu, receiver_cpu, ..] => Ok(Sides { sender_cpu, receiver_cpu }),
        _ => Err(End::Skipped("needs two CPUs".to_owned())),
    }
}

fn one_cpu() -> Sides {
    let cpu = zc_kernel::sched::allowed_cpus().expect("the own affinity can be read")[0];
    Sides { sender_cpu: cpu, receiver_cpu: cpu }
}

/// A veth link, or the reason to skip. What this host denies is a skip, and what broke is a
/// failure.
fn veth(sides: Sides, steering: Steering) -> Result<Box<dyn Link>, End> {
    up(LinkKind::Veth, sides, steering, &LinkOptions::default())
}

fn up(
    kind: LinkKind,
    sides: Sides,
    steering: Steering,
    options: &LinkOptions,
) -> Result<Box<dyn Link>, End> {
    bring_up_with(kind, sides, steering, options).map_err(|no| match no.kind {
        UnavailableKind::Refused | UnavailableKind::Unsupported => End::Skipped(no.reason.clone()),
        UnavailableKind::Failed | UnavailableKind::Unknown => panic!("{no:?}"),
    })
}

macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(end) => return end,
        }
    };
}

#[path = "link/clients.rs"]
mod clients;
#[path = "link/gso_max.rs"]
mod gso_max;
#[path = "link/layers.rs"]
mod layers;
#[path = "link/several.rs"]
mod several;

/// Sends `bytes` over TCP from the sender's side to the receiver's.
fn send(link: &dyn Link, bytes: usize) {
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let receiver = scope.spawn(move || {
            link.enter_receiver().unwrap();
            let listener = TcpListener::bind((link.receiver_address(), 0)).unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let mut all = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            all.len()
        });
        scope.spawn(move || {
            link.enter_sender().unwrap();
            TcpStream::connect(told.recv().unwrap()).unwrap().write_all(&vec![7; bytes]).unwrap();
        });
        assert_eq!(receiver.join().unwrap(), bytes);
    });
}

fn counts_what_is_sent(link: &dyn Link) {
    let before = link.counters().unwrap();
    send(link, 1_000_000);
    let after = link.counters().unwrap();
    assert!(after.at_ns > before.at_ns);
    assert!(after.tx_bytes - before.tx_bytes >= 1_000_000);
    assert!(after.tx_packets > before.tx_packets);
    assert!(after.rx_packets > before.rx_packets);
}

fn loopback_counts_what_is_sent() -> End {
    let link = bring_up(LinkKind::Loopback, one_cpu()).unwrap();
    assert_eq!(link.facts().device, "lo");
    assert!(!link.facts().sides_apart);
    counts_what_is_sent(&*link);
    End::Passed
}

fn veth_carries_tcp_and_counts_it() -> End {
    let link = or_skip!(veth(one_cpu(), Steering::Best));
    counts_what_is_sent(&*link);
    let facts = link.facts();
    assert_eq!((facts.device.as_str(), facts.mtu_bytes), ("zc0", 1500));
    let offloads = facts.offloads.as_ref().expect("this kernel has ethtool netlink since 5.6");
    assert_eq!(offloads.get("tx-tcp-segmentation"), Some(&true));
    assert_eq!(facts.settings.get("driver").map(String::as_str), Some("veth"), "{facts:?}");
    assert_eq!(facts.settings.get("qdisc").map(String::as_str), Some("noqueue"), "{facts:?}");
    End::Passed
}

fn veth_begins_with_a_wide_window() -> End {
    let link = or_skip!(veth(one_cpu(), Steering::Best));
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let link = &*link;
        scope.spawn(move || {
            link.enter_receiver().unwrap();
            let listener = TcpListener::bind((link.receiver_address(), 0)).unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            for _ in 0..3 {
                listener.accept().unwrap();
            }
        });
        scope.spawn(move || {
            link.enter_sender().unwrap();
            let socket = TcpStream::connect(told.recv().unwrap()).unwrap();
            let window = |socket: &TcpStream| zc_kernel::tcp::info(socket).unwrap().snd_cwnd;
            let wide = link.facts().initial_window_packets;
            // All that is accepted is connected before anything is compared.
            let [narrow, again] = [false, true].map(|is_wide| {
                link.use_wide_window(is_wide);
                window(&TcpStream::connect(socket.peer_addr().unwrap()).unwrap())
            });
            assert_eq!(Some(window(&socket)), wide);
            assert_eq!((narrow, Some(again)), (10, wide));
        });
    });
    End::Passed
}

fn each_side_receives_on_its_own_cpu() -> End {
    let link = or_skip!(veth(or_skip!(two_cpus()), Steering::Best));
    let facts = link.facts();
    eprintln!("{:?}: {:?}", facts.rps, facts.rps_check);
    assert!(facts.rps.is_some());
    assert!(facts.sides_apart, "{facts:?}");
    End::Passed
}

fn sysfs_steers_as_well_as_the_default_mask() -> End {
    let link = or_skip!(veth(or_skip!(two_cpus()), Steering::Sysfs));
    let facts = link.facts();
    eprintln!("{:?}: {:?}", facts.rps, facts.rps_check);
    if facts.rps.is_none() {
        return End::Skipped(format!("no sysfs of one's own: {:?}", facts.rps_check));
    }
    assert_eq!(facts.rps.as_deref(), Some("sysfs"));
    assert!(facts.sides_apart, "{facts:?}");
    End::Passed
}

fn a_link_without_steering_is_found_out() -> End {
    let link = or_skip!(veth(or_skip!(two_cpus()), Steering::Off));
    eprintln!("{:?}", link.facts().rps_check);
    assert_eq!(link.facts().rps, None);
    assert!(!link.facts().sides_apart);
    End::Passed
}

fn one_cpu_is_enough() -> End {
    let link = or_skip!(veth(one_cpu(), Steering::Best));
    assert!(!link.facts().sides_apart);
    assert!(link.facts().rps_check.as_ref().is_some_and(|why| why.contains("share CPU")));
    End::Passed
}

fn a_cpu_that_does_not_exist() -> End {
    let link = or_skip!(veth(Sides { receiver_cpu: 1000, ..one_cpu() }, Steering::Best));
    eprintln!("{:?}", link.facts().rps_check);
    assert!(!link.facts().sides_apart);
    End::Passed
}

/// The network namespaces that a process is in or holds open.
fn namespaces_of(process: &Path) -> BTreeSet<PathBuf> {
    let links =
        |folder: &str| std::fs::read_dir(process.join(folder)).into_iter().flatten().flatten();
    let held = links("fd").map(|entry| entry.path());
    let within = links("task").map(|entry| entry.path().join("ns/net"));
    held.chain(within)
        .filter_map(|link| std::fs::read_link(link).ok())
        .filter(|target| target.to_string_lossy().starts_with("net:"))
        .collect()
}

/// Everything of this process that a link could change.
fn whereabouts() -> (BTreeSet<PathBuf>, String, usize, usize) {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    let devices = devices
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let named = std::fs::read_dir("/run/netns").map_or(0, Iterator::count);
    (namespaces_of(Path::new("/proc/self")), devices, files, named)
}

/// A joined thread stays visible in /proc for a moment.
fn all_is_as_it_was(before: &(BTreeSet<PathBuf>, String, usize, usize)) {
    let until = std::time::Instant::now() + PATIENCE;
    while whereabouts() != *before && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(whereabouts(), *before);
}

fn the_caller_stays_where_and_who_it_is() -> End {
    let folder = tempfile::tempdir().unwrap();
    let owner = folder.path().metadata().unwrap().uid();
    let namespace = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let euid = zc_kernel::process::euid();

    let _link = or_skip!(veth(one_cpu(), Steering::Best));

    assert_eq!(std::fs::read_link("/proc/thread-self/ns/net").unwrap(), namespace);
    assert_eq!(zc_kernel::process::euid(), euid);
    let file = folder.path().join("run.json");
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(file.metadata().unwrap().uid(), owner);
    End::Passed
}

fn a_link_can_be_tried_out() -> End {
    let user_namespace = || std::fs::read_link("/proc/self/ns/user").unwrap();
    // Once, while there is one thread: later, threads of the previous link could still be counted.
    let before = whereabouts();
    for &kind in LinkKind::ALL {
        // Without root the process stays in the user namespace of the veth link.
        let own = user_namespace();
        let tried = try_out(kind, one_cpu());
        all_is_as_it_was(&before);
        assert_eq!(user_namespace(), own);
        match (tried, bring_up(kind, one_cpu())) {
            (Support::Yes, Ok(_)) => {}
            (Support::No(expected), Err(no)) => assert_eq!(no, expected),
            (tried, _) => panic!("{kind} was {tried:?} and then it was not"),
        }
    }
    End::Passed
}

fn a_dropped_link_leaves_nothing() -> End {
    let before = whereabouts();
    let link = or_skip!(veth(one_cpu(), Steering::Best));
    send(&*link, 1000);
    drop(link);
    all_is_as_it_was(&before);
    End::Passed
}

/// Printed by a holder if the link does not exist. One that prints nothing has failed.
const NO_LINK: &str = "no link";

/// Not a case: brings links up, prints the namespaces that it holds and waits to be killed.
fn hold() -> ! {
    let others = [several::with(Some(9000), &[]), several::with(None, &[OffloadSwitch::NoTso])];
    let held = several::several(LinkKind::Veth, one_cpu(), &LinkOptions::default(), &others);
    let namespaces = namespaces_of(Path::new("/proc/self"));
    match held {
        Ok(_) => println!(
            "{}",
            namespaces.iter().map(|each| each.display().to_string()).collect::<Vec<_>>().join(" ")
        ),
        Err(_) => println!("{NO_LINK}"),
    }
    loop {
        std::thread::park();
    }
}

fn a_killed_process_leaves_nothing() -> End {
    let before = whereabouts();
    let mut holder = child("hold", None).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    if said.trim_end() == NO_LINK {
        return End::Skipped("there is no veth link here".to_owned());
    }
    let mut held: BTreeSet<PathBuf> = said.split_whitespace().map(PathBuf::from).collect();
    held.remove(&std::fs::read_link("/proc/self/ns/net").unwrap());
    assert_eq!(held.len(), 6);
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let left: Vec<_> = namespaces_of(&process.path()).intersection(&held).cloned().collect();
        assert!(left.is_empty(), "{process:?} has {left:?}");
    }
    assert_eq!(whereabouts(), before);
    End::Passed
}

fn a_process_with_threads_needs_root() -> End {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || stopped.recv());
    let tried = bring_up(LinkKind::Veth, one_cpu());
    if zc_kernel::process::may_make_namespaces() {
        assert!(tried.is_ok());
    } else {
        let no = tried.err().expect("a user namespace was made in a process with threads");
        assert_eq!(no.kind.name(), "refused");
        assert!(no.reason.contains("2 threads"), "{no:?}");
    }
    drop(stop);
    let _ = thread.join();
    End::Passed
}

fn a_limit_of_no_user_namespaces_is_named() -> End {
    if zc_kernel::process::euid() == 0 {
        return End::Skipped("for root no user namespace is needed".to_owned());
    }
    // The owner of a user namespace can set its limits. The program is then executed again, which
    // removes the capabilities of all but root.
    if let Err(error) = zc_kernel::netns::unshare_user() {
        return End::Skipped(format!("no user namespaces: {error}"));
    }
    if let Err(error) = std::fs::write("/proc/sys/user/max_user_namespaces", "0") {
        return End::Skipped(format!("the limit cannot be set: {error}"));
    }
    panic!("{}", child("in_a_namespace_without_namespaces", None).exec());
}

/// Not a case: the second half of the one above.
fn in_a_namespace_without_namespaces() -> ! {
    let no = bring_up(LinkKind::Veth, one_cpu()).err().expect("a limit of 0 was not kept");
    assert_eq!(no.kind.name(), "refused", "{no:?}");
    assert!(no.reason.contains("user.max_user_namespaces is 0"), "{no:?}");
    assert!(no.remedy.as_deref().is_some());
    std::process::exit(0)
}

fn null(far_end: AckOptions) -> Result<Box<dyn Link>, End> {
    null_with(&LinkOptions { far_end, ..LinkOptions::default() })
}

fn null_with(options: &LinkOptions) -> Result<Box<dyn Link>, End> {
    up(LinkKind::Null, two_cpus()?, Steering::Best, options)
}

/// A connection to the far end, made by the calling thread, which is in the sender's namespace.
fn connect_to_far_end(link: &dyn Link) -> (TcpStream, NotedFlow) {
    let far_end = link.far_end().unwrap();
    let socket = Unconnected::bind_towards(far_end.address()).unwrap();
    let flow = far_end.expect(socket.port());
    (socket.connect(far_end.address(), PATIENCE).unwrap(), flow)
}

/// Does `work` on a thread on the sender's side.
fn on_senders_side<T: Send>(link: &dyn Link, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            link.enter_sender().unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

fn null_notes_datagrams_and_answers_none() -> End {
    let link = or_skip!(null(AckOptions::default()));
    let link = &*link;
    on_senders_side(link, || {
        let far_end = link.far_end().unwrap();
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect(far_end.address()).unwrap();
        let port = socket.local_addr().unwrap().port();
        // What the port's flows before have sent is not counted, and neither is an empty datagram.
        for round in 1..=2_u64 {
            let flow = far_end.expect_datagrams(port);
            for _ in 0..10 * round {
                assert_eq!(socket.send(&[1; 1_200]).unwrap(), 1_200);
            }
            socket.send(&[]).unwrap();
            let counts = flow.counts();
            assert_eq!((counts.bytes, counts.packets), (12_000 * round, 10 * round), "{counts:?}");
            assert!(counts.ended && counts.acked_bytes == counts.bytes, "{counts:?}");
        }
        // One packet of several datagrams is noted with all of its bytes.
        if zc_kernel::udp::set_segment_bytes(&socket, 1_200).is_ok() {
            let flow = far_end.expect_datagrams(port);
            socket.send(&[1; 40_000]).unwrap();
            assert_eq!((flow.counts().bytes, flow.counts().packets), (40_000, 1));
        }
    });
    End::Passed
}

fn null_notes_what_several_flows_send() -> End {
    let link = or_skip!(null(AckOptions::default()));
    let link = &*link;
    std::thread::scope(|scope| {
        for index in 0..5_usize {
            scope.spawn(move || {
                link.enter_sender().unwrap();
                let (mut stream, flow) = connect_to_far_end(link);
                let bytes = 3_000_000 + index * 77_777;
                stream.write_all(&vec![1; bytes]).unwrap();
                drop(stream);
                let counts = flow.wait_for_end(PATIENCE);
                assert_eq!(
                    (counts.bytes, counts.acked_bytes),
                    (bytes as u64, bytes as u64),
                    "{counts:?}"
                );
                assert_eq!(
                    (counts.gaps, counts.ended, counts.reset),
                    (0, true, false),
                    "{counts:?}"
                );
            });
        }
    });
    End::Passed
}

fn null_agrees_to_what_a_syn_asks_for() -> End {
    let link = or_skip!(null(AckOptions::default()));
    on_senders_side(&*link, || {
        let (mut stream, flow) = connect_to_far_end(&*link);
        let info = zc_kernel::tcp::info(&stream).unwrap();
        // MTU 1500 less 40 bytes of headers and 12 of timestamps.
        assert_eq!(info.snd_mss, 1448, "{info:?}");
        // More than a window that is not scaled.
        stream.write_all(&vec![0; 300_000]).unwrap();
        drop(stream);
        assert_eq!(flow.wait_for_end(PATIENCE).acked_bytes, 300_000);
    });
    End::Passed
}

fn null_leaves_zero_copy_sends_uncopied() -> End {
    let link = or_skip!(null(AckOptions::default()));
    assert_eq!(zero_copy_sends(&*link), (100, 0));
    End::Passed
}

/// Completions of sends with MSG_ZEROCOPY to the far end, and those that say "copied".
fn zero_copy_sends(link: &dyn Link) -> (u32, u32) {
    on_senders_side(link, || {
        let (stream, _flow) = connect_to_far_end(link);
        zc_kernel::tcp::set_zerocopy(&stream, true).unwrap();
        let pages = zc_kernel::pages::Pages::new(64 << 10).unwrap();
        let (mut sends, mut done, mut copied) = (0, 0, 0);
        for _ in 0..100 {
            zc_kernel::errqueue::send_zerocopy(&stream, &pages, 0..pages.len(), false).unwrap();
            sends += 1;
        }
        while done < sends {
            zc_kernel::errqueue::wait_for_completion(&stream, PATIENCE).unwrap();
            while let Some(completion) = zc_kernel::errqueue::next_completion(&stream).unwrap() {
                done += completion.sends();
                copied += if completion.copied { completion.sends() } else { 0 };
            }
        }
        (u32::try_from(done).unwrap(), u32::try_from(copied).unwrap())
    })
}

/// Every second send is the end of a file: most of them join the packet that the send before them
/// has begun.
fn null_tells_joined_from_copied() -> End {
    for (switched_off, copies) in [(vec![], false), (vec![OffloadSwitch::NoChecksum], true)] {
        let switched_off = switched_off.into_iter().collect();
        let link = or_skip!(null_with(&LinkOptions { switched_off, ..LinkOptions::default() }));
        // A message of two parts is one send.
        for (sends_as, sends) in [
            (ZeroCopySends::Single, 400),
            (ZeroCopySends::SingleRegistered, 400),
            (ZeroCopySends::Linked, 400),
            (ZeroCopySends::Vectored, 200),
        ] {
            let counts = on_senders_side(&*link, || {
                let (stream, _flow) = connect_to_far_end(&*link);
                let pages = zc_kernel::pages::Pages::new(65_536 + 5_000).unwrap();
                let pages = std::sync::Arc::new(pages);
                let ring = ZeroCopy::new(stream.into(), pages, 65_536, sends_as, false, PATIENCE);
                let mut ring = ring.ok().filter(ZeroCopy::reports_copies)?;
                for _ in 0..200 {
                    ring.send(0, 65_536 + 5_000).unwrap();
                }
                ring.drain().unwrap();
                Some(ring.counts())
            });
            let Some(counts) = counts else {
                return End::Skipped("no io_uring that says what it copied".to_owned());
            };
            assert_eq!(counts.completions, sends, "{sends_as:?}");
            assert_eq!(counts.copied, if copies { sends } else { 0 }, "{sends_as:?}");
        }
    }
    End::Passed
}

fn null_counts_past_four_gib() -> End {
    null_counts((4 << 30) + 12_345)
}

/// Takes about a minute, in which the sequence numbers wrap 25 times.
fn null_counts_past_a_hundred_gib() -> End {
    null_counts((100 << 30) + 12_345)
}

fn null_counts(bytes: u64) -> End {
    let link = or_skip!(null(AckOptions::default()));
    on_senders_side(&*link, || {
        let (mut stream, flow) = connect_to_far_end(&*link);
        let began = std::time::Instant::now();
        let piece = vec![0; 1 << 20];
        let mut left = bytes;
        while left > 0 {
            let len = piece.len().min(left as usize);
            stream.write_all(&piece[..len]).unwrap();
            left -= len as u64;
        }
        drop(stream);
        let counts = flow.wait_for_end(PATIENCE);
        eprintln!("{bytes} bytes in {:.1} s: {counts:?}", began.elapsed().as_secs_f64());
        assert_eq!(
            (counts.bytes, counts.acked_bytes, counts.gaps),
            (bytes, bytes, 0),
            "{counts:?}"
        );
        assert!(counts.ended, "{counts:?}");
    });
    End::Passed
}

fn null_acknowledges_as_often_as_it_is_asked_to() -> End {
    const EVERY: u64 = 3_000;
    const BYTES: usize = 600_000;
    let options =
        AckOptions { ack_every_bytes: EVERY, ack_interval_ns: 0, ..AckOptions::default() };
    let link = or_skip!(null(options));
    on_senders_side(&*link, || {
        let (mut stream, flow) = connect_to_far_end(&*link);
        stream.write_all(&[0; BYTES]).unwrap();
        // Beside others all that left may be acknowledged while more waits for a tasklet.
        let waits = |info: zc_kernel::tcp::TcpInfo| info.unacked > 0 || info.notsent_bytes > 0;
        while waits(zc_kernel::tcp::info(&stream).unwrap()) {
            std::thread::yield_now();
        }
        let acknowledgements = u64::from(zc_kernel::tcp::info(&stream).unwrap().segs_in);
        // Packets of up to 64 KiB: acknowledged one by one they would be some ten.
        assert!(acknowledgements >= BYTES as u64 / EVERY, "{acknowledgements}");
        drop(stream);
        assert_eq!(flow.wait_for_end(PATIENCE).acked_bytes, BYTES as u64);
    });
    End::Passed
}

fn null_counts_the_fragments_of_packets_where_it_is_asked_to() -> End {
    let link = or_skip!(null(AckOptions::default()));
    let far_end = link.far_end().unwrap();
    if !far_end.can_count_fragments() {
        return End::Skipped(
            "this kernel has no BTF, or does not let a program read its memory".to_owned(),
        );
    }
    let sent = |counting: bool| {
        far_end.count_fragments(counting);
        on_senders_side(&*link, || {
            let (mut stream, flow) = connect_to_far_end(&*link);
            stream.write_all(&[0; 1 << 20]).unwrap();
            drop(stream);
            flow.wait_for_end(PATIENCE)
        })
    };
    assert_eq!(sent(false).counted, FragmentCounts::default());
    let counts = sent(true);
    assert_eq!(counts.counted.packets, counts.packets);
    // 1 MiB in pages of 32 KiB at most (SKB_FRAG_PAGE_ORDER), of 4 KiB at least; 17 to a packet.
    let fragments = counts.counted.fragments;
    assert!((32..=256 + counts.packets).contains(&fragments), "{counts:?}");
    assert!(fragments <= 17 * counts.packets, "{counts:?}");
    assert_eq!(sent(false).counted, FragmentCounts::default());
    End::Passed
}

fn null_makes_up_a_round_trip_time() -> End {
    let rtt_ns = 5_000_000;
    let link = or_skip!(null(AckOptions { rtt_ns, ..AckOptions::default() }));
    on_senders_side(&*link, || {
        let (mut stream, flow) = connect_to_far_end(&*link);
        // A window that never limits would make every packet a full one.
        assert_eq!(link.facts().initial_window_packets, None);
        assert!(zc_kernel::tcp::info(&stream).unwrap().snd_cwnd < 100);
        for _ in 0..10 {
            stream.write_all(&[0; 10_000]).unwrap();
            while zc_kernel::tcp::info(&stream).unwrap().unacked > 0 {
                std::thread::yield_now();
            }
        }
        // At least: the machine may be busy.
        assert!(u64::from(zc_kernel::tcp::info(&stream).unwrap().rtt_us) * 1000 >= rtt_ns * 9 / 10);
        drop(stream);
        assert_eq!(flow.wait_for_end(PATIENCE).acked_bytes, 100_000);
    });
    End::Passed
}

fn every_link_carries_ipv6() -> End {
    let sides = or_skip!(two_cpus());
    let options = LinkOptions { ip: IpVersion::V6, ..LinkOptions::default() };
    let mut skipped = Vec::new();
    for kind in [LinkKind::Loopback, LinkKind::Veth, LinkKind::Null] {
        let link = match up(kind, sides, Steering::Best, &options) {
            Ok(link) => link,
            Err(End::Skipped(why)) => {
                skipped.push(format!("{kind}: {why}"));
                continue;
            }
            Err(End::Passed) => unreachable!(),
        };
        assert!(link.receiver_address().is_ipv6());
        assert_eq!(link.facts().ip, IpVersion::V6);
        counts_what_is_sent(&*link);
        if link.far_end().is_some() {
            let counts = sent_to_far_end(&*link, 10_000_000);
            assert_eq!(
                (counts.bytes, counts.acked_bytes, counts.ended),
                (10_000_000, 10_000_000, true),
                "{counts:?}"
            );
            on_senders_side(&*link, || {
                let info = zc_kernel::tcp::info(connect_to_far_end(&*link).0).unwrap();
                // MTU 1500 less 60 bytes of headers and 12 of timestamps; and the route has a wide
                // window.
                assert_eq!(info.snd_mss, 1428, "{info:?}");
                assert_eq!(Some(info.snd_cwnd), link.facts().initial_window_packets);
            });
        }
    }
    if skipped.is_empty() { End::Passed } else { End::Skipped(skipped.join("; ")) }
}

/// Sends `bytes` to the ACK generator and returns its final counts.
fn sent_to_far_end(link: &dyn Link, bytes: usize) -> zc_rig::link::NotedCounts {
    on_senders_side(link, || {
        let (mut stream, flow) = connect_to_far_end(link);
        stream.write_all(&vec![1; bytes]).unwrap();
        drop(stream);
        flow.wait_for_end(PATIENCE)
    })
}

fn null_sees_packets_of_a_lesser_card() -> End {
    use OffloadSwitch::{NoChecksum, NoGso, NoSg, NoTso};
    // Segments are cut at the MTU less 40 bytes of headers and 12 of timestamps.
    let segments = |mtu_bytes: u64| (mtu_bytes - 52) / 2..=mtu_bytes - 52;
    let whole = 16 << 10..=64 << 10;
    for (off, mtu_bytes, average, copied) in [
        (vec![], 9000, whole.clone(), Some(0)),
        // What TCP hands over is cut only where the card does not cut TCP's segments.
        (vec![NoGso], 1500, whole, Some(0)),
        (vec![NoTso], 9000, segments(9000), Some(0)),
        (vec![NoTso, NoGso], 1500, segments(1500), Some(0)),
        // Without one of these two the kernel switches TSO off (netdev_fix_features). What is
        // summed in software is linearised first, if it lies in pages that others may write to
        // (skb_segment), which ends zero-copy.
        (vec![NoChecksum], 1500, segments(1500), Some(100)),
        // Segments are cut by copying, of which completions know nothing; a packet that is not cut
        // is linearised, and they do.
        (vec![NoSg], 1500, segments(1500), None),
    ] {
        let switched_off = off.iter().copied().collect();
        let link = or_skip!(null_with(&LinkOptions {
            switched_off,
            mtu_bytes: Some(mtu_bytes),
            ..LinkOptions::default()
        }));
        assert_eq!(u64::from(link.facts().mtu_bytes), u64::from(mtu_bytes));
        let counts = sent_to_far_end(&*link, 10_000_000);
        assert_eq!(
            (counts.bytes, counts.acked_bytes, counts.gaps),
            (10_000_000, 10_000_000, 0),
            "{off:?}: {counts:?}"
        );
        assert!(average.contains(&(counts.bytes / counts.packets)), "{off:?}: {counts:?}");
        let (done, found) = zero_copy_sends(&*link);
        assert_eq!((done, found), (100, copied.unwrap_or(found)), "{off:?}");
    }
    End::Passed
}

/// A packet socket that receives everything on all devices of the calling thread's namespace
/// (packet(7)).
fn sniffer() -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, Protocol, SocketType, socket};
    const ETH_P_ALL: u16 = 3;
    let protocol =
        Protocol::from_raw(std::num::NonZeroU32::new(u32::from(ETH_P_ALL.to_be())).unwrap());
    socket(AddressFamily::PACKET, SocketType::RAW, Some(protocol)).unwrap()
}

fn a_sniffer_makes_copies() -> End {
    for (switched_off, copied) in [(vec![], 0), (vec![OffloadSwitch::NoTso], 100)] {
        let switched_off = switched_off.into_iter().collect();
        let link = or_skip!(null_with(&LinkOptions { switched_off, ..LinkOptions::default() }));
        let sniffer = on_senders_side(&*link, sniffer);
        // At the pair's end packets are discarded before sniffers get copies; a bridge is a device
        // of its own.
        assert_eq!(zero_copy_sends(&*link), (100, copied));
        drop(sniffer);
        assert_eq!(zero_copy_sends(&*link), (100, 0));
    }
    End::Passed
}

fn veth_is_the_card_that_was_asked_for() -> End {
    let switched_off = [OffloadSwitch::NoTso].into();
    let options = LinkOptions { switched_off, mtu_bytes: Some(9000), ..LinkOptions::default() };
    let link = or_skip!(up(LinkKind::Veth, one_cpu(), Steering::Best, &options));
    counts_what_is_sent(&*link);
    let facts = link.facts();
    assert_eq!(facts.mtu_bytes, 9000);
    let offloads = facts.offloads.as_ref().expect("they have just been switched");
    assert_eq!(
        (offloads.get("tx-tcp-segmentation"), offloads.get("tx-scatter-gather")),
        (Some(&false), Some(&true))
    );
    let no = bring_up_with(LinkKind::Loopback, one_cpu(), Steering::Best, &options)
        .err()
        .expect("lo is the host's");
    assert!(no.reason.contains("left alone"), "{no:?}");
    End::Passed
}

/// Each of them is sent again after a timeout of TCP's: 1 s for a SYN, a few ms for a tail, 200 ms
/// for a FIN.
fn null_answers_again() -> End {
    let link = or_skip!(null(AckOptions::default()));
    on_senders_side(&*link, || {
        let far_end = link.far_end().unwrap();
        let socket = Unconnected::bind_towards(far_end.address()).unwrap();
        let flow = far_end.expect(socket.port());
        flow.lose(1);
        let stream = socket.connect(far_end.address(), PATIENCE).unwrap();
        assert!(flow.counts().repeats >= 1, "{:?}", flow.counts());
        drop(stream);

        // In a second flow: after a lost SYN the kernel knows no round-trip time, and waits for
        // seconds before it asks again.
        let (mut stream, flow) = connect_to_far_end(&*link);
        let before = flow.counts().repeats;
        flow.lose(1);
        stream.write_all(&[0; 10_000]).unwrap();
        let until = std::time::Instant::now() + PATIENCE;
        while zc_kernel::tcp::info(&stream).unwrap().unacked > 0 {
            assert!(std::time::Instant::now() < until, "{:?}", flow.counts());
            std::thread::yield_now();
        }
        let asked_for_bytes = flow.counts().repeats;
        assert!(asked_for_bytes > before, "{:?}", flow.counts());

        flow.lose(2);
        drop(stream);
        let counts = flow.wait_for_end(PATIENCE);
        assert!(counts.ended && counts.repeats >= asked_for_bytes + 2, "{counts:?}");
        assert_eq!(
            (counts.bytes, counts.acked_bytes, counts.gaps),
            (10_000, 10_000, 0),
            "{counts:?}"
        );
    });
    End::Passed
}

fn null_passes_other_ports() -> End {
    let link = or_skip!(null(AckOptions::default()));
    counts_what_is_sent(&*link); // over a listener, and back
    End::Passed
}

fn null_sees_a_reset() -> End {
    let link = or_skip!(null(AckOptions::default()));
    on_senders_side(&*link, || {
        let (mut stream, flow) = connect_to_far_end(&*link);
        stream.write_all(&[0; 10]).unwrap();
        zc_kernel::tcp::set_reset_on_close(&stream).unwrap();
        drop(stream);
        assert!(flow.wait_for_end(PATIENCE).reset);
    });
    End::Passed
}

fn null_needs_two_cpus_and_root() -> End {
    let no = bring_up(LinkKind::Null, one_cpu()).err().expect("one CPU is not enough");
    assert!(no.reason.contains("a CPU of its own"), "{no:?}");
    if zc_kernel::process::may_make_namespaces() {
        return End::Passed;
    }
    let no = bring_up(LinkKind::Null, or_skip!(two_cpus())).err().expect("it needs root");
    assert!(no.reason.contains("root"), "{no:?}");
    End::Passed
}

/// The kernel unloads a program when the namespace of its device is torn down, which takes a
/// moment.
fn wait_until_unloaded(program_id: u32) {
    let until = std::time::Instant::now() + PATIENCE;
    while zc_kernel::bpf::is_loaded(program_id).unwrap() {
        assert!(std::time::Instant::now() < until, "program {program_id} is still loaded");
        std::thread::yield_now();
    }
}

fn null_leaves_nothing() -> End {
    let before = whereabouts();
    let link = or_skip!(null(AckOptions::default()));
    let program_id = link.far_end().unwrap().program_id();
    assert!(zc_kernel::bpf::is_loaded(program_id).unwrap());
    on_senders_side(&*link, || {
        let (mut stream, _flow) = connect_to_far_end(&*link);
        stream.write_all(&[0; 1000]).unwrap();
    });
    drop(link);
    all_is_as_it_was(&before);
    wait_until_unloaded(program_id);
    End::Passed
}

/// Not a case: brings null links up, prints the ids of their programs and waits to be killed.
fn hold_null() -> ! {
    let others = [several::with(Some(9000), &[]), several::with(None, &[OffloadSwitch::NoTso])];
    let held = two_cpus().and_then(|sides| {
        several::several(LinkKind::Null, sides, &LinkOptions::default(), &others)
    });
    match held {
        Ok(several) => {
            let links = [&several.link].into_iter().chain(several.others.iter().flatten());
            let programs = links.map(|link| link.far_end().unwrap().program_id().to_string());
            println!("{}", programs.collect::<Vec<_>>().join(" "));
            loop {
                std::thread::park();
            }
        }
        Err(_) => {
            println!("{NO_LINK}");
            std::process::exit(0)
        }
    }
}

fn a_killed_null_leaves_nothing() -> End {
    let mut holder = child("hold-null", None).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    if said.trim_end() == NO_LINK {
        return End::Skipped("there is no null link here".to_owned());
    }
    let programs: Vec<u32> = said.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert_eq!(programs.len(), 3);
    programs.into_iter().for_each(wait_until_unloaded);
    End::Passed
}

fn tcp_settings_are_those_of_the_host() -> End {
    // In a namespace that plays the host, where settings may be changed.
    if !zc_kernel::process::may_make_namespaces()
        && let Err(error) = zc_kernel::netns::unshare_user()
    {
        return End::Skipped(format!("no user namespaces: {error}"));
    }
    let _host = zc_kernel::netns::NetNs::unshare().unwrap();
    for (name, value) in [("tcp_min_tso_segs", "5"), ("tcp_wmem", "4096 32768 8000000")] {
        if let Err(error) = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value) {
            return End::Skipped(format!("{name} cannot be set: {error}"));
        }
    }
    let names = [
        "tcp_rmem",
        "tcp_wmem",
        "tcp_congestion_control",
        "tcp_timestamps",
        "tcp_sack",
        "tcp_min_tso_segs",
    ];
    let read =
        || names.map(|name| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok());
    let host = read();
    let link = veth(one_cpu(), Steering::Best)
        .unwrap_or_else(|_| panic!("namespaces were had a moment ago"));
    assert_eq!(link.warnings(), []);
    std::thread::scope(|scope| {
        for enter in [Link::enter_sender, Link::enter_receiver] {
            let link = &*link;
            let there = scope.spawn(move || {
                enter(link).unwrap();
                read()
            });
            assert_eq!(there.join().unwrap(), host);
        }
    });
    End::Passed
}
