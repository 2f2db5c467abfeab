//! What a guest is booted on: QEMU with the CPU's own virtualization (KVM), or with an emulated CPU,
//! which shows whether a kernel works and never what it costs.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use zc_kernel::sched;
use zc_run::{Error, Result, in_words};

use crate::initrd::LIBRARIES;
use crate::wire::WireEnd;

/// Names of QEMU: that of most distributions, and that of Red Hat's, which is on no PATH.
const QEMU: [&str; 2] = ["qemu-system-x86_64", "/usr/libexec/qemu-kvm"];

/// The guest's memory, in MiB: the files that are sent, and room for an overlay in memory.
const MEMORY_MIB: u64 = 2048;
/// What QEMU needs besides.
const OWN_MIB: u64 = 256;

/// CPUs of a guest: a sender's and a receiver's.
const CPUS: usize = 2;

/// What a guest's CPUs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accelerator {
    /// The host's, by KVM.
    Kvm,
    /// Emulated: nothing has a cost.
    Emulated {
        /// Why there is no KVM, as a part of a sentence.
        why: String,
    },
}

/// QEMU, and the machine that it makes.
#[derive(Debug, Clone)]
pub struct Machine {
    qemu: PathBuf,
    /// What its CPUs are.
    pub accelerator: Accelerator,
    /// CPUs of a guest.
    pub cpus: usize,
    /// Memory of a guest, in MiB.
    pub memory_mib: u64,
    /// Further words of the kernel's command line.
    pub append: String,
    /// A wire to another guest.
    pub wire: Option<WireEnd>,
    /// The host's CPUs that those of the guest are bound to.
    pub(crate) bound_to: Vec<usize>,
}

impl Machine {
    /// The machine that this host can make.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no QEMU, or this is no x86-64.
    pub fn find() -> Result<Self> {
        let own = rustix::system::uname().machine().to_string_lossy().into_owned();
        if own != "x86_64" {
            let message = format!("this machine is {own}, and guests are of x86-64 alone");
            return Err(Error::unsupported("guests-of-x86-only", message)
                .help("compare two kernels on a machine of x86-64"));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        // A whole path stays what it is.
        let folders = || env::split_paths(&path).chain([PathBuf::from("/")]);
        let mut places =
            QEMU.iter().flat_map(|name| folders().map(move |folder| folder.join(name)));
        let qemu = places.find(|file| file.is_file()).ok_or_else(no_qemu)?;
        let accelerator = match without_kvm() {
            None => Accelerator::Kvm,
            Some(why) => Accelerator::Emulated { why },
        };
        Ok(Self {
            qemu,
            accelerator,
            cpus: CPUS,
            memory_mib: MEMORY_MIB,
            append: String::new(),
            wire: None,
            bound_to: bound_to(&sched::allowed_cpus().unwrap_or_default(), Path::new("/")),
        })
    }

    /// Whether its CPUs are emulated.
    pub fn is_emulated(&self) -> bool {
        self.accelerator != Accelerator::Kvm
    }

    /// The machine of a second guest at the same time, on further CPUs of the host.
    pub(crate) fn beside(&self) -> Self {
        let bound_to = self.bound_to.get(self.cpus..).unwrap_or_default().to_vec();
        Self { bound_to, ..self.clone() }
    }

    /// Checks that there is memory for a guest.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is not.
    pub fn check_memory(&self) -> Result<()> {
        self.check_memory_of("a guest needs", 1)
    }

    /// Checks that there is memory for two guests at the same time, and that each has CPUs of its
    /// own where there is KVM: if they share them, one's work is in the other's costs.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is not, or they have not.
    pub fn check_pair(&self) -> Result<()> {
        let (needed, here) = (2 * self.cpus, self.bound_to.len());
        if !self.is_emulated() && here < needed {
            let message = format!("two guests need {needed} CPUs, and zc may use {here} here");
            return Err(Error::unsupported("too-few-cpus", message)
                .help("a machine with more, or --link veth, which is within one guest"));
        }
        self.check_memory_of("two guests need", 2)
    }

    fn check_memory_of(&self, who: &str, guests: u64) -> Result<()> {
        let needed = guests * (self.memory_mib + OWN_MIB);
        match available_mib(&fs::read_to_string("/proc/meminfo").unwrap_or_default()) {
            Some(available) if available < needed => {
                let message =
                    format!("{who} {needed} MiB of memory, and {available} are available");
                Err(Error::unsupported("too-little-memory", message)
                    .help("end what takes the memory, or use a machine with more"))
            }
            _ => Ok(()),
        }
    }

    /// The command line of QEMU but for the files and the wire of a guest.
    pub(crate) fn command(&self, kernel: &Path) -> Command {
        let mut qemu = Command::new(&self.qemu);
        qemu.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
        // "CPU 0/KVM" is a thread's name then.
        qemu.args(["-name", "zc,debug-threads=on"]);
        let mut append = match self.accelerator {
            Accelerator::Kvm => {
                qemu.args(["-accel", "kvm", "-cpu", "host"]);
                String::from("console=ttyS0")
            }
            Accelerator::Emulated { .. } => {
                qemu.args(["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]);
                String::from("console=ttyS0 tsc=reliable mitigations=off")
            }
        };
        qemu.args(["-smp", &self.cpus.to_string(), "-m", &self.memory_mib.to_string()]);
        // A panic ends the guest (-1: at once), and so does what would leave it half alive.
        append.push_str(" panic=-1 oops=panic quiet");
        if !self.append.is_empty() {
            append.push(' ');
            append.push_str(&self.append);
        }
        // What the kernel does not know is the first process's: variables, and words after "--"
        // (Documentation/admin-guide/kernel-parameters.rst).
        append.push_str(&format!(" LD_LIBRARY_PATH=/{LIBRARIES} -- {}", crate::inside::WORDS));
        qemu.arg("-kernel").arg(kernel).args(["-append", &append]);
        qemu.args(["-device", "virtio-serial-pci"]);
        qemu
    }
}

fn no_qemu() -> Error {
    Error::unsupported("no-qemu", "there is no \"qemu-system-x86_64\" here, which boots kernels")
        .help("apt-get install qemu-system-x86, or dnf install qemu-kvm")
}

/// Why the CPU's virtualization cannot be used; `None`: it can.
fn without_kvm() -> Option<String> {
    let device = File::options().read(true).write(true).open("/dev/kvm");
    if let Err(error) = device {
        return Some(format!("/dev/kvm cannot be opened: {}", in_words(&error)));
    }
    // KVM without the CPU's virtualization runs kernels alone that are made for it (pvm).
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    (!has_virtualization(&flags)).then(|| {
        "/proc/cpuinfo has neither vmx nor svm, so kernels run on KVM that are made for it"
            .to_owned()
    })
}

fn has_virtualization(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| ["vmx", "svm"].contains(&flag)))
}

fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? / 1024)
}

