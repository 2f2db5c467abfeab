//! The options of a comparison of two kernels.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, Args, Command, ValueHint};

use super::known::{count, duration, typed};
use super::option_groups::S;
use zc_remote::boots::{How, PLACEHOLDER};
use zc_run::{Error, Result, escape, units};

/// More rounds than fit into any budget.
const MOST_BOOTS: u64 = 10_000;

/// The time for the run in each boot, and that on an emulated machine: what is prepared takes some
/// seconds of it, and there most of a minute.
pub(super) const BOOT_NS: u64 = 15 * S;
pub(super) const EMULATED_BOOT_NS: u64 = 60 * S;

/// How long another machine may be away while it boots: servers test their memory for minutes.
pub(super) const BOOT_WAIT_NS: u64 = 600 * S;

/// The longest name of a kernel.
const LONGEST_NAME: usize = 24;

/// Two kernels, and how often they are booted.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Two kernels")]
pub(super) struct KernelArgs {
    /// A kernel under a name: a bzImage, a source tree, a folder or a package of Debian; given
    /// twice, each is booted in guests in turn, and compared
    #[arg(long = "kernel", value_name = "NAME=KERNEL", value_hint = ValueHint::AnyPath)]
    pub(super) kernels: Vec<OsString>,
    /// Boots of each kernel [default: what --budget has room for, 20min; emulated 2]
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "kernels",
          value_parser = count("number of boots", 1..=MOST_BOOTS))]
    pub(super) boots: Option<u64>,
    /// Time for the run in each boot [default: 15s; emulated 60s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, requires = "kernels",
          hide_short_help = true, value_parser = duration(S..=3600 * S))]
    pub(super) boot_budget: Option<u64>,
    /// A command (sh -c) that is run in both source trees before
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        requires = "kernels",
        hide_short_help = true
    )]
    pub(super) build: Option<String>,
    /// Print how the .config of the kernels differ
    #[arg(long, requires = "kernels", hide_short_help = true)]
    pub(super) config_diff: bool,
    /// Exit with 1 if any cell costs more than this above the first kernel's or cannot be measured
    /// under the second, 10 if undecided, 12 if nothing has a cost or the first differs from itself
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, requires = "kernels",
          hide_short_help = true, value_parser = typed(units::percent))]
    pub(super) fail_if_worse: Option<f64>,
    /// With --fail-if-worse: print a test for each cell in the form of kernel tests (KTAP)
    #[arg(long, requires = "fail_if_worse", hide_short_help = true,
          conflicts_with_all = ["json", "commit_message"])]
    pub(super) tap: bool,
    /// Of another machine, --remote root@HOST, whose kernels are files or releases there: how it
    /// boots them: kexec, reboot (GRUB), or a command here with {kernel} in it [default: kexec]
    #[arg(long, value_name = "HOW", requires = "kernels", hide_short_help = true,
          value_parser = typed(how))]
    pub(super) boot: Option<How>,
    /// How long that machine may be away while it boots [default: 10min]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, requires = "kernels",
          hide_short_help = true, value_parser = duration(S..=24 * 3600 * S))]
    pub(super) boot_wait: Option<u64>,
}

/// A kernel as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) place: PathBuf,
}

impl KernelArgs {
    /// Whether kernels are to be compared.
    pub(super) fn is_given(&self) -> bool {
        !self.kernels.is_empty()
    }

    /// Both kernels.
    ///
    /// # Errors
    /// They are not two, or one has no name of its own.
    pub(super) fn two(&self) -> Result<[Named; 2]> {
        let help = "two kernels, each with a name: --kernel A=old/bzImage --kernel B=new/bzImage";
        let named = self.kernels.iter().map(named).collect::<Result<Vec<Named>>>()?;
        let count = named.len();
        let [old, new] = <[Named; 2]>::try_from(named).map_err(|_| {
            Error::usage("not-two-kernels", format!("--kernel names {count}, and two are compared"))
                .help(help)
        })?;
        if old.name == new.name {
            let message = format!("--kernel: both kernels are called \"{}\"", old.name);
            return Err(Error::usage("kernels-of-one-name", message).help(help));
        }
        // Of each round there is a file of the first kernel again.
        if new.name == format!("{}-again", old.name) {
            let message = format!(
                "--kernel: files of boots of \"{}\" again would be called as those of \"{}\"",
                old.name, new.name
            );
            return Err(Error::usage("kernels-of-one-name", message).help(help));
        }
        Ok([old, new])
    }
}

