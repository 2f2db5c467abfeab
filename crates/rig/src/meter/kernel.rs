//! The kernel's own counters: /proc/stat, /proc/softirqs, /proc/interrupts.
//!
//! The files stay open and are read with `pread` at offset 0, for which the kernel generates them
//! anew, into one buffer.

use std::fs::File;

use super::proc;
use crate::proc_file::whole;
use zc_kernel::clock;
use zc_run::{Error, Reading, Result, StatReading};

/// Open files of /proc, read for a set of CPUs.
#[derive(Debug)]
pub struct KernelMeters {
    cpus: Vec<usize>,
    stat: File,
    softirqs: Option<File>,
    interrupts: Option<File>,
    buffer: Vec<u8>,
}

impl KernelMeters {
    /// Opens the files that exist.
    ///
    /// # Errors
    /// /proc/stat cannot be read, or lacks one of the CPUs. Other missing files are empty in every
    /// reading.
    pub fn open(cpus: &[usize]) -> Result<Self> {
        let stat = File::open("/proc/stat").map_err(|error| {
            Error::os("open \"/proc/stat\"", error)
                .help("is /proc mounted, and not hidden by a container?")
        })?;
        let mut meters = Self {
            cpus: cpus.to_vec(),
            stat,
            softirqs: File::open("/proc/softirqs").ok(),
            interrupts: File::open("/proc/interrupts").ok(),
            buffer: vec![0; 64 << 10],
        };
        meters.read(&mut Reading::default())?;
        Ok(meters)
    }

    /// Fills `stat`, `softirqs` and `interrupts` of a reading.
    ///
    /// # Errors
    /// A file that could be read before cannot be read now, or a CPU has gone offline.
    pub fn read(&mut self, into: &mut Reading) -> Result<()> {
        into.stat = self.read_stat()?;
        let buffer = &mut self.buffer;
        if let Some(file) = &self.softirqs {
            into.softirqs = proc::softirqs(text(file, buffer, "/proc/softirqs")?, &self.cpus)
                .ok_or_else(|| offline("/proc/softirqs", &self.cpus))?;
        }
        if let Some(file) = &self.interrupts {
            into.interrupts = proc::interrupts(text(file, buffer, "/proc/interrupts")?, &self.cpus)
                .ok_or_else(|| offline("/proc/interrupts", &self.cpus))?;
        }
        Ok(())
    }

    /// Reads /proc/stat alone, which is much cheaper than reading all files.
    ///
    /// # Errors
    /// Same as [`read`](Self::read).
    pub fn read_stat(&mut self) -> Result<StatReading> {
        let at_ns = clock::monotonic_ns();
        let (cpus, context_switches, interrupts) =
            proc::stat(text(&self.stat, &mut self.buffer, "/proc/stat")?, &self.cpus)
                .ok_or_else(|| offline("/proc/stat", &self.cpus))?;
        Ok(StatReading { at_ns, cpus, context_switches, interrupts })
    }
}

fn offline(file: &str, cpus: &[usize]) -> Error {
    Error::failed("counters-unreadable", format!("\"{file}\" does not list every CPU of {cpus:?}"))
        .help("a CPU was taken offline, or does not exist; choose others with --cpus")
}

/// The whole text of a file of /proc. The buffer grows and is kept.
fn text<'a>(file: &File, buffer: &'a mut Vec<u8>, name: &str) -> Result<&'a str> {
    let bytes =
        whole(file, buffer).map_err(|error| Error::os(format!("read \"{name}\""), error))?;
    str::from_utf8(bytes)
        .map_err(|_| Error::failed("counters-unreadable", format!("\"{name}\" is not text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_meters_grow_and_have_a_place_for_each_cpu() {
        let cpus = zc_kernel::sched::allowed_cpus().unwrap();
        let mut meters = KernelMeters::open(&cpus).unwrap();
        let (mut first, mut second) = (Reading::default(), Reading::default());
        meters.read(&mut first).unwrap();
        meters.read(&mut second).unwrap();
        assert!(second.stat.at_ns > first.stat.at_ns);
        assert!(second.stat.interrupts >= first.stat.interrupts);
        assert_eq!(second.stat.cpus.len(), cpus.len());
        for (before, after) in first.interrupts.iter().zip(&second.interrupts) {
            assert!(after >= before);
        }
        for (kind, before) in first.softirqs.iter() {
            assert!(
                second.softirqs[kind].iter().zip(before).all(|(after, before)| after >= before)
            );
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        let error = KernelMeters::open(&[0, 99_999]).unwrap_err();
        assert!(error.message.contains("99999"), "{error}");
    }

    #[test]
    fn a_text_longer_than_the_buffer_is_read_whole() {
        let file = File::open("/proc/self/status").unwrap();
        let mut buffer = vec![0; 16];
        assert!(text(&file, &mut buffer, "status").unwrap().contains("nonvoluntary_ctxt_switches"));
    }
}
