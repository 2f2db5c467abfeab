//! Lines that can be tried, and the facts of a machine that decide whether they can be.

use std::collections::BTreeMap;

/// One line to try against the present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The line without its semicolon: `tcp_nopush off`,
    /// `sysctl net.ipv4.tcp_notsent_lowat=131072`.
    pub name: String,
    /// What is in effect now: `tcp_nopush on`, or `tcp_nopush off (default)`.
    pub present: String,
    /// How a configuration or a network namespace is changed to try it.
    pub change: Change,
    /// Why it may matter, in one sentence.
    pub reason: String,
    /// A URL or document that describes it.
    pub reference: String,
}

/// What distinguishes a trial from the present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A directive, set for the site where it is in effect.
    Directive {
        /// `sendfile_max_chunk`.
        name: String,
        /// Its arguments as the server reads them, without quotes or escapes: `["512k"]`.
        args: Vec<String>,
    },
    /// A parameter of the site's `listen`, of nginx.
    Listen {
        /// `reuseport`, or with its value, `backlog=4096`.
        parameter: String,
        /// False removes the parameter.
        on: bool,
    },
    /// A sysctl of the network namespace the server runs in.
    Sysctl {
        /// `net.ipv4.tcp_notsent_lowat`.
        name: String,
        /// `131072`.
        value: String,
    },
    /// A variable of the server's environment.
    Variable {
        /// `GOGC`.
        name: String,
        /// `400`.
        value: String,
    },
}

/// A candidate, or why it is not tried here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// It can be tried.
    Try(Candidate),
    /// It cannot.
    Not {
        /// The line, as [`Candidate::name`].
        name: String,
        /// A sentence: `this kernel has no kTLS`.
        why: String,
    },
}

impl Offer {
    /// The candidate; `None`: it cannot be tried.
    pub fn candidate(&self) -> Option<&Candidate> {
        match self {
            Self::Try(candidate) => Some(candidate),
            Self::Not { .. } => None,
        }
    }
}

/// Facts of the machine and the server that candidates depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Whether the kernel encrypts TLS records.
    pub has_ktls: bool,
    /// What the server prints about how it was built: `nginx -V`.
    pub build: String,
    /// As `net.ipv4.tcp_available_congestion_control` lists them, or better
    /// `tcp_allowed_congestion_control`: a namespace may have no other as its default.
    pub congestion_controls: Vec<String>,
    /// Present values of sysctls by name, as /proc has them; a candidate whose present value is not
    /// among them is tried all the same.
    pub sysctls: BTreeMap<String, String>,
}

impl Facts {
    /// The present value of a sysctl, if it is known.
    pub(crate) fn sysctl(&self, name: &str) -> Option<&str> {
        self.sysctls.get(name).map(|value| value.trim())
    }

    /// The same as a line. /proc separates several values by tabs.
    pub(crate) fn sysctl_in_words(&self, name: &str) -> String {
        match self.sysctl(name) {
            Some(value) => {
                let words: Vec<&str> = value.split_whitespace().collect();
                format!("sysctl {name}={}", words.join(" "))
            }
            None => format!("sysctl {name} as it is"),
        }
    }
}

impl Change {
    /// What the change sets: the same for two lines that exclude each other.
    pub fn sets(&self) -> String {
        match self {
            Self::Directive { name, .. } => name.clone(),
            Self::Listen { parameter, .. } => {
                let name = parameter.split('=').next().unwrap_or(parameter);
                format!("listen {name}")
            }
            Self::Sysctl { name, .. } => format!("sysctl {name}"),
            Self::Variable { name, .. } => format!("env {name}"),
        }
    }
}

/// What tests of tables look at.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Candidate, Offer};

    pub(crate) fn tried(offers: &[Offer]) -> Vec<&Candidate> {
        offers.iter().filter_map(Offer::candidate).collect()
    }

    pub(crate) fn names(offers: &[Offer]) -> Vec<&str> {
        tried(offers).iter().map(|candidate| candidate.name.as_str()).collect()
    }

    /// Why a line is not tried; `None`: it is, or is none of the table.
    pub(crate) fn why<'o>(offers: &'o [Offer], wanted: &str) -> Option<&'o str> {
        offers.iter().find_map(|offer| match offer {
            Offer::Not { name, why } if name == wanted => Some(why.as_str()),
            _ => None,
        })
    }
}
