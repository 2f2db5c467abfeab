//! Boots of a folder that plays a machine: its shell has the programs of that folder alone, so that
//! nothing here can be booted, and finds there what it looks for in /boot and /proc.

use std::path::Path;

use super::*;
use crate::far_host::{Host, SHELLS, SOON, installed};

/// Programs of this machine that the script takes.
const TOOLS: [&str; 10] = ["[", "awk", "cat", "cut", "dd", "head", "od", "printf", "sleep", "tr"];

/// A machine with Linux 6.1.0, which runs, 6.1.2 and 6.1.3.
struct Box(Host);

impl Box {
    fn new(shell: &str) -> Self {
        let host = Host::new();
        host.with_only(shell, &TOOLS);
        let folder = host.path("");
        let at = Path::new(&folder);
        for name in ["boot/grub", "modules/6.1.2", "systemd"] {
            std::fs::create_dir_all(at.join(name)).unwrap();
        }
        for release in ["6.1.0", "6.1.2", "6.1.3"] {
            std::fs::write(at.join(format!("boot/vmlinuz-{release}")), "").unwrap();
        }
        for (name, text) in [
            ("boot/initrd.img-6.1.2", ""),
            ("boot/built", ""),
            ("boot_id", "first\n"),
            ("locked", "0\n"),
            ("release", "6.1.0\n"),
            ("boots", ""),
            // What is of this machine lies in the folder; a file's name in it is not changed again.
            (
                "map",
                "s,/proc/sys/kernel/random/boot_id,AT/boot_id,
s,/proc/sys/kernel/kexec_load_disabled,AT/locked,
s,/run/systemd/system,AT/systemd,
s,\\(['\" ]\\)/boot,\\1AT/boot,g
s,\\(['\" ]\\)/lib/modules,\\1AT/modules,g
",
            ),
            (
                "boot/grub/grub.cfg",
                "menuentry 'Box' --class box $menuentry_id_option 'gnulinux-simple-u' {
}
submenu 'Advanced options for Box' $menuentry_id_option 'gnulinux-advanced-u' {
\tmenuentry 'Box, with Linux 6.1.2' $menuentry_id_option 'gnulinux-6.1.2-advanced-u' {
\t}
\tmenuentry 'Box (recovery mode)' $menuentry_id_option 'gnulinux-6.1.2-recovery-u' {
\t}
}
",
            ),
        ] {
            std::fs::write(at.join(name), text.replace("AT", folder.trim_end_matches('/')))
                .unwrap();
        }
        let cd = format!("cd '{folder}'");
        let uname = "case $1 in -r) cat release;; -v) echo '#1 Sat';; -n) echo box;; esac";
        // Another boot id, and the release of what was loaded.
        let boots = "echo \"$1\" >>boots; echo \"b$(tr -cd '\\n' <boots | tr '\\n' x)\" >boot_id
r=${1##*/vmlinuz-}; r=${r%% *}; echo $r >release";
        let kexec = "case $1 in -l) echo \"$*\" >loaded;; -e) boots \"$(cat loaded)\";; esac";
        let systemctl =
            "case $1 in kexec) boots \"$(cat loaded)\";; reboot) boots \"$(cat next)\";; esac";
        for (name, script) in [
            ("bin/id", "echo 0"),
            ("bin/sync", ":"),
            ("bin/reboot", "exit 1"),
            ("bin/uname", uname),
            ("bin/boots", boots),
            ("bin/kexec", kexec),
            ("bin/systemctl", systemctl),
            ("bin/grub-reboot", "echo \"$1\" >next"),
        ] {
            host.script(name, &format!("{cd}; {script}"));
        }
        Self(host)
    }

    /// The command that leads to it, unless it is down. What is started there is not of its group.
    fn command(&self) -> String {
        let at = self.0.path("");
        format!(
            "[ ! -e '{at}/down' ] || {{ echo 'Connection refused' >&2; exit 255; }}; sed -u -f \
             '{at}/map' | setsid {}",
            self.0.bare_command()
        )
    }

    fn look_by(&self, how: How, kernels: [&str; 2]) -> Result<Machine> {
        let command = self.command();
        let within = Duration::from_secs(1);
        Machine::look(Asked { command: &command, how, kernels, within }, &|| Ok(()))
    }

    fn machine(&self) -> Machine {
        self.look_by(How::Kexec, ["6.1.2", "/boot/vmlinuz-6.1.3"]).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path(name)).unwrap_or_default().trim().to_owned()
    }
}

fn wanted() -> Result<()> {
    Ok(())
}

/// The beginning of a bzImage.
fn bzimage(version: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
    image
}

#[test]
fn every_shell_finds_kernels_by_their_names_and_by_their_headers() {
    for shell in SHELLS {
        let Some(shell) = installed(shell) else { continue };
        let host = Box::new(&shell);
        std::fs::write(host.0.path("boot/my image"), bzimage("6.1.2-x (a@b) #1 SMP Sat")).unwrap();
        let machine = host.look_by(How::Kexec, ["6.1.2", "/boot/my image"]).unwrap();
        let [old, new] = machine.kernels();
        assert_eq!((old.release.as_str(), old.modules), ("6.1.2", true), "{shell}");
        assert_eq!(old.initrd, Some(host.0.path("boot/initrd.img-6.1.2")), "{shell}");
        assert_eq!(old.entry.as_deref(), Some("gnulinux-advanced-u>gnulinux-6.1.2-advanced-u"));
        assert_eq!((new.release.as_str(), new.modules), ("6.1.2-x", false), "{shell}");
        assert_eq!(new.version.as_deref(), Some("6.1.2-x (a@b) #1 SMP Sat"), "{shell}");
        assert_eq!((new.initrd.as_ref(), new.entry.as_ref()), (None, None), "{shell}");
        assert_eq!((machine.name(), machine.first_release()), ("box", "6.1.0"), "{shell}");
        assert_eq!(host.read("boots"), "", "nothing is booted");
    }
}

#[test]
fn this_very_machine_is_never_booted() {
    let host = Box::new("/bin/sh");
    host.write("boot_id", &boot_id().unwrap());
    let error = host.look_by(How::Kexec, ["6.1.2", "6.1.3"]).unwrap_err();
    assert_eq!(error.id, "boots-this-machine");
    // Nor when the command leads there later.
    host.write("boot_id", "first\n");
    let mut machine = host.machine();
    host.write("boot_id", &boot_id().unwrap());
    assert_eq!(machine.boot(0, &wanted).unwrap_err().id, "boots-this-machine");
    machine.how = How::Reboot;
    assert_eq!(machine.go(&machine.kernels[0], &wanted).unwrap_err().id, "boots-this-machine");
    assert_eq!((host.read("loaded"), host.read("boots")), (String::new(), String::new()));
}

#[test]
fn a_kernel_is_booted_by_kexec_with_the_command_line_that_runs() {
    let host = Box::new("/bin/sh");
    let mut machine = host.machine();
    assert_eq!(machine.boot(0, &wanted).unwrap(), Booted::Up);
    let (image, initrd) = (host.0.path("boot/vmlinuz-6.1.2"), host.0.path("boot/initrd.img-6.1.2"));
    assert_eq!(host.read("loaded"), format!("-l {image} --initrd={initrd} --reuse-cmdline"));
    // Without systemd.
    std::fs::remove_dir(host.0.path("systemd")).unwrap();
    machine.within = SOON;
    assert_eq!(machine.boot(1, &wanted).unwrap(), Booted::Up);
    assert_eq!((machine.release(), machine.is_as_at_first()), ("6.1.3", false));
    machine.leave(&wanted).unwrap();
    assert_eq!((machine.release(), machine.is_as_at_first()), ("6.1.0", true));
    let boots = host.read("boots").lines().count();
    machine.leave(&wanted).unwrap();
    assert_eq!((boots, host.read("boots").lines().count()), (3, 3), "it is there already");
}

#[test]
fn what_does_not_come_back_as_it_should_is_dropped_with_its_cause() {
    let host = Box::new("/bin/sh");
    // The stand-in says that it is the first build.
    std::fs::write(host.0.path("boot/vmlinuz-6.1.2"), bzimage("6.1.2 (a@b) #2 Sun")).unwrap();
    let mut machine = host.machine();
    let mut dropped = |why: &str| match machine.boot(0, &wanted).unwrap() {
        Booted::Dropped(said) => assert!(said.contains(why), "{said}"),
        Booted::Up => panic!("{why}"),
    };
    dropped("another build of Linux 6.1.2: \"#1 Sat\", and \"#2 Sun\"");
    let boots = host.read("bin/boots");
    host.0.script("bin/boots", &boots.replace("echo $r", "echo 5.10"));
    dropped("came back with Linux 5.10, and Linux 6.1.2");
    host.0.script("bin/boots", "exit 0");
    dropped("still runs the kernel before (Linux 5.10)");
    host.0.script("bin/boots", &format!(": >'{}'", host.0.path("down")));
    dropped("not back after 1 s: Connection refused");
    // It is waited for once more, and then given up.
    assert_eq!(machine.boot(0, &wanted).unwrap_err().id, "machine-gone");
    assert_eq!(machine.leave(&wanted).unwrap_err().id, "machine-gone");
    std::fs::remove_file(host.0.path("down")).unwrap();
    host.0.script("bin/kexec", "echo 'kexec_load failed: Operation not permitted' >&2; exit 1");
    let error = machine.boot(0, &wanted).unwrap_err();
    assert_eq!(error.id, "boot-refused");
    assert!(error.message.contains("Operation not permitted"), "{error}");
}

#[test]
fn a_boot_loader_and_a_command_are_told_which_kernel() {
    let host = Box::new("/bin/sh");
    assert_eq!(
        host.look_by(How::Reboot, ["6.1.2", "6.1.3"]).unwrap_err().id,
        "no-boot-entry",
        "6.1.3 is not in the menu"
    );
    let mut machine = host.look_by(How::Reboot, ["6.1.2", "6.1.2"]).unwrap();
    let booted = machine.boot(0, &wanted).unwrap();
    assert!(matches!(booted, Booted::Dropped(_)), "the stand-in knows no entries");
    assert_eq!(host.read("next"), "gnulinux-advanced-u>gnulinux-6.1.2-advanced-u");

    // A kernel that comes from elsewhere, on a machine that is switched on by its own.
    let go = format!("PATH='{}' boots {{kernel}}; exit 255", host.0.path("bin"));
    host.write("release", "6.1.0\n");
    let mut machine = host.look_by(How::Command(go), ["6.7.0", "6.1.3"]).unwrap();
    assert_eq!(machine.boot(0, &wanted).unwrap(), Booted::Up);
    assert_eq!((host.read("release"), machine.release()), ("6.7.0".to_owned(), "6.7.0"));
    machine.leave(&wanted).unwrap();
    assert_eq!(host.read("release"), "6.1.0");
    machine.how = How::Command("echo 'no such host' >&2; exit 3".to_owned());
    let error = machine.boot(0, &wanted).unwrap_err();
    assert!(error.id == "boot-refused" && error.message.contains("no such host"), "{error}");
}

#[test]
fn a_machine_that_cannot_boot_kernels_is_refused_with_its_cause() {
    let id = |host: &Box, kernels| host.look_by(How::Kexec, kernels).unwrap_err().id;
    let both = ["6.1.2", "6.1.3"];
    let host = Box::new("/bin/sh");
    for (kernels, wrong) in [
        (["6.1.9", "6.1.3"], "no-such-kernel-there"),
        (["6.1.2", "/boot/none"], "no-such-kernel-there"),
        (["6.1.2", "/boot/built"], "kernel-without-release"),
        (["6.1.2", "arch/x86/boot/bzImage"], "invalid-kernel"),
        (["6.1.2", "-x"], "invalid-kernel"),
    ] {
        assert_eq!(id(&host, kernels), wrong, "{kernels:?}");
    }
    host.write("locked", "1\n");
    assert_eq!(id(&host, both), "kexec-disabled");
    std::fs::remove_file(host.0.path("bin/kexec")).unwrap();
    assert_eq!(id(&host, both), "no-kexec");
    host.0.script("bin/id", "echo 1000");
    assert_eq!(id(&host, both), "machine-not-root");
    host.write("down", "");
    assert_eq!(id(&host, both), "machine-unreachable");
    assert_eq!(host.read("boots"), "");
}
