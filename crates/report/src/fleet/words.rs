//! The sentences of a fleet's report, and the notes around its tables.

use super::cheapest::cheapest;
use super::missing::Missing;
use super::names::{MOST, Names, abbreviated_list, cell, count, end, strings, times, unique};
use crate::digits::percent;
use crate::run::notes_above::to_the_second;
use crate::terminal::note::{Note, note};
use crate::text::{list, ordered};
use zc_analysis::fleet::{Condition, End, Fleet, LeftOut, OddHost, OddPair};
use zc_run::escape;

/// At most this many odd hosts, odd pairs and conditions are listed; further ones are counted.
const LISTED: usize = 20;
/// At most this many names are listed for a reason.
const NAMES: usize = 5;
/// At most this many values of a fact are listed.
const VALUES: usize = 6;
/// The longest name of a host, a file or a planned measurement, and the longest reason.
const LONG: usize = 200;

/// Notes on what was measured.
pub(crate) fn heading(fleet: &Fleet) -> Vec<Note> {
    let versions = strings(&mut fleet.zc_versions.iter().map(|name| escape(name, MOST)));
    let mut notes = vec![
        note(
            "fleet",
            measured(&[&fleet.experiment, &fleet.link], fleet.runs, fleet.hosts)
                + &Names::from_fleet(fleet).grouping(),
        ),
        note("begun", begun(&fleet.first_at, &fleet.last_at)),
    ];
    if !versions.is_empty() {
        notes.push(note("zc", abbreviated_list(&mut versions.iter().cloned(), versions.len(), 10)));
    }
    notes
}

/// `paths over remote: 10 runs of 4 hosts`, of an experiment over a link.
pub(crate) fn measured([experiment, link]: &[&str; 2], runs: usize, hosts: usize) -> String {
    let [experiment, link] = [experiment, link].map(|name| escape(name, MOST));
    format!("{experiment} over {link}: {} of {}", count(runs, "run"), count(hosts, "host"))
}

/// The times at which the first and the last run began.
fn begun(first: &str, last: &str) -> String {
    let [first, last] = [first, last].map(|at| to_the_second(&escape(at, MOST)));
    if first == last { first } else { format!("from {first} to {last}") }
}

/// The cheapest path by group, and what is odd or missing.
pub(crate) fn answer(fleet: &Fleet, missing: &[Missing]) -> Vec<String> {
    let mut sentences = vec![cheapest(fleet)];
    let odd = [
        examined(odd_hosts(fleet), fleet.hosts_examined, "host", "is odd", "are odd"),
        examined(fleet.odd_pairs.len(), fleet.pairs_examined, "pair", "is odd", "are odd"),
        examined(
            facts(fleet),
            fleet.conditions_examined,
            "fact",
            "correlates with costs",
            "correlate with costs",
        ),
    ];
    let (seen, unseen): (Vec<_>, Vec<_>) = odd.into_iter().partition(Result::is_ok);
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    if !seen.is_empty() {
        sentences.push(format!("{}.", capital(&list(&seen))));
    }
    let unseen: Vec<String> = unseen.into_iter().filter_map(Result::err).collect();
    if !unseen.is_empty() {
        sentences.push(format!("There are too few runs to compare {}.", list(&unseen)));
    }
    let mut absent = Vec::new();
    if !missing.is_empty() {
        let what = count(missing.len(), "planned measurement");
        absent.push(format!("{what} {} missing", if missing.len() == 1 { "is" } else { "are" }));
    }
    if !fleet.left_out.is_empty() {
        let (left, are) =
            (fleet.left_out.len(), if fleet.left_out.len() == 1 { "is" } else { "are" });
        absent.push(format!("{} {are} left out", count(left, "run")));
    }
    if !absent.is_empty() {
        sentences.push(format!("{}.", capital(&list(&absent))));
    }
    sentences.extend(shared(fleet.shared_runs, fleet.runs));
    sentences.extend(doubtful(fleet));
    sentences
}

/// States that hosts were not exclusive.
pub(crate) fn shared(runs: usize, of: usize) -> Option<String> {
    let said = || {
        format!(
            "Other jobs could use the hosts during {runs} of {}: their work is in the figures.",
            count(of, "run")
        )
    };
    (runs > 0).then(said)
}

/// States that the figures include runs whose own verdicts are withheld.
fn doubtful(fleet: &Fleet) -> Option<String> {
    let said = || {
        format!(
            "The own verdicts of {} of {} are withheld, and their costs are in the figures all the \
             same (--include-withheld): the figures are doubtful.",
            fleet.withheld.len(),
            count(fleet.runs, "run")
        )
    };
    (!fleet.withheld.is_empty()).then(said)
}

