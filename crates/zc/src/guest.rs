//! `zc --internal guest`: boots a kernel and runs a command in it, for lab/run. What the command
//! prints goes to stdout while it runs; the exit code is the command's, or one of the lab's own.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use super::{interrupt, tell};
use zc_guest::{Accelerator, Boot, Ended, Job, Kernel, Machine, SHARE, WireEnd, boot};
use zc_run::{Error, ErrorKind, Result, units};

/// The lab's own exit codes (lab/README.md).
const CANNOT: u8 = 77;
const LATE: u8 = 124;
const BROKEN: u8 = 125;

/// How many last lines of a guest that failed are shown.
const LAST_LINES: usize = 20;

/// What is booted, and what for.
struct Asked {
    kernel: PathBuf,
    job: Job,
    share: Option<PathBuf>,
    limit: Duration,
    shows_log: bool,
    machine: Machine,
}

/// Boots the guest, and returns the exit code.
///
/// # Errors
/// The words are not those of lab/run.
pub(super) fn run(words: &[OsString]) -> Result<u8> {
    let stop = interrupt::flag()?;
    match parsed(words).and_then(|asked| booted(&asked, &stop)) {
        Err(error) if error.kind == ErrorKind::Interrupted => Err(error),
        Err(error) => {
            tell::error(&error);
            Ok(if error.kind == ErrorKind::Unsupported { CANNOT } else { BROKEN })
        }
        code => code,
    }
}

/// `--kernel K [--share F] [--limit S] [--memory MIB] [--cpus N] [--append WORDS] [--wire NAME END
/// ADDRESS] [--set NAME VALUE]... [--log] -- COMMAND...`.
fn parsed(words: &[OsString]) -> Result<Asked> {
    let wrong = || Error::usage("internal-command", "these are not the words of lab/run");
    let mut machine = Machine::find()?;
    // Its scripts see the same machine everywhere.
    machine.accelerator = Accelerator::Emulated { why: "the lab emulates".to_owned() };
    let (mut kernel, mut share, mut shows_log) = (None, None, false);
    let mut limit_s = 300;
    let mut job = Job {
        folder: std::env::current_dir().map_err(|error| Error::os("find this folder", error))?,
        environment: vec![("LAB_SHARE".into(), SHARE.into())],
        host_name: "lab".to_owned(),
        ..Job::default()
    };
    let mut words = words.iter();
    loop {
        let option = words.next().ok_or_else(wrong)?;
        let mut value = || words.next().cloned().ok_or_else(wrong);
        let number = |text: OsString| units::count("number", &text.to_string_lossy(), 1..=1 << 20);
        match option.to_str() {
            Some("--kernel") => kernel = Some(PathBuf::from(value()?)),
            Some("--share") => share = Some(PathBuf::from(value()?)),
            Some("--limit") => limit_s = number(value()?)?,
            Some("--memory") => machine.memory_mib = number(value()?)?,
            Some("--cpus") => machine.cpus = number(value()?)? as usize,
            Some("--append") => machine.append = value()?.to_string_lossy().into_owned(),
            Some("--wire") => {
                let name = value()?.to_string_lossy().into_owned();
                let end = number(value()?)? as u8;
                job.address = Some(value()?.to_string_lossy().into_owned());
                job.modules.push("virtio_net".to_owned());
                job.host_name = format!("lab{end}");
                machine.wire = Some(WireEnd::named(name, end));
            }
            Some("--set") => {
                let name = value()?;
                job.environment.push((name, value()?));
            }
            Some("--log") => shows_log = true,
            Some("--") => break,
            _ => return Err(wrong()),
        }
    }
    job.words = words.cloned().collect();
    let kernel = kernel.ok_or_else(wrong)?;
    let limit = Duration::from_secs(limit_s);
    Ok(Asked { kernel, job, share, limit, shows_log, machine })
}

fn booted(asked: &Asked, stop: &zc_kernel::stop::Stop) -> Result<u8> {
    let Asked { job, machine, limit, .. } = asked;
    let kernel = Kernel::find(&asked.kernel)?;
    let share = asked.share.as_deref();
    let guest = Boot { kernel: &kernel, machine, job, share, limit: *limit };
    let outcome = boot(guest, stop, &mut io::stdout())?;
    if asked.shows_log {
        drop(io::stderr().write_all(outcome.log.as_bytes()));
    }
    let last = || outcome.last_lines(LAST_LINES).iter().for_each(|line| tell::note(line));
    match &outcome.ended {
        Ended::Job(code) => Ok(*code),
        Ended::Late => {
            last();
            tell::note(&format!(
                "lab: the guest was not done after {} s: --limit",
                limit.as_secs()
            ));
            Ok(LATE)
        }
        Ended::Failed(why) => {
            last();
            tell::note(&format!("lab: the guest ended before its script did: {why}"));
            Ok(BROKEN)
        }
        Ended::Stopped => Err(Error::interrupted("interrupted")),
    }
}
