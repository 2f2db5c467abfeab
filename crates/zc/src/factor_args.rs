//! The options of `zc run` that set a factor. The factors define names, help and values
//! ([`zc_run::factor::Definition::option`]). Values are text until [`FactorArgs::levels`].

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::known::known;
use zc_run::factor::FactorOption;
use zc_run::{Factor, Level, Result};

/// Texts typed for factors.
#[derive(Debug, Clone, Default)]
pub(super) struct FactorArgs(BTreeMap<Factor, String>);

impl FactorArgs {
    /// The text that was typed after a factor's option.
    pub(super) fn text(&self, factor: Factor) -> Option<&str> {
        self.0.get(&factor).map(String::as_str)
    }

    /// Sets the text, as if it had been typed after the factor's option.
    pub(super) fn set(&mut self, factor: Factor, text: String) {
        self.0.insert(factor, text);
    }

    /// Parses the texts. An option may set several factors, and several levels of one.
    ///
    /// # Errors
    /// A text is not a value of its option.
    pub(super) fn levels(&self) -> Result<Vec<Level>> {
        let typed = self.0.iter().map(|(factor, text)| Level::typed(*factor, text));
        Ok(typed.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Adds the options to a command, each at its place in the help.
    pub(super) fn add(
        command: Command,
        options: impl IntoIterator<Item = FactorOption>,
    ) -> Command {
        let options: Vec<FactorOption> = options.into_iter().collect();
        in_order(command.args(options.iter().map(arg)), &options)
    }

    /// The values of those of these options that were typed.
    pub(super) fn typed(
        matches: &ArgMatches,
        options: impl IntoIterator<Item = FactorOption>,
    ) -> Self {
        let each = options.into_iter().filter_map(|option| {
            let values: Vec<&str> =
                matches.get_many::<String>(option.long)?.map(String::as_str).collect();
            Some((Factor::of_option(option.long)?, values.join(",")))
        });
        Self(each.collect())
    }
}

/// The options of all factors.
fn options() -> impl Iterator<Item = FactorOption> {
    Factor::ALL.iter().filter_map(|factor| factor.definition().option())
}

fn arg(option: &FactorOption) -> Arg {
    let arg = Arg::new(option.long)
        .long(option.long)
        .value_name(option.value_name)
        .help(option.help)
        .help_heading(option.heading)
        .hide_short_help(option.expert)
        .hide_possible_values(true)
        .allow_hyphen_values(true);
    let arg = if option.several { arg.action(ArgAction::Append).value_delimiter(',') } else { arg };
    if option.names.is_empty() {
        arg
    } else {
        arg.value_parser(known(option.names.iter().copied()))
    }
}

/// Sets the order of the options in the help: as declared, and each of `options` after the one that
/// it names.
fn in_order(command: Command, options: &[FactorOption]) -> Command {
    let declared = command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned));
    let mut order: Vec<String> =
        declared.filter(|long| options.iter().all(|option| option.long != long)).collect();
    let mut left: Vec<&FactorOption> = options.iter().collect();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|option| match order.iter().position(|long| long == option.after) {
            Some(place) => {
                order.insert(place + 1, option.long.to_owned());
                false
            }
            None => true,
        });
        if left.len() == before {
            order.extend(left.drain(..).map(|option| option.long.to_owned()));
        }
    }
    command.mut_args(|arg| {
        let place = arg.get_long().and_then(|long| order.iter().position(|other| other == long));
        match place {
            Some(place) => arg.display_order(place),
            None => arg,
        }
    })
}

impl Args for FactorArgs {
    fn augment_args(command: Command) -> Command {
        Self::add(command, options())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        Ok(Self::typed(matches, options()))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        FactorArgs::augment_args(
            Command::new("run").args(
                ["files", "ip", "rtt", "rcvbuf", "cpus"].map(|long| Arg::new(long).long(long)),
            ),
        )
    }

    #[test]
    fn every_factor_s_option_takes_its_levels() {
        for factor in Factor::ALL {
            let Some(option) = factor.definition().option() else { continue };
            for text in factor.definition().examples() {
                let matches = command()
                    .try_get_matches_from(["run", &format!("--{}", option.long), text])
                    .unwrap();
                let typed = FactorArgs::from_arg_matches(&matches).unwrap();
                assert_eq!(typed.levels().unwrap(), [Level::parse(*factor, text).unwrap()]);
            }
        }
    }

    #[test]
    fn every_option_is_listed_after_the_one_that_it_names() {
        let command = command();
        let place = |long: &str| {
            let found = command.get_arguments().find(|arg| arg.get_long() == Some(long));
            found.unwrap_or_else(|| panic!("--{long}")).get_display_order()
        };
        for option in options() {
            assert!(
                place(option.after) < place(option.long),
                "--{} after --{}",
                option.long,
                option.after
            );
        }
        assert!(
            place("ip") < place("mtu")
                && place("mtu") < place("offloads")
                && place("offloads") < place("rtt")
        );
    }
}