/// The number of odd hosts: one that is odd at both ends counts once.
pub(crate) fn odd_hosts(fleet: &Fleet) -> usize {
    unique(&mut fleet.odd_hosts.iter().map(|host| host.host.clone())).len()
}

/// The number of facts that correlate with costs, at either end.
pub(crate) fn facts(fleet: &Fleet) -> usize {
    unique(&mut fleet.conditions.iter().map(|condition| condition.fact.clone())).len()
}

/// `2 of 200 hosts are odd`, `no host of 200 is odd`; where none could be examined what they are:
/// `hosts`.
fn examined(
    found: usize,
    of: usize,
    thing: &str,
    one: &str,
    several: &str,
) -> Result<String, String> {
    match (found, of) {
        (0, 0) => Err(format!("{thing}s")),
        (0, _) => Ok(format!("no {thing} of {of} {one}")),
        (1, _) => Ok(format!("1 of {} {one}", count(of, thing))),
        _ => Ok(format!("{found} of {} {several}", count(of, thing))),
    }
}

/// Notes on odd hosts and pairs, and on conditions that explain differences; if none were found, on
/// what was examined.
pub(crate) fn odd(fleet: &Fleet) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |label, found: usize, none: Result<String, String>, each: Vec<String>| {
        if found == 0 {
            let too_few = |things| format!("not compared: there are too few runs for {things}");
            notes.push(note(label, none.unwrap_or_else(too_few)));
        }
        let more = found.saturating_sub(each.len());
        notes.extend(each.into_iter().map(|text| note(label, text)));
        if more > 0 {
            notes.push(note(label, format!("and {more} more")));
        }
    };
    add(
        "odd hosts",
        fleet.odd_hosts.len(),
        examined(0, fleet.hosts_examined, "host", "is odd", ""),
        strings(&mut fleet.odd_hosts.iter().take(LISTED).map(|host| odd_host(fleet, host))),
    );
    add(
        "odd pairs",
        fleet.odd_pairs.len(),
        examined(0, fleet.pairs_examined, "pair", "is odd", ""),
        strings(&mut fleet.odd_pairs.iter().take(LISTED).map(odd_pair)),
    );
    add(
        "conditions",
        fleet.conditions.len(),
        examined(0, fleet.conditions_examined, "fact", "correlates with costs", ""),
        strings(&mut fleet.conditions.iter().take(LISTED).map(condition)),
    );
    let found = fleet.odd_hosts.len() + fleet.odd_pairs.len() + fleet.conditions.len();
    if found > 0 {
        notes.push(note("error rate", discoveries(fleet)));
    }
    notes
}

/// The rate of false discoveries.
pub(crate) fn discoveries(fleet: &Fleet) -> String {
    format!(
        "at most {} of the hosts that are called odd are expected to be false discoveries \
         (Benjamini and Hochberg); the same holds for pairs and for facts",
        percent_of(fleet.false_discovery_rate)
    )
}

/// `n17 (gen1) costs 1.31 (1.22 to 1.41) times its group as sender, most in mmap+write (1.50)`.
fn odd_host(fleet: &Fleet, host: &OddHost) -> String {
    let group = if fleet.by.is_empty() {
        String::new()
    } else {
        format!(" ({})", Names::from_fleet(fleet).group(host.group))
    };
    format!(
        "{}{group} costs {} times its group {}{}; {}",
        escape(&host.host, LONG),
        times(host.by, host.low, host.high),
        as_what(host.end),
        largest_difference(host).map_or_else(String::new, |most| format!(", most in {most}")),
        count(host.runs, "run")
    )
}

/// The cell in which a host differs most, with the ratio.
pub(crate) fn largest_difference(host: &OddHost) -> Option<String> {
    host.most.as_ref().map(|(label, ratio)| format!("{} ({ratio:.2})", cell(label)))
}

fn as_what(of: End) -> String {
    match of {
        End::Both => "at both ends".to_owned(),
        other => format!("as {}", end(other)),
    }
}

fn odd_pair(pair: &OddPair) -> String {
    let other = pair
        .other_direction
        .map_or_else(String::new, |ratio| format!(", the other direction {ratio:.2} times"));
    format!(
        "{} to {} costs {} times what its hosts predict{other}; {}",
        escape(&pair.near, LONG),
        escape(&pair.far, LONG),
        times(pair.by, pair.low, pair.high),
        count(pair.runs, "run")
    )
}

