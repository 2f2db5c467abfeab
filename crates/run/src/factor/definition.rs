//! The interface of a factor: [`Definition`], which each factor's file implements once.
//!
//! The provided methods suit a factor that has no field of its own in [`Levels`] and
//! [`FixedParams`]: their member `more` keeps its levels under its name.

use super::value::Value;
use crate::{Cell, FixedParams, Header, Levels, LinkFacts, Result};

/// Everything about one factor that the saved run, plans, the command line, comparisons and the
/// documentation need.
pub trait Definition: Sync {
    /// Its name in plans and saved runs.
    fn name(&self) -> &'static str;

    /// Description of its levels for docs/plans.md, in Markdown.
    fn levels(&self) -> &'static str;

    /// Some of its levels, as they are typed, for tests and the documentation.
    fn examples(&self) -> &'static [&'static str];

    /// Parses a level as it is typed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): `text` is not a level of this factor.
    fn parse(&self, text: &str) -> Result<Value>;

    /// The levels that a plan selects by one word, such as `all`; `None` if `text` is not such a
    /// word.
    fn group(&self, _text: &str) -> Option<Vec<Value>> {
        None
    }

    /// The level of the reference in a plan that does not set it, if that level is in the plan.
    /// Otherwise the reference has the plan's first level.
    fn usual_reference(&self) -> Option<Value> {
        None
    }

    /// The level of cells and plans that do not mention the factor.
    fn default(&self) -> Value {
        Value::Unset
    }

    /// The level of a cell. `at` is the cell's resolved configuration. `link` describes the link of
    /// cells that do not ask for one of their own.
    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        at.more.get(self.name()).cloned().unwrap_or_else(|| self.default())
    }

    /// Sets a level in a cell.
    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.more.insert(self.name(), level.clone());
    }

    /// Whether this level goes together with the transfer and the other levels of `cell`: a plan
    /// leaves out cells in which they do not.
    fn suits(&self, _level: &Value, _cell: &Cell) -> bool {
        true
    }

    /// Replaces what the plan holds fixed by the cell's own level, if it has one.
    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        if let Some(level) = own.more.get(self.name()) {
            at.more.insert(self.name(), level.clone());
        }
    }

    /// The option of `zc run` that sets the factor. Its name is also the key in the table `[fixed]`
    /// of a plan.
    fn option(&self) -> Option<FactorOption> {
        None
    }

    /// Parses what was typed after [`Self::option`]: names of factors, with a level each. Some
    /// options set other factors too.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): `text` is not a value of the option.
    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let option = self.option().map_or(self.name(), |option| option.long);
        let value = self
            .parse(text.trim())
            .map_err(|error| error.prefixed(format_args!("--{option}: ")))?;
        Ok(vec![(self.name(), value)])
    }

    /// The TCP option that the sender's socket gets after connecting and before the first byte of a
    /// file.
    fn tcp_option(&self, _at: &FixedParams) -> Option<TcpOption> {
        None
    }

    /// Its name in the heading of a report, which lists the factor if a cell has another level than
    /// [`Self::default`]. `None` if headings never list it.
    fn heading(&self) -> Option<&'static str> {
        None
    }

    /// Its name in a comparison.
    fn parameter(&self) -> Parameter {
        Parameter::explaining(self.name(), self.name())
    }

    /// The differences between two cells of the same name that are due to this factor.
    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        let of = |side: &Side<'_>| {
            Some(self.value_for(side.cell, &side.fixed, &side.header.link).to_string())
        };
        Difference::between(self.parameter(), of(old), of(new))
    }
}

/// An option of `zc run` that sets a factor.
#[derive(Debug, Clone, Copy)]
pub struct FactorOption {
    /// Its name without dashes.
    pub long: &'static str,
    /// The placeholder of its value in the help.
    pub value_name: &'static str,
    /// The help text, one sentence without a full stop.
    pub help: &'static str,
    /// The heading in the help that lists it.
    pub heading: &'static str,
    /// The option that it follows in the help.
    pub after: &'static str,
    /// Whether only `--help` lists it, and `-h` does not.
    pub expert: bool,
    /// The names that shells complete.
    pub names: &'static [&'static str],
    /// Whether it takes several values, separated by commas.
    pub several: bool,
}

impl FactorOption {
    /// An option with one value, under "What is sent".
    pub(super) const fn sent(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        let heading = "What is sent";
        Self { long, value_name, help, heading, after, expert: false, names: &[], several: false }
    }

    /// An option with one value, under "Where it is sent".
    pub(super) const fn carried(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        Self { heading: "Where it is sent", ..Self::sent(long, value_name, after, help) }
    }

    /// An option with one value, under "Expert", that `-h` does not list.
    pub(super) const fn expert(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        Self { heading: "Expert", expert: true, ..Self::sent(long, value_name, after, help) }
    }

    /// The same option, with names that shells complete as its value.
    pub(super) const fn with_names(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// The same option, with several values.
    pub(super) const fn several(self) -> Self {
        Self { several: true, ..self }
    }
}

/// A socket option of level IPPROTO_TCP whose value is an int. Their numbers are the same on all
/// architectures (include/uapi/linux/tcp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOption {
    /// The name of the constant, such as `TCP_CORK`.
    pub name: &'static str,
    /// The `optname` of setsockopt(2).
    pub number: i32,
    /// The value to set.
    pub value: i32,
}

/// One thing that cells can differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in texts, where the old and the new value follow it.
    pub words: &'static str,
    /// Whether costs at different values cannot be compared. If they can be, the difference in the
    /// parameter may explain a difference in cost.
    pub disqualifies: bool,
}

impl Parameter {
    /// A parameter that may explain a difference in cost.
    pub(super) const fn explaining(key: &'static str, words: &'static str) -> Self {
        Self { key, words, disqualifies: false }
    }

    /// A parameter whose values must be equal for costs to be comparable.
    pub(super) const fn disqualifying(key: &'static str, words: &'static str) -> Self {
        Self { key, words, disqualifies: true }
    }
}

/// One of two cells that are compared.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// The header of its run.
    pub header: &'a Header,
    /// The cell.
    pub cell: &'a Cell,
    /// The cell's resolved configuration.
    pub fixed: FixedParams,
}

impl<'a> Side<'a> {
    /// Resolves a cell of the run with this header.
    pub fn new(header: &'a Header, cell: &'a Cell) -> Self {
        Self { header, cell, fixed: header.plan.fixed.at(&cell.levels) }
    }

    /// The link that the cell was measured on, if it is known.
    pub(super) fn link(&self) -> Option<&'a LinkFacts> {
        self.header.link_of(&self.cell.levels)
    }

    /// Whether the cell asks for a link of its own.
    pub(super) fn has_own_link(&self) -> bool {
        self.cell.levels.has_own_link()
    }
}

/// A parameter with different values in two cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The parameter.
    pub what: Parameter,
    /// The name of the offload, for parameters of which there are several.
    pub name: Option<String>,
    /// The value in the old cell; `None` if there is none.
    pub old: Option<String>,
    /// The value in the new cell; `None` if there is none.
    pub new: Option<String>,
}

impl Difference {
    /// Empty if the values are equal, else one difference.
    pub(super) fn between(what: Parameter, old: Option<String>, new: Option<String>) -> Vec<Self> {
        if old == new { Vec::new() } else { vec![Self { what, name: None, old, new }] }
    }
}
