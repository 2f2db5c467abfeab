//! Calls that a process with several threads cannot make: fork(2) without exec, and unshare(2) of a
//! user namespace. Rust's test harness runs every test on a thread of its own, so this binary has
//! its own `main`. Each case runs in a child process, and therefore leaves no trace in the others.

use std::process::ExitCode;

use zc_kernel::netns::{NetNs, unshare_user};
use zc_kernel::process::{euid, in_child, may_make_namespaces};
use zc_kernel::spawn::new_session;

const CASES: [(&str, fn()); 3] = [
    ("a_child_ends_with_the_result_of_the_attempt", a_child_ends_with_the_result_of_the_attempt),
    (
        "a_user_namespace_gives_every_capability_and_keeps_the_user",
        a_user_namespace_gives_every_capability,
    ),
    ("a_new_session_is_made_by_a_process_that_leads_no_group", a_new_session_is_made),
];

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
    let session = || rustix::process::getsid(None).unwrap();
    let before = session();
    new_session().unwrap();
    assert_ne!(session(), before);
    assert_eq!(session(), rustix::process::getpid());
    assert!(new_session().is_err(), "it leads a process group now");
}

/// Understands what `cargo test` and cargo-nextest pass: `--list`, `--ignored` and names.
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let has = |option: &str| args.iter().any(|arg| arg == option);
    let mut failed = false;
    for (name, case) in CASES {
        let wanted = names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
        if !wanted || has("--ignored") {
            continue;
        }
        if has("--list") {
            println!("{name}: test");
            continue;
        }
        let ended = in_child(|| {
            case();
            0
        });
        let passed = ended.is_ok_and(|status| status.success());
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed |= !passed;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
