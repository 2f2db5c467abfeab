//! An entry of a server's table: a directive with its default and the values that are tried, and
//! how it becomes candidates for one configuration.

use crate::candidate::{Candidate, Change, Offer};
use crate::values::{Version, is_same};

/// What is in effect at a site, as entries ask for it.
pub(crate) trait InEffect<N> {
    /// The arguments of a directive that is in effect; `None` where the default is.
    fn value(&self, directive: &str) -> Option<String>;

    /// The version of the server.
    fn version(&self) -> Option<Version>;

    /// Why a need does not hold; `None`: it does.
    fn missing(&self, need: N) -> Option<String>;
}

/// A directive and the values that are tried.
pub(crate) struct Entry<N: 'static> {
    pub(crate) directive: &'static str,
    /// The server's default, per its documentation.
    pub(crate) default: &'static str,
    /// The default of versions before the given one, where that was another.
    pub(crate) default_before: Option<(Version, &'static str)>,
    pub(crate) tries: Tries,
    /// All must hold; the first that does not says why the directive is not tried.
    pub(crate) needs: &'static [N],
    pub(crate) reason: &'static str,
    pub(crate) reference: &'static str,
}

/// The values that are tried, as they are typed.
pub(crate) enum Tries {
    /// `on` and `off`, or the default and something else: whichever is not in effect.
    Switch(&'static [&'static str]),
    /// Amounts, the default among them where it is worth a try: each that is not in effect.
    Amounts(&'static [&'static str]),
}

impl<N: Copy + 'static> Entry<N> {
    /// The candidates of the entry, or why it is not tried.
    pub(crate) fn offers(&self, context: &impl InEffect<N>) -> Vec<Offer> {
        if let Some(why) = self.needs.iter().find_map(|need| context.missing(*need)) {
            return vec![Offer::Not { name: self.directive.to_owned(), why }];
        }
        let default = self.default_of(context.version());
        let (present, value) = match context.value(self.directive) {
            Some(value) => (format!("{} {value}", self.directive), value),
            None => (format!("{} {default} (default)", self.directive), default.to_owned()),
        };
        let candidate = |tried: &&str| {
            Offer::Try(Candidate {
                name: format!("{} {tried}", self.directive),
                present: present.clone(),
                change: Change::Directive {
                    name: self.directive.to_owned(),
                    args: tried.split(' ').map(str::to_owned).collect(),
                },
                reason: self.reason.to_owned(),
                reference: self.reference.to_owned(),
            })
        };
        self.tried(&value, default).iter().map(candidate).collect()
    }

    /// The values to try where `value` is in effect.
    fn tried(&self, value: &str, default: &'static str) -> Vec<&'static str> {
        match self.tries {
            Tries::Switch(_) if !is_same(value, default) => vec![default],
            Tries::Switch(tries) | Tries::Amounts(tries) => {
                tries.iter().copied().filter(|tried| !is_same(value, tried)).collect()
            }
        }
    }

    fn default_of(&self, version: Option<Version>) -> &'static str {
        match (self.default_before, version) {
            (Some((since, before)), Some(version)) if version < since => before,
            _ => self.default,
        }
    }
}
