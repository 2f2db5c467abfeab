//! An entry of the table: a keyword with the section it is for and the values that are tried, and
//! how it becomes candidates for one configuration.

use super::super::tree::{Config, Line};
use super::super::try_line::home;
use crate::candidate::{Candidate, Offer};
use crate::site::Site;

/// A keyword and the values that are tried.
pub(super) struct Entry {
    pub(super) key: &'static str,
    pub(super) tries: Tries,
    pub(super) needs: &'static [Need],
    pub(super) reason: &'static str,
    /// Where it is described, in the manual.
    pub(super) section: &'static str,
}

/// What is tried of a keyword.
pub(super) enum Tries {
    /// With it, or `no` before it where it is in effect.
    Switch,
    /// `no` before it where it is in effect, and else nothing.
    Off,
    /// It, where it is not: it has no value and no way back.
    Once,
    /// Values with the default first: each that is not in effect.
    Values(&'static [&'static str]),
}

/// What a keyword needs in order to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// The proxy is in `mode http`.
    Http,
    /// The site is asked over TLS.
    Tls,
    /// Bytes can be spliced from socket to socket.
    Splice,
    /// They are.
    Spliced,
    /// There are several threads.
    Threads,
}

/// A site with its surroundings.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) site: &'a Site,
    pub(super) is_https: bool,
}

impl<'a> Context<'a> {
    /// The line that is in effect.
    pub(super) fn line(&self, key: &str) -> Option<&'a Line> {
        self.config.in_effect(self.site, home(key), key)
    }

    fn is_on(&self, key: &str) -> bool {
        self.line(key).is_some_and(|line| !line.is_no() && line.word(0) != "default")
    }

    fn missing(&self, need: Need) -> Option<&'static str> {
        let is_spliced =
            || ["option splice-auto", "option splice-response"].iter().any(|key| self.is_on(key));
        let threads = self.line("nbthread").and_then(|line| line.word(1).parse::<u32>().ok());
        match need {
            Need::Http if !self.config.is_http(self.site.index) => {
                Some("it has an effect only in \"mode http\"")
            }
            Need::Tls if !self.is_https => Some("the site is asked without TLS"),
            Need::Splice | Need::Spliced if self.is_https => {
                Some("over TLS HAProxy encrypts every byte itself, so nothing is spliced")
            }
            Need::Splice | Need::Spliced if self.is_on("nosplice") => {
                Some("\"nosplice\" is in effect")
            }
            Need::Spliced if !is_spliced() => Some("nothing is spliced"),
            Need::Threads if threads.is_none_or(|threads| threads < 2) => Some(
                "zc gives the server one CPU, so that it has one thread unless nbthread says more",
            ),
            _ => None,
        }
    }
}

impl Entry {
    /// The candidates of the entry, or why it is not tried.
    pub(super) fn offers(&self, context: &Context<'_>) -> Vec<Offer> {
        let is_on = context.is_on(self.key);
        if matches!(self.tries, Tries::Off | Tries::Once)
            && is_on == matches!(self.tries, Tries::Once)
        {
            return Vec::new();
        }
        if let Some(why) = self.needs.iter().find_map(|need| context.missing(*need)) {
            return vec![Offer::Not { name: self.key.to_owned(), why: why.to_owned() }];
        }
        let line = context.line(self.key);
        let lines: Vec<String> = match self.tries {
            Tries::Switch | Tries::Off if is_on => vec![format!("no {}", self.key)],
            Tries::Switch | Tries::Off | Tries::Once => vec![self.key.to_owned()],
            Tries::Values(values) => {
                let of_line = line.map(|line| line.words[1..].join(" "));
                let value = of_line.as_deref().or(values.first().copied()).unwrap_or_default();
                let others = values.iter().filter(|other| **other != value);
                others.map(|other| format!("{} {other}", self.key)).collect()
            }
        };
        let present = match (line, &self.tries) {
            (Some(line), _) => line.text(),
            (None, Tries::Values([default, ..])) => format!("{} {default} (default)", self.key),
            (None, _) => format!("no {} (default)", self.key),
        };
        let offer = |line: String| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Offer::Try(Candidate {
                name: line,
                present: present.clone(),
                change: home(self.key).change(&words),
                reason: self.reason.to_owned(),
                reference: reference(self.section),
            })
        };
        lines.into_iter().map(offer).collect()
    }
}

/// A keyword's place in the manual.
pub(super) fn reference(section: &str) -> String {
    format!("https://docs.haproxy.org/2.6/configuration.html#{section}")
}
