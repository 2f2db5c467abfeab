//! `zc run --like FILE`: the plan, the options and the rate of a saved run once more, to compare
//! with it.
//!
//! The options are those of the command line that the run has saved. A saved run may come from
//! anybody, so options that make zc run a command or connect to another machine are not taken from
//! it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::run_args::{HeldArgs, LinkChoice, OwnArgs, RunArgs, StreamArgs};
use super::{planned, read, resolve, run_line, tell};
use zc_measure::plan::Spec;
use zc_measure::session::LEFT_OUT;
use zc_run::{Cell, Error, Header, Result, Run};

/// The plan and the options of the run that is saved in a file, under those that were typed.
///
/// # Errors
/// The file is not a run of `zc run` that can be repeated here.
pub(super) fn repeated(path: &Path, mut typed: StreamArgs) -> Result<(Spec, StreamArgs)> {
    let run = read::run(path)?;
    let cannot = |id, why: &str| {
        Error::input(id, format!("the run in \"{}\" cannot be repeated: {why}", tell::path(path)))
    };
    let RunArgs { plan, own, stream, .. } = command(&run).ok_or_else(|| {
        cannot("run-of-unknown-command", "its command is not one of this zc")
            .help("type its options")
    })?;
    let old = match own {
        Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => args,
        _ => stream,
    };
    if run.header.remote.is_some() && !typed.remote.is_given() {
        return Err(cannot(
            "remote-missing",
            "it had another machine at its other end, which a file may not name",
        )
        .help("name it again: --remote HOST or --via COMMAND"));
    }
    if run.header.plan.states.is_some() && typed.ab.is_empty() {
        return Err(cannot(
            "state-missing",
            "it switched this host by commands, which are not taken from a file",
        )
        .help("type them again: --ab COMMAND --ab COMMAND"));
    }
    let is_left_out = |path: &PathBuf| path.as_os_str() == LEFT_OUT;
    if plan.as_ref().is_some_and(is_left_out) {
        return Err(cannot(
            "plan-left-out",
            "the name of its plan's file was left out when it was saved",
        )
        .help("zc run --plan FILE"));
    }
    if typed.files.paths.is_empty() && old.files.paths.iter().any(is_left_out) {
        return Err(cannot(
            "files-left-out",
            "the names of its files were left out when it was saved",
        )
        .help("name them again: --files PATH"));
    }
    let chooses_levels = typed.factors.levels().next().is_some();
    let spec = match &plan {
        Some(plan) => planned::of_file(plan)?,
        None => planned::of_experiment(run.header.plan.experiment.parse().map_err(|_| {
            cannot("run-of-unknown-experiment", "this zc does not have its experiment")
                .help("zc plan lists those that it has")
        })?)?,
    };
    if typed.transfer.link.is_none() && !typed.remote.is_given() {
        typed.transfer.link = Some(LinkChoice::Kind(run.header.link.kind));
    }
    if typed.files.paths.is_empty() {
        typed.files = old.files;
    }
    typed.replay.fill(old.replay);
    typed.realtime |= old.realtime;
    typed.quick |= old.quick;
    typed.counters |= old.counters;
    let length = &mut typed.measuring.length;
    length.budget = length.budget.or(old.measuring.length.budget);
    typed.measuring.strict |= old.measuring.strict;
    typed.fill(HeldArgs { transfer: old.transfer, order: old.order, factors: old.factors });
    typed.rates = rates(&run.header);
    if !chooses_levels && plan.is_some() && !has_cells(&spec, &typed, &run)? {
        return Err(cannot("plan-changed", "its plan's file has other cells now")
            .help("give a plan with --plan"));
    }
    Ok((spec, typed))
}

/// The command line that the run was made with. All experiments that one names have its options.
fn command(run: &Run) -> Option<RunArgs> {
    let lines = run_line::parse(&run.header.command).ok()?;
    let is_of = |args: &RunArgs| args.experiment().name() == run.header.plan.experiment;
    let place = lines.iter().position(is_of).unwrap_or(0);
    lines.into_iter().nth(place)
}

/// The rates of its cells, in bytes per second.
pub(super) fn rates(header: &Header) -> BTreeMap<String, f64> {
    let plan = &header.plan;
    let rate = |cell: &Cell| plan.fixed.at(&cell.levels).rate_bytes_per_s;
    plan.cells.iter().map(|cell| (cell.label.clone(), rate(cell))).collect()
}

/// Whether a plan has the cells of a run, those included that could not be measured there.
fn has_cells(spec: &Spec, args: &StreamArgs, run: &Run) -> Result<bool> {
    let (spec, args) = planned::merge_options(spec.clone(), args.clone())?;
    let options = resolve::run(&args, spec, Vec::new(), PathBuf::new())?;
    let planned = options.plan.cells(options.send, options.recv)?.cells;
    let planned: HashSet<&str> = labels(&planned);
    let missing = run.header.unavailable.iter().filter(|row| row.what == "cell");
    let mut measured = labels(&run.header.plan.cells);
    measured.extend(missing.map(|row| row.name.as_str()));
    if run.header.plan.replay().is_some() {
        // Lengths that the log did not need were left out, and cells that replay it were added.
        let replaying = run.header.plan.replaying();
        return Ok(measured.difference(&replaying).all(|label| planned.contains(label)));
    }
    Ok(planned == measured)
}

