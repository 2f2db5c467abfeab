//! Boots kernels on another machine, which a command leads to: by kexec, by its own firmware and
//! boot loader, or by a command of the user. It is known by its boot id: a boot is over when the
//! machine answers with another one, and counts if `uname -r` is that of the kernel.
//!
//! All that is done there is a script of a shell (boot.sh), which does nothing on the machine that
//! this program itself runs on.

mod kernel;
mod said;

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use self::said::Said;
use super::ask::{Answer, ask};
use zc_kernel::spawn::kill_group;
use zc_rig::meter::boot_id;
use zc_rig::stderr_tail::StderrTail;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::{Error, ErrorKind, Result, escape, shell_word};

pub use self::kernel::{HostKernel, How, Seen};

const SCRIPT: &str = include_str!("boot.sh");

/// How often a machine is asked whether it is there.
const PERIOD: Duration = Duration::from_secs(1);
/// Time for an answer: connecting to a machine that goes down or comes up may hang.
const TO_ANSWER: Duration = Duration::from_secs(20);
/// Time for loading a kernel, and for the rest of a boot's own work.
const TO_LOAD: Duration = Duration::from_secs(60);
const TO_SETTLE: Duration = Duration::from_secs(60);

/// The exit code of ssh where the connection has ended, as it does when a machine goes down.
const SSH_ENDED: i32 = 255;

/// Where a command of the user has the kernel.
pub const PLACEHOLDER: &str = "{kernel}";

/// What is booted where.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The command that leads to a shell there: `ssh root@box`.
    pub command: &'a str,
    /// How kernels are booted.
    pub how: How,
    /// The two kernels, each the name of a file there or a release.
    pub kernels: [&'a str; 2],
    /// How long the machine may be away.
    pub within: Duration,
}

/// What came of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Booted {
    /// The kernel runs.
    Up,
    /// It does not, and why, as a part of a sentence.
    Dropped(String),
}

/// A machine whose kernel is changed.
#[derive(Debug)]
pub struct Machine {
    command: String,
    how: How,
    within: Duration,
    near: String,
    name: String,
    kernels: [HostKernel; 2],
    /// The kernel that it had at the beginning.
    first: HostKernel,
    first_seen: Seen,
    /// Its latest boot that was seen.
    seen: Seen,
    /// It was told to leave that one.
    leaves: bool,
    /// It was waited for in vain.
    is_gone: bool,
}

/// Whether it answers.
enum Answers {
    /// By this boot.
    By(Seen),
    /// It does not; what its command said.
    Not(Option<String>),
}

impl Machine {
    /// Looks at a machine: nothing there is changed.
    ///
    /// # Errors
    /// - [`ErrorKind::Usage`]: it is this very machine, or a kernel's name is not one.
    /// - [`ErrorKind::Input`]: a kernel is missing there.
    /// - [`ErrorKind::Unsupported`]: the user there is not root, or it cannot be booted that way.
    /// - [`ErrorKind::Remote`]: it does not answer; or that of `still_wanted`.
    pub fn look(asked: Asked<'_>, still_wanted: StillWanted<'_>) -> Result<Self> {
        let Asked { command, how, kernels, within } = asked;
        let near = boot_id().ok_or_else(|| {
            Error::unsupported("no-boot-id", "this machine has no /proc/sys/kernel/random/boot_id")
                .help("mount /proc: by it zc knows that it does not boot the machine it runs on")
        })?;
        kernels.iter().try_for_each(|kernel| check_name(kernel))?;
        let [old, new] = kernels.map(shell_word);
        let script = script(&near, "look", &[("old", &old), ("new", &new)]);
        let answer = ask(command, &script, TO_LOAD, still_wanted)?;
        let said = Said::of(&answer.lines);
        refuse_this_machine(command, &near, &said)?;
        let Some(seen) = said.seen.clone() else { return Err(unreachable(command, &answer)) };
        let name = said.name.clone().unwrap_or_else(|| command.to_owned());
        said.check(&name, &how)?;
        let [old, new] = kernels;
        let kernels = [said.kernel(0, old, &name, &how)?, said.kernel(1, new, &name, &how)?];
        let mut first = said.kernels[2].clone();
        first.release.clone_from(&seen.release);
        // In the words of whoever named the others.
        let same = kernels.iter().find(|kernel| kernel.release == first.release);
        first.given = match (same, &first.image) {
            (Some(same), _) => same.given.clone(),
            (None, Some(image)) if kernels[0].given.starts_with('/') => image.clone(),
            (None, _) => first.release.clone(),
        };
        Ok(Self {
            command: command.to_owned(),
            how,
            within,
            near,
            name,
            kernels,
            first,
            first_seen: seen.clone(),
            seen,
            leaves: false,
            is_gone: false,
        })
    }

