//! Configurations of a server: its states grouped by the one that each belongs to, at several
//! lengths of its responses.
//!
//! They are grouped by address: a configuration has an address of its own, and its lengths have
//! paths there. Names would show it too, but only to those who know how they were made.

use std::collections::{HashMap, HashSet};

use super::{Cell, Levels, Plan, ServerState};

/// The states that ask one address: scheme, host and port of the URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration<'s> {
    /// Common prefix of the names of its states, up to a separator, if no other configuration has
    /// that prefix; else its host and port.
    pub name: String,
    /// Its states, in the order in which they were typed.
    pub states: Vec<&'s ServerState>,
}

impl<'s> Configuration<'s> {
    /// Two of its states whose responses have the same length, which therefore does not distinguish
    /// them.
    pub fn same_length(&self) -> Option<[&'s ServerState; 2]> {
        let mut known = HashMap::new();
        self.states.iter().find_map(|one| {
            let other = known.insert(one.response.body_bytes, *one)?;
            Some([other, one])
        })
    }

    /// Its state whose responses have so many bytes.
    pub fn of_length(&self, body_bytes: u64) -> Option<&'s ServerState> {
        self.states.iter().copied().find(|state| state.response.body_bytes == body_bytes)
    }
}

/// The configurations, in the order of their first states.
pub fn configurations(states: &[ServerState]) -> Vec<Configuration<'_>> {
    let mut found: Vec<(String, Configuration<'_>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for state in states {
        let address = address(&state.url);
        let place = *places.entry(address.clone()).or_insert_with(|| {
            found.push((address, Configuration { name: String::new(), states: Vec::new() }));
            found.len() - 1
        });
        found[place].1.states.push(state);
    }
    let stems: Vec<String> = found.iter().map(|(_, each)| stem(&each.states).to_owned()).collect();
    let mut known = HashSet::new();
    let told_apart = stems.iter().all(|own| !own.is_empty() && known.insert(own));
    for ((address, each), stem) in std::iter::zip(&mut found, stems) {
        let host_and_port = || address.split_once("://").map_or("", |(_, rest)| rest).to_owned();
        each.name = if told_apart { stem } else { host_and_port() };
    }
    found.into_iter().map(|(_, each)| each).collect()
}

impl Plan {
    /// Bytes of the body of each response in a cell that is a state of a server; `None` for other
    /// cells.
    pub fn response_bytes(&self, cell: &Cell) -> Option<u64> {
        let state = cell.levels.state.as_ref()?;
        let own = self.traffic.server()?.states.iter().find(|each| each.state == *state)?;
        Some(own.response.body_bytes).filter(|bytes| *bytes > 0)
    }

    /// Requests per second in the soaked windows of a cell, of whichever server: its own rate, else
    /// that of all. `None` for a cell of a stream.
    pub fn requests_per_s(&self, cell: &Cell) -> Option<f64> {
        let Levels { rate_bytes_per_s, message_bytes, .. } = cell.levels;
        let (rate, bytes) = match (rate_bytes_per_s, message_bytes, self.traffic.server()) {
            (Some(rate), Some(bytes), Some(_)) => (rate, bytes),
            (_, _, Some(server)) => return Some(server.requests_per_s),
            (_, _, None) => {
                self.traffic.responses()?;
                let at = self.fixed.at(&cell.levels);
                (at.rate_bytes_per_s, at.buffer_bytes)
            }
        };
        (bytes > 0).then(|| rate / bytes as f64)
    }
}

/// Scheme, host and port, in lower case.
fn address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // An address of IP version 6 has colons in brackets.
    let has_port = authority.rsplit(']').next().is_some_and(|after| after.contains(':'));
    let port = match (has_port, scheme.eq_ignore_ascii_case("https")) {
        (true, _) => "",
        (false, true) => ":443",
        (false, false) => ":80",
    };
    format!("{scheme}://{authority}{port}").to_ascii_lowercase()
}

/// Common prefix of all names, without separators at its end and without a part of a word or of a
/// number: `off` for `off-16k` and `off-1m`.
fn stem<'s>(states: &[&'s ServerState]) -> &'s str {
    let mut names = states.iter().map(|state| state.state.name());
    let Some(first) = names.next() else { return "" };
    let common = names.clone().fold(first, |common, name| &common[..alike(common, name)]);
    let goes_on = |name: &str| name[common.len()..].starts_with(char::is_alphanumeric);
    let is_cut = common.ends_with(char::is_alphanumeric) && (goes_on(first) || names.any(goes_on));
    let whole = match (is_cut, common.rfind(|each: char| !each.is_alphanumeric())) {
        (false, _) => common,
        (true, Some(separator)) => &common[..separator],
        (true, None) => common.trim_end_matches(|each: char| each.is_ascii_digit()),
    };
    whole.trim_end_matches(|each: char| !each.is_alphanumeric())
}

