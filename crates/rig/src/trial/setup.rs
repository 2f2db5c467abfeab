//! Preparation before there is a rig: CPUs, links that are up, the files, a congestion control.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::links::Links;
use super::placement::choose_cpus;
use super::rig::on_senders_side;
use crate::link::{self, Link, Sides, Steering};
use crate::path::SendSetup;
use crate::workload::{self, FileSet};
use zc_run::factor::UNSET;
use zc_run::{Error, FileSetFacts, LinkKind, LinkOptions, Result, Support, Unavailable};

/// Congestion controls to try, in this order. Paths are compared under a loss-based one: BBR's
/// pacing timers cost CPU of their own.
const CONGESTIONS: [&str; 2] = ["cubic", "reno"];

/// The congestion control of a network namespace.
const DEFAULT_CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Memory that packets cycle through: a CPU keeps several hundred MB of freed pages for itself
/// (pcp->high in /proc/zoneinfo) before other CPUs get them.
const TOUCHED_BYTES: u64 = 2 << 30;

/// Limit on the time for touching memory.
const TOUCHING: Duration = Duration::from_secs(2);

/// Links from the most informative to the one that every user can have.
pub const LINKS: [LinkKind; 3] = [LinkKind::Null, LinkKind::Veth, LinkKind::Loopback];

/// Links that are up, and links that were tried before them.
pub struct Up {
    /// All are of one kind.
    pub links: Links,
    /// A sentence for each preferred link that was not available.
    pub passed_over: Vec<String>,
}

/// The CPUs that this process may use, ascending.
///
/// # Errors
/// sched_getaffinity(2) failed.
pub fn allowed_cpus() -> Result<Vec<usize>> {
    zc_kernel::sched::allowed_cpus()
        .map_err(|error| Error::os("ask for the CPUs of this process", error))
}

/// Brings up the first of `candidates` that is available, and further links of that kind for those
/// of `others` that differ: the options that cells with levels of the link ask for
/// ([`LinkOptions::at`]), repetitions allowed. If one of `others` is not available,
/// [`Links::for_levels`] has the reason. Call it while the process has one thread.
///
/// # Errors
/// None of the candidates is available: the reason and the remedy of the last.
pub fn bring_up(
    candidates: &[LinkKind],
    sender_cpu: usize,
    receiver_cpu: usize,
    options: &LinkOptions,
    others: &[LinkOptions],
) -> Result<Up> {
    let mut different: Vec<LinkOptions> = Vec::new();
    for other in others {
        if other != options && !different.contains(other) {
            different.push(other.clone());
        }
    }
    let sides = Sides { sender_cpu, receiver_cpu };
    let mut passed_over = Vec::new();
    let mut last = None;
    for &kind in candidates {
        match link::bring_up_several(kind, sides, Steering::Best, options, &different) {
            Ok(several) => {
                let mut links = Links::only(several.link.into());
                for (options, link) in different.iter().zip(several.others) {
                    links.add(options, link);
                }
                return Ok(Up { links, passed_over });
            }
            Err(no) => {
                passed_over.push(message(kind, &no));
                last = Some((kind, no));
            }
        }
    }
    let (kind, no) =
        last.unwrap_or_else(|| (LinkKind::Loopback, Unavailable::unknown("no link was tried")));
    Err(no.into_error("link-unavailable", format!("the link \"{kind}\" is not available here")))
}

/// The link to another machine.
///
/// # Errors
/// There is no route to `address`.
pub fn towards(address: std::net::SocketAddr) -> Result<Up> {
    Ok(Up { links: Links::only(link::towards(address)?.into()), passed_over: Vec::new() })
}

/// Whether a link is available to this user; leaves the process as it was. Call it while the
/// process has one thread.
pub fn try_out_link(kind: LinkKind) -> Support {
    let cpus = allowed_cpus().map(|allowed| choose_cpus(&allowed)).unwrap_or_default();
    link::try_out(kind, Sides { sender_cpu: cpus.0, receiver_cpu: cpus.1 })
}

/// The congestion control that a server on the sender's side of a link gets if it does not choose
/// one; empty if it cannot be read.
pub fn default_congestion(link: &dyn Link) -> String {
    on_senders_side(link, read_default_congestion).unwrap_or_default()
}

fn read_default_congestion() -> String {
    std::fs::read_to_string(DEFAULT_CONGESTION).unwrap_or_default().trim().to_owned()
}

/// Gives a server on the sender's side of a link in namespaces of zc's, if it does not choose, the
/// first of `CONGESTIONS` that a namespace may have as its default, and returns what it has then. A
/// namespace may have those of the host's `tcp_allowed_congestion_control` (Linux,
/// `tcp_set_default_congestion_control`): on a host that begins with bbr, `reno` but not `cubic`.
pub fn usual_congestion(link: &dyn Link) -> String {
    let set = || {
        let _ = CONGESTIONS.iter().find(|name| std::fs::write(DEFAULT_CONGESTION, name).is_ok());
        read_default_congestion()
    };
    on_senders_side(link, set).unwrap_or_default()
}

fn message(kind: LinkKind, no: &Unavailable) -> String {
    match no.remedy.as_deref() {
        Some(remedy) => format!("{kind}: {} ({remedy})", no.reason),
        None => format!("{kind}: {}", no.reason),
    }
}

