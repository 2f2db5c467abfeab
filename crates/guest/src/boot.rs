//! A boot of a guest: from its files until its machine is off. Nothing of it has a name, and the
//! kernel ends QEMU with this process, so nothing is left behind, however that ends.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use zc_kernel::spawn::end_with_this_process;
use zc_kernel::stop::Stop;
use zc_run::{Error, Result, escape};

use crate::job::{CODE_PORT, Job, OUTPUT_PORT};
use crate::kernel::Kernel;
use crate::machine::{Accelerator, Machine};
use crate::memory_file::MemoryFile;
use crate::passed::{CODE, INITRD, LOG, pass, path};
use crate::{initrd, log, pinning, wire};

/// How often is looked whether it is over.
pub(crate) const PERIOD: Duration = Duration::from_millis(50);
/// How long a machine may take to go off after its job has ended. One without ACPI never does.
const GRACE: Duration = Duration::from_secs(10);
/// How much of the end of what a job prints is kept.
const KEPT: usize = 16 * 1024;

/// What is booted, and for how long.
#[derive(Clone, Copy)]
pub struct Boot<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// On which machine.
    pub machine: &'a Machine,
    /// What is done in it.
    pub job: &'a Job,
    /// A folder of the host that the guest may write to.
    pub share: Option<&'a Path>,
    /// After how long it is ended.
    pub limit: Duration,
}

/// How a boot ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The job did, with this exit code.
    Job(u8),
    /// Something else ended it: why, as a part of a sentence.
    Failed(String),
    /// It took longer than its limit.
    Late,
    /// It was stopped.
    Stopped,
}

/// A boot that is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// The end of what the job printed.
    pub output: String,
    /// What the kernel has said on its console.
    pub log: String,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// The last lines of the kernel's log.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        log::last_lines(&self.log, most)
    }
}

/// Boots a guest, and waits until it is over. What the job prints is also written to `echo`.
///
/// # Errors
/// - [`ErrorKind::Input`](zc_run::ErrorKind): a module cannot be read.
/// - [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no memory for it.
/// - [`ErrorKind::Failed`](zc_run::ErrorKind): QEMU cannot be started.
pub fn boot(boot: Boot<'_>, stop: &Stop, echo: &mut (dyn Write + Send)) -> Result<Outcome> {
    let Boot { kernel, machine, job, share, .. } = boot;
    machine.check_memory()?;
    let job = Job { tree: kernel.modules.clone(), shares: share.is_some(), ..job.clone() };
    let file = |name| MemoryFile::create(name).map_err(|error| Error::os("make a file", error));
    let (first, code, log) = (file("zc-initrd")?, file("zc-code")?, file("zc-log")?);
    initrd::write(kernel, &job, first.file())?;

    let mut qemu = machine.command(&kernel.image);
    wire::attach(machine.wire.as_ref(), &mut qemu)?;
    qemu.arg("-initrd").arg(path(INITRD));
    qemu.arg("-serial").arg(format!("file:{}", path(LOG)));
    port(&mut qemu, OUTPUT_PORT, &path(1));
    port(&mut qemu, CODE_PORT, &path(CODE));
    // 9p follows the mounts of this host.
    let mounted = "security_model=none,multidevs=remap";
    qemu.arg("-virtfs").arg(format!("local,path=/,mount_tag=host,readonly=on,{mounted}"));
    if let Some(share) = share {
        let mut option = std::ffi::OsString::from(format!("local,mount_tag=share,{mounted},path="));
        // A comma is doubled in what QEMU takes apart.
        option.push(doubled(share));
        qemu.arg("-virtfs").arg(option);
    }
    for (file, number) in [(&first, INITRD), (&code, CODE), (&log, LOG)] {
        pass(&mut qemu, file.file(), number)?;
    }
    end_with_this_process(&mut qemu);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let child = Guest(qemu.spawn().map_err(|error| Error::os("start QEMU", error))?);
    drop((qemu, first)); // it owns descriptors
    let (ended, output, said) = std::thread::scope(|scope| -> Result<(How, String, String)> {
        let mut child = child; // ends with this closure, so that the threads end
        let (mut stdout, mut stderr) = (child.0.stdout.take(), child.0.stderr.take());
        let reader = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let cannot = |error: io::Error| Error::os("start a thread", error);
        let output = reader("guest-output")
            .spawn_scoped(scope, move || tail(stdout.as_mut(), Some(echo)))
            .map_err(cannot)?;
        let said = reader("qemu-says")
            .spawn_scoped(scope, move || tail(stderr.as_mut(), None))
            .map_err(cannot)?;
        let ended = wait(&mut child, boot, &code, began, stop)?;
        drop(child);
        Ok((ended, output.join().unwrap_or_default(), said.join().unwrap_or_default()))
    })?;
    let log = log.text();
    let ended = match ended {
        How::Code(code) => Ended::Job(code),
        How::Off => Ended::Failed(why(&log, &said)),
        How::Late => Ended::Late,
        How::Stopped => Ended::Stopped,
    };
    Ok(Outcome { ended, output, log, took: began.elapsed() })
}