    /// Its name, as it says.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The command that leads to it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The two kernels.
    pub fn kernels(&self) -> &[HostKernel; 2] {
        &self.kernels
    }

    /// The release of the kernel that it had at the beginning.
    pub fn first_release(&self) -> &str {
        &self.first_seen.release
    }

    /// The release of the kernel that was seen there last.
    pub fn release(&self) -> &str {
        &self.seen.release
    }

    /// Boots one of the two kernels, and waits until the machine has done so.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`]: it does not answer any more, or cannot be told to boot; or that of
    /// `still_wanted`.
    pub fn boot(&mut self, place: usize, still_wanted: StillWanted<'_>) -> Result<Booted> {
        let kernel = self.kernels[usize::from(place > 0)].clone();
        self.boot_kernel(&kernel, still_wanted)
    }

    fn boot_kernel(
        &mut self,
        kernel: &HostKernel,
        still_wanted: StillWanted<'_>,
    ) -> Result<Booted> {
        // A command may switch a machine off and on that does not answer.
        if !matches!(self.how, How::Command(_)) {
            self.reach(still_wanted)?;
        }
        let left_before = std::mem::replace(&mut self.leaves, true);
        if let Err(error) = self.go(kernel, still_wanted) {
            // One that refuses stays as it is.
            self.leaves = left_before || error.kind == ErrorKind::Interrupted;
            return Err(error);
        }
        match self.comes_back(self.within, still_wanted)? {
            Answers::By(seen) if seen.boot_id == self.seen.boot_id => {
                self.leaves = false;
                Ok(Booted::Dropped(format!(
                    "{} s after it was told to boot, the machine still runs the kernel before \
                     (Linux {})",
                    self.within.as_secs(),
                    escape(&seen.release, 100)
                )))
            }
            Answers::By(seen) => {
                let other = kernel.unlike(&seen);
                (self.seen, self.leaves) = (seen, false);
                if let Some(why) = other {
                    return Ok(Booted::Dropped(why));
                }
                // Whatever it says: some service may have failed.
                ask(&self.command, &self.script("settle", &[]), TO_SETTLE, still_wanted)?;
                Ok(Booted::Up)
            }
            Answers::Not(said) => Ok(Booted::Dropped(format!(
                "the machine was not back after {} s{}",
                self.within.as_secs(),
                quoted_last(said.as_deref())
            ))),
        }
    }

    /// Boots the kernel that it had at the beginning, if it has another one.
    ///
    /// # Errors
    /// As for [`boot`](Self::boot), or it has another one afterwards.
    pub fn leave(&mut self, still_wanted: StillWanted<'_>) -> Result<()> {
        if self.is_as_at_first() {
            return Ok(());
        }
        match self.reach(still_wanted) {
            Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
            Err(_) if matches!(self.how, How::Command(_)) => {}
            reached => reached?,
        }
        if self.is_as_at_first() {
            return Ok(());
        }
        let first = self.first.clone();
        let why = match self.boot_kernel(&first, still_wanted)? {
            Booted::Up if self.is_as_at_first() => return Ok(()),
            Booted::Up => format!("it is another build now: {}", escape(&self.seen.version, 200)),
            Booted::Dropped(why) => why,
        };
        Err(Error::remote("machine-not-as-before", why))
    }