/// Opens the files, or generates the set, from which messages of these lengths can be sent, and
/// reads them into the page cache.
///
/// # Errors
/// A file cannot be used, or there is no room for the generated set.
pub fn open_files(
    paths: &[PathBuf],
    seed: u64,
    buffer_bytes: usize,
    messages: &[usize],
    sender_cpu: usize,
) -> Result<(SendSetup, FileSetFacts)> {
    let (files, facts) =
        if paths.is_empty() { FileSet::generate(seed, messages)? } else { FileSet::open(paths)? };
    files.warm()?;
    Ok((
        SendSetup { cpu: Some(sender_cpu), ..SendSetup::new(Arc::new(files), buffer_bytes) },
        facts,
    ))
}

/// Checks that this process has memory for a run, before the kernel kills it in the middle.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): it has not.
pub fn check_memory() -> Result<()> {
    workload::check_enough(workload::available_bytes())
}

/// Checks that there is memory for so many bytes more.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is not.
pub fn check_room(bytes: u64) -> Result<()> {
    match workload::available_bytes() {
        Some(available) if available < bytes => {
            let mb = |bytes: u64| bytes.div_ceil(1_000_000);
            Err(Error::unsupported(
                "too-little-memory",
                format!(
                    "a copy of the files needs {} MB, and {} MB are left",
                    mb(bytes),
                    mb(available)
                ),
            )
            .help("give fewer or smaller files with --files, or none"))
        }
        _ => Ok(()),
    }
}

/// CRC-32 of the bytes of all files, one after the other.
///
/// # Errors
/// A file cannot be read, or has become shorter.
pub fn checksum(files: &FileSet) -> Result<u32> {
    workload::checksum(files, files.walk(0, 1 << 20), files.total_bytes())
}

/// Touches up to 2 GiB of memory and frees it, for at most 2 s and a tenth of the run's budget, so
/// that the memory which the kernel will allocate for packets has been touched before. Call it
/// before anything is measured. A virtual machine gets a page from its host on the first touch,
/// which takes 10 us here, six times what a page costs otherwise: the first runs on a fresh machine
/// would measure the hypervisor.
///
/// `sender_cpu` is where packets are allocated, so its free lists need the touched pages. If there
/// is no memory for it, nothing is touched.
pub fn touch_memory(sender_cpu: usize, budget: Duration) {
    let bytes = touched_bytes(workload::available_bytes());
    let time = touching(budget);
    let touch = move || {
        let _ = zc_kernel::sched::pin(&[sender_cpu]); // otherwise another CPU touches it
        let Ok(mut pages) = zc_kernel::pages::Pages::new(usize::try_from(bytes).unwrap_or(0))
        else {
            return;
        };
        let began = Instant::now();
        for chunk in pages.as_mut_slice().chunks_mut(1 << 20).take_while(|_| began.elapsed() < time)
        {
            for byte in chunk.iter_mut().step_by(4096) {
                *byte = 1;
            }
        }
        std::hint::black_box(&mut pages);
    };
    // Best effort: without a thread to do it, nothing is touched.
    let _ = std::thread::Builder::new().spawn(touch).map(std::thread::JoinHandle::join);
}

/// Limit on the time for touching memory in a run with this budget. With a budget of 3 s, two
/// seconds of it left no time for a block.
fn touching(budget: Duration) -> Duration {
    TOUCHING.min(budget / 10)
}

/// Bytes to touch when `available` bytes are; 0 if that is not known.
fn touched_bytes(available: Option<u64>) -> u64 {
    available.map_or(0, |available| TOUCHED_BYTES.min(available / 8))
}

/// The congestion control that was asked for, which [`UNSET`] leaves to the sender's side, or the
/// first of `CONGESTIONS` that a socket there accepts.
///
/// # Errors
/// The kernel does not have it, or this user may not use it.
pub fn choose_congestion(asked: Option<&str>, link: &Arc<dyn Link>) -> Result<String> {
    if asked == Some(UNSET) {
        return Ok(UNSET.to_owned());
    }
    let names: Vec<String> =
        asked.map_or(CONGESTIONS.map(str::to_owned).to_vec(), |name| vec![name.to_owned()]);
    let link = Arc::clone(link);
    // A thread cannot leave a namespace that it has entered, so the question has a thread of its
    // own.
    let ask = move || -> Result<Option<String>> {
        link.enter_sender()?;
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))
            .map_err(|error| Error::os("open a socket", error))?;
        Ok(names.into_iter().find(|name| zc_kernel::tcp::set_congestion(&listener, name).is_ok()))
    };
    let chosen = std::thread::Builder::new()
        .spawn(ask)
        .map_err(|error| Error::os("start a thread that asks for a congestion control", error))?
        .join()
        .map_err(|_| {
            Error::failed(
                "thread-panicked",
                "the thread that asked for a congestion control panicked",
            )
        })??;
    chosen.ok_or_else(|| {
        let name = asked.unwrap_or(CONGESTIONS[0]);
        Error::usage(
            "congestion-control-unavailable",
            format!("the congestion control \"{name}\" is not available here"),
        )
        .help(
            "/proc/sys/net/ipv4/tcp_available_congestion_control lists those of this kernel; a \
             module may add it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_touched_for_a_tenth_of_a_short_budget() {
        assert_eq!(touching(TOUCHING * 5), TOUCHING / 2);
        assert_eq!(touching(Duration::from_secs(60)), TOUCHING);
    }

    #[test]
    fn an_eighth_of_the_available_memory_is_touched_and_at_most_2_gib() {
        assert_eq!(touched_bytes(None), 0);
        assert_eq!(touched_bytes(Some(64 << 20)), 8 << 20);
        assert_eq!(touched_bytes(Some(1 << 40)), TOUCHED_BYTES);
    }
}
