//! Calls that a process with several threads cannot make: fork(2) without exec, and unshare(2) of a
//! user namespace. Rust's test harness runs every test on a thread of its own, so this binary has
//! its own `main`. Each case runs in a child process, and therefore leaves no trace in the others.

use std::io::{PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use zc_kernel::netns::{NetNs, unshare_user};
use zc_kernel::process::{end_with_parent, euid, in_child, may_make_namespaces, read_from_child};
use zc_kernel::spawn::{kill, new_session, wait_readable};
use zc_kernel::stop::Stop;

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

const CASES: [(&str, fn()); 7] = [
    ("a_child_ends_with_the_result_of_the_attempt", a_child_ends_with_the_result_of_the_attempt),
    (
        "a_user_namespace_gives_every_capability_and_keeps_the_user",
        a_user_namespace_gives_every_capability,
    ),
    ("what_a_child_writes_is_read", what_a_child_writes_is_read),
    ("a_child_that_nobody_reads_from_does_not_wait", a_child_that_nobody_reads_from_does_not_wait),
    ("a_child_ends_with_its_parent", a_child_ends_with_its_parent),
    ("a_new_session_is_made_by_a_process_that_leads_no_group", a_new_session_is_made),
    ("a_signal_that_nobody_looks_at_ends_the_process", a_signal_that_nobody_looks_at),
];

fn a_signal_that_nobody_looks_at() {
    let after = |what: fn(&Stop) -> u8| {
        let ended = in_child(|| {
            let stop = Stop::default();
            stop.on_signals(&[SIGTERM], 7).unwrap();
            kill(std::process::id() as i32, SIGTERM).unwrap();
            what(&stop)
        });
        ended.unwrap().code()
    };
    assert_eq!(
        after(|_| {
            std::thread::sleep(Duration::from_secs(600));
            1
        }),
        Some(7)
    );
    assert_eq!(
        after(|stop| {
            let is_set = stop.is_set();
            std::thread::sleep(Duration::from_secs(2));
            2 + u8::from(is_set)
        }),
        Some(3)
    );
    let second = after(|stop| {
        let _ = stop.is_set();
        kill(std::process::id() as i32, SIGTERM).unwrap();
        1
    });
    assert_eq!(second, Some(7));
}

fn a_child_ends_with_the_result_of_the_attempt() {
    let parent = std::process::id();
    assert_eq!(in_child(|| 7).unwrap().code(), Some(7));
    assert_eq!(in_child(|| u8::from(std::process::id() != parent)).unwrap().code(), Some(1));
    std::panic::set_hook(Box::new(|_| {})); // the next panic is intended
    let panicked = in_child(|| panic!());
    drop(std::panic::take_hook());
    assert_eq!(panicked.unwrap().code(), Some(255));
    assert_eq!(std::process::id(), parent);
}

fn what_a_child_writes_is_read() {
    // More than a pipe holds.
    let bytes = vec![b'x'; 1 << 20];
    let (written, ended) = read_from_child(|mut pipe| {
        pipe.write_all(&bytes).unwrap();
        3
    })
    .unwrap();
    assert!(written == bytes);
    assert_eq!(ended.code(), Some(3));
    let (written, ended) = read_from_child(|_| 0).unwrap();
    assert_eq!((written, ended.code()), (Vec::new(), Some(0)));
}

fn a_child_that_nobody_reads_from_does_not_wait() {
    ends_without_its_parent(|mut pipe| {
        kill(std::os::unix::process::parent_id() as i32, SIGKILL).unwrap();
        while pipe.write_all(&[b'x'; 4096]).is_ok() {}
        0
    });
}

fn a_child_ends_with_its_parent() {
    ends_without_its_parent(|_| {
        end_with_parent().unwrap();
        kill(std::os::unix::process::parent_id() as i32, SIGKILL).unwrap();
        loop {
            std::thread::park();
        }
    });
}

/// `attempt` kills its parent, and ends nevertheless.
fn ends_without_its_parent(attempt: impl FnOnce(PipeWriter) -> u8) {
    let (reader, writer) = std::io::pipe().unwrap();
    let ended = in_child(|| {
        let waits_for_its_child = read_from_child(attempt);
        u8::from(waits_for_its_child.is_ok())
    });
    assert_eq!(ended.unwrap().signal(), Some(SIGKILL));
    // The last end of it for writing is closed when the child's child has ended.
    drop(writer);
    assert!(wait_readable(&[reader.as_fd()], Some(Duration::from_secs(60))).unwrap()[0]);
}

fn a_user_namespace_gives_every_capability() {
    let user = euid();
    if let Err(error) = unshare_user() {
        println!("skipped: no user namespace: {error}");
        return;
    }
    assert_eq!(euid(), user);
    assert!(may_make_namespaces());
    NetNs::unshare().unwrap();
}

fn a_new_session_is_made() {
    // It leads none yet, as it has just been forked. Which it is in is not asked: the leader may be
    // in another PID namespace, and getsid(2) then returns 0, on which rustix panics.
    new_session().unwrap();
    let session = rustix::process::getsid(None).unwrap();
    assert_eq!(session, rustix::process::getpid());
    assert!(new_session().is_err(), "it leads a process group now");
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Then it runs them on this thread, and there is no other.
    arguments.test_threads = Some(1);
    let trial = |&(name, case): &(&'static str, fn())| {
        Trial::test(name, move || {
            let ended = in_child(|| {
                case();
                0
            })?;
            if ended.success() { Ok(()) } else { Err(Failed::from(ended)) }
        })
    };
    libtest_mimic::run(&arguments, CASES.iter().map(trial).collect()).exit_code()
}