    /// Whether it has the kernel that it had at the beginning.
    pub fn is_as_at_first(&self) -> bool {
        let (now, first) = (&self.seen, &self.first_seen);
        !self.leaves && (&now.release, &now.version) == (&first.release, &first.version)
    }

    /// Waits until it answers, by a boot that it was not told to leave. One that was waited for in
    /// vain is asked once.
    fn reach(&mut self, still_wanted: StillWanted<'_>) -> Result<()> {
        let within = if self.is_gone { Duration::ZERO } else { self.within };
        let answers = self.comes_back(within, still_wanted)?;
        self.is_gone = matches!(answers, Answers::Not(_));
        match answers {
            // Also if it never went down.
            Answers::By(seen) => {
                (self.seen, self.leaves) = (seen, false);
                Ok(())
            }
            Answers::Not(said) => Err(Error::remote(
                "machine-gone",
                format!(
                    "\"{}\" does not answer, tried for {} s{}",
                    escape(&self.name, 100),
                    self.within.as_secs(),
                    quoted_last(said.as_deref())
                ),
            )
            .help("its console tells more; --boot 'COMMAND' may switch it off and on")),
        }
    }

    /// Waits until it answers; where it was told to leave its boot, until it answers by another
    /// one. When the time is over, what its last answer was.
    fn comes_back(&self, within: Duration, still_wanted: StillWanted<'_>) -> Result<Answers> {
        let until = Instant::now() + within;
        let probe = self.script("is", &[]);
        let mut last = Answers::Not(None);
        loop {
            let answer = ask(&self.command, &probe, TO_ANSWER, still_wanted)?;
            let said = Said::of(&answer.lines);
            refuse_this_machine(&self.command, &self.near, &said)?;
            last = match (said.seen, last) {
                (Some(seen), _) if !(self.leaves && seen.boot_id == self.seen.boot_id) => {
                    return Ok(Answers::By(seen));
                }
                (Some(seen), _) => Answers::By(seen),
                (None, Answers::Not(before)) => Answers::Not(answer.error.or(before)),
                // It goes down.
                (None, Answers::By(_)) => Answers::Not(answer.error),
            };
            let next = Instant::now() + PERIOD;
            if next >= until {
                return Ok(last);
            }
            while Instant::now() < next {
                still_wanted()?;
                std::thread::sleep(GLANCE);
            }
        }
    }

    /// Tells it to boot.
    fn go(&self, kernel: &HostKernel, still_wanted: StillWanted<'_>) -> Result<()> {
        let script = match &self.how {
            How::Command(command) => {
                let command = command.replace(PLACEHOLDER, &shell_word(&kernel.given));
                return run_here(&command, self.within, still_wanted);
            }
            How::Kexec if kernel.image.is_some() => {
                let image = shell_word(kernel.image.as_deref().unwrap_or_default());
                let initrd = shell_word(kernel.initrd.as_deref().unwrap_or_default());
                self.script("kexec", &[("image", &image), ("initrd", &initrd)])
            }
            // The kernel that it had at the beginning, which has no file, or no entry: the boot
            // loader's own choice.
            How::Kexec | How::Reboot => {
                let entry = shell_word(kernel.entry.as_deref().unwrap_or_default());
                self.script("reboot", &[("entry", &entry)])
            }
        };
        let answer = ask(&self.command, &script, TO_LOAD, still_wanted)?;
        let said = Said::of(&answer.lines);
        refuse_this_machine(&self.command, &self.near, &said)?;
        // How the stream ends says nothing from then on.
        if said.goes && !said.failed {
            return Ok(());
        }
        let what = match &kernel.image {
            Some(image) => format!("\"{}\"", escape(image, 300)),
            None => format!("Linux {}", escape(&kernel.release, 100)),
        };
        let why = quoted_last(answer.error.as_deref());
        let message = format!("\"{}\" cannot be told to boot {what}{why}", escape(&self.name, 100));
        Err(Error::remote("boot-refused", message).help(
            "a kernel without CONFIG_KEXEC, or one that is locked down (Secure Boot), loads none: \
             --boot reboot, or --boot 'COMMAND'",
        ))
    }

