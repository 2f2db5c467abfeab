//! The options of `zc run` that set a factor. The factors define names, help and values
//! ([`zc_run::factor::Definition::option`]).

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::known::{in_clap, known};
use zc_run::factor::FactorOption;
use zc_run::{Factor, Level};

/// Which options of factors a command takes.
pub(super) trait Takes {
    /// The options.
    fn options() -> impl Iterator<Item = FactorOption>;
}

/// The options of all factors.
#[derive(Debug, Clone, Default)]
pub(super) struct All;

impl Takes for All {
    fn options() -> impl Iterator<Item = FactorOption> {
        Factor::ALL.iter().filter_map(|factor| factor.definition().option())
    }
}

/// Levels by the factor after whose option they were typed. An option may set several factors, and
/// several levels of one, or leave the choice to zc.
#[derive(Debug, Clone, Default)]
pub(super) struct FactorArgs<T = All>(BTreeMap<Factor, Vec<Level>>, PhantomData<T>);

impl FactorArgs {
    /// Takes the levels of others where there are none.
    pub(super) fn fill(&mut self, from: Self) {
        for (factor, levels) in from.0 {
            self.0.entry(factor).or_insert(levels);
        }
    }
}

impl<T> FactorArgs<T> {
    /// Whether a factor's option was typed.
    pub(super) fn is_given(&self, factor: Factor) -> bool {
        self.0.contains_key(&factor)
    }

    /// All levels that were typed.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Level> {
        self.0.values().flatten()
    }

    /// The same levels, for a command that takes the options of all factors.
    pub(super) fn among_all(self) -> FactorArgs {
        FactorArgs(self.0, PhantomData)
    }
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

impl<T: Takes> Args for FactorArgs<T> {
    fn augment_args(command: Command) -> Command {
        let options: Vec<FactorOption> = T::options().collect();
        in_order(command.args(options.iter().map(arg)), &options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Takes> FromArgMatches for FactorArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut all = BTreeMap::new();
        for option in T::options() {
            let (Some(factor), Some(texts)) =
                (Factor::of_option(option.long), matches.get_many::<String>(option.long))
            else {
                continue;
            };
            let text = texts.map(String::as_str).collect::<Vec<_>>().join(",");
            all.insert(factor, Level::typed(factor, &text).map_err(in_clap)?);
        }
        Ok(Self(all, PhantomData))
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
        FactorArgs::<All>::augment_args(
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
                let typed = FactorArgs::<All>::from_arg_matches(&matches).unwrap();
                let expected = Level::parse(*factor, text).unwrap();
                assert!(typed.levels().eq([&expected]), "{text}");
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
        for option in All::options() {
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
