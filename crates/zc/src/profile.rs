//! `zc profile`: what each path spends its CPU time on. A run of the plan `paths` with its soaked windows sampled.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::args::{FormatArgs, RunArgs, known};
use super::{planned, replace, resolve, run};
use zc_measure::plan::Spec;
use zc_run::{CopyPages, Experiment, Factor, Level, LinkKind, OffloadSwitch, RecvPath, Result, SendPath};

/// The paths that are sampled where none is named: the one that copies, the one that does not, and the one that pins.
const PATHS: [SendPath; 3] = [SendPath::ReadSend, SendPath::Sendfile, SendPath::MsgZerocopy];

/// The time that is spent where none is asked for.
const BUDGET_NS: u64 = 30_000_000_000;

/// Arguments of `zc profile`.
#[derive(Debug, Args)]
pub(super) struct ProfileArgs {
    /// Send paths, of two the one beside the other [default: read+send sendfile msg-zerocopy]
    #[arg(value_name = "PATH", value_parser = known(SendPath::ALL.iter().map(|each| each.name())),
          hide_possible_values = true)]
    paths: Vec<String>,
    /// Files whose bytes are sent [default: 63 generated files of 350 kB on average]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::FilePath, help_heading = "What is sent")]
    files: Vec<PathBuf>,
    /// Receive path, and the bytes of its buffer if not 64k [default: recv]
    #[arg(long, value_name = "NAME[:SIZE]", allow_hyphen_values = true,
          value_parser = known(RecvPath::ALL.iter().map(|each| each.name())), hide_possible_values = true,
          help_heading = "What is sent")]
    recv: Option<String>,
    /// Bytes per call of the paths that have a buffer: 64k is 65,536 [default: 64k]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "What is sent")]
    buffer: Option<String>,
    /// What vmsplice, msg-zerocopy and io_uring's zero-copy sends send from: scattered (pages of 4 KiB, wherever the kernel has them)
    /// or huge [default: scattered]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true,
          value_parser = known(CopyPages::ALL.iter().map(|each| each.name())), hide_possible_values = true,
          hide_short_help = true, help_heading = "What is sent")]
    pages: Option<String>,
    /// Rate at which cost is measured: 400MB/s, 10Gbit/s, or auto for one that every path can hold [default: auto]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "What is sent")]
    rate: Option<String>,
    /// Where the bytes travel; auto takes null if this user can have it, else veth, else loopback [default: auto]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true,
          value_parser = known(["auto", LinkKind::Loopback.name(), LinkKind::Veth.name(), LinkKind::Null.name()].into_iter()),
          hide_possible_values = true, help_heading = "Where it is sent")]
    link: Option<String>,
    /// MTU of the links null and veth [default: 1500]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Where it is sent")]
    mtu: Option<String>,
    /// What the network card of the links null and veth is to be without: no-tso, no-gso, no-gro, no-sg, no-checksum
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = known(OffloadSwitch::ALL.iter().map(|each| each.name())), hide_possible_values = true,
          help_heading = "Where it is sent")]
    offloads: Option<Vec<String>>,
    /// Connections at a time [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Where it is sent")]
    flows: Option<String>,
    /// TCP congestion control of both ends [default: cubic where there is one]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, help_heading = "Where it is sent")]
    congestion: Option<String>,
    /// The CPUs of sender and receiver, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,R", allow_hyphen_values = true, help_heading = "Where it is sent")]
    cpus: Option<String>,
    /// Time for the whole run, everything included [default: 30s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "How long, how well")]
    budget: Option<String>,
    /// Seed of the random order [default: a fresh one, saved in the run]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "How long, how well")]
    seed: Option<String>,
    /// The measured part of each trial [default: 50ms]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, hide_short_help = true, help_heading = "Expert")]
    window: Option<String>,
    /// Where the run is saved; the file must not exist [default: zc-DATE.json in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    out: Option<PathBuf>,
    /// Write folded stacks too, as flame graph tools read them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    folded: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
}

/// Samples, saves, prints.
///
/// # Errors
/// As for [`run::run`]; and this user may not sample what the CPUs are doing.
pub(super) fn profile(args: ProfileArgs) -> Result<()> {
    if let Some(folded) = &args.folded {
        replace::check(folded)?;
    }
    let spec = spec(&args.paths)?;
    let ProfileArgs { files, recv, buffer, pages, rate, link, mtu, offloads, flows, congestion, cpus, .. } = args;
    let ProfileArgs { budget, seed, window, out, folded, format, .. } = args;
    let typed = RunArgs {
        files,
        recv,
        buffer,
        pages,
        rate,
        link,
        mtu,
        offloads,
        flows,
        congestion,
        cpus,
        budget,
        seed,
        window,
        out,
        format,
        // It ends with its budget: what more it knows with more blocks is in the shares, which no target looks at.
        target: Some("0.1%".to_owned()),
        sample: true,
        ..RunArgs::default()
    };
    run::one(spec, typed, |run| match &folded {
        Some(path) => replace::file(path, &zc_report::folded(run)),
        None => Ok(()),
    })
}

/// The plan: the paths that were named, the first of them the one that the others are held against.
fn spec(names: &[String]) -> Result<Spec> {
    let paths = if names.is_empty() { PATHS.to_vec() } else { resolve::paths(names)? };
    let mut spec = planned::of_experiment(Experiment::Paths)?;
    let levels: Vec<Level> = paths.into_iter().map(Level::Send).collect();
    spec.reference = levels.first().cloned().into_iter().collect();
    spec.restrict(Factor::Send, levels);
    spec.name = "profile".to_owned();
    spec.question = "What do the paths spend their CPU time on?".to_owned();
    spec.budget_ns = Some(BUDGET_NS);
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> (Vec<String>, String) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let cells = spec(&names).unwrap().cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
        (cells.cells.into_iter().map(|cell| cell.label).collect(), cells.reference)
    }

    #[test]
    fn the_first_path_that_is_named_is_what_the_others_are_held_against() {
        let (cells, reference) = labels(&["sendfile", "splice", "sendfile"]);
        assert_eq!(cells, ["sendfile", "splice", "sendfile (A/A)"]);
        assert_eq!(reference, "sendfile");
        assert_eq!(labels(&[]).0, ["read+send", "sendfile", "msg-zerocopy", "read+send (A/A)"]);
        assert_eq!(spec(&["sendfiel".to_owned()]).unwrap_err().message, "unknown send path \"sendfiel\"");
    }
}
