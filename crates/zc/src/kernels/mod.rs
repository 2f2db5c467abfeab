//! `zc run --kernel A=... --kernel B=...`: two kernels, each booted in turn, in rounds of random
//! order: in guests, or on a machine that ssh leads to. Each boot is a session of `zc run`, whose
//! file stays; what all of them say of the two kernels is printed
//! ([`zc_analysis::compare::kernels`]).

mod build;
mod conduct;
mod machine;
mod result;
mod rounds;
mod wire;
mod words;

pub(crate) use conduct::{Guests, Made, Plan, one as boot_once};
pub(crate) use rounds::{has_time, orders};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::conduct::{Conducted, Place};
use self::machine::Host;
use self::result::Answer;
use self::words::There;
use super::folder::Folder;
use super::format::FormatArgs;
use super::kernel_args::{BOOT_NS, EMULATED_BOOT_NS, KernelArgs, Named};
use super::remote::{RemoteArgs, Towards};
use super::run_args::RunArgs;
use super::{interrupt, tell};
use zc_fleet::plan::drawn_seed;
use zc_guest::{Accelerator, Kernel, Machine};
use zc_kernel::stop::Stop;
use zc_rig::privileges;
use zc_run::{Error, ErrorKind, Result, in_words};

/// How long it takes if nobody says: rounds in which a change of 3 % is found in four of five cases
/// (docs/kernels.md).
const BUDGET: Duration = Duration::from_secs(20 * 60);

/// Rounds on an emulated machine, where more of them say nothing more.
const EMULATED_ROUNDS: usize = 2;

/// Compares two kernels under the line of an experiment, in guests or on the machine that is named.
/// `check` checks the options of the run itself, and returns whether its link is a wire between two
/// guests. Returns the exit code.
///
/// # Errors
/// - [`ErrorKind::Usage`]: an option is not valid, or of no use there; the machine is this one.
/// - [`ErrorKind::Input`]: a kernel cannot be booted as it is.
/// - [`ErrorKind::Unsupported`]: there is no QEMU, no memory, or this is no x86-64; there are too
///   few CPUs for two guests; or the machine cannot boot kernels that way.
/// - [`ErrorKind::Output`]: the folder of the runs cannot be made.
/// - [`ErrorKind::Failed`]: a tree cannot be built.
/// - [`ErrorKind::Remote`]: the machine does not answer, or not any more, or is not left as it was.
/// - [`ErrorKind::NothingKept`]: no boot of a kernel was measured; what was seen has been printed.
/// - [`ErrorKind::Interrupted`]: Ctrl-C; what there is has been printed.
pub(super) fn run(
    line: &RunArgs,
    args: &KernelArgs,
    remote: &RemoteArgs,
    check: impl FnOnce() -> Result<bool>,
) -> Result<u8> {
    let typed: Vec<OsString> = std::env::args_os().skip(1).collect();
    let reached = remote.machine()?;
    let there = if reached.is_some() { There::Machine } else { There::Guest };
    let mut words = words::of_run(&typed, there)?;
    let wire = check()?;
    if wire && there == There::Machine {
        let message = "--link: \"wire\" is between two guests, and --remote boots none";
        return Err(Error::usage("wire-without-guests", message).help("leave one of them out"));
    }
    if wire {
        words = words::on_a_wire(words, wire::way())?;
    }
    let named = args.two()?;
    let Some(measuring) = line.measuring() else { return Ok(0) };
    let out = measuring.out.clone().unwrap_or_else(default_folder);
    check_folder(&out)?;
    let stop = interrupt::flag()?;
    let budget = typed_budget(&typed, measuring.length.budget)
        .or_else(|| args.boots.is_none().then_some(BUDGET));
    let plan = Plan {
        names: named.each_ref().map(|kernel| kernel.name.clone()),
        words,
        seed: seed(line).unwrap_or_else(drawn_seed),
        rounds: args.boots.map_or(usize::MAX, |boots| boots as usize),
        budget,
        boot_budget_ns: args.boot_budget.unwrap_or(BOOT_NS),
        out: &out,
    };
    match reached {
        None => in_guests(plan, wire, &named, args, measuring.format, &stop),
        Some((command, carry)) => {
            privileges::keep_for(Towards::by_command().work)?;
            let mut host = Host::look(&command, carry, &named, args, &stop)?;
            make_folder(&out)?;
            let done = conduct::conduct(&plan, &mut host, &stop).and_then(|conducted| {
                finish(&plan, &host, conducted, None, args, measuring.format)
            });
            // However that ended.
            match (done, host.leave(&stop)) {
                (Ok(code), left) => left.map(|()| code),
                (Err(error), Ok(())) => Err(error),
                (Err(error), Err(left)) => {
                    tell::warning(&left.message, left.help.as_deref());
                    Err(error)
                }
            }
        }
    }
}