    fn script(&self, step: &str, words: &[(&str, &str)]) -> String {
        script(&self.near, step, words)
    }
}

/// The script of a step, with words that a shell reads as they are.
fn script(near: &str, step: &str, words: &[(&str, &str)]) -> String {
    let lines: String = words.iter().map(|(name, word)| format!("zc_{name}={word}\n")).collect();
    format!("zc_near={}\nzc_step={step}\n{lines}{SCRIPT}", shell_word(near))
}

/// Runs a command of the user on this machine.
fn run_here(command: &str, within: Duration, still_wanted: StillWanted<'_>) -> Result<()> {
    let mut shell = Command::new("/bin/sh");
    // Ctrl-C reaches zc alone, as with `--via`.
    shell.arg("-c").arg(command).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let shown = escape(command, 200);
    let cannot = |error| Error::os(format!("start \"{shown}\""), error);
    let mut child = shell.spawn().map_err(cannot)?;
    let said = child.stderr.take().map(StderrTail::start).transpose()?;
    let until = Instant::now() + within;
    let status = loop {
        let ended = child.try_wait().map_err(|error| Error::os("wait for a command", error))?;
        let wanted = still_wanted();
        if ended.is_some() || wanted.is_err() || Instant::now() >= until {
            // It has not been waited for if it runs, so the number is still that of its group.
            if ended.is_none() {
                drop(kill_group(child.id() as i32, 9));
                drop(child.wait());
            }
            wanted?;
            break ended;
        }
        std::thread::sleep(GLANCE);
    };
    // That of ssh to a machine that goes down.
    if status.is_some_and(|status| status.success() || status.code() == Some(SSH_ENDED)) {
        return Ok(());
    }
    let said = said.and_then(|mut said| {
        said.finish();
        said.last()
    });
    let how = status.map_or_else(
        || format!("was not over after {} s", within.as_secs()),
        |status| format!("failed ({status})"),
    );
    let why = quoted_last(said.as_deref());
    Err(Error::remote("boot-refused", format!("the command of --boot, \"{shown}\", {how}{why}")))
}

/// Refuses to do anything to the machine that this program runs on.
fn refuse_this_machine(command: &str, near: &str, said: &Said) -> Result<()> {
    let is_near = said.seen.as_ref().is_some_and(|seen| seen.boot_id == near);
    if !said.is_refused && !is_near {
        return Ok(());
    }
    let message = format!(
        "\"{}\" leads to this very machine, which cannot be booted below zc (its boot_id says so)",
        escape(command, 200)
    );
    Err(Error::usage("boots-this-machine", message)
        .help("name another machine; without --remote, kernels are booted in guests"))
}

fn unreachable(command: &str, answer: &Answer) -> Error {
    let why = quoted_last(answer.error.as_deref().or(answer.lines.last().map(String::as_str)));
    Error::remote(
        "machine-unreachable",
        format!("no shell answers at the end of \"{}\"{why}", escape(command, 200)),
    )
    .help("it must not ask anything: try it as COMMAND true; --via names a whole command")
}

/// `: what was said`, or nothing.
fn quoted_last(said: Option<&str>) -> String {
    said.map_or_else(String::new, |said| format!(": {}", escape(said, 300)))
}

/// Checks the name of a kernel on another machine.
fn check_name(given: &str) -> Result<()> {
    let is_release = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    let is_path = given.starts_with('/') && !given.chars().any(char::is_control);
    if is_path || (!given.starts_with('-') && given.chars().all(is_release)) {
        return Ok(());
    }
    let shown = escape(given, 100);
    Err(Error::usage(
        "invalid-kernel",
        format!("--kernel: \"{shown}\" is no kernel on another machine"),
    )
    .help(
        "a file there by its whole name, /boot/vmlinuz-6.12.1, or the release of an installed \
         one, 6.12.1",
    ))
}

#[cfg(test)]
mod tests;