/// The command line. Where kernels are compared, `--remote` and `--via` lead to the machine that
/// boots them, and links and counters are those of that machine.
pub(super) fn with(command: Command, words: &[String]) -> Command {
    let compares = |word: &String| word == "--kernel" || word.starts_with("--kernel=");
    if !words.iter().take_while(|word| *word != "--").any(compares) {
        return command;
    }
    let without_conflicts = |arg: Arg| match arg.get_id().as_str() {
        "remote" => arg.conflicts_with(Resettable::Reset).conflicts_with("via"),
        "via" | "counters" => arg.conflicts_with(Resettable::Reset),
        _ => arg,
    };
    command.mut_subcommand("run", |run| {
        run.mut_args(without_conflicts).mut_subcommands(|own| own.mut_args(without_conflicts))
    })
}

fn how(text: &str) -> Result<How> {
    match text {
        "kexec" => Ok(How::Kexec),
        "reboot" => Ok(How::Reboot),
        command if command.contains(PLACEHOLDER) => Ok(How::Command(command.to_owned())),
        other => {
            let shown = escape(other, 100);
            let message = format!(
                "\"{shown}\" is neither kexec nor reboot, nor a command with {PLACEHOLDER} in it"
            );
            Err(Error::usage("invalid-boot", message)
                .help("--boot 'ssh root@HOST boot-once {kernel}': it is run on this machine"))
        }
    }
}

fn named(text: &OsString) -> Result<Named> {
    let bytes = text.as_bytes();
    let parts =
        bytes.iter().position(|byte| *byte == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._+-".contains(byte);
    match parts {
        Some((name, place))
            if !place.is_empty()
                && (1..=LONGEST_NAME).contains(&name.len())
                && name[0].is_ascii_alphanumeric()
                && name.iter().all(is_of_name) =>
        {
            Ok(Named {
                name: String::from_utf8_lossy(name).into_owned(),
                place: std::ffi::OsStr::from_bytes(place).into(),
            })
        }
        _ => {
            let shown = escape(&text.to_string_lossy(), 60);
            Err(Error::usage("invalid-kernel", format!("--kernel: \"{shown}\" is no kernel under a name"))
                .help("a name of letters and digits, \"=\", and a file or folder: A=arch/x86/boot/bzImage"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(words: &[&str]) -> Result<[Named; 2]> {
        KernelArgs { kernels: words.iter().map(OsString::from).collect(), ..KernelArgs::default() }
            .two()
    }

    #[test]
    fn two_kernels_have_two_names() {
        let [old, new] = two(&["A=a", "6.12-rc1=/b=c d"]).unwrap();
        assert_eq!((old.name.as_str(), old.place), ("A", PathBuf::from("a")));
        assert_eq!((new.name.as_str(), new.place), ("6.12-rc1", PathBuf::from("/b=c d")));
    }

    #[test]
    fn a_machine_boots_by_kexec_by_its_boot_loader_or_by_a_command_that_names_the_kernel() {
        assert_eq!(how("kexec").unwrap(), How::Kexec);
        assert_eq!(how("reboot").unwrap(), How::Reboot);
        let command = "pxe box {kernel} && ipmitool -H box-bmc power cycle";
        assert_eq!(how(command).unwrap(), How::Command(command.to_owned()));
        for text in ["", "kexek", "ssh root@box reboot"] {
            assert_eq!(how(text).unwrap_err().id, "invalid-boot", "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_cause() {
        for (words, id) in [
            (&["A=a"][..], "not-two-kernels"),
            (&["A=a", "B=b", "C=c"], "not-two-kernels"),
            (&["A=a", "A=b"], "kernels-of-one-name"),
            (&["A=a", "A-again=b"], "kernels-of-one-name"),
            (&["a", "B=b"], "invalid-kernel"),
            (&["A=", "B=b"], "invalid-kernel"),
            (&["=a", "B=b"], "invalid-kernel"),
            (&["../x=a", "B=b"], "invalid-kernel"),
            (&["-x=a", "B=b"], "invalid-kernel"),
        ] {
            assert_eq!(two(words).unwrap_err().id, id, "{words:?}");
        }
    }
}
