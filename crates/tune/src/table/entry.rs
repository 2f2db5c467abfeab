//! An entry of the table: a directive of nginx with its default and the values that are tried, and
//! how it becomes candidates for one configuration.

use super::context::Context;
use super::values::{Version, is_same};
use crate::candidate::{Candidate, Change, Offer};

/// A directive and the values that are tried.
pub(super) struct Entry {
    pub(super) directive: &'static str,
    /// nginx's default, per nginx.org.
    pub(super) default: &'static str,
    /// The default of versions before the given one, where that was another.
    pub(super) default_before: Option<(Version, &'static str)>,
    pub(super) tries: Tries,
    /// All must hold; the first that does not says why the directive is not tried.
    pub(super) needs: &'static [Need],
    pub(super) reason: &'static str,
    pub(super) reference: &'static str,
}

/// The values that are tried, as they are typed.
pub(super) enum Tries {
    /// `on` and `off`, or the default and something else: whichever is not in effect.
    Switch(&'static [&'static str]),
    /// Amounts, the default among them where it is worth a try: each that is not in effect.
    Amounts(&'static [&'static str]),
}

/// What an entry needs in order to have an effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Files are sent by sendfile().
    Sendfile,
    /// Files are read into buffers of nginx.
    Buffers,
    /// nginx was built with this.
    Built(&'static str),
}

impl Need {
    /// Why it does not hold.
    fn missing(self, context: &Context<'_>) -> Option<String> {
        let because = |why: &str| Some(why.to_owned());
        match self {
            Self::Sendfile if !context.is_on("sendfile") => {
                because("it has an effect only with \"sendfile on\"")
            }
            Self::Sendfile if context.is_https && !context.has_ktls_on() => {
                because("over TLS nginx sends by sendfile() only where the kernel encrypts (kTLS)")
            }
            Self::Buffers if context.sends_by_sendfile() => {
                because("files are sent by sendfile(), past these buffers")
            }
            Self::Built(option) if !context.facts.build.contains(option) => {
                Some(format!("this nginx was built without {option}"))
            }
            _ => None,
        }
    }
}

impl Entry {
    /// The candidates of the entry, or why it is not tried.
    pub(super) fn offers(&self, context: &Context<'_>) -> Vec<Offer> {
        if let Some(why) = self.needs.iter().find_map(|need| need.missing(context)) {
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
