//! `zc --help`: the commands in groups, on one screen.

use clap::Command;

/// Groups of commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["run", "profile", "soak", "doctor", "plan", "serve"]),
    (
        "Saved runs and fleets",
        &["show", "report", "compare", "bisect", "calibrate", "fleet", "trend", "export"],
    ),
    ("Servers and their logs", &["tune", "http", "advise"]),
    ("Tools of 2001", &["zcs", "zcc", "cyclesoak", "run-rr", "ttcp", "install-classic"]),
    ("For other programs", &["convert", "schema", "generate"]),
];

/// `zc`, whose help lists its commands in groups, each with the first line of its own help.
pub(super) fn with(command: Command) -> Command {
    let (header, literal) =
        (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{header}{group}:{header:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {literal}{name:<15}{literal:#}  {about}\n"));
        }
    }
    command.help_template(format!(
        "{{about}}\n{{usage-heading}} {{usage}}\n{text}\nBegin with `zc run`. `zc help COMMAND` \
         describes a command, `zc -Vv` this build.\n"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn each_command_is_in_one_group() {
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let all: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.len(), all.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn the_help_fits_a_screen() {
        let help = with(Cli::command()).render_long_help().to_string();
        assert!(help.lines().count() <= 40, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}