/// Compares two kernels of this host in guests.
fn in_guests(
    plan: Plan<'_>,
    wire: bool,
    named: &[Named; 2],
    args: &KernelArgs,
    format: FormatArgs,
    stop: &Stop,
) -> Result<u8> {
    let machine = Machine::find()?;
    if wire {
        machine.check_pair()?
    } else {
        machine.check_memory()?
    }
    if let Some(command) = &args.build {
        for kernel in named {
            build::build(command, &kernel.place)?;
        }
    }
    let is_packed = named.iter().any(|kernel| zc_guest::is_package(&kernel.place));
    let unpacked = is_packed.then(|| Folder::named("zc-kernels-")).transpose()?;
    let kernels = [found(&named[0], unpacked.as_ref())?, found(&named[1], unpacked.as_ref())?];
    let config = configs(&kernels);
    let is_emulated = machine.is_emulated();
    let plan = Plan {
        rounds: match (args.boots, is_emulated) {
            (None, true) => EMULATED_ROUNDS,
            _ => plan.rounds,
        },
        boot_budget_ns: match (args.boot_budget, is_emulated) {
            (None, true) => EMULATED_BOOT_NS,
            _ => plan.boot_budget_ns,
        },
        ..plan
    };
    if let Accelerator::Emulated { why } = &machine.accelerator {
        tell::note(&format!(
            "the kernels are emulated, as {why}: this shows whether they work, and no cost"
        ));
    }
    make_folder(plan.out)?;
    let mut place = Guests { kernels: &kernels, machine: &machine, wire };
    let conducted = conduct::conduct(&plan, &mut place, stop)?;
    drop(unpacked);
    finish(&plan, &place, conducted, config, args, format)
}

/// Prints what was measured, says how it ended, and returns the exit code.
///
/// # Errors
/// It did not end well, or nothing can be printed.
fn finish(
    plan: &Plan<'_>,
    place: &dyn Place,
    conducted: Conducted,
    config: Option<Vec<zc_guest::ConfigDifference>>,
    args: &KernelArgs,
    format: FormatArgs,
) -> Result<u8> {
    let Conducted { boots, interrupted, error } = conducted;
    let is_cut = interrupted || error.is_some();
    let answer = result::Asked { plan, place, boots, interrupted: is_cut, config, args, format };
    let printed = result::print(answer);
    if let Some(error) = error {
        if let Err(other) = printed {
            tell::error(&other);
        }
        return Err(error);
    }
    let printed = printed?;
    if interrupted {
        return Err(Error::interrupted("interrupted; what was measured by then has been printed"));
    }
    match printed {
        Answer::Code(code) => Ok(code),
        Answer::NotMeasured(name) => {
            let message = format!("no boot of the kernel \"{name}\" was measured");
            Err(Error::new(ErrorKind::NothingKept, "kernel-not-measured", message)
                .help("the table says why each of them was dropped"))
        }
    }
}

/// The budget, if one was typed: some experiments have one of their own.
fn typed_budget(typed: &[OsString], budget_ns: Option<u64>) -> Option<Duration> {
    let is_typed = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "--budget" || word.starts_with("--budget=")
    };
    budget_ns.filter(|_| typed.iter().any(is_typed)).map(Duration::from_nanos)
}

/// The seed that was typed.
fn seed(line: &RunArgs) -> Option<u64> {
    line.block().and_then(|block| block.seed.number)
}

/// The kernel that a user named, unpacked into a folder where it is a package.
fn found(named: &Named, unpacked: Option<&Folder>) -> Result<Kernel> {
    let Named { name, place } = named;
    let Some(folder) = unpacked.filter(|_| zc_guest::is_package(place)) else {
        return Kernel::find(place);
    };
    let into = folder.make(name)?;
    zc_guest::unpack(place, &into)?;
    Ok(Kernel { given: place.clone(), ..Kernel::find(&into)? })
}

/// How the configurations differ; `None` where one of them was not found.
fn configs(kernels: &[Kernel; 2]) -> Option<Vec<zc_guest::ConfigDifference>> {
    let text = |kernel: &Kernel| std::fs::read_to_string(kernel.config.as_ref()?).ok();
    Some(zc_guest::differences(&text(&kernels[0])?, &text(&kernels[1])?))
}

/// `zc-kernels-2026-11-28T20-25-00`.
fn default_folder() -> PathBuf {
    jiff::Zoned::now().strftime("zc-kernels-%Y-%m-%dT%H-%M-%S").to_string().into()
}

/// Checks that the folder is yet to be made, or empty.
fn check_folder(out: &Path) -> Result<()> {
    let name = tell::path(out);
    if out.as_os_str().is_empty() || out == Path::new("-") {
        let message = "--out: two kernels have a folder of runs, and not a file";
        return Err(Error::usage("file-name-empty", message).help("--out FOLDER"));
    }
    match out.read_dir().map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(false) => {
            let message =
                format!("the folder \"{name}\" is not empty, and zc does not write over anything");
            Err(Error::output("file-exists", message).help("choose another name with --out"))
        }
        Err(error) => {
            let message = format!("cannot save runs in \"{name}\": {}", in_words(&error));
            Err(Error::output("cannot-save-run", message).help("choose another folder with --out"))
        }
    }
}

fn make_folder(out: &Path) -> Result<()> {
    std::fs::create_dir_all(out).map_err(|error| {
        let message =
            format!("cannot make the folder \"{}\": {}", tell::path(out), in_words(&error));
        Error::output("cannot-save-run", message).help("choose another folder with --out")
    })
}
