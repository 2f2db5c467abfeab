//! Helper processes in sessions of their own: the soakers of `zc soak`, which measure a workload
//! outside of zc, and a competing process with busy threads, which shows what the soakers take from
//! such a workload.
//!
//! Each is this same program, started with `zc --internal helper JOB` by [`HelperProcess`]. They
//! exchange lines over its stdin and stdout; [`serve`] is the other end. The counters are in memory
//! that both ends map. When the starter ends, for any reason, stdin ends; the process then leaves
//! its cgroup, removes it, and ends too. (It does not use PR_SET_PDEATHSIG, because a killed
//! process cannot remove its cgroup.)

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counter::words_for;
use super::entries::Seen;
use super::group::{self, Group};
use super::soakers::{Soakers, read_seen, read_words};
use super::unit::unit;
use crate::internal::{HELPER, INTERNAL};
use zc_kernel::words::SharedWords;
use zc_kernel::{clock, sched, spawn};
use zc_run::{Burnt, Error, Result, SoakReading, SoakerKind, SoakerPace, SoakerRank};

/// The descriptor at which the process finds the memory for its counters.
const MEMORY: i32 = 3;

/// Time allowed to a process for ending after its stdin has ended, before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The job of a helper process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "job")]
pub enum HelperJob {
    /// Soakers.
    Soak {
        /// One on each of these CPUs.
        cpus: Vec<usize>,
        /// Kind of work.
        kind: SoakerKind,
    },
    /// Threads that are busy on request.
    Burn {
        /// One on each of these CPUs.
        cpus: Vec<usize>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
enum Request {
    Pause,
    Resume,
    Burn { from_ns: u64, until_ns: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
enum Reply {
    Soaking { rank: SoakerRank },
    Waiting { other_cgroup: bool },
    Done,
    Burnt { each: Vec<Burnt> },
    Error(Error),
}

/// Soakers in a process of their own, ranked below all others as far as this user may. They end
/// when this value is dropped, and when this process ends.
#[derive(Debug)]
pub struct SoakerProcess {
    process: HelperProcess,
    words: SharedWords,
    cpus: Vec<usize>,
    rank: SoakerRank,
    paused: bool,
}

impl SoakerProcess {
    /// Starts one soaker on each of `cpus`, and returns when they count.
    ///
    /// # Errors
    /// Same as [`Soakers::start`]; or this program cannot be started a second time.
    pub fn start(cpus: &[usize], kind: SoakerKind) -> Result<Self> {
        let (words, memory) = SharedWords::create(words_for(cpus.len()))
            .map_err(|error| Error::os("make memory for the soakers' counters", error))?;
        let job = HelperJob::Soak { cpus: cpus.to_vec(), kind };
        let (process, reply) = HelperProcess::start("zc-soakers", &job, Some(memory))?;
        let Reply::Soaking { rank } = reply else { return Err(unexpected()) };
        Ok(Self { process, words, cpus: cpus.to_vec(), rank, paused: false })
    }

    /// The CPUs that carry a soaker, in the order of every reading.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The id of their process.
    pub fn pid(&self) -> i32 {
        self.process.child.id() as i32
    }

    /// Their rank among other sessions and cgroups.
    pub fn rank(&self) -> &SoakerRank {
        &self.rank
    }

    /// Reads the counters: a few loads, and no system call but the clock. Empty while the soakers
    /// are paused.
    pub fn read(&self) -> SoakReading {
        read_words(&self.words, if self.paused { 0 } else { self.cpus.len() })
    }

    /// What each soaker has seen of its own entries.
    pub(super) fn seen(&self) -> Vec<Seen> {
        read_seen(&self.words, self.cpus.len())
    }

    /// CPU time of all soakers together so far.
    pub fn cpu_ns(&self) -> u64 {
        read_words(&self.words, self.cpus.len()).cpu_ns.iter().sum()
    }

    /// Units and CPU time of each soaker so far. They give its speed when others use its CPU too.
    pub fn pace(&self) -> Vec<SoakerPace> {
        let SoakReading { units, cpu_ns, .. } = read_words(&self.words, self.cpus.len());
        let each = units.into_iter().zip(cpu_ns);
        each.map(|(units, cpu_ns)| SoakerPace { units, cpu_ns }).collect()
    }

    /// Same as [`Soakers::pause`].
    ///
    /// # Errors
    /// The process is gone.
    pub fn pause(&mut self) -> Result<()> {
        self.paused = true;
        self.process.ask(&Request::Pause).map(drop)
    }

    /// Same as [`Soakers::resume`].
    ///
    /// # Errors
    /// The process is gone.
    pub fn resume(&mut self) -> Result<()> {
        self.process.ask(&Request::Resume)?;
        self.paused = false;
        Ok(())
    }
}

/// A process in another session, and if this user may create one in another cgroup, with a thread
/// for each CPU.
#[derive(Debug)]
pub struct CompetingProcess {
    process: HelperProcess,
    other_cgroup: bool,
}

impl CompetingProcess {
    /// Starts it; its threads wait.
    ///
    /// # Errors
    /// A CPU does not exist or may not be used; this program cannot be started a second time.
    pub fn start(cpus: &[usize]) -> Result<Self> {
        let (process, reply) =
            HelperProcess::start("zc-competitor", &HelperJob::Burn { cpus: cpus.to_vec() }, None)?;
        let Reply::Waiting { other_cgroup } = reply else { return Err(unexpected()) };
        Ok(Self { process, other_cgroup })
    }

    /// Whether it is also in another cgroup than this process.
    pub fn other_cgroup(&self) -> bool {
        self.other_cgroup
    }

    /// Keeps a thread busy on each CPU between two moments of CLOCK_MONOTONIC and calls `meanwhile`
    /// in between; returns the CPU time of each thread.
    ///
    /// # Errors
    /// The process is gone.
    pub fn burn(
        &mut self,
        from_ns: u64,
        until_ns: u64,
        meanwhile: impl FnOnce(),
    ) -> Result<Vec<Burnt>> {
        self.process.send(&Request::Burn { from_ns, until_ns })?;
        meanwhile();
        match self.process.receive()? {
            Reply::Burnt { each } => Ok(each),
            _ => Err(unexpected()),
        }
    }
}

/// The starter's end of a helper process.
#[derive(Debug)]
struct HelperProcess {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl HelperProcess {
    fn start(name: &str, job: &HelperJob, memory: Option<OwnedFd>) -> Result<(Self, Reply)> {
        let job = serde_json::to_string(job)
            .map_err(|error| Error::failed("helper-protocol", error.to_string()))?;
        // Not by its path: the program may have been rebuilt since it was started.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(name)
            .args([INTERNAL, HELPER, &job])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(memory) = memory {
            spawn::inherit(&mut command, memory, MEMORY);
        }
        let mut child = command
            .spawn()
            .map_err(|error| Error::os(format!("start a second process (\"{name}\")"), error))?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unexpected()); // both were asked for
        };
        let mut process =
            Self { child, requests: Some(requests), replies: BufReader::new(replies) };
        let reply = process.receive()?;
        Ok((process, reply))
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.send(request)?;
        self.receive()
    }

    fn send(&mut self, request: &Request) -> Result<()> {
        let requests = self.requests.as_mut().ok_or_else(gone)?;
        write_line(requests, request).map_err(|_| gone())
    }

    fn receive(&mut self) -> Result<Reply> {
        let mut line = String::new();
        self.replies.read_line(&mut line).map_err(|_| gone())?;
        if line.is_empty() {
            return Err(gone());
        }
        match serde_json::from_str(&line).map_err(|_| unexpected())? {
            Reply::Error(error) => Err(error),
            reply => Ok(reply),
        }
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        group::lift(self.child.id() as i32);
        self.requests = None; // ends its stdin, at which it exits
        let pidfd = spawn::pidfd(self.child.id() as i32);
        let ended = pidfd.and_then(|pidfd| spawn::wait_readable(&[pidfd.as_fd()], Some(PATIENCE)));
        if ended.is_ok_and(|readable| readable == [false]) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

fn gone() -> Error {
    Error::failed("helper-ended", "a process that zc has started has ended early")
        .help("was it killed? (it is called \"zc-soakers\" or \"zc-competitor\")")
}

fn unexpected() -> Error {
    Error::failed("helper-protocol", "a process that zc has started gave an unexpected answer")
}

fn write_line(to: &mut impl Write, what: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// The other end: runs the job `job`, given as JSON. Returns when `requests` ends.
///
/// # Errors
/// It was not started by zc. Failures of the job are sent to the starter.
pub fn serve(job: &str, requests: impl BufRead, mut replies: impl Write) -> Result<()> {
    let not_ours = || {
        Error::usage("internal-command", "helper processes are only started by zc itself")
            .help("zc soak --help")
    };
    let job: HelperJob = serde_json::from_str(job).map_err(|_| not_ours())?;
    // The soakers end before the group is left and removed.
    let done = match job {
        HelperJob::Soak { cpus, kind } => {
            let memory =
                File::options().read(true).write(true).open(format!("/proc/self/fd/{MEMORY}"));
            let words = memory.and_then(SharedWords::map).map_err(|_| not_ours())?;
            let group = Group::lowest();
            let soakers = Soakers::start_in(&cpus, kind, Arc::new(words), |tid| group.take_in(tid));
            soakers.and_then(|soakers| {
                let ready = Reply::Soaking { rank: group.rank().clone() };
                each_request(&ready, requests, &mut replies, |request| {
                    match request {
                        Request::Pause => soakers.pause(),
                        Request::Resume => soakers.resume(),
                        Request::Burn { .. } => {}
                    }
                    Ok(Reply::Done)
                })
            })
        }
        HelperJob::Burn { cpus } => {
            let (_group, other_cgroup) = Group::competitor();
            let ready = Reply::Waiting { other_cgroup };
            burn_on_request(ready, &cpus, requests, &mut replies)
        }
    };
    if let Err(error) = done {
        // The starter reads the reply; without a starter it is not needed.
        drop(write_line(&mut replies, &Reply::Error(error)));
    }
    Ok(())
}

/// Answers requests until they end, or until the replies are not read any more.
fn each_request(
    ready: &Reply,
    requests: impl BufRead,
    replies: &mut impl Write,
    mut reply: impl FnMut(Request) -> Result<Reply>,
) -> Result<()> {
    if write_line(replies, ready).is_err() {
        return Ok(());
    }
    for line in requests.lines() {
        let Ok(line) = line else { break };
        let request = serde_json::from_str(&line).map_err(|_| unexpected())?;
        if write_line(replies, &reply(request)?).is_err() {
            break;
        }
    }
    Ok(())
}

fn burn_on_request(
    ready: Reply,
    cpus: &[usize],
    requests: impl BufRead,
    replies: &mut impl Write,
) -> Result<()> {
    each_request(&ready, requests, replies, |request| match request {
        Request::Burn { from_ns, until_ns } => {
            Ok(Reply::Burnt { each: burn(cpus, from_ns, until_ns)? })
        }
        Request::Pause | Request::Resume => Ok(Reply::Done),
    })
}

/// Keeps a thread busy on each CPU between two moments.
fn burn(cpus: &[usize], from_ns: u64, until_ns: u64) -> Result<Vec<Burnt>> {
    let busy = |cpu: usize| -> std::io::Result<Burnt> {
        sched::pin(&[cpu])?;
        clock::sleep_until(from_ns);
        let (began_ns, began_cpu_ns) = (clock::monotonic_ns(), clock::own_cpu_ns());
        let mut state = 1;
        while clock::monotonic_ns() < until_ns {
            state = unit(state);
        }
        Ok(Burnt {
            wall_ns: clock::monotonic_ns() - began_ns,
            cpu_ns: clock::own_cpu_ns() - began_cpu_ns,
        })
    };
    std::thread::scope(|scope| {
        let start =
            |&cpu: &usize| std::thread::Builder::new().spawn_scoped(scope, move || busy(cpu));
        let threads: Vec<_> = cpus.iter().map(start).collect();
        let ended = threads.into_iter().zip(cpus).map(|(thread, cpu)| {
            let thread = thread.map_err(|error| Error::os("start a busy thread", error))?;
            let burnt = thread
                .join()
                .map_err(|_| Error::failed("thread-panicked", "a busy thread panicked"))?;
            burnt.map_err(|error| Error::os(format!("keep CPU \"{cpu}\" busy"), error))
        });
        ended.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::ErrorKind;

    #[test]
    fn a_busy_thread_reports_its_cpu_time() {
        let cpu = sched::allowed_cpus().unwrap()[0];
        let job = serde_json::to_string(&HelperJob::Burn { cpus: vec![cpu] }).unwrap();
        // Not through `serve`, which would move the test harness to another session and cgroup.
        let from_ns = clock::monotonic_ns();
        let request =
            serde_json::to_string(&Request::Burn { from_ns, until_ns: from_ns + 3_000_000 })
                .unwrap();
        let mut replies = Vec::new();
        burn_on_request(Reply::Done, &[cpu], format!("{request}\n").as_bytes(), &mut replies)
            .unwrap();
        let last = String::from_utf8(replies).unwrap().lines().last().unwrap().to_owned();
        let Reply::Burnt { each } = serde_json::from_str(&last).unwrap() else { panic!("{last}") };
        assert_eq!(each.len(), 1);
        assert!(each[0].cpu_ns > 0 && each[0].cpu_ns <= each[0].wall_ns + 1_000_000, "{each:?}");
        assert!(job.contains("burn"));
    }

    #[test]
    fn a_process_that_zc_did_not_start_is_a_usage_error() {
        for job in ["", "{}", "soak"] {
            let error = serve(job, "".as_bytes(), Vec::new()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage);
        }
    }

    #[test]
    fn an_invalid_request_ends_the_process() {
        let mut replies = Vec::new();
        assert!(burn_on_request(Reply::Done, &[], "rubbish\n".as_bytes(), &mut replies).is_err());
        assert_eq!(String::from_utf8(replies).unwrap(), "{\"is\":\"done\"}\n");
    }
}
