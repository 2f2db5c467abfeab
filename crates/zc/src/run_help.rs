//! The help of one experiment, `zc run NAME --help`: its own options first, then those of every run
//! that it takes, by group, and none of those that it refuses.

use clap::{Args, Command};

use super::nfs_args::NfsArgs;
use super::replay_args::ReplayArgs;
use super::server_args::ServerArgs;
use super::{examples, memory, nfs, plan, server};
use zc_run::Experiment;

/// The command line, whose `run` has the help of the experiment that `words` ask for help about.
pub(super) fn with(command: Command, words: &[String]) -> Command {
    match asked_about(words) {
        Some(experiment) => command.mut_subcommand("run", |run| narrowed(run, experiment)),
        None => command,
    }
}

/// The experiment of `run NAME --help`, if it is one and its name stands before other options.
fn asked_about(words: &[String]) -> Option<Experiment> {
    let (command, rest) = words.split_first()?;
    let is_help = |word: &&String| ["--help", "-h"].contains(&word.as_str());
    let mut of_zc = rest.iter().take_while(|word| *word != "--");
    if command != "run" || !of_zc.any(|word| is_help(&word)) {
        return None;
    }
    let others = rest.iter().filter(|word| !is_help(word));
    let names: Vec<&String> = others.take_while(|word| !word.starts_with('-')).collect();
    match names.as_slice() {
        [name] => name.parse().ok(),
        _ => None,
    }
}

/// `zc run` as if it were a command of this experiment.
fn narrowed(run: Command, experiment: Experiment) -> Command {
    let own = own(experiment);
    let refused = refused(&run, experiment);
    let loads = experiment == Experiment::Server;
    let usage =
        format!("zc run {experiment} [OPTIONS]{}", if loads { " [-- <LOADGEN>...]" } else { "" });
    let run = run.mut_args(|arg| {
        let id = arg.get_id().to_string();
        if own.contains(&id) {
            // Arguments and options without a heading come first.
            arg.help_heading(None::<&str>)
        } else if refused.contains(&id) {
            arg.hide(true)
        } else {
            arg
        }
    });
    let run = run
        .override_usage(usage)
        .after_long_help(examples::text(examples::of_experiment(experiment)));
    match about(experiment) {
        Some(about) => run.about(about.clone()).long_about(about),
        None => run,
    }
}

/// Purpose of an experiment, and its requirements.
fn about(experiment: Experiment) -> Option<String> {
    let question = plan::row(experiment).ok()?.question;
    let needs = match experiment {
        Experiment::Nfs => {
            "\n\nNeeds gcc and libnfs-dev for the client that zc compiles, or --nfs-client kernel; and \
             for a server of its own root and nfs-ganesha, or --nfs-server knfsd."
        }
        _ => "",
    };
    Some(format!("{question}{needs}"))
}

/// The identifiers of the arguments that are an experiment's own.
fn own(experiment: Experiment) -> Vec<String> {
    match experiment {
        Experiment::Server => of::<ServerArgs>(),
        Experiment::Nfs => of::<NfsArgs>(),
        Experiment::Replay => of::<ReplayArgs>(),
        Experiment::Requests => [vec!["responses".to_owned()], of::<ReplayArgs>()].concat(),
        Experiment::Memory => vec!["with".to_owned()],
        _ => Vec::new(),
    }
}

/// The identifiers of the arguments that an experiment does not take. None takes another name, or a
/// plan.
fn refused(run: &Command, experiment: Experiment) -> Vec<String> {
    let takes: &[&[&str]] = match experiment {
        Experiment::Server => &server::TAKES,
        Experiment::Nfs => &nfs::TAKES,
        Experiment::Memory => &[&memory::TAKES],
        _ => {
            let others = ["names", "plan", "like", "with"].map(str::to_owned).to_vec();
            return [others, of::<ServerArgs>(), of::<NfsArgs>()].concat();
        }
    };
    let is_taken = |long: &str| {
        let mut all = takes.iter().copied().flatten();
        all.any(|option| option.strip_prefix("--") == Some(long))
    };
    let refused = run.get_arguments().filter(|arg| !arg.get_long().is_some_and(is_taken));
    refused.map(|arg| arg.get_id().to_string()).collect()
}

/// The identifiers of a group of arguments.
fn of<A: Args>() -> Vec<String> {
    let group = A::augment_args(Command::new("group"));
    group.get_arguments().map(|arg| arg.get_id().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_name_before_other_options_is_asked_about() {
        let about = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            asked_about(&words)
        };
        for (line, experiment) in [
            ("run server --help", Some(Experiment::Server)),
            ("run --help nfs", Some(Experiment::Nfs)),
            ("run replay --log access.log -h", Some(Experiment::Replay)),
            ("run --help", None),
            ("run server", None),
            ("run server -- oha --help", None),
            ("run sizes server --help", None),
            ("run --via server --help", None),
            ("run nosuch --help", None),
            ("plan server --help", None),
        ] {
            assert_eq!(about(line), experiment, "{line}");
        }
    }
}
