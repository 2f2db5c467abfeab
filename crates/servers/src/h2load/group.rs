//! Which process asks for which requests of a mix. An h2load sends all its requests with one method
//! and the same headers, and asks for its URIs in turn, on each connection from the first. So each
//! process has one connection and a part of the mix of its own: the GETs without a header are dealt
//! out to several, and each other method and set of headers has one, or more if it is frequent.

use std::collections::HashMap;

use zc_load::{Method, Target, Targets};

/// Sets of headers beside the plain GETs that have processes of their own.
const MOST_OTHERS: usize = 8;

/// Requests that one process asks for, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The headers of all of them, with the pseudo-header of a method that is not GET (RFC 9113,
    /// 8.3.1).
    pub(super) headers: Vec<String>,
    /// What is asked for, in this order.
    pub(super) paths: Vec<String>,
    /// The status of each response.
    pub(super) status: u16,
    /// Bytes of the bodies of all responses.
    pub(super) body_bytes: u64,
}

impl Group {
    fn of(target: &Target) -> Self {
        let method =
            (target.method != Method::Get).then(|| format!(":method: {}", target.method.name()));
        let headers = target.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        Self {
            headers: method.into_iter().chain(headers).collect(),
            paths: Vec::new(),
            status: status(target),
            body_bytes: 0,
        }
    }

    fn add(&mut self, target: &Target) {
        self.paths.push(target.path.clone());
        self.body_bytes += target.expected.map_or(0, |expected| expected.body_bytes);
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.headers, self.status) == (&other.headers, other.status)
    }
}

fn status(target: &Target) -> u16 {
    target.expected.map_or(200, |expected| expected.status)
}

fn is_plain(target: &Target) -> bool {
    target.method == Method::Get && target.headers.is_empty()
}

fn in_turn(targets: &Targets) -> impl Iterator<Item = &Target> {
    (0..targets.turns()).filter_map(|turn| targets.each().get(targets.of_turn(turn) as usize))
}

/// What all requests of a process have in common.
type Alike<'a> = (Method, &'a [(String, String)]);

/// The requests of a mix that h2load can be given, and how many others it has: of methods and
/// headers there are at most eight sets, the most frequent ones.
pub fn askable(targets: &Targets) -> (Targets, usize) {
    let mut counts: HashMap<Alike<'_>, usize> = HashMap::new();
    for target in in_turn(targets).filter(|target| !is_plain(target)) {
        *counts.entry((target.method, &target.headers)).or_default() += 1;
    }
    let mut others: Vec<_> = counts.into_iter().collect();
    others.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.1.cmp(b.0.1)));
    let left_out: usize = others.iter().skip(MOST_OTHERS).map(|(_, count)| count).sum();
    let has = |target: &&Target| {
        let its = (target.method, target.headers.as_slice());
        is_plain(target) || others.iter().take(MOST_OTHERS).any(|(known, _)| *known == its)
    };
    let asked = Targets::in_turn(in_turn(targets).filter(has).cloned());
    (asked.unwrap_or_else(|| targets.clone()), left_out)
}

/// Deals a mix out; the GETs without a header to `connections` processes. None asks for more of a
/// cycle than each of these would if all were such GETs: servers end connections after a number of
/// requests.
pub(super) fn groups(targets: &Targets, connections: usize) -> Vec<Group> {
    let most = targets.turns().div_ceil(connections.max(1));
    let (mut plain, mut others): (Vec<Group>, Vec<Group>) = (Vec::new(), Vec::new());
    for (number, target) in in_turn(targets).filter(|target| is_plain(target)).enumerate() {
        let at = number % connections.max(1);
        if at == plain.len() {
            plain.push(Group::of(target));
        }
        plain[at].add(target);
    }
    for target in in_turn(targets).filter(|target| !is_plain(target)) {
        let group = Group::of(target);
        let has_room = |known: &Group| known.is_of(&group) && known.paths.len() < most;
        let at = others.iter().position(has_room).unwrap_or_else(|| {
            others.push(group);
            others.len() - 1
        });
        others[at].add(target);
    }
    plain.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_load::Expected;

    fn target(path: &str, status: u16, body_bytes: u64, headers: &[(&str, &str)]) -> Target {
        let expected = Expected { status, body_bytes, content_length: None, crc32: None };
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Target {
            headers: headers.iter().map(owned).collect(),
            expected: Some(expected),
            ..Target::from(path.to_owned())
        }
    }

    fn mix() -> Vec<Target> {
        let since = [("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")];
        let head = Target { method: Method::Head, ..target("/a", 200, 0, &[]) };
        vec![
            target("/a", 200, 10, &[]),
            target("/a", 304, 0, &since),
            target("/b", 200, 20, &[]),
            head,
            target("/c", 200, 30, &[]),
            target("/b", 304, 0, &since),
            target("/a", 200, 10, &[]),
            target("/c", 206, 5, &[("Range", "bytes=0-4")]),
        ]
    }

    #[test]
    fn each_request_of_a_mix_is_in_one_group_with_its_headers() {
        let targets = Targets::in_turn(mix()).unwrap();
        let all = groups(&targets, 3);
        let paths: Vec<String> = all.iter().map(|group| group.paths.concat()).collect();
        assert_eq!(paths, ["/a/a", "/b", "/c", "/a/b", "/a", "/c"]);
        let facts: Vec<(u16, u64)> = all.iter().map(|it| (it.status, it.body_bytes)).collect();
        assert_eq!(facts, [(200, 20), (200, 20), (200, 30), (304, 0), (200, 0), (206, 5)]);
        assert_eq!(all[4].headers, [":method: HEAD"]);
        assert_eq!(all[5].headers, ["Range: bytes=0-4"]);
        assert_eq!(groups(&targets, 9).len(), 8, "no process is without a request");
        assert_eq!(askable(&targets), (targets, 0));
    }

    #[test]
    fn a_frequent_set_of_headers_is_dealt_out_as_the_gets_are() {
        let since = [("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")];
        let modified = (0..10).map(|_| target("/a", 304, 0, &since));
        let gets = ["/b", "/c"].map(|path| target(path, 200, 10, &[]));
        let targets = Targets::in_turn(modified.chain(gets)).unwrap();
        let all = groups(&targets, 4);
        let shares: Vec<(u16, usize)> = all.iter().map(|it| (it.status, it.paths.len())).collect();
        assert_eq!(shares, [(200, 1), (200, 1), (304, 3), (304, 3), (304, 3), (304, 1)]);
    }

    #[test]
    fn of_many_sets_of_headers_the_most_frequent_ones_are_asked() {
        let range = |at: usize| {
            let value = format!("bytes={at}-{at}");
            target("/a", 206, 1, &[("Range", &value)])
        };
        // The last of eleven ranges comes twice.
        let ranges = (0..11).chain([10]).map(range);
        let targets = Targets::in_turn(mix().into_iter().chain(ranges)).unwrap();
        let (asked, left_out) = askable(&targets);
        assert_eq!((asked.turns(), left_out), (20 - 6, 6));
        assert!(asked.each().contains(&range(10)));
        assert_eq!(groups(&asked, 1).len(), 1 + MOST_OTHERS);
    }
}