fn labels(cells: &[Cell]) -> HashSet<&str> {
    cells.iter().filter(|cell| !cell.control).map(|cell| cell.label.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{HostState, HostStates, LinkKind, StateCommand};
    use zc_testkit::synthetic::Synthetic;

    /// The plan and options of a run that was saved with this command line.
    fn like(
        command: &str,
        change: impl FnOnce(&mut Run),
        typed: StreamArgs,
    ) -> Result<(Spec, StreamArgs)> {
        let folder = tempfile::tempdir().unwrap();
        let mut run = Synthetic { blocks: 3, ..Synthetic::default() }.run();
        run.header.command = command.split(' ').map(str::to_owned).collect();
        run.header.plan.experiment = "paths".to_owned();
        run.header.link.kind = LinkKind::Veth;
        change(&mut run);
        let path = folder.path().join("old.json");
        std::fs::write(&path, zc_run::run_lines(&run)).unwrap();
        repeated(&path, typed)
    }

    #[test]
    fn options_rate_and_link_are_those_of_the_run() {
        let command =
            "zc run --paths sendfile --files a b --budget 2m --seed 5 --flows 4 --strict --json";
        let (spec, args) = like(command, |_| (), StreamArgs::default()).unwrap();
        assert_eq!(spec.name, "paths");
        let levels: Vec<String> = args.factors.levels().map(ToString::to_string).collect();
        assert_eq!(levels, ["sendfile", "4"]);
        assert_eq!(args.files.paths, [Path::new("a"), Path::new("b")]);
        assert_eq!(args.measuring.length.budget, Some(120_000_000_000));
        assert_eq!(args.order.block.seed.number, Some(5));
        assert_eq!(args.transfer.link, Some(LinkChoice::Kind(LinkKind::Veth)));
        assert!(args.rates.values().all(|rate| *rate > 0.0) && !args.rates.is_empty());
        assert!(args.measuring.out.is_none(), "it is another file");
        assert!(args.measuring.strict);
    }

    #[test]
    fn what_is_typed_takes_precedence() {
        let mut typed = StreamArgs::default();
        typed.measuring.length.budget = Some(9);
        let (_, args) = like("zc run --budget 2m --link null", |_| (), typed).unwrap();
        assert_eq!(args.measuring.length.budget, Some(9));
        let made_over = Some(LinkChoice::Kind(LinkKind::Veth));
        assert_eq!(args.transfer.link, made_over, "the one that it was made over");
    }

    #[test]
    fn a_file_runs_no_command_and_names_no_machine() {
        let states = |run: &mut Run| {
            let of = |state| StateCommand { state, command: "true".to_owned() };
            run.header.plan.states = Some(HostStates {
                commands: vec![of(HostState::a()), of(HostState::b())],
                restore: None,
                settle_ns: 1,
                limit_ns: 1,
                verify: None,
            });
        };
        let command = "zc run --ab true --ab true --ab-restore true";
        let error = like(command, states, StreamArgs::default()).unwrap_err();
        assert_eq!(error.id, "state-missing");
        let typed =
            StreamArgs { ab: vec!["a".to_owned(), "b".to_owned()], ..StreamArgs::default() };
        let (_, args) = like(command, states, typed).unwrap();
        assert_eq!(args.ab, ["a", "b"]);
        assert!(!args.state_commands.is_given());
        let (_, args) = like("zc run --via evil", |_| (), StreamArgs::default()).unwrap();
        assert!(!args.remote.is_given());
    }

    #[test]
    fn names_that_were_left_out_are_asked_for() {
        let command = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            super::super::anonymise::command(&words)
        };
        let saved = |words| move |run: &mut Run| run.header.command = command(words);
        let files = &["zc", "run", "--files", "a", "b", "--budget", "2m"];
        let error = like("", saved(files), StreamArgs::default()).unwrap_err();
        assert_eq!(error.id, "files-left-out");
        let mut typed = StreamArgs::default();
        typed.files.paths.push("c".into());
        let (_, args) = like("", saved(files), typed).unwrap();
        assert_eq!(args.files.paths, [Path::new("c")]);
        assert!(args.measuring.length.budget.is_some());
        let error =
            like("", saved(&["zc", "run", "--plan", "p"]), StreamArgs::default()).unwrap_err();
        assert_eq!(error.id, "plan-left-out");
    }

    #[test]
    fn what_is_no_command_of_zc_run_cannot_be_repeated() {
        for command in ["zc profile", "zc run --of-a-later-version 3", "", "rm -rf x"] {
            let error = like(command, |_| (), StreamArgs::default()).unwrap_err();
            assert_eq!(error.id, "run-of-unknown-command");
        }
        let unknown = |run: &mut Run| run.header.plan.experiment = "nonesuch".to_owned();
        let error = like("zc run", unknown, StreamArgs::default()).unwrap_err();
        assert_eq!(error.id, "run-of-unknown-experiment");
    }

    #[test]
    fn a_plan_that_has_changed_since_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let plan = folder.path().join("my.toml");
        let text = "name = \"my\"\n[[factor]]\nname = \"send\"\nlevels = [\"read+send\"]\n";
        std::fs::write(&plan, text).unwrap();
        let command = format!("zc run --plan {}", plan.display());
        let error = like(&command, |_| (), StreamArgs::default()).unwrap_err();
        assert_eq!(error.id, "plan-changed");
    }
}