/// The CPUs that those of a guest are bound to: the last ones, one of each core as far as that goes,
/// as interrupts of devices go to the first ones.
fn bound_to(allowed: &[usize], root: &Path) -> Vec<usize> {
    let siblings = |cpu: usize| {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(root.join(path)).unwrap_or_else(|_| cpu.to_string())
    };
    let (mut cores, mut chosen, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for cpu in allowed.iter().rev().copied() {
        let core = siblings(cpu);
        if cores.contains(&core) {
            others.push(cpu);
        } else {
            cores.push(core);
            chosen.push(cpu);
        }
    }
    chosen.extend(others);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_a_guest_are_on_cores_of_their_own_where_there_are_enough() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("thread_siblings_list"), siblings).unwrap();
        }
        assert_eq!(bound_to(&[0, 1, 2, 3], root.path()), [3, 2, 1, 0]);
        assert_eq!(bound_to(&[1, 3], root.path()), [3, 1]);
        assert_eq!(bound_to(&[4, 7], root.path()), [7, 4], "without a topology");
    }

    #[test]
    fn virtualization_and_memory_are_read_from_proc() {
        assert!(has_virtualization("processor: 0\nflags\t\t: fpu svm sse\n"));
        assert!(!has_virtualization("flags : fpu sse vmx_not\n"));
        assert_eq!(available_mib("MemTotal: 9 kB\nMemAvailable:   4096000 kB\n"), Some(4000));
        assert_eq!(available_mib(""), None);
    }

    #[test]
    fn a_second_guest_has_cpus_of_its_own_or_is_refused() {
        let machine = |accelerator: &Accelerator, cpus: &[usize]| Machine {
            qemu: "qemu".into(),
            accelerator: accelerator.clone(),
            cpus: 2,
            memory_mib: 0,
            append: String::new(),
            wire: None,
            bound_to: cpus.to_vec(),
        };
        let emulated = Accelerator::Emulated { why: String::new() };
        let four = machine(&Accelerator::Kvm, &[7, 6, 5, 4]);
        assert_eq!(four.beside().bound_to, [5, 4]);
        let few = machine(&Accelerator::Kvm, &[7, 6, 5]);
        assert_eq!(few.check_pair().unwrap_err().id, "too-few-cpus");
        for enough in [four, machine(&emulated, &[1])] {
            let is_refused = |error: &Error| error.id == "too-few-cpus";
            assert!(!enough.check_pair().is_err_and(|error| is_refused(&error)), "{enough:?}");
        }
    }

    #[test]
    fn the_command_line_of_the_kernel_ends_in_the_words_of_the_first_process() {
        let machine = Machine {
            qemu: "qemu".into(),
            accelerator: Accelerator::Emulated { why: String::new() },
            cpus: 2,
            memory_mib: 64,
            append: "psi=1".to_owned(),
            wire: None,
            bound_to: Vec::new(),
        };
        let command = machine.command(Path::new("bzImage"));
        let words: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        let at = words.iter().position(|word| *word == "-append").unwrap();
        let line = words[at + 1];
        assert!(
            line.contains(" panic=-1 oops=panic quiet psi=1 LD_LIBRARY_PATH=/lib -- "),
            "{line}"
        );
        assert!(line.ends_with(crate::inside::WORDS), "{line}");
    }
}
