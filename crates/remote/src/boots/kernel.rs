//! A kernel on another machine, how it is booted there, and what is seen of a boot.

use zc_run::escape;

/// How kernels are booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By kexec, with the command line of the kernel that runs.
    Kexec,
    /// By a reboot, after the entry of GRUB's menu has been chosen for once.
    Reboot,
    /// By a command on this machine, in which `{kernel}` stands for the kernel as it was named.
    Command(String),
}

/// A boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`: builder's number and date.
    pub version: String,
}

/// A kernel on the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostKernel {
    /// What was named.
    pub given: String,
    /// What `uname -r` will be.
    pub release: String,
    /// Its whole version: release, builder, number and date; `None` where its file does not say.
    pub version: Option<String>,
    /// Whether its modules are there.
    pub modules: bool,
    /// Its file.
    pub image: Option<String>,
    pub(super) initrd: Option<String>,
    /// Its entry in GRUB's menu.
    pub(super) entry: Option<String>,
}

impl HostKernel {
    /// Why another kernel was seen than this one; `None`: it is this one, as far as that is known.
    pub(super) fn unlike(&self, seen: &Seen) -> Option<String> {
        if seen.release != self.release {
            return Some(format!(
                "the machine came back with Linux {}, and Linux {} was to be booted",
                escape(&seen.release, 100),
                escape(&self.release, 100)
            ));
        }
        // Release, builder in brackets, and what uname -v prints.
        let (_, build) = self.version.as_ref()?.split_once(") ")?;
        (build != seen.version).then(|| {
            format!(
                "the machine came back with another build of Linux {}: \"{}\", and \"{}\" was to \
                 be booted",
                escape(&self.release, 100),
                escape(&seen.version, 100),
                escape(build, 100)
            )
        })
    }
}
