//! Requests to an origin: one, or many in turn.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::expected::Expected;
use zc_run::escape;

/// Methods of requests: those that change nothing (RFC 9110, 9.2.1) and have no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// The resource.
    #[default]
    Get,
    /// What GET would say of the resource, without its body (RFC 9110, 9.3.2).
    Head,
}

impl Method {
    /// Its name in a request line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
        }
    }
}

/// A request: what is asked for, and what is to come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The path, with a query or without.
    pub path: String,
    /// The method.
    pub method: Method,
    /// Headers of this request, beside those of the load: `Range`, `If-Modified-Since`. One of the
    /// load's of the same name is replaced.
    pub headers: Vec<(String, String)>,
    /// The response; `None`: one of status 2xx whose body is as long as the first one.
    pub expected: Option<Expected>,
}

impl From<String> for Target {
    /// A GET.
    fn from(path: String) -> Self {
        Self { path, method: Method::Get, headers: Vec::new(), expected: None }
    }
}

impl fmt::Display for Target {
    /// The name of the request in messages: its path in quotes, with a method that is not GET and
    /// with its own headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.method != Method::Get {
            write!(f, "{} ", self.method.name())?;
        }
        write!(f, "\"{}\"", escape(&self.path, 200))?;
        if !self.headers.is_empty() {
            let header = |(name, value): &(String, String)| format!("{name}: {value}");
            let headers: Vec<String> = self.headers.iter().map(header).collect();
            write!(f, " ({})", escape(&headers.join(", "), 200))?;
        }
        Ok(())
    }
}

/// The requests to an origin, and their order. Clones share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    each: Arc<[Target]>,
    turns: Arc<[u32]>,
}

impl Targets {
    /// `None` if there are none, or more than 2^32 - 1.
    pub fn in_turn<T: Into<Target>>(all: impl IntoIterator<Item = T>) -> Option<Self> {
        let (mut each, mut turns, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for target in all {
            let next = u32::try_from(each.len()).ok()?;
            let index = *known.entry(target.into()).or_insert_with_key(|target: &Target| {
                each.push(target.clone());
                next
            });
            turns.push(index);
        }
        (!turns.is_empty()).then(|| Self { each: each.into(), turns: turns.into() })
    }

    /// The different requests, in the order in which they are first sent.
    pub fn each(&self) -> &[Target] {
        &self.each
    }

    /// Number of requests until the order begins anew.
    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Index into [`each`](Self::each) of request number `turn`.
    pub fn of_turn(&self, turn: usize) -> u32 {
        self.turns[turn % self.turns.len()]
    }
}

impl From<String> for Targets {
    fn from(only: String) -> Self {
        Self { each: [only.into()].into(), turns: [0].into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_differ_are_kept_once_and_come_in_turn() {
        let targets = Targets::in_turn(["/a", "/b", "/a"].map(str::to_owned)).unwrap();
        let each = ["/a", "/b"].map(|path| Target::from(path.to_owned()));
        assert_eq!((targets.each(), targets.turns()), (&each[..], 3));
        let turns: Vec<u32> = (0..7).map(|turn| targets.of_turn(turn)).collect();
        assert_eq!(turns, [0, 1, 0, 0, 1, 0, 0]);
        assert_eq!(Targets::in_turn(Vec::<String>::new()), None);
    }

    #[test]
    fn requests_for_one_path_differ_by_method_and_headers() {
        let get = Target::from("/a".to_owned());
        let head = Target { method: Method::Head, ..get.clone() };
        let range = ("Range".to_owned(), "bytes=0-9".to_owned());
        let part = Target { headers: vec![range], ..get.clone() };
        let all = [&get, &head, &part];
        let targets = Targets::in_turn([all, all].concat().into_iter().cloned()).unwrap();
        assert_eq!((targets.each().len(), targets.turns()), (3, 6));
        let names = all.map(ToString::to_string);
        assert_eq!(names, ["\"/a\"", "HEAD \"/a\"", "\"/a\" (Range: bytes=0-9)"]);
    }
}