enum How {
    Code(u8),
    /// The machine went off without a code.
    Off,
    Late,
    Stopped,
}

/// QEMU, which ends with this.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait(
    guest: &mut Guest,
    boot: Boot<'_>,
    code: &MemoryFile,
    began: Instant,
    stop: &Stop,
) -> Result<How> {
    let Machine { accelerator, bound_to, cpus, .. } = boot.machine;
    let mut unbound = *accelerator == Accelerator::Kvm && bound_to.len() >= *cpus;
    let mut coded: Option<Instant> = None;
    loop {
        let is_over = guest.0.try_wait().map_err(|error| Error::os("wait for QEMU", error))?;
        if let Ok(number) = code.text().trim().parse::<u8>() {
            let since = coded.get_or_insert_with(Instant::now);
            if is_over.is_some() || since.elapsed() > GRACE {
                return Ok(How::Code(number));
            }
        } else if is_over.is_some() {
            return Ok(How::Off);
        }
        if stop.is_set() {
            return Ok(How::Stopped);
        }
        if began.elapsed() > boot.limit {
            return Ok(How::Late);
        }
        if unbound {
            unbound = pinning::pin(guest.0.id(), bound_to) < *cpus;
        }
        std::thread::sleep(PERIOD);
    }
}

/// Why a machine went off before its job had ended.
fn why(log: &str, said: &str) -> String {
    match (log::said(log), log::panic(log)) {
        (Some(said), _) => said,
        (None, Some(panic)) => format!("the kernel panicked: {panic}"),
        (None, None) if !said.trim().is_empty() => {
            let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            format!("QEMU ended: {}", escape(first.trim(), 300))
        }
        (None, None) if log.trim().is_empty() => {
            "it went off and said nothing (its console is ttyS0: CONFIG_SERIAL_8250_CONSOLE)"
                .to_owned()
        }
        (None, None) => "it went off before its job had ended".to_owned(),
    }
}

/// Copies what comes to `echo`, and returns its end as text.
fn tail(from: Option<&mut impl Read>, mut echo: Option<&mut (dyn Write + Send)>) -> String {
    let (Some(from), mut kept) = (from, Vec::new()) else { return String::new() };
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let read = &buffer[..count];
        // Who no longer reads what the guest prints does not end it.
        if echo.as_mut().is_some_and(|echo| echo.write_all(read).is_err()) {
            echo = None;
        }
        kept.extend_from_slice(read);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn port(qemu: &mut Command, name: &str, path: &str) {
    qemu.arg("-chardev").arg(format!("file,id={name},path={path}"));
    qemu.arg("-device").arg(format!("virtserialport,chardev={name},name={name}"));
}

fn doubled(path: &Path) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = path.as_os_str().as_bytes().iter();
    let twice = bytes.flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b',')));
    std::ffi::OsString::from_vec(twice.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_went_off_says_why() {
        let panic = "[ 1] Kernel panic - not syncing: out of luck\n";
        assert_eq!(why(panic, "x"), "the kernel panicked: out of luck");
        assert_eq!(why(&format!("{panic}zc-guest: it lacks 9p\n"), ""), "it lacks 9p");
        assert_eq!(why("", "qemu: no such option\nx\n"), "QEMU ended: qemu: no such option");
        assert!(why("", "").contains("said nothing"));
        assert!(why("[ 1] Linux", " \n").contains("before its job"));
    }

    #[test]
    fn the_end_of_what_is_printed_is_kept_and_all_of_it_echoed() {
        let text = "0123456789".repeat(10_000);
        let mut echo = Vec::new();
        let kept = tail(Some(&mut text.as_bytes()), Some(&mut echo));
        assert_eq!(echo, text.as_bytes());
        assert!(text.ends_with(&kept) && kept.len() >= KEPT && kept.len() <= 2 * KEPT);
    }

    #[test]
    fn a_comma_in_a_folder_s_name_is_not_the_end_of_an_option() {
        assert_eq!(doubled(Path::new("/a,b,")), "/a,,b,,");
    }
}
