//! An entry of the table: a keyword with the values that are tried, and how it becomes candidates
//! for one configuration.

use super::super::tree::{Config, Line};
use crate::candidate::{Candidate, Change, Offer};
use crate::site::{Scheme, Site};
use crate::values::is_same;

/// A keyword and the values that are tried.
pub(super) struct Entry {
    pub(super) key: &'static str,
    /// Values with the default first: each that is not in effect is tried. Without any it is a
    /// switch, which is tried the other way round.
    pub(super) values: &'static [&'static str],
    pub(super) need: Need,
    pub(super) reason: &'static str,
}

/// What a keyword needs in order to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// It is in effect, and only worth a try without it.
    InEffect,
    /// The proxy is in `mode http`.
    Http,
    /// Requests are logged.
    Logged,
    /// The site is asked over TLS.
    Tls,
    /// Bytes can be spliced from socket to socket.
    Splice,
    /// They are.
    Spliced,
}

/// A site with its surroundings.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) site: &'a Site,
}

impl<'a> Context<'a> {
    /// The line that is in effect.
    fn line(&self, key: &str) -> Option<&'a Line> {
        self.config.in_effect(self.site, key)
    }

    fn is_on(&self, key: &str) -> bool {
        self.line(key).is_some_and(|line| !line.is_no())
    }

    /// Why a need does not hold; `None`: it does.
    fn missing(&self, key: &str, need: Need) -> Option<&'static str> {
        let is_https = self.site.scheme == Scheme::Https;
        let is_spliced =
            || self.is_on("option splice-auto") || self.is_on("option splice-response");
        match need {
            Need::InEffect if !self.is_on(key) => Some("it is not in effect"),
            Need::Http if !self.config.is_http(self.site.index) => {
                Some("it has an effect only in \"mode http\"")
            }
            Need::Logged if !self.is_on("log") => Some("requests are not logged"),
            Need::Tls if !is_https => Some("the site is asked without TLS"),
            Need::Splice | Need::Spliced if is_https => {
                Some("over TLS HAProxy encrypts every byte itself, so nothing is spliced")
            }
            Need::Splice | Need::Spliced if self.is_on("nosplice") => {
                Some("\"nosplice\" is in effect")
            }
            Need::Spliced if !is_spliced() => Some("nothing is spliced"),
            _ => None,
        }
    }
}

impl Entry {
    /// The candidates of the entry, or why it is not tried.
    pub(super) fn offers(&self, context: &Context<'_>) -> Vec<Offer> {
        let key = self.key;
        if let Some(why) = context.missing(key, self.need) {
            return vec![Offer::Not { name: key.to_owned(), why: why.to_owned() }];
        }
        let line = context.line(key);
        let (present, tried) = match self.values {
            [] if context.is_on(key) => (String::new(), vec![format!("no {key}")]),
            [] => (format!("no {key} (default)"), vec![key.to_owned()]),
            [default, ..] => {
                let value = line.map_or((*default).to_owned(), |line| line.words[1..].join(" "));
                let others = self.values.iter().filter(|other| !is_same(other, &value));
                let tried = others.map(|other| format!("{key} {other}")).collect();
                (format!("{key} {default} (default)"), tried)
            }
        };
        let present = line.map_or(present, Line::text);
        let offer = |line: String| {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Offer::Try(Candidate {
                name: line,
                present: present.clone(),
                change: Change::Directive { name: key.to_owned(), args },
                reason: self.reason.to_owned(),
                reference: format!(
                    "https://docs.haproxy.org/2.6/configuration.html#{}",
                    key.replace(' ', "%20")
                ),
            })
        };
        tried.into_iter().map(offer).collect()
    }
}