fn condition(condition: &Condition) -> String {
    let mut values = condition.values.iter().map(|value| {
        let value_text = match value.value.as_str() {
            "" => "nothing".to_owned(),
            text => escape(text, 60),
        };
        let by = match (value.by, value.low, value.high) {
            (Some(by), Some(low), Some(high)) => {
                format!(", which cost {} times as much", times(by, low, high))
            }
            (Some(by), ..) => format!(", which cost {by:.2} times as much"),
            _ => String::new(),
        };
        format!("{value_text} in {}{by}", count(value.hosts, "host"))
    });
    let all = condition.values.len();
    let mut text = format!(
        "{} explains {} of the variance between hosts of a group {}: {}",
        escape(&condition.fact, MOST * 2),
        percent(condition.explains),
        as_what(condition.end),
        abbreviated_list(&mut values, all, VALUES)
    );
    if !condition.same_as.is_empty() {
        let mut same = condition.same_as.iter().map(|fact| escape(fact, MOST * 2));
        text.push_str("; cannot be distinguished from ");
        text.push_str(&abbreviated_list(&mut same, condition.same_as.len(), NAMES));
    }
    text
}

/// Notes on missing, left-out and doubtful runs, by reason.
pub(crate) fn missing_runs(fleet: &Fleet, missing: &[Missing]) -> Vec<Note> {
    let missing: Vec<(&str, &str)> =
        missing.iter().map(|each| (each.cell.as_str(), each.why.as_str())).collect();
    let mut notes: Vec<Note> =
        by_reason(&missing, "measurement").into_iter().map(|text| note("missing", text)).collect();
    notes.extend(left_out(&fleet.left_out).into_iter().map(|text| note("left out", text)));
    notes.extend(left_out(&fleet.withheld).into_iter().map(|text| note("doubtful", text)));
    notes
}

/// Runs by the reason for which they are not in the figures, or are doubtful.
pub(crate) fn left_out(runs: &[LeftOut]) -> Vec<String> {
    let runs: Vec<(&str, &str)> =
        runs.iter().map(|run| (run.name.as_str(), run.why.as_str())).collect();
    by_reason(&runs, "run")
}

/// `3 runs: it has too few blocks that count: a.json (2 of 40), b.json (3 of 40) and 1 more`, the
/// most frequent reason first. A part in brackets at the end of a reason stays with the name.
pub(crate) fn by_reason(all: &[(&str, &str)], thing: &str) -> Vec<String> {
    let reason_and_detail = |at: usize| {
        let why = all[at].1;
        match why.strip_suffix(')').and_then(|why| why.rsplit_once(" (")) {
            Some((reason, _)) => (reason, &why[reason.len()..]),
            None => (why, ""),
        }
    };
    let order: Vec<usize> = (0..all.len()).collect();
    let order = ordered(&order, &|a, b| reason_and_detail(a).0.cmp(reason_and_detail(b).0));
    let reasons: Vec<&[usize]> =
        order.chunk_by(|a, b| reason_and_detail(*a).0 == reason_and_detail(*b).0).collect();
    // The most frequent first, then in the order of the document.
    let reasons = ordered(&reasons, &|a, b| b.len().cmp(&a.len()).then(a[0].cmp(&b[0])));
    let mut texts = Vec::new();
    let mut more = all.len();
    for places in reasons.into_iter().take(LISTED) {
        let name = |at: &usize| {
            format!("{}{}", escape(all[*at].0, LONG), escape(reason_and_detail(*at).1, LONG))
        };
        texts.push(format!(
            "{}, {}: {}",
            count(places.len(), thing),
            escape(reason_and_detail(places[0]).0, LONG),
            abbreviated_list(&mut places.iter().map(name), places.len(), NAMES)
        ));
        more -= places.len();
    }
    if more > 0 {
        texts.push(format!("{}, for other reasons", count(more, thing)));
    }
    texts
}

/// Notes on the method.
pub(crate) fn method(fleet: &Fleet) -> Vec<Note> {
    let confidence = percent_of(fleet.confidence);
    vec![
        note(
            "costs",
            format!(
                "geometric means over the hosts of a group, by random effects (REML), with the \
                 half-width of their {confidence} intervals (Hartung and Knapp)"
            ),
        ),
        note(
            "one more",
            format!(
                "where one more host of the group lies in one more session, with a probability of \
                 {confidence}"
            ),
        ),
    ]
}

/// 0.95 as `95 %`.
pub(crate) fn percent_of(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
