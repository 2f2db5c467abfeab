//! Arguments that take any text and whose known names shells complete.
//!
//! clap does not reject unknown names: the commands do, with zc's own message and hint.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

/// Takes any text; shells complete these names.
pub(super) fn known(names: impl Iterator<Item = &'static str>) -> Known {
    Known(names.collect())
}

#[derive(Debug, Clone)]
pub(super) struct Known(Vec<&'static str>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(*name))))
    }
}
