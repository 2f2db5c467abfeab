//! What boot.sh says on a machine.

use super::kernel::{HostKernel, How, Seen};
use zc_run::{Error, Result, escape};

/// Its lines, taken together.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// It did nothing, as it runs on the client's own machine.
    pub(super) is_refused: bool,
    pub(super) seen: Option<Seen>,
    pub(super) name: Option<String>,
    user: Option<String>,
    has_kexec: bool,
    /// kernel.kexec_load_disabled is set.
    is_locked: bool,
    /// The two kernels that were named, and the one that runs.
    pub(super) kernels: [HostKernel; 3],
    /// The file is no kernel whose release is known.
    is_unknown: [bool; 3],
    /// It was told to go, and that failed.
    pub(super) goes: bool,
    pub(super) failed: bool,
}

impl Said {
    /// Takes the lines, of which some may be others'.
    pub(super) fn of(lines: &[String]) -> Self {
        let mut said = Self::default();
        for line in lines.iter().filter_map(|line| line.strip_prefix("zc-boot: ")) {
            said.take(line);
        }
        said
    }

    fn take(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (number, what) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = || Some(what.to_owned()).filter(|text| !text.is_empty());
        let place = number.parse::<usize>().ok().filter(|place| *place < self.kernels.len());
        match (word, place) {
            ("same", _) => self.is_refused = true,
            ("is", _) => {
                let (release, version) = what.split_once(' ').unwrap_or((what, ""));
                self.seen = Some(Seen {
                    boot_id: number.to_owned(),
                    release: release.to_owned(),
                    version: version.to_owned(),
                });
            }
            ("name", _) => self.name = Some(rest.to_owned()),
            ("user", _) => self.user = Some(rest.to_owned()),
            ("kexec", _) => self.has_kexec = true,
            ("locked", _) => self.is_locked = true,
            ("going", _) => self.goes = true,
            ("failed", _) => self.failed = true,
            ("image", Some(place)) => self.kernels[place].image = text(),
            ("release", Some(place)) => self.kernels[place].release = what.to_owned(),
            ("version", Some(place)) => self.kernels[place].version = text(),
            ("initrd", Some(place)) => self.kernels[place].initrd = text(),
            ("entry", Some(place)) => self.kernels[place].entry = text(),
            ("modules", Some(place)) => self.kernels[place].modules = true,
            ("unknown", Some(place)) => self.is_unknown[place] = true,
            _ => {}
        }
    }

    /// Checks that kernels can be booted that way there.
    ///
    /// # Errors
    /// They cannot.
    pub(super) fn check(&self, name: &str, how: &How) -> Result<()> {
        let name = escape(name, 100);
        if self.user.as_deref() != Some("0") {
            let message =
                format!("the user at \"{name}\" is not root, and only root boots kernels");
            return Err(Error::unsupported("machine-not-root", message)
                .help("--remote root@HOST; or --via 'ssh HOST sudo -n'"));
        }
        match how {
            How::Kexec if !self.has_kexec => {
                let message = format!("there is no \"kexec\" at \"{name}\", which boots kernels");
                Err(Error::unsupported("no-kexec", message).help(
                    "apt-get install kexec-tools there, or --boot reboot, or --boot 'COMMAND'",
                ))
            }
            How::Kexec if self.is_locked => {
                let message = format!("kernel.kexec_load_disabled is 1 at \"{name}\"");
                Err(Error::unsupported("kexec-disabled", message)
                    .help("it stays so until the machine is rebooted; or --boot reboot"))
            }
            How::Kexec | How::Reboot | How::Command(_) => Ok(()),
        }
    }

    /// One of the two kernels.
    ///
    /// # Errors
    /// It is missing, or cannot be booted that way.
    pub(super) fn kernel(
        &self,
        place: usize,
        given: &str,
        name: &str,
        how: &How,
    ) -> Result<HostKernel> {
        let (name, shown) = (escape(name, 100), escape(given, 300));
        let kernel = HostKernel { given: given.to_owned(), ..self.kernels[place].clone() };
        // What a command boots may come from elsewhere, as long as its release is known.
        let may_be_elsewhere = matches!(how, How::Command(_)) && !kernel.release.is_empty();
        if self.is_unknown[place] {
            let message =
                format!("neither \"{shown}\" at \"{name}\" nor its name says which release it is");
            return Err(Error::input("kernel-without-release", message)
                .help("a bzImage says so, and vmlinuz-RELEASE does by its name"));
        }
        if kernel.image.is_none() && !may_be_elsewhere {
            let message = format!("there is no kernel \"{shown}\" at \"{name}\"");
            return Err(Error::input("no-such-kernel-there", message).help(
                "ls /boot there: a file by its whole name, or the release of an installed kernel",
            ));
        }
        if *how == How::Reboot && kernel.entry.is_none() {
            let release = escape(&kernel.release, 100);
            let message = format!("the menu of GRUB at \"{name}\" has no entry of Linux {release}");
            return Err(Error::unsupported("no-boot-entry", message).help(
                "update-grub there; another boot loader is told by --boot 'COMMAND', with {kernel} \
                 in it",
            ));
        }
        Ok(kernel)
    }
}
