//! What a factor says of itself: [`Definition`]. Each file of this folder implements it once.
//!
//! The provided methods are right for a factor that has no field of its own in [`Levels`] and [`FixedParams`]: its levels are
//! kept there by its name.

use super::{Factor, Level, Value};
use crate::{Cell, FixedParams, Header, Levels, LinkFacts, Result};

/// Everything about one factor that the saved run, plans, the command line, comparisons and the documentation need.
pub trait Definition: Sync {
    /// Which factor it is.
    fn factor(&self) -> Factor;

    /// Its name in plans and saved runs.
    fn name(&self) -> &'static str;

    /// What docs/plans.md says of its levels, in Markdown.
    fn levels(&self) -> &'static str;

    /// Some levels as they are typed, for tests and the documentation.
    fn examples(&self) -> &'static [&'static str];

    /// Reads a level as it is typed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): it is no level of this factor.
    fn parse(&self, text: &str) -> Result<Value>;

    /// The levels that one word in a plan stands for, as `all`; `None` where `text` is no such word.
    fn group(&self, _text: &str) -> Option<Vec<Value>> {
        None
    }

    /// The reference's level in a plan that names none, if it is among the factor's; else that is the first.
    fn usual_reference(&self) -> Option<Value> {
        None
    }

    /// The level of cells and plans that do not mention the factor.
    fn default(&self) -> Value {
        Value::Unset
    }

    /// The level of a cell. `at` is what holds for the cell; `link`, the link of cells that ask for none of their own.
    fn of(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        at.more.get(self.factor()).cloned().unwrap_or_else(|| self.default())
    }

    /// Gives a level to a cell.
    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.more.insert(self.factor(), level.clone());
    }

    /// Lets a cell's own level, if it has one, take the place of what its plan holds fixed.
    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        if let Some(level) = own.more.get(self.factor()) {
            at.more.insert(self.factor(), level.clone());
        }
    }

    /// The option of `zc run` that sets it, which is also its key in the table `[fixed]` of a plan.
    fn option(&self) -> Option<FactorOption> {
        None
    }

    /// What was typed behind [`Self::option`], as levels: of other factors too where the option sets those.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): it has no meaning.
    fn typed(&self, text: &str) -> Result<Vec<Level>> {
        let option = self.option().map_or(self.name(), |option| option.long);
        let value = self
            .parse(text.trim())
            .map_err(|error| error.prefixed(format_args!("--{option}: ")))?;
        Ok(vec![Level { factor: self.factor(), value }])
    }

    /// The TCP option that the sender's socket gets after connecting and before the first byte of a file.
    fn tcp_option(&self, _at: &FixedParams) -> Option<TcpOption> {
        None
    }

    /// What the heading of a report calls it where a cell has another level than [`Self::default`]; `None` keeps it out of there.
    fn heading(&self) -> Option<&'static str> {
        None
    }

    /// What a comparison calls it.
    fn parameter(&self) -> Parameter {
        Parameter::explaining(self.name(), self.name())
    }

    /// What it makes two cells of one name differ in.
    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        let of =
            |side: &Side<'_>| Some(self.of(side.cell, &side.fixed, &side.header.link).to_string());
        Difference::between(self.parameter(), of(old), of(new))
    }
}

/// An option of the command line.
#[derive(Debug, Clone, Copy)]
pub struct FactorOption {
    /// Its name without dashes.
    pub long: &'static str,
    /// What stands for its value in the help.
    pub value_name: &'static str,
    /// Its help.
    pub help: &'static str,
    /// The heading in the help under which it stands.
    pub heading: &'static str,
    /// The option of `zc run` behind which it is listed there.
    pub after: &'static str,
    /// Whether the short help leaves it out.
    pub expert: bool,
    /// The names that shells complete.
    pub names: &'static [&'static str],
    /// Whether it takes several values with commas between them.
    pub several: bool,
}

impl FactorOption {
    /// One value, under "What is sent".
    pub(super) const fn sent(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        let heading = "What is sent";
        Self { long, value_name, help, heading, after, expert: false, names: &[], several: false }
    }

    /// One value, under "Where it is sent".
    pub(super) const fn carried(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        Self { heading: "Where it is sent", ..Self::sent(long, value_name, after, help) }
    }

    /// One value, under "Expert", and not in the short help.
    pub(super) const fn expert(
        long: &'static str,
        value_name: &'static str,
        after: &'static str,
        help: &'static str,
    ) -> Self {
        Self { heading: "Expert", expert: true, ..Self::sent(long, value_name, after, help) }
    }

    /// The same, completed with these names.
    pub(super) const fn of(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// The same, with several values.
    pub(super) const fn several(self) -> Self {
        Self { several: true, ..self }
    }
}

/// A socket option of level IPPROTO_TCP whose value is an int. Their numbers are the same on all architectures
/// (include/uapi/linux/tcp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOption {
    /// `TCP_CORK` ...
    pub name: &'static str,
    /// Its number.
    pub number: i32,
    /// What it is set to.
    pub value: i32,
}

/// One thing that cells can differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in JSON.
    pub key: &'static str,
    /// What texts call it, with the old and the new value behind it.
    pub words: &'static str,
    /// Whether costs at different values of it are costs of different things. Where they are not, the difference may explain them.
    pub disqualifies: bool,
}

impl Parameter {
    /// One whose difference may explain different costs.
    pub(super) const fn explaining(key: &'static str, words: &'static str) -> Self {
        Self { key, words, disqualifies: false }
    }

    /// One at different values of which costs are not comparable.
    pub(super) const fn disqualifying(key: &'static str, words: &'static str) -> Self {
        Self { key, words, disqualifies: true }
    }
}

/// One of two cells that are compared.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// Its run's.
    pub header: &'a Header,
    /// The cell.
    pub cell: &'a Cell,
    /// What holds for the cell.
    pub fixed: FixedParams,
}

impl<'a> Side<'a> {
    /// A cell of the run with that header.
    pub fn of(header: &'a Header, cell: &'a Cell) -> Self {
        Self { header, cell, fixed: header.plan.fixed.at(&cell.levels) }
    }

    /// The link that the cell was measured on, if it is known.
    pub(super) fn link(&self) -> Option<&'a LinkFacts> {
        self.header.link_of(&self.cell.levels)
    }

    /// Whether the cell asks for a link of its own.
    pub(super) fn has_own_link(&self) -> bool {
        self.cell.levels.mtu_bytes.is_some() || self.cell.levels.switched_off.is_some()
    }
}

/// A parameter that has not the same value in two cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The parameter.
    pub what: Parameter,
    /// Which one of several: an offload.
    pub name: Option<String>,
    /// In the old cell; `None` where it has none.
    pub old: Option<String>,
    /// In the new one.
    pub new: Option<String>,
}

impl Difference {
    /// None where the values are equal, else one.
    pub(super) fn between(what: Parameter, old: Option<String>, new: Option<String>) -> Vec<Self> {
        if old == new { Vec::new() } else { vec![Self { what, name: None, old, new }] }
    }
}
