//! Value parsers of arguments. A value is parsed once, by clap, into its type. What a parser
//! refuses is an error of zc's own, which `wrong_arguments` takes out of clap's.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use zc_run::nearest::unknown;
use zc_run::{Error, Result, UnknownName, units};

/// Takes any text; shells complete these names. The command refuses unknown ones.
pub(super) fn known(names: impl Iterator<Item = &'static str>) -> Parsed<String> {
    one_of(names, |text| Ok(text.to_owned()))
}

/// Takes one of these names, which shells complete.
pub(super) fn named<T: FromStr<Err = UnknownName>>(names: &'static [&'static str]) -> Parsed<T> {
    one_of(names.iter().copied(), |text| text.parse().map_err(unknown))
}

/// Takes a size in bytes.
pub(super) fn size(bounds: RangeInclusive<u64>) -> Parsed<u64> {
    typed(move |text| units::size(text, bounds.clone()))
}

/// Takes a duration, in nanoseconds.
pub(super) fn duration(bounds: RangeInclusive<u64>) -> Parsed<u64> {
    typed(move |text| units::duration(text, bounds.clone()))
}

/// Takes a whole number; `what` names it in errors.
pub(super) fn count(what: &'static str, bounds: RangeInclusive<u64>) -> Parsed<u64> {
    typed(move |text| units::count(what, text, bounds.clone()))
}

/// Takes what `parse` takes. Its errors get the name of the option.
pub(super) fn typed<T>(parse: impl Fn(&str) -> Result<T> + Send + Sync + 'static) -> Parsed<T> {
    Parsed { names: Vec::new(), parse: Arc::new(parse) }
}

/// Takes what `parse` takes; shells complete these names.
pub(super) fn one_of<T>(
    names: impl Iterator<Item = &'static str>,
    parse: impl Fn(&str) -> Result<T> + Send + Sync + 'static,
) -> Parsed<T> {
    Parsed { names: names.collect(), parse: Arc::new(parse) }
}

type Parse<T> = dyn Fn(&str) -> Result<T> + Send + Sync;

/// A parser, and the names that shells complete.
pub(super) struct Parsed<T> {
    names: Vec<&'static str>,
    parse: Arc<Parse<T>>,
}

impl<T> Clone for Parsed<T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), parse: Arc::clone(&self.parse) }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Parsed<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<T, clap::Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        (self.parse)(&text).map_err(|error| {
            let long = arg.and_then(Arg::get_long).filter(|_| self.names.is_empty());
            in_clap(match long {
                Some(long) => error.prefixed(format_args!("--{long}: ")),
                None => error,
            })
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = self.names.iter().map(|name| PossibleValue::new(*name));
        (!self.names.is_empty()).then(|| Box::new(names) as Box<dyn Iterator<Item = _>>)
    }
}

/// An error as the source of clap's, which only clap's parsers can set.
pub(super) fn in_clap(error: Error) -> clap::Error {
    let refuse = move |_: &str| Err::<(), Error>(error.clone());
    let refused = refuse.parse_ref(&Command::new("zc"), None, OsStr::new(""));
    refused.err().unwrap_or_else(|| clap::Error::new(clap::error::ErrorKind::ValueValidation))
}

/// zc's own error in clap's, if that is why clap refused.
pub(super) fn own(error: &clap::Error) -> Option<&Error> {
    std::error::Error::source(error).and_then(|source| source.downcast_ref())
}