/// Bytes that two names begin with alike, in whole characters.
fn alike(one: &str, other: &str) -> usize {
    let pairs = std::iter::zip(one.chars(), other.chars());
    pairs.take_while(|(one, other)| one == other).map(|(each, _)| each.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ResponseFacts;

    fn state(name: &str, url: &str, body_bytes: u64) -> ServerState {
        ServerState {
            state: name.parse().unwrap(),
            url: url.to_owned(),
            response: ResponseFacts { status: 200, body_bytes, crc32: 0 },
        }
    }

    fn states(each: &[(&str, &str)]) -> Vec<ServerState> {
        let length = |(place, (name, url)): (usize, &(&str, &str))| state(name, url, place as u64);
        each.iter().enumerate().map(length).collect()
    }

    fn names(each: &[(&str, &str)]) -> Vec<String> {
        configurations(&states(each)).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn states_that_ask_one_address_are_one_configuration() {
        let states = states(&[
            ("off-4k", "http://localhost:8001/4k"),
            ("on-4k", "http://localhost:8002/4k"),
            ("off-1m", "http://LocalHost:8001/dir/1m?x=http://b/#f"),
            ("on-1m", "http://localhost:8002"),
        ]);
        let found = configurations(&states);
        let of = |name: &str| {
            let own = found.iter().find(|each| each.name == name).unwrap();
            own.states.iter().map(|state| state.state.name()).collect::<Vec<_>>()
        };
        assert_eq!(found.len(), 2);
        assert_eq!((of("off"), of("on")), (vec!["off-4k", "off-1m"], vec!["on-4k", "on-1m"]));
        assert_eq!(found[0].of_length(2).unwrap().state.name(), "off-1m");
        assert!(found[0].of_length(1).is_none());
    }

    #[test]
    fn a_port_may_be_left_out_and_a_host_may_be_an_address() {
        for (one, other, same) in [
            ("http://a/x", "http://a:80/y", true),
            ("https://a/x", "https://a:443/y", true),
            ("https://a/x", "http://a/x", false),
            ("http://[::1]/x", "http://[::1]:80/y", true),
            ("http://[::1]/x", "http://[::2]/x", false),
            ("http://a:8001/x", "http://b:8001/x", false),
        ] {
            assert_eq!(address(one) == address(other), same, "{one} {other}");
        }
    }

    #[test]
    fn the_name_is_what_names_have_in_common_and_no_part_of_a_word() {
        let of = |one: &[&str]| {
            let of_one: Vec<_> = one.iter().map(|name| (*name, "http://a/")).collect();
            names(&of_one).remove(0)
        };
        for (these, name) in [
            (&["off-16k", "off-1m"][..], "off"),
            (&["off16k", "off1m"], "off"),
            (&["no off, 1k", "no off, 16k"], "no off"),
            (&["off", "off-1m"], "off"),
            (&["no-off", "no-off-1m"], "no-off"),
            (&["on-small", "on-sizeable"], "on"),
            (&["é-1", "é-2"], "é"),
            (&["alone-64k"], "alone-64k"),
            (&["4k", "64k"], "a:80"),
            (&["èa", "éa"], "a:80"),
        ] {
            assert_eq!(of(these), name, "{these:?}");
        }
    }

    #[test]
    fn where_names_do_not_tell_them_apart_the_address_does() {
        let each = [("4k", "http://a:1/"), ("1m", "http://a:1/"), ("on", "http://b:2/")];
        assert_eq!(names(&each), ["a:1", "b:2"]);
        let each = [("x-1", "http://a:1/"), ("x-2", "http://a:1/"), ("x", "http://b:2/")];
        assert_eq!(names(&each), ["a:1", "b:2"]);
    }

    #[test]
    fn two_states_of_one_length_are_found() {
        let mut states = states(&[("a", "http://h/1"), ("b", "http://h/2"), ("c", "http://h/3")]);
        assert_eq!(configurations(&states)[0].same_length(), None);
        states[2].response.body_bytes = states[0].response.body_bytes;
        let same = configurations(&states)[0].same_length().unwrap().map(|it| it.state.name());
        assert_eq!(same, ["a", "c"]);
    }

    proptest! {
        #[test]
        fn every_state_is_in_one_configuration(
            each in prop::collection::vec(("[a-c0-2 é-]{0,4}[a-z0-9]", "\\PC{0,12}"), 0..6)
        ) {
            let each: Vec<_> = each.iter().map(|(name, url)| (name.trim(), url.as_str())).collect();
            let states = states(&each);
            let found = configurations(&states);
            prop_assert_eq!(found.iter().map(|it| it.states.len()).sum::<usize>(), states.len());
            prop_assert!(found.iter().all(|it| !it.states.is_empty()));
        }
    }
}
